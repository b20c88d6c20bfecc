# SPDX-License-Identifier: GPL-2.0-or-later
"""
Whole answers, soon and the same each time: the demo's disk peak ten times, a table of function pointers asked 0.3 s after the
program's start twenty times, and the mean of a descent against that of a watch just before it. `make judge` asks them; the
figures are in docs/notes/descent.md.
"""
import math

from culprits import *
import case_real

CASES.clear()  # those of case_real.py: what it starts is wanted, not what it tests

SOON = 6  # seconds within which the demo's disk peak must be answered
EARLY = 0.3  # seconds between the start of a program and the question
MEAN = 0.2  # by how much the mean of a descent may differ from that of a watch


def each_time(times, ask):
    """Ask `times` times; all answers must be right. Prints how many were, and why the others were not."""
    wrong = []
    for _ in range(times):
        try:
            ask()
        except (AssertionError, Partly) as error:
            wrong.append(str(error)[:200])
    print("# %d of %d right%s" % (times - len(wrong), times, "".join("\n#   " + why for why in wrong)), flush=True)
    check(not wrong, "%d of %d are not right, the first: %s" % (len(wrong), times, wrong and wrong[0]))


def of_the_program(document):
    """The heaviest path that is not the host's doing."""
    return next((path for path in document["paths"] if path["cause"]["kind"] not in HOST), None)


def demo_disk():
    target = Target("demo", 60, preexec_fn=undisturbed)
    try:
        target.go()
        document = descend(target.pid, "serve_request", "--peak", 4, limits=("--timeout", 30))
        path = of_the_program(document)
        check(path and "read_from_disk" in names(path), "no path to the disk: %s" % told(document))
        equal("cause", path["cause"]["kind"], "io")
        check(document["elapsed_ns"] < SOON * 1e9, "the answer took %.1f s" % (document["elapsed_ns"] / 1e9))
    finally:
        target.end()


@live("the demo's disk peak with default options: ten times of ten, each within 6 s")
def demo():
    each_time(10, demo_disk)


def early_table():
    target = Target("indirect_calls", "table", 60, preexec_fn=undisturbed)
    try:
        target.go()
        time.sleep(EARLY)  # that is the question: nothing to wait for
        document = descend(target.pid, "serve_table", limits=("--timeout", 30))
        path = of_the_program(document)
        equal("path (%s)" % told(document), path and names(path)[:3], ["serve_table", "op_scan", "dawdle"])
    finally:
        target.end()


@live("a table of function pointers, asked 0.3 s after the program's start: twenty times of twenty")
def early():
    each_time(20, early_table)


def mean_within(op, low_ns, high_ns):
    """The mean latency of the calls in this range by the buckets of a watch, and their number."""
    inside = [b for b in op["buckets"] if b["low_ns"] < high_ns and b["high_ns"] > low_ns]
    calls = sum(b["count"] for b in inside)
    return sum(b["count"] * math.sqrt(max(b["low_ns"], 1) * b["high_ns"]) for b in inside) / max(calls, 1), calls


def same_mean(pid, function):
    """A watch, then a descent: the mean of all calls, and of those that each part of the answer is about."""
    _, watch = run_peaktop("watch", "-p", pid, "-f", function, "--json", "--for", 3)
    before = operation(watch.document(), function)
    document = descend(pid, function, limits=("--timeout", 20), status=None)
    # of few calls the mean is a matter of chance: a disk's 0.4%, or one that was preempted; the intervals say how much
    pairs, after = [], document["profile"]
    pairs.append(("all calls", after["mean_ns"], before["mean_ns"],
                  after["mean_low_ns"] <= before["mean_high_ns"] * (1 + MEAN) and after["mean_high_ns"] >= before["mean_low_ns"] * (1 - MEAN)))
    for part in document.get("parts", []):
        mean, calls = mean_within(before, part["low_ns"], part.get("high_ns", float("inf")))
        if calls >= 20 and part.get("mean_ns"):
            pairs.append(("%.4g-%.4g us" % (part["low_ns"] / 1e3, part.get("high_ns", 0) / 1e3), part["mean_ns"], mean,
                          abs(part["mean_ns"] / mean - 1) <= MEAN))
    said = "; ".join("%s: %.2f us, watch %.2f us (%+.0f%%)" % (what, got / 1e3, want / 1e3, 100 * (got / want - 1)) for what, got, want, _ in pairs)
    print("# %s: %s; intervals %d-%d and %d-%d ns" % (function, said, after["mean_low_ns"], after["mean_high_ns"],
                                                       before["mean_low_ns"], before["mean_high_ns"]), flush=True)
    check(all(right for *_, right in pairs), "%s: %s" % (function, said))
    return document


def same_mean_of(name, function, *args):
    def ask():
        target = Target(name, *args, preexec_fn=undisturbed)
        target.go()
        same_mean(target.pid, function)
    return ask


for what, target in (
        ("the demo", same_mean_of("demo", "serve_request", 120)),
        ("a chain of inlined functions", same_mean_of("culprit_code", "serve", 120, "inlined")),
        ("a lock", same_mean_of("culprit_mutex", "serve", 120))):
    live("the mean of a descent is that of a watch just before, within 20%%: %s" % what)(target)


@live("the mean of a descent is that of a watch just before, within 20%: redis-server's processCommand, flat")
def redis_mean():
    server, socket = case_real.redis()
    Program(["redis-benchmark", "-s", socket, "-t", "set,get", "-n", "100000000", "-c", "20", "-q"])
    wait_for(lambda: case_real.command_calls(socket, "set") > 1000, "the benchmark runs")
    document = same_mean(server.pid, "processCommand")
    check(document.get("sampled"), "calls of a microsecond are not answered flat, by samples: %s" % told(document))


@live("the mean of a descent is that of a watch just before, within 20%: python3's zlib.compress")
def python_mean():
    program = Program([sys.executable, "-c", "import os, zlib, time\ndata = os.urandom(20000)\n"
                       "while True:\n    zlib.compress(data, 6)\n    time.sleep(0.0005)"], preexec_fn=undisturbed)
    wait_for(lambda: "libz" in open("/proc/%d/maps" % program.pid).read(), "zlib is loaded")
    same_mean(program.pid, "deflate")


if __name__ == "__main__":
    main()
