// SPDX-License-Identifier: GPL-2.0-or-later
/* From a sleep to whoever ended it, and what that one did meanwhile. */

#include "analysis/waits/tree.h"

#define FIT_NS 100000ull /* rsp_compat */

struct chain_walker walk_begin(struct waits *w)
{
	return (struct chain_walker){.w = w, .most = w->steps_saved > 0 ? MAX_STEPS : FEW_STEPS};
}

static bool is_cut_off(const struct chain_walker *k)
{
	return k->steps > k->most;
}

/* The name of what a task sleeps at, for its layer. A pipe without a path has none: the layer below
 * names the process at its other end, and the number would set apart what short-lived processes do
 * alike. */
static uint32_t awaited_name(const struct waits *w, uint32_t object)
{
	return object < w->nr_objects && w->objects[object].is_numbered ? 0
									: object_name(w, object);
}

static uint32_t cause_name(const struct waits *w, const struct wait_cause *c)
{
	return c->bracket < BRACKET_KINDS && c->bracket && c->number < NO_NAME
		   ? w->names[c->bracket][c->number]
		   : 0;
}

static enum layer_state layer_of(const struct segment *s)
{
	return s->state == SEGMENT_RUN	   ? CHAIN_RUN
	       : s->state == SEGMENT_READY ? CHAIN_RUNNABLE
					   : CHAIN_SLEEP;
}

/* A stack by the number of one that is equal to it, if it is known by now. */
static uint32_t number_of(const struct waits *w, uint32_t trace)
{
	uint32_t kept = traces_kept(w->traces, trace);

	return kept ? kept : trace;
}

/* What a sleep is for: its object, or the debugger that lets a held task go on. */
static uint32_t sleep_name(const struct waits *w, const struct segment *s)
{
	if (s->kind == WAIT_TRACED)
		return s->cause.kind == ENDER_TASK ? task_at(w, s->cause.task)->comm : 0;
	return awaited_name(w, s->object);
}

/* The layer of a task in this segment. */
uint32_t walk_layer(struct chain_walker *k, uint32_t parent, const struct segment *s,
		    unsigned int notes)
{
	struct waits *w = k->w;
	struct layer_key key = {.identity = chains_identity(w, s->task),
				.notes = (uint16_t)notes,
				.user = number_of(w, s->user_stack),
				.kernel = number_of(w, s->kernel_stack),
				.syscall = s->state == SEGMENT_SLEEP ? s->syscall : -1,
				.state = (uint8_t)layer_of(s)};

	if (s->state == SEGMENT_SLEEP) {
		key.kind = s->kind;
		key.what = sleep_name(w, s);
	} else if (s->state == SEGMENT_READY) {
		key.kind = s->why;
		key.what = s->why == READY_THROTTLED ? object_name(w, s->object)
			   : s->by		     ? task_at(w, s->by)->comm
						     : 0;
	}
	if (s->before)
		key.notes |= NOTE_BEFORE;
	return chains_child(w->chains, parent, &key, s->from);
}

/* A task of which only the name is known here. */
static uint32_t named_layer(struct chain_walker *k, uint32_t parent, uint32_t task,
			    enum layer_state state, unsigned int notes, uint64_t at)
{
	struct layer_key key = {.identity = chains_identity(k->w, task),
				.notes = (uint16_t)notes,
				.syscall = -1,
				.state = (uint8_t)state};

	return chains_child(k->w->chains, parent, &key, at);
}

/* Something that is no task. */
static struct layer_key thing_of(enum layer_state state, uint32_t what, unsigned int notes)
{
	return (struct layer_key){
	    .what = what, .notes = (uint16_t)notes, .syscall = -1, .state = (uint8_t)state};
}

static void thing(struct chain_walker *k, uint32_t parent, struct layer_key key, uint64_t lo,
		  uint64_t hi, enum wait_account account)
{
	if (hi > lo)
		chains_emit(k->w->chains, chains_child(k->w->chains, parent, &key, lo), lo, hi,
			    account);
}

/* ---- runs and waits for a CPU */

static void walk_run(struct chain_walker *k, uint32_t parent, const struct segment *s, uint64_t lo,
		     uint64_t hi, unsigned int notes)
{
	struct wait_task *t = task_at(k->w, s->task);
	uint64_t whole = s->to > s->from ? s->to - s->from : 1, irq;
	uint32_t node = walk_layer(k, parent, s, notes);

	irq = s->irq_ns < whole ? (uint64_t)((double)s->irq_ns * (double)(hi - lo) / (double)whole)
				: hi - lo;
	if (t->started_by || t->started_ns)
		t->charged_ns += hi - lo;
	chains_emit(k->w->chains, node, lo, hi - irq,
		    s->sampled ? ACCOUNT_RUN_SAMPLED : ACCOUNT_RUN_UNSAMPLED);
	thing(k, node, thing_of(CHAIN_INTERRUPT, 0, 0), hi - irq, hi, ACCOUNT_HARDWARE);
}

