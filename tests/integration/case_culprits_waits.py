# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: small programs that are slow because they wait, for a known reason; witnessed and level by level must agree."""
from culprits import *


def path_of(*functions):
    return ["serve", *functions]


# On the disk that the build is on: a file system in memory has nothing to wait for.
FOLDER = tempfile.mkdtemp(prefix="culprit.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

table((
    ("asleep on purpose (-O0, static)",
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
    ("a read-write lock: who held it (-O1, frame pointers)",
     Culprit("culprit_rwlock", path_of("update", "pthread_rwlock_wrlock"), "lock", name="hoarder")),
    ("a condition: who signalled",
     Culprit("culprit_condition", path_of("consume", "pthread_cond_wait"), "wait", name="producer")),
    ("a peer on the loopback network is the process that it is",
     Culprit("culprit_network", path_of("query", "recv"), "wait", name="server", detail="127.0.0.1:")),
    ("fsync() of a file, and which",
     Culprit("culprit_file", path_of("save", "fsync"), "io", name="culprit.data", detail="fsync", share=0.25,
             arguments=(60, os.path.join(FOLDER, "culprit.data")))),
    ("page faults, in the function that touches the memory (no CET)",
     Culprit("culprit_faults", path_of("touch"), "page fault", detail="2000 minor", share=0.3)),
    ("preempted: by whom (-O3, frame pointers)",
     Culprit("culprit_preempt", ["serve"], "preemption", name="bully")),
    ("runnable, and the CPU is taken",
     Culprit("culprit_runqueue", ["serve"], "run queue")),
))


main()
