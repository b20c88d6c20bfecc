// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stuck [CALLS]: calls sometimes_stuck() CALLS times; then one thread's call does not come back
 * until the last line on standard input, while the main thread goes on calling it once a
 * millisecond until then.
 */
#include "target.h"
#include <pthread.h>
#include <sys/eventfd.h>

static int event;
static _Atomic uint64_t done;
static _Atomic bool stop;

WATCHED uint64_t sometimes_stuck(bool stuck)
{
	uint64_t value = 0;

	if (stuck && read(event, &value, sizeof(value)) < 0)
		die("read");
	done++;
	return value;
}

static void *get_stuck(void *arg)
{
	KEEP(sometimes_stuck(true));
	return NULL;
}

static void *go_on(void *arg)
{
	while (!stop) {
		KEEP(sometimes_stuck(false));
		sleep_ns(1000000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t calls, i, one = 1;
	pthread_t threads[2];

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 100);
	event = eventfd(0, EFD_CLOEXEC);
	target_go();
	for (i = 0; i < calls; i++)
		KEEP(sometimes_stuck(false));
	pthread_create(&threads[0], NULL, get_stuck, NULL);
	pthread_create(&threads[1], NULL, go_on, NULL);
	target_truth("{\"open\":1}");
	if (!target_waits)
		sleep_ns(5000000000u);
	stop = true;
	if (write(event, &one, sizeof(one)) < 0)
		die("write");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	target_truth(
	    "{\"sometimes_stuck\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
	    (unsigned long long)done, (unsigned long long)done);
	return 0;
}
