/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the comparison of two spans or sessions: view_diff.c (state and keys) and
 * view_diff_draw.c (drawing). The view has a copy of all that it shows. */
#pragma once

#include "analysis/latency/diff.h"
#include "tui/screen/list.h"
#include "tui/screen/screen_private.h"

enum { DIFF_NAME = 96, DIFF_REASON = 160, DIFF_TITLE = 192 };

/* The calls of an operation on one side. */
struct diff_calls {
	bool called;
	double rate, share_seen; /* calls per second; share of the calls that were timed */
	struct profile profile;
};

/* An operation: what changed first, then what did not, then what was not compared. */
struct diff_row {
	char name[DIFF_NAME]; /* sanitised */
	uint32_t op;	      /* its number in the model of the screen; 0: it has none */
	bool changed;
	const char *verdict; /* of an operation that did not change: "the same" */
	unsigned int nr_reasons;
	char reason[COMPARE_MAX_REASONS][DIFF_REASON];
	struct diff_calls side[2]; /* before, after */
};

struct view_diff {
	struct view view;
	char title[2][DIFF_TITLE]; /* sanitised */
	struct diff_row *row;
	unsigned int nr_changed, nr_compared;
	struct list list;
	char found[256]; /* the text of the last search, "" none */
};

bool view_diff_matches(const struct diff_row *row, const char *text);
void view_diff_draw(const struct view *v, struct grid *g, struct rect r);
int view_diff_height(const struct view *v, int cols);
