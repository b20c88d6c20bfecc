// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of one task: it runs, waits for a CPU, sleeps. */
#include <sys/syscall.h>

#include "analysis/waits/critical_feed.h"
#include "analysis/waits/waits_impl.h"

static void segment_store(struct waits *w, struct segment *s)
{
	struct wait_task *t = task_at(w, s->task);
	struct segment *place = &w->segments[w->nr_segments & (w->config.max_segments - 1)];

	s->prev = t->tail;
	*place = *s;
	t->tail = ++w->nr_segments;
}

/* A sleep, or a wait for a CPU, in which a whole turn of the task may be missing. */
static bool may_hide_a_turn(const struct waits *w, const struct segment *s)
{
	return w->nr_gaps && (s->state == SEGMENT_SLEEP || s->state == SEGMENT_READY) &&
	       gap_within(w, s->from, s->to, 2);
}

/* Only the end; the segment goes to the ring and to the chains. */
static void task_close(struct waits *w, uint32_t task, uint64_t now)
{
	struct wait_task *t = task_at(w, task);
	struct segment *s = &t->now;

	t->touched_ns = now;
	if (s->state == SEGMENT_NONE || s->state == SEGMENT_GONE)
		return;
	if (now < s->from) {
		w->stats.clamped++;
		now = s->from;
	}
	s->to = now;
	s->lost |= may_hide_a_turn(w, s);
	if (s->state == SEGMENT_RUN && t->started_by)
		t->started_ns += s->to - s->from;
	if (s->to == s->from && s->state != SEGMENT_SLEEP)
		return;
	segment_store(w, s);
	if (is_chosen_target(w, t))
		chains_segment(w, s);
}

/* A task turns to what `next` says of it. */
static void task_turn_to(struct waits *w, uint32_t task, uint64_t now, struct segment next)
{
	struct wait_task *t = task_at(w, task);

	task_close(w, task, now);
	if (t->now.state != SEGMENT_NONE && now < t->now.to)
		now = t->now.to;
	next.from = now;
	next.task = task;
	t->now = next;
	if (next.state == SEGMENT_GONE)
		t->dead_ns = now;
	critical_turn(w, task, now);
}

void task_turn(struct waits *w, uint32_t task, uint64_t now, enum segment_state state)
{
	task_turn_to(w, task, now, (struct segment){.syscall = -1, .state = (uint8_t)state});
}

void task_lose(struct waits *w, uint32_t task, uint64_t since)
{
	struct wait_task *t = task_at(w, task);

	if (t->now.state == SEGMENT_LOST)
		return;
	w->stats.mismatches++;
	task_turn(w, task, since > t->now.from ? since : t->now.from, SEGMENT_LOST);
}

static bool is_thread_of(const struct waits *w, uint32_t pid, uint64_t tid)
{
	uint32_t other = tid && tid <= UINT32_MAX ? tasks_find_tid(&w->tasks, (uint32_t)tid) : 0;

	return other >= FIRST_TASK && task_at(w, other)->pid == pid;
}

/* One number for a lock: a futex by its process, a locked file by its object. */
static uint64_t lock_of(const struct wait_task *t, const struct segment *s)
{
	if (s->kind == WAIT_LOCK)
		return t->facts.args[0] ^ (uint64_t)t->pid << 44 ^ 1;
	if (s->kind == WAIT_FILE_LOCK)
		return s->object ? (uint64_t)s->object << 8 | 0xff : 0;
	return 0;
}

/* Forget what was told of a turn that is over. */
static void facts_check(struct wait_task *t, uint64_t now)
{
	struct rec_asleep *a = &t->facts;

	if (a->tid != t->tid || a->at_ns < t->run_since || a->at_ns > now)
		*a = (struct rec_asleep){.syscall = -1};
}

