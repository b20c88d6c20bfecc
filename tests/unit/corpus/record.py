#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turn recordings of programs with known modes into a corpus for test_peaks_modes.

    record.py record SET DIRECTORY     record the programs of SET (train, test, final), quiet and loaded
    record.py convert DIRECTORY...     write the corpus of all recordings to standard output

Needs root and `make all targets`. "Loaded" means two busy loops beside the program. The programs and
the numbers of their modes are in PROGRAMS.
"""
import collections
import json
import math
import os
import subprocess
import sys
import time

BUILD = os.environ.get("B", "build")
# The set "held" is of programs outside of this repository (kind own: the shares of their modes), which ran without
# a pause between calls on a host with six to fifteen busy tasks on two CPUs. It can be converted, not recorded.
# set, name, modes (LEAST-MOST where threads queue for one lock), arguments of build/targets/modes: RATE THREADS KIND:US:SHARE...; or a Python program and OP
PROGRAMS = """
train one_fast 1 modes 800 2 c:3:1000
train one_comp 1 modes 400 2 c:400:1000
train one_sleep 1 modes 200 4 s:2000:1000
train one_logn 1 modes 400 2 n:100:1000
train two_far 2 modes 800 2 c:5:990 s:2000:10
train two_fp 2 modes 1500 2 c:5:990 c:2000:10
train close2 2 modes 500 2 c:100:600 c:200:400
train slow40 2 modes 700 2 c:40:990 s:3000:10
train three_lock 3 modes 600 3 c:2:800 c:120:170 l:3000:30
train three_io 3 modes 500 3 c:4:900 c:300:92 s:12000:8
train tail 2 modes 500 3 c:5:900 t:1000:100
train four 4 modes 700 3 c:1:600 c:20:300 c:300:80 s:8000:20
train five 5 modes 700 4 c:1:500 c:16:250 c:200:180 s:2500:50 s:30000:20
train pipe2 2 modes 500 2 c:10:900 p:1500:100
train faults 2 modes 500 2 c:3:900 m:64:100
train closesleep 2 modes 200 4 s:1000:700 s:2500:300
train busy_two 2 modes 0 1 c:30:950 c:800:50
train py_sleep 3 py sleep syscall:clock_nanosleep
train py_adler 3 py adler adler32
test t_one_tiny 1 modes 3000 2 c:1:1000
test t_one_wide 1 modes 150 4 w:4000:1000
test t_one_mid 1 modes 300 2 c:2500:1000
test t_two 2 modes 900 3 c:8:980 l:5000:20
test t_two_c 2 modes 300 2 c:60:700 c:900:300
test t_close 2 modes 600 2 c:30:700 c:70:300
test t_40 2 modes 1000 2 c:12:992 s:1500:8
test t_three 3 modes 500 3 c:3:700 c:80:280 s:6000:20
test t_three_w 3 modes 300 4 c:10:600 n:250:370 w:9000:30
test t_three_c 3 modes 500 2 c:2:700 c:50:250 c:1500:50
test t_four 4 modes 500 4 c:2:600 c:60:300 p:1000:70 s:20000:30
test t_five 5 modes 500 4 c:1:400 c:10:300 c:100:200 s:1500:70 l:12000:30
test t_io 2 modes 300 3 c:30:950 s:2000:50
test t_tail 2 modes 400 3 c:20:800 t:2000:200
test t_faults 3 modes 500 2 c:5:800 m:32:150 s:4000:50
test t_busy 3 modes 0 1 c:2:900 c:50:90 c:1200:10
test t_bursty 2 modes 2000 1 c:4:970 c:150:30
test t_py_select 3 py select syscall:pselect6
test t_py_crc 2 py crc crc32
final f1 1 modes 700 2 c:20:1000
final f2 1-3 modes 150 4 l:800:1000
final f3 2 modes 1200 2 c:3:900 c:40:100
final f4 2 modes 400 3 c:150:500 c:300:500
final f5 2 modes 600 3 c:15:990 w:4000:10
final f6 2 modes 250 4 s:500:600 s:5000:400
final f7 3 modes 500 3 c:6:800 c:500:150 p:5000:50
final f8 3 modes 900 2 c:1:880 c:12:100 s:3000:20
final f9 4 modes 600 3 c:3:600 c:40:250 c:600:120 l:9000:30
final f10 5 modes 500 4 c:2:450 c:25:300 c:350:180 p:4000:50 s:40000:20
final f11 2 modes 500 2 c:50:990 t:5000:10
final f12 3 modes 350 3 n:60:500 c:900:450 s:15000:50
final f13 1 modes 0 1 c:12:1000
final f14 4 modes 500 3 c:4:500 c:8:400 s:1500:90 s:12000:10
held hash 2 own .7 .3
held deflate 3 own .8 .15 .05
held deflate_starved 3 own .8 .15 .05
held four 4 own .5 .3 .15 .05
held rare 2 own .995 .005
held rare_starved 2 own .995 .005
held one 1 own 1
held phases 2 own .5 .5
held wide 2 own .6 .4
held short 2 own .9 .1
"""
PYTHON = """
import os, random, select, sys, time, zlib
kind, r, end = sys.argv[1], random.Random(5), time.time() + float(sys.argv[2])
data = {k: os.urandom(k) for k in (1 << 10, 1 << 16, 1 << 21)}
while time.time() < end:
    x = r.random()
    if kind == "adler":
        zlib.adler32(data[1 << 10 if x < .9 else 1 << 16 if x < .985 else 1 << 21]); time.sleep(0.001 * r.random())
    elif kind == "crc":
        zlib.crc32(data[1 << 16 if x < .5 else 1 << 21]); time.sleep(0.002 * r.random())
    elif kind == "sleep":
        time.sleep(0.001 if x < .9 else 0.008 if x < .99 else .05)
    elif kind == "select":
        select.select([], [], [], 0.0005 if x < .7 else 0.001 if x < .9 else .03)
