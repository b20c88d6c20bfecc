// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * descend_shapes SHAPE [SECONDS]: serve() is slow in one call of four, for the reason that SHAPE
 *names:
 *
 *	loop       batch() makes 100000 short calls of item()
 *	own        compute() runs in its own code, without a call
 *	sleep      pause_a_while() sleeps 3 ms on purpose
 *	recursion  dive() calls itself five times, and burns at the bottom
 *	two        parse() or store(), in turn, take as long as each other
 *	rare       the commonest slow function, steady(), is as slow in fast calls: only spike()
 *makes the peak pointer    handler() is called through a pointer that changes moves take_step(), 30
 *times a second, calls steady() in its first sixty calls and spike() from then on
 */
#include "target.h"

static uint64_t requests, slow;
static volatile uint64_t sink;

static uint64_t spin_per_ms;

WATCHED void spin(uint64_t rounds)
{
	volatile uint64_t k;

	for (k = 0; k < rounds; k++)
		;
}

WATCHED uint64_t bystander(uint64_t i)
{
	return i * 31;
}

WATCHED void item(uint64_t i)
{
	sink += i;
}

WATCHED void batch(uint64_t n)
{
	uint64_t k;

	for (k = 0; k < n; k++)
		item(k);
}

WATCHED void compute(uint64_t rounds)
{
	volatile uint64_t k;

	for (k = 0; k < rounds; k++)
		;
	KEEP(bystander(rounds));
}

WATCHED void pause_a_while(void)
{
	usleep(3000);
	KEEP(bystander(1));
}

WATCHED void bottom(void)
{
	spin(2 * spin_per_ms);
}

WATCHED void dive(unsigned int left)
{
	KEEP(bystander(left));
	if (left)
		dive(left - 1);
	else
		bottom();
	KEEP(bystander(left + 1));
}

WATCHED void parse(void)
{
	spin(2 * spin_per_ms);
	KEEP(bystander(2));
}

WATCHED void store(void)
{
	spin(2 * spin_per_ms);
	KEEP(bystander(3));
}

WATCHED void steady(void)
{
	spin(spin_per_ms / 2);
	KEEP(bystander(4));
}

WATCHED void spike(void)
{
	spin(4 * spin_per_ms);
	KEEP(bystander(5));
}

WATCHED void handler_a(void)
{
	spin(2 * spin_per_ms);
	KEEP(bystander(6));
}

WATCHED void handler_b(void)
{
	KEEP(bystander(7));
}

static void (*volatile handler)(void);

WATCHED void serve_loop(uint64_t i)
{
	KEEP(bystander(i));
	batch(i % 4 ? 10000 : 100000);
}

WATCHED void serve_own(uint64_t i)
{
	KEEP(bystander(i));
	compute(i % 4 ? 10 : 2 * spin_per_ms);
}

WATCHED void serve_sleep(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 4 == 0)
		pause_a_while();
	KEEP(bystander(i));
}

WATCHED void serve_recursion(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 4 == 0)
		dive(5);
	KEEP(bystander(i));
}

WATCHED void serve_two(uint64_t i)
{
	KEEP(bystander(i));
	if (i % 8 == 0)
		parse();
	else if (i % 8 == 4)
		store();
	KEEP(bystander(i));
}

WATCHED void serve_rare(uint64_t i)
{
	steady();
	if (i % 4 == 0)
		spike();
	KEEP(bystander(i));
}

WATCHED void serve_pointer(uint64_t i)
{
	KEEP(bystander(i));
	handler = i % 4 == 0 ? handler_a : handler_b;
	handler();
	KEEP(bystander(i));
}

WATCHED void take_step(uint64_t i)
{
	if (i < 60)
		steady();
	else
		spike();
	KEEP(bystander(i));
}

WATCHED void serve_moves(uint64_t i)
{
	sleep_ns(30000000);
	take_step(i);
	KEEP(bystander(i));
}

static void calibrate(void)
{
	uint64_t rounds = 1 << 20, from = now_ns(), took;

	spin(rounds);
	took = now_ns() - from;
	spin_per_ms = rounds * 1000000u / (took ? took : 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*serve)(uint64_t);
	} shapes[] = {{"loop", serve_loop},	      {"own", serve_own},    {"sleep", serve_sleep},
		      {"recursion", serve_recursion}, {"two", serve_two},    {"rare", serve_rare},
		      {"pointer", serve_pointer},     {"moves", serve_moves}};
	void (*serve)(uint64_t) = NULL;
	uint64_t end, i, from;

	target_begin(&argc, &argv);
	for (i = 0; argc > 1 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (!strcmp(argv[1], shapes[i].name))
			serve = shapes[i].serve;
	}
	if (!serve) {
		fprintf(stderr, "which shape?\n");
		return 2;
	}
	calibrate();
	end = target_arg(argc, argv, 2, 60) * 1000000000u;
	target_go();
	end += now_ns();
	for (i = 0; now_ns() < end; i++) {
		from = now_ns();
		serve(i);
		requests++;
		slow += i % 4 == 0;
		/* as long as it has worked: others want the processor too */
		sleep_ns(20000 + (now_ns() - from));
	}
	target_truth("{\"serve\":{\"calls\":%llu},\"slow\":%llu,\"ok\":true}",
		     (unsigned long long)requests, (unsigned long long)slow);
	return 0;
}
