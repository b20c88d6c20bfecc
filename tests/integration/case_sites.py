# SPDX-License-Identifier: GPL-2.0-or-later
"""What is really armed in the target's memory: that which was planned, and only on instruction starts."""
from harness import *

DUMP = os.path.join(BUILD, "tools", "dump")


def instruction_starts(path):
    """File offsets at which objdump sees an instruction begin."""
    need("objdump", "readelf")
    headers = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    segments = [(int(v, 16), int(o, 16), int(size, 16)) for o, v, size in re.findall(
        r"^\s+LOAD\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)", headers, re.M)]
    starts = set()
    listing = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", "-w", path], stdout=subprocess.PIPE)
    for line in listing.stdout:
        found = re.match(rb"^\s+([0-9a-f]+):\t", line)
        if found:
            address = int(found.group(1), 16)
            for virtual, offset, size in segments:
                if virtual <= address < virtual + size:
                    starts.add(address - virtual + offset)
    listing.wait()
    return starts


def armed_and_planned(target, *functions, args=()):
    """The breakpoints in the target, and the sites that the recording says were armed."""
    path = os.path.join(scratch(), "session")
    t = Target(target, *args)
    options = []
    for name in functions:
        options += ["-f", name]
    with NothingLeft(t.pid):
        program = Peaktop("record", "-p", t.pid, *options, "-o", path, "--for", 600, "--max-overhead", 100)
        real = program.armed(t.pid)
        program.stop()
    t.end()
    if not os.path.exists(DUMP):
        raise Skip("no build/tools/dump")
    lines = subprocess.run([DUMP, path], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    records = [json.loads(line) for line in lines]
    modules = {r["module"]: r["path"] for r in records if r["record"] == "module"}
    last = {}
    for r in records:
        if r["record"] == "site":
            last[(r["op"], modules[r["module"]], r["offset"], r["role"])] = r["state"]
    planned = {(path, offset) for (_, path, offset, _), state in last.items() if state == 1}
    return set(real), planned


def compare(target, *functions, args=()):
    real, planned = armed_and_planned(target, *functions, args=args)
    check(real, "nothing is armed")
    equal("armed but not planned", sorted(real - planned), [])
    equal("planned but not armed", sorted(planned - real), [])
    for path in {path for path, _ in real}:
        starts = instruction_starts(path)
        wrong = ["0x%x" % offset for where, offset in real if where == path and offset not in starts]
        equal("inside of an instruction of %s" % path, wrong, [])


@case("the demo's functions: what is armed is what was planned, on instruction starts")
def demo():
    compare("demo", "serve_request", "compute_answer", "wait_for_lock", "read_from_disk", "lookup_cached")


@case("functions of many shapes")
def shapes():
    compare("simple", "big", "middle", "leaf")
    compare("recursion", "fib", "even", "odd")
    compare("throws", "through", "nested")


@case("functions of the C library, called from everywhere")
def libc():
    compare("demo", "pwrite64@libc.so.6", "fsync@libc.so.6", "malloc@libc.so.6", "pthread_mutex_lock@libc.so.6")


@case("a caller that is known from the code ends the calls of a hot function, and not its stepped ret, and none is lost")
def known_caller():
    t = Target("hot_caller")
    with NothingLeft(t.pid):
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json-lines", "--interval", 0.5, "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()

        def dropped():
            return any("ends at its callers' return addresses" in line for line in program.out)
        wait_for(dropped, "the probe at the ret is given up")
        wait_for(lambda: len(breakpoints(t.pid)) == 2, lambda: "probes at the entry and at the return address: %s" % breakpoints(t.pid))
        t.say("stop")
        truth = t.truth()
        equal("exit status", program.stop(), 0)
        op = operation(program.documents()[-1], "busy")
        equal("calls", op["calls"] + op["abnormal"], truth["busy"])
        t.finish()


@case("never inside of a restartable sequence")
def rseq():
    real, _ = armed_and_planned("rseq", "count_one")
    path = os.path.join(TARGETS, "rseq")
    with open(path, "rb") as f:
        image = f.read()
    sections = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    _, offset, size = re.search(r" __rseq_cs\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", sections).groups()
    check(int(size, 16) >= 32, "no critical section in the target")
    # The addresses stand in relocations (PIE): their addends are the start and the end.
    relocations = subprocess.run(["readelf", "-rW", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    address = int(re.search(r" __rseq_cs\s+PROGBITS\s+([0-9a-f]+)", sections).group(1), 16)
    start = next(int(m.group(2), 16) for m in re.finditer(r"^([0-9a-f]+)\s+\S+\s+R_X86_64_RELATIVE\s+([0-9a-f]+)", relocations, re.M)
                 if int(m.group(1), 16) == address + 8)
    length = int.from_bytes(image[int(offset, 16) + 16:int(offset, 16) + 24], "little")
    inside = [hex(o) for p, o in real if p == path and start <= o < start + length]
    equal("armed inside of the sequence 0x%x+%d" % (start, length), inside, [])


if __name__ == "__main__":
    main()
