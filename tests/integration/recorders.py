# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cases of record --ring share: a recorder, and the target `one_slow`, which is slow when it is asked for it."""
from harness import *


def recorder(target, path, *args, **options):
    return Peaktop("record", "-p", target.pid, "--ring", "1M", "-o", path, "--max-overhead", 100, "--interval", 0.25, *args, **options)


def elapsed(path):
    """What can be read of a ring that may still be written, in ns; 0: nothing yet."""
    if not os.path.exists(path) or os.path.getsize(path) < 24:
        return 0
    status, program = run_peaktop("watch", "-r", path, "--json")
    return program.document()["elapsed_ns"] if status == 0 else 0


def slow_call(target):
    """Have the target make one, and wait until it is over."""
    target.asked = getattr(target, "asked", 0) + 1
    target.say()
    target.line(lambda line: line.endswith('"slow":%d}' % target.asked))


def gone(target):
    target.process.stdin.close()
    equal("exit status of the target", target.wait(), 0)
