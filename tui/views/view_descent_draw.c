// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws a descent: the sentence, the progress, the tree, the paths. */
#include "analysis/base/format.h"
#include "analysis/base/path.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"
#include "tui/screen/theme.h"
#include "tui/views/view_descent.h"

enum { MARKS = 3, SHARE_W = FORMAT_PERCENT_WIDTH + 1, TIME_W = FORMAT_TIME_WIDTH + 1, BAR_W = 5 };
enum { NAME_MIN = 18, MAX_TEXT = 1 << 20, PATH_INDENT = 4 };

static const char answer_wait[] = "waiting for the first calls";

/* Append a text in lines to `out`, which is empty. Returns the number of lines. */
static int wrapped(struct buf *out, const char *text, int width, const char *first,
		   unsigned int rest)
{
	int n = 0;

	words_wrap(out, text, (unsigned int)(width > 1 ? width : 1), first, rest);
	for (const char *p = out->data; p && *p; n++) {
		p = strchr(p, '\n');
		p = p ? p + 1 : "";
	}
	return n;
}

/* Copy line `i` of the text. With `last` copy all the rest as one line, which drawing then cuts
 * with a mark. */
static void line_of(const struct buf *b, int i, bool last, char *out, size_t size)
{
	const char *p = b->data;

	out[0] = '\0';
	while (p && i--)
		p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
	if (!p)
		return;
	snprintf(out, size, "%.*s", last ? (int)strlen(p) : (int)strcspn(p, "\n"), p);
	for (char *c = out; *c; c++)
		if (*c == '\n')
			*c = ' ';
	while (*out && out[strlen(out) - 1] == ' ')
		out[strlen(out) - 1] = '\0';
}

static void draw_lines(struct grid *g, struct rect r, unsigned int role, const struct buf *b)
{
	char line[2048];

	for (int i = 0; i < r.h; i++) {
		line_of(b, i, i == r.h - 1, line, sizeof(line));
		grid_put_cut(g, r.x, r.y + i, r.w, role, line);
	}
}

/* Append an item to a row of items. A line is broken only between two items. */
static void add_item(struct buf *out, int width, const char *dot, const char *what,
		     const char *count)
{
	const char *line = out->data ? strrchr(out->data, '\n') : NULL;
	int columns = (int)text_columns(line ? line + 1 : out->data ? out->data : "");
	char item[128];

	snprintf(item, sizeof(item), "%s%s", what, count);
	/* room for this and the dot after it */
	buf_printf(out, " %s%s%s", dot, columns + (int)text_columns(item) + 5 > width ? "\n" : " ",
		   item);
}

static void status_text(const struct view_descent *v, bool ascii, int width, struct buf *out)
{
	const struct screen_descent *d = v->copy ? &v->copy->d : NULL;
	const char *dot = theme_glyph(GLYPH_DOT, ascii);

	if (!d)
		return;
	buf_printf(out, "%s", d->status);
	if (!d->over) {
		add_item(out, width, dot, "probes active ", format_count(d->armed).s);
		if (d->until_next)
			add_item(out, width, dot, "calls to next decision ",
				 format_count(d->until_next).s);
	}
	add_item(out, width, dot, "times probed ", format_count(d->rounds).s);
	add_item(out, width, dot, "calls measured ", format_count(d->calls_used).s);
	if (d->explained > 0)
		add_item(out, width, dot, "explained ", format_percent(d->explained).s);
}

static void path_text(const struct view_descent *v, uint32_t i, struct buf *out)
{
	const struct screen_descent_path *p = &v->copy->paths[i];

	buf_printf(out, "%s of the time of these calls: %s; %s, %s", format_percent(p->share).s,
		   p->cause, format_time(p->latency_ns).s, p->evidence);
	if (p->where[0])
		buf_printf(out, "; mostly %s", p->where);
	if (p->waits[0])
		buf_printf(out, "; for whom: %s", p->waits);
}

/* Append all paths as lines; store the number of lines before path `at` in *top unless it is NULL.
 * Returns the number of lines. */
