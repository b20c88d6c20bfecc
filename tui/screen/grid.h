/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A grid of cells, into which views draw. Does no I/O: curses.c shows the grid on a terminal, tests
 * compare it, the key `P` writes it as text.
 *
 * A cell holds one grapheme (a character with its combining marks) and a role
 * (enum role: what the text is, not how it looks). A wide character takes its
 * cell and the next one, whose width is 0. Everything is clipped at the edges;
 * no call fails. Text must be sanitised; what still cannot stand in a cell
 * becomes `?`. Widths are those of wcwidth() in the program's locale.
 */
#pragma once

#include "analysis/base/buf.h"

enum { GRID_CELL_BYTES = 21, GRID_MAX_COLS = 1024, GRID_MAX_ROWS = 4096, GRID_MAX_TARGETS = 512 };

struct cell {
	char text[GRID_CELL_BYTES]; /* UTF-8, NUL-terminated; "" in the second half of a wide one */
	uint8_t width;		    /* 1, 2, or 0: second half of a wide character */
	uint8_t role;		    /* enum role */
};

struct rect {
	int x, y, w, h;
};

/* What a click into a rectangle means: a number that whoever drew the grid understands. */
struct grid_target {
	struct rect r;
	int id;
};

struct grid {
	int cols, rows;
	bool ascii;		/* cells take only ASCII; other characters become `?` */
	int cursor_x, cursor_y; /* position of the terminal's cursor; -1: hidden */
	struct cell *cells;	/* row by row */
	unsigned int nr_targets;
	struct grid_target target[GRID_MAX_TARGETS];
};

/* Create a blank grid; sizes are clamped to 1..maximum. NULL: out of memory. */
struct grid *grid_new(int cols, int rows, bool ascii);
void grid_free(struct grid *g);
/* Change the size and clear the grid. Returns 0, or -ENOMEM with the grid unchanged. */
int grid_resize(struct grid *g, int cols, int rows);
void grid_clear(struct grid *g);
/* The cell at this position; NULL if it is outside the grid. */
const struct cell *grid_at(const struct grid *g, int x, int y);

/* Put at most `width` columns of text; returns the columns taken. */
int grid_put(struct grid *g, int x, int y, int width, unsigned int role, const char *text);
/* Like grid_put(), but a text that is cut ends with a mark (`…` or `~`). */
int grid_put_cut(struct grid *g, int x, int y, int width, unsigned int role, const char *text);
/* Right-aligned in `width` columns; cut at its end when longer. */
void grid_put_right(struct grid *g, int x, int y, int width, unsigned int role, const char *text);
int grid_printf(struct grid *g, int x, int y, int width, unsigned int role, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Fill with a one-column text. */
void grid_fill(struct grid *g, struct rect r, unsigned int role, const char *text);
/* Change the role of cells, keeping their text. */
void grid_role(struct grid *g, struct rect r, unsigned int role);
void grid_cursor(struct grid *g, int x, int y);
/* Mark a rectangle as a target of clicks. More than GRID_MAX_TARGETS are ignored. */
void grid_target(struct grid *g, struct rect r, int id);
/* The target at this position, the last marked one first; NULL: none. */
const struct grid_target *grid_target_at(const struct grid *g, int x, int y);

/* Columns that a text takes in this grid. */
int grid_columns(const struct grid *g, const char *text);
/* Append the text of the grid, row by row, without trailing blanks. Returns 0 or a negative errno.
 */
int grid_text(const struct grid *g, struct buf *out);
