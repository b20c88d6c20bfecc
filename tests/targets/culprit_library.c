// SPDX-License-Identifier: GPL-2.0-or-later
/* libculprit.so, for culprit_plt. */
#include <stdint.h>

#include "target.h"

void culprit_library_work(uint64_t rounds);

WATCHED void library_inner(uint64_t rounds)
{
	volatile uint64_t k;

	for (k = 0; k < rounds; k++)
		;
}

void culprit_library_work(uint64_t rounds)
{
	library_inner(rounds);
	KEEP(rounds);
}
