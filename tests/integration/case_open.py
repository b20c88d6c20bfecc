# SPDX-License-Identifier: GPL-2.0-or-later
"""descend --open: calls that do not come back, asked while they are stuck."""
from harness import *


def stuck():
    """The target, once every thread of it is where it stays."""
    target = Target("walk_stuck")
    tasks = "/proc/%d/task" % target.pid

    def settled():
        states = {}
        for tid in os.listdir(tasks):
            with open("%s/%s/comm" % (tasks, tid)) as comm, open("%s/%s/stat" % (tasks, tid)) as stat:
                states[comm.read().strip()] = stat.read().rpartition(")")[2].split()[0]
        return all(states.get(name) == "S" for name in ("on-pipe", "on-mutex", "on-purpose")) and "on-cpu" in states
    wait_for(settled, "the threads to be stuck")
    return target


def ask(target, *args, status=0):
    with NothingLeft(target.pid):
        got, program = run_peaktop("descend", "-p", target.pid, "--open", "--json", *args)
    equal("exit status (%s)" % program.error_text(), got, status)
    return program.document()


def by_name(document):
    return {call["comm"]: call for call in document["open_calls"]}


def functions(call):
    return [frame["function"].split("(")[0] for frame in call["frames"]]


def in_order(call, *wanted):
    rest = iter(functions(call))
    check(all(any(name == w for name in rest) for w in wanted), "%s in: %s" % (" > ".join(wanted), " > ".join(functions(call))))


@case("a function's calls that began before are found by their frames, with what each waits for")
def function():
    began = time.monotonic()
    target = stuck()

    def looked():
        document = ask(target, "-f", "stuck")
        calls = by_name(document)
        equal("sleeping threads in stuck()", sorted(set(calls) - {"on-cpu"}), ["on-mutex", "on-pipe", "on-purpose"])
        # where a thread is that wants to run is seen only if it gets a CPU while --open waits for it
        return document if "on-cpu" in calls else None
    document = wait_for(looked, "the thread that runs is seen")
    equal("status", document["status"], "open calls")
    equal("threads looked at", document["threads_looked_at"], 5)
    calls = by_name(document)
    equal("threads in stuck()", sorted(calls), ["on-cpu", "on-mutex", "on-pipe", "on-purpose"])
    for call in calls.values():
        in_order(call, "serve", "stuck")
        check("age_ns" not in call, "nobody saw it begin: %s" % call)
        line = next(f for f in call["frames"] if f["function"] == "serve")
        check(line["file"].endswith("walk_stuck.c") and line["line"] > 0, "where serve() calls: %s" % line)
    pipe = calls["on-pipe"]
    equal("system call", pipe["syscall"]["name"], "read")
    check("pipe:" in pipe["wait"]["text"], "what it reads: %s" % pipe["wait"])
    equal("kind", pipe["wait"]["kind"], "wait")
    mutex = calls["on-mutex"]
    in_order(mutex, "stuck", "pthread_mutex_lock")
    equal("kind", mutex["wait"]["kind"], "lock")
    check(mutex["wait"]["name"].endswith(" %d" % target.pid), "the main thread holds it: %s" % mutex["wait"])
    equal("the lock", mutex["wait"]["lock"], mutex["syscall"]["args"][0])
    purpose = calls["on-purpose"]
    equal("kind", purpose["wait"]["kind"], "sleep")
    check("nanosleep" in purpose["syscall"]["name"], "%s" % purpose["syscall"])
    age = (time.monotonic() - began) * 1e9
    for call in (pipe, mutex, purpose):
        check(0 < call["asleep_ns"] < age and call["kernel"] and not call["running"], "%s" % call)
    check(calls["on-cpu"]["running"] and "wait" not in calls["on-cpu"], "%s" % calls["on-cpu"])
    in_order(calls["on-cpu"], "serve", "stuck")
    target.say("")
    target.say("")
    target.truth()


