/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the view of one operation: view_op.c (state and keys), view_op_draw.c
 * (the picture), view_op_peaks.c (the peaks in words). For them alone.
 */
#ifndef PEAKTOP_VIEW_OP_H
#define PEAKTOP_VIEW_OP_H

#include "tui/screen/frozen.h"
#include "tui/screen/list.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/view.h"

enum op_pane { PANE_PEAKS, PANE_RELATED, PANE_OPEN, NR_PANES };

/* How the details of one peak were asked to be. */
enum detail { DETAIL_DEFAULT = 0, DETAIL_SHOWN, DETAIL_HIDDEN };

struct view_op {
	struct view view;
	uint32_t number;
	struct frozen_op *op; /* NULL before the first tick, or without memory */
	uint64_t column_ns;
	enum op_pane pane;
	int chosen;	     /* id of a peak; 0: the one with the most time */
	int scroll;	     /* remarks of the chosen peak above those in sight */
	struct list related; /* of the chosen peak */
	struct list open;
	enum detail all; /* what holds for peaks without an entry; default: the chosen one */
	unsigned int nr_details;
	struct {
		int id;
		enum detail detail;
	} details[MODEL_MAX_PEAKS];
};

/* The chosen peak, its index in op.peaks; NULL and -1 without peaks. */
const struct peak *view_op_chosen(const struct view_op *v, int *index);
bool view_op_detailed(const struct view_op *v, const struct peak *p);

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
/*
 * Heading and lines into `r`. Where they do not all fit, each peak keeps its row and the
 * chosen one shows as many of its remarks as there is room for.
 */
void view_op_draw_peaks(const struct view_op *v, struct grid *g, struct rect r);
void view_op_draw(const struct view *view, struct grid *g, struct rect r);

#endif
