# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: the known culprit of small programs, level by level; what is refused; what is recorded and replayed."""
from descents import *


PATIENT = ("--max-overhead", 100, "--timeout", 600)  # where the case ends the descent, or it ends by itself


def Shape(*args):
    return Target(*args, preexec_fn=undisturbed)


def ask(target, function, *args, **options):
    """The document of a descent on a target that begins to work now."""
    target.go()
    return descend(target.pid, function, *args, **options)


def chain(depth):
    document = ask(Shape("descend_chain", depth, 60), "serve", "--level-by-level")
    equal("status", document["status"], "root cause found")
    links = ["link%d" % i for i in range(1, depth + 1)]
    path = path_with(document, "serve", *links, "last", "culprit")
    equal("the path down to the culprit", names(path)[:depth + 3], ["serve"] + links + ["last", "culprit"])
    frame = measured(path, "culprit")
    between("share of the culprit", frame["share"], 0.4, 1)
    check(frame["call_site"]["file"].endswith("descend_chain.c") and frame["call_site"]["line"] > 0, "call site: %s" % frame["call_site"])
    shares_add_up(document)
    check("profile" in document and "peak" in document, "profile and peak are there")


@live("a slow callee at depth 1 is found, with file and line")
def depth_1():
    chain(1)


@live("a slow callee at depth 3 is found")
def depth_3():
    chain(3)


@smoke("a slow callee at depth 8 is found")
def depth_8():
    chain(8)


@live("a callee whose call is the instruction at which f0 itself is begun counts from the first round")
def first_call():
    document = ask(Shape("descend_first", 60), "serve", "--level-by-level")
    path = path_with(document, "serve", "first")
    measured(path, "first")
    between("its share", path["share"], 0.5, 1)


@live("own code is named where no callee takes the time")
def own():
    document = ask(Shape("descend_shapes", "own", 60), "serve_own", "--level-by-level")
    path = path_with(document, "serve_own", "compute")
    equal("last frame", names(path)[-1], "compute")
    equal("cause", path["cause"]["kind"], "own code")
    measured(path, "compute")


@live("a sleep on purpose is named as one, by the function that sleeps")
def sleep():
    document = ask(Shape("descend_shapes", "sleep", 60), "serve_sleep", "--level-by-level")
    path = path_with(document, "serve_sleep", "pause_a_while", "usleep")
    between("its share", path["share"], 0.5, 1)
    equal("cause", path["cause"]["kind"], "sleep")
    thread, ended = path["wait"]["layers"]
    equal("the thread that waits", (thread["pid"], thread["comm"], thread["state"]), (document["target"]["pid"], "descend_shapes", "sleep"))
    stack = [frame["function"] for frame in thread["frames"]]
    equal("where it waits", stack[:2], ["serve_sleep", "pause_a_while"])
    check("usleep" in stack and "nanosleep" in thread["detail"], "%s: %s" % (thread["detail"], stack))
    equal("who ended it", ended["state"], "timer")
    # each of these is a nap of 3 ms
    check(path["wait"]["ns"] >= 2900000 * path["wait"]["count"], "%(count)d waits took %(ns)d ns" % path["wait"])


@smoke("recursion is followed down to what runs at the bottom")
def recursion():
    document = ask(Shape("descend_shapes", "recursion", 60), "serve_recursion", "--level-by-level")
    path = path_with(document, "serve_recursion", "dive", "dive", "dive", "dive", "dive", "dive", "bottom", "spin")
    measured(path, "spin")


@live("two causes give two paths, each with its share")
def two():
    document = ask(Shape("descend_shapes", "two", 60), "serve_two", "--level-by-level")
    for function in ("parse", "store"):
        between("share of " + function, path_with(document, "serve_two", function)["share"], 0.15, 0.85)
    shares_add_up(document)


@live("the slowest function overall is not blamed for a peak that another one makes")
def rare():
    document = ask(Shape("descend_shapes", "rare", 60), "serve_rare", "--level-by-level")
    path = path_with(document, "serve_rare", "spike")
    for other in document["paths"]:
        if "steady" in names(other):
            check(other["share"] < path["share"], "steady has %.2f, spike %.2f" % (other["share"], path["share"]))


@live("a loop around short calls is blamed, not the calls")
def loop():
    # arming item() slows serve_loop() a hundredfold: what was found before that must stay, whatever the status
    document = ask(Shape("descend_shapes", "loop", 60), "serve_loop", "--level-by-level", "--timeout", 10, status=None)
    path = document["paths"][0]
    equal("first frames", names(path)[:2], ["serve_loop", "batch"])
    equal("last frame", names(path)[-1], "batch")
    check(path["cause"]["kind"] in ("loop", "own code", "unmeasured callees"), "cause: %s" % path["cause"])


