# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are built or run in an unusual way: each beside a control that does the same in the usual way."""
from descents import *
from harness import *


def state_of(pid, tid=None):
    with open("/proc/%d/task/%d/stat" % (pid, tid or pid)) as f:
        return f.read().rpartition(")")[2].split()[0]


def main_gone(*args, path="main_gone"):
    target = Target(path, *args)
    wait_for(lambda: state_of(target.pid) == "Z", "its main thread ends")
    return target


# --- the main thread has ended

@case("the main thread has ended: each call is counted, as in a process whose main thread lives")
def main_ended_counts():
    for gone in (True, False):
        t = main_gone(500, 1000) if gone else Target("main_gone", 500, 1000, "keep")
        with NothingLeft(t.pid):
            truth, document = watch(t, "-f", "serve", "-f", "serve_wait")
            for name in ("serve", "serve_wait"):
                equal("calls of " + name, operation(document, name)["calls"], truth["serve"]["calls"])
            equal("a note about it", any("main thread" in note for note in document["notes"]), gone)
            t.finish()


@case("the main thread ends while it is watched: no call is lost")
def main_ends_meanwhile():
    t = Target("main_gone", 500, 1000, "late")
    equal("state of the main thread", state_of(t.pid) == "Z", False)
    truth, document = watch(t, "-f", "serve")
    equal("state of the main thread", state_of(t.pid), "Z")
    equal("calls", operation(document, "serve")["calls"], truth["serve"]["calls"])
    t.finish()


@case("the calls of another process that runs the same file do not count for one whose main thread has ended")
def main_ended_other():
    other = Target("main_gone", 2000, 1000)
    wait_for(lambda: state_of(other.pid) == "Z", "its main thread ends")
    t = main_gone(500, 1000)
    other.go()
    truth, document = watch(t, "-f", "serve")
    equal("calls", operation(document, "serve")["calls"], truth["serve"]["calls"])
    t.finish()
    other.truth()
    other.finish()


@case("the main thread has ended: its other threads are listed with their stacks, by pid and by name, and the dead one is not")
def main_ended_open():
    # a name of its own: other cases run this program at the same time
    name = "gone-%d" % os.getpid()
    t = main_gone(100000, 200000, path=shutil.copy(os.path.join(TARGETS, "main_gone"), os.path.join(scratch(), name)))
    t.go()
    wait_for(lambda: all(state_of(t.pid, int(tid)) in ("S", "Z") for tid in os.listdir("/proc/%d/task" % t.pid)), "it sleeps")
    for target in (["-p", t.pid], ["-n", name]):
        status, program = run_peaktop("descend", *target, "--open", "--json")
        equal("exit status (%s)" % program.error_text(), status, 0)
        document = program.document()
        equal("pid", document["target"]["pid"], t.pid)
        check(document["target"]["exe"].endswith("/" + name), document["target"])
        equal("threads", sorted(call["tid"] for call in document["open_calls"]),
              sorted(int(tid) for tid in os.listdir("/proc/%d/task" % t.pid) if int(tid) != t.pid))
        for call in document["open_calls"]:
            check("work" in [f["function"] for f in call["frames"]], "its stack: %s" % call)


@smoke("the main thread has ended: a descent finds where its calls spend their time")
def main_ended_descend():
    for gone in (True, False):
        t = main_gone(1000000, 1000) if gone else Target("main_gone", 1000000, 1000, "keep")
        t.go()
        document = descend(t.pid, "serve")
        first_path(document, "serve", "serve_wait", kinds=("sleep",))


