# SPDX-License-Identifier: GPL-2.0-or-later
"""A signal kills the target: which one, whether probes were in it, exit status 1; and what is no death to report."""
from harness import *

ENDLESS = ("--json", "--for", 600, "--max-overhead", 100)  # no bursts: what is armed stays so until the target dies
REPORT = "; if that repeats only while it is watched, report it"


def kill(t, number):
    """Kill the target; returns whether the kernel says that it dumped core."""
    t.signal(number)
    info = os.waitid(os.P_PID, t.pid, os.WEXITED | os.WNOWAIT)
    equal("the signal that killed the target", info.si_status, number)
    return info.si_code == os.CLD_DUMPED


def end_of(document, pid):
    """What the document says of the end of this process."""
    of = [t for t in document.get("targets", [document["target"]]) if t["pid"] == pid]
    equal("documents of process %d" % pid, len(of), 1)
    return of[0]


def killed(program, t, number, core):
    """peaktop must have said all of it; returns its line on standard error, and the number of probes."""
    status = program.wait()
    document = program.document()
    end = end_of(document, t.pid)
    name = signal.Signals(number).name
    equal("exit status: %s" % program.error_text(), status, 1)
    equal("ended", end.get("ended"), True)
    by = end.get("killed_by", {})
    equal("killed by", (by.get("signal"), by.get("name"), by.get("core_dumped")), (number, name, core))
    check("exit_status" not in end, "a status and a signal: %s" % end)
    start = "%s (process %d) was killed by %s%s" % (end["comm"], t.pid, name, " (core dumped)" if core else "")
    said = [line for line in program.err if line.startswith("peaktop: " + start)]
    equal("lines about the end: %s" % program.error_text(), len(said), 1)
    line = said[0][len("peaktop: "):]
    check(line in document["notes"], "not among the notes: %s" % document["notes"])
    return line[len(start):], by.get("probes")


def with_probes(said, probes):
    check(probes, "no probe was in it")
    equal("the line", said, " while %d %s in it%s" % (probes, "probe was" if probes == 1 else "probes were", REPORT))


def without_probes(said, probes):
    equal("probes", probes, 0)
    equal("the line", said, "; no probe was in it")


def probed(*target, **options):
    """(target at work, peaktop with a function armed all the time)."""
    t = Target(*target, **options)
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", *ENDLESS)
    program.armed(t.pid)
    t.go()
    return t, program


def rates(**options):
    return probed("rates", 2000, 600, 0, **options)


for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGTERM):
    def dies(number=number):
        with NothingLeft():
            t, program = rates()
            with_probes(*killed(program, t, number, kill(t, number)))
            check(operation(program.document(), "busy")["calls"] >= 0, "the calls until then are missing")
    case("%s while probes are in the target: the signal, the probes, exit status 1" % number.name)(dies)


@case("SIGABRT with a core file: it is said")
def core():
    folder = scratch()
    t, program = rates(cwd=folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30)))
    dumped = kill(t, signal.SIGABRT)
    said, probes = killed(program, t, signal.SIGABRT, dumped)
    with_probes(said, probes)
    if not dumped:
        raise Skip("this host writes no core files")


@case("a signal without a name")
def nameless():
    t, program = rates()
    t.signal(signal.SIGRTMIN + 3)
    equal("exit status", program.wait(), 1)
    equal("name", end_of(program.document(), t.pid)["killed_by"]["name"], "signal %d" % (signal.SIGRTMIN + 3))


@case("exit: no signal, status 0, the status of the target in the document")
def exits():
    t = Target("exit_soon", 300000)
    program = Peaktop("watch", "-p", t.pid, "-f", "syscalls", *ENDLESS)
    ready(program)
    t.go()
    status = program.wait()
    equal("exit status: %s" % program.error_text(), status, 0)
    end = end_of(program.document(), t.pid)
    equal("status of the target", (end.get("ended"), end.get("exit_status")), (True, 0))
    check("killed_by" not in end and "killed" not in program.error_text(), "killed? %s %s" % (end, program.error_text()))


