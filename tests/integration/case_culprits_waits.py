# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: small programs that are slow because they wait, for a known reason; witnessed and level by level must agree."""
from culprits import *


def path_of(*functions):
    return ["serve", *functions]


# On the disk that the build is on: a file system in memory has nothing to wait for.
FOLDER = tempfile.mkdtemp(prefix="culprit.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

DATA = os.path.join(FOLDER, "culprit.data")


def wait_case(kind, frames, cause, **more):
    return Culprit("culprit_waits", path_of(kind + "_serve", *frames), cause, arguments=(60, kind, DATA), **more)


def own_share(document, best, target):
    """200 us of the call are the thread's own; the interrupts have the rest."""
    latency = best["frames"][0]["latency_ns"]
    between("share of the interrupts in %d ns" % latency, best["share"], 0.5, 1.2 - 200000 / latency)


def no_contention(document, best, target):
    """Nobody but the awaited thread had the CPU."""
    others = sum(p["share"] for p in document["paths"] if p["cause"]["kind"] in ("preemption", "run queue"))
    check(others < 0.1, "%.2f of the time is contention: %s" % (others, told(document)))
    waited = sum(p["share"] for p in document["paths"] if p["cause"]["kind"] == "wait" and p["cause"].get("name") == "rival")
    check(waited > 0.8, "%.2f of the time is for the rival: %s" % (waited, told(document)))


def swept(document, best, target):
    """The chain goes on to the function that runs meanwhile."""
    functions = [f["function"] for chain in best.get("waits", ()) for layer in chain["layers"] for f in layer.get("frames", ())]
    partly("sweep" in functions or not functions, "sweep is not among %s" % sorted(set(functions)))


def through_pread(document, best, target):
    check("syscall:pread64" in names(best), "no pread in the path: %s" % told(document))




table((
    ("timed sleep (-O0, static)",
     Culprit("culprit_sleep", path_of("back_off", "usleep"), "sleep")),
    ("a loop of short sleeps is told by what it waits for",
     Culprit("culprit_loop_sleep", path_of("batch"), "sleep")),
    ("poll() until its time is over",
     Culprit("culprit_timeout", path_of("wait_for_input", "poll"), "timeout", detail="poll")),
    ("a condition until its time is over",
     Culprit("culprit_timedwait", path_of("wait_for_news", "pthread_cond_timedwait"), "timeout")),
    ("blocked in read() on a pipe: who wrote (-O3, CET)",
     Culprit("culprit_pipe", path_of("fetch", "read"), "wait", name="supplier", detail="read, woken by supplier")),
    ("a mutex: who held it (static)",
     Culprit("culprit_mutex", path_of("update", "pthread_mutex_lock"), "lock", name="hoarder")),
    ("a mutex that seven threads have in turn: who had it longest",
     Culprit("culprit_contended", path_of("mutex_serve", "pthread_mutex_lock"), "lock", name="hoarder", detail="7 threads that had it in turn",
             arguments=(60, "mutex"))),
    ("control: a mutex that six threads have in turn, none for long",
     Culprit("culprit_contended", path_of("mutex_serve", "pthread_mutex_lock"), "lock", name="worker", share=0.05,
             arguments=(60, "mutex_even"), statuses=("root cause found", "partly explained", "distribution changed"))),
    ("the lock of a stream that seven threads have in turn: who had it longest",
     Culprit("culprit_contended", path_of("stream_serve", "fputc"), "lock", name="hoarder", detail="7 threads that had it in turn",
             arguments=(60, "stream"))),
    ("the lock of malloc() that seven threads have in turn: who had it longest",
     Culprit("culprit_contended", path_of("arena_serve", "malloc"), "lock", name="hoarder", detail="threads that had it in turn", share=0.3,
             arguments=(60, "arena"))),
    ("a read-write lock: who held it (-O1, frame pointers)",
     Culprit("culprit_rwlock", path_of("update", "pthread_rwlock_wrlock"), "lock", name="hoarder")),
    ("a condition: who signalled",
     Culprit("culprit_condition", path_of("consume", "pthread_cond_wait"), "wait", name="producer")),
    ("a peer on the loopback network is the process that it is",
     Culprit("culprit_network", path_of("query", "recv"), "wait", name="server", detail="127.0.0.1:")),
    ("fsync() of a file, and which",
     Culprit("culprit_file", path_of("save", "fsync"), "io", name="culprit.data", detail="fsync", share=0.25,
             arguments=(60, DATA))),
    ("a read past the page cache (O_DIRECT), and of which file",
     Culprit("culprit_direct", path_of("fetch"), "io", name="culprit.data", detail="pread64", arguments=(60, DATA),
             more=through_pread)),
    ("pages of a mapped file that are not in memory", wait_case("paged", (), "page fault", name="culprit.data", share=0.3)),
    ("msync() of a mapped file, and which", wait_case("synced", ("msync",), "io", name="culprit.data", detail="msync", share=0.25)),
    ("a lock on a file by flock(): who held it, and which file",
     wait_case("flock", ("flock",), "lock", name="keeper", detail="culprit.data")),
    ("a lock on a file by fcntl(): who held it, and which file",
     wait_case("fcntl", ("fcntl",), "lock", name="keeper", detail="culprit.data")),
    ("the lock of the address space: who held it", wait_case("space", ("mmap",), "lock", name="walker")),
    ("a semaphore: who raised it", wait_case("semaphore", ("sem_wait",), "wait", name="poster")),
    ("the end of a thread, and which", wait_case("join", ("pthread_join",), "wait", name="laggard")),
    ("the end of a child's vfork(), and not the cgroup freezer", wait_case("vfork", ("vfork",), "wait")),
    ("who is woken on the thread's own CPU and takes it is waited for", wait_case("rival", (), "wait", name="rival", more=no_contention)),
    ("the end of a child, and which", wait_case("child", ("waitpid",), "wait", name="slow-child")),
    ("epoll_wait() for another process", wait_case("epoll", ("epoll_wait",), "wait", name="feeder")),
    ("a futex until its time is over", wait_case("futex", ("syscall",), "timeout", detail="futex")),
    ("a mutex with priority inheritance, for which the thread spins: who holds it",
     wait_case("inherit", ("pthread_mutex_lock",), "lock", name="runner")),
    ("a mutex of C11: who held it", wait_case("c11", ("mtx_lock",), "lock", name="hoarder")),
    ("a std::future: who fulfilled it (C++)",
     Culprit("culprit_waits_cc", path_of("result"), "wait", name="answerer", arguments=(60, "future"))),
    ("a std::condition_variable: who notified (C++)",
     Culprit("culprit_waits_cc", path_of("consume", "std::condition_variable::wait"), "wait", name="maker",
             arguments=(60, "condition"))),
    ("the end of a parallel region of OpenMP: the last thread (libgomp is stripped)",
     Culprit("culprit_openmp", path_of("compute", "GOMP_parallel"), "wait", name="straggler",
             environment={"OMP_WAIT_POLICY": "passive"})),
    ("packets of another process, handled on the CPU of an innocent thread",
     Culprit("culprit_softirq", ["serve"], "interrupt", name="softirq NET_RX", share=0.5, arguments=(60, "steered"), more=own_share)),
    ("page faults, in the function that touches the memory (no CET)",
     Culprit("culprit_faults", path_of("touch"), "page fault", detail="2000 minor", share=0.3)),
    ("preempted: by whom (-O3, frame pointers)",
     Culprit("culprit_preempt", ["serve"], "preemption", name="bully")),
    ("runnable, and the CPU is taken",
     Culprit("culprit_runqueue", ["serve"], "run queue")),
), smokes=("timed sleep", "blocked in read() on a pipe", "a mutex: who held it", "a peer on the loopback", "fsync() of a file",
           "page faults,", "preempted:"))


@live("a wait of 1 ms that is begun again until a collector of garbage lets the thread run: the collector, not a timeout")
def begun_again():
    # how deep the path goes depends on how often the loop is executed
    once(Culprit("culprit_contended", path_of("token_serve", "take_token"), "wait", name="hoarder", arguments=(60, "token"), more=swept))


@live("the thread's own packets: on the loopback network, it receives what it sends")
def own_packets():
    target = Target("culprit_softirq", 60, "sent", preexec_fn=undisturbed)
    target.go()
    for mode in ((), ("--level-by-level",)):
        document = descend(target.pid, "serve", *mode)
        received = sum(path["share"] for path in document["paths"] if "net_rx_action" in names(path))
        host = sum(path["share"] for path in document["paths"] if path["cause"]["kind"] in HOST)
        interrupts = sum(path["share"] for path in document["paths"] if path["cause"].get("name") == "softirq NET_RX")
        check(received >= 0.5 * (1 - host), "%.2f of the time is in what receives: %s" % (received, told(document)))
        check(interrupts <= 0.1, "%.2f of the time is an interrupt: %s" % (interrupts, told(document)))


@live("context switches that would use up the budget are recorded only while the function is probed")
def switches():
    target = Target("culprit_switches", 60, preexec_fn=undisturbed)
    target.go()
    document = descend(target.pid, "serve")
    equal("path", names(document["paths"][0])[:2], path_of("back_off"))
    check(document["peak"]["calls"] >= 20, told(document))
    target.end()


main()
