/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event log: what happened to the target and to the measurement, with times. It is a bounded
 * ring: the oldest events are dropped. The model fills it (model_events.c); views show it.
 *
 * Pure: the same calls give the same log. Times are those of records, ns since the start of the
 * session.
 */
#ifndef PEAKTOP_EVENT_LOG_H
#define PEAKTOP_EVENT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/session/record.h"

enum {
	EVENT_LOG_MAX = 512, /* events kept */
	EVENT_TEXT_MAX = 200,
};
/* A blown fuse or a warning that repeats within this time of its last occurrence is counted, not
 * added. */
#define EVENT_REPEATS_NS 60000000000ULL

enum event_kind {
	EVENT_TARGET = 0, /* a process is measured from now on */
	EVENT_EXEC,	  /* a target executed a program */
	EVENT_FORK,	  /* a child of a target is followed from now on */
	EVENT_EXIT,
	EVENT_PEAK_APPEARED,
	EVENT_PEAK_MOVED,
	EVENT_PEAK_VANISHED,
	EVENT_BURSTS, /* sampling in bursts began or ended */
	EVENT_FUSE,   /* a probe was hit too often and was removed */
	EVENT_LOSS,   /* something is missing from the result */
	EVENT_WARNING,
	EVENT_DESCENT, /* the search for a cause began */
	EVENT_MARK,    /* the session was saved */
	EVENT_CHOICE,  /* other threads were chosen */
	EVENT_KINDS
};

struct event {
	uint64_t number;  /* from 1, never reused */
	uint64_t at_ns;	  /* of the first occurrence */
	uint64_t last_ns; /* of the last occurrence */
	uint64_t times;	  /* occurrences, from 1 */
	enum event_kind kind;
	enum note_level level;
	uint32_t op;		   /* operation, 0: none */
	int peak;		   /* its id, 0: none */
	char text[EVENT_TEXT_MAX]; /* not sanitised: contains names of the host */
};

struct event_log {
	struct event *ring; /* allocated with the first event */
	uint64_t added;	    /* events so far; event n is in ring[(n - 1) % EVENT_LOG_MAX] */
};

void event_log_release(struct event_log *log);
/*
 * Adds an event. If a blown fuse or a warning with the same operation and text occurred less than
 * EVENT_REPEATS_NS ago, only counts it there. Sets `number`, `last_ns` and `times`; the caller sets
 * the rest. If memory is short, the event is dropped.
 */
void event_log_add(struct event_log *log, const struct event *event);
size_t event_log_nr(const struct event_log *log);
/* Returns the event at position `i` from the newest (0); NULL: there is none. */
const struct event *event_log_at(const struct event_log *log, size_t i);
/* Returns a word for the kind: "peak appeared", "exec", "loss". */
const char *event_kind_name(enum event_kind kind);

#endif
