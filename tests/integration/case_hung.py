# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets that cannot be read, collectors that hang or are killed: every wait of peaktop's has an end."""
import contextlib
import ctypes
import struct

from harness import *


def hole():
    """A target with a page of a sleeping thread's stack that nobody can read without sleeping for ever."""
    t = Target("hole")
    with open("/proc/%d/comm" % t.pid) as f:
        equal("its name", f.read().strip(), "hole")
    return t


def has_hole(t):
    """The hole is there: its thread sleeps, and userfaultfd covers a mapping of the process."""
    def there():
        with open("/proc/%d/smaps" % t.pid) as f:
            return any(line.startswith("VmFlags:") and " um" in line for line in f)
    wait_for(there, "the target makes its hole")


def has_line(program, fits):
    """Wait for a document that fits; False if peaktop ends before."""
    def found():
        return any(fits(json.loads(line)) for line in list(program.out) if line.startswith('{"peaktop"')) or program.process.poll() is not None
    wait_for(found, "a document that fits")
    return program.process.poll() is None


def own_slices(program, n):
    """n slices were printed."""
    wait_for(lambda: len(program.out) >= n, "%d slices; said: %s" % (n, program.error_text()), 20)


@case("a call that is open on an unreadable page: --for is honoured, the other function is counted")
def frame_hole():
    with NothingLeft():
        for seconds in (6, 60):
            t, start = hole(), time.monotonic()
            program = Peaktop("watch", "-p", t.pid, "-f", "waits_forever", "-f", "goes_on", "--json-lines", "--for", seconds,
                              "--max-overhead", 100)
            program.armed(t.pid)
            t.go()
            has_hole(t)
            # the call is to be open, and the other function to be called, long before the time is over
            if has_line(program, has_calls("goes_on")) and time.monotonic() - start < 0.7 * seconds:
                break
            program.stop()
            t.end()
        equal("exit status", program.wait(), 0)
        between("seconds for --for %d" % seconds, time.monotonic() - start, seconds, seconds + AT_ONCE)
        document = program.document()
        between("calls of goes_on", operation(document, "goes_on")["calls"], 1, 1000000)
        equal("open calls of waits_forever", operation(document, "waits_forever")["open"], 1)
        equal("calls of waits_forever", operation(document, "waits_forever")["calls"], 0)
        check(alive(t.pid), "the target died")
        t.end()


@case("the same with Ctrl-C: answered at once; the breakpoints of another target are removed")
def frame_hole_interrupt():
    with NothingLeft():
        t, other = hole(), Target("rates", 2000, 120, 0)
        program = Peaktop("watch", "-p", "%d,%d" % (t.pid, other.pid), "-f", "waits_forever", "-f", "busy", "--json-lines", "--for", 600)
        program.armed(t.pid)
        program.armed(other.pid)
        t.go()
        other.go()
        has_hole(t)
        seen = len(program.out)
        own_slices(program, seen + 4)
        start = time.monotonic()
        equal("exit status", program.stop(), 0)
        between("seconds until the end", time.monotonic() - start, 0, AT_ONCE)
        wait_for(lambda: not breakpoints(other.pid), "no breakpoint is left in the other target")
        check(alive(t.pid) and alive(other.pid), "a target died")
        t.end()
        other.end()


@case("a walk and --open over a stack that cannot be read: they end in time, with what they can see")
def stack_hole():
    with NothingLeft():
        t = hole()
        t.go()
        has_hole(t)
        start = time.monotonic()
        status, program = run_peaktop("descend", "-p", t.pid, "--timeout", 4, "--json", seconds=30)
        between("exit status of the walk: %s" % program.error_text(), status, 0, 1)
        program.document()
        status, program = run_peaktop("descend", "-p", t.pid, "--open", "-f", "waits_forever", seconds=30)
        check(status in (0, 1), "exit status of --open: %d" % status)
        between("seconds for both", time.monotonic() - start, 0, 2 * AT_ONCE)
        check(alive(t.pid), "the target died")
        t.end()


