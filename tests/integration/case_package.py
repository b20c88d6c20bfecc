# SPDX-License-Identifier: GPL-2.0-or-later
"""What is installed beside the program: man pages, completion, the Debian package."""
import glob
import os
import re
import shutil
import subprocess

from harness import BUILD, PEAKTOP, TOP, Skip, case, check, equal, main, need, scratch, Target, wait_for

FOREIGN = {"--perf-basic-prof"}  # options of other programs that messages name
IGNORED = set()  # options without effect, which are not completed
HIDDEN = {"--complete", "--dump-options"}


def run(*command, **options):
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=400, **options)


def make(*goals):
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    made = run("make", "--no-print-directory", *goals, env=clean)
    equal("make " + " ".join(goals), made.returncode, 0)


def pages():
    """{verb: page}; "screen" is peaktop(1)."""
    make("man")
    found = {}
    for path in glob.glob(os.path.join(BUILD, "man", "*.1")):
        if not os.path.exists(os.path.join(TOP, "docs", "man", os.path.basename(path))):
            continue  # of a template that was removed
        with open(path) as f:
            found[os.path.basename(path)[:-2].replace("peaktop-", "").replace("peaktop", "screen")] = f.read()
    return found


def table():
    """The program's own table: its verbs, and the verbs of each option."""
    verbs, options = [], {}
    IGNORED.clear()
    for line in run(PEAKTOP, "--dump-options").stdout.splitlines():
        what, *words = line.split()
        if what == "verbs":
            verbs = words
        elif what == "ignored":
            IGNORED.add("--" + words[0])
        else:
            options["--" + words[0]] = words[1:]
    check(len(verbs) > 4 and len(options) > 20, "the program prints its table of options")
    return verbs, options


def described(page):
    """The long options that the OPTIONS section has an entry for."""
    section = page.split(".SH OPTIONS")[1].split("\n.SH ")[0]
    heads = re.findall(r"^\.TP\n(\..*)$", section, re.M)
    return {name for head in heads for name in re.findall(r"--[a-z-]+", head.replace("\\", ""))}


@case("every verb has a man page, and no page is of something else")
def verbs_have_pages():
    verbs, _ = table()
    equal("pages", sorted(pages()), sorted(verbs))
    for verb, page in pages().items():
        name = page.split(".SH NAME\n")[1].split("\n.SH ")[0]
        check(re.match(r"peaktop\S* \\- [^\n]+$", name), "the NAME of %s is one line: %r" % (verb, name))


@case("a page lists just the options that its verb takes; peaktop(1) lists all")
def pages_have_the_options():
    verbs, options = table()
    for verb, page in pages().items():
        wanted = {o for o, takers in options.items() if takers and (verb == "screen" or verb in takers)}
        equal("options in the page of " + verb, sorted(described(page)), sorted(wanted))


@case("VERB --help and the man page of the verb name the same options")
def help_and_page_agree():
    verbs, _ = table()
    found = pages()
    for verb in verbs:
        if verb == "screen":
            continue
        text = run(PEAKTOP, verb, "--help")
        equal(verb + " --help exits with", text.returncode, 0)
        listed = set(re.findall(r"^ +(?:-\w, +)?(--[a-z][a-z-]+)", text.stdout, re.M))
        equal("options of %s --help" % verb, sorted(listed), sorted(described(found[verb])))


@case("every option that a message or a document for users names is in peaktop(1)")
def messages_name_known_options():
    known = described(pages()["screen"]) | FOREIGN | HIDDEN
    named = {}
    for path in glob.glob(os.path.join(TOP, "[atc]*/**/*.c"), recursive=True):
        if os.path.relpath(path, TOP).split(os.sep)[0] not in ("analysis", "collect", "tui"):
            continue
        with open(path) as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", literal):
                named[option] = os.path.relpath(path, TOP)
    for name in ["README.md"] + glob.glob(os.path.join(TOP, "docs", "[a-z]*.md")):
        with open(os.path.join(TOP, name)) as f:
            for line in re.findall(r"\bpeaktop [^`|\n]*", f.read()):
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", line.split(" -- ")[0]):
                    named[option] = os.path.basename(name)
    check(len(named) > 15, "the messages name options")
    equal("options that are named and not described", {o: f for o, f in named.items() if o not in known}, {})


