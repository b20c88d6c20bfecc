// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_flat: main() calls serve(), which calls forty functions, part_0() to part_39(), of the same
 * cost each; each of them calls shared_helper(), which has a sixth of all time. No path holds more
 * than a fortieth. Ends with a line on standard input.
 */
#include "target.h"
#include <pthread.h>

static _Atomic bool stop;

static inline void work(unsigned int n)
{
	volatile unsigned int i;

	for (i = 0; i < n; i++)
		;
}

WATCHED void shared_helper(void)
{
	work(1000);
}

#define PART(N)                                                                                    \
	WATCHED void part_##N(void)                                                                \
	{                                                                                          \
		work(5000 + N);                                                                    \
		shared_helper();                                                                   \
		KEEP(stop);                                                                        \
	}
#define FIVE(A, B, C, D, E) PART(A) PART(B) PART(C) PART(D) PART(E)
FIVE(0, 1, 2, 3, 4)
FIVE(5, 6, 7, 8, 9)
FIVE(10, 11, 12, 13, 14)
FIVE(15, 16, 17, 18, 19)
FIVE(20, 21, 22, 23, 24)
FIVE(25, 26, 27, 28, 29)
FIVE(30, 31, 32, 33, 34)
FIVE(35, 36, 37, 38, 39)

static void (*const parts[])(void) = {
    part_0,  part_1,  part_2,  part_3,	part_4,	 part_5,  part_6,  part_7,  part_8,  part_9,
    part_10, part_11, part_12, part_13, part_14, part_15, part_16, part_17, part_18, part_19,
    part_20, part_21, part_22, part_23, part_24, part_25, part_26, part_27, part_28, part_29,
    part_30, part_31, part_32, part_33, part_34, part_35, part_36, part_37, part_38, part_39,
};

WATCHED uint64_t serve(uint64_t calls)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		parts[i]();
	return calls + 1;
}

static void *wait_for_the_end(void *arg)
{
	target_wait_line();
	stop = true;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t calls = 0;
	pthread_t waiter;

	target_begin(&argc, &argv);
	target_go();
	pthread_create(&waiter, NULL, wait_for_the_end, NULL);
	while (!stop)
		calls = serve(calls);
	pthread_join(waiter, NULL);
	target_truth("{\"serve\":{\"calls\":%llu},\"ok\":true}", (unsigned long long)calls);
	return 0;
}
