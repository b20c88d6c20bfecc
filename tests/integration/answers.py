#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Recorded answers: sessions of real runs, replayed, must give the same answer to the letter.

    answers.py [PEAKTOP]               replay each session of tests/answers and compare; prints TAP
    answers.py --update [TEXT]         write the goldens anew, of the answers whose name contains TEXT, after a change of the answer
    case_X.py --record [TEXT]    ask the live cases whose text contains TEXT, and keep the sessions of those that are right

NAME.peaktop.zst is a session. NAME.golden has, first, the note: the case, the truth, kernel and date; then what peaktop prints about
the session as text; and then what matters of its JSON. Whoever records one or changes its golden has read the golden and compared it with the truth.
"""
import concurrent.futures
import datetime
import difflib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ANSWERS = os.path.join(TOP, "tests", "answers")
MOST_BYTES = 200 << 10  # of a compressed session
SAVED = ("descend", "chains")  # verbs that save a session with -o and answer it again with -r
REPLAYED = ("--of", "--peak", "--slowest", "--view", "--all-peaks")  # options that a replay needs again, chains only
RULE = "-" * 20


# --- replay

def say_answer(peaktop, session, *asked):
    environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC", ASAN_OPTIONS="detect_leaks=0")
    for name in ("COLUMNS", "PEAKTOP_CONFIG", "NO_COLOR"):
        environment.pop(name, None)
    run = subprocess.run([peaktop, asked[0], "-r", session, *asked[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=environment, text=True, errors="replace")
    return run.stdout + run.stderr.replace(session, "SESSION") + ("exit status %d\n" % run.returncode if run.returncode else "")


def rounded(value):
    return round(value, 4) if isinstance(value, float) else value


def path_lines(path):
    yield "%s %s%s: %s" % (rounded(path["share"]), path.get("time", "peak"), ", unsure" if path.get("unsure") else "",
                           ", ".join("%s %s" % item for item in path["cause"].items()))
    for frame in path["frames"]:
        yield "  %s (%s%s%s)" % (frame["function"], frame["evidence"], ", inlined" if frame.get("inlined") else "",
                                 "".join(", %s %s" % (key, rounded(frame[key])) for key in ("share", "latency_ns", "maxcount", "records")
                                         if key in frame))


def essence(text):
    """What matters of a document, as lines."""
    try:
        document = json.JSONDecoder().raw_decode(text)[0]  # the exit status may follow
    except ValueError:
        return text
    lines = ["%s: %s" % (key, rounded(document[key])) for key in (
        "status", "explained", "rounds", "calls_used", "mean_ns", "accounted_wall", "length_ns", "observed_ns") if key in document]
    lines += ["%s: %s" % (key, json.dumps(document[key], sort_keys=True)) for key in ("missing", "walk", "losses") if key in document]
    for path in document.get("paths", []):
        lines += path_lines(path)
    for row in document.get("accounting", []):
        lines.append("%(category)s: %(ns)d ns" % row)
    lines.append("notes: %d" % len(document["notes"]))
    return "\n".join(lines) + "\n"


def answer(peaktop, packed, asked):
    """The text of the answer, and what matters of its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        session = os.path.join(folder, "session")
        subprocess.run(["zstd", "-q", "-d", packed, "-o", session], check=True)
        os.chmod(session, 0o600)
        return say_answer(peaktop, session, *asked) + RULE + "\n" + essence(say_answer(peaktop, session, *asked, "--json"))


def golden_of(name):
    with open(os.path.join(ANSWERS, name + ".golden"), encoding="utf-8") as f:
        note, _, expected = f.read().partition("\n\n")
    asked = re.search(r"^asked: (.*)", note, re.M).group(1).split()
    return note, asked, expected


def names():
    return sorted(f[:-len(".golden")] for f in os.listdir(ANSWERS) if f.endswith(".golden"))


def packed(name):
    return os.path.join(ANSWERS, name + ".peaktop.zst")