@case("the tests and cases that docs/notes/expectations.md names exist")
def expectations_have_tests():
    with open(os.path.join(TOP, "docs", "notes", "expectations.md")) as f:
        rows = [line.split("|")[2] for line in f if line.startswith("| ")]
    checked = 0
    for place in (place for row in rows for place in row.split(";")):
        for name in re.findall(r"\b(?:test|case)_\w+(?=:|\b)", place.split(":")[0]) + re.findall(r"golden/([\w-]+)", place):
            folder = "integration/%s.py" if name.startswith("case_") else "unit/%s.c" if name.startswith("test_") else "unit/golden/%s*.txt"
            found = glob.glob(os.path.join(TOP, "tests", folder % name))
            check(found, "there is no %s" % name)
            text = "".join(open(path).read() for path in found)
            after = place.partition(":")[2]
            for test in re.findall(r'"([^"]+)"', after) if name.startswith("case_") else re.findall(r"\w+", after):
                check(test in text, "%s has no '%s'" % (name, test))
                checked += 1
    check(checked > 50, "the table names tests: %d" % checked)


@case("mandoc and groff find nothing to complain about in the pages")
def pages_are_tidy():
    need("mandoc", "groff")
    for verb in pages():
        path = os.path.join(BUILD, "man", "peaktop%s.1" % ("" if verb == "screen" else "-" + verb))
        equal("mandoc -T lint", run("mandoc", "-T", "lint", path).stdout, "")
        equal("groff -ww", run("groff", "-man", "-ww", "-z", "-Tutf8", path).stderr, "")


def complete(*words):
    """The words that the program offers for the last of `words`."""
    got = run(PEAKTOP, "--complete", *words)
    equal("--complete exits with", got.returncode, 0)
    return [line.split("\t")[0] for line in got.stdout.splitlines()]


@case("the program completes verbs, options of the verb, values, processes, system calls and functions")
def completes():
    verbs, options = table()
    equal("verbs", sorted(set(complete("")) & set(verbs)), sorted(v for v in verbs if v != "screen"))
    equal("w", [w for w in complete("w") if w in verbs], ["watch", "why"])
    for verb in verbs:
        if verb != "screen":
            mine = {o for o, takers in options.items() if verb in takers} - IGNORED
            equal("options of " + verb, sorted(complete(verb, "--")), sorted(mine))
    equal("values", complete("watch", "--resolution", ""), ["1", "2", "4", "8"])
    equal("values after =", complete("watch", "--resolution="), ["--resolution=%d" % n for n in (1, 2, 4, 8)])
    check("json" in complete("export", "x", "--format", ""), "formats are completed")
    equal("files", complete("export", ""), [":files"])
    equal("the second file of diff", complete("diff", "a", ""), [":files"])
    equal("the file of resume", complete("resume", ""), [":files"])
    equal("files of an option", complete("watch", "-r", ""), [":files"])
    equal("a command", complete("watch", "--", "l"), [":commands"])
    equal("system calls", complete("watch", "-f", "syscall:fsy"), ["syscall:fsync"])
    check("runqueue" in complete("watch", "-f", "run"), "layers are completed")
    target = Target("rates", 1000)
    pid = str(target.pid)
    check(pid in complete("watch", "-p", pid[:-1]), "pids are completed")
    check("1," + pid in complete("watch", "-p", "1," + pid[:-1]), "the second pid is completed")
    check("rates" in complete("watch", "-n", "rat"), "process names are completed")
    check("rates" in complete("resume", "--timeout", "9", "FILE", "rat"), "the target of resume is completed")
    # On a busy machine the program may give up before the parser has answered; another `rates` may just have ended.
    for option, value in (("-p", pid), ("-n", "rates")):
        wait_for(lambda: complete("descend", option, value, "-f", "mai") == ["main"], "functions by " + option, 30)
    equal("no such function", complete("descend", "-p", pid, "-f", "no_such_"), [])


BASH = """
source docs/completion/peaktop.bash
peaktop() { "$PEAKTOP" "$@"; }
complete_line() {
    COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
    read -ra COMP_WORDS <<<"$COMP_LINE"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=(); _peaktop 2>/dev/null; printf '%s\\n' "${COMPREPLY[@]}"
}
"""


@case("bash, zsh and fish complete with the installed scripts")
def shells_complete():
    folder = scratch()
    os.symlink(PEAKTOP, os.path.join(folder, "peaktop"))
    env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"], PEAKTOP=PEAKTOP, HOME=folder, TERM="dumb")

    def bash(line):
        return run("bash", "-c", BASH + "complete_line '%s'" % line, env=env).stdout.split()

    check("descend" in bash("peaktop des"), "bash: a verb")  # beside processes that are called so
    equal("bash: an option", bash("peaktop descend --slow"), ["--slowest"])
    equal("bash: after a colon", bash("peaktop watch -f syscall:fsy"), ["fsync"])
    equal("bash: after an equals sign", bash("peaktop watch --resolution=8"), ["8"])
    missing = [shell for shell in ("zsh", "fish") if not shutil.which(shell)]
    if "zsh" not in missing:
        equal("zsh reads its script", run("zsh", "-n", "docs/completion/peaktop.zsh").stderr, "")
    if "fish" not in missing:
        line = run("fish", "-c", "source docs/completion/peaktop.fish; complete -C 'peaktop descend --slow'", env=env)
        equal("fish: an option", line.stdout.split("\t")[0], "--slowest")
    if missing:
        raise Skip("not installed: " + ", ".join(missing))


