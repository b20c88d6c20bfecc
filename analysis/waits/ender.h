/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ended a sleep: the one set of rules (docs/waits.md). They look at the contexts in which the
 * waking came and at the task that was current. What the sleep was is another question: kinds.h. */
#pragma once

#include "analysis/waits/kinds.h"

enum wait_ender {
	ENDER_NONE = 0, /* it still sleeps */
	ENDER_UNKNOWN,
	ENDER_LOST,
	ENDER_REQUEST,	   /* a block request was completed */
	ENDER_TIMER,	   /* its own timer */
	ENDER_OTHER_TIMER, /* a timer of something else */
	ENDER_TASK,
	ENDER_NETWORK,
	ENDER_SOFTIRQ,
	ENDER_IRQ,	   /* a device */
	ENDER_UNKNOWN_IRQ, /* an interrupt, not known which */
	ENDER_IPI,	   /* another CPU */
	ENDER_SELF,
	ENDER_WORK,  /* a work item of the kernel: whoever queued it */
	ENDER_URING, /* a worker of an io_uring: whoever submitted */
	ENDERS
};

const char *wait_ender_text(enum wait_ender ender);

enum waker { WAKER_UNKNOWN = 0, WAKER_TASK, WAKER_ITSELF, WAKER_IDLE };

struct waking_facts {
	uint64_t brackets; /* enum bracket_kind, four of them, the innermost in the low bits */
	enum waker current;
	/* a soft interrupt does not run for the current task: it lies on an interrupt, or was put
	 * off */
	bool asynchronous;
	bool interrupted; /* the kernel stack has frames of an interrupt */
	/* Timers and completions have no brackets of their own, as in a descent: the interrupts in
	 * which they happen stand for them. `for_device`: the sleep waits for a device. */
	bool coarse, for_device;
	const uint8_t *own_timer; /* by number of the timer's function; NULL: all are */
};

/* The first rule that fits, but for workers of the kernel (ENDER_TASK). *bracket: the bracket that
 * decided, 0 if none did. */
enum wait_ender wait_ender_of(const struct waking_facts *f, uint32_t *bracket);
/* Who ended the sleep of a descent. ENDER_UNKNOWN for a thread that still sleeps. */
enum wait_ender wait_ender_of_sleep(const struct rec_sleep *s, enum wait_kind kind);
