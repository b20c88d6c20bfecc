# SPDX-License-Identifier: GPL-2.0-or-later
"""`doctor TARGET` names what limits the measurement of a target, before one runs into it."""
from harness import *


def failed(target):
    """The checks that failed for a target, by name."""
    with NothingLeft(target.pid):
        status, program = run_peaktop("doctor", "-p", target.pid, "--json", seconds=200)
    equal("exit status", status, 0)
    document = program.document()
    validate(document)
    return {check["name"]: check for check in document["checks"] if not check["ok"]}


def limits(name, word, limited, control):
    """The check fails for the target with these arguments, and not for the control."""
    found = failed(Target(*limited))
    check(name in found, "%r is not among %s" % (name, sorted(found)))
    check(word in found[name]["needed_for"], "said: %s" % found[name])
    found = failed(Target(*control))
    check(name not in found, "said of the control: %s" % found.get(name))


@case("the main thread has ended")
def main_thread():
    limits("main thread", "main_gone", ("main_gone", 10), ("main_gone", 10, 1000, "keep"))


@case("more threads than a snapshot has")
def crowd():
    limits("number of threads", "of all 16401 threads", ("crowd", 16400), ("crowd", 100))


@case("text that was moved to anonymous memory: named by its address; the target counts right")
def moved():
    limits("text in anonymous memory", "functions of moved_text whose code is at 0x", ("moved_text",), ("moved_text", 3000, "keep"))
    t = Target("moved_text")
    failed(t)
    t.go()
    check(t.truth()["ok"], "the target's own results")


@case("code made at run time, in whatever memory; a library in a memfd is no such code, and a map for perf is no file with functions")
def made():
    for kind in ("anonymous", "memfd", "shm"):
        limits("code without a file", "probes in functions of the code at 0x", ("made_memory", kind), ("made_memory", "file"))
    target = Target("made_memory")
    status, program = run_peaktop("doctor", "-p", target.pid, seconds=200)
    equal("exit status", status, 0)
    check("perf-%d" % target.pid not in program.text() + program.error_text(), "the map for perf: " + program.text())


@case("the layers that this host lacks, in one line with the reasons, and whether descents go into the kernel")
def layers():
    status, program = run_peaktop("doctor", "--json", seconds=200)
    equal("exit status", status, 0)
    checks = {check["name"]: check for check in program.document()["checks"]}
    kprobes = os.path.exists("/sys/bus/event_source/devices/kprobe/type")
    release = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
    told = checks["layers"].get("remedy", "")
    equal("kernel functions are missing: " + told, "kernel functions (no kprobes)" in told, not kprobes)
    for layer in ("system calls", "block requests", "io_uring", "kernel locks"):
        equal("%s are missing: %s" % (layer, told), layer in told, not checks[layer]["ok"])
    equal("all layers are there: " + told, checks["layers"]["ok"], not told)
    equal("descents into the kernel", checks["descents into the kernel"]["ok"], kprobes and release >= (6, 7))


if __name__ == "__main__":
    main()
