// SPDX-License-Identifier: GPL-2.0-or-later
/* What the records say, in the order of time. */

#include "analysis/waits/critical_feed.h"
#include "analysis/waits/waits_impl.h"

static uint32_t task_of(struct waits *w, uint32_t tid, uint64_t start_ns)
{
	return tid ? tasks_make(&w->tasks, tid, start_ns, w->now_ns) : IDLE_TASK;
}

/* The current task of a CPU, which is meant by its tid alone. */
static uint32_t current_of(const struct waits *w, const struct wait_event *e, uint32_t tid)
{
	uint32_t task = w->cpu[e->cpu].task;

	return task >= FIRST_TASK && task_at(w, task)->tid == tid ? task
								  : tasks_find_tid(&w->tasks, tid);
}

/* Called if records of this CPU are missing: for the task that ran there before, and for one that
 * should still run there. */
static void lose_current(struct waits *w, const struct wait_event *e)
{
	struct cpu *cpu = &w->cpu[e->cpu];

	if (is_followed(w, cpu->task) && task_at(w, cpu->task)->now.state == SEGMENT_RUN &&
	    task_at(w, cpu->task)->cpu == e->cpu)
		task_lose(w, cpu->task, e->lost ? e->lost_since_ns : cpu->event_ns);
}

static void on_switch(struct waits *w, const struct wait_event *e)
{
	const struct rec_switch *r = &e->switched;
	struct cpu *cpu = &w->cpu[e->cpu];
	uint32_t prev = task_of(w, r->prev_tid, r->prev_start_ns),
		 next = task_of(w, r->next_tid, r->next_start_ns);

	if (cpu->task != NO_TASK && cpu->task != prev)
		lose_current(w, e);
	if (is_followed(w, prev))
		task_leave(w, prev, e, next);
	if (is_followed(w, next))
		task_enter(w, next, e, prev);
	cpu->task = next;
}

static void on_waking(struct waits *w, const struct wait_event *e)
{
	const struct rec_waking *r = &e->waking;
	struct waking k = {.brackets = r->brackets,
			   .cause = r->cause,
			   .at_ns = e->at_ns,
			   .kernel_stack = r->kernel_stack};
	struct wait_cause cause;

	k.wakee = tasks_find(&w->tasks, r->wakee_tid, r->wakee_start_ns);
	if (!is_followed(w, k.wakee))
		return;
	k.current = task_of(w, r->current_tid, r->current_start_ns);
	ender_find(w, &k, &cause);
	critical_waking(w, k.wakee, &cause, k.cause, e->at_ns);
	task_wake(w, k.wakee, k.current, e->at_ns, &cause);
}

static enum segment_state state_of_letter(uint32_t letter)
{
	switch (letter) {
	case 'R':
		return SEGMENT_RUN;
	case 'Q':
		return SEGMENT_READY;
	case 'S':
	case 'D':
	case 'T':
	case 't':
	case 'I':
		return SEGMENT_SLEEP;
	default:
		return SEGMENT_UNKNOWN;
	}
}

/* What it does now has begun earlier, nobody knows when. */
static void state_begin(struct waits *w, uint32_t task, const struct wait_event *e)
{
	struct wait_task *t = task_at(w, task);
	const struct segment *last = t->tail ? segment_get(w, t->tail - 1) : NULL;
	uint64_t from = t->now.state == SEGMENT_UNKNOWN ? t->now.from : e->at_ns;

	if (t->now.state != SEGMENT_NONE && t->now.state != SEGMENT_UNKNOWN)
		return;
	if (t->now.state == SEGMENT_NONE && last)
		from = last->to;
	else if (t->now.state == SEGMENT_NONE)
		t->joined_ns = e->at_ns;
	t->now = (struct segment){.from = from, .task = task, .syscall = -1, .before = 1};
	t->now.state = (uint8_t)state_of_letter(e->task.state);
	if (e->task.state == 'T')
		t->now.kind = WAIT_STOPPED;
	if (e->task.state == 't')
		t->now.kind = WAIT_TRACED;
	if (t->now.state == SEGMENT_RUN && e->cpu < MAX_CPUS) {
		w->cpu[e->cpu].task = task;
		t->cpu = e->cpu;
		t->run_since = from;
	} else if (t->now.state == SEGMENT_RUN) {
		t->now.state = SEGMENT_UNKNOWN;
	}
	critical_turn(w, task, from);
}

