# SPDX-License-Identifier: GPL-2.0-or-later
"""descend on real programs as Debian builds them: redis-server, a PostgreSQL backend, the sqlite3 shell, python3."""
import glob

from descents import *
import case_real

CASES.clear()  # those of case_real.py: what it starts is wanted, not what it tests

MONITOR = """
public class Monitor {
    static final Object lock = new Object();

    static void holdIt() throws Exception {
        synchronized (lock) {
            Thread.sleep(20);
        }
    }

    static void serve(int i) {
        if (i % 4 == 0) {
            synchronized (lock) {
                Thread.onSpinWait();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Thread holder = new Thread(() -> {
            try {
                for (;;) {
                    holdIt();
                    Thread.sleep(5);
                }
            } catch (Exception e) {
            }
        }, "holder");
        holder.setDaemon(true);
        holder.start();
        System.out.println("ready");
        for (int i = 0;; i++) {
            serve(i);
            Thread.sleep(1);
        }
    }
}
"""
SECONDS = 60  # that peaktop may take in all


def alone(pid):
    """Nobody takes the CPU from it: on a busy machine the first thing to be blamed would be the other work."""
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            os.sched_setscheduler(int(tid), os.SCHED_RR, os.sched_param(1))
        except OSError:
            pass


def needs_a_disk(directory):
    kind = subprocess.run(["stat", "-f", "-c", "%T", directory], stdout=subprocess.PIPE).stdout.decode().strip()
    if kind in ("tmpfs", "ramfs"):
        raise Skip("%s is a %s: fsync waits for nothing there" % (directory, kind))


def culprit(pid, function, *wanted, kinds=()):
    """A descent, and its first path, which goes through these functions and has one of these causes."""
    document = descend(pid, function, limits=("--timeout", 15), seconds=SECONDS)
    path = first_path(document, *wanted, kinds=kinds)
    answer = next(a for a in answers_of(document) if path in a["paths"])
    check(path["share"] <= answer["explained"] + 0.01, "share %s of %s" % (path["share"], answer["explained"]))
    return document, path


class Feeder(threading.Thread):
    """Sends requests until the case is over."""

    def __init__(self, request):
        super().__init__(daemon=True)
        self.request, self.over, self.sent = request, False, 0
        EXIT.append(self.end)
        self.start()

    def run(self):
        try:
            while not self.over:
                self.request(self.sent)
                self.sent += 1
                time.sleep(0.0003)
        except (OSError, ValueError):
            pass

    def end(self):
        self.over = True
        self.join(5)


def redis_keys():
    import socket
    server, path = case_real.redis()
    alone(server.pid)
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    EXIT.append(client.close)
    answers = client.makefile("rb")

    def command(*words):
        client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        line = answers.readline()
        if line[:1] == b"$" and int(line[1:]) >= 0:
            answers.read(int(line[1:]) + 2)

    for i in range(5000):
        command(b"SET", b"key:%d" % i, b"value")
    feeder = Feeder(lambda n: command(b"KEYS", b"*no such*") if n % 20 == 0 else command(b"GET", b"key:%d" % (n * 7 % 5000)))
    wait_for(lambda: feeder.sent > 200, "redis answers")
    return server, feeder


@smoke("redis-server: a slow KEYS among GETs is named, and its own loop is blamed, not the short calls in it")
def redis():
    server, feeder = redis_keys()
    document, path = culprit(server.pid, "processCommand", "processCommand", "call", "keysCommand",
                             kinds=("loop", "own code", "unmeasured callees"))
    frame = next(f for f in path["frames"] if f["function"] == "keysCommand")
    between("share of keysCommand", frame["share"], 0.5, 1)
    before = feeder.sent
    wait_for(lambda: feeder.sent > before + 100, "redis still answers")


@live("a PostgreSQL backend: the commit's peak is the flush of the log to disk; a read's is not")
def postgres():
    need("stat")
    needs_a_disk(tempfile.gettempdir())
    pid, bench = case_real.postgres()
    alone(pid)
    alone(bench.pid)
    document, path = culprit(pid, "CommitTransactionCommand", "CommitTransactionCommand", "XLogFlush", "fdatasync", kinds=("io",))
    measured(path, "XLogFlush", "fdatasync")
    check("pg_wal" in path["cause"].get("name", "pg_wal"), "the file: %s" % path["cause"])
    # statements are run under PortalRun; their commit is not among what it does
    document, path = culprit(pid, "PortalRun")
    check("XLogFlush" not in names(path), "a statement does not flush the log: %s" % told(document))


def backend_of(server, data, name):
    """The backend that runs the script of the client that calls itself `name`: pgbench first makes a connection for questions of its own."""
    def found():
        answer = subprocess.run([glob.glob("/usr/lib/postgresql/*/bin/psql")[-1], "-h", data, "-U", "postgres", "-At", "-c", "select pid from "
                                 "pg_stat_activity where application_name = '%s' and (query like 'update%%' or query like 'select pg_sleep%%')" % name, "postgres"], stdout=subprocess.PIPE)
        return int(answer.stdout or 0)
    return wait_for(found, "the backend of %s" % name, 20)


