# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cases of `descend` share: one descent, and how to read its document."""
from harness import *

FAST = ("--max-overhead", 100, "--timeout", 30)
HOST = ("preemption", "run queue", "interrupt")  # causes that are the host's doing


def run_descend(pid, function, *args, seconds=3 * HANG):
    """One descent, after which nothing is left in the kernel and the target lives: (exit status, program)."""
    return run_unharmed(pid, "descend", "-p", pid, "-f", function, *args, seconds=seconds)


def run_unharmed(pid, *args, seconds=3 * HANG):
    """Run peaktop. That the target lives on is asked first, so that no other error hides that it does not."""
    with NothingLeft(pid):
        try:
            return run_peaktop(*args, seconds=seconds)
        finally:
            unharmed(alive(pid), "the target died")


def descend(pid, function, *args, status=0, limits=FAST, **options):
    """The document of one descent; its exit status must be `status` (None: any)."""
    got, program = run_descend(pid, function, "--json", *limits, *args, **options)
    document = program.document()
    if status is not None:
        equal("exit status (%s: %s)" % (told(document), program.error_text()), got, status)
    return document


def plain(function):
    return function.split("(")[0]


def names(path):
    """The functions of a path without those that are only inlined."""
    return [plain(frame["function"]) for frame in path["frames"] if not frame.get("inlined")]


def told(document):
    missing = ", missing %s" % document.get("missing") if document["status"] == "partly explained" else ""
    return "%s%s: %s" % (document["status"], missing, "; ".join("%d%% %s%s: %s" % (
        100 * p["share"], p["time"] + " " if "time" in p else "", " > ".join(names(p)), p["cause"]) for p in document["paths"][:6]) or "no path")


def goes_through(path, *wanted):
    """The path has these functions, in this order."""
    rest = iter(names(path))
    return all(any(name == w for name in rest) for w in wanted)


def answers_of(document):
    """The answer, and those about other parts of the operation's time: what the host did to some calls may be the largest part."""
    return [document] + [part for part in document.get("parts", []) if part["paths"] != document["paths"]]


def path_with(document, *wanted, kinds=(), time=None):
    """The heaviest path through these functions, of which the cause is of one of these kinds."""
    for answer in answers_of(document):
        for path in answer["paths"]:
            if goes_through(path, *wanted) and (not kinds or path["cause"]["kind"] in kinds) and time in (None, path.get("time")):
                return path
    raise AssertionError("no path with %s (%s) among: %s" % (" > ".join(wanted), "/".join(kinds), "; ".join(map(told, answers_of(document)))))


def first_path(document, *wanted, **options):
    """The same, and it is the first path of the program: what the host did to the calls may stand above it."""
    path = path_with(document, *wanted, **options)
    answer = next(a for a in answers_of(document) if path in a["paths"])
    program = [p for p in answer["paths"] if p is path or p["cause"]["kind"] not in HOST]
    check(path is program[0], "not the first path: %s" % told(answer))
    return path


def measured(path, *functions):
    """These frames of the path were measured; the last one of them."""
    for function in functions:
        frame = next(f for f in path["frames"] if plain(f["function"]) == function)
        equal("evidence of " + function, frame["evidence"], "measured")
        check(frame["records"] >= 5, "%s was measured in %d calls" % (function, frame["records"]))
    return frame


def shares_add_up(document, tolerance=0.01):
    total = sum(path["share"] for path in document["paths"])
    between("shares of the paths beside `explained`", total, document["explained"] - tolerance, document["explained"] + tolerance)


def nodes(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes(child)
