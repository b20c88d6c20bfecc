# SPDX-License-Identifier: GPL-2.0-or-later
"""descend without -f: the walk by share of wall time; what works, what sleeps, what is idle."""
import contextlib
import ctypes
import fcntl
import signal
import socket

from descents import *


def walk(pid, *args, status=0, seconds=70):
    """The document of a walk; its exit status must be `status` (None: any)."""
    got, program = run_unharmed(pid, "descend", "-p", pid, "--json", *args, seconds=seconds)
    document = program.document()
    if status is not None:
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


@smoke("work is followed from main to the function that does most of it, and the idle thread does not hide it")
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
    equal("descend_into() is one callee", [s["function"] for s in path["siblings"]].count("descend_into"), 1)
    # both hold the bulk of the work; compute() has 70% of it, of which samples may show less than the half that is asked for
    check(any("descend -p %d -f '%s'" % (target.pid, name) in note for note in document["notes"] for name in ("compute", "serve")),
          "notes: %s" % document["notes"])
    shares(document)
    recursive = [n for n in nodes(document["ftree"]) if n["function"] == "descend_into"]
    # none if few of the samples met it
    check(len(recursive) <= 1, "descend_into() is one node, however deep it calls itself: %d" % len(recursive))
    target.say("")
    target.truth()


@live("a pool that mostly waits for work: what it does when it has some, sleeps on purpose, and idles are told apart")
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


@live("threads that wait at a barrier or an eventfd for a thread of their program that sleeps are not idle")
def inside():
    for kind in "barrier", "event", "epoll":
        target = Target("walk_inside", kind)
        target.go()
        document = walk(target.pid)
        path = document["paths"][0]
        check(goes_through(path, "slowest") and path["time"] == "sleep", "%s: %s" % (kind, told(document)))
        equal("%s: status" % kind, document["status"], "root cause found")
        target.say("")
        target.truth()


@live("page faults of a computing program are named, or put in doubt, although no stack may show them")
def faults():
    target = Target("culprit_faults", 60, preexec_fn=undisturbed)
    target.go()
    document = walk(target.pid)
    path = on_cpu(document)
    check(goes_through(path, "touch") and (path["cause"]["kind"] == "page fault" or path.get("unsure")),
          "what touches the memory: %s" % told(document))
    check("page faults per second" in path["cause"].get("detail", "") or "exc_page_fault" in str(path["frames"]), "%s" % path["cause"])
    check(document["status"] in ("root cause found", "partly explained"), document["status"])


@live("a program that takes few page faults has none in its answer")
def few_faults():
    target = Target("walk_serve")
    target.go()
    document = walk(target.pid)
    check("page fault" not in str(document["paths"][0]["cause"]) + str(document["notes"]), "%s" % document["notes"])
    target.say("")
    target.truth()


@live("what a server does in threads that live shorter than the time between two snapshots is found")
def brief():
    for kind, wanted, cause in ("compute", ("answer", "compute"), "own code"), ("ask", ("answer",), "wait"):
        target = Target("walk_brief", kind)
        target.go()
        document = walk(target.pid, "--for", 5)
        path = on_cpu(document)
        equal("%s: what leads (%s)" % (kind, told(document)), (path["time"], path["cause"]["kind"]), ("work", cause))
        check(goes_through(path, *wanted), "%s: %s" % (kind, told(document)))
        # one request at a time, of which the threads take most
        between("%s: threads at work" % kind, document["walk"]["busy_threads"], 0.2, 1.5)
        target.say("")
        target.truth()


@live("a wait for a lock by a condition blocks a request; the same wait in the thread's own loop is idle")
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


@live("a poll(), select() or epoll is idle if clients end it, blocked if a server's answer does, and unsure on a socketpair")
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


