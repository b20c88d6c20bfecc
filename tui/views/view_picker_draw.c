// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the process picker. */
#include "tui/screen/theme.h"
#include "tui/views/view_picker.h"

struct process_columns {
	int pid, user, cpu, state, threads, command; /* x; -1: not shown */
};

static struct process_columns lay_out(int width)
{
	struct process_columns c = {.pid = 2, .user = -1, .cpu = -1, .state = -1, .threads = -1};
	int x = 10;

	if (width >= 60)
		c.user = x, x += 11;
	if (width >= 34)
		c.cpu = x, x += 7;
	if (width >= 44)
		c.state = x, x += 3;
	if (width >= 50)
		c.threads = x, x += 6;
	c.command = x;
	return c;
}

struct process_heading {
	int width;
	enum picker_order order;
	const char *text;
};

static void heading(const struct view_picker *p, struct grid *g, int x, int y,
		    const struct process_heading *h)
{
	const bool by = p->order == h->order;
	const int w = h->width;
	char marked[32];

	if (x < 0)
		return;
	grid_target(g, (struct rect){x, y, w, 1}, TARGET_HEADING + (int)h->order);
	snprintf(marked, sizeof(marked), "%s%s",
		 by ? theme_glyph(p->reverse ? GLYPH_ASCENDING : GLYPH_DESCENDING, g->ascii) : "",
		 h->text);
	if (h->order == BY_PID || h->order == BY_CPU || h->order == BY_THREADS)
		grid_put_right(g, x - 1, y, w + 1, by ? ROLE_FOCUS : ROLE_HEADING, marked);
	else
		grid_put(g, x, y, w, by ? ROLE_FOCUS : ROLE_HEADING, marked);
}

static void draw_process(const struct picker_entry *p, struct grid *g,
			 const struct process_columns *c, int y, bool selected)
{
	unsigned int role = selected ? ROLE_SELECTED : p->permitted ? ROLE_TEXT : ROLE_DIM;
	char text[32];

	if (selected) {
		grid_put(g, 0, y, 1, ROLE_SELECTED, ">");
		grid_cursor(g, 0, y);
	}
	snprintf(text, sizeof(text), "%u", p->pid);
	grid_put_right(g, c->pid, y, 7, role, text);
	if (c->user >= 0)
		grid_put_cut(g, c->user, y, 10, role, p->user);
	snprintf(text, sizeof(text), "%.1f", p->cpu);
	if (c->cpu >= 0)
		grid_put_right(g, c->cpu, y, 6, role, p->cpu < 0 ? "-" : text);
	snprintf(text, sizeof(text), "%c", p->state);
	if (c->state >= 0)
		grid_put(g, c->state + 1, y, 1, role, text);
	snprintf(text, sizeof(text), "%u", p->threads);
	if (c->threads >= 0)
		grid_put_right(g, c->threads, y, 5, role, text);
	grid_put_cut(g, c->command, y, g->cols - c->command, role, p->command);
}

static void draw_foot(const struct view_picker *p, struct grid *g, int y, int w)
{
	bool cursor = p->typing || p->filter[0];
	int x = grid_put(g, 2, y, w - 2, ROLE_PROMPT, "filter: ") + 2;
	char hidden[64];

	if (p->nr_hidden) {
		snprintf(hidden, sizeof(hidden), "%zu kernel %s hidden", p->nr_hidden,
			 p->nr_hidden == 1 ? "thread" : "threads");
		if (w > 70) {
			grid_put_right(g, 0, y, w - 1, ROLE_DIM, hidden);
			w -= (int)strlen(hidden) + 2;
		}
	}
	x += grid_put_cut(g, x, y, w - x - 1, ROLE_TEXT, p->filter);
	if (cursor)
		grid_put(g, x, y, 1, ROLE_PROMPT, "_");
	else
		grid_put_cut(g, x, y, w - x, ROLE_DIM, "type a pid, a user or part of the command");
}

void view_picker_draw(const struct view *v, struct grid *g, struct rect r)
{
	const struct view_picker *p = (const struct view_picker *)v;
	struct process_columns c = lay_out(r.w);
	int head = r.h >= 3 ? 1 : 0, foot = r.h >= 2 ? 1 : 0;
	int height = r.h - head - foot, top = list_top(&p->list, height), i;

	if (head) {
		grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_HEADING, " ");
		heading(p, g, c.pid, r.y, &(struct process_heading){7, BY_PID, "PID"});
		heading(p, g, c.user, r.y, &(struct process_heading){10, BY_USER, "USER"});
		heading(p, g, c.cpu, r.y, &(struct process_heading){6, BY_CPU, "CPU%"});
		heading(p, g, c.state, r.y, &(struct process_heading){2, BY_STATE, "S"});
		heading(p, g, c.threads, r.y, &(struct process_heading){5, BY_THREADS, "THR"});
		heading(p, g, c.command, r.y,
			&(struct process_heading){r.w, BY_COMMAND, "COMMAND"});
	}
	if (!p->list.n)
		grid_put_cut(g, 2, r.y + head, r.w - 2, ROLE_DIM,
			     p->known ? "no process matches" : "reading the list of processes");
	for (i = 0; i < height && top + i < p->list.n; i++) {
		grid_target(g, (struct rect){r.x, r.y + head + i, r.w, 1}, top + i);
		draw_process(&p->all[p->shown[top + i]], g, &c, r.y + head + i,
			     top + i == p->list.selected);
	}
	if (foot)
		draw_foot(p, g, r.y + r.h - 1, r.w);
}

int view_picker_height(const struct view *v, int cols)
{
	return ((const struct view_picker *)v)->list.n + 2;
}
