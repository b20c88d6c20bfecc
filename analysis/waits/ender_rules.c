// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/ender.h"

/* Soft interrupts, as in include/linux/interrupt.h. */
enum {
	SOFT_TIMER = 1,
	SOFT_NET_TX = 2,
	SOFT_NET_RX = 3,
	SOFT_BLOCK = 4,
	SOFT_HRTIMER = 8,
};

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

/* Is it the soft interrupt that receives or sends packets? */
static bool waking_is_network(uint32_t bracket)
{
	return bracket == BRACKET(BRACKET_SOFT, SOFT_NET_RX) ||
	       bracket == BRACKET(BRACKET_SOFT, SOFT_NET_TX);
}

static enum wait_ender by_task(const struct waking_facts *f)
{
	static const enum wait_ender enders[] = {[WAKER_UNKNOWN] = ENDER_UNKNOWN,
						 [WAKER_TASK] = ENDER_TASK,
						 [WAKER_ITSELF] = ENDER_SELF,
						 [WAKER_IDLE] = ENDER_IPI};

	return enders[f->current];
}

/* In a descent: interrupts that stand for the timers and requests that end in them. */
static enum wait_ender by_coarse(const struct waking_facts *f, uint32_t bracket)
{
	if (bracket >> 12 == BRACKET_CLOCK || bracket == BRACKET(BRACKET_SOFT, SOFT_TIMER) ||
	    bracket == BRACKET(BRACKET_SOFT, SOFT_HRTIMER))
		return ENDER_TIMER;
	return f->for_device || bracket == BRACKET(BRACKET_SOFT, SOFT_BLOCK) ? ENDER_REQUEST
									     : ENDER_NONE;
}

static enum wait_ender by_bracket(const struct waking_facts *f, uint32_t bracket)
{
	switch ((enum bracket_kind)(bracket >> 12)) {
	case BRACKET_BLOCK:
		return ENDER_REQUEST;
	case BRACKET_TIMER:
		return !f->own_timer || f->own_timer[bracket & 0xfff] ? ENDER_TIMER
								      : ENDER_OTHER_TIMER;
	case BRACKET_SOFT:
		if (!waking_is_network(bracket))
			return ENDER_SOFTIRQ;
		return f->asynchronous ? ENDER_NETWORK : by_task(f);
	case BRACKET_HARD:
	case BRACKET_CLOCK:
		return ENDER_IRQ;
	case BRACKET_IPI:
		return ENDER_IPI;
	case BRACKET_BARE:
		return ENDER_UNKNOWN_IRQ;
	default:
		return ENDER_NONE;
	}
}

enum wait_ender wait_ender_of(const struct waking_facts *f, uint32_t *bracket)
{
	/* The innermost bracket decides: an interrupt on top of the completion of a request is not
	 * part of the completion. */
	for (unsigned int i = 0; i < WAITS_BRACKETS; i++) {
		uint32_t one = (uint32_t)(f->brackets >> 16 * i) & 0xffff;
		enum wait_ender ender = by_bracket(f, one);

		if (ender == ENDER_NONE)
			continue;
		*bracket = one;
		if (f->coarse && ender != ENDER_TASK && by_coarse(f, one))
			return by_coarse(f, one);
		return ender;
	}
	*bracket = 0;
	return f->interrupted ? ENDER_UNKNOWN_IRQ : by_task(f);
}

enum wait_ender wait_ender_of_sleep(const struct rec_sleep *s, enum wait_kind kind)
{
	struct waking_facts f = {.brackets = s->bracket,
				 .current = s->flags & SLEEP_BY_ITSELF ? WAKER_ITSELF
					    : s->waker_tid	       ? WAKER_TASK
								       : WAKER_UNKNOWN,
				 /* a packet of this host is received in the task that sends it */
				 .asynchronous = s->object != OBJECT_LOCAL || !s->waker_tid ||
						 s->flags & SLEEP_BY_KSOFTIRQD,
				 .coarse = true,
				 .for_device = wait_is_io(kind) || s->flags & SLEEP_IN_IOWAIT};
	uint32_t bracket;

	return wait_ender_of(&f, &bracket);
}
