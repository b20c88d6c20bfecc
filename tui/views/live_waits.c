// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "tui/report/output_waits.h"
#include "tui/views/views.h"

enum { MARGIN = 2 }; /* columns that a pager leaves free */
#define PERIOD_NS 1000000000ull

void live_waits_source(struct live_waits *l, struct screen *s, struct front *f, struct replay *r)
{
	l->screen = s;
	l->front = f;
	l->model = f ? front_model(f) : replay_model(r);
	l->names = f ? front_driver(f) : replay_driver(r);
	l->waits = f ? front_waits(f) : replay_waits(r);
}

void live_waits_begin(struct live_waits *l, enum screen_waits what)
{
	if (!l->open++) {
		l->shown[SCREEN_WAITS_CHAINS] = l->shown[SCREEN_WAITS_CRITICAL] = false;
		if (l->front && !front_over(l->front))
			front_waits_begin(l->front);
	}
	l->shown[what] = true;
	l->next_ns = 0;
}

void live_waits_end(struct live_waits *l)
{
	if (l->open && !--l->open && l->front && !front_over(l->front))
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
	FILE *f = open_memstream(&text, &bytes);
	int err = f ? 0 : -1;

	if (!err)
		err = what == SCREEN_WAITS_CRITICAL ? output_critical_text(&report, &oo, f)
						    : output_chains_text(&report, &oo, f);
	if (f)
		fclose(f);
	screen_set_waits(l->screen, what, err || !text ? "out of memory" : text);
	free(text);
}

bool live_waits_turn(struct live_waits *l, uint64_t now_ns)
{
	if (!l->open || now_ns < l->next_ns)
		return false;
	l->next_ns = now_ns + PERIOD_NS;
	if (!wait_driver_waits(l->waits)) {
		const char *text =
		    !l->front ? "this session has no records of waits up to here; peaktop chains "
				"TARGET -o FILE saves some"
			      : wait_no_window;

		screen_set_waits(l->screen, SCREEN_WAITS_CHAINS, text);
		screen_set_waits(l->screen, SCREEN_WAITS_CRITICAL, text);
		return true;
	}
	wait_driver_names(l->waits);
	for (unsigned int what = 0; what < 2; what++) {
		if (l->shown[what])
			show(l, (enum screen_waits)what);
	}
	return true;
}
