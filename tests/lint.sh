#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the compiler does not say. Prints TAP. The house rule: a folder says where its
# code runs and what it may touch (docs/architecture.md). What is over a limit today and known to be stands in
# tests/lint.baseline ("lines PATH MAX" or "complexity PATH FUNCTION MAX"); it may only shrink.
set -u
shopt -s lastpipe # `check` counts, at the end of a pipe
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
n=0
check() { # NAME, findings on standard input: none is ok
	local found
	found=$(cat)
	n=$((n + 1))
	if [ -z "$found" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/#   /' <<<"$found" | head -40
	fi
}
sources() { find "$@" -name '*.[ch]' 2>/dev/null | sort; }
files() { # PATTERN...; also where there is no git, or the tree is somebody else's
	local pattern
	git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null && return
	for pattern in "$@"; do
		find . -path "./$B" -prune -o -type f -path "./$pattern" -print | sed 's,^\./,,'
	done | sort -u
}
baseline() { sed 's/#.*//' tests/lint.baseline 2>/dev/null; }

# --- the house rule: which folder may include which (tests/layers), and which libraries
for h in $(find analysis bpf collect tui -name '*.[ch]' | sort); do
	grep -oE '^#include "[^"]+"' "$h" | sed -E "s,#include \"(.*)\",$h \1,"
done | awk '
	NR == FNR { sub(/#.*/, ""); if ($1 == "") next; from = substr($1, 1, length($1) - 1)
		for (i = 2; i <= NF; i++) { may[from, $i] = 1
			if (!($i in seen) && $i != "bpf") print "tests/layers: " from " may use " $i ", which stands below it: a circle" }
		seen[from] = 1; next }
	FILENAME ~ /baseline/ { if ($1 == "arrow") known[$2, $3] = 1; next }
	{ f = $1; t = $2; sub(/\/[^\/]*$/, "", f); sub(/\/[^\/]*$/, "", t)
		if ($2 !~ /\// || f == t || f == "bpf" && t == "bpf" || $2 == "bpf/buckets.h") next
		if (!((f, t) in may) && !(($1, $2) in known)) print $1 " includes " $2 }
' tests/layers tests/lint.baseline - | check 'includes follow tests/layers'

# --- the same by symbols: what a library calls must be defined in a folder that it may use, also where it declares it by itself
for lib in "$B"/libanalysis-*.a "$B"/libcollect*.a "$B"/libtui-*.a; do
	[ -e "$lib" ] || continue
	folder=$(basename "$lib" .a) && folder=${folder#lib} && folder=${folder//-//}
	nm -A --defined-only -g "$lib" 2>/dev/null | awk -v f="$folder" '{ print f, "defines", $NF }'
	nm -A -u "$lib" 2>/dev/null | sed -E 's/^[^:]*:([^:]*):.* /\1 /' | awk -v f="$folder" '{ print f, $1, $2 }'
done | awk '
	NR == FNR { sub(/#.*/, ""); if ($1 == "") next
		for (i = 2; i <= NF; i++) may[substr($1, 1, length($1) - 1), $i] = 1
		next }
	$2 == "defines" { where[$3] = where[$3] " " $1; next }
	{ uses[++n] = $0 }
	END { for (i = 1; i <= n; i++) { split(uses[i], u, " "); if (!(u[3] in where)) continue
		found = split(where[u[3]], w, " "); ok = 0
		for (k = 1; k <= found; k++) ok = ok || w[k] == u[1] || (u[1], w[k]) in may
		if (!ok) print u[1] "/" u[2] " uses " u[3] " of" where[u[3]] } }
' tests/layers - | check 'calls follow tests/layers'
{
	sources analysis | xargs -r grep -nHE '#include <(curses|ncurses|panel|term|bpf/|linux/bpf)'
	sources analysis | grep -vE '^analysis/(module|code|unwind)/' | xargs -r grep -nHE '#include <(libelf|gelf|dwarf|elfutils/|capstone|elf\.h)'
	sources collect | xargs -r grep -nHE '#include <(libelf|gelf|dwarf|elfutils/|capstone|elf\.h|curses|ncurses|panel)'
	sources tui | xargs -r grep -nHE '#include <(bpf/|linux/bpf|libelf|gelf|elfutils/|capstone)'
} 2>/dev/null | check 'each folder uses only the libraries that it may'

# --- the house rule: what the pure libraries call (clock, I/O, processes)
impure='sendmsg|recvmsg|send|recv|poll|ppoll|prctl|syscall|seccomp_[a-z_]*|kill|waitpid|dup|dup2|close|fcntl|setrlimit|clock_gettime|gettimeofday|time|nanosleep|usleep|sleep|open|open64|openat|openat64|creat|read|write|pread|pread64|pwrite|fopen|fopen64|fread|fwrite|fputs|puts|printf|fprintf|__printf_chk|__fprintf_chk|perror|getenv|exit|_exit|abort|fork|execve|system|popen|socket|connect|mmap|mmap64|random|rand|getpid|bpf_[a-z_]*|initscr|newterm|wmove|waddch'
for lib in "$B"/libanalysis-*.a; do
	[ -e "$lib" ] || continue
	
	nm -A -u "$lib" 2>/dev/null | grep -E " U ($impure)(@.*)?$" | sed 's/ \+U / calls /'
done | while read -r where word what; do
	baseline | grep -qxE "impure $(sed -E 's/.*:([^:]+\.o):.*/\1/' <<<"$where") ${what%%@*} *" || echo "$where $word $what"
done | check 'analysis reads no clock and does no I/O'

# --- functions and variables that other files can see, but no other file of the product uses. What only tests use stands in the
# baseline ("tests FUNCTION"), under a line that says why it stays.
if [ -e "$B/tui/main.o" ]; then
	symbols() { nm -A "$@" "$B"/lib*.a "$B/tui/main.o" 2>/dev/null | grep -E '[TDBRCU] [a-zA-Z_]'; }
	{
		symbols -u | sed -E 's/^.* U /used /'
		symbols --defined-only | sed -nE 's,^([^:]*/)?([^/:]+):([^/:]+\.o:)?[0-9a-f]* [TDBRC] ,\2 ,p'
	} | awk '
		FILENAME ~ /baseline/ { if ($1 == "tests") known[$2] = 1; next }
		$1 == "used" { used[$2] = 1; next }
		{ object[$2] = $1 }
		END { for (f in object) if (!(f in used) && f != "main" && !(f in known)) print object[f] ": " f ": make it static, or delete it"
			for (f in known) if (f in used || !(f in object)) print "tests/lint.baseline: " f ": delete the line" }
	' tests/lint.baseline - | sort | check 'no external function without a caller in another file'
fi

# --- docs/collector.md names every file of collect/
for f in collect/*.c collect/process/*.c; do
	grep -qF "\`${f#collect/}\`" docs/collector.md || echo "docs/collector.md does not name $f"
done | check 'docs/collector.md names every file of collect/'

# --- docs/README.md is the index of docs/
for f in docs/*.md docs/notes/*.md docs/*.json; do
	[ "$f" = docs/README.md ] || grep -qF "(${f#docs/})" docs/README.md || echo "docs/README.md does not name $f"
done | check 'docs/README.md names every page'

# --- the collector reads no ELF: libbpf's helpers that would do it by themselves
sources collect | xargs -r grep -nHE '\bbpf_program__attach_(uprobe|uprobe_multi|uprobe_opts|usdt)\b|\belf_(begin|memory)\b|\bgelf_' |
	check 'the collector attaches by raw offsets only'

# --- headers compile alone
compile() {
	case $1 in
	bpf/*) # In a BPF program the kernel's types and the helpers always come first.
		clang -target bpf -D__TARGET_ARCH_x86 -fsyntax-only -Wall -Wno-unused-function -I. -I"$B" \
			-include bpf/kernel.h -include bpf/bpf_helpers.h -x c - <<<"#include \"$1\"" ;;
	*) gcc -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE -DPEAKTOP_VERSION='""' -I. -I"$B" \
		-include analysis/base/prelude.h -fsyntax-only -x c - <<<"#include \"$1\"" ;;
	esac 2>&1 | grep -E 'error|warning' | head -3
}
for h in $(find analysis bpf collect tui -name '*.h' | sort); do
	compile "$h"
done | check 'every header compiles alone'

# --- .clang-format, by the version that Debian 12 has: others break lines at other places
format=$(command -v clang-format-14)
if [ -n "$format" ]; then
	files '*.c' '*.h' '*.cc' | while read -r f; do [ ! -e "$f" ] || echo "$f"; done | xargs -r -P 2 -n 40 "$format" --dry-run 2>&1 |
		grep -oE '^[^ :]+:[0-9]+' | sort -u | head -20 | check 'clang-format changes nothing'
else
	n=$((n + 1))
	echo "ok $n - clang-format changes nothing # SKIP no clang-format-14"
fi

# --- dangerous everywhere, beyond what prelude.h stops at compile time
{ sources analysis collect tui; find bpf -name '*.c'; } |
	xargs -r grep -nHE '(^|[^_a-zA-Z.>])(system|popen|mktemp|tmpnam|tempnam|vfork|rand|srand|bcopy|bzero|usleep|signal)\(' |
	grep -vE 'signal\([^,]*, SIG_(IGN|DFL)\)|:\s*(//|\*|/\*)|//.*(system|signal)\(' | check 'no dangerous function'

# --- size: over 500 lines is an error
sources analysis bpf collect tui tests | xargs -r wc -l | awk '$2 != "total" && $1 > 500 { print $1, $2 }' |
	while read -r lines file; do
		max=$(baseline | awk -v f="$file" '$1 == "lines" && $2 == f { print $3 }')
		case $file in tests/*) : "${max:=1000}" ;; *) : "${max:=500}" ;; esac
		[ "$lines" -le "$max" ] || echo "$file: $lines lines (at most $max)"
	done | check 'no file over 500 lines (tests: 1000)'

# --- parameters: six are enough; more are a struct (what printf() formats does not count)
{ sources analysis collect tui; sources bpf; } | xargs -r awk '
	FNR == 1 { text = "" }
	/^[a-z].*\(/ && !/;$/ && !/^(typedef|struct [a-z_0-9]+ \{|#|return|else|if|for|while|switch)/ { text = ""; open = 1 }
	open { text = text " " $0
		if (/^\{/) {
			sub(/^[^(]*\(/, "", text); sub(/\)[^)]*$/, "", text)
			gsub(/\([^()]*\)/, "", text); n = gsub(/,/, ",", text) - gsub(/, *\.\.\./, "", text)
			if (n > 5) print FILENAME ":" FNR ": " n + 1 " parameters"
			open = 0
		} else if (/;$/) open = 0 }
' | check 'no function has more than six parameters'

if command -v pmccabe >/dev/null; then
	{ sources analysis collect tui | grep '\.c$'; find bpf -name '*.c'; } | xargs -r pmccabe 2>/dev/null |
		awk '$1 > 20 { print $1, $6, $7 }' | while read -r complexity where function; do
		file=${where%%(*}
		max=$(baseline | awk -v f="$file" -v g="$function" '$1 == "complexity" && $2 == f && $3 == g { print $4 }')
		[ "$complexity" -le "${max:-20}" ] || echo "$file: $function: complexity $complexity (at most ${max:-20})"
	done | check 'no function over complexity 20'
	{ sources analysis collect tui | grep '\.c$'; } | xargs -r pmccabe 2>/dev/null |
		awk '$5 > 80 { printf "# aim lower: complexity %s, %s lines: %s %s\n", $1, $5, $6, $7 }' | head -20
else
	n=$((n + 1))
	echo "ok $n - no function over complexity 20 # SKIP no pmccabe"
fi

# --- every file says its licence
files '*.c' '*.h' '*.cc' '*.sh' '*.py' '*.go' '*.S' Makefile '*.mk' tests/run .ci/run |
	while read -r f; do [ ! -s "$f" ] || head -n 3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' || echo "$f"; done |
	check 'every source names its licence'

# --- scripts parse
{
	files '*.sh' | while read -r f; do [ ! -e "$f" ] || bash -n "$f" 2>&1; done
	files '*.py' tests/run | while read -r f; do
		[ ! -e "$f" ] || python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$f" 2>&1 | tail -1
	done
} | check 'scripts parse'

# --- text: no trailing blanks, no notes to self, nothing that exists only on our machines
files '*.c' '*.h' '*.cc' '*.sh' '*.py' '*.md' '*.mk' Makefile |
	grep -v '^tests/lint\.sh$' | while read -r f; do
	[ -e "$f" ] || continue
	grep -nHE '[ 	]+$' "$f" | head -3
	grep -nHE '\b(TODO|FIXME|XXX|HACK)\b' "$f" | head -3
	grep -nHE '/work/(shared|main)' "$f" | head -3
	case $f in tests/unit/*) continue ;; esac # what sanitisers must stand
	grep -nHP '[\x{1F300}-\x{1FAFF}\x{2705}\x{274C}\x{2728}]' "$f" | head -3
done 2>/dev/null | check 'tidy text'

# --- references: a path that a comment or a document names exists; NAME stands for any name
files '*.c' '*.h' '*.cc' '*.py' '*.sh' '*.md' '*.mk' Makefile 'docs/man/*' 'docs/debian/*' tests/layers | grep -vE '^(tests/lint\.sh$|tests/fuzz/corpus/)' |
	xargs grep -noE '(^|[^A-Za-z0-9_/.<-])(analysis|bpf|collect|tui|tests|docs)/[A-Za-z0-9_/-]+(\.bpf)?\.(c|h|cc|md|py|sh|mk|json|1)\b' |
	while IFS=: read -r f line path; do
		path=${path#[^a-z]}
		case $path in *NAME*) continue ;; esac
		[ -e "$path" ] || echo "$f:$line: $path does not exist"
	done | check 'every file that is named exists'
files '*.c' '*.h' '*.py' '*.sh' '*.md' Makefile | grep -vE '^tests/lint\.sh$' |
	xargs grep -nE '\b(DESIGN|UI\.md|WAITS\.md|FACTS\.md|STYLE\.md|CLI\.md|TEST-GUEST\.md)\b' | head -20 | check 'no document is named that users do not have'

echo "1..$n"
