# SPDX-License-Identifier: GPL-2.0-or-later
"""descend without -f: the walk by share of wall time; what works, what sleeps, what is idle."""
from descents import *


def walk(pid, *args, status=0, seconds=70):
    with NothingLeft(pid):
        got, program = run_peaktop("descend", "-p", pid, "--json", *args, seconds=seconds)
    document = program.document()
    equal("exit status (%s: %s)" % (document["status"], program.error_text()), got, status)
    return document


def shares(document):
    shares_add_up(document, 0.001)
    check("peak" not in document and "profile" not in document, "a walk has no peak and no profile")
    walk = document["walk"]
    between("all kinds of time", walk["work"] + walk["sleep"] + walk["idle"], 0.8, 1.001)
    kinds = [path["time"] for path in document["paths"]]
    equal("the kind of time that leads comes first", kinds[0], walk["lead"])
    equal("paths of a kind stand together", len([1 for a, b in zip(kinds, kinds[1:]) if a != b]), len(set(kinds)) - 1)


def on_cpu(document):
    """The first path that is no wait for a CPU: how busy the machine is is not what is tested."""
    return next(p for p in document["paths"] if p["cause"]["kind"] != "run queue")


@case("work is followed from main to the function that does most of it, and the idle thread does not hide it")
def serve():
    target = Target("walk_serve")
    target.go()
    document = walk(target.pid)
    path = on_cpu(document)
    equal("the first path", names(path), ["main", "serve", "compute"])
    equal("its cause", path["cause"]["kind"], "own code")
    equal("its evidence", path["evidence"], "sampled")
    check(path["frames"][1]["call_site"]["file"].endswith("walk_serve.c") and path["frames"][1]["call_site"]["line"] > 0,
          "call site: %s" % path["frames"][1]["call_site"])
    equal("root", document["function"], "main")
    idle = path_with(document, "wait_for_the_end", "syscall:read", time="idle")
    equal("its evidence", idle["evidence"], "witnessed")
    between("the idle thread is half of the time", idle["share"], 0.3, 0.6)
    beside = {s["function"]: s for s in path["siblings"]}
    check("parse" in beside and "descend_into" in beside, "siblings: %s" % sorted(beside))
    # both hold the bulk of the work; compute() has 70% of it, of which samples may show less than the half that is asked for
    check(any("descend -p %d -f '%s'" % (target.pid, name) in note for note in document["notes"] for name in ("compute", "serve")),
          "notes: %s" % document["notes"])
    shares(document)
    recursive = [n for n in nodes(document["ftree"]) if n["function"] == "descend_into"]
    equal("descend_into() is one node, however deep it calls itself", len(recursive), 1)
    target.say("")
    target.truth()


@case("a pool that mostly waits for work: what it does when it has some, sleeps on purpose, and idles are told apart")
def pool():
    target = Target("walk_pool", 4)
    target.go()
    document = walk(target.pid, "--for", 6)
    path_with(document, "worker", "run_job", "nap", time="sleep")
    path_with(document, "worker", "run_job", "crunch", time="work")
    path_with(document, "worker", "take_job", "syscall:futex", time="idle")
    check(document["walk"]["idle"] > document["walk"]["sleep"] > 0, "%s" % document["walk"])
    equal("threads", document["walk"]["threads"], 5)
    shares(document)
    target.say("")
    target.say("")
    target.truth()


@case("a wait for a lock by a condition blocks a request; the same wait in the thread's own loop is idle")
def rows():
    target = Target("walk_rows")
    target.go()
    document = walk(target.pid, "--for", 6)
    blocked = path_with(document, "worker", "handle_request", "lock_row", "syscall:futex", time="work")
    equal("its cause", blocked["cause"]["kind"], "wait")
    path_with(document, "worker", "take_request", "syscall:futex", time="idle")
    shares(document)
    target.say("")
    target.say("")
    target.truth()


