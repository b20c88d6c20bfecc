# SPDX-License-Identifier: GPL-2.0-or-later
"""Every target with a known answer: it survives unchanged, and the counts are right."""
from harness import *


def compare(document, truth, name, request=None):
    """Calls that returned are in the buckets, those that did not are `abnormal`; all were seen."""
    op, want = operation(document, request or name), truth[name]
    seen = op.get("share_of_calls_seen", 1)
    if seen < 1:
        # Calls whose caller was not known yet are counted, not timed; the share says how many. That depends on how busy the machine is.
        check(seen > 0, "%s: none of the calls were seen" % name)
        total = (op["calls"] + op["abnormal"]) / seen
        between("%s: calls by the share seen" % name, total, want["calls"] * 0.995, want["calls"] * 1.005)
        return op
    equal("%s: returned" % name, op["calls"], want["returned"])
    equal("%s: abnormal" % name, op["abnormal"], want["abnormal"])
    equal("%s: open" % name, op["open"], 0)
    return op


def exact(target, args, *functions, **requests):
    """functions: names in the truth; requests: other words for them on the command line."""
    t = Target(target, *args)
    options = []
    for name in functions:
        options += ["-f", requests.get(name, name)]
    with NothingLeft(t.pid):
        truth, document = watch(t, *options)
        for name in functions:
            compare(document, truth, name, requests.get(name))
        t.finish()
    return truth, document


@case("C++ exceptions thrown through the function 66,666 times among 100,000 calls")
def throws():
    exact("throws", [100000], "through", "nested")


@case("C++ exceptions in three threads")
def throws_threads():
    exact("throws", [20000, 3], "through", "nested")


@case("longjmp out of up to four activations at once")
def longjmp():
    exact("longjmp", [50000], "leaper")


@case("pthread_exit and cancellation through the function; all cleanup handlers run")
def pthread_exit():
    exact("pthread_exit", [600], "task", "inner_step")


@case("coroutines on one thread that yield inside of the function")
def coroutines():
    exact("coroutines", [20000, 8, 1], "yielder")


@case("coroutines that go on in another thread")
def coroutines_threads():
    exact("coroutines", [20000, 8, 2], "yielder")


@case("a Go program whose stacks move during the call")
def go():
    exact("gotarget", [20000], "main.Work")


@case("strict seccomp")
def seccomp_strict():
    exact("seccomp_strict", ["strict", 10000], "work")


@case("a seccomp filter that refuses")
def seccomp_filter():
    exact("seccomp_strict", ["filter", 10000], "work")


@case("a seccomp filter that kills")
def seccomp_kill():
    exact("seccomp_strict", ["kill", 10000], "work")


@case("a fork storm: the parent's calls are counted, the children live")
def fork_storm():
    exact("fork_storm", [300, 20], "work")


@case("a fork storm, followed: the children's calls count too")
def fork_storm_follow():
    t = Target("fork_storm", 200, 20)
    with NothingLeft(t.pid):
        truth, document = watch(t, "-f", "work", "--follow")
        between("calls", operation(document, "work")["calls"], truth["work"]["calls"], truth["followed"]["calls"])
        t.finish()


@case("a thread storm")
def thread_storm():
    exact("thread_storm", [2000, 20], "work")


@case("restartable sequences still get through")
def rseq():
    truth, _ = exact("rseq", [50000, 3], "count_one")
    equal("stuck", truth["stuck"], 0)


@case("recursion is counted per activation")
def recursion():
    exact("recursion", [100, 10], "fib", "even", "odd")


@case("a recursion deeper than the table of open calls: each call is counted or told as lost")
def recursion_deep():
    t = Target("recursion", 1, 5, 40000)
    with NothingLeft(t.pid):
        truth, document = watch(t, "-f", "even", "-f", "odd")
        t.finish()
    calls = sum(operation(document, name)["calls"] for name in ("even", "odd"))
    lost = document["lost"]["activations"]
    check(lost > 0, "40,001 calls were open at once, and none was lost")
    equal("calls and lost ones", calls + lost, truth["even"]["calls"] + truth["odd"]["calls"])


@case("an IFUNC is the function that really runs")
def ifunc():
    exact("ifunc", [10000], "resolved")


@case("a library opened after the attach")
def dlopen():
    t = Target("dlopen", 10000)
    t.go()
    t.line(lambda s: s == "opened")
    with NothingLeft(t.pid):
        truth, document = watch(t, "-f", "plugin_work@plugin.so")
        compare(document, truth, "plugin_work", "plugin_work@plugin.so")
        t.finish()


@case("through the procedure linkage table, lazy")
def plt():
    exact("plt", [10000], "plugin_work")


@case("through the global offset table, bound at start")
def plt_now():
    exact("plt-now", [10000], "plugin_work")


@case("the function goes on being watched over exec")
def exec_self():
    t = Target("exec", 10000)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "work", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        t.line(lambda s: s == "executed")
        program.armed(t.pid)
        t.say("go")
        truth = t.truth()
        equal("exit status", program.stop(), 0)
        compare(program.document(), truth, "work")
        t.finish()


@case("tail calls: the jump out of the function ends with the caller's return")
def tailcall():
    exact("tailcall", [10000], "front", "a_tail")


@case("a function that is entered by jumps and by calls")
def tailcall_back():
    exact("tailcall", [10000], "back", "c_tail")