@case("the threads in a system call are told, and all threads where nothing is named")
def syscall():
    target = stuck()
    calls = by_name(ask(target, "-f", "syscall:read"))
    equal("threads in read()", sorted(calls), ["on-pipe", "walk_stuck"])
    in_order(calls["walk_stuck"], "main")
    equal("all threads", len(ask(target)["open_calls"]), 5)

    def said():
        got, program = run_peaktop("descend", "-p", target.pid, "--open", "-f", "stuck")
        equal("exit status", got, 0)
        return program.text() if "4 of 5" in program.text() else None  # as above
    text = wait_for(said, "the thread that runs is seen")
    for wanted in ("4 of 5 threads are in stuck now", "waiting for a lock held by", "sleeping, in clock_nanosleep(", "waiting for data in a pipe: pipe:",
                   "  > stuck at walk_stuck.c:", "since before peaktop started"):
        check(wanted in text, "%r in: %s" % (wanted, text))


@case("nothing of that kind is open: no answer; and what it cannot be asked is refused")
def nothing():
    target = stuck()
    document = ask(target, "-f", "syscall:accept", status=1)
    equal("open calls", document["open_calls"], [])
    equal("another layer", run_peaktop("descend", "-p", target.pid, "--open", "-f", "block")[0], 2)
    equal("a peak", run_peaktop("descend", "-p", target.pid, "--open", "--peak", 1)[0], 2)
    equal("no such function", run_peaktop("descend", "-p", target.pid, "--open", "-f", "no_such_function")[0], 2)


def deep(mode):
    """The target whose worker is below two frames that are larger than the copied part of a stack, once it is there."""
    target = Target("deep_frames", mode)
    target.go()
    tasks = "/proc/%d/task" % target.pid

    def there():
        names = {open("%s/%s/comm" % (tasks, tid)).read().strip(): tid for tid in os.listdir(tasks)}
        states = {name: open("%s/%s/stat" % (tasks, tid)).read().rpartition(")")[2].split()[0] for name, tid in names.items()}
        return states.get("worker") == ("S" if mode == "stuck" else "R") and states.get("deep_frames") == "S"
    wait_for(there, "the worker to be below large()", 60)
    return target


@case("a thread that sleeps below frames of 120 KB is found with all of its callers")
def large_frames():
    target = deep("stuck")
    document = ask(target, "-f", "serve")
    equal("threads", sorted(by_name(document)), ["worker"])
    worker = by_name(document)["worker"]
    in_order(worker, "work", "serve", "large", "again", "leaf", "read")
    check("incomplete" not in worker, "%s" % worker)
    equal("threads of which it is not known", document["threads_unknown"], 0)
    equal("no thread is in it", ask(target, "-f", "compute", status=1)["threads_unknown"], 0)
    target.say("")
    target.truth()


@case("of a running thread whose stack was cut it is said that its calls are not known")
def cut_stack():
    target = deep("spin")
    document = ask(target, "-f", "serve", status=1)
    equal("open calls", document["open_calls"], [])
    equal("threads of which it is not known", document["threads_unknown"], 1)
    got, program = run_peaktop("descend", "-p", target.pid, "--open", "-f", "serve")
    equal("exit status", got, 1)
    for wanted in ("it is not known whether a thread is in serve now", "1 of 2 threads may be in it: its stack is incomplete"):
        check(wanted in program.text(), "%r in: %s" % (wanted, program.text()))
    check("0 of 2" not in program.text(), program.text())
    target.say("")
    target.truth()


@case("code made at run time is named by its map for perf, whatever memory it is in; code of a file by the file")
def made():
    target = Target("made_memory")
    target.go()
    kinds = ["anonymous", "file", "memfd", "named", "shared", "shm"]
    tasks = "/proc/%d/task" % target.pid

    def waits():
        names = [open("%s/%s/comm" % (tasks, tid)).read().strip() for tid in os.listdir(tasks)]
        calls = [open("%s/%s/syscall" % (tasks, tid)).read().split()[0] for tid in os.listdir(tasks)]
        return set(kinds) <= set(names) and set(calls) == {"0"}
    wait_for(waits, "the threads to wait in read()", 60)
    calls = by_name(ask(target, "-f", "serve"))
    check(set(kinds) <= set(calls), "threads in serve(): %s" % sorted(calls))
    for kind in sorted(calls):
        if kind == "file":
            in_order(calls[kind], "serve", "callback_each", "wait_here", "read")
        else:
            in_order(calls[kind], "serve", "made_" + kind, "wait_here", "read")
        check("incomplete" not in calls[kind], "%s" % calls[kind])
    check("made_file" not in functions(calls["file"]), "the map is wrong about it: %s" % functions(calls["file"]))
    target.say("")
    target.truth()


