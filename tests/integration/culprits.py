# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets with a known culprit: what the files case_culprits*.py share."""
from descents import *


class Culprit:
    """One target, and what must be said of it, whichever way it is found."""

    def __init__(self, target, path, cause, name="", detail="", more=None, share=0.4, args=(), f0="serve", arguments=(60,),
                 environment=None, statuses=("root cause found",)):
        self.target, self.path, self.share, self.more, self.args, self.f0 = target, path, share, more, args, f0
        self.causes = (cause,) if isinstance(cause, str) else cause
        self.name, self.detail, self.arguments = name, detail, arguments
        self.statuses = statuses
        self.environment = environment and dict(os.environ, **environment)


def in_the_program(path):
    """Without what stacks have shown of the kernel, which differs from call to call."""
    return path[:next((i for i, name in enumerate(path) if name.startswith("syscall:") or name == "page fault"), len(path))]


def ask(target, culprit, *args):
    document = descend(target.pid, culprit.f0, *culprit.args, *args)
    # what the host adds to the calls is not explained by the culprit: then it must not be called the root cause
    allowed = culprit.statuses if document["explained"] >= 0.6 else ("partly explained", *culprit.statuses[1:])
    check(document["status"] in allowed, "status: %s (%s)" % (document["status"], told(document)))
    shares_add_up(document)
    return document


def frame_measured(frame, document):
    equal("evidence of %s (%s)" % (frame["function"], told(document)), frame["evidence"], "measured")
    check(frame["records"] >= 5, "%s was measured in %d calls (%s)" % (frame["function"], frame["records"], told(document)))


def judge(document, culprit, path=None, cause=None):
    """
    The heaviest path that is the awaited one; its frames were measured. What the host did to the calls (it preempted
    them, stole their CPU) may stand above it: among the paths of the program it is the heaviest.
    """
    wanted = path or culprit.path
    found = [p for p in document["paths"] if names(p)[:len(wanted)] == wanted
             and p["cause"]["kind"] in (cause or culprit.causes)]
    check(found, "no %s of %s among: %s" % ("/".join(cause or culprit.causes), " > ".join(wanted), told(document)))
    best = found[0]
    of_host = sum(p["share"] for p in document["paths"] if p["cause"]["kind"] in HOST and p is not best)
    check(best["share"] >= culprit.share * (1 - of_host), "its share is %.2f (%s)" % (best["share"], told(document)))
    if len(wanted) > 1:
        frame_measured(best["frames"][len(wanted) - 1], document)
    if culprit.name:
        check(culprit.name in best["cause"].get("name", ""), "the cause is not named %s: %s" % (culprit.name, told(document)))
    if culprit.detail:
        check(culprit.detail in best["cause"].get("detail", ""), "not in detail %s: %s" % (culprit.detail, told(document)))
    program = [p for p in document["paths"] if p is best or p["cause"]["kind"] not in HOST]
    check(program[0] is best or culprit.share < 0.4, "it is not the heaviest: %s" % told(document))
    return best


def both(culprit):
    """Witnessed and level by level: each right, and both the same."""
    target = Target(culprit.target, *culprit.arguments, env=culprit.environment, preexec_fn=undisturbed)
    target.go()
    answers = []
    for mode in ((), ("--level-by-level",)):
        document = ask(target, culprit, *mode)
        best = judge(document, culprit)
        if culprit.more:
            culprit.more(document, best, target)
        answers.append((in_the_program(names(best)), best["cause"]["kind"], best["cause"].get("name", "")))
    equal("level by level beside witnessed", answers[1], answers[0])
    check(alive(target.pid), "the target lives on")


class BusyLoops:
    """
    Two programs that do nothing but run, or none. Those of one case are enough for all that run at the same time: a loop runs
    while it has its lock, and when it ends, that of another case goes on.
    """
    LOOP = "import fcntl, sys\nlock = open(sys.argv[1], 'w')\nfcntl.flock(lock, fcntl.LOCK_EX)\nwhile True: pass"

    def __init__(self, nr=2):
        self.nr = nr

    def __enter__(self):
        locks = [os.path.join(BUILD, "tests.loop%d" % i) for i in range(self.nr)]
        self.loops = [subprocess.Popen([sys.executable, "-c", self.LOOP, lock]) for lock in locks]
        # a loop that begins during a descent changes what the calls take
        wait_for(lambda: all(map(self.is_held, locks)), "loops that run")
        return self

    @staticmethod
    def is_held(lock):
        with open(lock, "a") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def __exit__(self, *what):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def quiet_and_loaded(culprit, real_time=True):
    """Alone with a real-time priority, and as an ordinary program with two busy loops beside it: the same culprit."""
    target = Target(culprit.target, *culprit.arguments, env=culprit.environment, preexec_fn=undisturbed if real_time else None)
    target.go()
    document = ask(target, culprit)
    best = judge(document, culprit)
    if culprit.more:
        culprit.more(document, best, target)
    target.end()
    culprit.share, share = 0.02, culprit.share
    with BusyLoops():
        target = Target(culprit.target, *culprit.arguments, env=culprit.environment)
        target.go()
        document = ask(target, culprit)
    loaded = judge(document, culprit)
    culprit.share = share
    equal("cause under load", loaded["cause"]["kind"], best["cause"]["kind"])
    program = [path for path in document["paths"] if path["cause"]["kind"] not in HOST]
    # causes within 10% of each other are both in the first sentence of the answer
    check(loaded["share"] >= 0.9 * program[0]["share"], "under load it is not the heaviest of the program: %s" % told(document))
    check(alive(target.pid), "the target lives on")
    target.end()


def table(cases):
    for what, culprit in cases:
        case(what)(lambda culprit=culprit: both(culprit))
