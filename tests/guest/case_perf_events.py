# SPDX-License-Identifier: GPL-2.0-or-later
"""What kernel.perf_event_paranoid and file capabilities allow: with a kernel that attaches uprobes by perf events, and with a newer one."""
from case_doctor import *
from installed import CAPABILITIES

CASES.clear()  # those of the other file
LIMIT = 400  # a quiet machine needs 25 s
WATCH = "watch -f big -f syscall:write --json --for 60 --max-overhead 100 -- simple 3000"
USER = "/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups"
INSTALL = "mount -t tmpfs t /mnt; chmod 755 /mnt; cp /bin/peaktop /mnt; /sbin/setcap %s /mnt/peaktop || exit 77;" % CAPABILITIES


def settings(run, options=(), files=()):
    """{setting: what a shell function `run` did there}: each answer is a list of (status, standard output, standard error)."""
    levels = (3, 2, 1)
    script = ("answer() { \"$@\" >/tmp/o 2>/tmp/e; s=$?; echo \"ANSWER $s\"; cat /tmp/o; echo ERRORS; cat /tmp/e; }; %s"
              " for p in %s; do echo $p >/proc/sys/kernel/perf_event_paranoid || exit 78; echo \"SETTING $p\"; %s; done"
              % (INSTALL if files else "", " ".join(map(str, levels)), run))
    status, out, err = guest("sh", "-c", script, files=peaktop_files("simple") + list(files), options=options, limit=LIMIT)
    if status == 77:
        raise Skip("no file capabilities in the guest")
    if status == 78:
        raise Skip("this kernel has no such setting")
    equal("status (%s)" % err, status, 0)
    found = {}
    for part in out.split("SETTING ")[1:]:
        level, rest = part.split("\n", 1)
        found[int(level)] = [(int(a.split("\n", 1)[0]), *a.split("\n", 1)[1].split("ERRORS\n")) for a in rest.split("ANSWER ")[1:]]
    equal("settings that were tried", sorted(found), sorted(levels))
    return found


def document_in(text):
    document = json.loads(text[text.index('{"peaktop"'):])
    validate(document)
    return document


def counts_all(level, answer):
    status, out, err = answer
    equal("at %d: status (%s)" % (level, err), status, 0)
    check('"big":{"calls":3000,' in out, "at %d: the target's own count: %s" % (level, out[:300]))
    equal("at %d: calls of big" % level, operation(document_in(out), "big")["calls"], 3000)


@case("root counts user functions by perf events at each perf_event_paranoid")
def root_counts():
    for level, (answer,) in settings("answer peaktop " + WATCH, older_kernel()).items():
        counts_all(level, answer)


def installed(options=()):
    need("setcap", "setpriv")
    return settings("answer %s /mnt/peaktop doctor --json; answer %s /mnt/peaktop %s" % (USER, USER, WATCH), options,
                    ("/usr/bin/setpriv", "/sbin/setcap"))


def checks_of(doctor):
    return {c["name"]: c for c in document_in(doctor[1])["checks"]}


@case("with file capabilities, and perf events for uprobes: doctor and -f name CAP_SYS_ADMIN, all else works")
def installed_older():
    for level, (doctor, watch) in installed(older_kernel()).items():
        checks = checks_of(doctor)
        check(not checks["uprobes"]["ok"] and "CAP_SYS_ADMIN" in checks["uprobes"]["remedy"], "at %d: %s" % (level, checks["uprobes"]))
        equal("at %d: sampling timers" % level, checks["sampling timers"]["ok"], level < 3)
        status, out, err = watch
        check("big: this kernel allows" in err and "CAP_SYS_ADMIN" in err, "at %d: %s" % (level, err))
        equal("at %d: status (%s)" % (level, err), status, 0)
        operations = {o["name"]: o["calls"] for o in document_in(out)["operations"]}
        equal("at %d: calls" % level, operations, {"syscall:write": 1})


@case("with file capabilities and uprobe_multi, user functions are counted at each perf_event_paranoid")
def installed_newer():
    for level, (doctor, function) in installed().items():
        checks = checks_of(doctor)
        if not checks["many uprobes in one link"]["ok"]:
            raise Skip("this kernel has no uprobe_multi")
        check(checks["uprobes"]["ok"], "at %d: %s" % (level, checks["uprobes"]))
        counts_all(level, function)


if __name__ == "__main__":
    main()
