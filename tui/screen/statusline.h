/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The status line, always visible: host, target, LIVE / PAUSED / REPLAY, cost
 * to the target now, share of calls seen, what was lost. Plain values. */
#pragma once

#include "analysis/latency/model.h"
#include "tui/screen/grid.h"

enum { STATUS_COST_SPAN = 6 }; /* ticks over which "now" is taken */

struct status {
	char host[64];	       /* sanitised */
	char target[128];      /* sanitised, "redis-server 1234 +2"; "" without one */
	char target_short[32]; /* the same with a shortened name, so that the pid is visible */
	bool ended;	       /* every target is gone */
	bool paused, replay;
	char threads[48]; /* "2 of 14 threads" if only their calls are counted; else "" */
	bool choosing;	  /* the user chooses the target */
	bool past;	  /* the view shows the span below, not the present */
	uint64_t past_start_ns, past_end_ns; /* since the session began */
	uint64_t began_ns;	  /* wall clock at the start of the session; 0: not known */
	uint64_t at_ns, total_ns; /* position and length of the session; total 0: live */
	double cost;		  /* probe time / CPU time of the targets, now; < 0 unknown */
	double seen;		  /* share of all calls that were seen; < 0 unknown */
	uint64_t lost;		  /* records, samples, stacks, activations */
	uint64_t tainted_ns;
	unsigned int nr_cost;
	struct rec_cost cost_at[STATUS_COST_SPAN]; /* oldest first */
};

/* Update host, target, cost, seen and lost from the model. */
void status_update(struct status *st, struct model *m);
/* Write a span of times since the start: "0:12-0:13", "1:05:07.5-1:06:00". */
void status_span(char *out, size_t size, uint64_t start_ns, uint64_t end_ns);
/* Write a wall clock in ns as time of day: "22:13:32 UTC"; "" for 0. */
void status_day_time(char *out, size_t size, uint64_t realtime_ns);
/* Draw the most important parts that fit on row `y` of the grid. `view` is the name of the view
 * below. */
void status_draw(const struct status *st, const char *view, struct grid *g, int y);
