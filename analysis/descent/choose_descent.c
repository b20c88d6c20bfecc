// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/descent/choose.h"
#include "analysis/descent/descent.h"

/* Time without a call of the peak, before another peak is chosen. */
#define STUCK_NS 3000000000ull

/* True if the question names a peak, a latency, a range or the slowest calls. */
static bool question_names_calls(const struct descent_question *q)
{
	return q->peak || q->peak_high_ns || q->slowest > 0;
}

static uint64_t constant_ns(struct model *m, const char *name)
{
	for (size_t i = 0; i < model_nr_constants(m); i++) {
		if (!strcmp(model_constant(m, i)->name, name))
			return model_constant(m, i)->high_ns;
	}
	return 0;
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
	descent_options_init(ask);
	ask->op = number;
	ask->function = (struct rec_code){op->module_id, op->offset};
	if (op->layer == LAYER_SYSCALL)
		ask->function =
		    (struct rec_code){REC_KERNEL_MODULE, REC_KERNEL_CALL | op->syscall_nr};
	ask->start_ops = calls.start_ops;
	ask->decision_ops = q->decision_ops;
	ask->maxcount_ppm = (uint32_t)lround(q->maxcount_percentage * 1e6);
	ask->max_depth = q->max_depth ? q->max_depth : DESCENT_DEFAULT_DEPTH;
	ask->max_sites = q->max_sites < DESCENT_MAX_SITES ? q->max_sites : DESCENT_MAX_SITES;
	ask->level_by_level = q->level_by_level;
	ask->minor_fault_ns = constant_ns(m, "page fault");
	ask->step_ns = model_cost(m) ? model_cost(m)->step_ns : 0;
	ask->low_ns = calls.low_ns;
	ask->high_ns = calls.high_ns;
	return 0;
}

bool choose_again(struct model *m, const struct descent_question *q,
		  const struct rec_descent *asked, uint64_t calls_used, uint64_t now_ns,
		  struct choose_progress *progress, struct rec_descent *ask)
{
	if (question_names_calls(q))
		return false;
	if (!progress->since_ns || calls_used != progress->calls_used)
		*progress = (struct choose_progress){calls_used, now_ns};
	if (now_ns - progress->since_ns < STUCK_NS)
		return false;
	progress->since_ns = now_ns;
	return !choose_descent(m, asked->op, q, q->timeout_s, ask) &&
	       (ask->low_ns >= asked->high_ns || asked->low_ns >= ask->high_ns);
}
