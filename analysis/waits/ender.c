// SPDX-License-Identifier: GPL-2.0-or-later
/* Who ended a sleep: the rules, first match. */
#include <string.h>

#include "analysis/waits/waits_impl.h"

enum { SOFT_NET_TX = 2, SOFT_NET_RX = 3 };
#define SIGNAL_RECENT_NS 100000ull
#define PACKET_RECENT_NS 10000000ull

enum { CONTEXTS = 1 << 16 };

const char *wait_ender_text(enum wait_ender ender)
{
	static const char *const text[ENDERS] = {
	    [ENDER_NONE] = "still asleep",
	    [ENDER_UNKNOWN] = "unknown",
	    [ENDER_LOST] = "LOST",
	    [ENDER_REQUEST] = "block request",
	    [ENDER_TIMER] = "its timer",
	    [ENDER_OTHER_TIMER] = "timer",
	    [ENDER_TASK] = "task",
	    [ENDER_NETWORK] = "network",
	    [ENDER_SOFTIRQ] = "soft interrupt",
	    [ENDER_IRQ] = "interrupt",
	    [ENDER_UNKNOWN_IRQ] = "unknown interrupt",
	    [ENDER_IPI] = "interrupt of another CPU",
	    [ENDER_SELF] = "itself",
	    [ENDER_WORK] = "work item",
	    [ENDER_URING] = "io_uring",
	};

	return (unsigned int)ender < ENDERS ? text[ender] : "unknown";
}

uint32_t waits_context_add(struct waits *w, const struct wait_cause *cause)
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

static unsigned int bracket_at(uint64_t brackets, unsigned int i, unsigned int *number)
{
	unsigned int b = (unsigned int)(brackets >> 16 * i) & 0xffff;

	*number = b & 0xfff;
	return b >> 12;
}

/* Is one of this kind on the stack? Its number in *number. */
static bool has_bracket(uint64_t brackets, enum bracket_kind kind, unsigned int *number)
{
	unsigned int found;

	for (unsigned int i = 0; i < WAITS_BRACKETS; i++) {
		if (bracket_at(brackets, i, &found) == (unsigned int)kind) {
			*number = found;
			return true;
		}
	}
	return false;
}

static void set(struct wait_cause *out, enum wait_ender kind, enum bracket_kind bracket,
		unsigned int number)
{
	out->kind = (uint8_t)kind;
	out->bracket = (uint8_t)bracket;
	out->number = (uint16_t)number;
}

static void set_request(struct waits *w, uint64_t key, struct wait_cause *out)
{
	const struct request *r = keyed_find(&w->requests, key);

	out->kind = ENDER_REQUEST;
	if (!r)
		return;
	out->start_ns = r->submit_ns;
	out->at_ns = r->issue_ns;
	out->task = r->task;
	out->object = r->object;
}

/* The task of this host that sent the packet. */
static bool set_sender(struct waits *w, const struct waking *k, struct wait_cause *out)
{
	const struct sent_packet *p = k->cause ? keyed_find(&w->packets, k->cause) : NULL;

	if (!p || p->at_ns + PACKET_RECENT_NS < k->at_ns)
		return false;
	out->object = p->object;
	out->task = p->sender;
	out->at_ns = p->sent_ns;
	out->kind = p->sender == k->wakee ? ENDER_SELF : ENDER_TASK;
	return true;
}

/* Frames of an interrupt lie on the stack, or nobody is there to run a soft interrupt for. */
static bool is_asynchronous(const struct waits *w, const struct waking *k)
{
	const struct trace *stack = traces_find(w->traces, k->kernel_stack);
	unsigned int n;

	return k->current < FIRST_TASK || task_at(w, k->current)->flags & TASK_KSOFTIRQD ||
	       has_bracket(k->brackets, BRACKET_HARD, &n) ||
	       has_bracket(k->brackets, BRACKET_CLOCK, &n) ||
	       has_bracket(k->brackets, BRACKET_IPI, &n) ||
	       has_bracket(k->brackets, BRACKET_BARE, &n) ||
	       (stack && stack->hints & HINT_INTERRUPT);
}

static void in_soft(struct waits *w, const struct waking *k, unsigned int vector,
		    struct wait_cause *out)
{
	bool network = vector == SOFT_NET_RX || vector == SOFT_NET_TX;

