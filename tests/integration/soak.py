# SPDX-License-Identifier: GPL-2.0-or-later
"""
Attach to hostile programs and detach again, thousands of times, and show that none is harmed and nothing is left.

Sessions of peaktop are numbered. The number and the seed decide everything that a session is made of: its verb, its one to ten targets and
what they do, when they do it, and how and when the session ends: in most sessions by kill -9 of the front, the collector or both. After
each session all that it had is gone (processes, BPF objects, leases, breakpoints), and its targets finish their work with the right
results. A harm is told with seed and number; SOAK_SEED=... SOAK_SESSION=... runs this session alone.

A cycle is one attachment and detachment in one process: breakpoints were seen in its code and later they were not. A thread of this program looks
into the targets' code every few ms, so cycles that are shorter than that may be missed, and none is counted that was not there. A session of a verb
without probes (walk, --open, chains) that attached programs to the kernel is one cycle.

As a program (`make soak`): SOAK_CYCLES cycles (10000), at most SOAK_SECONDS (3600), beside two watches and a screen that stay all the time, whose memory and
descriptors must not grow from the moment on at which their histories are full.
"""
import collections
import ctypes
import math
import statistics
import struct

from harness import *

WORKERS = int(os.environ.get("SOAK_WORKERS") or 2 * os.cpu_count())  # sessions at a time
LOOK = 0.003  # seconds between two looks into the targets' code
VERBS = ["watch"] * 7 + ["descend"] * 2 + ["walk", "open", "chains"]
ENDS = ["front"] * 3 + ["collector"] * 3 + ["both"] * 2 + ["interrupt"] * 2 + ["terminate", "target"]
KILLED = ("front", "collector", "both")


def forget(program):
    """The harness keeps what a case has started until the case ends. A soak starts tens of thousands of programs."""
    EXIT.remove(program.end)
    Program.started.remove(program)


# --- targets

class Subject(Target):
    """A target of a session, and what was seen in its code."""

    def __init__(self, name, *args, module=None, functions=("work",), stop=None, patch=False, copy=False, **options):
        self.folder = tempfile.mkdtemp(prefix="peaktop-soak.")
        path = os.path.join(self.folder, name) if copy else name
        if copy:  # by cp: what another thread of this program starts would inherit the open file, which could not be executed then
            subprocess.run(["cp", os.path.join(TARGETS, name), path], check=True)
        super().__init__(path, *[a.replace("FOLDER", self.folder) if isinstance(a, str) else a for a in args], **options)
        self.name, self.module, self.functions, self.stop, self.patch = name, module or name, functions, stop, patch
        self.lasts, self.gone = options.get("wait", True), False
        self.own, self.place = breakpoints(self.pid), None
        self.attached, self.detached, self.in_code = 0, 0, False

    def region(self):
        """(start, code without probes) of the program's own code, which may be mapped elsewhere after an exec."""
        for start, end, _, path in executable_mappings(live_thread(self.pid) or self.pid):
            if path.endswith("/" + self.module):
                return start, end - start
        return None

    def probed(self):
        """Whether a breakpoint is in its code that it has not set itself."""
        if self.module != self.name:
            return bool(breakpoints(self.pid, "/" + self.module))
        try:
            with open("/proc/%d/mem" % (live_thread(self.pid) or self.pid), "rb", 0) as memory:
                for _ in range(2):
                    try:
                        now = os.pread(memory.fileno(), self.place[1], self.place[0])
                        break
                    except (OSError, TypeError):  # not there any more, or not known yet
                        self.place = self.region()
                else:
                    return False
        except OSError:
            return False
        if not hasattr(self, "code"):
            self.code = now
        return now != self.code and any(b == 0xCC != was for b, was in zip(now, self.code))

    def look(self):
        now = self.probed()
        self.attached += now and not self.in_code
        self.detached += self.in_code and not now
        self.in_code = now

    def finish_work(self):
        """Its own word that it came to no harm, and its exit status."""
        if not self.lasts:
            unharmed(alive(self.pid), "%s died: %s" % (self.name, self.process.poll()))
            return
        if self.stop:
            self.say(self.stop)
        try:
            self.truth()
        except AssertionError as error:
            raise Harmed("%s came to harm, %s" % (self.name, error))
        self.say("end")
        unharmed(self.wait() == 0, "%s ended with %s" % (self.name, self.process.returncode))
        for line in self.out:
            if line.startswith("{"):
                unharmed(json.loads(line).get("ok", True), "%s computed something wrong: %s" % (self.name, line))

    def remove(self):
        self.end()
        forget(self)
        shutil.rmtree(self.folder, ignore_errors=True)


