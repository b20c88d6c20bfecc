// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/capability_set.h"

#include <linux/capability.h>

#define BIT(cap) (UINT64_C(1) << (cap))

/* The headers of older build hosts may lack these capabilities. */
enum { PERFMON = 38, BPF = 39, CHECKPOINT_RESTORE = 40 };

uint64_t capability_set_collector(uint64_t permitted, const struct capability_needs *needs)
{
	const uint64_t split = BIT(BPF) | BIT(PERFMON) | BIT(CHECKPOINT_RESTORE);
	uint64_t want = split | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYSLOG) |
			BIT(CAP_LEASE);

	if (needs->needs_admin || (permitted & split) != split)
		want |= BIT(CAP_SYS_ADMIN);
	if (!(permitted & BIT(CAP_DAC_READ_SEARCH)))
		want |= BIT(CAP_DAC_OVERRIDE);
	if (needs->command)
		want |= BIT(CAP_KILL);
	return permitted & want;
}
