# SPDX-License-Identifier: GPL-2.0-or-later
"""
One situation, asked by all five verbs: a descent, a walk, --open, chains and the critical path say the same words.

case_same_words.py --table [TEXT] prints as a table of Markdown which verbs say the words, and what the others say instead.
"""
from culprits import *

FOLDER = tempfile.mkdtemp(prefix="culprit.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
OPEN_TRIES = 8  # a slow call is in its wait for most of the time, so that a moment of another kind does not come often in a row
VERBS = ("descend", "walk", "open", "chains", "critical")


class Row:
    """A target in one situation, and the words that all verbs must say of it."""

    def __init__(self, what, words, target, kind, *arguments, f0="serve", group=None, disk=False, undisturb=True, but=()):
        self.what, self.words, self.arguments, self.f0, self.group = what, words, (target, 60, kind, *arguments), f0, group
        self.disk, self.undisturb = disk, undisturb
        self.but = but  # verbs that cannot say the words, or only by chance: see docs/notes/waits.md

    @contextlib.contextmanager
    def runs(self):
        with contextlib.ExitStack() as stack:
            more = ()
            group = self.group() if self.group else None
            if group:
                stack.callback(leave, group)
                more = (group.path,) if self.arguments[0] == "culprit_host" else ()
            if self.disk:
                more = (stack.enter_context(Disk(FOLDER)),)
            target = Target(*self.arguments, *more, preexec_fn=undisturbed if self.undisturb and not group else None)
            stack.callback(target.end)
            if self.disk:
                stack.callback(thaw, more[0])  # first, or the target cannot end
            if group:
                group.take(target.pid)
            target.go()
            yield target

    def asked(self, verb, pid):
        """What a verb says; of --open what it says of the first moment at which it says the words."""
        for _ in range(OPEN_TRIES if verb == "open" else 1):
            said = self.once(verb, pid)
            if self.words in said:
                break
        return said

    def once(self, verb, pid):
        run = {"descend": ("descend", "-p", pid, "-f", self.f0, *FAST), "walk": ("descend", "-p", pid, "--timeout", 20),
               "open": ("descend", "-p", pid, "--open"), "chains": ("chains", "-p", pid, "--for", 4, "--max-overhead", 100),
               "critical": ("critical", "-p", pid, "--for", 4, "--max-overhead", 100)}[verb]
        return " ".join(run_peaktop(*run, seconds=100)[1].text().split())

    def all_verbs(self, verbs=VERBS):
        with self.runs() as target:
            return {verb: self.asked(verb, target.pid) for verb in verbs}


def leave(group):
    wait_for(lambda: not open(os.path.join(group.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
    group.remove()


def thaw(folder):
    subprocess.run(["fsfreeze", "-u", folder], check=False, stderr=subprocess.DEVNULL)


class Disk:
    """A small file system of its own, thawed at the end whatever happens."""

    def __init__(self, where):
        self.image, self.folder = os.path.join(where, "image"), os.path.join(where, "disk")

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        with open(self.image, "wb") as f:
            f.truncate(64 << 20)
        for command in (("mkfs.ext4", "-q", "-F", self.image), ("mount", "-o", "loop", self.image, self.folder)):
            if shutil.which(command[0]) is None or subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode:
                raise Skip("no file system can be mounted here")
        return self.folder

    def __exit__(self, *_):
        thaw(self.folder)
        subprocess.run(["umount", "-l", self.folder], check=False)


def quota():
    return Group("cpu", [("cpu.max", "1000 20000")], [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "1000")])


def freezer():
    return Group("freezer", [], [])


ROWS = (
    Row("a CPU quota", "throttled by the CPU quota", "culprit_host", "quota", f0="quota_serve", group=quota),
    Row("a budget of SCHED_DEADLINE", "throttled by the CPU quota", "culprit_blame", "deadline", undisturb=False),
    Row("a frozen cgroup", "stopped by the cgroup freezer", "culprit_host", "freeze", f0="freeze_serve", group=freezer),
    Row("a stopped thread", "stopped", "culprit_host", "stop", FOLDER, f0="stop_serve"),
    Row("a traced thread", "held by a debugger", "culprit_host", "trace", FOLDER, f0="trace_serve"),
    Row("mmap_lock", "waiting for the address-space lock mmap_lock", "culprit_blame", "smaps", but=("open",)),
    Row("a lock of the kernel", "waiting for the address-space lock mmap_lock", "culprit_waits", "space", but=("open", "critical")),
    Row("a frozen file system", "waiting for a frozen file system", "culprit_blame", "frozen", disk=True),
    Row("a datagram socket without room", "waiting for room in a datagram socket", "culprit_blame", "dgram"),
    Row("a polled lock", "sleeping until the next try to get a file lock", "culprit_blame", "polled", but=("walk", "open")),
    Row("data held back (Nagle)", "waiting for an answer, own data held back until acknowledged (Nagle)", "culprit_blame", "nagle"),
    Row("a full accept queue", "waiting until a connection is accepted", "culprit_blame", "backlog"),
    Row("a grace period of RCU", "waiting for a grace period of RCU", "culprit_blame", "rcu"),
    Row("a mutex of many threads", "waiting for a lock", "culprit_contended", "mutex"),
    Row("a lock on a file", "waiting for a file lock", "culprit_waits", "flock"),
    Row("a condition", "waiting for a condition", "culprit_waits", "semaphore", but=("walk",)),
    Row("the end of a thread", "joining a thread", "culprit_waits", "join", but=("walk",)),
    Row("the end of a child", "waiting for a child", "culprit_waits", "child"),
    Row("a full pipe", "waiting for room in a pipe", "culprit_objects", "full"),
    Row("a local server", "waiting for data from a local socket", "culprit_objects", "unix"),
    Row("a timed sleep", "sleeping", "culprit_objects", "purpose"),
)


def agree(row):
    said = row.all_verbs([verb for verb in VERBS if verb not in row.but])
    for verb, text in said.items():
        check(row.words in text, "%s does not say \"%s\": %s" % (verb, row.words, text[:1500]))


for one in ROWS:
    live("five verbs, one name: " + one.what)(lambda one=one: agree(one))


def table(only):
    """For people: not the whole answers, but where their words differ."""
    say("| situation | words | " + " | ".join(VERBS) + " |")
    say("|---" * (len(VERBS) + 2) + "|")
    for row in ROWS:
        if only not in row.what:
            continue
        try:
            said = row.all_verbs()
        except (Skip, AssertionError, subprocess.SubprocessError) as reason:
            say("| %s | %s |" % (row.what, first_line(reason)))
            continue
        finally:
            clean_up()
        say("| %s | %s | %s |" % (row.what, row.words, " | ".join("yes" if row.words in said[v] else "no" for v in VERBS)))
        for verb in VERBS:
            if row.words not in said[verb] or "-v" in sys.argv:
                say("<!-- %s: %s -->" % (verb, said[verb][:900]))


if sys.argv[1:2] == ["--table"]:
    table(next((a for a in sys.argv[2:] if a != "-v"), ""))
else:
    main()
