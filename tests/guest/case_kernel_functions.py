# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel functions have a fuse, a governor and a dead man's switch: in a guest, whose kernel has kprobes."""
from case_doctor import *

CASES.clear()  # those of the other file


def busy_others(watches):
    """What a script of sh prints that runs while another process calls vfs_read() all the time; $p is the target."""
    status, out, err = guest(
        "sh", "-c", "mkfifo /tmp/in; rates 200 3000 0 </tmp/in >/dev/null & sleep 3000 >/tmp/in & p=$(pidof rates);"
        " dd if=/dev/zero of=/dev/null bs=1 2>/dev/null & d=$!;"
        + watches + " kill $p $d", files=peaktop_files("rates"))
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    documents = [json.loads('{"peaktop"' + text) for text in out.split('{"peaktop"')[1:]]
    for document in documents:
        validate(document)
        print("# cost: %s" % document["cost"], flush=True)
    return documents


@case("a kernel function that others call all the time is watched in bursts, and this is said")
def in_bursts():
    document, = busy_others(
        " peaktop watch -p $p -f kernel:vfs_read --json-lines --for 900 --max-overhead 1 >/tmp/o 2>/tmp/e & t=$!;" + AWAIT_LINE +
        " await_line 'kernel:vfs_read is sampled in bursts'; kill -INT $t; wait $t; tail -n 1 /tmp/o;")
    check(document["cost"]["hits"] > 0, "hits of others are counted: %s" % document["cost"])


@live("the hits of others are charged to the host: a budget leaves few of them")
def governed():
    free, governed = busy_others(
        " for percent in 100 1; do peaktop watch -p $p -f kernel:vfs_read -f kernel:hrtimer_nanosleep --json --for 4 --max-overhead $percent || exit $?; done;")
    check(any("kernel:vfs_read is sampled in bursts" in note for note in governed["notes"]), "a note: %s" % governed["notes"])
    check(free["cost"]["hits"] > 2000, "hits of others are counted: %s" % free["cost"])
    between("hits with a budget, of those without", governed["cost"]["hits"] / free["cost"]["hits"], 0, 0.4)


@case("when peaktop is stopped the probes of kernel functions go, and they come back with it")
def stopped():
    status, out, err = guest(
        "sh", "-c", "mount -t debugfs d /sys/kernel/debug; list=/sys/kernel/debug/kprobes/list;"
        " mkfifo /tmp/in; rates 200 3000 0 </tmp/in >/dev/null & sleep 3000 >/tmp/in & p=$(pidof rates);"
        " peaktop watch -p $p -f kernel:hrtimer_nanosleep --json --for 600 --max-overhead 100 >/tmp/o 2>/tmp/e & t=$!;"
        " await() { n=0; while [ $(grep -c hrtimer_nanosleep $list) $1 0 ]; do n=$((n + 1)); [ $n -lt 3000 ] || exit 9; sleep 0.1; done; echo $2; };"
        " await -eq armed; kill -STOP $t; await -ne gone; kill -CONT $t; await -eq back; kill -INT $t; wait $t; s=$?; await -ne over;"
        " echo 'JSON<'; cat /tmp/o; echo '>JSON'; cat /tmp/e >&2; kill $p; exit $s", files=peaktop_files("rates"))
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    equal("what was seen", out.split()[:4], ["armed", "gone", "back", "over"])
    document = json.loads(out.split("JSON<")[1].split(">JSON")[0])
    validate(document)
    check(operation(document, "kernel:hrtimer_nanosleep")["calls"] > 0, "calls are counted")


@case("a pattern stands for each kernel function that fits: a row each, without those that may not be probed; too many are refused")
def a_set():
    pattern = "kernel:do_[in][da][ln][eo]*"  # do_idle, which is never probed, and do_nanosleep
    for who in ("-p $p", "--host"):
        status, out, err = guest(
            "sh", "-c", "peaktop watch --host -f 'kernel:vfs_*' --for 1 2>/tmp/many; echo status $?; cat /tmp/many;"
            " mkfifo /tmp/in; rates 200 3000 0 </tmp/in >/dev/null & sleep 3000 >/tmp/in & p=$(pidof rates);"
            " peaktop watch %s -f '%s' --json-lines --for 900 --max-overhead 100 >/tmp/o 2>/tmp/e & t=$!;" % (who, pattern) + AWAIT_LINE +
            " await_line 'do_nanosleep\",.*\"calls\":[1-9]'; kill -INT $t; wait $t; s=$?; tail -n 1 /tmp/o; cat /tmp/e >&2; kill $p; exit $s",
            files=peaktop_files("rates"))
        equal("status (%s; %s)" % (err, out[:400]), status, 0)
        check(re.search(r"status 2\npeaktop: -f kernel:vfs_\*: \d+ functions of the kernel fit, and at most 32 can be watched", out), out[:400])
        document = json.loads('{"peaktop"' + out.split('{"peaktop"')[1])
        validate(document)
        equal("rows", [o["name"] for o in document["operations"] if o["name"].startswith("kernel:")], ["kernel:do_nanosleep"])
        check(any("1 of the kernel functions may not be probed and is left out: do_idle" in note for note in document["notes"]),
              "a note: %s" % document["notes"])


