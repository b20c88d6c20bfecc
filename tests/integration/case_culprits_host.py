# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: what the host and the kernel do to a thread, each cause by its own name."""
import collections
import contextlib

from culprits import *

FOLDER = tempfile.mkdtemp(prefix="culprit.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


PROBE_WAITED = "a probe of peaktop waited for a lock of the kernel"


def is_host(path, kinds):
    return path["cause"]["kind"] in HOST and path["cause"]["kind"] not in kinds


def named(document, kinds, name, detail, functions, part):
    """The awaited cause has most of what is explained beside the time that other tasks and peaktop's probes took."""
    left = document["explained"] - sum(path["share"] for path in document["paths"]
                                       if is_host(path, kinds) or path["cause"].get("detail") == PROBE_WAITED)
    found = [p for p in document["paths"] if p["cause"]["kind"] in kinds and name in p["cause"].get("name", "")
             and detail in str(p["cause"].get("detail", "")) and names(p)[:len(functions)] == functions]
    check(found, "no %s %s (%s) of %s among: %s" % ("/".join(kinds), name, detail, functions, told(document)))
    total = sum(p["share"] for p in found)
    check(total >= part * left and total > 0.1, "its share is %.2f of %.2f (%s)" % (total, left, told(document)))
    return found[0]


def charged(document):
    """A sleep in a probe is a loss of the target: its cost contains what the calls of the peak slept there."""
    share = sum(path["share"] for path in document["paths"] if path["cause"].get("detail") == PROBE_WAITED)
    slept = share * document["mean_ns"] * document["calls_used"]
    check(document["cost"]["target_ns"] >= 0.8 * slept, "%d ns of sleep in probes, a cost of %s" % (slept, document["cost"]))


def tell(kind, kinds, name="", detail="", functions=(), part=0.5, group=None, folder=FOLDER, convoy=False):
    target = Target("culprit_host", 60, kind, group.path if kind == "freeze" else folder,
                    # a quota is only for threads without a real-time priority
                    preexec_fn=None if kind == "quota" else undisturbed)
    try:
        if group:
            group.take(target.pid)
        target.go()
        with NothingLeft(target.pid):
            status, program = run_peaktop("descend", "-p", target.pid, "-f", kind + "_serve", "--json", *FAST)
        document = program.document()
        charged(document)
        # threads that queue for a lock or a device change what the calls take by themselves: to say so is an answer, too
        changed = (is_loaded() or convoy) and document["status"] == "distribution changed"
        equal("exit status (%s: %s)" % (told(document), program.error_text()), status, 1 if changed else 0)
        check(changed or document["status"] in ("root cause found", "partly explained"), "status: %s" % told(document))
        # a probe looks up its address under the lock of the address space: if it had to wait, it was not the call that did
        if convoy and document["paths"] and document["paths"][0]["cause"].get("detail") == PROBE_WAITED:
            check(changed or document["status"] == "partly explained", "status: %s" % told(document))
            return document["paths"][0]
        return named(document, kinds, name, detail, [kind + "_serve", *functions], part)
    finally:
        target.end()


def of_host(what, which, kinds, group=None, **more):
    @live(what)
    def one():
        made = group() if group else None
        try:
            tell(which, kinds, group=made, **more)
        finally:
            if made:
                wait_for(lambda: not open(os.path.join(made.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
                made.remove()


of_host("the CPU quota of a cgroup, and which", "quota", ("cpu quota",), name="peaktop-test", detail="1 ms of CPU time each 20 ms",
      group=lambda: Group("cpu", [("cpu.max", "1000 20000")], [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "1000")]))
of_host("stopped by a signal, and by whom", "stop", ("stopped",), name="culprit", detail="SIGSTOP")
of_host("held by a debugger, and which", "trace", ("stopped",), name="culprit", detail="traced")
of_host("frozen, and which cgroup", "freeze", ("stopped",), name="peaktop-test", group=lambda: Group("freezer", [], []))
of_host("a handler of signals, and which", "handler", ("signal handler",), name="on_alarm", detail="SIGUSR1")
of_host("preempted by several: who ran longest", "several", ("preemption",), name="culprit", detail="tasks ran")
# its own code takes 4 ms of such a call; on a virtual machine most of an interrupt lies outside of its tracepoints
of_host("interrupts that another CPU sends, and which", "ipi", ("interrupt",), name="call_function", part=0.25)
of_host("huge pages", "huge", ("huge page",), functions=("make_huge",))
# mapping and unmapping wait for the same lock: which of them does so more often is not the target's to say
of_host("a lock of the kernel, and who holds it", "spinlock", ("lock",), name="walker", convoy=True)


class SmallDevice:
    """A file system on a device of its own, which may have 2 MB of dirty pages."""

    def __enter__(self):
        image, self.folder = os.path.join(FOLDER, "image"), os.path.join(FOLDER, "disk")
        self.device, self.mounted = None, False
        os.mkdir(self.folder)
        with open(image, "wb") as f:
            f.truncate(256 << 20)
        try:
            self.run("mkfs.ext4", "-q", "-F", image)
            self.device = self.run("losetup", "-f", "--show", image).strip()
            self.run("mount", self.device, self.folder)
            self.mounted = True
            self.setting("strict_limit", "1")
            self.setting("max_bytes", "2097152")
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise Skip("no device with a limit of dirty pages can be made here: %s" % error)
        return self

    @staticmethod
    def run(*command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout

    def setting(self, name, value):
        with open("/sys/block/%s/bdi/%s" % (os.path.basename(self.device), name), "w", encoding="ascii") as f:
            f.write(value)

    def __exit__(self, *_):
        if self.device:
            with contextlib.suppress(OSError):
                self.setting("strict_limit", "0")
                self.setting("max_ratio", "100")
        if self.mounted:
            self.run("umount", "-l", self.folder)
        if self.device:
            self.run("losetup", "-d", self.device)
        os.rmdir(self.folder)


@live("throttled as a writer of dirty pages, and on which device")
def dirty():
    with SmallDevice() as disk:
        path = tell("dirty", ("throttled",), detail="dirty pages", folder=disk.folder, convoy=True)
        check("culprit_host" in path["cause"]["detail"], "the writer is not named: %s" % path["cause"])


class NestedGroup(Group):
    """A group with a limit, and a child of it, without one, that takes the target."""

    def __init__(self, *args):
        super().__init__(*args)
        self.parent, self.path = self.path, os.path.join(self.path, "child")
        os.mkdir(self.path)

    def remove(self):
        super().remove()
        self.path, self.parent = getattr(self, "parent", self.path), None
        if self.path:
            super().remove()


@live("the CPU quota of the parent of a cgroup: the parent is named")
def nested_quota():
    group = NestedGroup("cpu", [("cpu.max", "1000 20000")], [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "1000")])
    try:
        path = tell("quota", ("cpu quota",), name="peaktop-test", detail="1 ms of CPU time each 20 ms", group=group)
        check(not path["cause"]["name"].endswith("child"), "the child is named: %s" % path["cause"])
    finally:
        wait_for(lambda: not open(os.path.join(group.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
        group.remove()


@case("chains: of two quotas, one above the other, each wait names the one that was used up")
def two_quotas():
    group = NestedGroup("cpu", [("cpu.max", "20000 200000")], [("cpu.cfs_period_us", "200000"), ("cpu.cfs_quota_us", "20000")])
    target = Target("culprit_host", 60, "quota", FOLDER)
    # only in the outer group: it takes what that one gives, too
    beside = Program([sys.executable, "-c", "while True: pass"])
    try:
        first = os.path.exists(os.path.join(group.path, "cpu.cfs_quota_us"))
        for name, value in (("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "2000")) if first else (("cpu.max", "2000 20000"),):
            with open(os.path.join(group.path, name), "w", encoding="ascii") as f:
                f.write(value)
        group.take(target.pid)
        with open(os.path.join(group.parent, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(beside.pid))
        target.go()
        status, program = run_peaktop("chains", "--json", "-p", target.pid, "--for", 3, "--max-overhead", 100, seconds=60)
        equal("exit status (%s)" % program.error_text(), status, 0)
        ns = collections.Counter()
        for chain in program.document()["chains"]:
            said = chain["layers"][0]["detail"]
            if "quota" in said:
                ns[said] += chain["ns"]
        print("# %s" % dict(ns), flush=True)
        outer = sum(n for said, n in ns.items() if "20 ms of CPU time each 200 ms" in said and "/child" not in said)
        inner = sum(n for said, n in ns.items() if "2 ms of CPU time each 20 ms" in said and "/child" in said)
        check(inner > 0 and outer > 0, "both quotas hold it up: %s" % dict(ns))
    finally:
        target.end()
        beside.end()
        wait_for(lambda: not open(os.path.join(group.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
        group.remove()


def throttled_s(group):
    """Seconds in which the quota of a group was used up, as the kernel counts them."""
    with open(os.path.join(group.path, "cpu.stat"), encoding="ascii") as f:
        values = dict(line.split() for line in f)
    return int(values["throttled_usec"]) / 1e6 if "throttled_usec" in values else int(values["throttled_time"]) / 1e9


def queued_s(pid):
    """Seconds for which the first thread waited for a CPU. Some kernels include the time in which it was throttled."""
    with open("/proc/%d/schedstat" % pid, encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


@smoke("the CPU quota of a cgroup, told by a walk")
def quota_of_walk():
    group = Group("cpu", [("cpu.max", "2000 20000")], [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "2000")])
    target = Target("culprit_host", 60, "quota", FOLDER)
    try:
        group.take(target.pid)
        target.go()
        began, throttled, queued = time.monotonic(), throttled_s(group), queued_s(target.pid)
        with NothingLeft(target.pid):
            status, program = run_peaktop("descend", "-p", target.pid, "--json", seconds=70)
        seconds = time.monotonic() - began
        throttled, queued = (throttled_s(group) - throttled) / seconds, (queued_s(target.pid) - queued) / seconds
        document = program.document()
        equal("exit status (%s: %s)" % (told(document), program.error_text()), status, 0)
        quotas = [p for p in document["paths"] if p["cause"]["kind"] == "cpu quota"]
        check(len(quotas) == 1 and "peaktop-test" in quotas[0]["cause"]["name"], "no quota among: %s" % told(document))
        equal("the quota", quotas[0]["cause"]["detail"], "2 ms of CPU time each 20 ms")
        walk = document["walk"]
        between("time without a CPU", quotas[0]["share"] + walk["run_queue"], 0.7 * throttled, 1.4 * throttled + queued)
        check(quotas[0]["share"] > 0.5 * throttled, "%.2f of %.2f is the quota's" % (quotas[0]["share"], throttled))
        between("all kinds of time", walk["work"] + walk["sleep"] + walk["idle"], 0.8, 1.001)
    finally:
        target.end()
        wait_for(lambda: not open(os.path.join(group.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
        group.remove()


@live("time in the kernel for a system call: in which function of it")
def kernel_time():
    path = tell("kernel", ("kernel", "wait"), functions=("start_child",), part=0.5)
    check(path["cause"]["kind"] == "wait" or path["cause"].get("name"), "the function is not named: %s" % path["cause"])


@case("the collector gets hardly any CPU time for longer than its limits: it is waited for, and goes on")
def collector_starved():
    # in a group with a quota its loops, of the highest priority, take what the quota gives
    group = Group("cpu", [("cpu.max", "20000 1000000")], [("cpu.cfs_period_us", "1000000"), ("cpu.cfs_quota_us", "20000")])
    loops = []
    try:
        with NothingLeft():
            target = Target("rates", 2000, 600, 0)
            program = Peaktop("watch", "-p", target.pid, "-f", "busy", "--json", "--for", 600)
            program.armed(target.pid)
            target.go()
            for cpu in os.sched_getaffinity(0):
                loops.append(subprocess.Popen(["taskset", "-c", str(cpu), "nice", "-n", "-20", sys.executable, "-c", "while True: pass"]))
                group.take(loops[-1].pid)
            collector = collector_of(program)
            for thread in os.listdir("/proc/%d/task" % collector):
                os.setpriority(os.PRIO_PROCESS, int(thread), 19)
            group.take(collector)
            queued, began = queued_s(collector), time.monotonic()
            wait_for(lambda: time.monotonic() - began > 9, "the limits are over")
            equal("exit status while the collector waits for a CPU: " + program.error_text(), program.process.poll(), None)
            with open(os.path.join(os.path.dirname(group.path), "cgroup.procs"), "w", encoding="ascii") as f:
                f.write(str(collector))
            for loop in loops:
                loop.kill()
            wait_for(lambda: queued_s(collector) - queued > 5, "the collector has waited for a CPU for seconds")
            equal("exit status: " + program.error_text(), program.stop(), 0)
            check(operation(program.document(), "busy")["calls"] > 0, "nothing was measured")
            target.end()
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        wait_for(lambda: not open(os.path.join(group.path, "cgroup.procs"), encoding="ascii").read(), "an empty cgroup")
        group.remove()


main()
