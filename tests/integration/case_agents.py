# SPDX-License-Identifier: GPL-2.0-or-later
"""Another tool's return probes (uretprobes) are on the function that peaktop watches."""
from harness import *

PATH = os.path.join(TARGETS, "returned")


def offset_of(name):
    """The offset of a function in the file of the target."""
    need("nm", "readelf")
    symbols = subprocess.run(["nm", PATH], stdout=subprocess.PIPE, check=True, text=True).stdout
    address = int(re.search(r"^(\S+) T %s$" % name, symbols, re.M).group(1), 16)
    for line in subprocess.run(["readelf", "-lW", PATH], stdout=subprocess.PIPE, check=True, text=True).stdout.split("\n"):
        field = line.split()
        if field[:1] == ["LOAD"] and int(field[2], 16) <= address < int(field[2], 16) + int(field[4], 16):
            return address - int(field[2], 16) + int(field[1], 16)
    raise AssertionError("%s is in no segment" % name)


def agent_on(t, name):
    agent = Target("agent", t.pid, PATH, offset_of(name))
    wait_for(lambda: breakpoints(t.pid), "the agent's probe stands")
    return agent


def watched(*names, late=False):
    """Watch serve() with agents on these functions; (document, its truth, what each agent counted)."""
    t = Target("returned")
    with NothingLeft():
        agents = [] if late else [agent_on(t, name) for name in names]
        others = len(breakpoints(t.pid))
        program = Peaktop("watch", "-p", t.pid, "-f", "serve", "--json", "--for", 600, "--max-overhead", 100)
        wait_for(lambda: len(breakpoints(t.pid)) > others, "peaktop's probes stand")
        program.armed(t.pid)
        if late:
            agents = [agent_on(t, name) for name in names]
        t.go()
        truth = t.truth()
        wait_for(lambda: thread_sleeps(t.pid, "stays"), "the last call is open")
        for agent in agents:
            agent.go()
        counted = [agent.truth()["returns"] for agent in agents]
        program.stop()
        for agent in agents:
            agent.finish()
    t.finish()
    return program.document(), truth["serve"], counted


def thread_sleeps(pid, name):
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
            head, _, rest = f.read().rpartition(")")
        if head.endswith("(" + name) and rest.split()[0] == "S":
            return True
    return False


def holds(document, truth):
    op = operation(document, "serve")
    equal("calls", op["calls"], truth["calls"])
    equal("abnormal", op["abnormal"], truth["abnormal"])
    equal("open", op["open"], 1)


def noted(document):
    return any("another tool's return probe" in note for note in document["notes"])


@case("without an agent all calls are timed, and no note speaks of one")
def control():
    document, truth, _ = watched()
    holds(document, truth)
    check(not noted(document), document["notes"])


@case("an agent's return probe on the function: the same counts, a note, and the agent counts all")
def agent_before():
    document, truth, counted = watched("serve")
    holds(document, truth)
    check(noted(document), "the note: %s" % document["notes"])
    equal("returns that the agent counted", counted, [truth["returned"]])


@case("agents that come while peaktop watches, also on the callers: the same counts for all")
def agents_later():
    document, truth, counted = watched("serve", "first", "work", late=True)
    holds(document, truth)
    check(noted(document), "the note: %s" % document["notes"])
    equal("returns that the agents counted", counted, [truth["returned"], truth["returned"] // 2, 2 * truth["returned"]])


def stays_in(agents):
    t = Target("returned", 10)
    running = [agent_on(t, name) for name in agents]
    t.go()
    t.truth()
    wait_for(lambda: thread_sleeps(t.pid, "stays"), "the call that stays")
    status, program = run_peaktop("descend", "-p", t.pid, "--open", "--json", "-f", "serve")
    equal("exit status (%s)" % program.error_text(), status, 0)
    calls = {call["comm"]: call for call in program.document()["open_calls"]}
    equal("threads in serve()", sorted(calls), ["stays"])
    for agent in running:
        agent.go()
        agent.truth()
        agent.finish()
    t.finish()
    return [frame["function"].split("(")[0] for frame in calls["stays"]["frames"]]


@case("the stack of an open call goes through functions with an agent's return probes, as without")
def open_call():
    plain = stays_in([])
    for name in ("stays", "stay", "serve", "work"):
        check(name in plain, "%s in %s" % (name, plain))
    equal("with agents", stays_in(["serve", "stay", "work"]), plain)


if __name__ == "__main__":
    main()
