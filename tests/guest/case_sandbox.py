# SPDX-License-Identifier: GPL-2.0-or-later
"""The sandboxes on a kernel that has Landlock, which the build machines' kernel may lack."""
from case_doctor import *

CASES.clear()  # those of the other file
UNIT = os.path.join(TOP, "build", "unit")


@case("sandbox and parser worker hold with Landlock")
def with_landlock():
    names = ["test_sandbox", "test_parser_process"]
    files = [os.path.join(UNIT, n) + ":/bin/" + n for n in names]
    script = "mkdir -p /tmp; mount -t securityfs s /sys/kernel/security; cat /sys/kernel/security/lsm; echo;" \
             " cp /bin/busybox /bin/true; test_sandbox && test_parser_process"
    status, out, err = guest("sh", "-c", script, files=files)
    check("landlock" in out, "the guest has no Landlock: %s" % out.split("\n")[0])
    equal("status (%s)" % "\n".join(l for l in (out + err).split("\n") if "FAILED" in l or "ERROR" in l), status, 0)


if __name__ == "__main__":
    main()
