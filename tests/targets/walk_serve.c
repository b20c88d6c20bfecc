// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk_serve [CALLS]: main() calls serve() CALLS times or, without, until a line comes on standard
 * input, which a thread of its own waits for. Of ten parts of its work, compute() does seven,
 * parse() two, and descend_into() one, twenty calls of itself further down.
 */
#include "target.h"
#include <pthread.h>

static _Atomic bool stop;

/* The same work each time, whatever the clock says. */
static inline void parts(unsigned int n)
{
	volatile unsigned int i;

	for (i = 0; i < n * 20000; i++)
		;
}

WATCHED void compute(void)
{
	parts(7);
}

WATCHED void parse(void)
{
	parts(2);
}

WATCHED unsigned int descend_into(unsigned int depth)
{
	unsigned int below = 0;

	if (depth)
		below = descend_into(depth - 1);
	else
		parts(1);
	KEEP(below);
	return below + 1;
}

WATCHED uint64_t serve(uint64_t calls)
{
	parse();
	compute();
	KEEP(descend_into(20));
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
	uint64_t calls = 0, wanted;
	pthread_t waiter;

	target_begin(&argc, &argv);
	wanted = target_arg(argc, argv, 1, 0);
	target_go();
	pthread_create(&waiter, NULL, wait_for_the_end, NULL);
	while (!stop && (!wanted || calls < wanted))
		calls = serve(calls);
	if (stop)
		pthread_join(waiter, NULL);
	target_truth("{\"serve\":{\"calls\":%llu},\"ok\":true}", (unsigned long long)calls);
	return 0;
}
