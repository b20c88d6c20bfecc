# SPDX-License-Identifier: GPL-2.0-or-later
"""record and -r: a replay gives the same answer, on damaged files it says what it recovered."""
from harness import *


def recording(slices=3, enough=lambda op: op["calls"] > 0):
    """A session of the demo with at least so many slices in which there were calls."""
    path = os.path.join(scratch(), "session")
    t = Target("demo", 600)
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, "-f", "serve_request", "-o", path, "--json-lines", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        seen = 0

        def fits(document):
            nonlocal seen
            op = operation(document, "serve_request")
            seen += any(piece["buckets"] for piece in op["slices"])
            return seen >= slices and enough(op)
        stop_when(program, fits)
    t.end()
    return path


def replayed(path):
    status, program = run_peaktop("watch", "-r", path, "--json")
    equal("exit status of the replay (%s)" % program.error_text(), status, 0)
    return program.document()


def without(document, *names):
    return {key: value for key, value in document.items() if key not in names}


def recorded_values(*options, enough):
    """The bytes of a session about by_member() of the target `values`, which is given a string; recorded until `enough` holds of them."""
    path = os.path.join(scratch(), "values")
    t = Target("values", 10000000)
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, "-f", "by_member", "-o", path, "--force", "--json-lines", "--for", 600, "--max-overhead", 100,
                          *options)
        program.armed(t.pid)
        t.go()
        program.line(lambda s: enough(json.loads(s), open(path, "rb").read()))
        program.stop()
    t.end()
    with open(path, "rb") as f:
        return f.read(), program.error_text()


@case("strings behind arguments are recorded, but not with --no-values; a --value that is not there is told")
def strings():
    recorded, said = recorded_values("--value", "req->nothing", enough=lambda document, data: b"/slow" in data)
    check("--value req->nothing: not known in by_member" in said or b"--value req->nothing: not known in by_member" in recorded,
          "not told: " + said)
    recorded, said = recorded_values("--no-values", enough=lambda document, data: operation(document, "by_member")["calls"] > 2000)
    check(b"by_member" in recorded, "nothing was recorded")
    check(b"/slow" not in recorded and b"req->" not in recorded, "a value was recorded with --no-values")


@smoke("a recording replayed twice gives the same document, with the demo's peaks")
def twice():
    path = recording(6, lambda op: op["calls"] > 2000)
    first, second = replayed(path), replayed(path)
    equal("second replay", second, first)
    op = operation(first, "serve_request")
    check(op["calls"] > 0, "no calls")
    check(len(op["peaks"]) >= 4, "%d peaks: %s" % (len(op["peaks"]), [p["mode_ns"] for p in op["peaks"]]))


@case("JSON of a live watch equals that of its own recording")
def live_and_replay():
    path = os.path.join(scratch(), "session")
    t = Target("sleeper", 300)
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, "-f", "nap", "-o", path, "--json", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        truth = t.truth()
        equal("exit status", program.stop(), 0)
        t.finish()
    document = replayed(path)
    equal("calls", operation(document, "nap")["calls"], truth["nap"]["calls"])
    live = program.document()
    for key in live:
        equal("%s of live and replay" % key, document.get(key), live[key])
    equal("fields of the replay", set(document), set(live))


def same_as_live(path, program, verb, *args):
    """The replay prints what the live run printed, byte by byte."""
    check(program.text().strip(), "no document: %s" % program.error_text())
    status, again = run_peaktop(verb, "-r", path, "--json", *args)
    equal("exit status of the replay of %s (%s)" % (verb, again.error_text()), status, program.process.poll())
    validate(again.document())
    live, replay = program.document(), again.document()
    for key in {**live, **replay}:
        equal("%s of %s, live and replay" % (key, verb), replay.get(key), live.get(key))
    equal("bytes of %s, live and replay" % verb, again.text(), program.text())