static void on_task(struct waits *w, const struct wait_event *e)
{
	const struct rec_task *r = &e->task;
	uint32_t task = task_of(w, r->tid, r->start_ns),
		 parent = r->parent_tid ? task_of(w, r->parent_tid, r->parent_start_ns) : NO_TASK;
	struct wait_task *t = task_at(w, task);

	if (task < FIRST_TASK)
		return;
	tasks_set_pid(&w->tasks, task, r->pid);
	t->comm = e->comm;
	if (parent)
		t->parent = parent;
	if (r->flags & TASK_UNFOLLOWED) {
		chains_settle(w, task);
		task_turn(w, task, e->at_ns, SEGMENT_NONE);
		t->flags = r->flags & ~(uint32_t)(TASK_FOLLOWED | TASK_UNFOLLOWED);
		return;
	}
	t->flags = r->flags | (t->flags & TASK_FOLLOWED);
	if (t->flags & TASK_FOLLOWED)
		state_begin(w, task, e);
}

static void on_fork(struct waits *w, const struct wait_event *e, uint32_t parent)
{
	const struct rec_life *r = &e->life;
	uint32_t child = task_of(w, r->child_tid, r->child_start_ns);
	struct wait_task *t = task_at(w, child);

	if (child < FIRST_TASK)
		return;
	tasks_set_pid(&w->tasks, child, r->child_pid);
	t->comm = e->comm;
	t->flags = r->flags;
	t->parent = parent;
	t->birth_ns = e->at_ns;
	if (task_at(w, parent)->flags & TASK_TARGET && !(t->flags & TASK_TARGET))
		t->started_by = parent;
	if (!(t->flags & TASK_FOLLOWED))
		return;
	task_turn(w, child, e->at_ns, SEGMENT_READY);
	t->now.why = READY_NEW;
	t->now.waker = parent;
	critical_fork(w, parent, child, e->at_ns);
}

static void on_life(struct waits *w, const struct wait_event *e)
{
	const struct rec_life *r = &e->life;
	uint32_t task = task_of(w, r->tid, r->start_ns), other;

	if (task < FIRST_TASK)
		return;
	switch ((enum life_event)r->event) {
	case LIFE_FORK:
		on_fork(w, e, task);
		return;
	case LIFE_EXEC:
		other = r->child_tid && r->child_tid != r->tid
			    ? tasks_find_tid(&w->tasks, r->child_tid)
			    : NO_TASK;
		if (other >= FIRST_TASK) {
			tasks_rename(&w->tasks, other, r->tid, r->start_ns);
			task = other;
		}
		task_at(w, task)->comm = e->comm;
		return;
	case LIFE_RENAME:
		task_at(w, task)->comm = e->comm;
		return;
	case LIFE_EXIT:
		if (!is_followed(w, task))
			task_at(w, task)->dead_ns = e->at_ns;
		return;
	default:
		return;
	}
}

/* ---- requests, work */

static void on_block(struct waits *w, const struct wait_event *e)
{
	request_event(w, e, e->block.tid ? task_of(w, e->block.tid, e->block.start_ns) : NO_TASK);
}

static void on_work(struct waits *w, const struct wait_event *e)
{
	const struct rec_work *r = &e->work;
	uint32_t task = task_of(w, r->tid, r->start_ns);
	struct waking k = {
	    .brackets = r->brackets, .cause = r->cause, .at_ns = e->at_ns, .current = task};
	struct queued_work *q;

	switch ((enum work_event)(r->event & 0xff)) {
	case WORK_QUEUED:
		q = keyed_make(&w->works, r->work);
		ender_find(w, &k, &q->by);
		q->at_ns = e->at_ns;
		critical_queued(w, r->work, task, r->cause, e->at_ns);
		return;
	case WORK_BEGIN:
		q = keyed_find(&w->works, r->work);
		if (task < FIRST_TASK)
			return;
		task_at(w, task)->has_job = q != NULL;
		if (q) {
			task_at(w, task)->job = q->by;
			task_at(w, task)->job_ns = q->at_ns;
		}
		critical_begun(w, r->work, task, e->at_ns);
		return;
	case WORK_END:
		if (task >= FIRST_TASK)
			task_at(w, task)->has_job = false;
		return;
	default:
		return;
	}
}

