// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * connects [N [LATE]]: makes N connections to a listener of its own, N to a port where nobody
 * listens, and LATE to a listener whose queue is full until another process has accepted one
 * connection, 100 ms later: their first SYN is dropped, and the next one is sent after a second.
 */
#include "target.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int listener(int backlog, struct sockaddr_in *at)
{
	socklen_t length = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) ||
	    (backlog >= 0 && listen(fd, backlog)) ||
	    getsockname(fd, (struct sockaddr *)at, &length))
		die("listen");
	return fd;
}

/* Returns the descriptor, or the negative errno. */
static int connect_to(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (!connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void connect_late(void)
{
	struct sockaddr_in at;
	int server = listener(0, &at), first = connect_to(&at), late;
	pid_t child;

	if (first < 0)
		die("connect");
	child = fork();
	if (!child) {
		sleep_ns(100000000);
		_exit(accept(server, NULL, NULL) < 0);
	}
	late = connect_to(&at);
	if (late < 0)
		die("late connect");
	waitpid(child, NULL, 0);
	close(late);
	close(first);
	close(server);
}

int main(int argc, char **argv)
{
	struct sockaddr_in open_at, closed_at;
	int server, fd;
	uint64_t n, late, i;

	target_begin(&argc, &argv);
	n = target_arg(argc, argv, 1, 100);
	late = target_arg(argc, argv, 2, 0);
	server = listener(16, &open_at);
	listener(-1, &closed_at);
	target_go();
	for (i = 0; i < n; i++) {
		fd = connect_to(&open_at);
		if (fd < 0)
			die("connect");
		close(accept(server, NULL, NULL));
		close(fd);
		if (connect_to(&closed_at) != -ECONNREFUSED)
			die("connect to a closed port");
	}
	for (i = 0; i < late; i++)
		connect_late();
	/* each late one has another before it that is at once */
	target_truth("{\"calls\":%llu,\"late\":%llu,\"port\":%d,\"ok\":true}",
		     (unsigned long long)(2 * n + 2 * late), (unsigned long long)late,
		     ntohs(closed_at.sin_port));
	return 0;
}