@case("the JSON of record, descend, chains and critical equals that of a replay, byte by byte")
def bytes_of_live_and_replay():
    directory = scratch()
    t = Target("descend_chain", 3, 600)
    t.go()
    for number, (verb, replay, *args) in enumerate((
            ("record", "watch", "-f", "serve", "-f", "syscalls", "--for", 3),
            ("descend", "descend", "-f", "serve", "--timeout", 20),
            ("descend", "descend", "-f", "serve", "--slowest", 15, "--timeout", 20),
            ("descend", "descend", "--for", 3),
            ("chains", "chains", "--for", 3),
            ("chains", "chains", "--for", 3, "--of", "serve"),
            ("critical", "critical", "--for", 3),
            # the session knows what the answer was asked for with
            ("record", "watch", "-f", "serve", "--for", 2, "--resolution", 8, "--all-peaks"),
            ("descend", "descend", "-f", "serve", "--timeout", 20, "--resolution", 1),
            ("descend", "descend", "--open"),
            ("descend", "descend", "--open", "-f", "serve"),
            ("descend", "descend", "--open", "-f", "syscall:clock_nanosleep"),
            ("chains", "chains", "--for", 2, "--per-process"),
            ("chains", "chains", "--for", 2, "--rsp-compat"),
            ("critical", "critical", "--for", 2, "--rsp-compat"),
            ("critical", "critical", "--for", 3, "--of", "serve"),
            ("chains", "chains", "--for", 3, "--of", "serve", "--peak", "1"),
            ("critical", "critical", "--for", 3, "--of", "serve", "--peak", "1"))):
        path = os.path.join(directory, str(number))
        with NothingLeft(t.pid):
            status, program = run_peaktop(verb, "-p", t.pid, *args, "-o", path, "--json", "--max-overhead", 100)
        check(status in (0, 1), "exit status of %s: %d (%s)" % (verb, status, program.error_text()))
        # the session says which calls were followed; the same question asks for the same ones
        same_as_live(path, program, replay)
        if "--of" in args:
            same_as_live(path, program, replay, *args[2:])
        if verb == "record" and "--resolution" in args:
            status, program = run_peaktop("watch", "-r", path, "--json", "--resolution", 2)
            steps = {b["high_ns"] / max(b["low_ns"], 1) for b in operation(program.document(), "serve")["buckets"]}
            check(max(steps) > 1.3, "an option of the replay does not hold: %s" % steps)
    t.end()


@case("the calls that chains and critical followed are those of the recording, or those that the replay asks for")
def followed_calls():
    path = os.path.join(scratch(), "session")
    t = Target("descend_chain", 3, 600)
    t.go()
    status, program = run_peaktop("chains", "-p", t.pid, "--for", 3, "--of", "serve", "-o", path, "--json", "--max-overhead", 100)
    check(status in (0, 1), program.error_text())

    def about(verb, *args):
        """What the replay says it is about."""
        _, again = run_peaktop(verb, "-r", path, "--json", *args)
        validate(again.document())
        return [note for note in again.document()["notes"] if note.startswith("this is about")]

    limited = about("chains")
    equal("notes", len(limited), 1)
    check("serve" in limited[0] and "that took" not in limited[0], limited)
    for verb in ("chains", "critical"):
        equal("without --of", about(verb), limited)
        equal("the same --of", about(verb, "--of", "serve"), limited)
        check("that took 1 ns-1 s" in about(verb, "--of", "serve", "--peak", "1ns-1s")[0], about(verb, "--of", "serve", "--peak", "1ns-1s"))
        equal("another --of", about(verb, "--of", "other"), [])
    t.end()


@case("a replay by line: one document a slice, whose slices are those of the whole")
def by_line():
    path = recording(3)
    status, program = run_peaktop("watch", "-r", path, "--json-lines")
    equal("exit status (%s)" % program.error_text(), status, 0)
    lines = program.documents()
    check(len(lines) >= 3, "only %d lines of at least 3 slices" % len(lines))
    whole = operation(replayed(path), "serve_request")
    told = [piece["start_ns"] for line in lines for piece in operation(line, "serve_request")["slices"]]
    equal("the slices", sorted(set(told)), [piece["start_ns"] for piece in whole["slices"]])
    equal("calls", operation(lines[-1], "serve_request")["calls"], whole["calls"])


@case("the file is the user's alone, and is never overwritten half-way")
def mode():
    path = recording(1)
    equal("mode", oct(os.stat(path).st_mode & 0o777), oct(0o600))
    check(open(path, "rb").read(8) != b"", "empty")
    check(b"\r\n" in open(path, "rb").read(8), "no CR LF in the magic")


