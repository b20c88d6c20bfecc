// SPDX-License-Identifier: GPL-2.0-or-later
/* The pane of peaks: a row of figures for each peak, and its remarks in words. */
#include "analysis/base/format.h"
#include "tui/report/sanitise.h"
#include "tui/screen/theme.h"
#include "tui/views/view_op.h"

enum { INDENT = 7, ROW_WIDTH = 52 };

/* The end of the line that begins at `s`: at most `width` columns, at most up to `end`. */
static const char *break_line(const char *s, const char *end, int width)
{
	size_t fit = text_fit(s, (unsigned int)(width > 1 ? width : 1)), cut;

	if (!fit)
		fit = 1;
	if (s + fit >= end)
		return end;
	for (cut = fit; cut > 0 && s[cut] != ' '; cut--)
		;
	return s + (cut ? cut : fit);
}

static int nr_remarks(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

/* Append the lines of one peak's remarks; those about related peaks come last. Returns the new
 * number of lines. */
static int remark_lines(const struct view_op *v, int peak, int width, struct op_line *lines, int n)
{
	const struct frozen_peak *f = &v->op->peak[peak];
	int remarks = nr_remarks(f->remarks), i = 0;
	const char *at = f->remarks, *end, *next;

	for (; *at && i < remarks; i++, at = end + 1) {
		int related = i - (remarks - (int)f->nr_related);
		bool first = true;

		end = strchr(at, '\n');
		for (; at < end && n < OP_MAX_LINES; at = next) {
			next = break_line(at, end, width - INDENT - 2);
			lines[n++] =
			    (struct op_line){.peak = peak,
					     .related = first && related >= 0 ? related : -1,
					     .text = at,
					     .bytes = (unsigned int)(next - at),
					     .first = first};
			first = false;
			while (next < end && *next == ' ')
				next++;
		}
	}
	return n;
}

int view_op_lines(const struct view_op *v, int width, struct op_line *lines)
{
	int n = 0;

	for (unsigned int i = 0; i < v->op->op.nr_peaks && n < OP_MAX_LINES; i++) {
		lines[n++] = (struct op_line){.peak = (int)i, .head = true, .related = -1};
		if (view_op_detailed(v, &v->op->op.peaks[i]))
			n = remark_lines(v, (int)i, width, lines, n);
	}
	return n;
}

/* A short remark for the row of figures, shown if the details are hidden. */
static void short_remark(const struct view_op *v, const struct peak *p, char *out, size_t size)
{
	char period[192] = "";

	if (p->period_ns > 0)
		snprintf(period, sizeof(period), "every %s%s%.100s%s%s",
			 format_time((uint64_t)p->period_ns).s, p->period_near[0] ? " (" : "",
			 p->period_near, p->period_near[0] ? ")" : "", p->near[0] ? "; " : "");
	snprintf(out, size, "%s%s%s", period, p->near[0] ? "near " : "", p->near);
}

static void draw_head(const struct view_op *v, const struct peak *p, struct grid *g, struct rect r,
		      bool chosen)
{
	bool selected = chosen && !v->whole;
	unsigned int role = selected ? ROLE_SELECTED : ROLE_TEXT;
	bool focus = selected && v->pane == PANE_PEAKS, detailed = view_op_detailed(v, p);
	char text[320];

	if (selected)
		grid_put(g, r.x, r.y, 1, role, ">");
	grid_printf(g, r.x + 2, r.y, 2, chosen ? ROLE_PEAK_CHOSEN : role, "%2d", p->number);
	if (nr_remarks(v->op->peak[p - v->op->op.peaks].remarks))
		grid_put(g, r.x + 5, r.y, 1, ROLE_DIM, detailed ? "-" : "+");
	snprintf(text, sizeof(text), "%-17s %5s %8s %8s %8s/s",
		 format_range(p->low_ns, p->high_ns).s, format_count(p->calls).s,
		 format_percent(p->share_of_calls).s, format_percent(p->share_of_time).s,
		 format_rate(p->rate_hz).s);
	grid_put(g, r.x + INDENT, r.y, r.w - INDENT, role, text);
	if (!detailed && r.w > INDENT + ROW_WIDTH + 8) {
		short_remark(v, p, text, sizeof(text));
		grid_put_cut(g, r.x + INDENT + ROW_WIDTH + 1, r.y, r.w - INDENT - ROW_WIDTH - 1,
			     ROLE_DIM, text);
	}
	if (focus)
		grid_cursor(g, r.x, r.y);
}

static void draw_remark(const struct view_op *v, const struct op_line *line, struct grid *g,
			struct rect r, bool chosen)
{
	bool selected = chosen && v->pane == PANE_RELATED && line->related >= 0 &&
			line->related == v->related.selected;
	char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)line->bytes, line->text);
	if (selected) {
		grid_put(g, r.x + INDENT - 2, r.y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, r.x + INDENT - 2, r.y);
	}
	grid_put(g, r.x + INDENT + (line->first ? 0 : 2), r.y, r.w - INDENT,
		 selected ? ROLE_SELECTED : ROLE_TEXT, text);
}

