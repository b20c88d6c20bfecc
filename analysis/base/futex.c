// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/base/futex.h"

#include <linux/futex.h>

bool futex_is_lock(uint64_t operation, uint32_t value)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	case FUTEX_WAIT:
		return value == 2;
	case FUTEX_WAIT_BITSET:
		return value == 2 || value == 3;
	default:
		return false;
	}
}
