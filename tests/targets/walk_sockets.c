// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_sockets: threads that wait in poll() or select(). client() waits for the answer of another
 * process, which takes ANSWER_US; several() for two answers of it; asker() for the other end of a
 * socketpair, and watcher() in epoll_wait() for that of another; own() for pipes of its own
 * process. server(), in the other process, waits for its clients' requests. The truth names the
 * process of server().
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "target.h"

enum { ANSWER_US = 20000, PAUSE_US = 30000, CLIENTS = 3 };

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int pair[2], silent[2];

static void answer(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(0);
	usleep(ANSWER_US);
	if (write(fd, &byte, 1) != 1)
		_exit(0);
}

WATCHED void server(int listening)
{
	struct pollfd fds[1 + CLIENTS] = {{.fd = listening, .events = POLLIN}};
	int n = 1;

	for (;;) {
		poll(fds, (nfds_t)n, -1);
		if (fds[0].revents && n <= CLIENTS)
			fds[n++] =
			    (struct pollfd){.fd = accept(listening, NULL, NULL), .events = POLLIN};
		for (int i = 1; i < n; i++) {
			if (fds[i].revents)
				answer(fds[i].fd);
		}
	}
}

static int connected(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* until the server listens */
	while (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		if (errno != ECONNREFUSED)
			_exit(1);
		sched_yield();
	}
	return fd;
}

static void ask(int fd)
{
	char byte = 1;

	if (write(fd, &byte, 1) != 1)
		_exit(1);
}

static void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
}

WATCHED void *client(void *unused)
{
	struct pollfd one = {.fd = connected(), .events = POLLIN};

	(void)unused;
	for (;;) {
		usleep(PAUSE_US); /* in which the server may be idle */
		ask(one.fd);
		poll(&one, 1, -1);
		take(one.fd);
	}
	return NULL;
}

WATCHED void *several(void *unused)
{
	int fd[2] = {connected(), connected()};

	(void)unused;
	ask(fd[0]);
	for (;;) {
		fd_set set;

		FD_ZERO(&set);
		FD_SET(fd[0], &set);
		FD_SET(fd[1], &set);
		select((fd[0] > fd[1] ? fd[0] : fd[1]) + 1, &set, NULL, NULL, NULL);
		for (int i = 0; i < 2; i++) {
			if (FD_ISSET(fd[i], &set))
				take(fd[i]);
		}
		usleep(PAUSE_US);
		ask(fd[0]);
	}
	return NULL;
}

WATCHED void *asker(void *unused)
{
	(void)unused;
	for (;;) {
		fd_set set;

		ask(pair[0]);
		FD_ZERO(&set);
		FD_SET(pair[0], &set);
		select(pair[0] + 1, &set, NULL, NULL, NULL);
		take(pair[0]);
	}
	return NULL;
}

WATCHED void *own(void *unused)
{
	struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};

	(void)unused;
	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (pipe(ends))
			_exit(1);
		fds[i].fd = ends[0];
	}
	poll(fds, 2, -1);
	return NULL;
}

WATCHED void *watcher(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	(void)unused;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, silent[0], &event))
		_exit(1);
	epoll_wait(epoll, &event, 1, -1);
	return NULL;
}

/* Fork a process that ends with this one. */
static pid_t helper(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

int main(int argc, char **argv)
{
	void *(*const threads[])(void *) = {client, several, asker, own, watcher};
	pthread_t thread;
	pid_t served;
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);

	/* a name that no file has */
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "walk_sockets-%d", getpid());
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, silent))
		return 1;
	served = helper();
	if (!served) {
		/* the kernel notes the process that listens as the peer of the clients */
		if (listen(listening, CLIENTS))
			return 1;
		server(listening);
	}
	if (!helper()) {
		for (;;)
			answer(pair[1]);
	}
	target_begin(&argc, &argv);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		pthread_create(&thread, NULL, threads[i], NULL);
	target_go();
	target_truth("{\"server\":%d,\"ok\":true}", (int)served);
	return 0;
}
