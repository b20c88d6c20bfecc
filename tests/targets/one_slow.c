// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * one_slow CAUSE: calls work() all the time, and once, when the test says so on standard input, one
 * call of it takes 100 ms and more:
 *   sleep  nanosleep()
 *   lock   pthread_mutex_lock(): another thread holds the lock while it sleeps
 *   pipe   read() from a pipe into which another thread writes 100 ms later than usual
 *   answer poll() of a TCP connection, as its client, to which that thread writes
 * The calls before and after it take microseconds. Runs until standard input ends.
 */
#include "target.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

static const uint64_t SLOW_NS = 300000000, PAUSE_NS = 500000;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], asks[2];
static bool polls;

static void *hold(void *arg)
{
	pthread_mutex_lock(&mutex);
	if (write(asks[1], "h", 1) != 1)
		die("write");
	sleep_ns(SLOW_NS);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void *write_late(void *arg)
{
	sleep_ns(SLOW_NS);
	if (write(ends[1], "x", 1) != 1)
		die("write");
	return arg;
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) || pthread_detach(thread))
		die("pthread_create");
}

/* What the slow call waits for is made ready outside of it. */
static void prepare(const char *cause)
{
	char c;

	if (!strcmp(cause, "lock")) {
		start(hold);
		if (read(asks[0], &c, 1) != 1)
			die("read");
	}
	if (!strcmp(cause, "pipe") || !strcmp(cause, "answer"))
		start(write_late);
	else if (write(ends[1], "x", 1) != 1)
		die("write");
}

/* The ends of a TCP connection in place of those of a pipe. */
static void connect_ends(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(at);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listens, (struct sockaddr *)&at, n) || listen(listens, 1) ||
	    getsockname(listens, (struct sockaddr *)&at, &n) ||
	    connect(ends[0], (struct sockaddr *)&at, n))
		die("connect");
	ends[1] = accept4(listens, NULL, NULL, SOCK_CLOEXEC);
	if (ends[1] < 0)
		die("accept4");
}

WATCHED void work(uint64_t slow_ns)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};
	char c;

	if (slow_ns)
		sleep_ns(slow_ns);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	if (polls && poll(&p, 1, -1) != 1)
		die("poll");
	if (read(ends[0], &c, 1) != 1)
		die("read");
	KEEP(&c);
}

static bool is_asked(bool *ends_now)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	if (poll(&p, 1, 0) <= 0)
		return false;
	*ends_now = read(STDIN_FILENO, &c, 1) != 1;
	return !*ends_now && c == '\n';
}

int main(int argc, char **argv)
{
	const char *cause;
	uint64_t calls = 0, slow = 0;
	bool over = false;

	target_begin(&argc, &argv);
	cause = argc > 1 ? argv[1] : "sleep";
	polls = !strcmp(cause, "answer");
	if (pipe2(ends, O_CLOEXEC) || pipe2(asks, O_CLOEXEC))
		die("pipe2");
	if (polls)
		connect_ends();
	target_go();
	while (!over) {
		bool now = is_asked(&over);

		prepare(now ? cause : "");
		work(now && !strcmp(cause, "sleep") ? SLOW_NS : 0);
		calls++;
		if (now) {
			printf("{\"calls\":%llu,\"slow\":%llu}\n", (unsigned long long)calls,
			       (unsigned long long)++slow);
			fflush(stdout);
		}
		sleep_ns(PAUSE_NS);
	}
	return 0;
}
