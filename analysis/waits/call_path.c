// SPDX-License-Identifier: GPL-2.0-or-later
/* The critical path of one call, backwards over what is remembered. */

#include "analysis/waits/critical_impl.h"
#include "analysis/waits/critical_names.h"

/* Time only goes back, so the search in a task's segments goes on where it stopped. */
enum { CURSORS = 64, MAX_BACK = MAX_STEPS };
struct back {
	struct waits *w;
	struct critical_path *sum;
	uint64_t entry;
	uint32_t caller; /* the task that made the call */
	uint32_t steps;
	struct {
		uint32_t task;
		uint64_t number; /* + 1 */
	} cursor[CURSORS];
};

static void add(struct back *b, uint32_t state, uint64_t from, uint64_t to)
{
	from = from > b->entry ? from : b->entry;
	if (to <= from)
		return;
	b->sum->length_ns += to - from;
	b->sum->states[state].critical_ns += to - from;
	b->sum->states[state].count++;
}

/* The segment of a task in which `t` lies, or that ends there. */
static const struct segment *segment_before(struct back *b, uint32_t task, uint64_t t,
					    struct segment *open)
{
	const struct wait_task *k = task_at(b->w, task);
	const struct segment *s;
	uint64_t number = k->tail;

	*open = k->now;
	open->to = UINT64_MAX;
	if (open->state != SEGMENT_NONE && open->state != SEGMENT_GONE && open->from < t)
		return open;
	if (b->cursor[task % CURSORS].task == task)
		number = b->cursor[task % CURSORS].number;
	for (; number && (s = segment_get(b->w, number - 1)); number = s->prev) {
		if (++b->steps > MAX_BACK)
			return NULL;
		if (s->from >= t)
			continue;
		b->cursor[task % CURSORS].task = task;
		b->cursor[task % CURSORS].number = number;
		return s->to < t ? NULL : s;
	}
	return NULL;
}

/* Where the path goes on before this sleep; the time is moved there. */
static uint32_t back_from_sleep(struct back *b, const struct segment *s, uint64_t *t)
{
	const struct wait_cause *c = &s->cause;
	uint64_t from = s->from, to = *t;

	switch ((enum wait_ender)c->kind) {
	case ENDER_TASK:
	case ENDER_WORK:
	case ENDER_URING:
		/* what it did until it woke this one; a task that is not followed stays a wait */
		if (to == s->to && is_followed(b->w, c->task))
			return c->task;
		break;
	case ENDER_REQUEST:
		if (c->at_ns > from && c->at_ns < to) {
			add(b, state_of_request(b->w, c->object, true), c->at_ns, to);
			to = c->at_ns;
		}
		add(b, state_of_request(b->w, c->object, c->at_ns <= from), from, to);
		*t = from;
		return s->task;
	default:
		break;
	}
	add(b, state_of_segment(b->w, s), from, to);
	*t = from;
	return s->task;
}

static bool go_back(struct back *b, uint64_t t)
{
	uint32_t task = b->caller;
	const struct segment *s;
	struct segment open;

	while (t > b->entry) {
		s = segment_before(b, task, t, &open);
		if (!s && task_at(b->w, task)->birth_ns >= t - 1 && task_at(b->w, task)->parent) {
			task = task_at(b->w, task)->parent;
			continue;
		}
		if (!s || ++b->steps > MAX_BACK)
			return false;
		if (s->state == SEGMENT_SLEEP) {
			task = back_from_sleep(b, s, &t);
			continue;
		}
		add(b, state_of_segment(b->w, s), s->from, t);
		if (s->from < b->entry && task != b->caller)
			b->sum->under_way_ns += b->entry - s->from;
		t = s->from;
	}
	return true;
}

int waits_call_path(struct waits *w, uint32_t tid, uint64_t start_ns, uint64_t entry_ns,
		    uint64_t return_ns, struct critical_path *sum)
{
	uint32_t task = tasks_find(&w->tasks, tid, start_ns);
	struct critical_path one = {.nr_states = w->feed ? w->feed->critical->nr_states : 0};
	struct back b = {.w = w, .sum = &one, .entry = entry_ns, .caller = task};

	if (!w->feed || task < FIRST_TASK || return_ns > w->now_ns || return_ns <= entry_ns)
		return 0;
	one.states = calloc(one.nr_states, sizeof(*one.states));
	if (!sum->states) {
		sum->states = calloc(one.nr_states, sizeof(*one.states));
		sum->nr_states = one.nr_states;
	}
	if (!one.states || !sum->states) {
		free(one.states);
		return -ENOMEM;
	}
	if (!go_back(&b, return_ns)) {
		free(one.states);
		return 0;
	}
	for (uint32_t i = 0; i < one.nr_states; i++) {
		sum->states[i].critical_ns += one.states[i].critical_ns;
		sum->states[i].count += one.states[i].count;
	}
	sum->length_ns += one.length_ns;
	sum->elapsed_ns += return_ns - entry_ns;
	sum->deficit_ns = sum->elapsed_ns - sum->length_ns;
	sum->under_way_ns += one.under_way_ns;
	free(one.states);
	return 1;
}
