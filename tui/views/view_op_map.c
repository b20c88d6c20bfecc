// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the map of one operation and its histogram with bracketed peaks. */
#include "analysis/base/format.h"
#include "tui/screen/theme.h"
#include "tui/views/view_op.h"

enum { MAX_LANES = 3 };

/* Describe the calls under the cursor: "at 0:12-0:13, 1-1.2 ms: 37 of 1.2k calls". */
static void cursor_text(const struct heatmap *h, char *out, size_t size)
{
	char from[32], to[32];
	uint64_t calls = h->cursor_row >= 0 ? h->row[h->cursor_row] : 0;

	heatmap_time(from, sizeof(from), h->cursor_start_ns, h->column_ns);
	heatmap_time(to, sizeof(to), h->cursor_end_ns, h->column_ns);
	if (!h->watched[h->cursor_col])
		snprintf(out, size, "at %s-%s: not watched", from, to);
	else if (h->cursor_row < 0)
		snprintf(out, size, "at %s-%s: %s calls", from, to, format_count(h->calls).s);
	else
		snprintf(out, size, "at %s-%s, %s: %s of %s calls", from, to,
			 format_range(heatmap_row_ns(h, h->cursor_row),
				      heatmap_row_ns(h, h->cursor_row + 1))
			     .s,
			 format_count(calls).s, format_count(h->calls).s);
}

static void draw_scale(const struct heatmap *h, struct grid *g, int x, int y, int end)
{
	char text[64];

	snprintf(text, sizeof(text), "%s calls",
		 format_count(1ULL << (h->scale < 63 ? h->scale : 63)).s);
	if (x + 2 + HEAT_LEVELS + 1 + (int)strlen(text) > end)
		return;
	grid_put(g, x, y, 1, ROLE_HEADING, "1");
	for (unsigned int level = 1; level <= HEAT_LEVELS; level++)
		grid_put(g, x + 1 + (int)level, y, 1, ROLE_HEAT_1 + level - 1,
			 theme_shade(level, g->ascii));
	grid_put(g, x + HEAT_LEVELS + 3, y, (int)strlen(text), ROLE_HEADING, text);
}

static void draw_heading(const struct view_op *v, const struct heatmap *h, struct grid *g,
			 const struct op_layout *l)
{
	bool cursor = v->pane == PANE_MAP && h->cursor_col >= 0;
	int y = l->heading.y, end = l->map.x + l->map.w;
	char text[256];

	if (!l->heading.h)
		return;
	grid_fill(g, l->heading, ROLE_HEADING, " ");
	if (cursor) {
		cursor_text(h, text, sizeof(text));
		if (l->map.w > 0)
			grid_put_cut(g, l->map.x, y, l->map.w, ROLE_FOCUS, text);
	} else {
		snprintf(text, sizeof(text), "%s per column", format_time(h->column_ns).s);
		if (l->map.w > 0)
			grid_put(g, l->map.x, y, l->map.w, ROLE_HEADING, text);
		draw_scale(h, g, l->map.x + (int)strlen(text) + 3, y, end);
	}
	grid_put_cut(g, l->bars.x, y, l->bars.w + l->brackets.w, ROLE_HEADING,
		     l->bars.w < 20 ? "calls (log)"
		     : cursor	    ? "calls at this time (log)"
		     : v->op->past  ? "calls of this span (log)"
				    : "calls shown here (log)");
}

static void draw_bars(const struct heatmap *h, struct grid *g, struct rect r,
		      struct bucket_range chosen)
{
	int low = -1, high = -2, i;

	heatmap_rows(h, chosen, &low, &high);
	for (int row = 0; row < h->rows && row < r.h; row++) {
		int halves = heatmap_bar(h, row, r.w * 2), y = r.y + r.h - 1 - row;
		unsigned int role = row >= low && row <= high ? ROLE_BAR_CHOSEN : ROLE_BAR;

		for (i = 0; i < halves / 2; i++)
			grid_put(g, r.x + i, y, 1, role, theme_glyph(GLYPH_BAR, g->ascii));
		if (halves % 2)
			grid_put(g, r.x + i, y, 1, role, theme_glyph(GLYPH_BAR_HALF, g->ascii));
	}
}

/* If two neighbouring peaks share a row, give the row to the peak with more of it, as long as the
 * other peak keeps a row. */
static void share_row(const struct op *op, const struct heatmap *h, struct op_bracket *b,
		      unsigned int i)
{
	struct op_bracket *below = &b[i - 1], *here = &b[i];
	unsigned int start = h->low + h->per_row * (unsigned int)here->low;
	unsigned int theirs = op->peaks[i - 1].range.high - start;
	unsigned int ours = start + h->per_row - op->peaks[i].range.low;

	if (below->lane < 0 || below->high != here->low)
		return;
	if (ours >= theirs && below->high > below->low)
		below->high--;
	else if (here->high > here->low)
		here->low++;
	else if (below->high > below->low)
		below->high--;
}

