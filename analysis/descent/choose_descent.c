// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>

#include "analysis/base/array.h"
#include "analysis/descent/choose.h"
#include "analysis/descent/descent.h"

/* Time without a call of the peak, before another peak is chosen. */
#define STUCK_NS 3000000000ull
/* Seconds for which calls that are too few for an answer are waited for, if others have one. */
#define PARTS_S 3.0

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

int choose_descent(struct model *m, uint32_t number, const struct descent_question *q,
		   double waited_s, struct rec_descent *ask)
{
	const struct choose_question question = {.number = (unsigned int)q->peak,
						 .low_ns = q->peak_low_ns,
						 .high_ns = q->peak_high_ns,
						 .slowest = q->slowest,
						 .start_ops = q->start_ops,
						 .start_ops_fixed = q->start_ops_given,
						 .waited_s = waited_s,
						 .last_chance = waited_s > q->timeout_s / 3};
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

int choose_whole(struct model *m, uint32_t number, const struct descent_question *q,
		 double waited_s, struct descent_parts *parts, struct rec_descent *ask)
{
	int err = choose_descent(m, number, q, waited_s, ask);
	const struct op *op = model_op_peaks(m, number);

	parts->all = (struct rec_parts){.nr_parts = 0};
	/* shares of times that cannot be measured say nothing */
	if (err || question_names_calls(q) || op->below_measurable)
		return err;
	parts_divide(op, model_covered_ns(op, (double)model_elapsed_ns(m)), parts);
	if (waited_s < PARTS_S && waited_s <= q->timeout_s / 3 &&
	    any_of(i, parts->all.nr_parts, parts->part[i].few))
		return -EAGAIN;
	if (parts->all.nr_parts)
		parts_ask(op, &parts->all, parts_next(&parts->all, 0), ask);
	return 0;
}

bool choose_again(struct model *m, const struct descent_question *q,
		  const struct rec_descent *asked, struct choose_progress now,
		  struct choose_progress *before, struct choose_plan *plan)
{
	if (question_names_calls(q))
		return false;
	if (!before->since_ns || now.calls_used != before->calls_used)
		*before = now;
	if (now.since_ns - before->since_ns < STUCK_NS)
		return false;
	before->since_ns = now.since_ns;
	return !choose_whole(m, asked->op, q, q->timeout_s, &plan->parts, &plan->ask) &&
	       (plan->ask.low_ns >= asked->high_ns || asked->low_ns >= plan->ask.high_ns);
}
