// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_slow.h"

#include "analysis/base/array.h"
#include "analysis/base/format.h"
#include "tui/engine/told_call.h"
#include "tui/report/output_why.h"
#include "tui/views/descent_rows.h"
#include "tui/views/views.h"

enum { SENTENCE_BYTES = 1 << 16, NO_PEAK = -1 /* no peak has this number */ };

#define SETTLED_NS 5000000000ull

/* Why a call was slow, once it was found out. */
struct live_slow_why {
	uint64_t shown;	  /* the last fill that showed the call */
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
	SCOPED_BUF(text, SENTENCE_BYTES);
	struct why_told t;

	out[0] = '\0';
	if (why_told_init(&t, model_of(l), told_of(l)->names, c))
		return;
	report_causes(&text, &t.report, &t.result);
	snprintf(out, size, "%s", text.data ? text.data : "");
	why_told_release(&t);
}

/* True if the stacks inside a call, and the names of their functions, have come: they follow it. */
static bool is_settled(const struct live_slow *l, const struct rec_call *call)
{
	return model_elapsed_ns(model_of(l)) > call->start_ns + call->raw_ns + SETTLED_NS;
}

/* What is remembered of a call; NULL: nothing. */
static struct live_slow_why *remembered(const struct live_slow *l, uint64_t number)
{
	return find_first(i, l->why, SCREEN_SLOW_CALLS_MAX, l->why[i].number == number);
}

/* The causes, remembered: until they are settled, they are looked for again with each tick. */
static const char *why_of(struct live_slow *l, const struct slow_list_call *c, uint64_t number)
{
	struct live_slow_why *w = remembered(l, number);
	const uint64_t now = model_elapsed_ns(model_of(l));

	/* there are as many as rows, so that one is free */
	if (!w)
		w = find_first(i, l->why, SCREEN_SLOW_CALLS_MAX, l->why[i].shown != l->fills);
	if (!w)
		return "";
	w->shown = l->fills;
	if (w->number != number || (!w->settled && w->made_ns != now)) {
		find_why(l, c, w->text, sizeof(w->text));
		w->number = number;
		w->made_ns = now;
		w->settled = is_settled(l, &c->call->call);
	}
	l->settled &= w->settled;
	return w->text;
}

static bool is_asked(const struct screen_slow_question *q, const struct rec_call *c)
{
	return (!q->op || c->op == q->op) && (!q->tid || c->tid == q->tid) &&
	       (!q->to_ns || (c->start_ns <= q->to_ns && c->start_ns + c->raw_ns >= q->from_ns));
}

/* The numbers of the calls that are asked for, from 1, the newest first, at most
 * SCREEN_SLOW_CALLS_MAX. Waits for work are none of them, unless their operation is asked for;
 * *left_out: how many. */
static size_t find_calls(const struct live_slow *l, const struct screen_slow_question *q,
			 uint64_t *numbers, size_t *left_out)
{
	const struct slow_list *list = told_of(l)->list;
	size_t nr = 0;

	*left_out = 0;
	for (size_t i = slow_list_nr(list); i > 0 && nr < SCREEN_SLOW_CALLS_MAX; i--) {
		const struct slow_list_call *c = slow_list_at(list, i - 1);

		if (!is_asked(q, &c->call->call))
			continue;
		if (c->waits_for_work && !q->op)
			(*left_out)++;
		else
			numbers[nr++] = i;
	}
	return nr;
}

static const char *name_of(const struct rec_op *op)
{
	return op->label[0] ? op->label : op->name;
}

static void put_note(char *out, size_t size, const struct screen_slow_question *q, size_t left_out)
{
	const char *which = q->to_ns ? (q->op ? "this operation at this time" : "this time")
			    : q->op  ? "this operation"
				     : "";

	snprintf(out, size, "%s%s", which[0] ? "only those of " : "", which);
	if (left_out)
		snprintf(out + strlen(out), size - strlen(out), "%s%zu %s for work not shown",
			 which[0] ? "; " : "", left_out, left_out == 1 ? "wait" : "waits");
}

