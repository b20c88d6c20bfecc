# SPDX-License-Identifier: GPL-2.0-or-later
"""The live screen on a real terminal."""
from harness import *
from recorders import slow_call


def open_screen(*options, **place):
    t = Target("demo", 300)
    t.go()
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    return t, Screen(PEAKTOP, "-p", t.pid, *options, **place)


def restored(s):
    """The terminal shows again what it showed before. That the program has ended is known before its last output is."""
    wait_for(lambda: s.tmux("display-message", "-p", "#{alternate_on}").strip() == "0", "the alternate screen is left")


def left_screen(t, s):
    """After the end: the status, a sane terminal, nothing in the target."""
    status = s.exit_status()
    wait_for(lambda: not breakpoints(t.pid), "no breakpoint is left", 5)
    return status


@case("the first frame comes, then the system calls")
def first_frame():
    start = time.monotonic()
    t, s = open_screen()
    s.shows("demo", 10)
    print("# the first frame came after %.1f s" % (time.monotonic() - start), flush=True)
    s.shows("nanosleep", 10)
    s.shows("LIVE")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


UNIT = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def peak_of(s, ns):
    """The number of the peak whose range, as shown, holds this latency."""
    for line in s.lines():
        row = re.match(r"^[ >]*(\d+) +[-+>]? *([\d.]+) ?(ns|us|ms|s)?-([\d.]+) +(ns|us|ms|s) ", line)
        if row:
            number, low, low_unit, high, high_unit = row.groups()
            if float(low) * UNIT[low_unit or high_unit] <= ns < float(high) * UNIT[high_unit]:
                return int(number)
    return None


@live("-f opens on the function; its four peaks appear")
def function():
    with NothingLeft():
        t, s = open_screen("-f", "serve_request", "--max-overhead", "20", width=100, height=30)
        # No key is pressed: with its first slice the list gives way to the function's own view.
        s.shows(re.compile(r"serve_request@demo +[\d.]+k? calls"))
        s.keys("C")  # no details: all peaks in sight
        # Cached, computed, lock, disk: each lies in a peak of its own. How long the first takes depends on the host.
        def peaks():
            cached = next(filter(None, (peak_of(s, ns) for ns in (900, 1200, 1600, 2200))), None)
            return {cached, *(peak_of(s, ns) for ns in (152000, 2600000, 32000000))} - {None}
        wait_for(lambda: len(peaks()) == 4, "the four peaks have rows of their own", 40)
        for _ in range(3):
            s.keys("q")
        equal("exit status", left_screen(t, s), 0)


@case("from the list into an operation and back; help; pause; filter")
def walk():
    t, s = open_screen(width=100, height=30)
    s.shows("nanosleep")
    s.keys("?")
    s.shows(re.compile("[Hh]elp"))
    s.keys("Escape")
    s.shows("nanosleep")
    s.keys("Space")
    s.shows("PAUSED")
    s.keys("Space")
    s.shows("LIVE")
    s.keys("/")
    s.keys("fsync", "Enter")
    s.shows("filter: fsync")
    wait_for(lambda: "nanosleep" not in s.text(), "the list is filtered")
    s.shows(re.compile("^> fsync ", re.M))
    s.keys("Enter")
    s.shows(re.compile(r"^[ >]*syscall:fsync +[\d.]+k? calls", re.M))
    s.keys("q")
    s.shows("filter: fsync")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


@case("the view of threads: what each does; closed, it ends; the target goes on")
def threads():
    with NothingLeft():
        t, s = open_screen(width=100)
        s.shows("nanosleep")
        s.keys("H")
        # Each has figures, an operation, and what it waits for.
        s.shows(re.compile(r"%d +demo +[\d.<]+%% +[\d.<]+%%" % t.pid), 30)
        s.shows(re.compile(r"demo +[\d.<]+% +[\d.<]+% +\w+ +\w*(nanosleep|futex|fsync|running)"), 30)
        s.keys("q")
        s.shows("LIVE")
        s.shows("WALL%")
        s.keys("q")
        equal("exit status", left_screen(t, s), 0)