WAITS = """
import select, socket, sys, time
kept = []
def connect():
    kept.append(socket.create_connection(("127.0.0.1", int(sys.argv[2]))))
    return kept[-1]
def polled(*sockets):
    poll = select.poll()
    for one in sockets:
        poll.register(one, select.POLLIN)
    return poll
def epolled(*sockets):
    epoll = select.epoll()
    for one in sockets:
        epoll.register(one, select.EPOLLIN)
    return epoll
pair = socket.socketpair()
if sys.argv[1] == "accepted":
    listening = socket.create_server(("127.0.0.1", 0))
    other = socket.create_connection(listening.getsockname())
    kept.append(listening.accept()[0])
    waits = epolled(kept[-1], pair[0])
elif sys.argv[1] not in ("poll", "epoll", "two"):
    # a server with a client, and with other servers, each of which answers its first request only
    listening = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listening.getsockname())
    accepted = listening.accept()[0]
    upstream, other = connect(), connect()
    request, answer, ask = (client, accepted), (accepted, client), (upstream, None)
    used = [request, (upstream, upstream), answer]
    turns = {"between": used, "answered": used, "proxy": used + [request, ask], "asked": used + [request, ask],
             "owed": used + [request], "several": used + [(other, other), request, ask, (other, None)],
             "first": [request], "relay": [request, ask], "poll relay": [request, ask]}[sys.argv[1]]
    by_poll = sys.argv[1] in ("between", "proxy", "poll relay")
    waits = polled(accepted, upstream) if by_poll else epolled(listening, accepted, upstream, other)
    for sender, receiver in turns:
        sender.sendall(b"x")
        if receiver:
            receiver.recv(1)
        time.sleep(0.05)  # the kernel notes the time of data in ticks of its clock
else:
    waits = {"poll": lambda: polled(connect(), pair[0]), "epoll": lambda: epolled(pair[0], connect()),
             "two": lambda: polled(connect(), connect())}[sys.argv[1]]()
print("ready", flush=True)
waits.poll()
"""


def awaited(kind, call, class_of_time, answers, doubt):
    """Walk WAITS, `answers` of whose connections get an answer to their first request."""
    with contextlib.ExitStack() as open_until_the_end:
        server = open_until_the_end.enter_context(socket.create_server(("127.0.0.1", 0)))
        server.settimeout(60)
        port = server.getsockname()[1]
        program = subprocess.Popen([sys.executable, "-c", WAITS, kind, str(port)], stdout=subprocess.PIPE)
        try:
            for _ in range(answers):
                connection = open_until_the_end.enter_context(server.accept()[0])
                asked = connection.recv(1)
                time.sleep(0.05)  # in another tick of the kernel's clock, as above
                connection.sendall(asked)
            equal("the program", program.stdout.readline(), b"ready\n")
            document = walk(program.pid, "--timeout", 60)
            path = path_with(document, "syscall:" + call, time=class_of_time)
            equal("%s: its server is named (%s)" % (kind, path["cause"]), "127.0.0.1:%d" % port in str(path["cause"]), class_of_time == "work")
            equal("%s: doubt" % kind, bool(path.get("unsure")), doubt)
            equal("%s: status" % kind, document["status"], "partly explained" if doubt else "root cause found")
        finally:
            program.kill()
            program.wait()


@smoke("a poll() of the only connection of a client is a wait for its server, which is named")
def polled_connection():
    awaited("poll", "poll", "work", 0, False)


@live("a wait for the only connection of a client is for its server, whatever the process wakes itself by")
def only_connection():
    for row in (("epoll", "epoll_wait", "work", 0, False), ("two", "poll", "idle", 0, True), ("accepted", "epoll_wait", "idle", 0, False)):
        awaited(*row)


@live("a server with a request of a client waits for the one server that it has asked, and else is idle or perhaps idle")
def asked_server():
    for row in (("proxy", "poll", "work", 1, False), ("between", "poll", "idle", 1, False), ("asked", "epoll_wait", "work", 1, False),
                ("several", "epoll_wait", "idle", 2, True), ("owed", "epoll_wait", "idle", 1, True),
                ("first", "epoll_wait", "idle", 0, True), ("answered", "epoll_wait", "idle", 1, False)):
        awaited(*row)


@live("a relay, whose client only sends and whose server is only sent to, is perhaps idle and not blocked by that server")
def relay():
    for row in ("relay", "epoll_wait", "idle", 0, True), ("poll relay", "poll", "idle", 0, True):
        awaited(*row)


@live("in a stripped Go program functions have names, and threads without a goroutine to run are perhaps idle")
def stripped_go():
    if not os.path.exists("%s/gopark" % TARGETS):
        raise Skip("no go")
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/stripped"
        subprocess.check_call(["strip", "-o", path, "%s/gopark" % TARGETS])
        program = subprocess.Popen([path, "100", "channel"], stdout=subprocess.DEVNULL)
        try:
            # the runtime starts further threads
            wait_for(lambda: len(os.listdir("/proc/%d/task" % program.pid)) > 3, "its threads")
            document = walk(program.pid, "--timeout", 60)
            path = path_with(document, "runtime.mcall", "runtime.schedule", time="idle")
            check(path.get("unsure"), "what the goroutines wait for is not known: %s" % path)
            equal("the last frame", path["frames"][-1]["function"], "runtime.schedule")
            check(document["status"] != "root cause found", document["status"])
        finally:
            program.kill()
            program.wait()


