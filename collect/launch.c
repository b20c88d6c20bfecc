// SPDX-License-Identifier: GPL-2.0-or-later
/* -- CMD: started as the invoking user and held before its first instruction until everything is armed. */
#include "collect/state.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void child_signals(void)
{
	sigset_t none;

	for (int s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_user(const struct collector_options *o)
{
	struct passwd *pw;

	if (o->uid == getuid() && o->gid == getgid() && geteuid() == o->uid)
		return 0;
	pw = getpwuid(o->uid);
	if (pw ? initgroups(pw->pw_name, o->gid) : setgroups(1, &o->gid))
		return -errno;
	if (setresgid(o->gid, o->gid, o->gid) || setresuid(o->uid, o->uid, o->uid))
		return -errno;
	return 0;
}

static void child_run(const struct collector_options *o, int report)
{
	int err, null;

	child_signals();
	if (o->command_quiet) {
		null = open("/dev/null", O_RDWR);
		if (null >= 0) {
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
		}
	}
	err = child_user(o);
	if (!err && ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		err = -errno;
	if (!err) {
		execvp(o->command[0], o->command);
		err = -errno;
	}
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int launch_start(struct collector *c)
{
	int report[2], err = 0, status;
	pid_t child;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child == 0)
		child_run(c->options, report[1]);
	close(report[1]);
	if (child < 0) {
		close(report[0]);
		return -errno;
	}
	/* the pipe closes at exec */
	if (read(report[0], &err, sizeof(err)) != (ssize_t)sizeof(err))
		err = 0;
	close(report[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!err && !WIFSTOPPED(status))
		err = -ECHILD;
	if (err)
		return err;
	c->child = child;
	return 0;
}

int launch_go(struct collector *c)
{
	return c->child && ptrace(PTRACE_DETACH, c->child, NULL, NULL) ? -errno : 0;
}

void launch_end(struct collector *c, bool ran)
{
	if (!c->child || c->child_ended)
		return;
	/* it was started to be measured; left behind, it would hold our output open */
	kill(c->child, ran ? SIGTERM : SIGKILL);
	if (!ran)
		waitpid(c->child, NULL, 0);
}
