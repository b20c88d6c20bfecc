/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A grid of cells: what views draw into. Pure; one thin file (curses.c) puts it
 * on a terminal, tests compare it, `P` writes it as text.
 *
 * A cell holds one grapheme (a character with its combining marks) and a role
 * (enum role: what the text is, not how it looks). A wide character takes its
 * cell and the next one, whose width is 0. Everything is clipped at the edges;
 * no call fails. Text must be sanitised; what still cannot stand in a cell
 * becomes `?`. Widths are those of wcwidth() in the program's locale.
 */
#ifndef PEAKTOP_GRID_H
#define PEAKTOP_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/base/buf.h"

enum { GRID_CELL_BYTES = 21, GRID_MAX_COLS = 1024, GRID_MAX_ROWS = 4096 };

struct cell {
	char text[GRID_CELL_BYTES]; /* UTF-8, NUL-terminated; "" in the second half of a wide one */
	uint8_t width;		    /* 1, 2, or 0: second half of a wide character */
	uint8_t role;		    /* enum role */
};

struct grid {
	int cols, rows;
	bool ascii;		/* cells take only ASCII; other characters become `?` */
	int cursor_x, cursor_y; /* where the hardware cursor rests; -1: nowhere */
	struct cell *cells;	/* row by row */
};

struct rect {
	int x, y, w, h;
};

/* A blank grid; sizes are clamped to 1..maximum. NULL without memory. */
struct grid *grid_new(int cols, int rows, bool ascii);
void grid_free(struct grid *g);
/* Make it this large and blank. On -ENOMEM it stays as it was. */
int grid_resize(struct grid *g, int cols, int rows);
void grid_clear(struct grid *g);
/* The cell, or NULL outside. */
const struct cell *grid_at(const struct grid *g, int x, int y);

/* Put at most `width` columns of text; returns the columns taken. */
int grid_put(struct grid *g, int x, int y, int width, unsigned int role, const char *text);
/* The same, and a text that does not fit ends with a mark (`…` or `~`). */
int grid_put_cut(struct grid *g, int x, int y, int width, unsigned int role, const char *text);
/* Right-aligned in `width` columns; cut at its end when longer. */
void grid_put_right(struct grid *g, int x, int y, int width, unsigned int role, const char *text);
int grid_printf(struct grid *g, int x, int y, int width, unsigned int role, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Fill with a one-column text. */
void grid_fill(struct grid *g, struct rect r, unsigned int role, const char *text);
/* Give cells that hold text another role; the text stays. */
void grid_role(struct grid *g, struct rect r, unsigned int role);
void grid_cursor(struct grid *g, int x, int y);

/* Columns that a text takes in this grid. */
int grid_columns(const struct grid *g, const char *text);
/* The text, row by row, without trailing blanks. Returns 0 or a negative errno. */
int grid_text(const struct grid *g, struct buf *out);
/* Whether both look the same (size, cells, cursor). */
bool grid_equal(const struct grid *a, const struct grid *b);

#endif
