// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/replaced.h"

void replaced_restore(const struct pt_replaced *replaced, uint64_t sp, uint64_t *words, uint32_t nr)
{
	for (uint32_t i = 0; i < replaced->nr && i < PT_REPLACED; i++) {
		uint64_t at = (replaced->at[i].slot - sp) / sizeof(*words);

		/* a call that was left by a longjmp is listed until the next one */
		if (replaced->at[i].slot >= sp && !((replaced->at[i].slot - sp) % sizeof(*words)) &&
		    at < nr && words[at] == replaced->trampoline)
			words[at] = replaced->at[i].address;
	}
}