@case("exit with a status: as exit")
def exits_with():
    p = Program(["sh", "-c", "echo; read x; exit 139"])
    p.line(lambda s: True)
    program = Peaktop("watch", "-p", p.pid, *ENDLESS)
    ready(program)
    p.say()
    status = program.wait()
    equal("exit status: %s" % program.error_text(), status, 0)
    equal("status of the target", end_of(program.document(), p.pid).get("exit_status"), 139)


@case("a main thread that ended before the others, then a signal")
def leader():
    t = Target("main_gone", wait=True)
    program = Peaktop("watch", "-p", t.pid, *ENDLESS)
    ready(program)
    t.go()
    wait_for(lambda: live_thread(t.pid) != t.pid, "the main thread ends")
    without_probes(*killed(program, t, signal.SIGSEGV, kill(t, signal.SIGSEGV)))


@case("without probes: the system calls, the walk, chains and critical")
def no_probes():
    for verb in (("watch", "-f", "syscalls"), ("descend",), ("chains",), ("critical",)):
        t = Target("rates", 2000, 600, 0)
        program = Peaktop(verb[0], "-p", t.pid, *verb[1:], *ENDLESS)
        ready(program)
        t.go()
        without_probes(*killed(program, t, signal.SIGSEGV, kill(t, signal.SIGSEGV)))


@case("a descent: the signal, beside why there is no cause")
def descent():
    t = Target("rates", 2000, 600, 0)
    program = Peaktop("descend", "-p", t.pid, "-f", "busy", "--json", "--start-ops", 10 ** 6, "--timeout", 600, "--max-overhead", 100)
    program.armed(t.pid)
    t.go()
    with_probes(*killed(program, t, signal.SIGSEGV, kill(t, signal.SIGSEGV)))


@case("one of two targets: it is said, the other one is measured on, exit status 1")
def one_of_two():
    t, other = Target("rates", 2000, 600, 0), Target("rates", 2000, 600, 0)
    program = Peaktop("watch", "-p", "%d,%d" % (t.pid, other.pid), "-f", "busy", *ENDLESS)
    program.armed(t.pid)
    program.armed(other.pid)
    t.go()
    other.go()
    dumped = kill(t, signal.SIGSEGV)
    wait_for(lambda: ended_by_state(program, t.pid), "peaktop sees the end")
    program.signal(signal.SIGINT)
    with_probes(*killed(program, t, signal.SIGSEGV, dumped))
    check("ended" not in end_of(program.document(), other.pid), "the other one has not ended")
    check(alive(other.pid), "the other one died")


def ended_by_state(program, pid):
    """Whether the present state (SIGUSR1) says that a signal killed this process."""
    before = len(program.err)
    program.signal(signal.SIGUSR1)
    wait_for(lambda: any("Target:" in line for line in program.err[before:]), "the state is printed")
    return re.search(r"pid %d,\s+killed\s+by" % pid, " ".join(program.err[before:]))


@case("a child that --follow measures: a note, and exit status 0")
def child():
    p = Program(["sh", "-c", "echo; read x; sleep 600 & echo child $!; wait; read x; exit 0"])
    p.line(lambda s: True)
    program = Peaktop("watch", "-p", p.pid, "--follow", "-f", "syscalls", *ENDLESS)
    ready(program)
    p.say()
    pid = int(p.line(lambda s: s.startswith("child")).split()[1])

    def followed():
        before = len(program.err)
        program.signal(signal.SIGUSR1)
        wait_for(lambda: any("Target:" in line for line in program.err[before:]), "the state is printed")
        return re.search(r"sleep\s+\(pid %d\)" % pid, " ".join(program.err[before:]))
    wait_for(followed, "the child is followed")
    os.kill(pid, signal.SIGSEGV)
    wait_for(lambda: ended_by_state(program, pid), "peaktop sees the end of the child")
    p.say()
    status = program.wait()
    equal("exit status: %s" % program.error_text(), status, 0)
    document = program.document()
    equal("signal", end_of(document, pid)["killed_by"]["signal"], signal.SIGSEGV)
    check("sleep (process %d) was killed by SIGSEGV; no probe was in it" % pid in document["notes"], "notes: %s" % document["notes"])


