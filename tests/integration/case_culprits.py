# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: small programs, a known culprit in the code of each; witnessed and level by level must agree."""
from culprits import *

OWN = "own code"


def siblings(*wanted):
    def more(document, best, target):
        listed = [plain(s["function"]) for s in best["siblings"]]
        for name in wanted:
            check(name in listed, "%s is no sibling: %s" % (name, listed))
    return more


def no_frame(*unwanted):
    """These functions are on no path that matters."""
    def more(document, best, target):
        for path in document["paths"]:
            for name in unwanted:
                check(name not in names(path) or path["share"] < 0.1, "%s is blamed: %s" % (name, told(document)))
    return more


def line_marked(source):
    """The source line that takes the time is that of the loop whose body has the comment `here`."""
    def more(document, best, target):
        with open(os.path.join(TOP, "tests/targets", source), encoding="utf-8") as f:
            here = 1 + [("/* here */" in line) for line in f].index(True)
        check(best["cause"].get("detail", "") in ["%s:%d" % (source, line) for line in (here - 1, here)],
              "line %d is not named: %s" % (here, told(document)))
    return more


def also(path, share):
    """A second cause, with its share."""
    def more(document, best, target):
        found = [p for p in document["paths"] if names(p)[:len(path)] == path]
        check(found, "no path %s among: %s" % (path, told(document)))
        between("share of %s" % path, found[0]["share"], *share)
        frame_measured(found[0]["frames"][len(path) - 1], document)
        between("share of the other", best["share"], *share)
    return more


def a_tenth_of_a_percent(document, best, target):
    between("part of the calls that is in the peak", document["peak"]["share_of_calls"], 0.0003, 0.003)


def not_from_elsewhere(document, best, target):
    """Calls of work() from elsewhere take 2.5 ms and more; in the peak it takes 0.6 ms."""
    frame = best["frames"][names(best).index("work")]
    between("latency of work()", frame["latency_ns"], 300000, 1500000)


def once_each(document, best, target):
    """work() is armed on both paths; of its calls only those in write_out() count."""
    check("read_in" not in names(best), told(document))
    frame = best["frames"][names(best).index("work")]
    check(frame["latency_ns"] > 500000, "latency of work() on its path: %d ns" % frame["latency_ns"])


def other_peak(document, best, target):
    """The fast peak has the same path: the difference is below software."""
    fast = ask(target, TWO_PEAKS, "--peak", 1)
    check(fast["peak"]["high_ns"] <= document["peak"]["low_ns"], "the first peak is the fast one")
    equal("path of the fast peak", names(judge(fast, TWO_PEAKS)), names(best))


TWO_PEAKS = Culprit("culprit_two_peaks", ["serve", "work", "spin"], OWN, more=other_peak)

table((
    ("a callee at depth 6 (-O3, CET)",
     Culprit("culprit_depth", ["serve", "first", "second", "third", "fourth", "fifth", "culprit", "spin"], OWN)),
    ("a site in a loop ranks with its maximum (-O0)",
     Culprit("culprit_loop_max", ["serve", "batch", "item", "spin"], OWN)),
    ("a loop around short calls is blamed on its owner (-O1, frame pointers)",
     Culprit("culprit_loop_owner", ["serve", "batch"], "loop", more=no_frame("item"))),
    ("a loop of 100,000 calls that no probe can time (no CET)",
     Culprit("culprit_loop_100k", ["serve", "batch"], ("loop", OWN), more=no_frame("item"))),
    ("two callees in the same doubling are both kept (-O3, frame pointers)",
     Culprit("culprit_doubling", ["serve", "encode", "spin"], OWN, more=also(["serve", "compress", "spin"], (0.3, 0.7)))),
    ("the commonest stack is the wrong answer (-O0, CET)",
     Culprit("culprit_commonest", ["serve", "seldom", "spin"], OWN, more=no_frame("common"))),
    ("the slowest function of all is not in the peak (-O1, CET)",
     Culprit("culprit_slowest", ["serve", "lookup", "spin"], OWN, more=no_frame("archive"))),
    ("a peak of 0.1% of the calls (-O3)",
     Culprit("culprit_permille", ["serve", "rehash", "spin"], OWN, more=a_tenth_of_a_percent)),
    ("recursion through f0 itself: the outermost call is meant (no PIE)",
     Culprit("culprit_reentry", ["serve", "visit", "serve", "visit", "serve", "visit", "bottom", "spin"], OWN)),
    ("mutual recursion (-O1, static)",
     Culprit("culprit_mutual", ["serve", "even", "odd", "even", "odd", "even", "bottom", "spin"], OWN)),
    ("a tail call (CET)",
     Culprit("culprit_tail", ["serve", "dispatch", "handle", "spin"], OWN)),
    ("through the PLT into a shared library",
     Culprit("culprit_plt", ["serve", "fetch", "culprit_library_work", "library_inner"], OWN)),
    ("an IFUNC: the function that was chosen",
     Culprit("culprit_ifunc", ["serve", "check", "digest_plain"], OWN)),
    ("a virtual call: the callees of the site are learnt (C++, -O1)",
     Culprit("culprit_virtual", ["serve", "paint", "square::draw", "spin"], OWN)),
    ("a function shared by two paths counts on the right one only (static PIE)",
     Culprit("culprit_shared", ["serve", "write_out", "work", "spin"], OWN, more=once_each)),
    ("calls from outside the path never count (-O3, CET, frame pointers)",
     Culprit("culprit_outside", ["serve", "hold", "work", "spin"], OWN, more=not_from_elsewhere)),
    ("eight threads",
     Culprit("culprit_threads", ["serve", "grind", "spin"], OWN)),
    ("an exception is thrown through the path (C++, CET)",
     Culprit("culprit_throw", ["serve", "recover", "spin"], OWN)),
    ("the loop is in an inlined function (-O3): its line",
     Culprit("culprit_inlined", ["serve", "digest"], OWN, more=line_marked("culprit_inlined.c"))),
    ("own code is narrowed to its line",
     Culprit("culprit_line", ["serve", "compute"], OWN, more=line_marked("culprit_line.c"))),
    ("one peak of two causes: two paths with their shares (-O0, frame pointers)",
     Culprit("culprit_two_causes", ["serve", "load", "spin"], OWN, share=0.25, more=also(["serve", "save", "spin"], (0.25, 0.75)))),
    ("two peaks with the same path (-Os)", TWO_PEAKS),
    ("siblings of the cause are listed (no PIE, no CET)",
     Culprit("culprit_siblings", ["serve", "commit", "lock_kernel"], OWN, more=siblings("journal_begin", "journal_end"))),
), smokes=("a tail call", "an exception is thrown"))


def offsets(path):
    """Offsets in the file of the functions in the unstripped copy of a static program."""
    run = subprocess.run(["nm", path + ".symbols"], stdout=subprocess.PIPE, check=True, text=True)
    return {fields[2]: int(fields[0], 16) for fields in (line.split() for line in run.stdout.splitlines()) if len(fields) == 3}


@smoke("stripped and static: functions by their addresses")
def stripped():
    path = os.path.join(TARGETS, "culprit_stripped")
    at = offsets(path)
    wanted = ["culprit_stripped+0x%x" % at[name] for name in ("serve", "middle", "deepest", "spin")]
    asked(Culprit("culprit_stripped", wanted, OWN, f0="0x%x@culprit_stripped" % (at["serve"] - at["__ehdr_start"])))


main()
