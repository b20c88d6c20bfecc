# SPDX-License-Identifier: GPL-2.0-or-later
"""Situations in which whoever ends a wait is not to blame for it: what is said by a descent, by a walk and by chains, and of a control."""
import contextlib

from culprits import *

FOLDER = tempfile.mkdtemp(prefix="culprit.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


@contextlib.contextmanager
def file_system():
    """A small file system of its own, thawed at the end whatever happens."""
    image, folder = os.path.join(FOLDER, "image"), os.path.join(FOLDER, "disk")
    os.makedirs(folder, exist_ok=True)
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    made = subprocess.run(["mkfs.ext4", "-q", "-F", image], check=False, stderr=subprocess.DEVNULL).returncode == 0
    if not made or subprocess.run(["mount", "-o", "loop", image, folder], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["fsfreeze", "-u", folder], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["umount", "-l", folder], check=False)


def said(target, *command):
    """What a verb prints, on one line."""
    return " ".join(run_peaktop(*command, "-p", target.pid, seconds=70)[1].text().split())


def blamed(words, kind, frames, cause, folder=None, verbs=True, **more):
    """The descent names the cause; the walk and the chains say the same words; nothing says them of the control."""
    name, start = kind.split("_", maxsplit=1)[0], (60, kind) + ((folder,) if folder else ())
    culprit = Culprit("culprit_blame", ["serve", name + "_serve", *frames] if frames is not None else ["serve"], cause, arguments=start, **more)
    Asked.truth = "%s, %s" % (truth_of(culprit), words)
    target = Target("culprit_blame", *start)
    target.go()
    document = ask(target, culprit)
    best = judge(document, culprit)
    text = json.dumps(best)
    check(cause == "cpu quota" or words in text, "not said: %s in %s" % (words, told(document)))
    for command in (("descend", "--timeout", 20), ("chains", "--for", 4)) if verbs else ():
        text = said(target, *command)
        check(words in text, "%s does not say %s: %s" % (command[0], words, text[:1500]))
    target.end()


def control(words, kind, folder=None):
    target = Target("culprit_blame", *(60, kind) + ((folder,) if folder else ()))
    target.go()
    for command in (("descend", "-f", "serve", "--slowest", 10, "--timeout", 20), ("descend", "--timeout", 20), ("chains", "--for", 4)):
        text = said(target, *command)
        check(words not in text, "%s says %s: %s" % (command[0], words, text[:1500]))
    target.end()


CASES = (
    ("its own budget of SCHED_DEADLINE is used up, nobody preempted it", "deadline", "deadline_room",
     {"words": "throttled by the CPU quota", "frames": None, "cause": "cpu quota", "name": "the thread itself", "detail": "3 ms of CPU time each 30 ms"}),
    ("small writes are held back until the peer's delayed acknowledgement", "nagle", "nagle_not",
     {"words": "own data held back", "frames": ("read",), "cause": "network", "name": "127.0.0.77:"}),
    ("no room in a datagram socket, whose reader sleeps", "dgram", "dgram_room",
     {"words": "waiting for room in a datagram socket", "frames": ("write",), "cause": "wait", "name": "reader", "detail": "11 of 11 messages"}),
    ("a grace period of RCU, for which its thread of the kernel is not to blame", "rcu", "rcu_not",
     {"words": "grace period of RCU", "frames": ("syscall",), "cause": "wait", "detail": "membarrier"}),
    ("a lock on a file that is tried again and again, who has it", "polled", "polled_free",
     {"words": "next try to get a file lock", "frames": ("lock_wait",), "cause": "lock", "name": "keeper",
      "detail": "fcntl F_SETLK failed with EAGAIN on ", "verbs": False}),
    ("mmap_lock, while another process reads smaps", "smaps", "smaps_not",
     {"words": "mmap_lock", "frames": ("mmap",), "cause": "lock", "statuses": ("root cause found", "partly explained", "distribution changed"),
      "share": 0.2, "verbs": False}),
)

for what, slow, other, expected in CASES:
    live(what)(lambda slow=slow, expected=expected: blamed(kind=slow, **expected))
    live("control: " + what)(lambda other=other, words=expected["words"]: control(words, other))


@live("a frozen file system: whoever thaws it did not hold a lock")
def frozen():
    with file_system() as folder:
        blamed("frozen file system", "frozen", ("pwrite",), "stopped", folder=folder, detail="ended by thawer")


@live("control: a frozen file system")
def thawed():
    with file_system() as folder:
        control("frozen file system", "frozen_not", folder=folder)


@live("no room in a datagram socket, whose reader is stopped and never wakes anybody")
def stuck():
    Asked.truth = "write, waiting for room in a datagram socket, 11 of 11 messages, read by reader, which is stopped"
    target = Target("culprit_blame", 60, "dgram_stopped")
    target.go()
    wait_for(lambda: "unix_wait_for_peer" in open("/proc/%d/stack" % target.pid, encoding="ascii").read(), "the target to wait")
    for command in (("descend", "--open"), ("descend", "-f", "serve", "--open"), ("descend", "--timeout", 20)):
        text = said(target, *command)
        for words in ("waiting for room in a datagram socket", "11 of 11 messages", "read by reader", "which is stopped"):
            check(words in text, "%s does not say %s: %s" % (" ".join(map(str, command)), words, text[:1500]))
    text = said(target, "chains", "--for", 4)
    for words in ("waiting for room in a datagram socket", "of reader"):
        check(words in text, "chains does not say %s: %s" % (words, text[:1500]))
    target.end()


@live("connect() to a full accept queue: the SYN is sent again")
def backlog():
    blamed("waiting until a connection is accepted", "backlog", ("connect",), "network", name="127.0.0.77:", verbs=False,
           detail="SYN sent 2 times: accept queue of acceptor", args=("--start-ops", 20, "--decision-ops", 5, "--timeout", 90))


main()
