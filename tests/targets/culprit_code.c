// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * culprit_code SECONDS KIND: what compilers make of calls. A chain that is inlined into its caller,
 * a loop around a system call,
 * all of a function's calls flattened into it, the cases of a switch (a table of jumps), an
 * interpreter with computed gotos.
 */
#include "culprit.h"

#define INLINED static inline __attribute__((always_inline))

WATCHED uint64_t grind(uint64_t us)
{
	SPIN_US(us);
	return bystander(us);
}

/* ---- three deep, all of it in chained() */

INLINED uint64_t inner(uint64_t us)
{
	uint64_t sum = bystander(us);

	return sum + grind(us);
}

INLINED uint64_t middle(uint64_t us)
{
	KEEP(bystander(1));
	return inner(us) + 1;
}

INLINED uint64_t outer(uint64_t us)
{
	KEEP(bystander(2));
	return middle(us) + 1;
}

WATCHED uint64_t chained(uint64_t us)
{
	uint64_t sum = outer(us);

	KEEP(bystander(sum));
	return sum;
}

/* ---- a loop around a system call, inlined */

INLINED uint64_t await_cpu_time(uint64_t us)
{
	struct timespec t;
	uint64_t end = 0, now;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
		end = end ? end : now + us * 1000;
	} while (now < end);
	return now;
}

WATCHED uint64_t waited(uint64_t us)
{
	uint64_t now = await_cpu_time(us);

	KEEP(bystander(now));
	return now;
}

/* ---- without the word `inline` anywhere, but for the function that wants all of it */

static uint64_t part(uint64_t rounds)
{
	volatile uint64_t state = rounds;

	for (; rounds; rounds--)
		state = state * 5 + 1;
	return state;
}

static uint64_t parts(uint64_t rounds)
{
	KEEP(bystander(rounds));
	return part(rounds / 2) + part(rounds / 2);
}

WATCHED __attribute__((flatten)) uint64_t flattened(uint64_t us)
{
	uint64_t sum = parts(rounds_of_us((double)us));

	KEEP(bystander(sum));
	return sum;
}

/* ---- a case each */

#define HANDLER(n)                                                                                 \
	WATCHED uint64_t handler_##n(uint64_t us)                                                  \
	{                                                                                          \
		KEEP(bystander(n));                                                                \
		return (n) == 5 ? grind(us) : bystander(us + (n));                                 \
	}
/* clang-format off */
HANDLER(0) HANDLER(1) HANDLER(2) HANDLER(3) HANDLER(4)
HANDLER(5) HANDLER(6) HANDLER(7) HANDLER(8) HANDLER(9)
/* clang-format on */

#define CASE(n)                                                                                    \
	case n:                                                                                    \
		sum += handler_##n(us) * (n);                                                      \
		break

    WATCHED uint64_t switched(uint64_t which, uint64_t us)
{
	uint64_t sum = us;

	switch (which) {
		CASE(0);
		CASE(1);
		CASE(2);
		CASE(3);
		CASE(4);
		CASE(5);
		CASE(6);
		CASE(7);
		CASE(8);
		CASE(9);
	}
	KEEP(bystander(sum));
	return sum;
}

/* ---- a program of 40 instructions; its calls are as dear as they are said to be */

enum { ADD, LOAD, CALL, SKIP, STOP };

WATCHED uint64_t interpret(const unsigned char *at, uint64_t us)
{
	static const void *const operation[] = {&&add, &&load, &&call, &&skip, &&stop};
	uint64_t sum = 0, k = us;

#define NEXT goto *operation[*at++]
	NEXT;
add:
	sum += k;
	NEXT;
load:
	k = bystander(sum);
	NEXT;
call:
	sum += grind(us);
	NEXT;
skip:
	at++;
	NEXT;
stop:
	KEEP(bystander(sum));
	return sum;
}

static unsigned char program[40];
static char kind;

WATCHED void serve(uint64_t i)
{
	const uint64_t us = i % 4 ? 15 : 1000;

	SPIN_US(10);
	if (kind == 'i')
		KEEP(chained(us));
	else if (kind == 'w')
		KEEP(waited(us));
	else if (kind == 'f')
		KEEP(flattened(us));
	else if (kind == 's')
		KEEP(switched(i % 4 ? i % 5 : 5, us));
	else
		KEEP(interpret(program, us));
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	int k;

	target_begin(&argc, &argv);
	kind = argc > 2 ? argv[2][0] : 'i';
	for (k = 0; k < 39; k++)
		program[k] = k == 20 ? CALL : k % 3 == 1 ? ADD : LOAD;
	program[30] = program[33] = SKIP;
	program[39] = STOP;
	return culprit_run(argc, argv, serve, 150);
}
