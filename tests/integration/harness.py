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


CASES = []  # (what, function, whether it runs alone)
EXIT = []  # functions to call when a case is over, whatever its end
LOST = []  # records that documents of this case say were lost


def case(what, alone=False):
    """A case that measures time, cost or waiting for a CPU runs alone; others run beside those of other files."""
    def register(function):
        CASES.append((what, function, alone))
        return function
    return register


class Beside:
    """The other case files that run at the same time, and their CPU time. Each file is noted by its process id."""

    def __init__(self):
        self.folder = os.path.join(BUILD, "tests.beside")
        os.makedirs(self.folder, exist_ok=True)
        self.own = os.path.join(self.folder, str(os.getpid()))
        with open(self.own, "w"):
            atexit.register(self.leave)

    def leave(self):
        with contextlib.suppress(OSError):
            os.unlink(self.own)

    def others(self):
        """Process ids of the other case files; a file may have been killed before it could remove its note."""
        for name in os.listdir(self.folder):
            with contextlib.suppress(OSError), open("/proc/%s/cmdline" % name, "rb") as f:
                if int(name) != os.getpid() and b"case_" in f.read():
                    yield int(name)

    def cpu(self):
        """
        CPU seconds of the other case files and all that they started. The time of a child that has ended belongs to
        whoever waited for it. Nothing is left out: each case file adopts the orphans below it.
        """
        children, used = {}, {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open("/proc/%s/stat" % name) as f:
                fields = f.read().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(name))
                used[int(name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        look, total = list(self.others()), 0
        while look:
            pid = look.pop()
            total += used.get(pid, 0)
            look += children.get(pid, [])
        return total


class Machine:
    """Who used the processors since this was made: the case, the cases of other files, other programs, or the hypervisor."""
    beside = None  # made by main()

    def __init__(self):
        self.start, self.own_start, (self.busy_start, self.steal_start) = time.monotonic(), self.own(), self.host()
        self.beside_start = self.beside.cpu() if self.beside else 0

    @staticmethod
    def host():
        with open("/proc/stat") as f:
            ticks = [int(x) / os.sysconf("SC_CLK_TCK") for x in f.readline().split()[1:]]
        user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:8]
        return user + nice + system + irq + softirq, steal

    @staticmethod
    def own():
        """CPU seconds of this process and of all that it started: orphans become its children, too (PR_SET_CHILD_SUBREAPER)."""
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    def stop(self):
        reap()
        busy, steal = self.host()
        self.seconds = time.monotonic() - self.start
        self.cpu = self.own() - self.own_start
        # a case file that ended meanwhile takes its time with it: it then counts as a foreign program
        self.neighbours = max(self.beside.cpu() - self.beside_start, 0) if self.beside else 0
        self.foreign = max(busy - self.busy_start - self.cpu - self.neighbours, 0)
        self.steal = steal - self.steal_start

    def load(self):
        """What else ran here, as a list of texts."""
        found = []
        if self.foreign + self.neighbours > 0.15 * self.seconds + 0.1:
            found.append("%.1f s of CPU time went to programs that are not the check's and %.1f s to cases of other files"
                         % (self.foreign, self.neighbours))
        if self.steal > 0.02 * self.seconds + 0.02:
            found.append("%.1f s of CPU time were taken by the hypervisor (steal time)" % self.steal)
        return found

    def disturbance(self):
        """What else may be why a case failed, as measured while it ran; "" for nothing."""
        found = self.load()
        if sum(LOST):
            found.append("%d records were lost" % sum(LOST))
        return found and "%s, in %.1f s" % (", ".join(found), self.seconds) or ""


def wait_until_calm(most=60):
    """
    Wait until nothing else used the processors for a second, at most `most` seconds: a burst that disturbed a case
    must not disturb its repetition, too.
    """
    end = time.monotonic() + most
    while True:
        machine = Machine()
        time.sleep(1)
        machine.stop()
        if not machine.load() or time.monotonic() > end:
            return ", ".join(machine.load())


def reap():
    """Wait for orphans of the case that have ended, so that their CPU time is known."""
    end = time.monotonic() + 1
    try:
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
    except ChildProcessError:
        pass


class Turn:
    """Among the case files that run at a time, one case may run alone. Who waits for that comes before whoever asks later."""

    def __init__(self):
        os.makedirs(BUILD, exist_ok=True)
        self.door, self.room = (open(os.path.join(BUILD, name), "w") for name in ("tests.door", "tests.room"))

    def take(self, alone):
        fcntl.flock(self.door, fcntl.LOCK_EX)
        fcntl.flock(self.room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self.door, fcntl.LOCK_UN)

    def leave(self):
        fcntl.flock(self.room, fcntl.LOCK_UN)


def run_case(function):
    """(machine, error, traceback); the error is None if all is well."""
    machine, wrong = Machine(), (None, "")
    LOST.clear()
    try:
        try:
            function()
        finally:
            clean_up()
            machine.stop()
    except BaseException as error:  # also KeyboardInterrupt: what was started must be ended
        wrong = error, traceback.format_exc()
    return (machine, *wrong)


def say(*words):
    print(*words, flush=True)


def say_trace(trace):
    for line in trace.splitlines():
        say("#   " + line)


def one_case(number, what, function, again=""):
    """Run and report one case; "" or the disturbance for which it has to be run again, alone."""
    machine, error, trace = run_case(function)
    used = "(%.1f s, %.1f s of CPU time%s)" % (machine.seconds, machine.cpu, again)
    if error is None:
        say("ok %d - %s %s" % (number, what, used))
    elif isinstance(error, Skip):
        say("ok %d - %s # SKIP %s" % (number, what, error))
    else:
        first = str(error).split("\n")[0].replace("#", "")
        disturbance = machine.disturbance()
        if disturbance and not again and isinstance(error, Exception):
            say("# to be repeated: %s: %s; %s" % (what, disturbance, first))
            say_trace(trace)
            return disturbance
        say("not ok %d - %s %s: %s" % (number, what, used, first))
        say_trace(trace)
        one_case.failed = True
        if not isinstance(error, Exception):
            sys.exit(1)
    return ""


one_case.failed = False


def main():
    """
    Run the cases (those whose text contains the argument), print TAP. A case that fails is run once more, alone, if something
    else was measured on the machine while it ran; the line says so. Without such a measurement a failure is a failure.
    """
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [(number, *c) for number, c in enumerate((c for c in CASES if only in c[0]), 1)]
    say("1..%d" % len(chosen))
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    turn, later, Machine.beside = Turn(), [], Beside()
    for number, what, function, alone in chosen:
        if alone:
            later.append((number, what, function, ""))
            continue
        turn.take(alone=False)
        disturbance = one_case(number, what, function)
        turn.leave()
        if disturbance:
            later.append((number, what, function, disturbance))
    if later:
        turn.take(alone=True)
    for number, what, function, disturbance in later:
        if not disturbance:
            disturbance = one_case(number, what, function)
        if disturbance:
            load = wait_until_calm()
            if load:
                say("# not calm after a minute: %s" % load)
            one_case(number, what, function, ", repeated because %s" % disturbance)
    sys.exit(1 if one_case.failed else 0)


def clean_up():
    while EXIT:
        try:
            EXIT.pop()()
        except Exception as error:
            print("# while cleaning up: %s" % error, flush=True)


atexit.register(clean_up)


def wait_for(condition, what, seconds=10):
    """The first true value of condition(); polls."""
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

class Program:
    """A child process whose output is read by threads, so that it never blocks on a full pipe."""

    def __init__(self, argv, **options):
        self.argv = argv
        self.out, self.err = [], []
        self.changed = threading.Condition()
        options.setdefault("start_new_session", True)
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self.pid = self.process.pid
        self.threads = [threading.Thread(target=self.read, args=(stream, lines), daemon=True)
                        for stream, lines in ((self.process.stdout, self.out),
                                              (self.process.stderr, self.err))]
        for thread in self.threads:
            thread.start()
        EXIT.append(self.end)

    def read(self, stream, lines):
        for line in stream:
            with self.changed:
                lines.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def line(self, wanted, seconds=20, stream=None):
        """The first line of output that `wanted` (a function) accepts."""
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
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def wait(self, seconds=30):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s did not end within %g s; said: %s | %s" % (
                " ".join(self.argv[:6]), seconds, " / ".join(self.out[-5:]), " / ".join(self.err[-5:])))
        for thread in self.threads:
            thread.join(5)
        return status

    def end(self):
        if self.process.poll() is None:
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


