# SPDX-License-Identifier: GPL-2.0-or-later
"""Descents go on into the kernel: in a guest, whose kernel has kprobes. Two of the papers' cases: random direct I/O, and who waits for the journal."""
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


def descend(script, question, *targets, options=()):
    """The answer of a descent in a guest, in which this script runs; $a is a process that it has started."""
    status, out, err = guest(
        "sh", "-c", "%s; peaktop descend %s --json --max-overhead 50 --timeout 120; s=$?; kill $a; exit $s" % (script, question),
        files=peaktop_files(*targets), options=options)
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    document = json.loads(out)
    validate(document)
    return document


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
                   options=("-D", "64M,throttling.iops-total=200")), "iomap_dio_rw", "io_schedule_timeout")


@live("fsync of a file: the commit of the journal that it waits for")
def commits():
    expect(descend("(while true; do dd if=/dev/zero of=/mnt/y bs=4k count=1 conv=fsync 2>/dev/null; done) & a=$!",
                   "--host -f kernel:ext4_sync_file", options=("-D", "64M,throttling.iops-total=200")), "jbd2_log_wait_commit")


if __name__ == "__main__":
    main()
