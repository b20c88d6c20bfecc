# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that change their own code in memory: they live, do their work, and are not probed where they did so."""
from harness import *

LONG = 120


def message(function):
    return "%s: the code in memory differs from its file; it is not probed" % function


def stopped(t, **counts):
    """Let the target end; it says what it counted: at least so many of these."""
    t.say("stop")
    truth = t.truth(LONG)
    t.finish(LONG)
    check(truth["calls"] > 0, "the target called nothing")
    for name, least in counts.items():
        check(truth[name] >= least, "%s: %d, expected at least %d" % (name, truth[name], least))
    return truth


@contextlib.contextmanager
def nothing_left(t):
    """As NothingLeft, but breakpoints that the target itself has set stay."""
    before = breakpoints(t.pid)
    with NothingLeft():
        yield
    equal("breakpoints in the target", breakpoints(t.pid), before)


def refused(how, function, verb="watch"):
    """The code was patched before: neither verb probes it, both say so, and the target does not notice."""
    t = Target("patched", how, "before")
    t.go()
    with nothing_left(t):
        status, program = run_peaktop(verb, "-p", t.pid, "-f", function, "--json", *(["--for", 600] if verb == "watch" else []),
                                      seconds=LONG)
        equal("exit status of %s" % verb, status, 1)
        check(message(function) in program.error_text(), "said: %s" % program.error_text())
        if verb == "watch":
            equal("notes", [n for n in program.document()["notes"] if "differs" in n], [message(function)])
    return stopped(t, **{"hooked" if how == "nops" else "replaced": 1})


@case("the control: the same program that patches nothing is counted exactly")
def control():
    t = Target("patched", "none")
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "serve", "-f", "with_nops", "-f", "request", "--json", "--for", 600,
                          "--max-overhead", 100)
        program.armed(t.pid, seconds=LONG)
        t.go()
        t.say("stop")
        truth = t.truth(LONG)
        equal("exit status", program.stop(LONG), 0)
    t.finish(LONG)
    document = program.document()
    for name in ("serve", "with_nops", "request"):
        equal("calls of %s" % name, operation(document, name)["calls"], truth["calls"])
    check(not [n for n in document["notes"] if "differs" in n], "said of unpatched code: %s" % document["notes"])


@case("a jump was written over a function before: watch and descend refuse it")
def jump():
    refused("serve", "serve")
    refused("request", "request", "descend")


@case("the nops at the start of a function became a call before: watch refuses it")
def nops():
    refused("nops", "with_nops")


@case("a breakpoint that the program has set for itself still works while its function is to be watched")
def own_breakpoint():
    refused("trap", "serve")


@case("other functions of a program with patched code are counted exactly")
def others():
    t = Target("patched", "serve", "before")
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "serve", "-f", "request", "-f", "serve_new", "--json", "--for", 600,
                          "--max-overhead", 100)
        # one function is armed after the other
        starts = [symbol_offset(os.path.join(TARGETS, "patched"), name) for name in ("request", "serve_new")]
        wait_for(lambda: all(any(start <= offset < start + 64 for _, offset in breakpoints(t.pid)) for start in starts),
                 "both functions are probed", LONG)
        program.armed(t.pid, seconds=LONG)
        t.go()
        t.say("stop")
        truth = t.truth(LONG)
        equal("exit status", program.stop(LONG), 0)
    t.finish(LONG)
    equal("all calls went to the new function", truth["replaced"], truth["calls"])
    for name in ("request", "serve_new"):
        equal("calls of %s" % name, operation(program.document(), name)["calls"], truth["calls"])
    check(message("serve") in program.document()["notes"], "notes: %s" % program.document()["notes"])


@case("a descent whose callee is patched harms nothing")
def callee():
    for how, counts in (("serve", "replaced"), ("nops", "hooked"), ("trap", "replaced")):
        t = Target("patched", how, "before")
        t.go()
        with nothing_left(t):
            status, program = run_peaktop("descend", "-p", t.pid, "-f", "request", "--json", "--timeout", 10, seconds=LONG)
            check(status in (0, 1), "exit status %s: %s" % (status, program.error_text()))
        stopped(t, **{counts: 1})


