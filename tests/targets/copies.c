// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * copies [CALLS]: two libraries export copies_serve(). The program calls the one of the library
 * that it was linked with first.
 */
#include "target.h"

uint64_t copies_serve(uint64_t i);
uint64_t copies_other(uint64_t i);

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	uint64_t calls = target_arg(argc, argv, 1, 3000), sum;

	sum = copies_serve(1) + copies_other(1); /* bound from now on */
	target_go();
	for (uint64_t i = 0; i < calls; i++)
		sum += copies_serve(i);
	KEEP(sum);
	target_truth("{\"copies_serve\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"ok\":true}",
		     (unsigned long long)calls, (unsigned long long)calls);
	return 0;
}