@case("a poll(), select() or epoll is idle if clients end it, blocked if a server's answer does, and unsure on a socketpair")
def sockets():
    target = Target("walk_sockets")
    target.go()
    server = target.truth()["server"]
    document = walk(target.pid, "--for", 6)
    for function in "client", "several":
        path = path_with(document, function, time="work")
        equal("whom %s() waits for" % function, (path["cause"]["kind"], "walk_sockets %d" % server in str(path["cause"])),
              ("wait", True))
    for function in "asker", "watcher":
        check(path_with(document, function, time="idle").get("unsure"), "which end of a pair sends requests is not known")
    check(not path_with(document, "own", time="idle").get("unsure"), "only its own process can end the wait")
    check(not path_with(walk(server, "--for", 6), "server", time="idle").get("unsure"), "a server waits for its clients")
    target.say("")


@case("a recorded walk is computed again, to the same answer")
def recorded():
    target = Target("walk_pool", 2)
    target.go()
    path = os.path.join(scratch(), "walk.peaktop")
    live = walk(target.pid, "--for", 2, "-o", path)
    got, program = run_peaktop("descend", "-r", path, "--json")
    equal("exit status", got, 0)
    again = program.document()
    for key in ("function", "status", "walk", "paths", "ftree", "notes"):
        equal("%s of the replay" % key, again[key], live[key])
    got, program = run_peaktop("export", path, "--format", "json")
    equal("exit status of the export", got, 0)
    equal("the export", program.document(), again)
    target.say("")
    target.say("")


@case("a command is walked from its first instruction to its end, also its children")
def command():
    got, program = run_peaktop("descend", "--json", "--follow", "--timeout", 60, "--", "sh", "-c",
                               "%s/walk_serve 4000 >/dev/null; true" % TARGETS)
    document = program.document()
    equal("exit status (%s)" % program.error_text(), got, 0)
    path_with(document, "main", "serve", "compute", time="work")
    path_with(document, "syscall:wait4", time="idle")
    shares(document)


@case("a command that ends at once: no answer, and a line that says what helps")
def short():
    # A sample may catch even such a command; then there is an answer.
    for _ in range(10):
        got, program = run_peaktop("descend", "--", "true")
        said = program.error_text().strip()
        if got != 0:
            break
        check("Path 1:" in program.text() and not said, "answered by: %s, %s" % (program.text(), said))
    equal("exit status", got, 1)
    check(said.startswith("peaktop: no answer: the target ended before") and "a loop of such runs" in said, said)
    check("--timeout" not in said, "it ended by itself: %s" % said)


@case("a write to a full pipe waits for the process that has the other end, not for the shell that started that")
def full_pipe():
    reads, writes = os.pipe()
    # The shell keeps the same end as its command, and does not read it either.
    reader = subprocess.Popen(["sh", "-c", "sleep 1000; true"], stdin=reads, start_new_session=True)
    writer = subprocess.Popen(["yes"], stdout=writes)
    os.close(reads)
    os.close(writes)
    try:
        command = lambda: open("/proc/%d/task/%d/children" % (reader.pid, reader.pid)).read().strip()
        wait_for(command, "the shell's command")
        sleep = "sleep %s" % command()
        wait_for(lambda: open("/proc/%d/stat" % writer.pid).read().rpartition(")")[2].split()[0] == "S", "the pipe to be full")
        got, program = run_peaktop("descend", "-p", writer.pid, "--for", 2, "--json")
        equal("exit status", got, 0)
        equal("what it waits for", program.document()["paths"][0]["cause"]["name"], sleep)
        got, program = run_peaktop("descend", "-p", writer.pid, "--open")
        equal("exit status of --open", got, 0)
        check("whose other end has %s" % sleep in program.text().replace("\n", " "), program.text())
    finally:
        os.killpg(reader.pid, signal.SIGKILL)
        writer.kill()
        reader.wait()
        writer.wait()


@case("a shell that reads the output of a command waits for that command")
def substitution():
    # `sh` starts the command from a copy of itself, which has the same end of the pipe.
    shell = subprocess.Popen(["sh", "-c", "x=$(sleep 1000; true); echo $x"], start_new_session=True)
    children = lambda pid: open("/proc/%d/task/%d/children" % (pid, pid)).read().split()
    try:
        wait_for(lambda: children(shell.pid) and children(int(children(shell.pid)[0])), "the command")
        command = int(children(int(children(shell.pid)[0]))[0])
        wait_for(lambda: open("/proc/%d/comm" % command).read() == "sleep\n", "its program")
        document = walk(shell.pid, "--for", 2)
        cause = path_with(document, "syscall:read", time="work")["cause"]
        equal("what it waits for", (cause["kind"], cause["name"]), ("wait", "sleep %d" % command))
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


