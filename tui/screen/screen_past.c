// SPDX-License-Identifier: GPL-2.0-or-later
/* Time travel: views whose `travels` is set show a part of the session instead of all of it, while
 * measuring continues. They take it from screen_model(), a model of that part. */
#include "analysis/base/format.h"
#include "analysis/latency/event_log.h"
#include "tui/screen/screen_private.h"

struct model *screen_model(const struct screen *s)
{
	return s->past.model ? s->past.model : s->model;
}

bool screen_is_past(const struct screen *s)
{
	return s->past.model != NULL;
}

void screen_past_end(struct screen *s)
{
	if (!s->past.model)
		return;
	s->past.before_ns[0] = s->status.past_start_ns;
	s->past.before_ns[1] = s->status.past_end_ns;
	model_free(s->past.model);
	s->past.model = NULL;
	s->status.past = false;
}

void screen_past_show(struct screen *s, uint64_t start_ns, uint64_t end_ns)
{
	const struct rec_meta *meta = model_meta(s->model);
	uint64_t interval = model_interval_ns(s->model);
	struct model *part;

	if (end_ns < start_ns + interval / 2) { /* shorter than a slice: the one around it */
		start_ns = start_ns / interval * interval;
		end_ns = start_ns + interval;
	}
	part = model_span(s->model, start_ns, end_ns);
	if (!part) {
		screen_message(s, NOTE_ERROR, "out of memory: cannot show this time");
		return;
	}
	screen_past_end(s);
	s->past.model = part;
	s->status.past = true;
	s->status.past_start_ns = model_since_ns(part);
	s->status.past_end_ns = model_elapsed_ns(part);
	s->status.began_ns = meta ? meta->realtime_ns : 0;
	if (s->paused) /* a frozen view would not show the span */
		screen_toggle_pause(s);
	screen_tick_views(s);
}

static void now(struct screen *s)
{
	if (!screen_is_past(s)) {
		screen_message(s, NOTE_INFO,
			       s->options.replay ? "all of the session until here is shown"
						 : "this is the present");
		return;
	}
	screen_past_end(s);
	screen_tick_views(s);
}

static uint64_t length(const struct screen *s)
{
	return s->past.length_ns ? s->past.length_ns : model_interval_ns(s->model);
}

/* True if nothing is known before this time: then the user is told. */
static bool is_first(struct screen *s, uint64_t at)
{
	uint64_t first = model_since_ns(s->model);

	if (at > first)
		return false;
	screen_message(s, NOTE_INFO,
		       first ? "earlier calls were dropped when the threads were chosen"
			     : "this is the beginning of the session");
	return true;
}

static void earlier(struct screen *s)
{
	uint64_t first = model_since_ns(s->model), at;

	at = screen_is_past(s) ? s->status.past_start_ns : model_elapsed_ns(s->model);
	if (is_first(s, at))
		return;
	screen_past_show(s, at > first + length(s) ? at - length(s) : first, at);
}

static void later(struct screen *s)
{
	uint64_t end = model_elapsed_ns(s->model), at = s->status.past_end_ns;

	if (!screen_is_past(s) || at + model_interval_ns(s->model) / 2 > end) {
		screen_message(s, NOTE_INFO,
			       screen_is_past(s) ? "this is the newest time; 0 goes back to now"
						 : "this is the present; [ goes to earlier times");
		return;
	}
	screen_past_show(s, at, at + length(s) < end ? at + length(s) : end);
}

/* Shows half as much, or twice as much. The end stays where it is. */
static void change_length(struct screen *s, bool longer)
{
	uint64_t first = model_since_ns(s->model), interval = model_interval_ns(s->model),
		 end = screen_is_past(s) ? s->status.past_end_ns : model_elapsed_ns(s->model),
		 now = screen_is_past(s) ? end - s->status.past_start_ns : interval, want;

	if (is_first(s, end))
		return;
	want = longer ? 2 * now : (now / 2 + interval / 2) / interval * interval;
	if (want < interval)
		want = interval;
	if (screen_is_past(s) && !longer && now <= interval + interval / 2) {
		screen_message(s, NOTE_INFO, "a slice is the shortest time that is known");
		return;
	}
	s->past.length_ns = want;
	screen_past_show(s, end > first + want ? end - want : first, end);
}

/* Goes to the next bookmark, from the newest to the oldest. */
static void next_bookmark(struct screen *s)
{
	const struct event_log *log = model_event_log(s->model);
	const struct event *newest = NULL, *next = NULL;
	char text[EVENT_TEXT_MAX + 64];

	for (size_t i = 0; i < event_log_nr(log) && !next; i++) {
		const struct event *e = event_log_at(log, i);

		if (e->kind != EVENT_BOOKMARK)
			continue;
		newest = newest ? newest : e;
		next = e->number < s->past.bookmark ? e : NULL;
	}
	next = next ? next : newest;
	if (!next) {
		screen_message(s, NOTE_INFO, "there is no bookmark; B sets one");
		return;
	}
	s->past.bookmark = next->number;
	screen_past_show(s, next->at_ns, next->last_ns);
	snprintf(text, sizeof(text), "bookmark: %s", next->text);
	screen_message(s, NOTE_INFO, text);
}

/* The time of which the user speaks: the one that is shown, or the newest. */
void screen_past_span(const struct screen *s, uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t end = model_elapsed_ns(s->model), slice = model_interval_ns(s->model);

	*start_ns = screen_is_past(s) ? s->status.past_start_ns : end > slice ? end - slice : 0;
	*end_ns = screen_is_past(s) ? s->status.past_end_ns : end;
}

bool screen_travels(enum request request)
{
	return request == REQUEST_EARLIER || request == REQUEST_LATER ||
	       request == REQUEST_SHORTER_SPAN || request == REQUEST_LONGER_SPAN ||
	       request == REQUEST_NOW;
}

bool screen_past_request(struct screen *s, enum request request)
{
	if (screen_travels(request) && !s->top->methods->travels) {
		screen_message(s, NOTE_INFO,
			       "this view shows the present; the list, an operation and the events "
			       "show the past");
		return true;
	}
	switch (request) {
	case REQUEST_EARLIER:
		earlier(s);
		return true;
	case REQUEST_LATER:
		later(s);
		return true;
	case REQUEST_SHORTER_SPAN:
	case REQUEST_LONGER_SPAN:
		change_length(s, request == REQUEST_LONGER_SPAN);
		return true;
	case REQUEST_NOW:
		now(s);
		return true;
	case REQUEST_COMPARE:
		screen_open_prompt(s, PROMPT_COMPARE);
		return true;
	case REQUEST_BOOKMARK:
		screen_open_prompt(s, PROMPT_BOOKMARK);
		return true;
	case REQUEST_NEXT_BOOKMARK:
		next_bookmark(s);
		return true;
	default:
		return false;
	}
}
