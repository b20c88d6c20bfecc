// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_brief KIND: a server that starts a thread for each request; no thread lives for 20 ms. The
 * client and the server that is asked are other processes. compute: answer() computes for some ms.
 * ask: it waits for the other server, which takes ANSWER_US. Ends with a line on standard input.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "target.h"

enum { ROUNDS = 3000000, ANSWER_US = 10000, PAUSE_US = 1000 };

static bool asks;
static struct sockaddr_in address[2]; /* of the program, and of the server that it asks */

static int listening(struct sockaddr_in *at)
{
	socklen_t size = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	if (bind(fd, (struct sockaddr *)at, size) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)at, &size))
		die("listen");
	return fd;
}

/* Sends a byte to a server and waits for its answer. */
static void ask(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;

	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) || write(fd, &byte, 1) != 1 ||
	    read(fd, &byte, 1) != 1)
		die("ask");
	close(fd);
}

WATCHED void compute(void)
{
	for (volatile int i = 0; i < ROUNDS; i++)
		;
	KEEP(asks);
}

WATCHED void answer(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		return;
	if (asks)
		ask(&address[1]);
	else
		compute();
	if (write(fd, &byte, 1) != 1)
		return;
	KEEP(byte);
}

static void *run(void *arg)
{
	int fd = (int)(intptr_t)arg;

	answer(fd);
	close(fd);
	return NULL;
}

static void start(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, arg) || pthread_detach(thread))
		die("pthread_create");
}

/* Becomes another process that ends with this one. */
static bool other_process(void)
{
	if (fork())
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return true;
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;

	for (;;) {
		int client = accept(fd, NULL, NULL);

		start(run, (void *)(intptr_t)client);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int own, other;

	target_begin(&argc, &argv);
	asks = argc > 1 && !strcmp(argv[1], "ask");
	own = listening(&address[0]);
	other = listening(&address[1]);
	if (other_process()) {
		for (;;) {
			int fd = accept(other, NULL, NULL);
			char byte = 0;

			usleep(ANSWER_US);
			if (write(fd, &byte, 1) != 1)
				_exit(0);
			close(fd);
		}
	}
	if (other_process()) {
		for (;;) {
			ask(&address[0]);
			usleep(PAUSE_US);
		}
	}
	target_go();
	start(serve, (void *)(intptr_t)own);
	target_wait_line();
	target_truth("{\"ok\":true}");
	return 0;
}
