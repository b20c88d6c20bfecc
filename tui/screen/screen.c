// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/screen.h"

#include "tui/report/sanitise.h"
#include "tui/screen/screen_private.h"

struct rect screen_body(int cols, int rows)
{
	int bottom = rows >= 3 ? 1 : 0, status = rows >= 2 ? 1 : 0;

	return (struct rect){0, status, cols, rows - status - bottom};
}

static struct view *new_root(struct screen *s, enum screen_view root)
{
	s->status.choosing = root == SCREEN_PICKER;
	return root == SCREEN_PICKER ? s->views->picker(s) : s->views->operations(s);
}

struct screen *screen_new(struct model *model, const struct screen_options *options,
			  const struct screen_views *views)
{
	struct screen *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->model = model;
	s->views = views;
	s->options = *options;
	s->options.host = NULL;
	if (!s->options.resolution)
		s->options.resolution = 4;
	s->cols = 80;
	s->rows = 24;
	s->layers = options->layers;
	s->layers_available = options->layers_available;
	s->status.replay = options->replay;
	s->status.cost = s->status.seen = -1;
	if (options->host)
		sanitise(s->status.host, sizeof(s->status.host), options->host);
	s->top = new_root(s, options->root);
	if (!s->top) {
		screen_free(s);
		return NULL;
	}
	s->options.filter = NULL;
	screen_tick(s, 0);
	return s;
}

static struct view *pop(struct screen *s)
{
	struct view *v = s->top;

	s->top = v->below;
	v->methods->close(v);
	return s->top;
}

void screen_free(struct screen *s)
{
	if (!s)
		return;
	while (s->top)
		pop(s);
	prompt_close(&s->prompt);
	model_free(s->past.model);
	descent_copy_drop(s->descent);
	free(s);
}

void screen_push(struct screen *s, struct view *v)
{
	int depth = 0;

	if (!v) {
		screen_message(s, NOTE_ERROR, "out of memory: cannot open this view");
		return;
	}
	for (struct view *below = s->top; below; below = below->below)
		depth++;
	if (depth >= SCREEN_MAX_DEPTH) {
		v->methods->close(v);
		screen_message(s, NOTE_WARNING, "too many views are open; close one with q");
		return;
	}
	v->below = s->top;
	s->top = v;
	if (v->methods->tick)
		v->methods->tick(v);
}

void screen_show(struct screen *s, enum screen_view root)
{
	struct view *v;

	screen_past_end(s);
	v = new_root(s, root);

	if (!v) {
		screen_message(s, NOTE_ERROR, "out of memory: cannot open this view");
		return;
	}
	while (s->top)
		pop(s);
	screen_push(s, v);
}

void screen_set_model(struct screen *s, struct model *model)
{
	s->model = model;
	s->seen_elapsed_ns = UINT64_MAX;
	s->status.nr_cost = 0;
}

void screen_act(struct screen *s, struct screen_action action)
{
	struct queued_action *q;

	if (s->nr_actions == SCREEN_MAX_ACTIONS)
		return;
	q = &s->actions[(s->first_action + s->nr_actions++) % SCREEN_MAX_ACTIONS];
	q->action = action;
	snprintf(q->text, sizeof(q->text), "%s", action.text ? action.text : "");
}

bool screen_next_action(struct screen *s, struct screen_action *action)
{
	*action = (struct screen_action){.type = SCREEN_NONE, .text = ""};
	if (!s->nr_actions)
		return false;
	s->taken = s->actions[s->first_action];
	s->first_action = (s->first_action + 1) % SCREEN_MAX_ACTIONS;
	s->nr_actions--;
	*action = s->taken.action;
	action->text = s->taken.text;
	return true;
}

unsigned int screen_wants(const struct screen *s)
{
	unsigned int wants = 0;

	for (const struct view *v = s->top; v; v = v->below)
		if (v->methods->keymap == KEYMAP_PICKER)
			wants |= SCREEN_WANTS_PROCESSES;
	if (s->prompt.kind == PROMPT_WATCH)
		wants |= SCREEN_WANTS_CANDIDATES;
	return wants;
}

static void close_view(struct screen *s, enum request request)
{
	if (s->top->below)
		pop(s);
	else if (request == REQUEST_CLOSE)
		screen_act(s, (struct screen_action){.type = SCREEN_QUIT});
}

void screen_tick_views(struct screen *s)
{
	for (struct view *v = s->top; v; v = v->below)
		if (v->methods->tick)
			v->methods->tick(v);
}

void screen_toggle_pause(struct screen *s)
{
	s->paused = !s->paused;
	s->status.paused = s->paused;
	if (!s->paused)
		screen_tick_views(s);
	screen_act(s, (struct screen_action){.type = SCREEN_PAUSE, .flag = s->paused});
}

