// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * main_gone [-w] CALLS [PAUSE_US] [KEEP]: main() starts two threads and ends with pthread_exit().
 *
 * Each thread calls serve() CALLS times; serve() calls serve_wait(), which sleeps. The threads wait
 * for a line before they begin, while the main thread has ended already. With KEEP the main thread
 * lives on: the control. With "late" in place of KEEP it ends when half of the calls are over.
 */
#include "target.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 2 };

static uint64_t calls, pause_us;
static _Atomic uint64_t served, ended;
static atomic_int go;
static pthread_t workers[THREADS];

WATCHED uint64_t serve_wait(void)
{
	sleep_ns(pause_us * 1000);
	return pause_us;
}

WATCHED uint64_t serve(void)
{
	uint64_t got = serve_wait();

	served++;
	return got + 1;
}

static void *work(void *is_first)
{
	if (is_first) {
		target_wait_line();
		go = 1;
	}
	while (!go)
		sleep_ns(1000000);
	for (uint64_t i = 0; i < calls; i++)
		KEEP(serve());
	if (++ended < THREADS)
		return NULL;
	target_truth("{\"serve\":{\"calls\":%llu},\"ok\":%s}", (unsigned long long)served,
		     served == THREADS * calls ? "true" : "false");
	exit(served == THREADS * calls ? 0 : 1);
}

int main(int argc, char **argv)
{
	const char *end;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 1000);
	pause_us = target_arg(argc, argv, 2, 1000);
	end = argc > 3 ? argv[3] : "";
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&workers[i], NULL, work, i ? NULL : &go))
			die("pthread_create");
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!strcmp(end, "late")) {
		while (served < THREADS * calls / 2)
			sleep_ns(1000000);
	} else if (*end) {
		pthread_join(workers[0], NULL);
		pthread_join(workers[1], NULL);
	}
	pthread_exit(NULL);
}
