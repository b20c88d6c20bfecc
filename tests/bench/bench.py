#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What measuring costs: peaktop beside bpftrace, funclatency and perf trace, in one run.

    bench.py [functions|syscalls|own|recorder|screen|loss|slow|coverage|frames]...

A figure is the median of ROUNDS (5) rounds in which all tools take turns; `added` is against the same program unwatched
in the same round. The floor is an empty BPF program on the very addresses that peaktop armed. One table an item, then a
line for each expectation: met or not met, with the ratio. Exit status 1 if one is not met. B or PEAKTOP: another build.
"""
import math
import os
import shutil
import statistics
import struct
import sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from harness import *

BENCH = os.path.join(BUILD, "bench")
FIRSTS, FLOOR = os.path.join(BENCH, "firsts"), os.path.join(BENCH, "floor")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
PAIRS = int(os.environ.get("PAIRS", "20"))  # of the governor's item
SECONDS = os.environ.get("SECONDS", "0.4")
# Seconds before them. A function that is called through a pointer is timed at its exits until its callers are learnt.
WARM, LEARN = "0.1", "3"
KINDS = ["push_direct", "push_pointer", "endbr_direct", "endbr_pointer", "sub_direct", "sub_pointer", "mov_direct",
         "mov_pointer", "sub_leaf_direct", "mov_leaf_direct"]
median = statistics.median
expectations = []


def expect(what, met, said):
    expectations.append((what, met, said))


def tool(*names):
    for name in names:
        for path in (shutil.which(name), "/usr/sbin/" + name, "/sbin/" + name):
            if path and os.path.exists(path):
                return path
    return None


BPFTRACE, FUNCLATENCY, PERF = tool("bpftrace"), tool("funclatency"), tool("perf")


def title(text):
    print("\n## %s\n" % text, flush=True)


def table(*heads):
    print("| %s |\n|%s" % (" | ".join(heads), "---|" * len(heads)), flush=True)


def row(*cells):
    print("| %s |" % " | ".join(str(c) for c in cells), flush=True)


def complain(what, error):
    print("# %s: %s" % (what, str(error).split("\n")[0][:160]), flush=True)
    clean_up()


def elapse(seconds):
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() > end, "time passes", seconds + 5)


# --- a function

def probed(pid):
    wait_for(lambda: breakpoints(pid, "firsts"), "the probe is in the target", 30)
    # The uretprobe cannot be seen; it is attached within milliseconds of the other one.
    elapse(0.3)


def interrupt(program):
    """Ctrl-C, again and again: bpftrace sometimes misses one."""
    for _ in range(10):
        program.signal(signal.SIGINT)
        try:
            return program.wait(2)
        except AssertionError:
            pass
    program.end()
    return None


def with_peaktop(pid, kind):
    program = Peaktop("watch", "-p", pid, "-f", kind, "--json", "--for", 600, "--max-overhead", 100)
    program.armed(pid)
    return program


def with_bpftrace(pid, kind):
    text = ("uprobe:%s:%s /pid==%d/ { @s[tid] = nsecs; } uretprobe:%s:%s /@s[tid]/ "
            "{ @ = hist(nsecs - @s[tid]); delete(@s[tid]); }" % (FIRSTS, kind, pid, FIRSTS, kind))
    program = Program([BPFTRACE, "-p", str(pid), "-e", text])
    probed(pid)
    return program


def with_funclatency(pid, kind):
    program = Program([FUNCLATENCY, "-p", str(pid), ":" + kind])
    probed(pid)
    return program


sites = {}      # function: what peaktop armed
placements = {}  # and how it says so


def with_floor(pid, kind):
    program = Program([FLOOR, str(pid), sites[kind][0][0]] + ["0x%x" % offset for _, offset in sites[kind]])
    program.line(lambda s: s == "attached")
    return program


def entry_of(kind):
    run = subprocess.run(["nm", FIRSTS], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    address = next(int(line.split()[0], 16) for line in run.stdout.splitlines() if line.endswith(" " + kind))
    return address - text_delta()


def text_delta():
    """Address less file offset of the executable's code."""
    with open(FIRSTS, "rb") as f:
        head = f.read(64)
        at, size, count = (int.from_bytes(head[32:40], "little"), int.from_bytes(head[54:56], "little"),
                           int.from_bytes(head[56:58], "little"))
        f.seek(at)
        for _ in range(count):
            part = f.read(size)
            if part[:4] == b"\1\0\0\0" and part[4] & 1:
                return int.from_bytes(part[16:24], "little") - int.from_bytes(part[8:16], "little")
    return 0


