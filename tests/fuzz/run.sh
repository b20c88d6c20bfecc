#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Fuzz without libFuzzer: every target with tests/fuzz/driver.c under the compiler's address and
# undefined-behaviour sanitizers, the whole corpus and a fixed number of mutations. Prints TAP.
# (tests/run fuzz does the same with libFuzzer, for a time instead of a number.)
#
#	tests/fuzz/run.sh [MUTATIONS [NAME...]]		(default: 2000, all)
set -u
cd "$(dirname "$0")/../.." || exit 1
mutations=${1:-2000}
[ $# -gt 0 ] && shift
where=build/asan/fuzz
make -s build/syscall_names.inc || exit 1
mkdir -p "$where"
names=${*:-$(ls tests/fuzz/fuzz_*.c | sed 's,.*/fuzz_,,; s,\.c$,,')}
sources=$(ls analysis/base/*.c analysis/session/*.c analysis/code/*.c tui/session_*.c)
flags="-std=gnu11 -D_GNU_SOURCE -I. -Ibuild -include analysis/base/banned.h -O1 -g"
flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=all"
objects=
for source in $sources; do
	objects="$objects $where/$(echo "${source%.c}" | tr / -).o"
done
export where flags
# shellcheck disable=SC2016
echo "$sources" | xargs -P "$(nproc)" -I{} sh -c '
	object=$where/$(echo "{}" | sed "s,\.c$,.o,; s,/,-,g")
	${CC:-gcc} $flags -c -o "$object" "{}"' || exit 1
n=0
failed=0
for name in $names; do
	n=$((n + 1))
	program=$where/fuzz_$name
	# shellcheck disable=SC2086
	if ${CC:-gcc} $flags -o "$program" "tests/fuzz/fuzz_$name.c" tests/fuzz/driver.c $objects \
		-ldw -lelf -lcapstone -lseccomp -liberty -llzma -lzstd -lm &&
		"$program" -n "$mutations" -o "$where/$name.input" "tests/fuzz/corpus/$name"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name: see $where/$name.input"
		failed=1
	fi
done
echo "1..$n"
exit $failed
