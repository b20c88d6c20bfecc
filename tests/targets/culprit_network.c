// SPDX-License-Identifier: GPL-2.0-or-later
/* An answer over a loopback TCP connection that another process, "server", takes its time for. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "culprit.h"

static int connection;

static void answer(int listening)
{
	int fd = accept(listening, NULL, NULL), yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	for (;;) {
		byte_take(fd);
		sleep_ns(2000000);
		byte_send(fd);
	}
}

static void connect_to_server(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int listening = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	socklen_t n = sizeof(at);

	if (listening < 0 || bind(listening, (struct sockaddr *)&at, n) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&at, &n))
		die("listen");
	if (!child_run("server"))
		answer(listening);
	connection = socket(AF_INET, SOCK_STREAM, 0);
	if (connection < 0 || connect(connection, (struct sockaddr *)&at, n))
		die("connect");
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

WATCHED void query(void)
{
	char c = 'q';

	if (send(connection, &c, 1, 0) != 1 || recv(connection, &c, 1, 0) != 1)
		exit(0);
	KEEP(bystander(1));
}

WATCHED void serve(uint64_t i)
{
	SPIN_US(30);
	if (i % 4 == 0)
		query();
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	connect_to_server();
	return culprit_run(argc, argv, serve, 300);
}
