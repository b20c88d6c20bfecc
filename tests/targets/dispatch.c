// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dispatch [SECONDS]: an interpreter. One call instruction calls whatever comes next: op_slow()
 * once in RARE times, which calls work(); else one of the short ones. Behind that instruction
 * millions of calls a second come back.
 */
#include "target.h"

enum { RARE = 1 << 16, ROUNDS = 150000 };

struct machine {
	uint64_t sum, slow;
	char text[64];
};

typedef void (*op_fn)(struct machine *);
static volatile uint64_t sink;

WATCHED void op_add(struct machine *m)
{
	m->sum += 3;
}

WATCHED void op_shift(struct machine *m)
{
	m->sum = m->sum << 1 | m->sum >> 63;
}

WATCHED void work(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		sink += i;
}

WATCHED void op_slow(struct machine *m)
{
	work(ROUNDS);
	m->slow++;
	KEEP(m->slow);
}

static op_fn program[RARE];

int main(int argc, char **argv)
{
	uint64_t until, n = 0;
	struct machine m = {0};

	for (int i = 0; i < RARE; i++)
		program[i] = i == RARE / 2 ? op_slow : i % 3 ? op_add : op_shift;
	target_begin(&argc, &argv);
	target_go();
	until = now_ns() + target_arg(argc, argv, 1, 60) * 1000000000u;
	while (now_ns() < until) {
		for (int i = 0; i < RARE; i++, n++)
			program[i](&m);
	}
	target_truth("{\"op_slow\":{\"calls\":%llu},\"ok\":%s}", (unsigned long long)m.slow,
		     m.slow == n / RARE ? "true" : "false");
	return 0;
}
