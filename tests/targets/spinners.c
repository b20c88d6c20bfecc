// SPDX-License-Identifier: GPL-2.0-or-later
/* spinners [SECONDS]: two processes' worth of spinning threads on one CPU: each waits half of the
 * time. */
#include "target.h"
#include <pthread.h>
#include <sched.h>

static _Atomic bool stop;
static _Atomic uint64_t turns;

WATCHED uint64_t spin_once(uint64_t ns)
{
	burn_ns(ns);
	return ns;
}

static void *spin(void *arg)
{
	while (!stop) {
		KEEP(spin_once(1000000));
		turns++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seconds, i;
	pthread_t ids[2];
	cpu_set_t allowed, one;
	int cpu = 0;

	target_begin(&argc, &argv);
	seconds = target_arg(argc, argv, 1, 3);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	target_go();
	for (i = 0; i < 2; i++) {
		pthread_attr_t attr;

		pthread_attr_init(&attr);
		pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
		if (pthread_create(&ids[i], &attr, spin, NULL))
			die("pthread_create");
	}
	sleep_ns(seconds * 1000000000u);
	stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	target_truth(
	    "{\"spin_once\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
	    (unsigned long long)turns, (unsigned long long)turns);
	return 0;
}
