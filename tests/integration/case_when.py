# SPDX-License-Identifier: GPL-2.0-or-later
"""record --when: what comes true is said, kept with the minute before, and given to the command of --exec."""
from recorders import *


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as f:
        return f.read()


@case("a slow function: the answer is said, given to the command, and kept with the minute before")
def a_function():
    folder = scratch()
    path, told = os.path.join(folder, "ring"), os.path.join(folder, "told")
    t = Target("one_slow", "sleep", wait=False)
    with NothingLeft(t.pid):
        program = recorder(t, path, "--when", "max(work) > 100ms", "-f", "work", "--every", "1h", "--exec", "cat >%s.new && mv %s.new %s" % ((told,) * 3))

        def asked():
            slow_call(t)
            return read(told)
        wait_for(asked, "the command to get an answer", 5 * HANG)
        program.line(lambda line: "'max(work) > 100ms' came true" in line and "ring.when-1" in line, stream=program.err)
        slow_call(t)  # less than --every later: nothing comes true
        before = elapsed(path)
        wait_for(lambda: elapsed(path) > before + 1e9, "the second slow call to be recorded")
        equal("exit status of the recorder", program.stop(), 0)
        check(alive(t.pid), "the target is gone")
    gone(t)
    first = read(told).splitlines()[0]
    check(first.startswith("'max(work) > 100ms' came true (the figure is "), first)
    check("Status: " in read(told), read(told))
    aside = path + ".when-1"
    status, replay = run_peaktop("watch", "-r", aside, "--json")
    equal("exit status of watch -r (%s)" % replay.error_text(), status, 0)
    check(any(op["name"].startswith("work") and op["calls"] for op in replay.document()["operations"]), "no call of work")
    for verb in ("descend", "chains"):
        status, replay = run_peaktop(verb, "-r", aside, "--json")
        equal("what %s -r finds (%s)" % (verb, replay.error_text()), replay.document()["kind"], verb)
    check(not os.path.exists(path + ".when-2"), "--every did not keep it from coming true again")
    status, program = run_peaktop("why", aside, "--op", "work")
    equal("exit status of why (%s)" % program.error_text(), status, 0)


@case("calls are kept again after the descent")
def kept_again():
    path, told = os.path.join(scratch(), "ring"), os.path.join(scratch(), "told")
    t = Target("one_slow", "sleep", wait=False)
    with NothingLeft(t.pid):
        program = recorder(t, path, "--when", "rate(work) > 1/s for 1s", "-f", "work", "--every", "1h", "--exec", "echo >>%s" % told)
        wait_for(lambda: read(told), "the answer", 5 * HANG)

        def kept():
            slow_call(t)
            status, reader = run_peaktop("why", path, "--op", "work", "--slowest", 1, "--json")
            return status == 0 and reader.document()["calls"][0]["latency_ns"] > 250e6
        wait_for(kept, "a slow call after the descent", 5 * HANG)
        equal("exit status of the recorder", program.stop(), 0)
    gone(t)


@case("a command that fails or hangs gives one line each, and the recorder goes on")
def commands():
    t = Target("one_slow", "pipe", wait=False)
    with NothingLeft(t.pid):
        for command, text in (("exit 3", "ended with status 3"), ("kill -9 $$", "killed by signal 9"), ("/no/such", "status 127"),
                              ("exec sleep 1000", "did not end within 5 s")):
            program = recorder(t, os.path.join(scratch(), "ring"), "--when", "load < 100000", "--every", "1h", "--exec", command)
            program.line(lambda line: "came true" in line, 5 * HANG, program.err)
            equal("exit status of the recorder", program.stop(), 0)
            lines = [line for line in program.err if "--exec" in line]
            equal("lines about '%s'" % command, len(lines), 1)
            check(text in lines[0], lines[0])
            equal("lines about a condition that is always true", sum("was true in all" in line for line in program.err), 1)
    gone(t)


@case("the command runs as the invoking user")
def invoking_user():
    user = pwd.getpwnam("nobody")
    folder = scratch()
    os.chown(folder, user.pw_uid, user.pw_gid)
    told = os.path.join(folder, "told")
    t = Target("one_slow", "pipe", wait=False)
    with NothingLeft(t.pid):
        program = recorder(t, os.path.join(folder, "ring"), "--when", "load < 100000", "--exec", "echo $(id -u) $(id -g) $(grep CapEff /proc/self/status) >%s" % told,
                           env=as_nobody())
        wait_for(lambda: read(told), "the command", 5 * HANG)
        equal("exit status of the recorder", program.stop(), 0)
    equal("uid, gid and capabilities of the command", read(told).split(), [str(user.pw_uid), str(user.pw_gid), "CapEff:", "0000000000000000"])
    gone(t)


@case("a condition that is never true gives one line, without a ring as well")
def never():
    t = Target("one_slow", "pipe", wait=False)
    with NothingLeft(t.pid):
        for ring in ((), ("--ring", "1M")):
            path = os.path.join(scratch(), "file")
            status, program = run_peaktop("record", "-p", t.pid, "-o", path, "--for", 2, "--when", "p99(syscall:write) > 1h", *ring)
            equal("exit status", status, 0)
            equal("lines", sum("never came true" in line for line in program.err), 1)
            equal("files", sorted(os.listdir(os.path.dirname(path))), ["file"])
    gone(t)


@case("without a ring the answer is part of the session")
def no_ring():
    path, told = os.path.join(scratch(), "file"), os.path.join(scratch(), "told")
    t = Target("one_slow", "pipe", wait=False)
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, "-o", path, "--max-overhead", 100, "--when", "rate(syscall:write) > 1/s", "--exec", "cat >%s" % told)
        wait_for(lambda: read(told), "the answer", 5 * HANG)
        equal("exit status of the recorder", program.stop(), 0)
    gone(t)
    equal("files", os.listdir(os.path.dirname(path)), ["file"])
    status, replay = run_peaktop("descend", "-r", path, "--json")
    equal("function (%s)" % replay.error_text(), replay.document()["function"], "syscall:write")


@case("what cannot be a condition is refused with the position")
def refused():
    path = os.path.join(scratch(), "ring")
    for args, text in ((("--when", "p99(work) > 50"), "position 13: expected a time"), (("--when", "p99(work) >"), "position 12"),
                       (("--when", "worst(work) > 5ms"), "position 1: expected p99(OP)"), (("--when", "p99(syscall:nonsense) > 1s"), "position 5"),
                       (("--every", "10m"), "--every works only together with --when"), (("--exec", "true"), "--exec works only together"),
                       (("--when", "load > 1", "--every", "1ms"), "at least a second")):
        got, program = run_peaktop("record", "-p", os.getpid(), "-o", path, *args)
        equal("exit status of %s" % " ".join(args), got, 2)
        equal("lines", len(program.err), 1)
        check(text in program.error_text(), program.error_text())
    check(not os.path.exists(path), "the file was made")


if __name__ == "__main__":
    main()
