// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/ring_minute.h"

#include "analysis/base/array.h"
#include "analysis/session/frame.h"
#include "analysis/session/record_copy.h"
#include "bpf/buckets.h"

enum { MAX_OPS = 4096, MAX_RECORDS = 16384 };

/* All samples are wanted for so many slices after a record of a descent. */
enum { ALL_SLICES = 10 };

/* The profiles of an operation, added up. */
struct minute_profile {
	struct rec_profile sum;	      /* without buckets */
	uint64_t corrections, errors; /* correction_ns and error_ns times calls */
	uint64_t count[PT_BUCKETS];
	bool any;
};

struct minute_op {
	uint32_t op;
	struct minute_profile *profile; /* NULL: none yet */
};

/* The samples of an operation that may still be written. */
struct sample_budget {
	uint32_t op;
	uint32_t samples;
	uint64_t refilled_ns;
};

struct ring_budget {
	struct sample_budget *ops;
	size_t nr_ops, cap_ops;
	int64_t slow_bytes;
	bool in_window;		 /* between the begin and the end of a REC_WINDOW */
	unsigned int all_slices; /* for which all samples are wanted, with the present one */
};

/* A record that is kept as it is, or a slow call or its stack, which may be dropped. */
struct minute_record {
	struct record *rec;
	double slowness; /* of a slow call: latency divided by the limit */
	bool dropped;
};

struct ring_minute {
	struct minute_op *ops;
	size_t nr_ops, cap_ops;
	struct minute_record *records;
	size_t nr_records, cap_records;
	struct record **open; /* of the last slice */
	size_t nr_open, cap_open;
	bool open_is_new;
	struct record cost, loss, tick; /* type 0: none yet */
	bool as_it_is;			/* the minute is not merged */
};

struct ring_budget *ring_budget_new(void)
{
	struct ring_budget *b = calloc(1, sizeof(*b));

	if (b)
		b->slow_bytes = (int64_t)RING_MINUTE_SLOW_BYTES * RING_MINUTE_SAVED;
	return b;
}

void ring_budget_free(struct ring_budget *b)
{
	if (b)
		free(b->ops);
	free(b);
}

struct ring_minute *ring_minute_new(void)
{
	return calloc(1, sizeof(struct ring_minute));
}

static void forget_open(struct ring_minute *m)
{
	for (size_t i = 0; i < m->nr_open; i++)
		free(m->open[i]);
	m->nr_open = 0;
}

void ring_minute_begin(struct ring_minute *m)
{
	for (size_t i = 0; i < m->nr_records; i++)
		free(m->records[i].rec);
	for (size_t i = 0; i < m->nr_ops; i++) {
		if (m->ops[i].profile)
			m->ops[i].profile->any = false;
	}
	m->nr_records = 0;
	forget_open(m);
	m->open_is_new = m->as_it_is = false;
	m->cost.type = m->loss.type = m->tick.type = 0;
}

void ring_minute_free(struct ring_minute *m)
{
	if (!m)
		return;
	ring_minute_begin(m);
	for (size_t i = 0; i < m->nr_ops; i++)
		free(m->ops[i].profile);
	free(m->ops);
	free(m->records);
	free(m->open);
	free(m);
}

/* NULL: there are too many, or no memory. */
static struct minute_op *op_of(struct ring_minute *m, uint32_t op)
{
	struct minute_op *found = find_first(i, m->ops, m->nr_ops, m->ops[i].op == op);
	const struct minute_op fresh = {.op = op};

	if (found)
		return found;
	if (array_append(m->ops, m->nr_ops, m->cap_ops, MAX_OPS, fresh))
		return NULL;
	return &m->ops[m->nr_ops - 1];
}

