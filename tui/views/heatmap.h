/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heatmap of one operation: time on X, logarithm of latency on Y, logarithm
 * of the count as level; and the histogram of the span that it shows.
 *
 * The window of time fills from the left; at the right edge it jumps by a
 * quarter of its width (a map that moved with every tick would send all its
 * cells again each time), unless the caller makes the columns longer so that
 * the whole run fits. Window, latency range and scale follow
 * from the records and the size alone, in steps, so that between steps only the
 * newest column changes and a replay shows the same.
 */
#pragma once

#include "analysis/latency/model.h"
#include "tui/screen/grid.h"

struct heatmap {
	int cols, rows;
	uint64_t column_ns; /* time of a column */
	uint64_t first;	  /* number of the leftmost column, counted from the start of the session */
	int filled;	  /* columns from the left that are in the past or present */
	unsigned int low; /* bucket (resolution 8) at which row 0, the lowest, begins */
	unsigned int per_row;	/* buckets in a row */
	unsigned int scale;	/* log2: 2^scale calls would exceed the last level */
	unsigned int row_scale; /* the same for `row` */
	uint64_t *cell;		/* calls, [row * cols + column]; row 0 is the lowest latency */
	uint64_t *row;		/* calls of the span in each row; with a cursor: of its column */
	uint64_t calls;		/* their sum */
	bool *watched;		/* for each column: whether any of its time was watched */
	int cursor_col, cursor_row; /* -1: none, or not in the window */
	int part_from, part_to;	    /* columns of the part: [from, to); equal: none in the window */
	uint64_t cursor_start_ns,
	    cursor_end_ns; /* time of the calls in `row`; longer than a column if slices are */
};

struct heatmap_span {
	const struct slice *slices; /* oldest first */
	unsigned int nr_slices;
	const struct profile *total; /* gives the range of latencies */
	uint64_t elapsed_ns;
	uint64_t interval_ns; /* length of a slice */
	/* if it is shorter than a slice, all columns of the slice look alike */
	uint64_t column_ns;
	unsigned int resolution; /* rows are not finer than this, unless zoomed */
	bool only_slices;	 /* time without a slice was not watched; else nothing happened */
	const struct layer_off *off; /* these times were not watched either; may be NULL */
	bool cursor;		     /* there is a cursor, whose time must be in the window */
	uint64_t cursor_ns;
	unsigned int cursor_bucket;
	/* a part of the run, which is in the window: without a cursor, `row` counts its calls.
	 * NULL: no part */
	const struct profile *part;
	uint64_t start_ns, end_ns;
	/* show 1 / 2^zoom of the doublings of `total`, as near to bucket `centre` as possible */
	unsigned int zoom, centre;
};

enum { HEATMAP_MAX_ZOOM = 5 };

/* Returns 0 or -ENOMEM. cols and rows at least 1. */
int heatmap_init(struct heatmap *h, const struct heatmap_span *span, int cols, int rows);
void heatmap_release(struct heatmap *h);

/* Level 0 (no calls) to 8 of a cell. */
unsigned int heatmap_level(const struct heatmap *h, int col, int row);
/* The length of a row's bar in half columns, at most `halves`; 0 only without calls. */
int heatmap_bar(const struct heatmap *h, int row, int halves);
/* The rows that a range of buckets touches; false when it lies outside. */
bool heatmap_rows(const struct heatmap *h, struct bucket_range range, int *low, int *high);
/* First latency of a row, in ns; row may be `rows`: the end of the last one. */
uint64_t heatmap_row_ns(const struct heatmap *h, int row);

/* The shortest of 1/4, 1/2, 1, 2, 4 ... slices per column with which the whole run fits. */
uint64_t heatmap_column_fit(uint64_t interval_ns, uint64_t elapsed_ns, int cols);
/* The next shorter (`direction` < 0) or longer time per column for this length of a slice. */
uint64_t heatmap_column_step(uint64_t interval_ns, uint64_t column_ns, int direction);

/* Write a time since the start as the time axis does: "0:40", "1:02:00"; for short columns
 * "0:00.4".
 */
void heatmap_time(char *out, size_t size, uint64_t ns, uint64_t column_ns);

/* Draw the cells into `r` (r.w columns, r.h rows), with the highest latency on top. Time that was
 * not watched is hatched. */
void heatmap_draw(const struct heatmap *h, struct grid *g, struct rect r);
/* Draw the latency axis into `r`: labels end at column x + width - 2, ticks are at x + width - 1.
 */
void heatmap_draw_latencies(const struct heatmap *h, struct grid *g, struct rect r,
			    struct bucket_range chosen);
/* Draw the time axis in one row; column 0 is at r.x. The line ends at the present time. */
void heatmap_draw_times(const struct heatmap *h, struct grid *g, struct rect r);
