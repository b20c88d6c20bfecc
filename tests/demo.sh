#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo.sh BUILD [SUDO]: the bundled target and the live screen on it; the target ends with the screen.
set -u
build=$1
sudo=${2:-}
"$build/targets/demo" >"$build/demo.out" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null' EXIT
trap 'exit 130' INT TERM HUP
# The target does little beside being measured: a wide budget shows every call of it.
$sudo "$build/peaktop" -p $pid -f serve_request --max-overhead 20
status=$?
if ! kill -0 $pid 2>/dev/null; then
	echo "demo: the target ended by itself:" >&2
	cat "$build/demo.out" >&2
fi
exit $status
