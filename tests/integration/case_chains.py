# SPDX-License-Identifier: GPL-2.0-or-later
"""chains and critical: what is saved is read again with the same answers, and what cannot be asked is refused."""
from harness import *


def text_of(*args):
    status, program = run_peaktop(*args)
    equal("exit status of %s (%s)" % (" ".join(args[:1]), program.error_text()), status, 0)
    return program.text()


def names_of(document):
    """The functions of libc that the document names."""
    if isinstance(document, dict):
        own = document.get("function", "") if str(document.get("module", "")).startswith("libc") else ""
        return own + " " + " ".join(names_of(value) for value in document.values())
    return " ".join(names_of(value) for value in document) if isinstance(document, list) else ""


@case("a saved session: chains, critical and folded stacks read it without privileges, with the same answers")
def saved():
    with tempfile.TemporaryDirectory() as folder:
        session = os.path.join(folder, "waits.peaktop")
        status, program = run_peaktop("chains", "--json", "--max-overhead", 100, "-o", session, "--",
                                      os.path.join(TARGETS, "waits"), "pass", "30", seconds=100)
        equal("exit status (%s)" % program.error_text(), status, 0)
        live = program.document()
        status, program = run_peaktop("chains", "--json", "-r", session)
        equal("exit status (%s)" % program.error_text(), status, 0)
        replayed = program.document()
        equal("accounting", replayed["accounting"], live["accounting"])
        equal("chains", len(replayed["chains"]), len(live["chains"]))
        equal("sum of the chains", sum(c["ns"] for c in replayed["chains"]), sum(a["ns"] for a in replayed["accounting"]))
        status, program = run_peaktop("critical", "--json", "-r", session)
        equal("exit status (%s)" % program.error_text(), status, 0)
        critical = program.document()
        check(critical["length_ns"] > 0, critical["warnings"])
        status, program = run_peaktop("chains", "--view", "accounting", "--json", "-r", session)
        equal("exit status (%s)" % program.error_text(), status, 0)
        for key in ("deficit_ns", "path_elapsed_ns"):
            equal(key, program.document()[key], critical[key])
        lines = text_of("export", session, "--format", "folded").splitlines()
        check(lines and all(re.fullmatch(r".+ \d+", line) for line in lines), lines[:3])
        equal("sum of the folded stacks", sum(int(line.rsplit(" ", 1)[1]) for line in lines), sum(c["ns"] for c in replayed["chains"]))
        tree = text_of("chains", "-r", session)
        check("Accounting" in tree and "Observed:" in tree, tree)
        check(max(len(line) for line in tree.splitlines()) <= 80, tree)


@live("the critical path of a saved session goes through both processes, and its tree names them")
def through_both():
    session = os.path.join(scratch(), "waits.peaktop")
    status, program = run_peaktop("chains", "--json", "--max-overhead", 100, "-o", session, "--", os.path.join(TARGETS, "waits"), "pass", "30")
    equal("exit status (%s)" % program.error_text(), status, 0)
    status, program = run_peaktop("critical", "--json", "-r", session)
    equal("exit status (%s)" % program.error_text(), status, 0)
    # each ran for 2 or 3 ms a round by its own clock, one after the other
    ran = sum(s["critical_ns"] for s in program.document()["states"] if s["machine"].startswith("waits") and s["state"].startswith("running"))
    check(ran > 0.5 * 30 * 5e6, "the path goes through both: %.1f ms of runs" % (ran / 1e6))
    check("waits-child" in text_of("chains", "-r", session), "the child is not in the tree")


@smoke("the stacks of a command that ends at once have names")
def short_command():
    # whether the files came in time was chance
    for verb, *options in 4 * [("chains", "--max-overhead", 100)] + [("descend",)]:
        status, program = run_peaktop(verb, "--json", *options, "--", "sleep", "0.2")
        equal("exit status of %s (%s)" % (verb, program.error_text()), status, 0)
        check("nanosleep" in names_of(program.document()), program.text())
        check("+0x0\"" not in program.text(), program.text())


@case("Ctrl-C ends the tracing early and prints what there is")
def early():
    t = Program([os.path.join(TARGETS, "waits"), "sleep", "100000"])
    try:
        program = Peaktop("chains", "-p", t.pid, "--for", 600, "--json-lines", "--interval", "0.5", "--max-overhead", 100)
        wait_for(lambda: "\n" in program.text() or program.process.poll() is not None, "a line was printed", 60)
        equal("exit status (%s)" % program.error_text(), program.stop(), 0)
        check(program.document()["observed_ns"] > 0, program.text()[:300])
    finally:
        t.process.kill()


