#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The published schema and its validator: a document of every kind passes, and none with a fault does."""
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

HEAD = {"peaktop": "0.1.0", "version": 1,
        "target": {"pid": 1, "comm": "a", "exe": "/a", "started_ns": 5}, "elapsed_ns": 5000000000,
        "cost": {"hits": 1, "ns": 2, "percent_of_target_cpu": 0.5, "percent_of_host_cpu": 0.25},
        "lost": {"records": 0, "samples": 0, "stacks": 0, "tainted_ns": 0}, "notes": ["one"]}
PEAK = {"peak": 1, "id": 3, "low_ns": 100, "high_ns": 200, "mode_ns": 150, "calls": 5, "total_ns": 700,
        "share_of_calls": 1, "share_of_time": 0.9, "rate_hz": 1.5, "near": "timer tick",
        "values": [{"name": "return value", "text": "-11", "separation": 0.5}],
        "related": [{"name": "syscall:read", "peak": 2, "by": "count", "score": 0.5}]}
BUCKETS = [{"low_ns": 100, "high_ns": 141, "count": 2}, {"low_ns": 141, "high_ns": 200, "count": 3}]
OPERATION = {"name": "syscall:read", "layer": "syscall", "calls": 5, "total_ns": 700, "min_ns": 100, "max_ns": 190,
             "floor_ns": 100, "open": 1, "oldest_open_ns": 5, "abnormal": 0, "share_of_calls_seen": 1.0,
             "buckets": BUCKETS, "peaks": [PEAK],
             "folded": [{"id": 4, "folded_as": "preemption", "shadow_of": 3, "low_ns": 300, "high_ns": 400, "mode_ns": 350,
                         "calls": 1, "total_ns": 350, "share_of_calls": 0.1, "share_of_time": 0.1}], "slices": [{"start_ns": 0, "buckets": BUCKETS}]}
STACK = {"ns": 5, "count": 1, "layers": [{"pid": 1, "tid": 1, "comm": "a", "state": "sleep",
                                          "frames": [{"function": "f", "module": "m"}]}]}
SIDE = {"calls": 5, "total_ns": 700, "share_of_calls_seen": 1.0, "p50_ns": 5}
FRAME = {"function": "f(int)", "symbol": "_Z1fi", "module": "m", "address": "0x12", "line": 3, "file": "f.c",
         "call_site": {"file": "f.c", "line": 9, "address": "0x34"}, "share": 0.9, "latency_ns": 100,
         "maxcount": 20, "decisions": 1, "evidence": "measured"}


def documents():
    doctor = dict(HEAD, kind="doctor", kernel="6.1", checks=[{"name": "BTF", "ok": False, "needed_for": "all", "remedy": "x"}])
    del doctor["target"]
    return {
        "watch": dict(HEAD, kind="watch", operations=[OPERATION]),
        "doctor": doctor,
        "descend": dict(HEAD, kind="descend", function="f(int)", module="m", profile=OPERATION, peak=PEAK,
                        status="root cause found", rounds=2, calls_used=40, explained=0.9,
                        paths=[{"share": 0.9, "cause": {"kind": "interrupt", "name": "nic", "detail": 7},
                                "evidence": "witnessed", "frames": [FRAME], "wait": STACK,
                                "siblings": [{"function": "g", "latency_ns": 3, "maxcount": 1}]}],
                        ftree={"function": "f(int)", "root_cause": False, "children": [
                            {"function": "g", "maxcount": 3, "root_cause": True, "children": []}]}),
        "chains": dict(HEAD, kind="chains", accounting=[{"category": "run queue", "ns": 5, "share": 1}],
                       accounted_wall=1, accounted_rsp=1, unknown=0, chains=[STACK]),
        "diff": dict(HEAD, kind="diff", file="b", changed=1, before=dict({key: HEAD[key] for key in (
            "target", "elapsed_ns", "cost", "lost", "notes")}, file="a"), operations=[
                {"name": "syscall:read", "layer": "syscall", "verdict": "changed", "before": SIDE, "after": SIDE, "reasons": [
                    {"kind": "moved peak", "text": "moved", "mode_ns": 5, "old_mode_ns": 9, "share_before": 0.5, "share_after": 0.6},
                    {"kind": "calls", "text": "more", "rate_hz_before": 0.5, "rate_hz_after": 6}]},
                {"name": "lock", "layer": "lock", "verdict": "measured only after"}]),
        "critical": dict(HEAD, kind="critical", length_ns=5, deficit_ns=0,
                         states=[{"machine": "m", "state": "s", "count": 1, "ns": 5, "critical_ns": 5, "criticality": 1}],
                         machines=[{"machine": "m", "critical_ns": 5}],
                         edges=[{"from": "a", "to": "b", "count": 1, "ns": 5, "critical_ns": 5}],
                         next=[{"without": "s", "length_ns": 4, "speedup": 0.2}],
                         slack=[{"state": "s", "min_ns": 0}], warnings=["w"]),
    }


