// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * descend_inlined [SECONDS]: serve() is slow in one call of four. It calls digest(), whose time
 * goes into the loop of mix(), which is inlined into fold(), which is inlined into digest(); and,
 * where SECONDS is negative, through hand_over(), which is inlined into serve(), nap(), which
 * sleeps.
 */
#include "target.h"

#define INLINED static inline __attribute__((always_inline))

enum { ROUNDS = 400000, FAST = 400 };

static uint64_t requests, slow;
static volatile uint64_t sink;

enum { MIX_FIRST = __LINE__ + 5 };
INLINED uint64_t mix(uint64_t x, uint64_t rounds)
{
	uint64_t i;

	for (i = 0; i < rounds; i++) {
		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9u;
		x += i;
		KEEP(x);
	}
	return x;
}
enum { MIX_LAST = __LINE__ - 3 };

INLINED uint64_t fold(uint64_t x, uint64_t rounds)
{
	return mix(x + 1, rounds) ^ x;
}

WATCHED uint64_t bystander(uint64_t i)
{
	return i * 31;
}

WATCHED uint64_t digest(uint64_t x, uint64_t rounds)
{
	sink = x;
	return fold(x, rounds) + bystander(x);
}

WATCHED void nap(void)
{
	usleep(3000);
	KEEP(bystander(1));
}

enum { HAND_OVER = __LINE__ + 4 };
INLINED void hand_over(bool really)
{
	if (really)
		nap();
	sink++;
}

WATCHED void serve(uint64_t i, bool asleep)
{
	bool is_slow = i % 4 == 3;

	KEEP(digest(i, is_slow && !asleep ? ROUNDS : FAST));
	hand_over(is_slow && asleep);
	KEEP(bystander(i));
	requests++;
	slow += is_slow;
}

int main(int argc, char **argv)
{
	struct timespec from, now;
	long seconds;

	target_begin(&argc, &argv);
	seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 60;
	target_go();
	/* where it is, known from the beginning */
	printf("{\"mix\": [%d, %d], \"hand_over\": %d}\n", (int)MIX_FIRST, (int)MIX_LAST,
	       (int)HAND_OVER);
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		serve(requests, seconds < 0);
		usleep(500);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - from.tv_sec < labs(seconds));
	target_truth("{\"requests\": %lu, \"slow\": %lu}", requests, slow);
	return 0;
}
