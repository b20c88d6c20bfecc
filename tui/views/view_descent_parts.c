// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the parts of an operation's time above the answer about one of them. */
#include "analysis/base/format.h"
#include "tui/report/sanitise.h"
#include "tui/screen/theme.h"
#include "tui/views/view_descent.h"

void view_descent_draw_parts(const struct view_descent *v, struct grid *g, struct rect r)
{
	const struct screen_descent *d = v->copy ? &v->copy->d : NULL;
	int rows = r.h - 1, first, shown, calls = 0;

	if (!d || rows < 1)
		return;
	shown = (int)d->part - 1;
	first = shown >= rows ? shown - rows + 1 : 0;
	for (uint32_t i = 0; i < d->nr_parts; i++) {
		int columns = (int)text_columns(d->parts[i].calls);

		calls = columns > calls ? columns : calls;
	}
	grid_put_cut(g, r.x + 1, r.y, r.w - 1, ROLE_TITLE, d->operation);
	for (int i = first; i < first + rows && i < (int)d->nr_parts; i++) {
		const struct screen_descent_part *p = &d->parts[i];
		int y = r.y + 1 + i - first;
		char text[1024];

		snprintf(text, sizeof(text), "%d %s  %-*s  %s", i + 1,
			 format_percent_fixed(p->share).s, r.w > 2 * calls ? calls : 0, p->calls,
			 p->answer);
		if (i == shown)
			grid_put(g, r.x, y, 1, ROLE_SELECTED, ">");
		grid_put_cut(g, r.x + 2, y, r.w - 2, i == shown ? ROLE_SELECTED : ROLE_TEXT, text);
		grid_target(g, (struct rect){r.x, y, r.w, 1}, DESCENT_TARGET_PART + i);
	}
}