static void on_sample(struct waits *w, const struct wait_event *e)
{
	const struct rec_run_sample *r = &e->run_sample;
	uint32_t task = current_of(w, e, r->tid);
	struct segment *s;

	if (!is_followed(w, task) || task_at(w, task)->now.state != SEGMENT_RUN)
		return;
	s = &task_at(w, task)->now;
	/* the sample stands for the time since the one before */
	s->sampled = 1;
	s->user_stack = r->user_stack;
	s->kernel_stack = r->kernel_stack;
	s->irq_ns = task_irq_ns(w, task, r->irq_ns);
	task_turn(w, task, e->at_ns, SEGMENT_RUN);
	s->sampled = 1;
	s->user_stack = r->user_stack;
	s->kernel_stack = r->kernel_stack;
	critical_turn(w, task, e->at_ns);
}

static void on_asleep(struct waits *w, const struct wait_event *e)
{
	bool listed = e->cpu == WAITS_NO_CPU;
	uint32_t task =
	    listed ? tasks_find_tid(&w->tasks, e->asleep.tid) : current_of(w, e, e->asleep.tid);

	if (task < FIRST_TASK)
		return;
	if (listed) {
		task_asleep_before(w, task, e);
		return;
	}
	task_at(w, task)->facts = e->asleep;
	task_at(w, task)->facts.at_ns = e->at_ns;
}

static void window_begin(struct waits *w, uint64_t now)
{
	w->first_segment = w->nr_segments;
	for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++) {
		struct wait_task *t = task_at(w, i);

		t->tail = 0;
		t->early_ns = t->joined_ns = 0;
		t->has_job = false;
		t->flags &= ~(uint32_t)TASK_FOLLOWED;
		t->now = (struct segment){.task = i, .syscall = -1};
	}
	memset(w->cpu, 0, sizeof(w->cpu));
	keyed_clear(&w->requests);
	keyed_clear(&w->works);
	keyed_clear(&w->locks);
	w->in_window = true;
	w->window_ns = now;
	if (!w->stats.windows++)
		w->first_ns = now;
	critical_window_begin(w, now);
}

/* All segments that are open end now. */
static void waits_close_all(struct waits *w, uint64_t now)
{
	for (uint32_t i = FIRST_TASK; i < w->tasks.nr; i++) {
		if (!is_followed(w, i))
			continue;
		chains_settle(w, i);
		task_turn(w, i, now,
			  task_at(w, i)->now.state == SEGMENT_GONE ? SEGMENT_GONE : SEGMENT_NONE);
		chains_settle(w, i);
	}
}

static void window_end(struct waits *w, uint64_t now)
{
	critical_window_end(w, now);
	waits_close_all(w, now);
	w->in_window = false;
	w->stats.observed_ns += now - w->window_ns;
	w->stats.elapsed_ns = now - w->first_ns;
}

static void on_window(struct waits *w, const struct wait_event *e)
{
	if (e->window.edge == WINDOW_BEGIN) {
		/* the end of the one before was not told: nothing was seen since its last event */
		if (w->in_window)
			window_end(w, w->event_ns);
		window_begin(w, e->at_ns);
	} else if (e->window.edge == WINDOW_END && w->in_window) {
		window_end(w, e->at_ns);
	}
}

void waits_event(struct waits *w, const struct wait_event *e)
{
	static void (*const handlers[REC_SAVED_MAX])(struct waits *, const struct wait_event *) = {
	    [REC_WINDOW] = on_window, [REC_TASK] = on_task,	[REC_SWITCH] = on_switch,
	    [REC_ASLEEP] = on_asleep, [REC_WAKING] = on_waking, [REC_LIFE] = on_life,
	    [REC_BLOCK] = on_block,   [REC_WORK] = on_work,	[REC_RUN_SAMPLE] = on_sample,
	};

	if (e->type == REC_STEAL)
		w->stats.steal_ns += e->steal.ns;
	if (e->type != REC_WINDOW && !w->in_window)
		return;
	if (e->lost > 1 && e->cpu < MAX_CPUS)
		lose_current(w, e);
	if (e->type < REC_SAVED_MAX && handlers[e->type])
		handlers[e->type](w, e);
	if (e->cpu < MAX_CPUS)
		w->cpu[e->cpu].event_ns = e->at_ns;
	w->event_ns = e->at_ns;
}