@case("on the screen: Enter on the open calls of a function shows where they are and since when")
def screen():
    need("tmux")
    target = Target("stuck", 50)
    terminal = Screen(PEAKTOP, "-p", target.pid, "-f", "sometimes_stuck", width=100, height=40)
    terminal.shows("sometimes_stuck")
    wait_for(lambda: breakpoints(target.pid), "the function to be watched", 30)
    target.go()
    target.truth()
    terminal.shows("1 open", 30)
    terminal.shows("open calls", 30)

    chosen = re.compile(r"^> .*thread \d+ of", re.M)

    # Tab goes round the panes: until the open calls are the one. In a pause nothing but the key changes the screen.
    terminal.keys("Space")
    before = terminal.shows("PAUSED")
    for _ in range(8):
        if chosen.search(before):
            break
        terminal.keys("Tab")
        wait_for(lambda: terminal.text() != before, "Tab changes the screen")
        before = terminal.text()
    terminal.keys("Space")
    terminal.shows("LIVE")
    terminal.shows(chosen)
    terminal.keys("Enter")
    terminal.shows("in sometimes_stuck now", 40)
    shown = terminal.text()
    for wanted in ("in this call for", "eventfd", "get_stuck at"):
        check(wanted in shown, "%r in: %s" % (wanted, shown))
    # where gcc fortifies by itself (Ubuntu) the call is in unistd.h's read(), inlined
    check(re.search(r"> sometimes_stuck at (stuck\.c|unistd\.h):\d", shown), "the line of the call in: %s" % shown)
    terminal.keys("q")
    terminal.shows("1 open", 30)
    terminal.end()
    target.say("end")
    target.finish()


def crowd_asleep(threads):
    """The target, once every thread of it waits."""
    target = Target("crowd", threads)
    target.asleep()
    return target


def crowd(threads, *args):
    """What --open shows of a crowd; (document, text of the notes)."""
    target = crowd_asleep(threads)
    document = ask(target, *args)
    target.go()
    equal("threads that the target counted", target.truth()["threads"], threads)
    target.finish()
    return document, "; ".join(document["notes"])


@case("of thousands of threads, the one that does something else is shown, and what was left out is said")
def in_a_crowd():
    document, notes = crowd(5000)
    odd = [call for call in document["open_calls"] if call["comm"] == "odd-one"]
    equal("the odd one out", len(odd), 1)
    in_order(odd[0], "stuck", "wait_for_work")
    check("the target has 5001 threads" in notes, "the total: %s" % notes)
    check(len(document["open_calls"]) < 1000, "threads at one place: %d" % len(document["open_calls"]))
    document, notes = crowd(5000, "-f", "stuck")
    equal("threads in stuck()", [call["comm"] for call in document["open_calls"]], ["odd-one"])


@case("the text joins threads in the same calls with their number, behind the one that is alone")
def joined():
    target = crowd_asleep(300)
    status, program = run_peaktop("descend", "-p", target.pid, "--open")
    equal("exit status (%s)" % program.error_text(), status, 0)
    heads = [line for line in program.text().split("\n") if "asleep for" in line]
    equal("threads that are shown (%s)" % heads, sorted(line.split()[0] for line in heads), ["crowd", "crowd", "odd-one"])
    check(heads[-1].startswith("crowd") and " and 255 threads like it" in heads[-1], "the last one: %s" % heads[-1])
    check("the target has 301 threads" in " ".join(program.text().split()), "the total: %s" % program.text()[-600:])
    target.go()
    target.truth()
    target.finish()


@case("of some tens of threads at one place all are shown, and nothing is said to be left out")
def no_crowd():
    document, notes = crowd(50)
    equal("threads looked at", document["threads_looked_at"], 51)
    equal("threads shown", len(document["open_calls"]), 51)
    check("were read" not in notes, notes)


main()