def patched(draw):
    how, before = draw.choice(("none", "serve", "nops", "request", "trap")), draw.random() < 0.5
    return Subject("patched", how, "before" if before else "later", 10000, stop="stop", patch=not before and how != "trap",
                   functions=draw.choice((("serve",), ("request",), ("with_nops",), ("serve", "request"))))


def reload(draw):
    return Subject("reload", draw.choice(("write", "rename")), "FOLDER/live.so", draw.randint(4, 10), draw.randint(50, 200), 40,
                   module="live.so", functions=("plugin_work",))


def elf32(_):
    try:
        made = Subject("elf32", wait=False, functions=())
    except OSError:
        raise Skip("this kernel runs no 32-bit programs")
    return made


KINDS = {
    "patched": patched,
    "reload": reload,
    "fork_storm": lambda draw: Subject("fork_storm", draw.randint(20, 150), 20),
    "exec_storm": lambda draw: Subject("exec_storm", draw.randint(5, 40), 20),
    "exit_soon": lambda draw: Subject("exit_soon", draw.randint(0, 300000)),
    "thread_storm": lambda draw: Subject("thread_storm", draw.randint(50, 500), 20),
    "seccomp_strict": lambda draw: Subject("seccomp_strict", draw.choice(("strict", "filter", "kill")), 20000),
    "traced": lambda draw: Subject("traced", draw.randint(200, 2000)),
    "jit": lambda draw: Subject("jit", draw.randint(5, 40), 50),
    # its probes are in all processes that map its file, so that it has one of its own
    "main_gone": lambda draw: Subject("main_gone", draw.randint(50, 300), 1000, functions=("serve",), copy=True),
    "elf32": elf32,
}
PROBED = [name for name in KINDS if name != "elf32"]
ALONE = ("reload", "main_gone")  # each has a file of its own of one name: of two, the name would be ambiguous


# --- what a session leaves

def tagged(tag):
    """The processes that were started with this word in their environment; what peaktop forks inherits it."""
    found, wanted = [], b"PEAKTOP_SOAK=" + tag.encode() + b"\0"
    for pid in all_pids():
        with contextlib.suppress(OSError), open("/proc/%d/environ" % pid, "rb") as f:
            if wanted in f.read():
                found.append(pid)
    return found


NEXT = {"prog": 11, "map": 12, "link": 31}  # commands of bpf(2): the object with the next higher number


def exists(kind, number):
    attributes = ctypes.create_string_buffer(struct.pack("<III", number - 1, 0, 0), 64)
    failed = ctypes.CDLL(None, use_errno=True).syscall(321, NEXT[kind], attributes, 64)
    return not failed and struct.unpack_from("<II", attributes)[1] == number


def leases(pids):
    with open("/proc/locks") as f:
        return [line for line in f if "LEASE" in line and {str(pid) for pid in pids} & set(line.split())]


# --- one session

Plan = collections.namedtuple("Plan", "verb kinds options end armed_first moment")


def plan_of(draw):
    verb = draw.choice(VERBS)
    if verb == "watch":
        kinds, options = draw.sample(PROBED, draw.randint(1, 6)), ["--json-lines", "--for", "600"]
        kinds += draw.choices([kind for kind in PROBED if kind not in ALONE] + ["patched"] * 4, k=draw.randint(0, 4))
        options += ["--max-overhead", "100"] if draw.random() < 0.7 else []
        options += ["--follow"] if draw.random() < 0.2 else []
        options += ["-f", "syscalls"] if draw.random() < 0.2 else []
    elif verb == "descend":
        kinds, options = [draw.choice(PROBED)], ["--json", "--timeout", "600"]
    else:
        kinds = [draw.choice(list(KINDS))]
        options = {"walk": ["--json", "--timeout", "600"], "open": ["--open", "--json"], "chains": ["--json", "--for", "600"]}[verb]
    armed_first = verb in ("watch", "descend") and draw.random() < 0.75
    return Plan(verb, kinds, options, draw.choice(ENDS), armed_first, draw.uniform(0, 1.0))


