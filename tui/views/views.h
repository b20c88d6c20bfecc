/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views that the screen opens by itself, and functions with which the front opens others. */
#pragma once

#include "tui/screen/screen_descent.h"
#include "tui/screen/view.h"

/* The constructors of these views, to be handed to screen_new(). */
extern const struct screen_views all_views;

struct view *view_picker_new(struct screen *s);
struct view *view_operations_new(struct screen *s);
/* `peak` is the id to choose, 0: the one with the most time. */
struct view *view_operation_new(struct screen *s, uint32_t op, int peak);
struct view *view_help_new(struct screen *s, enum keymap of);
struct view *view_information_new(struct screen *s);
struct view *view_events_new(struct screen *s);
struct view *view_slow_new(struct screen *s);
struct view *view_threads_new(struct screen *s);
struct view *view_waits_new(struct screen *s, enum screen_waits what);
struct view *view_diff_new(struct screen *s, const struct screen_diff *d);
/* Select the first line with this text as soon as there is one. `v` may be NULL. */
void view_waits_seek(struct view *v, const char *text);

/* Open the view of a descent, in answer to SCREEN_DESCEND, when the descent has begun. If the view
 * is already open, it stays. Closing the view queues SCREEN_DESCEND_STOP. */
void screen_open_descent(struct screen *s, uint32_t op, int peak);
/* Set the state of the descent, which is shown from the next screen_tick() on. 0, -EINVAL (not in
 * preorder) or -ENOMEM. */
int screen_set_descent(struct screen *s, const struct screen_descent *d);

enum { SCREEN_SLOW_CALLS_MAX = 512, SCREEN_SLOW_WHY = 512 };
/* A call that was slower than usual. Text need not be sanitised. */
struct screen_slow_call {
	uint64_t number;	       /* never reused; not 0 */
	const char *at;		       /* time of day; "" if not known */
	const char *name;	       /* of the operation */
	const char *why;	       /* its causes */
	uint64_t latency_ns, usual_ns; /* usual_ns 0: not known */
	bool at_least;		       /* it took latency_ns or more */
};
/* Which calls a view of slow calls lists: those that were open in this time. */
struct screen_slow_question {
	uint32_t op, tid;	 /* 0: of all operations, of all threads */
	uint64_t from_ns, to_ns; /* since the session began; to_ns 0: of any time */
};
/* What the uppermost view of slow calls lists. False: none is open. */
bool screen_slow_question(const struct screen *s, struct screen_slow_question *q);
/* Answer SCREEN_WHY: open a view of slow calls that lists these. */
void screen_list_slow_calls(struct screen *s, const struct screen_slow_question *q);
/* Set the calls of the uppermost view of slow calls, newest first, and a remark about them. */
void screen_set_slow_calls(struct screen *s, const struct screen_slow_call *list, size_t nr,
			   const char *note);

/* Answer SCREEN_SOURCE: show the text of a file with line `line` (from 1) marked. */
void screen_show_source(struct screen *s, const char *title, const char *text, uint32_t line);
/* Answer SCREEN_CODE, or a SCREEN_SOURCE whose file cannot be read: show instructions. */
void screen_show_code(struct screen *s, const struct screen_code *code);
/* Answer SCREEN_WAITS: set the text (sanitised lines) of the open views of this kind. */
void screen_set_waits(struct screen *s, enum screen_waits what, const char *text);
/* With the text of the timeline: the tasks of its lines, from line `first_line` (from 0) on. */
void screen_set_lanes(struct screen *s, uint32_t first_line, const struct screen_lane *lane,
		      uint32_t nr);
/* Answer SCREEN_OPEN_CALLS: open a view with these lines (sanitised; the first is a heading). */
void screen_show_open(struct screen *s, const char *lines);