@smoke("functions that are only inlined follow the last frame, down to the loop with its lines")
def inlined():
    t = Target("descend_inlined", 100)
    # On a loaded machine preemption would be the truth: this one is not to be preempted.
    os.sched_setscheduler(t.pid, os.SCHED_FIFO, os.sched_param(1))
    document = ask(t, "serve")
    path = path_with(document, "serve", "digest")
    equal("the path", [plain(frame["function"]) for frame in path["frames"]], ["serve", "digest", "fold", "mix"])
    real, fold, mix = path["frames"][1:]
    check(not real.get("inlined") and fold["inlined"] and mix["inlined"], "who is inlined: %s" % path["frames"])
    equal("evidence", (fold["evidence"], mix["evidence"]), ("sampled", "sampled"))
    check(mix["share"] <= fold["share"] <= real["share"] + 0.001, "shares: %s" % path["frames"])
    truth = t.truth()
    first, last = truth["mix"]
    for line in (mix["loop"]["first_line"], mix["loop"]["last_line"], mix["line"]):
        between("a line of the loop", line, first, last)
    check(mix["file"].endswith("tests/targets/descend_inlined.c"), mix["file"])


@live("a call site that lies in an inlined function names it")
def inlined_site():
    t = Target("descend_inlined", -60)
    document = ask(t, "serve", "--level-by-level")
    site = path_with(document, "serve", "nap", "usleep")["frames"][1]["call_site"]
    equal("inlined there", site.get("inlined"), ["hand_over"])
    equal("line of the call", site["line"], t.truth()["hand_over"])


@live("a callee through a pointer is named by its call site")
def pointer():
    document = ask(Shape("descend_shapes", "pointer", 60), "serve_pointer", "--level-by-level")
    path = document["paths"][0]
    check(len(path["frames"]) >= 2, "frames: %s" % names(path))
    check(path["frames"][1]["call_site"]["line"] > 0, "call site: %s" % path["frames"][1])


@live("without --level-by-level the same culprit is found")
def witnessed():
    document = ask(Shape("descend_chain", 3, 60), "serve")
    path_with(document, "serve", "link1", "link2", "link3", "last", "culprit")


@live("--slowest asks for the slow end where no peak is named")
def slowest():
    document = ask(Shape("descend_chain", 1, 60), "serve", "--level-by-level", "--slowest", 10)
    check("peak" not in document, "no peak was asked for")
    path_with(document, "serve", "link1", "last", "culprit")


@live("a rare handler behind a table of function pointers is found at the default budget, just after the start")
def handlers():
    t = Target("handlers", 60)
    t.go()
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "handle", "--json", seconds=70)
    document = program.document()
    equal("exit status (%s: %s)" % (document["status"], program.error_text()), status, 0)
    path_with(document, "handle", "handle_scan")
    # the figures of the answer fit each other
    between("mean", document["mean_ns"], 300_000, 1e9)
    low, high = document["intervals"]["mean_ns"]
    check(low <= document["mean_ns"] <= high, "the mean lies in its interval")
    low, high = document["intervals"]["explained"]
    check(low <= document["explained"] <= high, "the explained share lies in its interval")
    for path in document["paths"]:
        for caller, frame in zip(path["frames"], path["frames"][1:]):
            if "latency_ns" in frame:
                check(frame["latency_ns"] <= caller["latency_ns"], "%s takes longer than its caller" % frame["function"])


@live("--peak takes a latency or a range; --quiet prints the answer")
def peak_by_latency():
    t = Shape("descend_chain", 1, 60)
    t.go()
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "--peak", "100us-10s", "--json", *FAST, seconds=70)
    equal("exit status: %s" % program.error_text(), status, 0)
    path_with(program.document(), "serve", "link1", "last", "culprit")
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "--slowest", 10, "--quiet", *FAST, seconds=70)
    equal("exit status: %s" % program.error_text(), status, 0)
    check("Status: " in "\n".join(program.out), "--quiet printed: %s" % program.out)
    for wrong in ("2ms-1ms", "5 parsec", "0", "65", "-1ms", "1ms-"):
        status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "--peak", wrong)
        equal("--peak %s" % wrong, status, 2)
        check("--peak" in program.error_text(), program.error_text())


