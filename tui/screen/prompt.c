// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/prompt.h"

#include "tui/report/sanitise.h"
#include "tui/screen/keys.h"
#include "tui/screen/theme.h"

static const char *label(enum prompt_kind kind)
{
	switch (kind) {
	case PROMPT_SEARCH:
		return "/";
	case PROMPT_WATCH:
		return "watch function: ";
	case PROMPT_SNAPSHOT:
		return "write snapshot to: ";
	case PROMPT_VIEW_TEXT:
		return "write view as text to: ";
	case PROMPT_JUMP:
		return "jump to (seconds or m:ss): ";
	case PROMPT_BOOKMARK:
		return "note of the bookmark: ";
	case PROMPT_COMPARE:
		return "compare with (m:ss-m:ss, or a saved session): ";
	case PROMPT_NONE:
		break;
	}
	return "";
}

static void drop_candidates(struct prompt *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		free(p->candidate[i].name);
		free(p->candidate[i].module);
		free(p->candidate[i].text);
	}
	p->nr = 0;
	p->list = (struct list){0};
	p->chosen = false;
}

void prompt_open(struct prompt *p, enum prompt_kind kind, const char *text)
{
	prompt_close(p);
	p->kind = kind;
	snprintf(p->text, sizeof(p->text), "%s", text);
	p->len = p->cursor = strlen(p->text);
}

void prompt_close(struct prompt *p)
{
	drop_candidates(p);
	p->kind = PROMPT_NONE;
	p->text[0] = '\0';
	p->len = p->cursor = 0;
	p->searched = false;
}

