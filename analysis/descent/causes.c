// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/causes.h"

#include "analysis/base/format.h"

enum { LATE_NS = 200000 };

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

/* Returns true if the sleep lasted much longer than the program asked for. */
static bool is_late(const struct rec_sleep *s)
{
	return s->asked_ns && s->slept_ns >= 2 * s->asked_ns &&
	       s->slept_ns - s->asked_ns >= LATE_NS;
}

/* Returns true if timer slack explains the delay. The kernel may delay a timer by the slack of its
 * thread, to expire several timers at once. */
static bool is_late_by_slack(const struct rec_sleep *s)
{
	return is_late(s) && s->slack_ns >= (s->slept_ns - s->asked_ns) / 2;
}

/* Returns true if it stays what it is, whoever ended it. */
static bool is_settled(enum wait_kind kind)
{
	enum cause_kind cause = wait_kind_info(kind)->cause;

	return wait_kind_info(kind)->exact ||
	       (cause != CAUSE_UNKNOWN && cause != CAUSE_WAIT && cause != CAUSE_NETWORK &&
		kind != WAIT_LOCK && kind != WAIT_CLOCK);
}

/* A wait for events at one connection is for its peer. One for a signal is for the commands whose
 * end the signal tells, if a snapshot has named them. */
static enum cause_kind cause_by_object(const struct rec_sleep *s, enum wait_kind kind)
{
	if (kind == WAIT_EVENTS || kind == WAIT_CONNECTION) {
		if (s->object == OBJECT_SOCKET)
			return CAUSE_NETWORK;
		if (s->object == OBJECT_LOCAL || s->object == OBJECT_PIPE)
			return CAUSE_WAIT;
	}
	if (kind == WAIT_SIGNAL && !s->bracket && s->waker && s->waker[0])
		return CAUSE_WAIT;
	return wait_kind_info(kind)->cause;
}

/* The cause of a sleep of this kind. Who ended it decides if that is more specific: a completed
 * block request is I/O whatever the system call was, and a timer that ends a wait for something
 * else is a timeout. */
static enum cause_kind cause_by_ender(const struct rec_sleep *s, enum wait_kind kind,
				      enum wait_ender ender)
{
	enum cause_kind cause = cause_by_object(s, kind);

	if (is_settled(kind))
		return cause;
	if (s->retransmits && (s->object == OBJECT_SOCKET || s->object == OBJECT_LOCAL))
		return CAUSE_NETWORK;
	if (ender == ENDER_REQUEST)
		return CAUSE_IO;
	if (ender == ENDER_TIMER && kind != WAIT_CLOCK)
		return CAUSE_TIMEOUT;
	if (cause == CAUSE_UNKNOWN && ender == ENDER_NETWORK)
		return CAUSE_NETWORK;
	return cause == CAUSE_UNKNOWN && ender == ENDER_TASK ? CAUSE_WAIT : cause;
}

/* The holder of the lock. The one that woke a thread at a futex was the last one to have it. */
static const char *holder_of(const struct rec_sleep *s, enum wait_kind kind, enum wait_ender ender)
{
	if (s->work != SLEEP_NO_WORK || !wait_is_ended_by_holder(kind))
		return s->holder;
	if (ender == ENDER_TASK && kind == WAIT_LOCK)
		return first_of(s->waker, s->holder);
	return first_of(s->holder, ender == ENDER_TASK ? s->waker : "");
}

static const char *name_of(const struct rec_sleep *s, enum cause_kind cause, enum wait_kind kind,
			   enum wait_ender ender)
{
	switch (cause) {
	case CAUSE_SLEEP:
		return is_late_by_slack(s) ? "timer slack" : "";
	case CAUSE_LOCK:
		return holder_of(s, kind, ender);
	case CAUSE_STOPPED:
		return kind == WAIT_FROZEN ? s->name : kind == WAIT_FROZEN_FILES ? "" : s->holder;
	case CAUSE_WAIT:
		if (s->work == SLEEP_PARKED)
			return "another goroutine";
		if (!wait_is_ended_by_holder(kind))
			return "";
		if (kind == WAIT_DATAGRAM_FULL && s->holder && *s->holder && ender != ENDER_TASK)
			return s->holder;
		return s->bracket && ender != ENDER_TASK ? "" : s->waker;
	case CAUSE_TIMEOUT:
		return kind == WAIT_LOCK ? s->holder : s->name;
	case CAUSE_IO:
		/* the file is not known if the thread waited for something else */
		return wait_kind_info(kind)->cause == CAUSE_WAIT ? "" : s->name;
	case CAUSE_UNKNOWN:
		return ender == ENDER_IRQ || ender == ENDER_IPI || ender == ENDER_SOFTIRQ
			   ? s->interrupt
			   : s->name;
	default:
		return s->work == SLEEP_PARKED ? "" : s->name;
	}
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
	const char *holder = text_or_empty(s->holder), *about = text_or_empty(s->about);
	enum wait_kind kind;