def command(script, *options):
    return run_peaktop("watch", "-f", "syscalls", "--json", *options, "--", "sh", "-c", script)


@case("-- COMMAND that kills itself: exit status 1")
def command_dies():
    status, program = command("kill -ABRT $$")
    equal("exit status: %s" % program.error_text(), status, 1)
    equal("signal", program.document()["target"]["killed_by"]["signal"], signal.SIGABRT)
    check("was killed by SIGABRT" in program.error_text(), program.error_text())


@case("-- COMMAND that is asked to end, by Ctrl-C, a terminal, a job control shell or a service: exit status 0")
def command_asked():
    for name in ("INT", "TERM", "HUP"):
        status, program = command("kill -%s $$" % name)
        equal("exit status after %s: %s" % (name, program.error_text()), status, 0)
        document = program.document()
        equal("signal", document["target"]["killed_by"]["name"], "SIG" + name)
        check(not any("killed" in line for line in program.err + document["notes"]), "a death after %s: %s" % (name, program.error_text()))


@case("-- COMMAND that peaktop itself ends at the end of --for, or with Ctrl-C: no death")
def command_ended():
    status, program = command("exec sleep 600", "--for", 1)
    equal("exit status: %s" % program.error_text(), status, 0)
    check("killed" not in program.error_text() + program.text(), "a death: %s" % program.error_text())
    program = Peaktop("watch", "-f", "syscalls", "--json", "--", "sh", "-c", "while :; do sleep 0.01; done")
    ready(program)
    os.killpg(program.pid, signal.SIGINT)  # what the terminal does
    program.wait()
    check(not any("was killed by" in line for line in program.err), program.error_text())


@case("a saved session says the same, with the same exit status")
def saved():
    path = os.path.join(scratch(), "died.peaktop")
    t = Target("rates", 2000, 600, 0)
    program = Peaktop("record", "-p", t.pid, "-f", "busy", "-o", path, *ENDLESS)
    program.armed(t.pid)
    t.go()
    said, probes = killed(program, t, signal.SIGSEGV, kill(t, signal.SIGSEGV))
    with_probes(said, probes)
    again = Peaktop("watch", "-r", path, "--json")
    equal("replayed", killed(again, t, signal.SIGSEGV, end_of(program.document(), t.pid)["killed_by"]["core_dumped"]), (said, probes))
    status, text = run_peaktop("watch", "-r", path)
    equal("exit status", status, 1)
    check("killed by SIGSEGV)" in " ".join(text.out), text.text()[:300])
    status, exported = run_peaktop("export", path, "--format", "json")
    equal("exit status of export", status, 0)


@case("a saved descent says the same")
def saved_descent():
    path = os.path.join(scratch(), "died.peaktop")
    t = Target("rates", 2000, 600, 0)
    program = Peaktop("descend", "-p", t.pid, "-o", path, *ENDLESS)
    ready(program)
    t.go()
    core = kill(t, signal.SIGSEGV)
    said = killed(program, t, signal.SIGSEGV, core)
    equal("replayed", killed(Peaktop("descend", "-r", path, "--json"), t, signal.SIGSEGV, core), said)


@case("the screen says it, and standard error when it closes")
def screen():
    t = Target("rates", 2000, 600, 0)
    s = Screen(PEAKTOP, "-p", t.pid, "-f", "busy", "--max-overhead", 100)
    s.shows("busy")
    t.go()
    wait_for(lambda: breakpoints(t.pid), "a site is armed")
    kill(t, signal.SIGSEGV)
    s.shows("was killed by SIGSEGV")
    s.keys("q", "q", "q")  # the message, the operation, the screen
    equal("exit status", s.exit_status(), 1)
    s.shows("was killed by SIGSEGV")


if __name__ == "__main__":
    main()
