/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event log: what happened to the target and to the measurement, with times. It is a bounded
 * ring: the oldest events are dropped. The model fills it (model_events.c); views show it.
 *
 * Pure: the same calls give the same log. Times are those of records, ns since the start of the
 * session.
 */
#pragma once

#include "analysis/session/record.h"

enum {
	EVENT_LOG_MAX = 512, /* events kept */
	EVENT_TEXT_MAX = 200,
};
/* Events that repeat within this time of their last occurrence are counted, not added: blown fuses
 * and warnings; a peak that moves again; a peak that comes and goes. */
#define EVENT_REPEATS_NS 60000000000ULL
/* A peak comes and goes if it has so many lines within that time; they become one. */
enum { EVENT_FLICKER_LINES = 3, EVENT_SAME_PLACE = 4 };

enum event_kind {
	EVENT_TARGET = 0, /* a process is measured from now on */
	EVENT_EXEC,	  /* a target executed a program */
	EVENT_FORK,	  /* a child of a target is followed from now on */
	EVENT_EXIT,
	EVENT_PEAK_APPEARED,
	EVENT_PEAK_MOVED,
	EVENT_PEAK_VANISHED,
	EVENT_PEAK_FLICKERS, /* it appeared and vanished several times */
	EVENT_BURSTS,	     /* sampling in bursts began or ended */
	EVENT_FUSE,	     /* a probe was hit too often and was removed */
	EVENT_LOSS,	     /* something is missing from the result */
	EVENT_WARNING,
	EVENT_DESCENT,	/* the search for a cause began */
	EVENT_MARK,	/* the session was saved */
	EVENT_BOOKMARK, /* a note of the user; last_ns: the end of the time that it is about */
	EVENT_CHOICE,	/* other threads were chosen */
	EVENT_KINDS
};

struct event {
	uint64_t number;  /* never reused */
	uint64_t at_ns;	  /* of the first occurrence */
	uint64_t last_ns; /* of the last occurrence */
	uint64_t times;	  /* occurrences, from 1 */
	enum event_kind kind;
	enum note_level level;
	uint32_t op; /* operation, 0: none */
	int peak;    /* its id, 0: none */
	/* bucket (resolution 8) of a peak, and from where it moved; 0: none. Peaks of an operation
	 * that are less than EVENT_SAME_PLACE apart count as one */
	unsigned int place, from;
	char text[EVENT_TEXT_MAX]; /* not sanitised: contains names of the host */
};

struct event_log {
	struct event *ring; /* allocated with the first event */
	uint64_t added;	    /* lines so far; line n is in ring[(n - 1) % EVENT_LOG_MAX] */
	uint64_t numbers;   /* that were given to events */
};

void event_log_release(struct event_log *log);
/* Adds an event, or counts it in the line of an earlier one (EVENT_REPEATS_NS). Sets `number`,
 * `last_ns` and `times`; the caller sets the rest. Returns its line, valid until the next call. If
 * its kind is now EVENT_PEAK_FLICKERS, or it moved more than once, the caller may write a text that
 * says so. NULL: memory is short, and the event was dropped. */
struct event *event_log_add(struct event_log *log, const struct event *event);
/* Appends the events that happened after start_ns and until end_ns, with their numbers; with a
 * start_ns of 0 also those at the very beginning. Returns 0 or -ENOMEM. */
int event_log_copy(struct event_log *to, const struct event_log *from, uint64_t start_ns,
		   uint64_t end_ns);
size_t event_log_nr(const struct event_log *log);
/* Returns the event at position `i` from the newest (0); NULL: there is none. */
const struct event *event_log_at(const struct event_log *log, size_t i);
/* Returns a word for the kind: "peak appeared", "exec", "loss". */
const char *event_kind_name(enum event_kind kind);
