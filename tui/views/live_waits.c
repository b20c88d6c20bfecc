// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "tui/report/output_waits.h"
#include "tui/report/output_walk.h"
#include "tui/views/views.h"

enum {
	MARGIN = 2,	       /* columns that a pager leaves free */
	MAXCOUNT_PPM = 500000, /* as the verb descend without -f has them by default */
	MIN_SNAPSHOTS = 100,
};
#define PERIOD_NS 1000000000ull

void live_waits_source(struct live_waits *l, struct screen *s, struct front *f, struct replay *r)
{
	l->screen = s;
	l->front = f;
	l->model = f ? front_model(f) : replay_model(r);
	l->names = f ? front_driver(f) : replay_driver(r);
	l->waits = f ? front_waits(f) : replay_waits(r);
	l->walker = f ? front_walker(f) : replay_walker(r);
}

static bool is_live(const struct live_waits *l)
{
	return l->front && !front_over(l->front);
}

void live_snapshots_begin(struct live_waits *l)
{
	if (!l->snapshots++ && is_live(l))
		front_walk(l->front, false);
}

void live_snapshots_end(struct live_waits *l)
{
	if (l->snapshots && !--l->snapshots && is_live(l))
		front_walk(l->front, true);
}

static void walk_begin(struct live_waits *l)
{
	const struct rec_walk ask = {.maxcount_ppm = MAXCOUNT_PPM,
				     .max_depth = WALK_NO_MAX_DEPTH,
				     .min_snapshots = MIN_SNAPSHOTS};

	if (is_live(l) && !walker_asked(l->walker))
		walker_begin(l->walker, &ask);
	live_snapshots_begin(l);
}

void live_waits_begin(struct live_waits *l, enum screen_waits what)
{
	l->views[what]++;
	l->next_ns = 0;
	if (what == SCREEN_WAITS_WALK)
		walk_begin(l);
	else if (!l->open++ && is_live(l))
		front_waits_begin(l->front);
}

void live_waits_end(struct live_waits *l, enum screen_waits what)
{
	l->views[what] -= l->views[what] > 0;
	if (what == SCREEN_WAITS_WALK)
		live_snapshots_end(l);
	else if (l->open && !--l->open && is_live(l))
		front_waits_end(l->front);
}

static void show(struct live_waits *l, enum screen_waits what)
{
	unsigned int columns = screen_columns(l->screen);
	struct output_options oo = {.columns = columns > MARGIN ? columns - MARGIN : 1,
				    .ascii = screen_ascii(l->screen)};
	struct wait_report report = {.model = l->model,
				     .live = l->front != NULL,
				     .names = l->names,
				     .waits = wait_driver_waits(l->waits),
				     .stacks_dropped =
					 l->front ? front_traces_dropped(l->front) : 0};
	char *text = NULL;
	size_t bytes = 0;
	struct walk_report walk = {.model = l->model, .names = l->names, .walker = l->walker};
	FILE *f = open_memstream(&text, &bytes);
	int err = f ? 0 : -1;

	if (!err)
		err = what == SCREEN_WAITS_WALK	      ? output_walk_text(&walk, &oo, f)
		      : what == SCREEN_WAITS_CRITICAL ? output_critical_text(&report, &oo, f)
						      : output_chains_text(&report, &oo, f);
	if (f)
		fclose(f);
	screen_set_waits(l->screen, what, err || !text ? "out of memory" : text);
	free(text);
}

/* Why there is nothing to show; NULL: there is something. */
static const char *nothing(const struct live_waits *l, enum screen_waits what)
{
	if (what == SCREEN_WAITS_WALK)
		return walker_asked(l->walker)
			   ? NULL
			   : "this session has no stacks of all threads; peaktop descend TARGET -o "
			     "FILE saves some";
	if (wait_driver_waits(l->waits))
		return NULL;
	return l->front ? wait_no_window
			: "this session has no records of waits up to here; peaktop chains TARGET "
			  "-o FILE saves some";
}

bool live_waits_turn(struct live_waits *l, uint64_t now_ns)
{
	bool any = false;

	for (unsigned int what = 0; what < NR_SCREEN_WAITS; what++)
		any |= l->views[what] > 0;
	if (!any || now_ns < l->next_ns)
		return false;
	l->next_ns = now_ns + PERIOD_NS;
	if (l->open && wait_driver_waits(l->waits))
		wait_driver_names(l->waits);
	if (l->views[SCREEN_WAITS_WALK])
		walker_names(l->walker);
	for (enum screen_waits what = 0; what < NR_SCREEN_WAITS; what++) {
		if (!l->views[what])
			continue;
		if (nothing(l, what))
			screen_set_waits(l->screen, what, nothing(l, what));
		else
			show(l, what);
	}
	return true;
}
