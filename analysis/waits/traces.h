/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks by their numbers (REC_TRACE). Bounded: the one that came first makes room. */
#ifndef PEAKTOP_WAIT_TRACES_H
#define PEAKTOP_WAIT_TRACES_H

#include <stdint.h>

#include "analysis/session/record.h"

struct trace {
	uint32_t number, flags; /* enum trace_flags */
	uint32_t hints;		/* enum wait_hint, of the functions of the kernel */
	uint64_t content;	/* equal stacks have equal ones */
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
/* Equal for equal stacks, and never 0 but for number 0. */
uint64_t traces_content(const struct traces *t, uint32_t number);

#endif
