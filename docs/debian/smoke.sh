#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# smoke.sh DEB [SUITE]: installs the package in a new minimal Debian and tries what it installed. Needs root, debootstrap and a
# mirror of Debian. Prints what it tries; ends with an error at the first thing that fails. Leaves nothing behind.
set -eu
deb=$(realpath "$1")
suite=${2:-bookworm}
root=$(mktemp -d) && chmod 755 "$root"
leave() {
	umount -l "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
	rm -rf --one-file-system "$root"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP
say() { echo "smoke.sh: $*"; }
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=xterm LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

say "a minimal $suite"
debootstrap --variant=minbase "$suite" "$root" >/dev/null
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"

say "install the package and what it depends on"
cp "$deb" "$root/tmp/peaktop.deb"
inside apt-get -qq update
inside apt-get -qq install -y --no-install-recommends /tmp/peaktop.deb >/dev/null

say "peaktop --version"
inside peaktop --version
say "peaktop doctor"
inside peaktop doctor >"$root/tmp/doctor"
grep -q 'system calls' "$root/tmp/doctor"
say "peaktop watch -- COMMAND"
inside peaktop watch -- sh -c 'for i in 1 2 3; do /bin/true; done' >"$root/tmp/watch"
grep -q 'calls' "$root/tmp/watch"
say "peaktop record, export"
inside peaktop record --quiet -o /tmp/s.peaktop -- /bin/sleep 1
inside peaktop export /tmp/s.peaktop --format json | grep -q '"operations"'
say "completion"
inside peaktop --complete watch --int | grep -q interval
say "remove it again"
inside apt-get -qq purge -y peaktop >/dev/null
[ -z "$(inside find /usr /etc -name '*peaktop*' -print -quit)" ]
say "all of it works"