class Session:
    def __init__(self, seed, number, observer):
        self.draw = random.Random("%s.%d" % (seed, number))
        self.tag, self.observer = "%s.%d" % (seed, number), observer
        self.plan = plan_of(self.draw)
        self.subjects, self.program, self.due = [], None, []
        self.attached_to_kernel = self.armed_at_end = False

    def __str__(self):
        # which targets have probes at the end is what happened; all else is decided by seed and number
        return "%s of %s %s, ended by %s %.0f ms after %s" % (
            self.plan.verb, ", ".join(" ".join(os.path.basename(word) for word in s.argv) for s in self.subjects) or self.plan.kinds,
            " ".join(self.plan.options), self.plan.end, self.plan.moment * 1000, "its first probe" if self.plan.armed_first else "its start")

    def begin(self):
        for kind in self.plan.kinds:
            self.subjects.append(KINDS[kind](self.draw))
        for s in self.subjects:
            go = self.draw.uniform(-0.3, 1.5)
            self.due.append((go, s.go))
            if s.patch and self.draw.random() < 0.5:
                self.due.append((go + self.draw.uniform(0, 0.8), lambda s=s: s.say("patch")))
        for s in self.subjects:
            self.observer.add(s)
        self.act(0)
        functions = sorted({"-f=%s@%s" % (f, s.module) for s in self.subjects for f in s.functions})
        words = {"watch": ["watch"] + functions, "chains": ["chains"]}.get(self.plan.verb, ["descend"])
        words += functions[:1] if self.plan.verb == "descend" else []
        words = sum((w.split("=", 1) for w in words), [])
        self.program = Peaktop(*words, "-p", ",".join(str(s.pid) for s in self.subjects), *self.plan.options,
                               env=dict(os.environ, PEAKTOP_SOAK=self.tag))
        self.start = time.monotonic()

    def act(self, now):
        """What the targets are to do until now, in seconds since the start."""
        for one in [one for one in self.due if one[0] <= now]:
            self.due.remove(one)
            one[1]()

    def until_end(self):
        """Wait for the moment at which the session is to end, or until it has ended by itself."""
        after = None if self.plan.armed_first else self.start
        limit = self.start + HANG
        while self.program.process.poll() is None:
            now = time.monotonic()
            self.act(now - self.start)
            # a target that has nothing left to do may never be probed
            if after is None and (any(s.attached for s in self.subjects) or now > limit or
                                  not any(alive(s.pid) for s in self.subjects)):
                after = now
            if after is not None and now >= after + self.plan.moment:
                return
            time.sleep(0.002)

    def members(self):
        pids = tagged(self.tag)
        return {pid: self.name_of(pid) for pid in pids}

    @staticmethod
    def name_of(pid):
        with contextlib.suppress(OSError), open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
        return ""

    def finish(self):
        """End it as planned; what it had: (processes, BPF objects)."""
        members = self.members()
        held = set().union(*map(bpf_held_by, members))
        self.attached_to_kernel = any(kind == "link" for kind, _ in held)
        self.armed_at_end = [s for s in self.subjects if s.in_code]
        collectors = [pid for pid, name in members.items() if name == "peaktop-collect"]
        victims = {"front": [self.program.pid], "collector": collectors or [self.program.pid],
                   "both": [self.program.pid] + collectors}.get(self.plan.end, [])
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.plan.end == "target":
            self.act(HANG)
            for s in self.subjects:
                self.end_subject(s)
        if not victims:
            self.program.signal(signal.SIGTERM if self.plan.end == "terminate" else signal.SIGINT)
        status = self.program.wait()
        # 2: its function is not there any more. By the signal: before it has a handler, and --open has none.
        fine = (0, 1, 2, -signal.SIGKILL) if victims else (0, 1, 2, -signal.SIGINT, -signal.SIGTERM)
        unharmed(status in fine, "peaktop ended with %s: %s" % (status, self.program.error_text()[-300:]))
        return members, held

    @staticmethod
    def end_subject(s):
        """The target is over before peaktop is."""
        if s.lasts:
            s.finish_work()
        else:
            s.end()
        s.gone = True

    def nothing_left(self, members, held):
        def processes():
            left = self.members()
            for pid in list(members) + list(left):
                if pid != self.program.pid:  # orphans are children of this process now
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)
            return left
        for what, left in (("processes", processes), ("BPF objects", lambda: [o for o in sorted(held) if exists(*o)]),
                           ("leases", lambda: leases(members)),
                           ("breakpoints", lambda: [(s.name, s.pid, b) for s in self.subjects if alive(s.pid)
                                                    for b in set(breakpoints(s.pid)) - set(s.own)])):
            try:
                wait_for(lambda: not left(), "")
            except AssertionError:
                raise Harmed("%s are left: %s" % (what, str(left())[:400]))

    def run(self):
        try:
            self.begin()
            self.until_end()
            members, held = self.finish()
            self.nothing_left(members, held)
            self.act(HANG)
            for s in self.subjects:
                if not s.gone:
                    s.finish_work()
        finally:
            for s in self.subjects:
                self.observer.remove(s)
                s.remove()
            if self.program:
                self.program.end()
                forget(self.program)
                STARTED.discard(self.program.pid)
            reap_orphans()