"""
PYTHON_SHARES = {"adler": (.9, .085, .015), "crc": (.5, .5), "sleep": (.9, .09, .01), "select": (.7, .2, .1)}
ENOUGH = 8        # a mode of which fewer calls were seen cannot be asked for
PER_HALF = 8     # disturbed samples that are kept, of each half of a doubling


def programs():
    for line in PROGRAMS.strip().splitlines():
        f = line.split()
        yield f[0], f[1], f[2], f[3], f[4:]


def shares_of(kind, arguments):
    if kind == "own":
        return [float(a) for a in arguments]
    if kind == "py":
        return PYTHON_SHARES[arguments[0]]
    shares = [int(a.split(":")[2]) for a in arguments[2:]]
    return [s / sum(shares) for s in shares]


def record(which, directory):
    os.makedirs(directory, exist_ok=True)
    for group, name, _, kind, arguments in programs():
        if group != which or kind == "own":
            continue
        for load in ("quiet", "loaded"):
            busy = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(2 * (load == "loaded"))]
            command = ([BUILD + "/targets/modes", "20"] + arguments if kind == "modes" else
                       [sys.executable, "-c", PYTHON, arguments[0], "20"])
            target = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                time.sleep(0.5)  # it calibrates itself
                out = f"{directory}/{group}.{name}.{load}.pt"
                if os.path.exists(out):
                    os.unlink(out)
                subprocess.run([BUILD + "/peaktop", "record", "-p", str(target.pid), "-f",
                                "serve" if kind == "modes" else arguments[1], "--for", "5", "-o", out], check=False)
            finally:
                for p in busy + [target]:
                    p.kill()
                    p.wait()


def bucket(ns):
    return int(8 * math.log2(max(ns, 1)))


def compact(samples):
    """Undisturbed samples of one bucket as one with a count; a part of the disturbed ones, which stand for more."""
    plain, disturbed, out = collections.Counter(), collections.defaultdict(list), []
    for s in samples:
        if s["runqueue"] or s["interrupt"] or s["preempted"] or s["faults"]:
            disturbed[bucket(s["latency"]) // 4].append(s)
        else:
            share = round(s["oncpu"] / s["latency"], 1) if s["known"] & 128 else 0
            plain[(bucket(s["latency"]), s["known"], share, min(s["sleeps"], 9))] += 1
    for (b, known, share, sleeps), n in sorted(plain.items()):
        ns = int(2 ** ((b + 0.5) / 8))
        out.append(f"{ns},{known},{int(ns * share)},0,0,0,{sleeps},0,1*{n}")
    for half, group in sorted(disturbed.items()):
        step = max(1, math.ceil(len(group) / PER_HALF))
        for s in group[::step]:
            r = {key: int(float(f"{v:.3g}")) if isinstance(v, int) and key != "known" else v for key, v in s.items()}
            out.append("{latency},{known},{oncpu},{runqueue},{interrupt},{preempted},{sleeps},{faults}".format(**r) +
                       f",{step}*1")
    return out


def convert(directories):
    known = {(group, name): (modes, shares_of(kind, arguments)) for group, name, modes, kind, arguments in programs()}
    for directory in directories:
        for file in sorted(os.listdir(directory)):
            group, name, load, _ = file.split(".")
            modes, shares = known[(group, name)]
            lines = subprocess.run([BUILD + "/tools/dump", f"{directory}/{file}"], capture_output=True, text=True,
                                   check=True).stdout.splitlines()
            records = [json.loads(line) for line in lines]
            profiles = [r for r in records if r["record"] == "profile"]
            calls = collections.Counter()
            for p in profiles:
                calls[p["op"]] += sum(n for _, n in p["buckets"])
            op = calls.most_common(1)[0][0]
            enough = max(1, sum(s * calls[op] >= ENOUGH for s in shares))
            least, most = int(modes.split("-")[0]), int(modes.split("-")[-1])
            print(f"program {group} {name} {load} {min(least, enough)} {most}")
            for p in profiles:
                if p["op"] == op:
                    print("slice {start} {end} {armed} {sum} {min} {max}".format(**p),
                          " ".join(f"{b}:{n}" for b, n in p["buckets"]))
            print("samples", " ".join(compact([r for r in records if r["record"] == "sample" and r["op"] == op])))


if len(sys.argv) > 3 and sys.argv[1] == "record":
    record(sys.argv[2], sys.argv[3])
elif len(sys.argv) > 2 and sys.argv[1] == "convert":
    convert(sys.argv[2:])
else:
    sys.exit(__doc__)
