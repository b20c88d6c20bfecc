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


@live("a function called 400,000 times a second stays within 2%, and is paused for it")
def hot():
    document = watched(400000, 2)
    cost = document["cost"]
    allowance_told(cost, 2, 3)
    check(cost["target_ns"] <= 1.5 * cost["allowed_ns"], "lost %.1f of %.1f ms" % (cost["target_ns"] / 1e6, cost["allowed_ns"] / 1e6))
    check(operation(document, "busy")["share_of_calls_seen"] < 0.9, "it was not paused")


@live("a target that uses little CPU is watched without a pause at 1%: the allowance is that of one CPU")
def idle():
    document = watched(500, 1)
    cost = document["cost"]
    allowance_told(cost, 1, 3)
    check(cost["target_ns"] <= 1.5 * cost["allowed_ns"], "lost %.1f of %.1f ms" % (cost["target_ns"] / 1e6, cost["allowed_ns"] / 1e6))
    check(operation(document, "busy")["share_of_calls_seen"] > 0.5, "paused: %s of the calls seen" % operation(document, "busy")["share_of_calls_seen"])


@live("a descent into a function called 100,000 times a second stays within three times 2%")
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


@live("a descent that traces waits beside two threads that switch all the time keeps to its allowance")
def traced_waits():
    t = Target("culprit_switches_help", 60)
    t.go()
    with NothingLeft(t.pid):
        program = Peaktop("descend", "-p", t.pid, "-f", "serve_with_help", "--json", "--max-overhead", 1)
        equal("exit status", program.wait(60), 0)
    document = program.document()
    cost = document["cost"]
    check(any("wait" in path for path in document["paths"]), "no waits were traced: %s" % document["paths"])
    # The allowance of two seconds may be spent at once.
    most = max(cost["allowed_ns"], 3 * 0.01 * 2e9)
    check(cost["target_ns"] <= 1.1 * most, "lost %.1f of %.1f ms" % (cost["target_ns"] / 1e6, most / 1e6))


@live("bursts of system calls are few: each interrupts every CPU twice for each of its links")
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


def turns_and_faults(pid):
    """How often the process fell asleep, and page faults of its children that have ended."""
    with open("/proc/%d/status" % pid) as f:
        turns = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M).group(1))
    with open("/proc/%d/stat" % pid) as f:
        return turns, int(f.read().rpartition(")")[2].split()[8])


@live("a quiet process costs the collector at most 30 turns a second, and no child a second that reads its mappings")
def few_turns():
    seconds = 4
    t = Target("rates", 2000, 120, 0)
    program = Peaktop("watch", "-p", t.pid, "-f", "syscalls", "--json-lines", "--for", 600)
    wait_for(lambda: len(program.out) >= 2, "slices are printed", 20)
    collector = next(pid for pid in family(program.pid) if any(kind == "link" for kind, _ in bpf_held_by(pid)))
    before = turns_and_faults(collector)
    shown = len(program.out)
    wait_for(lambda: len(program.out) >= shown + seconds, "time passes", 20)
    turns, faults = (b - a for a, b in zip(before, turns_and_faults(collector)))
    print("# %d turns, %d page faults of children in %d s" % (turns, faults, seconds), flush=True)
    program.stop()
    t.end()
    check(turns <= 30 * seconds, "%d turns in %d s" % (turns, seconds))
    check(faults <= 300, "%d page faults of children in %d s" % (faults, seconds))


def proportional_mb(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1)) / 1024


@live("the screen on one process needs at most 20 MB of memory, shared memory in proportion")
def memory():
    t = Target("demo", 300)
    t.go()
    s = Screen(PEAKTOP, "-p", t.pid)
    s.shows("nanosleep", 30)
    s.keys("Enter")
    s.shows("per column")
    needs = sum(proportional_mb(pid) for pid in family(s.pid))
    print("# %.1f MB" % needs, flush=True)
    s.keys("q", "q")
    equal("exit status", s.exit_status(), 0)
    # each doubling of the CPUs, up to eight, doubles the histograms
    check(needs <= (20 if os.cpu_count() <= 4 else 22), "%.1f MB" % needs)


@live("the line of the cost names the allowance and both percentages")
def line():
    t = load(1000)
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--for", 1)
    equal("exit status", program.wait(60), 0)
    text = " ".join(program.text().split())
    for words in ("that --max-overhead 1 allows", "of the target's CPU time", "of one CPU"):
        check(words in text, "no %r in: %s" % (words, text[:400]))


if __name__ == "__main__":
    main()
