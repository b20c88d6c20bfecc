// SPDX-License-Identifier: GPL-2.0-or-later
/* The menu of columns of the list of operations: shows, moves and sorts by them. What is chosen
 * holds for the list below at once; a key writes it to the configuration file. */
#include "tui/screen/theme.h"
#include "tui/views/view_ops.h"

struct view_columns {
	struct view view;
	struct view_operations *list_below; /* closed only after this view */
	struct list list;		    /* row 0: the name; then the columns in their order */
	enum op_column order[NR_COLUMNS];
};

static const char *const meanings[NR_COLUMNS] = {
    [COLUMN_LAYER] = "kind of operation: system calls, user functions, ...",
    [COLUMN_CALLS] = "number of calls",
    [COLUMN_TOTAL] = "sum of all latencies",
    [COLUMN_RATE] = "calls per second",
    [COLUMN_WALL] = "total latency divided by the observed time",
    [COLUMN_P50] = "half of the calls take at most this long",
    [COLUMN_P99] = "99% of the calls take at most this long",
    [COLUMN_MAX] = "the longest call",
    [COLUMN_HISTOGRAM] = "calls by latency, on one scale for all rows",
    [COLUMN_PEAKS] = "number of peaks",
    [COLUMN_OPEN] = "age of the oldest call that has not returned",
};

static struct screen_options *options_of(const struct view_columns *c)
{
	return &c->view.screen->options;
}

/* The selected column; NULL: the name. */
static const enum op_column *selected_column(const struct view_columns *c)
{
	return c->list.selected > 0 ? &c->order[c->list.selected - 1] : NULL;
}

/* The columns that the user wants: without a choice, those that are shown now. */
static uint32_t wanted(const struct view_columns *c)
{
	return options_of(c)->columns ? options_of(c)->columns : view_ops_columns(c->list_below);
}

static void toggle(struct view_columns *c)
{
	const enum op_column *column = selected_column(c);
	uint32_t columns = wanted(c);

	if (!column) {
		screen_message(c->view.screen, NOTE_INFO, "the name is always shown");
		return;
	}
	columns ^= 1U << *column;
	if (!columns) {
		screen_message(c->view.screen, NOTE_INFO,
			       "at least one column beside the name is shown");
		return;
	}
	options_of(c)->columns = columns;
}

static void move_column(struct view_columns *c, int by)
{
	int from = c->list.selected - 1, to = from + by;
	enum op_column column;

	if (from < 0 || to < 0 || to >= NR_COLUMNS) {
		screen_message(c->view.screen, NOTE_INFO,
			       from < 0 ? "the name is always the first column"
			       : to < 0 ? "this is the first column after the name"
					: "this is the last column");
		return;
	}
	options_of(c)->columns = wanted(c);
	column = c->order[from];
	c->order[from] = c->order[to];
	c->order[to] = column;
	options_of(c)->column_order = op_columns_pack(c->order, NR_COLUMNS);
	list_select(&c->list, to + 1);
}

static void sort_by(struct view_columns *c)
{
	const enum op_column *column = selected_column(c);
	enum row_order order = column ? op_column_sort(*column) : BY_NAME;

	if (order == NR_ORDERS)
		screen_message(c->view.screen, NOTE_INFO,
			       "the list cannot be sorted by the histogram");
	else
		view_ops_sort(c->list_below, order, c->list_below->rows.reverse);
}

static void show_usual(struct view_columns *c)
{
	options_of(c)->columns = 0;
	options_of(c)->column_order = 0;
	op_columns_unpack(0, c->order);
}

static void save(struct view_columns *c)
{
	const struct op_rows *rows = &c->list_below->rows;
	char text[256];
	int at = snprintf(text, sizeof(text), "columns =%s", options_of(c)->columns ? "" : " auto");

	for (int i = 0; i < NR_COLUMNS; i++)
		if (options_of(c)->columns & 1U << c->order[i])
			at += snprintf(text + at, sizeof(text) - (size_t)at, " %s",
				       op_column_names[c->order[i]]);
	snprintf(text + at, sizeof(text) - (size_t)at, "\nsort = %s%s\n",
		 row_order_names[rows->order], rows->reverse ? " reverse" : "");
	screen_act(c->view.screen, (struct screen_action){.type = SCREEN_CONFIGURE, .text = text});
}

