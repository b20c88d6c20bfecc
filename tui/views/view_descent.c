// SPDX-License-Identifier: GPL-2.0-or-later
/* The view of a descent: the visible part of the tree, the selection, the keys. */
#include "tui/views/view_descent.h"

#include "analysis/base/array.h"
#include "tui/views/views.h"

static void descent_close(struct view *view)
{
	struct view_descent *v = (struct view_descent *)view;

	screen_act(view->screen, (struct screen_action){.type = SCREEN_DESCEND_STOP, .op = v->op});
	descent_copy_drop(v->copy);
	free(v->row);
	free(v);
}

static const struct screen_descent_node *node_at(const struct view_descent *v, uint32_t i)
{
	return &v->copy->nodes[i];
}

bool view_descent_has_children(const struct view_descent *v, uint32_t i)
{
	return i + 1 < v->copy->d.nr_nodes && node_at(v, i + 1)->depth > node_at(v, i)->depth;
}

/* True if the node or a node below it is armed. */
static bool armed_below(const struct view_descent *v, uint32_t i)
{
	uint32_t at = i;

	do {
		if (node_at(v, at)->armed)
			return true;
		at++;
	} while (at < v->copy->d.nr_nodes && node_at(v, at)->depth > node_at(v, i)->depth);
	return false;
}

bool view_descent_open(const struct view_descent *v, uint32_t i)
{
	const struct screen_descent_node *n = node_at(v, i);
	enum branch b = v->branch[n->node] ? v->branch[n->node] : v->all;

	if (b != BRANCH_DEFAULT)
		return b == BRANCH_OPEN;
	return !n->depth || n->root_cause || n->wait || armed_below(v, i);
}

static uint32_t parent_of(const struct view_descent *v, uint32_t i)
{
	uint32_t depth = node_at(v, i)->depth;

	while (i && node_at(v, i)->depth >= depth)
		i--;
	return i;
}

static int index_of(const struct view_descent *v, uint32_t number)
{
	for (uint32_t i = 0; v->copy && i < v->copy->d.nr_nodes; i++)
		if (node_at(v, i)->node == number)
			return (int)i;
	return -1;
}

/* Build the rows again. Keeps the selected node selected, or, if it became hidden, its nearest
 * visible parent. */
static void fit(struct view_descent *v)
{
	uint32_t n = v->copy ? v->copy->d.nr_nodes : 0, hidden = UINT32_MAX;
	int wanted, select = 0;

	v->nr_rows = 0;
	if (array_fit(v->row, n, v->cap_rows, SCREEN_DESCENT_MAX_NODES)) {
		list_resize(&v->tree, 0);
		return;
	}
	if (!v->moved && v->copy && v->copy->d.nr_paths)
		v->selected = v->copy->paths[0].node;
	wanted = index_of(v, v->selected);
	for (uint32_t i = 0; i < n; i++) {
		if (node_at(v, i)->depth > hidden)
			continue;
		hidden = view_descent_open(v, i) ? UINT32_MAX : node_at(v, i)->depth;
		if ((int)i <= wanted)
			select = (int)v->nr_rows;
		v->row[v->nr_rows++] = i;
	}
	list_resize(&v->tree, (int)v->nr_rows);
	list_select(&v->tree, select);
	list_resize(&v->paths, v->copy ? (int)v->copy->d.nr_paths : 0);
	if (!v->paths.n)
		v->pane = DESCENT_TREE;
}

/* The index of the selected node; -1: there is none. */
static int selected_index(const struct view_descent *v)
{
	return v->tree.selected < (int)v->nr_rows ? (int)v->row[v->tree.selected] : -1;
}

static void take_selected(struct view_descent *v)
{
	int i = selected_index(v);

	v->moved = true;
	if (i >= 0)
		v->selected = node_at(v, (uint32_t)i)->node;
}

/* Select node i and open all nodes above it. */
static void go_to(struct view_descent *v, uint32_t i)
{
	uint32_t at = i;

	v->selected = node_at(v, i)->node;
	v->moved = true;
	while (node_at(v, at)->depth) {
		at = parent_of(v, at);
		if (!view_descent_open(v, at))
			v->branch[node_at(v, at)->node] = BRANCH_OPEN;
	}
	fit(v);
	v->tree.top = list_top(
	    &v->tree, view_descent_tree_rows(v, v->view.screen->cols, v->view.screen->rows));
}

static void descent_tick(struct view *view)
{
	struct view_descent *v = (struct view_descent *)view;
	struct descent_copy *fresh = descent_copy_hold(view->screen->descent);

	if (fresh) {
		descent_copy_drop(v->copy);
		v->copy = fresh;
	}
	/* the functions of another part have numbers of their own */
	if (v->copy && v->copy->d.part != v->part) {
		v->part = v->copy->d.part;
		v->moved = false;
		v->all = BRANCH_DEFAULT;
		memset(v->branch, 0, sizeof(v->branch));
	}
	fit(v);
}

