# SPDX-License-Identifier: GPL-2.0-or-later
"""chains, live: whom a thread waited for, through other threads and processes, and who does not appear."""
from harness import *
from installed import Installed

ROUNDS = 40


def chains(*command):
    """The document of a target that is traced from its first instruction on."""
    status, program = run_peaktop("chains", "--json", "--max-overhead", 100, "--", *command, seconds=100)
    equal("exit status (%s)" % program.error_text(), status, 0)
    return document_of(program)


def document_of(program):
    document = json.loads(program.text())
    equal("lost records", document["losses"]["records"], 0)
    return document


def waits(mode, *args):
    return [os.path.join(TARGETS, "waits"), mode, *[str(a) for a in args]]


def told(document):
    """All chains as lines, for a message."""
    return "\n".join("%.1f ms: %s" % (c["ns"] / 1e6, " > ".join("%s: %s" % (l.get("comm", ""), l["detail"])
                                                              for l in c["layers"])) for c in document["chains"][:40])


def time_of(document, *layers):
    """Time of the chains whose first layers are (comm, word of the state or the detail)."""
    def fits(chain):
        return len(chain["layers"]) >= len(layers) and all(
            (comm is None or l.get("comm") == comm) and (l["state"] == word or word in l["detail"])
            for l, (comm, word) in zip(chain["layers"], layers))
    return sum(c["ns"] for c in document["chains"] if fits(c))


def category(document, name):
    return next(a["ns"] for a in document["accounting"] if a["category"] == name)


def names(document):
    return {l.get("comm") for c in document["chains"] for l in c["layers"]}


def sound(document):
    """Little is lost or unknown, and all was observed."""
    between("windows", document["windows"], 1, 2)
    between("accounted by wall time\n" + told(document), document["accounted_wall"], 0.9, 1.0)


@smoke("a pipe: the reader waits for the process that runs, not for one that does nothing with it")
def pipe():
    innocent = Program(waits("sleep", 100000))
    try:
        document = chains(*waits("pass", ROUNDS))
    finally:
        innocent.process.kill()
    sound(document)
    child = time_of(document, ("waits", "in a pipe"), ("waits-child", "run"))
    # each ran for so long by its own clock; a hand-off counts apart
    child += time_of(document, ("waits", "waker still used"), ("waits-child", "run"))
    check(child > ROUNDS * 2e6, "the child runs for 3 ms a round: %.1f ms\n%s" % (child / 1e6, told(document)))
    check(innocent.pid not in {l.get("pid") for c in document["chains"] for l in c["layers"]}, told(document))


@live("threads: a waits for c, c waits for b, and the time is that of b")
def threads():
    document = chains(*waits("chain", ROUNDS))
    sound(document)
    through_c = time_of(document, ("waits-a", "condition"), ("waits-c", "condition"), ("waits-b", "run"))
    straight = time_of(document, ("waits-a", "condition"), ("waits-b", "run"))
    check(through_c + straight > ROUNDS * 1e6, told(document))
    check(time_of(document, ("waits-a", "condition"), ("waits-c", "run")) > ROUNDS * 0.5e6, told(document))


@live("a child: the parent waits for its sleep, which was on purpose, and for what it ran")
def child():
    document = chains(*waits("fork", ROUNDS))
    sound(document)
    asleep = time_of(document, ("waits", "child"), ("waits-job", "nanosleep"))
    check(asleep > ROUNDS * 4e6, told(document))
    check(time_of(document, ("waits", "child"), ("waits-job", "run")) > ROUNDS * 2e6, told(document))
    check(category(document, "deliberate sleep") > ROUNDS * 4e6, document["accounting"])
    check(category(document, "timed out") < category(document, "deliberate sleep") / 10, document["accounting"])


@live("what a child computes while its parent waits: the function in which samples find it")
def samples():
    status, program = run_peaktop("chains", "--json", "--follow", "--max-overhead", 100, "--", *waits("pass", 300), seconds=100)
    equal("exit status (%s)" % program.error_text(), status, 0)
    document = program.document()
    computes = [c for c in document["chains"] if c["category"] == "sampled run" and len(c["layers"]) > 1 and
                c["layers"][0]["comm"] == "waits" and c["layers"][1]["comm"] == "waits-child" and
                "burn_ms" in [f["function"] for f in c["layers"][-1]["frames"]]]
    check(computes, told(document))
    # it runs nowhere else for long
    check(sum(c["count"] for c in computes) >= 3, computes)
    # samples of one function are one line, whatever line of it they hit
    lines = [f for c in computes for f in c["layers"][-1]["frames"] if f["function"] == "burn_ms" and "line" in f]
    equal("lines of sampled functions", lines, [])


@live("a sleep on purpose is ended by its own timer, and by no task")
def purpose():
    document = chains(*waits("sleep", ROUNDS))
    sound(document)
    check(category(document, "deliberate sleep") > ROUNDS * 9e6, document["accounting"])
    asleep = [c for c in document["chains"] if "nanosleep" in c["layers"][0]["detail"]]
    check(asleep and all("pid" not in l for c in asleep for l in c["layers"][1:]), told(document))


