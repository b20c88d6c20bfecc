// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/ordinary.h"

#include "analysis/base/array.h"
#include "analysis/latency/samples.h"

enum { MAX_OPS = 1024, CALLS_OF_OP = 256 };

struct ordinary_op {
	uint32_t op;
	struct samples samples;
};

struct ordinary {
	struct ordinary_op *ops;
	size_t nr, cap;
};

struct ordinary *ordinary_new(void)
{
	return calloc(1, sizeof(struct ordinary));
}

void ordinary_free(struct ordinary *o)
{
	for (size_t i = 0; o && i < o->nr; i++)
		samples_release(&o->ops[i].samples);
	if (o)
		free(o->ops);
	free(o);
}

static struct ordinary_op *of_op(const struct ordinary *o, uint32_t op)
{
	return find_first(i, o->ops, o->nr, o->ops[i].op == op);
}

int ordinary_take(struct ordinary *o, const struct record *rec)
{
	struct ordinary_op fresh = {0}, *to;
	int err;

	if (rec->type != REC_SAMPLE)
		return 0;
	to = of_op(o, rec->sample.op);
	if (!to) {
		fresh.op = rec->sample.op;
		samples_init(&fresh.samples);
		err = array_append(o->ops, o->nr, o->cap, MAX_OPS, fresh);
		if (err)
			return err == -E2BIG ? 0 : err;
		to = &o->ops[o->nr - 1];
	}
	return samples_add(&to->samples, &rec->sample, CALLS_OF_OP);
}

/* The call as a sample. */
static struct call_sample sample_of(const struct rec_slow_call *slow)
{
	const struct rec_call *c = &slow->call;
	struct call_sample s = {.start_ns = c->start_ns,
				.latency_ns = c->latency_ns,
				.oncpu_ns = c->oncpu_ns,
				.tid = c->tid,
				.minor_faults = (uint32_t)c->minor_faults,
				.major_faults = (uint32_t)c->major_faults,
				.sleeps = slow->blocked,
				.known = (uint16_t)slow->known};

	if (c->known & CALL_KNOWN_ONCPU)
		s.known |= SAMPLE_ONCPU;
	if (c->known & CALL_KNOWN_BLOCKED)
		s.known |= SAMPLE_SWITCHES;
	if (c->known & CALL_KNOWN_FAULTS)
		s.known |= SAMPLE_FAULTS;
	memcpy(s.args, slow->args, sizeof(s.args));
	return s;
}

void ordinary_differences(const struct ordinary *o, const struct op *op,
			  const struct rec_slow_call *slow, struct values *out)
{
	const struct ordinary_op *of = of_op(o, op->op);
	const struct call_sample one = sample_of(slow);
	const struct call_sample *call[CALLS_OF_OP];
	double weight[CALLS_OF_OP];
	struct value_table *t;
	unsigned int n = 0;

	out->nr = 0;
	for (unsigned int d = 0; of && d < PT_DOUBLINGS; d++) {
		for (unsigned int i = 0; i < of->samples.stratum[d].nr && n < CALLS_OF_OP; i++) {
			call[n] = &of->samples.stratum[d].call[i];
			weight[n] = 1;
			n += call[n]->latency_ns <= slow->limit_ns;
		}
	}
	t = n ? value_table_new(call, weight, n, op) : NULL;
	if (t)
		values_of_call(t, &one, out);
	value_table_free(t);
}