/* Records that say the same wherever in the minute they stand. */
static bool stays(const struct record *rec)
{
	switch (rec->type) {
	case REC_META:
	case REC_TARGET:
	case REC_TARGET_END:
	case REC_MODULE:
	case REC_MAPPING:
	case REC_OP:
	case REC_SAMPLE:
	case REC_SITE:
	case REC_NEW_RETURN:
	case REC_SYMBOL:
	case REC_INLINES:
	case REC_BUILD_ID:
	case REC_CONSTANT:
	case REC_CHECK:
	case REC_NOTE:
	case REC_CLOCK:
	case REC_SLOW_CALL:
	case REC_BOOKMARK:
	case REC_MARK:
	case REC_ACK:
	case REC_REFUSED:
		return true;
	case REC_WITNESS:
		return rec->witness.epoch == SLOW_CALL_EPOCH;
	default:
		return false;
	}
}

/* Records of which a minute has one in the end. */
static bool is_of_slice(const struct record *rec)
{
	return rec->type == REC_PROFILE || rec->type == REC_OPEN || rec->type == REC_COST ||
	       rec->type == REC_LOSS || rec->type == REC_TICK;
}

/* The chains of waits of a descent are those of the calls of which there are samples. A descent
 * that is over does not say so: it is over when its records cease. */
static void watch_descent(struct ring_budget *b, const struct record *rec)
{
	if (rec->type == REC_WINDOW && rec->window.edge != WINDOW_CPU)
		b->in_window = rec->window.edge == WINDOW_BEGIN;
	if (b->in_window || (!stays(rec) && !is_of_slice(rec)))
		b->all_slices = ALL_SLICES;
	else if (rec->type == REC_TICK && b->all_slices)
		b->all_slices--;
}

static void refill(struct sample_budget *op, uint64_t now_ns)
{
	const uint64_t minutes =
	    now_ns > op->refilled_ns ? (now_ns - op->refilled_ns) / RING_MINUTE_NS : 0;
	uint64_t samples = op->samples + minutes * RING_MINUTE_SAMPLES;

	if (samples > RING_MINUTE_SAMPLES_SAVED)
		samples = RING_MINUTE_SAMPLES_SAVED;
	op->samples = (uint32_t)samples;
	op->refilled_ns += minutes * RING_MINUTE_NS;
}

bool ring_budget_wants(struct ring_budget *b, const struct record *rec)
{
	const struct rec_sample *s = &rec->sample;
	const struct sample_budget fresh = {.op = s->op, .samples = RING_MINUTE_SAMPLES_SAVED};
	struct sample_budget *op;

	watch_descent(b, rec);
	if (rec->type != REC_SAMPLE || b->all_slices)
		return true;
	op = find_first(i, b->ops, b->nr_ops, b->ops[i].op == s->op);
	if (!op && array_append(b->ops, b->nr_ops, b->cap_ops, MAX_OPS, fresh))
		return false;
	if (!op)
		op = &b->ops[b->nr_ops - 1];
	refill(op, s->start_ns);
	if (!op->samples)
		return false;
	op->samples--;
	return true;
}

static void add_sums(struct rec_profile *to, const struct rec_profile *r)
{
	to->calls += r->calls;
	to->sum_ns += r->sum_ns;
	to->abnormal += r->abnormal;
	to->unseen += r->unseen;
	to->armed_ns += r->armed_ns;
	to->cpu_ns += r->cpu_ns;
	to->armed_cpu_ns += r->armed_cpu_ns;
	to->probe_ns += r->probe_ns;
	to->run_calls += r->run_calls;
	to->run_ns += r->run_ns;
	to->switch_calls += r->switch_calls;
	to->switch_cpu_ns += r->switch_cpu_ns;
	to->cycle_calls += r->cycle_calls;
	to->cycles += r->cycles;
	to->gaps += r->gaps;
	to->gap_cpu_ns += r->gap_cpu_ns;
	to->gap_sleeper_cpu_ns += r->gap_sleeper_cpu_ns;
	to->gap_sleeps += r->gap_sleeps;
	to->ticks += r->ticks;
	to->ticks_in += r->ticks_in;
	to->program_ns += r->program_ns;
	to->callers += r->callers;
}

