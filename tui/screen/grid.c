// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/grid.h"

#include <wchar.h>

#include "analysis/base/format.h"
#include "tui/report/sanitise.h"

static int clamp(int v, int low, int high)
{
	return v < low ? low : v > high ? high : v;
}

static void cell_set(struct cell *c, const char *text, size_t n, unsigned int width,
		     unsigned int role)
{
	memset(c->text, 0, sizeof(c->text));
	memcpy(c->text, text, n);
	c->width = (uint8_t)width;
	c->role = (uint8_t)role;
}

struct grid *grid_new(int cols, int rows, bool ascii)
{
	struct grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->ascii = ascii;
	if (grid_resize(g, cols, rows) < 0) {
		free(g);
		return NULL;
	}
	return g;
}

void grid_free(struct grid *g)
{
	if (!g)
		return;
	free(g->cells);
	free(g);
}

int grid_resize(struct grid *g, int cols, int rows)
{
	struct cell *cells;

	cols = clamp(cols, 1, GRID_MAX_COLS);
	rows = clamp(rows, 1, GRID_MAX_ROWS);
	if (!g->cells || cols != g->cols || rows != g->rows) {
		cells = malloc((size_t)cols * (size_t)rows * sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		free(g->cells);
		g->cells = cells;
		g->cols = cols;
		g->rows = rows;
	}
	grid_clear(g);
	return 0;
}

void grid_clear(struct grid *g)
{
	size_t i, n = (size_t)g->cols * (size_t)g->rows;

	for (i = 0; i < n; i++)
		cell_set(&g->cells[i], " ", 1, 1, 0);
	g->cursor_x = g->cursor_y = -1;
	g->nr_targets = 0;
}

void grid_target(struct grid *g, struct rect r, int id)
{
	if (g->nr_targets < GRID_MAX_TARGETS)
		g->target[g->nr_targets++] = (struct grid_target){r, id};
}

const struct grid_target *grid_target_at(const struct grid *g, int x, int y)
{
	for (unsigned int i = g->nr_targets; i-- > 0;) {
		const struct rect *r = &g->target[i].r;

		if (x >= r->x && x < r->x + r->w && y >= r->y && y < r->y + r->h)
			return &g->target[i];
	}
	return NULL;
}

static struct cell *at(const struct grid *g, int x, int y)
{
	if (x < 0 || y < 0 || x >= g->cols || y >= g->rows)
		return NULL;
	return &g->cells[(size_t)y * (size_t)g->cols + (size_t)x];
}

const struct cell *grid_at(const struct grid *g, int x, int y)
{
	return at(g, x, y);
}

/* Before cell (x, y) is overwritten: if it is one half of a wide character, make the other half
 * blank. */
static void split(const struct grid *g, int x, int y)
{
	struct cell *c = at(g, x, y), *other;

	if (!c || c->width == 1)
		return;
	other = at(g, c->width == 2 ? x + 1 : x - 1, y);
	if (other)
		cell_set(other, " ", 1, 1, other->role);
}

struct glyph_in {
	const char *text;
	size_t n;      /* bytes of the input */
	size_t text_n; /* bytes for the cell */
	int width;     /* columns; 0: a combining mark */
};

static void write_cell(const struct grid *g, int x, int y, unsigned int role,
		       const struct glyph_in *in)
{
	struct cell *c = at(g, x, y), *next;

	if (!c)
		return;
	split(g, x, y);
	if (in->width == 2) {
		next = at(g, x + 1, y);
		if (!next) {
			cell_set(c, " ", 1, 1, role);
			return;
		}
		split(g, x + 1, y);
		cell_set(next, "", 0, 0, role);
	}
	cell_set(c, in->text, in->text_n, (unsigned int)in->width, role);
}

/* Append a combining mark to the cell on the left, if that has room. */
static void join_cell(const struct grid *g, int x, int y, const char *text, size_t n)
{
	struct cell *c = at(g, x, y);
	size_t len;

	if (c && c->width == 0)
		c = at(g, x - 1, y);
	if (!c)
		return;
	len = strlen(c->text);
	if (len && len + n < sizeof(c->text))
		memcpy(c->text + len, text, n);
}

/* The next character of `s` in the form in which the grid can show it. */
static struct glyph_in next_glyph(const struct grid *g, const char *s)
{
	struct glyph_in in = {.text = "?", .n = 1, .text_n = 1, .width = 1};
	uint32_t cp = 0;
	unsigned int n = utf8_decode(s, strnlen(s, 4), &cp);
	int width;

	if (!n)
		return in;
	in.n = n;
	if (cp < 0x20 || cp == 0x7f)
		return in;
	width = cp < 0x7f ? 1 : wcwidth((wchar_t)cp);
	if (g->ascii && cp >= 0x80) {
		in.width = width >= 0 ? width : 1;
		if (!in.width)
			in.text_n = 0;
		return in;
	}
	if (width < 0)
		return in;
	in.text = s;
	in.text_n = n;
	in.width = width;
	return in;
}

int grid_put(struct grid *g, int x, int y, int width, unsigned int role, const char *text)
{
	int taken = 0, nr;

	while (*text) {
		struct glyph_in in = next_glyph(g, text);

		text += in.n;
		if (in.width == 0) {
			if (taken)
				join_cell(g, x + taken - 1, y, in.text, in.text_n);
			continue;
		}
		if (taken + in.width > width)
			break;
		/* in ASCII mode a wide character becomes "??" */
		nr = in.text_n == 1 && in.width == 2 ? 2 : 1;
		in.width /= nr;
		for (int i = 0; i < nr; i++, taken += in.width)
			write_cell(g, x + taken, y, role, &in);
	}
	return taken;
}

int grid_columns(const struct grid *g, const char *text)
{
	int cols = 0;

	while (*text) {
		struct glyph_in in = next_glyph(g, text);

		text += in.n;
		cols += in.width;
	}
	return cols;
}

int grid_put_cut(struct grid *g, int x, int y, int width, unsigned int role, const char *text)
{
	int taken;

	if (width <= 0)
		return 0;
	if (grid_columns(g, text) <= width)
		return grid_put(g, x, y, width, role, text);
	taken = grid_put(g, x, y, width - 1, role, text);
	grid_put(g, x + taken, y, 1, role, g->ascii ? "~" : "…");
	return taken + 1;
}

void grid_put_right(struct grid *g, int x, int y, int width, unsigned int role, const char *text)
{
	int cols = grid_columns(g, text);

	if (cols < width) {
		x += width - cols;
		width = cols;
	}
	grid_put(g, x, y, width, role, text);
}

int grid_printf(struct grid *g, int x, int y, int width, unsigned int role, const char *fmt, ...)
{
	char text[1024];

	format_arguments(text, sizeof(text), fmt);
	return grid_put(g, x, y, width, role, text);
}

void grid_fill(struct grid *g, struct rect r, unsigned int role, const char *text)
{
	for (int y = r.y; y < r.y + r.h; y++)
		for (int x = r.x; x < r.x + r.w; x++)
			grid_put(g, x, y, 1, role, text);
}

void grid_role(struct grid *g, struct rect r, unsigned int role)
{
	for (int y = r.y; y < r.y + r.h; y++) {
		for (int x = r.x; x < r.x + r.w; x++) {
			struct cell *c = at(g, x, y);

			if (c)
				c->role = (uint8_t)role;
		}
	}
}

void grid_cursor(struct grid *g, int x, int y)
{
	g->cursor_x = clamp(x, 0, g->cols - 1);
	g->cursor_y = clamp(y, 0, g->rows - 1);
}

int grid_text(const struct grid *g, struct buf *out)
{
	int end;

	for (int y = 0; y < g->rows; y++) {
		for (end = g->cols; end > 0; end--)
			if (strcmp(at(g, end - 1, y)->text, " "))
				break;
		for (int x = 0; x < end; x++)
			buf_puts(out, at(g, x, y)->text);
		buf_putc(out, '\n');
	}
	return out->err;
}
