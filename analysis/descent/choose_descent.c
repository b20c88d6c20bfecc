// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>

#include "analysis/descent/choose.h"
#include "analysis/descent/descent.h"

/* Time without a call of the peak, before another peak is chosen. */
#define STUCK_NS 3000000000ull
/* Calls that waited for a CPU for more of their time are not slow because of the program. */
#define MOSTLY_WAITED 0.5
/* A peak with less of all time is no answer to where the time of the function goes. */
#define PEAK_LEAST 0.2

/* Returns true if the question names a peak, a latency, a range or the slowest calls. */
static bool question_names_calls(const struct descent_question *q)
{
	return q->peak || q->peak_high_ns || q->slowest > 0;
}

void choose_options(struct model *m, const struct op *op, const struct descent_question *q,
		    struct rec_descent *ask)
{
	descent_options_init(ask);
	ask->op = op->op;
	ask->function = (struct rec_code){op->module_id, op->offset};
	if (op->layer == LAYER_SYSCALL)
		ask->function =
		    (struct rec_code){REC_KERNEL_MODULE, REC_KERNEL_CALL | op->syscall_nr};
	ask->decision_ops = q->decision_ops;
	ask->maxcount_ppm = (uint32_t)lround(q->maxcount_percentage * 1e6);
	ask->max_depth = q->max_depth ? q->max_depth : DESCENT_DEFAULT_DEPTH;
	ask->max_sites = q->max_sites < DESCENT_MAX_SITES ? q->max_sites : DESCENT_MAX_SITES;
	ask->level_by_level = q->level_by_level;
	ask->choice = question_names_calls(q) ? DESCENT_NAMED_CALLS : DESCENT_MOST_TIME;
	ask->minor_fault_ns = model_constant_ns(m, "page fault");
	ask->step_ns = model_cost(m) ? model_cost(m)->step_ns : 0;
}

static int choose_among(struct model *m, uint32_t number, const struct descent_question *q,
			double waited_s, bool within_peaks, struct rec_descent *ask)
{
	const struct choose_question question = {.number = (unsigned int)q->peak,
						 .low_ns = q->peak_low_ns,
						 .high_ns = q->peak_high_ns,
						 .slowest = q->slowest,
						 .start_ops = q->start_ops,
						 .start_ops_fixed = q->start_ops_given,
						 .waited_s = waited_s,
						 .last_chance = waited_s > q->timeout_s / 3,
						 .within_peaks = within_peaks};
	const struct op *op = model_op_peaks(m, number);
	struct choose_answer calls;
	int err;

	if (!op)
		return -EAGAIN;
	err = choose_calls(op, &question, &calls);
	if (err)
		return err;
	choose_options(m, op, q, ask);
	ask->start_ops = calls.start_ops;
	ask->low_ns = calls.low_ns;
	ask->high_ns = calls.high_ns;
	return 0;
}

int choose_descent(struct model *m, uint32_t number, const struct descent_question *q,
		   double waited_s, struct rec_descent *ask)
{
	return choose_among(m, number, q, waited_s, false, ask);
}

static double share_of_time(const struct op *op, const struct rec_descent *ask)
{
	struct bucket_range range = {pt_bucket(ask->low_ns), pt_bucket(ask->high_ns - 1) + 1};

	return op->total.sum_ns
		   ? (double)profile_range_sum(&op->total, range) / (double)op->total.sum_ns
		   : 0;
}

void choose_waited(const struct descent_result *found, struct choose_waited *waited)
{
	*waited = (struct choose_waited){.part = 0};
	for (unsigned int i = 0; i < found->nr_paths; i++) {
		const struct cause *cause = &found->paths[i].cause;

		if (cause->kind != CAUSE_PREEMPTION && cause->kind != CAUSE_RUN_QUEUE)
			continue;
		/* the paths are sorted by their shares */
		if (waited->part <= 0)
			waited->most = *cause;
		waited->part += found->paths[i].share;
	}
	waited->part = fmin(waited->part, 1);
}

bool choose_instead(struct model *m, const struct descent_question *q,
		    const struct rec_descent *asked, const struct descent_result *found,
		    struct rec_descent *ask)
{
	struct choose_waited waited;

	if (question_names_calls(q) || asked->high_ns != UINT64_MAX)
		return false;
	choose_waited(found, &waited);
	if (waited.part <= MOSTLY_WAITED ||
	    choose_among(m, asked->op, q, q->timeout_s, true, ask) ||
	    share_of_time(model_op_peaks(m, asked->op), ask) < PEAK_LEAST)
		return false;
	ask->choice = DESCENT_BESIDE_WAITS;
	return true;
}

bool choose_again(struct model *m, const struct descent_question *q,
		  const struct rec_descent *asked, struct choose_progress now,
		  struct choose_progress *before, struct rec_descent *ask)
{
	if (question_names_calls(q))
		return false;
	if (!before->since_ns || now.calls_used != before->calls_used)
		*before = now;
	if (now.since_ns - before->since_ns < STUCK_NS)
		return false;
	before->since_ns = now.since_ns;
	return !choose_descent(m, asked->op, q, q->timeout_s, ask) &&
	       (ask->low_ns >= asked->high_ns || asked->low_ns >= ask->high_ns);
}
