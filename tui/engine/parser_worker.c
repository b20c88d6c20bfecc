// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/parser_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collect/process/sandbox.h"
#include "tui/parser/serve.h"

enum { SOCKET = 3 }; /* after standard input, output and error */

/* Reset the signal handlers of the front: they would restore a terminal that the worker does not
 * use. */
static void signals_reset(void)
{
	const struct sigaction normal = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++) {
#ifdef __SANITIZE_ADDRESS__
		if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL)
			continue;
#endif
		sigaction(sig, &normal, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int descriptors_close(int socket)
{
	int null;

	if (socket != SOCKET && dup2(socket, SOCKET) < 0)
		return -errno;
	if (close_range(SOCKET + 1, ~0U, 0))
		return -errno;
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		return -errno;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
#ifndef __SANITIZE_ADDRESS__
	dup2(null, STDERR_FILENO);
#endif
	close(null);
	return 0;
}

static int worker(int socket, pid_t parent)
{
	setsid();
	signals_reset();
	prctl(PR_SET_NAME, "peaktop-parser");
	if (descriptors_close(socket) || sandbox_enter(SANDBOX_PARSER))
		return 1;
	/* The parent may have died before the death signal was set. */
	if (getppid() != parent)
		return 1;
	return parser_serve(SOCKET) ? 1 : 0;
}

pid_t parser_worker_fork(int socket)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(worker(socket, parent));
	return pid;
}