def with_entry_floor(pid, kind):
    """What the peers do, with empty programs: entry and uretprobe at the first instruction."""
    program = Program([FLOOR, "-r", str(pid), FIRSTS, "0x%x" % entry_of(kind)])
    program.line(lambda s: s == "attached")
    return program


def emulated(path, offset):
    """Does the kernel emulate the instruction there (arch/x86/kernel/uprobes.c)?"""
    with open(path, "rb") as f:
        f.seek(offset)
        code = f.read(3)
    if code[0] == 0x41:
        return 0x50 <= code[1] <= 0x57
    if code[0] == 0x0f:
        return 0x80 <= code[1] <= 0x8f or code[1] == 0x1f
    if code[0] in (0x66, 0x2e):
        return emulated(path, offset + 1)
    return 0x50 <= code[0] <= 0x57 or code[0] in (0x90, 0xe8, 0xe9, 0xeb) or 0x70 <= code[0] <= 0x7f


def one(kind, start):
    """ns of CPU a call takes while `start` watches."""
    t = Target(FIRSTS, kind, SECONDS, LEARN if start is with_peaktop and "pointer" in kind else WARM)
    program = start(t.pid, kind) if start else None
    t.go()
    truth = t.truth()
    if start is with_peaktop:
        sites[kind] = breakpoints(t.pid, "firsts")
    if program:
        if isinstance(program, Peaktop):
            program.stop()
            op = operation(program.document(), kind)
            placements[kind] = op.get("placement", "")
            if not op["calls"] >= truth["calls"]:
                print("# %s: peaktop saw %d of %d calls" % (kind, op["calls"], truth["calls"]))
        else:
            # floor ends with its input, whose end a signal would forestall
            try:
                program.process.stdin.close()
            except OSError:
                pass
            interrupt(program)
    t.finish()
    clean_up()
    return truth["ns"]


def ratio(a, b):
    return a / b if b > 0 else math.inf


def functions():
    title("Watching a function: ns of CPU added to each call (median of %d)" % ROUNDS)
    tools = [("peaktop", with_peaktop), ("floor", with_floor)]
    if BPFTRACE:
        tools.append(("bpftrace", with_bpftrace))
    if FUNCLATENCY:
        tools.append(("funclatency", with_funclatency))
    tools.append(("entry+uretprobe floor", with_entry_floor))
    names = [name for name, _ in tools]
    table("function", "bare", *names, "peaktop/floor", "cheapest peer/peaktop", "sites")
    over_floor, pairs = [], []
    for kind in KINDS:
        bare, added, against = [], {name: [] for name in names}, []
        for _ in range(ROUNDS):
            now = {}
            base = one(kind, None)
            bare.append(base)
            for name, start in tools:
                try:
                    now[name] = one(kind, start) - base
                    added[name].append(now[name])
                except (AssertionError, Skip, KeyError) as error:
                    complain("%s with %s" % (kind, name), error)
            if "peaktop" in now and "floor" in now:
                against.append(ratio(now["peaktop"], now["floor"]))
        mid = {name: median(values) for name, values in added.items() if values}
        if "peaktop" not in mid or not against:
            expect("%s: measured" % kind, False, "no figure")
            continue
        peers = {name: mid[name] for name in ("bpftrace", "funclatency") if name in mid}
        all_emulated = all(emulated(path, offset) for path, offset in sites[kind])
        first_emulated = emulated(FIRSTS, entry_of(kind))
        row(kind, "%.1f" % median(bare), *("%.0f" % mid[n] if n in mid else "-" for n in names), "%.2f" % median(against),
            "%.1f" % ratio(min(peers.values()), mid["peaktop"]) if peers else "-",
            "%d, %s" % (len(sites[kind]), "all emulated" if all_emulated else "one or more stepped"))
        over_floor.append((median(against), kind))
        if kind == "push_direct" and "funclatency" in peers:
            expect("no dearer than funclatency on push called directly", mid["peaktop"] <= peers["funclatency"],
                   "%.2f times; the floor of two emulated probes is %.2f times it" % (
                       ratio(mid["peaktop"], peers["funclatency"]), ratio(mid["floor"], peers["funclatency"])))
        if all_emulated and not first_emulated and peers:
            pairs.append((ratio(min(peers.values()), mid["peaktop"]), ratio(min(peers.values()), mid["floor"]), kind))
    worst = max(over_floor, default=(math.inf, "none"))
    expect("at most 1.3 times the floor of the placement", worst[0] <= 1.3, "worst %.2f times (%s)%s" % (
        worst[0], worst[1], "; also over it: " + ", ".join("%s %.2f" % (k, r) for r, k in over_floor
                                                          if r > 1.3 and k != worst[1]) if worst[0] > 1.3 else ""))
    if pairs:
        low = min(pairs)
        expect("at least 5 times cheaper than both peers where the pair is all emulated and the peers' first instruction is not",
               low[0] >= 5, "worst %.1f times (%s); an empty program on the same addresses: %.1f times" % (low[0], low[2], low[1]))
    print("\nPlacements, in peaktop's words:")
    for kind in KINDS:
        print("- %s: %s" % (kind, placements.get(kind, "-")))