static int path_lines(const struct view_descent *v, int width, struct buf *out, int at, int *top)
{
	char first[16];
	int n = 0;

	for (uint32_t i = 0; v->copy && i < v->copy->d.nr_paths; i++) {
		bool marked = v->pane == DESCENT_PATHS && (int)i == v->paths.selected;
		SCOPED_BUF(text, MAX_TEXT);
		SCOPED_BUF(one, MAX_TEXT);

		if (top && (int)i == at)
			*top = n;
		path_text(v, i, &text);
		snprintf(first, sizeof(first), "%s%-*u", marked ? "> " : "  ", PATH_INDENT - 2,
			 i + 1);
		n += wrapped(&one, text.data ? text.data : "", width, first, PATH_INDENT);
		if (one.data)
			buf_append(out, one.data, one.len);
	}
	return n;
}

struct layout {
	struct rect parts, sentence, status, heading, tree, paths_heading, paths;
};

/* The parts of all time come first, if there are several, with the present one among them. Then
 * comes the sentence, with a limited height. The tree comes next and always has some rows.
 * The paths get the rows that the tree does not need, at least a third in a high window (the
 * sentence already contains the first path). */
static struct layout lay_out(const struct view_descent *v, struct rect r, int sentence, int status)
{
	struct layout l;
	SCOPED_BUF(b, MAX_TEXT);
	int parts = v->part ? 1 + (int)v->copy->d.nr_parts : 0;
	int heads = r.h >= 8, paths = path_lines(v, r.w - 1, &b, 0, NULL), rest, y = r.y, most;

	if (parts > 1 + r.h / 4)
		parts = r.h < 8 ? 0 : 1 + r.h / 4;
	l.parts = (struct rect){r.x, y, r.w, parts};
	y += parts;
	most = r.h < 12 ? 2 : r.h / 5 > 3 ? r.h / 5 : 3;
	sentence = sentence < most ? sentence : most;
	most = r.h < 12 ? 1 : 2;
	status = status < most ? status : most;
	if (r.h < 4)
		status = 0;
	if (r.h < 3)
		sentence = r.h > 1;
	rest = r.h - parts - sentence - status - heads;
	if (paths && rest - 1 < (int)v->nr_rows + paths) {
		int least = v->pane == DESCENT_PATHS ? rest / 2 : rest >= 12 ? rest / 3 : 0;
		int left = rest - 1 - (int)v->nr_rows;

		paths = left > least ? left : paths < least ? paths : least;
	}
	rest -= paths ? paths + 1 : 0;
	l.sentence = (struct rect){r.x + 1, y, r.w - 1, sentence};
	y += sentence;
	l.status = (struct rect){r.x + 1, y, r.w - 1, status};
	y += status;
	l.heading = (struct rect){r.x, y, r.w, heads};
	y += heads;
	l.tree = (struct rect){r.x, y, r.w, rest > 0 ? rest : 0};
	y += l.tree.h;
	l.paths_heading = (struct rect){r.x, y, r.w, paths > 0};
	l.paths = (struct rect){r.x, y + 1, r.w, paths};
	return l;
}

static struct layout lay_out_text(const struct view_descent *v, struct rect r, bool ascii,
				  struct buf *sentence, struct buf *status)
{
	const char *text = v->copy && v->copy->d.sentence[0] ? v->copy->d.sentence : answer_wait;
	SCOPED_BUF(b, MAX_TEXT);
	int n = wrapped(sentence, text, r.w - 1, "", 0);

	status_text(v, ascii, r.w - 1, &b);
	return lay_out(v, r, n, wrapped(status, b.data ? b.data : "", r.w - 1, "", 0));
}

int view_descent_tree_rows(const struct view_descent *v, int cols, int rows)
{
	SCOPED_BUF(sentence, MAX_TEXT);
	SCOPED_BUF(status, MAX_TEXT);
	struct layout l = lay_out_text(v, screen_body(cols, rows), v->view.screen->options.ascii,
				       &sentence, &status);

	return l.tree.h > 0 ? l.tree.h : 1;
}

