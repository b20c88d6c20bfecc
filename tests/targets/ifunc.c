// SPDX-License-Identifier: GPL-2.0-or-later
/* ifunc [CALLS]: resolved() is an IFUNC; resolved_new() is what really runs, resolved_old() never.
 */
#include "target.h"

static uint64_t done_new, done_old;

WATCHED uint64_t resolved_new(uint64_t i)
{
	done_new++;
	return i + 1;
}

WATCHED uint64_t resolved_old(uint64_t i)
{
	done_old++;
	return i + 2;
}

static uint64_t (*resolve(void))(uint64_t)
{
	return resolved_new;
}

uint64_t resolved(uint64_t i) __attribute__((ifunc("resolve")));

int main(int argc, char **argv)
{
	uint64_t calls, i, sum = 0;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 10000);
	target_go();
	for (i = 0; i < calls; i++)
		sum += resolved(i);
	KEEP(sum);
	target_truth("{\"resolved\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":%s}",
		     (unsigned long long)calls, (unsigned long long)done_new,
		     done_new == calls && !done_old ? "true" : "false");
	return 0;
}