LOCKS = """
import fcntl, sys
file = open(sys.argv[2], "w")
print("ready", flush=True)
(fcntl.flock if sys.argv[1] == "flock" else fcntl.lockf)(file, fcntl.LOCK_EX)
"""


@live("who waits for a lock on a file is told which process has it")
def file_locks():
    for kind, lock in ("flock", fcntl.flock), ("fcntl", fcntl.lockf):
        with tempfile.NamedTemporaryFile() as file:
            lock(file, fcntl.LOCK_EX)
            program = subprocess.Popen([sys.executable, "-c", LOCKS, kind, file.name], stdout=subprocess.PIPE)
            try:
                equal("the program", program.stdout.readline(), b"ready\n")
                path = path_with(walk(program.pid), "syscall:" + kind, kinds=("lock",), time="work")
                check(path["cause"]["name"].endswith(" %d" % os.getpid()), "who has the lock: %s" % path["cause"])
            finally:
                program.kill()
                program.wait()


HELD = """
import os
end, _ = os.pipe()
print("ready", flush=True)
os.read(end, 1)
"""


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    yield ""


@contextlib.contextmanager
def traced(pid):
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    attach, detach = 16, 17
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    equal("attach", ptrace(attach, pid, None, None), 0)
    os.waitpid(pid, 0)
    try:
        yield " %d" % os.getpid()
    finally:
        ptrace(detach, pid, None, None)


