#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# deps.sh build | test | package | bench | static ...: install the packages of these groups that are missing.
#
# Debian 12, Ubuntu 24.04 and their successors. Quiet, and without any apt call, when nothing is
# missing. Needs root or sudo. No service is started, and none that came with these packages
# is left enabled. Where there is no apt it lists the names and lets the build speak for itself.
set -u

. /etc/os-release 2>/dev/null || ID=unknown

names() {
	case $1 in
	build)
		echo "gcc make pkg-config clang libc6-dev libbpf-dev libelf-dev libdw-dev libcapstone-dev
		      libncurses-dev libjansson-dev libzstd-dev libiberty-dev libseccomp-dev liblzma-dev zlib1g-dev"
		# Ubuntu: the wrapper of linux-tools-common finds only the running kernel's bpftool;
		# the Makefile takes the one of linux-tools-generic, whatever kernel runs.
		if [ "$ID" = ubuntu ]; then echo "linux-tools-common linux-tools-generic"; else echo bpftool; fi ;;
	test)
		echo "g++ libcmocka-dev tmux redis-server redis-tools postgresql postgresql-contrib sqlite3 python3
		      python3-jsonschema golang-go musl-tools valgrind qemu-system-x86 busybox-static cpio xz-utils zstd
		      binutils procps pmccabe iproute2 util-linux e2fsprogs kmod libcap2-bin clang-format-14
		      mandoc groff-base dpkg-dev lintian zsh fish bash-completion"
		# Only recommended by clang there, and the fuzzers need it.
		if [ "$ID" = ubuntu ]; then echo libclang-rt-dev; fi ;;
	package)
		echo "dpkg-dev" ;;
	bench)
		echo "bpftrace uftrace libbpf-tools redis-server redis-tools python3"
		if [ "$ID" = ubuntu ]; then echo linux-tools-generic; else echo linux-perf; fi ;;
	static)
		echo "liblzma-dev libbz2-dev zlib1g-dev" ;;
	*)
		echo "deps.sh: no group '$1' (build, test, package, bench, static)" >&2
		exit 2 ;;
	esac
}

wanted=
for group in "$@"; do wanted="$wanted $(names "$group")" || exit 2; done

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "deps.sh: no dpkg here; needed (Debian's names):" $wanted >&2
	exit 0
fi

installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^ii *//p')
missing=
for name in $wanted; do
	echo "$installed" | grep -qxF "$name" || missing="$missing $name"
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=$(command -v sudo) || {
		echo "deps.sh: missing:$missing; install them as root, or install sudo" >&2
		exit 1
	}
fi

echo "  APT    $missing"
log=$(mktemp) || exit 1
policy=/usr/sbin/policy-rc.d
own_policy=
trap 'rm -f "$log"; [ -z "$own_policy" ] || $sudo rm -f $policy' EXIT
trap 'exit 130' INT TERM HUP

apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1
}
failed() {
	tail -n 20 "$log" >&2
	echo "deps.sh: cannot install:$missing; see above" >&2
	exit 1
}

# 101: "do not start": a test must not leave a database running on somebody's machine.
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null && $sudo chmod 755 $policy && own_policy=1
fi
apt install --no-install-recommends $missing || {
	apt update || failed
	apt install --no-install-recommends $missing || failed
}
if [ -d /run/systemd/system ]; then
	for unit in redis-server postgresql; do
		case " $missing " in *" $unit "*) $sudo systemctl --quiet disable $unit >>"$log" 2>&1 ;; esac
	done
fi
exit 0