int view_descent_height(const struct view *view, int cols)
{
	const struct view_descent *v = (const struct view_descent *)view;
	SCOPED_BUF(b, MAX_TEXT);
	int n = path_lines(v, cols - 1, &b, 0, NULL);

	return (int)v->nr_rows + n + 24 + (v->part ? 1 + (int)v->copy->d.nr_parts : 0);
}

/* --- the tree
 * -------------------------------------------------------------------------------------- */

struct tree_columns {
	int share, time, votes, name; /* x, or -1: not shown */
	int votes_w, place_w;
	bool bar;
};

static void votes_text(const struct screen_descent_node *n, char *out, size_t size)
{
	if (n->votes)
		snprintf(out, size, "%s of %s", format_count(n->maxcount).s,
			 format_count(n->votes).s);
	else
		snprintf(out, size, "%s", n->evidence);
}

/* If the width does not suffice, leave out columns in this order: place, bar, time, votes, share.
 */
static struct tree_columns columns_of(const struct view_descent *v, int width)
{
	struct tree_columns c = {.share = -1, .time = -1, .votes = -1};
	int left = width - MARKS, names = NAME_MIN, x = MARKS;
	char text[96];

	for (uint32_t i = 0; i < v->nr_rows; i++) {
		const struct screen_descent_node *n = &v->copy->nodes[v->row[i]];
		int columns;

		votes_text(n, text, sizeof(text));
		columns = (int)text_columns(text);
		if (columns > c.votes_w)
			c.votes_w = columns < 20 ? columns : 20;
	}
	if (c.votes_w < 10)
		c.votes_w = 10;
	if (left >= names + SHARE_W) {
		c.share = x;
		left -= SHARE_W;
		x += SHARE_W;
	}
	if (left >= names + TIME_W + c.votes_w + 1) {
		c.time = x;
		left -= TIME_W;
		x += TIME_W;
	}
	if (left >= names + c.votes_w + 1) {
		c.votes = x;
		c.bar = left >= names + c.votes_w + BAR_W + 2;
		c.votes_w += c.bar ? BAR_W + 1 : 0;
		left -= c.votes_w + 1;
		x += c.votes_w + 1;
	}
	c.name = x;
	if (left >= 32)
		c.place_w = left / 2 < 32 ? left / 2 : 32;
	return c;
}

static void draw_bar(struct grid *g, int x, int y, unsigned int role,
		     const struct screen_descent_node *n)
{
	uint64_t votes = n->votes, count = n->maxcount < votes ? n->maxcount : votes;
	int halves = (int)((double)count * 2 * BAR_W / (double)votes + 0.5), i;

	if (!halves && count)
		halves = 1;
	for (i = 0; 2 * i + 1 < halves; i++)
		grid_put(g, x + i, y, 1, role, theme_glyph(GLYPH_BAR, g->ascii));
	if (halves & 1)
		grid_put(g, x + i, y, 1, role, theme_glyph(GLYPH_BAR_HALF, g->ascii));
}

/* Write "store.c:88"; if the line is not known "+0x21", relative to the start of the caller; "" if
 * neither is known. */
static void place_text(const struct screen_descent_node *n, char *out, size_t size)
{
	out[0] = '\0';
	if (n->file[0] && n->line)
		snprintf(out, size, "%s:%u", path_file(n->file), n->line);
	else if (n->code_start && n->code_offset > n->code_start)
		snprintf(out, size, "+0x%llx",
			 (unsigned long long)(n->code_offset - n->code_start));
}

static void draw_place(struct grid *g, int end, int y, int width,
		       const struct screen_descent_node *n)
{
	char text[512];
	int columns;

	place_text(n, text, sizeof(text));
	columns = grid_columns(g, text);
	if (columns && columns < width)
		grid_put(g, end - columns, y, columns, ROLE_DIM, text);
}

static int place_columns(const struct grid *g, const struct screen_descent_node *n)
{
	char text[512];

	place_text(n, text, sizeof(text));
	return text[0] ? grid_columns(g, text) + 1 : 0;
}