@live("an alarm that interrupts a wait is the process's own timer, not hardware, and the wait is for who ended it")
def interrupted():
    document = chains(*waits("alarm", ROUNDS))
    sound(document)
    check(not any("it_real_fn" in l["detail"] for c in document["chains"] for l in c["layers"]), told(document))
    at_timer = sum(c["ns"] for c in document["chains"] if c["layers"][-1]["state"] == "timer")
    child = time_of(document, ("waits", "in a pipe"), ("waits-child", "run"))
    check(child > ROUNDS * 10e6, "the child runs for 20 ms a round: %.1f ms, timers %.1f ms\n%s" %
          (child / 1e6, at_timer / 1e6, told(document)))


@live("two that never sleep on one CPU: each waits for the CPU, and who has it is named")
def rivals():
    document = chains(*waits("spin", 400))
    sound(document)
    check(category(document, "run queue") > 0, document["accounting"])
    check(any("waits-rival" in c["layers"][0]["detail"] for c in document["chains"]), told(document))


@case("whose data is seen: of a process of another user only its name, its state and its times")
def users():
    here = Installed()
    program = here.copy(os.path.join(TARGETS, "waits"))
    to, back = os.path.join(here.folder, "to"), os.path.join(here.folder, "back")
    for path in (to, back):
        os.mkfifo(path)
        os.chmod(path, 0o666)
    server = Program([program, "serve", "1", to, back])
    asker = here.start(program, "ask", "100000", to, back)
    try:
        seen = {}
        # each until it has seen the server, root until it has seen all that it may
        for who, command, is_enough in (("root", [PEAKTOP], lambda layers: any("nanosleep" in l["detail"] for l in layers) and any(
                l["frames"] for l in layers)), ("nobody", here.command(here.peaktop), bool)):
            run = Peaktop.__new__(Peaktop)
            Program.__init__(run, command + ["chains", "-p", str(asker.pid), "--json-lines", "--interval", "0.5", "--for", "600",
                                             "--max-overhead", "100"])
            STARTED.add(run.pid)
            seen[who] = []

            def fits(document):
                seen[who] += [l for c in document["chains"] for l in c["layers"] if l.get("pid") == server.pid]
                return is_enough(seen[who])
            stop_when(run, fits)
    finally:
        server.process.kill()
        asker.process.kill()
    for layer in seen["nobody"]:
        check(not layer["frames"] and "nanosleep" not in layer["detail"] and "pipe" not in layer["detail"] and
              here.folder not in layer["detail"], "nobody: %s" % layer)


@live("a server of short-lived clients: what each client did since its birth, though only the server is the target")
def clients():
    with tempfile.TemporaryDirectory() as folder:
        to, back = os.path.join(folder, "to"), os.path.join(folder, "back")
        for path in (to, back):
            os.mkfifo(path)
        server = Program(waits("serve", 1, to, back))
        rounds = Program(waits("clients", 100000, to, back))
        try:
            wait_for(lambda: rounds.process.poll() is None and os.path.exists("/proc/%d/task/%d/children" % (rounds.pid, rounds.pid)) and
                     open("/proc/%d/task/%d/children" % (rounds.pid, rounds.pid)).read(), "a client runs", 20)
            status, program = run_peaktop("chains", "-p", server.pid, "--json", "--for", 4, "--max-overhead", 100)
        finally:
            rounds.process.kill()
            server.process.kill()
    equal("exit status (%s)" % program.error_text(), status, 0)
    document = document_of(program)
    # in each round a client runs for 3 ms, and the server sleeps for 2 ms
    client = time_of(document, ("waits-server", "in a pipe"), ("waits-client", "run"))
    check(client > category(document, "deliberate sleep"), told(document))
    # of the client that was there first, and of those before its parent was known, nothing can be known
    between("time of tasks known by name only, by the time of the clients\n" + told(document),
            category(document, "other path") / client, 0, 0.2)


@live("10,000 short-lived processes: all live, and each nanosecond of the parent's is in one chain")
def storm():
    status, program = run_peaktop("chains", "--json", "--max-overhead", 100, "--",
                                  os.path.join(TARGETS, "fork_storm"), 10000, 1, seconds=150)
    equal("exit status (%s)" % program.error_text(), status, 0)
    # the target prints its own answer first, into the same output
    truth, _, text = program.text().partition("\n")
    equal("children that ended badly", json.loads(truth)["bad_children"], 0)
    document, _ = json.JSONDecoder().raw_decode(text[text.index('{"peaktop"'):])
    between("time of all chains by that of the accounting", sum(c["ns"] for c in document["chains"]) /
            sum(a["ns"] for a in document["accounting"]), 0.999, 1.001)
    # on a crowded machine records may be lost; that is told, and only LOST may be large then
    check(document["losses"]["records"] or document["accounted_wall"] > 0.9, document["accounting"])


main()
