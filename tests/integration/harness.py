# SPDX-License-Identifier: GPL-2.0-or-later
"""What the integration cases share: targets, peaktop itself, what the kernel holds, TAP.

A case file defines functions decorated with @case("what must be true") and ends with main().
Nothing here sleeps for a guessed time: wait_for() polls a condition and fails loudly.
"""
import atexit
import contextlib
import ctypes
import fcntl
import json
import os
import pwd
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("B", "build"))
PEAKTOP = os.environ.get("PEAKTOP") or os.path.join(BUILD, "peaktop")
TARGETS = os.path.join(BUILD, "targets")


class Skip(Exception):
    """This cannot be tested here, and why."""


CASES = []  # of Case
EXIT = []  # functions to call when a case is over, whatever its end


class Case:
    """What must be true, the function that finds out, and whether the answer is one about a live program: LIVE, or SMOKE."""

    def __init__(self, what, function, kind):
        self.what, self.function, self.kind = what, function, kind


CONTRACT, LIVE, SMOKE = "contract", "live", "smoke"


def case(what, kind=CONTRACT):
    """
    A contract must hold in every run, however busy the machine is. A LIVE case asks about a program that runs: its answer is a statistic,
    so that `make judge` asks it several times and counts. A SMOKE case is a live one that `make check` asks, too: two of three answers
    must be right.
    """
    def register(function):
        CASES.append(Case(what, function, kind))
        return function
    return register


def live(what):
    return case(what, LIVE)


def smoke(what):
    return case(what, SMOKE)


class Harmed(AssertionError):
    """A target came to harm, or something of peaktop was left behind."""


class Partly(AssertionError):
    """The answer names the culprit, and something else about it is wrong."""


class Asked:
    """The last answer of the case that runs, for the judge, and what would be right, if it is not what the case's text says."""
    document, truth = None, ""


class Recording:
    """Set by answers.py: from the arguments of a run of peaktop those that also save its session."""
    of = None


class Usage:
    """Time and CPU time of the case."""

    def __init__(self):
        self.start, self.own_start = time.monotonic(), self.own()

    @staticmethod
    def own():
        """CPU seconds of this process and of all that it started: orphans become its children, too (PR_SET_CHILD_SUBREAPER)."""
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    def stop(self):
        reap()
        self.seconds, self.cpu = time.monotonic() - self.start, self.own() - self.own_start


def reap():
    """Wait for orphans of the case that have ended, so that their CPU time is known."""
    end = time.monotonic() + 1
    try:
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
    except ChildProcessError:
        pass


def run_case(function):
    """(usage, error, traceback); the error is None if all is well."""
    usage, wrong = Usage(), (None, "")
    Asked.document, Asked.truth = None, ""
    try:
        try:
            function()
        except BaseException as error:  # also KeyboardInterrupt: what was started must be ended
            wrong = error, traceback.format_exc()
        # Before clean_up() ends the programs, and whatever else went wrong: no other error hides harm.
        harm = harmed_programs()
        if harm and isinstance(wrong[0], (Exception, type(None))):
            wrong = Harmed(harm), wrong[1]
        clean_up()
        usage.stop()
    except BaseException as error:
        wrong = error, traceback.format_exc()
    return (usage, *wrong)


def harmed_programs():
    """The programs of the case, other than peaktop, that were killed by a signal that the case did not send."""
    killed = [p for p in Program.started if not isinstance(p, Peaktop) and (p.process.poll() or 0) < 0 and
              -p.process.returncode not in p.process.sent]
    Program.started.clear()
    return "; ".join("%s (process %d) was killed by %s" % (os.path.basename(p.argv[0]), p.pid, signal.Signals(-p.process.returncode).name)
                     for p in killed)


def say(*words):
    print(*words, flush=True)


def say_trace(trace):
    for line in trace.splitlines():
        say("#   " + line)


def first_line(error):
    return str(error).split("\n")[0].replace("#", "") or type(error).__name__