# --- a system call

def syscalls():
    title("A system call: ns of CPU added to each getppid (median of %d); `other`: in a process that nobody watches" % ROUNDS)

    def peaktop(pid):
        program = Peaktop("watch", "-p", pid, "--json", "--for", 600, "--max-overhead", 100)
        ready(program)
        return program

    def bpftrace(pid):
        program = Program([BPFTRACE, "-e", "tracepoint:raw_syscalls:sys_enter /pid==%d/ { @s[tid] = nsecs; } "
                           "tracepoint:raw_syscalls:sys_exit /@s[tid]/ { @[args->id] = hist(nsecs - @s[tid]); delete(@s[tid]); }" % pid])
        program.line(lambda s: "Attaching" in s, 30)
        elapse(2)
        check(program.process.poll() is None, program.error_text())
        return program

    def perf(pid):
        program = Program([PERF, "trace", "-s", "-p", str(pid)])
        elapse(2)
        check(program.process.poll() is None, program.error_text() or "perf trace does not run here")
        return program

    tools = [("peaktop", peaktop)] + ([("bpftrace", bpftrace)] if BPFTRACE else []) + ([("perf trace -s", perf)] if PERF else [])
    rows, bare = {name: ([], []) for name, _ in tools}, []
    for _ in range(ROUNDS):
        base = one("getppid", None)
        bare.append(base)
        for name, start in tools:
            try:
                watched, other = Target(FIRSTS, "getppid", SECONDS), Target(FIRSTS, "getppid", SECONDS)
                program = start(watched.pid)
                watched.go()
                mine = watched.truth()["ns"]
                other.go()
                theirs = other.truth()["ns"]
                interrupt(program)
                rows[name][0].append(mine - base)
                rows[name][1].append(theirs - base)
                clean_up()
            except (AssertionError, Skip) as error:
                complain(name, error)
    table("tool", "bare", "added", "other")
    for name, (mine, theirs) in rows.items():
        row(name, "%.0f" % median(bare), *(("%.0f" % median(mine), "%.0f" % median(theirs)) if mine else ("-", "-")))
    for name in ("bpftrace", "perf trace -s"):
        if name in rows and rows[name][0] and rows["peaktop"][0]:
            times = ratio(median(rows[name][0]), median(rows["peaktop"][0]))
            expect("a system call is no dearer than with %s" % name, times >= 1, "%.1f times cheaper" % times)
    if rows["peaktop"][0] and rows.get("bpftrace", ([],))[0]:
        times = ratio(median(rows["bpftrace"][1]), median(rows["peaktop"][1]))
        expect("a system call of an uninvolved process is no dearer than with bpftrace", times >= 1, "%.1f times cheaper" % times)


# --- itself

def ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        field = f.read().rpartition(")")[2].split()
    return int(field[11]) + int(field[12])


def memory_mb(pid, key):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return int(re.search(r"^%s:\s+(\d+)" % key, f.read(), re.M).group(1)) / 1024