@case("cut at any place: what can be recovered is shown, the rest is said")
def truncated():
    path = recording(3)
    whole = operation(replayed(path), "serve_request")["calls"]
    data = open(path, "rb").read()
    before = 0
    for cut in [0] + sorted(draws().sample(range(1, len(data)), 25)) + [len(data) - 1]:
        with open(path, "wb") as f:
            f.write(data[:cut])
        status, program = run_peaktop("watch", "-r", path, "--json")
        equal("exit status of what was cut at %d: %s" % (cut, program.error_text()), status, 4)
        check(re.search("cut off at byte|was not closed properly|is damaged at its start|is empty", program.error_text()), "cut at %d: no word" % cut)
        # what is shown is what the session had until there: the more of it is left, the more calls
        shown = program.document()["operations"] if program.text().strip() else []
        calls = sum(op["calls"] for op in shown if op["name"].startswith("serve_request"))
        between("calls of what was cut at %d of %d" % (cut, len(data)), calls, before, whole)
        before = calls
    # the last byte belongs to the end of the session
    equal("calls without the last byte", before, whole)


@case("not a session: status 4 and one line")
def foreign():
    for name in ("/bin/true", "/dev/null", "/etc/passwd"):
        status, program = run_peaktop("watch", "-r", name)
        equal("exit status for %s (%s)" % (name, program.error_text()), status, 4)
        equal("lines of error", len(program.err), 1)


@case("a replay needs no privileges")
def unprivileged():
    need("setpriv")
    path = recording(1)
    directory = os.path.dirname(path)
    os.chmod(directory, 0o755)
    os.chown(path, 65534, 65534)
    copy = os.path.join(directory, "peaktop")
    shutil.copy(PEAKTOP, copy)
    program = Program(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                       "--bounding-set=-all", copy, "watch", "-r", path, "--json"])
    equal("exit status (%s)" % program.error_text(), program.wait(), 0)
    check(json.loads(program.text())["operations"], "no operations")


@case("how a recorded command ended is told by the events of its session")
def command_status():
    for command, words, wanted in (("exit 3", "exited with status 3", 0), ("kill -9 $$", "was killed by SIGKILL", 1)):
        directory = scratch()
        path, script = os.path.join(directory, "session"), os.path.join(directory, "script")
        status, program = run_peaktop("record", "-o", path, "--", "sh", "-c", command)
        equal("exit status (%s)" % program.error_text(), status, wanted)
        with open(script, "w") as f:
            f.write("size 200 50\nend\nkey v\nexpect (sh) %s\n" % words)
        status, program = run_peaktop("-r", path, "--script", script)
        equal("exit status of the script (%s)" % program.text(), status, 0)


@case("the screen on a recording, at two sizes")
def screen():
    path = recording(3)
    for width, height in ((80, 24), (120, 40)):
        s = Screen(PEAKTOP, "-r", path, width=width, height=height)
        s.shows("REPLAY")
        s.shows("serve_request")
        s.keys("q")
        equal("exit status", s.exit_status(), 0)


@case("record never replaces a file: not another program's, not an older session without --force")
def no_replacement():
    path = os.path.join(scratch(), "kept")
    with open(path, "w") as f:
        f.write("somebody's own words\n")
    t = Target("demo", 120)
    t.go()
    for options in ((), ("--force",)):
        status, program = run_peaktop("record", "-p", t.pid, "-f", "serve_request", "-o", path, "--for", 600, *options)
        equal("exit status %s" % (options,), status, 2)
        equal("lines of error output", len(program.err), 1)
        check("-o " + path in program.err[0], program.err[0])
        with open(path) as f:
            equal("what was there", f.read(), "somebody's own words\n")
    os.unlink(path)
    for options, wanted in (((), 0), ((), 2), (("--force",), 0)):
        before = os.path.exists(path) and os.stat(path).st_size
        program = Peaktop("record", "-p", t.pid, "-f", "serve_request", "-o", path, "--json-lines", "--for", 600, "--max-overhead", 100, *options)
        if not wanted:
            stop_when(program, has_calls("serve_request"))
        else:
            equal("exit status %s: %s" % (options, program.error_text()), program.wait(), wanted)
            check("--force" in program.err[0], program.err[0])
            equal("size of the older session", os.stat(path).st_size, before)
    replayed(path)
    t.end()