def reap_orphans():
    """
    What a killed parent leaves becomes a child of this program (PR_SET_CHILD_SUBREAPER), and stays a zombie until it is waited for: thousands of
    zombies make each look for processes slow. What this program has started itself has other names, or is in Program.started.
    """
    started = {program.pid for program in Program.started}
    for pid in all_pids():
        name = Session.name_of(pid)
        if (name.startswith("peaktop-") or name in ("probe-cleaner", "traced")) and pid not in started and parent_of(pid) == os.getpid():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


class Observer:
    """Looks into the code of all targets, again and again."""

    def __init__(self):
        self.subjects, self.lock, self.over = [], threading.Lock(), False
        threading.Thread(target=self.watch, daemon=True).start()

    def add(self, s):
        with self.lock:
            s.look()
            self.subjects.append(s)

    def remove(self, s):
        with self.lock:
            if s in self.subjects:
                self.subjects.remove(s)
                s.look()

    def watch(self):
        while not self.over:
            with self.lock:
                for s in self.subjects:
                    s.look()
            time.sleep(LOOK)


class Tally:
    """What was done."""

    def __init__(self):
        self.sessions, self.cycles, self.killed = collections.Counter(), collections.Counter(), 0
        self.targets, self.harms = collections.Counter(), []

    def add(self, session):
        ends, killed = session.plan.end, session.plan.end in KILLED
        self.sessions[session.plan.verb, ends] += 1
        for s in session.subjects:
            self.targets[s.name] += 1
            self.cycles[session.plan.verb] += s.detached
            self.killed += killed and s in (session.armed_at_end or [])
        if not any(s.attached for s in session.subjects) and session.attached_to_kernel:
            self.cycles[session.plan.verb] += 1
            self.killed += killed

    def total(self):
        return sum(self.cycles.values())

    def lines(self):
        yield "%d cycles in %d sessions, %d of them ended by kill -9; %d of %d sessions ended so" % (
            self.total(), sum(self.sessions.values()), self.killed,
            sum(n for (_, end), n in self.sessions.items() if end in KILLED), sum(self.sessions.values()))
        yield "cycles by verb: " + ", ".join("%s %d" % one for one in sorted(self.cycles.items()))
        yield "sessions by end: " + ", ".join("%s %d" % (end, sum(n for (_, e), n in self.sessions.items() if e == end))
                                              for end in sorted(set(ENDS)))
        yield "targets: " + ", ".join("%s %d" % one for one in sorted(self.targets.items()))


