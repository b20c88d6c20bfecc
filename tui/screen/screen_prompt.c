// SPDX-License-Identifier: GPL-2.0-or-later
/* The bottom line of the screen: prompts, messages, hints; and the layers menu. */
#include "tui/report/sanitise.h"
#include "tui/screen/screen_private.h"
#include "tui/screen/theme.h"

/* A default file name for the top view: "peaktop-redis-server-1234-operations.txt". */
static void default_name(const struct screen *s, const char *ending, char *out, size_t size)
{
	char target[sizeof(s->status.target)];
	size_t i;

	snprintf(target, sizeof(target), "%s", s->status.target[0] ? s->status.target : "session");
	for (i = 0; target[i]; i++) {
		unsigned char c = (unsigned char)target[i];

		if (c == '(' || c == '+')
			break;
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      c == '.' || c == '_'))
			target[i] = '-';
	}
	while (i > 0 && target[i - 1] == '-')
		i--;
	snprintf(out, size, "peaktop-%.*s%s", (int)i, target, ending);
}

void screen_open_prompt(struct screen *s, enum prompt_kind kind)
{
	char name[256] = "", ending[64];

	if (kind == PROMPT_WATCH && s->options.replay) {
		screen_message(
		    s, NOTE_WARNING,
		    "not available in a saved session: no other function can be watched");
		return;
	}
	if (kind == PROMPT_BOOKMARK && s->options.replay) {
		screen_message(
		    s, NOTE_WARNING,
		    "a bookmark is kept in its session: set it while measuring, before w");
		return;
	}
	if (kind == PROMPT_WATCH && s->top->methods->keymap == KEYMAP_PICKER) {
		screen_message(s, NOTE_INFO, "choose a process first");
		return;
	}
	if (kind == PROMPT_SEARCH && !s->top->methods->find) {
		screen_message(s, NOTE_INFO, "this view cannot be searched");
		return;
	}
	if (kind == PROMPT_SNAPSHOT)
		default_name(s, ".session", name, sizeof(name));
	if (kind == PROMPT_VIEW_TEXT) {
		snprintf(ending, sizeof(ending), "-%s.txt", s->top->methods->name);
		default_name(s, ending, name, sizeof(name));
	}
	if (kind == PROMPT_COMPARE)
		screen_compare_default(s, name, sizeof(name));
	prompt_open(&s->prompt, kind, name);
	if (kind == PROMPT_WATCH)
		screen_act(s, (struct screen_action){.type = SCREEN_SEARCH});
}

bool screen_parse_time(const char *text, uint64_t *ns)
{
	char *end;
	double v, sum = 0;

	if (!*text || strspn(text, "0123456789.:") != strlen(text))
		return false;
	v = strtod(text, &end);
	for (int parts = 1; *end == ':' && parts < 3; parts++) {
		sum = 60 * (sum + v);
		v = strtod(end + 1, &end);
	}
	if (*end || v < 0 || v > 1e9 || sum < 0 || sum > 6e8)
		return false;
	*ns = (uint64_t)((sum + v) * 1e9);
	return true;
}

static void accept_search(struct screen *s, const char *text)
{
	snprintf(s->search, sizeof(s->search), "%s", text);
	if (!s->top->methods->find(s->top, s->search, 0) && s->search[0])
		screen_message(s, NOTE_INFO, "not found");
}

static void accept(struct screen *s)
{
	enum prompt_kind kind = s->prompt.kind;
	struct screen_action a = {0};
	char text[PROMPT_TEXT_MAX];

	snprintf(text, sizeof(text), "%s", prompt_answer(&s->prompt));
	prompt_close(&s->prompt);
	if (kind == PROMPT_SEARCH) {
		accept_search(s, text);
		return;
	}
	if (!text[0])
		return;
	a.text = text;
	switch (kind) {
	case PROMPT_WATCH:
		a.type = SCREEN_WATCH_FUNCTION;
		break;
	case PROMPT_SNAPSHOT:
		a.type = SCREEN_SNAPSHOT_WRITE;
		break;
	case PROMPT_VIEW_TEXT:
		a.type = SCREEN_VIEW_TEXT_WRITE;
		break;
	case PROMPT_COMPARE:
		screen_compare(s, text);
		return;
	case PROMPT_BOOKMARK:
		a.type = SCREEN_BOOKMARK;
		screen_past_span(s, &a.at_ns, &a.end_ns);
		break;
	case PROMPT_JUMP:
		if (!screen_parse_time(text, &a.at_ns)) {
			screen_message(s, NOTE_ERROR, "not a time; give seconds or m:ss");
			return;
		}
		a.type = SCREEN_REPLAY_JUMP;
		a.text = NULL;
		break;
	default:
		return;
	}
	screen_act(s, a);
}

