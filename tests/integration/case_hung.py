# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets that cannot be read, collectors that hang or are killed: every wait of peaktop's has an end."""
from harness import *


def hole():
    """A target with a page of a sleeping thread's stack that nobody can read without sleeping for ever."""
    t = Target("hole")
    with open("/proc/%d/comm" % t.pid) as f:
        equal("its name", f.read().strip(), "hole")
    return t


def has_hole(t):
    """The hole is there: its thread sleeps, and userfaultfd covers a mapping of the process."""
    def there():
        with open("/proc/%d/smaps" % t.pid) as f:
            return any(line.startswith("VmFlags:") and " um" in line for line in f)
    wait_for(there, "the target makes its hole")


def own_slices(program, n):
    """n slices were printed."""
    wait_for(lambda: len(program.out) >= n, "%d slices; said: %s" % (n, program.error_text()), 20)


@case("a call that is open on an unreadable page: --for is honoured, the other function is counted")
def frame_hole():
    with NothingLeft():
        t = hole()
        program = Peaktop("watch", "-p", t.pid, "-f", "waits_forever", "-f", "goes_on", "--json", "--for", 4)
        program.armed(t.pid)
        t.go()
        start = time.monotonic()
        equal("exit status", program.wait(20), 0)
        between("seconds for --for 4", time.monotonic() - start, 0, 12)
        document = program.document()
        between("calls of goes_on", operation(document, "goes_on")["calls"], 100, 100000)
        equal("open calls of waits_forever", operation(document, "waits_forever")["open"], 1)
        equal("calls of waits_forever", operation(document, "waits_forever")["calls"], 0)
        check(alive(t.pid), "the target died")
        t.end()


@case("the same with Ctrl-C: answered at once; the breakpoints of another target are removed")
def frame_hole_interrupt():
    with NothingLeft():
        t, other = hole(), Target("rates", 2000, 120, 0)
        program = Peaktop("watch", "-p", "%d,%d" % (t.pid, other.pid), "-f", "waits_forever", "-f", "busy", "--json-lines", "--for", 600)
        program.armed(t.pid)
        program.armed(other.pid)
        t.go()
        other.go()
        has_hole(t)
        seen = len(program.out)
        own_slices(program, seen + 4)
        start = time.monotonic()
        equal("exit status", program.stop(), 0)
        between("seconds until the end", time.monotonic() - start, 0, 5)
        equal("breakpoints in the other target", breakpoints(other.pid), [])
        check(alive(t.pid) and alive(other.pid), "a target died")
        t.end()
        other.end()


@case("a walk and --open over a stack that cannot be read: they end in time, with what they can see")
def stack_hole():
    with NothingLeft():
        t = hole()
        t.go()
        has_hole(t)
        start = time.monotonic()
        status, program = run_peaktop("descend", "-p", t.pid, "--timeout", 4, "--json", seconds=30)
        between("exit status of the walk: %s" % program.error_text(), status, 0, 1)
        program.document()
        status, program = run_peaktop("descend", "-p", t.pid, "--open", "-f", "waits_forever", seconds=30)
        check(status in (0, 1), "exit status of --open: %d" % status)
        between("seconds for both", time.monotonic() - start, 0, 25)
        check(alive(t.pid), "the target died")
        t.end()


main()