def report(number, what, tries):
    """
    One line of TAP about the answers of one case: right if it is one, and right, or if two of three are. Returns whether it is. Each answer
    is printed.
    """
    used = "(%.1f s, %.1f s of CPU time)" % (sum(t[0].seconds for t in tries), sum(t[0].cpu for t in tries))
    wrong = [error for _, error, _ in tries if error is not None]
    skipped = next((error for error in wrong if isinstance(error, Skip)), None)
    for _, error, trace in tries:
        if error is not None and error is not skipped:
            say_trace(trace)
    if len(tries) > 1:
        say("# %s: answers: %s" % (what, "; ".join("right" if e is None else "wrong: " + first_line(e) for _, e, _ in tries)))
    if skipped:
        say("ok %d - %s # SKIP %s" % (number, what, skipped))
    elif 2 * len(wrong) < len(tries):
        say("ok %d - %s %s" % (number, what, used))
    else:
        say("not ok %d - %s %s: %s" % (number, what, used, first_line(wrong[-1])))
        return False
    return True


def ask(one):
    """Run a case once, or, if it is a live one, until two of at most three answers agree. Harm is never outvoted."""
    tries = []
    while True:
        tries.append(run_case(one.function))
        error = tries[-1][1]
        if error is not None and not isinstance(error, Exception):
            return tries
        if one.kind == CONTRACT or isinstance(error, (Skip, Harmed)):
            return tries[-1:]
        right = sum(e is None for _, e, _ in tries)
        if 2 in (right, len(tries) - right):
            return tries


def judged(one):
    """One line of JSON: how the answer of a live case was, for `make judge`. See judge.py."""
    usage, error, trace = run_case(one.function)
    document = Asked.document or {}
    say_trace(trace)
    say(json.dumps({"what": one.what, "verdict": verdict(error, document), "seconds": usage.seconds,
                    "why": "" if error is None else first_line(error), "status": document.get("status", "")}))


def has_answer(document):
    """A document without a status, as of chains, is an answer if there is anything in it."""
    return any(document.get(key) for key in ("paths", "chains", "states", "operations", "open_calls"))


def is_certain(document):
    """A missing status counts as certain only if there is an answer at all."""
    certain = document["status"] == "root cause found" if "status" in document else has_answer(document)
    return certain and not any(p.get("unsure") for p in document.get("paths", [])[:1])


def verdict(error, document):
    if error is None:
        return "right"
    if isinstance(error, Skip):
        return "skipped"
    if isinstance(error, Harmed):
        return "harmed"
    if isinstance(error, Partly):
        return "partly"
    if "status" not in document and not has_answer(document) or document.get("status") in ("not enough calls", "in progress", "target ended", "distribution changed", "no such peak"):
        return "none"
    return "wrong without doubt" if is_certain(document) else "wrong with doubt"


def main():
    """
    case_X.py [--check | --list | --judge | --record] [TEXT]: run the cases whose text contains TEXT and print TAP; --check:
    of the live ones only those that belong into a check. --list: print the live ones. --judge: run the one live case whose text is TEXT
    and print its verdict. --record: keep the sessions of the live cases that are right (answers.py).
    """
    arguments, only = sys.argv[1:], ""
    option = arguments.pop(0) if arguments and arguments[0].startswith("--") else ""
    recorder = None
    if option == "--record":
        import answers
        recorder = answers.Recorder(sys.argv[0], PEAKTOP)
        Recording.of = recorder.of
    if arguments:
        only = arguments[0]
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # whoever ends a case that hangs: what it has started ends, too
    if option == "--list":
        say(json.dumps([one.what for one in CASES if one.kind != CONTRACT]))
    elif option == "--judge":
        judged(next(one for one in CASES if one.what == only))
    else:
        chosen = [(number, one) for number, one in enumerate(CASES, 1) if only in one.what
                  and (option != "--check" or one.kind != LIVE) and (option != "--record" or one.kind != CONTRACT)]
        say("1..%d" % len(chosen))
        failed = False
        for number, one in chosen:
            if recorder:
                recorder.begin(one.what)
            tries = [run_case(one.function)] if recorder else ask(one)
            if recorder and tries[-1][1] is None:
                recorder.keep(Asked.truth)
            failed |= not report(number, one.what, tries)
            if any(e is not None and not isinstance(e, Exception) for _, e, _ in tries):
                sys.exit(1)
        sys.exit(failed)


def clean_up():
    while EXIT:
        try:
            EXIT.pop()()
        except Exception as error:
            print("# while cleaning up: %s" % error, flush=True)


atexit.register(clean_up)


HANG = 180  # seconds after which something that a case waits for is taken to hang, however busy the machine is
AT_ONCE = 60  # the most seconds until peaktop answers or ends where something else hangs: a limit of peaktop, not of the machine


