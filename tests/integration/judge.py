#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
How often the answers are right: each live case of case_*.py, of the guests, too, JUDGE_N times (3) on a quiet machine, and as often with two busy loops beside it.

    judge.py [TEXT]       only the cases whose file and text, as "file: text", contain TEXT

Prints a table of the verdicts (harness.py: verdict()), and beside it the one of the previous run, which is kept in build/judge.json; then
what was not right. Where ../shared/judge/run exists its questions are asked too. Exit status 1 if of the answers fewer than 95% are right,
more than 1% are wrong without a word of doubt, or a target is harmed. A skipped case is no answer.
"""
import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys

from harness import family, parent_of

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("B", "build"))
KEPT = os.path.join(BUILD, "judge.json")
LOG = os.path.join(BUILD, "logs", "judge.log")
TIMES = int(os.environ.get("JUDGE_N", "3"))
VERDICTS = ("right", "partly", "wrong with doubt", "wrong without doubt", "none", "harmed", "skipped")
SIDES = ("quiet", "loaded")
LIMIT = 900  # seconds after which a case hangs
CLEAN_UP = 60  # seconds that it may take to end what it has started


class BusyLoops:
    """Two programs that do nothing but run."""

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def live_cases(text):
    for path in sorted(glob.glob(os.path.join(HERE, "case_*.py")) + glob.glob(os.path.join(TOP, "tests", "guest", "case_*.py"))):
        with open(path, encoding="utf-8") as f:
            if "main()" not in f.read() or path.endswith("case_schema.py"):
                continue
        listed = subprocess.run([sys.executable, path, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for what in json.loads(listed):
            if text in "%s: %s" % (os.path.basename(path), what):
                yield path, what


def end(run):
    """End a case that hangs, and all that it has started: by the case itself, or else by SIGKILL. What it starts is in other sessions."""
    members = family(run.pid)
    run.terminate()
    try:
        run.wait(CLEAN_UP)
    except subprocess.TimeoutExpired:
        members = sorted({*members, *family(run.pid)})
    for pid in members:
        with contextlib.suppress(ProcessLookupError):
            if pid == run.pid or parent_of(pid) in (1, *members):
                os.kill(pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()


def answer(path, what, side):
    """One answer: {"verdict", "why", ...}."""
    environment = dict(os.environ, **({"PEAKTOP_JUDGE_LOADED": "1"} if side == "loaded" else {}))
    run = subprocess.Popen([sys.executable, path, "--judge", what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace", env=environment, start_new_session=True)
    try:
        text = run.communicate(timeout=LIMIT)[0]
        found = json.loads(text.strip().rsplit("\n", 1)[-1])
    except subprocess.TimeoutExpired:
        text, found = "no end within %d s" % LIMIT, {"verdict": "none", "why": "no end within %d s" % LIMIT}
        end(run)
    except ValueError:
        found = {"verdict": "none", "why": "the case itself failed: " + text.strip()[-200:]}
    with open(LOG, "a", encoding="utf-8") as log:
        log.write("== %s: %s (%s)\n%s\n" % (os.path.basename(path), what, side, text))
    return found


def ask_all(cases):
    """{side: {"file: text": [verdict, ...]}}, and the lines of what was not right."""
    verdicts, wrong = {side: {} for side in SIDES}, []
    for path, what in cases:
        name = "%s: %s" % (os.path.basename(path), what)
        for side in SIDES:
            for _ in range(TIMES):
                if side == "loaded":
                    with BusyLoops():
                        found = answer(path, what, side)
                else:
                    found = answer(path, what, side)
                verdicts[side].setdefault(name, []).append(found["verdict"])
                if found["verdict"] not in ("right", "skipped"):
                    wrong.append("%s, %s: %s: %s" % (found["verdict"], side, name, found["why"]))
        print("  %s  %s" % (" ".join("%s: %s" % (side, "/".join(verdicts[side][name])) for side in SIDES), name), flush=True)
    return verdicts, wrong


def ask_shared():
    """The project's judge outside the repository: its last line as (right, all, wrong without doubt), or None."""
    script = os.path.join(TOP, "..", "shared", "judge", "run")
    if not os.path.exists(script):
        return None
    text = subprocess.run(["bash", script], cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    with open(LOG, "a", encoding="utf-8") as log:
        log.write("== ../shared/judge/run\n" + text)
    found = re.search(r"judge: (\d+) of (\d+) right; wrong with 'root cause found': (\d+)", text)
    return list(map(int, found.groups())) if found else [0, 0, 0]


def counts(verdicts):
    said = [v for answers in verdicts.values() for v in answers]
    return {v: said.count(v) for v in VERDICTS}


def table(now, before):
    row = "%-22s" + " %14s" * (2 * len(SIDES))
    print(row % ("", *SIDES, *("before, " + side for side in SIDES)))
    for verdict in VERDICTS:
        print(row % (verdict, *(now[side][verdict] for side in SIDES), *(before.get(side, {}).get(verdict, "-") for side in SIDES)))


def is_good(now, shared):
    totals = {v: sum(now[side][v] for side in SIDES) for v in VERDICTS}
    right, wrong = totals["right"], totals["wrong without doubt"]
    answers = sum(totals.values()) - totals["skipped"]
    if shared:
        right, answers, wrong = right + shared[0], answers + shared[1], wrong + shared[2]
    print("%d of %d answers are right (%.1f%%), %d wrong without doubt, %d targets harmed" % (
        right, answers, 100 * right / max(answers, 1), wrong, totals["harmed"]))
    if shared and not shared[1]:
        print("../shared/judge/run has given no answer")
        return False
    return answers > 0 and right >= 0.95 * answers and wrong <= 0.01 * answers and not totals["harmed"]


def main():
    text = sys.argv[1] if len(sys.argv) > 1 else ""
    os.makedirs(os.path.dirname(LOG), exist_ok=True)
    open(LOG, "w", encoding="utf-8").close()
    verdicts, wrong = ask_all(list(live_cases(text)))
    shared = None if text else ask_shared()
    now = {side: counts(verdicts[side]) for side in SIDES}
    try:
        with open(KEPT, encoding="utf-8") as f:
            before = json.load(f)
    except (OSError, ValueError):
        before = {}
    table(now, before)
    if shared:
        print("shared/judge: %d of %d right, %d wrong without doubt (before: %s)" % (*shared, before.get("shared", "-")))
    print("\n".join(wrong))
    if not text:
        with open(KEPT, "w", encoding="utf-8") as f:
            json.dump(dict(now, shared=shared), f)
    return 0 if is_good(now, shared) else 1


if __name__ == "__main__":
    sys.exit(main())
