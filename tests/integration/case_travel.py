# SPDX-License-Identifier: GPL-2.0-or-later
"""Time travel, bookmarks and comparisons, on a terminal and in scripts over saved sessions."""
from harness import *


def scripted(session, commands, *options, **more):
    """Run the commands on the screens of a saved session; fails unless all of its expectations hold."""
    script = os.path.join(scratch(), "script")
    with open(script, "w") as f:
        f.write(commands)
    status, program = run_peaktop("-r", session, "--script", script, *options, **more)
    equal("exit status of the script (%s)" % program.text(), status, 0)
    return program.text()


def recorded(path, seconds=4):
    """A session of a program that makes the same calls all the time."""
    t = Target("demo", 300)
    t.go()
    status, program = run_peaktop("record", "-p", t.pid, "--for", seconds, "-o", path)
    equal("exit status of record (%s)" % program.text(), status, 0)
    return t


@case("a live screen shows an earlier second while it measures on; a bookmark of it is kept in the session")
def live_travel():
    with NothingLeft():
        t = Target("demo", 300)
        t.go()
        path = os.path.join(scratch(), "session")
        s = Screen(PEAKTOP, "-p", t.pid, width=100, height=30)
        s.shows("nanosleep")
        s.shows(re.compile("LIVE +0:(0[4-9]|[1-5])"))
        s.keys("[")
        past = s.shows(re.compile(r"PAST 0:\d\d(\.\d)?-0:\d\d(\.\d)?, \d\d:\d\d:\d\d UTC +LIVE"))
        span = re.search(r"PAST (\S+),", past).group(1)
        # It measures on: the clock of the session moves, the span does not.
        clock = re.search(r"LIVE +(\d+:\d\d)", past).group(1)
        wait_for(lambda: "PAST %s," % span in s.text() and not re.search("LIVE +%s" % clock, s.text()),
                 "the session goes on while the past is shown")
        s.keys("B")
        s.shows("note of the bookmark:")
        s.keys("a note", "Enter")
        s.shows("bookmark set")
        s.keys("0")
        wait_for(lambda: "PAST" not in s.text(), "the present is shown again")
        s.keys("'")
        s.shows("PAST %s," % span)
        s.keys("w")
        s.shows("write snapshot to:")
        s.keys("C-u")
        s.keys(path, "Enter")
        s.shows("snapshot written")
        s.keys("q")
        equal("exit status", s.exit_status(), 0)
        check(alive(t.pid), "the target is alive")
    text = scripted(path, "end\nkey v\nexpect a note\nexpect bookmark\nkey q\nkey '\nexpect PAST %s,\nexpect bookmark: a note\n"
                          "dump\nkey 0\nreject PAST\n" % span)
    check("REPLAY" in text, "a saved session says so beside the past")


@case("two sessions are compared on the screen as diff compares them; another program and a damaged file are refused in one line")
def compare_sessions():
    directory = scratch()
    first, second = (os.path.join(directory, name) for name in ("first", "second"))
    recorded(first)
    recorded(second)
    status, program = run_peaktop("diff", first, second)
    equal("exit status of diff", status, 0)
    found = re.search(r"^(\d+ of \d+ operations changed|No change was found in \d+ operations?)", program.text(), re.M).group(1)
    text = scripted(second, "end\nkey D Ctrl-U\ntype %s\nkey Enter\nexpect of first\nexpect before \nexpect after \ndump\n" % first)
    check(found.lower() in text.lower(), "the screen says %r:\n%s" % (found, text))
    # ASCII alone, in the smallest window that shows everything.
    text = scripted(second, "end\nkey D Ctrl-U\ntype %s\nkey Enter\nexpect of first\ndump\n" % first, "--ascii")
    check(text.isascii(), "only ASCII")
    other = os.path.join(directory, "other")
    equal("exit status of record", run_peaktop("record", "-o", other, "--", "sleep", "1")[0], 0)
    scripted(second, "end\nkey D Ctrl-U\ntype %s\nkey Enter\nexpect different programs: demo and sleep\n" % other)
    damaged = os.path.join(directory, "damaged")
    with open(damaged, "wb") as f:
        f.write(b"no session")
    scripted(second, "end\nkey D Ctrl-U\ntype %s\nkey Enter\nexpect cannot compare: \nkey D Ctrl-U\ntype %s/none\nkey Enter\n"
                     "expect No such file\n" % (damaged, directory))


@case("spans of a saved session: the list, an operation and the events show them; all of them together are the whole run")
def spans():
    path = os.path.join(scratch(), "session")
    recorded(path, 5)
    scripted(path, "end\nkey [\nexpect PAST 0:0\nkey )\nkey )\nkey )\nexpect PAST 0:00-0:0\nkey D Ctrl-U\ntype 0:00-0:59\nkey Enter\n"
                   "expect no change was found\nkey q\nkey Enter\nexpect PAST 0:00-0:0\nkey v\nexpect PAST 0:00-0:0\n"
                   "key G\nexpect measured from now on\nkey q 0\nreject PAST\n")


if __name__ == "__main__":
    main()
