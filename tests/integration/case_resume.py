# SPDX-License-Identifier: GPL-2.0-or-later
"""A saved descent goes on with a live target, or is refused in one line."""
import shutil
import struct

from descents import *


def session(name):
    return os.path.join(scratch(), name)


def chain(build="", depth=8, microseconds=3000):
    """descend_chain of a build, running."""
    t = Target(os.path.join(TARGETS, build, "descend_chain"), depth, 300, microseconds)
    t.go()
    return t


LEVELS = ("--level-by-level",)


def interrupted_descent(t, path, rounds=4, mode=LEVELS):
    """Save a descent that is ended once so many rounds were decided, and the next one was armed; its document."""
    program = Peaktop("descend", "-p", t.pid, "-f", "serve", "--slowest", 15, *mode, "--json-lines", "-o", path, *FAST)
    program.line(lambda s: s.startswith("{") and json.loads(s)["rounds"] > rounds, 40)
    program.stop()
    return program.documents()[-1]


def resume(path, *target, status=0):
    """The document of a resumed descent."""
    got, program = run_peaktop("resume", path, *target, "--json", *FAST)
    equal("exit status (%s)" % program.error_text(), got, status)
    return program.document()


def refused(path, *target, status=2):
    """The one line with which a session is refused."""
    got, program = run_peaktop("resume", path, *target)
    equal("exit status (%s)" % program.error_text(), got, status)
    equal("lines of " + program.error_text(), len(program.error_text().splitlines()), 1)
    equal("what was printed", program.text(), "")
    return program.error_text()


@smoke("a descent that was interrupted early goes on to its root cause, with fewer calls than from scratch")
def goes_on():
    path, further = session("interrupted"), session("further")
    t = Target("descend_chain", 8, 120)
    t.go()
    early = interrupted_descent(t, path)
    check(early["status"] != "root cause found", told(early))
    whole = descend(t.pid, "serve", "--slowest", 15, "--level-by-level")
    with NothingLeft(t.pid):
        document = resume(path, "-p", t.pid, "-o", further)
    equal("status (%s)" % told(document), document["status"], "root cause found")
    first_path(document, "serve", "link8", "last", "culprit")
    check(any("goes on with a saved one" in note for note in document["notes"]), document["notes"])
    check(document["calls_used"] < whole["calls_used"], "%d calls, %d from scratch" % (document["calls_used"], whole["calls_used"]))
    check(document["rounds"] < whole["rounds"], "%d rounds, %d from scratch" % (document["rounds"], whole["rounds"]))
    # what was saved of the resumed one replays to the same answer, and can be resumed in its turn
    status, program = run_peaktop("descend", "-r", further, "--json")
    equal("exit status of the replay", status, 0)
    equal("paths of the replay", program.document()["paths"], document["paths"])
    again = resume(further, "-p", t.pid)
    first_path(again, "serve", "link8", "last", "culprit")
    check(again["calls_used"] <= document["calls_used"], "%d calls to confirm" % again["calls_used"])
    # the text is that of a descent
    status, program = run_peaktop("resume", further, t.pid, *FAST)
    equal("exit status (%s)" % program.error_text(), status, 0)
    check("Status: root cause found" in program.text() and "culprit" in program.text(), program.text())


def goes_on_after(rounds, mode=LEVELS):
    """An uninterrupted descent; one that is saved after so many rounds and resumed in the same process, a restarted one, another build."""
    path = session("after")
    t = chain()
    whole = descend(t.pid, "serve", "--slowest", 15, *mode)
    # without --level-by-level all is armed at once: it is saved before that round is decided
    rounds = min(rounds, whole["rounds"] - 1)
    saved = interrupted_descent(t, path, rounds, mode)
    answer = first_path(whole, "serve", "link8", "last", "culprit")
    wanted, cause = names(answer), answer["cause"]["kind"]
    for build in (None, "", "rebuilt"):
        if build is not None:
            t.end()
            t = chain(build)
        with NothingLeft(t.pid):
            document = resume(path, "-p", t.pid)
        equal("status (%s)" % told(document), document["status"], "root cause found")
        found = first_path(document, "serve", "culprit", kinds=(cause,))
        equal("path", names(found), wanted)
        check(document["rounds"] <= whole["rounds"] - rounds, "%d rounds, %d from scratch, saved in round %d" % (
            document["rounds"], whole["rounds"], saved["rounds"]))
    t.end()
    t = chain("", microseconds=9000)
    document = resume(path, "-p", t.pid, status=1)
    equal("status of another distribution", document["status"], "distribution changed")
    equal("its rounds", document["rounds"], 0)
    forced = resume(path, "-p", t.pid, "--even-if-changed")
    equal("status with --even-if-changed (%s)" % told(forced), forced["status"], "root cause found")
    equal("path with --even-if-changed", names(first_path(forced, "serve", "culprit", kinds=(cause,))), wanted)