static void set_branch(struct view_descent *v, enum branch b)
{
	int i = selected_index(v);

	if (i < 0)
		return;
	take_selected(v);
	/* if the node is closed or has no children, close its parent */
	if (b == BRANCH_CLOSED && node_at(v, (uint32_t)i)->depth &&
	    (!view_descent_has_children(v, (uint32_t)i) || !view_descent_open(v, (uint32_t)i)))
		i = (int)parent_of(v, (uint32_t)i);
	v->branch[node_at(v, (uint32_t)i)->node] = (uint8_t)b;
	fit(v);
	take_selected(v);
}

static void set_all(struct view_descent *v, enum branch b)
{
	take_selected(v);
	memset(v->branch, 0, sizeof(v->branch));
	v->all = (uint8_t)b;
	if (b == BRANCH_CLOSED && v->copy && v->copy->d.nr_nodes)
		v->branch[node_at(v, 0)->node] = BRANCH_OPEN;
	fit(v);
	take_selected(v);
}

static void costliest(struct view_descent *v)
{
	int i = selected_index(v);
	uint32_t best = 0;

	if (i < 0)
		return;
	for (uint32_t at = (uint32_t)i + 1;
	     at < v->copy->d.nr_nodes && node_at(v, at)->depth > node_at(v, (uint32_t)i)->depth;
	     at++)
		if (node_at(v, at)->depth == node_at(v, (uint32_t)i)->depth + 1 &&
		    (!best || node_at(v, at)->share > node_at(v, best)->share))
			best = at;
	if (best)
		go_to(v, best);
	else
		screen_message(v->view.screen, NOTE_INFO, "none of its callees were measured");
}

static void show_place(struct view_descent *v, const struct screen_descent_node *n,
		       enum screen_action_type type)
{
	bool source = type == SCREEN_SOURCE && n->file[0] && n->line;

	if (!source && !n->code_module)
		screen_message(v->view.screen, NOTE_INFO,
			       "the place of this frame in the code is not known");
	else
		screen_act(v->view.screen, (struct screen_action){.type = type,
								  .text = source ? n->file : "",
								  .line = source ? n->line : 0,
								  .module = n->code_module,
								  .offset = n->code_offset});
}

static void open_selected(struct view_descent *v)
{
	int i = selected_index(v);

	if (v->pane == DESCENT_PATHS && v->paths.selected < v->paths.n) {
		i = index_of(v, v->copy->paths[v->paths.selected].node);
		v->pane = DESCENT_TREE;
		if (i >= 0)
			go_to(v, (uint32_t)i);
		return;
	}
	if (i < 0)
		screen_message(v->view.screen, NOTE_INFO, "there is no frame yet");
	else
		show_place(v, node_at(v, (uint32_t)i), SCREEN_SOURCE);
}

static void show_code(struct view_descent *v)
{
	int i = selected_index(v);

	if (i >= 0)
		show_place(v, node_at(v, (uint32_t)i), SCREEN_CODE);
}

/* Open the chains where they name the selected function. */
static void show_chains(struct view_descent *v)
{
	static const char call[] = "syscall:";
	struct view *chains = view_waits_new(v->view.screen, SCREEN_WAITS_CHAINS);
	int i = v->pane == DESCENT_PATHS && v->paths.selected < v->paths.n
		    ? index_of(v, v->copy->paths[v->paths.selected].node)
		    : selected_index(v);
	const char *name;

	while (i > 0 && node_at(v, (uint32_t)i)->wait)
		i = (int)parent_of(v, (uint32_t)i);
	name = i >= 0 ? node_at(v, (uint32_t)i)->name : "";
	view_waits_seek(chains, name + (strncmp(name, call, strlen(call)) ? 0 : strlen(call)));
	screen_push(v->view.screen, chains);
}

static void ask_again(struct view_descent *v)
{
	struct screen *s = v->view.screen;

	if (s->options.replay)
		screen_message(s, NOTE_WARNING,
			       "not available in a saved session: the target cannot be probed");
	else
		screen_act(s, (struct screen_action){
				  .type = SCREEN_DESCEND, .op = v->op, .peak = v->peak});
}

static void show_part(struct view_descent *v, int number)
{
	if (v->copy && v->copy->d.nr_parts)
		screen_act(v->view.screen,
			   (struct screen_action){.type = SCREEN_DESCENT_PART, .peak = number});
	else
		screen_message(v->view.screen, NOTE_INFO,
			       "this descent is about one peak; Enter on an operation explains all "
			       "of its time");
}

static bool move(struct view_descent *v, enum request request)
{
	int height = view_descent_tree_rows(v, v->view.screen->cols, v->view.screen->rows);

	if (v->pane == DESCENT_PATHS)
		return list_request(&v->paths, request, height / 2);
	if (!list_request(&v->tree, request, height))
		return false;
	take_selected(v);
	return true;
}

static void to_the_right(struct view_descent *v)
{
	int i = selected_index(v);

	if (i < 0 || !view_descent_has_children(v, (uint32_t)i))
		return;
	if (view_descent_open(v, (uint32_t)i))
		go_to(v, (uint32_t)i + 1);
	else
		set_branch(v, BRANCH_OPEN);
}