/* before(): the start of the character before `at`. after(): the end of the character at `at`. */
static size_t before(const struct prompt *p, size_t at)
{
	while (at > 0 && ((unsigned char)p->text[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t after(const struct prompt *p, size_t at)
{
	if (at < p->len)
		at++;
	while (at < p->len && ((unsigned char)p->text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static enum prompt_outcome changed(struct prompt *p)
{
	p->searched = false;
	p->chosen = false;
	return PROMPT_CHANGED;
}

static enum prompt_outcome erase(struct prompt *p, size_t from, size_t to)
{
	if (from == to)
		return PROMPT_MOVED;
	memmove(p->text + from, p->text + to, p->len - to + 1);
	p->len -= to - from;
	p->cursor = from;
	return changed(p);
}

static size_t utf8_encode(int cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

static enum prompt_outcome insert(struct prompt *p, int key)
{
	char utf8[5] = "", safe[5 * SANITISE_MAX_GROWTH];
	size_t n;

	if (key < ' ' || key == 127 || key > 0x10ffff || (key >= 0xd800 && key < 0xe000))
		return PROMPT_IGNORED;
	n = utf8_encode(key, utf8);
	/* the prompt shows its text unchanged, so reject characters that the sanitiser would change
	 */
	if (strcmp(sanitise(safe, sizeof(safe), utf8), utf8) != 0)
		return PROMPT_IGNORED;
	if (p->len + n >= sizeof(p->text))
		return PROMPT_IGNORED;
	memmove(p->text + p->cursor + n, p->text + p->cursor, p->len - p->cursor + 1);
	memcpy(p->text + p->cursor, utf8, n);
	p->len += n;
	p->cursor += n;
	return changed(p);
}

static enum prompt_outcome erase_word(struct prompt *p)
{
	size_t from = p->cursor;

	while (from > 0 && p->text[from - 1] == ' ')
		from--;
	while (from > 0 && p->text[from - 1] != ' ')
		from--;
	return erase(p, from, p->cursor);
}

static enum prompt_outcome choose(struct prompt *p, int by)
{
	if (!p->nr)
		return PROMPT_MOVED;
	list_select(&p->list, p->list.selected + by);
	p->chosen = true;
	return PROMPT_MOVED;
}

bool prompt_select(struct prompt *p, int candidate)
{
	if (candidate < 0 || candidate >= (int)p->nr)
		return false;
	list_select(&p->list, candidate);
	p->chosen = true;
	return true;
}

static enum prompt_outcome complete(struct prompt *p)
{
	if (!p->nr)
		return PROMPT_MOVED;
	snprintf(p->text, sizeof(p->text), "%s", p->candidate[p->list.selected].text);
	p->len = p->cursor = strlen(p->text);
	return changed(p);
}

enum prompt_outcome prompt_key(struct prompt *p, int key)
{
	switch (keys_request_only(KEYMAP_PROMPT, key)) {
	case REQUEST_ACCEPT:
		return PROMPT_ACCEPTED;
	case REQUEST_CANCEL:
		return PROMPT_CANCELLED;
	case REQUEST_NEXT:
		return choose(p, 1);
	case REQUEST_PREVIOUS:
		return choose(p, -1);
	case REQUEST_COMPLETE:
		return complete(p);
	case REQUEST_CURSOR_LEFT:
		p->cursor = before(p, p->cursor);
		return PROMPT_MOVED;
	case REQUEST_CURSOR_RIGHT:
		p->cursor = after(p, p->cursor);
		return PROMPT_MOVED;
	case REQUEST_CURSOR_HOME:
		p->cursor = 0;
		return PROMPT_MOVED;
	case REQUEST_CURSOR_END:
		p->cursor = p->len;
		return PROMPT_MOVED;
	case REQUEST_ERASE:
		/* on an empty line, close the prompt, as less and vi do */
		return p->len ? erase(p, before(p, p->cursor), p->cursor) : PROMPT_CANCELLED;
	case REQUEST_ERASE_NEXT:
		return erase(p, p->cursor, after(p, p->cursor));
	case REQUEST_ERASE_WORD:
		return erase_word(p);
	case REQUEST_ERASE_ALL:
		return erase(p, 0, p->len);
	default:
		return insert(p, key);
	}
}

const char *prompt_answer(const struct prompt *p)
{
	return p->kind == PROMPT_WATCH && p->nr && (p->chosen || p->searched)
		   ? p->candidate[p->list.selected].text
		   : p->text;
}

static char *safe_copy(const char *s)
{
	size_t size = strnlen(s, 1024) * SANITISE_MAX_GROWTH + 1;
	char *out = malloc(size);

	return out ? sanitise(out, size, s) : NULL;
}

void prompt_set_candidates(struct prompt *p, const char *searched,
			   const struct function_candidate *list, size_t n)
{
	if (p->kind != PROMPT_WATCH || strcmp(searched, p->text))
		return;
	drop_candidates(p);
	p->searched = true;
	for (size_t i = 0; i < n && p->nr < SCREEN_MAX_CANDIDATES; i++) {
		struct prompt_candidate c = {safe_copy(list[i].name), safe_copy(list[i].module),
					     strdup(list[i].text)};

		if (!c.name || !c.module || !c.text) {
			free(c.name);
			free(c.module);
			free(c.text);
			break;
		}
		p->candidate[p->nr++] = c;
	}
	list_resize(&p->list, (int)p->nr);
}

static void draw_candidates(const struct prompt *p, struct grid *g)
{
	int height = g->rows - 4 < 10 ? g->rows - 4 : 10;
	int top, y, name;

	if (p->kind != PROMPT_WATCH || height < 1)
		return;
	if (!p->nr) {
		if (!p->searched || !p->len)
			return;
		grid_fill(g, (struct rect){0, g->rows - 2, g->cols, 1}, ROLE_POPUP, " ");
		grid_put_cut(
		    g, 2, g->rows - 2, g->cols - 2, ROLE_DIM,
		    "no function with this name is known; Enter watches it when it appears");
		return;
	}
	if (height > (int)p->nr)
		height = (int)p->nr;
	top = list_top(&p->list, height);
	grid_fill(g, (struct rect){0, g->rows - 2 - height, g->cols, height + 1}, ROLE_POPUP, " ");
	grid_printf(g, 0, g->rows - 2 - height, g->cols, ROLE_HEADING, "  %-*s", g->cols,
		    p->nr == 1 ? "1 function" : "functions, best match first");
	name = g->cols > 60 ? g->cols - 26 : g->cols - 2;
	for (int i = 0; i < height; i++) {
		/* mark no candidate of an older text: Enter does not take it */
		bool selected = top + i == p->list.selected && (p->searched || p->chosen);
		const struct prompt_candidate *c = &p->candidate[top + i];
		unsigned int role = selected ? ROLE_SELECTED : ROLE_POPUP;

		y = g->rows - 1 - height + i;
		grid_target(g, (struct rect){0, y, g->cols, 1}, top + i);
		grid_put(g, 0, y, 2, role, selected ? "> " : "  ");
		grid_put_cut(g, 2, y, name - 2, role, c->name);
		if (name < g->cols - 2)
			grid_put_cut(g, name + 1, y, g->cols - name - 1,
				     selected ? ROLE_SELECTED : ROLE_DIM, c->module);
	}
}

void prompt_draw(const struct prompt *p, struct grid *g)
{
	int y = g->rows - 1, x, room, columns;
	char head[PROMPT_TEXT_MAX];
	const char *text = p->text;

	draw_candidates(p, g);
	grid_fill(g, (struct rect){0, y, g->cols, 1}, ROLE_PROMPT, " ");
	x = grid_put(g, 0, y, g->cols - 1, ROLE_PROMPT, label(p->kind));
	room = g->cols - x - 1;
	if (room < 4) { /* narrow: show the text without its label */
		grid_fill(g, (struct rect){0, y, g->cols, 1}, ROLE_PROMPT, " ");
		x = 0;
		room = g->cols - 1;
	}
	snprintf(head, sizeof(head), "%.*s", (int)p->cursor, p->text);
	columns = grid_columns(g, head);
	while (columns > room && *text) { /* scroll to the cursor */
		size_t skip = after(p, (size_t)(text - p->text)) - (size_t)(text - p->text);

		text += skip;
		snprintf(head, sizeof(head), "%.*s", (int)(p->cursor - (size_t)(text - p->text)),
			 text);
		columns = grid_columns(g, head);
	}
	grid_put(g, x, y, room, ROLE_TEXT, text);
	grid_cursor(g, x + columns, y);
}