def wait_for(condition, what, seconds=HANG):
    """The first true value of condition(); polls."""
    seconds = max(seconds, HANG)
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %g s: %s" % (seconds, what() if callable(what) else what))
        time.sleep(0.01)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def unharmed(condition, what):
    if not condition:
        raise Harmed(what)


def equal(what, got, wanted):
    if got != wanted:
        raise AssertionError("%s: %r, expected %r" % (what, got, wanted))


def between(what, got, low, high):
    if not low <= got <= high:
        raise AssertionError("%s: %r, expected %r to %r" % (what, got, low, high))


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("no %s" % program)


def draws():
    """Random numbers: the same in every check, others with another PEAKTOP_SEED."""
    return random.Random(int(os.environ.get("PEAKTOP_SEED", "20061108")))


def scratch():
    """A directory that is gone with the case."""
    path = tempfile.mkdtemp(prefix="peaktop-test.")
    EXIT.append(lambda: shutil.rmtree(path, ignore_errors=True))
    return path


# --- processes

class Turn:
    """The right to run a target with a real-time priority; None, or the file that is locked for it."""
    file = None


def take_turn():
    """
    Of the case files that run at a time, one case may have targets with a real-time priority, until its end: those of two could take both CPUs
    from all others, peaktop included.
    """
    if Turn.file:
        return
    Turn.file = open(os.path.join(BUILD, "tests.turn"), "w")
    EXIT.append(end_turn)  # called after the target's own end, which is noted later
    fcntl.flock(Turn.file, fcntl.LOCK_EX)


def end_turn():
    Turn.file.close()
    Turn.file = None


class Child(subprocess.Popen):
    """A child process that knows which signals the case has sent to it."""

    def __init__(self, *args, **options):
        self.sent = set()
        super().__init__(*args, **options)

    def send_signal(self, number):
        self.sent.add(int(number))
        super().send_signal(number)


class Program:
    """A child process whose output is read by threads, so that it never blocks on a full pipe."""
    started = []  # those of the case that runs

    def __init__(self, argv, **options):
        self.argv = argv
        self.out, self.err = [], []
        self.changed = threading.Condition()
        options.setdefault("start_new_session", True)
        if options.get("preexec_fn") is undisturbed:
            take_turn()
        self.process = Child(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.pid = self.process.pid
        Program.started.append(self)
        self.threads = [threading.Thread(target=self.read, args=(stream, lines), daemon=True)
                        for stream, lines in ((self.process.stdout, self.out),
                                              (self.process.stderr, self.err))]
        for thread in self.threads:
            thread.start()
        EXIT.append(self.end)

    def read(self, stream, lines):
        with stream:
            for line in stream:
                with self.changed:
                    lines.append(line.decode(errors="replace").rstrip("\n"))
                    self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def line(self, wanted, seconds=HANG, stream=None):
        """The first line of output that `wanted` (a function) accepts."""
        seconds = max(seconds, HANG)
        lines = self.out if stream is None else stream
        end = time.monotonic() + seconds
        seen = 0
        with self.changed:
            while True:
                while seen < len(lines):
                    if wanted(lines[seen]):
                        return lines[seen]
                    seen += 1
                left = end - time.monotonic()
                if left <= 0 or (self.process.poll() is not None
                                 and not any(t.is_alive() for t in self.threads)):
                    raise AssertionError("%s: the awaited line did not come; status %s, said: %s | %s" % (
                        os.path.basename(self.argv[0]), self.process.poll(),
                        " / ".join(self.out[-5:]), " / ".join(self.err[-5:])))
                self.changed.wait(min(left, 0.2))

    def say(self, text=""):
        try:
            self.process.stdin.write((text + "\n").encode())
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def signal(self, number):
        self.process.send_signal(number)  # does nothing if it has ended

    def wait(self, seconds=2 * HANG):
        seconds = max(seconds, 2 * HANG)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s did not end within %g s; said: %s | %s" % (
                " ".join(self.argv[:6]), seconds, " / ".join(self.out[-5:]), " / ".join(self.err[-5:])))
        for thread in self.threads:  # what it wrote last may still be in the pipe
            thread.join(HANG)
        return status

    def end(self):
        if self.process.poll() is None:
            self.process.sent.add(int(signal.SIGKILL))
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self.process.kill()
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait(10)

    def text(self):
        return "\n".join(self.out)

    def error_text(self):
        return "\n".join(self.err)


def is_loaded():
    """Whether the judge runs busy loops beside the case."""
    return "PEAKTOP_JUDGE_LOADED" in os.environ


