// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/process_start.h"

uint64_t process_start_ticks(uint64_t since_boot_ns, uint64_t ticks_per_s, int64_t offset_ns)
{
	uint64_t ns = since_boot_ns + (uint64_t)offset_ns;

	if (!ticks_per_s || ticks_per_s > 1000000000)
		return 0;
	/* like nsec_to_clock_t() of the kernel: rounds down */
	return ns / (1000000000 / ticks_per_s);
}
