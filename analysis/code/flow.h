/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the placement planner: the instructions of one function, where they
 * can be jumped to, and the index of branches of the whole module. Nothing
 * outside analysis/code includes this.
 */
#ifndef PEAKTOP_CODE_FLOW_H
#define PEAKTOP_CODE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/code/decode.h"
#include "analysis/code/placement.h"
#include "analysis/code/source.h"

enum {
	FLOW_MAX_INSNS = 1 << 20, /* of one part */
	FLOW_MAX_PARTS = 16,	  /* of one function */
	FLOW_MAX_TARGETS = 1 << 20,
	FLOW_MAX_RULES = 8,
	FLOW_MAX_TABLE = 1 << 16, /* entries of one jump table */
	FLOW_CACHE = 40,	  /* decoded parts that are kept */
	INDEX_MAX = 32 << 20,	  /* branches of one kind in a module */
};

struct flow_insn {
	uint64_t target; /* of a direct branch */
	uint32_t off;	 /* from the start of the part */
	uint8_t length;
	uint8_t flow; /* enum insn_flow */
};

/* A decoded part. */
struct part_code {
	const struct code_part *part;
	struct flow_insn *insns;
	size_t nr, cap;
	bool undecodable; /* not all of it was decoded */
	bool too_large;
	uint64_t used; /* for the choice of what to forget */
	unsigned pinned;
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
	size_t nr_unresolved; /* more than FLOW_MAX_RULES: too many to tell apart */
	bool valid;
};

/* Branches between parts, as target << 32 | source, relative to `base`, ascending. */
struct branch_list {
	uint64_t *keys;
	size_t nr, cap;
};

struct branch_index {
	bool built, truncated;
	uint64_t base;
	struct branch_list calls, jumps, leas;
};

struct placer {
	const struct code_source *src;
	struct place_policy policy;
	struct decoder *decoder;
	struct part_code cache[FLOW_CACHE];
	uint64_t clock;
	struct flow flow; /* of the function looked at last */
	struct branch_index index;
};

/* The decoded part, kept until other parts push it out; NULL: no bytes, or no memory. */
struct part_code *part_decode(struct placer *p, const struct code_part *part);
void part_release(struct part_code *pc);
/* Index of the instruction at exactly `vaddr`, or -1. */
long part_find(const struct part_code *pc, uint64_t vaddr);

/*
 * The flow of the function whose code contains `vaddr`, be it in a split-off
 * part. 0 and p->flow, or -ENOTSUP and `why`.
 */
int flow_load(struct placer *p, uint64_t vaddr, enum place_why *why);
void flow_release(struct flow *f);
/* flow_targets.c: fill in targets and flags of a flow whose parts are there. */
int flow_collect_targets(struct placer *p, struct flow *f);
/* Part of the flow that contains `vaddr`, or NULL. */
struct part_code *flow_part(const struct flow *f, uint64_t vaddr);
bool flow_is_target(const struct flow *f, uint64_t vaddr);
/* A target strictly between two addresses. */
bool flow_target_between(const struct flow *f, uint64_t low, uint64_t high);
/* Can a jump with unknown targets reach `vaddr`? Only where the frame is the same as at the jump.
 */
bool flow_unresolved_reaches(const struct placer *p, uint64_t vaddr);
/* What the indirect jump with this index is. */
enum jump_kind flow_jump_kind(struct placer *p, const struct part_code *pc, size_t i);
/* The part starts with the frame of another function in place: it is split off from one. */
bool flow_is_fragment(const struct placer *p, const struct code_part *part);
/* The whole instruction again, from its short form. */
int flow_insn_full(struct placer *p, const struct part_code *pc, size_t i, struct insn *out);
/* Name of the function that a direct or indirect call or jump goes to, NULL if unknown. */
const char *flow_callee_name(struct placer *p, const struct insn *insn);

/* Build the index if it is not there yet. 0 or -ENOMEM. */
int index_build(struct placer *p);
void index_release(struct branch_index *x);
/* The first entry with a target of `target` or more; `nr` of the list if none. */
size_t index_first(const struct placer *p, const struct branch_list *list, uint64_t target);
uint64_t index_target(const struct placer *p, uint64_t key);
uint64_t index_source(const struct placer *p, uint64_t key);
/*
 * The scan goes over bytes, not instructions: the instruction that really holds
 * what it saw at `vaddr`, with its part in `in`; NULL if there is none.
 */
const struct flow_insn *index_verify(struct placer *p, uint64_t vaddr, struct part_code **in);

/* CFA rule at an address, CODE_CFA_UNKNOWN where the source has none. */
struct code_cfa placer_cfa(const struct placer *p, uint64_t vaddr);

#endif
