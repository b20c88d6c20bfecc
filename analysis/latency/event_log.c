// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/event_log.h"

#include <stdlib.h>
#include <string.h>

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

/* Returns the earlier occurrence of an event, if it is recent enough to be counted there. */
static struct event *find_same(const struct event_log *log, const struct event *event)
{
	if (event->kind != EVENT_FUSE && event->kind != EVENT_WARNING)
		return NULL;
	for (size_t i = 0; i < event_log_nr(log); i++) {
		struct event *e = newest(log, i);

		if (e->kind == event->kind && e->op == event->op && e->peak == event->peak &&
		    !strcmp(e->text, event->text))
			return event->at_ns < e->last_ns + EVENT_REPEATS_NS ? e : NULL;
	}
	return NULL;
}

void event_log_add(struct event_log *log, const struct event *event)
{
	struct event *e = find_same(log, event);

	if (e) {
		e->times++;
		if (event->at_ns > e->last_ns)
			e->last_ns = event->at_ns;
		return;
	}
	if (!log->ring)
		log->ring = calloc(EVENT_LOG_MAX, sizeof(*log->ring));
	if (!log->ring)
		return;
	e = &log->ring[log->added++ % EVENT_LOG_MAX];
	*e = *event;
	e->number = log->added;
	e->last_ns = e->at_ns;
	e->times = 1;
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
	    [EVENT_BURSTS] = "bursts",
	    [EVENT_FUSE] = "fuse blown",
	    [EVENT_LOSS] = "loss",
	    [EVENT_WARNING] = "warning",
	    [EVENT_DESCENT] = "descent",
	    [EVENT_MARK] = "saved",
	    [EVENT_CHOICE] = "threads chosen",
	};

	return (unsigned int)kind < EVENT_KINDS ? names[kind] : "?";
}