def installed(folder):
    return sorted(os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names)


@case("make install puts program, pages, completion and documents below DESTDIR and PREFIX")
def installs():
    folder = scratch()
    make("install", "DESTDIR=" + folder, "PREFIX=/opt/peaktop")
    found = installed(folder)
    check(found and all(name.startswith("opt/peaktop/") for name in found), "everything is below the prefix")
    verbs, _ = table()
    for name in ["bin/peaktop", "share/bash-completion/completions/peaktop", "share/zsh/site-functions/_peaktop",
                 "share/fish/vendor_completions.d/peaktop.fish", "share/doc/peaktop/README.md",
                 "share/doc/peaktop/peaktop.schema.json", "lib/systemd/system/peaktop@.service"] + [
                     "share/man/man1/peaktop%s.1" % ("" if v == "screen" else "-" + v) for v in verbs]:
        check("opt/peaktop/" + name in found, "%s is installed" % name)
    with open(os.path.join(folder, "opt/peaktop/lib/systemd/system/peaktop@.service")) as f:
        start = re.search(r"^ExecStart=(.*)$", f.read(), re.M).group(1).split()
    equal("the program of the service", start[0], "/opt/peaktop/bin/peaktop")
    options = re.findall("--[a-z]+", " ".join(start))
    check(options and all(name in table()[1] for name in options), "the service gives options that exist: %s" % options)
    shutil.rmtree(folder)


@case("systemd accepts the service, for a process and for a unit")
def service():
    need("systemd-analyze")
    folder = scratch()
    with open(os.path.join(TOP, "docs/systemd/peaktop@.service")) as f:
        text = f.read().replace("@BINDIR@/peaktop", PEAKTOP)
    for instance in ("redis-server", "nginx.service"):
        path = os.path.join(folder, "peaktop@%s.service" % instance)
        with open(path, "w") as f:
            f.write(text)
        said = run("systemd-analyze", "verify", "--man=no", path)
        found = [line for line in said.stderr.splitlines() if "peaktop@" in line]
        equal("what systemd-analyze says of " + instance, found, [])


@case("the Debian package has what it should; its program runs, and its doctor answers")
def package():
    need("dpkg-deb", "dpkg-shlibdeps")
    make("all", "man")
    folder = scratch()
    with open(os.path.join(TOP, "Makefile")) as f:
        text = f.read()
    version, released = (re.search(r"^%s := (\S+)" % name, text, re.M).group(1) for name in ("VERSION", "RELEASED"))
    built = run("docs/debian/build.sh", os.environ.get("B", "build"), version, released)
    equal("build.sh: " + built.stderr, built.returncode, 0)
    deb = os.path.join(TOP, built.stdout.split()[-1])
    depends = run("dpkg-deb", "-f", deb, "Depends").stdout
    check(re.search(r"libbpf1 .*libc6 ", depends), "the package depends on its libraries: " + depends)
    equal("dpkg-deb -x", run("dpkg-deb", "-x", deb, folder).returncode, 0)
    found = installed(folder)
    for name in ["usr/bin/peaktop", "usr/share/man/man1/peaktop.1.gz", "usr/share/man/man1/peaktop-descend.1.gz",
                 "usr/share/bash-completion/completions/peaktop", "usr/share/zsh/vendor-completions/_peaktop",
                 "usr/share/fish/vendor_completions.d/peaktop.fish", "usr/share/doc/peaktop/copyright", "usr/lib/systemd/system/peaktop@.service",
                 "usr/share/doc/peaktop/changelog.gz"]:
        check(name in found, "the package has " + name)
    program = os.path.join(folder, "usr/bin/peaktop")
    equal("--version", run(program, "--version").stdout, "peaktop %s\n" % version)
    doctor = run(program, "doctor")
    check(doctor.returncode in (0, 3) and "BTF" in doctor.stdout, "doctor answers")
    shutil.rmtree(folder)
    if shutil.which("lintian"):
        equal("lintian", run("lintian", "--allow-root", "--fail-on", "error,warning", deb).stdout, "")


if __name__ == "__main__":
    main()
