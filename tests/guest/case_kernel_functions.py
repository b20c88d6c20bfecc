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


if __name__ == "__main__":
    main()
