// SPDX-License-Identifier: GPL-2.0-or-later
/* libcallback.so, for culprit_late.c. */
#include <stdint.h>

#define SHOWN __attribute__((visibility("default"), noipa))
#define HIDDEN __attribute__((noipa))

void callback_each(const uint64_t *item, int n, void (*f)(uint64_t, void *), void *arg);
uint64_t callback_work(uint64_t us);

/* Some 300 rounds of it take a microsecond. */
HIDDEN static uint64_t inner(uint64_t rounds)
{
	volatile uint64_t k, sum = 0;

	for (k = 0; k < rounds; k++)
		sum += k;
	return sum;
}

SHOWN uint64_t callback_work(uint64_t us)
{
	return inner(us * 300) + 1;
}

HIDDEN static void one(uint64_t item, void (*f)(uint64_t, void *), void *arg)
{
	f(item, arg);
	__asm__ volatile("");
}

SHOWN void callback_each(const uint64_t *item, int n, void (*f)(uint64_t, void *), void *arg)
{
	int i;

	for (i = 0; i < n; i++)
		if (item[i])
			one(item[i], f, arg);
}