@case("who waits for one given child is told to wait for that")
def one_child():
    child = 'import subprocess\nsubprocess.run(["sleep", "1000"])'
    parent = subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
    children = lambda: open("/proc/%d/task/%d/children" % (parent.pid, parent.pid)).read().split()
    try:
        sleep = int(wait_for(children, "the child")[0])
        wait_for(lambda: open("/proc/%d/comm" % sleep).read() == "sleep\n", "its program")
        cause = path_with(walk(parent.pid, "--for", 2), "syscall:wait4", time="work")["cause"]
        equal("what it waits for", (cause["kind"], cause["name"]), ("wait", "sleep %d" % sleep))
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


@case("text says the path, the kinds of time and how to go on")
def text():
    target = Target("walk_serve")
    target.go()
    got, program = run_peaktop("descend", "-p", target.pid, "--for", 3)
    equal("exit status", got, 0)
    out = program.text()
    for wanted in ("main > serve > compute", "of their time working", "Path 1:", "idle", "shares are of the wall time",
                   "peaktop descend -p %d -f '" % target.pid):
        check(wanted in out.replace("\n  ", " ").replace("\n", " "), "%r in: %s" % (wanted, out))


@case("a server without a request is idle, told by its first thread, however many wait beside it")
def idle():
    target = Target("walk_pool", 6, 0)
    target.go()
    document = walk(target.pid)
    path = document["paths"][0]
    equal("what leads", (document["walk"]["lead"], path["time"]), ("idle", "idle"))
    equal("whose wait it is", names(path)[0], "main")
    equal("status", document["status"], "root cause found")
    check(document["walk"]["busy_threads"] < 0.1, "busy: %s" % document["walk"])
    target.say("")
    target.say("")


@case("a flat profile says so, and names the functions with most time of their own")
def flat():
    target = Target("walk_flat")
    target.go()
    document = walk(target.pid)
    path = document["paths"][0]
    equal("the path", (names(path), path["cause"]["kind"]), (["main", "serve"], "flat"))
    equal("status", document["status"], "partly explained")
    equal("the function that all others call", document["functions"][0]["function"], "shared_helper")
    check(len([p for p in document["paths"] if p["time"] == "work"]) <= 2, "one path, and the wait for a CPU")
    target.say("")
    target.truth()


@case("code made at run time without frame pointers is passed through, and named by its map for perf")
def made():
    target = Target("walk_made")
    target.go()
    document = walk(target.pid)
    path = on_cpu(document)
    equal("the path", names(path), ["main", "serve", "made_handler", "compute"])
    equal("its evidence", path["evidence"], "sampled")
    on_a_cpu = document["walk"]["work"] - document["walk"]["run_queue"]
    # JSON has nine digits: the sum of three rounded figures may be off by one and a half of the last
    between("its share", path["share"], 0.8 * on_a_cpu, on_a_cpu + 2e-9)
    target.say("")
    target.truth()


@case("of several processes the suggestion names the one that runs the function")
def process_of_function():
    got, program = run_peaktop("descend", "--json", "--follow", "--timeout", 60, "--", "sh", "-c",
                               "%s/walk_serve 12000 >/dev/null; true" % TARGETS)
    equal("exit status (%s)" % program.error_text(), got, 0)
    onward = [note for note in program.document()["notes"] if "next: " in note]
    check(onward and "walk_serve" in onward[0], "notes: %s" % program.document()["notes"])


@case("--peak needs a function; options out of range are refused")
def usage():
    target = Target("walk_pool", 1)
    target.go()
    equal("--peak", run_peaktop("descend", "-p", target.pid, "--peak", 2)[0], 2)
    equal("--slowest", run_peaktop("descend", "-p", target.pid, "--slowest", 2)[0], 2)


main()
