// SPDX-License-Identifier: GPL-2.0-or-later
/* Starts the command after `--` as the invoking user and stops it before its first instruction
 * until all probes are attached. */
#include "collect/launch.h"
#include "collect/state.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/process/sandbox.h"

static void child_signals(void)
{
	sigset_t none;

	for (int s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_run(const struct collector *c, pid_t parent, int report)
{
	const struct collector_options *o = c->options;
	int err, null;

	child_signals();
	if (c->hurried)
		setpriority(PRIO_PROCESS, 0, 0);
	if (o->command_quiet) {
		null = open("/dev/null", O_RDWR);
		if (null >= 0) {
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
		}
	}
	err = privileges_user(o->uid, o->gid);
	/* a change of user clears this setting, so do it afterwards; a set-user-id program
	 * clears it, too, but the keeper ends that */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
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

enum { KEEPER_SOCKET = 3, KEEPER_CHILD, KEEPER_GRACE_MS = 3000 };

/* Keep only two descriptors, as KEEPER_SOCKET and KEEPER_CHILD, and only the capability to
 * send signals. */
static int keeper_limit(int socket, int pidfd)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {
	    {.effective = 1u << CAP_KILL, .permitted = 1u << CAP_KILL}};
	int a = fcntl(socket, F_DUPFD, KEEPER_CHILD + 1),
	    b = fcntl(pidfd, F_DUPFD, KEEPER_CHILD + 1);

	if (dup2(a, KEEPER_SOCKET) < 0 || dup2(b, KEEPER_CHILD) < 0 ||
	    close_range(KEEPER_CHILD + 1, ~0U, 0))
		return -errno;
	for (int fd = 0; fd < KEEPER_SOCKET; fd++)
		close(fd);
	/* without CAP_KILL the command runs as our own user, so no capability is needed */
	if (syscall(SYS_capset, &head, caps)) {
		caps[0] = (struct __user_cap_data_struct){0};
		syscall(SYS_capset, &head, caps);
	}
	return 0;
}

/*
 * The keeper: a process that ends the command when the collector has ended for any reason.
 * PR_SET_PDEATHSIG is not enough: it does not reach a set-user-id program, and a program may
 * ignore its signal.
 */
static void keeper(int socket, int pidfd)
{
	struct pollfd fds[2] = {{.fd = KEEPER_SOCKET, .events = POLLIN},
				{.fd = KEEPER_CHILD, .events = POLLIN}};

	prctl(PR_SET_NAME, "peaktop-keeper");
	signal(SIGTERM, SIG_IGN);
	if (keeper_limit(socket, pidfd))
		_exit(1);
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (!(fds[1].revents & POLLIN)) {
		syscall(SYS_pidfd_send_signal, KEEPER_CHILD, SIGTERM, NULL, 0);
		if (poll(&fds[1], 1, KEEPER_GRACE_MS) <= 0)
			syscall(SYS_pidfd_send_signal, KEEPER_CHILD, SIGKILL, NULL, 0);
	}
	_exit(0);
}

static int keeper_start(struct collector *c, pid_t child)
{
	int pair[2], pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	pid_t pid;

	if (pidfd < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		close(pidfd);
		return -errno;
	}
	pid = fork();
	if (pid == 0)
		keeper(pair[1], pidfd);
	close(pair[1]);
	close(pidfd);
	c->command.keeper = pair[0];
	return pid < 0 ? -EAGAIN : 0;
}

/*
 * Wait until the child has executed the command (it is stopped then) or ended. A signal
 * that arrives earlier, such as Ctrl-C, also stops the traced child: pass it on, or the
 * child would never continue.
 */
static int exec_wait(pid_t child)
{
	int status = 0;

	for (;;) {
		if (waitpid(child, &status, 0) < 0) {
			if (errno == EINTR)
				continue;
			return status;
		}
		if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGTRAP)
			return status;
		ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)WSTOPSIG(status));
	}
}

int launch_start(struct collector *c)
{
	pid_t child, parent = getpid();
	int report[2], err = 0, status;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child == 0)
		child_run(c, parent, report[1]);
	close(report[1]);
	if (child < 0) {
		close(report[0]);
		return -errno;
	}
	status = exec_wait(child);
	/* the pipe closes at exec, or contains the error of exec */
	if (read(report[0], &err, sizeof(err)) != (ssize_t)sizeof(err))
		err = 0;
	close(report[0]);
	if (!err && !WIFSTOPPED(status))
		err = -ECHILD;
	/* if this process is killed before it releases the command, the command must not run
	 * on */
	if (!err && ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL))
		err = -errno;
	if (err)
		return err;
	c->command.pid = child;
	return keeper_start(c, child);
}

int launch_go(struct collector *c)
{
	return c->command.pid && ptrace(PTRACE_DETACH, c->command.pid, NULL, NULL) ? -errno : 0;
}

void launch_end(struct collector *c, bool ran)
{
	if (!c->command.pid || c->command.ended)
		return;
	/* the keeper waits for this, and outlives us */
	close(c->command.keeper);
	/* end the command: it was started to be measured, and would keep our output open */
	kill(c->command.pid, ran ? SIGTERM : SIGKILL);
	if (!ran)
		waitpid(c->command.pid, NULL, 0);
}
