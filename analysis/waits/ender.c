// SPDX-License-Identifier: GPL-2.0-or-later
/* Who ended a sleep: the tasks and requests behind the rules of wait_ender_of(). */

#include "analysis/base/array.h"
#include "analysis/waits/waits_impl.h"

enum { CONTEXTS = 1 << 16 };

/* Number of a cause that is kept for a while; 0: none. */
static uint32_t waits_context_add(struct waits *w, const struct wait_cause *cause)
{
	if (!cause->kind)
		return 0;
	w->contexts[++w->nr_contexts % CONTEXTS] = *cause;
	return w->nr_contexts;
}

const struct wait_cause *waits_context(const struct waits *w, uint32_t number)
{
	if (!number || w->nr_contexts - number >= CONTEXTS)
		return NULL;
	return &w->contexts[number % CONTEXTS];
}

/* Is one of this kind on the stack? */
static bool has_bracket(uint64_t brackets, enum bracket_kind kind)
{
	return any_of(i, WAITS_BRACKETS, (brackets >> 16 * i & 0xffff) >> 12 == (uint64_t)kind);
}

static void set_request(struct waits *w, uint64_t key, struct wait_cause *out)
{
	const struct block_request *r = keyed_find(&w->requests, key);

	out->kind = ENDER_REQUEST;
	if (!r)
		return;
	out->start_ns = r->submit_ns;
	out->at_ns = r->issue_ns;
	out->task = r->task;
	out->object = r->object;
}

/* Nobody is there to run a soft interrupt for, or an interrupt lies below it, or the task that ran
 * it has sent no packet: it only was the next one that enabled soft interrupts. */
static bool is_asynchronous(const struct waits *w, const struct waking *k,
			    const struct trace *stack)
{
	uint32_t hints = stack ? stack->hints : 0;
	bool by_chance =
	    hints & HINT_SOFTIRQ && !(hints & HINT_SENDS) && !(stack->flags & TRACE_PARTIAL);

	return hints & HINT_INTERRUPT || by_chance || k->current < FIRST_TASK ||
	       task_at(w, k->current)->flags & TASK_KSOFTIRQD ||
	       has_bracket(k->brackets, BRACKET_HARD) || has_bracket(k->brackets, BRACKET_CLOCK) ||
	       has_bracket(k->brackets, BRACKET_IPI) || has_bracket(k->brackets, BRACKET_BARE);
}

static enum waker waker_of(const struct waking *k)
{
	if (k->current == IDLE_TASK)
		return WAKER_IDLE;
	if (k->current == NO_TASK)
		return WAKER_UNKNOWN;
	return k->current == k->wakee ? WAKER_ITSELF : WAKER_TASK;
}

/* A worker of the kernel acts for whoever gave it the work. */
static void by_worker(struct waits *w, const struct waking *k, struct wait_cause *out)
{
	const struct wait_task *t = task_at(w, k->current);
	const struct wait_cause *by = NULL;
	struct queued_work *q;
	uint64_t queued_ns = 0;

	if (t->flags & TASK_IRQ) {
		out->kind = ENDER_IRQ;
		return;
	}
	if (t->has_job) {
		by = &t->job;
		queued_ns = t->job_ns;
	} else if ((has_bracket(k->brackets, BRACKET_WORK) ||
		    has_bracket(k->brackets, BRACKET_URING)) &&
		   (q = keyed_find(&w->works, k->cause))) {
		by = &q->by;
		queued_ns = q->at_ns;
	}
	if (!(t->flags & (TASK_KWORKER | TASK_URING)) || !by)
		return;
	out->kind = t->flags & TASK_URING ? ENDER_URING : ENDER_WORK;
	out->at_ns = queued_ns;
	out->next = waits_context_add(w, by);
}

/* The current task, for whom it acts, and whether it sent a signal: the tracepoint of signals comes
 * after the waking, so the kernel's functions tell. */
static void by_task(struct waits *w, const struct waking *k, const struct trace *stack,
		    struct wait_cause *out)
{
	out->task = k->current;
	by_worker(w, k, out);
	if (out->kind == ENDER_TASK && stack && stack->hints & HINT_SIGNAL)
		out->number = stack->hints & HINT_CHILD ? SIGNAL_OF_CHILD : SIGNAL_OTHER;
}

void ender_find(struct waits *w, const struct waking *k, struct wait_cause *out)
{
	const struct trace *stack = traces_find(w->traces, k->kernel_stack);
	struct waking_facts f = {.brackets = k->brackets,
				 .current = waker_of(k),
				 .interrupted = stack && stack->hints & HINT_INTERRUPT,
				 .own_timer = w->own_timer};
	enum wait_ender kind;
	uint32_t bracket;

	f.asynchronous = is_asynchronous(w, k, stack);
	kind = wait_ender_of(&f, &bracket);
	memset(out, 0, sizeof(*out));
	out->kind = (uint8_t)kind;
	switch (kind) {
	case ENDER_REQUEST:
		set_request(w, k->cause, out);
		return;
	case ENDER_SELF:
		out->task = bracket ? k->current : NO_TASK;
		return;
	case ENDER_TASK:
		if (bracket)
			out->task = k->current;
		else
			by_task(w, k, stack, out);
		return;
	default:
		out->bracket = (uint8_t)(bracket >> 12);
		out->number = (uint16_t)(bracket & 0xfff);
		if (kind == ENDER_NETWORK && k->wakee)
			out->object = task_at(w, k->wakee)->now.object;
	}
}
