# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs: redis-server under redis-benchmark, a PostgreSQL backend under pgbench, python3, make -j2."""
from harness import *
import glob


def redis():
    need("redis-server", "redis-benchmark", "redis-cli")
    directory = scratch()
    socket = os.path.join(directory, "redis.sock")
    server = Program(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
                      "--dir", directory])
    wait_for(lambda: os.path.exists(socket), "redis listens")
    return server, socket


def command_calls(socket, name):
    out = subprocess.run(["redis-cli", "-s", socket, "info", "commandstats"], stdout=subprocess.PIPE).stdout.decode()
    found = re.search(r"cmdstat_%s:calls=(\d+)" % name, out)
    return int(found.group(1)) if found else 0


@smoke("redis-server under redis-benchmark: its system calls and their peaks")
def redis_syscalls():
    server, socket = redis()
    Program(["redis-benchmark", "-s", socket, "-t", "set,get", "-n", "100000000", "-c", "20", "-q"])
    wait_for(lambda: command_calls(socket, "set") > 1000, "the benchmark runs")
    with NothingLeft(server.pid):
        program = Peaktop("watch", "-p", server.pid, "--json-lines", "--interval", 0.5, "--for", 4)
        start = time.monotonic()
        line = program.line(lambda s: "epoll_wait" in s or '"syscall:' in s, 10)
        print("# the first system calls came after %.1f s" % (time.monotonic() - start), flush=True)
        equal("exit status", program.wait(20), 0)
        document = program.document()
        names = [op["name"] for op in document["operations"]]
        for name in ("syscall:read", "syscall:write", "syscall:epoll_wait"):
            check(name in names, "%s is not among %s" % (name, names))
        check(any(op["peaks"] for op in document["operations"]), "no peaks at all")


@case("functions of the stripped redis-server of the distribution: exact against commandstats")
def redis_functions():
    server, socket = redis()
    path = executable_of(server.pid)
    symbols = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.decode()
    names = set(re.findall(r" T (\w+)", symbols))
    wanted = next((n for n in ("setCommand", "call", "processCommand") if n in names), None)
    if not wanted:
        raise Skip("redis-server exports none of the names that this test knows")
    with NothingLeft(server.pid):
        # the file is that of redis-check-rdb where the server is a link to it
        program = Peaktop("watch", "-p", server.pid, "-f", wanted + "@redis-server", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(server.pid)
        before = command_calls(socket, "set")
        subprocess.run(["redis-benchmark", "-s", socket, "-t", "set", "-n", "20000", "-c", "5", "-q"],
                       stdout=subprocess.DEVNULL, check=True)
        after = command_calls(socket, "set")
        equal("exit status", program.stop(), 0)
        op = operation(program.document(), wanted)
        calls = after - before
        if wanted == "setCommand":
            equal("calls", op["calls"] + op["abnormal"], calls)
        else:
            between("calls", op["calls"], calls, calls + 60)
        equal("redis still answers", command_calls(socket, "set"), after)


def postgres_server():
    """A server with the tables of pgbench: its folder, its program, and what begins a command line of a client."""
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not binaries:
        raise Skip("no postgresql")
    if os.geteuid():
        raise Skip("not root: cannot become the user postgres")
    binary = binaries[-1]
    directory = scratch()
    os.chmod(directory, 0o711)
    data = os.path.join(directory, "data")
    os.mkdir(data)
    shutil.chown(data, "postgres", "postgres")

    def as_postgres(*command, **options):
        return subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command],
                              cwd=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, **options)
    as_postgres(binary + "/initdb", "-D", data, "-A", "trust", "-N")
    server = Program(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", binary + "/postgres", "-D", data,
                      "-c", "listen_addresses=", "-c", "unix_socket_directories=" + data, "-c", "max_connections=20",
                      "-c", "shared_buffers=32MB"], cwd=data)
    EXIT.append(lambda: (server.signal(signal.SIGQUIT), server.wait(15)))
    wait_for(lambda: glob.glob(data + "/.s.PGSQL.5432") and not subprocess.run(
        [binary + "/pg_isready", "-h", data], stdout=subprocess.DEVNULL).returncode, "postgres listens", 30)
    as_postgres(binary + "/pgbench", "-h", data, "-i", "-s", "1", "-q", "postgres")
    return data, server, ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", binary + "/pgbench", "-h", data]


