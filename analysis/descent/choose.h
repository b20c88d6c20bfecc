/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the range of latencies that a descent explains, from the request of the user and the
 * latency profile of the operation. Pure. */
#pragma once

#include "analysis/descent/causes.h"
#include "analysis/descent/parts.h"
#include "analysis/latency/model.h"

/* True for operations that a thread calls and returns from: a descent can find their causes. */
static inline bool layer_is_called(uint32_t layer)
{
	return layer <= LAYER_KERNEL;
}

/* At most one of `number`, the latency or range, and `slowest` is given. If all are zero, the peak
 * with most of the time is meant. */
struct choose_question {
	unsigned int number; /* rank of a peak, from 1 */
	uint64_t low_ns,
	    high_ns;	/* equal: the peak at this latency; else the range low <= latency < high */
	double slowest; /* the slowest calls, as a percentage of all calls */
	unsigned int start_ops; /* number of calls to see before choosing */
	bool start_ops_fixed;	/* the user gave start_ops: do not lower it when calls are rare */
	double waited_s;	/* seconds for which the operation has been watched */
	bool last_chance;	/* choose now from the calls that were seen; do not wait for more */
	bool within_peaks; /* nothing but a peak, whatever time the calls beyond all peaks have */
};

enum choose_basis {
	CHOSEN_PEAK = 0,
	/* the range that was asked for, or the part of a peak that holds most of its time */
	CHOSEN_RANGE,
	/* all calls from low_ns on: asked for, or the slow calls outweigh every peak */
	CHOSEN_SLOWEST,
};

struct choose_answer {
	enum choose_basis basis;
	uint64_t low_ns, high_ns; /* high_ns is UINT64_MAX if there is no upper limit */
	unsigned int start_ops;	  /* calls to count before probes are armed; at most those seen */
};

/* Returns 0 and fills *out. Returns -EAGAIN if more calls are needed: ask again later. With
 * q->last_chance, -EAGAIN means that there are too few calls for any answer, and -ENOENT that the
 * peak does not exist or that the range holds no call. */
int choose_calls(const struct op *op, const struct choose_question *q, struct choose_answer *out);

/* The options of `peaktop descend` that choose the calls. */
struct descent_question {
	int peak; /* rank of a peak from 1; 0: not given */
	uint64_t peak_low_ns,
	    peak_high_ns; /* equal: the peak at this latency; else a range; 0: not given */
	double slowest;	  /* percentage of the slowest calls; 0: not given */
	unsigned int start_ops, decision_ops, max_sites;
	bool start_ops_given, level_by_level;
	unsigned int max_depth; /* 0: not given; each kind of descent has its own default */
	double maxcount_percentage;
	double timeout_s;
};

/* The question as a record, and back: all but the timeout. */
void question_to_record(const struct descent_question *q, struct rec_question *out);
void question_of_record(const struct rec_question *r, struct descent_question *out);

/* Chooses the calls of operation `number` to explain, after watching it for `waited_s` seconds, and
 * fills *ask. After a third of the timeout it chooses from the calls that were seen so far. Returns
 * 0; -EAGAIN if it is too early or there are too few calls; -ENOENT if there is no such peak. */
int choose_descent(struct model *m, uint32_t number, const struct descent_question *q,
		   double waited_s, struct rec_descent *ask);

/* The same for the operation as a whole: if the question names no calls, divides its time into
 * *parts, and fills *ask for the first that can be explained. Waits a little longer if a part has
 * few calls. No parts: the calls were named, or their times cannot be measured. */
int choose_whole(struct model *m, uint32_t number, const struct descent_question *q,
		 double waited_s, struct descent_parts *parts, struct rec_descent *ask);

/* Fills *ask for a descent of `op`, but for its range of latencies and start_ops. */
void choose_options(struct model *m, const struct op *op, const struct descent_question *q,
		    struct rec_descent *ask);

struct descent_result;
/* How calls waited for a CPU. */
struct choose_waited {
	double part;	   /* of their time */
	struct cause most; /* of most of it */
};
void choose_waited(const struct descent_result *found, struct choose_waited *waited);
/* Chooses the largest peak instead of the calls beyond all peaks that a descent has explained, if
 * the user named no calls, those mostly waited for a CPU, and the peak has a good part of the time.
 * Waiting for a CPU is what the host does to calls of any kind: it is told beside the program's own
 * path, not instead of it. Returns true and fills *ask. */
bool choose_instead(struct model *m, const struct descent_question *q,
		    const struct rec_descent *asked, const struct descent_result *found,
		    struct rec_descent *ask);

/* What choose_whole() has chosen. */
struct choose_plan {
	struct descent_parts parts;
	struct rec_descent ask;
};

/* How many calls a descent has used, and since when that many. */
struct choose_progress {
	uint64_t calls_used;
	uint64_t since_ns;
};
/* An automatically chosen peak may disappear during its descent. If now.calls_used has not grown
 * for 3 s, this function chooses again as choose_whole() does. Returns true if the calls have moved
 * to another peak; `plan` then says what to begin instead. `before` is kept between the calls of
 * this function; at first it is all zero. */
bool choose_again(struct model *m, const struct descent_question *q,
		  const struct rec_descent *asked, struct choose_progress now,
		  struct choose_progress *before, struct choose_plan *plan);
