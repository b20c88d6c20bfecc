# SPDX-License-Identifier: GPL-2.0-or-later
"""record --ring and why: a bounded file that survives whatever ends its writer, and calls that are over explained."""
from recorders import *


def why(path, *args, status=0):
    got, program = run_peaktop("why", path, *args, "--json")
    equal("exit status of why %s (%s)" % (" ".join(map(str, args)), program.error_text()), got, status)
    return program.document()["calls"]


def planted(cause, *ops):
    """The calls that are kept of a program one call of which, when it was asked for it, took 300 ms."""
    path = os.path.join(scratch(), "ring")
    t = Target("one_slow", cause, wait=False)
    with NothingLeft(t.pid):
        program = recorder(t, path, *ops)
        wait_for(lambda: elapsed(path) > 2e9, "the recorder to measure")
        t.say()
        truth = t.truth()
        equal("slow calls of the target", truth["slow"], 1)
        before = elapsed(path)
        wait_for(lambda: elapsed(path) > before + 1e9, "the slow call to be recorded")
        equal("exit status of the recorder", program.stop(), 0)
        check(alive(t.pid), "the target is gone")
        gone(t)
    return path


@live("one call that waits for a lock is kept, and why names the lock")
def one_lock():
    call = why(planted("lock"), "--op", "futex", "--slowest", 1)[0]
    between("latency", call["latency_ns"], 250e6, 60e9)
    equal("status", call["status"], "root cause found")
    equal("cause", call["paths"][0]["cause"]["kind"], "lock")
    # the holder sleeps all the time: nothing may say that it ran
    check("which ran" not in json.dumps(call), json.dumps(call))


@live("one call that waits for a pipe is kept, and why says for whom")
def one_pipe():
    call = why(planted("pipe"), "--slowest", 1)[0]
    equal("operation", call["op"], "syscall:read")
    between("latency", call["latency_ns"], 250e6, 60e9)
    check(call["usual_ns"] < call["latency_ns"] / 10, "usually %s" % call["usual_ns"])
    equal("cause", call["paths"][0]["cause"]["kind"], "wait")


@live("one poll of a client for its answer is kept, and why does not leave it out")
def one_answer():
    call = why(planted("answer"), "--slowest", 1)[0]
    equal("operation", call["op"], "syscall:poll")
    between("latency", call["latency_ns"], 250e6, 60e9)
    equal("cause", call["paths"][0]["cause"]["kind"], "wait")


@live("one call of a function that sleeps is kept, and why says so")
def one_function():
    call = why(planted("sleep", "-f", "work"), "--slowest", 1)[0]
    between("latency", call["latency_ns"], 250e6, 60e9)
    equal("cause", call["paths"][0]["cause"]["kind"], "sleep")


@case("a call that sleeps for two seconds is kept whenever it happens, at the default budget, and not as a longer one")
def found_open():
    path, truths = os.path.join(scratch(), "ring"), []
    t = Target("rare_faults", "sleep", scratch(), 2000, wait=False)
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, "-f", "serve", "--ring", "4M", "-o", path)
        wait_for(lambda: elapsed(path) > 3e9, "the recorder to measure")
        for number in (1, 2):
            asked = time.monotonic_ns()
            t.say()
            t.line(lambda s: '"planted":%d,' % number in s)
            # it began after it was asked for, and was over before the target said so
            truths.append(time.monotonic_ns() - asked)
            before = elapsed(path)
            wait_for(lambda: elapsed(path) > before + 1e9, "the call to be recorded")
        equal("exit status of the recorder", program.stop(), 0)
        unharmed(alive(t.pid), "the target is gone")
        gone(t)
    calls = [c for c in why(path, "--slowest", 20) if c["latency_ns"] > 1e9]
    equal("calls of two seconds (%s)" % calls, len(calls), len(truths))
    for call, truth in zip(sorted(calls, key=lambda c: c["start_ns"]), truths):
        equal("operation", call["op"].split("@")[0], "serve")
        check(call["latency_ns"] <= truth, "%d ns, in truth at most %d" % (call["latency_ns"], truth))


def new_ring(path, old):
    """Wait for a recorder to replace the ring that was there, by its inode; the inode of the new one."""
    wait_for(lambda: os.path.exists(path) and os.stat(path).st_ino != old, "a ring of this recorder")
    return os.stat(path).st_ino


@case("kill -9 of the recorder at its start: the ring opens, or says that nothing is in it")
def killed_early():
    path, old = os.path.join(scratch(), "ring"), None
    t = Target("one_slow", "pipe", wait=False)
    for _ in range(4):
        program = recorder(t, path)
        old = new_ring(path, old)
        program.signal(signal.SIGKILL)
        program.wait()
        status, replay = run_peaktop("watch", "-r", path, "--json")
        check(status == 0 and replay.document() or status == 4 and len(replay.err) == 1,
              "status %d: %s" % (status, replay.error_text()))
    t.process.stdin.close()


