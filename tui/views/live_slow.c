// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_slow.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/base/format.h"
#include "tui/engine/told_call.h"
#include "tui/report/output_why.h"
#include "tui/views/descent_rows.h"
#include "tui/views/views.h"

enum { SENTENCE_BYTES = 1 << 16, NO_PEAK = -1 /* no peak has this number */ };

#define SETTLED_NS 5000000000ull

/* Why a call was slow, once it was found out. */
struct live_slow_why {
	uint64_t number;  /* of the call, from 1; 0: unused */
	uint64_t made_ns; /* time of the session, when the text was made */
	bool settled;	  /* it does not change any more */
	char text[SCREEN_SLOW_WHY];
};

static struct model *model_of(const struct live_slow *l)
{
	return l->front ? front_model(l->front) : replay_model(l->replay);
}

static const struct told_calls *told_of(const struct live_slow *l)
{
	return l->front ? front_told(l->front) : replay_told(l->replay);
}

/* The causes of a call in words; "" without memory. */
static void find_why(const struct live_slow *l, const struct slow_list_call *c, char *out,
		     size_t size)
{
	struct buf text = {.max = SENTENCE_BYTES};
	struct why_told t;

	out[0] = '\0';
	if (why_told_init(&t, model_of(l), told_of(l)->names, c))
		return;
	report_causes(&text, &t.report, &t.result);
	snprintf(out, size, "%s", text.data ? text.data : "");
	buf_release(&text);
	why_told_release(&t);
}

/* True if the stacks inside a call, and the names of their functions, have come: they follow it. */
static bool is_settled(const struct live_slow *l, const struct rec_call *call)
{
	return model_elapsed_ns(model_of(l)) > call->start_ns + call->raw_ns + SETTLED_NS;
}

/* The causes, remembered: until they are settled, they are looked for again with each tick. */
static const char *why_of(struct live_slow *l, const struct slow_list_call *c, uint64_t number)
{
	struct live_slow_why *w = &l->why[number % SCREEN_SLOW_CALLS_MAX];
	const uint64_t now = model_elapsed_ns(model_of(l));

	if (w->number != number || (!w->settled && w->made_ns != now)) {
		find_why(l, c, w->text, sizeof(w->text));
		w->number = number;
		w->made_ns = now;
		w->settled = is_settled(l, &c->call->call);
	}
	l->settled &= w->settled;
	return w->text;
}

static void fill(struct live_slow *l)
{
	static char at[SCREEN_SLOW_CALLS_MAX][64];
	static struct screen_slow_call row[SCREEN_SLOW_CALLS_MAX];
	const struct slow_list *list = told_of(l)->list;
	size_t left_out = 0, nr = 0;
	char note[128] = "";

	l->settled = true;
	for (size_t i = slow_list_nr(list); i > 0 && nr < SCREEN_SLOW_CALLS_MAX; i--) {
		const struct slow_list_call *c = slow_list_at(list, i - 1);

		left_out += c->waits_for_work;
		if (c->waits_for_work)
			continue;
		why_time(c->realtime_ns, at[nr], sizeof(at[nr]));
		row[nr] =
		    (struct screen_slow_call){.number = i,
					      .at = c->realtime_ns ? strchr(at[nr], 'T') + 1 : "",
					      .name = c->op->label[0] ? c->op->label : c->op->name,
					      .why = why_of(l, c, i),
					      .latency_ns = c->call->call.latency_ns,
					      .usual_ns = c->call->usual_ns};
		nr++;
	}
	if (left_out)
		snprintf(note, sizeof(note), "%zu %s for work not shown", left_out,
			 left_out == 1 ? "wait" : "waits");
	screen_set_slow_calls(l->screen, row, nr, note);
}

/* The story of a call, in the view of descents. */
static bool open_story(struct live_slow *l, uint64_t number)
{
	const struct slow_list_call *c = slow_list_at(told_of(l)->list, (size_t)number - 1);
	struct buf sentence = {.max = SENTENCE_BYTES};
	struct why_told t;

	if (!c || why_told_init(&t, model_of(l), told_of(l)->names, c))
		return false;
	why_sentence(&sentence, &t, c);
	t.report.told = sentence.data ? sentence.data : "";
	/* it voted as often as a descent needs votes, and is one call */
	for (unsigned int i = 0; i < t.result.nr_nodes; i++) {
		t.result.nodes[i].maxcount = t.result.nodes[i].maxcount != 0;
		t.result.nodes[i].votes = t.result.nodes[i].votes != 0;
	}
	t.result.calls_used = 1;
	screen_open_descent(l->screen, c->op->op, NO_PEAK);
	descent_rows_show(l->screen, &t.report, &t.report, &t.result, "");
	buf_release(&sentence);
	why_told_release(&t);
	return true;
}

bool live_slow_action(struct live_slow *l, const struct screen_action *a)
{
	if (!told_of(l)->list)
		return false;
	if (a->type == SCREEN_SLOW_CALL)
		return open_story(l, a->at_ns);
	l->open = a->flag;
	l->shown = 0;
	if (l->open && l->front)
		front_keep_slow(l->front);
	return false;
}

bool live_slow_turn(struct live_slow *l)
{
	uint64_t at = l->replay ? replay_at_ns(l->replay) : model_elapsed_ns(model_of(l));
	size_t nr;

	if (!l->open)
		return false;
	if (!l->why)
		l->why = calloc(SCREEN_SLOW_CALLS_MAX, sizeof(*l->why));
	nr = slow_list_nr(told_of(l)->list) + 1;
	if (!l->why || (l->shown == nr && (l->at_ns == at || (l->front && l->settled))))
		return false;
	l->shown = nr;
	l->at_ns = at;
	fill(l);
	return true;
}

void live_slow_release(struct live_slow *l)
{
	free(l->why);
	l->why = NULL;
}