def undisturbed():
    """
    As preexec_fn: with a real-time priority, so that what else runs here is not why the target is slow now and then. What the judge asks beside
    busy loops is asked about ordinary programs.
    """
    if is_loaded():
        return
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


class Target(Program):
    """One of tests/targets with -w: attached to before it works, asked before it is gone."""

    def __init__(self, name, *args, wait=True, **options):
        path = name if "/" in name else os.path.join(TARGETS, name)
        if not os.path.exists(path):
            raise Skip("no target %s" % name)
        super().__init__([path] + (["-w"] if wait else []) + [str(a) for a in args], **options)
        if wait:
            self.line(lambda s: s.startswith("ready") or '"skip"' in s)
            if any('"skip"' in s for s in self.out):
                raise Skip(json.loads(self.out[-1])["skip"])

    def go(self):
        self.say("go")

    def asleep(self):
        """Wait until every thread of it waits."""
        tasks = "/proc/%d/task" % self.pid

        def state(tid):
            with open("%s/%s/stat" % (tasks, tid)) as stat:
                return stat.read().rpartition(")")[2].split()[0]
        wait_for(lambda: all(state(tid) == "S" for tid in os.listdir(tasks)), "the threads to wait", 60)

    def truth(self, seconds=3 * HANG):
        """What the target itself counted; it waits then."""
        return json.loads(self.line(lambda s: s.startswith("{"), seconds))

    def finish(self, seconds=2 * HANG):
        """Let it end; it must end well and say that all was well."""
        self.say("end")
        equal("exit status of the target", self.wait(seconds), 0)
        for line in self.out:
            if line.startswith("{"):
                unharmed(json.loads(line).get("ok", True), "the target came to harm: " + line)


