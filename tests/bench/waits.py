#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tracing of waits costs: the speed of three loads under peaktop chains and other tools, in turns in one run.

    waits.py [pipe|redis|pgbench]...

Speed is the number of times that the load's client waits in a second: each operation waits equally often. On a machine with
other work this varies more than any tool costs. The loss is therefore computed from the CPU time of client and target for one
wait: if it is 1.25 times that of the same load unwatched in the same round, the loss is 20%. A figure is the median of
ROUNDS (3) rounds of SECONDS (3) each. "beside" is
peaktop chains on a process that sleeps and is not on any chain of the load. bcc's offwaketime is not among the tools:
it compiles its program with the headers of the running kernel, which a machine may not have. perf and bpftrace need
tracefs; it is mounted for them alone. Exit status 1 if an expectation is not met.
"""
import os
import shutil
import statistics
import sys
import tempfile
import time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from harness import *

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = float(os.environ.get("SECONDS", "3"))
READY = 3  # seconds until a tool observes
PORT = "7399"
WITH_TRACEFS = ["unshare", "-m", "sh", "-c", "mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; exec \"$0\" \"$@\""]
SAME_TRACEPOINTS = "".join("tracepoint:%s { @[\"%s\"] = count(); } " % (name, name) for name in (
    "irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit", "timer:hrtimer_expire_entry",
    "timer:hrtimer_expire_exit", "block:block_rq_issue", "block:block_rq_complete", "workqueue:workqueue_queue_work")) + \
    "tracepoint:sched:sched_switch { @off[args->prev_pid] = nsecs; @s[kstack] = count(); @on[args->next_pid] = nsecs; } " \
    "tracepoint:sched:sched_waking { @w[pid, args->pid] = nsecs; @k[kstack] = count(); }"


def chains(pid, percent):
    return [PEAKTOP, "chains", "-p", str(pid), "--max-overhead", str(percent), "--for", "600", "--json"]


def observers(pid, sleeper, folder):
    return {
        "nothing": None,
        "peaktop, --max-overhead 100": chains(pid, 100),
        "peaktop, default budget": chains(pid, 1),
        "peaktop beside it, --max-overhead 100": chains(sleeper, 100),
        "perf sched record": WITH_TRACEFS + ["perf", "sched", "record", "-o", os.path.join(folder, "perf.data")],
        "bpftrace, same tracepoints": WITH_TRACEFS + ["bpftrace", "-e", SAME_TRACEPOINTS],
    }


def pipe(folder):
    program = Program(["perf", "bench", "sched", "pipe", "-l", "1000000000"])
    return program.pid, program.pid, [program]


def redis(folder):
    server = Program(["redis-server", "--port", PORT, "--dir", folder, "--save", "", "--appendonly", "no"])
    wait_for(lambda: subprocess.run(["redis-cli", "-p", PORT, "ping"], capture_output=True).stdout == b"PONG\n",
             "redis answers", 10)
    client = Program(["redis-benchmark", "-p", PORT, "-c", "1", "-n", "1000000000", "-t", "set", "-q"])
    return server.pid, client.pid, [client, server]


def pgbench(folder):
    """A server of its own below `folder`, one connection; the target is the backend."""
    binaries = sorted(os.path.join("/usr/lib/postgresql", v, "bin") for v in os.listdir("/usr/lib/postgresql"))[-1]
    data = os.path.join(folder, "pg")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    os.chmod(folder, 0o777)
    subprocess.run(user + [os.path.join(binaries, "initdb"), "-D", data], check=True, capture_output=True)
    server = Program(user + [os.path.join(binaries, "postgres"), "-D", data, "-k", folder, "-h", ""])
    at = ["-h", folder, "-U", "postgres", "postgres"]
    wait_for(lambda: subprocess.run(["psql", *at, "-c", "select 1"], capture_output=True).returncode == 0,
             "PostgreSQL answers", 20)
    subprocess.run(["pgbench", "-i", "-q", *at], check=True, capture_output=True)
    client = Program(["pgbench", "-c", "1", "-T", "3600", *at])
    wait_for(lambda: switches(client.pid), "pgbench works", 10)

    def backend():
        found = subprocess.run(["psql", *at, "-Atc", "select pid from pg_stat_activity where application_name = 'pgbench'"],
                               capture_output=True, text=True).stdout.split()
        return int(found[0]) if found else 0
    wait_for(backend, "the backend of pgbench", 10)
    return backend(), client.pid, [client, server]


def switches(pid):
    """Times that the threads of a process gave up the CPU to wait."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, task)) as f:
            total += next(int(line.split()[1]) for line in f if line.startswith("voluntary"))
    return total


def cpu_ns(pids):
    total = 0
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, task)) as f:
                total += int(f.read().split()[0])
    return total


def with_children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [pid] + [int(child) for child in f.read().split()]


def elapse(seconds):
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() > end, "time passes", seconds + 5)


def speed(client, pids, command):
    """Waits of the client in a second; CPU time of one, ns."""
    program = Program(command) if command else None
    if program:
        elapse(READY)
        check(program.process.poll() is None, "%s has ended: %s" % (command[:3], program.error_text()[-300:]))
    before, used, begin = switches(client), cpu_ns(pids), time.monotonic()
    elapse(SECONDS)
    waits, used = switches(client) - before, cpu_ns(pids) - used
    rate = waits / (time.monotonic() - begin)
    if program:
        program.signal(signal.SIGINT)
        try:
            program.wait(30)
        except AssertionError:
            program.end()
    return rate, used / max(waits, 1)


def measure(load):
    sleeper = Program(["sleep", "3600"])
    with tempfile.TemporaryDirectory() as folder:
        target, client, programs = load(folder)
        try:
            rates, pids = {}, sorted({target, *with_children(client)})
            for _ in range(ROUNDS):
                for name, command in observers(target, sleeper.pid, folder).items():
                    rates.setdefault(name, []).append(speed(client, pids, command))
        finally:
            for program in programs + [sleeper]:
                program.end()
    return rates


def main_of(names):
    loads = {"pipe": pipe, "redis": redis, "pgbench": pgbench}
    bad = 0
    print("| load | observer | waits of the client per second | CPU time of one, us | loss |\n|---|---|---|---|---|")
    for name in names or loads:
        rates = measure(loads[name])
        losses = {}
        for observer, values in rates.items():
            losses[observer] = 1 - statistics.median(n / v for (_, v), (_, n) in zip(values, rates["nothing"]))
            print("| %s | %s | %.0f | %.2f | %.1f%% |" % (name, observer, statistics.median(r for r, _ in values),
                                                       statistics.median(v for _, v in values) / 1000, 100 * losses[observer]),
                  flush=True)
        for what, met in (
                ("at most a third of the loss of perf sched record",
                 losses["peaktop, --max-overhead 100"] <= losses["perf sched record"] / 3),
                ("at most 1% with the default budget", losses["peaktop, default budget"] <= 0.01),
                ("under 3% beside the load", losses["peaktop beside it, --max-overhead 100"] < 0.03)):
            print("%s: %s: %s" % (name, what, "met" if met else "NOT MET"), flush=True)
            bad += not met
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main_of(sys.argv[1:]))