@case("a process of which no thread lives is a zombie still")
def all_ended():
    p = subprocess.Popen([os.path.join(TARGETS, "main_gone"), "1", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_for(lambda: not alive(p.pid), "it is a zombie", 60)
    status, program = run_peaktop("watch", "-p", p.pid)
    p.wait()
    equal("exit status", status, 1)
    check("already ended (zombie)" in program.error_text(), program.error_text())


# --- threads

def other_thread(pid):
    return next(int(tid) for tid in os.listdir("/proc/%d/task" % pid) if int(tid) != pid)


@case("the id of a thread in place of a pid: its process is named, and nothing is measured")
def thread_as_pid():
    t = Target("main_gone", 10, 1000, "keep")
    tid = other_thread(t.pid)
    for verb in (["watch"], ["descend"], ["chains"], ["record", "-o", os.path.join(scratch(), "session")]):
        status, program = run_peaktop(*verb, "-p", tid)
        equal("exit status of %s" % verb, status, 1)
        wanted = "pid %d: this is a thread of process %d (main_gone); give -p %d" % (tid, t.pid, t.pid)
        check(wanted in program.error_text(), program.error_text())
    t.go()
    t.truth()
    t.finish()


@case("--thread: only the calls of this thread count, with its process given or not; beside it, all threads")
def one_thread():
    for target, share in ((["--thread"], 2), (["-p", "PID", "--thread"], 2), (["-p", "PID"], 1)):
        t = Target("main_gone", 300, 1000, "keep")
        tid = other_thread(t.pid)
        words = [t.pid if word == "PID" else word for word in target] + ([tid] if share == 2 else [])
        program = Peaktop("watch", *words, "-f", "serve", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        truth = t.truth()
        equal("exit status", program.stop(), 0)
        document = program.document()
        equal("pid", document["target"]["pid"], t.pid)
        equal("calls", operation(document, "serve")["calls"] * share, truth["serve"]["calls"])
        equal("a note", any("only thread %d is measured" % tid in note for note in document["notes"]), share == 2)
        t.finish()


@case("--thread of another process, of nobody, and with a command: refused in words")
def wrong_thread():
    t, other = Target("main_gone", 10, 1000, "keep"), Target("sleeper", wait=False)
    for words, status, said in ((["-p", other.pid, "--thread", t.pid], 2, "thread of process %d" % t.pid),
                                (["--thread", 4194303], 1, "no such thread"),
                                (["--thread", t.pid, "--", "true"], 2, "cannot be combined with -- CMD")):
        got, program = run_peaktop("watch", "--for", 1, *words)
        equal("exit status of %s (%s)" % (words, program.error_text()), got, status)
        check(said in program.error_text(), program.error_text())


# --- the kernel's names

class Restrict:
    """kernel.kptr_restrict with this value, and what it was afterwards, whatever happens."""
    path = "/proc/sys/kernel/kptr_restrict"

    def __init__(self, value):
        self.value = value

    def write(self, value):
        with open(self.path, "w") as f:
            f.write(value)

    def __enter__(self):
        with open(self.path) as f:
            self.before = f.read().strip()
        self.write(self.value)

    def __exit__(self, kind, value, trace):
        self.write(self.before)


# --- processes that end before they are measured

@case("of two processes of one name, one ends while peaktop starts: the other is measured, and the exit status is 0")
def one_ends():
    name = "pair-%d" % os.getpid()
    path = shutil.copy(os.path.join(TARGETS, "main_gone"), os.path.join(scratch(), name))
    short, t = Target(path, 0, 0, "keep"), Target(path, 500, 1000, "keep")
    program = Peaktop("watch", "-n", name, "-f", "serve", "--json", "--for", 600, "--max-overhead", 100)
    # its collector is there, so that it has chosen its targets
    wait_for(lambda: len(family(program.pid)) > 1 or program.process.poll() is not None, "the collector is there")
    # it ends by itself: if a signal killed it with probes in it, the exit status would be another one
    short.go()
    short.finish()
    program.armed(t.pid)
    t.go()
    truth = t.truth()
    status = program.stop()
    equal("exit status of peaktop (%s)" % program.error_text(), status, 0)
    equal("calls", operation(program.document(), "serve")["calls"], truth["serve"]["calls"])
    t.finish()


# --- text in anonymous memory

@case("text that was moved to anonymous memory: its functions are refused with the reason, at once and by each verb")
def moved_refused():
    words = "serve: the text of moved_text was copied to anonymous memory at 0x"
    for verb in "watch", "descend", "chains":
        t = Target("moved_text")
        with NothingLeft(t.pid):
            status, program = run_peaktop(verb, "-p", t.pid, "-f", "serve", "--timeout" if verb == "descend" else "--for", 600)
        equal("exit status of %s (%s)" % (verb, program.error_text()), status, 1)
        check(words in program.error_text(), program.error_text())
        check("system calls, libraries and samples work" in program.error_text(), program.error_text())
        t.go()
        check(t.truth()["ok"], "the target's own results")
        t.finish()


@case("text that was moved to anonymous memory: functions of libraries that it calls are counted, also where a call ends in it")
def moved_libraries():
    for moved in (True, False):
        t = Target("moved_text", 3000, *([] if moved else ["keep"]))
        with NothingLeft(t.pid):
            truth, document = watch(t, "-f", "qsort_r", *([] if moved else ["-f", "serve"]))
        for name in ["qsort_r"] + ([] if moved else ["serve"]):
            op = operation(document, name)
            equal("calls of %s" % name, op["calls"], truth["serve"]["calls"])
            check(op["calls_seen"] > 0, "none of the calls of %s was timed: %s" % (name, op["placement"]))
        t.finish()
    # within a budget the probes at its exits, which are dear, would not stay if its callers could be probed
    t = Target("moved_text", 100000000)
    t.go()
    watch_calls("-p", t.pid, "-f", "qsort_r", fits=lambda document: any(op["calls_seen"] for op in document["operations"]))
    t.end()


@case("text that was moved to anonymous memory: functions have their names in stacks, and --open finds their calls")
def moved_names():
    for moved in (True, False):
        t = Target("moved_text", 100000000, *([] if moved else ["keep"]))
        t.go()
        found = []

        def caught():
            status, program = run_peaktop("descend", "-p", t.pid, "--open", "-f", "serve", "--json")
            equal("exit status (%s)" % program.error_text(), status, 0)
            found[:] = [[frame["function"] for frame in call["frames"]] for call in program.document()["open_calls"]]
            return found
        wait_for(caught, "a look finds serve() open")
        check("serve" in found[0] and found[0].index("main") < found[0].index("serve"), "frames: %s" % found[0])
        t.end()


# it changes a setting of the host, which a check must not do
@live("kernel.kptr_restrict=2 hides no name of a kernel function: kinds of causes stay what they are")
def hidden_names():
    for value in ("2", "1"):
        t = main_gone(100000, 200000)
        t.go()
        with Restrict(value):
            status, program = run_peaktop("doctor", "--json")
            equal("exit status of doctor", status, 0)
            status, walk = run_peaktop("descend", "-p", t.pid, "--timeout", 2, "--json")
        found = [c for c in program.document()["checks"] if c["name"] == "names of kernel functions"]
        equal("checks of the names", [c["ok"] for c in found], [True])
        text = json.dumps(walk.document())
        check("hrtimer_nanosleep" in text, "in which function of the kernel the threads wait: %s" % text[:600])
        check('"kind": "sleep"' in text, "the kind of their wait: %s" % text[:600])
        check(alive(t.pid), "the target died")


@case("a program that was started by a link in its folder has the link's name, and is found by both names")
def named_by_link():
    folder = scratch()
    os.chmod(folder, 0o755)
    shutil.copy(os.path.join(TARGETS, "simple"), os.path.join(folder, "many-tools"))
    os.symlink("many-tools", os.path.join(folder, "one-tool"))
    t = Target(os.path.join(folder, "one-tool"), 100)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "leaf@many-tools", "-f", "middle@one-tool", "--json", "--for", 600)
        program.armed(t.pid)
        t.go()
        t.truth()
        equal("exit status", program.stop(), 0)
    t.finish()
    equal("names", sorted(op["name"] for op in program.document()["operations"]), ["leaf@one-tool", "middle@one-tool"])


@case("debug information that libdw cannot read is noted, once for its file; names are there")
def packed():
    need("objcopy")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "packed")
        if subprocess.run(["objcopy", "--compress-debug-sections=zstd", os.path.join(TARGETS, "walk_stuck"), path],
                          stderr=subprocess.DEVNULL).returncode:
            raise Skip("objcopy cannot compress with zstd")
        target = Target(path)
        status, program = run_peaktop("descend", "-p", target.pid, "--open", "-f", "stuck", "--json")
        equal("exit status (%s)" % program.error_text(), status, 0)
        document = program.document()
        notes = [note for note in document["notes"] if "debug information of packed" in note]
        lines = [frame for call in document["open_calls"] for frame in call["frames"]
                 if frame["function"] == "stuck" and "line" in frame]
        # an elfutils since 0.189 can read it
        check(bool(lines) != bool(notes), "lines: %s, notes: %s" % (lines, document["notes"]))
        check(lines or (len(notes) == 1 and "is compressed with zstd" in notes[0]), "%s" % notes)
        status, program = run_peaktop("doctor", "-p", target.pid)
        equal("exit status of doctor (%s)" % program.error_text(), status, 0)
        check(lines or "is compressed with zstd" in program.text(), "doctor does not name it: " + program.text())
        target.say("")
        target.say("")
        target.truth()


main()
