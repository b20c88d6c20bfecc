# SPDX-License-Identifier: GPL-2.0-or-later
"""descend from and into system calls: what they waited for, the kernel below, the callers above."""
import tempfile

from harness import *

FAST = ("--max-overhead", 100, "--timeout", 30, "--start-ops", 60)


def descend(target, function, *args, wanted=lambda document: True):
    """The document of a descent, `wanted`. On a loaded machine another cause may be larger for a while: asked again then."""
    for attempt in range(6):
        with NothingLeft(target.pid):
            status, program = run_peaktop("descend", "-p", target.pid, "-f", function, "--json", *FAST, *args, seconds=90)
        document = program.document()
        if status == 0 and wanted(document):
            return document
    raise AssertionError("%s: %d, %s, %s; %s" % (function, status, document["status"], "; ".join(
        "%.2f %s: %s" % (p["share"], " > ".join(names(p)), p["cause"]) for p in document["paths"]), program.error_text()))


def calls(kind, rounds=1000000):
    t = Target("descend_calls", kind, rounds, cwd=scratch())
    t.go()
    return t


def names(path):
    return [frame["function"].split("(")[0] for frame in path["frames"]]


def path_of(document, kind):
    for path in document["paths"]:
        if path["cause"]["kind"] == kind:
            return path
    return None


def has(kind, *frames):
    """Is there a path with this cause whose frames contain these, in this order?"""
    def found(document):
        path = path_of(document, kind)
        rest = iter(names(path)) if path else iter(())
        return all(any(name == frame for name in rest) for frame in frames)
    return found


def shares_add_up(document):
    total = sum(path["share"] for path in document["paths"])
    between("shares of the paths beside `explained`", total, document["explained"] - 0.01, document["explained"] + 0.01)


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


@case("a sleep on purpose: the call that sleeps long, told from the ones that sleep short by its callers")
def sleep():
    document = descend(calls("sleep"), "syscall:nanosleep", wanted=lambda d: has("sleep", "syscall:nanosleep")(d) and d.get("callers"))
    equal("function", document["function"], "syscall:nanosleep")
    path = path_of(document, "sleep")
    equal("the first frame", path["frames"][0]["function"], "syscall:nanosleep")
    equal("its module", path["frames"][0]["module"], "[kernel]")
    check("nanosleep" in " ".join(kernel_frames(path)[1:]), "the kernel below: %s" % kernel_frames(path))
    equal("rounds", document["rounds"], 0)
    equal("the tree", (document["ftree"]["function"], document["ftree"]["children"]), ("syscall:nanosleep", []))
    shares_add_up(document)
    called_by(document, "slow_way", "fast_way")


@case("a socket: the peer, the task that answered, the kernel stack")
def tcp():
    t = calls("tcp")
    document = descend(t, "syscall:read", wanted=has("wait", "syscall:read", "tcp_recvmsg"))
    cause = path_of(document, "wait")["cause"]
    equal("who was waited for", cause["name"], "late-writer")
    check("127.0.0.1:" in cause["detail"] and "late-writer" in cause["detail"], cause)
    called_by(document, "do_ask", "do_read")


@case("a pipe: the task at its other end")
def pipe():
    document = descend(calls("pipe"), "syscall:read", wanted=has("wait", "syscall:read"))
    equal("who was waited for", path_of(document, "wait")["cause"]["name"], "late-writer")


@case("a file: its name, from the descriptor")
def file():
    t = calls("file")
    document = descend(t, "syscall:pread64", wanted=has("io", "syscall:pread64"))
    path = path_of(document, "io")
    equal("the file", os.path.basename(path["cause"]["name"]), "descend_calls.data")
    check("pread64" in path["cause"]["detail"], path["cause"])


@case("a system call that works: the kernel functions that take the CPU, sampled")
def cpu():
    t = calls("cpu")
    # the lowest peak is the one that nobody else's use of the CPU is in
    document = descend(t, "syscall:read", "--peak", 1, wanted=lambda d: any(p["cause"]["kind"] == "own code" and "vfs_read" in names(p)
                                                               for p in d["paths"]))
    path = next(p for p in document["paths"] if p["cause"]["kind"] == "own code" and "vfs_read" in names(p))
    equal("evidence", {f["evidence"] for f in path["frames"][1:]}, {"sampled"})
    shares_add_up(document)
    called_by(document, "do_zero", "do_read")


@case("a function that ends in a blocked system call: the way goes on in the kernel, the holder of the lock is named")
def lock():
    document = descend(calls("lock"), "slow_way", wanted=has("lock", "slow_way", "syscall:futex"))
    path = path_of(document, "lock")
    equal("the holder", path["cause"]["name"], "lock-holder")
    frames = names(path)
    equal("the first frame", frames[0], "slow_way")
    check("futex" in " ".join(frames[frames.index("syscall:futex") + 1:]), "below the system call: %s" % frames)
    shares_add_up(document)


@case("pages of a file that are not there: the fault, and the file")
def fault():
    t = calls("fault")
    document = descend(t, "slow_way", wanted=lambda d: any(p["cause"]["kind"] == "page fault" and p["cause"].get("name")
                                                           for p in d["paths"]))
    path = next(p for p in document["paths"] if p["cause"]["kind"] == "page fault" and p["cause"].get("name"))
    equal("the file", os.path.basename(path["cause"]["name"]), "descend_calls.data")
    check("page fault" in kernel_frames(path), names(path))


@case("fsync() of a file whose descriptor is another file's at once: the name is that of the file it was for")
def closed():
    # on the disk that the build is on: a file system in memory has nothing to wait for
    with tempfile.TemporaryDirectory(prefix="closed.", dir=BUILD) as folder:
        t = Target("descend_calls", "closed", 1000000, cwd=folder)
        t.go()
        document = descend(t, "syscall:fsync", wanted=has("io", "syscall:fsync"))
        t.end()
    equal("the file", os.path.basename(path_of(document, "io")["cause"].get("name", "")), "descend_calls.data")


@case("a recorded descent into a system call gives the same answer again, as text too")
def recorded():
    path = os.path.join(scratch(), "calls.peaktop")
    t = calls("pipe")
    document = descend(t, "syscall:read", "-o", path, wanted=has("wait", "syscall:read"))
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
