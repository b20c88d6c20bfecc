/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the placement planner: the code of one function with its split-off parts, and where it
 * can be jumped to. flow.c loads it, flow_targets.c finds the targets. Nothing outside
 * analysis/code and tui/parser includes this. */
#pragma once

#include "analysis/code/part_code.h"
#include "analysis/code/placement.h"
#include "analysis/code/source.h"

enum {
	FLOW_MAX_PARTS = 16, /* of one function */
	FLOW_MAX_TARGETS = 1 << 20,
	FLOW_MAX_RULES = 8,
	FLOW_MAX_TABLE = 1 << 16, /* entries of one jump table */
};

/* What an indirect jump is taken for. */
enum jump_kind { JUMP_TABLE = 0, JUMP_TAIL, JUMP_UNRESOLVED };

/* A function with its split-off parts; parts[0] holds its start. */
struct flow {
	uint64_t start;
	struct part_code *parts[FLOW_MAX_PARTS];
	size_t nr_parts;
	uint64_t *targets; /* addresses in the parts that something may jump to, ascending */
	size_t nr_targets, cap_targets;
	uint32_t flags; /* enum exit_flags that hold for the whole function */
	/* the different rules for the CFA at jumps with unknown targets */
	struct code_cfa unresolved[FLOW_MAX_RULES];
	size_t nr_unresolved; /* more than FLOW_MAX_RULES */
	bool valid;
};

/* The flow of the function whose code contains `vaddr`, be it in a split-off
 * part. 0 and p->flow, or -ENOTSUP and `why`. */
int flow_load(struct placer *p, uint64_t vaddr, enum place_why *why);
void flow_release(struct flow *f);
/* flow_targets.c: fill in targets and flags of a flow whose parts are there. */
int flow_collect_targets(struct placer *p, struct flow *f);
/* Part of the flow that contains `vaddr`, or NULL. */
struct part_code *flow_part(const struct flow *f, uint64_t vaddr);
bool flow_is_target(const struct flow *f, uint64_t vaddr);
/* True if a jump leads to an address above `low` and below `high`. */
bool flow_target_between(const struct flow *f, uint64_t low, uint64_t high);
/* Can a jump with unknown targets reach `vaddr`? Only where the frame is the same as at the jump.
 */
bool flow_unresolved_reaches(const struct placer *p, uint64_t vaddr);
/* What the indirect jump with this index is. */
enum jump_kind flow_jump_kind(struct placer *p, const struct part_code *pc, size_t i);
/* The part starts with the frame of another function in place: it is split off from one. */
bool flow_is_fragment(const struct placer *p, const struct code_part *part);
/* Name of the function that a direct or indirect call or jump goes to, NULL if unknown. */
const char *flow_callee_name(struct placer *p, const struct insn *insn);