static void walk_ready(struct chain_walker *k, uint32_t parent, const struct segment *s,
		       uint64_t lo, uint64_t hi, unsigned int notes)
{
	bool handoff = s->why == READY_WOKEN && s->waker >= FIRST_TASK && s->waker == s->by;
	uint32_t node = walk_layer(k, parent, s, notes | (handoff ? NOTE_HANDOFF : 0));

	/* the waker went on running on the CPU that the woken task waits for */
	if (handoff)
		node = named_layer(k, node, s->waker, CHAIN_RUN, 0, lo);
	chains_emit(k->w->chains, node, lo, hi, handoff ? ACCOUNT_HANDOFF : ACCOUNT_RUN_QUEUE);
}

/* ---- what one task did */

/* A part of [lo, hi) for which the task has no segments. */
static void walk_hole(struct chain_walker *k, uint32_t parent, uint32_t task, uint64_t lo,
		      uint64_t hi, unsigned int notes)
{
	bool followed = is_followed(k->w, task) || task_at(k->w, task)->dead_ns;
	uint32_t node;

	if (hi <= lo)
		return;
	notes |= followed ? NOTE_NOT_RECORDED : NOTE_NOT_FOLLOWED;
	node = named_layer(k, parent, task, CHAIN_RUN, notes, lo);
	chains_emit(k->w->chains, node, lo, hi,
		    notes & (NOTE_HORIZON | NOTE_LIMIT) ? ACCOUNT_UNKNOWN : ACCOUNT_OTHER_PATH);
}

static bool fits(const struct chain_walker *k, const struct segment *s, uint64_t lo, uint64_t hi)
{
	return !k->w->config.rsp_compat ||
	       (s->from + FIT_NS >= lo && (!s->to || s->to <= hi + FIT_NS));
}

/* The segment that is going on has no end yet; NULL: there is none. */
static const struct segment *open_segment(const struct wait_task *t, struct segment *open)
{
	*open = t->now;
	open->to = UINT64_MAX;
	return open->state == SEGMENT_NONE || open->state == SEGMENT_GONE ? NULL : open;
}

void walk_next(struct chain_walker *k, uint32_t parent, uint32_t task, uint64_t lo, uint64_t hi,
	       unsigned int notes)
{
	k->depth++;
	walk_task(k, parent, task, lo, hi, notes);
	k->depth--;
}

/* A segment of a task, with who ended it. A sleep that timed out and was begun again at once is the
 * same wait as the next one: whoever ended that one is who was waited for. `next`: the sleep after
 * it; becomes this one. */
static struct segment with_cause(const struct waits *w, const struct segment *s,
				 struct segment *next)
{
	struct segment out = *s;

	if (s->state != SEGMENT_SLEEP)
		return out;
	if (s->cause.kind == ENDER_TIMER && !wait_is_deliberate((enum wait_kind)s->kind) &&
	    next->state == SEGMENT_SLEEP && next->from >= s->to &&
	    wait_is_begun_again(next->from - s->to, s->to - s->from, s->word) &&
	    (s->word ? s->word == next->word : traces_content(w->traces, s->user_stack) != 0) &&
	    chains_is_same_place(w, s, next))
		out.cause = next->cause;
	*next = out;
	return out;
}

void walk_task(struct chain_walker *k, uint32_t parent, uint32_t task, uint64_t lo, uint64_t hi,
	       unsigned int notes)
{
	const struct wait_task *t = task_at(k->w, task);
	const struct segment *s;
	uint64_t cursor = hi, birth = t->birth_ns, number = t->tail;
	uint32_t mother = t->parent;
	struct segment open, next = {.state = SEGMENT_NONE}, one;

	if (hi <= lo)
		return;
	if (k->depth > MAX_DEPTH) {
		k->w->stats.limits++;
		walk_hole(k, parent, task, lo, hi, notes | NOTE_LIMIT);
		return;
	}
	s = open_segment(t, &open);
	for (;;) {
		if (s && s->from < cursor && s->to > lo) {
			uint64_t a = s->from > lo ? s->from : lo,
				 b = s->to < cursor ? s->to : cursor;

			k->steps++;
			k->w->steps_saved--;
			if (is_cut_off(k))
				break;
			walk_hole(k, parent, task, b, cursor, notes);
			one = with_cause(k->w, s, &next);
			if (fits(k, s, lo, hi))
				walk_segment(k, parent, &one, a, b, notes);
			else
				walk_hole(k, parent, task, a, b, notes);
			cursor = a;
		}
		if (cursor <= lo || !number)
			break;
		s = segment_get(k->w, number - 1);
		if (!s || s->to + k->w->config.horizon_ns < k->w->now_ns) {
			notes |= NOTE_HORIZON;
			k->w->stats.beyond++;
			break;
		}
		number = s->prev;
	}
	if (is_cut_off(k)) {
		k->w->stats.limits++;
		notes |= NOTE_LIMIT;
	} else if (cursor > lo && birth > lo && mother) {
		walk_hole(k, parent, task, birth, cursor, notes);
		walk_next(k, parent, mother, lo, birth < cursor ? birth : cursor,
			  NOTE_FORK | (notes & NOTE_CHILD));
		return;
	}
	walk_hole(k, parent, task, lo, cursor, notes);
}

