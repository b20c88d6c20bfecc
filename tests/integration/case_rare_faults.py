# SPDX-License-Identifier: GPL-2.0-or-later
"""
record --ring at the default budget beside a program with 3,000 calls a second, a few of which meet a fault of 80 ms: `why --slowest 1` names it.
`JUDGE_N=1 make judge JUDGE=case_rare_faults` prints the table.
"""
import math

from culprits import Group, HOST
from recorders import *

PLANTED = 8  # the budget may allow only bursts: one fault of these must be seen


def causes(call):
    return "; ".join("%d%% %s: %s" % (100 * p["share"], " > ".join(f["function"] for f in p["frames"]), p["cause"]) for p in call["paths"]) or "no path"


def told(call):
    return "%s, %.1f ms (usually %.3f): %s; not seen: %s" % (call["status"], call["latency_ns"] / 1e6, call.get("usual_ns", 0) / 1e6, causes(call), call["not_seen"])


def record_planted(target, path):
    """The latency of the fastest planted call, in ns."""
    fastest = math.inf
    program = Peaktop("record", "-p", target.pid, "-f", "serve", "--ring", "8M", "-o", path)
    wait_for(lambda: elapsed(path) > 3e9, "the recorder to measure")
    for number in range(1, PLANTED + 1):
        before = elapsed(path)
        target.say()
        line = json.loads(target.line(lambda s: '"planted":%d,' % number in s or '"skip"' in s))
        if "skip" in line:
            raise Skip(line["skip"])
        fastest = min(fastest, line["ns"])
        wait_for(lambda: elapsed(path) > before + 5e8, "the fault to be recorded")
    equal("exit status of the recorder", program.stop(), 0)
    unharmed(alive(target.pid), "the target is gone")
    return fastest


def ask_why(path):
    status, program = run_peaktop("why", path, "--slowest", 1, "--json")
    equal("exit status of why (%s)" % program.error_text(), status, 0)
    call = program.document()["calls"][0]
    Asked.document = call
    return call


def judge_call(call, fastest, kinds, name, function):
    Asked.truth = "%s %s in %s" % ("/".join(kinds), name, function)
    check(call["latency_ns"] > fastest / 2, "not one of the planted calls, which took %.1f ms or more: %s" % (fastest / 1e6, told(call)))
    check(call["paths"], "no cause: %s" % told(call))
    share = sum(p["share"] for p in call["paths"] if p["cause"]["kind"] in kinds and name in p["cause"].get("name", "") + p["cause"].get("detail", ""))
    of_host = sum(p["share"] for p in call["paths"] if p["cause"]["kind"] in HOST and p["cause"]["kind"] not in kinds)
    check(share > 0.5 * (1 - of_host), "%s has %d%%: %s" % (Asked.truth, 100 * share, told(call)))
    if function and not any(f["function"] == function for p in call["paths"][:1] for f in p["frames"]):
        raise Partly("%s is not in the path: %s" % (function, told(call)))


def fault(what, kind, kinds, name="", function="", group=None):
    @live("a rare call: " + what)
    def one():
        path, made = os.path.join(scratch(), "ring"), group() if group else None
        folder = made.path if kind == "quota" else scratch()
        # a quota is only for threads without a real-time priority
        target = Target("rare_faults", kind, folder, wait=False, preexec_fn=None if kind in ("quota", "preempt") else undisturbed)
        try:
            if made:
                made.take(target.pid)
            with NothingLeft(target.pid):
                fastest = record_planted(target, path)
            gone(target)
        finally:
            target.end()
            if made:
                wait_for(lambda: not open(os.path.join(made.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
                made.remove()
        call = ask_why(path)
        print("# %s" % told(call))
        judge_call(call, fastest, kinds, name, function)


fault("a lock that another thread holds", "lock", ("lock",), "holder", "take_lock")
fault("a queue of threads for a lock", "convoy", ("lock",), "queuer", "take_lock")
fault("a lock of a file that another process holds", "flock", ("lock",), "helper", "lock_file")
fault("fsync of a file with dirty pages", "fsync", ("io",), "rare.wal", "commit")
fault("pages of a mapped file that are read", "pagein", ("io", "page fault"), "rare.index", "read_index")
fault("preemption by a real-time task", "preempt", ("preemption",), "helper")
fault("the CPU quota of a cgroup", "quota", ("cpu quota",), "peaktop-test",
      group=lambda: Group("cpu", [("cpu.max", "max 100000")], [("cpu.cfs_period_us", "100000")]))
fault("a loop of its own in a callee", "loop", ("own code", "loop"), "", "recount")
fault("stopped by a signal", "stop", ("stopped",), "helper")
fault("a handler of a signal", "handler", ("signal handler",), "on_signal")
# most of the time goes into copying what was read
fault("reads at the limit of memory of a cgroup", "reclaim", ("reclaim", "kernel"), "", "read_through",
      group=lambda: Group("memory", [("memory.max", "33554432")], [("memory.limit_in_bytes", "33554432")]))
fault("a sleep on purpose", "sleep", ("sleep",), "", "back_off")
fault("a timeout", "timeout", ("timeout",), "", "poll_nobody")
fault("a condition that a thread signals late", "condition", ("wait",), "worker", "await_worker")
fault("an answer through a pipe that comes late", "pipe", ("wait",), "helper", "ask_backend")
fault("an answer of a peer that is stopped", "peerstop", ("wait",), "helper", "ask_stopped")
fault("a full pipe", "fullpipe", ("wait",), "helper", "put_out")
fault("a datagram that is answered late", "udp", ("network", "wait"), "127.0.0.1", "ask_stopped")
fault("a connection that is accepted late", "connect", ("network",), "127.0.0.1", "dial")
fault("a command that runs for long", "child", ("wait",), "sleep", "run_command")


if __name__ == "__main__":
    main()
