/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls of an operation a descent is about: from what a person asked for and the
 * profile of the operation, a range of latencies. Pure.
 */
#ifndef PEAKTOP_CHOOSE_H
#define PEAKTOP_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/latency/model.h"

/* At most one of `number`, the latency or range, and `slowest` is given. All zero: the peak with
 * most of the time. */
struct choose_question {
	unsigned int number; /* of a peak, from 1 */
	uint64_t low_ns,
	    high_ns; /* equal: the peak at this latency; else this range: low <= latency < high */
	double slowest;		/* percent of the calls */
	unsigned int start_ops; /* calls to be seen before anything is chosen */
	bool start_ops_fixed;	/* a person has asked for just as many */
	double waited_s;	/* how long the operation has been watched */
	bool last_chance;	/* choose from what there is: nothing is waited for any more */
};

enum choose_basis {
	CHOSEN_PEAK = 0,
	CHOSEN_RANGE,	/* as it was given, or a part of a peak that holds its time */
	CHOSEN_SLOWEST, /* asked for, or no peak has the time: all calls from low_ns on */
};

struct choose_answer {
	enum choose_basis basis;
	uint64_t low_ns, high_ns; /* high_ns is UINT64_MAX for the slowest */
	unsigned int start_ops;	  /* at most as many as were seen */
};

/*
 * 0; -EAGAIN: more calls are needed, ask again later; -ENOENT: there is no such peak or no call in
 * that range (only at the last chance). At the last chance -EAGAIN means that there are too few
 * calls for any answer.
 */
int choose_calls(const struct op *op, const struct choose_question *q, struct choose_answer *out);

#endif
