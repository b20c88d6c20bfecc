# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: what compilers and linkers make of a program, a known culprit in each; witnessed and level by level must agree."""
from culprits import *

OWN = "own code"


def kind(target, which, *path, **more):
    return Culprit(target, ["serve", *path], OWN, arguments=(60, which), **more)


def inlined(*functions, line=""):
    """Below its last function the samples name these, and the source line that has the comment."""
    def more(document, best, target):
        tail = tuple(plain(frame["function"]) for frame in best["frames"] if frame.get("inlined"))
        equal("inlined functions (%s)" % told(document), tail, functions)
        check(line in best["cause"].get("detail", ""), "the line is not named: %s" % told(document))
    return more


def one_loop(document, best, target):
    inlined("await_cpu_time")(document, best, target)
    check("in the kernel" in best["cause"]["detail"], "the loop's time in the kernel is not told: %s" % told(document))
    check(not any(path["cause"]["kind"] == "kernel" for path in document["paths"]), "the kernel has a path beside it: %s" % told(document))


def in_the_library(document, best, target):
    check(any("libcallback.so+0x" in name for name in names(best)), "a function without a name: %s" % told(document))


def left(part):
    """One of two slow calls does not return: it is counted and said, and the peak is of those that do."""
    def more(document, best, target):
        profile = document["profile"]
        between("part of the calls that were left", profile["abnormal"] / (profile["abnormal"] + profile["calls"]), part - 0.04, part + 0.04)
        check(any("ended by an exception" in note for note in document["notes"]), "it is not said: %s" % document["notes"])
    return more


def escape(which, *path):
    return Culprit("culprit_escape", ["request", "serve", *path], OWN, arguments=(60, which), f0="request")


table((
    ("a chain of three functions that is inlined by force (-O3)", kind("culprit_code", "inlined", "chained", "grind", "spin")),
    ("a loop around a system call, inlined: one path, not one for each function of the kernel (-O3)",
     Culprit("culprit_code", ["serve", "waited"], "loop", name="clock_gettime", share=0.6, arguments=(60, "waited"), more=one_loop)),
    ("all calls of a function flattened into it (-O3)",
     kind("culprit_code", "flattened", "flattened", more=inlined("parts", "part", line="culprit_code.c:"))),
    ("a switch by a table of jumps: the function of the case (-O3)",
     kind("culprit_code", "switched", "switched", "handler_5", "grind", "spin")),
    ("an interpreter with computed gotos: the function that one instruction calls (-O3)",
     kind("culprit_code", "goto", "interpret", "grind", "spin")),
    ("called from the cold part of a function", kind("culprit_cold", "called", "lookup", "repair", "spin")),
    ("the cold part of a function itself: its line",
     kind("culprit_cold", "own", "parse", more=inlined(line="culprit_cold.c:"))),
    ("optimised by the linker (-flto): the part of a function that is left",
     Culprit("culprit_lto", ["serve", "encode.constprop.0", "spin"], OWN)),
    ("calls without a PLT (-fno-plt)",
     Culprit("culprit_plt-noplt", ["serve", "fetch", "culprit_library_work", "library_inner"], OWN)),
    ("in a stripped library that was opened while the program ran (-fomit-frame-pointer)",
     kind("culprit_late", "opened", "load", "callback_work", more=in_the_library)),
    ("called back through a stripped library (-fomit-frame-pointer)",
     kind("culprit_late", "called", "traverse", "callback_each", more=in_the_library)),
    ("the comparison of a qsort()", kind("culprit_late", "sort", "sort", "qsort")),
    ("clang: a callee at depth 6 (-O3, -fomit-frame-pointer, CET)",
     Culprit("culprit_depth-clang", ["serve", "first", "second", "third", "fourth", "fifth", "culprit", "spin"], OWN)),
    ("clang: a site in a loop ranks with its maximum (-O2)",
     Culprit("culprit_loop_max-clang", ["serve", "batch", "item", "spin"], OWN)),
    ("clang: the loop is in an inlined function: its line (-O2)",
     Culprit("culprit_inlined-clang", ["serve", "digest"], OWN, more=inlined("mix", line="culprit_inlined.c:"))),
    ("clang: a mutex: who held it (no PIE)",
     Culprit("culprit_mutex-clang", ["serve", "update", "pthread_mutex_lock"], "lock", name="hoarder")),
    ("clang: a virtual call (C++)",
     Culprit("culprit_virtual-clang", ["serve", "paint", "square::draw", "spin"], OWN)),
    ("the body of a coroutine, below the function that resumes it (C++)",
     Culprit("culprit_coroutine", ["serve", "handle.actor", "compute", "spin"], OWN)),
    ("the body of a coroutine by its name (C++)",
     Culprit("culprit_coroutine", ["handle.actor", "compute", "spin"], OWN, f0="handle.actor")),
    ("clang: the body of a coroutine by the name that GCC gives it (C++)",
     Culprit("culprit_coroutine-clang", ["handle.resume", "compute", "spin"], OWN, f0="handle.actor")),
    ("clang: an exception is thrown through the path (C++)",
     Culprit("culprit_throw-clang", ["serve", "recover", "spin"], OWN)),
    ("calls of the slow function itself that are left by an exception (C++)",
     kind("culprit_escape", "thrown", "reject", "spin", more=left(1 / 8))),
    ("calls of the slow function itself that are left by longjmp",
     kind("culprit_escape", "jump", "reject", "spin", more=left(1 / 8))),
    ("a slow callee that is always left by an exception (C++)", escape("thrown!", "reject", "spin")),
    ("... through three functions, with cleanups, and thrown on (C++)",
     escape("rethrown!", "first", "second", "third", "reject", "spin")),
    ("a slow callee that is always left by longjmp", escape("jump!", "reject", "spin")),
))

main()
