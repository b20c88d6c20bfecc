// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * simple [CALLS]: plain functions of different shapes, called a known number of times. Built in
 * many ways: PIE and not, static, stripped, with separate or embedded debug info, without frame
 * pointers.
 */
#include "target.h"

static uint64_t leaves, middles, bigs;

WATCHED uint64_t leaf(uint64_t i)
{
	leaves++;
	return i ^ 0x55;
}

WATCHED uint64_t middle(uint64_t i)
{
	uint64_t sum = leaf(i);

	middles++;
	sum += leaf(i + 1);
	return sum;
}

/* A large frame, saved registers, several returns, a loop. */
WATCHED uint64_t big(uint64_t i, uint64_t n)
{
	uint64_t frame[64];
	uint64_t k, sum = 0;

	bigs++;
	for (k = 0; k < 64; k++)
		frame[k] = i + k * n;
	KEEP(&frame);
	if (i % 7 == 0)
		return frame[n % 64];
	for (k = 0; k < n; k++)
		sum += middle(frame[k % 64]);
	if (sum % 2)
		return sum + 1;
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 5000);
	target_go();
	for (i = 0; i < calls; i++)
		sum += big(i, 2);
	KEEP(sum);
	target_truth("{\"big\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"middle\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"leaf\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
		     (unsigned long long)bigs, (unsigned long long)bigs,
		     (unsigned long long)middles, (unsigned long long)middles,
		     (unsigned long long)leaves, (unsigned long long)leaves);
	return 0;
}
