#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# vmrun.sh [OPTION]... -- COMMAND [ARG]...
#
# Runs a command as root in a throw-away virtual machine with a distribution's kernel, without KVM, and ends
# with the command's exit status; its standard output and error arrive live and apart. The host is not touched.
#
#   -i SRC[:DST]   take a file or directory along (same path unless DST); programs bring their libraries
#   -M MOD[,P=V]   load a kernel module, after those it depends on
#   -D SIZE[,OPT]  a scratch ext4 disk on /mnt; OPT go to qemu's -drive (throttling.iops-total=100)
#   -o DIR         afterwards copy the guest's /out to DIR
#   -e VAR=VALUE   environment    -C DIR  working directory (/)
#   -k KERNEL      package name without "linux-image-" (the default is printed by -K, which downloads it)
#   -a ARGUMENT   of the kernel's command line
#   -n             the guest's clock counts its instructions, 1 ns each: its times do not depend on the host's load
#   -m MB (1024)   -c CPUS (2)    -t SECONDS (120)    -v  the guest's console on standard error
#
# Status: the command's (128 + n for signal n); 124 out of time; 125 no guest: set-up, panic, no report.
# Needs qemu-system-x86, busybox-static, cpio, xz-utils, zstd, and apt-get for the kernel, which is
# downloaded once into ${VMRUN_CACHE:-~/.cache/peaktop-vmrun} and never installed.
set -u -o pipefail

cache=${VMRUN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/peaktop-vmrun}
kernel= kernel_arguments= disk= disk_options= out_dir= directory=/ memory=1024 cpus=2 limit=120 verbose= fetch_only= clock=()
files=() modules=() environment=()

die() {
	echo "vmrun: $*" >&2
	exit 125
}
usage() { sed -n '4,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }

while getopts 'i:M:D:o:e:C:k:a:m:c:t:nvKh' option; do
	case $option in
	i) files+=("$OPTARG") ;;
	M) modules+=("$OPTARG") ;;
	D) disk=${OPTARG%%,*} && disk_options=${OPTARG#"$disk"} ;;
	o) out_dir=$OPTARG ;;
	e) environment+=("$OPTARG") ;;
	C) directory=$OPTARG ;;
	k) kernel=$OPTARG ;;
	a) kernel_arguments+=" $OPTARG" ;;
	m) memory=$OPTARG ;;
	c) cpus=$OPTARG ;;
	t) limit=$OPTARG ;;
	n) clock=(-icount shift=0) ;;
	v) verbose=1 ;;
	K) fetch_only=1 ;;
	h) usage && exit 0 ;;
	*) usage >&2 && exit 125 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || [ -n "$fetch_only" ] || die 'no command; -h tells the options'
for tool in qemu-system-x86_64 busybox cpio xz zstd ldd apt-get dpkg; do
	command -v $tool >/dev/null || die "$tool is missing"
done
busybox=$(command -v busybox)
ldd "$busybox" >/dev/null 2>&1 && die "$busybox is not static (package busybox-static)"

# --- the kernel

# What apt knows as the newest kernel that suits; several names because distributions differ.
newest_kernel() {
	local meta name
	for meta in linux-image-6.12-cloud-amd64 linux-image-cloud-amd64 linux-image-virtual linux-image-amd64; do
		name=$(apt-cache depends "$meta" 2>/dev/null | sed -n 's/.*Depends: linux-image-//p' | head -n 1)
		[ -z "$name" ] || { echo "$name" && return; }
	done
}

# The plain ELF kernel out of a bzImage: qemu enters it by PVH, which saves seconds of self-extraction.
# Boot protocol: setup_sects at 0x1f1, payload_offset and payload_length at 0x248.
extract_vmlinux() { # bzImage, result
	local sectors offset length magic
	sectors=$(od -An -tu1 -j 497 -N 1 "$1")
	read -r offset length <<<"$(od -An -tu4 -j 584 -N 8 "$1")"
	payload() { tail -c +$(((sectors + 1) * 512 + offset + 1)) "$1" | head -c $((length - 4)); }
	magic=$(payload "$1" | head -c 4 | od -An -tx1 | tr -d ' ')
	case $magic in
	28b52ffd) payload "$1" | zstd -qdc ;;
	fd377a58) payload "$1" | xz -qdc --single-stream ;;
	1f8b*) payload "$1" | gzip -qdc ;;
	02214c18) payload "$1" | lz4 -qdc ;;
	esac >"$2" 2>/dev/null
	[ "$(head -c 4 "$2" | tail -c 3)" = ELF ] || cp "$1" "$2"
}

