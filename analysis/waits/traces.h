/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks by their numbers (REC_TRACE). Bounded: the one that came first makes room. Sampled stacks
 * (TRACE_SAMPLED) through the same functions are kept once. */
#pragma once

#include "analysis/session/record.h"

struct trace {
	uint32_t number, flags; /* enum trace_flags */
	uint32_t hints;		/* enum wait_hint, of the functions of the kernel */
	uint64_t content;	/* equal stacks have equal ones; of a sampled one: its functions */
	/* Equal for call paths through the same functions. 0: none, or code of no file alone, as of
	 * a program that ended before its mappings were read. */
	uint64_t path;
	const char *kernel;
	uint32_t nr_frames;
	const struct rec_frame *frames; /* outermost first */
};

struct traces;
struct traces *traces_new(uint32_t max);
void traces_free(struct traces *t);
int traces_add(struct traces *t, const struct rec_trace *rec);
/* NULL: not known, or not any more. */
const struct trace *traces_find(const struct traces *t, uint32_t number);
/* The number under which this stack is kept: that of an equal one that came before, else its own.
 * 0 for a sampled stack that is not known: it may come later. */
uint32_t traces_kept(const struct traces *t, uint32_t number);
/* How many stacks are known by traces_kept() only. */
uint64_t traces_nr_equal(const struct traces *t);
/* Equal for equal stacks, and 0 for number 0 and for a sampled stack that is not known. */
uint64_t traces_content(const struct traces *t, uint32_t number);
