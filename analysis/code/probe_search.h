/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the placement planner: going from an ideal address to the nearest
 * instruction that a probe can stand on. The flow of the function is loaded. */
#pragma once

#include "analysis/code/placer.h"

/* One instruction after the other from an ideal address, in a straight line:
 * forwards for entries and returns, backwards for exits. */
struct probe_search {
	struct placer *p;
	struct part_code *pc;
	size_t i;
	unsigned steps;
	int64_t cfa;	      /* at the present instruction */
	uint8_t args_written; /* by those before it */
	bool ret_written;
	struct insn insn;
	enum place_why why; /* the reason why the last place was rejected */
};

/* Start at `vaddr`, where stack pointer + cfa == CFA; false (and `why`): no instruction there. */
bool probe_search_start(struct probe_search *s, struct placer *p, uint64_t vaddr, int64_t cfa);
/* Could a probe stand on the present instruction, and of which class? Else sets `why`. */
bool probe_search_candidate(struct probe_search *s, enum site_class *cls);
/* Everything about the present instruction but `kind`, `role`, `ideal` and `flags`. */
void probe_search_place(struct probe_search *s, enum site_class cls, struct place *out);
/* On to the next instruction; false where the straight line ends. */
bool probe_search_forward(struct probe_search *s);
/* On to the next instruction, whatever the present one does. */
bool probe_search_next(struct probe_search *s);
/* At the branch of a Go function that finds its stack too small: the other way
 * makes it larger, maybe elsewhere, and begins again at `start`. */
bool probe_search_at_stack_check(const struct probe_search *s, uint64_t start);

/* The call frame information does not contradict `stack pointer + cfa == CFA` of the function. */
bool cfi_agrees(const struct placer *p, uint64_t vaddr, int64_t cfa);