@case("one thread chosen in H: only its calls count, in all layers; all threads again: the others return")
def chosen_thread():
    with NothingLeft():
        t = Target("two_threads")
        t.go()
        # Without a limit each call is seen, so a thread's operation appears at once.
        s = Screen(PEAKTOP, "-p", t.pid, "-f", "read_zero", "--max-overhead", "100", width=100, height=30)
        # -f opens the function's view: its calls arrive.
        s.shows(re.compile(r"read_zero@two_threads +[\d.]+k? calls"), 30)
        s.keys("q")
        reader_calls = (re.compile(r"^[ >]*read_zero two_threads +[\d.]", re.M), re.compile(r"^[ >]*pread64 +[\d.]", re.M))
        for row in (*reader_calls, re.compile(r"^[ >]*write +[\d.]", re.M)):
            s.shows(row, 30)
        s.keys("H")
        s.shows(re.compile(r"\d+ writer "), 30)
        # The cursor to the writer; the rows change their order, the cursor follows its thread.
        s.keys("/")
        s.keys("writer", "Enter")
        s.shows(re.compile(r"^> +\d+ writer ", re.M))
        s.keys("Space")
        s.shows("1 of 3 threads")
        s.shows(re.compile(r"^>\* +\d+ writer ", re.M))
        s.keys("q")
        s.shows("WALL%")
        s.shows(re.compile(r"^[ >]*write +[\d.]", re.M))
        # Slices later the reader has made hundreds of calls and none is counted. -f keeps the function's row.
        def clock():
            minutes, seconds = s.shows(re.compile(r"LIVE +\d+:\d\d")).split("LIVE")[1].split()[0].split(":")
            return 60 * int(minutes) + int(seconds)

        begun = clock()
        wait_for(lambda: clock() >= begun + 3, "three slices have passed", 30)
        text = s.text()
        for row in reader_calls:
            check(not row.search(text), "calls of another thread are counted:\n" + text)
        s.keys("v")
        s.shows("profiles began anew: only calls of 1 of 3 threads count")
        s.keys("q", "H")
        s.shows("all threads U")
        s.keys("U")
        s.shows(re.compile("all profiles begin anew, with the calls of all threads"))
        s.keys("q")
        for row in reader_calls:
            s.shows(row, 30)
        wait_for(lambda: "of 3 threads" not in s.text(), "the title does not say it any more")
        s.keys("q")
        equal("exit status", left_screen(t, s), 0)


@case("a process that not even root may measure: the picker says why and stays; another one can be picked")
def refused_pick():
    try:
        other = Target("elf32", wait=False)
    except OSError:
        raise Skip("this kernel runs no 32-bit programs")
    t = Target("demo", 300)
    t.go()
    s = Screen(PEAKTOP, width=100, height=30)
    s.shows("kernel threads")
    s.keys(str(other.pid))
    s.shows(re.compile(r"^> *%d " % other.pid, re.M))
    s.keys("Enter")
    s.shows("pid %d: " % other.pid, 30)
    s.shows("32-bit")
    s.shows(re.compile(r"^> *%d " % other.pid, re.M))  # the picker, as it was
    s.keys("C-w")
    s.keys(str(t.pid))
    s.shows(re.compile(r"^> *%d " % t.pid, re.M))
    s.keys("Enter")
    s.shows("LIVE", 30)
    s.shows("nanosleep", 30)
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


@case("the configuration: columns, order, keys; a wrong line is named; the file of another user is not read")
def configuration():
    directory = scratch()
    path = os.path.join(directory, "peaktop", "config")
    os.mkdir(os.path.dirname(path))
    with open(path, "w") as f:
        f.write("columns = p50 wall\nsort = name\nkey.pause = F9\n")
    os.chmod(path, 0o600)
    t, s = open_screen(environment={"XDG_CONFIG_HOME": directory})
    s.shows("nanosleep")
    s.shows(re.compile("↓OPERATION.*P50 +WALL% *$", re.M))
    s.keys("F9")
    s.shows("PAUSED")
    s.keys("Space")
    s.shows("this key has no function here")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)
    with open(path, "a") as f:
        f.write("columns = p98\n")
    os.environ["XDG_CONFIG_HOME"] = directory
    try:
        status, program = run_peaktop("watch", "-p", t.pid, "--for", 1)
        equal("exit status", status, 2)
        check("%s, line 4: unknown column 'p98'; choose from " % path in program.error_text(), program.error_text())
        os.chown(path, 12345, -1)
        status, program = run_peaktop("--dump-config")
        equal("exit status (%s)" % program.error_text(), status, 0)
        check("it belongs to another user" in program.error_text(), program.error_text())
        check("\ncolumns = auto\n" in program.text(), program.text())
    finally:
        del os.environ["XDG_CONFIG_HOME"]


RELEASE = 3


def mouse(button, row, column):
    """What a terminal sends for a press at this row and column (from 0), as bytes for send-keys -H."""
    return [format(b, "02x") for b in b"\x1b[M" + bytes((32 + button, 33 + column, 33 + row))]


