# SPDX-License-Identifier: GPL-2.0-or-later
"""System calls, block requests, run queue, locks, calls still open; peaks, values."""
from harness import *


def by_name(document, layer):
    return {op["name"]: op for op in document["operations"] if op["layer"] == layer}


@case("all system calls by default, exact counts")
def syscalls():
    all_syscalls()


@live("the sleeps among all system calls have their peaks")
def sleeps():
    truth, ops = all_syscalls()
    sleep = ops["syscall:nanosleep"]
    equal("peaks of nanosleep", len(sleep["peaks"]), 2)
    for peak, (low, count) in zip(sleep["peaks"], ((2000000, truth["sleeps"]["2ms"]), (20000000, truth["sleeps"]["20ms"]))):
        between("mode of a peak", peak["mode_ns"], low * 0.84, low * 1.7)
        between("calls of a peak", peak["calls"], count - 2, count + 2)


def all_syscalls():
    """(truth, {name: operation})"""
    t = Target("syscalls", 5000)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "--json", "--for", 600, "--max-overhead", 100)
        ready(program)
        t.go()
        truth = t.truth()
        equal("exit status", program.stop(), 0)
        document = program.document()
        ops = by_name(document, "syscall")
        for name in ("getppid", "openat", "nanosleep"):
            equal("calls of %s" % name, ops["syscall:" + name]["calls"], truth[name])
        # The line that starts the target and the truth that ends it are a few reads and writes more.
        between("reads", ops["syscall:read"]["calls"], truth["read"], truth["read"] + 8)
        between("writes", ops["syscall:write"]["calls"], truth["write"], truth["write"] + 3)
        t.finish()
    return truth, ops


def layer_run(target, *options, args=()):
    t = Target(target, *args)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, *options, "--json", "--for", 600, "--max-overhead", 100)
        ready(program)
        t.go()
        truth = t.truth()
        equal("exit status", program.stop(), 0)
        document = program.document()
        t.finish()
    return truth, document


@case("one system call by name")
def one_syscall():
    truth, document = layer_run("syscalls", "-f", "syscall:nanosleep", args=[1000])
    equal("calls", operation(document, "syscall:nanosleep")["calls"], truth["nanosleep"])


@case("block requests of O_DIRECT reads and of fsync, and their time before and at the device")
def block():
    truth, document = layer_run("blockio", "-f", "block", "-f", "block:queue", "-f", "block:device", args=[800, 40])
    ops = by_name(document, "block")
    check("block" in ops, "no block operation; notes: %s" % "; ".join(document["notes"]))
    whole, device, queue = (ops[name] for name in ("block", "block:device", "block:queue"))
    between("requests", whole["calls"], truth["direct_read"]["calls"],
            truth["direct_read"]["calls"] + truth["synced_write"]["calls"] * 12)
    between("requests issued", device["calls"], truth["direct_read"]["calls"], whole["calls"])
    equal("requests that waited to be issued", queue["calls"], device["calls"])
    check(whole["min_ns"] > 0 and device["min_ns"] > 0, "a request took no time")
    between("the time of the parts", queue["total_ns"] + device["total_ns"], device["total_ns"], whole["total_ns"])


@live("large requests one behind the other among small ones anywhere: what they have in common")
def block_values():
    truth, document = layer_run("blockio", "-f", "block", args=[6000, 0, 3000])
    op = operation(document, "block")
    check(len(op["peaks"]) > 1, "one peak: %s" % op["peaks"])
    slow = max((p for p in op["peaks"] if p["calls"] >= 1000), key=lambda p: p["mode_ns"])
    text = value(slow, "bytes")
    check(re.match(r"(at least )?\d{5,6} in ", text), "the size is not named: " + text)
    # the file is 8192 sectors long, and begins again at its end
    text = value(slow, "sectors between it and the request before")
    told = re.match(r"(?:0|0 or 8192|8192 or 0) in (\d+)% of these, (?:under )?(\d+)% of the others", text)
    check(told and int(told[1]) - int(told[2]) >= 50, "that they are sequential is not named: " + text)


@case("without its parts, a request is one operation")
def block_whole():
    _, document = layer_run("blockio", "-f", "block", args=[40, 4])
    equal("operations", [op["name"] for op in document["operations"] if op["layer"] == "block"], ["block"])


