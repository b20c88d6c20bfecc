# SPDX-License-Identifier: GPL-2.0-or-later
"""The governor: a hot function is watched in bursts, slow calls keep their weight, the target keeps its speed."""
from harness import *

HOT = 500000  # calls a second
SLOW = (100, 200)  # slow ones of a million, their milliseconds


@live("500,000 calls a second at 1%: the share seen is told, the slow ones have their weight")
def slow_calls():
    truth, document = watch_rates(HOT, 12, "--max-overhead", 1, args=SLOW)
    op = operation(document, "busy")
    check(op["share_of_calls_seen"] < 0.9, "%.3f of the calls seen: no governor" % op["share_of_calls_seen"])
    check(op["calls"] > 1000, "only %d calls" % op["calls"])
    # What the governor says that it cost, of one CPU's time of the target.
    check(document["cost"]["hits"] > 0, "no cost")
    slow = sum(b["count"] for b in op["buckets"] if b["low_ns"] >= 100000000)
    share = slow / max(op["calls"], 1)
    said = " ".join(document["notes"]).lower()
    # What was really looked at: few slow calls, so chance has its part in their number. Where probes are slow there may be none.
    looked, expected = slow * op["share_of_calls_seen"], op["calls"] * op["share_of_calls_seen"] * SLOW[0] / 1e6
    if slow == 0 and expected > 5:
        check("longer" in said or "slow" in said, "no slow call seen of %.0f and no word about it: %s" % (expected, said))
    else:
        between("slow calls looked at (of all: %.0f of a million)" % (share * 1e6), looked, 0,
                3 * expected + 4 * expected ** 0.5 + 4)


@live("the target keeps its rate under the governor")
def rate_kept():
    truth, document = watch_rates(HOT, 6, "--max-overhead", 1, args=SLOW)
    between("fast calls", truth["fast"], 0.97 * HOT * 6, 1.01 * HOT * 6)


@live("the fuse: a site that runs far too often for its budget is removed and this is said, not suffered")
def fuse():
    truth, document = watch_rates(3000000, 6, "--max-overhead", 1)
    op = operation(document, "busy")
    check(op["calls_seen"] < 0.5 * truth["fast"], "%d of %d calls were seen" % (op["calls_seen"], truth["fast"]))
    # it was armed for some milliseconds in all, in which the probes took nearly all the time: the estimate is rough, and says so
    between("calls, in the interval that is told", truth["fast"], op["calls_low"], op["calls_high"])
    check(document["cost"]["ns"] < 6e9 * 0.10, "measuring cost %.3f s of 6 s" % (document["cost"]["ns"] / 1e9))


if __name__ == "__main__":
    main()