/* Draw the name with its remark, and the place at the right if both fit. */
static void draw_name(const struct view_descent *v, struct grid *g, struct rect at,
		      const struct tree_columns *c, uint32_t index, unsigned int role)
{
	const int x = at.x, y = at.y, width = at.w;
	const struct screen_descent_node *n = &v->copy->nodes[index];
	const char *sign = !view_descent_has_children(v, index) ? " "
			   : view_descent_open(v, index)	? "-"
								: "+";
	int place = c->place_w ? place_columns(g, n) : 0, indent, room, taken;
	int most = width > 24 ? width - 16 : width / 3;
	char text[1200];

	/* limit the indentation, so that names of a deep path stay readable */
	indent = 2 * (int)n->depth < most ? 2 * (int)n->depth : most;
	if (place > c->place_w)
		place = 0;
	grid_put(g, x + indent, y, 1, ROLE_DIM, sign);
	room = width - indent - 2;
	snprintf(text, sizeof(text), "%.1000s", n->name);
	if (place && grid_columns(g, text) + place + 1 > room && grid_columns(g, text) > room / 2)
		place = room - place >= 16 ? place : 0;
	taken = grid_put_cut(g, x + indent + 2, y, room - place, role, text);
	if (n->remark[0] && room - place - taken > 12) {
		snprintf(text, sizeof(text), "%.200s", n->remark);
		grid_put_cut(g, x + indent + 3 + taken, y, room - place - taken - 1, ROLE_DIM,
			     text);
	}
	if (place)
		draw_place(g, x + width, y, place, n);
}

static unsigned int role_of(const struct screen_descent_node *n)
{
	if (n->root_cause)
		return ROLE_PEAK_CHOSEN;
	return n->wait && !n->evidence[0] ? ROLE_DIM : ROLE_TEXT;
}

static void draw_row(const struct view_descent *v, struct grid *g, struct rect r,
		     const struct tree_columns *c, uint32_t row)
{
	const struct screen_descent_node *n = &v->copy->nodes[v->row[row]];
	bool selected = (int)row == v->tree.selected && v->pane == DESCENT_TREE;
	unsigned int role = selected ? ROLE_SELECTED : role_of(n);
	char text[96];

	if (selected)
		grid_put(g, r.x, r.y, 1, ROLE_SELECTED, ">");
	if (selected)
		grid_cursor(g, r.x, r.y);
	if (n->root_cause)
		grid_put(g, r.x + 1, r.y, 1, ROLE_PEAK_CHOSEN, "*");
	if (n->armed)
		grid_put(g, r.x + 2, r.y, 1, ROLE_WARNING, "@");
	if (c->share >= 0 && n->evidence[0])
		grid_put(g, r.x + c->share, r.y, SHARE_W, role, format_percent_fixed(n->share).s);
	if (c->time >= 0 && n->evidence[0])
		grid_put(g, r.x + c->time, r.y, TIME_W, role, format_time_fixed(n->latency_ns).s);
	if (c->votes >= 0) {
		votes_text(n, text, sizeof(text));
		if (c->bar && n->votes)
			draw_bar(g, r.x + c->votes, r.y, n->root_cause ? ROLE_BAR_CHOSEN : ROLE_BAR,
				 n);
		grid_put(g, r.x + c->votes + (c->bar ? BAR_W + 1 : 0), r.y,
			 c->votes_w - (c->bar ? BAR_W + 1 : 0), n->votes ? role : ROLE_DIM, text);
	}
	draw_name(v, g, (struct rect){r.x + c->name, r.y, r.w - c->name, 1}, c, v->row[row], role);
}