@live("after one round: the answer in the same process, a restarted one and another build is that of an uninterrupted descent, in fewer rounds")
def after_one_round():
    goes_on_after(1)


@live("after two rounds: the answer in the same process, a restarted one and another build is that of an uninterrupted descent, in fewer rounds")
def after_two_rounds():
    goes_on_after(2)


@live("after three rounds: the answer in the same process, a restarted one and another build is that of an uninterrupted descent, in fewer rounds")
def after_three_rounds():
    goes_on_after(3)


@live("without --level-by-level: the answer is that of an uninterrupted descent, in no more rounds")
def after_a_round_with_stacks():
    goes_on_after(1, ())


@case("in another build the functions are found again by their names, and a function that is gone is told")
def another_build():
    path, further = session("before"), session("further")
    t = chain()
    interrupted_descent(t, path)
    t.end()
    for build in ("rebuilt", "renamed"):
        other = chain(build)
        with NothingLeft(other.pid):
            # --even-if-changed: on a busy machine the latencies may have changed
            status, program = run_peaktop("resume", path, "-p", other.pid, "--json", "--even-if-changed", "-o", further + build, *FAST)
        document = program.document()
        check(status in (0, 1), "exit status %d: %s" % (status, program.error_text()))
        check(any("found again by their names" in note for note in document["notes"]), document["notes"])
        gone = [note for note in document["notes"] if "are not in this one" in note or "is not in this one" in note]
        check(not gone if build == "rebuilt" else len(gone) == 1 and "link3" in gone[0], document["notes"])
        # what was saved says the same
        _, replayed = run_peaktop("descend", "-r", further + build, "--json")
        equal("the replay", replayed.document(), document)
        other.end()


@case("a stripped copy of the program goes on by the offsets of its build; another program of the same name is refused, though it has the function")
def of_the_same_name():
    path, copies = session("before"), scratch()
    copy, other = os.path.join(copies, "descend_chain"), os.path.join(copies, "other", "descend_chain")
    t = chain()
    interrupted_descent(t, path)
    t.end()
    os.chmod(copies, 0o755)
    os.mkdir(os.path.dirname(other))
    if shutil.which("strip") is None:
        raise Skip("there is no strip")
    subprocess.run(["strip", "-o", copy, os.path.join(TARGETS, "descend_chain")], check=True)
    shutil.copy(os.path.join(TARGETS, "modes"), other)
    t = Target(copy, 8, 300, 3000)
    t.go()
    with NothingLeft(t.pid):
        status, program = run_peaktop("resume", path, "-p", t.pid, "--json", "--even-if-changed", *FAST)
    check(status in (0, 1), "exit status %d: %s" % (status, program.error_text()))
    notes = program.document()["notes"]
    check(any("goes on with a saved one" in note for note in notes), notes)
    check(not any("another build" in note for note in notes), notes)
    # the copy has no names: those of the session hold
    ftree = json.dumps(program.document()["ftree"])
    check('"link1"' in ftree and "descend_chain+0x" not in json.dumps(program.document()["function"]), ftree)
    t.end()
    t = Target(other, 300, 1000, 1, "s:500:1")
    t.go()
    with NothingLeft(t.pid):
        line = refused(path, "-p", t.pid)
    check("is another program than that of the session" in line and "other functions" in line, line)