fetch_kernel() { # into $cache/$kernel
	local work image extra
	work=$(mktemp -d "$cache/.fetch.XXXXXX") || die "cannot write in $cache"
	(
		cd "$work" || exit
		extra=
		# Ubuntu keeps the modules in a package of their own.
		apt-cache show "linux-modules-$kernel" >/dev/null 2>&1 && extra=linux-modules-$kernel
		apt-get -qq -o APT::Sandbox::User=root download "linux-image-$kernel" $extra && for deb in ./*.deb; do
			dpkg -x "$deb" x || exit
		done
	) >&2 || {
		rm -rf "$work"
		die "cannot download linux-image-$kernel"
	}
	image=$(ls "$work"/x/boot/vmlinuz-* | head -n 1)
	extract_vmlinux "$image" "$work/vmlinux"
	mv "$(find "$work"/x/lib/modules "$work"/x/usr/lib/modules -mindepth 1 -maxdepth 1 -type d 2>/dev/null | head -n 1)" "$work/modules"
	rm -rf "$work/x" "$work"/*.deb
	mv -T "$work" "$cache/$kernel" 2>/dev/null || rm -rf "$work" # somebody else was faster
}

mkdir -p "$cache" || exit 125
# Without -k: what is there already, so that a test needs the network only once.
[ -n "$kernel" ] || kernel=$(ls "$cache" | grep -vE '^6\.1\.' | sort -V | tail -n 1)
[ -n "$kernel" ] || kernel=$(newest_kernel)
[ -n "$kernel" ] || die 'apt knows no kernel package (apt-get update?)'
[ -d "$cache/$kernel" ] || fetch_kernel
if [ -n "$fetch_only" ]; then
	echo "$kernel"
	exit 0
fi

# --- the initial file system

work=$(mktemp -d "${TMPDIR:-/tmp}/vmrun.XXXXXX") || exit 125
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 143' INT TERM HUP
root=$work/root
mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{proc,sys,dev,run,tmp,mnt,out,root,etc,guest/modules}
for d in bin sbin lib lib64; do ln -s usr/$d "$root/$d"; done
chmod 1777 "$root/tmp"
cp "$busybox" "$root/guest/busybox"
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"

declare -A taken
take_file() { # host path, guest path; with the libraries that it is linked with
	local place library
	place=$(realpath -m "$(dirname "$2")")/$(basename "$2")
	[ -z "${taken[$place]:-}" ] || return 0
	taken[$place]=1
	mkdir -p "$root$(dirname "$place")" && cp -L --preserve=mode,timestamps "$1" "$root$place" || die "cannot take $1 along"
	[ "$(head -c 4 "$1" | tr -d '\0' | tail -c 3)" = ELF ] || return 0
	for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]* (0x' | sed 's/ (0x//'); do
		take_file "$library" "$library"
	done
}
for item in ${files[@]+"${files[@]}"}; do
	source=$(realpath -s "${item%%:*}") place=
	[[ $item != *:* ]] || place=${item#*:}
	: "${place:=$source}"
	if [ -d "$source" ]; then
		mkdir -p "$root$place"
		while IFS= read -r -d '' f; do take_file "$f" "$place${f#"$source"}"; done < <(find -L "$source" -type f -print0)
	else
		take_file "$source" "$place"
	fi
done

take_module() { # name[,parameter=value...]
	local name=${1%%,*} parameters= file needed
	[[ $1 != *,* ]] || parameters=${1#*,}
	name=${name//-/_}
	grep -qs "^$name\.ko" "$root/guest/modules/list" && return
	file=$(find "$cache/$kernel/modules" -name '*.ko*' | grep -E "/${name//_/[_-]}\.ko(\.xz|\.zst)?$" | head -n 1)
	if [ -z "$file" ]; then
		grep -qE "/${name//_/[_-]}\.ko$" "$cache/$kernel/modules/modules.builtin" && return
		die "$kernel has no module $name"
	fi
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -qdc "$file" ;;
	*) cat "$file" ;;
	esac >"$root/guest/modules/$name.ko"
	for needed in $(tr '\0' '\n' <"$root/guest/modules/$name.ko" | sed -n 's/^depends=//p' | tr ',' ' '); do
		take_module "$needed"
	done
	echo "$name.ko ${parameters//,/ }" >>"$root/guest/modules/list"
}
: >"$root/guest/modules/list"
for m in virtio_pci virtio_console ${disk:+virtio_blk crc32c_generic ext4} ${modules[@]+"${modules[@]}"}; do
	take_module "$m"
done

{
	printf 'cd %q || exit 125\n' "$directory"
	for variable in ${environment[@]+"${environment[@]}"}; do
		printf "export %s='%s'\n" "${variable%%=*}" "$(sed "s/'/'\\\\''/g" <<<"${variable#*=}")"
	done
	printf 'exec'
	for word in "$@"; do printf " '%s'" "$(sed "s/'/'\\\\''/g" <<<"$word")"; done
	echo
} >"$root/guest/command"

cat >"$root/init" <<'INIT'
#!/guest/busybox sh
/guest/busybox --install -s /bin 2>/dev/null # only where nothing was taken along under that name
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module parameters; do
	insmod /guest/modules/$module $parameters || echo "vmrun: $module does not load"
done </guest/modules/list
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tracefs trace /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup /sys/fs/cgroup
ln -s /proc/self/fd /dev/fd
ip link set lo up
[ ! -e /dev/vda ] || mount -t ext4 /dev/vda /mnt
port() {
	for p in /sys/class/virtio-ports/*; do
		[ "$(cat $p/name)" != $1 ] || echo /dev/${p##*/}
	done
}
sh /guest/command </dev/null >$(port out) 2>$(port err)
status=$?
files=$(port files)
[ -z "$files" ] || tar -C /out -cf $files .
sync
umount /mnt 2>/dev/null
echo
echo "VMRUN-STATUS=$status"
poweroff -f
INIT
chmod 755 "$root/init"
(cd "$root" && find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet) >"$work/initrd" || die 'cannot pack the file system'

