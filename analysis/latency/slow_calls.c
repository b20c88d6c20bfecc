// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/slow_calls.h"

#include "analysis/base/array.h"
#include "analysis/latency/profile_record.h"

#define MINUTE_NS 60000000000ull
#define HOUR_NS (60 * MINUTE_NS)
#define SLOW_QUANTILE 0.999

enum { MAX_OPS = 4096 };

struct slow_op {
	uint32_t op;
	struct profile usual; /* its calls, older ones with less weight */
	uint64_t halved_ns;
	uint64_t limit_ns, told_ns; /* as of now, and as the collector knows it */
	uint64_t minute;
	unsigned int nr;
	uint64_t kept[SLOW_CALLS_PER_MINUTE]; /* latencies of the slowest of this minute */
};

struct slow_calls {
	struct slow_op **ops;
	size_t nr, cap;
};

struct slow_calls *slow_calls_new(void)
{
	return calloc(1, sizeof(struct slow_calls));
}

void slow_calls_free(struct slow_calls *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++)
		free(s->ops[i]);
	free(s->ops);
	free(s);
}

static struct slow_op *find(const struct slow_calls *s, uint32_t op)
{
	struct slow_op **found = find_first(i, s->ops, s->nr, s->ops[i]->op == op);

	return found ? *found : NULL;
}

/* Only calls that a thread makes can be followed through its sleeps. */
static void add(struct slow_calls *s, const struct rec_op *op)
{
	struct slow_op *o;

	if ((op->layer != LAYER_SYSCALL && op->layer != LAYER_FUNCTION) || find(s, op->op))
		return;
	o = calloc(1, sizeof(*o));
	if (!o || array_append(s->ops, s->nr, s->cap, MAX_OPS, o)) {
		free(o);
		return;
	}
	o->op = op->op;
	profile_init(&o->usual);
}

static void halve(struct profile *p)
{
	p->calls = 0;
	p->sum_ns /= 2;
	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		p->count[i] /= 2;
		p->calls += p->count[i];
	}
}

static void count(struct slow_op *o, const struct rec_profile *r)
{
	struct profile slice;

	if (!r->nr_buckets || profile_of_record(&slice, r))
		return;
	if (!o->halved_ns)
		o->halved_ns = r->start_ns + 1;
	while (r->end_ns > o->halved_ns + HOUR_NS) {
		halve(&o->usual);
		o->halved_ns += HOUR_NS;
	}
	profile_merge(&o->usual, &slice);
	o->limit_ns = o->usual.calls < SLOW_CALLS_LEAST
			  ? 0
			  : bucket_high_ns(pt_bucket(profile_quantile(&o->usual, SLOW_QUANTILE)),
					   PT_RESOLUTION);
}

void slow_calls_take(struct slow_calls *s, const struct record *rec)
{
	struct slow_op *o;

	if (rec->type == REC_OP)
		add(s, &rec->op);
	if (rec->type != REC_PROFILE)
		return;
	o = find(s, rec->profile.op);
	if (o)
		count(o, &rec->profile);
}

bool slow_calls_changed(struct slow_calls *s, struct req_keep *out)
{
	struct slow_op **found =
	    find_first(i, s->ops, s->nr, s->ops[i]->limit_ns != s->ops[i]->told_ns);

	if (!found)
		return false;
	(*found)->told_ns = (*found)->limit_ns;
	*out = (struct req_keep){.op = (*found)->op, .least_ns = (*found)->limit_ns};
	return true;
}

bool slow_calls_keeps(struct slow_calls *s, const struct rec_call *call)
{
	struct slow_op *o = find(s, call->op);
	uint64_t minute = (call->start_ns + call->latency_ns) / MINUTE_NS;
	unsigned int least = 0;

	if (!o)
		return false;
	if (minute != o->minute)
		o->nr = 0;
	o->minute = minute;
	if (o->nr < SLOW_CALLS_PER_MINUTE) {
		o->kept[o->nr++] = call->latency_ns;
		return true;
	}
	for (unsigned int i = 1; i < o->nr; i++)
		least = o->kept[i] < o->kept[least] ? i : least;
	if (call->latency_ns <= o->kept[least])
		return false;
	o->kept[least] = call->latency_ns;
	return true;
}

uint64_t slow_calls_usual(const struct slow_calls *s, uint32_t op)
{
	const struct slow_op *o = find(s, op);

	return o && o->usual.calls ? profile_quantile(&o->usual, 0.5) : 0;
}