def undisturbed():
    """As preexec_fn: with a real-time priority, so that what else runs here is not why the target is slow now and then."""
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

    def truth(self, seconds=60):
        """What the target itself counted; it waits then."""
        return json.loads(self.line(lambda s: s.startswith("{"), seconds))

    def finish(self, seconds=20):
        """Let it end; it must end well and say that all was well."""
        self.say("end")
        equal("exit status of the target", self.wait(seconds), 0)
        for line in self.out:
            if line.startswith("{"):
                check(json.loads(line).get("ok", True), "the target came to harm: " + line)


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
            wait_for(clean, lambda: "the kernel frees %s" % sorted(left)[:8], 8)
            for pid in self.pids:
                if alive(pid):
                    sites = breakpoints(pid)
                    check(not sites, "breakpoints left in %d: %s" % (pid, sites[:4]))
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
        super().__init__([PEAKTOP] + [str(a) for a in args], **options)
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
            # chains have a share of time under "lost"
            LOST.append(document.get("losses", document["lost"])["records"])
        return found

    def document(self):
        found = self.documents()
        check(found, "no JSON; status %s, said: %s" % (self.process.poll(), self.error_text()))
        return found[-1]

    def armed(self, pid, only="", seconds=20):
        """Wait until sites are armed in the target, and until they have stopped changing."""
        def some():
            if self.process.poll() is not None:
                raise AssertionError("peaktop ended with %s before anything was armed: %s %s" % (
                    self.process.returncode, self.error_text(), self.text()[:300]))
            return breakpoints(pid, only)
        last = wait_for(some, "a site is armed in %d" % pid, seconds)
        same_since = time.monotonic()

        def settled():
            nonlocal last, same_since
            now = breakpoints(pid, only)
            if now != last:
                last, same_since = now, time.monotonic()
            return time.monotonic() - same_since > 0.3
        wait_for(settled, "the armed sites settle", seconds)
        self.note_family()
        return last

    def stop(self, seconds=20):
        """Ctrl-C: ends the measurement and prints what there is. The exit status."""
        self.note_family()
        self.signal(signal.SIGINT)
        return self.wait(seconds)


