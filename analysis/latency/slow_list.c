// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/slow_list.h"

#include "analysis/base/array.h"
#include "analysis/base/short_name.h"
#include "analysis/session/record_copy.h"

enum { MAX_OPS = 65536, MAX_NAME = 4096, LONG_NS = 1000000 };

/* When an operation was measured. */
struct measured {
	uint32_t op;
	uint64_t start_ns, end_ns; /* its slices */
	uint64_t armed_ns;
};

struct slow_list {
	struct measured *measured;
	size_t nr_measured, cap_measured;
	struct record **ops; /* REC_OP */
	size_t nr_ops, cap_ops;
	struct record **records; /* REC_SLOW_CALL; calls[i].call is in records[i] */
	struct slow_list_call *calls;
	size_t nr_records, cap_records, nr, cap;
	uint64_t clock_ahead_ns; /* wall clock minus time of the session */
	bool clock_known;
};

struct slow_list *slow_list_new(void)
{
	return calloc(1, sizeof(struct slow_list));
}

void slow_list_free(struct slow_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nr_ops; i++)
		free(l->ops[i]);
	for (size_t i = 0; i < l->nr_records; i++)
		free(l->records[i]);
	free(l->measured);
	free(l->ops);
	free(l->records);
	free(l->calls);
	free(l);
}

static const struct rec_op *op_of(const struct slow_list *l, uint32_t op)
{
	for (size_t i = l->nr_ops; i > 0; i--) {
		if (l->ops[i - 1]->op.op == op)
			return &l->ops[i - 1]->op;
	}
	return NULL;
}

/* Did the thread poll as the client of one connection, for most of the call? */
static bool waits_for_answer(const struct rec_slow_call *call)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < call->nr_sleeps; i++) {
		if (call->sleeps[i].sleep.flags & SLEEP_AS_CLIENT)
			ns += call->sleeps[i].weight_ns;
	}
	return ns > call->call.latency_ns / 2;
}

/* A thread that calls one of these has usually nothing else to do. */
static bool waits_for_work(const struct rec_op *op, const struct rec_slow_call *call)
{
	static const char *const calls[] = {
	    "epoll_wait",      "epoll_pwait",  "epoll_pwait2",	  "poll",	   "ppoll",
	    "select",	       "pselect6",     "accept",	  "accept4",	   "nanosleep",
	    "clock_nanosleep", "pause",	       "rt_sigtimedwait", "rt_sigsuspend", "wait4",
	    "waitid",	       "io_getevents", "restart_syscall"};

	if (op->layer != LAYER_SYSCALL)
		return false;
	/* of what a program uses futexes for, only waits for work are usually long */
	if (!strcmp(op->label, "futex"))
		return call->usual_ns > LONG_NS;
	return any_of(i, ARRAY_SIZE(calls), !strcmp(op->label, calls[i])) &&
	       !waits_for_answer(call);
}

static int keep(struct record ***list, size_t *nr, size_t *cap, size_t max,
		const struct record *rec)
{
	struct record *copy = record_copy(rec), **all = *list;
	int err = copy ? array_append(all, *nr, *cap, max, copy) : -ENOMEM;

	*list = all;
	if (err)
		free(copy);
	return err;
}

uint64_t slow_list_realtime_ns(const struct slow_list *l, uint64_t at_ns)
{
	return l->clock_known ? l->clock_ahead_ns + at_ns : 0;
}

static int take_call(struct slow_list *l, const struct record *rec)
{
	struct slow_list_call c = {.op = op_of(l, rec->slow_call.call.op)};
	int err;

	if (!c.op)
		return 0;
	err = keep(&l->records, &l->nr_records, &l->cap_records, SLOW_LIST_MAX, rec);
	if (err)
		return err;
	c.seen = 1;
	c.call = &l->records[l->nr_records - 1]->slow_call;
	c.realtime_ns = slow_list_realtime_ns(l, c.call->call.start_ns);
	c.waits_for_work = waits_for_work(c.op, c.call);
	return array_append(l->calls, l->nr, l->cap, SLOW_LIST_MAX, c);
}

static int take_profile(struct slow_list *l, const struct rec_profile *p)
{
	struct measured *m = find_first(i, l->measured, l->nr_measured, l->measured[i].op == p->op);

	if (!m) {
		const struct measured fresh = {.op = p->op, .start_ns = p->start_ns};
		int err =
		    array_append(l->measured, l->nr_measured, l->cap_measured, MAX_OPS, fresh);

		if (err)
			return err == -E2BIG ? 0 : err;
		m = &l->measured[l->nr_measured - 1];
	}
	m->end_ns = p->end_ns > m->end_ns ? p->end_ns : m->end_ns;
	m->armed_ns += p->armed_ns;
	return 0;
}

