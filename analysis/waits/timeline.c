// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/timeline.h"

#include "analysis/base/array.h"
#include "analysis/waits/tree.h"

static enum lane_state lane_state_of(const struct segment *s)
{
	if (s->lost)
		return LANE_LOST;
	switch (s->state) {
	case SEGMENT_RUN:
		return LANE_RUN;
	case SEGMENT_READY:
		return LANE_READY;
	case SEGMENT_SLEEP:
		return s->cause.kind == ENDER_REQUEST ? LANE_IO : LANE_SLEEP;
	default:
		return LANE_LOST;
	}
}

const struct segment *segment_next(struct segment_cursor *c)
{
	const struct segment *s;

	if (!c->begun) {
		c->begun = true;
		c->number = c->task->tail;
		c->open = c->task->now;
		c->open.to = c->w->now_ns;
		if (c->w->in_window && c->open.state != SEGMENT_NONE &&
		    c->open.state != SEGMENT_GONE && c->open.from < c->open.to)
			return &c->open;
	}
	s = c->number ? segment_get(c->w, c->number - 1) : NULL;
	c->number = s ? s->prev : 0;
	return s;
}

static uint64_t overlap(const struct segment *s, uint64_t from, uint64_t to)
{
	uint64_t a = s->from > from ? s->from : from, b = s->to < to ? s->to : to;

	return b > a ? b - a : 0;
}

bool waits_span(const struct waits *w, uint64_t span_ns, uint64_t back_ns, uint64_t *from,
		uint64_t *to)
{
	uint64_t last = 0, oldest;

	/* after a window nothing more was observed, whatever records came since */
	for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++) {
		struct segment_cursor c = {.w = w, .task = task_at(w, i)};
		const struct segment *s = segment_next(&c);

		if (s && s->to > last)
			last = s->to;
	}
	oldest = last > w->config.horizon_ns ? last - w->config.horizon_ns : 0;
	if (w->window_ns > oldest)
		oldest = w->window_ns;
	if (last <= oldest)
		return false;
	if (span_ns > last - oldest)
		span_ns = last - oldest;
	*to = back_ns < last - oldest - span_ns ? last - back_ns : oldest + span_ns;
	*from = *to - span_ns;
	return true;
}

static int by_work(const void *a, const void *b)
{
	const struct waits_lane *x = a, *y = b;
	uint64_t p = x->ns[LANE_RUN] + x->ns[LANE_READY], q = y->ns[LANE_RUN] + y->ns[LANE_READY];

	return descending(x->target, y->target) ?: descending(p, q) ?: ascending(x->tid, y->tid);
}

/* Mark those who ended the sleeps of task `i`. True: there is a new one. */
static bool mark_wakers(const struct waits *w, uint32_t i, uint64_t from, uint64_t to, bool *wanted)
{
	struct segment_cursor c = {.w = w, .task = task_at(w, i)};
	const struct segment *s;
	bool any = false;

	while ((s = segment_next(&c)) && s->to > from) {
		uint32_t by = s->state == SEGMENT_SLEEP && s->from < to ? s->cause.task : NO_TASK;

		if (by >= FIRST_TASK && !wanted[by]) {
			wanted[by] = true;
			any = true;
		}
	}
	return any;
}

bool *tasks_wanted(const struct waits *w, uint64_t from, uint64_t to)
{
	bool *wanted = calloc(w->tasks.nr + 1, sizeof(*wanted)),
	     *done = calloc(w->tasks.nr + 1, sizeof(*done)), again = true;

	if (!wanted || !done) {
		free(wanted);
		free(done);
		return NULL;
	}
	for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++)
		wanted[i] = task_at(w, i)->flags & TASK_TARGET;
	while (again) {
		again = false;
		for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++) {
			if (!wanted[i] || done[i])
				continue;
			done[i] = true;
			again |= mark_wakers(w, i, from, to, wanted);
		}
	}
	free(done);
	return wanted;
}

