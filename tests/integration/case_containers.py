# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets in namespaces of their own: their files are not there for us, and they have another pid."""
import descents
from harness import *


class Contained(Program):
    """A target in a pid and a mount namespace, run from a file that exists only there."""

    INSIDE = 'mount -t tmpfs none /mnt && cp "$0" /mnt/contained && exec /mnt/contained "$@"'

    def __init__(self, name, *args):
        need("unshare")
        path = os.path.join(TARGETS, name)
        if not os.path.exists(path):
            raise Skip("no target %s" % name)
        super().__init__(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", self.INSIDE, path, "-w"]
                         + [str(a) for a in args])
        try:
            self.line(lambda s: s.startswith("ready"))
        except AssertionError:
            if any("Operation not permitted" in s for s in self.err):
                raise Skip("no namespaces here")
            raise
        self.inside = next(p for p in family(self.pid) if executable_of(p) == "/mnt/contained")


@case("a process in a container: counts are exact, both pids are told, names come from its own file")
def contained():
    t = Contained("simple", 4000)
    check(not os.path.exists("/mnt/contained"), "the file is not there for us")
    with NothingLeft(t.inside):
        program = Peaktop("watch", "-p", t.inside, "-f", "big", "-f", "leaf", "--json", "--for", 600, "--max-overhead", 100)
        program.armed(t.inside)
        t.say("go")
        truth = json.loads(t.line(lambda s: s.startswith("{"), 60))
        equal("exit status of peaktop", program.stop(), 0)
        document = program.document()
        for name in ("big", "leaf"):
            op = operation(document, name)
            equal("calls of " + name, op["calls"], truth[name]["returned"])
            equal("module of " + name, op["module"], "contained")
        equal("pid", document["target"]["pid"], t.inside)
        equal("pid in the container", document["target"]["ns_pid"], int(proc_status(t.inside)["NSpid"].split()[-1]))
        t.say("end")
        equal("exit status of the target", t.wait(20), 0)


@smoke("a descent into a process in a container names the culprit, with file and line")
def descend():
    t = Contained("descend_chain", 2, 60)
    t.say("go")
    path = descents.descend(t.inside, "serve")["paths"][0]
    equal("the path", descents.names(path)[:5], ["serve", "link1", "link2", "last", "culprit"])
    frame = path["frames"][1]
    check(frame["call_site"]["file"].endswith("descend_chain.c") and frame["call_site"]["line"] > 0, "call site: %s" % frame["call_site"])


if __name__ == "__main__":
    main()
