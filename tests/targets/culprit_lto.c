// SPDX-License-Identifier: GPL-2.0-or-later
/* Two files that are optimised as one (-flto): what the linker has inlined over their border, and
 * renamed. */
#include "culprit_lto.h"
#include "culprit.h"

WATCHED void serve(uint64_t i)
{
	SPIN_US(20);
	KEEP(lto_request(i, i % 4 ? 10 : 1000));
	KEEP(bystander(i));
}

uint64_t lto_rounds(uint64_t us)
{
	return rounds_of_us((double)us);
}

void lto_spin(uint64_t rounds)
{
	spin(rounds);
}

int main(int argc, char **argv)
{
	return culprit_run(argc, argv, serve, 150);
}
