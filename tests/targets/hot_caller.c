// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hot_caller: one loop calls busy() until a line comes on standard input. busy() begins with a
 * push, which the kernel emulates, and ends with a ret, which it has to step; its only caller is
 * known from the code. Prints how many calls there were.
 */
#include "target.h"

#include <poll.h>

static volatile uint64_t sum; /* behind the call the compiler loads it where the return value was */

WATCHED uint64_t helper(uint64_t x)
{
	return 3 * x + 1;
}

WATCHED uint64_t busy(uint64_t x)
{
	uint64_t y = helper(x);

	for (int i = 0; i < 50; i++) {
		y = y * 31 + (uint64_t)i;
		KEEP(y);
	}
	return y + helper(y + x);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t calls = 0;

	target_begin(&argc, &argv);
	target_go();
	while (calls % 4096 || poll(&input, 1, 0) == 0) {
		sum += busy(calls);
		calls++;
	}
	target_wait_line();
	target_truth("{\"busy\": %llu}", (unsigned long long)calls);
	return 0;
}
