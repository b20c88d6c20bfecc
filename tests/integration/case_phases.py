# SPDX-License-Identifier: GPL-2.0-or-later
"""--begin and --end: only what begins between two operations counts, in every layer, and the answer says so."""
from harness import *

ROUNDS = 150


def phases(begin, end, *ops, status=0):
    """Watch `ops` between two operations of the target `phases`: (truth, document)."""
    t = Target("phases", ROUNDS)
    args = [word for op in ops for word in ("-f", op)]
    functions = [name for name in (begin, end) + ops if ":" not in name]
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, *args, "--begin", begin, "--end", end, "--json", "--for", 600,
                          "--max-overhead", 100)
        if functions:
            program.armed(t.pid)
        ready(program)
        t.go()
        truth = t.truth()
        equal("exit status (%s)" % program.error_text(), program.stop(), status)
        t.finish()
    return truth, program


def counted(op):
    """Calls that were timed, with those whose caller was not known yet: how many these are depends on how busy the machine is."""
    seen = op.get("share_of_calls_seen", 1)
    check(seen > 0, "%s: none of the calls were seen" % op["name"])
    return round((op["calls"] + op["abnormal"]) / seen)


def phases_are(document, begin, end, seen):
    said = document["phases"]
    equal("begin and end", (said["begin"], said["end"]), (begin, end))
    equal("phases seen", said["seen"], seen)
    check(said["ns"] > 0, "time in phases: %d" % said["ns"])
    note = [n for n in document["notes"] if "saw %d phases" % seen in n]
    check(note and "counted only" in note[0], "a note says that only phases are counted: %s" % document["notes"])


@case("between two functions: calls of all threads that begin in it, and no others")
def functions():
    truth, program = phases("phase_open", "phase_close", "work")
    document = program.document()
    equal("calls of work", counted(operation(document, "work")), truth["functions"])
    phases_are(document, "phase_open", "phase_close", ROUNDS)
    equal("operations", [op["name"].split("@")[0] for op in document["operations"]], ["work"])


@case("the operations that begin and end the phase belong to it when they are watched too")
def edges_watched():
    truth, program = phases("phase_open", "phase_close", "phase_open", "phase_close", "whole")
    document = program.document()
    equal("calls of phase_open", counted(operation(document, "phase_open")), truth["rounds"])
    equal("calls of phase_close", counted(operation(document, "phase_close")), truth["rounds"])
    equal("calls of whole", counted(operation(document, "whole")), 0)
    phases_are(document, "phase_open", "phase_close", ROUNDS)


@case("one function for both: what begins inside of its calls, the outermost one's")
def own_body():
    truth, program = phases("whole", "whole", "work", "whole")
    document = program.document()
    equal("calls of work", counted(operation(document, "work")), truth["body"])
    equal("calls of whole", counted(operation(document, "whole")), 3 * truth["rounds"])
    phases_are(document, "whole", "whole", ROUNDS)


@case("between two system calls: functions and system calls")
def system_calls():
    truth, program = phases("syscall:getpgid", "syscall:getsid", "work", "syscalls")
    document = program.document()
    equal("calls of work", counted(operation(document, "work")), truth["between"])
    calls = {op["name"]: op["calls"] for op in document["operations"] if op["layer"] == "syscall"}
    # What the other thread does at that time belongs to the phase too: its lock, the end of its life.
    wanted = {"syscall:getpgid": ROUNDS, "syscall:getsid": ROUNDS, "syscall:getppid": 0}
    equal("system calls", {name: calls.get(name, 0) for name in wanted}, wanted)
    phases_are(document, "syscall:getpgid", "syscall:getsid", ROUNDS)


@case("from a function to a system call; system calls alone are watched")
def mixed():
    truth, program = phases("phase_open", "syscall:getpgid", "syscall:getppid", "syscall:getsid")
    document = program.document()
    equal("getppid", operation(document, "syscall:getppid")["calls"], truth["rounds"])
    check(not any(op["calls"] for op in document["operations"] if op["name"] == "syscall:getsid"), document["operations"])
    phases_are(document, "phase_open", "syscall:getpgid", ROUNDS)


@case("a phase left by longjmp does not stay open for ever")
def left():
    truth, program = phases("left_early", "left_early", "work")
    document = program.document()
    # It is noticed when a call of it begins at the same frame again, or when its frame is found to be gone: until
    # then other calls count, so the one thing to know is that each was seen to begin.
    check(document["phases"]["seen"] >= ROUNDS - 1, "phases seen: %d" % document["phases"]["seen"])


@case("no phase: exit 1 with a line that says so, and nothing counted")
def never():
    t = Target("phases", ROUNDS)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "work", "--begin", "syscall:reboot", "--end", "phase_close", "--json",
                          "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        t.truth()
        equal("exit status", program.stop(), 1)
    check("so no phase began" in program.error_text() and "syscall:reboot" in program.error_text(), program.error_text())
    document = program.document()
    equal("phases seen", document["phases"]["seen"], 0)
    check(not any(op["calls"] for op in document["operations"]), "nothing is counted: %s" % document["operations"])