@case("requests of an io_uring, by operation")
def uring():
    _, program = run_peaktop("doctor", "--json")
    told = next(c for c in program.document()["checks"] if c["name"] == "io_uring")
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        btf = f.read()
    equal("doctor about io_uring (%s)" % told, told["ok"], b"btf_trace_io_uring_complete\0" in btf and b"\0io_cqe\0" in btf)
    if not told["ok"]:
        raise Skip("io_uring: " + told["remedy"])
    truth, document = layer_run("uring", "-f", "io_uring", args=[2000, 5])
    ops = by_name(document, "io_uring")
    equal("calls", {name: op["calls"] for name, op in ops.items()},
          {"io_uring:read": truth["read"], "io_uring:timeout": truth["timeout"]})
    check(ops["io_uring:timeout"]["min_ns"] >= 20000000, "a timeout of 20 ms ended early: %s" % ops["io_uring:timeout"])
    _, document = layer_run("uring", "-f", "io_uring:timeout", args=[10, 2])
    equal("operations", [(op["name"], op["calls"]) for op in document["operations"]], [("io_uring:timeout", 2)])
    status, program = run_peaktop("watch", "-f", "io_uring:reed", "--", "true")
    equal("exit status", status, 2)
    check("io_uring has no such operation" in program.error_text(), program.error_text())


@case("connections that are made: each is counted, and one whose first SYN is dropped takes the second until the next")
def connections():
    truth, document = layer_run("connects", "-f", "net", args=[200, 3])
    op = operation(document, "net:connect", "net")
    equal("connections", op["calls"], truth["calls"])
    slow = sum(b["count"] for b in op["buckets"] if b["low_ns"] >= 900000000)
    equal("connections whose SYN was sent again", slow, truth["late"])
    # the connections of others are not the target's
    other = Target("connects", 100000000)
    other.go()
    _, document = layer_run("syscalls", "-f", "net", "-f", "syscall:nanosleep", args=[1000])
    check(operation(document, "syscall:nanosleep")["calls"], "the program has not run")
    equal("connections of a program that makes none", sum(op["calls"] for op in document["operations"] if op["layer"] == "net"), 0)
    other.end()


@live("run-queue delay of two spinners on one CPU")
def runqueue():
    truth, document = layer_run("spinners", "-f", "runqueue", args=[3])
    op = [o for o in document["operations"] if o["layer"] == "runqueue"][0]
    # Two threads, one CPU, 3 s: together they wait some 3 s.
    between("time waited", op["total_ns"], 2000000000, 8000000000)
    check(op["calls"] > 50, "only %d waits" % op["calls"])


@smoke("waits for the kernel's lock of the address space, which another thread holds for milliseconds")
def locks():
    status, program = run_peaktop("doctor", "--json")
    told = next(c for c in program.document()["checks"] if c["name"] == "kernel locks")
    # the kernel's own word, so that a doctor that is wrong is no reason to skip
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        equal("doctor about kernel locks (%s)" % told, told["ok"], b"btf_trace_contention_begin\0" in f.read())
    if not told["ok"]:
        raise Skip("kernel locks: " + told["remedy"])
    t = Target("culprit_waits", 60, "space", os.path.join(scratch(), "unused"))
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "lock", "--json", "--for", 600, "--max-overhead", 100)
        ready(program)
        t.go()
        wait_for(lambda: int(proc_status(t.pid)["voluntary_ctxt_switches"]) > 400, "the target sleeps 400 times, 5 of 6 on purpose")
        threads = len(os.listdir("/proc/%d/task" % t.pid))
        equal("exit status", program.stop(), 0)
    document = program.document()
    op = operation(document, "lock", "lock")
    check(op["calls"] >= 20, "%d waits" % op["calls"])
    slow = sum(b["count"] for b in op["buckets"] if b["low_ns"] >= 500000)
    check(slow >= 10, "waits of at least 0.5 ms: %d of %d" % (slow, op["calls"]))
    most = threads * document["elapsed_ns"]
    check(op["total_ns"] <= most, "%d threads waited for %.1f s in %.1f s" % (threads, op["total_ns"] / 1e9, document["elapsed_ns"] / 1e9))


def thread_records(tgid):
    """What the kernel part notes of the threads of a target, by bpftool."""
    def bpftool(*args):
        return json.loads(subprocess.run(["bpftool", "-j", "map", *args], stdout=subprocess.PIPE).stdout or "[]")

    for number in [m["id"] for m in bpftool("show") if m.get("name") == "threads"]:
        entries = bpftool("dump", "id", str(number))
        yield from (e["formatted"]["value"] for e in (entries if isinstance(entries, list) else [])
                    if e.get("formatted", {}).get("value", {}).get("tgid") == tgid)


