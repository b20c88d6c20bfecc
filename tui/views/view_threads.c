// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads of the targets, the busiest first; with several targets grouped by process. While the
 * view is open the collector follows all threads. One or several can be chosen: then only their
 * calls are counted, in all views. */
#include "analysis/base/array.h"
#include "analysis/base/format.h"
#include "analysis/latency/threads.h"
#include "tui/report/sanitise.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"
#include "tui/views/views.h"

struct thread_row {
	uint32_t pid, tid; /* tid 0: the process, with the sums of its threads */
	char name[64], wait[2 * THREAD_WAIT_MAX];
	uint32_t op; /* in which it spends most time; 0: not known */
	char op_name[64];
	unsigned int threads; /* of a process */
	bool chosen;
	double cpu, runqueue; /* shares of its time; of a process the sums; < 0: not known */
};

struct view_threads {
	struct view view;
	struct thread_row *row;
	size_t nr, cap, nr_threads;
	bool too_many, some_chosen;
	/* the selected row; pid 0: the first row */
	uint32_t selected_pid, selected;
	struct list list;
	char found[256];
};

static void threads_close(struct view *v)
{
	screen_act(v->screen, (struct screen_action){.type = SCREEN_THREADS, .flag = 0});
	free(((struct view_threads *)v)->row);
	free(v);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : -1;
}

static void fill_row(struct thread_row *row, const struct thread_state *t, struct model *m)
{
	const struct op *op = t->ops[0].op ? model_op_by_number(m, t->ops[0].op) : NULL;

	*row = (struct thread_row){.pid = t->pid,
				   .tid = t->tid,
				   .cpu = share(t->cpu_ns, t->wall_ns),
				   .runqueue = share(t->runqueue_ns, t->wall_ns),
				   .op = op ? op->op : 0,
				   .chosen = thread_choice_has(model_choice(m), t->pid, t->tid)};
	sanitise(row->name, sizeof(row->name), t->comm);
	sanitise(row->wait, sizeof(row->wait), t->wait);
	if (op)
		sanitise(row->op_name, sizeof(row->op_name), op->label);
}

static double busy(const struct thread_row *row)
{
	return (row->cpu > 0 ? row->cpu : 0) + (row->runqueue > 0 ? row->runqueue : 0);
}

/* By process; in it the process first, then the busiest thread. */
static int compare_rows(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return ascending(x->pid, y->pid) ?: descending(!x->tid, !y->tid)
	       ?: descending(busy(x), busy(y)) ?: ascending(x->tid, y->tid);
}

/* Add a row for the process of this thread, or add the thread to it. */
static void add_to_process(struct view_threads *w, const struct thread_row *thread, struct model *m)
{
	struct thread_row *row = w->row;

	while (row < w->row + w->nr && (row->tid || row->pid != thread->pid))
		row++;
	if (row == w->row + w->nr) {
		*row = (struct thread_row){
		    .pid = thread->pid,
		    .chosen = thread_choice_has_process(model_choice(m), thread->pid)};
		for (size_t i = 0; i < model_nr_targets(m); i++)
			if (model_target(m, i)->pid == thread->pid)
				sanitise(row->name, sizeof(row->name), model_target(m, i)->comm);
		w->nr++;
	}
	row->threads++;
	row->cpu += thread->cpu > 0 ? thread->cpu : 0;
	row->runqueue += thread->runqueue > 0 ? thread->runqueue : 0;
}

static bool has_processes(const struct threads *t)
{
	for (size_t i = 1; i < t->nr; i++)
		if (t->list[i].pid != t->list[0].pid)
			return true;
	return false;
}

static void threads_tick(struct view *v)
{
	struct view_threads *w = (struct view_threads *)v;
	struct model *m = v->screen->model;
	const struct threads *t = model_threads(m);
	struct thread_row one;

	if (array_fit(w->row, 2 * t->nr, w->cap, SIZE_MAX))
		return;
	w->nr = 0;
	w->nr_threads = t->nr;
	w->too_many = t->too_many;
	w->some_chosen = model_choice(m)->nr > 0;
	/* add the rows of processes first: add_to_process() searches all rows that exist */
	for (size_t i = 0; i < t->nr && has_processes(t); i++) {
		fill_row(&one, &t->list[i], m);
		add_to_process(w, &one, m);
	}
	for (size_t i = 0; i < t->nr; i++)
		fill_row(&w->row[w->nr++], &t->list[i], m);
	if (w->nr)
		qsort(w->row, w->nr, sizeof(*w->row), compare_rows);
	list_resize(&w->list, (int)w->nr);
	if (!w->selected_pid)
		list_select(&w->list, 0);
	for (size_t i = 0; i < w->nr && w->selected_pid; i++)
		if (w->row[i].pid == w->selected_pid && w->row[i].tid == w->selected)
			list_select(&w->list, (int)i);
}

