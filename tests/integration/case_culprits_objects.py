# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: what a call waits for is named, with who is at the other end."""
from culprits import *

# On the disk that the build is on: a file system in memory has nothing to wait for.
FOLDER = tempfile.mkdtemp(prefix="culprit.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


# A disk may be so fast that submitting requests takes as long as waiting for them.
DISK = {"statuses": ("root cause found", "partly explained", "in progress")}


def waits(kind, frames, cause, **more):
    return Culprit("culprit_objects", ["serve", kind.split("_")[0] + "_serve", *frames], cause,
                   arguments=(60, kind, os.path.join(FOLDER, kind + ".data")), **more)


def requests_of_a_file(document, path, target):
    """In the chains of the waits, too, the requests are for the file that is read, not for the socket."""
    requests = [layer["detail"] for chain in path.get("waits", []) for layer in chain["layers"] if layer["state"] == "io"]
    check(all("sendfile.data" in text for text in requests), "requests: %s" % requests)


def computes(document, best, target):
    """The chain goes on to the function that runs meanwhile."""
    functions = [f["function"] for chain in best.get("waits", ()) for layer in chain["layers"] for f in layer.get("frames", ())]
    partly("main.busy" in functions or not functions, "main.busy is not among %s" % sorted(set(functions)))


CASES = (
    ("sendfile() from a disk: the file that is read",
     waits("sendfile", (), "io", name="sendfile.data", detail="sendfile", share=0.1, more=requests_of_a_file, **DISK)),
    ("splice() from a disk: the file that is read", waits("splice", (), "io", name="splice.data", detail="splice", share=0.1, **DISK)),
    ("copy_file_range() from a disk: the file that is read",
     waits("copy", (), "io", name="copy.data", detail="copy_file_range", share=0.1, **DISK)),
    ("io_uring: the file that is read", waits("uring", (), "io", name="uring.data", detail="io_uring_enter", share=0.1, **DISK)),
    ("a Unix socket: its path, and the process at the other end",
     waits("unix", (), "wait", name="librarian", detail="unix.data.sock of librarian")),
    ("a pipe that is full: who reads it", waits("full", ("write",), "wait", name="drainer", detail="write to a full pipe")),
    ("a FIFO: its path, and who writes it", waits("fifo", ("read",), "wait", name="feeder", detail="fifo.data.fifo")),
    ("an eventfd: who counts it up", waits("event", ("read",), "wait", name="notifier", detail="read from an eventfd")),
    ("poll() on one connection: its peer", waits("peer", ("poll",), "wait", name="server", detail="poll on 127.0.0.77:")),
    ("a name server that does not answer", waits("dns", ("poll",), "timeout", name="127.0.0.77:53 (DNS server)", detail="asked for 3 ms")),
    ("packets that are lost: retransmissions to the peer",
     waits("loss", (), "network", name="127.0.0.77:", detail="retransmission", args=("--timeout", 60))),
    ("a timer that the kernel may delay", waits("slack", (), "sleep", name="timer slack", detail="asked for 100 us, slept")),
    ("a sleep on purpose: how long", waits("purpose", (), "sleep", detail="asked for 2 ms")),
    ("a sleep in a static C library without call frame information (musl)",
     Culprit("culprit_sleep-musl", ["serve", "back_off"], "sleep", detail="nanosleep, asked for 2 ms")),
    ("a goroutine that waits for another one, not its thread's futex or epoll",
     Culprit("gopark", ["main.serve", "main.fetch"], "wait", name="another goroutine", detail="parked: chan receive", f0="main.serve",
             arguments=(60, "channel"), statuses=("root cause found", "partly explained"))),
    ("a goroutine that sleeps on purpose",
     Culprit("gopark", ["main.serve", "main.nap", "time.Sleep"], "sleep", detail="parked: sleep", f0="main.serve",
             arguments=(60, "sleep"), statuses=("root cause found", "partly explained"))),
    ("a goroutine that stops the world waits for the thread that computes without a safepoint, not on purpose",
     Culprit("gopark", ["main.serve", "main.stopWorld", "runtime.ReadMemStats"], "wait", name="gopark", detail="futex, woken by gopark", f0="main.serve",
             arguments=(60, "stop"), statuses=("root cause found", "partly explained"), environment={"GODEBUG": "asyncpreemptoff=1"}, more=computes)),
    ("a callee that a loop calls seven times is named with its number",
     Culprit("culprit_seven", ["serve", "load_all"], "loop", name="load_plugin", detail="7 calls, ")),
    ("who has a lock, and that it sleeps with it",
     waits("held_asleep", ("pthread_mutex_lock",), "lock", name="holder", detail="which was in clock_nanosleep")),
    ("who has a lock, and that it works with it", waits("held_running", ("pthread_mutex_lock",), "lock", name="holder", detail="which")),
)

SMOKES = ("a Unix socket", "a goroutine that waits")

for what, culprit in CASES:
    # timers of a real-time thread have no slack
    (smoke if what.startswith(SMOKES) else live)(what)(lambda culprit=culprit: once(culprit, real_time="slack" not in culprit.arguments))


main()
