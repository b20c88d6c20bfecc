// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "analysis/base/array.h"
#include "analysis/descent/choose.h"
#include "analysis/descent/choose_impl.h"
#include "analysis/descent/descent.h"

/* Time without a call of the peak, before another peak is chosen. */
#define STUCK_NS 3000000000ull
/* Calls that waited for a CPU for more of their time are not slow because of the program. */
#define MOSTLY_WAITED 0.5
/* A peak with less of all time is no answer to where the time of the function goes. */
#define PEAK_LEAST 0.2

/* Probes in calls that are shorter than this many probes would mostly measure themselves. No more
 * than SHORT_MOST_NS, because on some hosts a probe takes as long as a call of interest. */
#define SHORT_PROBES 20
#define SHORT_MOST_NS 50000
/* Samples without probes need this share of one CPU in the function: ten samples a second. */
#define SAMPLED_LEAST_SHARE 0.01

/* Seconds for which calls that are too few for an answer are waited for, if others have one. */
#define PARTS_S 3.0

/* Returns true if the question names a peak, a latency, a range or the slowest calls. */
static bool question_names_calls(const struct descent_question *q)
{
	return q->peak || q->peak_high_ns || q->slowest > 0;
}

void question_to_record(const struct descent_question *q, struct rec_question *out)
{
	*out = (struct rec_question){
	    .peak = (uint32_t)q->peak,
	    .peak_low_ns = q->peak_low_ns,
	    .peak_high_ns = q->peak_high_ns,
	    .slowest_ppm = (uint64_t)llround(q->slowest * 1e4),
	    .start_ops = q->start_ops,
	    .start_ops_given = q->start_ops_given,
	    .decision_ops = q->decision_ops,
	    .maxcount_ppm = (uint32_t)lround(q->maxcount_percentage * 1e6),
	    .max_depth = q->max_depth,
	    .max_sites = q->max_sites,
	    .level_by_level = q->level_by_level,
	};
}

void question_of_record(const struct rec_question *r, struct descent_question *out)
{
	out->peak = (int)(r->peak & INT32_MAX);
	out->peak_low_ns = r->peak_low_ns;
	out->peak_high_ns = r->peak_high_ns;
	out->slowest = (double)r->slowest_ppm / 1e4;
	out->start_ops = r->start_ops;
	out->start_ops_given = r->start_ops_given;
	out->decision_ops = r->decision_ops;
	out->maxcount_percentage = (double)r->maxcount_ppm / 1e6;
	out->max_depth = r->max_depth;
	out->max_sites = r->max_sites;
	out->level_by_level = r->level_by_level;
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
	ask->kernel_ns = model_cost(m) ? model_cost(m)->kernel_ns : 0;
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
	ask->mean_ns = calls_mean_ns(op, calls.low_ns, calls.high_ns);
	return 0;
}

/* Returns true if calls that take `ns` are too short for probes in them. */
static bool is_short(const struct op *op, double ns)
{
	return ns < fmin(SHORT_PROBES * (double)op->correction_ns, SHORT_MOST_NS);
}

/* Returns true if samples may answer for all calls of a function. They do not know of phases. */
static bool may_sample(const struct model *m, const struct op *op, const struct descent_question *q)
{
	double covered = model_covered_ns(op, (double)model_elapsed_ns(m));

	return op->layer == LAYER_FUNCTION && op->correction_ns && !q->level_by_level &&
	       !question_names_calls(q) && !model_phases(m) && op->total.calls &&
	       (double)op->time_ns >= SAMPLED_LEAST_SHARE * covered;
}

/* Lets samples answer for all calls of the function. */
static void ask_samples(struct rec_descent *ask)
{
	ask->sampled = true;
	ask->low_ns = 1;
	ask->high_ns = UINT64_MAX;
	ask->mean_ns = 0;
}

int choose_descent(struct model *m, uint32_t number, const struct descent_question *q,
		   double waited_s, struct rec_descent *ask)
{
	int err = choose_among(m, number, q, waited_s, false, ask);
	const struct op *op = err ? NULL : model_op_by_number(m, number);

	if (op && is_short(op, op->mean_ns) && may_sample(m, op, q))
		ask_samples(ask);
	return err;
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
	const struct op *op = model_op_by_number(m, asked->op);
	struct choose_waited waited;

	if (question_names_calls(q) || asked->sampled)
		return false;
	choose_waited(found, &waited);
	if (waited.part <= MOSTLY_WAITED)
		return false;
	/* the long calls are long because of the host: the others are short */
	if (op && is_short(op, (double)profile_quantile(&op->total, 0.5)) && may_sample(m, op, q)) {
		*ask = *asked;
		ask_samples(ask);
		ask->choice = DESCENT_BESIDE_WAITS;
		return true;
	}
	if (asked->high_ns != UINT64_MAX ||
	    choose_among(m, asked->op, q, q->timeout_s, true, ask) ||
	    share_of_time(model_op_peaks(m, asked->op), ask) < PEAK_LEAST)
		return false;
	ask->choice = DESCENT_BESIDE_WAITS;
	return true;
}

int choose_whole(struct model *m, uint32_t number, const struct descent_question *q,
		 double waited_s, struct descent_parts *parts, struct rec_descent *ask)
{
	int err = choose_descent(m, number, q, waited_s, ask);
	const struct op *op = model_op_peaks(m, number);

	parts->all = (struct rec_parts){.nr_parts = 0};
	/* shares of times that cannot be measured say nothing */
	if (err || question_names_calls(q) || op->below_measurable || ask->sampled)
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
	if (question_names_calls(q) || asked->sampled)
		return false;
	if (!before->since_ns || now.calls_used != before->calls_used)
		*before = now;
	if (now.since_ns - before->since_ns < STUCK_NS)
		return false;
	before->since_ns = now.since_ns;
	return !choose_whole(m, asked->op, q, q->timeout_s, &plan->parts, &plan->ask) &&
	       (plan->ask.low_ns >= asked->high_ns || asked->low_ns >= plan->ask.high_ns);
}