void screen_prompt_key(struct screen *s, int key)
{
	enum request request = keys_request_only(KEYMAP_PROMPT, key);

	if (request == REQUEST_REPAINT || request == REQUEST_SUSPEND) {
		screen_request(s, request);
		return;
	}
	switch (prompt_key(&s->prompt, key)) {
	case PROMPT_CHANGED:
		if (s->prompt.kind == PROMPT_WATCH)
			screen_act(s, (struct screen_action){.type = SCREEN_SEARCH,
							     .text = s->prompt.text});
		else if (s->prompt.kind == PROMPT_SEARCH)
			s->top->methods->find(s->top, s->prompt.text, 0);
		break;
	case PROMPT_ACCEPTED:
		accept(s);
		break;
	case PROMPT_CANCELLED:
		if (s->prompt.kind ==
		    PROMPT_SEARCH) /* show the matches of the previous search again */
			s->top->methods->find(s->top, s->search, 0);
		prompt_close(&s->prompt);
		break;
	case PROMPT_IGNORED:
	case PROMPT_MOVED:
		break;
	}
}

void screen_prompt_click(struct screen *s, int target, bool twice)
{
	if (target == SCREEN_TARGET(REQUEST_CANCEL))
		screen_prompt_key(s, 27);
	else if (target == SCREEN_TARGET(REQUEST_ACCEPT) ||
		 (prompt_select(&s->prompt, target) && twice))
		accept(s);
}

enum { PROMPT_HINTS_APART = 12 }; /* columns between the cursor and the hints */

void screen_message(struct screen *s, enum note_level level, const char *text)
{
	sanitise(s->message, sizeof(s->message), text);
	s->message_level = level;
	s->message_ns = s->now_ns;
}

/* Write "help ?", the meaning and the first key of a request in the table, or in that of all views.
 * Returns the columns; with y < 0 nothing is drawn. */
static int draw_hint(struct grid *g, int x, int y, enum keymap map, const struct view_hint *hint)
{
	char keys[64], *comma;
	int w, text = grid_columns(g, hint->text) + 1;

	keys_of(map, hint->request, keys, sizeof(keys));
	if (!keys[0])
		keys_of(KEYMAP_ALL, hint->request, keys, sizeof(keys));
	comma = strstr(keys, ", ");
	if (comma)
		*comma = '\0';
	w = text + grid_columns(g, keys);
	if (y < 0 || x + w > g->cols)
		return w;
	grid_put(g, x, y, text, ROLE_DIM, hint->text);
	grid_put(g, x + text, y, w - text, ROLE_KEY, keys);
	if (hint->request != REQUEST_CHOOSE_PEAK) /* this one needs a digit */
		grid_target(g, (struct rect){x, y, w, 1}, SCREEN_TARGET(hint->request));
	return w;
}

/* Draw as many hints as fit, and always the one for help if it is offered. */
static void draw_hints(const struct screen *s, struct grid *g, int y)
{
	static const struct view_hint help = {REQUEST_HELP, "help"}, now = {REQUEST_NOW, "now"};
	const struct view_methods *m = s->top->methods;
	const struct view_hint *hint;
	int x = 1, reserved = 0;

	if (screen_offers(s, REQUEST_HELP))
		reserved = draw_hint(g, 0, -1, m->keymap, &help) + 2;
	if (m->types && m->types(s->top))
		x += grid_put(g, x, y, g->cols - x, ROLE_PROMPT, "typing:") + 2;
	if (screen_is_past(s) && m->travels)
		x += draw_hint(g, x, y, m->keymap, &now) + 2;
	for (hint = m->hints; hint && hint->request != REQUEST_NONE; hint++) {
		struct view_hint offer = *hint;
		int w;

		if (offer.request == REQUEST_OPEN && m->opens && m->opens(s->top))
			offer.text = m->opens(s->top);
		w = draw_hint(g, 0, -1, m->keymap, &offer);

		if (!screen_offers(s, hint->request))
			continue;
		if (hint->request == REQUEST_HELP)
			reserved = 0;
		if (x + w + reserved > g->cols)
			break;
		x += draw_hint(g, x, y, m->keymap, &offer) + 2;
	}
	if (reserved && hint && hint->request != REQUEST_NONE)
		draw_hint(g, x, y, m->keymap, &help);
}

