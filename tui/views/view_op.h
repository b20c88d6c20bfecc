/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the view of one operation: view_op.c (state and keys), view_op_draw.c (drawing),
 * view_op_peaks.c (the pane of peaks). */
#pragma once

#include "tui/screen/frozen.h"
#include "tui/screen/list.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/view.h"
#include "tui/views/heatmap.h"

enum op_pane { PANE_PEAKS, PANE_RELATED, PANE_OPEN, PANE_MAP, NR_PANES };

/* The user's choice for the details of one peak. */
enum detail { DETAIL_DEFAULT = 0, DETAIL_SHOWN, DETAIL_HIDDEN };

struct view_op {
	struct view view;
	uint32_t number;
	struct frozen_op *op;	   /* NULL before the first tick, or if memory is short */
	uint64_t column_ns;	   /* time of a column; 0: as short as the whole run fits */
	unsigned int zoom, centre; /* of the latencies: see struct heatmap_span */
	bool pointed;		   /* the map has a cursor, at: */
	uint64_t cursor_ns;
	unsigned int cursor_bucket;
	enum op_pane pane;
	int chosen;	     /* id of a peak; 0: the one with the most time */
	bool whole;	     /* not the chosen peak is selected, but all calls */
	bool touched;	     /* the user did something here or chose the peak: it stays chosen */
	int scroll;	     /* lines of the chosen peak's remarks above the visible ones */
	struct list related; /* of the chosen peak */
	struct list open;
	enum detail all; /* for peaks without an entry in `details`; DETAIL_DEFAULT: show only those
			    of the chosen peak */
	unsigned int nr_details;
	struct {
		int id;
		enum detail detail;
	} details[MODEL_MAX_PEAKS];
};

/* The chosen peak and its index in op.peaks; NULL and -1 if there are no peaks. */
const struct peak *view_op_chosen(const struct view_op *v, int *index);
bool view_op_detailed(const struct view_op *v, const struct peak *p);

/* Targets of clicks: a peak (its index), or one of these. */
enum {
	OP_TARGET_OPEN = 1000, /* an open call: this and its index */
	OP_TARGET_MAP = 3000,
	OP_TARGET_WHOLE = 4000,
	OP_TARGET_RELATED = 2000, /* a related peak of the chosen peak: this and its index */
};

/* One line of the pane of peaks. */
struct op_line {
	int peak;    /* index */
	bool head;   /* the peak's own row of figures; else a remark */
	int related; /* index of the related peak whose remark starts on this line, -1 if none */
	const char *text;   /* remark: not NUL-terminated */
	unsigned int bytes; /* of text */
	bool first;	    /* first line of its remark */
};

enum { OP_MAX_LINES = 512 };

/* The lines of all peaks in a pane of this width; at most OP_MAX_LINES. Returns their number. */
int view_op_lines(const struct view_op *v, int width, struct op_line *lines);
/* Draw heading and lines into `r`. If not all lines fit, each peak keeps its row, and the chosen
 * peak shows as many remarks as fit. */
void view_op_draw_peaks(const struct view_op *v, struct grid *g, struct rect r);
void view_op_draw(const struct view *view, struct grid *g, struct rect r);

/* --- the map ------------------------------------------------------------------------------ */

enum { OP_LANE = 4 }; /* columns of a lane of brackets */

/* The rectangles of all parts; a part with height or width 0 is not shown. */
struct op_layout {
	struct rect title, remark, heading, labels, map, bars, brackets, times, peaks, open;
};

struct op_bracket {
	int low, high, mode; /* rows */
	int lane;	     /* -1: outside, or no lane is free */
};

/* The layout of the view, and the map of the present state. */
struct op_map {
	struct op_layout layout;
	struct heatmap heat;
	struct op_bracket bracket[MODEL_MAX_PEAKS];
};

/* Lay out the view in `r` and make its map, whose `heat` the caller releases. False: there is no
 * room for a map, or no memory; then only the layout is set. */
bool view_op_map_init(const struct view_op *v, struct rect r, struct op_map *m);
/* Place the brackets. Peaks that still share a row get brackets in different lanes, side by side.
 * Returns the number of lanes. */
int view_op_place_brackets(const struct op *op, const struct heatmap *h, struct op_bracket *b);
void view_op_draw_map(const struct view_op *v, struct grid *g, const struct op_map *m);
/* A click into the map, at this column and row from its upper left corner: put the cursor there. */
void view_op_point_at(struct view_op *v, int x, int y);
/* Put the cursor into the map for an arrow key that would do nothing in the list of peaks: up at
 * the first peak, and all four while there is no peak. False: another request, or no room. */
bool view_op_enter_map(struct view_op *v, enum request request);
/* Carry out a request of the map or of its cursor. False: another request. */
bool view_op_map_request(struct view_op *v, enum request request);
