/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the placement planner: the instructions of one part of a function, decoded and kept in
 * the planner. Nothing outside analysis/code and tui/parser includes this. */
#pragma once

#include "analysis/code/decode.h"
#include "analysis/code/source.h"

enum { PART_MAX_INSNS = 1 << 20 };

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

struct placer;

/* The decoded part, kept until other parts push it out; NULL: no bytes, or no memory. */
struct part_code *part_decode(struct placer *p, const struct code_part *part);
void part_release(struct part_code *pc);
/* Index of the instruction at exactly `vaddr`, or -1. */
long part_find(const struct part_code *pc, uint64_t vaddr);
/* The whole instruction again, from its short form. 0 or -ENOENT. */
int part_insn(struct placer *p, const struct part_code *pc, size_t i, struct insn *out);
