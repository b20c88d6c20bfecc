// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep_frames: a thread that calls serve(), which calls large(), which keeps a buffer of 120 KB on
 * the stack and calls again(), with another one; that calls leaf(). There it waits for the end
 * ("stuck", the first argument), sleeps for 5 ms ("naps") or computes ("spin"). A line on standard
 * input ends it.
 */
#include "target.h"
#include <pthread.h>

enum { BUFFER = 120 << 10 };

static _Atomic bool stop;
static int ends[2];
static const char *what = "stuck";

WATCHED void compute(void)
{
	volatile unsigned int i;

	for (i = 0; i < 100000; i++)
		;
}

WATCHED uint64_t leaf(void)
{
	char byte;

	if (!strcmp(what, "stuck"))
		return (uint64_t)read(ends[0], &byte, 1);
	if (!strcmp(what, "naps"))
		sleep_ns(5000000);
	else
		compute();
	return 0;
}

WATCHED uint64_t again(void)
{
	char buffer[BUFFER];
	uint64_t got;

	buffer[0] = buffer[sizeof(buffer) - 1] = 1;
	KEEP(buffer);
	got = leaf();
	KEEP(buffer);
	return got + (uint64_t)buffer[0];
}

WATCHED uint64_t large(void)
{
	char buffer[BUFFER];
	uint64_t got;

	memset(buffer, 1, sizeof(buffer));
	KEEP(buffer);
	got = again();
	KEEP(buffer);
	return got + (uint64_t)buffer[0];
}

WATCHED uint64_t serve(void)
{
	return large() + 1;
}

static void *work(void *arg)
{
	uint64_t *calls = arg;

	pthread_setname_np(pthread_self(), "worker");
	do {
		KEEP(serve());
		++*calls;
	} while (!stop);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	uint64_t calls = 0;

	target_begin(&argc, &argv);
	if (argc > 1)
		what = argv[1];
	if (pipe(ends))
		die("pipe");
	pthread_create(&thread, NULL, work, &calls);
	target_go();
	target_wait_line();
	stop = true;
	close(ends[1]);
	pthread_join(thread, NULL);
	target_truth("{\"serve\":{\"calls\":%llu},\"ok\":true}", (unsigned long long)calls);
	return 0;
}
