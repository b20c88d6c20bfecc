// SPDX-License-Identifier: GPL-2.0-or-later
/* Measures what an interrupt takes from the code that it interrupts. */
#include "collect/calibrate.h"
#include "collect/state.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TICKS = 32, TICKS_LEAST = 4 };

/* Number of context switches of this thread. */
static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nvcsw + u.ru_nivcsw;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Some interrupts have another one behind them, so take the lower quartile. */
static uint32_t usual(uint32_t *cost, uint32_t nr)
{
	qsort(cost, nr, sizeof(*cost), by_size);
	return cost[nr / 4];
}

/*
 * Watch the time in a loop. If one interrupt of the clock ended between two readings and this
 * thread had the CPU, it took the time between them.
 */
bool calibrate_tick(struct pt_control *control, unsigned int hz, struct tick_cost *out)
{
	const uint64_t span = 2 * TICKS * 1000000000ull / hz, begin = now_ns();
	volatile uint64_t *clocks = &control->clocks, *inside = &control->clock_ns;
	uint32_t gap[TICKS], outside[TICKS], nr = 0;
	uint64_t last = begin, seen = *clocks, before = *inside;
	long switched = switches(), now;

	__atomic_store_n(&control->clock_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	while (nr < TICKS && last - begin < span) {
		uint64_t from = last;

		last = now_ns();
		if (*clocks == seen)
			continue;
		last = now_ns();
		now = switches();
		if (*clocks == seen + 1 && now == switched && last - from > *inside - before) {
			gap[nr] = (uint32_t)(last - from);
			outside[nr++] = (uint32_t)(last - from - (*inside - before));
		}
		switched = switches();
		seen = *clocks;
		before = *inside;
		last = now_ns();
	}
	__atomic_store_n(&control->clock_tid, 0, __ATOMIC_SEQ_CST);
	if (nr < TICKS_LEAST)
		return false;
	*out = (struct tick_cost){.ns = usual(gap, nr), .outside_ns = usual(outside, nr)};
	return true;
}
