// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/futex.h"

#include <linux/futex.h>

enum { LARGEST_TID = 4 << 20 }; /* PID_MAX_LIMIT of the kernel */

/* True if the word names a thread and says that others wait: the kernel defines this form for
 * robust mutexes and for those with priority inheritance, and musl uses it for all mutexes. A count
 * that happens to have the bit of the waiters is hardly the number of a thread, too. */
static bool has_owner(uint32_t word)
{
	uint32_t tid = word & FUTEX_TID_MASK;

	return word & FUTEX_WAITERS && tid && tid <= LARGEST_TID;
}

bool futex_is_lock(uint64_t operation, uint32_t value)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	case FUTEX_WAIT:
		return value == 2 || has_owner(value);
	case FUTEX_WAIT_BITSET:
		return value == 2 || value == 3 || has_owner(value);
	default:
		return false;
	}
}