static void add_profile(struct minute_profile *p, const struct rec_profile *r)
{
	struct rec_profile *to = &p->sum;

	if (!p->any) {
		memset(p, 0, sizeof(*p));
		to->op = r->op;
		to->start_ns = r->start_ns;
		p->any = true;
	}
	if (r->calls && (!to->calls || r->min_ns < to->min_ns))
		to->min_ns = r->min_ns;
	if (r->max_ns > to->max_ns)
		to->max_ns = r->max_ns;
	add_sums(to, r);
	to->end_ns = r->end_ns;
	to->open = r->open;
	to->oldest_open_ns = r->oldest_open_ns;
	p->corrections += r->correction_ns * r->calls;
	p->errors += r->error_ns * r->calls;
	for (uint32_t i = 0; i < r->nr_buckets; i++) {
		if (r->bucket[i] < PT_BUCKETS)
			p->count[r->bucket[i]] += r->count[i];
	}
}

/* Returns false if it cannot be kept. */
static bool take_profile(struct ring_minute *m, const struct rec_profile *r)
{
	struct minute_op *op = op_of(m, r->op);

	if (op && !op->profile)
		op->profile = calloc(1, sizeof(*op->profile));
	if (!op || !op->profile)
		return false;
	add_profile(op->profile, r);
	return true;
}

static bool take_open(struct ring_minute *m, const struct record *rec)
{
	struct record *copy;

	if (!m->open_is_new)
		forget_open(m);
	m->open_is_new = true;
	copy = record_copy(rec);
	if (copy && !array_append(m->open, m->nr_open, m->cap_open, MAX_RECORDS, copy))
		return true;
	free(copy);
	return false;
}

static void take_tick(struct ring_minute *m, const struct record *rec)
{
	const struct rec_tick before = m->tick.type ? m->tick.tick : rec->tick;

	if (!m->open_is_new)
		forget_open(m);
	m->open_is_new = false;
	m->tick = *rec;
	m->tick.tick.start_ns = before.start_ns;
	/* a layer that was off for a part of the minute was measured in it */
	m->tick.tick.layers |= before.layers;
}

static bool take_record(struct ring_minute *m, const struct record *rec)
{
	struct minute_record r = {.rec = stays(rec) ? record_copy(rec) : NULL};

	if (r.rec && rec->type == REC_SLOW_CALL)
		r.slowness =
		    (double)rec->slow_call.call.latency_ns / (double)(rec->slow_call.limit_ns ?: 1);
	if (r.rec && !array_append(m->records, m->nr_records, m->cap_records, MAX_RECORDS, r))
		return true;
	free(r.rec);
	return false;
}

void ring_minute_take(struct ring_minute *m, const struct record *rec)
{
	bool taken = true;

	switch (rec->type) {
	case REC_PROFILE:
		taken = take_profile(m, &rec->profile);
		break;
	case REC_OPEN:
		taken = take_open(m, rec);
		break;
	case REC_COST:
		m->cost = *rec;
		break;
	case REC_LOSS:
		m->loss = *rec;
		break;
	case REC_TICK:
		take_tick(m, rec);
		break;
	default:
		taken = take_record(m, rec);
	}
	m->as_it_is |= !taken;
}

bool ring_minute_is_over(const struct ring_minute *m)
{
	return m->tick.type && m->tick.tick.end_ns >= m->tick.tick.start_ns + RING_MINUTE_NS;
}

static bool is_stack_of(const struct record *rec, const struct rec_call *call)
{
	const struct rec_witness *w = &rec->witness;

	return rec->type == REC_WITNESS && w->op == call->op && w->tid == call->tid &&
	       w->at_ns >= call->start_ns && w->at_ns <= call->start_ns + call->raw_ns;
}

/* Stacks of calls of an earlier minute are not dropped. */
static void mark_dropped(struct ring_minute *m, struct minute_record *slow)
{
	slow->dropped = true;
	for (size_t i = 0; i < m->nr_records; i++) {
		if (is_stack_of(m->records[i].rec, &slow->rec->slow_call.call))
			m->records[i].dropped = true;
	}
}

/* Mark a slow call and its stacks as kept if there are bytes for it. 0 or as frame_encode(). */
static int keep_call(struct ring_minute *m, struct ring_budget *b, struct minute_record *slow,
		     struct buf *frame)
{
	const struct rec_call *call = &slow->rec->slow_call.call;
	int err;