@case("functions called through pointers, by the program and by the C library")
def indirect():
    exact("indirect", [9000], "pointed_a", "pointed_b", "compared")


@live("callers that are learnt while they call: nine of ten calls are timed")
def learnt_callers():
    _, document = exact("indirect", [9000], "pointed_a", "pointed_b", "compared")
    for op in document["operations"]:
        check(op.get("share_of_calls_seen", 1) > 0.9, "%s: only %.4f of the calls seen" % (op["name"], op["share_of_calls_seen"]))


@case("C++ overloads by their parameters")
def overloads():
    exact("twins", [3000], "serve(int)", "serve(double)", "shop::serve(int)")


def variant(name):
    @case("a program built as %s" % name)
    def run():
        exact(name, [5000], "big", "middle", "leaf")


for name in ("simple", "simple-nopie", "simple-static", "simple-static-pie", "simple-O0", "simple-O3",
             "simple-fp", "simple-cf", "simple-clang", "simple-minidebug"):
    variant(name)


def installed_debug(place):
    """The debug file of simple-debuglink under /usr/lib/debug for one case."""
    path = os.path.join("/usr/lib/debug", place)
    if os.geteuid():
        raise Skip("not root: cannot write in /usr/lib/debug")
    made = []
    directory = os.path.dirname(path)
    while not os.path.isdir(directory):
        made.append(directory)
        directory = os.path.dirname(directory)
    os.makedirs(os.path.dirname(path), exist_ok=True)

    def remove():
        os.unlink(path)
        for d in made:
            os.rmdir(d)
    shutil.copy(os.path.join(TARGETS, ".debug", "simple-debuglink.debug"), path)
    EXIT.append(remove)


@case("a stripped program with a debug file by its build id")
def by_build_id():
    need("readelf")
    notes = subprocess.run(["readelf", "-n", os.path.join(TARGETS, "simple-debuglink")], stdout=subprocess.PIPE).stdout.decode()
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    installed_debug(".build-id/%s/%s.debug" % (build_id[:2], build_id[2:]))
    exact("simple-debuglink", [5000], "big", "middle", "leaf")


@case("a stripped program with a debug file by its debuglink")
def by_debuglink():
    path = os.path.join(scratch(), "simple-debuglink")
    # Another build id, so that only the name can lead to the file.
    need("objcopy")
    subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", os.path.join(TARGETS, "simple-debuglink"), path], check=True)
    installed_debug(os.path.join(os.path.dirname(path)[1:], "simple-debuglink.debug"))
    exact(path, [5000], "big", "middle", "leaf")


@case("a stripped program, by offset")
def stripped():
    # PIE: the first segment starts at 0 and file offsets of .text equal addresses in these builds.
    offset = symbol_offset(os.path.join(TARGETS, "simple"), "big")
    request = "0x%x@simple-stripped" % offset
    exact("simple-stripped", [5000], "big", big=request)


@case("a program that is replaced while it runs")
def replaced():
    directory = scratch()
    path = os.path.join(directory, "simple")
    shutil.copy(os.path.join(TARGETS, "simple"), path)
    t = Target(path, 5000)
    os.unlink(path)
    with open(path, "w") as f:
        f.write("not the program that runs")
    with NothingLeft(t.pid):
        truth, document = watch(t, "-f", "big")
        compare(document, truth, "big")
        t.finish()


@case("-- CMD from its first instruction")
def command():
    path = os.path.join(TARGETS, "simple")
    if not os.path.exists(path):
        raise Skip("no target")
    with NothingLeft():
        status, program = run_peaktop("watch", "-f", "big", "--json", "--for", 60, "--max-overhead", 100, "--", path, "5000")
        equal("exit status", status, 0)
        # The command's own output is there too.
        start = next(i for i, line in enumerate(program.out) if line.startswith('{"peaktop"'))
        document = json.loads("\n".join(program.out[start:]))
        validate(document)
        equal("calls", operation(document, "big")["calls"], 5000)


@case("main of a command is timed, once, also under the governor")
def main_of_command():
    path = os.path.join(TARGETS, "simple")
    if not os.path.exists(path):
        raise Skip("no target")
    with NothingLeft():
        status, program = run_peaktop("watch", "-f", "main", "--json", "--", path, "5000")
        equal("exit status (%s)" % program.error_text(), status, 0)
        start = next(i for i, line in enumerate(program.out) if line.startswith('{"peaktop"'))
        document = json.loads("\n".join(program.out[start:]))
        validate(document)
        equal("calls", operation(document, "main")["calls"], 1)


@case("two peaktops on one target: both count right")
def two():
    t = Target("simple", 20000)
    with NothingLeft(t.pid):
        first = Peaktop("watch", "-p", t.pid, "-f", "big", "--json", "--for", 600, "--max-overhead", 100)
        first.armed(t.pid)
        sites = len(breakpoints(t.pid))
        second = Peaktop("watch", "-p", t.pid, "-f", "leaf", "--json", "--for", 600, "--max-overhead", 100)
        wait_for(lambda: len(breakpoints(t.pid)) > sites, "the second one arms its sites too")
        second.armed(t.pid)
        t.go()
        truth = t.truth()
        equal("exit status of the first", first.stop(), 0)
        equal("exit status of the second", second.stop(), 0)
        compare(first.document(), truth, "big")
        compare(second.document(), truth, "leaf")
        t.finish()


if __name__ == "__main__":
    main()
