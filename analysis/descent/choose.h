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

/* The options of `peaktop descend` that choose the calls. */
struct descent_question {
	int peak; /* rank, from 1; 0: not given */
	uint64_t peak_low_ns,
	    peak_high_ns; /* equal: the peak at this latency; else a range; 0: not given */
	double slowest;	  /* percent, 0: not given */
	unsigned int start_ops, decision_ops, max_sites;
	bool start_ops_given, level_by_level;
	unsigned int max_depth; /* 0: not given; each kind of descent has its own default */
	double maxcount_percentage;
	double timeout_s;
};

/* Does it say which calls are meant? */
bool question_names_calls(const struct descent_question *q);
/*
 * Choose the calls to explain, for operation `number`, which was watched for `waited_s`
 * seconds. 0; -EAGAIN: too early or too few calls; -ENOENT: there is no such peak. After a
 * third of the timeout it decides with the calls that there are.
 */
int choose_descent(struct model *m, uint32_t number, const struct descent_question *q,
		   double waited_s, struct rec_descent *ask);

/*
 * A peak that was chosen automatically may disappear during its descent; this is the state
 * for choosing another. All zero before the first call of choose_again().
 */
struct choose_progress {
	uint64_t calls_used;
	uint64_t since_ns; /* when there were so many */
};
/*
 * Look at the peaks again, at most every 3 s without a call of the peak that `asked` is about.
 * True: the calls have gone to another peak; `ask` is the descent to begin instead.
 */
bool choose_again(struct model *m, const struct descent_question *q,
		  const struct rec_descent *asked, uint64_t calls_used, uint64_t now_ns,
		  struct choose_progress *progress, struct rec_descent *ask);

#endif