uint32_t waits_lanes(const struct waits *w, uint64_t from, uint64_t to, struct waits_lane *out,
		     uint32_t max, uint32_t *left_out)
{
	struct waits_lane *all = calloc(w->tasks.nr + 1, sizeof(*all));
	bool *wanted = tasks_wanted(w, from, to);
	uint32_t nr = 0;

	*left_out = 0;
	for (uint32_t i = FIRST_TASK; wanted && all && i < w->tasks.nr; i++) {
		const struct wait_task *t = task_at(w, i);
		struct segment_cursor c = {.w = w, .task = t};
		struct waits_lane *lane = &all[nr];
		const struct segment *s;
		bool any = false;

		if (!wanted[i] || !t->tid || (!t->tail && t->now.state == SEGMENT_NONE))
			continue;
		*lane = (struct waits_lane){.pid = t->pid,
					    .tid = t->tid,
					    .start_ns = t->start_ns,
					    .comm = texts_get(w->texts, t->comm),
					    .target = t->flags & TASK_TARGET};
		while ((s = segment_next(&c)) && s->to > from) {
			uint64_t ns = overlap(s, from, to);

			lane->ns[lane_state_of(s)] += ns;
			any |= ns > 0;
		}
		nr += any;
	}
	if (nr)
		qsort(all, nr, sizeof(*all), by_work);
	if (nr > max)
		*left_out = nr - max;
	nr = nr < max ? nr : max;
	if (nr)
		memcpy(out, all, nr * sizeof(*all));
	free(all);
	free(wanted);
	return nr;
}

static void add_segment(const struct waits *w, const struct segment *s, uint64_t from, uint64_t to,
			struct lane_cell *cell, uint32_t nr)
{
	uint64_t a = s->from > from ? s->from : from, b = s->to < to ? s->to : to;
	enum lane_state state = lane_state_of(s);
	double length = (double)(to - from) / (double)nr;
	uint32_t first = (uint32_t)((double)(a - from) / length), i;

	for (i = first < nr ? first : nr - 1; i < nr && a < b; i++) {
		uint64_t end = i + 1 == nr ? to : from + (uint64_t)(length * (i + 1)),
			 part = (end < b ? end : b) > a ? (end < b ? end : b) - a : 0;

		cell[i].ns[state] += part;
		a += part;
		if (a >= b && s->state == SEGMENT_SLEEP && s->to <= to &&
		    s->cause.kind == ENDER_TASK && s->cause.task) {
			uint32_t tid = task_at(w, s->cause.task)->tid;

			cell[i].waker_tid = !cell[i].wakings || cell[i].waker_tid == tid ? tid : 0;
			cell[i].wakings++;
		}
	}
}

void waits_lane_cells(const struct waits *w, const struct waits_lane *lane, uint64_t from,
		      uint64_t to, struct lane_cell *cell, uint32_t nr)
{
	uint32_t task = tasks_find(&w->tasks, lane->tid, lane->start_ns);
	struct segment_cursor c = {.w = w, .task = task_at(w, task)};
	const struct segment *s;

	memset(cell, 0, nr * sizeof(*cell));
	if (task < FIRST_TASK || to <= from || !nr)
		return;
	while ((s = segment_next(&c)) && s->to > from) {
		if (s->from < to)
			add_segment(w, s, from, to, cell, nr);
	}
}

