# SPDX-License-Identifier: GPL-2.0-or-later
"""chains, live: the kinds of waits, each with its known answer and without those that have nothing to do with it.

Times are CPU times of threads, which the load of the host does not change. A wait for a CPU may stand anywhere, so only what is
said of runs, sleeps, devices and packets is compared.
"""
from harness import *

ROUNDS = 20
# the kernel may work for a target, and peaktop starts it: these are no innocents
KERNEL = re.compile(r"(peaktop|kworker|jbd2|ksoftirqd|rcu|kcompactd|kswapd|kdamond|iou-|swapper|migration)")


def kinds(*command, innocents=True, status=0):
    """The document of a mode of wait_kinds, while a process runs that has nothing to do with it."""
    innocent = Program([os.path.join(TARGETS, "waits"), "sleep", "100000"])
    try:
        got, program = run_peaktop("chains", "--json", "--max-overhead", 100, "--", os.path.join(TARGETS, "wait_kinds"),
                                   *[str(a) for a in command], seconds=100)
    finally:
        innocent.process.kill()
    if program.error_text() and got == 3:
        raise Skip("not possible on this host")
    equal("exit status (%s)" % program.error_text(), got, status)
    document = json.loads(program.text())
    equal("lost records", document["losses"]["records"], 0)
    # a run lasts less than a second, so that one sleep whose begin was lost may be a tenth of it
    between("accounted by wall time\n" + told(document), document["accounted_wall"], 0.85, 1.0)
    check(innocent.pid not in {l.get("pid") for c in document["chains"] for l in c["layers"]}, told(document))
    return document


def told(document):
    return "\n".join("%.1f ms: %s" % (c["ns"] / 1e6, " > ".join("%s: %s" % (l.get("comm", ""), l["detail"])
                                                              for l in c["layers"])) for c in document["chains"][:40])


def spent(document, *layers):
    """Milliseconds of the chains that begin with these layers: (comm or None, word of the state or the detail)."""
    def fits(chain):
        return len(chain["layers"]) >= len(layers) and all(
            (comm is None or l.get("comm") == comm) and (l["state"] == word or word in l["detail"])
            for l, (comm, word) in zip(chain["layers"], layers))
    return sum(c["ns"] for c in document["chains"] if fits(c)) / 1e6


def category(document, name):
    return next(a["ns"] for a in document["accounting"] if a["category"] == name) / 1e6


def only(document, *comms):
    """No other task stands in a chain, but for threads of the kernel."""
    others = {l["comm"] for c in document["chains"] for l in c["layers"] if l.get("comm")} - {"wait_kinds", *comms}
    check(not [comm for comm in others if not KERNEL.match(comm)], "%s\n%s" % (others, told(document)))


def near(document, ms, *layers, more=2):
    """The chain has about so many ms of runs. A part of them may be a hand-off, or lie before the wait began."""
    run, handed = spent(document, *layers), sum(c["ns"] for c in document["chains"] if any(
        "waker still used" in l["detail"] for l in c["layers"])) / 1e6
    check(run <= 1.3 * ms + more and run + handed >= 0.7 * ms,
          "%s: %.1f ms of runs, %.1f ms of hand-offs, not %.1f\n%s" % (layers[-1], run, handed, ms, told(document)))


@live("a triangle: A waits for C, and C for B, each with what it ran")
def triangle():
    document = kinds("triangle", ROUNDS)
    only(document, "kinds-b", "kinds-c")
    near(document, 3 * ROUNDS, ("wait_kinds", "in a pipe"), ("kinds-c", "run"))
    near(document, 2 * ROUNDS, ("wait_kinds", "in a pipe"), ("kinds-c", "in a pipe"), ("kinds-b", "run"))
    check(spent(document, ("wait_kinds", "in a pipe"), ("kinds-b", "run")) < ROUNDS, "A does not wait for B itself\n" + told(document))


@live("the stack of a program that has just begun has its functions, although its libraries were not known when it was copied")
def begun():
    document = kinds("triangle", 8 * ROUNDS)
    waits = [c["layers"][0] for c in document["chains"] if "in a pipe" in c["layers"][0]["detail"]]
    check(any(f["function"] == "triangle" for l in waits for f in l["frames"]), "frames: %s" % waits)


