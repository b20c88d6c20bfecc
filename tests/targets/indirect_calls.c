// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * indirect_calls SHAPE [SECONDS]: serve_SHAPE() is slow in some of its calls because of one
 *function that is called through a pointer:
 *
 *	table	one of eight functions of a table is called; the sixth sleeps
 *	each	all eight are called, from one site; the sixth sleeps in one call of four
 *	modes	two callees of one site: mode_short() takes 2 ms in one call of eight, mode_long() 8
 *ms in another tail	dispatch() jumps to one of four functions, of which one sleeps; a switch
 *beside it has a jump table tails	dispatch() jumps to all four in each call begins	like
 *table, but the function that sleeps begins with the call that does it: no push before it sort
 *qsort() of the library calls compare(), which dawdles in one call of four deep	dive() calls
 *itself through a pointer forty times; bottom() sleeps. Not too often, or the fuses of probes that
 *one call passes forty times would blow plunge	the same without the pointer
 */
#include "target.h"

enum { SLOW_US = 3000 };

static uint64_t requests, slow;
static volatile uint64_t sink;

WATCHED void dawdle(uint64_t us)
{
	usleep((useconds_t)us);
	KEEP(us);
}

#define QUICK(name)                                                                                \
	WATCHED void name(uint64_t i)                                                              \
	{                                                                                          \
		sink += i;                                                                         \
	}
QUICK(op_get)
QUICK(op_set)
QUICK(op_del)
QUICK(op_incr)
QUICK(op_ping)
QUICK(op_time)
QUICK(op_auth)

static volatile uint64_t every = 1; /* so many calls of op_scan() to one slow one */

WATCHED void op_scan(uint64_t i)
{
	if (i % every == 0)
		dawdle(SLOW_US);
	KEEP(i);
}

typedef void (*op_fn)(uint64_t);
static op_fn volatile ops[8] = {op_get,	 op_set,  op_del,  op_incr,
				op_ping, op_scan, op_time, op_auth};

WATCHED void serve_table(uint64_t i)
{
	uint64_t k = i % 16 < 8 ? i % 8 : 0;

	ops[k](i);
	slow += k == 5;
}

/* No frame pointer and nothing to save: the first instruction that is cheap to probe is the call.
 */
WATCHED __attribute__((optimize("O2", "omit-frame-pointer"))) void op_begins(uint64_t i)
{
	dawdle(SLOW_US);
	sink++;
	KEEP(sink);
}

WATCHED void serve_begins(uint64_t i)
{
	op_fn volatile op = i % 4 ? op_get : op_begins;

	op(i);
	slow += i % 4 == 0;
}

WATCHED void serve_each(uint64_t i)
{
	every = 4;
	for (uint64_t k = 0; k < 8; k++)
		ops[k](i);
	slow += i % 4 == 0;
}

WATCHED void mode_short(uint64_t i)
{
	if (i % 8 == 0)
		dawdle(2000);
	KEEP(i);
}

WATCHED void mode_long(uint64_t i)
{
	if (i % 8 == 4)
		dawdle(8000);
	KEEP(i);
}

static op_fn volatile modes[2] = {mode_short, mode_long};

WATCHED void serve_modes(uint64_t i)
{
	for (uint64_t k = 0; k < 2; k++)
		modes[k](i);
	slow += i % 4 == 0;
}

WATCHED void jump_quick(uint64_t i)
{
	sink += i;
}

WATCHED void jump_slow(uint64_t i)
{
	if (i % 4 == 0)
		dawdle(SLOW_US);
	KEEP(i);
}

WATCHED void jump_other(uint64_t i)
{
	sink ^= i;
}

WATCHED void jump_last(uint64_t i)
{
	sink -= i;
}

static op_fn volatile jumps[4] = {jump_quick, jump_slow, jump_other, jump_last};

/* Both leave it by a jump through a register: one to another function, one inside it. */
WATCHED void dispatch(uint64_t k, uint64_t i)
{
	switch (i % 16) {
	case 0:
		sink += 3;
		break;
	case 1:
		sink *= 5;
		break;
	case 2:
		sink ^= 7;
		break;
	case 3:
		sink -= 11;
		break;
	case 4:
		sink |= 13;
		break;
	case 5:
		sink &= 17;
		break;
	default:
		sink = i;
	}
	jumps[k & 3](i);
}

WATCHED void serve_tail(uint64_t i)
{
	dispatch(i % 4 ? i % 4 ^ 1 : 1, i);
	KEEP(i);
	slow += i % 4 == 0;
}

WATCHED void serve_tails(uint64_t i)
{
	for (uint64_t k = 0; k < 4; k++)
		dispatch(k, i);
	slow += i % 4 == 0;
}

static uint64_t sorting;

WATCHED int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	if (sorting % 4 == 0)
		dawdle(300);
	return x < y ? -1 : x > y;
}

WATCHED void serve_sort(uint64_t i)
{
	uint64_t list[8], seed = i + 1;

	for (int k = 0; k < 8; k++)
		list[k] = draw(&seed);
	sorting = i;
	qsort(list, 8, sizeof(list[0]), compare);
	sink += list[0];
	slow += i % 4 == 0;
}

WATCHED void bottom(uint64_t i)
{
	if (i % 4 == 0)
		dawdle(SLOW_US);
	KEEP(i);
}

static void (*volatile again)(uint64_t, uint64_t);

WATCHED void dive(uint64_t left, uint64_t i)
{
	if (left)
		again(left - 1, i);
	else
		bottom(i);
	KEEP(left);
}

WATCHED void serve_deep(uint64_t i)
{
	again = dive;
	dive(39, i);
	KEEP(i);
	slow += i % 4 == 0;
}

WATCHED void sink_in(uint64_t left, uint64_t i)
{
	if (left)
		sink_in(left - 1, i);
	else
		bottom(i);
	KEEP(left);
}

WATCHED void serve_plunge(uint64_t i)
{
	sink_in(39, i);
	KEEP(i);
	slow += i % 4 == 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		op_fn serve;
	} shapes[] = {{"table", serve_table}, {"begins", serve_begins}, {"each", serve_each},
		      {"modes", serve_modes}, {"tail", serve_tail},	{"tails", serve_tails},
		      {"sort", serve_sort},   {"deep", serve_deep},	{"plunge", serve_plunge}};
	op_fn serve = NULL;
	uint64_t end, i;

	target_begin(&argc, &argv);
	for (i = 0; argc > 1 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (!strcmp(argv[1], shapes[i].name))
			serve = shapes[i].serve;
	}
	if (!serve) {
		fprintf(stderr, "which shape?\n");
		return 2;
	}
	end = target_arg(argc, argv, 2, 60) * 1000000000u;
	target_go();
	end += now_ns();
	for (i = 0; now_ns() < end; i++) {
		serve(i);
		requests++;
		sleep_ns(serve == serve_deep || serve == serve_plunge ? 1000000 : 20000);
	}
	target_truth("{\"serve\":{\"calls\":%llu},\"slow\":%llu,\"ok\":true}",
		     (unsigned long long)requests, (unsigned long long)slow);
	return 0;
}
