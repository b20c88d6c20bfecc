# SPDX-License-Identifier: GPL-2.0-or-later
"""descend: whom the calls of a peak wait for, and what that one did meanwhile (`wait` and `waits` of a path)."""
from culprits import *

FOLDER = tempfile.mkdtemp(prefix="chain.", dir=BUILD)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def chain(layers):
    return " > ".join("%s %s: %s" % (l.get("comm", ""), l["state"], l.get("detail", "")) for l in layers)


def lines(path):
    return "%s\n%s" % (path["cause"], "\n".join("%.1f ms x%d: %s" % (w["ns"] / 1e6, w["count"], chain(w["layers"])) for w in path["waits"]))


def share(path, fits):
    """Of the time of all chains, that of those that have such a layer below the target's."""
    return sum(w["ns"] for w in path["waits"] if any(fits(l) for l in w["layers"][1:])) / sum(w["ns"] for w in path["waits"])


def chains_of(kind, cause, *functions):
    target = Target("culprit_chain", 60, kind, os.path.join(FOLDER, "chain.data"))
    target.go()
    session = os.path.join(tempfile.mkdtemp(dir=FOLDER), "descent.peaktop")
    document = descend(target.pid, "serve", "-o", session, status=None)
    path = path_with(document, "serve", *functions, kinds=(cause,))
    check("waits" in path, "no chains: %s; %s" % (document["notes"], path.get("wait")))
    check(path["wait"]["layers"][0]["comm"] == "culprit_chain", chain(path["wait"]["layers"]))
    check(len(path["wait"]["layers"]) > 1 and path["wait"] in path["waits"], lines(path))
    for one, next_one in zip(path["waits"], path["waits"][1:]):
        check(one["ns"] >= next_one["ns"], "largest first:\n" + lines(path))
    for one in path["waits"]:
        functions_of = [plain(f["function"]) for f in one["layers"][0]["frames"]]
        check("serve" in functions_of or all(f["module"] == "kernel" for f in one["layers"][0]["frames"]),
              "another place of the program: %s" % functions_of)
    check(alive(target.pid), "the target lives on")
    status, program = run_peaktop("descend", "-r", session, "--json")
    replayed = path_with(program.document(), "serve", *functions, kinds=(cause,))
    equal("the chains of the saved session", replayed.get("waits"), path["waits"])
    # two thirds of those that are listed are more than a half of all
    if path["wait"]["ns"] * 3 > 2 * sum(w["ns"] for w in path["waits"]) and all(l.get("tid") for l in path["wait"]["layers"][1:]):
        paragraphs = run_peaktop("descend", "-r", session)[1].text().split("\n\n")
        sentence = " ".join(next(p for p in paragraphs if p.startswith(("peak", "Part 1:"))).split())
        last = path["wait"]["layers"][-1]
        # each call may have a child of its own: then only their name is said
        check("; meanwhile %s " % last["comm"] in sentence, "what the last one did is in: %s" % sentence)
    return path


@live("a child that runs: the chain leads into it")
def child():
    path = chains_of("child", "wait", "waitpid")
    part = share(path, lambda l: l.get("comm") in ("worker", "culprit_chain") and l["state"] in ("run", "runnable"))
    check(part >= 0.5, "%.2f of the time is in the child:\n%s" % (part, lines(path)))


@smoke("a mutex: the chain leads into its holder, and from there to the file that it waits for")
def file_behind_a_lock():
    path = chains_of("file", "lock", "pthread_mutex_lock")
    part = share(path, lambda l: l.get("comm") == "keeper")
    check(part >= 0.5, "%.2f of the time is with the holder:\n%s" % (part, lines(path)))
    part = share(path, lambda l: l.get("comm") == "keeper" and "fsync" in l.get("detail", ""))
    check(part > 0, "the holder never waits for its file:\n%s" % lines(path))


@live("a read past the page cache: how many requests, of which size, to which disk, and their time before and at the device")
def requests_of_a_read():
    target = Target("blockio", 1 << 40, env=dict(os.environ, TMPDIR=FOLDER))
    target.go()
    document = descend(target.pid, "direct_read", "--max-overhead", "100", "--peak", "1", status=None)
    path = path_with(document, "direct_read", kinds=("io",))
    check("block_requests" in path, "no requests: %s; %s" % (document["notes"], path.get("wait")))
    reads = [r for r in path["block_requests"] if r.get("operation") == "read"]
    equal("kinds of requests", len(reads), len(path["block_requests"]))
    for r in reads:
        equal("bytes of each", r["bytes"] / r["count"], 4096)
        check(os.path.isdir("/sys/class/block/%s" % r["device"]), "a disk: %s" % r)
        check(r["device_ns"] > 0, "time at the device: %s" % r)
    waited = [w for w in path["waits"] if "block I/O (read, " in w["layers"][-1].get("detail", "")]
    check(waited, "the layers say so:\n" + lines(path))
    # a request ends one wait, and takes longer than the wait for it
    between("requests, of the waits that they ended", sum(r["count"] for r in reads) / sum(w["count"] for w in waited), 0.9, 1.1)
    between("time of the waits, of that of the requests", sum(w["ns"] for w in waited) / sum(r["device_ns"] + r["queue_ns"] for r in reads), 0.1, 1.2)


main()