@smoke("a descent into a kernel function names what it waits for, and who calls it")
def descent():
    status, out, err = guest(
        "sh", "-c", "mkfifo /tmp/in; rates 500 3000 0 </tmp/in >/dev/null & sleep 3000 >/tmp/in & p=$(pidof rates);"
        " peaktop descend -p $p -f kernel:do_nanosleep --json --timeout 600; s=$?; kill $p; exit $s", files=peaktop_files("rates"))
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    document = json.loads(out)
    validate(document)
    equal("the function", document["function"], "do_nanosleep")
    sleeps = [path for path in document["paths"] if path["cause"]["kind"] == "sleep"]
    check(sleeps, "a sleep: %s" % [path["cause"] for path in document["paths"]])
    callers = {frame["function"] for path in document["callers"] for frame in path["frames"]}
    # of the program only if its modules were read before the first stack came
    check("hrtimer_nanosleep" in callers, "callers: %s" % callers)


# in the guest's shell: the transactions that ext4's journal has committed; interrupts of the kernel's timers
TRUTH = (" commits() { sed -n '1s/ .*//p' /proc/fs/jbd2/*/info; };"
         " timers() { n=0; for i in $(sed -n 's/^ *TIMER: *//p' /proc/softirqs); do n=$((n + i)); done; echo $n; };")


def words_of(out, name):
    """The numbers that the script printed behind a name."""
    return [int(line.split()[1]) for line in out.split("\n") if line.split()[:1] == [name]]


@case("with --host each call counts once: of many processes at the same time, of the kernel's threads, in interrupts")
def host():
    waiting = 25  # more at once than the kernel has room to follow (10): the others are counted, not timed
    status, out, err = guest(
        "sh", "-c", TRUTH + " sync; mkfifo /tmp/fifo; echo timers $(timers); peaktop watch --host -f kernel:fifo_open -f kernel:jbd2_journal_commit_transaction"
        " -f kernel:run_timer_softirq --json-lines --for 900 --max-overhead 100 >/tmp/o 2>/tmp/e & t=$!;" + AWAIT_LINE +
        " await_line 'run_timer_softirq\",.*\"calls\":[1-9]'; echo timers $(timers); echo commits $(commits);"
        " for i in $(seq %d); do sh -c ': >/tmp/fifo' & f=\"$f $!\"; done; await_line 'fifo_open\",[^{]*\"open\":%d'; sh -c ': </tmp/fifo' & wait $f $!;"
        " for i in 1 2 3; do dd if=/dev/zero of=/mnt/x bs=4k count=4 conv=fsync 2>/dev/null; done; sync; echo commits $(commits); echo timers $(timers);"
        " l=$(wc -l </tmp/o); until [ $(wc -l </tmp/o) -gt $((l + 2)) ]; do kill -0 $t || exit 9; sleep 0.2; done;"
        " kill -INT $t; wait $t; s=$?; echo timers $(timers); tail -n 1 /tmp/o; cat /tmp/e >&2; exit $s" % (waiting, waiting),
        files=peaktop_files(), options=("-D", "64M"))
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    document = json.loads('{"peaktop"' + out.split('{"peaktop"')[1])
    validate(document)
    equal("the target", document["target"]["pid"], 0)
    calls = {name: sum(operation(document, "kernel:" + name).get(key, 0) for key in ("calls", "untimed"))
             for name in ("fifo_open", "jbd2_journal_commit_transaction", "run_timer_softirq")}
    print("# %s; not timed: %s" % (calls, operation(document, "kernel:fifo_open").get("untimed")), flush=True)
    equal("calls by processes, and by the reader", calls["fifo_open"], waiting + 1)
    before, after = words_of(out, "commits")
    check(after > before, "the journal has committed")
    equal("calls by a thread of the kernel", calls["jbd2_journal_commit_transaction"], after - before)
    start, armed, last, end = words_of(out, "timers")
    between("calls in interrupts", calls["run_timer_softirq"], last - armed, end - start)


@smoke("with --host a descent names the callers of a kernel function in a thread of the kernel")
def host_descent():
    status, out, err = guest(
        "sh", "-c", "(while true; do dd if=/dev/zero of=/mnt/x bs=4k count=4 conv=fsync 2>/dev/null; done) & l=$!;"
        " peaktop descend --host -f kernel:jbd2_journal_commit_transaction --json --start-ops 10 --timeout 600; s=$?; kill $l; exit $s",
        files=peaktop_files(), options=("-D", "64M"))
    equal("status (%s; %s)" % (err, out[:400]), status, 0)
    document = json.loads(out)
    validate(document)
    equal("the target", document["target"]["pid"], 0)
    callers = {frame["function"] for path in document["callers"] for frame in path["frames"]}
    check("kjournald2" in callers, "callers: %s" % callers)


if __name__ == "__main__":
    main()
