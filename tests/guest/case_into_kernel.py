# SPDX-License-Identifier: GPL-2.0-or-later
"""Descents go on into the kernel: in a guest, whose kernel has kprobes. The papers' cases: DARC, OSprof, CrossWalk."""
from case_kernel_functions import *

CASES.clear()  # those of the other file

PROBES = os.path.join(TOP, "build", "guest", "kernel_probes")


def probes(count, seed):
    """Arm and remove probes in so many random functions of the guest's kernel."""
    if not os.path.exists(PROBES):
        raise Skip("no build/guest/kernel_probes")
    print("# seed %d" % seed, flush=True)
    status, out, err = guest("sh", "-c", "kernel_probes %d %d; s=$?; dmesg | grep -E 'BUG|Oops|WARNING|soft lockup'; exit $s" % (count, seed),
                             files=[PROBES + ":/bin/kernel_probes"])
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    told = dict(line.split() for line in out.split("\n") if len(line.split()) == 2)
    print("# %s" % told, flush=True)
    check(int(told["functions"]) >= count // 2, "functions that could be probed: %s" % told)
    check(not re.search(r"BUG|Oops|WARNING|lockup", out), "the kernel complains: %s" % out)


@case("some functions of the kernel, armed and removed one after the other, harm neither it nor who calls them")
def random_functions():
    # the same ones each time: 1,000 random ones are asked about below
    probes(10, int(os.environ.get("PEAKTOP_SEED", "1")))


@live("the same of 1,000 functions, drawn anew each time")
def many_random_functions():
    probes(1000, random.randrange(1 << 31))


# a block device whose requests take some milliseconds, with ext4 on /mnt
SLOW_DISK = ("-D", "64M,throttling.iops-total=200")


def answer(status, out, err):
    """The document that a descent in a guest has printed."""
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    document = json.loads(out)
    validate(document)
    return document


def descend(script, question, *targets, options=()):
    """The answer of a descent in a guest, in which this script runs; $a is a process that it has started."""
    return answer(*guest(
        "sh", "-c", "%s; peaktop descend %s --json --max-overhead 50 --timeout 120; s=$?; kill $a; exit $s" % (script, question),
        files=peaktop_files(*targets), options=options))


def begin_paths(mode, processes=1, place="/mnt"):
    """In a script: start tests/targets/kernel_paths.c in this mode, as $a, and wait until it has made its files."""
    return ("kernel_paths %s %s %d >/tmp/ready & a=$!; until grep -q ready /tmp/ready; do kill -0 $a || exit 9; sleep 0.1; done"
            % (mode, place, processes))


def descend_paths(mode, function, processes=1, options=SLOW_DISK, beside=":"):
    return descend("%s; %s" % (begin_paths(mode, processes), beside), "-p $a -f %s" % function, "kernel_paths", options=options)


def timed(node):
    """The functions of this part of the tree that probes have timed."""
    names = [node["function"]] if node["latency_ns"] else []
    for child in node["children"]:
        names += timed(child)
    return names


def expect(document, *functions):
    """These functions of the kernel were timed."""
    names = timed(document["ftree"])
    print("# timed: %s" % names, flush=True)
    for function in functions:
        check(function in names, "%s was timed: %s" % (function, names))


@live("below a system call the functions of the kernel are timed, down to the one that sleeps")
def sleeps():
    expect(descend("mkfifo /tmp/in; rates 100 3000 0 </tmp/in >/dev/null & a=$!; sleep 3000 >/tmp/in & p=$(pidof rates)",
                   "-p $p -f syscall:clock_nanosleep", "rates"), "hrtimer_nanosleep", "do_nanosleep")


@live("reads past the page cache: down to io_schedule")
def direct():
    expect(descend("dd if=/dev/zero of=/mnt/x bs=1M count=30 2>/dev/null; sync; (while true; do dd if=/mnt/x of=/dev/null bs=64k iflag=direct"
                   " count=1000000 2>/dev/null; done) & a=$!", "--host -f kernel:ext4_file_read_iter",
                   options=SLOW_DISK), "iomap_dio_rw", "io_schedule_timeout")


@smoke("from a function of the program through fsync() to the wait for the journal's commit")
def through_fsync():
    expect(descend_paths("sync", "store_record"), "store_record", "syscall:fsync", "ext4_sync_file", "jbd2_log_wait_commit")


@live("from a function of the program through a read past the page cache to io_schedule")
def through_read():
    expect(descend_paths("direct", "fetch_block"), "fetch_block", "syscall:pread64", "vfs_read", "ext4_file_read_iter", "iomap_dio_rw",
           "io_schedule_timeout")


@live("a proxy that creates a file for each object: create, below openat() and the walk of the path")
def create():
    expect(descend_paths("create", "store_object", options=("-D", "64M")), "store_object", "open", "syscall:openat", "do_sys_openat2", "path_openat",
           "ext4_create")


def nodes(tree):
    """All nodes of a tree."""
    return [tree] + [below for child in tree["children"] for below in nodes(child)]


@live("two system calls of one number in one function: each has its own time")
def twins():
    tree = descend_paths("twice", "fetch_both")["ftree"]
    calls = [n["latency_ns"] for n in nodes(tree) if n["function"] == "syscall:pread64" and n.get("latency_ns")]
    print("# %s of %s" % (calls, tree["latency_ns"]), flush=True)
    check(calls and max(calls) < 0.65 * tree["latency_ns"], "each is one of two reads: %s of %s ns" % (calls, tree["latency_ns"]))


# requests that take much longer than what the emulation adds to other calls
SLOWER_DISK = ("-D", "64M,throttling.iops-total=60")


def kernel_lines(document):
    """Of each path of each part, largest first: the functions of the kernel that stacks have shown below it, with their shares."""
    paths = [path for part in document.get("parts", [document]) for path in part["paths"]]
    lines = [[(frame["function"], round(frame["share"], 3)) for frame in path.get("in_kernel", [])] for path in paths]
    print("# causes: %s; in the kernel: %s" % ([path["cause"] for path in paths], lines), flush=True)
    return lines


def in_order(functions, line):
    """True if these functions stand in this line one below the other, and none has more of the time than the one before."""
    at = [i for function in functions for i, (name, _) in enumerate(line) if name.split(".")[0] == function]
    shares = [share for _, share in line]
    return len(at) == len(functions) and at == sorted(at) and shares == sorted(shares, reverse=True)


@live("stat() of a file far down: the path walk, in five functions of the kernel with their shares, by samples")
def stat():
    levels = "syscall:newfstatat", "vfs_fstatat", "vfs_statx", "filename_lookup", "path_lookupat"
    lines = kernel_lines(descend_paths("stat", "look_up"))
    check(any(in_order(levels, line) for line in lines), "the levels of a path walk: %s" % lines)


@live("entries of directories that are not in the page cache: down to io_schedule")
def list_cold():
    expect(descend_paths("list", "syscall:getdents64 --slowest 2", options=SLOWER_DISK), "iterate_dir", "ext4_readdir", "ext4_htree_fill_tree",
           "ext4_bread", "io_schedule")


@live("entries of a tree of directories have three peaks: past the end of a directory, in the page cache, on the disk")
def list_peaks():
    status, out, err = guest(
        "sh", "-c", "%s; peaktop watch -p $a -f syscall:getdents64 --json --for 20 --max-overhead 50; s=$?; kill $a; exit $s"
        % begin_paths("list"), files=peaktop_files("kernel_paths"), options=SLOWER_DISK)
    peaks = operation(answer(status, out, err), "syscall:getdents64")["peaks"]
    told = [(peak["mode_ns"], {value["name"]: value["text"] for value in peak["values"]}) for peak in peaks]
    print("# %s" % told, flush=True)
    check(told[0][1].get("return value", "").startswith("0"), "the first peak is past the end: %s" % told)
    check(any(values.get("return value", "").startswith("above 0") and "sleeps" not in values and ns < 1000000 for ns, values in told),
          "a peak of entries from the cache: %s" % told)
    check("sleeps" in told[-1][1] and told[-1][0] > 10000000, "the last peak waits for the disk: %s" % told)


def lock_functions(document):
    """The functions of paths that wait for a lock."""
    paths = [path for path in document["paths"] if path["cause"]["kind"] == "lock"]
    print("# waits for locks: %s" % [(path["share"], [f["function"] for f in path["frames"]]) for path in paths], flush=True)
    return {frame["function"] for path in paths for frame in path["frames"]}


@live("llseek() and read() by two processes at one place in a file: each waits for the other's lock of that place")
def seek_shared():
    document = descend_paths("share", "seek_and_read", processes=2, options=SLOWER_DISK)
    locked = lock_functions(document)
    for function in "syscall:lseek", "fdget_pos":
        check(function in locked, "below %s: %s" % (function, locked))


@live("llseek() and read() by two processes that have opened the file themselves: no lock, the disk alone")
def seek_apart():
    document = descend_paths("seek", "seek_and_read", processes=2, options=SLOWER_DISK)
    equal("waits for locks", lock_functions(document), set())
    check(document["paths"][0]["cause"]["kind"] == "io" and "syscall:read" in [f["function"] for f in document["paths"][0]["frames"]],
          "the first path: %s" % document["paths"][0])


@live("a kernel on which no call in the kernel can be timed (6.1): stacks tell the way to the journal's commit below fsync()")
def older_kernel_by_stacks():
    document = descend_paths("sync", "store_record", options=SLOW_DISK + older_kernel())
    lines = kernel_lines(document)
    check(any(in_order(("syscall:fsync", "ext4_sync_file", "jbd2_log_wait_commit"), line) for line in lines), "by stacks: %s" % lines)
    check("ext4_sync_file" not in timed(document["ftree"]), "nothing below the system call is timed: %s" % timed(document["ftree"]))
    # the emulator's pauses may make preemption the largest path
    equal("what is lacking is said: %s" % document["notes"], any("needs Linux 6.7" in note for note in document["notes"]),
          document["paths"][0]["cause"]["kind"] in ("io", "kernel"))


@case("whoever kills peaktop in a descent into the kernel: no probe stays there")
def killed():
    status, out, err = guest(
        "sh", "-c", "mount -t debugfs d /sys/kernel/debug; list=/sys/kernel/debug/kprobes/list; %s;"
        " await() { n=0; while [ $(grep -c . $list) $1 ]; do n=$((n + 1)); [ $n -lt 3000 ] && kill -0 $2 || { cat /tmp/o /tmp/e; exit 9; }; sleep 0.1; done; };"
        " for victims in front all; do"
        " peaktop descend -p $a -f store_record --decision-ops 60 --timeout 600 --max-overhead 100 >/tmp/o 2>/tmp/e & t=$!; await '-lt 4' $t;"
        " if [ $victims = front ]; then kill -9 $t; else kill -9 $(pidof peaktop); fi; await '-gt 0' $a; echo gone $(grep -c . $list);"
        " done; kill -0 $a; s=$?; kill $a; exit $s" % begin_paths("sync"), files=peaktop_files("kernel_paths"), options=SLOW_DISK)
    equal("status (%s; %s)" % (err, out), status, 0)
    equal("probes left", out.strip().split("\n"), ["gone 0", "gone 0"])


@live("fsync of a file: the commit of the journal that it waits for")
def commits():
    expect(descend("(while true; do dd if=/dev/zero of=/mnt/y bs=4k count=1 conv=fsync 2>/dev/null; done) & a=$!",
                   "--host -f kernel:ext4_sync_file", options=SLOW_DISK), "jbd2_log_wait_commit")


if __name__ == "__main__":
    main()
