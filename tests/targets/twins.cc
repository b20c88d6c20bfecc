// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * twins [CALLS]: names that need more than themselves: serve(int), serve(double) and
 * shop::serve(int).
 */
#include "target.h"

static uint64_t ints, doubles, shops;

WATCHED uint64_t serve(int i)
{
	ints++;
	return static_cast<uint64_t>(i) + 1;
}

WATCHED uint64_t serve(double d)
{
	doubles++;
	return static_cast<uint64_t>(d) + 2;
}

namespace shop
{
WATCHED uint64_t serve(int i)
{
	shops++;
	return static_cast<uint64_t>(i) + 3;
}
} // namespace shop

int main(int argc, char **argv)
{
	target_begin(&argc, &argv);
	uint64_t calls = target_arg(argc, argv, 1, 3000), sum = 0;

	target_go();
	for (uint64_t i = 0; i < calls; i++) {
		sum += serve(static_cast<int>(i));
		if (i % 2)
			sum += serve(static_cast<double>(i));
		if (i % 3 == 0)
			sum += shop::serve(static_cast<int>(i));
	}
	KEEP(sum);
	target_truth(
	    "{\"serve(int)\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
	    "\"serve(double)\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},"
	    "\"shop::serve(int)\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":0},\"ok\":true}",
	    (unsigned long long)ints, (unsigned long long)ints, (unsigned long long)doubles,
	    (unsigned long long)doubles, (unsigned long long)shops, (unsigned long long)shops);
	return 0;
}
