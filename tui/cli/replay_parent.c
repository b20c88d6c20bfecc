// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/replay_parent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "tui/cli/live.h"
#include "tui/cli/verb_resume.h"
#include "tui/cli/verbs.h"

/* Passed on to the child. It handles them, and this process waits. */
static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1};

/* Block these signals, to take them with sigwaitinfo(). `before` gets the old mask. */
static void signals_block(sigset_t *set, sigset_t *before)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigaddset(set, forwarded[i]);
	sigprocmask(SIG_BLOCK, set, before);
}

/* True if the child has ended, with its status. If it has stopped itself, stop, too, so that the
 * shell gets its terminal back; it goes on when this process does. */
static bool child_look(pid_t pid, int *status)
{
	while (waitpid(pid, status, WNOHANG | WUNTRACED) == pid) {
		if (!WIFSTOPPED(*status))
			return true;
		raise(SIGSTOP);
		kill(pid, SIGCONT);
	}
	return false;
}

static int child_wait(pid_t pid, const sigset_t *set)
{
	int status = 0;

	for (;;) {
		siginfo_t info;
		int signal = sigwaitinfo(set, &info);

		if (signal == SIGCHLD && child_look(pid, &status))
			break;
		/* what the terminal sends reaches the child as well */
		if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
			kill(pid, signal);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "peaktop: the screen was killed by signal %d\n", WTERMSIG(status));
	return EXIT_NO_ANSWER;
}

/* The process that was chosen; 0: none. */
static uint32_t chosen(int fd)
{
	uint32_t pid;

	return recv(fd, &pid, sizeof(pid), MSG_DONTWAIT) == (ssize_t)sizeof(pid) ? pid : 0;
}

int replay_run(struct options *o)
{
	int pair[2], status, saved = memfd_create("peaktop-resume", MFD_CLOEXEC);
	sigset_t set, before;
	uint32_t target;
	pid_t pid;

	if (saved < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		verb_complain("cannot make a pair of sockets or a file in memory");
		return EXIT_NO_ANSWER;
	}
	signals_block(&set, &before);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		sigprocmask(SIG_SETMASK, &before, NULL);
		status =
		    live_screen(o, &(struct live_options){.parent = pair[1], .saved_fd = saved});
		fflush(NULL);
		_exit(status);
	}
	close(pair[1]);
	status = pid > 0 ? child_wait(pid, &set) : EXIT_NO_ANSWER;
	target = pid > 0 ? chosen(pair[0]) : 0;
	close(pair[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		verb_complain("cannot start another process");
	return target ? resume_on_screen(o, target, saved) : status;
}