static void draw_tree(const struct view_descent *v, struct grid *g, const struct layout *l)
{
	struct tree_columns c = columns_of(v, l->tree.w);
	unsigned int role = v->pane == DESCENT_TREE && v->paths.n ? ROLE_FOCUS : ROLE_HEADING;
	int top = list_top(&v->tree, l->tree.h), y = l->heading.y;
	const char *legend = "* root cause  @ probed now";
	int x = c.name + 2;

	if (l->heading.h) {
		grid_fill(g, l->heading, ROLE_HEADING, " ");
		if (c.share >= 0)
			grid_put(g, l->tree.x + c.share, y, SHARE_W, ROLE_HEADING, " share");
		if (c.time >= 0)
			grid_put(g, l->tree.x + c.time, y, TIME_W, ROLE_HEADING, "   time");
		if (c.votes >= 0)
			grid_put(g, l->tree.x + c.votes, y, c.votes_w, ROLE_HEADING,
				 c.bar ? "largest in calls" : "largest in");
		x += grid_put(g, l->tree.x + x, y, l->tree.w - x, role, "call path") + 2;
		if (l->tree.w - x > (int)strlen(legend))
			grid_put_right(g, l->tree.x + x, y, l->tree.w - x, ROLE_HEADING, legend);
	}
	for (int i = 0; i < l->tree.h && top + i < (int)v->nr_rows; i++) {
		struct rect row = {l->tree.x, l->tree.y + i, l->tree.w, 1};

		grid_target(g, row, top + i);
		draw_row(v, g, row, &c, (uint32_t)(top + i));
	}
}

/* --- the paths
 * --------------------------------------------------------------------------------------- */

/* Mark the visible lines of each path; `top` is the first visible line. */
static void mark_paths(const struct view_descent *v, struct grid *g, struct rect r, int top)
{
	for (int i = 0; i < v->paths.n; i++) {
		int first = 0, y;
		SCOPED_BUF(b, MAX_TEXT);

		path_lines(v, r.w - 1, &b, i, &first);
		y = first > top ? r.y + first - top : r.y;
		if (y < r.y + r.h)
			grid_target(g, (struct rect){r.x, y, r.w, r.y + r.h - y},
				    DESCENT_TARGET_PATH + i);
	}
}

static void draw_paths(const struct view_descent *v, struct grid *g, const struct layout *l)
{
	SCOPED_BUF(b, MAX_TEXT);
	char line[2048];
	int n, top = 0;

	if (!l->paths.h)
		return;
	n = path_lines(v, l->paths.w - 1, &b, v->paths.selected, &top);
	if (top > n - l->paths.h)
		top = n - l->paths.h;
	if (v->pane != DESCENT_PATHS || top < 0)
		top = 0;
	mark_paths(v, g, l->paths, top);
	grid_fill(g, l->paths_heading, ROLE_HEADING, " ");
	grid_printf(g, l->paths_heading.x + 1, l->paths_heading.y, l->paths_heading.w - 1,
		    v->pane == DESCENT_PATHS ? ROLE_FOCUS : ROLE_HEADING, "%d %s", v->paths.n,
		    v->paths.n == 1 ? "path" : "paths");
	for (int i = 0; i < l->paths.h && top + i < n; i++) {
		bool marked;

		line_of(&b, top + i, i == l->paths.h - 1 && v->pane != DESCENT_PATHS, line,
			sizeof(line));
		marked = line[0] == '>';
		grid_put_cut(g, l->paths.x, l->paths.y + i, l->paths.w,
			     marked ? ROLE_SELECTED : ROLE_TEXT, line);
		if (marked)
			grid_cursor(g, l->paths.x, l->paths.y + i);
	}
}

void view_descent_draw(const struct view *view, struct grid *g, struct rect r)
{
	const struct view_descent *v = (const struct view_descent *)view;
	SCOPED_BUF(sentence, MAX_TEXT);
	SCOPED_BUF(status, MAX_TEXT);
	struct layout l = lay_out_text(v, r, g->ascii, &sentence, &status);

	view_descent_draw_parts(v, g, l.parts);
	draw_lines(g, l.sentence, v->part ? ROLE_TEXT : ROLE_TITLE, &sentence);
	draw_lines(g, l.status, ROLE_DIM, &status);
	if (v->copy)
		draw_tree(v, g, &l);
	draw_paths(v, g, &l);
}