def compare(peaktop, name):
    """The lines that differ from the golden."""
    _, asked, expected = golden_of(name)
    got = answer(peaktop, packed(name), asked)
    return list(difflib.unified_diff(expected.splitlines(), got.splitlines(), "tests/answers/%s.golden" % name, "now", lineterm="", n=1))


def check(peaktop):
    found = names()
    unnamed = set(f[:-len(".peaktop.zst")] for f in os.listdir(ANSWERS) if f.endswith(".peaktop.zst")) ^ set(found)
    print("1..%d" % (len(found) + 1))
    wrong = len(unnamed) > 0 or not found
    print("%s 1 - each session has a golden%s" % ("not ok" if wrong else "ok", ": " + " ".join(sorted(unnamed)) if unnamed else ""))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (name, lines) in enumerate(zip(found, pool.map(lambda name: compare(peaktop, name), found)), 2):
            print("%s %d - %s" % ("not ok" if lines else "ok", number, name), flush=True)
            for line in lines[:40]:
                print("#   " + line)
            wrong |= bool(lines)
    if wrong:
        print("# If the change is meant, read it and run: tests/integration/answers.py --update")
    return wrong


def update(peaktop, text):
    for name in names():
        if text in name and compare(peaktop, name):
            note, asked, _ = golden_of(name)
            write_golden(peaktop, name, note, asked)
            print("changed: tests/answers/%s.golden" % name)


def write_golden(peaktop, name, note, asked):
    with open(os.path.join(ANSWERS, name + ".golden"), "w", encoding="utf-8") as f:
        f.write(note + "\n\n" + answer(peaktop, packed(name), asked))


# --- record

class Recorder:
    """Adds -o to the runs of peaktop of a case, and keeps their sessions with goldens."""

    def __init__(self, script, peaktop):
        self.script, self.peaktop, self.what, self.runs = os.path.basename(script), peaktop, None, []
        os.makedirs(ANSWERS, exist_ok=True)
        self.scratch = tempfile.mkdtemp(prefix="peaktop-answers.")

    def of(self, args):
        if args[0] not in SAVED or {"-o", "-r", "--open", "--help"} & set(args):
            return args
        session = os.path.join(self.scratch, str(len(self.runs)))
        asked = [args[0]]
        if args[0] == "chains":
            for at, word in enumerate(args):
                if word in REPLAYED:
                    asked += args[at:at + 2]
        self.runs.append((session, asked))
        return [args[0], "-o", session, *args[1:]]

    def begin(self, what):
        shutil.rmtree(self.scratch)
        os.mkdir(self.scratch)
        self.what, self.runs = what, []

    def name(self):
        return self.script[len("case_"):-len(".py")] + "." + "-".join(re.findall(r"[a-z0-9]+", self.what.lower()))[:60].strip("-")

    def keep(self, truth):
        base, kept = self.name(), 0
        for session, asked in self.runs:
            if not os.path.exists(session):
                continue
            name = base + (".%d" % (kept + 1) if kept else "")
            subprocess.run(["zstd", "-q", "-19", "-f", session, "-o", packed(name)], check=True)
            if os.path.getsize(packed(name)) > MOST_BYTES:
                print("# not kept, %d bytes: %s" % (os.path.getsize(packed(name)), name))
                os.unlink(packed(name))
                continue
            note = "case: %s: %s\ntruth: %s\nrecorded: %s, %s %s\nasked: %s" % (
                self.script, self.what, truth or "as the case says",
                datetime.date.today().isoformat(), platform.system(), platform.release(), " ".join(asked))
            write_golden(self.peaktop, name, note, asked)
            kept += 1




def main():
    built = os.path.join(TOP, os.environ.get("B", "build"), "peaktop")
    if sys.argv[1:2] == ["--update"]:
        update(built, "".join(sys.argv[2:3]))
        return 0
    return 1 if check(os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else built) else 0


if __name__ == "__main__":
    sys.exit(main())
