# SPDX-License-Identifier: GPL-2.0-or-later
"""--max-overhead: a target loses P% of its CPU time or P% of one CPU at most, and the document says so."""
from harness import *


def allowance_told(cost, percent, seconds, times=1):
    """The allowance is P% of the larger of the two, for about as long as the run took."""
    check(cost["allowed_ns"] >= 0.5 * times * percent / 100 * seconds * 1e9, "allowance of a run of %.1f s: %s" % (seconds, cost))
    check(cost["target_ns"] <= cost["ns"] and cost["attach_ns"] <= cost["target_ns"], "parts of the cost: %s" % cost)


def load(rate, slow=0):
    """The target `rates` calls busy() from two threads."""
    t = Target("rates", rate, 30, slow, 3)
    t.go()
    return t


def watched(rate, percent, seconds=3):
    t = load(rate)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", seconds, "--max-overhead", percent)
        equal("exit status", program.wait(60), 0)
    return program.document()


@case("a function called 400,000 times a second stays within 2%, and is paused for it", alone=True)
def hot():
    document = watched(400000, 2)
    cost = document["cost"]
    allowance_told(cost, 2, 3)
    check(cost["target_ns"] <= 1.5 * cost["allowed_ns"], "lost %.1f of %.1f ms" % (cost["target_ns"] / 1e6, cost["allowed_ns"] / 1e6))
    check(operation(document, "busy")["share_of_calls_seen"] < 0.9, "it was not paused")


@case("a target that uses little CPU is watched without a pause at 1%: the allowance is that of one CPU", alone=True)
def idle():
    document = watched(500, 1)
    cost = document["cost"]
    allowance_told(cost, 1, 3)
    check(cost["target_ns"] <= 1.5 * cost["allowed_ns"], "lost %.1f of %.1f ms" % (cost["target_ns"] / 1e6, cost["allowed_ns"] / 1e6))
    check(operation(document, "busy")["share_of_calls_seen"] > 0.5, "paused: %s of the calls seen" % operation(document, "busy")["share_of_calls_seen"])


@case("a descent into a function called 100,000 times a second stays within three times 2%", alone=True)
def descent():
    t = load(100000, 100)
    with NothingLeft(t.pid):
        program = Peaktop("descend", "-p", t.pid, "-f", "busy", "--json", "--timeout", 15, "--max-overhead", 2)
        program.wait(60)
    cost = program.document()["cost"]
    seconds = program.document()["elapsed_ns"] / 1e9
    allowance_told(cost, 2, seconds, 3)
    # The allowance of two seconds may be spent at once.
    most = max(cost["allowed_ns"], 3 * 0.02 * 2e9)
    check(cost["target_ns"] <= 1.5 * most, "lost %.1f of %.1f ms in %.1f s" % (cost["target_ns"] / 1e6, most / 1e6, seconds))


@case("bursts of system calls are few: each interrupts every CPU twice for each of its links", alone=True)
def few_bursts():
    t = Target("syscalls", 400000)
    t.go()
    seen, seconds = set(), 4
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "syscalls", "--json", "--for", seconds + 2)
        held_by = lambda: [pid for pid in family(program.pid) if any(kind == "link" for kind, _ in bpf_held_by(pid))]
        wait_for(held_by, "the collector's links")
        collector = held_by()[0]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            seen |= {number for kind, number in bpf_held_by(collector) if kind == "link"}
        equal("exit status", program.wait(60), 0)
    t.end()
    document = program.document()
    check(operation(document, "syscall:getppid")["share_of_calls_seen"] < 0.9, "it was not paused")
    cost = document["cost"]
    check(cost["target_ns"] <= 1.5 * cost["allowed_ns"], "lost %.1f of %.1f ms" % (cost["target_ns"] / 1e6, cost["allowed_ns"] / 1e6))
    print("# %d links in %d s" % (len(seen), seconds), flush=True)
    # Four bursts a second of the two tracepoints of system calls, and the three that stay: begin, exec and end of threads.
    check(len(seen) <= 8 * seconds + 3, "%d links in %d s" % (len(seen), seconds))


@case("the line of the cost names the allowance and both percentages", alone=True)
def line():
    t = load(1000)
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--for", 1)
    equal("exit status", program.wait(60), 0)
    text = " ".join(program.text().split())
    for words in ("that --max-overhead 1 allows", "of the target's CPU time", "of one CPU"):
        check(words in text, "no %r in: %s" % (words, text[:400]))


if __name__ == "__main__":
    main()
