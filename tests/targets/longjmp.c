// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * longjmp [CALLS]: leaper(i, depth) calls itself i % 4 levels deep and then returns or, in every
 * second call, leaves all of its frames by longjmp. The last call is an ordinary one.
 */
#include "target.h"
#include <setjmp.h>

static jmp_buf back;
static uint64_t activations, returned;

WATCHED uint64_t leaper(uint64_t i, unsigned depth)
{
	uint64_t sum;

	activations++;
	if (depth > 0) {
		sum = leaper(i, depth - 1) + 1;
		returned++;
		return sum;
	}
	if (i % 2)
		longjmp(back, 1);
	returned++;
	return i;
}

int main(int argc, char **argv)
{
	volatile uint64_t i, calls, jumps = 0;

	target_begin(&argc, &argv);
	calls = target_arg(argc, argv, 1, 100000);
	target_go();
	for (i = 0; i < calls; i++) {
		if (setjmp(back))
			jumps++;
		else
			KEEP(leaper(i, (unsigned)(i / 2 % 4)));
	}
	/* A watcher learns of frames that were jumped over from the next call above them. */
	KEEP(leaper(0, 0));
	target_truth("{\"leaper\":{\"calls\":%llu,\"returned\":%llu,\"abnormal\":%llu},\"jumps\":%"
		     "llu,\"ok\":%s}",
		     (unsigned long long)activations, (unsigned long long)returned,
		     (unsigned long long)(activations - returned), (unsigned long long)jumps,
		     jumps == calls / 2 ? "true" : "false");
	return jumps == calls / 2 ? 0 : 1;
}