	memset(out, 0, sizeof(*out));
	if (s->work == SLEEP_NO_WORK || s->work == SLEEP_PARKED || s->work >= SLEEP_WORKS)
		return false;
	kind = wait_kind_of_sleep(s, "", false);
	out->kind = wait_kind_info(kind)->cause;
	out->wait = wait_is_stop(kind) ? WAIT_UNKNOWN : kind;
	set(out, out->kind, name_of(s, out->kind, kind, ENDER_UNKNOWN));
	if (s->work == SLEEP_FROZEN)
		set_frozen(out, s->name);
	if (s->work == SLEEP_IN_PROBE) {
		out->wait = WAIT_UNKNOWN;
		set(out, CAUSE_UNKNOWN, "");
	}
	if (s->work == SLEEP_IN_DIRTY && *holder)
		snprintf(out->detail, sizeof(out->detail), "%s, most of them by %s", about, holder);
	else if (s->work == SLEEP_IN_PROBE)
		snprintf(out->detail, sizeof(out->detail),
			 "a probe of peaktop waited for a lock of the kernel");
	else if (s->work == SLEEP_TRACED)
		snprintf(out->detail, sizeof(out->detail), "traced: held by a debugger");
	else
		snprintf(out->detail, sizeof(out->detail), "%s", about);
	return true;
}

static const char steal_detail[] = "steal time";

bool cause_is_steal(const struct cause *c)
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

/* Describes what ended the sleep. If an interrupt ended it, name the interrupt: the task on whose
 * stack it ran is unrelated. */
static void put_waker(char *out, size_t n, const struct rec_sleep *s, enum wait_kind kind,
		      enum wait_ender ender)
{
	const char *waker = text_or_empty(s->waker), *doing = text_or_empty(s->doing),
		   *holder = text_or_empty(s->holder), *interrupt = text_or_empty(s->interrupt);

	out[0] = '\0';
	/* a connection that waited for room is made in a timer, whatever task that interrupts */
	if (ender == ENDER_TASK && *waker && kind != WAIT_CONNECT)
		snprintf(out, n, "%s by %s %u%s%s",
			 wait_is_ended_by_holder(kind) ? "woken" : "ended", waker,
			 (unsigned int)s->waker_tid, *doing ? ", which " : "", doing);
	else if ((ender == ENDER_IRQ || ender == ENDER_IPI || ender == ENDER_SOFTIRQ) && *interrupt)
		snprintf(out, n, "ended by interrupt %s", interrupt);
	else if (*holder && *doing)
		snprintf(out, n, "%s %s, which %s", wait_kind_info(kind)->holds, holder, doing);
}

/* What is the matter with the other end of a pipe. NULL: nothing. */
static const char *text_of_end(enum wait_kind wait)
{
	switch (wait) {
	case WAIT_FIFO_WRITER:
		return "of a FIFO that nobody has open to write";
	case WAIT_FIFO_READER:
		return "of a FIFO that nobody has open to read";
	case WAIT_PIPE_FULL:
		return "to a full pipe";
	default:
		return NULL;
	}
}

/* Describes a queue without room: ", 11 of 11 messages". */
static void put_queue(char *out, size_t n, const struct rec_sleep *s, enum wait_kind wait)
{
	const char *items = wait_kind_info(wait)->items;
	size_t at = strlen(out);

	if (items && s->room && s->queued >= s->room && !s->retransmits)
		snprintf(out + at, n - at, ", %u of %u %s", (unsigned int)s->queued,
			 (unsigned int)s->room, items);
}

/* Describes the call that is tried again: "fcntl F_SETLK failed with EAGAIN on /a". */
static void put_retry(char *out, size_t n, const struct rec_sleep *s)
{
	const char *name = text_or_empty(s->name);

	snprintf(out, n, "%s%s%s", text_or_empty(s->about), *name ? " on " : "", name);
}

/* Describes the call: "recvfrom from 127.0.0.1:80", "write to a full pipe". Omits the object if the
 * name of the cause states it. */
static void put_call(char *out, size_t n, const struct rec_sleep *s, enum wait_kind wait,
		     enum cause_kind kind)
{
	const char *call = text_or_empty(s->call), *name = text_or_empty(s->name),
		   *end = text_of_end(wait);
	bool sends = strstr(call, "write") || !strncmp(call, "send", 4),
	     named = *name && strncmp(name, "pipe:", 5) != 0;