def patched_while_watched(how, function, counts, *options):
    """The target patches and restores its code again and again, while its function is probed without a break."""
    t = Target("patched", how)
    t.go()
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", function, "-f", "request", "--json-lines", "--for", 600,
                          "--max-overhead", 100, *options)
        program.armed(t.pid, seconds=LONG)
        t.say("patch")
        t.line(lambda s: s == "patched", LONG)
        program.line(lambda s: message(function) in s, LONG)
        # what it saved may have a breakpoint of ours in it
        t.say("restore")
        t.line(lambda s: s == "restored", LONG)
        seen = len(program.out)
        wait_for(lambda: len(program.out) > seen + 1, "another slice", LONG)
        t.say("patch")
        wait_for(lambda: t.out.count("patched") == 2, "it patches again", LONG)
        equal("exit status", program.stop(LONG), 0)
    last = program.documents()[-1]
    check(operation(last, "request")["calls"] > 0, "no call of request was counted")
    stopped(t, **{counts: 1})


@case("a function that is patched and restored while it is probed: the probe is removed, the rest is measured")
def later():
    patched_while_watched("serve", "serve", "replaced")
    patched_while_watched("nops", "with_nops", "hooked")


@case("a function that is patched between two bursts is not probed again")
def between_bursts():
    t = Target("patched", "serve")
    t.go()
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "serve", "--json-lines", "--for", 600)
        program.line(lambda s: has_calls("serve")(json.loads(s)), LONG)
        collector = collector_of(program)

        def held_without_probes():
            os.kill(collector, signal.SIGSTOP)
            wait_for(lambda: is_stopped(collector), "the collector stops", LONG)
            if not breakpoints(t.pid):
                return True
            os.kill(collector, signal.SIGCONT)
            return False
        wait_for(held_without_probes, "a pause between two bursts", LONG)
        t.say("patch")
        t.line(lambda s: s == "patched", LONG)
        os.kill(collector, signal.SIGCONT)
        program.line(lambda s: message("serve") in s, LONG)
        equal("exit status", program.stop(LONG), 0)
    check(operation(program.documents()[-1], "serve")["calls"] > 0, "no call was counted before")
    stopped(t, replaced=1)


def is_stopped(pid):
    """All threads: a thread in the kernel stops when it is about to leave it."""
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
            if f.read().rpartition(")")[2].split()[0] != "T":
                return False
    return True


@case("of two processes of one program, one is patched: neither is harmed")
def two():
    plain, changed = Target("patched", "none"), Target("patched", "serve", "before")
    plain.go()
    changed.go()
    with NothingLeft(plain.pid, changed.pid):
        program = Peaktop("watch", "-p", "%d,%d" % (plain.pid, changed.pid), "-f", "serve", "-f", "request", "--json-lines",
                          "--for", 600, "--max-overhead", 100)
        program.line(lambda s: message("serve") in s, LONG)
        wait_for(lambda: breakpoints(plain.pid) and breakpoints(changed.pid), "request is probed in both", LONG)
        program.stop(LONG)
    stopped(plain)
    stopped(changed, replaced=1)


@case("doctor with a target says beforehand that code was changed, and says nothing of the control")
def doctor():
    for how, fine in (("none", True), ("nops", False), ("serve", False)):
        t = Target("patched", how, "before")
        t.go()
        status, program = run_peaktop("doctor", "-p", t.pid, "--json", seconds=200)
        equal("exit status", status, 0)
        checks = [c for c in program.document()["checks"] if c["name"].startswith("code in memory")]
        equal("checks of code that failed or passed", [c["ok"] for c in checks], [fine])
        check(fine or "5 bytes differ" in checks[0]["needed_for"], "said: %s" % checks)
        status, program = run_peaktop("doctor", "-p", t.pid, seconds=200)
        equal("said as text", "bytes differ" in program.text(), not fine)
        stopped(t)


if __name__ == "__main__":
    main()
