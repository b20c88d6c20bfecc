// SPDX-License-Identifier: GPL-2.0-or-later
/* Beside the culprit stand journal_begin() and journal_end(), as in the paper: they explain it. */
#include "culprit.h"

#define STEP(name)                                                                                 \
	WATCHED void name(uint64_t us)                                                             \
	{                                                                                          \
		volatile uint64_t k, rounds = rounds_of_us(us);                                    \
                                                                                                   \
		KEEP(bystander(us));                                                               \
		for (k = 0; k < rounds; k++)                                                       \
			;                                                                          \
	}
STEP(journal_begin)
STEP(lock_kernel)
STEP(journal_end)

WATCHED void commit(uint64_t us)
{
	journal_begin(20);
	lock_kernel(us);
	journal_end(10);
	KEEP(us);
}

WATCHED void serve(uint64_t i)
{
	commit(i % 4 ? 30 : 1000);
	KEEP(bystander(i));
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