/* Draw the keys that accept and cancel the prompt at its right, if the text leaves room. */
static void draw_prompt_hints(struct grid *g)
{
	static const struct view_hint hints[] = {{REQUEST_ACCEPT, "accept"},
						 {REQUEST_CANCEL, "cancel"}};
	int y = g->rows - 1, w = 1, x;

	for (int i = 0; i < 2; i++)
		w += draw_hint(g, 0, -1, KEYMAP_PROMPT, &hints[i]) + 2;
	x = g->cols - w;
	if (x < g->cursor_x + PROMPT_HINTS_APART)
		return;
	for (int i = x - 2; i < g->cols; i++)
		if (strcmp(grid_at(g, i, y)->text, " "))
			return;
	for (int i = 0; i < 2; i++)
		x += draw_hint(g, x, y, KEYMAP_PROMPT, &hints[i]) + 2;
}

/* The number of bytes of `text` for a line of `width` columns, cut at a blank if there is one. */
static size_t line_fit(const char *text, int width)
{
	size_t fit = text_fit(text, (unsigned int)width), blank = fit;

	if (!text[fit])
		return fit;
	while (blank > fit / 2 && text[blank] != ' ')
		blank--;
	return blank > fit / 2 ? blank : fit;
}

static void draw_message(const struct screen *s, struct grid *g)
{
	unsigned int role = s->message_level == NOTE_ERROR     ? ROLE_ALERT
			    : s->message_level == NOTE_WARNING ? ROLE_WARNING
							       : ROLE_TITLE;
	const char *at = s->message;
	int width = g->cols - 1, lines = 0, limit = g->rows > 8 ? 4 : 1;
	char line[SCREEN_TEXT_MAX];
	size_t n;

	if (width < 1)
		return;
	while (*at && lines < limit) {
		n = line_fit(at, width);
		at += n ? n : 1;
		at += strspn(at, " ");
		lines++;
	}
	at = s->message;
	for (int y = g->rows - lines; y < g->rows; y++) {
		n = line_fit(at, width);
		snprintf(line, sizeof(line), "%.*s", (int)n, at);
		grid_fill(g, (struct rect){0, y, g->cols, 1}, role, " ");
		grid_put_cut(g, 1, y, width, role, y == g->rows - 1 ? at : line);
		at += n ? n : 1;
		at += strspn(at, " ");
	}
}

void screen_draw_bottom(const struct screen *s, struct grid *g)
{
	if (s->prompt.kind) {
		prompt_draw(&s->prompt, g);
		draw_prompt_hints(g);
	} else if (s->message[0]) {
		draw_message(s, g);
	} else {
		draw_hints(s, g, g->rows - 1);
	}
}

const char *layer_name(enum layer layer)
{
	static const char *const names[LAYER_MAX] = {
	    [LAYER_SYSCALL] = "system calls",
	    [LAYER_FUNCTION] = "user functions",
	    [LAYER_KERNEL] = "kernel functions",
	    [LAYER_BLOCK] = "block requests",
	    [LAYER_LOCK] = "lock waits",
	    [LAYER_RUNQUEUE] = "run-queue delay",
	    [LAYER_URING] = "requests of io_uring",
	    [LAYER_NET] = "connections",
	};

	return (unsigned int)layer < LAYER_MAX ? names[layer] : "?";
}

static void toggle_layer(struct screen *s, int layer)
{
	uint32_t bit = 1U << layer;

	list_select(&s->menu_list, layer);
	if (s->options.replay) {
		screen_message(s, NOTE_WARNING,
			       "not available in a saved session: its layers were chosen when it "
			       "was recorded");
		return;
	}
	if (!(s->layers_available & bit) && !(s->layers & bit)) {
		screen_message(
		    s, NOTE_ERROR,
		    "not available on this kernel or with these privileges; see peaktop doctor");
		return;
	}
	s->layers ^= bit;
	screen_act(s, (struct screen_action){.type = SCREEN_LAYERS, .layers = s->layers});
}

