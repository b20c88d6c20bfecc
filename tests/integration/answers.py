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
import struct
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ANSWERS = os.path.join(TOP, "tests", "answers")
MOST_BYTES, MOST_BYTES_TOGETHER = 200 << 10, 12 << 20  # of a compressed session, and of all
SHOWN, BESIDE = 30, 60  # lines of a difference, and what of a long line is shown on both sides of what differs
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
    """What differs from the golden, as pairs of lists of lines: (golden, now)."""
    _, asked, expected = golden_of(name)
    old, new = expected.splitlines(), answer(peaktop, packed(name), asked).splitlines()
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(old[a:b], new[c:d]) for kind, a, b, c, d in changes if kind != "equal"]


def around(old, new):
    """Two long lines, or only the places where they differ, with a little of what stands beside them."""
    if max(len(old), len(new)) <= 3 * BESIDE:
        return old, new
    begin = len(os.path.commonprefix((old, new)))
    end = min(len(os.path.commonprefix((old[::-1], new[::-1]))), len(old) - begin, len(new) - begin)

    def cut(line):
        first, last = max(begin - BESIDE, 0), len(line) - max(end - BESIDE, 0)
        return ("... " if first else "") + line[first:last] + (" ..." if last < len(line) else "")
    return cut(old), cut(new)


def readable(changes):
    """A difference as lines: of each change first what the golden says, then what the answer is now."""
    for old, new in changes:
        if len(old) == len(new):
            pairs = [around(*pair) for pair in zip(old, new)]
            old, new = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        yield from ("- " + line for line in old)
        yield from ("+ " + line for line in new)


def version_of(name):
    """The format version of a session's writer, and whether it is a ring."""
    unpacked = subprocess.run(["zstd", "-q", "-d", "-c", packed(name)], stdout=subprocess.PIPE, check=True).stdout
    major, minor, _, _, segment = struct.unpack("<HHHHI", unpacked[8:20])
    return "%d.%d%s" % (major, minor, " ring" if segment else "")


def missing_versions(found):
    """Format versions, of all that were ever written, of which no session named formats.* is kept."""
    with open(os.path.join(TOP, "analysis", "session", "container.h")) as f:
        major, minor, ring = (int(number) for number in re.findall(r"CONTAINER_(?:MAJOR|MINOR|RING_MINOR) = (\d+)", f.read()))
    wanted = {"%d.%d" % (major, m) for m in range(minor + 1)} | {"%d.%d ring" % (major, m) for m in range(ring, minor + 1)}
    kept = {version_of(name) for name in found if name.startswith("formats.")}
    return sorted(wanted - kept)


def wrong_files(found):
    """Sessions without a golden, goldens without a session, and sessions that are too large: lines."""
    sizes = {f[:-len(".peaktop.zst")]: os.path.getsize(os.path.join(ANSWERS, f)) for f in os.listdir(ANSWERS) if f.endswith(".peaktop.zst")}
    yield from ("only a session or only a golden: " + name for name in sorted(set(sizes) ^ set(found)))
    yield from ("%s has %d bytes, at most %d are allowed" % (name, size, MOST_BYTES) for name, size in sizes.items() if size > MOST_BYTES)
    if sum(sizes.values()) > MOST_BYTES_TOGETHER:
        yield "all sessions have %d bytes, at most %d are allowed" % (sum(sizes.values()), MOST_BYTES_TOGETHER)
    yield from ("no session formats.* of format version " + version for version in missing_versions(found))
    if not found:
        yield "there are no answers"


def check(peaktop):
    found = names()
    print("1..%d" % (len(found) + 1))
    files, failed = list(wrong_files(found)), 0
    print("%s 1 - each session has a golden, none is too large, and there is one of each format version ever written%s" % ("not ok" if files else "ok", ": %d wrong: %s" % (len(files), "; ".join(files[:5])) if files else ""))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (name, changes) in enumerate(zip(found, pool.map(lambda name: compare(peaktop, name), found)), 2):
            lines = list(readable(changes))
            print("%s %d - %s%s" % ("not ok" if lines else "ok", number, name, ": " + " ".join(lines[:2]) if lines else ""), flush=True)
            for line in lines[:SHOWN] + (["... and %d more lines" % (len(lines) - SHOWN)] if len(lines) > SHOWN else []):
                print("#   " + line)
            failed += bool(lines)
    if failed:
        print("# %d answers differ (-: the golden, +: now). If that is meant, read it and run: tests/integration/answers.py --update" % failed)
    return failed > 0 or len(files) > 0


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