@live("the clock of steal time that the kernel part reads is that of /proc/stat")
def steal_clock():
    need("bpftool")
    status, program = run_peaktop("doctor", "--json")
    told = next(c for c in program.document()["checks"] if c["name"] == "steal time")
    cpu = min(os.sched_getaffinity(0))

    def stolen():
        with open("/proc/stat") as f:
            fields = next(line.split() for line in f if line.startswith("cpu%d " % cpu))
        return int(fields[8]) / os.sysconf("SC_CLK_TCK")

    if not told["ok"] or not stolen():
        raise Skip("no steal time: " + (told["remedy"] or "none was taken from CPU %d" % cpu))
    target = Program([sys.executable, "-c", "import time\nwhile True: time.sleep(0.001)"])
    os.sched_setaffinity(target.pid, {cpu})
    with NothingLeft(target.pid):
        program = Peaktop("watch", "-p", target.pid, "-f", "runqueue", "--json", "--for", 600, "--max-overhead", 100)
        before = stolen()
        clock = wait_for(lambda: max((r["steal_seen"] for r in thread_records(target.pid)), default=0), "the clock was read", 30)
        after = stolen()
        equal("exit status", program.stop(), 0)
    # the kernel counts in ticks, and later than the hypervisor
    between("steal time of CPU %d, s" % cpu, clock / 1e9, before * 0.95 - 0.5, after * 1.05 + 0.5)


@live("a mutex's waiters: the function's latency is the time held")
def lock_function():
    truth, document = layer_run_function("lockwait", "contended_lock", args=[150, 4])
    op = operation(document, "contended_lock")
    equal("calls", op["calls"], 150)
    peak = max(op["peaks"], key=lambda p: p["calls"])
    between("mode", peak["mode_ns"], 3500000, 6000000)


def layer_run_function(target, *functions, args=()):
    t = Target(target, *args, preexec_fn=undisturbed)
    options = []
    for f in functions:
        options += ["-f", f]
    with NothingLeft(t.pid):
        truth, document = watch(t, *options)
        t.finish()
    return truth, document


@case("a call that does not come back is shown, with its age")
def stuck():
    t = Target("stuck", 100)
    began = time.monotonic()
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "sometimes_stuck", "--json-lines", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        t.truth()

        def is_old(document):
            op = operation(document, "sometimes_stuck")
            # 100 calls of the main thread; the others are of the thread that goes on
            return op["open"] and op["oldest_open_ns"] > 2500000000 and op["calls"] > 100
        document = stop_when(program, is_old)
        ages = [operation(line, "sometimes_stuck")["oldest_open_ns"] for line in program.documents() if operation(line, "sometimes_stuck")["open"]]
        check(ages == sorted(ages), "an age does not fall: %s" % ages)
        # the other thread may be in a call, too
        between("open calls", operation(document, "sometimes_stuck")["open"], 1, 2)
        between("the age", ages[-1], 2500000000, (time.monotonic() - began) * 1e9)
        t.say("end")
        t.line(lambda s: "sometimes_stuck" in s)
        t.finish()


@live("three peaks with known places and counts")
def peaks():
    truth, document = layer_run_function("sleeper", "nap", args=[600])
    op = operation(document, "nap")
    equal("calls", op["calls"], truth["nap"]["calls"])
    equal("peaks", len(op["peaks"]), 3)
    for peak, count, low in zip(op["peaks"], truth["peaks"], (300000, 3000000, 30000000)):
        # The mode is known to a bucket: a quarter of a doubling.
        between("mode", peak["mode_ns"], low * 0.84, low * 1.7)
        shadows = sum(p["calls"] for p in op["folded"] if p.get("shadow_of") == peak["id"])
        between("calls in the peak", peak["calls"] + shadows, count * 0.95, count * 1.05)
        check(peak["low_ns"] <= peak["mode_ns"] < peak["high_ns"], "a mode outside of its peak")
    equal("numbers", [p["peak"] for p in op["peaks"]], [1, 2, 3])
    between("shares of calls", sum(p["share_of_calls"] for p in op["peaks"] + op["folded"]), 0.97, 1.001)
    between("shares of time", sum(p["share_of_time"] for p in op["peaks"] + op["folded"]), 0.97, 1.001)


@live("the demo's four peaks with default options; --all-peaks lists what is folded, too")
def demo_peaks():
    t = Target("demo", 60)
    t.go()
    path = os.path.join(scratch(), "session")
    # where probes cost much, a sixth of the calls is seen, of which 0.4% reach the disk
    live = Peaktop("record", "-o", path, "-p", t.pid, "-f", "serve_request", "--for", 12, "--json")
    equal("exit status", live.wait(60), 0)
    for more in ([], ["--all-peaks"]):
        status, program = run_peaktop("watch", "-r", path, "--json", *more)
        equal("exit status", status, 0)
        op = operation(program.document(), "serve_request")
        if not more:
            equal("peaks of the replay", op["peaks"], operation(live.document(), "serve_request")["peaks"])
        listed = [p for p in op["peaks"] if "folded_as" not in p]
        equal("peaks, of which the modes are %s" % [p["mode_ns"] for p in op["peaks"]], len(listed), 4)
        for peak, low in zip(listed, (300, 100000, 2000000, 20000000)):
            between("mode", peak["mode_ns"], low, low * 20)
        check(all("folded_as" in p for p in op["folded"]), "a folded peak does not say why it is folded")
        if more:
            equal("folded with --all-peaks", len(op["folded"]), 0)