class SlowFiles:
    """A FUSE file system with one file, a copy of a target, that answers until it is told to hang."""

    INIT, LOOKUP, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, ACCESS = 26, 1, 3, 14, 15, 17, 18, 25, 34
    SILENT = (2, 36, 42)  # FORGET, INTERRUPT, BATCH_FORGET want no answer

    def __init__(self, target):
        with open(os.path.join(TARGETS, target), "rb") as f:
            self.content = f.read()
        self.folder = scratch()
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise Skip("no FUSE here: %s" % error)
        self.libc = ctypes.CDLL(None, use_errno=True)
        what = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.device
        if self.libc.mount(b"peaktop-test", self.folder.encode(), b"fuse", 0, what.encode()):
            os.close(self.device)
            raise Skip("FUSE cannot be mounted: %s" % os.strerror(ctypes.get_errno()))
        self.hanging, self.over = False, False
        EXIT.append(self.end)
        self.path = os.path.join(self.folder, target)
        threading.Thread(target=self.serve, daemon=True).start()

    def end(self):
        """Abort the connection: whoever waits for an answer gets an error."""
        self.over = True
        for force in (1, 2):  # MNT_FORCE, MNT_DETACH
            self.libc.umount2(self.folder.encode(), force)

    def attributes(self, node):
        size, mode = (0, 0o040755) if node == 1 else (len(self.content), 0o100755)
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """(error, data); None: no answer."""
        if opcode == self.INIT:
            return 0, struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 16, 12, 65536, 1, 32, 0, 0)
        if opcode == self.LOOKUP:
            if body.split(b"\0")[0].decode() != os.path.basename(self.path):
                return -2, b""
            return 0, struct.pack("<QQQQII", 2, 0, 1000000, 1000000, 0, 0) + self.attributes(2)
        if opcode == self.GETATTR:
            return 0, struct.pack("<QII", 1000000, 0, 0) + self.attributes(node)
        if opcode == self.OPEN:
            return 0, struct.pack("<QII", 1, 2, 0)  # keep what is cached
        if opcode == self.READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return 0, self.content[offset:offset + size]
        if opcode == self.STATFS:
            return 0, struct.pack("<QQQQQIIII24x", 1000, 0, 0, 10, 0, 4096, 255, 4096, 0)
        if opcode in (self.RELEASE, self.FLUSH, self.ACCESS):
            return 0, b""
        return None if opcode in self.SILENT else (-38, b"")

    def serve(self):
        while not self.over:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError:
                return
            if self.hanging:
                continue
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            given = self.answer(opcode, node, request[40:])
            if given is not None:
                error, data = given
                try:
                    os.write(self.device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
                except OSError:
                    return


@case("a program on FUSE is measured; when its file system hangs, --for and Ctrl-C are still answered")
def file_system_hangs():
    files = SlowFiles("rates")
    other = Target("rates", 2000, 120, 0)
    t = Target(files.path, 2000, 120, 0)
    with NothingLeft(other.pid):
        t.go()
        watch_calls("-p", t.pid, "-f", "busy", fits=has_calls("busy"))
    files.hanging = True
    other.go()
    with NothingLeft(other.pid):
        program = Peaktop("watch", "-p", "%d,%d" % (t.pid, other.pid), "-f", "busy@rates", "-f", "syscalls", "--json-lines", "--for", 600)
        wait_for(lambda: len(program.out) >= 3 and "does not respond" in program.text() + program.error_text(),
                 lambda: "slices are printed, and a word about the file system that hangs; said: " + program.error_text())
        members = program.note_family()
        start = time.monotonic()
        equal("exit status", program.stop(), 0)
        between("seconds from Ctrl-C to the end", time.monotonic() - start, 0, AT_ONCE)
    files.end()
    wait_for(lambda: not [p for p in members if alive(p)], "no process is left once the file system is gone", 10)
    t.signal(signal.SIGKILL)
    other.end()


@case("the collector is killed: the helper leaves code alone in which a debugger has set a breakpoint")
def debugger_is_there():
    # another file for each run: the kernel still knows the instructions of a uprobe whose removal it gave up
    t = Target(shutil.copy(os.path.join(TARGETS, "rates"), scratch()), 2000, 120, 0)
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json-lines", "--for", 600, "--max-overhead", 100)
    program.armed(t.pid)
    program.note_family()
    collector, cleaner = collector_of(program), member(program, "probe-cleaner")
    sites = breakpoints(t.pid)
    check(cleaner and sites, "the helper runs and there are probes")
    os.kill(cleaner, signal.SIGSTOP)
    os.kill(collector, signal.SIGKILL)
    wait_for(lambda: not breakpoints(t.pid), "the kernel removes the probes", 10)
    start, offset = next((start, offset) for start, _, offset, path in executable_mappings(t.pid) if path == sites[0][0])
    with open("/proc/%d/mem" % t.pid, "r+b", 0) as memory:
        at = start + sites[0][1] - offset
        before = os.pread(memory.fileno(), 1, at)
        os.pwrite(memory.fileno(), b"\xcc", at)
        os.kill(cleaner, signal.SIGCONT)
        wait_for(lambda: not alive(cleaner), "the helper ends", 10)
        after = os.pread(memory.fileno(), 1, at)
    check(after in (b"\xcc", before), "%s became %s" % (before.hex(), after.hex()))
    program.wait(20)
    t.end()


def at_random_moments(times, seconds, *args):
    """Start peaktop again and again, and wait for a random moment of its first seconds."""
    draw = draws()
    for number in range(times):
        program, moment = Peaktop("watch", "--for", 600, *args), draw.uniform(0, seconds)
        victim, end = collector_of(program), time.monotonic() + moment
        wait_for(lambda: time.monotonic() >= end, "the moment comes")
        where = "%d ms after its start (number %d)" % (moment * 1000, number)
        yield program, victim, where
        wait_for(lambda: not [p for p in program.members if alive(p)], "no process is left, " + where, 5)


@case("the collector is killed at 20 moments of its first second: nothing is left, and the front says so")
def killed_early():
    t = Target("rates", 2000, 120, 0)
    t.go()
    with NothingLeft(t.pid):
        for program, victim, where in at_random_moments(20, 1.0, "-p", t.pid, "-f", "busy"):
            program.note_family()
            os.kill(victim, signal.SIGKILL)
            equal("exit status, killed " + where, program.wait(10), 1)
            equal("what it says, killed " + where, program.err,
                  ["peaktop: the collector was killed by signal 9 (Killed); all probes are removed"])
    check(alive(t.pid), "the target died")


@case("the same with a command, at 8 moments: it ends, also while it still waits for its first instruction")
def killed_early_with_command():
    with NothingLeft():
        for program, victim, where in at_random_moments(8, 1.2, "--", "sleep", "600"):
            program.note_family()
            os.kill(victim, signal.SIGKILL)
            equal("exit status, killed " + where, program.wait(10), 1)


@case("Ctrl-C at 10 moments of the start is answered at once, and nothing is left")
def interrupted_early():
    t = Target("rates", 2000, 120, 0)
    t.go()
    with NothingLeft(t.pid):
        for program, _, where in at_random_moments(10, 1.0, "-p", t.pid, "-f", "busy"):
            start = time.monotonic()
            status = program.stop(10)
            check(status in (0, 1), "exit status %d: %s" % (status, program.error_text()))
            between("seconds from Ctrl-C to the end, " + where, time.monotonic() - start, 0, AT_ONCE)
    check(alive(t.pid), "the target died")


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
POLLS = ("7", "271")  # poll(), ppoll()


class Frozen:
    """One thread of a process stands still, all others go on."""

    def __init__(self, tid):
        self.tid = tid
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def __enter__(self):
        wait_for(self.freeze, "the thread is frozen in poll()")
        return self

    def freeze(self):
        """Stop the thread where it waits in poll(): elsewhere it may hold a lock that others need. False: it was elsewhere, and goes on."""
        if self.libc.ptrace(PTRACE_SEIZE, self.tid, None, None) or self.libc.ptrace(PTRACE_INTERRUPT, self.tid, None, None):
            raise Skip("ptrace is not permitted")
        os.waitpid(self.tid, 0x40000000)  # __WALL
        with open("/proc/%d/syscall" % self.tid, encoding="ascii") as f:
            if f.read().split()[0] in POLLS:
                return True
        self.release()
        return False

    def release(self):
        self.libc.ptrace(PTRACE_DETACH, self.tid, None, None)

    def __exit__(self, kind, value, trace):
        self.release()


@contextlib.contextmanager
def waiting(program):
    """The front stands still, so that it does not end before this case has seen what it waits for. It counts only time in which it runs."""
    os.kill(program.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(program.pid, signal.SIGCONT)


@case("the collector's loop hangs: its other thread removes the probes, the front ends by itself with one line")
def loop_hangs():
    hang_with(None)


@case("the same where the front runs as another user, who may not kill the collector: that ends itself")
def loop_hangs_sudo():
    hang_with(as_nobody())


def hang_with(environment):
    with NothingLeft():
        t = Target("rates", 2000, 120, 0)
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "-f", "syscalls", "--for", 600, "--max-overhead", 100, env=environment)
        program.armed(t.pid)
        t.go()
        ready(program)
        collector = collector_of(program)
        with Frozen(collector):
            with waiting(program):
                wait_for(lambda: not breakpoints(t.pid), "the probes are removed")
            wait_for(lambda: program.process.poll() is not None, "the front ends")
            wait_for(lambda: not alive(collector), "the collector ends", 10)
        equal("exit status", program.wait(), 1)
        between("lines of error output", len(program.err), 1, 1)
        check(re.match(r"peaktop: the collector \(process \d+\) did not answer for \d+ s", program.err[0]), program.err[0])
        check(alive(t.pid), "the target died")
        t.end()


def leases_of(pid):
    with open("/proc/locks") as f:
        return [line for line in f if "LEASE" in line and line.split()[4] == str(pid)]


def hang_for_a_while(while_hung):
    """The probes come back after the collector's loop has hung."""
    with NothingLeft():
        t = Target("rates", 2000, 120, 0)
        # without a budget: what the probes cost while the loop hung would have to be earned again before they come back
        program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(t.pid)
        t.go()
        with waiting(program), Frozen(collector_of(program)):
            wait_for(lambda: not breakpoints(t.pid), "the probes are removed", 10)
            while_hung(program)
        wait_for(lambda: breakpoints(t.pid), "the probes come back", 10)
        wait_for(lambda: leases_of(collector_of(program)), "the program's file is kept from changing again")
        equal("exit status", program.stop(), 0)
        notes = " ".join(program.document()["notes"])
        check("hung for more than" in notes and "nothing was measured" in notes, "no word about it: " + notes)
        check("overwritten" not in notes and "replaced" not in notes, "nobody has changed the file: " + notes)
        t.end()


@case("the collector's loop hangs for a while: it goes on, and says that nothing was measured meanwhile")
def loop_hangs_for_a_while():
    hang_for_a_while(lambda program: None)


@case("the same until the leases on the files are released, too")
def loop_hangs_longer():
    hang_for_a_while(lambda program: wait_for(lambda: not leases_of(collector_of(program)), "the leases are released"))


def set_user_id_sleep():
    """A program that another user owns and that runs as that user: the kernel does not end it with its parent."""
    path = os.path.join(scratch(), "sleep")
    shutil.copy(shutil.which("sleep"), path)
    os.chmod(os.path.dirname(path), 0o755)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    return path


@case("-- CMD ends with its collector, also when that is killed and CMD is a set-user-id program")
def command_ends():
    for command in (["sleep", "600"], [set_user_id_sleep(), "600"], ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]):
        with NothingLeft():
            program = Peaktop("watch", "--for", 600, "--", *command)
            wait_for(lambda: [p for p in family(program.pid) if p != program.pid and
                              os.path.basename(executable_of(p)) in ("sleep", "sh", "dash", "bash", "busybox", "coreutils")],
                     "the command starts", 20)
            wait_for(lambda: links(program), "peaktop attaches its programs")
            members = program.note_family()
            os.kill(collector_of(program), signal.SIGKILL)
            equal("exit status", program.wait(10), 1)
            wait_for(lambda: not [p for p in members if alive(p)], "%s ends with the collector" % command[0], 8)


if __name__ == "__main__":
    main()
