#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many calls does peaktop tell of at its default budget, against what the program counted itself?

    counts.py [TEXT]          only the loads whose line contains TEXT; ROUNDS (3) runs of each, SECONDS (6) long

Prints told/true and how often the interval held the truth. Exit status 1 if the median of a load is not between 0.9 and 1.1
although its interval is narrow, or if less than 95% of the intervals hold the truth.
"""
import os
import statistics
import sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from harness import *

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = int(os.environ.get("SECONDS", "6"))
WIDE = 3  # an interval with such a ratio of its ends says by itself that the number is not known

# name: threads, calls a second of each (0: as many as it can), multiplications a call, ms until it changes its rate
LOADS = {
    "10/s": (1, 10, 1000, 0),
    "200/s": (1, 200, 1000, 0),
    "2,000/s, 2 threads": (2, 1000, 1000, 0),
    "20,000/s, 2 threads": (2, 10000, 1000, 0),
    "100,000/s, 2 threads": (2, 50000, 1000, 0),
    "500,000/s, 2 threads": (2, 250000, 100, 0),
    "CPU-bound, 20,000/s": (1, 0, 50000, 0),
    "CPU-bound, 200,000/s": (1, 0, 5000, 0),
    "CPU-bound, 200,000/s, 2 threads": (2, 0, 10000, 0),
    "CPU-bound, 750,000/s": (1, 0, 1300, 0),
    "CPU-bound, 3,000,000/s": (1, 0, 300, 0),
    "2,000/s and 200/s": (1, 2000, 1000, 700),
    "50,000/s and 5,000/s": (1, 50000, 1000, 700),
    "CPU-bound, 500,000/s and 50,000/s": (1, 0, 2000, 700),
}


def measure(shape):
    threads, rate, turns, alternate = shape
    t = Target("pace", threads, rate, turns, SECONDS, alternate)
    program = Peaktop("watch", "-p", t.pid, "-f", "serve", "--json", "--for", 600, *os.environ.get("OPTIONS", "").split())
    try:
        program.armed(t.pid)
        t.go()
        truth = t.truth(SECONDS + 60)
        program.stop()
        t.finish()
        return operation(program.document(), "serve"), truth["serve"]["calls"]
    finally:
        clean_up()


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    wrong, held, runs = [], 0, 0
    print("| load | calls/s | told/true, median | least | most | held by the interval | its ratio, median |\n|%s" % ("---|" * 7))
    for name, shape in LOADS.items():
        shares, widths, inside = [], [], 0
        for _ in range(ROUNDS if only in name else 0):
            op, truth = measure(shape)
            shares.append(op["calls"] / truth)
            widths.append(op["calls_high"] / max(op["calls_low"], 1))
            inside += op["calls_low"] <= truth <= op["calls_high"]
            if os.environ.get("VERBOSE"):
                print("# %s: told %d, true %d (%.3f), interval %.3f .. %.3f, seen %d" % (
                    name, op["calls"], truth, shares[-1], op["calls_low"] / truth, op["calls_high"] / truth, op["calls_seen"]), flush=True)
        if not shares:
            continue
        held, runs = held + inside, runs + len(shares)
        middle = statistics.median(shares)
        print("| %s | %.0f | %.2f | %.2f | %.2f | %d of %d | %.2f |" % (
            name, truth / SECONDS, middle, min(shares), max(shares), inside, len(shares), statistics.median(widths)), flush=True)
        if not 0.9 <= middle <= 1.1 and statistics.median(widths) < WIDE:
            wrong.append(name)
    if not runs:
        sys.exit("no load contains %r" % only)
    met = not wrong and held >= 0.95 * runs
    print("\n%s: %d of %d intervals held the truth; not between 0.9 and 1.1: %s" % (
        "met" if met else "NOT MET", held, runs, ", ".join(wrong) or "none"))
    sys.exit(not met)


if __name__ == "__main__":
    main()
