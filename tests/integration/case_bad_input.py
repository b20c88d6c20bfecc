# SPDX-License-Identifier: GPL-2.0-or-later
"""What people get wrong, and what hosts do to them: one clear line, the right status, nothing left behind."""
from harness import *


def refused(args, statuses, *words, environment=None, seconds=30):
    """Ends with one of the statuses and one line that holds the words."""
    options = {"env": dict(os.environ, **environment)} if environment else {}
    status, program = run_peaktop(*args, seconds=seconds, **options)
    check(status in statuses, "exit status %d, expected %s; said: %s" % (status, statuses, program.error_text()))
    check(program.err, "no word on standard error")
    text = program.error_text()
    for word in words:
        found = word.search(text) if hasattr(word, "search") else word in text
        check(found, "%r is not in: %s" % (getattr(word, "pattern", word), text[:400]))
    check("\x1b" not in text, "escape sequences in the error")
    return program


@case("no such process")
def dead():
    p = subprocess.Popen(["true"])
    p.wait()
    program = refused(["watch", "-p", p.pid, "--json"], (1,), str(p.pid), "no such process")
    equal("lines", len(program.err), 1)


@case("a kernel thread")
def kernel_thread():
    pid = min(p for p in all_pids() if parent_of(p) == 2)  # an old one, which stays
    refused(["watch", "-p", pid], (1,), str(pid), "kernel thread")


@case("a zombie")
def zombie():
    p = subprocess.Popen(["true"])
    wait_for(lambda: not alive(p.pid), "it is a zombie")
    try:
        refused(["watch", "-p", p.pid], (1,), str(p.pid), "already ended (zombie)")
    finally:
        p.wait()


@case("a 32-bit program is watched by its system calls, its functions are refused by name of the reason")
def elf32():
    try:
        t = Target("elf32", wait=False)
    except OSError:
        raise Skip("this kernel runs no 32-bit programs")
    if t.process.poll() is not None:
        raise Skip("this kernel runs no 32-bit programs")
    refused(["watch", "-p", t.pid, "-f", "work", "--for", 1], (1,), "32-bit process")
    check(alive(t.pid), "the target died")


@case("-V takes nothing beside it")
def version():
    refused(["-V", "extra"], (2,), "-V")


@case("a function that does not exist: the nearest names are told")
def missing():
    t = Target("demo", 60)
    refused(["watch", "-p", t.pid, "-f", "serve_requst", "--for", 1], (2,), "serve_requst", "serve_request@demo")
    check(alive(t.pid), "the target died")


@case("a function that exists only inlined: where it was inlined is said")
def only_inlined():
    for name in ("culprit_inlined", "culprit_inlined-clang"):
        t = Target(name)
        for what in (["watch", "--for", 1], ["descend"], ["descend", "--open"]):
            refused(what + ["-p", t.pid, "-f", "mix"], (2,), "mix: exists only inlined", "digest@" + name)


@case("a function that a short command does not have: exit 2, not an empty answer")
def not_in_command():
    path = os.path.join(TARGETS, "simple")
    if not os.path.exists(path):
        raise Skip("no target")
    refused(["watch", "-f", "no_such_function_here", "--json", "--", path, "100"], (2,), "no_such_function_here")
    refused(["watch", "-f", "big@no-such-file", "--", path, "100"], (2,), "big@no-such-file")
    refused(["descend", "-f", "no_such_function_here", "--", path, "100"], (2,), "no_such_function_here")


@case("escape sequences in the name of a program reach no terminal")
def hostile_name():
    if not os.path.exists(os.path.join(TARGETS, "simple")):
        raise Skip("no target")
    path = os.path.join(scratch(), "a\x1b[31mb\nc")
    shutil.copy(os.path.join(TARGETS, "simple"), path)
    t = Target(path)
    for args in (["watch", "-f", "bigg", "--for", 1], ["watch", "-f", "big@a", "--for", 1], ["descend", "--open"], ["doctor"]):
        status, program = run_peaktop(*args, "-p", t.pid)
        text = program.text() + program.error_text()
        check("\x1b" not in text, "%s: %r" % (args, text[:400]))
        if args[0] != "watch":
            check("a\\x1b[31mb\\" in text, "%s: %r" % (args, text[:400]))


@case("one wrong name among good ones ends the run before it begins; its error is printed once")
def one_wrong():
    t = Target("demo", 60)
    t.go()
    for verb in (["watch"], ["record", "-o", os.path.join(scratch(), "session")]):
        program = refused(verb + ["-p", t.pid, "-f", "serve_request", "-f", "serve_requst"], (2,), "serve_request@demo")
        equal("lines of %s" % program.err, len(program.err), 1)
        equal("output", program.out, [])


