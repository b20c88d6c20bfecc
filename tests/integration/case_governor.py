# SPDX-License-Identifier: GPL-2.0-or-later
"""The governor: a hot function is watched in bursts, slow calls keep their weight, the target keeps its speed."""
from harness import *

HOT = (500000, 12, 100, 200)  # calls a second, seconds, slow ones of a million, their milliseconds


def hot_run(*options, seconds=HOT[1]):
    t = Target("rates", HOT[0], seconds, HOT[2], HOT[3])
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, *options)
        # Bursts: what is armed changes all the time; armed once is enough.
        wait_for(lambda: breakpoints(t.pid) or program.process.poll() is not None, "something is armed", 20)
        t.go()
        truth = t.truth(seconds + 60)
        equal("exit status", program.stop(), 0)
        t.finish()
    return truth, program.document()


@case("500,000 calls a second at 1%: the share seen is told, the slow ones have their weight", alone=True)
def slow_calls():
    truth, document = hot_run("--max-overhead", 1)
    op = operation(document, "busy")
    check(op["share_of_calls_seen"] < 0.9, "%.3f of the calls seen: no governor" % op["share_of_calls_seen"])
    check(op["calls"] > 1000, "only %d calls" % op["calls"])
    # What the governor says that it cost, of one CPU's time of the target.
    check(document["cost"]["hits"] > 0, "no cost")
    slow = sum(b["count"] for b in op["buckets"] if b["low_ns"] >= 100000000)
    share = slow / max(op["calls"], 1)
    said = " ".join(document["notes"]).lower()
    if slow == 0:
        check("longer" in said or "slow" in said, "no slow call seen and no word about it: %s" % said)
    else:
        # What was really looked at: few slow calls, so chance has its part in their number.
        looked, expected = slow * op["share_of_calls_seen"], op["calls"] * op["share_of_calls_seen"] * HOT[2] / 1e6
        between("slow calls looked at (of all: %.0f of a million)" % (share * 1e6), looked, 0,
                3 * expected + 4 * expected ** 0.5 + 4)


@case("the target keeps its rate under the governor", alone=True)
def rate_kept():
    truth, document = hot_run("--max-overhead", 1, seconds=6)
    between("fast calls", truth["fast"], 0.97 * HOT[0] * 6, 1.01 * HOT[0] * 6)


@case("the fuse: a site that runs far too often for its budget is removed and this is said, not suffered", alone=True)
def fuse():
    t = Target("rates", 3000000, 6, 0)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, "--max-overhead", 1)
        wait_for(lambda: breakpoints(t.pid) or program.process.poll() is not None, "something is armed", 20)
        t.go()
        t.truth(60)
        equal("exit status", program.stop(), 0)
        t.finish()
    document = program.document()
    seen = operation(document, "busy")["share_of_calls_seen"]
    check(seen < 0.5, "%.3f of the calls are said to be seen" % seen)
    check(document["cost"]["ns"] < 6e9 * 0.10, "measuring cost %.3f s of 6 s" % (document["cost"]["ns"] / 1e9))


if __name__ == "__main__":
    main()
