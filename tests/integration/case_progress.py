# SPDX-License-Identifier: GPL-2.0-or-later
"""The line of progress on standard error."""
from harness import *


@case("record shows what it does on one line of a terminal, and erases the line at the end")
def record():
    target = Target("rates", 200, 600)
    target.go()
    session = os.path.join(scratch(), "session")
    screen = Screen(PEAKTOP, "record", "-p", target.pid, "-o", session, width=60)
    screen.shows("record: measured ")
    # what is measured goes on being said, in place
    first = screen.lines()[0]
    wait_for(lambda: screen.lines()[0].startswith("record: measured ") and screen.lines()[0] != first, "the line to change")
    wait_for(lambda: sum(line.startswith("record: ") for line in screen.lines()) == 1, "one line of progress")
    screen.keys("C-c")
    equal("exit status", screen.exit_status(), 0)
    text = screen.shows("session written to")
    check("measured" not in text, "the line is still there:\n" + text)


@case("without a terminal, and with --quiet, there is no line of progress")
def nowhere():
    target = Target("rates", 200, 600)
    target.go()
    program = Peaktop("watch", "-p", target.pid, "--json-lines", "--for", 600)
    stop_when(program, has_calls())
    check("watch: " not in program.error_text() and "\r" not in program.error_text(), program.error_text())
    screen = Screen(PEAKTOP, "watch", "-p", target.pid, "--for", 2, "--quiet")
    seen = []
    wait_for(lambda: seen.append(screen.text()) or screen.over(), "watch ends", 30)
    check(not any("watch: " in text for text in seen), "a line of progress in spite of --quiet")


main()