enum { TID_W = 8, NAME_W = 16, SHARE_W = 6, OP_W = 15 };

struct thread_columns {
	int name, cpu, runqueue, op, wait; /* x; -1: not shown */
};

/* Place the columns. Those of the operation, the name and the wait are left out if the width does
 * not suffice. */
static struct thread_columns lay_out(int width)
{
	int x = 2 + TID_W + 1;
	bool name = width >= x + NAME_W + 2 * (SHARE_W + 1), op = width >= 78;
	struct thread_columns c = {.name = name ? x : -1, .op = -1};

	x += name ? NAME_W + 1 : 0;
	c.cpu = x;
	c.runqueue = x + SHARE_W + 1;
	x = c.runqueue + SHARE_W + 2;
	if (op) {
		c.op = x;
		x += OP_W + 1;
	}
	c.wait = width >= x + 8 ? x : -1;
	return c;
}

static void draw_share(struct grid *g, int x, int y, unsigned int role, double share)
{
	if (share < 0)
		grid_put_right(g, x, y, SHARE_W, ROLE_DIM, "-");
	else
		grid_put_right(g, x, y, SHARE_W, role, format_percent_fixed(share).s);
}

static bool row_matches(const struct thread_row *row, const char *text)
{
	return text[0] && (strcasestr(row->name, text) || strcasestr(row->wait, text) ||
			   strcasestr(row->op_name, text));
}

static void draw_row(const struct view_threads *w, const struct thread_row *row, struct grid *g,
		     struct rect r, bool selected)
{
	struct thread_columns c = lay_out(r.w);
	bool found = row_matches(row, w->found);
	unsigned int role = selected ? ROLE_SELECTED : !row->tid ? ROLE_TITLE : ROLE_TEXT;

	if (selected) {
		grid_put(g, r.x, r.y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, r.x, r.y);
	}
	if (row->chosen)
		grid_put(g, r.x + 1, r.y, 1, ROLE_MATCH, "*");
	grid_printf(g, r.x + 2, r.y, TID_W, role, "%*u", row->tid ? TID_W : TID_W - 1,
		    row->tid ? row->tid : row->pid);
	if (c.name >= 0)
		grid_put_cut(g, r.x + c.name, r.y, NAME_W, found ? ROLE_MATCH : role, row->name);
	draw_share(g, r.x + c.cpu, r.y, role, row->cpu);
	draw_share(g, r.x + c.runqueue, r.y, role, row->runqueue);
	if (c.op >= 0)
		grid_put_cut(g, r.x + c.op, r.y, OP_W, found ? ROLE_MATCH : role, row->op_name);
	if (c.wait < 0)
		return;
	if (row->tid)
		grid_put_cut(g, r.x + c.wait, r.y, r.w - c.wait, found ? ROLE_MATCH : ROLE_DIM,
			     row->wait);
	else
		grid_printf(g, r.x + c.wait, r.y, r.w - c.wait, role, "%u %s", row->threads,
			    row->threads == 1 ? "thread" : "threads");
}

static void draw_headings(struct grid *g, struct rect r)
{
	struct thread_columns c = lay_out(r.w);

	grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
	grid_put_right(g, r.x + 2, r.y, TID_W, ROLE_HEADING, "thread");
	if (c.name >= 0)
		grid_put(g, r.x + c.name, r.y, NAME_W, ROLE_HEADING, "name");
	grid_put_right(g, r.x + c.cpu, r.y, SHARE_W, ROLE_FOCUS, "cpu%");
	grid_put_right(g, r.x + c.runqueue, r.y, SHARE_W, ROLE_HEADING, "runq%");
	if (c.op >= 0)
		grid_put(g, r.x + c.op, r.y, OP_W, ROLE_HEADING, "most time in");
	if (c.wait >= 0)
		grid_put(g, r.x + c.wait, r.y, r.w - c.wait, ROLE_HEADING, "does, or waits for");
}