void screen_menu_click(struct screen *s, int target)
{
	if (target >= 0 && target < LAYER_MAX)
		toggle_layer(s, target);
	else
		s->menu = false;
}

void screen_menu_key(struct screen *s, int key)
{
	enum request request = keys_request_only(KEYMAP_MENU, key);

	if (list_request(&s->menu_list, request, LAYER_MAX))
		return;
	switch (request) {
	case REQUEST_TOGGLE:
		toggle_layer(s, key >= '1' && key < '1' + LAYER_MAX ? key - '1'
								    : s->menu_list.selected);
		break;
	case REQUEST_ACCEPT:
	case REQUEST_CANCEL:
		s->menu = false;
		break;
	case REQUEST_QUIT:
	case REQUEST_REPAINT:
	case REQUEST_SUSPEND:
		screen_request(s, request);
		break;
	default:
		break;
	}
}

/* A frame with a title in its upper edge; its inside is blank. */
static void draw_frame(struct grid *g, struct rect r, const char *title)
{
	const char *h = theme_glyph(GLYPH_HLINE, g->ascii), *v = theme_glyph(GLYPH_VLINE, g->ascii);

	grid_fill(g, r, ROLE_POPUP, " ");
	grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, ROLE_DIM, h);
	grid_fill(g, (struct rect){r.x, r.y + r.h - 1, r.w, 1}, ROLE_DIM, h);
	grid_fill(g, (struct rect){r.x, r.y, 1, r.h}, ROLE_DIM, v);
	grid_fill(g, (struct rect){r.x + r.w - 1, r.y, 1, r.h}, ROLE_DIM, v);
	grid_put(g, r.x, r.y, 1, ROLE_DIM, theme_glyph(GLYPH_TOP_LEFT, g->ascii));
	grid_put(g, r.x + r.w - 1, r.y, 1, ROLE_DIM, theme_glyph(GLYPH_TOP_RIGHT, g->ascii));
	grid_put(g, r.x, r.y + r.h - 1, 1, ROLE_DIM, theme_glyph(GLYPH_BOTTOM_LEFT, g->ascii));
	grid_put(g, r.x + r.w - 1, r.y + r.h - 1, 1, ROLE_DIM,
		 theme_glyph(GLYPH_BOTTOM_RIGHT, g->ascii));
	grid_printf(g, r.x + 2, r.y, r.w - 4, ROLE_TITLE, " %s ", title);
}

void screen_draw_menu(const struct screen *s, struct grid *g)
{
	enum { WIDTH = 38, HEIGHT = LAYER_MAX + 3 };
	bool framed = g->cols >= WIDTH && g->rows >= HEIGHT;
	int width = framed ? WIDTH : g->cols, height = framed ? HEIGHT : LAYER_MAX, top;
	int x = (g->cols - width) / 2, y = (g->rows - height) / 2;

	if (framed)
		draw_frame(g, (struct rect){x, y, width, height}, "Layers measured");
	else
		grid_fill(g, (struct rect){0, 0, width, g->rows}, ROLE_POPUP, " ");
	y = framed ? y + 1 : 0;
	top = framed ? 0 : list_top(&s->menu_list, g->rows);
	grid_target(g, (struct rect){0, 0, g->cols, g->rows}, LAYER_MAX); /* beside the menu */
	for (int i = top; i < LAYER_MAX && y + i - top < g->rows; i++) {
		bool on = s->layers & 1U << i, selected = i == s->menu_list.selected;
		const char *state = on ? "[x]" : s->layers_available & 1U << i ? "[ ]" : " - ";

		grid_printf(g, x + framed, y + i - top, width - 2 * framed,
			    selected ? ROLE_SELECTED : ROLE_POPUP, " %s %d %s %s",
			    selected ? ">" : " ", i + 1, state, layer_name((enum layer)i));
		grid_target(g, (struct rect){x, y + i - top, width, 1}, i);
		if (selected)
			grid_cursor(g, x + framed + 1, y + i - top);
	}
	if (framed)
		grid_printf(g, x + 2, y + LAYER_MAX, width - 3, ROLE_DIM,
			    "1-%d or Space switch   Enter closes", LAYER_MAX);
}