@live("a PostgreSQL backend waits for a row that another one has locked: the wait, and who ended it")
def row_lock():
    data, server, pgbench = case_real.postgres_server()
    scripts = {"holder": "begin;\nupdate pgbench_branches set bbalance = 1 where bid = 1;\nselect pg_sleep(0.02);\ncommit;\n"
                         "select pg_sleep(0.01);\n",
               "waiter": "select 1;\n" * 6 + "update pgbench_branches set bbalance = 2 where bid = 1;\n"}
    pids = {}
    for name, script in scripts.items():
        path = os.path.join(data, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(script)
        os.chmod(path, 0o644)
        client = Program([*pgbench, "-n", "-f", path, "-c", "1", "-T", "600", "postgres"], cwd=data, env=dict(os.environ, PGAPPNAME=name))
        pids[name] = backend_of(server, data, name)
        alone(pids[name])
        alone(client.pid)
    document, path = culprit(pids["waiter"], "PortalRun", "PortalRun", "XactLockTableWait", kinds=("wait", "lock"))
    check("%d" % pids["holder"] in path["cause"].get("detail", "") + path["cause"].get("name", ""), "not the holder %d: %s" % (
        pids["holder"], told(document)))
    check(alive(pids["waiter"]), "the backend died")


@live("Java: a thread that waits for a monitor waits for a lock")
def java_monitor():
    need("java")
    directory = scratch()
    with open(os.path.join(directory, "Monitor.java"), "w", encoding="ascii") as f:
        f.write(MONITOR)
    program = Program(["java", "-XX:+UseSerialGC", os.path.join(directory, "Monitor.java")])
    program.line(lambda line: line == "ready", 60)
    with NothingLeft(program.pid):
        status, asked = run_peaktop("descend", "-p", program.pid, "--json", "--timeout", 20, seconds=SECONDS)
    equal("exit status (%s)" % asked.error_text(), status, 0)
    path = path_with(asked.document(), "ObjectMonitor::enter", kinds=("lock",))
    equal("time", path["time"], "work")
    check(alive(program.pid), "java died")


@live("the sqlite3 shell: INSERT among SELECTs waits for the disk in fdatasync")
def sqlite():
    need("sqlite3", "stat")
    directory = scratch()
    needs_a_disk(directory)
    shell = Program(["sqlite3", os.path.join(directory, "test.db")])
    shell.say("create table t(i integer primary key, v text); select 'ready';")
    shell.line(lambda s: s == "ready")
    alone(shell.pid)
    draw = draws()

    def request(n):
        if n % 20 == 0:
            text = "insert into t(v) values('row %d'); select 'n';\n" % n
        else:
            text = "select 'n' from (select count(*) from t where i = %d);\n" % draw.randrange(1, n + 2)
        with shell.changed:
            have = len(shell.out)
        shell.process.stdin.write(text.encode())
        shell.process.stdin.flush()
        shell.line(lambda s: True, 20, Later(shell.out, have))

    feeder = Feeder(request)
    wait_for(lambda: feeder.sent > 200, "the shell answers", 30)
    document, path = culprit(shell.pid, "sqlite3_step", "sqlite3_step", "sqlite3PagerCommitPhaseOne", "fdatasync", kinds=("io",))
    measured(path, "fdatasync")
    between("share of the commit", measured(path, "sqlite3PagerCommitPhaseOne")["share"], 0.3, 1)


class Later:
    """The lines of a program from a number on."""

    def __init__(self, lines, first):
        self.lines, self.first = lines, first

    def __len__(self):
        return max(0, len(self.lines) - self.first)

    def __getitem__(self, i):
        return self.lines[self.first:][i]


SCRIPT = """
import itertools, json, random, time, zlib
quick = json.dumps({"id": 1, "tags": ["a", "b", "c"]})
words = "lorem ipsum dolor sit amet consectetur adipiscing elit".split()
page = " ".join(random.Random(1).choices(words, k=4000)).encode()
def request(n):
    if n % 20 == 0:
        return len(zlib.compress(page, 9))
    return len(json.loads(quick))
for _ in map(request, itertools.count()):
    time.sleep(0.0003)
"""


@live("python3: the slow C function among quick requests is named")
def python():
    path = "/usr/bin/python3"
    if not os.path.exists(path):
        raise Skip("no %s of the distribution" % path)
    # Where page faults are slow, mapping the memory of each compression would take longer than the compression.
    p = Program(["env", "MALLOC_MMAP_THRESHOLD_=67108864", "MALLOC_TRIM_THRESHOLD_=67108864", path, "-c", SCRIPT])
    alone(p.pid)
    document, found = culprit(p.pid, "_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault", "deflate",
                              kinds=("own code", "loop", "unmeasured callees"))
    frame = next(f for f in found["frames"] if f["function"] == "deflate")
    between("share of deflate", frame["share"], 0.2, 1)
    check(frame["module"].startswith("libz"), "module: %s" % frame["module"])


if __name__ == "__main__":
    main()
