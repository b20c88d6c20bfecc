// SPDX-License-Identifier: GPL-2.0-or-later
/* thread_storm [THREADS [CALLS]]: short-lived threads, sixteen at once, each calls work() CALLS
 * times. */
#include "target.h"
#include <pthread.h>

enum { AT_ONCE = 16 };
static _Atomic uint64_t done;
static uint64_t calls;

WATCHED uint64_t work(uint64_t i)
{
	done++;
	return i * 3 + 1;
}

static void *run(void *arg)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		KEEP(work(i));
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t threads, i, k, n;
	pthread_t ids[AT_ONCE];

	target_begin(&argc, &argv);
	threads = target_arg(argc, argv, 1, 2000);
	calls = target_arg(argc, argv, 2, 20);
	target_go();
	for (i = 0; i < threads; i += n) {
		n = threads - i < AT_ONCE ? threads - i : AT_ONCE;
		for (k = 0; k < n; k++)
			if (pthread_create(&ids[k], NULL, run, NULL))
				die("pthread_create");
		for (k = 0; k < n; k++)
			pthread_join(ids[k], NULL);
	}
	target_truth("{\"work\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
		     (unsigned long long)(threads * calls), (unsigned long long)done,
		     done == threads * calls ? "true" : "false");
	return done == threads * calls ? 0 : 1;
}