@case("no such peak: exit 1, and the peaks that there are")
def no_such_peak():
    t = Shape("descend_chain", 1, 60)
    t.go()
    saved = os.path.join(scratch(), "no_peak.ptp")
    for seconds in (3, 60):  # until its time is over it waits for such a peak, which needs calls
        status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "--peak", 60, "--json", "--max-overhead", 100,
                                      "--timeout", seconds, "-o", saved, "--force")
        equal("exit status", status, 1)
        document = program.document()
        if document["status"] != "not enough calls":
            break
    status, replayed = run_peaktop("descend", "-r", saved, "--json")
    equal("exit status of the replay", status, 1)
    equal("the replay", replayed.document(), document)
    equal("status", document["status"], "no such peak")
    equal("paths", document["paths"], [])
    check(re.search(r"there is no peak 60; there (is|are) \d+ \(", program.error_text()), program.error_text())


@case("not enough calls: exit 1, with the document all the same")
def too_few():
    t = Shape("descend_chain", 1, 60)
    with NothingLeft(t.pid):
        status, program = run_peaktop("descend", "-p", t.pid, "-f", "serve", "--json", "--timeout", 1.5)
    equal("exit status", status, 1)
    equal("status", program.document()["status"], "not enough calls")
    check("not enough calls" in program.error_text(), program.error_text())


@case("the target ends in the middle: exit 1 or an answer, never a crash, nothing left")
def target_ends():
    t = Shape("descend_chain", 8, 60)
    t.go()
    program = Peaktop("descend", "-p", t.pid, "-f", "serve", "--json", "--level-by-level", "--decision-ops", 1000, *PATIENT)
    with NothingLeft():
        program.armed(t.pid)
        t.signal(signal.SIGKILL)
        status = program.wait()
    equal("exit status", status, 1)
    check(program.document()["status"] in ("target ended", "not enough calls"), program.document()["status"])


@case("the target ends after something was found: it is told, and the exit status is 1")
def target_ends_late():
    t = Shape("descend_chain", 8, 60)
    t.go()
    # a decision takes 1000 calls of the peak, and eight are needed until the descent would end by itself
    program = Peaktop("descend", "-p", t.pid, "-f", "serve", "--peak", "1us-10s", "--json-lines", "--level-by-level", "--decision-ops", 1000, *PATIENT)
    with NothingLeft():
        program.line(lambda s: s.startswith("{") and json.loads(s)["calls_used"] >= 60 and json.loads(s)["paths"])
        t.signal(signal.SIGKILL)
        equal("exit status (%s)" % program.error_text(), program.wait(60), 1)
    document = program.documents()[-1]
    equal("status", document["status"], "target ended")
    check(document["paths"], "no path was told")


@case("Ctrl-C with something found: exit 0 and what there is")
def interrupted():
    t = Shape("descend_chain", 8, 60)
    t.go()
    program = Peaktop("descend", "-p", t.pid, "-f", "serve", "--json-lines", "--level-by-level", "--decision-ops", 60, *PATIENT)
    with NothingLeft(t.pid):
        program.line(lambda s: s.startswith("{") and json.loads(s)["calls_used"] >= 60 and json.loads(s)["paths"], 40)
        equal("exit status (%s)" % program.error_text(), program.stop(), 0)
    for document in program.documents():
        equal("kind", document["kind"], "descend")


@case("a recorded descent is computed again from its records: the same document")
def recorded():
    path = os.path.join(scratch(), "session")
    t = Shape("descend_chain", 3, 600)
    t.go()
    # whatever it finds
    wanted, program = run_descend(t.pid, "serve", "--json", "--level-by-level", "-o", path, "--max-overhead", 100, "--timeout", 60)
    live = program.document()
    check(live["calls_used"] > 0, "no calls were used: %s (%s)" % (told(live), program.error_text()))
    status, program = run_peaktop("descend", "-r", path, "--json")
    equal("exit status of the replay (%s)" % program.error_text(), status, wanted)
    equal("replay", program.document(), live)
    status, program = run_peaktop("export", path, "--format", "json")
    equal("exit status of the export (%s)" % program.error_text(), status, wanted)
    equal("export", program.document(), live)