	if (s->work == SLEEP_PARKED)
		snprintf(out, n, "the goroutine was parked%s%s", *name ? ": " : "", name);
	else if (wait_is_retry(wait))
		put_retry(out, n, s);
	else if ((wait_is_lock(wait) || wait == WAIT_FROZEN_FILES) && *name)
		snprintf(out, n, "%s %s %s", call, kind == CAUSE_TIMEOUT ? "from" : "of", name);
	else if (end)
		snprintf(out, n, "%s %s%s%s", call, end, named ? ", " : "", named ? name : "");
	else if (kind == CAUSE_WAIT && named)
		snprintf(out, n, "%s %s %s", call,
			 sends						  ? "to"
			 : strstr(call, "poll") || strstr(call, "select") ? "on"
									  : "from",
			 name);
	else
		snprintf(out, n, "%s", call);
}

/* Why a connection takes so long: what was sent, and the listener's queue if it is on this host. */
static void put_backlog(char *out, size_t n, const struct rec_sleep *s)
{
	const char *holder = text_or_empty(s->holder);
	unsigned int sent = (unsigned int)s->retransmits + 1, room = (unsigned int)s->room;

	if (room && s->queued >= room)
		snprintf(out, n, "SYN sent %u times: accept queue of %s full, %u of %u", sent,
			 holder, (unsigned int)s->queued, room);
	else if (room && s->overflows)
		snprintf(out, n, "SYN sent %u times: accept queue of %s, which holds %u, was full",
			 sent, holder, room);
	else
		snprintf(out, n, "SYN sent %u times: lost, or the peer's accept queue is full",
			 sent);
}

/* Describes the times: how long the program asked to sleep and how long it slept, or how many TCP
 * segments were retransmitted. */
static void put_times(char *out, size_t n, const struct rec_sleep *s, enum wait_ender ender)
{
	out[0] = '\0';
	if (s->retransmits && !strcmp(text_or_empty(s->call), "connect"))
		put_backlog(out, n, s);
	else if (s->retransmits)
		snprintf(out, n, "%u TCP retransmission%s to %s", (unsigned int)s->retransmits,
			 s->retransmits > 1 ? "s" : "", text_or_empty(s->name));
	else if (!s->asked_ns || ender != ENDER_TIMER)
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

/* Do the words of the kind say what the sleep was, whoever ended it? */
static bool says_its_kind(const struct rec_sleep *s, enum wait_kind kind, enum cause_kind cause)
{
	enum cause_kind of_kind = wait_kind_info(kind)->cause;

	if (kind == WAIT_UNKNOWN || kind == WAIT_OTHER || s->work == SLEEP_PARKED ||
	    wait_is_stop(kind) != (kind == WAIT_FROZEN_FILES))
		return false;
	return cause == of_kind || (of_kind == CAUSE_UNKNOWN && cause != CAUSE_TIMEOUT);
}

void cause_of_sleep(const struct rec_sleep *s, const char *kernel, struct cause *out)
{
	enum wait_kind kind = wait_kind_of_sleep(s, kernel, false);
	enum wait_ender ender = wait_ender_of_sleep(s, kind);
	char who[CAUSE_TEXT], call[CAUSE_TEXT], times[CAUSE_TEXT];
	const char *part[] = {call, times, who};
	size_t at = 0;

	if (cause_of_work(s, out))
		return;
	memset(out, 0, sizeof(*out));
	out->kind = cause_by_ender(s, kind, ender);
	set(out, out->kind, name_of(s, out->kind, kind, ender));
	put_call(call, sizeof(call), s, kind, out->kind);
	put_queue(call, sizeof(call), s, kind);
	put_times(times, sizeof(times), s, ender);
	put_waker(who, sizeof(who), s, kind, ender);
	out->tid = ender == ENDER_TASK ? s->waker_tid : 0;
	out->ender = ender;
	/* only threads of the same process share an address for certain */
	if (out->tid && s->call && !strcmp(s->call, "futex") && s->args[0])
		out->lock = s->args[0] ^ (uint64_t)s->waker_pid << 44;
	out->wait = says_its_kind(s, kind, out->kind) ? kind : WAIT_UNKNOWN;
	if (kind == WAIT_FROZEN)
		set_frozen(out, "");
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (*part[i] && at < sizeof(out->detail))
			at += (size_t)snprintf(out->detail + at, sizeof(out->detail) - at, "%s%s",
					       at ? ", " : "", part[i]);
	}
}
