// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides which segments of a target become chains, and when. Sleeps that only a timer interrupted
 * are one; a sleep that goes on after a short run was interrupted by a false wakeup. */

#include "analysis/waits/tree.h"

static struct chain_walker begin(struct waits *w)
{
	w->chains->episode++;
	return walk_begin(w);
}

static void emit_chain(struct waits *w, const struct segment *s, unsigned int notes)
{
	struct chain_walker k = begin(w);

	walk_segment(&k, 0, s, s->from, s->to, notes);
}

/* How long a thread worked while the parts of this sleep went on, if it was done in the last one:
 * its last stretch of work without a sleep. 0: it worked on, or the work was less than half of that
 * time, as of a thread that works now and then. */
static uint64_t stretch_ended(const struct waits *w, const struct wait_task *t,
			      const struct pending_sleep *p)
{
	struct segment_cursor c = {.w = w, .task = t};
	uint64_t done = t->now.state == SEGMENT_GONE ? t->now.from : 0, ran = 0;
	const struct segment *s;

	if (done >= p->last.to)
		done = 0;
	while ((s = segment_next(&c)) && s->to > p->first.from) {
		if (s->from >= p->last.to)
			continue;
		if (s->state == SEGMENT_SLEEP && !done)
			done = s->from;
		else if (s->state == SEGMENT_SLEEP || !done)
			break;
		else if (s->state == SEGMENT_RUN)
			ran += s->to - (s->from > p->first.from ? s->from : p->first.from);
	}
	return done >= p->last.from && 2 * ran >= done - p->first.from ? ran : 0;
}

/* The thread of the same process that was done with its work in the last part of this sleep,
 * without waking anybody. What was polled for was done by then. */
static uint32_t silent_helper(const struct waits *w, const struct pending_sleep *p)
{
	uint32_t pid = task_at(w, p->first.task)->pid, best = NO_TASK;
	uint64_t best_ns = 0, ran;

	for (uint32_t i = w->tasks.by_pid[(pid * 0x9e3779b1u >> 7) & w->tasks.mask]; i;
	     i = task_at(w, i)->next_in_process) {
		const struct wait_task *t = task_at(w, i);

		if (t->pid != pid || i == p->first.task || t->woke_ns >= p->last.from)
			continue;
		ran = stretch_ended(w, t, p);
		if (ran > best_ns) {
			best = i;
			best_ns = ran;
		}
	}
	return best;
}

static void emit_merged(struct waits *w, const struct pending_sleep *p)
{
	uint32_t task = p->first.task, helper, node;
	struct chain_walker k = begin(w);
	const struct segment *s;
	/* nobody can end a sleep on purpose */
	bool timer =
	    p->last.cause.kind == ENDER_TIMER && !wait_is_deliberate((enum wait_kind)p->first.kind);

	w->stats.merged += p->parts - 1;
	node = walk_layer(&k, 0, &p->first, NOTE_MERGED);
	helper = timer ? silent_helper(w, p) : NO_TASK;
	if (helper)
		w->chains->nodes[node].hint = chains_identity(w, helper);
	for (uint64_t n = task_at(w, task)->tail;
	     n && (s = segment_get(w, n - 1)) && s->to > p->first.from; n = s->prev) {
		if (s->state == SEGMENT_SLEEP && s->from <= p->last.from)
			walk_cause(&k, node, s, &p->last.cause, s->from, s->to);
	}
}

void chains_settle(struct waits *w, uint32_t task)
{
	struct pending_sleep *p = task_at(w, task)->pending;

	if (!p || !p->parts)
		return;
	if (p->parts == 1)
		emit_chain(w, &p->first, 0);
	else
		emit_merged(w, p);
	p->parts = 0;
}

bool chains_is_same_place(const struct waits *w, const struct segment *a, const struct segment *b)
{
	return a->kind == b->kind && a->syscall == b->syscall && a->object == b->object &&
	       a->lock == b->lock && !a->lost && !b->lost &&
	       traces_content(w->traces, a->kernel_stack) ==
		   traces_content(w->traces, b->kernel_stack) &&
	       traces_content(w->traces, a->user_stack) == traces_content(w->traces, b->user_stack);
}

/* The others end only when what they waited for has happened; the next one is for something else.
 */
static bool may_be_in_vain(enum wait_kind kind)
{
	return !wait_is_blocked(kind) && kind != WAIT_JOIN && kind != WAIT_CHILD &&
	       kind != WAIT_VFORK && kind != WAIT_URING && !wait_is_io(kind);
}

static void sleep_over(struct waits *w, const struct segment *s)
{
	struct wait_task *t = task_at(w, s->task);
	struct pending_sleep *p = t->pending;
	bool brief = s->from < t->run_since + BRIEF_RUN_NS;

	if (!p)
		p = t->pending = calloc(1, sizeof(*p));
	if (!p) {
		emit_chain(w, s, 0);
		return;
	}
	if (p->parts && brief && chains_is_same_place(w, &p->last, s)) {
		if (p->last.cause.kind == ENDER_TIMER &&
		    s->to - p->first.from < w->config.horizon_ns / 4) {
			p->last = *s;
			p->parts++;
		} else if (p->parts == 1 && p->last.cause.kind == ENDER_TASK &&
			   may_be_in_vain((enum wait_kind)s->kind) && t->woke_ns < p->last.to) {
			w->stats.false_wakeups++;
			emit_chain(w, &p->first, NOTE_FALSE_WAKEUP);
			p->parts = 0;
		}
	}
	if (p->parts && p->last.from == s->from)
		return;
	chains_settle(w, s->task);
	*p = (struct pending_sleep){.first = *s, .last = *s, .parts = 1};
	if (s->cause.kind != ENDER_TIMER && s->cause.kind != ENDER_TASK)
		chains_settle(w, s->task);
}

void chains_segment(struct waits *w, const struct segment *s)
{
	struct segment copy = *s;

	if (w->config.no_chains || w->config.calls_only)
		return;
	if (s->state == SEGMENT_SLEEP) {
		sleep_over(w, &copy);
		return;
	}
	/* after a longer run the sleep before it was whole */
	if (s->state == SEGMENT_RUN && s->to >= task_at(w, s->task)->run_since + BRIEF_RUN_NS)
		chains_settle(w, s->task);
	emit_chain(w, &copy, 0);
}