/* ---- what a sleep was for */

/* When `task` last got something to do from `from`, before `until`; 0: not known. */
static uint64_t request_time(const struct waits *w, uint32_t task, uint32_t from, uint64_t until)
{
	const struct wait_task *t = task_at(w, task);

	for (unsigned int i = 0; i < REQUESTS_KEPT; i++) {
		if (t->request[i].task == from && t->request[i].at_ns <= until)
			return t->request[i].at_ns;
	}
	return 0;
}

/* Has the process of `task` started that of `child`, itself or through others? */
static bool has_started(const struct waits *w, uint32_t task, uint32_t child)
{
	enum { GENERATIONS = 8 };
	uint32_t pid = task_at(w, task)->pid;

	if (task_at(w, child)->pid == pid)
		return false;
	for (unsigned int i = 0; i < GENERATIONS && child; i++) {
		child = task_at(w, child)->parent;
		if (child >= FIRST_TASK && task_at(w, child)->pid == pid)
			return true;
	}
	return false;
}

static void walk_waker(struct chain_walker *k, uint32_t node, const struct segment *s,
		       const struct wait_cause *c, uint64_t lo, uint64_t hi)
{
	uint64_t got = request_time(k->w, c->task, s->task, hi);
	uint32_t busy;

	if (got > lo) {
		busy = named_layer(k, node, c->task, CHAIN_RUN, NOTE_BUSY, lo);
		chains_emit(k->w->chains, busy, lo, got, ACCOUNT_BUSY_OTHER);
		lo = got;
	}
	walk_next(k, node, c->task, lo, hi, has_started(k->w, s->task, c->task) ? NOTE_CHILD : 0);
}

/* A lock: each time that somebody released it to a waiter ends the turn of one holder. What is
 * missing there would give one holder's turn to another. */
static void walk_holders(struct chain_walker *k, uint32_t node, const struct segment *s,
			 uint64_t lo, uint64_t hi)
{
	const struct release *r;
	uint64_t after = 0, end = hi, from;
	uint32_t holder = s->cause.task;

	if (gap_within(k->w, lo, hi, 1)) {
		chains_emit(k->w->chains, node, lo, hi, ACCOUNT_LOST);
		return;
	}
	while (end > lo && !is_cut_off(k) && (r = lock_release(k->w, s->lock, &after))) {
		if (r->at_ns >= end && end == hi) {
			if (r->at_ns == hi)
				holder = r->waker;
			continue;
		}
		if (r->at_ns <= lo)
			break;
		from = r->at_ns;
		walk_next(k, node, holder, from, end, 0);
		end = from;
		holder = r->waker;
	}
	walk_next(k, node, holder, lo, end, 0);
}

/* A worker acts for whoever gave it the work: before it was queued, that one. */
static void walk_work(struct chain_walker *k, uint32_t node, const struct segment *s,
		      const struct wait_cause *c, uint64_t lo, uint64_t hi)
{
	const struct wait_cause *by = waits_context(k->w, c->next);
	uint64_t queued = c->at_ns < lo ? lo : c->at_ns < hi ? c->at_ns : hi;

	if (by && by->kind == ENDER_TASK && by->task == s->task)
		queued = lo;
	if (!by)
		walk_hole(k, node, c->task, lo, queued, 0);
	else if (queued > lo) {
		k->depth++;
		walk_cause(k, node, s, by, lo, queued);
		k->depth--;
	}
	walk_next(k, node, c->task, queued, hi, 0);
}

/* Does the task wait for the output or the end of a process that it has started, and which its
 * object names? */
static bool is_for_started(const struct waits *w, const struct segment *s)
{
	return (s->kind == WAIT_PIPE_EMPTY || s->kind == WAIT_CHILD) && s->object < w->nr_objects &&
	       w->objects[s->object].serves;
}

