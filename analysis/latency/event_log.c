// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/event_log.h"

void event_log_release(struct event_log *log)
{
	free(log->ring);
	*log = (struct event_log){0};
}

size_t event_log_nr(const struct event_log *log)
{
	return log->added < EVENT_LOG_MAX ? (size_t)log->added : EVENT_LOG_MAX;
}

static struct event *newest(const struct event_log *log, size_t i)
{
	return &log->ring[(log->added - 1 - i) % EVENT_LOG_MAX];
}

const struct event *event_log_at(const struct event_log *log, size_t i)
{
	return i < event_log_nr(log) ? newest(log, i) : NULL;
}

static bool is_recent(const struct event *e, const struct event *event)
{
	return event->at_ns < e->last_ns + EVENT_REPEATS_NS;
}

/* Returns the earlier occurrence of an event, if it is recent enough to be counted there. */
static struct event *find_same(const struct event_log *log, const struct event *event)
{
	bool moved = event->kind == EVENT_PEAK_MOVED && event->peak;

	if (event->kind != EVENT_FUSE && event->kind != EVENT_WARNING && !moved)
		return NULL;
	for (size_t i = 0; i < event_log_nr(log); i++) {
		struct event *e = newest(log, i);

		if (e->kind == event->kind && e->op == event->op && e->peak == event->peak &&
		    (moved || !strcmp(e->text, event->text)))
			return is_recent(e, event) ? e : NULL;
	}
	return NULL;
}

/* True if both say of the same peak that it came or went. */
static bool same_peak(const struct event *e, const struct event *event)
{
	bool comes_or_goes = e->kind == EVENT_PEAK_APPEARED || e->kind == EVENT_PEAK_VANISHED ||
			     e->kind == EVENT_PEAK_FLICKERS;

	return comes_or_goes && e->place && e->op == event->op && is_recent(e, event) &&
	       abs((int)e->place - (int)event->place) < EVENT_SAME_PLACE;
}

/* Removes the line at position `i` from the newest. */
static void line_remove(struct event_log *log, size_t i)
{
	for (; i > 0; i--)
		*newest(log, i) = *newest(log, i - 1);
	log->added--;
}

/* If the peak has come and gone several times, makes its lines one: changes *event, which is
 * to be added, and removes them. */
static void flicker(struct event_log *log, struct event *event)
{
	unsigned int lines = 0, flickers = 0;

	if (!event->place ||
	    (event->kind != EVENT_PEAK_APPEARED && event->kind != EVENT_PEAK_VANISHED))
		return;
	for (size_t i = 0; i < event_log_nr(log); i++) {
		const struct event *e = newest(log, i);

		lines += same_peak(e, event);
		flickers += same_peak(e, event) && e->kind == EVENT_PEAK_FLICKERS;
	}
	if (lines < EVENT_FLICKER_LINES && !flickers)
		return;
	event->times = event->kind == EVENT_PEAK_APPEARED;
	event->last_ns = event->at_ns;
	for (size_t i = event_log_nr(log); i-- > 0;) {
		const struct event *e = newest(log, i);

		if (!same_peak(e, event))
			continue;
		event->times += e->kind == EVENT_PEAK_VANISHED ? 0 : e->times;
		event->at_ns = e->at_ns < event->at_ns ? e->at_ns : event->at_ns;
		line_remove(log, i);
	}
	event->kind = EVENT_PEAK_FLICKERS;
}

/* Adds a line as it is. NULL: memory is short. */
static struct event *append(struct event_log *log, const struct event *event)
{
	struct event *e;

	if (!log->ring)
		log->ring = calloc(EVENT_LOG_MAX, sizeof(*log->ring));
	if (!log->ring)
		return NULL;
	e = &log->ring[log->added++ % EVENT_LOG_MAX];
	*e = *event;
	return e;
}

int event_log_copy(struct event_log *to, const struct event_log *from, uint64_t start_ns,
		   uint64_t end_ns)
{
	for (size_t i = event_log_nr(from); i-- > 0;) {
		const struct event *e = newest(from, i);

		bool after = !start_ns || e->last_ns > start_ns;

		if (e->at_ns <= end_ns && after && !append(to, e))
			return -ENOMEM;
	}
	return 0;
}

struct event *event_log_add(struct event_log *log, const struct event *event)
{
	struct event *e = find_same(log, event), new = *event;

	if (e) {
		e->times++;
		e->place = event->place;
		if (event->at_ns > e->last_ns)
			e->last_ns = event->at_ns;
		return e;
	}
	new.last_ns = new.at_ns;
	new.times = 1;
	flicker(log, &new);
	new.number = ++log->numbers;
	return append(log, &new);
}

const char *event_kind_name(enum event_kind kind)
{
	static const char *const names[EVENT_KINDS] = {
	    [EVENT_TARGET] = "target",
	    [EVENT_EXEC] = "exec",
	    [EVENT_FORK] = "fork",
	    [EVENT_EXIT] = "exit",
	    [EVENT_PEAK_APPEARED] = "peak appeared",
	    [EVENT_PEAK_MOVED] = "peak moved",
	    [EVENT_PEAK_VANISHED] = "peak vanished",
	    [EVENT_PEAK_FLICKERS] = "peak",
	    [EVENT_BURSTS] = "bursts",
	    [EVENT_FUSE] = "fuse blown",
	    [EVENT_LOSS] = "loss",
	    [EVENT_WARNING] = "warning",
	    [EVENT_DESCENT] = "descent",
	    [EVENT_MARK] = "saved",
	    [EVENT_BOOKMARK] = "bookmark",
	    [EVENT_CHOICE] = "threads chosen",
	};

	return (unsigned int)kind < EVENT_KINDS ? names[kind] : "?";
}
