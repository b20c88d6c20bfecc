# SPDX-License-Identifier: GPL-2.0-or-later
"""peaktop with file capabilities, run by an ordinary user: it watches what that user may trace, and nothing else."""
from harness import *
from installed import *


def ended(program, wanted, seconds=20):
    status = program.wait(seconds)
    said = program.text() + program.error_text()
    check(wanted in said, "peaktop says %r; status %d, said: %s" % (wanted, status, said[:600]))


@case("a target that executes a set-user-ID program is dropped, its probes go, the other target keeps them")
def set_user_id():
    here = Installed()
    plain, privileged = here.copy(os.path.join(TARGETS, "rates")), os.path.join(here.folder, "suid")
    shutil.copy(plain, privileged)
    os.chmod(privileged, 0o4755)
    other = here.start(plain, 200, 120, 0)
    t = here.start("sh", "-c", "echo ready; read x; exec %s 200 120 0" % privileged)
    t.line(lambda s: s == "ready")
    program = here.watch((other.pid, t.pid), "-f", "read@libc.so.6", "--json", "--for", 600, "--max-overhead", 100)
    for pid in (other.pid, t.pid):
        wait_for(lambda: breakpoints(pid, "libc"), "a probe stands in %d" % pid, 20)
    t.say("go")
    wait_for(lambda: executable_of(t.pid) == privileged, "the program is executed")
    if proc_status(t.pid)["Uid"].split()[1] != "0":
        raise Skip("set-user-ID programs do not get their user here")
    wait_for(lambda: not breakpoints(t.pid), "the probes in the set-user-ID program are gone", 10)
    check(breakpoints(other.pid, "libc"), "the other target keeps its probes")
    program.note_family()
    status = program.stop()
    document = program.document()
    check(any("pid %d" % t.pid in note and "no longer watched" in note for note in document["notes"]),
          "the note; status %d, notes: %s" % (status, document["notes"]))


@case("a target that makes itself untraceable without executing anything is dropped as well")
def not_dumpable():
    here = Installed()
    t = here.start(sys.executable, "-c", "import ctypes, sys; print('ready', flush=True); sys.stdin.readline();"
                   " ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('done', flush=True); sys.stdin.readline()")
    t.line(lambda s: s == "ready")
    # without bursts, in which links come and go
    program = here.watch((t.pid,), "-f", "syscalls", "--json", "--for", 600, "--max-overhead", 100)
    ready(program)
    t.say()
    t.line(lambda s: s == "done")
    ended(program, "no longer watched")


@case("a program without more rights goes on being watched after exec, also by an ordinary user")
def plain_exec():
    here = Installed()
    path = here.copy(os.path.join(TARGETS, "exec"))
    t = here.start(path, "-w", 200000)
    t.line(lambda s: s.startswith("ready"))
    program = here.watch((t.pid,), "-f", "work", "--json", "--for", 600, "--max-overhead", 100)
    wait_for(lambda: breakpoints(t.pid, "exec"), "a probe stands in the target", 20)
    t.say("go")
    t.line(lambda s: s == "executed")
    wait_for(lambda: breakpoints(t.pid, "exec"), "a probe stands in the program that it executed", 20)
    t.say("go")
    t.line(lambda s: s.startswith("{"))
    program.note_family()
    equal("exit status (%s)" % program.error_text(), program.stop(), 0)
    document = program.document()
    calls = operation(document, "work")["calls"]
    check(not any("no longer watched" in note for note in document["notes"]), "notes: %s" % document["notes"])
    # what the second program calls before it is looked at again is not counted, what it calls after is
    between("calls of work", calls, 200001, 400000)


@case("a process of somebody else is refused")
def somebody_else():
    here = Installed()
    t = Target("rates", 200, 60, 0)
    program = here.watch((t.pid,), "-f", "syscalls", "--for", 1)
    equal("exit status", program.wait(20), 3)
    check("not permitted" in program.error_text(), program.error_text())


if __name__ == "__main__":
    main()