def postgres():
    data, server, pgbench = postgres_server()
    bench = Program([*pgbench, "-c", "1", "-T", "600", "postgres"], cwd=data)

    first = {}

    def backend():
        # The one of the loading may still be there: it does not go on working.
        for pid in family(server.pid):
            try:
                with open("/proc/%d/cmdline" % pid) as f:
                    if "[local]" in f.read() and cpu_of(pid) - first.setdefault(pid, cpu_of(pid)) > 10:
                        return pid
            except OSError:
                pass
        return None

    def cpu_of(pid):
        with open("/proc/%d/stat" % pid) as f:
            field = f.read().rpartition(")")[2].split()
        return int(field[11]) + int(field[12])
    return wait_for(backend, "a backend is at work", 20), bench


@live("a PostgreSQL backend under pgbench: system calls with peaks, and a function")
def postgres_backend():
    pid, bench = postgres()
    with NothingLeft(pid):
        status, program = run_peaktop("watch", "-p", pid, "--json", "--for", 3)
        equal("exit status (%s)" % program.error_text(), status, 0)
        document = program.document()
        ops = {op["name"]: op for op in document["operations"]}
        check(any(name in ops for name in ("syscall:recvfrom", "syscall:epoll_wait")), "operations: %s" % sorted(ops))
        check(any(op["peaks"] for op in ops.values()), "no peaks at all")
        check(document["target"]["comm"].startswith("postgres"), "target: %s" % document["target"])
    with NothingLeft(pid):
        program = Peaktop("watch", "-p", pid, "-f", "PostgresMain", "-f", "XLogFlush", "--json",
                          "--for", 4)
        equal("exit status (%s)" % program.error_text(), program.wait(30), 0)
        document = program.document()
        check(operation(document, "XLogFlush")["calls"] > 10, "XLogFlush: %s" % operation(document, "XLogFlush")["calls"])
        equal("calls of PostgresMain, which began before", operation(document, "PostgresMain")["calls"], 0)
    check(alive(pid), "the backend died")


@case("python3: functions of the interpreter, exact against what the script did")
def python():
    path = os.path.realpath(shutil.which("python3"))
    script = ("import sys,os\nsys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
              "for i in range(3000): os.getppid()\n"
              "sys.stdout.write('done\\n'); sys.stdout.flush(); sys.stdin.readline()\n")
    p = Program([path, "-c", script])
    p.line(lambda s: s == "ready")
    with NothingLeft(p.pid):
        program = Peaktop("watch", "-p", p.pid, "-f", "getppid@libc.so.6", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(p.pid)
        p.say()
        p.line(lambda s: s == "done")
        equal("exit status", program.stop(), 0)
        op = operation(program.document(), "getppid@libc.so.6")
        total = (op["calls"] + op["abnormal"]) / max(op.get("share_of_calls_seen", 1), 1e-9)
        between("calls", round(total), 2985, 3015)
        p.say()
        equal("python ends well", p.wait(10), 0)


@live("make -j2, followed: the children's system calls")
def make():
    need("make", "gcc")
    directory = scratch()
    with open(os.path.join(directory, "Makefile"), "w") as f:
        f.write("all: %s\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n" % " ".join("f%d.o" % i for i in range(4000)))
    for i in range(4000):
        with open(os.path.join(directory, "f%d.c" % i), "w") as f:
            f.write("#include <stdio.h>\nint f%d(int x) { return printf(\"%%d\", x * %d); }\n" % (i, i))
    p = Program(["make", "-j2"], cwd=directory)
    wait_for(lambda: len(p.out) > 2, "make works")
    with NothingLeft(p.pid):
        status, program = run_peaktop("watch", "-p", p.pid, "--follow", "--json", "--for", 3)
        equal("exit status (%s)" % program.error_text(), status, 0)
        ops = {op["name"]: op for op in program.document()["operations"]}
        for name in ("syscall:execve", "syscall:openat", "syscall:wait4"):
            check(name in ops, "%s is not among %s" % (name, sorted(ops)))
        check(ops["syscall:openat"]["calls"] > 200, "openat: %d calls" % ops["syscall:openat"]["calls"])
    check(alive(p.pid), "make died")
    check(not [line for line in p.err if "rror" in line], "make: %s" % p.error_text())


if __name__ == "__main__":
    main()