# --- the machine

devices=(-device virtio-serial-pci)
port() {
	devices+=(-chardev "file,id=$1,path=$work/$1" -device "virtserialport,chardev=$1,name=$1")
}
mkfifo "$work/out" "$work/err"
port out
port err
[ -z "$out_dir" ] || port files
if [ -n "$disk" ]; then
	truncate -s "$disk" "$work/disk" && /sbin/mkfs.ext4 -Fq "$work/disk" || die 'cannot make the scratch disk'
	devices+=(-drive "if=none,id=disk,format=raw,cache=unsafe,file=$work/disk$disk_options" -device virtio-blk-pci,drive=disk)
fi
cat "$work/out" &
reader_out=$!
cat "$work/err" >&2 &
reader_err=$!
# One thread for all CPUs: with several, qemu 7.2 goes on running translations of code that the kernel has
# patched meanwhile, and the guest dies within seconds of attaching probes. On a busy host a tick may be late: without
# no_timer_check the kernel takes the timer for broken and panics while it boots.
timeout -k 5 "$limit" qemu-system-x86_64 -accel tcg,thread=single -cpu max ${clock[@]+"${clock[@]}"} -smp "$cpus" -m "$memory" \
	-nodefaults -no-user-config -display none -no-reboot -serial "file:$work/console" "${devices[@]}" \
	-kernel "$cache/$kernel/vmlinux" -initrd "$work/initrd" \
	-append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off no_timer_check$kernel_arguments" </dev/null >/dev/null 2>"$work/qemu" &
qemu=$!
wait $qemu
ended=$?
qemu=
: 7<>"$work/out" 8<>"$work/err" # for the readers, if qemu never opened its ends
wait $reader_out $reader_err

console() { tr -d '\r' <"$work/console" 2>/dev/null; }
[ -z "$verbose" ] || console >&2
if [ -n "$out_dir" ] && [ -s "$work/files" ]; then
	mkdir -p "$out_dir" && tar -C "$out_dir" -xf "$work/files"
fi
status=$(console | sed -n 's/^VMRUN-STATUS=//p' | tail -n 1)
if [ -z "$status" ]; then
	{ cat "$work/qemu" && console | tail -n 40; } >&2
	if [ $ended = 124 ] || [ $ended = 137 ]; then
		echo "vmrun: no end within $limit s" >&2
		exit 124
	fi
	die "the guest died (qemu: $ended)"
fi
exit "$status"