static void threads_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct view_threads *w = (const struct view_threads *)v;
	int head = r.h >= 3 ? 1 : 0, foot = r.h >= 6 ? 1 : 0, height = r.h - head - foot;
	int top = list_top(&w->list, height);

	if (head)
		draw_headings(g, r);
	if (!w->list.n && r.h > head)
		grid_put_cut(g, r.x + 2, r.y + head, r.w - 2, ROLE_DIM,
			     v->screen->options.replay
				 ? "nothing is recorded of threads until this time"
				 : "waiting for the first records of threads");
	for (int i = 0; i < height && top + i < w->list.n; i++) {
		struct rect line = {r.x, r.y + head + i, r.w, 1};

		grid_target(g, line, top + i);
		draw_row(w, &w->row[top + i], g, line, top + i == w->list.selected);
	}
	if (foot)
		grid_printf(g, r.x + 2, r.y + r.h - 1, r.w - 2, ROLE_DIM,
			    "%zu %s, the busiest first%s%s", w->nr_threads,
			    w->nr_threads == 1 ? "thread" : "threads",
			    w->too_many ? "; there are more" : "",
			    w->some_chosen ? "; only calls of those marked * are counted" : "");
}

static int threads_height(const struct view *v, int cols)
{
	return ((const struct view_threads *)v)->list.n + 2;
}

static void keep_selection(struct view_threads *w)
{
	const struct thread_row *row = w->list.selected ? &w->row[w->list.selected] : NULL;

	w->selected_pid = row ? row->pid : 0;
	w->selected = row ? row->tid : 0;
}

/* Count only the calls of the selected thread too, or no longer; without `row`: of all threads. */
static void choose(struct view_threads *w, const struct thread_row *row)
{
	if (row) {
		w->selected_pid = row->pid; /* the rows change their order */
		w->selected = row->tid;
	}
	screen_act(w->view.screen, (struct screen_action){.type = SCREEN_CHOOSE_THREAD,
							  .pid = row ? row->pid : 0,
							  .tid = row ? row->tid : 0});
}

static bool threads_offers(const struct view *v, enum request request)
{
	const struct view_threads *w = (const struct view_threads *)v;
	const struct thread_row *row = w->list.n ? &w->row[w->list.selected] : NULL;

	switch (request) {
	case REQUEST_OPEN:
		return row && row->op;
	case REQUEST_CHOOSE_THREAD:
		return row && !v->screen->options.replay;
	case REQUEST_ALL_THREADS:
		return w->some_chosen && !v->screen->options.replay;
	default:
		return true;
	}
}

static bool threads_request(struct view *v, enum request request, int key)
{
	struct view_threads *w = (struct view_threads *)v;
	const struct thread_row *row = w->list.n ? &w->row[w->list.selected] : NULL;

	if (list_request(&w->list, request, screen_body(v->screen->cols, v->screen->rows).h - 2)) {
		keep_selection(w);
		return true;
	}
	switch (request) {
	case REQUEST_OPEN:
		if (row && row->op)
			screen_push(v->screen, v->screen->views->operation(v->screen, row->op, 0));
		else
			screen_message(v->screen, NOTE_INFO,
				       "no operation of this thread is known");
		return true;
	case REQUEST_CHOOSE_THREAD:
		if (row)
			choose(w, row);
		return true;
	case REQUEST_ALL_THREADS:
		if (w->some_chosen)
			choose(w, NULL);
		return true;
	case REQUEST_THREADS: /* the key that opened the view closes it */
		return screen_request(v->screen, REQUEST_CLOSE);
	default:
		return false;
	}
}

static bool threads_click(struct view *v, int target, int x, int y)
{
	struct view_threads *w = (struct view_threads *)v;

	if (target >= w->list.n)
		return false;
	list_select(&w->list, target);
	keep_selection(w);
	return true;
}

static bool threads_find(struct view *v, const char *text, int direction)
{
	struct view_threads *w = (struct view_threads *)v;
	int at =
	    list_find(i, w->list.n, w->list.selected, direction, row_matches(&w->row[i], text));

	snprintf(w->found, sizeof(w->found), "%s", text);
	return at >= 0 && threads_click(v, at, 0, 0);
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "operation"},
    {REQUEST_CHOOSE_THREAD, "only this thread"},
    {REQUEST_ALL_THREADS, "all threads"},
    {REQUEST_SEARCH, "find"},
    {REQUEST_HELP, "help"},
    {REQUEST_CLOSE, "close"},
    {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "threads",
    .keymap = KEYMAP_THREADS,
    .hints = hints,
    .close = threads_close,
    .draw = threads_draw,
    .offers = threads_offers,
    .request = threads_request,
    .click = threads_click,
    .tick = threads_tick,
    .height = threads_height,
    .find = threads_find,
};

struct view *view_threads_new(struct screen *s)
{
	struct view_threads *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->view.methods = &methods;
	w->view.screen = s;
	screen_act(s, (struct screen_action){.type = SCREEN_THREADS, .flag = 1});
	return &w->view;
}
