# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets with a known culprit: what the files case_culprits*.py share."""
import contextlib
import glob

from descents import *


class Group:
    """A cgroup of its own, of either version; skips where none can be made."""

    def __init__(self, controller, second, first):
        self.path = None
        for base, settings in ((b, s) for bases, s in ((self.version_two(controller), second), ([
                "/sys/fs/cgroup/" + controller], first)) for b in bases):
            path = os.path.join(base, "peaktop-test-%d" % os.getpid())
            try:
                os.mkdir(path)
                self.path = path
                for name, value in settings:
                    with open(os.path.join(path, name), "w", encoding="ascii") as f:
                        f.write(value)
                return
            except OSError:
                self.remove()
        raise Skip("no cgroup with the controller %s can be made here" % controller)

    @staticmethod
    def version_two(controller):
        # the freezer is a part of every group
        return [os.path.dirname(path) for path in glob.glob("/sys/fs/cgroup/cgroup.controllers") + glob.glob(
            "/sys/fs/cgroup/unified/cgroup.controllers") if controller == "freezer" or controller in open(path, encoding="ascii").read().split()]

    def take(self, pid):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(pid))

    def remove(self):
        if self.path:
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
        self.path = None


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
    partly(frame["evidence"] == "measured", "%s was not measured (%s)" % (frame["function"], told(document)))
    partly(frame["records"] >= 5, "%s was measured in %d calls (%s)" % (frame["function"], frame["records"], told(document)))


def partly(condition, what):
    if not condition:
        raise Partly(what)


def truth_of(culprit):
    return "%s, %s%s" % (" > ".join(culprit.path), "/".join(culprit.causes), "".join(": " + t for t in (culprit.name, culprit.detail) if t))


def judge(document, culprit, path=None, cause=None):
    """
    The heaviest path that is the awaited one; its frames were measured. What the host did to the calls (it preempted
    them, stole their CPU) may stand above it: among the paths of the program it is the heaviest.
    """
    wanted = path or culprit.path
    for document in answers_of(document):
        found = [p for p in document["paths"] if names(p)[:len(wanted)] == wanted
                 and p["cause"]["kind"] in (cause or culprit.causes)]
        if found:
            break
    check(found, "no %s of %s among: %s" % ("/".join(cause or culprit.causes), " > ".join(wanted), told(document)))
    best = found[0]
    of_host = sum(p["share"] for p in document["paths"] if p["cause"]["kind"] in HOST and p is not best)
    share = 0.02 if is_loaded() else culprit.share
    partly(best["share"] >= share * (1 - of_host), "its share is %.2f (%s)" % (best["share"], told(document)))
    if len(wanted) > 1:
        frame_measured(best["frames"][len(wanted) - 1], document)
    if culprit.name:
        partly(culprit.name in best["cause"].get("name", ""), "the cause is not named %s: %s" % (culprit.name, told(document)))
    if culprit.detail:
        partly(culprit.detail in best["cause"].get("detail", ""), "not in detail %s: %s" % (culprit.detail, told(document)))
    program = [p for p in document["paths"] if p is best or p["cause"]["kind"] not in HOST]
    # causes within 10% of each other are both in the first sentence of the answer
    partly(best["share"] >= (0.9 if is_loaded() else 1) * program[0]["share"] or culprit.share < 0.4, "it is not the heaviest: %s" % told(document))
    return best


def both(culprit):
    """Witnessed and level by level: each right, and both the same."""
    target = Target(culprit.target, *culprit.arguments, env=culprit.environment, preexec_fn=undisturbed)
    target.go()
    answers = []
    Asked.truth = truth_of(culprit)
    for mode in ((), ("--level-by-level",)):
        document = ask(target, culprit, *mode)
        best = judge(document, culprit)
        if culprit.more:
            culprit.more(document, best, target)
        answers.append((in_the_program(names(best)), best["cause"]["kind"], best["cause"].get("name", "")))
    equal("level by level beside witnessed", answers[1], answers[0])


def once(culprit, real_time=True):
    """Asked once; the judge asks it beside two busy loops, too."""
    Asked.truth = truth_of(culprit)
    target = Target(culprit.target, *culprit.arguments, env=culprit.environment, preexec_fn=undisturbed if real_time else None)
    target.go()
    document = ask(target, culprit)
    best = judge(document, culprit)
    if culprit.more and not is_loaded():
        culprit.more(document, best, target)
    target.end()


def asked(culprit):
    """A check asks about mechanisms, for which the witnessed answer is enough; whoever asks about answers wants both."""
    (once if sys.argv[1:2] == ["--check"] else both)(culprit)


def table(cases, smokes=()):
    """The culprits of a file; those named in `smokes` by the begin of their text are asked by a check as well."""
    for what, culprit in cases:
        (smoke if any(what.startswith(s) for s in smokes) else live)(what)(lambda culprit=culprit: asked(culprit))
