// SPDX-License-Identifier: GPL-2.0-or-later
/* The mouse. The targets of clicks are those that the views mark while they draw, so that no view
 * computes its layout twice. */
#include "tui/screen/screen_private.h"

enum { WHEEL_ROWS = 3 };

/* Draw the present screen and find the target at this cell. False: none. */
static bool find_target(const struct screen *s, int x, int y, struct grid_target *target)
{
	struct grid *g = grid_new(s->cols, s->rows, s->options.ascii);
	const struct grid_target *at;

	if (!g)
		return false;
	screen_draw(s, g);
	at = grid_target_at(g, x, y);
	if (at)
		*target = *at;
	grid_free(g);
	return at != NULL;
}

static void wheel(struct screen *s, bool up)
{
	if (s->prompt.kind) {
		screen_prompt_key(s, up ? SCREEN_KEY_UP : SCREEN_KEY_DOWN);
		return;
	}
	if (s->menu) {
		screen_menu_key(s, up ? SCREEN_KEY_UP : SCREEN_KEY_DOWN);
		return;
	}
	for (int i = 0; i < WHEEL_ROWS; i++)
		screen_view_request(s, up ? REQUEST_UP : REQUEST_DOWN, 0);
}

/* True if this click follows one at the same cell so soon that both are a double click. */
static bool is_second(const struct screen *s, const struct screen_mouse *m)
{
	const struct screen_mouse *last = &s->last_click;

	return last->at_ns && last->x == m->x && last->y == m->y && m->at_ns >= last->at_ns &&
	       m->at_ns - last->at_ns <= SCREEN_DOUBLE_CLICK_NS;
}

static void click(struct screen *s, const struct screen_mouse *m)
{
	struct grid_target target;
	struct view *v = s->top;
	bool twice = is_second(s, m), selected = false;

	s->last_click.at_ns = 0;
	if (!find_target(s, m->x, m->y, &target))
		return;
	if (s->prompt.kind) {
		screen_prompt_click(s, target.id, twice);
		selected = !twice;
	} else if (s->menu) {
		screen_menu_click(s, target.id);
	} else if (target.id < 0) {
		screen_view_request(s, (enum request) - target.id, 0);
	} else if (twice) { /* what the first click selected, even if its row has moved */
		screen_view_request(s, REQUEST_OPEN, 0);
	} else if (v->methods->click) {
		selected = v->methods->click(v, target.id, m->x - target.r.x, m->y - target.r.y);
	}
	if (selected)
		s->last_click = *m;
}

void screen_mouse(struct screen *s, const struct screen_mouse *m)
{
	s->message[0] = '\0';
	switch (m->what) {
	case MOUSE_DOUBLE_CLICK:
		s->last_click.at_ns = 0;
		click(s, m);
		click(s, m);
		break;
	case MOUSE_CLICK:
		click(s, m);
		break;
	default:
		wheel(s, m->what == MOUSE_WHEEL_UP);
	}
}