@case("the mouse: a click selects, a double click opens, the wheel scrolls; --no-mouse leaves it to the terminal")
def mouse_works():
    t, s = open_screen()
    s.shows("nanosleep")
    s.keys("Space")  # rows that move would turn a double click into two clicks
    row = next(i for i, line in enumerate(s.shows("PAUSED").split("\n")) if "nanosleep" in line)
    s.keys("-H", *(mouse(0, row, 10) + mouse(RELEASE, row, 10)) * 2)
    s.shows("per column")
    s.keys("q", "Space", "?")
    s.shows("wall: total")
    s.keys("-H", *mouse(65, 5, 5))
    wait_for(lambda: "wall: total" not in s.text(), "the wheel scrolls")
    equal("tmux says that the program has the mouse", s.tmux("display-message", "-p", "#{mouse_any_flag}").strip(), "1")
    for _ in range(2):
        s.keys("q")
    equal("exit status", left_screen(t, s), 0)
    t, s = open_screen("--no-mouse")
    s.shows("nanosleep")
    equal("tmux says that it has not", s.tmux("display-message", "-p", "#{mouse_any_flag}").strip(), "0")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


@case("20x5, then 80x24, then bursts of sizes: never ends, never leaves rubbish")
def sizes():
    t, s = open_screen(width=20, height=5)
    wait_for(lambda: s.text().strip(), "something on 20x5")
    check(not s.over(), "it ended on 20x5: " + s.text())
    s.resize(80, 24)
    s.shows("nanosleep")
    for width, height in ((100, 40), (30, 8), (1, 1), (200, 50), (10, 3), (80, 24)) * 3:
        s.resize(width, height)
    s.shows("nanosleep")
    check(not s.over(), "it ended")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


@case("TERM values: 16 colours, monochrome, ASCII")
def terms():
    for term, options, environment in (("screen", [], None), ("vt100", [], None), ("xterm-256color", ["--ascii"], None),
                                       ("tmux-256color", [], {"NO_COLOR": "1"})):
        t, s = open_screen(*options, environment=dict(environment or {}, TERM=term))
        s.shows("nanosleep")
        s.keys("q")
        equal("exit status with TERM=%s" % term, left_screen(t, s), 0)
        t.end()


@case("Ctrl-Z detaches the probes, fg brings it back")
def suspend():
    need("bash")
    t = Target("demo", 300)
    t.go()
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    # A shell with job control: in a session of its own nothing could bring it back.
    s = Screen("bash", "--norc", "--noprofile", "-i", environment={"PS1": "'shell> '"})
    s.shows("shell>")
    s.keys("%s -p %d -f serve_request" % (PEAKTOP, t.pid), "Enter")
    wait_for(lambda: breakpoints(t.pid), "armed", 20)
    measured = re.compile(r"serve_request@demo +[\d.]+k? calls")
    s.shows(measured)
    s.keys("C-z")
    s.shows("Stopped")
    wait_for(lambda: not breakpoints(t.pid), "stopped: everything is detached", 6)
    s.keys("fg", "Enter")
    s.shows("LIVE")
    s.shows(measured)
    wait_for(lambda: breakpoints(t.pid), "armed again", 15)
    for _ in range(3):
        s.keys("q")
    s.shows("shell>")
    wait_for(lambda: not breakpoints(t.pid), "no breakpoint is left", 5)


@case("the terminal is lost: gone within two seconds, no spinning, nothing left")
def lost():
    with NothingLeft():
        t, s = open_screen("-f", "serve_request")
        wait_for(lambda: breakpoints(t.pid), "armed", 20)
        members = family(s.pid)
        s.end()
        wait_for(lambda: not [p for p in members if alive(p)], "all processes end", 3)
        wait_for(lambda: not breakpoints(t.pid), "no breakpoint is left", 3)


@case("SIGTERM restores the terminal")
def term_signal():
    t, s = open_screen()
    s.shows("nanosleep")
    os.kill(s.pid, signal.SIGTERM)
    equal("exit status", left_screen(t, s), 0)
    restored(s)


@case("SIGUSR1 under the screen: the state goes to standard error, where that is no terminal, and the screen stays")
def usr1():
    path = os.path.join(scratch(), "state")
    t = Target("demo", 300)
    t.go()
    s = Screen("sh", "-c", "exec '%s' -p %d 2>'%s'" % (PEAKTOP, t.pid, path))
    s.shows("nanosleep")
    os.kill(s.pid, signal.SIGUSR1)
    wait_for(lambda: "Target: demo" in open(path).read(), "the state is in the file")
    s.keys("?")
    s.shows("Reverse the sort order")
    s.keys("q", "q")
    equal("exit status", left_screen(t, s), 0)
    t, s = open_screen()
    s.shows("nanosleep")
    os.kill(s.pid, signal.SIGUSR1)
    s.shows("2>FILE")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


