# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of peaktop. The program itself knows what can follow: peaktop --complete WORD...

_peaktop() {
	local line=${COMP_LINE:0:COMP_POINT} words cur cut word about i program=peaktop
	local candidates=() described=()

	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	# sudo and the like hand over their own command line from its second word on.
	while [[ ${#words[@]} -gt 1 && ${words[0]##*/} != "${COMP_WORDS[0]##*/}" ]]; do words=("${words[@]:1}"); done
	type -P "${words[0]}" >/dev/null && program=${words[0]}
	cur=${words[-1]}
	# bash has cut the word at = : and @, and replaces only what follows them.
	cut=${cur%"${cur##*[=:@]}"}
	while IFS=$'\t' read -r word about; do
		case $word in
		:files)
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "${cur##*=}")
			return ;;
		:commands)
			for ((i = 1; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == -- ]] && break; done
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
			fi
			return ;;
		*: | *=) compopt -o nospace 2>/dev/null ;;
		esac
		word=${word#"$cut"}
		candidates+=("$word")
		described+=("$word${about:+  ($about)}")
	done < <("$program" --complete "${words[@]:1}" 2>/dev/null)
	# Descriptions are for lists; a single candidate is inserted, and menus insert each.
	if [[ ${#candidates[@]} -gt 1 && $COMP_TYPE == 63 ]]; then
		COMPREPLY=("${described[@]}")
	else
		COMPREPLY=("${candidates[@]}")
	fi
}
complete -F _peaktop peaktop
