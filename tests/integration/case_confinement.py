# SPDX-License-Identifier: GPL-2.0-or-later
"""What a target's files, or a front that is taken over, cannot make the privileged collector do."""
import ctypes
import select
import struct
from harness import *

IN_OPEN = 0x20


class Opens:
    """Files of which somebody opens the contents, told by inotify. To find out what a path stands for is no opening."""

    def __init__(self, *paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        EXIT.append(lambda: os.close(self.fd))
        self.names = {}
        for path in paths:
            watched = self.libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN)
            check(watched >= 0, "inotify watches %s" % path)
            self.names[watched] = path

    def seen(self):
        found = []
        while select.select([self.fd], [], [], 0)[0]:
            data, at = os.read(self.fd, 65536), 0
            while at < len(data):
                watched, _, _, length = struct.unpack_from("iIII", data, at)
                found.append(self.names[watched])
                at += 16 + length
        return found


def build_id(path):
    need("readelf")
    text = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    return re.search(r"Build ID: ([0-9a-f]+)", text).group(1)


class Jail:
    """A root folder of its own with a stripped target whose debuglink is `link`; its debug file is kept outside."""

    def __init__(self, name, link="jailed.debug"):
        need("objcopy", "chroot", "ldd")
        source = os.path.join(TARGETS, name)
        if not os.path.exists(source):
            raise Skip("no target %s" % name)
        self.root = scratch()
        os.chmod(self.root, 0o755)
        self.app = os.path.join(self.root, "app")
        self.debug = os.path.join(scratch(), link)
        os.makedirs(self.app)
        for line in subprocess.run(["ldd", source], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
            found = re.search(r"(/\S+) \(", line)
            if found:
                os.makedirs(self.root + os.path.dirname(found.group(1)), exist_ok=True)
                shutil.copy(found.group(1), self.root + found.group(1))
        self.program = os.path.join(self.app, "jailed")
        subprocess.run(["objcopy", "--only-keep-debug", source, self.debug], check=True)
        subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + self.debug, source, self.program], check=True)
        self.build_id = build_id(self.program)
        self.roots = os.path.join(self.root, "usr/lib/debug")
        os.makedirs(os.path.dirname(self.roots), exist_ok=True)

    def path_by_id(self):
        folder = os.path.join(self.roots, ".build-id", self.build_id[:2])
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, self.build_id[2:] + ".debug")

    def start(self, *args):
        t = Program(["chroot", self.root, "/app/jailed", "-w"] + [str(a) for a in args])
        t.line(lambda s: s.startswith("ready"))
        return t


def asked(target, **options):
    """Ask for a function that only the debug file names: (status, standard error)."""
    status, program = run_peaktop("watch", "-p", target.pid, "-f", "middle", "--json", "--for", 0.5, seconds=30, **options)
    return status, program.text() + program.error_text()


@case("a debug file behind an absolute link in a container's root is found there, by root and by an unprivileged front")
def debug_file_in_root():
    jail = Jail("simple")
    os.makedirs(os.path.join(jail.root, "store"))
    shutil.copy(jail.debug, os.path.join(jail.root, "store/x.debug"))
    os.symlink("/store/x.debug", jail.path_by_id())
    t = jail.start(100)
    opens = Opens(os.path.join(jail.root, "store/x.debug"))
    for environment in (None, as_nobody()):
        status, said = asked(t, env=environment)
        check("no function" not in said and "not found" not in said, "the function is found: %s" % said[:300])
        check(opens.seen(), "the debug file was opened")


@case("a container whose /usr/lib/debug is a link to / does not make the collector open files of the host")
def link_to_root():
    jail = Jail("simple", link="secret")
    os.symlink("/", jail.roots)
    # By the host's names this is the file next to the program; by the container's own names there is no such file.
    secret = os.path.join(jail.app, "secret")
    shutil.copy(jail.debug, secret)
    t = jail.start(100)
    opens = Opens(secret)
    with NothingLeft(t.pid):
        asked(t)
    equal("files of the host that were opened", opens.seen(), [])


