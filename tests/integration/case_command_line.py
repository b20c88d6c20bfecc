# SPDX-License-Identifier: GPL-2.0-or-later
"""How a target may be named, and what becomes of every option that is given."""
from harness import *


def named_copies(*endings):
    """Running copies of a target, with names that no other process has: (the common begin, the targets)."""
    begin = "pt%d" % os.getpid()
    source = os.path.join(TARGETS, "demo")
    if not os.path.exists(source) or not os.path.exists(PEAKTOP):
        raise Skip("no target or no peaktop")
    targets = []
    for ending in endings:
        path = os.path.join(scratch(), begin + ending)
        shutil.copy(source, path)
        targets.append(Target(path, 600))
        targets[-1].go()
    return begin, targets


def watched(*target):
    """The pid that a watch of this target measures."""
    return watch_calls(*target, "-f", "serve_request", fits=has_calls("serve_request"))["target"]["pid"]


@case("a target may be given by itself: a pid, a name, the unique begin of a name")
def by_itself():
    begin, (one, two) = named_copies("-one", "-two")
    equal("by pid", watched(one.pid), one.pid)
    equal("by name", watched(begin + "-one"), one.pid)
    equal("by the begin of its name", watched(begin + "-t"), two.pid)
    status, program = run_peaktop("descend", begin + "-one", "--open", "--json")
    equal("exit status of descend (%s)" % program.error_text(), status, 0)
    equal("by name, of descend", program.document()["target"]["pid"], one.pid)


@case("a begin that several names have is refused with the list; a near name is suggested")
def several():
    begin, (one, two) = named_copies("-one", "-two")
    status, program = run_peaktop("watch", begin)
    equal("exit status (%s)" % program.error_text(), status, 2)
    equal("lines", len(program.err), 1)
    for target, name in ((one, "-one"), (two, "-two")):
        check("%d %s%s" % (target.pid, begin, name) in program.err[0], program.err[0])
    for args in (["watch", "-n", begin + "-oen"], ["watch", begin + "-oen"]):
        status, program = run_peaktop(*args)
        equal("exit status (%s)" % program.error_text(), status, 1)
        check(begin + "-one" in program.err[0], program.err[0])


@case("on a terminal several processes are offered in the picker, and no others")
def picker():
    begin, (one, two) = named_copies("-one", "-two")
    s = Screen(PEAKTOP, begin)
    s.shows(begin + "-one")
    text = s.shows(begin + "-two")
    rows = [line for line in text.split("\n") if re.match(r"^[ >]+\d+ ", line)]
    equal("rows of %s" % text, len(rows), 2)
    s.keys("C-c")
    equal("exit status", s.exit_status(), 0)


@case("of 300 processes with one name 256 are measured, and how many are left out is said")
def many():
    name = "many-%d" % (os.getpid() % 1000000)
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(os.path.join(TARGETS, "crowd"), os.path.join(folder, name))
        targets = [Target(path, 1) for _ in range(300)]
        for target in targets:
            target.asleep()
        status, program = run_peaktop("descend", "-n", name, "--open", "--json")
        equal("exit status (%s)" % program.error_text(), status, 0)
        document = program.document()
        equal("threads looked at", document["threads_looked_at"], 2 * 256)
        check(any("300 processes match; the 256 that used most CPU time" in note for note in document["notes"]), "%s" % document["notes"])
        for target in targets:
            target.go()
        for target in targets:
            target.truth()
            target.finish()


@case("--cgroup takes all processes of a control group")
def cgroup():
    begin, (one, two) = named_copies("-one", "-two")
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"):
        group = os.path.join(root, begin)
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            with open(os.path.join(group, "cgroup.procs"), "r+") as f:  # not there if no control groups are mounted here
                f.write(str(one.pid))
        except OSError:
            os.rmdir(group)
            continue
        try:
            for path in (group, "/" + begin):
                equal("by %s" % path, watched("--cgroup", path), one.pid)
            status, program = run_peaktop("watch", "--cgroup", group + "/none")
            equal("exit status (%s)" % program.error_text(), status, 1)
        finally:
            # a control group with processes cannot be removed
            with open(os.path.join(root, "cgroup.procs"), "r+") as f:
                f.write(str(one.pid))
            wait_for(lambda: not open(os.path.join(group, "cgroup.procs")).read(), "the group is empty")
            os.rmdir(group)
        return
    raise Skip("no control group can be made here")