def is_sleep(chain):
    return chain["layers"][0]["detail"].startswith("sleeping in clock_nanosleep")


@live("the calls of a sleep spend their time asleep")
def sleep_calls():
    t = Program([os.path.join(TARGETS, "waits"), "sleep", "100000"])
    status, program = run_peaktop("chains", "--json", "-p", t.pid, "--of", "syscall:clock_nanosleep", "--peak", "1ms-1h", "--for", 2,
                                  "--max-overhead", 100)
    equal("exit status (%s)" % program.error_text(), status, 0)
    chains = program.document()["chains"]
    # waits for a CPU are left out: how long they are is up to the host
    check(sum(c["ns"] for c in chains if is_sleep(c)) > sum(c["ns"] for c in chains if c["layers"][0]["state"] == "run"), chains)


@case("--of and --peak: only the calls of that operation, live and from a saved session")
def of_calls():
    t = Program([os.path.join(TARGETS, "waits"), "sleep", "100000"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            session = os.path.join(folder, "calls.peaktop")
            calls = "--of", "syscall:clock_nanosleep", "--peak", "1ms-1h"
            live = Peaktop("chains", "--json-lines", "--interval", "0.5", "-p", t.pid, *calls, "--for", 600, "--max-overhead", 100, "-o", session)
            document = stop_when(live, lambda document: any(is_sleep(c) for c in document["chains"]))
            status, saved = run_peaktop("chains", "--json", "-r", session, *calls)
            equal("exit status (%s)" % saved.error_text(), status, 0)
            status, critical = run_peaktop("critical", "--json", "-r", session, *calls)
            equal("exit status (%s)" % critical.error_text(), status, 0)
    finally:
        t.process.kill()
    check(any("sampled calls of" in note for note in document["notes"]), document["notes"])
    check(any(is_sleep(c) for c in document["chains"]), document["chains"])
    equal("chains of the saved session", [c["ns"] for c in saved.document()["chains"]], [c["ns"] for c in document["chains"]])
    check(critical.document()["length_ns"] > 0, critical.document())


@live("who waits for its own child through the whole observation is not idle, and the child is named: a pipe, and its end")
def started():
    busy = [sys.executable, "-c", "while True: pass"]
    for parent, words in (("import subprocess; p = subprocess.Popen(%r, stdout=subprocess.PIPE); p.stdout.read()" % busy, "in a pipe in read: "),
                          ("import subprocess; p = subprocess.Popen(%r); p.wait()" % busy, "for a child in wait4: ")):
        waits = Program([sys.executable, "-c", parent])
        child = None
        try:
            def children():
                with open("/proc/%d/task/%d/children" % (waits.pid, waits.pid)) as f:
                    return f.read().split()
            child = int(wait_for(lambda: children() and open("/proc/%s/cmdline" % children()[0]).read().count("while") and children()[0], "the child"))
            status, program = run_peaktop("chains", "-p", waits.pid, "--for", 1, "--max-overhead", 100)
            equal("exit status (%s)" % program.error_text(), status, 0)
            text = " ".join(program.text().split())
            check("%s%s %d" % (words, open("/proc/%d/comm" % child).read().strip(), child) in text.split("share time")[0], text)
            check("idle" not in text, text)
        finally:
            if child:
                os.kill(child, signal.SIGKILL)
            waits.process.kill()


@case("what cannot be answered: an operation, a session without waits, no such process")
def refused():
    for options, words in ((["--of", "block"], "--of must be a function"), (["--peak", "1"], "--peak needs --of"),
                           (["--of", "syscall:read", "--of", "syscall:write"], "--of was given more than once")):
        status, program = run_peaktop("chains", "-p", os.getpid(), *options)
        equal("exit status", status, 2)
        check(words in program.error_text(), program.error_text())
    with tempfile.TemporaryDirectory() as folder:
        session = os.path.join(folder, "none.peaktop")
        status, program = run_peaktop("record", "-o", session, "--for", 1, "--", "sleep", "0.2")
        check(os.path.exists(session), program.error_text())
        status, program = run_peaktop("critical", "-r", session)
        equal("exit status", status, 1)
        check("no records of waits" in program.error_text(), program.error_text())
    for verb in "chains", "critical":
        status, program = run_peaktop(verb, "--json", "-n", "there-is-no-such-process")
        equal("exit status", status, 1)
        equal("kind", program.document()["kind"], verb)


main()