	if (network && set_sender(w, k, out))
		return;
	if (network && !is_asynchronous(w, k)) {
		out->kind = k->current == k->wakee ? ENDER_SELF : ENDER_TASK;
		out->task = k->current;
		return;
	}
	set(out, network ? ENDER_NETWORK : ENDER_SOFTIRQ, BRACKET_SOFT, vector);
	if (network && k->wakee)
		out->object = task_at(w, k->wakee)->now.object;
}

/* An interrupt, never the task that it fell on. */
static bool in_interrupt(struct waits *w, const struct waking *k, struct wait_cause *out)
{
	const struct trace *stack;
	unsigned int number, kind;

	/* The innermost bracket decides: an interrupt on top of the completion of a request is not
	 * part of the completion. */
	for (unsigned int i = 0; i < WAITS_BRACKETS; i++) {
		kind = bracket_at(k->brackets, i, &number);
		switch ((enum bracket_kind)kind) {
		case BRACKET_BLOCK:
			set_request(w, k->cause, out);
			return true;
		case BRACKET_TIMER:
			set(out, w->own_timer[number] ? ENDER_TIMER : ENDER_OTHER_TIMER,
			    BRACKET_TIMER, number);
			return true;
		case BRACKET_SOFT:
			in_soft(w, k, number, out);
			return true;
		case BRACKET_HARD:
		case BRACKET_CLOCK:
			set(out, ENDER_IRQ, (enum bracket_kind)kind, number);
			return true;
		case BRACKET_IPI:
			set(out, ENDER_IPI, BRACKET_IPI, number);
			return true;
		case BRACKET_BARE:
			set(out, ENDER_UNKNOWN_IRQ, BRACKET_BARE, 0);
			return true;
		default:
			break;
		}
	}
	stack = traces_find(w->traces, k->kernel_stack);
	if (!stack || !(stack->hints & HINT_INTERRUPT))
		return false;
	set(out, ENDER_UNKNOWN_IRQ, BRACKET_BARE, 0);
	return true;
}

/* A worker of the kernel acts for whoever gave it the work. */
static bool by_worker(struct waits *w, const struct waking *k, struct wait_cause *out)
{
	const struct wait_task *t = task_at(w, k->current);
	const struct wait_cause *by = NULL;
	struct queued_work *q;
	uint64_t queued_ns = 0;
	unsigned int number;

	if (t->flags & TASK_IRQ) {
		set(out, ENDER_IRQ, BRACKET_NONE, 0);
		out->task = k->current;
		return true;
	}
	if (t->has_job) {
		by = &t->job;
		queued_ns = t->job_ns;
	} else if ((has_bracket(k->brackets, BRACKET_WORK, &number) ||
		    has_bracket(k->brackets, BRACKET_URING, &number)) &&
		   (q = keyed_find(&w->works, k->cause))) {
		by = &q->by;
		queued_ns = q->at_ns;
	}
	if (!(t->flags & (TASK_KWORKER | TASK_URING)) || !by)
		return false;
	out->kind = t->flags & TASK_URING ? ENDER_URING : ENDER_WORK;
	out->task = k->current;
	out->at_ns = queued_ns;
	out->next = waits_context_add(w, by);
	return true;
}

void ender_find(struct waits *w, const struct waking *k, struct wait_cause *out)
{
	const struct wait_task *wakee;

	memset(out, 0, sizeof(*out));
	if (in_interrupt(w, k, out))
		return;
	if (k->current == IDLE_TASK) {
		set(out, ENDER_IPI, BRACKET_NONE, 0);
		return;
	}
	if (k->current == NO_TASK) {
		out->kind = ENDER_UNKNOWN;
		return;
	}
	if (k->current == k->wakee) {
		out->kind = ENDER_SELF;
		return;
	}
	if (by_worker(w, k, out))
		return;
	out->kind = ENDER_TASK;
	out->task = k->current;
	wakee = task_at(w, k->wakee);
	if (k->wakee && wakee->signal_ns + SIGNAL_RECENT_NS >= k->at_ns &&
	    wakee->signal_from == k->current)
		out->number = (uint16_t)wakee->signal;
}