def run_peaktop(*args, seconds=60, **options):
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
    wait_for(loaded, "peaktop attaches its programs", 20)
    # A tracepoint counts from the moment its link exists; all links are made in one go.
    last = [None, time.monotonic()]

    def settled():
        now = links(program)
        if now != last[0]:
            last[0], last[1] = now, time.monotonic()
        return time.monotonic() - last[1] > 0.3
    wait_for(settled, "its links settle", 20)


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

    def shows(self, wanted, seconds=15):
        """Wait until the screen contains this text (or matches this compiled expression)."""
        def found():
            text = self.text()
            return wanted.search(text) if hasattr(wanted, "search") else wanted in text
        try:
            wait_for(found, "the screen shows %r" % (getattr(wanted, "pattern", wanted)), seconds)
        except AssertionError as error:
            raise AssertionError("%s; it shows:\n%s" % (error, self.text().rstrip()))
        return self.text()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def over(self):
        """The program has ended; what it left on the screen is still there."""
        return os.path.exists(self.status_file) and os.path.getsize(self.status_file) > 0

    def exit_status(self, seconds=10):
        """As a shell gives it: 128 + n for signal n."""
        wait_for(self.over, "the program on the screen ends", seconds)
        with open(self.status_file) as f:
            return int(f.read())

    def end(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