/* The visible lines. */
struct shown {
	int line[OP_MAX_LINES];
	int n;
	int first_remark;  /* the first visible remark line of the chosen peak */
	bool above, below; /* the chosen peak has more remarks above or below */
};

/* The number of remark lines of the chosen peak that are hidden above the visible ones. */
static int first_remark(const struct view_op *v, const struct op_line *lines, int from, int n,
			int room)
{
	int first = v->scroll;

	if (v->pane == PANE_RELATED) {
		for (int i = 0; i < n; i++)
			if (lines[from + i].related >= 0 &&
			    lines[from + i].related <= v->related.selected)
				first = i;
		first = first - room + 1;
	}
	if (first > n - room)
		first = n - room;
	return first < 0 ? 0 : first;
}

/* The number of lines for remarks of the chosen peak if not all lines fit. */
static int remark_room(const struct view_op *v, int height, int heads, int remarks)
{
	bool related = v->pane == PANE_RELATED;
	int room = height - heads;

	if (room < 2 && (room < 0 || related))
		room = height / 3 > 1 ? height / 3 : related && height > 1;
	return room < remarks ? room : remarks;
}

/* Choose the visible lines. As many peaks as fit keep their row of figures; the remaining lines
 * show remarks of the chosen peak. */
static void choose_lines(const struct view_op *v, const struct op_line *lines, int n, int height,
			 struct shown *out)
{
	int index = -1, heads = (int)v->op->op.nr_peaks, i, own = 0, remarks = 0, room, rows, first;

	*out = (struct shown){0};
	view_op_chosen(v, &index);
	for (i = 0; i < n; i++) {
		if (lines[i].peak == index && lines[i].head)
			own = i;
		remarks += lines[i].peak == index && !lines[i].head;
	}
	if (n <= height) {
		for (i = 0; i < n; i++)
			out->line[out->n++] = i;
		return;
	}
	room = remark_room(v, height, heads, remarks);
	rows = height - room;
	first = index >= rows ? index - rows + 1 : 0;
	out->first_remark = first_remark(v, lines, own + 1, remarks, room);
	out->above = out->first_remark > 0;
	out->below = out->first_remark + room < remarks;
	for (i = 0; i < n && out->n < height; i++) {
		int remark = i - own - 1;

		if (lines[i].head ? lines[i].peak >= first && lines[i].peak < first + rows
				  : lines[i].peak == index && remark >= out->first_remark &&
					remark < out->first_remark + room)
			out->line[out->n++] = i;
	}
}

static void draw_heading(const struct view_op *v, struct grid *g, struct rect r)
{
	unsigned int role = v->pane == PANE_OPEN || v->pane == PANE_MAP ? ROLE_HEADING : ROLE_FOCUS;
	char heading[128];

	snprintf(heading, sizeof(heading), "peak   %-17s %5s %8s %8s %10s", "latency", "calls",
		 "% calls", "% time", "rate");
	grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, role, " ");
	grid_put(g, r.x, r.y, r.w, role, heading);
}

void view_op_draw_peaks(const struct view_op *v, struct grid *g, struct rect r)
{
	struct op_line lines[OP_MAX_LINES];
	struct shown shown;
	int n = view_op_lines(v, r.w, lines), i, index = -1, last = -1;
	const char *mark;

	if (r.h < 1)
		return;
	if (r.h >= 3) {
		draw_heading(v, g, r);
		r.y++;
		r.h--;
	}
	view_op_chosen(v, &index);
	choose_lines(v, lines, n, r.h, &shown);
	for (i = 0; i < shown.n; i++) {
		const struct op_line *line = &lines[shown.line[i]];
		struct rect row = {r.x, r.y + i, r.w, 1};

		grid_target(g, row,
			    line->related >= 0 && line->peak == index
				? OP_TARGET_RELATED + line->related
				: line->peak);
		if (line->head)
			draw_head(v, &v->op->op.peaks[line->peak], g, row, line->peak == index);
		else
			draw_remark(v, line, g, row, line->peak == index);
		if (!line->head && line->peak == index)
			last = i;
	}
	mark = shown.below ? " PgDn: more" : shown.above ? " PgUp: more" : NULL;
	if (mark && last >= 0 && r.w > 20)
		grid_put_right(g, r.x, r.y + last, r.w, ROLE_DIM, mark);
	if (!n)
		grid_put_cut(g, r.x + 2, r.y, r.w - 2, ROLE_DIM,
			     v->op->op.total.calls ? "too few calls to find peaks"
						   : "no call has finished yet");
}