@case("an ambiguous name: refused with the list")
def ambiguous():
    t = Target("twins")
    refused(["watch", "-p", t.pid, "-f", "serve", "--for", 1], (2,), "serve(int)", "serve(double)")


@case("a name that two libraries export: the list says which of them the program is bound to")
def bound():
    t = Target("copies")
    bound_to = "calls from copies go to that of libcopies-first.so"
    for what in (["watch", "--for", 1], ["descend"]):
        refused(what + ["-p", t.pid, "-f", "copies_serve"], (2,), "copies_serve@libcopies-first.so",
                "copies_serve@libcopies-second.so", bound_to)
    program = refused(["watch", "-p", t.pid, "-f", "copies_serve@libcopies-third.so", "--for", 1], (1, 2))
    check(bound_to not in program.error_text(), program.error_text())


@case("an offset that is not the start of an instruction or outside of the code")
def bad_offset():
    t = Target("simple")
    sites = breakpoints(t.pid)
    refused(["watch", "-p", t.pid, "-f", "0x10@simple", "--for", 1], (1,), "0x10@simple", "no code")
    equal("breakpoints", breakpoints(t.pid), sites)


@case("usage: no such verb, option, operation, number, signal of a missing argument")
def usage():
    for args in (["frobnicate"], ["watch"], ["watch", "--frob", "-p", "1"], ["watch", "-p", "x"], ["watch", "-p", "0"],
                 ["watch", "-p", "-5"], ["watch", "-p", "99999999999"], ["watch", "-p", os.getpid(), "--for", "x"],
                 ["watch", "-p", os.getpid(), "--resolution", "3"], ["watch", "-p", os.getpid(), "--interval", "0"],
                 ["watch", "-p", os.getpid(), "--max-overhead", "-1"], ["watch", "-p", os.getpid(), "-f"],
                 ["watch", "-p", os.getpid(), "-f", "syscall:nosuchcall"], ["record", "-p", os.getpid()]):
        status, program = run_peaktop(*args)
        equal("exit status of %s (%s)" % (args, program.error_text()), status, 2)
        check(1 <= len(program.err) <= 3, "%s: %d lines of error" % (args, len(program.err)))


@case("no process of that name")
def no_name():
    refused(["watch", "-n", "no-such-program-x"], (1,), "no-such-program-x")


@case("nobody to measure: exit 1, with a valid document all the same")
def nobody():
    p = subprocess.Popen(["true"])
    p.wait()
    for target in (["-n", "no-such-program-x"], ["-p", p.pid]):
        for what in (["watch"], ["descend"], ["descend", "-f", "some_function"]):
            program = refused(what + target + ["--json"], (1,), str(target[1]))
            equal("lines of %s" % program.err, len(program.err), 1)
            document = program.document()
            equal("kind", document["kind"], what[0])
            check(any(str(target[1]) in note for note in document["notes"]), "notes: %s" % document["notes"])
            if what[0] == "descend":
                check(document["status"] in ("target ended", "not enough calls"), document["status"])
                equal("function", document["function"], "some_function" if "-f" in what else "(process)")


@case("help and version")
def helps():
    status, program = run_peaktop("--help")
    equal("exit status", status, 0)
    check("watch" in program.text() and "doctor" in program.text(), "no verbs in: " + program.text()[:300])
    status, program = run_peaktop("--version")
    equal("exit status", status, 0)
    check(re.search(r"\d+\.\d+\.\d+", program.text()), program.text())


@case("not root, no capabilities: one line, status 3")
def no_permission():
    need("setpriv")
    t = Target("demo", 60)
    directory = scratch()
    os.chmod(directory, 0o755)
    copy = os.path.join(directory, "peaktop")
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    shutil.copy(PEAKTOP, copy)
    program = Program(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "watch", "-p", str(t.pid), "--for", "1"])
    equal("exit status (%s)" % program.text(), program.wait(20), 3)
    equal("lines of error (%s)" % program.error_text(), len(program.err), 1)


@case("root without the capabilities that are needed")
def no_capabilities():
    need("setpriv")
    t = Target("demo", 60)
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    program = Program(["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-all", PEAKTOP, "watch", "-p",
                       str(t.pid), "--for", "1"])
    equal("exit status (%s)" % program.text(), program.wait(20), 3)
    check(program.err, "no word")


@case("a program with a million symbols is opened in seconds")
def million():
    t = Target("million_symbols", wait=False)
    wait_for(lambda: executable_mappings(t.pid), "it runs")
    with NothingLeft(t.pid):
        watch_calls("-p", t.pid, "-f", "many_77", "--max-overhead", 100, fits=has_calls("many_77"))