@live("vfork(): the parent waits for the child until it ends")
def vfork():
    document = kinds("vfork", ROUNDS)
    only(document, "kinds-job")
    near(document, 3 * ROUNDS, ("wait_kinds", "vfork child"), ("kinds-job", "run"))


def server(mode):
    """The wait for a server on this host is for the server: neither network nor hardware."""
    document = kinds(mode, ROUNDS)
    only(document, "kinds-server")
    near(document, 3 * ROUNDS, ("wait_kinds", "local socket"), ("kinds-server", "run"))
    equal("network", category(document, "network"), 0)
    blamed = [c for c in document["chains"] if c["category"] == "hardware" and c["layers"][0]["state"] == "sleep" and
              len(c["layers"]) == 2]
    check(not blamed, "an interrupt ended a wait for the server\n" + told(document))


@live("a server at a Unix socket is named, and its runs")
def unix():
    server("unix")


@live("a server over loopback: the same answer")
def tcp():
    server("tcp")


@live("a loop around poll(): one sleep that timed out, with the thread that finished and woke nobody")
def poll():
    document = kinds("poll", 3)
    only(document, "kinds-helper")
    merged = [c for c in document["chains"] if "again and again until its timer" in c["layers"][0]["detail"] and
              c["layers"][0]["comm"] == "wait_kinds"]
    check(merged and all(c["category"] == "timed out" for c in merged), told(document))
    check(any("kinds-helper finished meanwhile and did not wake it" in c["layers"][0]["detail"] for c in merged), told(document))
    check(sum(c["ns"] for c in merged) / 1e6 > 3 * 20, told(document))


@live("a pool that is woken as a whole: those that find nothing were woken without work")
def pool():
    document = kinds("pool", ROUNDS)
    only(document, "kinds-worker")
    check(spent(document, ("kinds-worker", "woken without work")) > 0, told(document))
    check(spent(document, ("kinds-worker", "condition"), ("wait_kinds", "sleeping")) > ROUNDS * 5, told(document))


@live("a convoy at a mutex: each thread waits for all others, not for the last waker alone")
def convoy():
    document = kinds("convoy", 15)
    members = {"kinds-%d" % i for i in range(1, 5)}
    only(document, *members)
    for member in members:
        held = {c["layers"][1]["comm"] for c in document["chains"] if len(c["layers"]) > 1 and
                c["layers"][0]["comm"] == member and "waiting for a lock" in c["layers"][0]["detail"] and c["ns"] > 1e6}
        check(len(held - {member}) >= 2, "%s waits for %s\n%s" % (member, held, told(document)))


@smoke("join: a thread that has ended does not wake its joiner without work")
def joined():
    document = kinds("convoy", 15)
    joins = [l["detail"] for c in document["chains"] for l in c["layers"] if "joining a thread" in l["detail"]]
    check(joins and not any("without work" in detail for detail in joins), joins)


@live("accept(): the wait is for a connection, by whoever came, and nothing else")
def accept():
    document = kinds("accept", 300)
    only(document, "kinds-client")
    check(spent(document, ("wait_kinds", "waiting for a connection")) > 250, told(document))
    equal("network", category(document, "network"), 0)


@live("SIGSTOP: the time is stopped, and neither a sleep nor somebody's fault")
def stop():
    document = kinds("stop", 300)
    only(document, "kinds-stopper")
    check(not [c for c in document["chains"] if c["layers"][0]["detail"].startswith("stopped") and len(c["layers"]) > 1], told(document))
    # of a loaded host it is not known how late the stopper gets its CPU
    check(category(document, "stopped") > 200, told(document))


