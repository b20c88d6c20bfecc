# SPDX-License-Identifier: GPL-2.0-or-later
"""In a guest with a distribution's kernel, which has what the build machines' kernel refuses."""
import os
import sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from harness import *

VMRUN = os.path.join(TOP, "tests", "guest", "vmrun.sh")


def guest(*command, files=(), limit=1800, options=()):
    """(status, standard output, standard error) of a command in a fresh guest."""
    need("qemu-system-x86_64", "busybox", "cpio", "apt-get")
    argv = [VMRUN, "-t", str(limit), *options]
    for name in files:
        argv += ["-i", name]
    run = subprocess.run([*argv, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    out, err = run.stdout.decode(errors="replace"), run.stderr.decode(errors="replace")
    if run.returncode == 125 and ("cannot download" in err or "apt knows no kernel" in err):
        raise Skip(err.strip().split("\n")[-1])
    return run.returncode, out, err


def peaktop_files(*targets):
    if not os.path.exists(PEAKTOP):
        raise Skip("no build/peaktop")
    return [PEAKTOP + ":/bin/peaktop"] + [os.path.join(TARGETS, t) + ":/bin/" + t for t in targets]


@case("the guest boots, runs a command, keeps its streams apart and returns its status")
def boots():
    status, out, err = guest("sh", "-c", "uname -r; echo \"it's\" >&2; exit 7")
    equal("status (%s)" % err, status, 7)
    check(re.match(r"\d+\.\d+", out), out)
    equal("standard error", err.strip(), "it's")


@case("doctor --json in the guest")
def doctor():
    status, out, err = guest("peaktop", "doctor", "--json", files=peaktop_files())
    equal("status (%s)" % err, status, 0)
    document = json.loads(out)
    validate(document)
    equal("kind", document["kind"], "doctor")
    print("# missing there: %s" % ", ".join(c["name"] for c in document["checks"] if not c["ok"]))


@case("a kernel in lockdown mode, which lets no BPF program read its memory: one line says so")
def lockdown():
    status, out, err = guest("sh", "-c", "peaktop doctor; peaktop watch --for 1 -- true; echo status $?", files=peaktop_files(),
                             options=("-a", "lockdown=confidentiality"))
    equal("status (%s)" % err, status, 0)
    check("this kernel is in lockdown mode" in re.sub(r"\s+", " ", out), out)
    check(re.fullmatch(r"peaktop: this kernel is in lockdown mode, which .*\n?", err), err)
    check("status 3" in out, out)


# in the guest's shell: wait until a line that has been printed fits; 9 if that takes too long, or if peaktop ($t) ends
AWAIT_LINE = (" await_line() { n=0; until grep -q \"$1\" /tmp/o; do n=$((n + 1)); [ $n -lt 3000 ] && kill -0 $t ||"
              " { cat /tmp/e >&2; exit 9; }; sleep 0.2; done; };")


def watched(script, *targets, options=()):
    """Run a script of sh in the guest; the JSON between its marks."""
    status, out, err = guest("sh", "-c", script, files=peaktop_files(*targets), options=options)
    equal("status (%s)" % err, status, 0)
    return json.loads(out.split("JSON<")[1].split(">JSON")[0])


def counted(options=()):
    document = watched(
        "peaktop watch -f big -f syscall:write --json --for 60 --max-overhead 100 -- simple 3000 >/tmp/o 2>/tmp/e; s=$?;"
        " echo 'JSON<'; sed -n '/^{\"peaktop/,$p' /tmp/o; echo '>JSON'; cat /tmp/e >&2; exit $s", "simple", options=options)
    validate(document)
    equal("calls of big", operation(document, "big")["calls"], 3000)


@case("exact counts of a user function and of system calls in the guest")
def function():
    counted()


def older_kernel():
    """Options for a guest with a kernel that has no uprobe_multi."""
    need("apt-cache")
    text = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    name = re.search(r"Depends: linux-image-(\d\S+)", text.decode())
    usual = subprocess.run([VMRUN, "-K"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().strip()
    if not name or name.group(1) == usual:
        raise Skip("this distribution has no kernel older than %s" % usual)
    return "-k", name.group(1)


@case("an older kernel of the distribution takes the programs; a perf event a site counts as exactly")
def older_kernel_counts():
    counted(older_kernel())


@case("a kernel function in the guest")
def kernel_function():
    document = watched(
        "mkfifo /tmp/in; rates 500 3000 0 </tmp/in >/dev/null & sleep 3000 >/tmp/in & p=$(pidof rates);"
        " peaktop watch -p $p -f kernel:hrtimer_nanosleep --json-lines --for 900 >/tmp/o 2>/tmp/e & t=$!;"
        + AWAIT_LINE + " await_line '\"calls\":[1-9]'; kill -INT $t; wait $t; s=$?;"
        " echo 'JSON<'; tail -n 1 /tmp/o; echo '>JSON'; cat /tmp/e >&2; kill $p; exit $s", "rates")
    validate(document)
    op = operation(document, "kernel:hrtimer_nanosleep")
    check(op["calls"] > 0, "%d calls" % op["calls"])


if __name__ == "__main__":
    main()
