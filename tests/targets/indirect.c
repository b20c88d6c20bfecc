// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * indirect [CALLS]: pointed_a() is called through a table only, pointed_b() through the table and
 * directly, compared() by qsort() of the C library.
 */
#include "target.h"

static uint64_t a_done, b_done, compares;

WATCHED uint64_t pointed_a(uint64_t i)
{
	a_done++;
	return i + 1;
}

WATCHED uint64_t pointed_b(uint64_t i)
{
	b_done++;
	return i + 2;
}

WATCHED int compared(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	compares++;
	return a < b ? -1 : a > b;
}

uint64_t (*volatile table[3])(uint64_t) = {pointed_a, pointed_b, pointed_a};

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0, seed = 42, values[64];

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 9000);
	target_go();
	for (i = 0; i < calls; i++) {
		sum += table[i % 3](i);
		if (i % 2)
			sum += pointed_b(i);
		if (i % 100 == 0) {
			unsigned k;

			for (k = 0; k < 64; k++)
				values[k] = draw(&seed);
			qsort(values, 64, sizeof(values[0]), compared);
		}
	}
	KEEP(sum);
	target_truth("{\"pointed_a\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"pointed_b\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
		     "\"compared\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
		     (unsigned long long)a_done, (unsigned long long)a_done,
		     (unsigned long long)b_done, (unsigned long long)b_done,
		     (unsigned long long)compares, (unsigned long long)compares);
	return 0;
}