@case("a begin that does not exist is refused by its name, and nothing is left")
def unknown():
    t = Target("phases", ROUNDS)
    with NothingLeft(t.pid):
        status, program = run_peaktop("watch", "-p", t.pid, "-f", "work", "--begin", "phase_opne", "--end", "phase_close")
    equal("exit status", status, 2)
    check("--begin phase_opne" in program.error_text() and "phase_open" in program.error_text(), program.error_text())


@case("wrong uses are refused")
def refused():
    for args, word in ((("--begin", "work"), "--end"), (("--end", "work"), "--begin"),
                       (("--begin", "block", "--end", "work"), "--begin block"),
                       (("--begin", "work", "--end", "syscalls"), "--end syscalls")):
        status, program = run_peaktop("watch", "-p", os.getpid(), *args)
        equal("exit status", status, 2)
        check(word in program.error_text() and len(program.err) == 1, "%s: %s" % (args, program.error_text()))


@case("a governed watch: phases are seen, and where begin and end were not watched that is said")
def governed():
    t = Target("phases", 4000, 300000)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "work", "--begin", "phase_open", "--end", "phase_close", "--json-lines",
                          "--for", 600)
        program.armed(t.pid)
        t.go()
        document = stop_when(program, lambda document: document["phases"]["seen"] > 10)
        t.end()
    said = document["phases"]
    check(not said["blind"] or any("to stay within --max-overhead" in n for n in document["notes"]), document["notes"])


@case("a recorded watch says the same again")
def recorded():
    t = Target("phases", ROUNDS)
    path = os.path.join(scratch(), "phases.peaktop")
    program = Peaktop("record", "-p", t.pid, "-f", "work", "--begin", "phase_open", "--end", "phase_close", "-o", path,
                      "--max-overhead", 100)
    program.armed(t.pid)
    t.go()
    truth = t.truth()
    equal("exit status", program.stop(), 0)
    t.finish()
    status, again = run_peaktop("watch", "-r", path, "--json")
    equal("exit status of the replay", status, 0)
    equal("calls of work", counted(operation(again.document(), "work")), truth["functions"])
    phases_are(again.document(), "phase_open", "phase_close", ROUNDS)


@case("descend: only the calls of the phase are looked at")
def descend():
    t = Target("phases", 100000000)
    t.go()
    with NothingLeft(t.pid):
        program = Peaktop("descend", "-p", t.pid, "-f", "work_times", "--begin", "phase_open", "--end", "phase_close",
                          "--json-lines", "--max-overhead", 100, "--timeout", 600)

        def looked_at():
            lines = [json.loads(line) for line in list(program.out)]
            return any(d["phases"]["seen"] > 10 and d["calls_used"] for d in lines) or program.process.poll() is not None
        wait_for(looked_at, "calls of more than 10 phases are used")
        status = program.stop()
    document = program.document()
    check(document["phases"]["seen"] > 10 and document["calls_used"], "phases seen: %s, calls used: %s (%s)" % (
        document["phases"], document["calls_used"], program.error_text()))
    check(status in (0, 1) and document["status"] != "not enough calls", "%d: %s: %s" % (
        status, document["status"], program.error_text()))
    with NothingLeft(t.pid):
        status, program = run_peaktop("descend", "-p", t.pid, "-f", "work_times", "--begin", "main", "--end", "phase_close",
                                      "--json", "--timeout", 1)
    equal("exit status", status, 1)
    check("so no phase began" in program.error_text(), program.error_text())


@case("resume: a saved descent goes on in the phase that --begin and --end name, or in the saved one")
def resumed():
    t = Target("phases", 100000000)
    t.go()
    whole, limited = (os.path.join(scratch(), name) for name in ("whole", "limited"))

    def goes_on(verb, *args):
        """A document of which calls in more than one phase were used, if it is limited to phases."""
        with NothingLeft(t.pid):
            program = Peaktop(*verb, "-p", t.pid, "--json-lines", "--max-overhead", 100, "--timeout", 600, *args)

            def used():
                lines = [json.loads(line) for line in list(program.out)]
                return any(d["calls_used"] for d in lines) or program.process.poll() is not None
            wait_for(used, "calls are used")
            program.stop()
        return program.document()
    goes_on(("descend", "-f", "work_times"), "-o", whole)
    document = goes_on(("resume", whole), "--begin", "phase_open", "--end", "phase_close", "--even-if-changed", "-o", limited)
    check(document["phases"]["seen"] and document["calls_used"], document["phases"])
    equal("begin and end", (document["phases"]["begin"], document["phases"]["end"]), ("phase_open", "phase_close"))
    check(any("goes on with a saved one" in note for note in document["notes"]), document["notes"])
    document = goes_on(("resume", limited), "--even-if-changed")
    equal("begin of the saved phases", document["phases"]["begin"], "phase_open")
    status, program = run_peaktop("resume", whole, "-p", t.pid, "--begin", "phase_open")
    equal("exit status without --end", status, 2)
    check("--end OP is missing" in program.error_text(), program.error_text())


main()
