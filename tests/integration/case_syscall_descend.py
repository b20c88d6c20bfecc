# SPDX-License-Identifier: GPL-2.0-or-later
"""descend from and into system calls: what they waited for, the kernel below, the callers above."""
import tempfile

from descents import *


def ask(target, function, *args):
    return descend(target.pid, function, "--start-ops", 60, *args)


def calls(kind, rounds=1000000):
    t = Target("descend_calls", kind, rounds, cwd=scratch())
    t.go()
    return t


def kernel_frames(path):
    found = [f for f in path["frames"] if f.get("module") == "[kernel]"]
    check(all(f["evidence"] in ("witnessed", "sampled", "measured") for f in found), found)
    return [f["function"] for f in found]


def called_by(document, wanted, not_by):
    check(document.get("callers"), "the callers are told; notes: %s" % document["notes"])
    functions = [f["function"].split("(")[0] for f in document["callers"][0]["frames"]]
    check(wanted in functions and "main" in functions and functions.index("main") < functions.index(wanted), functions)
    check(not_by not in functions, functions)
    check(any(f["function"].startswith(wanted) and f.get("file", "").endswith("descend_calls.c") and f["line"] > 0
              for f in document["callers"][0]["frames"]), document["callers"][0])
    between("shares of the callers", sum(c["share"] for c in document["callers"]), 0.5, 1.001)


@live("a sleep on purpose: the call that sleeps long, told from the ones that sleep short by its callers")
def sleep():
    document = ask(calls("sleep"), "syscall:nanosleep")
    equal("function", document["function"], "syscall:nanosleep")
    path = path_with(document, "syscall:nanosleep", kinds=("sleep",))
    equal("the first frame", path["frames"][0]["function"], "syscall:nanosleep")
    equal("its module", path["frames"][0]["module"], "[kernel]")
    check("nanosleep" in " ".join(kernel_frames(path)[1:]), "the kernel below: %s" % kernel_frames(path))
    equal("rounds", document["rounds"], 0)
    equal("the tree", (document["ftree"]["function"], document["ftree"]["children"]), ("syscall:nanosleep", []))
    shares_add_up(document)
    called_by(document, "slow_way", "fast_way")


@live("a socket: the peer, the task that answered, the kernel stack")
def tcp():
    t = calls("tcp")
    document = ask(t, "syscall:read")
    cause = path_with(document, "syscall:read", "tcp_recvmsg", kinds=("wait",))["cause"]
    equal("who was waited for", cause["name"], "late-writer")
    check("127.0.0.1:" in cause["detail"] and "late-writer" in cause["detail"], cause)
    called_by(document, "do_ask", "do_read")


@smoke("a poll() of a listening socket: the wait is for new connections, not for a peer")
def listening():
    server = subprocess.Popen([sys.executable, "-c", """
import select, socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
poll = select.poll()
poll.register(server, select.POLLIN)
while poll.poll():
    server.accept()[0].close()
"""], stdout=subprocess.PIPE)
    port = int(server.stdout.readline())
    client = subprocess.Popen([sys.executable, "-c", """
import socket, time
while True:
    time.sleep(0.02)
    socket.create_connection(("127.0.0.1", %d)).close()
""" % port])
    try:
        status, program = run_descend(server.pid, "syscall:poll", "--json", *FAST)
        equal("exit status (%s)" % program.error_text(), status, 0)
        cause = program.document()["paths"][0]["cause"]
        equal("cause", (cause["kind"], cause["name"]), ("network", "new connections to port %d" % port))
    finally:
        for one in client, server:
            one.kill()
            one.wait()


@live("a pipe: the task at its other end")
def pipe():
    document = ask(calls("pipe"), "syscall:read")
    equal("who was waited for", path_with(document, "syscall:read", kinds=("wait",))["cause"]["name"], "late-writer")


@smoke("a file: its name, from the descriptor")
def file():
    t = calls("file")
    document = ask(t, "syscall:pread64")
    path = path_with(document, "syscall:pread64", kinds=("io",))
    equal("the file", os.path.basename(path["cause"]["name"]), "descend_calls.data")
    check("pread64" in path["cause"]["detail"], path["cause"])


@live("a system call that works: the kernel functions that take the CPU, sampled")
def cpu():
    t = calls("cpu")
    # the lowest peak is the one that nobody else's use of the CPU is in
    document = ask(t, "syscall:read", "--peak", 1)
    path = path_with(document, "vfs_read", kinds=("kernel",))
    equal("evidence", {f["evidence"] for f in path["frames"][1:]}, {"sampled"})
    shares_add_up(document)
    called_by(document, "do_zero", "do_read")


@live("a function that ends in a blocked system call: the way goes on in the kernel, the holder of the lock is named")
def lock():
    document = ask(calls("lock"), "slow_way")
    path = path_with(document, "slow_way", "syscall:futex", kinds=("lock",))
    equal("the holder", path["cause"]["name"], "lock-holder")
    frames = names(path)
    equal("the first frame", frames[0], "slow_way")
    check("futex" in " ".join(frames[frames.index("syscall:futex") + 1:]), "below the system call: %s" % frames)
    shares_add_up(document)


@live("pages of a file that are not there: the fault, and the file")
def fault():
    t = calls("fault")
    document = ask(t, "slow_way")
    path = path_with(document, "slow_way", kinds=("page fault",))
    equal("the file", os.path.basename(path["cause"].get("name", "")), "descend_calls.data")
    check("page fault" in kernel_frames(path), names(path))


@live("fsync() of a file whose descriptor is another file's at once: the name is that of the file it was for")
def closed():
    # on the disk that the build is on: a file system in memory has nothing to wait for
    with tempfile.TemporaryDirectory(prefix="closed.", dir=BUILD) as folder:
        t = Target("descend_calls", "closed", 1000000, cwd=folder)
        t.go()
        document = ask(t, "syscall:fsync")
        t.end()
    path = path_with(document, "syscall:fsync", kinds=("io",))
    equal("the file", os.path.basename(path["cause"].get("name", "")), "descend_calls.data")


@live("a recorded descent into a system call gives the same answer again, as text too")
def recorded():
    path = os.path.join(scratch(), "calls.peaktop")
    t = calls("pipe")
    document = ask(t, "syscall:read", "-o", path)
    path_with(document, "syscall:read", kinds=("wait",))
    status, again = run_peaktop("descend", "-r", path, "--json")
    equal("status", status, 0)
    for key in ("function", "status", "calls_used", "explained", "paths", "callers", "ftree"):
        equal(key, again.document()[key], document[key])
    status, text = run_peaktop("descend", "-r", path)
    check("in the kernel: " in text.text() and "Called by" in text.text(), text.text())


@case("a system call that is never made: not enough calls, exit 1; an unknown one is refused")
def never():
    t = calls("sleep")
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "syscall:reboot", "--timeout", 2)
    equal("status", status, 1)
    check("not enough calls" in program.error_text(), program.error_text())
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "syscall:raed")
    equal("status", status, 2)


main()