@case("SIGSEGV of the front restores the terminal and detaches")
def crash():
    with NothingLeft():
        t, s = open_screen("-f", "serve_request")
        wait_for(lambda: breakpoints(t.pid), "armed", 20)
        members = family(s.pid)
        os.kill(s.pid, signal.SIGSEGV)
        wait_for(lambda: not [p for p in members if alive(p)], "all processes end", 6)
        wait_for(lambda: not breakpoints(t.pid), "no breakpoint is left", 5)
        restored(s)


@smoke("a peak is descended to its cause: tree, source, instructions, and asked again")
def descent():
    t = Target("descend_inlined", 300)
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    # On a loaded machine preemption would be the truth: this one is not to be preempted.
    os.sched_setscheduler(t.pid, os.SCHED_FIFO, os.sched_param(1))
    with NothingLeft(t.pid):
        s = Screen(PEAKTOP, "-p", t.pid, "-f", "serve", "--max-overhead", "100", width=120, height=40)
        t.go()
        s.shows(re.compile(r"serve@descend_inlined +[\d.]+k? calls"), 30)
        s.keys(">")
        s.shows(re.compile(r"^ *> +\d+ [+-] ", re.M), 30)
        s.keys("Enter")
        s.shows("times probed", 30)
        s.shows("root cause found", 60)
        s.shows(re.compile(r"serve\s+>\s+digest\s+at\s+descend_inlined\.c:\d+, in\s+its\s+own\s+code,\s+mostly\s+in\s+the\s+loop"), 5)
        s.shows(re.compile(r"\*.*sampled .*mix inlined, in the loop of lines \d+-\d+"))
        # the last frame of the path is selected: where it is called
        s.keys("Enter")
        s.shows(re.compile(r"^> +\d+ +KEEP\(digest\(", re.M))
        s.keys("q", "d")
        s.shows("serve in descend_inlined")
        s.shows(re.compile(r"^> +\+0x[0-9a-f]+ .*call\S* digest", re.M))
        s.keys("q")
        # what is inlined: its instructions with their part of the samples, in a loop
        s.keys("/", "mix", "Enter", "d")
        s.shows("digest in descend_inlined")
        s.shows(re.compile(r"^ *>? *[\d.]+% +\+0x[0-9a-f]+ .?. *│", re.M))
        s.keys("q", "a")
        s.shows(re.compile("in progress|root cause found"))
        for _ in range(4):
            s.keys("q")
        equal("exit status", left_screen(t, s), 0)


SAVED_DESCENT = "descend.a-call-site-that-lies-in-an-inlined-function-names-it.peaktop.zst"


@case("a saved descent is opened and stepped by a script")
def scripted_descent():
    need("zstd")
    directory = scratch()
    session, script = os.path.join(directory, "session"), os.path.join(directory, "script")
    # a recorded one: what a live descent finds is asked elsewhere
    subprocess.run(["zstd", "-q", "-d", os.path.join(TOP, "tests", "answers", SAVED_DESCENT), "-o", session], check=True)
    os.chmod(session, 0o600)
    with open(script, "w") as f:
        f.write("end\nkey v\nexpect finding the cause of the calls\nkey / f i n d i n g Enter Enter\n"
                "expect serve\nkey q q\nkey / s e r v e Enter Enter\nkey >\nkey Enter\ndump\nsize 200 50\n"
                # where the sentence is wrapped at 80 columns depends on its figures
                "expect serve > nap > usleep at\nexpect sleeping\ndump\nsize 20 5\ndump\n")
    status, program = run_peaktop("-r", session, "--script", script)
    equal("exit status (%s)" % program.text(), status, 0)
    check(program.text().count("nap") >= 3, program.text())


@case("the target dies under the screen: it says so and stays")
def target_dies():
    t, s = open_screen()
    s.shows("nanosleep")
    t.signal(signal.SIGKILL)
    s.shows("ENDED")
    s.shows("was killed by SIGKILL")
    check(not s.over(), "it ended with the target")
    s.keys("v")
    s.shows(re.compile(r"exit +process %d \(demo\) was killed by SIGKILL" % t.pid))
    s.shows("is measured from now on")
    s.keys("q")
    s.keys("q")
    s.keys("q")
    equal("exit status", s.exit_status(), 1)


