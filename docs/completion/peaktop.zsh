#compdef peaktop
# SPDX-License-Identifier: GPL-2.0-or-later
# zsh completion of peaktop. The program itself knows what can follow: peaktop --complete WORD...

_peaktop() {
	local line program=peaktop
	local -a typed candidates open
	typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
	(( $+commands[${words[1]}] )) || [[ -x ${words[1]} ]] && program=${words[1]}
	for line in "${(@f)$($program --complete "${typed[@]}" 2>/dev/null)}"; do
		case $line in
		'') ;;
		:files)
			[[ $PREFIX == --*=* ]] && compset -P '*='
			_files
			return ;;
		:commands)
			_default
			return ;;
		*[:=]$'\t'*) open+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
		*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
		esac
	done
	(( $#open )) && _describe -V peaktop open -S ''
	(( $#candidates )) && _describe -V peaktop candidates
}
_peaktop "$@"
