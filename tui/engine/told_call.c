// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/told_call.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/base/array.h"
#include "analysis/latency/profile_record.h"
#include "analysis/session/record_copy.h"

enum {
	MAX_NAMES = 65536,
	FIRST_EPOCH = 1, /* of the first armed set of a descent */
	VOTES = 20, /* a descent decides by the votes of several calls: this one votes as often */
};

struct told_names {
	struct record **list;
	size_t nr, cap;
};

static struct told_names *told_names_new(void)
{
	return calloc(1, sizeof(struct told_names));
}

static void told_names_free(struct told_names *n)
{
	for (size_t i = 0; n && i < n->nr; i++)
		free(n->list[i]);
	if (n)
		free(n->list);
	free(n);
}

static int told_names_take(struct told_names *n, const struct record *rec)
{
	struct record *copy;
	int err;

	if (rec->type != REC_MODULE && rec->type != REC_SYMBOL && rec->type != REC_BUILD_ID)
		return 0;
	copy = record_copy(rec);
	err = copy ? array_append(n->list, n->nr, n->cap, MAX_NAMES, copy) : -ENOMEM;
	if (err)
		free(copy);
	return err == -E2BIG ? 0 : err;
}

int told_calls_init(struct told_calls *t)
{
	t->list = slow_list_new();
	t->names = told_names_new();
	if (t->list && t->names)
		return 0;
	told_calls_release(t);
	return -ENOMEM;
}

void told_calls_release(struct told_calls *t)
{
	slow_list_free(t->list);
	told_names_free(t->names);
	*t = (struct told_calls){0};
}

int told_calls_take(struct told_calls *t, const struct record *rec)
{
	return slow_list_take(t->list, rec) ?: told_names_take(t->names, rec);
}

static struct rec_code function_of(const struct rec_op *op)
{
	if (op->layer == LAYER_SYSCALL)
		return (struct rec_code){REC_KERNEL_MODULE, REC_KERNEL_CALL | op->syscall_nr};
	return (struct rec_code){op->module_id, op->offset};
}

static void ask(struct descent_driver *d, const struct model *m, const struct rec_op *op,
		const struct rec_call *call)
{
	struct record rec = {.type = REC_DESCENT};

	descent_options_init(&rec.descent);
	rec.descent.op = op->op;
	rec.descent.function = function_of(op);
	rec.descent.low_ns = call->latency_ns;
	rec.descent.high_ns = call->latency_ns + 1;
	rec.descent.start_ops = 1;
	rec.descent.decision_ops = VOTES;
	rec.descent.minor_fault_ns = model_constant_ns(m, "page fault");
	driver_take(d, &rec);
}

/* The descent begins once a profile has a call of the peak, and f0's call sites are known: of a
 * function whose callees were not timed they are not. */
static void begin(struct descent_driver *d, const struct rec_op *op, const struct rec_call *call)
{
	struct record sites = {.type = REC_CALLEES}, rec = {.type = REC_PROFILE};
	struct profile_buckets buckets;
	struct profile one;

	profile_init(&one);
	one.calls = 1;
	one.sum_ns = one.min_ns = one.max_ns = call->latency_ns;
	one.count[pt_bucket(call->latency_ns)] = 1;
	profile_to_record(&one, op->op, &buckets, &rec.profile);
	rec.profile.end_ns = rec.profile.armed_ns = call->latency_ns;
	driver_take(d, &rec);
	sites.callees.function = function_of(op);
	sites.callees.error = op->layer == LAYER_SYSCALL ? 0 : -ENODATA;
	driver_take(d, &sites);
}

/* Feed the call with its sleeps, as one that was made `later_ns` later. */
static void tell(struct descent_driver *d, const struct rec_op *op,
		 const struct rec_slow_call *slow, uint64_t later_ns)
{
	const struct rec_frame f0 = {.module = function_of(op).module,
				     .offset = function_of(op).offset,
				     .function = function_of(op).offset};
	struct record rec = {.type = REC_WITNESS};

	/* before the call, after which the descent has seen enough */
	for (uint32_t i = 0; i < slow->nr_sleeps; i++) {
		rec.witness = slow->sleeps[i];
		rec.witness.at_ns += later_ns;
		if (!rec.witness.nr_frames) {
			rec.witness.frames = &f0;
			rec.witness.nr_frames = 1;
			rec.witness.partial = op->layer != LAYER_SYSCALL;
		}
		driver_take(d, &rec);
	}
	rec = (struct record){.type = REC_CALL, .call = slow->call};
	rec.call.epoch = FIRST_EPOCH;
	rec.call.start_ns += later_ns;
	driver_take(d, &rec);
}

struct descent_driver *told_call(const struct told_names *n, const struct model *m,
				 const struct rec_op *op, const struct rec_slow_call *slow)
{
	struct descent_driver *d = driver_new(NULL);
	struct record rec = {.type = REC_OP, .op = *op}, symbol = {.type = REC_SYMBOL};

	if (!d)
		return NULL;
	symbol.symbol = (struct rec_symbol){.module = function_of(op).module,
					    .offset = function_of(op).offset,
					    .symbol = op->label,
					    .function = op->label,
					    .file = ""};
	driver_take(d, &symbol);
	for (size_t i = 0; i < n->nr; i++)
		driver_take(d, n->list[i]);
	driver_take(d, &rec);
	ask(d, m, op, &slow->call);
	begin(d, op, &slow->call);
	for (uint64_t i = 0; i < VOTES; i++)
		tell(d, op, slow, i * 2 * (slow->call.raw_ns + slow->call.latency_ns));
	driver_stop(d);
	return d;
}
