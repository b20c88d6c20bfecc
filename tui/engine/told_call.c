// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/told_call.h"

#include "analysis/base/array.h"
#include "analysis/latency/profile_record.h"
#include "analysis/session/record_copy.h"
#include "tui/engine/told_sites.h"

enum {
	MAX_NAMES = 65536,
	MAX_STACKS = 16384, /* of 1 to 3 kB: of a long stream, those that came last */
	STACKS_OF_CALL = 128,
	MAX_TURNS = 1000,
	VOTES = 20, /* a descent decides by the votes of several calls: this one votes as often */
};

/* Shorter parts of a call on the CPU need no samples. */
#define WORTH_SAMPLES 0.05

struct kept_stack {
	uint64_t at_ns;
	struct record *rec; /* REC_WITNESS */
};

struct told_names {
	struct record **list;
	size_t nr, cap;
	struct kept_stack *stacks;
	size_t nr_stacks, cap_stacks;
	size_t oldest;	       /* index in stacks, once there are MAX_STACKS */
	uint64_t forgotten_ns; /* stacks until then were dropped */
	struct ordinary *ordinary;
};

static struct told_names *told_names_new(void)
{
	struct told_names *n = calloc(1, sizeof(*n));

	if (n)
		n->ordinary = ordinary_new();
	if (n && !n->ordinary) {
		free(n);
		return NULL;
	}
	return n;
}

static void told_names_free(struct told_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->nr; i++)
		free(n->list[i]);
	for (size_t i = 0; i < n->nr_stacks; i++)
		free(n->stacks[i].rec);
	ordinary_free(n->ordinary);
	free(n->list);
	free(n->stacks);
	free(n);
}

static bool is_stack(const struct record *rec)
{
	return rec->type == REC_WITNESS && rec->witness.epoch == SLOW_CALL_EPOCH;
}

/* Keep a stack, if need be in place of the oldest one. 0 or -ENOMEM; then it is not kept. */
static int keep_stack(struct told_names *n, struct record *rec)
{
	const struct kept_stack fresh = {rec->witness.at_ns, rec};
	struct kept_stack *old;
	int err = array_append(n->stacks, n->nr_stacks, n->cap_stacks, MAX_STACKS, fresh);

	if (err != -E2BIG)
		return err;
	old = &n->stacks[n->oldest];
	n->oldest = (n->oldest + 1) % n->nr_stacks;
	if (n->forgotten_ns < old->at_ns)
		n->forgotten_ns = old->at_ns;
	free(old->rec);
	*old = fresh;
	return 0;
}

static int told_names_take(struct told_names *n, const struct record *rec)
{
	const bool stack = is_stack(rec);
	struct record *copy;
	int err;

	if (rec->type != REC_MODULE && rec->type != REC_SYMBOL && rec->type != REC_BUILD_ID &&
	    !stack)
		return 0;
	copy = record_copy(rec);
	if (!copy)
		return -ENOMEM;
	err = stack ? keep_stack(n, copy) : array_append(n->list, n->nr, n->cap, MAX_NAMES, copy);
	if (err)
		free(copy);
	return err == -E2BIG ? 0 : err;
}

/* The next stack that was seen inside the call, in the order of the stream; NULL: no more. *i: 0 at
 * the begin. */
static const struct rec_witness *next_inside(const struct told_names *n,
					     const struct rec_call *call, size_t *i)
{
	while (*i < n->nr_stacks) {
		const struct kept_stack *k = &n->stacks[(n->oldest + (*i)++) % n->nr_stacks];

		if (k->at_ns >= call->start_ns && k->at_ns <= call->start_ns + call->raw_ns &&
		    k->rec->witness.op == call->op && k->rec->witness.tid == call->tid)
			return &k->rec->witness;
	}
	return NULL;
}

void told_seen(const struct told_names *n, const struct rec_slow_call *slow, struct told_seen *out)
{
	const struct rec_witness *w;
	size_t i = 0;

	*out = (struct told_seen){.forgotten = slow->call.start_ns <= n->forgotten_ns};
	while ((w = next_inside(n, &slow->call, &i))) {
		out->sleeps += w->kind == WITNESS_SLEEP;
		out->samples += w->kind == WITNESS_RUN;
	}
}

void told_differences(const struct told_names *n, const struct op *op,
		      const struct rec_slow_call *slow, struct values *out)
{
	ordinary_differences(n->ordinary, op, slow, out);
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
	return slow_list_take(t->list, rec)
		   ?: told_names_take(t->names, rec) ?: ordinary_take(t->names->ordinary, rec);
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

/* The descent begins once a profile has a call of the peak, and f0's call sites are known: without
 * stacks inside it they are not. */
static void begin(struct descent_driver *d, const struct rec_op *op, const struct told_stacks *s,
		  const struct rec_call *call)
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
	told_callees(d, s);
	sites.callees.function = function_of(op);
	sites.callees.error = op->layer == LAYER_SYSCALL ? 0 : -ENODATA;
	driver_take(d, &sites);
}

/* Let the samples, which are of taken_ns, stand for the time on the CPU, if that is known, else for
 * at most the call; and in any case for those that were left out. */