def change(doc, path, value):
    """A copy of doc with the field at path set, or (value is ...) removed."""
    doc = copy.deepcopy(doc)
    at = doc
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return doc


OP = ("operations", 0)
FAULTS = [
    ("watch", ("kind",), "wach"), ("watch", ("kind",), ...), ("watch", ("version",), 2), ("watch", ("notes",), ...),
    ("watch", ("cost",), ...), ("watch", ("lost", "records"), ...), ("watch", ("target", "exe"), None),
    ("watch", ("target", "pid"), "1"), ("watch", ("elapsed_ns",), 1.5), ("watch", ("elapsed_ns",), -1),
    ("watch", ("operations",), ...), ("watch", ("extra",), 1), ("watch", ("notes", 0), "two\nlines"),
    ("watch", OP + ("layer",), "network"), ("watch", OP + ("calls",), 6), ("watch", OP + ("total_ns",), 1.5),
    ("watch", OP + ("share_of_calls_seen",), 1.1), ("watch", OP + ("name",), "a\x1bb"), ("watch", OP + ("name",), "\u202e"),
    ("watch", OP + ("peeks",), []), ("watch", OP + ("buckets", 0, "count"), 0), ("watch", OP + ("buckets", 1, "low_ns"), 120),
    ("watch", OP + ("peaks", 0, "peak"), 2), ("watch", OP + ("peaks", 0, "mode_ns"), 90), ("watch", OP + ("peaks", 0, "near"), None),
    ("watch", OP + ("folded", 0, "folded_as"), "noise"), ("watch", OP + ("folded", 0, "calls"), ...),
    ("watch", OP + ("peaks", 0, "values"), ...), ("watch", OP + ("peaks", 0, "related", 0, "score"), "high"),
    ("watch", OP + ("slices", 0, "start_ns"), ...),
    ("doctor", ("checks", 0, "ok"), 1), ("doctor", ("kernel",), ...),
    ("descend", ("status",), "done"), ("descend", ("explained",), 0.5), ("descend", ("paths", 0, "cause", "kind"), "magic"),
    ("descend", ("paths", 0, "frames"), []), ("descend", ("paths", 0, "frames", 0, "address"), 12),
    ("descend", ("paths", 0, "evidence"), "guessed"), ("descend", ("ftree", "children", 0, "children"), ...),
    ("descend", ("paths", 0, "wait", "layers", 0, "state"), "asleep"), ("descend", ("profile", "calls"), 4),
    ("chains", ("accounting", 0, "share"), 2), ("chains", ("chains", 0, "layers"), []), ("chains", ("unknown",), ...),
    ("diff", OP + ("verdict",), "other"), ("diff", OP + ("reasons", 0, "kind"), "magic"), ("diff", ("before", "lost"), ...),
    ("diff", ("changed",), -1), ("diff", OP + ("before", "share_of_calls_seen"), 2),
    ("critical", ("edges", 0, "from"), ...), ("critical", ("states", 0, "criticality"), -1), ("critical", ("warnings",), "w"),
]


def validate(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        return subprocess.run([sys.executable, os.path.join(HERE, "validate_json.py"), *options, f.name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


count = 0


def check(name, ok, output=""):
    global count
    count += 1
    print("%sok %d - %s" % ("" if ok else "not ", count, name))
    if not ok:
        print("".join("#   %s\n" % line for line in output.splitlines()[:10]), end="")


def main():
    docs = documents()
    for kind, doc in docs.items():
        p = validate(json.dumps(doc, indent=1), "--kind", kind)
        check("a %s document is valid" % kind, p.returncode == 0, p.stdout)
    p = validate("\n".join(json.dumps(d) for d in docs.values()), "--summary")
    check("lines of several documents are valid", p.returncode == 0 and "6 valid, 0 not" in p.stdout, p.stdout)
    for kind, path, value in FAULTS:
        p = validate(json.dumps(change(docs[kind], path, value)))
        check("%s: %s = %r is refused" % (kind, ".".join(map(str, path)), "(absent)" if value is ... else value),
              p.returncode == 1 and p.stdout.strip(), p.stdout)
    newer = json.dumps(change(docs["watch"], OP + ("newer",), 1))
    check("a field of a newer version is refused here", validate(newer).returncode == 1)
    check("and allowed on request", validate(newer, "--open").returncode == 0)
    for name, text in (("not JSON", "{"), ("a key twice", '{"kind": 1, "kind": 2}'), ("NaN", '{"a": NaN}'),
                       ("nothing", ""), ("another kind", json.dumps(docs["doctor"]))):
        p = validate(text, "--kind", "watch")
        check("%s is refused" % name, p.returncode == 1 and "Traceback" not in p.stdout, p.stdout)
    print("1..%d" % count)


if __name__ == "__main__":
    main()