static bool descent_request(struct view *view, enum request request, int key)
{
	struct view_descent *v = (struct view_descent *)view;

	if (move(v, request))
		return true;
	switch (request) {
	case REQUEST_EXPAND:
		set_branch(v, BRANCH_OPEN);
		return true;
	case REQUEST_RIGHT:
		to_the_right(v);
		return true;
	case REQUEST_COLLAPSE:
	case REQUEST_LEFT:
		set_branch(v, BRANCH_CLOSED);
		return true;
	case REQUEST_EXPAND_ALL:
		set_all(v, BRANCH_OPEN);
		return true;
	case REQUEST_COLLAPSE_ALL:
		set_all(v, BRANCH_CLOSED);
		return true;
	case REQUEST_COSTLIEST:
		costliest(v);
		return true;
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
		v->pane = v->pane == DESCENT_TREE && v->paths.n ? DESCENT_PATHS : DESCENT_TREE;
		return true;
	case REQUEST_OPEN:
		open_selected(v);
		return true;
	case REQUEST_ASK_AGAIN:
		ask_again(v);
		return true;
	case REQUEST_CODE:
		show_code(v);
		return true;
	case REQUEST_CHOOSE_PEAK:
		show_part(v, key - '0');
		return true;
	case REQUEST_CHAINS:
		show_chains(v);
		return true;
	default:
		return false;
	}
}

static bool descent_offers(const struct view *view, enum request request)
{
	const struct view_descent *v = (const struct view_descent *)view;
	int i = selected_index(v);
	const struct screen_descent_node *n = i >= 0 ? node_at(v, (uint32_t)i) : NULL;

	switch (request) {
	case REQUEST_OPEN:
		return v->pane == DESCENT_PATHS ||
		       (n && ((n->file[0] && n->line) || n->code_module));
	case REQUEST_CODE:
		return n && n->code_module;
	case REQUEST_CHOOSE_PEAK:
		return v->part > 0;
	case REQUEST_NEXT_PANE:
	case REQUEST_PREVIOUS_PANE:
		return v->paths.n > 0;
	default:
		return true;
	}
}

/* Go to the next node whose name contains the text, even if it is hidden. */
static bool descent_find(struct view *view, const char *text, int direction)
{
	struct view_descent *v = (struct view_descent *)view;
	int from = selected_index(v), at;

	if (from < 0 || !text[0])
		return false;
	at = list_find(i, v->copy ? (int)v->copy->d.nr_nodes : 0, from, direction,
		       strcasestr(node_at(v, (uint32_t)i)->name, text));
	if (at >= 0)
		go_to(v, (uint32_t)at);
	return at >= 0;
}

static bool descent_click(struct view *view, int target, int x, int y)
{
	struct view_descent *v = (struct view_descent *)view;

	if (target >= DESCENT_TARGET_PART) {
		show_part(v, target - DESCENT_TARGET_PART + 1);
		return true;
	}
	if (target >= DESCENT_TARGET_PATH) {
		v->pane = DESCENT_PATHS;
		list_select(&v->paths, target - DESCENT_TARGET_PATH);
		return true;
	}
	v->pane = DESCENT_TREE;
	list_select(&v->tree, target);
	take_selected(v);
	return true;
}

static const struct view_hint hints[] = {
    {REQUEST_OPEN, "source"},	{REQUEST_CHOOSE_PEAK, "part"}, {REQUEST_COSTLIEST, "costliest"},
    {REQUEST_EXPAND, "expand"}, {REQUEST_ASK_AGAIN, "again"},  {REQUEST_NEXT_PANE, "paths"},
    {REQUEST_HELP, "help"},	{REQUEST_CLOSE, "stop, back"}, {REQUEST_NONE, NULL},
};

static const struct view_methods methods = {
    .name = "descent",
    .keymap = KEYMAP_DESCENT,
    .hints = hints,
    .close = descent_close,
    .draw = view_descent_draw,
    .offers = descent_offers,
    .request = descent_request,
    .tick = descent_tick,
    .height = view_descent_height,
    .find = descent_find,
    .click = descent_click,
};

/* --- called by the front --------------------------------------------------------------- */

void screen_open_descent(struct screen *s, uint32_t op, int peak)
{
	struct view_descent *v;

	for (struct view **at = &s->top; *at; at = &(*at)->below) {
		struct view *found = *at;

		if (found->methods != &methods)
			continue;
		/* another view, as that of slow calls, may be above it */
		*at = found->below;
		found->below = s->top;
		s->top = found;
		v = (struct view_descent *)found;
		v->op = op;
		v->peak = peak;
		v->part = 0;
		v->moved = false;
		return;
	}
	descent_copy_drop(s->descent);
	s->descent = NULL;
	v = calloc(1, sizeof(*v));
	if (v) {
		v->view.methods = &methods;
		v->view.screen = s;
		v->op = op;
		v->peak = peak;
	}
	screen_push(s, v ? &v->view : NULL);
}

int screen_set_descent(struct screen *s, const struct screen_descent *d)
{
	int err;
	struct descent_copy *c = descent_copy_new(d, &err);

	if (!c)
		return err;
	descent_copy_drop(s->descent);
	s->descent = c;
	s->content_changed = true;
	return 0;
}
