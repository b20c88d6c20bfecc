// SPDX-License-Identifier: GPL-2.0-or-later
/* What is shown, a span of the past or all of the session, compared with a span or a session. */

#include "tui/screen/screen_private.h"

/* One side of a comparison. */
struct side {
	struct model *model;
	const char *name; /* of its session; NULL: the one that is shown */
};

/* "0:10-0:20 of FILE, 22:13:30 UTC" */
static void side_title(const struct side *side, char *out, size_t size)
{
	const struct rec_meta *meta = model_meta(side->model);
	uint64_t start = model_since_ns(side->model), began = meta ? meta->realtime_ns : 0;
	char span[80], day[32];

	status_span(span, sizeof(span), start, model_elapsed_ns(side->model));
	status_day_time(day, sizeof(day), began ? began + start : 0);
	snprintf(out, size, "%s%s%s%s%s", span, side->name ? " of " : "",
		 side->name ? side->name : "", day[0] ? ", " : "", day);
}

/* When a side began, on the clock of its host. */
static uint64_t began_ns(const struct side *side)
{
	const struct rec_meta *meta = model_meta(side->model);

	return (meta ? meta->realtime_ns : 0) + model_since_ns(side->model);
}

/* Opens the view; the side that began earlier is "before". */
static void show(struct screen *s, struct side a, struct side b)
{
	bool swap = began_ns(&b) < began_ns(&a);
	char title[2][PROMPT_TEXT_MAX];
	struct screen_diff d = {.model = {swap ? b.model : a.model, swap ? a.model : b.model},
				.title = {title[0], title[1]}};

	side_title(swap ? &b : &a, title[0], sizeof(title[0]));
	side_title(swap ? &a : &b, title[1], sizeof(title[1]));
	screen_push(s, s->views->diff(s, &d));
}

void screen_compare_with(struct screen *s, struct model *other, const char *name)
{
	show(s, (struct side){.model = screen_model(s)},
	     (struct side){.model = other, .name = name});
}

/* "0:10-0:20" in either order, or "0:10": the slice that begins then. */
static bool parse_span(const char *text, uint64_t *start_ns, uint64_t *end_ns)
{
	const char *dash = strchr(text, '-');
	uint64_t one, two;
	char first[64];

	if (!dash) {
		*end_ns = 0;
		return screen_parse_time(text, start_ns);
	}
	snprintf(first, sizeof(first), "%.*s", (int)(dash - text), text);
	if (!screen_parse_time(first, &one) || !screen_parse_time(dash + 1, &two))
		return false;
	*start_ns = one < two ? one : two;
	*end_ns = one == two ? 0 : one < two ? two : one;
	return true;
}

void screen_compare(struct screen *s, const char *with)
{
	uint64_t start, end, now = model_elapsed_ns(s->model);
	struct model *part;

	if (!parse_span(with, &start, &end)) {
		screen_act(s, (struct screen_action){.type = SCREEN_COMPARE, .text = with});
		return;
	}
	if (!end)
		end = start + model_interval_ns(s->model);
	if (start >= now || end <= model_since_ns(s->model)) {
		screen_message(s, NOTE_ERROR, "the session has no such time");
		return;
	}
	part = model_span(s->model, start, end < now ? end : now);
	if (!part) {
		screen_message(s, NOTE_ERROR, "out of memory: cannot compare with this time");
		return;
	}
	show(s, (struct side){.model = screen_model(s)}, (struct side){.model = part});
	model_free(part);
}

/* The span that was shown before, or else the one of the same length before this one. */
void screen_compare_default(const struct screen *s, char *out, size_t size)
{
	uint64_t start = s->past.before_ns[0], end = s->past.before_ns[1], length;

	if (start == end && screen_is_past(s)) {
		length = s->status.past_end_ns - s->status.past_start_ns;
		end = s->status.past_start_ns;
		start = end > length ? end - length : 0;
	}
	if (start < end)
		status_span(out, size, start, end);
}