@case("a command that executes the program (sh, nice, env) goes on with its descent; one that never does is refused in one line")
def through_a_shell():
    path, program = session("before"), os.path.join(TARGETS, "descend_chain")
    t = chain(depth=2)
    run_peaktop("descend", "-p", t.pid, "-f", "serve", "-o", path, "--timeout", 60, "--max-overhead", 100)
    t.end()
    for command in (("sh", "-c", "exec %s 2 300" % program), ("nice", program, 2, 300), ("env", "A=1", program, 2, 300)):
        # --timeout is reached only if the machine hangs: it ends with its answer
        status, resumed = run_peaktop("resume", path, "--json", "--even-if-changed", "--max-overhead", 100, "--timeout", 60, "--", *command)
        check(status in (0, 1), "%s: exit status %d: %s" % (command[0], status, resumed.error_text()))
        document = resumed.document()
        check(any("goes on with a saved one" in note for note in document["notes"]), document["notes"])
        equal("program of the answer", os.path.basename(document["target"]["exe"]), "descend_chain")
    for command in (("true",), ("sh", "-c", ":")):
        check("which the command did not execute" in refused(path, "--", *command), command)


def short_run(verb, *args):
    """The last document of a descent in serve() of a program that ends after two seconds and prints a document of its own."""
    status, program = run_peaktop(*verb, "--level-by-level", "--json-lines", *args, *FAST, "--", os.path.join(TARGETS, "descend_chain"), 8, 2)
    documents = [json.loads(line) for line in program.text().splitlines() if '"status"' in line]
    check(documents, "no answer (%s): %s" % (status, program.error_text()))
    validate(documents[-1])
    return documents[-1]


@live("a command that ends after two seconds reaches a root cause in several runs, of which each goes on with the one before")
def short_runs():
    runs = [session("run")]
    document = short_run(("descend", "-f", "serve", "--slowest", 15, "--decision-ops", 50), "-o", runs[0])
    # ten levels with 50 calls each, and two seconds have room for some 300 of these calls
    check(document["status"] != "root cause found", "one run alone sufficed: %s" % told(document))
    while document["status"] != "root cause found":
        check(len(runs) < 12, "after %d runs: %s" % (len(runs), told(document)))
        runs.append(session("run"))
        document = short_run(("resume", runs[-2]), "-o", runs[-1])
        check(any("goes on with a saved one" in note for note in document["notes"]), document["notes"])
    first_path(document, "serve", "link8", "last", "culprit")


@live("the snapshot of a descent on the screen goes on, too")
def from_the_screen():
    path = session("snapshot")
    t = Target("descend_chain", 4, 120)
    t.go()
    screen = Screen(PEAKTOP, "-p", t.pid, "-f", "serve", "--max-overhead", 100, height=50)
    screen.shows(re.compile(r"^ *> +\d+ [+-] ", re.M), 30)
    screen.keys("Enter")
    screen.shows("times probed", 30)
    screen.keys("w")
    screen.shows("write")
    screen.keys("C-u", path, "Enter")
    wait_for(lambda: os.path.exists(path), "the snapshot", 20)
    screen.keys("q", "q", "q", "q")
    equal("exit status", screen.exit_status(), 0)
    document = resume(path, "-p", t.pid)
    check(any("goes on with a saved one" in note for note in document["notes"]), document["notes"])


def resumed_screen(path, pid, removed=False):
    """-r FILE, R, and the choice of a process; `removed`: the file is removed before R."""
    screen = Screen(PEAKTOP, "-r", path, width=110, height=50)
    screen.shows("REPLAY")
    if removed:
        os.unlink(path)
    screen.keys("R")
    screen.shows("choose the process")
    screen.keys("C-w", str(pid))
    screen.shows(re.compile(r"^> *%d " % pid, re.M))
    screen.keys("Enter")
    return screen