static double share_seen(const struct slow_list *l, uint32_t op)
{
	const struct measured *m =
	    find_first(i, l->measured, l->nr_measured, l->measured[i].op == op);

	if (!m || m->end_ns <= m->start_ns || m->armed_ns >= m->end_ns - m->start_ns)
		return 1;
	return (double)m->armed_ns / (double)(m->end_ns - m->start_ns);
}

int slow_list_take(struct slow_list *l, const struct record *rec)
{
	switch ((int)rec->type) {
	case REC_META:
		l->clock_ahead_ns = rec->meta.realtime_ns;
		l->clock_known = true;
		return 0;
	case REC_CLOCK:
		l->clock_ahead_ns = rec->clock.realtime_ns - rec->clock.at_ns;
		l->clock_known = true;
		return 0;
	case REC_OP:
		return keep(&l->ops, &l->nr_ops, &l->cap_ops, MAX_OPS, rec);
	case REC_PROFILE:
		return take_profile(l, &rec->profile);
	case REC_SLOW_CALL:
		return take_call(l, rec);
	default:
		return 0;
	}
}

size_t slow_list_nr(const struct slow_list *l)
{
	return l->nr;
}

const struct slow_list_call *slow_list_at(const struct slow_list *l, size_t i)
{
	return i < l->nr ? &l->calls[i] : NULL;
}

/* A function is also meant by its name without parameters, as answers print it. */
static bool is_named(const struct rec_op *op, const char *name)
{
	SCOPED_BUF(text, MAX_NAME);
	bool named =
	    !strcmp(op->name, name) || !strcmp(op->label, name) || !strcmp(op->requested, name);

	if (!named) {
		short_name(&text, op->label);
		named = text.data && !strcmp(text.data, name);
	}
	return named;
}

bool slow_list_has_op(const struct slow_list *l, const char *name)
{
	return any_of(i, l->nr_ops, is_named(&l->ops[i]->op, name));
}

/* Time between the call and the time in question; 0: the call was open then. */
static uint64_t distance(const struct slow_list_call *c, const struct slow_question *q)
{
	uint64_t end = c->realtime_ns + c->call->call.latency_ns;

	if (!q->to_ns)
		return 0;
	return c->realtime_ns >= q->to_ns ? c->realtime_ns - q->to_ns + 1
	       : end < q->from_ns	  ? q->from_ns - end
					  : 0;
}

static int slowest_first(const void *a, const void *b)
{
	const struct slow_list_call *x = *(const struct slow_list_call *const *)a,
				    *y = *(const struct slow_list_call *const *)b;

	return ascending(x->waits_for_work, y->waits_for_work)
		   ?: descending(x->call->call.latency_ns, y->call->call.latency_ns)
			  ?: ascending(x->call->call.start_ns, y->call->call.start_ns);
}

/* Of calls in order of which `most` are told, the slowest one that waits for work and is left out
 * although it is slower than one that is told; NULL: none. */
static const struct slow_list_call *left_out(const struct slow_list_call *const *calls, size_t nr,
					     size_t most)
{
	for (size_t i = most; most && i < nr; i++) {
		if (calls[i]->waits_for_work)
			return calls[i]->call->call.latency_ns >
				       calls[most - 1]->call->call.latency_ns
				   ? calls[i]
				   : NULL;
	}
	return NULL;
}

const struct slow_list_call **slow_list_pick(struct slow_list *l, const struct slow_question *q,
					     size_t *nr, struct slow_beside *beside)
{
	const struct slow_list_call **out = calloc(l->nr + 1, sizeof(*out));
	const struct rec_op *last = NULL;
	uint64_t least = UINT64_MAX;
	bool named = true;

	*nr = 0;
	*beside = (struct slow_beside){0};
	for (size_t i = 0; out && i < l->nr; i++) {
		struct slow_list_call *c = &l->calls[i];
		uint64_t far = distance(c, q);

		if (q->op && c->op != last) {
			last = c->op;
			named = is_named(last, q->op);
		}
		if (!named)
			continue;
		c->seen = share_seen(l, c->op->op);
		if (!far)
			out[(*nr)++] = c;
		if (far < least)
			beside->nearest = c;
		least = far < least ? far : least;
	}
	if (out && *nr)
		qsort(out, *nr, sizeof(*out), slowest_first);
	if (*nr) {
		beside->nearest = NULL;
		beside->left_out = left_out(out, *nr, q->most);
	}
	if (*nr > q->most)
		*nr = q->most;
	return out;
}
