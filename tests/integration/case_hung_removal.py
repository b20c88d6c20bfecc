# SPDX-License-Identifier: GPL-2.0-or-later
"""
The kernel hangs while it removes a probe, because another process keeps the lock of its memory. Meanwhile no process of the host can fork, so
tests/run begins no other file until this one has ended.
"""
from case_hung import *

CASES.clear()  # those of the other file

MAPS_BOTH = """
import ctypes, mmap, sys
def mapped(path, protection):
    with open(path, "rb") as f:
        made = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=protection)
    return made, ctypes.addressof(ctypes.c_char.from_buffer(made))
kept = mapped(sys.argv[1], mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
slow = mapped(sys.argv[2], mmap.PROT_READ | mmap.PROT_WRITE)
print("ready", flush=True)
sys.stdin.read(1)
with open("/proc/self/mem", "rb", buffering=0) as f:
    f.seek(slow[1])
    f.read(1)
"""


def reads_memory(pid):
    with open("/proc/%d/stack" % pid, encoding="ascii") as f:
        return "access_remote_vm" in f.read()


def removes_probe(pid, tid):
    with open("/proc/%d/task/%s/stack" % (pid, tid), encoding="ascii") as f:
        return "uprobe_unregister" in f.read()


def removal_hangs(end):
    """Watch a target, and make the kernel hang while it removes the probes. `end` gets peaktop, its collector, and the function that
    ends the hang."""
    files = SlowFiles("rates")
    program_file = os.path.join(TARGETS, "rates")

    # processes that map the target's file, too, and that keep the lock of their memory while FUSE does not answer: one is
    # older than the target and one younger, because the kernel removes a probe from one process after the other
    def neighbour():
        made = subprocess.Popen([sys.executable, "-c", MAPS_BOTH, program_file, files.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        equal("the neighbour's word", made.stdout.readline(), b"ready\n")
        return made

    neighbours = [neighbour()]
    t = Target("rates", 2000, 120, 0)
    neighbours.append(neighbour())
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json-lines", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        ready(program)
        collector = collector_of(program)
        files.hanging = True
        for one in neighbours:
            one.stdin.close()
        wait_for(lambda: all(reads_memory(one.pid) for one in neighbours), "both neighbours wait for FUSE", 10)
        program.note_family()
        program.signal(signal.SIGINT)
        end(t, program, collector, files.end)
        equal("breakpoints", breakpoints(t.pid), [])
    for one in neighbours:
        one.wait()
    t.end()


@case("a probe that cannot be removed for long: the front ends and says so; once it can be removed, it is")
def removal_is_late():
    def end(t, program, collector, goes_on):
        wait_for(lambda: program.process.poll() is not None, "the front ends", 20)
        check(alive(collector), "the collector was killed while it removed a probe")
        check(breakpoints(t.pid), "the probes were removed, so nothing was tested")
        goes_on()
        wait_for(lambda: not alive(collector), "the collector ends", 20)
        equal("exit status", program.wait(10), 0)
        check("waits for this and then ends by itself" in program.error_text(), "no word about it: " + program.error_text())
    removal_hangs(end)


def removal_killed(kill):
    """The collector is killed while it removes a probe. `kill` gets peaktop and its collector."""
    def end(t, program, collector, goes_on):
        cleaner = member(program, "probe-cleaner")
        check(cleaner, "the helper does not run")
        wait_for(lambda: any(removes_probe(collector, tid) for tid in os.listdir("/proc/%d/task" % collector)),
                 "the collector removes a probe", 10)
        kill(program, collector)
        check(breakpoints(t.pid), "the probes were removed, so nothing was tested")
        goes_on()
        wait_for(lambda: not alive(collector) and not alive(cleaner), "the collector and the helper end", 20)
        program.wait(20)
    removal_hangs(end)


@case("the collector is killed while it removes a probe: the kernel gives up, and a helper removes the breakpoints")
def removal_is_killed():
    removal_killed(lambda program, collector: os.kill(collector, signal.SIGKILL))


@case("the same with pkill -9 -f peaktop, which kills all processes with that in their arguments")
def all_are_killed():
    def kill(program, collector):
        victims = []
        for pid in family(program.pid):
            # a helper may end just now
            with contextlib.suppress(OSError), open("/proc/%d/cmdline" % pid, "rb") as f:
                if b"peaktop" in f.read():
                    victims.append(pid)
        check(collector in victims and program.pid in victims, "front and collector have the name in their arguments")
        for pid in sorted(victims):
            os.kill(pid, signal.SIGKILL)
    removal_killed(kill)


if __name__ == "__main__":
    main()