static bool columns_request(struct view *v, enum request request, int key)
{
	struct view_columns *c = (struct view_columns *)v;
	struct rect body = screen_body(v->screen->cols, v->screen->rows);

	if (list_request(&c->list, request, body.h - 1))
		return true;
	switch (request) {
	case REQUEST_SHOW_COLUMN:
		toggle(c);
		return true;
	case REQUEST_COLUMN_LEFT:
	case REQUEST_COLUMN_RIGHT:
		move_column(c, request == REQUEST_COLUMN_RIGHT ? 1 : -1);
		return true;
	case REQUEST_SORT_COLUMN:
		sort_by(c);
		return true;
	case REQUEST_REVERSE:
		view_ops_sort(c->list_below, c->list_below->rows.order,
			      !c->list_below->rows.reverse);
		return true;
	case REQUEST_USUAL_COLUMNS:
		show_usual(c);
		return true;
	case REQUEST_SAVE_COLUMNS:
		save(c);
		return true;
	case REQUEST_COLUMNS: /* the key that opened the menu closes it */
	case REQUEST_OPEN:
		return screen_request(v->screen, REQUEST_CLOSE);
	default:
		return false;
	}
}

static bool columns_offers(const struct view *v, enum request request)
{
	return request != REQUEST_NEXT_PANE && request != REQUEST_PREVIOUS_PANE &&
	       request != REQUEST_LEFT && request != REQUEST_RIGHT;
}

static void draw_row(const struct view_columns *c, struct grid *g, struct rect r, int row)
{
	const struct op_rows *rows = &c->list_below->rows;
	bool selected = row == c->list.selected;
	unsigned int role = selected ? ROLE_SELECTED : ROLE_TEXT;
	enum op_column column = row ? c->order[row - 1] : NR_COLUMNS;
	enum row_order order = row ? op_column_sort(column) : BY_NAME;
	bool wants = !row || wanted(c) & 1U << column;
	bool fits = !row || view_ops_columns(c->list_below) & 1U << column;
	const char *sorted =
	    rows->order != order
		? " "
		: theme_glyph(rows->reverse ? GLYPH_ASCENDING : GLYPH_DESCENDING, g->ascii);

	grid_fill(g, r, role, " ");
	grid_printf(g, r.x, r.y, r.w, role, "%s [%s] %s%-10s %s%s", selected ? ">" : " ",
		    wants ? "x" : " ", sorted, row ? op_column_names[column] : "operation",
		    row ? meanings[column] : "name of the operation",
		    wants && !fits ? " (no room)" : "");
	grid_target(g, r, row);
	if (selected)
		grid_cursor(g, r.x, r.y);
}

static void columns_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct view_columns *c = (const struct view_columns *)v;
	int head = r.h >= 3 ? 1 : 0, top = list_top(&c->list, r.h - head);

	if (head) {
		grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
		grid_put_cut(g, r.x + 2, r.y, r.w - 2, ROLE_HEADING,
			     "Columns of the operations, the leftmost first");
	}
	for (int i = top; i < c->list.n && i - top < r.h - head; i++)
		draw_row(c, g, (struct rect){r.x, r.y + head + i - top, r.w, 1}, i);
}

static int columns_height(const struct view *v, int cols)
{
	return NR_COLUMNS + 2;
}

static bool columns_click(struct view *v, int target, int x, int y)
{
	struct view_columns *c = (struct view_columns *)v;

	if (target >= c->list.n)
		return false;
	list_select(&c->list, target);
	toggle(c);
	return false;
}

static void columns_close(struct view *v)
{
	free(v);
}

static const struct view_hint hints[] = {
    {REQUEST_SHOW_COLUMN, "show"},  {REQUEST_COLUMN_LEFT, "left"}, {REQUEST_COLUMN_RIGHT, "right"},
    {REQUEST_SORT_COLUMN, "sort"},  {REQUEST_REVERSE, "reverse"},  {REQUEST_USUAL_COLUMNS, "usual"},
    {REQUEST_SAVE_COLUMNS, "save"}, {REQUEST_HELP, "help"},	   {REQUEST_CLOSE, "close"},
    {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "columns",
    .keymap = KEYMAP_COLUMNS,
    .hints = hints,
    .close = columns_close,
    .draw = columns_draw,
    .offers = columns_offers,
    .request = columns_request,
    .height = columns_height,
    .click = columns_click,
};

struct view *view_columns_new(struct view_operations *o)
{
	struct view_columns *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->view.methods = &methods;
	c->view.screen = o->view.screen;
	c->list_below = o;
	c->list.n = NR_COLUMNS + 1;
	op_columns_unpack(o->view.screen->options.column_order, c->order);
	return &c->view;
}