static void fill_sleep(struct waits *w, struct wait_task *t, const struct rec_switch *r,
		       uint64_t now)
{
	const struct trace *stack = traces_find(w->traces, r->kernel_stack);
	struct wait_facts f = {.syscall = -1, .state = r->state};
	struct rec_asleep *a = &t->facts;
	struct segment *s = &t->now;

	s->kernel_stack = r->kernel_stack;
	s->user_stack = r->user_stack;
	f.hints = stack ? stack->hints : 0;
	f.kernel_thread = t->flags & TASK_KERNEL;
	facts_check(t, now);
	f.syscall = a->syscall;
	memcpy(f.args, a->args, sizeof(f.args));
	f.in_fault = a->flags & ASLEEP_IN_FAULT;
	f.held_back = a->flags & ASLEEP_HELD_BACK;
	f.queue_full = a->flags & ASLEEP_QUEUE_FULL;
	f.retries = a->flags & ASLEEP_RETRIES;
	f.retries_lock = a->flags & ASLEEP_RETRIES_LOCK;
	if (a->object && a->object < w->nr_objects) {
		f.has_object = true;
		f.object = w->objects[a->object].kind;
		f.serves = w->objects[a->object].serves;
	}
	if (f.syscall == SYS_futex)
		f.for_thread = is_thread_of(w, t->pid, (uint32_t)f.args[2]);
	s->syscall = (int16_t)f.syscall;
	s->object = a->object;
	s->kind = (uint8_t)wait_kind_of(&f);
	s->lock = lock_of(t, s);
	s->word = a->syscall == SYS_futex ? (uint32_t)(a->args[0] >> 2) | 1 : 0;
	a->tid = 0;
}

void task_asleep_before(struct waits *w, uint32_t task, const struct wait_event *e)
{
	const struct rec_switch how = {.state = SWITCH_INTERRUPTIBLE};
	struct wait_task *t = task_at(w, task);

	if (t->now.state != SEGMENT_SLEEP || !t->now.before || t->now.kind != WAIT_UNKNOWN)
		return;
	t->facts = e->asleep;
	t->facts.at_ns = e->at_ns;
	fill_sleep(w, t, &how, e->at_ns);
}

static void now_ready(struct waits *w, uint32_t task, uint64_t now, enum ready_why why,
		      const struct wait_cause *cause)
{
	const struct segment *s = &task_at(w, task)->now;
	/* else its waking was lost, and it has run since */
	bool slept = s->state == SEGMENT_SLEEP && why == READY_WOKEN;

	task_turn_to(
	    w, task, now,
	    (struct segment){.state = SEGMENT_READY,
			     .why = (uint8_t)why,
			     .waker = cause && cause->kind == ENDER_TASK ? cause->task : NO_TASK,
			     .syscall = slept ? s->syscall : (int16_t)-1,
			     .kind = slept		      ? s->kind
				     : why == READY_THROTTLED ? (uint8_t)WAIT_QUOTA
							      : (uint8_t)WAIT_UNKNOWN});
}

/* Why a task waits for a CPU that left one in this state. */
static enum ready_why why_of(uint32_t state)
{
	if (state & SWITCH_THROTTLED)
		return READY_THROTTLED;
	return state & SWITCH_PREEMPTED ? READY_PREEMPTED : READY_YIELDED;
}

static void leave_to_sleep(struct waits *w, uint32_t task, const struct wait_event *e)
{
	struct wait_task *t = task_at(w, task);

	task_turn(w, task, e->at_ns, SEGMENT_SLEEP);
	fill_sleep(w, t, &e->switched, e->at_ns);
	t->started_by = NO_TASK;
	if (!t->early_ns || e->at_ns > t->early_ns + EARLY_WAKING_NS)
		return;
	/* it was woken on its way to sleep */
	t->now.cause = t->early;
	if (t->now.lock && t->early.kind == ENDER_TASK)
		lock_released(w, t->now.lock, t->early.task, t->early_ns);
	w->stats.sleeps[t->early.kind] += (t->flags & TASK_TARGET) != 0;
	now_ready(w, task, e->at_ns, READY_WOKEN, &t->early);
}

uint32_t task_irq_ns(struct waits *w, uint32_t task, uint32_t total)
{
	struct wait_task *t = task_at(w, task);
	uint32_t since = total > t->irq_ns ? total - t->irq_ns : 0;

	t->irq_ns = total;
	return since;
}