def parent_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return int(f.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def family(pid):
    """This process and all of its descendants."""
    parents = {p: parent_of(p) for p in all_pids()}
    found, grown = {pid}, True
    while grown:
        more = {p for p, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return sorted(found)


def live_thread(pid):
    """The main thread, or if it has ended another one that lives: the number under which /proc shows the memory. None: a zombie."""
    try:
        threads = sorted(int(tid) for tid in os.listdir("/proc/%d/task" % pid))
    except OSError:
        return None
    for tid in sorted(threads, key=lambda tid: tid != pid):
        try:
            with open("/proc/%d/task/%d/stat" % (pid, tid)) as f:
                if f.read().rpartition(")")[2].split()[0] not in "ZX":
                    return tid
        except OSError:
            pass
    return None


def alive(pid):
    return live_thread(pid) is not None


def proc_status(pid):
    with open("/proc/%d/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def executable_of(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid)
    except OSError:
        return ""


# --- what the kernel holds

KINDS = ("prog", "link", "map")


def bpf_objects():
    """{("prog", id): row of bpftool, ("link", id): row, ("map", id): row} of the whole host."""
    need("bpftool")
    found = {}
    for kind in KINDS:
        run = subprocess.run(["bpftool", "-j", kind, "show"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            rows = json.loads(run.stdout or b"[]")
        except ValueError:
            rows = []
        for row in rows if isinstance(rows, list) else []:
            if "id" in row:
                found[kind, row["id"]] = row
    return found


def bpf_held_by(pid):
    """The objects that a process holds by descriptors."""
    try:
        descriptors = os.listdir("/proc/%d/fd" % pid)
    except OSError:
        return set()
    held = set()
    for fd in descriptors:
        try:
            if "bpf" not in os.readlink("/proc/%d/fd/%s" % (pid, fd)):
                continue
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                text = f.read()
        except OSError:
            continue
        for kind in KINDS:
            held.update((kind, int(number)) for number in re.findall(r"^%s_id:\s*(\d+)" % kind, text, re.M))
    return held


def bpf_of_others(objects):
    """What processes that this file did not start hold: a link holds its program, a program its maps."""
    own = set(family(os.getpid()))
    held = set().union(*(bpf_held_by(pid) for pid in all_pids() if pid not in own))
    held |= {("prog", objects[o]["prog_id"]) for o in held if "prog_id" in objects.get(o, ())}
    return held | {("map", number) for o in held if o[0] == "prog" for number in objects.get(o, {}).get("map_ids", ())}


STARTED = set()  # peaktop's processes that these cases started


class NothingLeft:
    """with NothingLeft(target.pid): ... : afterwards no program, link, map or breakpoint is left behind."""

    def __init__(self, *pids):
        self.pids = pids

    def __enter__(self):
        self.before = set(bpf_objects())
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            left = None

            def clean():
                # what appears later is of other peaktops that run beside this one
                nonlocal left
                objects = bpf_objects()
                now = set(objects) - self.before
                left = (now if left is None else left & now) - (bpf_of_others(objects) if now else set())
                return not left
            try:
                wait_for(clean, lambda: "the kernel frees %s" % sorted(left)[:8])
            except AssertionError as error:
                raise Harmed(str(error))
            for pid in self.pids:
                if alive(pid):
                    sites = breakpoints(pid)
                    unharmed(not sites, "breakpoints left in %d: %s" % (pid, sites[:4]))
        return False


def executable_mappings(pid):
    """[(start, end, offset in the file, path)] of file-backed code."""
    found = []
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            field = line.rstrip("\n").split(None, 5)
            if len(field) == 6 and "x" in field[1] and field[5].startswith("/"):
                start, end = (int(x, 16) for x in field[0].split("-"))
                found.append((start, end, int(field[2], 16), field[5]))
    return found


def as_nobody():
    """The environment of a peaktop that nobody has started with sudo."""
    user = pwd.getpwnam("nobody")
    return dict(os.environ, SUDO_UID=str(user.pw_uid), SUDO_GID=str(user.pw_gid), SUDO_USER="nobody")


def member(program, name):
    """The pid of one of peaktop's processes by its name; 0: not there."""
    for pid in family(program.pid):
        try:
            with open("/proc/%d/comm" % pid) as f:
                if f.read().strip() == name:
                    STARTED.add(pid)
                    return pid
        except OSError:
            continue
    return 0


def collector_of(program):
    return wait_for(lambda: member(program, "peaktop-collect"), "the collector starts")


def symbol_offset(path, name):
    need("nm")
    out = subprocess.run(["nm", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in out.splitlines():
        if line.endswith(" " + name):
            return int(line.split()[0], 16)
    raise AssertionError("%s has no symbol %s" % (path, name))


def breakpoints(pid, only=""):
    """[(path, file offset)]: where the target's memory holds int3 and its file does not: the armed sites,
    as the kernel really placed them."""
    found = []
    pid = live_thread(pid) or pid
    try:
        memory = open("/proc/%d/mem" % pid, "rb", 0)
        mappings = executable_mappings(pid)
    except OSError:
        return found
    with memory:
        for start, end, offset, path in mappings:
            if only not in path:
                continue
            try:
                with open("/proc/%d/map_files/%x-%x" % (pid, start, end), "rb", 0) as f:
                    on_disk = os.pread(f.fileno(), end - start, offset)
                in_memory = os.pread(memory.fileno(), len(on_disk), start)
            except OSError:
                continue
            if in_memory == on_disk:
                continue
            for page in range(0, len(on_disk), 4096):
                if in_memory[page:page + 4096] == on_disk[page:page + 4096]:
                    continue
                for at in range(page, min(page + 4096, len(in_memory))):
                    if in_memory[at] != on_disk[at] and in_memory[at] == 0xCC:
                        found.append((path, offset + at))
    return found


# --- peaktop

class Peaktop(Program):
    def __init__(self, *args, **options):
        if not os.path.exists(PEAKTOP):
            raise Skip("no %s" % os.path.relpath(PEAKTOP, TOP))
        args = [str(a) for a in args]
        super().__init__([PEAKTOP] + (Recording.of(args) if Recording.of else args), **options)
        STARTED.add(self.pid)

    def note_family(self):
        self.members = family(self.pid)
        STARTED.update(self.members)
        return self.members

    def documents(self):
        """Every JSON document on standard output: one a line, or one alone."""
        text = self.text().strip()
        try:
            found = [json.loads(text)]
        except ValueError:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        for document in found:
            validate(document)
            Asked.document = document
        return found

    def document(self):
        found = self.documents()
        check(found, "no JSON; status %s, said: %s" % (self.process.poll(), self.error_text()))
        return found[-1]

    def armed(self, pid, only="", seconds=HANG):
        """Wait until sites are armed in the target, and until they have stopped changing."""
        def some():
            if self.process.poll() is not None:
                raise AssertionError("peaktop ended with %s before anything was armed: %s %s" % (
                    self.process.returncode, self.error_text(), self.text()[:300]))
            return breakpoints(pid, only)
        wait_for(some, lambda: "a site is armed in %d; peaktop's state: %s" % (pid, self.state()), seconds)
        sites = settled(self, lambda: breakpoints(pid, only), "the armed sites settle")
        self.note_family()
        return sites

    def state(self):
        """What peaktop says of itself now (SIGUSR1), and where its threads are: for the message of a case that fails."""
        self.signal(signal.SIGUSR1)
        with contextlib.suppress(AssertionError):
            self.line(lambda line: line.startswith("Target: "), stream=self.err)
        threads = []
        for member in family(self.pid):
            with contextlib.suppress(OSError):  # it has ended
                for tid in os.listdir("/proc/%d/task" % member):
                    with open("/proc/%d/task/%s/stat" % (member, tid)) as f:
                        name, _, rest = f.read().rpartition(")")
                    with open("/proc/%d/task/%s/wchan" % (member, tid)) as f:
                        threads.append("%s) %s %s" % (name, rest.split()[0], f.read()))
        return "%s; threads: %s" % (self.error_text(), ", ".join(threads))

    def stop(self, seconds=2 * HANG):
        """Ctrl-C: ends the measurement and prints what there is. The exit status."""
        self.note_family()
        self.signal(signal.SIGINT)
        status = self.wait(seconds)
        if status:  # printed if the case fails by it
            say_trace("peaktop ended with %d and said: %s" % (status, self.error_text()[:500]))
        return status


def is_idle(program):
    """All threads of peaktop sleep: none has work that it did not get a CPU for yet, or waits for the kernel to place a probe."""
    own = executable_of(program.pid)
    for pid in family(program.pid):
        if executable_of(pid) != own:  # a command that it measures
            continue
        with contextlib.suppress(OSError):  # it has ended
            for tid in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
                    if f.read().rpartition(")")[2].split()[0] != "S":
                        return False
    return True


def settled(program, state, what):
    """
    state(), once it does not change any more: for 0.3 s, in which peaktop was seen idle several times. On a busy machine no time alone
    tells whether there is more to come.
    """
    last, since, idle = state(), time.monotonic(), 0

    def is_settled():
        nonlocal last, since, idle
        now = state()
        if now != last:
            last, since, idle = now, time.monotonic(), 0
        idle += is_idle(program)
        return time.monotonic() - since > 0.3 and idle >= 5
    wait_for(is_settled, what)
    return last


def run_peaktop(*args, seconds=3 * HANG, **options):
    """Run to the end; (status, program)."""
    program = Peaktop(*args, **options)
    return program.wait(seconds), program


def operation(document, name, layer=None):
    """The one operation whose name, label or request is this."""
    found = [op for op in document.get("operations", [])
             if (op["name"] == name or op.get("requested") == name or op["name"].split("@")[0] == name)
             and layer in (None, op["layer"])]
    check(len(found) == 1, "%d operations called %s among: %s; notes: %s" % (
        len(found), name, ", ".join(op["name"] for op in document.get("operations", []))[:300],
        "; ".join(document.get("notes", []))))
    return found[0]


_validator = None


def validate(document):
    """Against docs/peaktop.schema.json, and the rules of the contract that a schema cannot say."""
    global _validator
    try:
        import validate_json
    except ImportError as missing:
        raise Skip("documents cannot be validated: %s" % missing)
    if _validator is None:
        with open(validate_json.SCHEMA, encoding="utf-8") as f:
            schema = json.load(f)
        validate_json.close(schema)  # a field that the schema does not name is an error too
        _validator = validate_json.jsonschema.Draft202012Validator(schema)
    found = validate_json.errors_of(document, _validator)
    check(not found, "not valid: %s" % "; ".join(found[:4]))


def watch(target, *args, go=True):
    """Attach to a waiting target, let it work, and return (truth, document): exact counts, no governor."""
    functions = [args[i + 1] for i in range(len(args) - 1) if args[i] == "-f"]
    program = Peaktop("watch", "-p", target.pid, *args, "--json", "--for", 600, "--max-overhead", 100)
    if functions:
        program.armed(target.pid)
    target.go()
    truth = target.truth()
    equal("exit status of peaktop", program.stop(), 0)
    return truth, program.document()


def stop_when(program, fits):
    """Wait for a document of --json-lines that fits, then end peaktop; its last document. How long that takes is nobody's contract."""
    program.line(lambda s: s.startswith('{"peaktop"') and fits(json.loads(s)))
    equal("exit status (%s)" % program.error_text(), program.stop(), 0)
    return program.document()


def has_calls(name=None, least=1):
    """Fits a document in which this operation, or any, has at least so many calls."""
    return lambda document: any(op["calls"] >= least for op in document["operations"]
                                if name is None or op["name"] == name or op["name"].split("@")[0] == name or op.get("requested") == name)


def watch_calls(*args, fits=has_calls()):
    """Watch until there are calls: the last document."""
    return stop_when(Peaktop("watch", *args, "--json-lines", "--interval", 0.2, "--for", 600), fits)


def watch_rates(rate, seconds, *options, args=(0,)):
    """
    Watch busy() of the target `rates` while it works: (truth, document). What is armed may change all the time (bursts),
    so that it is enough that something was armed once.
    """
    t = Target("rates", rate, seconds, *args)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, *options)
        wait_for(lambda: breakpoints(t.pid) or program.process.poll() is not None, "something is armed", 20)
        t.go()
        truth = t.truth(seconds + 60)
        equal("exit status", program.stop(), 0)
        t.finish()
    return truth, program.document()


def ready(program):
    """Until peaktop has its programs in the kernel and follows the target."""

    def loaded():
        if program.process.poll() is not None:
            raise AssertionError("peaktop ended with %s: %s" % (program.process.returncode, program.error_text()))
        program.note_family()
        return links(program)
    wait_for(loaded, "peaktop attaches its programs")
    # a tracepoint counts from the moment its link exists
    settled(program, lambda: links(program), "its links settle")


def links(program):
    return {number for pid in family(program.pid) for kind, number in bpf_held_by(pid) if kind == "link"}


# --- a terminal

class Screen:
    """peaktop (or any command) on a real terminal of its own: tmux, send-keys, capture-pane."""
    count = 0

    def __init__(self, *command, width=80, height=24, term="tmux-256color", environment=None):
        need("tmux")
        Screen.count += 1
        self.socket = "peaktop-test-%d-%d" % (os.getpid(), Screen.count)
        self.directory = scratch()
        line = " ".join("'%s'" % str(word).replace("'", "'\\''") for word in command)
        variables = " ".join("%s=%s" % item for item in (environment or {}).items())
        # tmux loses the status and the last words of a pane now and then: a shell keeps both.
        self.status_file = os.path.join(self.directory, "status")
        config = os.path.join(self.directory, "tmux.conf")
        with open(config, "w") as f:
            f.write("set -g default-terminal %s\nset -g remain-on-exit on\nset -g status off\nset -g escape-time 0\n" % term)
        EXIT.append(self.end)
        self.tmux("-f", config, "new-session", "-d", "-x", str(width), "-y", str(height),
                  "env LC_ALL=C.UTF-8 %s %s; echo $? >%s; exec sleep 600" % (variables, line, self.status_file))
        self.shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        # The program itself: the shell's child, once env has become it.
        self.pid = wait_for(lambda: self.over() and self.shell or next(
            (p for p in family(self.shell) if parent_of(p) == self.shell and os.path.basename(executable_of(p))
             not in ("env", "")), None), "the program starts in the terminal")
        STARTED.add(self.pid)

    def tmux(self, *args):
        run = subprocess.run(["tmux", "-L", self.socket, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if run.returncode:
            raise AssertionError("tmux %s: %s" % (args[0], run.stderr.decode(errors="replace").strip()))
        return run.stdout.decode(errors="replace")

    def text(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.text().split("\n")

    def shows(self, wanted, seconds=HANG):
        """Wait until the screen contains this text (or matches this compiled expression): what it shows then."""
        def found():
            text = self.text()
            return text if (wanted.search(text) if hasattr(wanted, "search") else wanted in text) else None
        try:
            return wait_for(found, "the screen shows %r" % (getattr(wanted, "pattern", wanted)), seconds)
        except AssertionError as error:
            raise AssertionError("%s; it shows:\n%s" % (error, self.text().rstrip()))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def over(self):
        """The program has ended; what it left on the screen is still there."""
        return os.path.exists(self.status_file) and os.path.getsize(self.status_file) > 0

    def exit_status(self, seconds=HANG):
        """As a shell gives it: 128 + n for signal n."""
        wait_for(self.over, "the program on the screen ends", seconds)
        with open(self.status_file) as f:
            return int(f.read())

    def end(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


