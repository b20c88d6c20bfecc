/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the placement planner: what a planner keeps of its module. The layers below the plans,
 * each with a header: part_code.h, branch_index.h, flow.h, probe_search.h. */
#pragma once

#include "analysis/code/branch_index.h"
#include "analysis/code/flow.h"
#include "analysis/code/placement.h"

enum { PLACER_CACHE = 40 }; /* decoded parts that are kept */

struct placer {
	const struct code_source *src;
	struct place_policy policy;
	struct decoder *decoder;
	struct part_code cache[PLACER_CACHE];
	uint64_t clock;
	struct flow flow; /* of the function looked at last */
	struct branch_index index;
};

/* CFA rule at an address, CODE_CFA_UNKNOWN where the source has none. */
static inline struct code_cfa placer_cfa(const struct placer *p, uint64_t vaddr)
{
	if (!p->src->cfa)
		return (struct code_cfa){.kind = CODE_CFA_UNKNOWN};
	return p->src->cfa(p->src->ctx, vaddr);
}