@case("R on the screen of a saved descent goes on in the program that was started again; the rights are those of the start")
def on_the_screen():
    path = session("before")
    t = Target("descend_chain", 4, 120)
    t.go()
    interrupted_descent(t, path)
    t.end()
    again = Target("descend_chain", 4, 120)
    again.go()
    with NothingLeft(again.pid):
        screen = resumed_screen(path, again.pid)
        screen.shows("LIVE")
        screen.shows("times probed")
        screen.keys("i")
        screen.shows(re.compile(r"goes on with\s+a\s+saved\s+one"))
        screen.keys("q")
        screen.shows("times probed")
        screen.keys("q", "q", "q", "q")
        equal("exit status", screen.exit_status(), 0)
    other = Target("rates", 2000, 120, 0)
    other.go()
    # the screen has the session, also without its file
    screen = resumed_screen(path, other.pid, removed=True)
    screen.shows("another program")
    screen.shows(re.compile(r"LIVE +(0:(0[5-9]|[1-5]\d)|[1-9]\d*:\d\d)"))  # it stays
    screen.keys("q", "q", "q")
    equal("exit status for another program", screen.exit_status(), 0)


@case("the screen of a saved session can be stopped and continued, and ends when it is killed or asked to end")
def stopped_screen():
    path = session("plain")
    t = Target("rates", 2000, 120, 0)
    t.go()
    run_peaktop("record", "-p", t.pid, "-f", "busy", "-o", path, "--for", 1)
    for signal_sent in (signal.SIGTERM, signal.SIGKILL):
        go = session("go")
        screen = Screen("sh", "-mc", "%s -r %s; echo status $?; while ! [ -e %s ]; do sleep 0.1; done; fg; echo status $?" % (
            PEAKTOP, path, go))
        screen.shows("REPLAY")
        screen.keys("R")
        screen.shows("contains no descent")
        screen.keys("C-z")
        screen.shows(re.compile(r"status 1\d\d"))
        with open(go, "w"):
            pass
        screen.shows("REPLAY")
        os.kill(wait_for(lambda: next((p for p in family(screen.shell) if "peaktop" in executable_of(p)), 0), "peaktop runs"), signal_sent)
        if signal_sent == signal.SIGTERM:
            screen.shows("status 0")
        wait_for(lambda: not [p for p in family(screen.shell) if "peaktop" in executable_of(p)], "no process of it is left")


@live("if the latencies are distributed in another way, the answer is that they changed")
def changed():
    path = session("before")
    before, after = Target("rates", 1000, 60, 200000, 2), Target("rates", 1000, 60, 200000, 20)
    before.go(), after.go()
    status, program = run_descend(before.pid, "busy", "-o", path, *FAST)
    equal("exit status (%s)" % program.error_text(), status, 0)
    with NothingLeft(after.pid):
        document = resume(path, "-p", after.pid, status=1)
    equal("status", document["status"], "distribution changed")
    equal("rounds", document["rounds"], 0)
    # the old peak that is gone, its share, or the new one: whichever is told first
    check(any(re.search("since the session was saved:.*(peak at|of this peak)", note) for note in document["notes"]), document["notes"])
    # --even-if-changed goes on at the latencies of now, and the answer says what moved
    forced = resume(path, "-p", after.pid, "--even-if-changed")
    equal("status with --even-if-changed (%s)" % told(forced), forced["status"], "root cause found")
    check(any("since the session was saved:" in note for note in forced["notes"]), forced["notes"])
    check(forced["calls_used"] > 0, "no call was measured")
    equal("status of the same one", resume(path, before.pid)["status"], "root cause found")


def newer(whole):
    """The same session as a format that only a later program reads."""
    head, crc = whole[:8] + struct.pack("<HHHHI", 9, 0, 9, 0, 0), 0xffffffff
    for byte in head:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return head + struct.pack("<I", crc ^ 0xffffffff) + whole[24:]