@case("a device and a FIFO in place of a debug file are not opened, and nobody waits for them")
def devices():
    for make in (lambda path: os.mknod(path, 0o666 | 0o020000, os.makedev(1, 3)), lambda path: os.mkfifo(path, 0o666)):
        jail = Jail("simple")
        node = jail.path_by_id()
        try:
            make(node)
        except OSError as error:
            raise Skip("no device nodes here: %s" % error)
        t = jail.start(100)
        opens = Opens(node)
        asked(t)
        equal("openings of %s" % oct(os.stat(node).st_mode), opens.seen(), [])


@case("a file system that never answers, in place of the debug files, does not stop the collector")
def hanging_files():
    need("unshare")
    jail = Jail("simple")
    os.makedirs(jail.roots)
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise Skip("no FUSE here: %s" % error)
    EXIT.append(lambda: os.close(fuse))
    libc = ctypes.CDLL(None, use_errno=True)
    what = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fuse
    if libc.mount(b"peaktop-test", jail.roots.encode(), b"fuse", 0, what.encode()):
        raise Skip("FUSE cannot be mounted: %s" % os.strerror(ctypes.get_errno()))
    EXIT.append(lambda: libc.umount2(jail.roots.encode(), 2))
    t = jail.start(100)
    began = time.monotonic()
    asked(t)
    between("seconds until the answer", time.monotonic() - began, 0, AT_ONCE)


@case("a front that is taken over cannot have a probe put into the middle of an instruction: it is refused, with the reason")
def hostile_front():
    tool = os.path.join(BUILD, "tools", "hostile_front")
    if not os.path.exists(tool):
        raise Skip("no %s" % tool)
    t = Target("simple", 4000)
    program = Program([tool, str(t.pid), "big"])
    program.line(lambda s: " header " in s, 60)
    answers = [line.split(" ", 3) for line in program.out]
    inside = [a for a in answers if a[1] == "inside"]
    check(len(inside) > 5, "instructions of several bytes: %s" % answers)
    for offset, where, said, *reason in answers:
        if where == "begin":
            # The kernel itself may refuse some.
            check(said == "armed" or "the kernel" in reason[0], "begin at %s: %s %s" % (offset, said, reason))
        elif where == "inside":
            check(said == "refused" and "in the middle of an instruction" in reason[0], "%s inside: %s %s" % (offset, said, reason))
        else:
            check(said == "refused", "the header: %s" % said)
    check([a for a in answers if a[1:3] == ["begin", "armed"]], "some are armed: %s" % answers)
    equal("exit status", program.wait(20), 0)
    t.go()
    t.truth()
    t.finish()


@case("the collector keeps the capabilities that a session needs and no more, no_new_privs and a filter of system calls")
def limits():
    needed = {name: 1 << bit for name, bit in (("DAC_READ_SEARCH", 2), ("SYS_PTRACE", 19), ("LEASE", 28), ("SYSLOG", 34), ("PERFMON", 38),
                                               ("BPF", 39), ("CHECKPOINT_RESTORE", 40))}
    t = Target("rates", 2000, 60, 0)
    program = Peaktop("watch", "-p", t.pid, "-f", "busy", "--json", "--for", 600)
    program.armed(t.pid)
    t.go()
    status = proc_status(collector_of(program))
    own = int(proc_status(os.getpid())["CapPrm"], 16)
    for name in ("CapPrm", "CapEff", "CapBnd"):
        extra = int(status[name], 16) & ~sum(needed.values())
        check(not extra or extra == 1 << 21 and own & sum(needed.values()) != sum(needed.values()), "%s has more: %x" % (name, extra))
    equal("NoNewPrivs", status["NoNewPrivs"].strip(), "1")
    equal("Seccomp", status["Seccomp"].strip(), "2")
    program.stop()


if __name__ == "__main__":
    main()
