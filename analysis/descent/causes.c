// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/causes.h"

#include <stdio.h>
#include <string.h>

#include "analysis/base/format.h"

enum { LATE_NS = 200000 };
enum {
	ALONE_PERCENT = 90, /* from this percentage on, one task counts as the only one */
	NAMED_PERCENT = 25, /* if less of the time has a name, no task is named */
};

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
	    [CAUSE_QUOTA] = "cpu quota",
	    [CAUSE_STOPPED] = "stopped",
	    [CAUSE_THROTTLED] = "throttled",
	    [CAUSE_RECLAIM] = "reclaim",
	    [CAUSE_COMPACTION] = "compaction",
	    [CAUSE_SWAP] = "swap",
	    [CAUSE_HUGE_PAGE] = "huge page",
	    [CAUSE_KERNEL] = "kernel",
	    [CAUSE_SIGNAL] = "signal handler",
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

/*
 * Returns true for system calls that wait for the clock alone; select and poll do so if they have
 * nothing else to wait for.
 */
static bool waits_for_the_clock(const char *call)
{
	static const char *const calls[] = {"nanosleep", "clock_nanosleep", "pause",	"alarm",
					    "usleep",	 "select",	    "pselect6", "poll",
					    "ppoll"};
	unsigned int i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

/* Classifies a parked goroutine by its wait reason. */
static void cause_of_park(const struct rec_sleep *s, struct cause *c)
{
	const char *reason = text_or_empty(s->name);

	if (!strcmp(reason, "sleep"))
		set(c, CAUSE_SLEEP, "");
	else if (!strcmp(reason, "semacquire") || !strncmp(reason, "sync.Mutex", 10) ||
		 !strncmp(reason, "sync.RWMutex", 12))
		set(c, CAUSE_LOCK, "");
	else if (!strcmp(reason, "IO wait"))
		set(c, CAUSE_NETWORK, "");
	else
		set(c, CAUSE_WAIT, "another goroutine");
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

/* Returns true if the sleep lasted much longer than the program asked for. */
static bool is_late(const struct rec_sleep *s)
{
	return s->asked_ns && s->slept_ns >= 2 * s->asked_ns &&
	       s->slept_ns - s->asked_ns >= LATE_NS;
}

/*
 * Returns true if timer slack explains the delay. The kernel may delay a timer by the slack of its
 * thread, to expire several timers at once.
 */
static bool is_late_by_slack(const struct rec_sleep *s)
{
	return is_late(s) && s->slack_ns >= (s->slept_ns - s->asked_ns) / 2;
}

/*
 * Classify a sleep by the object that it slept on. The waker decides if it is more
 * specific: a completed block request is I/O whatever the system call was, and a timer that
 * ends a wait for something else is a timeout.
 */
static void classify(const struct rec_sleep *s, struct cause *c)
{
	bool timer = s->ended_by == ENDED_TIMER;

	if (s->retransmits && (s->object == SLEEP_ON_SOCKET || s->object == SLEEP_ON_LOCAL)) {
		set(c, CAUSE_NETWORK, s->name);
		return;
	}
	switch ((enum sleep_object)s->object) {
	case SLEEP_ON_NOTHING:
		if (s->ended_by == ENDED_REQUEST)
			set(c, CAUSE_IO, s->name);
		else if (timer || waits_for_the_clock(text_or_empty(s->call)))
			set(c, CAUSE_SLEEP, is_late_by_slack(s) ? "timer slack" : "");
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
		set(c,
		    timer			   ? CAUSE_TIMEOUT
		    : s->ended_by == ENDED_REQUEST ? CAUSE_IO
						   : CAUSE_NETWORK,
		    s->name);
		return;
	case SLEEP_ON_LOCAL:
	case SLEEP_ON_PIPE:
	case SLEEP_ON_CHILD:
		if (s->ended_by == ENDED_REQUEST)
			set(c, CAUSE_IO, "");
		else
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
	case SLEEP_ON_GOROUTINE:
		cause_of_park(s, c);
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

/* Sets the cause: stopped by the freezer of cgroup `group` ("": not known which). */
static void set_frozen(struct cause *c, const char *group)
{
	group = text_or_empty(group);
	c->kind = CAUSE_STOPPED;
	snprintf(c->name, sizeof(c->name), "the cgroup freezer%s%.64s", *group ? " of " : "",
		 group);
}

bool cause_of_work(const struct rec_sleep *s, struct cause *out)
{
	static const enum cause_kind kinds[SLEEP_OBJECTS] = {
	    [SLEEP_IN_RECLAIM] = CAUSE_RECLAIM, [SLEEP_IN_COMPACTION] = CAUSE_COMPACTION,
	    [SLEEP_IN_SWAP] = CAUSE_SWAP,	[SLEEP_IN_HUGE_PAGE] = CAUSE_HUGE_PAGE,
	    [SLEEP_IN_DIRTY] = CAUSE_THROTTLED, [SLEEP_IN_SPIN] = CAUSE_LOCK,
	    [SLEEP_STOPPED] = CAUSE_STOPPED,	[SLEEP_TRACED] = CAUSE_STOPPED,
	    [SLEEP_FROZEN] = CAUSE_STOPPED,	[SLEEP_IN_PROBE] = CAUSE_UNKNOWN,
	};
	const char *holder = text_or_empty(s->holder), *about = text_or_empty(s->about);
	bool holder_is_name =
	    s->object == SLEEP_IN_SPIN || s->object == SLEEP_STOPPED || s->object == SLEEP_TRACED;
	const char *name = s->object == SLEEP_IN_PROBE ? "" : s->name;

	memset(out, 0, sizeof(*out));
	if (s->object < SLEEP_IN_RECLAIM || s->object >= SLEEP_OBJECTS)
		return false;
	set(out, kinds[s->object], holder_is_name ? holder : name);
	if (s->object == SLEEP_FROZEN)
		set_frozen(out, s->name);
	if (s->object == SLEEP_IN_DIRTY && *holder)
		snprintf(out->detail, sizeof(out->detail), "%s, most of them by %s", about, holder);
	else if (s->object == SLEEP_IN_PROBE)
		snprintf(out->detail, sizeof(out->detail),
			 "a probe of peaktop waited for a lock of the kernel");
	else if (s->object == SLEEP_TRACED)
		snprintf(out->detail, sizeof(out->detail), "traced: held by a debugger");
	else
		snprintf(out->detail, sizeof(out->detail), "%s", about);
	return true;
}

static const char steal_detail[] = "steal time";

/* Returns true if the hypervisor had the CPU, not another task. */
static bool is_steal(const struct cause *c)
{
	return c->kind == CAUSE_PREEMPTION && !strcmp(c->detail, steal_detail);
}

void cause_of_host_wait(const struct rec_host_wait *w, struct cause *out)
{
	const char *detail = text_or_empty(w->detail);

	memset(out, 0, sizeof(*out));
	switch ((enum host_wait)w->kind) {
	case HOST_WAIT_PREEMPTED:
		set(out, CAUSE_PREEMPTION, w->name);
		break;
	case HOST_WAIT_STEAL:
		set(out, CAUSE_PREEMPTION, "the hypervisor");
		detail = steal_detail;
		break;
	case HOST_WAIT_QUOTA:
		set(out, CAUSE_QUOTA, w->name);
		break;
	case HOST_WAIT_STOPPED:
		set(out, CAUSE_STOPPED, w->name);
		break;
	case HOST_WAIT_TRACED:
		set(out, CAUSE_STOPPED, w->name);
		detail = "traced: held by a debugger";
		break;
	case HOST_WAIT_FROZEN:
		set_frozen(out, w->name);
		break;
	default:
		set(out, CAUSE_RUN_QUEUE, w->name);
		break;
	}
	out->tid = w->tid;
	if (w->pid && w->tid && w->tid != w->pid)
		snprintf(out->detail, sizeof(out->detail), "%s%sthread %u of pid %u", detail,
			 *detail ? ", " : "", w->tid, w->pid);
	else if (w->pid)
		snprintf(out->detail, sizeof(out->detail), "%s%spid %u", detail,
			 *detail ? ", " : "", w->pid);
	else
		snprintf(out->detail, sizeof(out->detail), "%s", detail);
}

/*
 * Describes what ended the sleep. If an interrupt ended it, name the interrupt: the task on whose
 * stack it ran is unrelated.
 */
static void put_waker(char *out, size_t n, const struct rec_sleep *s)
{
	const char *waker = text_or_empty(s->waker), *doing = text_or_empty(s->doing),
		   *holder = text_or_empty(s->holder);

	out[0] = '\0';
	if (s->ended_by == ENDED_TASK && *waker)
		snprintf(out, n, "woken by %s %u%s%s", waker, (unsigned int)s->waker_tid,
			 *doing ? ", which " : "", doing);
	else if (s->ended_by == ENDED_INTERRUPT && *waker)
		snprintf(out, n, "ended by interrupt %s", waker);
	else if (s->ended_by == ENDED_SIGNAL)
		snprintf(out, n, "ended by a signal");
	else if (*holder && *doing)
		snprintf(out, n, "held by %s, which %s", holder, doing);
}

/*
 * Describes the call: "recvfrom from 127.0.0.1:80", "write to a full pipe". Omits the object if the
 * name of the cause states it.
 */
static void put_call(char *out, size_t n, const struct rec_sleep *s, enum cause_kind kind)
{
	const char *call = text_or_empty(s->call), *name = text_or_empty(s->name);
	bool sends = strstr(call, "write") || !strncmp(call, "send", 4),
	     named = *name && strncmp(name, "pipe:", 5) != 0;

	if (s->object == SLEEP_ON_GOROUTINE)
		snprintf(out, n, "the goroutine was parked%s%s", *name ? ": " : "", name);
	else if (s->object == SLEEP_ON_FILE_LOCK && *name)
		snprintf(out, n, "%s %s %s", call, kind == CAUSE_LOCK ? "of" : "from", name);
	else if (s->object == SLEEP_ON_PIPE && sends)
		snprintf(out, n, "%s to a full pipe%s%s", call, named ? ", " : "",
			 named ? name : "");
	else if (kind == CAUSE_WAIT && named &&
		 (s->object == SLEEP_ON_LOCAL || s->object == SLEEP_ON_PIPE ||
		  s->object == SLEEP_ON_OTHER))
		snprintf(out, n, "%s %s %s", call,
			 sends						  ? "to"
			 : strstr(call, "poll") || strstr(call, "select") ? "on"
									  : "from",
			 name);
	else
		snprintf(out, n, "%s", call);
}

/*
 * Describes the times: how long the program asked to sleep and how long it slept, or how many TCP
 * segments were retransmitted.
 */
static void put_times(char *out, size_t n, const struct rec_sleep *s)
{
	out[0] = '\0';
	if (s->retransmits)
		snprintf(out, n, "%u TCP retransmission%s to %s", (unsigned int)s->retransmits,
			 s->retransmits > 1 ? "s" : "", text_or_empty(s->name));
	else if (!s->asked_ns || s->ended_by != ENDED_TIMER)
		return;
	else if (is_late(s) && is_late_by_slack(s))
		snprintf(out, n, "asked for %s, slept %s, timer slack %s",
			 format_time(s->asked_ns).s, format_time(s->slept_ns).s,
			 format_time(s->slack_ns).s);
	else if (is_late(s))
		snprintf(out, n, "asked for %s, slept %s", format_time(s->asked_ns).s,
			 format_time(s->slept_ns).s);
	else
		snprintf(out, n, "asked for %s", format_time(s->asked_ns).s);
}

void cause_of_sleep(const struct rec_sleep *s, struct cause *out)
{
	char who[CAUSE_TEXT], call[CAUSE_TEXT], times[CAUSE_TEXT];
	const char *part[] = {call, times, who};
	size_t at = 0;

	if (cause_of_work(s, out))
		return;
	memset(out, 0, sizeof(*out));
	classify(s, out);
	put_call(call, sizeof(call), s, out->kind);
	put_times(times, sizeof(times), s);
	put_waker(who, sizeof(who), s);
	out->tid = s->ended_by == ENDED_TASK ? s->waker_tid : 0;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (*part[i] && at < sizeof(out->detail))
			at += (size_t)snprintf(out->detail + at, sizeof(out->detail) - at, "%s%s",
					       at ? ", " : "", part[i]);
	}
}

static bool same(const struct cause *a, const struct cause *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name);
}

/* Keeps the detail that most of the entry's time has, if one has more than half of it (Boyer and
 * Moore, 1981): the first wait may be an odd one. */
static void vote_for_detail(struct cause_entry *e, const struct cause *cause, uint64_t ns)
{
	if (!strcmp(e->cause.detail, cause->detail)) {
		e->lead_ns += ns;
	} else if (e->lead_ns >= ns) {
		e->lead_ns -= ns;
	} else {
		e->lead_ns = ns - e->lead_ns;
		e->cause = *cause;
	}
}

void cause_tally_add(struct cause_tally *t, const struct cause *cause, uint64_t ns)
{
	unsigned int i, lightest = 0;

	for (i = 0; i < t->nr; i++) {
		if (same(&t->entry[i].cause, cause)) {
			t->entry[i].ns += ns;
			vote_for_detail(&t->entry[i], cause, ns);
			return;
		}
		if (t->entry[i].ns < t->entry[lightest].ns)
			lightest = i;
	}
	if (t->nr < CAUSE_NAMES) {
		t->entry[t->nr].cause = *cause;
		t->entry[t->nr].lead_ns = ns;
		t->entry[t->nr++].ns = ns;
		return;
	}
	/* Space saving: the new cause replaces the lightest and inherits its weight. */
	t->other_ns += t->entry[lightest].ns;
	t->entry[lightest].cause = *cause;
	t->entry[lightest].ns += ns;
	t->entry[lightest].lead_ns = ns;
}

/*
 * Says in the detail of `c` that it had the CPU for `percent` of the time, and who had it
 * otherwise: `tasks` tasks ran, `c` among them unless it is the hypervisor. `steals`: the
 * hypervisor took much of the time.
 */
static void tell_others(struct cause *c, unsigned int tasks, bool steals, double percent)
{
	const char *plural = tasks == 1 ? "" : "s";

	if (is_steal(c))
		snprintf(c->detail, sizeof(c->detail), "%s, %.0f%% of that time; %u task%s ran",
			 steal_detail, percent, tasks, plural);
	else
		snprintf(c->detail, sizeof(c->detail),
			 "%u task%s ran; this one ran for %.0f%% of that time%s", tasks, plural,
			 percent, steals ? "; the hypervisor took the CPU, too" : "");
}

void cause_tally_tasks(const struct cause_tally *t, enum cause_kind kind, struct cause *out)
{
	uint64_t top_ns = 0, named = 0, all = 0, steal = 0;
	unsigned int i, tasks = 0;

	memset(out, 0, sizeof(*out));
	out->kind = kind;
	for (i = 0; i < t->nr; i++) {
		const struct cause *c = &t->entry[i].cause;

		if (c->kind != kind)
			continue;
		all += t->entry[i].ns;
		if (!c->name[0])
			continue;
		if (is_steal(c))
			steal += t->entry[i].ns;
		else
			tasks++;
		named += t->entry[i].ns;
		if (t->entry[i].ns > top_ns) {
			top_ns = t->entry[i].ns;
			*out = *c;
		}
	}
	/* a quota or a stop has no task that ran */
	if (!top_ns || (kind != CAUSE_PREEMPTION && kind != CAUSE_RUN_QUEUE))
		return;
	if (named * 100 < all * NAMED_PERCENT) {
		*out = (struct cause){.kind = kind};
		return;
	}
	if (top_ns * 100 < named * ALONE_PERCENT)
		tell_others(out, tasks, steal * 100 > named * (100 - ALONE_PERCENT),
			    100 * (double)top_ns / (double)all);
	else if (2 * top_ns < all)
		snprintf(out->detail + strlen(out->detail),
			 sizeof(out->detail) - strlen(out->detail),
			 "%sfor %.0f%% of that time; the other tasks are not known",
			 out->detail[0] ? ", " : "", 100 * (double)top_ns / (double)all);
}

const struct cause *cause_tally_top(const struct cause_tally *t)
{
	unsigned int i, top = 0;

	for (i = 1; i < t->nr; i++)
		if (t->entry[i].ns > t->entry[top].ns)
			top = i;
	return t->nr ? &t->entry[top].cause : NULL;
}
