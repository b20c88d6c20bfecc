/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the placement planner: the branches between the parts of a module, found by one scan
 * over the bytes of its code. */
#pragma once

enum { INDEX_MAX = 32 << 20 }; /* branches of one kind in a module */

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

struct placer;
struct part_code;

/* Build the index if it is not there yet. 0 or -ENOMEM. */
int index_build(struct placer *p);
void index_release(struct branch_index *x);
/* The first entry with a target of `target` or more; `nr` of the list if none. */
size_t index_first(const struct placer *p, const struct branch_list *list, uint64_t target);
uint64_t index_target(const struct placer *p, uint64_t key);
uint64_t index_source(const struct placer *p, uint64_t key);
/* The scan goes over bytes, not instructions: the instruction that really holds
 * what it saw at `vaddr`, with its part in `in`; NULL if there is none. */
const struct flow_insn *index_verify(struct placer *p, uint64_t vaddr, struct part_code **in);