@live("files: reads at the device have the file's name, also with O_DIRECT")
def files():
    for mode in "direct", "cold":
        path = os.path.join(scratch(), "cold-file")
        document = kinds(mode, ROUNDS, path)
        only(document)
        check(spent(document, ("wait_kinds", "cold-file"), (None, "io")) > 0, "%s: %s" % (mode, told(document)))
        reads = [c for c in document["chains"] if "pread64: cold-file" in c["layers"][0]["detail"]]
        check(any("cold-file" in c["layers"][-1]["detail"] and c["layers"][-1]["state"] == "io" for c in reads),
              "%s: %s" % (mode, told(document)))


@live("io_uring: the wait is for its worker, which waits for the device")
def uring():
    document = kinds("uring", ROUNDS, os.path.join(scratch(), "cold-file"))
    only(document)
    waits = [c for c in document["chains"] if "waiting for an io_uring" in c["layers"][0]["detail"]]
    check(any(l.get("comm", "").startswith("iou-wrk") for c in waits for l in c["layers"][1:]), told(document))
    check(any(c["layers"][-1]["state"] == "io" for c in waits), told(document))


@live("io_uring: what its worker sends is waited for at the process that submitted it")
def submitter():
    document = kinds("submit", ROUNDS)
    only(document, "kinds-submits")
    run = sum(c["ns"] for c in document["chains"] if c["layers"][-1].get("comm") == "kinds-submits" and c["layers"][-1]["state"] == "run" and
              c["layers"][0]["detail"].startswith("waiting for data")) / 1e6
    between("ms for which the submitter ran\n%s" % told(document), run, 0.7 * 3 * ROUNDS, 1.3 * 3 * ROUNDS + 2)


@live("a thread id that is used again is another task")
def reuse():
    document = kinds("reuse", 10)
    only(document, "kinds-first", "kinds-second")
    for comm, ms in ("kinds-first", 3), ("kinds-second", 4):
        # before prctl() the child has its parent's name
        # its begin and its end are runs, too
        near(document, 10 * ms, ("wait_kinds", "child"), (comm, "run"), more=25)


@live("a signal: the wait is for its sender, and says that it was a signal")
def signalled():
    document = kinds("signal", ROUNDS)
    only(document, "kinds-sender")
    near(document, 3 * ROUNDS, ("wait_kinds", "a signal"), ("kinds-sender", "run"))
    check(spent(document, ("wait_kinds", "ended by a signal")) > 0, told(document))


@live("a peer over a slow network: its address, not who was interrupted by the packet")
def network():
    need("ip", "tc")
    name = "pt%d" % os.getpid()

    def ip(*args):
        if subprocess.run(["ip", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            raise Skip("no network namespaces with a slow link here: ip %s" % " ".join(args))

    EXIT.append(lambda: subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL))
    EXIT.append(lambda: subprocess.run(["ip", "link", "del", name + "a"], stderr=subprocess.DEVNULL))
    ip("netns", "add", name)
    ip("link", "add", name + "a", "type", "veth", "peer", "name", name + "b", "netns", name)
    ip("addr", "add", "10.77.91.1/30", "dev", name + "a")
    ip("link", "set", name + "a", "up")
    ip("-n", name, "addr", "add", "10.77.91.2/30", "dev", name + "b")
    ip("-n", name, "link", "set", name + "b", "up")
    peer = Program(["ip", "netns", "exec", name, os.path.join(TARGETS, "wait_kinds"), "listen", "1", "10.77.91.2", "7791"])
    wait_for(lambda: "listening" in peer.text(), "the server", 20)
    # each packet of some 70 bytes waits for about 80 ms, until a timer sends it
    if subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", name + "b", "root", "tbf", "rate", "7kbit",
                       "burst", "90", "limit", "100000"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no token bucket in this kernel")
    try:
        document = kinds("remote", 12, "10.77.91.2", "7791")
    finally:
        peer.process.kill()
    waits = [c for c in document["chains"] if "10.77.91.2:7791" in c["layers"][-1]["detail"] and c["category"] == "network"]
    check(sum(c["ns"] for c in waits) / 1e6 > 12 * 40, told(document))
    only(document, "kinds-server")
    check(not [c for c in document["chains"] if "peaktop" in c["layers"][min(1, len(c["layers"]) - 1)].get("comm", "") and
               "network" in c["layers"][0]["detail"]], told(document))


main()
