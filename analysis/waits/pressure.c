// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/pressure.h"

#include "analysis/base/array.h"
#include "analysis/waits/timeline.h"
#include "analysis/waits/waits_impl.h"

/* A queue and the two tasks, by their numbers. */
struct task_queue {
	uint32_t waiter, other, object;
	bool full;
	uint64_t ns, count;
};

static bool is_full(enum wait_kind kind)
{
	return kind == WAIT_PIPE_FULL || kind == WAIT_LOCAL_FULL || kind == WAIT_DATAGRAM_FULL ||
	       kind == WAIT_NETWORK_FULL;
}

static bool is_empty(enum wait_kind kind)
{
	return kind == WAIT_PIPE_EMPTY || kind == WAIT_LOCAL;
}

static int by_queue(const void *a, const void *b)
{
	const struct task_queue *x = a, *y = b;

	return ascending(x->waiter, y->waiter) ?: ascending(x->other, y->other)
	       ?: ascending(x->object, y->object) ?: x->full - y->full;
}

static int by_time(const void *a, const void *b)
{
	const struct task_queue *x = a, *y = b;

	return descending(x->ns, y->ns) ?: by_queue(a, b);
}

/* Joins the sleeps of equal queues. Returns how many queues there are. */
static uint32_t join(struct task_queue *queues, uint32_t nr)
{
	uint32_t n = 0;

	if (nr)
		qsort(queues, nr, sizeof(*queues), by_queue);
	for (uint32_t i = 0; i < nr; i++) {
		if (n && !by_queue(&queues[n - 1], &queues[i])) {
			queues[n - 1].ns += queues[i].ns;
			queues[n - 1].count++;
		} else {
			queues[n++] = queues[i];
		}
	}
	return n;
}

static bool is_of_queue(const struct segment *s)
{
	enum wait_kind kind = (enum wait_kind)s->kind;

	return s->state == SEGMENT_SLEEP && !s->lost && s->cause.kind == ENDER_TASK &&
	       s->cause.task >= FIRST_TASK && (is_full(kind) || is_empty(kind));
}

uint32_t waits_pressure(const struct waits *w, struct waits_pressure *out, uint32_t max,
			uint64_t *span_ns)
{
	uint32_t nr = 0, cap = 0;
	struct task_queue *queues = NULL;
	uint64_t from, to;
	bool *wanted;

	*span_ns = 0;
	if (!waits_span(w, UINT64_MAX, 0, &from, &to))
		return 0;
	*span_ns = to - from;
	wanted = tasks_wanted(w, from, to);
	for (uint32_t i = FIRST_TASK; wanted && i < w->tasks.nr; i++) {
		struct segment_cursor c = {.w = w, .task = task_at(w, i)};
		const struct segment *s;

		while (wanted[i] && (s = segment_next(&c)) && s->to > from) {
			if (!is_of_queue(s) || array_grow(queues, nr, cap, UINT32_MAX))
				continue;
			queues[nr++] =
			    (struct task_queue){.waiter = s->task,
						.other = s->cause.task,
						.object = s->object,
						.full = is_full((enum wait_kind)s->kind),
						.ns = s->to - (s->from > from ? s->from : from),
						.count = 1};
		}
	}
	free(wanted);
	nr = join(queues, nr);
	if (nr)
		qsort(queues, nr, sizeof(queues[0]), by_time);
	nr = nr < max ? nr : max;
	for (uint32_t i = 0; i < nr; i++) {
		const struct task_queue *q = &queues[i];
		const struct wait_task *a = task_at(w, q->waiter), *b = task_at(w, q->other);

		out[i] = (struct waits_pressure){
		    .queue = q->object && q->object < w->nr_objects
				 ? texts_get(w->texts, w->objects[q->object].name)
				 : "",
		    .waiter = texts_get(w->texts, a->comm),
		    .other = texts_get(w->texts, b->comm),
		    .waiter_tid = a->tid,
		    .other_tid = b->tid,
		    .full = q->full,
		    .ns = q->ns,
		    .count = q->count};
	}
	free(queues);
	return nr;
}