@case("P writes the view as text, w a snapshot")
def writes():
    directory = scratch()
    os.chmod(directory, 0o777)
    t = Target("demo", 300)
    t.go()
    s = Screen("sh", "-c", "cd %s && exec %s -p %d" % (directory, PEAKTOP, t.pid)) if os.path.exists(PEAKTOP) else None
    if not s:
        raise Skip("no build/peaktop")
    s.shows("nanosleep")
    s.shows(re.compile(r"LIVE +\d+:(0[2-9]|[1-9]\d)"))
    written = []
    for key, prompt, done in (("P", "write view as text to: peaktop", "view written to peaktop"),
                              ("w", "write snapshot to: peaktop", "snapshot written to peaktop")):
        s.keys(key)
        s.shows(prompt)
        s.keys("Enter")
        s.shows(done)
        new = [name for name in os.listdir(directory) if name not in written]
        equal("files that %s writes: %s" % (key, new), len(new), 1)
        written += new
    with open(os.path.join(directory, written[0]), errors="replace") as f:
        text = f.read()
    check("nanosleep" in text and "demo" in text, "the text does not hold the view: " + text[:200])
    status, program = run_peaktop("watch", "-r", os.path.join(directory, written[1]), "--json")
    equal("exit status of the replay: %s" % program.error_text(), status, 0)
    document = program.document()
    equal("target of the snapshot", document["target"]["pid"], t.pid)
    # the heat map begins with columns of a quarter of a second: so long are the slices of its first half minute
    starts = sorted({one["start_ns"] for op in document["operations"] for one in op["slices"]})
    check(len(starts) > 3, "the snapshot has %d slices" % len(starts))
    check(operation(document, "syscall:clock_nanosleep", "syscall")["calls"] > 10, "the snapshot holds no calls")


@case("without a target: a picker; typing filters; Enter attaches")
def picker():
    t = Target("demo", 300)
    t.go()
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    s = Screen(PEAKTOP, width=100, height=30)
    s.shows("kernel threads")
    s.keys(str(t.pid))
    s.shows(re.compile(r"^> *%d " % t.pid, re.M))
    s.keys("Enter")
    s.shows("LIVE")
    s.shows("nanosleep")
    s.keys("q")
    equal("exit status", left_screen(t, s), 0)


@live("the heatmap stays within its bytes: a tick at 200x50 writes about 1 KB on average")
def bytes_a_tick():
    t = Target("demo", 300)
    t.go()
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    log = os.path.join(scratch(), "log")
    s = Screen(PEAKTOP, "-p", t.pid, "-f", "serve_request", width=200, height=50)
    # The function's own view; its first drawing is not a tick.
    s.shows(re.compile(r"serve_request@demo +[\d.]+k calls"))
    s.tmux("pipe-pane", "cat >%s" % log)
    start = time.monotonic()
    wait_for(lambda: time.monotonic() - start > 6, "6 s pass", 10)
    s.tmux("pipe-pane")
    size = os.path.getsize(log)
    check(size < 6 * 3000, "%d bytes in 6 s" % size)
    check(size > 0, "the screen does not move")


@case("S lists slow calls of the live screen; Enter opens the story of one, y those of what is selected")
def slow_calls():
    with NothingLeft():
        t = Target("one_slow", "sleep", wait=False)
        s = Screen(PEAKTOP, "-p", t.pid, "-f", "work", "--max-overhead", "100", width=100, height=30)
        s.shows("LIVE")
        s.keys("S")
        s.shows("why it was slow")

        last = 0

        def listed():
            nonlocal last
            # one of many thousand calls: what one of some dozen takes is no slow call
            if time.monotonic() - last > 5:
                slow_call(t)
                last = time.monotonic()
            return re.search(r"\d ms .* work ", s.text())
        wait_for(listed, "a slow call is listed", 5 * HANG)
        s.keys("Enter")
        s.shows("thread %d" % t.pid)
        s.keys("q")
        s.shows("why it was slow")
        s.keys("q", "y")  # from the list of operations, whose only one is selected
        wait_for(lambda: "thread %d" % t.pid in s.text() or "only those of this operation" in s.text(), "its slow calls")
        s.keys("q", "Enter", "m", "y")
        wait_for(lambda: any(x in s.text() for x in ("thread %d" % t.pid, "at this time", "of this time")),
                 "the slow calls of the last column, or that there is none")
        s.keys("C-c")
        equal("exit status", left_screen(t, s), 0)
        check(alive(t.pid), "the target is gone")


if __name__ == "__main__":
    main()
