// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * one_slow CAUSE: calls work() all the time, and once, when the test says so on standard input, one
 * call of it takes 100 ms and more:
 *   sleep  nanosleep()
 *   lock   pthread_mutex_lock(): another thread holds the lock while it sleeps
 *   pipe   read() from a pipe into which another thread writes 100 ms later than usual
 * The calls before and after it take microseconds. Runs until standard input ends.
 */
#include "target.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static const uint64_t SLOW_NS = 300000000, PAUSE_NS = 500000;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], asks[2];

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
	if (!strcmp(cause, "pipe"))
		start(write_late);
	else if (write(ends[1], "x", 1) != 1)
		die("write");
}

WATCHED void work(uint64_t slow_ns)
{
	char c;

	if (slow_ns)
		sleep_ns(slow_ns);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
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
	if (pipe2(ends, O_CLOEXEC) || pipe2(asks, O_CLOEXEC))
		die("pipe2");
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