@case("a container and a unit are found by their control groups, with all their processes")
def container_and_unit():
    begin, (one, two) = named_copies("-one", "-two")
    number = "c%07x%056x" % (os.getpid(), 0x2717)  # the letter: digits alone are a pid
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/systemd"):
        # as podman with crun makes them, in a slice that nobody else has
        slice_ = os.path.join(root, begin + ".slice")
        groups = [slice_, slice_ + "/libpod-%s.scope" % number, slice_ + "/libpod-%s.scope/container" % number]
        try:
            os.mkdir(slice_)
        except OSError:
            continue
        try:
            for group in groups[1:]:
                os.mkdir(group)
            for target in (one, two):
                with open(groups[-1] + "/cgroup.procs", "r+") as f:  # not there if no control groups are mounted here
                    f.write(str(target.pid))
        except OSError:
            for group in reversed(groups):
                if os.path.isdir(group):
                    os.rmdir(group)
            continue
        try:
            for target in (["--container", number[:12]], [number[:12]], ["--unit", begin + ".slice"], [begin + ".slice"]):
                document = watch_calls(*target)
                equal("targets of %s" % target, {document["target"]["pid"]} | {t["pid"] for t in document.get("targets", ())},
                      {one.pid, two.pid})
        finally:
            for target in (one, two):
                with open(os.path.join(root, "cgroup.procs"), "r+") as f:
                    f.write(str(target.pid))
            wait_for(lambda: not open(groups[-1] + "/cgroup.procs").read(), "the group is empty")
            for group in reversed(groups):
                os.rmdir(group)
        return
    raise Skip("no control group can be made here")


@case("an option that the verb does not use is refused, and the verbs that use it are named")
def unused():
    pid = os.getpid()
    for args, words in ((["watch", "-p", pid, "--open"], ("--open", "watch", "descend")),
                        (["watch", "-p", pid, "-r", "x"], ("-r FILE", "target")),
                        (["descend", "-p", pid, "--open", "--interval", "1"], ("--interval", "descend --open", "record")),
                        (["descend", "-p", pid, "--interval", "1"], ("--interval", "descend without -f", "--json-lines")),
                        (["descend", "-p", pid, "-f", "main", "--for", "1"], ("--for", "descend -f OP", "watch")),
                        (["-p", pid, "--json"], ("--json", "the live screen", "watch")),
                        (["doctor", "-f", "main"], ("-f", "doctor", "record")),
                        (["wacth", "-p", pid], ("wacth", "watch"))):
        status, program = run_peaktop(*args)
        equal("exit status of %s (%s)" % (args, program.error_text()), status, 2)
        equal("lines of %s" % program.err, len(program.err), 1)
        for word in words:
            check(word in program.err[0], "%r is not in: %s" % (word, program.err[0]))


@case("a command is measured from its first instruction, its system calls, too")
def from_the_first():
    status, program = run_peaktop("watch", "--max-overhead", 100, "--json", "--", "true")
    equal("exit status (%s)" % program.error_text(), status, 0)
    # the loader calls these before the program's own code runs
    for name in ("syscall:openat", "syscall:mmap", "syscall:mprotect"):
        check(operation(program.document(), name)["calls"] > 0, "no call of " + name)


@case("VERB --help has that verb's options and two examples, on standard output")
def verb_help():
    for verb, has, lacks in (("watch", "--for", "--slowest"), ("descend", "--slowest", "--format"), ("export", "--format", "--follow")):
        for args in ([verb, "--help"], ["help", verb]):
            status, program = run_peaktop(*args)
            equal("exit status of %s" % args, status, 0)
            equal("errors", program.err, [])
            check(has in program.text() and lacks not in program.text(), program.text())
            equal("examples", len([l for l in program.out if re.match(r"  (sudo )?peaktop %s" % verb, l)]), 2)
    status, program = run_peaktop("-V")
    equal("exit status of -V", status, 0)
    check(re.search(r"\d+\.\d+", program.text()), program.text())


if __name__ == "__main__":
    main()