@case("kill -9 of the recorder at random moments: the ring opens, and what it had measured is in it")
def killed():
    path, draw = os.path.join(scratch(), "ring"), draws()
    t = Target("one_slow", "pipe", wait=False)
    with NothingLeft(t.pid):
        old = None
        for turn in range(4):
            program = recorder(t, path)
            old = new_ring(path, old)
            measured = draw.uniform(0, 2e9)
            wait_for(lambda: elapsed(path) > measured, "the recorder to measure")
            before = elapsed(path)
            # somewhere in the middle of writing a slice, which takes a quarter of a second
            time.sleep(draw.uniform(0, 0.25))
            program.signal(signal.SIGKILL)
            program.wait()
            status, replay = run_peaktop("watch", "-r", path, "--json")
            equal("exit status of the replay (%s; %s)" % (replay.document()["notes"], replay.error_text()), status, 0)
            check(replay.document()["elapsed_ns"] >= before, "less than what could be read before the kill")
            why(path, status=0 if why_has_calls(path) else 1)
            check(os.path.getsize(path) <= 1 << 20, "the ring has %d bytes" % os.path.getsize(path))
            if turn:
                check(os.path.exists(path + ".1"), "the older ring is gone")
    gone(t)


def why_has_calls(path):
    return run_peaktop("why", path)[0] == 0


@case("a full disk: the ring stays at the size that it has, in one line, and goes on")
def full_disk():
    need("mount", "umount")
    folder = os.path.join(scratch(), "small")
    os.mkdir(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no tmpfs can be mounted here")
    EXIT.append(lambda: subprocess.run(["umount", "-l", folder], stderr=subprocess.DEVNULL))
    path = os.path.join(folder, "ring")
    t = Target("one_slow", "pipe", wait=False)
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, "--ring", "8M", "-o", path, "--max-overhead", 100, "--interval", 0.05)
        status = program.wait()
        equal("exit status where not even two segments fit", status, 1)
        check("No space left" in program.error_text(), program.error_text())
        program = recorder(t, path, "--interval", 0.05)
        program.line(lambda line: "disk is full" in line, 5 * HANG, program.err)
        before = elapsed(path)
        wait_for(lambda: elapsed(path) > before, "the recorder to go on")
        equal("exit status of the recorder", program.stop(), 0)
        equal("lines about the disk", sum("disk is full" in line for line in program.err), 1)
    gone(t)


@case("the target ends and is started again: the recorder says so and measures the new process")
def restarted():
    path, name = os.path.join(scratch(), "ring"), "peakone%d" % (os.getpid() % 10000)
    program_path = os.path.join(scratch(), name)
    shutil.copy(os.path.join(TARGETS, "one_slow"), program_path)
    t = Target(program_path, "pipe", wait=False)
    program = Peaktop("record", "-n", name, "--ring", "1M", "-o", path, "--max-overhead", 100, "--interval", 0.25)
    wait_for(lambda: elapsed(path) > 5e8, "the recorder to measure")
    gone(t)
    program.line(lambda line: "waiting until it is started again" in line, stream=program.err)
    t = Target(program_path, "pipe", wait=False)
    with NothingLeft(t.pid):
        program.line(lambda line: "runs again" in line, stream=program.err)
        equal("exit status of the recorder", program.stop(), 0)
    document = run_peaktop("watch", "-r", path, "--json")[1].document()
    equal("processes", sorted(x["pid"] for x in document["targets"])[-1] >= t.pid, True)
    gone(t)


@case("why refuses what is no session, and says what a session lacks")
def bad_input():
    folder = scratch()
    path, junk = os.path.join(folder, "none"), os.path.join(folder, "junk")
    with open(junk, "w") as f:
        f.write("no session at all, but longer than the header of one")
    for args, status, text in (((path,), 2, "No such file"), ((junk,), 4, "not a session"), ((), 2, "give the session file"),
                               ((junk, "--at", "noon"), 2, "--at 'noon' is not a time"),
                               ((junk, "--at", "03:12", "--slowest", "1"), 2, "cannot be combined")):
        got, program = run_peaktop("why", *args)
        equal("exit status of why %s" % " ".join(args), got, status)
        equal("lines", len(program.err), 1)
        check(text in program.error_text(), program.error_text())
    for ring, text in (("64", "neither a size"), ("1K", "from 1M to 8G"), ("10s", "neither a size")):
        got, program = run_peaktop("record", "-p", os.getpid(), "-o", path, "--ring", ring)
        equal("exit status of --ring %s" % ring, got, 2)
        check(text in program.error_text(), program.error_text())


if __name__ == "__main__":
    main()
