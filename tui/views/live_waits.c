// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_waits.h"

#include "tui/report/output_timeline.h"
#include "tui/report/output_waits.h"
#include "tui/report/output_walk.h"
#include "tui/views/views.h"

enum {
	MARGIN = 2,	       /* columns that a pager leaves free */
	MAXCOUNT_PPM = 500000, /* as the verb descend without -f has them by default */
	MIN_SNAPSHOTS = 100,
};
#define PERIOD_NS 1000000000ull
/* of the timeline */
#define SPAN_NS 1000000000ull
#define SPAN_MIN_NS 10000ull
#define SPAN_MAX_NS 30000000000ull

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

static void live_waits_begin(struct live_waits *l, enum screen_waits what)
{
	l->views[what]++;
	l->next_ns = 0;
	if (what == SCREEN_WAITS_WALK)
		walk_begin(l);
	else if (!l->open++ && is_live(l))
		front_waits_begin(l->front);
}

static void live_waits_end(struct live_waits *l, enum screen_waits what)
{
	l->views[what] -= l->views[what] > 0;
	if (what == SCREEN_WAITS_WALK)
		live_snapshots_end(l);
	else if (l->open && !--l->open && is_live(l))
		front_waits_end(l->front);
}

static uint64_t span_of(const struct live_waits *l)
{
	return l->span_ns ? l->span_ns : SPAN_NS;
}

static void change(struct live_waits *l, enum screen_waits_change what)
{
	uint64_t span = span_of(l);

	l->next_ns = 0;
	switch (what) {
	case WAITS_ZOOM_IN:
		l->span_ns = span / 2 > SPAN_MIN_NS ? span / 2 : SPAN_MIN_NS;
		return;
	case WAITS_ZOOM_OUT:
		l->span_ns = span * 2 < SPAN_MAX_NS ? span * 2 : SPAN_MAX_NS;
		return;
	case WAITS_EARLIER:
		l->back_ns =
		    l->back_ns + span / 2 < SPAN_MAX_NS ? l->back_ns + span / 2 : SPAN_MAX_NS;
		return;
	case WAITS_LATER:
		l->back_ns = l->back_ns > span / 2 ? l->back_ns - span / 2 : 0;
		return;
	case WAITS_GROUP:
		l->per_process = !l->per_process;
		return;
	}
}

bool live_waits_action(struct live_waits *l, const struct screen_action *a)
{
	switch (a->type) {
	case SCREEN_WAITS:
		if (a->flag == SCREEN_WAITS_ROOT)
			l->root =
			    (struct waits_lane){.pid = a->pid, .tid = a->tid, .start_ns = a->at_ns};
		live_waits_begin(l, (enum screen_waits)a->flag);
		return true;
	case SCREEN_WAITS_STOP:
		live_waits_end(l, (enum screen_waits)a->flag);
		return true;
	case SCREEN_WAITS_CHANGE:
		change(l, (enum screen_waits_change)a->flag);
		return true;
	default:
		return false;
	}
}

static int put_timeline(struct live_waits *l, const struct wait_report *r,
			const struct output_options *oo, FILE *f)
{
	const struct timeline_ask ask = {.span_ns = span_of(l), .back_ns = l->back_ns};
	struct screen_lane lane[SCREEN_MAX_LANES];
	static struct timeline_shown shown;
	int err = output_timeline_text(r, &ask, oo, &shown, f);

	/* further back than the oldest data there is nothing to move to */
	if (shown.back_ns < l->back_ns)
		l->back_ns = shown.back_ns;
	for (uint32_t i = 0; i < shown.nr && i < SCREEN_MAX_LANES; i++)
		lane[i] = (struct screen_lane){.pid = shown.lane[i].pid,
					       .tid = shown.lane[i].tid,
					       .start_ns = shown.lane[i].start_ns};
	screen_set_lanes(l->screen, shown.first_line, lane,
			 shown.nr < SCREEN_MAX_LANES ? shown.nr : SCREEN_MAX_LANES);
	return err;
}

static int put_text(struct live_waits *l, enum screen_waits what, const struct output_options *oo,
		    FILE *f)
{
	struct wait_report report = {.model = l->model,
				     .live = l->front != NULL,
				     .names = l->names,
				     .waits = wait_driver_waits(l->waits),
				     .stacks_dropped =
					 l->front ? front_traces_dropped(l->front) : 0};
	struct walk_report walk = {.model = l->model, .names = l->names, .walker = l->walker};

	if (report.waits)
		waits_group_by(report.waits, l->per_process ? WAITS_BY_PROCESS : WAITS_BY_THREAD);
	switch (what) {
	case SCREEN_WAITS_WALK:
		return output_walk_text(&walk, oo, f);
	case SCREEN_WAITS_CRITICAL:
		return output_critical_text(&report, oo, f);
	case SCREEN_WAITS_ACCOUNT:
		return output_account_text(&report, oo, f);
	case SCREEN_WAITS_TIMELINE:
		return put_timeline(l, &report, oo, f);
	case SCREEN_WAITS_FLAME:
		return output_flame_text(&report, oo, f);
	case SCREEN_WAITS_FOLDED:
		return output_chains_folded(&report, f);
	case SCREEN_WAITS_ROOT:
		return output_chains_of_text(&report, &l->root, oo, f);
	default:
		return output_chains_text(&report, oo, f);
	}
}

static void show(struct live_waits *l, enum screen_waits what)
{
	unsigned int columns = screen_columns(l->screen);
	struct output_options oo = {.columns = columns > MARGIN ? columns - MARGIN : 1,
				    .ascii = screen_ascii(l->screen)};
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	int err = f ? put_text(l, what, &oo, f) : -1;

	if (f)
		fclose(f);
	screen_set_waits(l->screen, what, err || !text ? "out of memory" : text);
	free(text);
}

/* Why there is nothing to show; NULL: there is something. */
static const char *nothing(const struct live_waits *l, enum screen_waits what)
{
	if (what == SCREEN_WAITS_WALK && l->front && walker_is_empty(l->walker) &&
	    !model_target_ended(l->model, 0))
		return "looking at the threads: no stack was sampled yet";
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