def own():
    seconds = 20
    title("Its own CPU and memory at 1 Hz: the demo's system calls and one function, %d s" % seconds)
    t = Target("demo", 120)
    program = Peaktop("watch", "-p", t.pid, "-f", "serve_request", "-f", "syscalls", "--json-lines", "--for", 600)
    program.armed(t.pid)
    t.go()
    elapse(4)
    members = family(program.pid)
    before, start = {pid: ticks(pid) for pid in members}, time.monotonic()
    elapse(seconds)
    took = (time.monotonic() - start) * os.sysconf("SC_CLK_TCK")
    table("process", "CPU, % of one", "resident, MB", "proportional, MB")
    cells = []
    for pid in members:
        with open("/proc/%d/comm" % pid) as f:
            name = f.read().strip()
        cells.append(((ticks(pid) - before[pid]) / took * 100, memory_mb(pid, "Rss"), memory_mb(pid, "Pss")))
        row(name, "%.2f" % cells[-1][0], "%.1f" % cells[-1][1], "%.1f" % cells[-1][2])
    row("all", "%.2f" % sum(c[0] for c in cells), "%.1f" % sum(c[1] for c in cells), "%.1f" % sum(c[2] for c in cells))
    program.stop()
    clean_up()


def cpu_ns(pid):
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task)) as f:
            total += int(f.read().split()[0])
    return total


def screen():
    seconds, settled = 30, 66  # slices last a second from then on
    title("The screen at 80x24 on one process, system calls only, at 1 Hz, beside top in the same run, %d s" % seconds)
    table("system calls/s", "program", "CPU, % of one", "proportional, MB", "times top -d 1")
    for rate in (50, 50000):
        t = Target(os.path.join(BENCH, "syscall_rate"), rate)
        t.go()
        screens = {"top -d 1": Screen("top", "-d", "1"), "top -d 1 -p PID": Screen("top", "-d", "1", "-p", t.pid),
                   "peaktop -p PID": Screen(PEAKTOP, "-p", t.pid)}
        screens["peaktop -p PID"].shows("nanosleep", 30)
        elapse(settled)
        members = {name: family(s.pid) for name, s in screens.items()}
        before, start = {p: cpu_ns(p) for pids in members.values() for p in pids}, time.monotonic()
        elapse(seconds)
        took, used = (time.monotonic() - start) * 1e9, {}
        for name, pids in members.items():
            used[name] = sum(cpu_ns(p) - before[p] for p in pids) / took * 100
            row(rate, name, "%.2f" % used[name], "%.1f" % sum(memory_mb(p, "Pss") for p in pids),
                "%.2f" % ratio(used[name], used["top -d 1"]))
        expect("%d calls/s: at most 0.5%% of a CPU" % rate, used["peaktop -p PID"] <= 0.5, "%.2f%%, %.2f times top" % (
            used["peaktop -p PID"], ratio(used["peaktop -p PID"], used["top -d 1"])))
        clean_up()


RECORDER_SECONDS = int(os.environ.get("RECORDER_SECONDS", "3600"))
REC_TICK, REC_WITNESS, REC_SLOW_CALL, SEGMENT, SEGMENT_END = 10, 54, 59, 0x72, 0x73
SLOW_BYTES = 7 << 10  # that a ring holds of a minute (analysis/session/ring_minute.h)