	buf_reset(frame);
	err = frame_encode(frame, slow->rec, 0);
	for (size_t i = 0; i < m->nr_records && !err && (int64_t)frame->len <= b->slow_bytes; i++) {
		if (is_stack_of(m->records[i].rec, call))
			err = frame_encode(frame, m->records[i].rec, 0);
	}
	if (err || (int64_t)frame->len > b->slow_bytes)
		return err;
	b->slow_bytes -= (int64_t)frame->len;
	slow->dropped = false;
	for (size_t i = 0; i < m->nr_records; i++) {
		if (is_stack_of(m->records[i].rec, call))
			m->records[i].dropped = false;
	}
	return 0;
}

static int slowest_first(const void *a, const void *b)
{
	const struct minute_record *x = *(struct minute_record *const *)a,
				   *y = *(struct minute_record *const *)b;

	return descending(x->slowness, y->slowness) ?: ascending(x, y);
}

/* Decide which slow calls are kept. 0, -ENOMEM, or as frame_encode(). */
static int choose_slow(struct ring_minute *m, struct ring_budget *b, struct buf *frame)
{
	struct minute_record **slow = calloc(m->nr_records + 1, sizeof(struct minute_record *));
	const int64_t most = (int64_t)RING_MINUTE_SLOW_BYTES * RING_MINUTE_SAVED;
	const uint64_t took = m->tick.tick.end_ns - m->tick.tick.start_ns;
	size_t n = 0;
	int err = slow ? 0 : -ENOMEM;

	b->slow_bytes +=
	    (int64_t)((double)RING_MINUTE_SLOW_BYTES * (double)took / (double)RING_MINUTE_NS);
	if (b->slow_bytes > most)
		b->slow_bytes = most;
	for (size_t i = 0; i < m->nr_records && !err; i++) {
		struct minute_record *r = &m->records[i];

		if (r->rec->type != REC_SLOW_CALL)
			continue;
		mark_dropped(m, r);
		slow[n++] = r;
	}
	if (!err)
		qsort(slow, n, sizeof(struct minute_record *), slowest_first);
	for (size_t i = 0; i < n && !err && b->slow_bytes > FRAME_HEADER_SIZE; i++)
		err = keep_call(m, b, slow[i], frame);
	free(slow);
	return err;
}

static int put(struct buf *out, const struct record *rec, uint32_t *sequence)
{
	return rec->type ? frame_encode(out, rec, (*sequence)++) : 0;
}

static int put_profile(struct buf *out, const struct minute_profile *p, uint32_t *sequence)
{
	struct record rec = {.type = REC_PROFILE, .profile = p->sum};
	uint32_t bucket[PT_BUCKETS];
	uint64_t count[PT_BUCKETS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < PT_BUCKETS; i++) {
		if (!p->count[i])
			continue;
		bucket[n] = i;
		count[n++] = p->count[i];
	}
	rec.profile.nr_buckets = n;
	rec.profile.bucket = bucket;
	rec.profile.count = count;
	if (p->sum.calls) {
		rec.profile.correction_ns = p->corrections / p->sum.calls;
		rec.profile.error_ns = p->errors / p->sum.calls;
	}
	return put(out, &rec, sequence);
}

int ring_minute_encode(struct ring_minute *m, struct ring_budget *b, struct buf *out,
		       uint32_t *sequence)
{
	struct buf frame = {.max = out->max};
	int err = m->as_it_is || !m->tick.type ? -ENOTSUP : choose_slow(m, b, &frame);

	buf_release(&frame);
	for (size_t i = 0; i < m->nr_records && !err; i++) {
		if (!m->records[i].dropped)
			err = put(out, m->records[i].rec, sequence);
	}
	for (size_t i = 0; i < m->nr_ops && !err; i++) {
		if (m->ops[i].profile && m->ops[i].profile->any)
			err = put_profile(out, m->ops[i].profile, sequence);
	}
	for (size_t i = 0; i < m->nr_open && !err; i++)
		err = put(out, m->open[i], sequence);
	err = err ?: put(out, &m->cost, sequence);
	err = err ?: put(out, &m->loss, sequence);
	return err ?: put(out, &m->tick, sequence);
}
