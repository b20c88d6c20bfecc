# SPDX-License-Identifier: GPL-2.0-or-later
"""No process, program, link or breakpoint stays, whoever dies first; the privileges are really dropped."""
from harness import *


def attached(*options):
    """(target at work, peaktop with a function armed and the system calls on)."""
    t = Target("rates", 2000, 120, 0)
    # no bursts: what is armed is to stay so until somebody dies
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", "-f", "syscalls", "--json", "--for", 600, "--max-overhead", 100, *options)
    program.armed(t.pid)
    ready(program)
    before = cpu_ticks(t.pid)
    t.go()
    wait_for(lambda: cpu_ticks(t.pid) > before + 1, "the target has made calls", 20)
    return t, program


def gone(pids, seconds=5):
    wait_for(lambda: not [p for p in pids if alive(p)], "peaktop's processes %s end" % pids, seconds)


@case("after a normal end nothing is left")
def normal():
    t = Target("rates", 2000, 600, 0)
    t.go()
    with NothingLeft():
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "-f", "syscalls", "--json", "--for", 5, "--max-overhead", 100)
        wait_for(lambda: parser_of(program) and bpf_of(program), "the collector's programs and the parser")
        members = program.note_family()
        equal("exit status (%s)" % program.error_text(), program.wait(), 0)
        gone(members)
        equal("breakpoints in the target", breakpoints(t.pid), [])
        check(alive(t.pid), "the target died")


def bpf_of(program):
    return [pid for pid in family(program.pid) if bpf_held_by(pid)]


def verified_by(program):
    """Instructions that the verifier has processed for the programs of peaktop."""
    steps = {}
    collector = bpf_of(program)[0]
    for fd in os.listdir("/proc/%d/fdinfo" % collector):
        try:
            with open("/proc/%d/fdinfo/%s" % (collector, fd)) as f:
                found = dict(re.findall(r"^(prog_id|verified_insns):\s*(\d+)", f.read(), re.M))
        except OSError:  # closed meanwhile
            continue
        if "verified_insns" in found:
            steps[found["prog_id"]] = int(found["verified_insns"])
    program.stop()
    if not steps:
        raise Skip("this kernel does not tell verified_insns")
    print("# %d programs, %d instructions" % (len(steps), sum(steps.values())), flush=True)
    return sum(steps.values())


@case("loading is quick: the kernel's verifier processes few instructions, and fewer where no waits are traced")
def verified():
    t, program = attached()
    without_waits = verified_by(program)
    program = Peaktop("descend", "-p", t.pid, "-f", "busy", "--json", "--timeout", 60, "--start-ops", 1000000)
    program.armed(t.pid)
    everything = verified_by(program)
    check(everything < 250000, "at most 250,000 instructions: %d" % everything)
    check(without_waits < 0.7 * everything, "of %d instructions, %d without the tracing of waits" % (everything, without_waits))


@case("each process killed in turn: the others end, the kernel is clean, the target lives")
def kill_each():
    t, program = attached()
    count = len(program.note_family())
    program.stop()
    t.end()
    check(count >= 3, "front, collector and parser expected, found %d processes" % count)
    for index in range(count):
        with NothingLeft():
            t, program = attached()
            members = program.note_family()
            victim = members[min(index, len(members) - 1)]
            os.kill(victim, signal.SIGKILL)
            if victim not in (program.pid,):
                # A parser that dies is replaced: then Ctrl-C must still end all of it in order.
                others = [p for p in members if p != victim]
                wait_for(lambda: not any(map(alive, others)) or parser_of(program) not in (0, victim),
                         "the end of all processes, or another parser", 6)
                if any(map(alive, others)):
                    program.stop()
                    gone(program.members)
            gone(members, 6)
            wait_for(lambda: not breakpoints(t.pid), "no breakpoint is left after process %d of %d" % (index + 1, count), 5)
            check(alive(t.pid), "the target died with process %d of %d" % (index + 1, count))
            t.end()