def value(peak, name):
    """What is said of this value of the calls in a peak."""
    found = [v["text"] for v in peak["values"] if v["name"].split(" (")[0] == name]
    equal("texts about the %s among %s" % (name, peak["values"]), len(found), 1)
    return found[0]


@live("what the slow calls have in common: an argument, a return value, a member behind a pointer, a string")
def values():
    truth, document = layer_run_function("values", "by_argument", "by_return", "by_member", args=[2000])
    op = operation(document, "by_argument")
    slow = max(op["peaks"], key=lambda p: p["mode_ns"])
    text = value(slow, "kind")
    check(re.match(r"7 in (9\d|100)% of these, (under 1|\d)% of the others", text), "the argument 7 is not named: " + text)
    op = operation(document, "by_return")
    slow = max(op["peaks"], key=lambda p: p["mode_ns"])
    # of an int, of which a register holds the lower half
    text = value(slow, "return value")
    check(re.match(r"-1 in (9\d|100)% of these, (under 1|\d)% of the others", text), "the return value is not named: " + text)
    op = operation(document, "by_member")
    slow = max(op["peaks"], key=lambda p: p["mode_ns"])
    for name, what in (("req->cmd", "PUT"), ("path", '"/slow"')):
        text = value(slow, name)
        check(re.match(what + r" in (9\d|100)% of these, (under 1|\d)% of the others", text), "%s is not named: %s" % (name, text))


@live("what the slow system calls have in common: the kind of their file, its flags")
def file_values():
    truth, document = layer_run("file_kinds", "-f", "syscall:read", "-f", "syscall:pwrite64", args=[3000])
    op = operation(document, "syscall:read")
    slow = max((p for p in op["peaks"] if p["calls"] > truth["piped"] // 2), key=lambda p: p["mode_ns"])
    check(2500000 < slow["mode_ns"], "reads of the pipe take %d ns" % slow["mode_ns"])
    text = value(slow, "file")
    check(re.match(r"pipe in (9\d|100)% of these, (under 1|\d)% of the others", text), "the pipe is not named: " + text)
    op = operation(document, "syscall:pwrite64")
    slow = max((p for p in op["peaks"] if p["calls"] > truth["flushed"] // 4), key=lambda p: p["mode_ns"])
    text = value(slow, "flags of the file")
    check(re.match(r"O_DSYNC in (9\d|100)% of these", text), "the flag is not named: " + text)
    _, document = layer_run("file_kinds", "-f", "syscall:read", "--no-values", args=[1000])
    told = [v["name"] for p in operation(document, "syscall:read")["peaks"] for v in p["values"]]
    check("file" not in told, "told with --no-values: %s" % told)


@case("JSON by line: one document a slice, each valid, totals that grow, and slices that add up to them")
def json_lines():
    t = Target("sleeper", 100000)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "nap", "--json-lines", "--interval", 0.5, "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        program.line(lambda s: has_calls("nap")(json.loads(s)))
        seen = len(program.out)
        wait_for(lambda: len(program.out) >= seen + 4, "four more lines")
        equal("exit status", program.stop(), 0)
        documents = program.documents()
        equal("kinds", {document["kind"] for document in documents}, {"watch"})
        naps = [operation(document, "nap") for document in documents]
        calls = [op["calls"] for op in naps]
        check(calls == sorted(calls) and calls[-1] > calls[0], "calls are totals: %s" % calls)
        told = sum(b["count"] for op in naps for piece in op["slices"] for b in piece["buckets"])
        equal("calls in the slices of all lines", told, calls[-1])
        t.end()


@live("open system calls: no sleep is told to be longer than it is, however long nobody has watched its end")
def open_ages():
    t = Target("naps", 14)
    t.go()
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "syscalls", "--json-lines", "--interval", 0.5, "--for", 12, "--max-overhead", 0.1)
        equal("exit status", program.wait(40), 0)
        documents = program.documents()
    check("sampled in bursts" in str(documents[-1]["notes"]), "system calls were always watched: %s" % documents[-1]["notes"])
    ages = lambda name: [call["age_ns"] / 1e9 for d in documents for op in d["operations"] if op["name"] == name for call in op["open_calls"]]
    naps, pauses = ages("syscall:nanosleep"), ages("syscall:pause")
    check(len(naps) > 20, "naps that are open: %d" % len(naps))
    check(max(naps) < 2.5, "a sleep of 1.5 s, open for %.1f s" % max(naps))
    # The thread in pause() does not run: its call is open for as long as it is known.
    check(pauses and max(pauses) > 8, "pause() is open for ever: %s" % pauses)
    t.end()


if __name__ == "__main__":
    main()