@case("a name of the million that is slightly wrong")
def million_near():
    t = Target("million_symbols", wait=False)
    wait_for(lambda: executable_mappings(t.pid), "it runs")
    refused(["watch", "-p", t.pid, "-f", "manny_77", "--for", 1], (2,), "many_77@million_symbols")


@case("an executable whose section headers lie")
def lying_elf():
    directory, ran = scratch(), 0
    source = open(os.path.join(TARGETS, "simple"), "rb").read()
    for number, (at, value) in enumerate((
            (40, b"\xff" * 8),                  # section headers far outside
            (60, b"\xff\xff"),                  # number of sections
            (62, b"\xfe\xff"),                  # index of the names
            (40, bytes(8)))):                   # none at all
        path = os.path.join(directory, "simple%d" % number)
        with open(path, "wb") as f:
            f.write(source[:at] + value + source[at + len(value):])
        os.chmod(path, 0o755)
        try:
            t = Target(path, 100)
        except (OSError, AssertionError):
            continue  # the kernel would not run it
        ran += 1
        with NothingLeft(t.pid):
            status, program = run_peaktop("watch", "-p", t.pid, "-f", "big", "--for", 1, "--json")
            # there is no such function, or it waits and there are no calls
            equal("exit status (%s)" % program.error_text(), status, 2 if "no such function" in program.error_text() else 1)
            check("big" in program.error_text() or "began while" in program.error_text(), program.error_text())
            check(alive(t.pid), "the target died")
            t.go()
            t.truth()
            t.finish()
    check(ran >= 3, "only %d of 4 programs ran" % ran)


@case("debug info full of noise")
def noisy_dwarf():
    need("objcopy")
    directory = scratch()
    generator = draws()
    for round_number in range(3):
        path = os.path.join(directory, "simple%d" % round_number)
        shutil.copy(os.path.join(TARGETS, "simple"), path)
        for section in (".debug_info", ".debug_abbrev", ".debug_line", ".symtab", ".eh_frame_hdr")[:3 + round_number]:
            data = os.path.join(directory, "data")
            if subprocess.run(["objcopy", "--dump-section", section + "=" + data, path], stderr=subprocess.DEVNULL).returncode:
                continue
            with open(data, "rb") as f:
                content = bytearray(f.read())
            for _ in range(len(content) // 20 + 1):
                content[generator.randrange(len(content))] = generator.randrange(256)
            with open(data, "wb") as f:
                f.write(content)
            subprocess.run(["objcopy", "--update-section", section + "=" + data, path], stderr=subprocess.DEVNULL)
        t = Target(path, 1000)
        with NothingLeft(t.pid):
            status, program = run_peaktop("watch", "-p", t.pid, "-f", "big", "--for", 1, "--json")
            check(status in (0, 1), "exit status %d: %s" % (status, program.error_text()))
            t.go()
            t.truth()
            t.finish()


@case("output closed early does not make it hang or complain for ever")
def closed_pipe():
    t = Target("demo", 600)
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    with NothingLeft(t.pid):
        t.go()
        p = subprocess.run(["bash", "-c", "timeout %d '%s' watch -p %d --json-lines --interval 0.2 --for 3600 | head -n 1; exit ${PIPESTATUS[0]}" % (
            2 * HANG, PEAKTOP, t.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(p.stdout.startswith(b"{"), "no line: %s" % p.stderr.decode(errors="replace"))
        check(p.returncode != 124, "went on for %d s with nobody to read" % (2 * HANG))


@case("no terminal, TERM unset or dumb: the batch verbs are named")
def no_terminal():
    t = Target("demo", 60)
    refused(["-p", t.pid], (2,), "watch")
    for term in ("dumb", "", "nosuchterm"):
        s = Screen(PEAKTOP if os.path.exists(PEAKTOP) else "false", "-p", t.pid, environment={"TERM": "'%s'" % term})
        if not os.path.exists(PEAKTOP):
            raise Skip("no build/peaktop")
        equal("exit status with TERM=%s" % term, s.exit_status(), 2)
        s.shows("watch", 3)


@case("doctor says what this host allows; without rights too")
def doctor():
    status, program = run_peaktop("doctor", "--json")
    check(status in (0, 3), "exit status %d: %s" % (status, program.error_text()))
    document = program.document()
    equal("kind", document["kind"], "doctor")
    check(len(document["checks"]) >= 6, "only %d checks" % len(document["checks"]))
    for row in document["checks"]:
        check(isinstance(row["ok"], bool) and row["name"], "a row without a verdict: %s" % row)
        if not row["ok"]:
            check(row.get("needed_for") and row.get("remedy"), "%s: no remedy" % row["name"])
    status, program = run_peaktop("doctor")
    check(len(program.out) >= 6, "text of doctor: " + program.text())


if __name__ == "__main__":
    main()
