// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/causes.h"

#include <stdio.h>
#include <string.h>

const char *cause_kind_text(enum cause_kind kind)
{
	static const char *const text[CAUSE_KINDS] = {
	    [CAUSE_OWN_CODE] = "own code",
	    [CAUSE_LOOP] = "loop",
	    [CAUSE_PREEMPTION] = "preemption",
	    [CAUSE_RUN_QUEUE] = "run queue",
	    [CAUSE_INTERRUPT] = "interrupt",
	    [CAUSE_PAGE_FAULT] = "page fault",
	    [CAUSE_IO] = "io",
	    [CAUSE_LOCK] = "lock",
	    [CAUSE_SLEEP] = "sleep",
	    [CAUSE_TIMEOUT] = "timeout",
	    [CAUSE_NETWORK] = "network",
	    [CAUSE_WAIT] = "wait",
	    [CAUSE_UNMEASURED] = "unmeasured callees",
	    [CAUSE_UNKNOWN] = "unknown",
	};

	return kind < CAUSE_KINDS ? text[kind] : "unknown";
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static const char *first_of(const char *a, const char *b)
{
	return a && *a ? a : text_or_empty(b);
}

static void set(struct cause *c, enum cause_kind kind, const char *name)
{
	c->kind = kind;
	snprintf(c->name, sizeof(c->name), "%s", text_or_empty(name));
}

/* Calls that do nothing but wait for the clock; some of them only where they have nothing else to wait for. */
static bool waits_for_the_clock(const char *call)
{
	static const char *const calls[] = {"nanosleep", "clock_nanosleep", "pause", "alarm", "usleep",
					    "select",	 "pselect6",	    "poll",  "ppoll"};
	unsigned int i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

static void cause_of_futex(const struct rec_sleep *s, struct cause *c)
{
	if (s->ended_by == ENDED_TIMER)
		set(c, CAUSE_TIMEOUT, s->holder);
	else if (s->exclusive)
		set(c, CAUSE_LOCK, first_of(s->holder, s->waker));
	else
		set(c, CAUSE_WAIT, s->waker);
}

/*
 * By the thing slept on; who ended it decides where that says more: a request
 * that was completed is I/O whatever was called, a timer that ends a wait for something
 * else is a timeout.
 */
static void classify(const struct rec_sleep *s, struct cause *c)
{
	bool timer = s->ended_by == ENDED_TIMER;

	switch ((enum sleep_object)s->object) {
	case SLEEP_ON_NOTHING:
		if (s->ended_by == ENDED_REQUEST)
			set(c, CAUSE_IO, s->name);
		else if (timer || waits_for_the_clock(text_or_empty(s->call)))
			set(c, CAUSE_SLEEP, "");
		else if (s->ended_by == ENDED_TASK)
			set(c, CAUSE_WAIT, s->waker);
		else
			set(c, CAUSE_UNKNOWN, s->waker);
		return;
	case SLEEP_ON_FILE:
	case SLEEP_ON_DEVICE:
		set(c, CAUSE_IO, s->name);
		return;
	case SLEEP_ON_SOCKET:
		set(c, timer ? CAUSE_TIMEOUT : CAUSE_NETWORK, s->name);
		return;
	case SLEEP_ON_LOCAL:
	case SLEEP_ON_PIPE:
	case SLEEP_ON_CHILD:
		set(c, timer ? CAUSE_TIMEOUT : CAUSE_WAIT, timer ? s->name : s->waker);
		return;
	case SLEEP_ON_FUTEX:
		cause_of_futex(s, c);
		return;
	case SLEEP_ON_KERNEL_LOCK:
	case SLEEP_ON_FILE_LOCK:
		set(c, CAUSE_LOCK, first_of(s->holder, s->waker));
		return;
	case SLEEP_ON_PAGE:
		set(c, CAUSE_PAGE_FAULT, s->name);
		return;
	default:
		break;
	}
	if (s->ended_by == ENDED_REQUEST)
		set(c, CAUSE_IO, s->name);
	else if (timer)
		set(c, CAUSE_TIMEOUT, s->name);
	else if (s->ended_by == ENDED_NETWORK)
		set(c, CAUSE_NETWORK, s->name);
	else if (s->ended_by == ENDED_TASK)
		set(c, CAUSE_WAIT, s->waker);
	else
		set(c, CAUSE_UNKNOWN, s->name);
}

void cause_of_sleep(const struct rec_sleep *s, struct cause *out)
{
	const char *call = text_or_empty(s->call), *waker = text_or_empty(s->waker);
	char who[64] = "";

	memset(out, 0, sizeof(*out));
	classify(s, out);
	/* An interrupt lies on top of an innocent task: it is named, the task is not. */
	if (s->ended_by == ENDED_TASK && *waker)
		snprintf(who, sizeof(who), "woken by %s %u", waker, (unsigned int)s->waker_tid);
	else if (s->ended_by == ENDED_INTERRUPT && *waker)
		snprintf(who, sizeof(who), "ended by interrupt %s", waker);
	else if (s->ended_by == ENDED_SIGNAL)
		snprintf(who, sizeof(who), "ended by a signal");
	/* the other end of a wait for a task of this host, or the file that is locked */
	if (*text_or_empty(s->name) &&
	    ((s->object == SLEEP_ON_LOCAL && out->kind == CAUSE_WAIT) || s->object == SLEEP_ON_FILE_LOCK)) {
		snprintf(out->detail, sizeof(out->detail), "%s %s %s%s%s", call, out->kind == CAUSE_LOCK ? "of" : "from", s->name,
			 *who ? ", " : "", who);
		return;
	}
	snprintf(out->detail, sizeof(out->detail), "%s%s%s", call, *call && *who ? ", " : "", who);
}

static bool same(const struct cause *a, const struct cause *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name);
}

void cause_tally_add(struct cause_tally *t, const struct cause *cause, uint64_t ns)
{
	unsigned int i, lightest = 0;

	for (i = 0; i < t->nr; i++) {
		if (same(&t->entry[i].cause, cause)) {
			t->entry[i].ns += ns;
			return;
		}
		if (t->entry[i].ns < t->entry[lightest].ns)
			lightest = i;
	}
	if (t->nr < CAUSE_NAMES) {
		t->entry[t->nr].cause = *cause;
		t->entry[t->nr++].ns = ns;
		return;
	}
	/* Space saving: the newcomer takes the lightest one's place, with its weight. */
	t->other_ns += t->entry[lightest].ns;
	t->entry[lightest].cause = *cause;
	t->entry[lightest].ns += ns;
}

const struct cause *cause_tally_top(const struct cause_tally *t)
{
	unsigned int i, top = 0;

	for (i = 1; i < t->nr; i++)
		if (t->entry[i].ns > t->entry[top].ns)
			top = i;
	return t->nr ? &t->entry[top].cause : NULL;
}