@contextlib.contextmanager
def frozen(pid):
    """By a freezer of version 1 or 2, whichever the host has."""
    for base, knob, on, off in (("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
                                ("/sys/fs/cgroup", "cgroup.freeze", "1", "0"),
                                ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0")):
        group = "%s/peaktop-test-%d" % (base, pid)
        if not os.path.exists(base + "/cgroup.procs"):
            continue
        try:
            os.mkdir(group)
        except OSError:
            continue
        if not os.path.exists(group + "/" + knob):
            os.rmdir(group)
            continue
        try:
            write(group + "/cgroup.procs", str(pid))
            write(group + "/" + knob, on)
            yield "the cgroup freezer"
        finally:
            write(group + "/" + knob, off)
            write(base + "/cgroup.procs", str(pid))
            os.rmdir(group)
        return
    raise Skip("no cgroup freezer")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def held_up(hold):
    program = subprocess.Popen([sys.executable, "-c", HELD], stdout=subprocess.PIPE)
    try:
        equal("the program", program.stdout.readline(), b"ready\n")
        with hold(program.pid) as by:
            document = walk(program.pid, "--for", 3)
            first = document["paths"][0]
            equal("what leads", (document["walk"]["lead"], first["time"], first["cause"]["kind"]), ("work", "work", "stopped"))
            check(by in (first["cause"].get("name") or ""), "by whom (%s): %s" % (by, first["cause"]))
            between("the time that it was held up", document["walk"]["work"], 0.95, 1.001)
            thread = run_peaktop("descend", "-p", program.pid, "--open", "--json")[1].document()["open_calls"][0]
            equal("--open", thread["wait"]["kind"], "stopped")
    finally:
        program.kill()
        program.wait()


@live("a program that is stopped by a signal is held up, not idle")
def held_by_signal():
    held_up(stopped)


@smoke("a program that a debugger holds is held up, not idle, and the debugger is named")
def held_by_debugger():
    held_up(traced)


@live("a program that the cgroup freezer holds is held up, not idle")
def held_by_freezer():
    held_up(frozen)


FULL = """
import mmap, os, sys
path, size = sys.argv[1], 64 << 20
with open(path, "wb") as file:
    for _ in range(64):
        file.write(bytes(1 << 20))
    file.flush()
    os.fsync(file.fileno())
print("ready", flush=True)
with open(path, "rb") as file:
    while True:
        mmap.mmap(file.fileno(), size, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ).close()
"""


@contextlib.contextmanager
def memory_group(limit):
    """A cgroup of version 1 or 2, whichever the host has, with this limit."""
    for base, knob in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = "%s/peaktop-test-%d" % (base, os.getpid())
        if not os.path.exists(base + "/cgroup.procs"):
            continue
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            if os.path.exists(group + "/" + knob):
                write(group + "/" + knob, str(limit))
                yield group
                return
        finally:
            os.rmdir(group)
    raise Skip("no memory controller")


@live("memory freed at the limit of a cgroup is told with the name of the cgroup, reading it again as page faults")
def at_limit():
    with memory_group(32 << 20) as group:
        path = os.path.join(scratch(), "full")
        program = subprocess.Popen(["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', group, sys.executable, "-c", FULL, path],
                                   stdout=subprocess.PIPE)
        try:
            equal("the program", program.stdout.readline(), b"ready\n")
            document = walk(program.pid, "--for", 8)
            causes = [p["cause"] for p in document["paths"] if p["cause"]["kind"] == "reclaim"]
            # What was freed is read again: where that takes longer than to free it, it is the answer.
            reads = [p for p in document["paths"] if p["cause"]["kind"] == "page fault" and p["cause"]["detail"] == "mmap"]
            check(causes or reads, "%s: %s" % (document["status"], [(p["share"], p["cause"]) for p in document["paths"]]))
            if not causes:
                return
            equal("whose limit", os.path.basename(causes[0]["name"]), os.path.basename(group))
            equal("which limit", causes[0]["detail"], "memory limit of 32 MiB reached")
        finally:
            program.kill()
            program.wait()


SPINS = """
import threading
def spin():
    while True:
        sum(i * i for i in range(1000))
for _ in range(2):
    threading.Thread(target=spin).start()
print("ready", flush=True)
spin()
"""


@live("threads of a stripped Python that wait for its global lock are blocked")
def global_lock():
    if subprocess.run(["dpkg", "-S", "/usr/bin/python3"], capture_output=True).returncode:
        raise Skip("no Python of the distribution")
    program = subprocess.Popen(["/usr/bin/python3", "-c", SPINS], stdout=subprocess.PIPE)
    try:
        equal("the program", program.stdout.readline(), b"ready\n")
        document = walk(program.pid, "--timeout", 60)
        locks = sum(p["share"] for p in document["paths"] if p["time"] == "work" and p["cause"]["kind"] == "lock")
        # how long the threads wait for a CPU meanwhile is not what is tested
        of_others = locks / (1 - document["walk"]["run_queue"])
        between("the part of the other time that is for the lock", of_others, 0.3, 0.95)
        between("idle", document["walk"]["idle"], 0, 0.05)
    finally:
        program.kill()
        program.wait()


@case("a recorded walk is computed again, to the same answer")
def recorded():
    target = Target("walk_pool", 2)
    target.go()
    path = os.path.join(scratch(), "walk.peaktop")
    live = walk(target.pid, "--for", 2, "-o", path, status=None)
    status = 0 if live["paths"] else 1
    got, program = run_peaktop("descend", "-r", path, "--json")
    equal("exit status (%s)" % program.error_text(), got, status)
    again = program.document()
    for key in ("function", "status", "walk", "paths", "ftree", "notes"):
        equal("%s of the replay" % key, again[key], live[key])
    got, program = run_peaktop("export", path, "--format", "json")
    equal("exit status of the export (%s)" % program.error_text(), got, status)
    equal("the export", program.document(), again)
    target.say("")
    target.say("")


@live("a command is walked from its first instruction to its end, also its children")
def command():
    got, program = run_peaktop("descend", "--json", "--follow", "--timeout", 60, "--", "sh", "-c",
                               "%s/walk_serve 16000 >/dev/null; true" % TARGETS)
    document = program.document()
    equal("exit status (%s)" % program.error_text(), got, 0)
    path_with(document, "main", "serve", "compute", time="work")
    path_with(document, "syscall:wait4", time="idle")
    shares(document)


@live("a shell waits for its command, which is named although both end before a wait is reported")
def short_wait():
    got, program = run_peaktop("descend", "--json", "--", "sh", "-c", "sleep 0.2; true")
    document = program.document()
    equal("exit status (%s)" % program.error_text(), got, 0)
    path = path_with(document, "syscall:wait4", time="work")
    check("sleep" in path["cause"]["name"], "whom it waits for: %s" % path)
    check(path["share"] > 0.4, told(document))


@case("a command that ends at once: no answer, and a line that says what helps")
def short():
    def unanswered():
        got, program = run_peaktop("descend", "--", "true")
        said = program.error_text().strip()
        # a sample may catch even such a command; then there is an answer
        check(got or "Path 1:" in program.text() and not said, "answered by: %s, %s" % (program.text(), said))
        return got and (got, said)
    got, said = wait_for(unanswered, "a run that no sample catches")
    equal("exit status", got, 1)
    check(said.startswith("peaktop: no answer: the target ended before") and "a loop of such runs" in said, said)
    check("--timeout" not in said, "it ended by itself: %s" % said)


@live("a write to a full pipe waits for the process that has the other end, not for the shell that started that")
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


@live("a shell that reads the output of a command waits for that command")
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


@live("who waits for one given child is told to wait for that")
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


def cause_of(pid, call):
    cause = path_with(walk(pid, "--timeout", 60), "syscall:" + call, time="work")["cause"]
    return cause["kind"], cause["name"]


@live("who waits for any child waits for the commands that it has started, also by a signal")
def any_child():
    for command, call, commands in ((["timeout", "900", "sleep", "1000"], "rt_sigsuspend", 1),
                                    (["dash", "-c", "sleep 1000; true"], "wait4", 1),
                                    (["dash", "-c", "sleep 1000 | sleep 1001; true"], "wait4", 2),
                                    (["dash", "-c", "sleep 1000 & sleep 1001 & wait"], "rt_sigsuspend", 2)):
        parent = subprocess.Popen(command, start_new_session=True)
        children = lambda: open("/proc/%d/task/%d/children" % (parent.pid, parent.pid)).read().split()
        comms = lambda: [open("/proc/%s/comm" % child).read() for child in children()]
        try:
            wait_for(lambda: comms() == ["sleep\n"] * commands, "the commands")
            equal("what %s waits for" % command, cause_of(parent.pid, call),
                  ("wait", ", ".join("sleep %s" % child for child in children())))
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
            parent.wait()


POLLS = """
import select, subprocess, sys
child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
waits = select.poll() if sys.argv[1] == "poll" else select.epoll()
for pipe in child.stdout, child.stderr:
    waits.register(pipe, select.POLLIN)
print(child.pid, flush=True)
waits.poll()
"""


@live("who polls the output of a command that it has started waits for that")
def polled_output():
    for call in "poll", "epoll":
        program = subprocess.Popen([sys.executable, "-c", POLLS, call], stdout=subprocess.PIPE, start_new_session=True)
        try:
            child = int(program.stdout.readline())
            wait_for(lambda: open("/proc/%d/comm" % child).read() == "sleep\n", "its program")
            equal("what it waits for", cause_of(program.pid, {"poll": "poll", "epoll": "epoll_wait"}[call]),
                  ("wait", "sleep %d" % child))
        finally:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


SUPERVISOR = """
import os, sys
for _ in range(int(sys.argv[1])):
    if not os.fork():
        os.execlp("perl", "perl", "-MIO::Socket::INET", "-e",
                  'my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1"); syswrite STDOUT, "x"; $s->accept()')
os.wait()
"""


@live("who waits for children that are servers is perhaps idle")
def supervisor():
    for nr in 1, 2:
        program = subprocess.Popen([sys.executable, "-c", SUPERVISOR, str(nr)], stdout=subprocess.PIPE, start_new_session=True)
        try:
            equal("the servers", program.stdout.read(nr), b"x" * nr)
            document = walk(program.pid, "--timeout", 60)
            path = path_with(document, "syscall:wait4", time="idle")
            check(path.get("unsure") and "perl" in path["cause"]["name"], "%s" % path)
            equal("status", document["status"], "partly explained")
        finally:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


@live("who opens a FIFO waits for its other end, which is named")
def fifo():
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/fifo"
        os.mkfifo(path)
        for how, time in (("rb", "idle"), ("wb", "work")):
            program = subprocess.Popen([sys.executable, "-c", "open(%r, %r)" % (path, how)])
            try:
                wait_for(lambda: open("/proc/%d/syscall" % program.pid).read().split()[0] == "257", "openat()")
                wait_for(lambda: "wait_for_partner" in open("/proc/%d/stack" % program.pid).read(), "the FIFO")
                found = path_with(walk(program.pid, "--timeout", 60), "syscall:openat", time=time)
                equal("%s: doubt" % how, bool(found.get("unsure")), time == "idle")
                check(path in found["cause"]["detail"], "%s" % found["cause"])
            finally:
                program.kill()
                program.wait()


MASTER = """
import os, signal, sys
def wait():
    signal.sigwait([signal.SIGTERM]) if sys.argv[1] == "signal" else os.wait()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
for _ in range(2):
    if not os.fork():
        signal.pause()
if sys.argv[2] == "helper":
    if not os.fork():
        os.execlp("sleep", "sleep", "1000")
print("ready", flush=True)
wait()
"""


@live("a server's first process that waits for signals is idle while its workers live; beside a command it is not known")
def master():
    for waits, beside, call, unsure in (("signal", "none", "rt_sigtimedwait", False), ("signal", "helper", "rt_sigtimedwait", True),
                                        ("child", "none", "wait4", True)):
        program = subprocess.Popen([sys.executable, "-c", MASTER, waits, beside], stdout=subprocess.PIPE, start_new_session=True)
        try:
            equal("the program", program.stdout.readline(), b"ready\n")
            document = walk(program.pid, "--timeout", 60)
            path = path_with(document, "syscall:" + call, time="idle")
            equal("%s, %s: doubt" % (waits, beside), bool(path.get("unsure")), unsure)
            equal("status", document["status"], "partly explained" if unsure else "root cause found")
        finally:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


@live("text says the path, the kinds of time and how to go on")
def text():
    target = Target("walk_serve")
    target.go()
    got, program = run_peaktop("descend", "-p", target.pid, "--for", 3)
    equal("exit status", got, 0)
    out = program.text()
    for wanted in ("main > serve > compute", "of their time working", "Path 1:", "idle", "shares are of the wall time",
                   "peaktop descend -p %d -f '" % target.pid):
        check(wanted in out.replace("\n  ", " ").replace("\n", " "), "%r in: %s" % (wanted, out))


@live("a server without a request is idle, told by its first thread, however many wait beside it")
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


@live("a flat profile says so, and names the functions with most time of their own")
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


@live("code made at run time without frame pointers is passed through, and named by its map for perf")
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


@case("a function that exists only in code made at run time is refused with what can be done instead")
def made_watched():
    target = Target("walk_made")
    target.go()
    wait_for(lambda: os.path.exists("/tmp/perf-%d.map" % target.pid), "the map for perf")
    got, program = run_peaktop("watch", "-p", target.pid, "-f", "made_handler", "--for", 1)
    equal("exit status (%s)" % program.error_text(), got, 2)
    check("perf-%d.map, cannot be probed; peaktop descend -p" % target.pid in program.error_text(), program.error_text())
    target.say("")
    target.truth()


@live("of several processes the suggestion names the one that runs the function")
def process_of_function():
    got, program = run_peaktop("descend", "--json", "--follow", "--timeout", 60, "--", "sh", "-c",
                               "%s/walk_serve 12000 >/dev/null; true" % TARGETS)
    equal("exit status (%s)" % program.error_text(), got, 0)
    onward = [note for note in program.document()["notes"] if "next: " in note]
    check(onward and "walk_serve" in onward[0], "notes: %s" % program.document()["notes"])


@case("of thousands of threads all are counted, and what one does beside a crowd is named")
def crowd():
    target = Target("crowd", 5000)
    target.asleep()
    document = walk(target.pid)
    equal("threads", document["walk"]["threads"], 5001)
    check("threads_left_out" not in document["walk"], "%s" % document["walk"])
    check(document["walk"]["joined"] > 0, "%s" % document["walk"])
    for wanted in ("stuck", "wait_for_work"), ("worker", "wait_for_work"):
        check(any(" ".join(wanted) in " ".join(names(path)) for path in document["paths"]), "%s in: %s" % (wanted, told(document)))
    check(any("same places as hundreds" in note for note in document["notes"]), "%s" % document["notes"])
    target.go()
    equal("threads that the target counted", target.truth()["threads"], 5000)
    target.finish()


@case("--peak needs a function; options out of range are refused")
def usage():
    target = Target("walk_pool", 1)
    target.go()
    equal("--peak", run_peaktop("descend", "-p", target.pid, "--peak", 2)[0], 2)
    equal("--slowest", run_peaktop("descend", "-p", target.pid, "--slowest", 2)[0], 2)


main()
