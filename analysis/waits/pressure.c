// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/pressure.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/waits/timeline.h"
#include "analysis/waits/waits_impl.h"

enum { MAX_QUEUES = 256 };

/* A queue and the two tasks, by their numbers. */
struct queue {
	uint32_t waiter, other, object;
	bool full;
	uint64_t ns, count;
};

static bool is_full(enum wait_kind kind)
{
	return kind == WAIT_PIPE_FULL || kind == WAIT_LOCAL_FULL || kind == WAIT_NETWORK_FULL;
}

static bool is_empty(enum wait_kind kind)
{
	return kind == WAIT_PIPE_EMPTY || kind == WAIT_LOCAL;
}

/* Queues beyond the maximum are left out. */
static void add(struct queue *queues, uint32_t *nr, const struct segment *s, uint64_t ns)
{
	bool full = is_full((enum wait_kind)s->kind);
	uint32_t i = 0;

	while (i < *nr && (queues[i].waiter != s->task || queues[i].other != s->cause.task ||
			   queues[i].object != s->object || queues[i].full != full))
		i++;
	if (i == MAX_QUEUES)
		return;
	if (i == *nr)
		queues[(*nr)++] = (struct queue){
		    .waiter = s->task, .other = s->cause.task, .object = s->object, .full = full};
	queues[i].ns += ns;
	queues[i].count++;
}

static int by_time(const void *a, const void *b)
{
	const struct queue *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

uint32_t waits_pressure(const struct waits *w, struct waits_pressure *out, uint32_t max,
			uint64_t *span_ns)
{
	struct queue queues[MAX_QUEUES];
	uint64_t from, to;
	uint32_t nr = 0;
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
			if (s->state == SEGMENT_SLEEP && !s->lost && s->cause.kind == ENDER_TASK &&
			    s->cause.task >= FIRST_TASK &&
			    (is_full((enum wait_kind)s->kind) || is_empty((enum wait_kind)s->kind)))
				add(queues, &nr, s, s->to - (s->from > from ? s->from : from));
		}
	}
	free(wanted);
	if (nr)
		qsort(queues, nr, sizeof(queues[0]), by_time);
	nr = nr < max ? nr : max;
	for (uint32_t i = 0; i < nr; i++) {
		const struct queue *q = &queues[i];
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
	return nr;
}