static void find(struct screen *s, int direction)
{
	char text[PROMPT_TEXT_MAX + 32];

	if (!s->top->methods->find || !s->search[0]) {
		screen_message(s, NOTE_INFO, "no search text; press / to enter one");
		return;
	}
	if (!s->top->methods->find(s->top, s->search, direction)) {
		snprintf(text, sizeof(text), "no match for %s", s->search);
		screen_message(s, NOTE_INFO, text);
	}
}

bool screen_request(struct screen *s, enum request request)
{
	switch (request) {
	case REQUEST_CLOSE:
	case REQUEST_BACK:
		close_view(s, request);
		return true;
	case REQUEST_QUIT:
		screen_act(s, (struct screen_action){.type = SCREEN_QUIT});
		return true;
	case REQUEST_HELP:
		screen_push(s, s->views->help(s, s->top->methods->keymap));
		return true;
	case REQUEST_INFORMATION:
		screen_push(s, s->views->information(s));
		return true;
	case REQUEST_THREADS:
		if (s->top->methods->keymap == KEYMAP_PICKER)
			screen_message(s, NOTE_INFO, "choose a process first");
		else
			screen_push(s, s->views->threads(s));
		return true;
	case REQUEST_EVENTS:
		screen_push(s, s->views->events(s));
		return true;
	case REQUEST_SLOW_CALLS:
		screen_push(s, s->views->slow_calls(s));
		return true;
	case REQUEST_WHY:
		screen_message(s, NOTE_INFO,
			       "choose an operation, a column of its heat map, one of its open "
			       "calls or an event first");
		return true;
	case REQUEST_CHAINS:
		screen_push(s, s->views->waits(s, SCREEN_WAITS_CHAINS));
		return true;
	case REQUEST_WALK:
		screen_push(s, s->views->waits(s, SCREEN_WAITS_WALK));
		return true;
	case REQUEST_CRITICAL:
		screen_push(s, s->views->waits(s, SCREEN_WAITS_CRITICAL));
		return true;
	case REQUEST_PAUSE:
		screen_toggle_pause(s);
		return true;
	case REQUEST_REPAINT:
		screen_act(s, (struct screen_action){.type = SCREEN_REPAINT});
		return true;
	case REQUEST_SUSPEND:
		screen_act(s, (struct screen_action){.type = SCREEN_SUSPEND});
		return true;
	case REQUEST_SEARCH:
		screen_open_prompt(s, PROMPT_SEARCH);
		return true;
	case REQUEST_FIND_NEXT:
	case REQUEST_FIND_PREVIOUS:
		find(s, request == REQUEST_FIND_NEXT ? 1 : -1);
		return true;
	case REQUEST_WATCH:
		screen_open_prompt(s, PROMPT_WATCH);
		return true;
	case REQUEST_LAYERS:
		s->menu = true;
		s->menu_list = (struct list){.n = LAYER_MAX};
		return true;
	case REQUEST_SNAPSHOT:
		screen_open_prompt(s, PROMPT_SNAPSHOT);
		return true;
	case REQUEST_VIEW_TEXT:
		screen_open_prompt(s, PROMPT_VIEW_TEXT);
		return true;
	default:
		return screen_past_request(s, request) || screen_replay_request(s, request);
	}
}

bool screen_offers(const struct screen *s, enum request request)
{
	const struct view_methods *m = s->top->methods;
	bool probes = request == REQUEST_WATCH || request == REQUEST_UNWATCH ||
		      request == REQUEST_ASK_AGAIN || request == REQUEST_LAYERS;
	bool finds = request == REQUEST_SEARCH || request == REQUEST_FIND_NEXT ||
		     request == REQUEST_FIND_PREVIOUS;

	if ((probes && s->options.replay) || (finds && !m->find && !m->types) ||
	    (screen_travels(request) && !m->travels))
		return false;
	if (m->types && m->types(s->top) && (request == REQUEST_HELP || request == REQUEST_CLOSE))
		return false;
	return !m->offers || m->offers(s->top, request);
}

void screen_view_request(struct screen *s, enum request request, int key)
{
	if (!s->top->methods->request(s->top, request, key))
		screen_request(s, request);
}

void screen_key(struct screen *s, int key)
{
	struct view *v = s->top;
	enum request request;

	if (key == SCREEN_KEY_RESIZE || key == SCREEN_KEY_MOUSE)
		return;
	if (s->message[0]) {
		bool read_only = s->message_level == NOTE_ERROR && key == 27;

		s->message[0] = '\0';
		if (read_only) /* with an error shown, Esc only removes the message */
			return;
	}
	if (s->prompt.kind) {
		screen_prompt_key(s, key);
		return;
	}
	if (s->menu) {
		screen_menu_key(s, key);
		return;
	}
	if (v->methods->key && v->methods->key(v, key))
		return;
	request = keys_request(v->methods->keymap, s->options.replay, key);
	if (request == REQUEST_NONE) {
		screen_message(s, NOTE_INFO, "this key has no function here; ? shows the keys");
		return;
	}
	screen_view_request(s, request, key);
}

