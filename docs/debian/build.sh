#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# build.sh BUILD VERSION DATE: makes BUILD/peaktop_VERSION_ARCH.deb of what `make install` installs.
# Run by `make deb`. Needs neither root nor the network. DEBFULLNAME and DEBEMAIL name the maintainer.
set -eu
build=$1 version=$2 date=$3
top=$(cd "$(dirname "$0")/../.." && pwd)
arch=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-peaktop developers} <${DEBEMAIL:-peaktop@localhost}>"
SOURCE_DATE_EPOCH=$(date -ud "$date" +%s)
export SOURCE_DATE_EPOCH
unset MAKEFLAGS MFLAGS MAKELEVEL || true

cd "$top"
mkdir -p "$build/deb"
work=$(mktemp -d "$build/deb/XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root doc=$work/root/usr/share/doc/peaktop

make -s --no-print-directory install B="$build" PREFIX=/usr DESTDIR="$(realpath "$work")/root" \
	ZSHCOMPDIR=/usr/share/zsh/vendor-completions >/dev/null
strip --remove-section=.comment --remove-section=.note "$root/usr/bin/peaktop"
gzip -9n "$root"/usr/share/man/man1/*.1
cp docs/debian/copyright "$doc/copyright"
install -D -m 644 docs/debian/lintian-overrides "$root/usr/share/lintian/overrides/peaktop"
printf 'peaktop (%s) unstable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' \
	"$version" "$version" "$maintainer" "$(date -Rud "$date")" | gzip -9nc >"$doc/changelog.gz"

# The libraries that the program needs, as the installed packages name them. dpkg-shlibdeps wants a source package.
mkdir -p "$work/debian"
printf 'Source: peaktop\n\nPackage: peaktop\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/peaktop 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || {
	echo "docs/debian/build.sh: dpkg-shlibdeps does not know the libraries of peaktop; were they installed from packages?" >&2
	exit 1
}

find "$root" -type d -exec chmod 755 {} +
mkdir "$root/DEBIAN"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/; s/@DEPENDS@/$depends/; s/@MAINTAINER@/$maintainer/" \
	docs/debian/control.in >"$root/DEBIAN/control"
chmod 644 "$root"/DEBIAN/*
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$build/peaktop_${version}_$arch.deb" >/dev/null
echo "  DEB     $build/peaktop_${version}_$arch.deb"
