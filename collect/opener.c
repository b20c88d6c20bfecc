// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/opener.h"

#include "collect/fd_message.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/session/collector_options.h"
#include "collect/privileges.h"
#include "collect/process/clock.h"
#include "collect/process/live_thread.h"

enum { MAX_HUNG = 16, GIVE_UP_S = 5, CODE_CPU_S = 20, SOCKET = 3 };

typedef int (*code_serve_fn)(int socket, int fd);

/*
 * Requests to the helper. Each comes with a descriptor: of a root directory, or of a file
 * with machine code.
 */
enum request_kind { REQUEST_OPEN, REQUEST_CODE };

struct opener_request {
	uint32_t number;
	uint32_t kind;
	char path[PATH_MAX];
};

struct opener_answer {
	uint32_t number;
	int error; /* 0 (a descriptor comes with the answer) or a negative errno */
};

struct opener {
	int socket;
	pid_t helper;
	uint32_t number;      /* number of the last request */
	pid_t hung[MAX_HUNG]; /* processes for which a path lookup timed out */
	unsigned int nr_hung;
};

/* ---- in the helper ---------------------------------------------------- */

/* Open the file of `path_fd` (O_PATH) if it is a regular file. Opening a device or a FIFO
 * could have side effects. */
static int reopen_regular(int path_fd)
{
	struct stat st;
	char self[64];
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_in_root(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd, path_fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (path_fd < 0)
		return -errno;
	fd = reopen_regular(path_fd);
	close(path_fd);
	return fd;
}

/* Turn this process into a code reader for `file`: it keeps only the file and one socket. */
static void serve_code_and_exit(int socket, int file, uint32_t number, code_serve_fn serve)
{
	struct opener_answer a = {.number = number};
	struct rlimit cpu = {CODE_CPU_S, CODE_CPU_S};
	int pair[2];

	prctl(PR_SET_NAME, "peaktop-code");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		a.error = -errno;
	fd_message_send(socket, &a, sizeof(a), a.error ? -1 : pair[1], MSG_DONTWAIT);
	if (a.error || dup2(pair[0], SOCKET) < 0 || dup2(file, SOCKET + 1) < 0 ||
	    close_range(SOCKET + 2, ~0U, 0) || setrlimit(RLIMIT_CPU, &cpu))
		_exit(1);
	_exit(serve(SOCKET, SOCKET + 1) ? 1 : 0);
}

static void serve_and_exit(int socket, int root, const struct opener_request *r)
{
	struct opener_answer a = {.number = r->number};
	int fd;

	/* SIGALRM ends a lookup that hangs, if it can be interrupted */
	signal(SIGALRM, SIG_DFL);
	alarm(GIVE_UP_S);
	fd = open_in_root(root, r->path);
	a.error = fd < 0 ? fd : 0;
	fd_message_send(socket, &a, sizeof(a), fd, MSG_DONTWAIT);
	_exit(0);
}

/*
 * The helper forks a process for each request, so that a lookup that hangs delays no other
 * request. The helper itself touches no file of a target and can always read the next request.
 */
static void helper_run(int socket, pid_t parent, const struct collector_options *options)
{
	struct opener_request r;
	int fd, err;

	prctl(PR_SET_NAME, "peaktop-open");
	signal(SIGCHLD, SIG_IGN);
	if (dup2(socket, SOCKET) < 0 || close_range(SOCKET + 1, ~0U, 0) ||
	    privileges_limit_opener(options->uid, options->gid))
		_exit(1);
	/* a change of user clears this setting, so do it afterwards */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (;;) {
		err = fd_message_receive(SOCKET, &r, sizeof(r), &fd, 0);
		if (err == -EINTR)
			continue;
		if (err || fd < 0)
			_exit(0);
		r.path[sizeof(r.path) - 1] = '\0';
		if (fork() == 0) {
			if (r.kind == REQUEST_CODE && options->code_serve)
				serve_code_and_exit(SOCKET, fd, r.number, options->code_serve);
			serve_and_exit(SOCKET, fd, &r);
		}
		close(fd);
	}
}

/* ---- in the collector ------------------------------------------------- */

struct opener *opener_start(const struct collector_options *options)
{
	struct opener *o = calloc(1, sizeof(*o));
	pid_t parent = getpid(), helper;
	int pair[2];

	if (!o || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(o);
		return NULL;
	}
	helper = fork();
	if (helper == 0)
		helper_run(pair[1], parent, options);
	close(pair[1]);
	o->socket = pair[0];
	o->helper = helper;
	if (helper < 0) {
		opener_stop(o);
		return NULL;
	}
	return o;
}

/* Receive one answer, and in *fd its descriptor (-1: none). Returns 0, -ETIMEDOUT or -EPIPE. */
static int answer_receive(struct opener *o, uint64_t deadline, struct opener_answer *a, int *fd)
{
	struct pollfd p = {.fd = o->socket, .events = POLLIN};
	uint64_t now;

	*fd = -1;
	do {
		now = now_ms();
		if (now >= deadline)
			return -ETIMEDOUT;
	} while (poll(&p, 1, (int)(deadline - now)) <= 0);
	return fd_message_receive(o->socket, a, sizeof(*a), fd, 0);
}

static bool is_hung(const struct opener *o, pid_t pid)
{
	for (unsigned int i = 0; i < o->nr_hung && i < MAX_HUNG; i++) {
		if (o->hung[i] == pid)
			return true;
	}
	return false;
}

/* Send a request with the descriptor `with`, and wait for the answer until the deadline. Returns a
 * descriptor or a negative errno. */
static int ask(struct opener *o, struct opener_request *r, int with, uint64_t deadline)
{
	struct opener_answer a;
	int fd, err;

	r->number = ++o->number;
	err = fd_message_send(o->socket, r, sizeof(*r), with, MSG_DONTWAIT);
	while (!err) {
		err = answer_receive(o, deadline, &a, &fd);
		if (err)
			break;
		if (a.number == r->number)
			return a.error ? a.error : fd >= 0 ? fd : -EPROTO;
		/* this is a late answer to an earlier request */
		if (fd >= 0)
			close(fd);
	}
	return err;
}

int opener_open(struct opener *o, pid_t pid, const char *path)
{
	struct opener_request r = {.kind = REQUEST_OPEN};
	char folder[64] = "/";
	int root, fd;

	if (!o || strlen(path) >= sizeof(r.path))
		return -ENOENT;
	if (is_hung(o, pid))
		return -ETIMEDOUT;
	memcpy(r.path, path, strlen(path) + 1);
	if (pid != OPENER_HOST)
		snprintf(folder, sizeof(folder), "/proc/%d/root", proc_number(pid));
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = ask(o, &r, root, now_ms() + OPENER_WAIT_MS);
	close(root);
	if (fd == -ETIMEDOUT)
		o->hung[o->nr_hung++ % MAX_HUNG] = pid;
	return fd;
}

int opener_code(struct opener *o, int file)
{
	struct opener_request r = {.kind = REQUEST_CODE};

	/*
	 * The helper waits here only if CPUs lack, or while no process of the host can fork: until
	 * a removal of probes ends that waits for a process's memory.
	 */
	return o ? ask(o, &r, file, now_ms() + OPENER_CODE_WAIT_MS) : -ENOENT;
}

pid_t opener_pid(const struct opener *o)
{
	return o ? o->helper : 0;
}

void opener_stop(struct opener *o)
{
	if (!o)
		return;
	/*
	 * The helper reads end of file and exits. Do not wait for it, because one of its own
	 * helpers may hang.
	 */
	close(o->socket);
	free(o);
}