def soak(seed, cycles, seconds=None, only=None, progress=lambda tally: None):
    """Sessions of this seed until so many cycles were seen, or the time is over: the Tally."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored, peaktop would ignore it until it has a handler
    observer, tally, lock = Observer(), Tally(), threading.Lock()
    end = time.monotonic() + seconds if seconds else math.inf
    numbers = iter([only] if only is not None else range(1 << 62))

    def work():
        while True:
            with lock:
                number = next(numbers, None)
                if number is None or tally.total() >= cycles or time.monotonic() > end:
                    return
            session = Session(seed, number, observer)
            try:
                session.run()
            except Skip:
                continue
            except Exception as error:
                said = "SOAK_SEED=%s SOAK_SESSION=%d: %s (%s)" % (seed, number, error, session)
                say("# " + said.replace("\n", " "))
                if not isinstance(error, AssertionError):
                    say_trace(traceback.format_exc())
                with lock:
                    tally.harms.append(said)
            with lock:
                tally.add(session)
                progress(tally)
    workers = [threading.Thread(target=work) for _ in range(WORKERS if only is None else 1)]
    for w in workers:
        w.start()
    try:
        for w in workers:
            w.join()
    except KeyboardInterrupt:  # the sessions that run are brought to their end
        end = 0
        for w in workers:
            w.join()
    observer.over = True
    return tally


# --- what stays

ROOM = 256  # KB by which the memory of a small process may differ


def history():
    """How many slices of an operation a front keeps: it grows until then, which is no leak."""
    with open(os.path.join(TOP, "analysis/latency/model.h")) as f:
        return int(re.search(r"MODEL_MAX_SLICES = (\d+)", f.read())[1])


class Watch:
    """A watch that is there all the time; `full_at` is when its history was full."""

    def __init__(self, name, *command):
        self.name, self.full_at, self.ended = name, None, None
        self.said = tempfile.TemporaryFile()  # on standard error
        self.process = subprocess.Popen([PEAKTOP, "watch", *command, "--json-lines", "--for", "1000000"], stdout=subprocess.PIPE,
                                        stderr=self.said, start_new_session=True)
        EXIT.append(self.process.kill)
        self.pid = self.process.pid
        self.last = collections.deque(maxlen=2)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """A slice without calls is not kept: in bursts most lines have no calls more than the line before."""
        calls, slices, enough = None, 0, history()
        for line in self.process.stdout:
            self.last.append(line)
            if not self.full_at:
                now = [op["calls"] for op in json.loads(line)["operations"]]
                slices += now != calls
                calls = now
                if slices >= enough:
                    self.full_at = time.monotonic()

    def status(self):
        """Its exit status and its last words if it has ended, else None. It is to end only when told to."""
        if self.process.poll() is None:
            return None
        self.said.seek(0)
        return "%s ended with %s: %s; its last lines: %s" % (
            self.name, self.process.returncode, self.said.read()[-1000:].decode(errors="replace"),
            " ".join(line.decode(errors="replace")[:1500] for line in self.last))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(HANG)
        self.reader.join()
        unharmed(self.process.returncode == 0, self.status())


class Lasting:
    """
    Two watches and a screen that are there all the time, and what their processes and their target hold. With slices this short, fronts that
    see each slice have a full history after MODEL_MAX_SLICES * 50 ms = 3 minutes. In bursts (of which there are some 2 a second) it takes half an hour.
    """
    INTERVAL = ["--interval", "0.05"]
    EVERY = ["--max-overhead", "100"]
    SAMPLE = 5  # seconds between two looks at what they hold
    ENOUGH = 60  # looks at full histories by which growth can be judged: 5 minutes

    def __init__(self):
        self.target = Target("rates", 20000, 1000000, 100)
        self.target.go()
        on = ["-p", str(self.target.pid), "-f", "busy", *self.INTERVAL]
        self.watches = [Watch("watch", *on, *self.EVERY), Watch("watch in bursts", *on)]
        self.screen = Screen(PEAKTOP, *on, *self.EVERY)
        self.samples = collections.defaultdict(list)  # (whose, name of the process, pid): (time, KB, descriptors)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()

    @staticmethod
    def held(pid):
        """Now, memory of its own in KB, page tables included, and descriptors."""
        with open("/proc/%d/smaps_rollup" % pid) as f:
            kb = sum(int(line.split()[1]) for line in f if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        return time.monotonic(), kb + int(proc_status(pid)["VmPTE"].split()[0]), len(os.listdir("/proc/%d/fd" % pid))

    def sample(self):
        while not self.over.wait(self.SAMPLE):
            for whose, first in [(one.name, one.pid) for one in self.watches] + [("screen", self.screen.pid), ("target", self.target.pid)]:
                for pid in family(first):
                    with contextlib.suppress(OSError, KeyError):
                        held = self.held(pid)
                        self.samples[whose, Session.name_of(pid), pid].append(held)
            for one in self.watches:
                if not one.ended and one.status():
                    one.ended = one.status()
                    say("# %s: %s" % (time.strftime("%H:%M:%S"), one.ended))

    def now(self):
        """What each holds now, in KB: how it comes to what it is at the end."""
        return ", ".join("%s %s %d" % (whose, name, seen[-1][1]) for (whose, name, _), seen in sorted(list(self.samples.items()))
                         if seen[-1][0] > time.monotonic() - 4 * self.SAMPLE)

    def end(self):
        """End all in order."""
        self.over.set()
        self.thread.join()
        self.screen.keys("q", "q", "q")
        for one in self.watches:
            one.end()
        unharmed(self.screen.exit_status() == 0, "the screen ended with an error")
        unharmed(alive(self.target.pid), "the target of the watches died")
        wait_for(lambda: not breakpoints(self.target.pid), "no breakpoint is left in the target of the watches")
        self.target.end()

    def lines(self):
        """
        (words, whether it stayed) for each process that was there for most of the time: medians of memory and the fewest descriptors of the
        first and of the last third of the time in which the history of its front was full. A process that reads a file has one more for a moment.
        """
        full = {one.name: one.full_at for one in self.watches}
        full["screen"] = full["target"] = self.watches[0].full_at
        most = max(map(len, self.samples.values()), default=0)
        for (whose, name, _), seen in sorted(self.samples.items()):
            if len(seen) < most * 0.8:
                continue
            judged = [one for one in seen if full[whose] and one[0] >= full[whose]]
            if len(judged) < self.ENOUGH:
                yield "%s, %s: at last %d KB; not judged, its history was full for %d s" % (whose, name, seen[-1][1], len(judged) * self.SAMPLE), True
                continue
            third = len(judged) // 3
            early, late = judged[:third], judged[-third:]
            kb = [statistics.median(one[1] for one in part) for part in (early, late)]
            fds = [min(one[2] for one in part) for part in (early, late)]
            yield "%s, %s: %d KB, then %d KB (%+.1f%%); at least %d descriptors, then %d" % (
                whose, name, *kb, 100 * (kb[1] / kb[0] - 1), *fds), kb[1] <= kb[0] * 1.05 + ROOM and fds[1] <= fds[0]


def kernel_memory():
    """KB of what the kernel holds for itself, and of BPF objects that no other peaktop holds."""
    with open("/proc/meminfo") as f:
        rows = {line.split(":")[0]: int(line.split()[1]) for line in f}
    found = {name: rows[name] for name in ("SUnreclaim", "Percpu", "VmallocUsed", "KernelStack", "PageTables")}
    objects = bpf_objects()
    others = bpf_of_others(objects)
    found["BPF"] = sum(int(row.get("bytes_memlock", 0)) for one, row in objects.items() if one not in others) // 1024
    return found


def run_soak():
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    seed, only = os.environ.get("SOAK_SEED", str(int(time.time()))), os.environ.get("SOAK_SESSION")
    cycles, seconds = int(os.environ.get("SOAK_CYCLES", "10000")), float(os.environ.get("SOAK_SECONDS", "3600"))
    begun, said, held = time.monotonic(), [0.0], [0.0]
    say("seed %s, %d cycles, at most %g s" % (seed, cycles, seconds))

    def progress(tally):
        now = time.monotonic() - begun
        if now >= said[0] + 60:
            said[0] = now
            say("%.0f s, load %.1f: %d cycles in %d sessions, %d harms" % (
                now, os.getloadavg()[0], tally.total(), sum(tally.sessions.values()), len(tally.harms)))
            if lasting and now >= held[0] + 600:
                held[0] = now
                say("KB now: " + lasting.now())
    kernel, failed = kernel_memory(), []
    with NothingLeft():
        lasting = None if only else Lasting()
        tally = soak(seed, cycles, seconds, only and int(only), progress)
        try:
            if lasting:
                lasting.end()
        except AssertionError as error:
            tally.harms.append("what stayed: %s" % error)
    say("%.0f s" % (time.monotonic() - begun), *("\n" + line for line in tally.lines()))
    failed += tally.harms
    for line, stayed in lasting.lines() if lasting else []:
        say(line if stayed else "GREW: " + line)
        failed += [] if stayed else [line]
    after = kernel_memory()
    say("the kernel's memory, KB: " + ", ".join("%s %d, then %d" % (name, kernel[name], after[name]) for name in kernel))
    say("%d harms" % len(tally.harms), *("\n" + one for one in tally.harms))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_soak())