void walk_cause(struct chain_walker *k, uint32_t node, const struct segment *s,
		const struct wait_cause *c, uint64_t lo, uint64_t hi)
{
	enum wait_kind kind = (enum wait_kind)s->kind;
	struct chains *chains = k->w->chains;

	if (k->depth > MAX_DEPTH) {
		k->w->stats.limits++;
		chains_emit(chains, node, lo, hi, ACCOUNT_UNKNOWN);
		return;
	}
	/* who cut a sleep on purpose short, as the end of the process does, has not made it sleep
	 */
	if (c->kind != ENDER_LOST &&
	    (wait_passes_by_itself(kind) || (wait_is_deliberate(kind) && c->kind == ENDER_TASK))) {
		chains_emit(chains, node, lo, hi, wait_kind_info(kind)->account);
		return;
	}
	switch ((enum wait_ender)c->kind) {
	case ENDER_TASK:
		lock_waits_add(&chains->nodes[node].locks,
			       (struct lock_waits){s->lock, s->lock && c == &s->cause});
		if (s->lock && c == &s->cause)
			walk_holders(k, node, s, lo, hi);
		else
			walk_waker(k, node, s, c, lo, hi);
		return;
	case ENDER_REQUEST:
		walk_request(k, node, s, c, lo, hi);
		return;
	case ENDER_WORK:
	case ENDER_URING:
		walk_work(k, node, s, c, lo, hi);
		return;
	case ENDER_TIMER:
		thing(k, node, thing_of(CHAIN_TIMER, 0, 0), lo, hi,
		      wait_is_deliberate(kind) ? ACCOUNT_DELIBERATE : ACCOUNT_TIMED_OUT);
		return;
	case ENDER_OTHER_TIMER:
		thing(k, node, thing_of(CHAIN_TIMER, cause_name(k->w, c), 0), lo, hi,
		      ACCOUNT_HARDWARE);
		return;
	case ENDER_NETWORK:
		thing(k, node,
		      thing_of(CHAIN_NET, object_name(k->w, c->object ? c->object : s->object), 0),
		      lo, hi,
		      wait_kind_info(kind)->account == ACCOUNT_IDLE ? ACCOUNT_IDLE
								    : ACCOUNT_NETWORK);
		return;
	case ENDER_IRQ:
	case ENDER_SOFTIRQ:
	case ENDER_IPI:
		thing(k, node,
		      thing_of(CHAIN_INTERRUPT,
			       c->task ? task_at(k->w, c->task)->comm : cause_name(k->w, c), 0),
		      lo, hi, ACCOUNT_HARDWARE);
		return;
	case ENDER_LOST:
		chains_emit(chains, node, lo, hi, ACCOUNT_LOST);
		return;
	case ENDER_UNKNOWN:
	case ENDER_UNKNOWN_IRQ:
		chains_emit(chains, node, lo, hi, ACCOUNT_UNKNOWN);
		return;
	default:
		chains_emit(chains, node, lo, hi,
			    is_for_started(k->w, s) ? ACCOUNT_OTHER_PATH
						    : wait_kind_info(kind)->account);
		return;
	}
}

/* Did a signal end the sleep that was not sent to end it? SIGCHLD wakes who waits for a child just
 * before the child's end does. */
static bool is_ended_by_signal(const struct segment *s)
{
	if (s->cause.kind != ENDER_TASK || !s->cause.number || s->kind == WAIT_TRACED)
		return false;
	return s->cause.number != SIGNAL_OF_CHILD || s->kind != WAIT_CHILD;
}

void walk_segment(struct chain_walker *k, uint32_t parent, const struct segment *s, uint64_t lo,
		  uint64_t hi, unsigned int notes)
{
	struct chains *chains = k->w->chains;
	uint32_t node;

	if (hi <= lo)
		return;
	if (s->lost || s->state == SEGMENT_LOST || s->state == SEGMENT_UNKNOWN) {
		node = named_layer(k, parent, s->task,
				   s->state == SEGMENT_SLEEP ? CHAIN_SLEEP : CHAIN_RUN,
				   notes | NOTE_NOT_RECORDED, lo);
		chains_emit(chains, node, lo, hi,
			    s->state == SEGMENT_UNKNOWN ? ACCOUNT_UNKNOWN : ACCOUNT_LOST);
		return;
	}
	switch ((enum segment_state)s->state) {
	case SEGMENT_RUN:
		walk_run(k, parent, s, lo, hi, notes);
		return;
	case SEGMENT_READY:
		walk_ready(k, parent, s, lo, hi, notes);
		return;
	case SEGMENT_SLEEP:
		if (!s->cause.kind)
			notes |= NOTE_STILL | (is_for_started(k->w, s) ? NOTE_CHILD : 0u);
		if (is_ended_by_signal(s))
			notes |= NOTE_SIGNAL;
		node = walk_layer(k, parent, s, notes);
		walk_cause(k, node, s, &s->cause, lo, hi);
		return;
	default:
		return;
	}
}
