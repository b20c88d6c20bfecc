# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts from bursts against what the target says that it did: right, or inside of the interval that is told."""
from harness import *


# A call of 2 us has two probes: where they take longer, calls are several times rarer while they are probed than else.
SLOW_PROBE_NS = 2000


def told_and_true(rate, seconds):
    truth, document = watch_rates(rate, seconds)
    return operation(document, "busy"), truth["busy"]["calls"]


def check_interval(op):
    check(op["calls_low"] <= op["calls"] <= op["calls_high"], "%d is not in %d .. %d" % (
        op["calls"], op["calls_low"], op["calls_high"]))
    check(op["calls_seen"] <= op["calls"], "fewer calls than were seen")
    check(op["total_low_ns"] <= op["total_ns"] <= op["total_high_ns"], "the total is not in its interval")


@live("ten calls a second are counted one by one")
def few():
    op, truth = told_and_true(10, 3)
    check_interval(op)
    between("calls", op["calls"], truth - 2, truth + 2)


@live("20,000 calls a second of threads that sleep in between: told what was done")
def sleepers():
    op, truth = told_and_true(20000, 4)
    check_interval(op)
    # The bounds leave room for a host on which the target itself does not get its CPU in the bursts.
    between("calls", op["calls"], 0.6 * truth, 1.6 * truth)


def interval_holds(rate):
    """The interval is one of 95%, so that one of three measurements may miss."""
    told = []
    for _ in range(3):
        truth, document = watch_rates(rate, 3)
        op, truth = operation(document, "busy"), truth["busy"]["calls"]
        check_interval(op)
        price = document["cost"]["ns"] / document["cost"]["hits"]
        if price > SLOW_PROBE_NS:
            raise Skip("a probe takes %.1f us here, so that a burst sees a handful of calls, and far fewer than there are without it" % (price / 1000))
        told.append((op["calls_low"] / 2 <= truth <= op["calls_high"] * 2, truth, op["calls_low"], op["calls_high"]))
    check(sum(contains for contains, *_ in told) >= 2, "(contains the truth, truth, low, high): %s" % told)


@live("500,000 calls a second, faster than probes can follow: the interval says how little is known")
def hot():
    interval_holds(500000)


@live("a million calls a second of a function of some ns, all latency the probe's: the interval holds the truth")
def million():
    interval_holds(1000000)


@live("five million calls a second of a function of some ns: the interval holds the truth")
def five_million():
    interval_holds(5000000)


@live("waits for a CPU are not invented")
def run_queue():
    t = Target("rates", 2000, 5, 0)
    switches = lambda: sum(int(line.split()[1]) for thread in os.listdir("/proc/%d/task" % t.pid)
                           for line in open("/proc/%d/task/%s/status" % (t.pid, thread)) if "ctxt_switches" in line)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "runqueue", "--json", "--for", 4)
        t.go()
        # The busy threads may end before peaktop does, and their counters go with them: keep the highest sum.
        truth = 0
        while program.process.poll() is None:
            with contextlib.suppress(OSError):
                truth = max(truth, switches())
            time.sleep(0.02)
        equal("exit status", program.wait(60), 0)
        t.truth(60)
        t.finish()
    check_interval(operation(program.document(), "runqueue"))
    between("waits", operation(program.document(), "runqueue")["calls"], 0, 1.5 * truth)


if __name__ == "__main__":
    main()
