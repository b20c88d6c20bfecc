// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/diff.h"

#include "analysis/base/array.h"
#include "analysis/base/path.h"

/* True if both names are the same and say something. */
static bool same_file(const char *a, const char *b)
{
	size_t n;

	a = path_file(a);
	b = path_file(b);
	n = path_length(a);
	return n && n == path_length(b) && !memcmp(a, b, n);
}

bool diff_same_program(const struct model *before, const struct model *after)
{
	for (size_t i = 0; i < model_nr_targets(before); i++) {
		for (size_t j = 0; j < model_nr_targets(after); j++) {
			const struct rec_target *a = model_target(before, i),
						*b = model_target(after, j);

			if (same_file(a->exe, b->exe) || same_file(a->comm, b->comm))
				return true;
		}
	}
	return false;
}

/* ---- which operations can be compared */

static const struct op *op_named(struct model *m, const struct op *like)
{
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (op->layer == like->layer && !strcmp(op->name, like->name))
			return op;
	}
	return NULL;
}

/* True if a session would contain this operation if it had been called. A system call has no
 * record before its first call: if others were counted that nobody asked for by name, all were. */
static bool would_contain(struct model *m, const struct op *like)
{
	if (like->layer != LAYER_SYSCALL)
		return false;
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (op->layer == LAYER_SYSCALL && strcmp(op->requested, op->name) != 0)
			return true;
	}
	return false;
}

struct diff_side {
	struct model *m;
	struct compare_set set;
	struct compare_item *item;
};

static void add_item(struct diff_side *s, const struct op *op)
{
	if (!op || !op->total.calls)
		return;
	s->item[s->set.nr++] = (struct compare_item){
	    .name = op->name,
	    .profile = &op->total,
	    .share_seen = op->share_seen,
	    .elapsed_ns = (uint64_t)model_covered_ns(op, (double)model_elapsed_ns(s->m)),
	};
}

static bool is_too_fast(const struct op *op)
{
	return op && op->total.calls && op->below_measurable;
}

static void omit(struct diff *d, const struct op *op, enum diff_left_out why)
{
	d->omitted[d->nr_omitted++] = (struct diff_omission){.op = op, .why = why};
}

/* NULL if the operation was not measured: a part of a session also has the functions that were
 * armed at another time. */
static const struct op *measured(const struct op *op)
{
	bool on_request = op && (op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL);

	return on_request && !op->nr_slices ? NULL : op;
}

/* Take an operation that is in one session or in both. `a` or `b` may be NULL. */
static void take(struct diff *d, struct diff_side *before, struct diff_side *after,
		 const struct op *a, const struct op *b)
{
	if (!a && !would_contain(before->m, b)) {
		omit(d, b, DIFF_ONLY_AFTER);
		return;
	}
	if (!b && !would_contain(after->m, a)) {
		omit(d, a, DIFF_ONLY_BEFORE);
		return;
	}
	d->nr_shared++;
	if (is_too_fast(a) || is_too_fast(b)) {
		omit(d, a ? a : b, DIFF_TOO_FAST);
		return;
	}
	add_item(before, a);
	add_item(after, b);
}

static void take_all(struct diff *d, struct diff_side *before, struct diff_side *after)
{
	for (size_t i = 0; i < model_nr_ops(before->m); i++) {
		const struct op *a = model_op(before->m, i);

		/* of several operations of one name, the first stands for all */
		if (op_named(before->m, a) == a)
			take(d, before, after, measured(a), measured(op_named(after->m, a)));
	}
	for (size_t i = 0; i < model_nr_ops(after->m); i++) {
		const struct op *b = model_op(after->m, i);

		if (op_named(after->m, b) == b && !op_named(before->m, b))
			take(d, before, after, NULL, b);
	}
	before->set.item = before->item;
	after->set.item = after->item;
	before->set.elapsed_ns = model_elapsed_ns(before->m) - model_since_ns(before->m);
	after->set.elapsed_ns = model_elapsed_ns(after->m) - model_since_ns(after->m);
}

/* ---- counts that are estimates */

static double per_second(struct model *m, const struct op *op, uint64_t calls)
{
	double ns = model_covered_ns(op, (double)model_elapsed_ns(m));

	return ns > 0 ? (double)calls / ns : 0;
}

/* True if the intervals of both rates overlap, so that nothing is known to have changed. */
static bool rates_overlap(struct model *before, const struct op *a, struct model *after,
			  const struct op *b)
{
	return per_second(before, a, a->calls_low) <= per_second(after, b, b->calls_high) &&
	       per_second(after, b, b->calls_low) <= per_second(before, a, a->calls_high);
}

/* Drop a change of the number of calls that is within what both numbers are known to. */
static void doubt_calls(struct compare_result *r, struct compare_pair *p, bool overlap)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < p->nr_reasons; i++) {
		if (p->reason[i].kind != COMPARE_CALLS || !overlap)
			p->reason[left++] = p->reason[i];
	}
	p->nr_reasons = left;
	if (left || p->verdict != COMPARE_CHANGED)
		return;
	p->verdict = COMPARE_SAME;
	r->nr_changed--;
}

static int by_verdict(const void *x, const void *y)
{
	const struct compare_pair *a = x, *b = y;
	bool ca = a->verdict == COMPARE_CHANGED, cb = b->verdict == COMPARE_CHANGED;

	return descending(ca, cb) ?: descending(a->score, b->score) ?: strcmp(a->name, b->name);
}

static const struct op *op_of(struct model *m, const struct compare_item *item)
{
	for (size_t i = 0; item && i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (&op->total == item->profile)
			return op;
	}
	return NULL;
}

static int pairs(struct diff *d, struct model *before, struct model *after)
{
	struct compare_result *r = &d->result;

	for (unsigned int i = 0; i < r->nr; i++) {
		const struct op *a = op_of(before, r->pair[i].before),
				*b = op_of(after, r->pair[i].after);

		if (a && b)
			doubt_calls(r, &r->pair[i], rates_overlap(before, a, after, b));
	}
	qsort(r->pair, r->nr, sizeof(*r->pair), by_verdict);
	d->pair = calloc(r->nr + 1, sizeof(*d->pair));
	for (unsigned int i = 0; d->pair && i < r->nr; i++)
		d->pair[i] = (struct diff_pair){.compared = &r->pair[i],
						.before = op_of(before, r->pair[i].before),
						.after = op_of(after, r->pair[i].after)};
	return d->pair ? 0 : -ENOMEM;
}

int diff_models(struct model *before, struct model *after, struct diff *d)
{
	size_t most = model_nr_ops(before) + model_nr_ops(after) + 1;
	struct diff_side a = {.m = before}, b = {.m = after};
	int err;

	*d = (struct diff){.omitted = calloc(most, sizeof(*d->omitted)),
			   .items = {calloc(most, sizeof(*a.item)), calloc(most, sizeof(*b.item))}};
	a.item = d->items[0];
	b.item = d->items[1];
	err = d->omitted && a.item && b.item ? 0 : -ENOMEM;
	if (!err) {
		take_all(d, &a, &b);
		err = compare_sets(&a.set, &b.set, NULL, &d->result);
	}
	if (!err)
		err = pairs(d, before, after);
	if (err)
		diff_release(d);
	return err;
}

void diff_release(struct diff *d)
{
	compare_release(&d->result);
	free(d->pair);
	free(d->omitted);
	free(d->items[0]);
	free(d->items[1]);
	*d = (struct diff){0};
}