void screen_resize(struct screen *s, int cols, int rows)
{
	s->cols = cols < 1 ? 1 : cols > GRID_MAX_COLS ? GRID_MAX_COLS : cols;
	s->rows = rows < 1 ? 1 : rows > GRID_MAX_ROWS ? GRID_MAX_ROWS : rows;
}

#define BEGIN_NS 2000000000ull /* the first figures are shown as soon as they come */

/* False if the last slice is too new to be shown: while slices are shorter than --interval
 * (slice_next() in the collector), the screen computes and draws once per interval all the same. */
static bool slice_is_due(const struct screen *s, uint64_t elapsed_ns)
{
	const struct rec_meta *meta = model_meta(s->model);
	uint64_t since = elapsed_ns - s->seen_elapsed_ns, interval = meta ? meta->interval_ns : 0;

	return s->options.replay || elapsed_ns < BEGIN_NS || since >= interval - interval / 8;
}

bool screen_tick(struct screen *s, uint64_t now_ns)
{
	struct status before = s->status;
	bool changed = false;
	uint64_t elapsed = model_elapsed_ns(s->model);
	size_t ops = model_nr_ops(s->model), notes = model_nr_notes(s->model),
	       targets = model_nr_targets(s->model);

	s->now_ns = now_ns;
	if (s->message[0] && s->message_level != NOTE_ERROR &&
	    now_ns >= s->message_ns + SCREEN_MESSAGE_NS) {
		s->message[0] = '\0';
		changed = true;
	}
	if (slice_is_due(s, elapsed))
		status_update(&s->status, s->model);
	else
		elapsed = s->seen_elapsed_ns;
	changed |= memcmp(&before, &s->status, sizeof(before)) != 0;
	if (elapsed != s->seen_elapsed_ns || ops != s->seen_ops || notes != s->seen_notes ||
	    targets != s->seen_targets || s->content_changed) {
		s->seen_elapsed_ns = elapsed;
		s->seen_ops = ops;
		s->seen_notes = notes;
		s->seen_targets = targets;
		s->content_changed = false;
		if (!s->paused)
			screen_tick_views(s);
		changed = true;
	}
	return changed;
}

unsigned int screen_columns(const struct screen *s)
{
	return (unsigned int)s->cols;
}

bool screen_ascii(const struct screen *s)
{
	return s->options.ascii;
}

/* The status line says that the past is shown only where it is. */
static void draw_status(const struct screen *s, struct grid *g)
{
	struct status status = s->status;

	status.past &= s->top->methods->travels;
	status_draw(&status, s->top->methods->name, g, 0);
}

void screen_draw(const struct screen *s, struct grid *g)
{
	struct rect body = screen_body(g->cols, g->rows);

	grid_clear(g);
	s->top->methods->draw(s->top, g, body);
	draw_status(s, g);
	if (g->rows >= 3 || s->prompt.kind)
		screen_draw_bottom(s, g);
	if (s->menu)
		screen_draw_menu(s, g);
}

int screen_text(const struct screen *s, struct buf *out)
{
	const struct view *v = s->top;
	int rows = v->methods->height ? v->methods->height(v, s->cols) : 0, err;
	struct rect body = screen_body(s->cols, s->rows);
	struct grid *g;

	if (rows < body.h)
		rows = body.h;
	g = grid_new(s->cols, rows + 1, s->options.ascii);
	if (!g)
		return -ENOMEM;
	v->methods->draw(v, g, (struct rect){0, 1, g->cols, g->rows - 1});
	draw_status(s, g);
	err = grid_text(g, out);
	grid_free(g);
	return err;
}

void screen_set_processes(struct screen *s, const struct picker_process *list, size_t n)
{
	if (s->paused)
		return;
	for (struct view *v = s->top; v; v = v->below) {
		if (v->methods->processes)
			v->methods->processes(v, list, n);
	}
}

void screen_set_candidates(struct screen *s, const char *searched,
			   const struct function_candidate *list, size_t n)
{
	prompt_set_candidates(&s->prompt, searched, list, n);
}

void screen_set_layers(struct screen *s, uint32_t layers, uint32_t available)
{
	s->layers = layers;
	s->layers_available = available;
}

void screen_set_replay(struct screen *s, uint64_t at_ns, uint64_t total_ns)
{
	s->status.at_ns = at_ns;
	s->status.total_ns = total_ns;
}

void screen_set_recorded_descent(struct screen *s, uint32_t op)
{
	s->recorded_descent = op;
}

void screen_open_operation(struct screen *s, uint32_t op)
{
	if (model_op_by_number(s->model, op))
		screen_push(s, s->views->operation(s, op, 0));
}
