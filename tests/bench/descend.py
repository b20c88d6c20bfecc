#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a descent costs and how fast it answers, in one run.

    descend.py [answers|throughput|loops|decisions|curve|syscalls]...

The target is descents.c: one call of twenty is slow, at the end of a chain. Every 50 ms it says how many calls there were. Of `syscalls`
it is syscall_rate.c, in a guest whose kernel has kprobes and whose clock counts instructions, so that its figures do not depend on the host.
It has one CPU: with two the clock would count those of both.
A table an item, then a line for each expectation. Exit status 1 if one is not met. B or PEAKTOP: another build.
"""
import glob
import statistics
import bench
from bench import *

DESCENTS = os.path.join(BENCH, "descents")
RUNS = int(os.environ.get("ROUNDS", "3"))
RATE = int(os.environ.get("RATE", "100000"))  # of system calls in the guest; without KVM a busy host needs ten minutes for a row of these
MOMENT = 5  # lines of the target: 250 ms, as long as a person notices


class Load(Program):
    def __init__(self, *args, under=()):
        super().__init__([*under, DESCENTS] + [str(a) for a in args], preexec_fn=undisturbed)
        wait_for(lambda: len(self.out) > 20, "the target works", 30)

    def samples(self, since=0):
        lines = self.out[since:]
        return [tuple(int(x) for x in line.split()) for line in lines if line.count(" ") == 2]


def rate(samples):
    """Calls a second of CPU time that the target had, and of wall time."""
    calls = samples[-1][0] - samples[0][0]
    return calls * 1e9 / max(samples[-1][1] - samples[0][1], 1), calls * 1e9 / max(samples[-1][2] - samples[0][2], 1)


def ask(load, *args):
    start = time.monotonic()
    status, program = run_peaktop("descend", "-p", load.pid, "-f", "serve", "--json", "--timeout", 20, *args, seconds=60)
    document = program.document()
    found = any(f["function"] == "culprit" for p in document["paths"][:1] for f in p["frames"])
    return document, found, time.monotonic() - start


def answers():
    title("Rounds and time to the answer (median of %d; one call of 20 is slow)" % RUNS)
    table("depth", "calls a second", "right", "armed rounds", "answer after, s", "with start and end, s", "probe hits", "calls used")
    for calls in (1000, 10000, 100000):
        for depth in (2, 4, 8, 12):
            load = Load(depth, calls)
            got = [ask(load) for _ in range(RUNS)]
            right = sum(found for _, found, _ in got)
            rounds = median(d["rounds"] for d, _, _ in got)
            took = median(d["elapsed_ns"] / 1e9 for d, _, _ in got)
            row(depth, calls, "%d of %d" % (right, RUNS), "%g" % rounds, "%.2f" % took, "%.2f" % median(t for _, _, t in got),
                "%d" % median(d["cost"]["hits"] for d, _, _ in got), "%d" % median(d["calls_used"] for d, _, _ in got))
            if (depth, calls) == (8, 10000):
                expect("an answer in at most 2 s at 10k calls a second and depth 8", right == RUNS and took <= 2, "%.2f s" % took)
                expect("... and at most 3 armed rounds", rounds <= 3, "%g" % rounds)
            clean_up()


def throughput_of(target, *args):
    """One descent into a target that does nothing else: a row, what it lost in percent of a minute, the slowest moment."""
    load = Load(*target)
    alone = rate(load.samples())[0]
    first = len(load.out) - 1
    document, found, took = ask(load, *args)
    during = load.samples(first)
    span = (during[-1][2] - during[0][2]) / 1e9
    # what it lost against its own pace, over a minute
    lost = 100 * (1 - rate(during)[0] / alone) * span / 60
    slowest = min(rate(during[i:i + MOMENT + 1])[0] for i in range(len(during) - MOMENT)) / alone
    row(" ".join(("descend", *args)) + ("" if found else ", wrong or none"), "%.0f" % alone, "%.0f" % rate(during)[0], "%.1f" % span,
        "%.2f%%" % lost, "%.2f of its speed" % slowest)
    clean_up()
    return lost, slowest


def expect_throughput(of, results):
    lost, slowest = (median(values) for values in zip(*results))
    expect("%s: loses at most 2%% over the minute" % of, lost <= 2, "median %.2f%%" % lost)
    expect("%s: never more than half of its speed (in 250 ms)" % of, slowest >= 0.5, "median %.2f of it left" % slowest)


THROUGHPUT = ("with", "alone", "meanwhile", "for, s", "lost in the minute around it", "slowest 250 ms")


def throughput():
    title("Throughput of a target that does nothing else, during a descent (depth 8, calls a second of its CPU time)")
    table(*THROUGHPUT)
    expect_throughput("the target", [throughput_of((8, 0)) for _ in range(RUNS)])
    for name, measure in (("bpftrace, every function", all_with_bpftrace), ("uftrace -P ., every function", all_with_uftrace)):
        try:
            alone, during, span = measure()
            row(name, "%.0f" % alone, "%.0f" % during, "%.1f" % span, "%.1f%% while it runs" % (100 * (1 - during / alone)), "-")
        except (AssertionError, Skip, OSError) as error:
            complain(name, error)
        clean_up()


def loops():
    for length in (100000, 3000000):
        title("The same, where the slow call makes %d short calls in a loop (depth 4)" % length)
        table(*THROUGHPUT)
        expect_throughput("a loop of %d calls" % length,
                          [throughput_of((4, 0, 1000, 0, length), *args) for args in ((), ("--level-by-level",)) for _ in range(RUNS)])


def functions_of(path):
    """Those of the program itself, without what the C library's start files bring."""
    run = subprocess.run(["nm", path], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return [n for n in re.findall(r" [Tt] (\w+)$", run.stdout, re.M)
            if re.match(r"(link\d+|serve|last|culprit|bystander|spin)$", n)]


def all_with_bpftrace():
    if not BPFTRACE:
        raise Skip("no bpftrace")
    load = Load(8, 0)
    alone = rate(load.samples())[0]
    text = " ".join("uprobe:%s:%s /pid==%d/ { @%s[tid] = nsecs; } uretprobe:%s:%s /@%s[tid]/ { @h_%s = hist(nsecs - @%s[tid]); }" % (
        DESCENTS, f, load.pid, f, DESCENTS, f, f, f, f) for f in functions_of(DESCENTS))
    program = Program([BPFTRACE, "-p", str(load.pid), "-e", text])
    wait_for(lambda: len(breakpoints(load.pid, "descents")) > 8, "bpftrace's probes are in the target", 60)
    elapse(0.5)
    first = len(load.out)
    elapse(3)
    during = load.samples(first)
    interrupt(program)
    return alone, rate(during)[0], (during[-1][2] - during[0][2]) / 1e9


def all_with_uftrace():
    uftrace = tool("uftrace")
    if not uftrace:
        raise Skip("no uftrace")
    load = Load(8, 0)
    alone = rate(load.samples())[0]
    load.end()
    load = Load(8, 0, under=[uftrace, "record", "-d", os.path.join(scratch(), "data"), "-P", "."])
    first = len(load.out)
    elapse(2)
    during = load.samples(first)
    return alone, rate(during)[0], (during[-1][2] - during[0][2]) / 1e9


def decisions():
    title("Cost over decision_ops, f0 of 2 us (slow: 100 us) at 5k calls a second, depth 4 (DARC, figure 11)")
    table("decision_ops", "right", "armed rounds", "answer after, s", "calls used", "probe hits", "probes, ms of the target")
    load = Load(4, 5000, 2000, 100000)
    for ops in (5, 10, 20, 50, 100, 200, 500):
        document, found, _ = ask(load, "--decision-ops", ops)
        row(ops, "yes" if found else document["status"], document["rounds"], "%.2f" % (document["elapsed_ns"] / 1e9),
            document["calls_used"], document["cost"]["hits"], "%.1f" % (document["cost"]["ns"] / 1e6))


# A load and a process beside it that nobody asks about: the numbers of their lines so far, before the descent, after it and later.
BESIDE = """
%s >/tmp/a & a=$!
%s >/tmp/b & b=$!
await() { while [ $(wc -l </tmp/a) -lt $1 ] || [ $(wc -l </tmp/b) -lt $1 ]; do kill -0 $a && kill -0 $b || exit 9; sleep 0.1; done; }
mark() { echo mark $(wc -l </tmp/a) $(wc -l </tmp/b); }
await 10; mark
await 30; mark
peaktop descend -p $a -f serve --json --timeout 20 %s >/tmp/document
mark
n=$(wc -l </tmp/a); await $((n + 20)); mark
kill $a $b; cat /tmp/document
for p in a b; do sed "s/^/$p /" /tmp/$p; done
"""
SEVERAL = 3  # times the budget of a minute that a descent may borrow


def price(lines):
    """CPU time of a call, ns."""
    return (lines[-1][1] - lines[0][1]) / max(lines[-1][0] - lines[0][0], 1)


def in_guest(load, *options):
    """A descent in a guest. Its document, its seconds, and of the load and of the one beside it: the CPU time of a call meanwhile, as a
    multiple of that before and after, and the seconds of CPU that were lost."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "guest"))
    from case_doctor import guest
    status, out, err = guest("sh", "-c", BESIDE % (load, load, " ".join(options)), options=("-n", "-c", "1"),
                             files=[PEAKTOP + ":/bin/peaktop"] + [os.path.join(BENCH, f) + ":/bin/" + f for f in ("descents", "syscall_rate")])
    check(status == 0, "status %d: %s" % (status, (err or out)[:300]))
    marks = [[int(x) for x in m.split()] for m in re.findall(r"^mark (.*)$", out, re.M)]
    lost = []
    for i, name in enumerate("ab"):
        lines = [[int(x) for x in m.split()] for m in re.findall(r"^%s (\d+ \d+ \d+)$" % name, out, re.M)]
        before, during, after = (lines[marks[k][i] - 1:marks[k + 1][i]] for k in range(3))
        alone = (price(before) + price(after)) / 2
        span = (during[-1][2] - during[0][2]) / 1e9
        lost.append((price(during) / alone, (during[-1][1] - during[0][1]) / 1e9 * (1 - alone / price(during))))
    return json.loads(re.search(r"^\{.*$", out, re.M).group()), span, lost


BESIDE_HEADS = ("options", "status", "calls used", "for, s", "target: CPU time of a call, times", "lost, s", "the other: times", "lost, s")


def measure_in_guest(load, percent, *options):
    """A row, and two expectations."""
    name = " ".join(("--max-overhead", str(percent), *options))
    document, span, (own, other) = in_guest(load, "--max-overhead", str(percent), *options)
    row(name, document["status"], document["calls_used"], "%.1f" % span, "%.3f" % own[0], "%.3f" % own[1], "%.4f" % other[0], "%.3f" % other[1])
    # a minute's budget may be used at once
    allowed = SEVERAL * percent / 100 * max(span, 60 / SEVERAL)
    expect("%s: the target loses at most %.2f s" % (name, allowed), own[1] <= allowed, "%.3f s" % own[1])
    expect("%s: another process loses less than 1%% of a minute" % name, other[1] < 0.6, "%.3f s" % other[1])


def curve():
    title("Cost over decision_ops, 20,000 calls a second, depth 4 (DARC, figure 11), in a guest")
    table(*BESIDE_HEADS)
    for ops in (20, 200, 2000, 20000, 60000):
        measure_in_guest("descents 4 20000", 1, "--decision-ops", str(ops))


def syscalls():
    title("A descent below a system call that two processes make %d times a second each, in a guest" % RATE)
    table(*BESIDE_HEADS)
    for percent, options in ((10, ()), (1, ()), (10, ("--decision-ops", "20000"))):
        measure_in_guest("syscall_rate %d 64" % RATE, percent, *options)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["answers", "throughput", "loops", "decisions", "curve", "syscalls"]
    print("Linux %s, %d CPUs, load %.1f" % (os.uname().release, os.cpu_count(), os.getloadavg()[0]))
    try:
        for name in wanted:
            try:
                globals()[name]()
            except (AssertionError, Skip) as error:
                complain(name, error)
                expect("%s: measured" % name, False, str(error).split("\n")[0][:160])
    finally:
        clean_up()
    title("Expectations")
    for what, met, said in bench.expectations:
        print("%-7s %s: %s" % ("met" if met else "NOT MET", what, said))
    sys.exit(0 if all(met for _, met, _ in bench.expectations) else 1)