@case("the target dies: peaktop says so, shows what it has, and ends with status 1")
def target_dies():
    with NothingLeft():
        t, program = attached()
        wait_for(lambda: cpu_ticks(t.pid) > 5, "the target works")
        t.signal(signal.SIGKILL)
        status = program.wait(15)
        equal("exit status: %s" % program.error_text(), status, 1)
        check("was killed by SIGKILL while" in program.error_text(), program.error_text())
        document = program.document()
        equal("kind", document["kind"], "watch")
        equal("the target has ended", document["target"].get("ended"), True)
        check(operation(document, "busy")["calls"] > 0, "the calls until then are missing")


@case("the target exits at any moment: 30 times, at random")
def exit_soon():
    draw = draws()
    with NothingLeft():
        for _ in range(30):
            t = Target("exit_soon", draw.randint(0, 400000))
            program = Peaktop("watch", "-p", t.pid, "-f", "work", "--json", "--for", 1)
            t.go()
            status = program.wait(30)
            check(status in (0, 1), "exit status %d: %s" % (status, program.error_text()))
            check(program.err or not status, "exit status 1 and no word")
            program.document()
            equal("exit status of the target", t.wait(10), 0)


def cpu_ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        field = f.read().rpartition(")")[2].split()
    return int(field[11]) + int(field[12])


def roles(program):
    """
    {role: [what /proc says of a process, ...]}, told apart by what they may do: the collector and its two helpers keep capabilities, all
    others have none.
    """
    found = {"collector": [], "cleaner": [], "reader": [], "others": []}
    for pid in program.note_family():
        with contextlib.suppress(OSError):  # a helper has ended
            status = proc_status(pid)
            role = {"probe-cleaner": "cleaner", "peaktop-reader": "reader"}.get(status["Name"].strip())
            found[role or ("collector" if int(status["CapEff"], 16) else "others")].append(status)
    return found


def holds(condition):
    """Wait until a check passes: a helper that has just been forked has not dropped its rights yet, and its name is its parent's."""
    wrong = None

    def passes():
        nonlocal wrong
        try:
            condition()
        except AssertionError as error:
            wrong = error
            return False
        return True
    wait_for(passes, lambda: "%s" % wrong)


@case("front and parser have no capabilities; collector, reader and cleaner keep the same few; all have no_new_privs, a seccomp filter")
def privileges():
    t, program = attached()
    holds(lambda: rights_are_few(roles(program)))
    program.stop()


def rights_are_few(found):
    equal("processes with capabilities", len(found["collector"]), 1)
    equal("cleaners", len(found["cleaner"]), 1)
    check(len(found["others"]) >= 2, "front and parser expected: %s" % found)
    kept = int(found["collector"][0]["CapPrm"], 16)
    cleaner = int(found["cleaner"][0]["CapPrm"], 16)
    check(not cleaner & ~kept, "the cleaner may do more than the collector: %x, %x" % (cleaner, kept))
    # the reader runs as long as code is compared
    check(len(found["reader"]) <= 1, "readers: %s" % found)
    for status in found["reader"]:
        reader = int(status["CapPrm"], 16)
        check(not reader & ~kept, "the reader may do more than the collector: %x, %x" % (reader, kept))
    for status in found["others"]:
        # CapBnd may stay where CAP_SETPCAP was missing; it is worth nothing with no_new_privs
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            equal("%s of %s (%s)" % (name, status["Pid"], status["Name"]), int(status[name], 16), 0)
    for status in sum(found.values(), []):
        equal("NoNewPrivs of %s (%s)" % (status["Pid"], status["Name"]), status["NoNewPrivs"].strip(), "1")
        equal("Seccomp of %s (%s)" % (status["Pid"], status["Name"]), status["Seccomp"].strip(), "2")


@case("started by sudo, the front runs as the user who asked")
def sudo_user():
    user = pwd.getpwnam("nobody")
    t = Target("rates", 2000, 60, 0)
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, env=as_nobody())
    program.armed(t.pid)

    def are_the_users():
        others = roles(program)["others"]
        check(len(others) >= 2, "front and parser expected: %s" % others)
        for status in others:
            equal("users of %s (%s)" % (status["Pid"], status["Name"]), set(status["Uid"].split()), {str(user.pw_uid)})
    holds(are_the_users)
    program.stop()