void task_leave(struct waits *w, uint32_t task, const struct wait_event *e, uint32_t next)
{
	const struct rec_switch *r = &e->switched;
	struct wait_task *t = task_at(w, task);
	struct segment *s = &t->now;
	uint32_t state = r->state & SWITCH_STATES;

	if (s->state == SEGMENT_SLEEP) {
		/* that it was woken, and got the CPU, is not known */
		w->stats.mismatches++;
		s->lost = 1;
		s->cause.kind = ENDER_LOST;
	} else if (s->state == SEGMENT_READY || (s->state == SEGMENT_RUN && t->cpu != e->cpu)) {
		task_lose(w, task, e->lost ? e->lost_since_ns : s->from);
	} else if (s->state == SEGMENT_RUN) {
		s->irq_ns = task_irq_ns(w, task, r->irq_ns);
	}
	if (state & SWITCH_DEAD) {
		task_turn(w, task, e->at_ns, SEGMENT_GONE);
	} else if (!state || r->state & SWITCH_PREEMPTED) {
		now_ready(w, task, e->at_ns, why_of(r->state), NULL);
		t->now.by = r->state & SWITCH_THROTTLED ? 0 : next;
		facts_check(t, e->at_ns);
		t->now.object = r->state & SWITCH_THROTTLED ? t->facts.object : 0;
	} else {
		leave_to_sleep(w, task, e);
	}
	t->early_ns = 0;
}

/* ---- getting the CPU, and being woken */

void task_enter(struct waits *w, uint32_t task, const struct wait_event *e, uint32_t prev)
{
	struct wait_task *t = task_at(w, task);
	struct segment *s = &t->now;

	if (s->state == SEGMENT_SLEEP) {
		bool lost = gap_within(w, s->from, e->at_ns, 1);

		s->cause.kind = lost ? ENDER_LOST : ENDER_UNKNOWN;
		s->lost |= lost;
		w->stats.mismatches++;
	} else if (s->state == SEGMENT_RUN) {
		task_lose(w, task, e->lost ? e->lost_since_ns : s->from);
	} else if (s->state == SEGMENT_READY && s->why != READY_PREEMPTED &&
		   s->why != READY_THROTTLED) {
		s->by = prev;
	}
	task_turn(w, task, e->at_ns, SEGMENT_RUN);
	t->run_since = e->at_ns;
	t->irq_ns = 0;
	t->cpu = e->cpu;
}

static void request_note(struct wait_task *t, uint32_t from, uint64_t now)
{
	memmove(&t->request[1], &t->request[0], sizeof(t->request) - sizeof(t->request[0]));
	t->request[0].at_ns = now;
	t->request[0].task = from;
}

void task_wake(struct waits *w, uint32_t task, uint32_t current, uint64_t now,
	       const struct wait_cause *cause)
{
	struct wait_task *t = task_at(w, task);
	bool by_task = cause->kind == ENDER_TASK;

	if (by_task) {
		request_note(t, cause->task, now);
		if (task_at(w, cause->task)->flags & TASK_TARGET && !(t->flags & TASK_TARGET))
			t->started_by = cause->task;
	}
	switch ((enum segment_state)t->now.state) {
	case SEGMENT_RUN:
		t->early_ns = now;
		t->early = *cause;
		break;
	case SEGMENT_SLEEP:
		t->now.cause = *cause;
		w->stats.sleeps[cause->kind] += (t->flags & TASK_TARGET) != 0;
		w->stats.unknown_irq += cause->kind == ENDER_UNKNOWN_IRQ;
		if (t->now.lock && by_task)
			lock_released(w, t->now.lock, cause->task, now);
		now_ready(w, task, now, READY_WOKEN, cause);
		break;
	case SEGMENT_UNKNOWN:
	case SEGMENT_LOST:
	case SEGMENT_NONE:
		now_ready(w, task, now, READY_WOKEN, cause);
		break;
	default:
		break;
	}
	if (by_task)
		task_at(w, current)->woke_ns = now;
}