static int by_tid(const void *a, const void *b)
{
	const struct lane_waker *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_wakings(const void *a, const void *b)
{
	const struct lane_waker *x = a, *y = b;

	return descending(x->wakings, y->wakings) ?: by_tid(a, b);
}

uint32_t waits_lane_wakers(const struct waits *w, const struct waits_lane *lane, uint64_t from,
			   uint64_t to, struct lane_waker *out, uint32_t max)
{
	uint32_t task = tasks_find(&w->tasks, lane->tid, lane->start_ns), nr = 0, cap = 0, n = 0;
	struct segment_cursor c = {.w = w, .task = task_at(w, task)};
	struct lane_waker *all = NULL;
	const struct segment *s;

	while (task >= FIRST_TASK && (s = segment_next(&c)) && s->to > from) {
		if (s->state != SEGMENT_SLEEP || s->to > to || s == &c.open ||
		    s->cause.kind != ENDER_TASK || !s->cause.task)
			continue;
		if (array_append(all, nr, cap, UINT32_MAX,
				 (struct lane_waker){task_at(w, s->cause.task)->tid, 1}))
			break;
	}
	if (nr)
		qsort(all, nr, sizeof(*all), by_tid);
	for (uint32_t i = 0; i < nr; i++) {
		if (n && all[n - 1].tid == all[i].tid)
			all[n - 1].wakings++;
		else
			all[n++] = all[i];
	}
	if (n)
		qsort(all, n, sizeof(*all), by_wakings);
	n = n < max ? n : max;
	if (n)
		memcpy(out, all, n * sizeof(*all));
	free(all);
	return n;
}

/* The chains of another task are told into a tree of their own. What telling changes beside the
 * tree is put back afterwards. */
struct kept_chains {
	struct chains *chains;
	struct waits_stats stats;
	uint32_t *identity;
	uint64_t *charged_ns;
	int64_t steps_saved;
};

static int keep(struct waits *w, struct kept_chains *k)
{
	struct chains *mine = chains_new(&w->config);

	*k = (struct kept_chains){.chains = w->chains,
				  .stats = w->stats,
				  .steps_saved = w->steps_saved,
				  .identity = malloc((w->tasks.nr + 1) * sizeof(*k->identity)),
				  .charged_ns = malloc((w->tasks.nr + 1) * sizeof(*k->charged_ns))};
	if (!mine || !k->identity || !k->charged_ns) {
		if (mine)
			chains_free(mine);
		free(k->identity);
		free(k->charged_ns);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < w->tasks.nr; i++) {
		k->identity[i] = task_at(w, i)->identity;
		k->charged_ns[i] = task_at(w, i)->charged_ns;
		task_at(w, i)->identity = 0;
	}
	w->chains = mine;
	/* one answer may take as many steps as a new analysis, whatever the stream has used up */
	w->steps_saved = STEPS_SAVED;
	return 0;
}

static void put_back(struct waits *w, struct kept_chains *k)
{
	chains_free(w->chains);
	w->chains = k->chains;
	w->stats = k->stats;
	w->steps_saved = k->steps_saved;
	for (uint32_t i = 0; i < w->tasks.nr; i++) {
		task_at(w, i)->identity = k->identity[i];
		task_at(w, i)->charged_ns = k->charged_ns[i];
	}
	free(k->identity);
	free(k->charged_ns);
}

int waits_chains_of(struct waits *w, uint32_t tid, uint64_t start_ns, struct waits_chains *out,
		    struct waits_account *account)
{
	uint32_t task = tasks_find(&w->tasks, tid, start_ns);
	struct segment_cursor c = {.w = w};
	const struct segment *s;
	uint64_t from, to;
	struct kept_chains k;
	int err;

	*out = (struct waits_chains){.nr = 0};
	if (task < FIRST_TASK || !waits_span(w, UINT64_MAX, 0, &from, &to))
		return -ENOENT;
	err = keep(w, &k);
	if (err)
		return err;
	c.task = task_at(w, task);
	while ((s = segment_next(&c)) && s->to > from) {
		struct chain_walker walker = walk_begin(w);

		w->chains->episode++;
		walk_segment(&walker, 0, s, s->from > from ? s->from : from, s->to, 0);
	}
	err = waits_chains(w, out);
	waits_account(w, account);
	put_back(w, &k);
	return err;
}

void waits_group_by(struct waits *w, enum waits_group group)
{
	w->config.group = group;
	w->chains->group = group;
}
