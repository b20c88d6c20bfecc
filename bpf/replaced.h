/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of records.h, which includes it. */
#include "bpf/records.h"
#ifndef PEAKTOP_REPLACED_H
#define PEAKTOP_REPLACED_H

/* Return addresses in a stack that another tool's return probes have replaced. */
enum { PT_REPLACED = 16 };
struct pt_replaced {
	pt_u64 trampoline; /* by this address; 0: the process has none */
	pt_u32 nr, spare;
	struct {
		pt_u64 slot, address; /* place in the stack, true return address */
	} at[PT_REPLACED];
};

#endif