@case("where -o cannot be written, one line says so, and what was there is kept")
def places_of_output():
    directory = scratch()
    before, link, kept, folder, disk = (os.path.join(directory, name) for name in ("before", "link", "kept", "folder", "disk"))
    t = chain(depth=2)
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "-o", before, "--timeout", 60, "--max-overhead", 100)
    with open(kept, "w") as f:
        f.write("somebody's own words\n")
    os.symlink(kept, link)
    os.mkdir(folder)
    for output, status in ((link, 2), (folder, 1), (os.path.join(directory, "missing", "file"), 1), ("/proc/self/new", 1)):
        with NothingLeft(t.pid):
            line = refused(before, "-p", t.pid, "--force", "--even-if-changed", "-o", output, status=status)
        check(output in line, line)
    equal("what the link points to", open(kept).read(), "somebody's own words\n")
    # a disk that becomes full: the answer comes, and what was written can be read
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", disk], stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount a small disk")
    EXIT.append(lambda: subprocess.run(["umount", disk]))
    full = os.path.join(disk, "full")
    with NothingLeft(t.pid):
        status, program = run_peaktop("resume", before, "-p", t.pid, "--even-if-changed", "-o", full, "--json", *FAST)
    check(re.search("No space left", program.error_text()), program.error_text())
    equal("lines of " + program.error_text(), len(program.error_text().splitlines()), 1)
    check(program.document()["status"], "no document")
    status, program = run_peaktop("descend", "-r", full, "--json")
    check(status in (0, 1, 4), "exit status %d: %s" % (status, program.error_text()))


@case("a resume that is refused or does not go on leaves no file behind, and an older session of that name as it was")
def output_of_a_refused_one():
    directory = scratch()
    before, new, older = (os.path.join(directory, name) for name in ("before", "new", "older"))
    t, other = chain(depth=2), Target("rates", 1000, 60, 200000, 2)
    other.go()
    for path in (before, older):
        run_peaktop("descend", "-p", t.pid, "-f", "serve", "-o", path, "--timeout", 60, "--max-overhead", 100)
    with open(older, "rb") as f:
        whole = f.read()
    names_before = sorted(os.listdir(directory))
    for options in (("-o", new), ("-o", older, "--force")):
        check("another program" in refused(before, "-p", other.pid, *options), options)
        equal("files", sorted(os.listdir(directory)), names_before)
        with open(older, "rb") as f:
            equal("the older session is as it was", f.read() == whole, True)
    # the target ends before it has made enough calls
    _, program = run_peaktop("resume", before, "--start-ops", 1000000, "-o", new, "--timeout", 60, "--", os.path.join(TARGETS, "descend_chain"), 2, 1)
    check("not enough calls" in program.error_text(), program.error_text())
    equal("files", sorted(os.listdir(directory)), names_before)
    # --force is about the file alone
    status, program = run_peaktop("resume", before, "-p", t.pid, "--even-if-changed", "--force", "-o", older, *FAST)
    check(status in (0, 1), program.error_text())
    equal("files", sorted(os.listdir(directory)), names_before)
    with open(older, "rb") as f:
        check(f.read() != whole, "the older session was not replaced")
    check("together with -o FILE" in refused(before, t.pid, "--force"), "--force without -o")


@case("a resume that is killed leaves the older session of the name of -o as it was")
def killed_resume():
    directory = scratch()
    before, older = os.path.join(directory, "before"), os.path.join(directory, "older")
    t = chain(depth=2)
    for path in (before, older):
        run_peaktop("descend", "-p", t.pid, "-f", "serve", "-o", path, "--timeout", 60, "--max-overhead", 100)
    with open(older, "rb") as f:
        whole = f.read()
    with NothingLeft(t.pid):
        # it needs so many calls that it goes on until it is killed
        program = Peaktop("resume", before, "-p", t.pid, "--even-if-changed", "--force", "-o", older, "--decision-ops", 10000,
                          "--timeout", 600, "--json-lines", "--max-overhead", 100)
        program.line(lambda s: s.startswith("{") and json.loads(s)["rounds"] > 0, HANG)
        program.process.kill()
        program.process.wait()
    with open(older, "rb") as f:
        equal("the older session is as it was", f.read() == whole, True)
    status, program = run_peaktop("descend", "-r", older, "--json")
    check(status in (0, 1), program.error_text())


