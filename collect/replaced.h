/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return addresses in copied stacks that another tool's return probes (uretprobes) have replaced.
 */
#pragma once

#include "bpf/records.h"

/* Put the true return addresses into a copy of a stack, whose first word was at `sp`. */
void replaced_restore(const struct pt_replaced *replaced, uint64_t sp, uint64_t *words,
		      uint32_t nr);
