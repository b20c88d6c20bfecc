// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/courier.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "analysis/base/format.h"
#include "collect/process/clock.h"
#include "collect/process/sandbox.h"

enum {
	SOCKET = 3,	     /* after standard input, output and error */
	MESSAGE = 128 << 10, /* bytes of the longest message */
	COMPLAINT = 1024,
	COMMAND_S = 60,	    /* the most that a command may take */
	LAST_COMMAND_S = 5, /* ... once the front has ended */
	COMMAND_SHOWN = 100,
};

/* The first byte of a message says what it is; text follows. */
enum { LINE = 'l', RUN = 'r' };

struct courier {
	int fd;
	pid_t pid;
	bool finishing;
};

struct serving {
	const char *command;
	pid_t child; /* 0: no command runs */
	int pidfd;
	uint64_t until_ns;
	bool last; /* the front has ended */
	char message[MESSAGE + 1];
};

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *fmt, ...)
{
	char text[COMPLAINT];

	format_arguments(text, sizeof(text), fmt);
	/* if the front has ended, nobody reads it */
	send(SOCKET, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void child_run(const char *command, int text)
{
	sigset_t none;

	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(text, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	close_range(SOCKET, ~0U, 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* A file with this text, at its begin. */
static int text_file(const char *text, size_t n)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void run(struct serving *s, const char *text, size_t n)
{
	int fd;

	if (s->child) {
		complain("--exec '%.*s': the command still runs for the previous answer, so it is "
			 "not run for this one",
			 COMMAND_SHOWN, s->command);
		return;
	}
	fd = text_file(text, n);
	s->child = fd < 0 ? -1 : fork();
	if (!s->child)
		child_run(s->command, fd);
	if (s->child < 0) {
		complain("--exec '%.*s': cannot be run: %s", COMMAND_SHOWN, s->command,
			 strerror(errno));
		s->child = 0;
	} else {
		s->pidfd = (int)syscall(SYS_pidfd_open, s->child, 0);
		s->until_ns = now_ns() + COMMAND_S * 1000000000ull;
	}
	if (fd >= 0)
		close(fd);
}

/* The command has ended, or has had its time. */
static void reap(struct serving *s)
{
	bool late = now_ns() >= s->until_ns;
	int status;

	if (late) {
		kill(-s->child, SIGKILL);
		kill(s->child, SIGKILL); /* it may not lead its group yet */
	}
	if (waitpid(s->child, &status, late ? 0 : WNOHANG) != s->child)
		return;
	if (late)
		complain("--exec '%.*s': the command was killed, because it did not end within "
			 "%d s",
			 COMMAND_SHOWN, s->command, s->last ? LAST_COMMAND_S : COMMAND_S);
	else if (WIFSIGNALED(status))
		complain("--exec '%.*s': the command was killed by signal %d", COMMAND_SHOWN,
			 s->command, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		complain("--exec '%.*s': the command ended with status %d", COMMAND_SHOWN,
			 s->command, WEXITSTATUS(status));
	close(s->pidfd);
	s->child = 0;
}

/* Take a message. False: the front has ended, or ends. */
static bool take(struct serving *s)
{
	ssize_t n = recv(SOCKET, s->message, MESSAGE, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n)
		return false;
	s->message[n] = '\0';
	if (s->message[0] == LINE)
		syslog(LOG_WARNING, "%s", s->message + 1);
	else if (s->command)
		run(s, s->message + 1, (size_t)n - 1);
	return true;
}

static void serve(struct serving *s)
{
	while (!s->last || s->child) {
		struct pollfd p[2] = {{.fd = s->last ? -1 : SOCKET, .events = POLLIN},
				      {.fd = s->child ? s->pidfd : -1, .events = POLLIN}};
		uint64_t now = now_ns(), last = now + LAST_COMMAND_S * 1000000000ull;
		int ms = !s->child	     ? -1
			 : now < s->until_ns ? (int)((s->until_ns - now) / 1000000 + 1)
					     : 0;

		poll(p, 2, ms);
		if (p[0].revents && !take(s)) {
			s->last = true;
			if (s->until_ns > last)
				s->until_ns = last;
		}
		if (s->child)
			reap(s);
	}
}

static int courier_process(int socket, const char *command, uid_t uid, gid_t gid)
{
	struct serving *s = calloc(1, sizeof(*s));

	if (!s || setsid() < 0)
		return 1;
	prctl(PR_SET_NAME, "peaktop-courier");
	signal(SIGPIPE, SIG_IGN);
	if (socket != SOCKET && dup2(socket, SOCKET) < 0)
		return 1;
	if (close_range(SOCKET + 1, ~0U, 0) || privileges_user(uid, gid))
		return 1;
	openlog("peaktop", LOG_PID, LOG_DAEMON);
	s->command = command;
	serve(s);
	free(s);
	return 0;
}

int courier_start(struct courier **out, const char *command, uid_t uid, gid_t gid)
{
	struct courier *c = calloc(1, sizeof(*c));
	int pair[2], err = -ENOMEM;

	if (!c || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = c ? -errno : err;
		free(c);
		return err;
	}
	fflush(NULL);
	c->pid = fork();
	if (!c->pid)
		_exit(courier_process(pair[1], command, uid, gid));
	err = c->pid < 0 ? -errno : 0;
	close(pair[1]);
	c->fd = pair[0];
	if (!err) {
		*out = c;
		return 0;
	}
	close(c->fd);
	free(c);
	return err;
}

static void tell(struct courier *c, char kind, const char *text, size_t n)
{
	char *message = malloc(MESSAGE);

	if (n > MESSAGE - 1)
		n = MESSAGE - 1;
	if (message) {
		message[0] = kind;
		memcpy(message + 1, text, n);
		send(c->fd, message, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	free(message);
}

void courier_line(struct courier *c, const char *line)
{
	if (c)
		tell(c, LINE, line, strlen(line));
}

void courier_run(struct courier *c, const char *text, size_t n)
{
	if (c)
		tell(c, RUN, text, n);
}

bool courier_complaint(struct courier *c, char *out, size_t n)
{
	ssize_t got = c ? recv(c->fd, out, n - 1, c->finishing ? 0 : MSG_DONTWAIT) : 0;

	out[got > 0 ? got : 0] = '\0';
	return got > 0;
}

void courier_finish(struct courier *c)
{
	if (!c || c->finishing)
		return;
	shutdown(c->fd, SHUT_WR);
	c->finishing = true;
}

void courier_end(struct courier *c)
{
	char text[COMPLAINT];

	courier_finish(c);
	while (courier_complaint(c, text, sizeof(text)))
		;
	if (!c)
		return;
	close(c->fd);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(c);
}
