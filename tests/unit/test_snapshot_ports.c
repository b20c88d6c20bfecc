// SPDX-License-Identifier: GPL-2.0-or-later
/* The ports that are listened on, which are read once a second for each network namespace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/snapshot_ports.c" /* not among the pure libraries */

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/process/clock.h"

/* Begins to listen. Returns the socket. */
static int listener(uint32_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(at);

	assert_return_code(fd, 0);
	assert_return_code(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_return_code(listen(fd, 1), 0);
	assert_return_code(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static bool is_found(struct known_ports *known, pid_t pid, uint64_t now, uint32_t port)
{
	struct pt_polled found;

	assert_true(ports_find(known, (uint32_t)pid, now, &found));
	for (uint32_t i = 0; i < found.nr_ports; i++)
		if (found.port[i] == port)
			return true;
	return false;
}

/* Two processes of one namespace in turn cause one read a second. */
static void test_one_read(void **state)
{
	struct known_ports known = {0};
	uint64_t now = now_ns();
	uint32_t first, second;
	int fds[2];
	pid_t child;

	(void)state;
	child = fork();
	while (!child)
		pause();
	fds[0] = listener(&first);
	assert_true(is_found(&known, getpid(), now, first));
	fds[1] = listener(&second);
	assert_true(port_is_listened((uint32_t)child, second));
	assert_false(is_found(&known, child, now, second));
	assert_true(is_found(&known, child, now, first));
	assert_false(is_found(&known, getpid(), now + PORTS_KNOWN_NS, second));
	assert_true(is_found(&known, child, now + PORTS_KNOWN_NS + 1, second));
	close(fds[0]);
	close(fds[1]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_false(ports_find(&known, (uint32_t)child, now, &(struct pt_polled){0}));
}

/* Further namespaces have to wait until the ports of one are old. */
static void test_many_networks(void **state)
{
	struct known_ports known = {0};
	uint64_t now = now_ns();
	struct pt_polled found;

	(void)state;
	for (uint32_t i = 0; i < NETWORKS; i++) {
		known.list[i].network = i + 1;
		known.list[i].at_ns = now - i;
	}
	assert_false(ports_find(&known, (uint32_t)getpid(), now, &found));
	assert_true(ports_find(&known, (uint32_t)getpid(), now + PORTS_KNOWN_NS, &found));
	assert_int_equal(known.list[NETWORKS - 2].network, NETWORKS - 1);
	assert_int_equal(known.list[NETWORKS - 1].at_ns, now + PORTS_KNOWN_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_read),
	    cmocka_unit_test(test_many_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