static void fill(struct live_slow *l)
{
	static char at[SCREEN_SLOW_CALLS_MAX][64];
	static struct screen_slow_call row[SCREEN_SLOW_CALLS_MAX];
	static uint64_t numbers[SCREEN_SLOW_CALLS_MAX];
	size_t left_out, nr = find_calls(l, &l->question, numbers, &left_out);
	char note[128];

	l->settled = true;
	l->fills++;
	for (size_t i = 0; i < nr; i++) {
		struct live_slow_why *w = remembered(l, numbers[i]);

		if (w)
			w->shown = l->fills;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct slow_list_call *c = slow_list_at(told_of(l)->list, numbers[i] - 1);

		why_time(c->realtime_ns, at[i], sizeof(at[i]));
		row[i] =
		    (struct screen_slow_call){.number = numbers[i],
					      .at = c->realtime_ns ? strchr(at[i], 'T') + 1 : "",
					      .name = name_of(c->op),
					      .why = why_of(l, c, numbers[i]),
					      .latency_ns = c->call->call.latency_ns,
					      .usual_ns = c->call->usual_ns,
					      .at_least = c->call->missing & SLOW_BEGIN};
	}
	put_note(note, sizeof(note), &l->question, left_out);
	screen_set_slow_calls(l->screen, row, nr, note);
}

/* The story of a call, in the view of descents. */
static bool open_story(struct live_slow *l, uint64_t number)
{
	const struct slow_list_call *c = slow_list_at(told_of(l)->list, (size_t)number - 1);
	SCOPED_BUF(sentence, SENTENCE_BYTES);
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
	why_told_release(&t);
	return true;
}

/* There is no call for SCREEN_WHY: say why not, and what else there is. */
static void say_none(struct live_slow *l, const struct screen_slow_question *q, bool began)
{
	screen_message(
	    l->screen, NOTE_INFO,
	    began      ? "slow calls are kept from now on; none is known of before"
	    : q->tid   ? (l->replay ? "this call is not over at this time of the session"
				    : "this call is not over, or was not kept; Enter shows "
				      "where it is")
	    : q->to_ns ? "no slow call was kept of this time; S lists those that were"
		       : "no slow call was kept of this operation; S lists those of others");
}

/* Answer SCREEN_WHY. True: with a story. */
static bool show_why(struct live_slow *l, const struct screen_action *a)
{
	const struct screen_slow_question q = {
	    .op = a->op, .tid = a->tid, .from_ns = a->at_ns, .to_ns = a->end_ns};
	const bool began = l->front && front_keep_slow(l->front);
	uint64_t numbers[SCREEN_SLOW_CALLS_MAX];
	size_t left_out, nr = find_calls(l, &q, numbers, &left_out);

	if (nr == 1)
		return open_story(l, numbers[0]);
	if (nr)
		screen_list_slow_calls(l->screen, &q);
	else
		say_none(l, &q, began);
	return false;
}

bool live_slow_action(struct live_slow *l, const struct screen_action *a)
{
	if (!told_of(l)->list)
		return false;
	if (a->type == SCREEN_SLOW_CALL)
		return open_story(l, a->at_ns);
	if (a->type == SCREEN_WHY)
		return show_why(l, a);
	l->shown = 0;
	if (l->front)
		front_keep_slow(l->front);
	return false;
}

static bool slow_question_equal(const struct screen_slow_question *a,
				const struct screen_slow_question *b)
{
	return a->op == b->op && a->tid == b->tid && a->from_ns == b->from_ns &&
	       a->to_ns == b->to_ns;
}

bool live_slow_turn(struct live_slow *l)
{
	uint64_t at = l->replay ? replay_at_ns(l->replay) : model_elapsed_ns(model_of(l));
	struct screen_slow_question q;
	size_t nr;

	if (!screen_slow_question(l->screen, &q))
		return false;
	if (!slow_question_equal(&q, &l->question))
		l->shown = 0;
	l->question = q;
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
