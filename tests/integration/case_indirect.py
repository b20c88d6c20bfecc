# SPDX-License-Identifier: GPL-2.0-or-later
"""descend through pointers: tables, virtual calls, comparators, tail calls, deep recursion; probed and witnessed."""
from descents import *

LEVELS = "--level-by-level"


def found(target, function, wanted, *args, timeout=40):
    """The document, and in it the first path, which goes through these functions."""
    document = descend(target.pid, function, "--timeout", timeout, *args, seconds=timeout + 30)
    return document, first_path(document, *wanted)


def shape(name, wanted, *args, **options):
    target = Target("indirect_calls", name, 300, preexec_fn=undisturbed)
    target.go()
    return found(target, "serve_" + name, wanted, *args, **options)


def table(*args):
    document, path = shape("table", ["serve_table", "op_scan", "dawdle"], *args)
    frame = measured(path, "op_scan")
    between("share of op_scan", frame["share"], 0.6, 1)
    check(frame["call_site"]["file"].endswith("indirect_calls.c") and frame["call_site"]["line"] > 0, str(frame["call_site"]))
    # what the other calls of f0 call through the same pointer is not in the peak
    for node in nodes(document["ftree"]):
        check(node["function"] not in ("op_get", "op_set", "op_del", "op_incr"), "%s is not in the peak" % node["function"])


@smoke("one of eight functions of a table makes the peak: learnt at the call")
def table_probed():
    table(LEVELS)


@live("... and witnessed")
def table_witnessed():
    table()


def begins(*args):
    document, path = shape("begins", ["serve_begins", "op_begins", "dawdle"], *args)
    measured(path, "op_begins")
    measured(path, "dawdle")


@live("a callee that begins with the call that makes the peak: both begin at one address")
def begins_probed():
    begins(LEVELS)


@live("a callee that begins with the call that makes the peak, witnessed")
def begins_witnessed():
    begins()


def each(*args):
    document, path = shape("each", ["serve_each", "op_scan", "dawdle"], *args)
    between("share of op_scan", measured(path, "op_scan")["share"], 0.6, 1)
    return document


@live("eight functions are called from one site: the one that takes the time is timed by itself")
def each_probed():
    document = each(LEVELS)
    others = [n for n in nodes(document["ftree"]) if n["function"] in ("op_get", "op_set", "op_del", "op_ping", "op_auth")]
    check(len(others) >= 3, "callees of the same site beside op_scan: %s" % [n["function"] for n in nodes(document["ftree"])])
    for n in others:
        check(n["latency_ns"] < 1000000, "%s took %d ns" % (n["function"], n["latency_ns"]))


@live("eight functions are called from one site, witnessed")
def each_witnessed():
    each()


def modes(*args):
    document, path = shape("modes", ["serve_modes", "mode_long", "dawdle"], *args)
    check("mode_short" not in names(path), told(document))
    between("time of mode_long", measured(path, "mode_long")["latency_ns"], 6e6, 12e6)
    for n in nodes(document["ftree"]):
        if n["function"] == "mode_short":
            check(n["latency_ns"] < 2000000, "mode_short took %d ns in the peak of mode_long" % n["latency_ns"])


@live("two callees of one site with modes of their own: each peak has its callee")
def modes_probed():
    modes(LEVELS)


@live("two callees of one site with modes of their own, witnessed")
def modes_witnessed():
    modes()


def tail(*args):
    document, path = shape("tail", ["serve_tail", "dispatch", "jump_slow", "dawdle"], *args)
    measured(path, "jump_slow")
    for n in nodes(document["ftree"]):
        check(n["function"] != "dispatch" or n["latency_ns"] > 1000000, "a jump through a table was taken for a call: %s" % n)


@live("a tail call through a pointer, beside a jump through a table")
def tail_probed():
    tail(LEVELS)


@live("a tail call through a pointer, witnessed")
def tail_witnessed():
    tail()


@live("four functions are jumped to in one call: the slow one is told apart")
def tails_probed():
    document, path = shape("tails", ["serve_tails", "dispatch", "jump_slow", "dawdle"], LEVELS)
    measured(path, "jump_slow")


def virtual(*args):
    target = Target("indirect_virtual", 300, preexec_fn=undisturbed)
    target.go()
    document, path = found(target, "render", ["render", "Fractal::draw", "dawdle"], *args)
    between("share of Fractal::draw", measured(path, "Fractal::draw")["share"], 0.6, 1)


@live("a virtual call of C++: the class that makes the peak")
def virtual_probed():
    virtual(LEVELS)


@live("a virtual call of C++, witnessed")
def virtual_witnessed():
    virtual()


def favoured():
    """Not real-time: against a program that never sleeps the kernel would take seconds to remove a probe."""
    try:
        os.nice(-15)
    except OSError:
        pass


def dispatched(build):
    """An end behind the call instruction of an interpreter is passed by every operation: it must not eat the budget."""
    target = Target(build, 300, preexec_fn=favoured)
    target.go()
    # the fastest calls: on a busy machine those that were preempted have most of the time
    document, path = found(target, "op_slow", ["op_slow"], "--max-overhead", 1, "--peak", 1)
    # a busy machine leaves few of these calls: then samples name work(), or none confirms that it is its own code
    if path["cause"]["kind"] == "unmeasured callees":
        equal("the callee by samples", path["cause"]["name"], "work")
    else:
        measured(path, "work")
        check(path["cause"]["kind"] in ("own code", "loop"), told(document))
    named = 1 - document["missing"]["unsampled"]
    equal("status (%s)" % document["missing"], document["status"], "root cause found" if named > 0.6 else "partly explained")
    target.end()


@live("one operation of an interpreter, of which the others are a thousand times as many; it ends with a stepped ret")
def dispatched_stepped():
    dispatched("dispatch")


@live("one operation of an interpreter, which ends with an emulated instruction")
def dispatched_emulated():
    dispatched("dispatch-protected")


@live("a function that is called a hundred million times a second: probes of it take it all, and bursts of them are enough")
def hot():
    target = Target("dispatch", 300)
    target.go()
    document, path = found(target, "op_add", ["op_add"], "--max-overhead", 1, timeout=10)
    equal("status", document["status"], "root cause found")
    target.end()


def deep(name, function, *args):
    document, path = shape(name, ["serve_" + name] + 40 * [function] + ["bottom", "dawdle"], "--max-depth", 64, *args,
                           timeout=90)
    equal("levels", names(path).count(function), 40)
    between("share of the bottom", measured(path, "bottom")["share"], 0.4, 1)


@live("forty levels of recursion through a pointer, with the culprit at the bottom")
def deep_witnessed():
    deep("deep", "dive")


@live("forty levels of recursion, witnessed")
def plunge_witnessed():
    deep("plunge", "sink_in")


main()
