# SPDX-License-Identifier: GPL-2.0-or-later
"""A plug-in that is overwritten or replaced while its functions are probed: its host lives and computes what it should."""
import re
import signal
from harness import *


def host(mode, rounds, ms, calls):
    """The target `reload`: another version of its plug-in in each round."""
    return Target("reload", mode, os.path.join(scratch(), "live.so"), rounds, ms, calls)


def lived(t):
    """The host has finished all of its rounds; the number of its calls."""
    truth = t.truth(120)
    equal("wrong results of the plug-in", truth["plugin_work"]["wrong"], 0)
    check(truth["ok"], "the host came to harm: %s" % truth)
    return truth["plugin_work"]["calls"]


def reloads(mode, word, *options):
    """Watch the plug-in over its versions; the document, and how many calls the host has made."""
    t = host(mode, 20, 200, 50)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "plugin_work", "--json", "--for", 600, *options)
        program.armed(t.pid, "live.so", 60)
        t.go()
        made = lived(t)
        equal("exit status: %s" % program.error_text(), program.stop(), 0)
        t.finish()
    document = program.document()
    check(any(re.search(r"live\.so was %s while" % word, note) for note in document["notes"]),
          "no note says that the file was %s: %s" % (word, document["notes"]))
    return document, made


def counted(document, made):
    op = operation(document, "plugin_work")
    check(op["calls_seen"] > 0, "no call of the first version was seen, although it was probed")
    check(op["share_of_calls_seen"] < 1, "calls were missed, and none is said to be")
    check(op["calls_low"] <= op["calls"] <= op["calls_high"], "calls outside of their interval")
    print("# %d of %d calls, %d to %d, %d seen" % (op["calls"], made, op["calls_low"], op["calls_high"], op["calls_seen"]), flush=True)


@case("a plug-in that is overwritten in place and loaded again: the host lives, what was not seen is counted as not seen")
def overwritten():
    counted(*reloads("write", "overwritten", "--max-overhead", 100))


@case("the same with bursts")
def overwritten_in_bursts():
    reloads("write", "overwritten")


@case("a plug-in whose name another file takes: the watch follows, what was not seen is counted as not seen")
def renamed():
    counted(*reloads("rename", "replaced", "--max-overhead", 100))


@case("a watch follows into the new file: its probes are in the version that was loaded last")
def follows():
    # the versions stay for as long as peaktop needs
    t = host("write", 40, 3000, 30)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "plugin_work", "--json", "--for", 600, "--max-overhead", 100)
        first = program.armed(t.pid, "live.so", 60)
        t.go()
        wait_for(lambda: breakpoints(t.pid, "live.so") not in ([], first), "the new version is probed", 90)
        equal("exit status: %s" % program.error_text(), program.stop(), 0)
        check(alive(t.pid), "the host died")
        t.end()


@case("a plug-in that is overwritten during a descent: the host lives, and peaktop gives an answer or a reason")
def descended():
    t = host("write", 30, 100, 100)
    with NothingLeft(t.pid):
        program = Peaktop("descend", "-p", t.pid, "-f", "plugin_work", "--json", "--timeout", 600)
        program.armed(t.pid, "live.so", 60)
        t.go()
        lived(t)
        status = program.stop()
        check(status in (0, 1), "exit status %d: %s" % (status, program.error_text()))
        check(program.err or not status, "exit status 1 and no word")
        program.document()
        t.finish()


@case("whoever overwrites a probed file waits until its probes are gone")
def writer():
    t = host("write", 2, 60000, 100)
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "plugin_work", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid, "live.so", 60)
        live = next(path for _, _, _, path in executable_mappings(t.pid) if path.endswith("live.so"))
        with open(live, "r+b"):
            # open() has returned: nothing of the file is probed
            equal("breakpoints below a file that is open for writing", breakpoints(t.pid, "live.so"), [])
        check(alive(t.pid), "the host died")
        program.stop()
        t.end()


@case("the collector is killed: whoever overwrites a probed file waits until the helper has removed what is left")
def writer_after_kill():
    t = host("write", 2, 60000, 100)
    program = Peaktop("watch", "-p", t.pid, "-f", "plugin_work", "--json", "--for", 600, "--max-overhead", 100)
    program.armed(t.pid, "live.so", 60)
    program.note_family()
    live = next(path for _, _, _, path in executable_mappings(t.pid) if path.endswith("live.so"))
    collector, cleaner = collector_of(program), member(program, "probe-cleaner")
    check(cleaner, "the helper does not run")
    os.kill(cleaner, signal.SIGSTOP)
    try:
        os.kill(collector, signal.SIGKILL)
        wait_for(lambda: not alive(collector), "the collector is dead")
        try:
            os.close(os.open(live, os.O_WRONLY | os.O_NONBLOCK))
            raise AssertionError("the file can be overwritten while the helper has not cleaned")
        except BlockingIOError:
            pass
    finally:
        os.kill(cleaner, signal.SIGCONT)
    with open(live, "r+b"):
        equal("breakpoints below a file that is open for writing", breakpoints(t.pid, "live.so"), [])
    wait_for(lambda: not alive(cleaner), "the helper ends")
    check(alive(t.pid), "the host died")
    program.wait()
    t.end()


main()