static void weigh(struct told_stacks *s, const struct rec_call *call, uint64_t taken_ns)
{
	uint64_t cpu = call->known & CALL_KNOWN_ONCPU ? call->oncpu_ns : call->latency_ns;
	uint64_t all = s->run_ns;

	s->covers_cpu =
	    (double)cpu < WORTH_SAMPLES * (double)call->latency_ns || 2 * s->run_ns > cpu;
	if (s->covers_cpu && (call->known & CALL_KNOWN_ONCPU || s->run_ns > cpu))
		all = cpu;
	if (!taken_ns || all == taken_ns)
		return;
	for (size_t i = 0; i < s->nr; i++) {
		if (s->list[i].kind == WITNESS_RUN)
			s->list[i].weight_ns = (uint64_t)((double)s->list[i].weight_ns *
							  (double)all / (double)taken_ns);
	}
}

/* Fill in the sleeps of a call, with the stacks with which they began where these were recorded.
 * Returns the number of its samples. */
static size_t sleeps_of(const struct told_names *n, const struct rec_slow_call *slow,
			struct told_stacks *s)
{
	const struct rec_witness *w;
	size_t i = 0, samples = 0;

	while (s->nr < slow->nr_sleeps && s->nr < STACKS_OF_CALL) {
		s->list[s->nr] = slow->sleeps[s->nr];
		s->nr++;
	}
	while ((w = next_inside(n, &slow->call, &i))) {
		samples += w->kind == WITNESS_RUN;
		for (size_t k = 0; w->kind == WITNESS_SLEEP && k < s->nr; k++) {
			if (s->list[k].at_ns == w->at_ns)
				s->list[k] = *w;
		}
	}
	return samples;
}

/* The sleeps and samples of a call, with their frames where there are any; of many samples some,
 * spread evenly over it. 0 or -ENOMEM. */
static int stacks_of(const struct told_names *n, const struct rec_slow_call *slow,
		     struct told_stacks *s)
{
	size_t i = 0, nr = 0, samples, share;
	uint64_t taken_ns = 0;
	const struct rec_witness *w;

	s->list = calloc(STACKS_OF_CALL, sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	samples = sleeps_of(n, slow, s);
	share = samples < STACKS_OF_CALL - s->nr ? samples : STACKS_OF_CALL - s->nr;
	while ((w = next_inside(n, &slow->call, &i))) {
		if (w->kind != WITNESS_RUN)
			continue;
		s->run_ns += w->weight_ns;
		nr++;
		if (nr * share / samples == (nr - 1) * share / samples)
			continue;
		s->list[s->nr++] = *w;
		taken_ns += w->weight_ns;
	}
	weigh(s, &slow->call, taken_ns);
	return told_functions(s, &slow->call);
}

/* Feed one sleep or sample; without frames it is one of the operation itself. */
static void tell_stack(struct descent_driver *d, const struct rec_op *op,
		       const struct rec_witness *w, uint64_t later_ns)
{
	const struct rec_frame f0 = {.module = function_of(op).module,
				     .offset = function_of(op).offset,
				     .function = function_of(op).offset};
	struct record rec = {.type = REC_WITNESS, .witness = *w};

	rec.witness.at_ns += later_ns;
	if (!rec.witness.nr_frames) {
		rec.witness.frames = &f0;
		rec.witness.nr_frames = 1;
		rec.witness.partial = op->layer != LAYER_SYSCALL;
	}
	driver_take(d, &rec);
}

/* Feed the call with what was seen inside it, as one that was made `later_ns` later. */
static void tell(struct descent_driver *d, const struct told_stacks *s, const struct rec_op *op,
		 const struct rec_call *call, uint64_t later_ns)
{
	struct rec_call_node nodes[DESCENT_MAX_SITES];
	struct record rec = {.type = REC_CALL, .call = *call};

	told_callees(d, s);
	/* before the call, after which the descent has seen enough */
	for (size_t i = 0; i < s->nr; i++)
		tell_stack(d, op, &s->list[i], later_ns);
	rec.call.epoch = driver_epoch(d);
	rec.call.start_ns += later_ns;
	rec.call.nodes = nodes;
	rec.call.nr_nodes = told_nodes(d, function_of(op), s, nodes);
	driver_take(d, &rec);
}

struct descent_driver *told_call(const struct told_names *n, const struct model *m,
				 const struct rec_op *op, const struct rec_slow_call *slow)
{
	struct descent_driver *d = driver_new(NULL);
	struct record rec = {.type = REC_OP, .op = *op}, symbol = {.type = REC_SYMBOL};
	struct told_stacks stacks = {0};

	if (!d || stacks_of(n, slow, &stacks)) {
		told_stacks_release(&stacks);
		driver_free(d);
		return NULL;
	}
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
	begin(d, op, &stacks, &slow->call);
	for (uint64_t i = 0; i < MAX_TURNS && !driver_over(d); i++)
		tell(d, &stacks, op, &slow->call,
		     i * 2 * (slow->call.raw_ns + slow->call.latency_ns));
	driver_stop(d);
	told_stacks_release(&stacks);
	return d;
}
