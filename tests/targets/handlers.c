// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * handlers SECONDS: handle() calls its handlers through a table of function pointers, 6,000 times a
 * second: 5 us each, and one in a hundred (handle_scan) 2 ms, all of its own CPU time.
 */
#include "target.h"

static unsigned long per_us;

WATCHED void work(unsigned long us)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < us * per_us; i++)
		sum += i;
}

WATCHED void handle_get(void)
{
	work(5);
}

WATCHED void handle_put(void)
{
	work(5);
	KEEP(per_us);
}

WATCHED void handle_scan(void)
{
	work(2000);
	KEEP(per_us);
}

static void (*volatile table[])(void) = {handle_get, handle_put, handle_scan};

WATCHED void handle(unsigned which)
{
	table[which]();
	KEEP(which);
}

/* The fastest of several tries: others may run at the same time. */
static void calibrate(void)
{
	unsigned long best = 1;

	for (int i = 0; i < 50; i++) {
		uint64_t start = now_ns(), ns;

		per_us = 1000;
		work(100);
		ns = now_ns() - start;
		if (100000000 / (ns ? ns : 1) > best)
			best = 100000000 / (ns ? ns : 1);
	}
	per_us = best;
}

int main(int argc, char **argv)
{
	uint64_t seconds, end, next, calls = 0;

	target_begin(&argc, &argv);
	seconds = target_arg(argc, argv, 1, 30);
	calibrate();
	target_go();
	next = now_ns();
	for (end = next + seconds * 1000000000; now_ns() < end; calls++) {
		handle(calls % 100 == 50 ? 2 : calls % 2);
		next += 166667;
		if (next > now_ns() + 100000)
			sleep_ns(next - now_ns());
		else if (now_ns() > next + 5000000)
			next = now_ns();
	}
	target_truth("{\"handle\":{\"calls\":%llu},\"ok\":true}", (unsigned long long)calls);
	return 0;
}
