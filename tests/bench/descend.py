#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a descent costs and how fast it answers, in one run.

    descend.py [answers|throughput|loops|decisions]...

The target is descents.c: one call of twenty is slow, at the end of a chain. Every 50 ms it says how many calls there were.
A table an item, then a line for each expectation. Exit status 1 if one is not met. B or PEAKTOP: another build.
"""
import glob
import statistics
import bench
from bench import *

DESCENTS = os.path.join(BENCH, "descents")
RUNS = int(os.environ.get("ROUNDS", "3"))
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


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["answers", "throughput", "loops", "decisions"]
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