@case("the parts of an operation's time add up to it, and a replay tells the same of each")
def parts():
    path = os.path.join(scratch(), "session")
    t = Shape("modes", 600, 100, 2, "s:2000:4", "s:8000:1")
    t.go()
    # whatever it finds
    wanted, program = run_descend(t.pid, "serve", "--json", "--quiet", "-o", path, "--max-overhead", 100, "--timeout", 60)
    live = program.document()
    check(live["parts"], "no parts: %s (%s)" % (told(live), program.error_text()))
    for part in live["parts"]:
        check(part["calls"] > 0 and part["low_ns"] <= 1.1 * part["mean_ns"], "calls and mean of a part: %s" % part)
        check(part["status"] not in ("root cause found", "partly explained") or part["paths"], "no path: %s" % part)
    check(any(part["paths"] == live["paths"] for part in live["parts"]), "the answer is that of no part: %s" % told(live))
    status, program = run_peaktop("descend", "-r", path, "--json")
    equal("exit status of the replay (%s)" % program.error_text(), status, wanted)
    equal("replay", program.document(), live)
    status, program = run_peaktop("descend", "-r", path)
    equal("exit status of the replay as text (%s)" % program.error_text(), status, wanted)
    table = "".join(" %s" % line for line in program.out[:program.out.index("")] if re.match(r" +[\d.<>]+%  ", line))
    equal("rows of the table: %s" % table, len(re.findall(r"% of calls, ", table)), len(live["parts"]) if len(live["parts"]) > 1 else 0)
    status, program = run_descend(t.pid, "serve", "--json", "--quiet", "--peak", "1us-10s", "--max-overhead", 100, "--timeout", 60)
    check("parts" not in program.document(), "parts of calls that were named")


@live("a peak that nobody chose and that all calls leave: the one that they have gone to is asked for")
def moves():
    t = Shape("descend_shapes", "moves", 60)
    program = Peaktop("descend", "-p", t.pid, "-f", "take_step", "--json-lines", "--start-ops", 20, "--decision-ops", 60,
                      "--level-by-level", *FAST)
    program.armed(t.pid)
    t.go()
    status = program.wait(70)
    lines = program.documents()
    asked = [line["peak"]["mode_ns"] for line in lines if "peak" in line]
    equal("exit status (%s: %s)" % (told(lines[-1]), program.error_text()), status, 0)
    check(asked[0] < 2000000 < asked[-1], asked)
    path_with(lines[-1], "take_step", "spike")


@live("text: one sentence first, then the paths, then what it cost")
def text():
    t = Shape("descend_chain", 1, 60)
    t.go()
    status, program = run_descend(t.pid, "serve", "--level-by-level", *FAST)
    equal("exit status (%s)" % program.error_text(), status, 0)
    paragraphs = [" ".join(p.split("\n")) for p in "\n".join(program.out).split("\n\n")]
    if "a thread:" in paragraphs[0]:  # what the host did to some calls is a part of its own; the table comes first
        paragraphs = [p.partition(": ")[2] for p in paragraphs[1:] if re.match(r"Part \d+: peak", p)] or paragraphs
    first = paragraphs[0]
    check(re.match(r"peak \d+, [\d.]+( [mun]?s)?-[\d.]+ [mun]?s, [\d.]+ [mun]?s on average, [\d.<>]+% of calls and [\d.<>]+% of time: serve > link1 > last > culprit", first), first)
    where = [next((i for i, line in enumerate(program.out) if line.startswith(word)), -1)
             for word in ("Path 1: ", "Status: ", "Target: ", "Cost: ")]
    equal("order of the parts", where, sorted(where))
    check(where[0] > 0, program.text())


@case("what cannot be done is refused in one line, with status 2")
def refused():
    for args, word in ((["-p", os.getpid(), "-f", "syscall:raed"], "syscall:read"), (["-p", os.getpid(), "-f", "syscalls"], "syscall:NAME"),
                       (["-p", os.getpid(), "-f", "block"], "not supported"), (["-f", "main"], "no target"),
                       (["-p", os.getpid(), "-f", "main", "-f", "exit"], "more than one -f"),
                       (["-p", os.getpid(), "-f", "main", "--peak", 1, "--slowest", 1], "cannot be combined"),
                       (["-p", os.getpid(), "-f", "main", "--max-depth", 65], "--max-depth")):
        status, program = run_peaktop("descend", *args)
        equal("exit status of %s" % args, status, 2)
        equal("lines of %s" % program.err, len(program.err), 1)
        check(word in program.err[0], program.err[0])


@case("a function that is not there: exit 2, with names like it")
def no_such_function():
    t = Shape("descend_chain", 1, 60)
    status, program = run_peaktop("descend", "-p", t.pid, "-f", "serv", "--timeout", 600)
    equal("exit status", status, 2)
    check("serve@descend_chain" in program.error_text(), program.error_text())


main()