static void keep_mode(struct op_bracket *b)
{
	if (b->mode < b->low)
		b->mode = b->low;
	if (b->mode > b->high)
		b->mode = b->high;
}

/* Place the brackets. Peaks that still share a row get brackets in different lanes, side by side.
 * Returns the number of lanes. */
int view_op_place_brackets(const struct op *op, const struct heatmap *h, struct op_bracket *b)
{
	int used[MAX_LANES] = {-1, -1, -1}, lanes = 1, lane;
	unsigned int mode;

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		b[i].lane = heatmap_rows(h, p->range, &b[i].low, &b[i].high) ? 0 : -1;
		if (b[i].lane < 0)
			continue;
		mode = pt_bucket(p->mode_ns);
		b[i].mode = mode < h->low ? b[i].low : (int)((mode - h->low) / h->per_row);
		if (i)
			share_row(op, h, b, i);
	}
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		if (b[i].lane < 0)
			continue;
		keep_mode(&b[i]);
		for (lane = 0; lane < MAX_LANES && used[lane] >= b[i].low; lane++)
			;
		b[i].lane = lane < MAX_LANES ? lane : -1;
		if (lane == MAX_LANES)
			continue;
		used[lane] = b[i].high;
		if (lane + 1 > lanes)
			lanes = lane + 1;
	}
	return lanes;
}

static enum glyph bracket_glyph(const struct op_bracket *b, int row)
{
	if (b->low == b->high)
		return GLYPH_BRACKET_SINGLE;
	if (row == b->high)
		return GLYPH_BRACKET_TOP;
	if (row == b->low)
		return GLYPH_BRACKET_BOTTOM;
	return row == b->mode ? GLYPH_BRACKET_MODE : GLYPH_BRACKET_MIDDLE;
}

/* Draw shadows dimly, with the number of their peak. */
static void draw_shadows(const struct op *op, const struct heatmap *h, struct grid *g,
			 struct rect r)
{
	int low, high, mode;

	for (unsigned int i = 0; i < op->nr_folded; i++) {
		const struct peak *p = &op->folded[i];

		if (!p->shadow_of || !heatmap_rows(h, p->range, &low, &high))
			continue;
		for (int row = low; row <= high && row < r.h; row++)
			grid_put(g, r.x, r.y + r.h - 1 - row, 1, ROLE_DIM, ":");
		mode = pt_bucket(p->mode_ns) < h->low
			   ? low
			   : (int)((pt_bucket(p->mode_ns) - h->low) / h->per_row);
		mode = mode < low ? low : mode > high ? high : mode;
		for (unsigned int k = 0; k < op->nr_peaks && mode < r.h; k++)
			if (op->peaks[k].id == p->shadow_of)
				grid_printf(g, r.x + 1, r.y + r.h - 1 - mode, OP_LANE - 1, ROLE_DIM,
					    "~%d", op->peaks[k].number);
	}
}

static void draw_brackets(const struct op *op, const struct op_bracket *b,
			  const struct peak *chosen, struct grid *g, struct rect r)
{
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];
		bool is = chosen && p->id == chosen->id;
		unsigned int role = is ? ROLE_PEAK_CHOSEN : ROLE_PEAK;
		int x = r.x + b[i].lane * OP_LANE;

		if (b[i].lane < 0 || x + OP_LANE > r.x + r.w)
			continue;
		for (int row = b[i].low; row <= b[i].high && row < r.h; row++)
			grid_put(g, x, r.y + r.h - 1 - row, 1, role,
				 theme_glyph(bracket_glyph(&b[i], row), g->ascii));
		grid_printf(g, x + 1, r.y + r.h - 1 - b[i].mode, OP_LANE - 1, role, "%s%d",
			    is ? "<" : "", p->number);
	}
}

/* The time axis, on which a bar marks the part of the past that is shown. */
static void draw_times(const struct heatmap *h, struct grid *g, struct rect r)
{
	heatmap_draw_times(h, g, r);
	for (int col = h->part_from; col < h->part_to && col < r.w; col++)
		if (col != h->cursor_col)
			grid_put(g, r.x + col, r.y, 1, ROLE_FOCUS,
				 theme_glyph(GLYPH_BAR, g->ascii));
}

void view_op_draw_map(const struct view_op *v, struct grid *g, const struct op_map *m)
{
	const struct op_layout *l = &m->layout;
	const struct heatmap *h = &m->heat;
	const struct peak *chosen = view_op_chosen(v, NULL);
	struct bucket_range range = chosen ? chosen->range : (struct bucket_range){0, 0};

	draw_heading(v, h, g, l);
	if (l->labels.w)
		heatmap_draw_latencies(h, g, l->labels, range);
	grid_target(g, l->map, OP_TARGET_MAP);
	heatmap_draw(h, g, l->map);
	if (l->times.h)
		draw_times(h, g, l->times);
	draw_bars(h, g, l->bars, range);
	if (l->brackets.w) {
		draw_shadows(&v->op->op, h, g, l->brackets);
		draw_brackets(&v->op->op, m->bracket, chosen, g, l->brackets);
	}
}