@case("the front stops (SIGSTOP): within some seconds everything is detached; it goes on after SIGCONT")
def dead_man():
    with NothingLeft():
        t, program = attached()
        os.kill(program.pid, signal.SIGSTOP)
        try:
            wait_for(lambda: not breakpoints(t.pid), "the dead man's switch detaches", 6)
        finally:
            os.kill(program.pid, signal.SIGCONT)
        wait_for(lambda: breakpoints(t.pid), "the probes come back")
        equal("exit status", program.stop(), 0)
        check(alive(t.pid), "the target died")


def parser_of(program):
    """The worker that reads ELF and DWARF; it names itself."""
    for pid in family(program.pid):
        try:
            with open("/proc/%d/comm" % pid) as f:
                if f.read().strip() == "peaktop-parser":
                    return pid
        except OSError:
            pass
    return 0


@case("a parser that is killed is replaced, and the result says so")
def lost_parser():
    with NothingLeft():
        t, program = attached()
        for times in (1, 2):
            victim = wait_for(lambda: parser_of(program), "a parser")
            os.kill(victim, signal.SIGKILL)
            wait_for(lambda: parser_of(program) not in (0, victim), "another parser")
        equal("exit status", program.stop(), 0)
        notes = program.document()["notes"]
        check(any(note.startswith("the parser died once") and "names or call paths may be missing" in note for note in notes), "notes: %s" % notes)
        check(any(note.startswith("the parser died 2 times") for note in notes), "notes: %s" % notes)
        check("the parser died" in program.error_text(), "standard error: " + program.error_text())
        t.end()


@case("SIGUSR1 prints the present state and changes nothing")
def usr1():
    t, program = attached()
    program.signal(signal.SIGUSR1)
    program.line(lambda s: re.match(r"State at [\d.]+ \w+, [\d.]+ \w+ old:", s), stream=program.err)
    program.line(lambda s: s.startswith("Target: "), stream=program.err)
    check(alive(program.pid), "it ended")
    equal("exit status", program.stop(), 0)
    program.document()


@case("a command that was started runs at the priority of who started it")
def priority():
    path = os.path.join(scratch(), "nice")
    equal("exit status", run_peaktop("watch", "--json", "--", "sh", "-c", "nice > '%s'" % path)[0], 0)
    with open(path, encoding="utf-8") as f:
        equal("nice value", int(f.read()), os.nice(0))


@case("SIGUSR1 ends nothing where there is no state to print")
def usr1_elsewhere():
    t = Target("sleeper", 60)
    t.go()
    for arguments in (("doctor", "--json"), ("descend", "-p", t.pid, "--open", "--json")):
        program = Peaktop(*arguments)
        bit = 1 << signal.SIGUSR1 - 1
        wait_for(lambda: int(proc_status(program.pid)["SigCgt"], 16) & bit, "a handler of SIGUSR1")
        program.signal(signal.SIGUSR1)
        equal("exit status of " + arguments[0], program.wait(), 0)
        program.document()
    t.end()


@case("SIGTERM and SIGHUP end it in order")
def term():
    for number in (signal.SIGTERM, signal.SIGHUP):
        with NothingLeft():
            t, program = attached()
            members = program.note_family()
            program.signal(number)
            equal("exit status after signal %d" % number, program.wait(10), 0)
            gone(members)
            check(alive(t.pid), "the target died")
            t.end()


@live("its own CPU and memory stay small")
def own_cost():
    t, program = attached()
    start = time.monotonic()
    ticks = sum(cpu_ticks(p) for p in program.note_family())
    wait_for(lambda: time.monotonic() - start > 4, "4 s pass", 10)
    used = sum(cpu_ticks(p) for p in program.note_family()) - ticks
    check(used < 0.25 * 4 * os.sysconf("SC_CLK_TCK"), "used %d ticks in 4 s" % used)
    rss = sum(int(proc_status(p)["VmRSS"].split()[0]) for p in program.note_family())
    check(rss < 200 * 1024, "%d KB resident" % rss)
    program.stop()


if __name__ == "__main__":
    main()