@case("a descent that had too few calls to begin is resumed from the beginning, with what was asked")
def from_the_beginning():
    few = session("few")
    t = chain(depth=2)
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "--slowest", 15, "--start-ops", 1000000, "--timeout", 1, "-o", few)
    equal("exit status", status, 1)
    check("of the 1000000 needed" in program.error_text(), program.error_text())
    status, program = run_peaktop("descend", "-r", few)
    check(status == 1 and "peaktop resume FILE TARGET" in program.error_text(), program.error_text())
    with NothingLeft(t.pid):
        status, program = run_peaktop("resume", few, "-p", t.pid, "--start-ops", 100, "--timeout", 60, "--json", "--max-overhead", 100)
    check(status in (0, 1), program.error_text())
    document = program.document()
    check(document["function"] == "serve" and document["calls_used"] > 0, document)


@case("a session that is cut off before or inside its descent: one line, exit status 4, and what is intact is shown")
def cut_inside():
    whole, cut = session("whole"), session("cut")
    t = chain(depth=2)
    run_peaktop("descend", "-p", t.pid, "-f", "serve", "-o", whole, "--timeout", 60, "--max-overhead", 100)
    t.end()
    with open(whole, "rb") as f:
        content = f.read()
    for part in (0.02, 0.1, 0.3, 0.6, 0.9):
        with open(cut, "wb") as f:
            f.write(content[:max(300, int(len(content) * part))])
        for json_too in ((), ("--json",)):
            status, program = run_peaktop("descend", "-r", cut, *json_too)
            equal("exit status (%s)" % program.error_text(), status, 4)
            equal("lines of " + program.error_text(), len(program.error_text().splitlines()), 1)
            check("Target: " in program.text() if not json_too else program.document()["target"]["pid"], program.text())


@case("another program, a session without a descent and a damaged file are refused in one line")
def refusals():
    path, walk, plain_session, damaged = session("whole"), session("walk"), session("plain"), session("damaged")
    t, other = Target("descend_chain", 2, 120), Target("rates", 1000, 60, 200000, 2)
    t.go(), other.go()
    run_peaktop("descend", "-p", t.pid, "-f", "serve", "-o", path, "--timeout", 60, "--max-overhead", 100)
    with NothingLeft(other.pid):
        line = refused(path, "-p", other.pid)
        equal("with --json", refused(path, "-p", other.pid, "--json"), line)
    check("another program" in line and "/descend_chain" in line and "/rates" in line, line)
    run_peaktop("descend", "-p", t.pid, "-o", walk, "--for", 2)
    check("begin again with peaktop descend" in refused(walk, t.pid), "a walk")
    run_peaktop("record", "-p", t.pid, "-f", "serve", "-o", plain_session, "--for", 1)
    check("contains no descent" in refused(plain_session, t.pid), "a session of watch")
    with open(path, "rb") as f:
        whole = f.read()
    for content, size, words in ((whole[:300], 0, "cut off at byte"),
                                 (whole[:200] + bytes([whole[200] ^ 8]) + whole[201:], 0, "damaged at byte"),
                                 (whole[:9] + bytes([whole[9] ^ 8]) + whole[10:], 0, "damaged at its start"),
                                 (newer(whole), 0, "written by a newer peaktop"),
                                 (b"", 1 << 34, "not a session"), (b"nothing", 0, "not a session"), (b"", 0, "is empty")):
        with open(damaged, "wb") as f:
            f.write(content)
            if size:
                f.truncate(size)
        line = refused(damaged, t.pid, status=4)
        check(words in line and damaged in line, line)
        check(" at byte" not in words or "were recovered" in line, line)
    # what is intact goes on, if the descent is in it: of a file that was cut off, or is huge and sparse
    for content, size, words in ((whole[:-100], 0, "cut off at byte"), (whole, 1 << 34, "damaged at byte %d" % len(whole))):
        with open(damaged, "wb") as f:
            f.write(content)
            if size:
                f.truncate(size)
        status, program = run_peaktop("resume", damaged, "-p", t.pid, "--even-if-changed", "--json", *FAST)
        check(words in program.error_text() and status in (0, 1), program.error_text())
        check(any("goes on with what is intact" in note for note in program.document()["notes"]), program.document()["notes"])
    ended = subprocess.Popen(["true"])
    ended.wait()
    check("no such process" in refused(path, "-p", ended.pid, status=1), "a process that has ended")
    check("No such file" in refused(session("missing"), t.pid), "no file")
    check("session file and a target" in refused(path), "no target")


main()