def redis_under_load():
    """redis-server with ten clients that ask all the time; its pid, and how many commands it has processed so far."""
    need("redis-server", "redis-benchmark", "redis-cli")
    socket = os.path.join(scratch(), "redis")
    server = Program(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", scratch()])
    wait_for(lambda: os.path.exists(socket), "redis")
    Program(["redis-benchmark", "-s", socket, "-t", "set,get", "-n", "1000000000", "-c", "10", "-q", "-l"])

    def commands():
        run = subprocess.run(["redis-cli", "-s", socket, "info", "stats"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
        return int(re.search(r"total_commands_processed:(\d+)", run.stdout).group(1))
    return server.pid, commands


def varints(data, n):
    out, at = [], 0
    for _ in range(n):
        value, shift = 0, 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                break
        out.append(value)
    return out


def ring_minutes(path):
    """Of each minute that a ring has merged: its ns, and the bytes of its slow calls with their stacks and of all others."""
    with open(path, "rb") as f:
        data = f.read()
    segment, minutes = struct.unpack_from("<I", data, 16)[0], []
    for begin in range(24, len(data), segment):
        at, kind, expected, slow, others = begin, SEGMENT, None, 0, 0
        while at + 16 <= len(data) and kind != SEGMENT_END:
            kind, _, length, sequence, _ = struct.unpack_from("<HHIII", data, at)
            if not kind or (expected is not None and sequence != expected):
                break
            slow += 16 + length if kind in (REC_WITNESS, REC_SLOW_CALL) else 0
            others += 16 + length if kind not in (REC_WITNESS, REC_SLOW_CALL) else 0
            if kind == REC_TICK:
                _, start, end = varints(data[at + 16:at + 16 + length], 3)
                if end - start > 30e9:
                    minutes.append((end - start, slow, others))
                slow = others = 0
            at, expected = at + 16 + length, sequence + 1
    return minutes


def recorder_itself(pid):
    """What a recorder of a running target takes for itself."""
    path = os.path.join(scratch(), "ring")
    program = Peaktop("record", "-p", pid, "--ring", "64M", "-o", path)
    wait_for(lambda: os.path.exists(path), "the ring")
    elapse(60)  # until what is asked once is over
    members = family(program.pid)
    before, start = {p: cpu_ns(p) for p in members}, time.monotonic()
    elapse(RECORDER_SECONDS)
    took, members = time.monotonic() - start, family(program.pid)
    table("process", "CPU, % of one", "proportional, MB")
    cells = []
    for p in members:
        with open("/proc/%d/comm" % p) as f:
            name = f.read().strip()
        cells.append(((cpu_ns(p) - before.get(p, 0)) / took / 1e7, memory_mb(p, "Pss")))
        row(name, "%.3f" % cells[-1][0], "%.1f" % cells[-1][1])
    # the first minute has what is written once, and slow calls for which an hour's room was there
    minutes = ring_minutes(path)[1:]
    ns, slow, others = (sum(m[i] for m in minutes) for i in range(3))
    check(minutes, "no minute was merged: RECORDER_SECONDS must be 180 or more")
    disk = (others + min(slow, SLOW_BYTES * len(minutes))) / ns * 86400e9 / 1e6
    cpu, memory = sum(c[0] for c in cells), sum(c[1] for c in cells)
    row("all", "%.3f" % cpu, "%.1f" % memory)
    print("\ndisk: %.1f MB a day; %.1f times its limit of CPU, %.1f of memory, %.1f of disk" % (disk, cpu / 0.5, memory / 20, disk / 20))
    equal("exit status of the recorder", program.stop(), 0)
    expect("record --ring: at most 0.5% of a CPU", cpu <= 0.5, "%.2f%%" % cpu)
    expect("record --ring: at most 20 MB of memory", memory <= 20, "%.1f MB" % memory)
    expect("record --ring: at most 20 MB a day", disk <= 20, "%.1f MB" % disk)


def recorder_on_target(pid, commands):
    """What it takes from the target: CPU time of a command with and without it, in turns. --max-overhead is of one CPU or of what the
    target takes, if that is more."""
    path, per_command, of_limit = os.path.join(scratch(), "turns"), [], []

    def window(seconds):
        before, start = (cpu_ns(pid), commands()), time.monotonic()
        elapse(seconds)
        cpu, calls = cpu_ns(pid) - before[0], commands() - before[1]
        took = (time.monotonic() - start) * 1e9
        return cpu / calls, calls, max(took, cpu)

    for _ in range(min(PAIRS, max(3, RECORDER_SECONDS // 180))):
        before = window(10)
        program = Peaktop("record", "-p", pid, "--ring", "64M", "-o", path)
        wait_for(lambda: os.path.exists(path), "the ring")
        elapse(70)  # at the begin it may spend what it earns in a minute
        watched = window(20)
        program.stop()
        elapse(1)
        without = (before[0] + window(10)[0]) / 2
        per_command.append(100 * (watched[0] / without - 1))
        of_limit.append(100 * (watched[0] - without) * watched[1] / watched[2])
    table("added", "median, %", "95% between")
    for what, values in (("to the CPU time of a command", per_command), ("of one CPU, or of the target's time if that is more", of_limit)):
        m, low, high = interval(values)
        row(what, "%.2f" % m, "%.2f and %.2f" % (low, high))
    expect("record --ring: at most 1% of one CPU or of the target", m <= 1, "%.2f%% (%.2f to %.2f)" % (m, low, high))


def recorder():
    title("The recorder on redis-server under load, default budget, %d s" % RECORDER_SECONDS)
    pid, commands = redis_under_load()
    elapse(2)
    recorder_on_target(pid, commands)
    recorder_itself(pid)
    clean_up()


# --- the governor

def interval(values):
    """Median and the order statistics that hold it with 95% or more, free of any distribution."""
    v, n = sorted(values), len(values)
    k = max((k for k in range(1, n // 2 + 1) if sum(math.comb(n, i) for i in range(k)) * 2 <= 0.05 * 2 ** n), default=1)
    return median(v), v[k - 1], v[n - k]


def loss():
    title("The governor: --max-overhead 1 on a function called about 500,000 times a second, %d pairs with and without" % PAIRS)
    t = Target(os.path.join(BENCH, "steady"), 500000)
    t.go()
    mine = list(EXIT)

    def mark():
        have = len([s for s in t.out if s.startswith("{")])
        t.say()
        wait_for(lambda: len([s for s in t.out if s.startswith("{")]) > have, "the target answers")
        return json.loads([s for s in t.out if s.startswith("{")][-1])

    def window(seconds):
        a = mark()
        elapse(seconds)
        b = mark()
        return {key: b[key] - a[key] for key in a}

    per_call, per_second, seen, cost, rate = [], [], [], [], []
    for i in range(PAIRS):
        halves = {}
        # Now one first, now the other, or a machine that gets slower would count as a loss.
        for watched in ((False, True) if i % 2 else (True, False)):
            program = None
            if watched:
                program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, "--max-overhead", 1)
                wait_for(lambda: breakpoints(t.pid, "steady"), "something is armed", 20)
                elapse(1)
            halves[watched] = window(3)
            if program:
                program.stop()
                document = program.document()
                seen.append(operation(document, "busy")["share_of_calls_seen"])
                cost.append(document["cost"]["percent_of_target_cpu"])
                program.end()
                EXIT[:] = mine
                elapse(0.3)
        off, on = halves[False], halves[True]
        rate.append(off["calls"] / off["wall_ns"] * 1e9)
        per_call.append((on["cpu_ns"] / on["calls"]) / (off["cpu_ns"] / off["calls"]) - 1)
        per_second.append(1 - (on["calls"] / on["wall_ns"]) / (off["calls"] / off["wall_ns"]))
    table("loss of the target's throughput", "median", "95% between")
    for what, values in (("calls per second of its CPU time", per_call), ("calls per second", per_second)):
        m, low, high = interval(values)
        row(what, "%.2f %%" % (m * 100), "%.2f and %.2f %%" % (low * 100, high * 100))
    print("\nUnwatched %.0f calls/s; share of calls seen, median %.4f; cost as peaktop says %.2f %% of the target's CPU" % (
        median(rate), median(seen), median(cost)))
    m, low, high = interval(per_call)
    said = median(cost) / 100
    expect("the cost that it tells is the measured one (half to twice)", 0.5 * m <= said <= 2 * m or abs(said - m) < 0.003,
           "told %.2f%%, measured %.2f%%" % (said * 100, m * 100))
    expect("the target loses about 1% at most (1.2%)", m <= 0.012, "%.2f%% (95%% between %.2f and %.2f), %d pairs" % (
        m * 100, low * 100, high * 100, PAIRS))
    clean_up()


def slow():
    seconds = 12
    title("The governor: slow calls (200 ms, 100 of a million) among 500,000 a second, %d runs of %d s" % (ROUNDS, seconds))
    table("run", "calls", "reported", "seen", "slow per million", "reported", "percent of the target's CPU")
    calls, costs, told, true = [], [], [0, 0], [0, 0]
    for i in range(ROUNDS):
        t = Target("rates", 500000, seconds, 100, 200)
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, "--max-overhead", 1)
        wait_for(lambda: breakpoints(t.pid) or program.process.poll() is not None, "something is armed", 20)
        t.go()
        truth = t.truth(seconds + 60)
        program.stop()
        t.finish()
        document = program.document()
        op = operation(document, "busy")
        seen = sum(b["count"] for b in op["buckets"] if b["low_ns"] >= 100000000)
        true_calls = truth["fast"] + truth["slow"]
        true_share = truth["slow"] / true_calls
        share = seen / max(op["calls"], 1)
        told = [told[0] + seen, told[1] + op["calls"]]
        true = [true[0] + truth["slow"], true[1] + true_calls]
        costs.append(document["cost"]["percent_of_target_cpu"])
        calls.append(op["calls"] / true_calls)
        row(i + 1, true_calls, op["calls"], "%.4f" % op["share_of_calls_seen"], "%.0f" % (true_share * 1e6),
            "%.0f" % (share * 1e6), "%.1f" % document["cost"]["percent_of_target_cpu"])
        for note in document["notes"]:
            print("# note: " + note)
        clean_up()
    # One run sees but a handful of slow calls: their number is judged over all runs.
    share = ratio(told[0] / max(told[1], 1), true[0] / true[1])
    expect("slow calls have their right weight over all runs (half to twice)", 0.5 <= share <= 2, "%.2f times the true share" % share)
    off = max(calls, key=lambda c: abs(math.log(max(c, 1e-9))))
    expect("the number of calls is right within 20% in each run", 0.8 <= off <= 1.25, "worst %.2f times the true number" % off)
    expect("by its own account it costs this target 1% (2% at most)", median(costs) <= 2, "median %.1f%%" % median(costs))


# --- what the planner finds

FILES = [("redis-server", ["/usr/bin/redis-server"]),
         ("postgres", ["/usr/lib/postgresql/%d/bin/postgres" % v for v in range(18, 12, -1)]),
         ("python3", [os.path.realpath(shutil.which("python3", path="/usr/bin:/bin") or "/usr/bin/python3")]),
         ("libc", ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"]),
         ("libstdc++", ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/libstdc++.so.6"])]


def coverage():
    title("The planner on all functions: which share can be watched, and with which places")
    table("module", "functions", "watchable", "all-emulated pair", "entry emulated, some end stepped or learnt", "entry stepped")
    for name, paths in FILES:
        path = next((p for p in paths if os.path.exists(p)), None)
        if not path:
            print("# %s is not installed" % name)
            continue
        run = subprocess.run([os.path.join(BENCH, "coverage"), path], stdout=subprocess.PIPE, check=True)
        c = json.loads(run.stdout)
        share = lambda key: "%.1f %%" % (100 * c[key] / c["functions"])
        row(name, c["functions"], share("watchable"), share("pairs"), share("entry_emulated"), share("entry_stepped"))
        expect("%s: 90%% of the functions can be watched" % name, c["watchable"] >= 0.9 * c["functions"], share("watchable"))


# --- the screen

def frames():
    title("Bytes that a screen writes in a tick (1 KB on average for the heatmap at 200x50)")
    run = subprocess.run([os.path.join(BENCH, "screen_bytes")], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    print(run.stdout[run.stdout.index("|"):].rstrip())
    for line in run.stdout.splitlines():
        cell = [c.strip() for c in line.split("|")]
        if len(cell) > 5 and cell[1:3] == ["heatmap", "200x50"]:
            expect("at most 1 KB a tick for the heatmap at 200x50", float(cell[4]) <= 1024, "%s bytes" % cell[4])


ITEMS = [functions, syscalls, own, recorder, screen, loss, slow, coverage, frames]

if __name__ == "__main__":
    wanted = sys.argv[1:] or [item.__name__ for item in ITEMS]
    print("Linux %s, %d CPUs, load %.1f; tools: %s" % (os.uname().release, os.cpu_count(), os.getloadavg()[0], ", ".join(
        os.path.basename(t) if t else "-" for t in (BPFTRACE, FUNCLATENCY, PERF))))
    try:
        for name in wanted:
            try:
                globals()[name]()
            except (AssertionError, Skip) as error:
                complain(name, error)
                expect("%s: measured" % name, False, str(error).split("\n")[0][:160])
    finally:
        clean_up()
    title("Expectations")
    for what, met, said in expectations:
        print("%-7s %s: %s" % ("met" if met else "NOT MET", what, said))
    sys.exit(0 if all(met for _, met, _ in expectations) else 1)
