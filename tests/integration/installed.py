# SPDX-License-Identifier: GPL-2.0-or-later
"""peaktop with file capabilities, for an ordinary user."""
from harness import *

CAPABILITIES = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,cap_syslog+ep"


class Installed:
    """A copy of peaktop with file capabilities, in a folder that the user nobody may use."""

    def __init__(self):
        need("setcap", "setpriv")
        self.folder = scratch()
        os.chmod(self.folder, 0o755)
        self.peaktop = self.copy(PEAKTOP)
        if subprocess.run(["setcap", CAPABILITIES, self.peaktop], stderr=subprocess.DEVNULL).returncode:
            raise Skip("no file capabilities here")

    def copy(self, path, mode=0o755):
        to = os.path.join(self.folder, os.path.basename(path))
        shutil.copy(path, to)
        os.chmod(to, mode)
        return to

    def command(self, *argv):
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *[str(a) for a in argv]]

    def start(self, *argv):
        return Program(self.command(*argv))

    def watch(self, *pids_and_args):
        program = Peaktop.__new__(Peaktop)
        Program.__init__(program, self.command(self.peaktop, "watch", "-p", ",".join(str(p) for p in pids_and_args[0]),
                                               *pids_and_args[1:]))
        STARTED.add(program.pid)
        return program
