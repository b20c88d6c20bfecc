# SPDX-License-Identifier: GPL-2.0-or-later
"""Declining is no way out: the share of functions of real binaries that can be watched, as doctor tells it."""
from harness import *


def coverage(pid):
    status, program = run_peaktop("doctor", "-p", pid, "--json", seconds=200)
    equal("exit status", status, 0)
    document = program.document()
    validate(document)
    return {os.path.basename(m["module"]): m for m in document["coverage"]}


def enough(modules, *words):
    for word in words:
        module = next((m for name, m in modules.items() if name.startswith(word)), None)
        check(module, "%s is not among %s" % (word, sorted(modules)))
        check(module["functions"] > 100, "%s: only %d functions found" % (word, module["functions"]))
        check(module["share"] >= 0.9, "%s: only %.3f can be watched" % (word, module["share"]))
        kinds = module["entry_and_ends_emulated"] + module["entry_emulated"] + module["entry_stepped"]
        equal("%s: by placement" % word, kinds, module["watchable"])


@case("redis-server, libc and libstdc++")
def redis():
    need("redis-server")
    directory = scratch()
    socket = os.path.join(directory, "redis.sock")
    server = Program(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory])
    wait_for(lambda: os.path.exists(socket), "redis listens")
    enough(coverage(server.pid), "redis-", "libc.so", "libstdc++")


@case("python3")
def python():
    need("/usr/bin/python3")
    p = Program(["/usr/bin/python3", "-c", "import sys; print('up', flush=True); sys.stdin.read()"])
    p.line(lambda s: s.startswith("up"), 10)
    enough(coverage(p.pid), "python3")


if __name__ == "__main__":
    main()