@case("when nothing was measured no file is left: a function that does not exist, a full disk; an older session stays as it was")
def nothing_left():
    directory = scratch()
    new, older, disk = (os.path.join(directory, name) for name in ("new", "older", "disk"))
    t = Target("sleeper", 600)
    t.go()
    run_peaktop("record", "-p", t.pid, "-f", "nap", "--for", 1, "-o", older)
    with open(older, "rb") as f:
        whole = f.read()
    wanted = sorted(os.listdir(directory))
    for verb in (("descend", "-f"), ("record", "-f"), ("record", "--ring", "1M", "-f"), ("chains", "--of"), ("critical", "--of")):
        for output in ((new,), (older, "--force"), (older,)):
            if output == (older,) and "--ring" not in verb:
                continue  # an older session is in the way
            if output == (older, "--force") and "--ring" in verb:
                continue
            status, program = run_peaktop(*verb, "no_such_function", "-p", t.pid, "-o", *output)
            equal("exit status (%s)" % program.error_text(), status, 2)
            equal("files after %s" % (verb,), sorted(os.listdir(directory)), wanted)
            with open(older, "rb") as f:
                equal("the older session is as it was", f.read() == whole, True)
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk], stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount a small disk")
    EXIT.append(lambda: subprocess.run(["umount", disk]))
    with open(os.path.join(disk, "fill"), "w") as f:
        f.write("x" * 4096)
    status, program = run_peaktop("record", "-p", t.pid, "-f", "nap", "--for", 1, "-o", os.path.join(disk, "full"))
    check(status and "No space left" in program.error_text(), program.error_text())
    equal("files on the full disk", os.listdir(disk), ["fill"])


@case("a mount point at -o --force: its content is replaced")
def mount_point():
    directory = scratch()
    file, point = (os.path.join(directory, name) for name in ("file", "point"))
    for path in (file, point):
        open(path, "w").close()
    if subprocess.run(["mount", "--bind", file, point], stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount a file")
    EXIT.append(lambda: subprocess.run(["umount", point]))
    for seconds in (0.5, 1):
        status, program = run_peaktop("record", "-o", point, "--force", "--", "sleep", seconds)
        equal("exit status (%s)" % program.error_text(), status, 0)
        check("session written to " + point in program.error_text(), program.error_text())
        replayed(file)
        equal("files", sorted(os.listdir(directory)), ["file", "point"])


@case("diff: two sessions of one program are compared; other programs and operations are refused in one line")
def differences():
    def session(name, iterations, *options):
        path = os.path.join(scratch(), name)
        t = Target("sleeper", iterations)
        with NothingLeft(t.pid):
            program = Peaktop("record", "-p", t.pid, *(options or ("-f", "nap")), "-o", path, "--for", 600, "--max-overhead", 100)
            ready(program) if options else program.armed(t.pid)
            t.go()
            t.truth()
            equal("exit status", program.stop(), 0)
            t.finish()
        return path
    first, again = session("first", 300), session("again", 300)
    status, program = run_peaktop("diff", first, again, "--json")
    equal("exit status (%s)" % program.error_text(), status, 0)
    document = program.document()
    validate(document)
    equal("files", (document["before"]["file"], document["file"]), (first, again))
    equal("operations", [op["name"].split("@")[0] for op in document["operations"]], ["nap"])
    equal("calls", [document["operations"][0][side]["calls"] for side in ("before", "after")], [300 + 300 // 4 + 300 // 20] * 2)
    status, program = run_peaktop("diff", first, recording(1))
    equal("exit status of different programs", status, 1)
    text = program.error_text()
    check(len(text.splitlines()) == 1 and "sleeper" in text and "demo" in text and "different programs" in text, text)
    status, program = run_peaktop("diff", first, session("calls", 50, "-f", "syscall:nanosleep"))
    equal("exit status without a common operation", status, 1)
    text = program.error_text()
    check(len(text.splitlines()) == 1 and "no operation" in text and "nap" in text, text)
    damaged = os.path.join(scratch(), "damaged")
    with open(damaged, "wb") as f:
        f.write(b"nothing")
    status, program = run_peaktop("diff", first, damaged)
    equal("exit status of a file that is no session", status, 4)
    equal("lines", len(program.error_text().splitlines()), 1)
    with open(first, "rb") as whole, open(damaged, "wb") as f:
        f.write(whole.read()[:-200])
    status, program = run_peaktop("diff", first, damaged)
    equal("exit status of a file that is cut off", status, 4)
    check(damaged in program.error_text() and len(program.error_text().splitlines()) == 1, program.error_text())
    check("nap" in program.text(), "what was recovered is not compared")


if __name__ == "__main__":
    main()
