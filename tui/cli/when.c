// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/when.h"

#include "analysis/base/format.h"
#include "tui/cli/verb_walk.h"
#include "tui/cli/verbs.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output_descend.h"
#include "tui/report/output_open.h"

#define SECOND_NS 1000000000ull
#define BEFORE_NS (60 * SECOND_NS) /* is kept */
#define WALK_NS (5 * SECOND_NS)
#define LOOK_NS (5 * SECOND_NS)
#define TRACE_NS (3 * SECOND_NS)
#define TRACE_MOST_NS (20 * SECOND_NS) /* the budget may not pay for the first window at once */
#define STOP_NS SECOND_NS
#define NAMES_NS (20 * SECOND_NS)
#define LAST_NAMES_NS (3 * SECOND_NS)

enum { LINE = 1200 };

static void stage_begin(struct when *w, enum when_stage stage, uint64_t now)
{
	w->stage = stage;
	w->since_ns = now;
	if (stage == WHEN_DESCENDS || stage == WHEN_LOOKS || stage == WHEN_WALKS)
		w->found_by = stage;
}

/* ---- it has come true ---- */

/* Say what came true, and keep the minute before. */
static void keep_before(struct when *w, struct front *f)
{
	const struct options *o = w->options;
	uint64_t elapsed = model_elapsed_ns(front_model(f));
	char text[LINE + sizeof(w->path)];
	int err;

	snprintf(w->head, sizeof(w->head), "'%.900s' came true", o->when);
	if (o->condition.figure != CONDITION_NEW_PEAK)
		snprintf(w->head + strlen(w->head), sizeof(w->head) - strlen(w->head),
			 " (the figure is %s)", condition_value(&o->condition, w->state.now).s);
	w->path[0] = '\0';
	if (options_have_ring(o)) {
		err = front_aside_begin(f, elapsed > BEFORE_NS ? elapsed - BEFORE_NS : 0, w->path,
					sizeof(w->path));
		if (err) {
			snprintf(text, sizeof(text),
				 "record: the minute before cannot be kept in %s: %s; the cause is "
				 "looked for nevertheless",
				 w->path, strerror(-err));
			verb_complain(text);
			w->path[0] = '\0';
		}
	}
	front_bookmark(f, elapsed, elapsed, w->head);
}

static const struct op *op_of(const struct when *w, struct front *f)
{
	return w->op ? model_op_by_number(front_model(f), w->op) : NULL;
}

static void walk_begin(struct when *w, struct front *f, uint64_t now)
{
	const struct rec_walk ask = walk_ask(&w->options->question);

	stage_begin(w, WHEN_WALKS, now);
	if (!walker_begin(front_walker(f), &ask))
		front_walk(f, false);
}

static void begin(struct when *w, struct front *f, uint64_t now)
{
	const struct op *op;

	w->op = w->state.op;
	w->times++;
	w->next_ns = now + w->options->every_ns;
	w->began = false;
	w->tried_range =
	    w->options->condition.below || w->options->condition.figure > CONDITION_MAX;
	keep_before(w, f);
	op = op_of(w, f);
	if (w->options->condition.figure == CONDITION_OPEN) {
		stage_begin(w, WHEN_LOOKS, now);
		w->round = front_take_snapshots(f, 0);
	} else if (op && layer_is_called(op->layer)) {
		stage_begin(w, WHEN_DESCENDS, now);
		front_read_modules(f);
	} else {
		walk_begin(w, f, now);
	}
}

/* Begin the descent, into the calls beyond the limit if there are such. -EAGAIN: later. */
static int descent_begin(struct when *w, struct front *f)
{
	struct model *m = front_model(f);
	struct descent_question q = w->options->question;
	double waited = (double)model_elapsed_ns(m) / 1e9;
	struct rec_descent ask;
	int err;

	if (!w->tried_range) {
		q.peak_low_ns = (uint64_t)w->options->condition.value;
		q.peak_high_ns = UINT64_MAX;
	}
	err = choose_descent(m, w->op, &q, waited, &ask);
	if (err == -ENOENT && !w->tried_range) {
		w->tried_range = true;
		return -EAGAIN;
	}
	err = err ?: driver_begin(front_driver(f), &ask);
	w->began = !err;
	return err;
}

static void trace_begin(struct when *w, struct front *f, uint64_t now)
{
	bool traces = !front_over(f) && front_waits_begin(f);

	stage_begin(w, traces ? WHEN_TRACES : WHEN_NAMES, now);
}

static void descend(struct when *w, struct front *f, uint64_t now)
{
	uint64_t most = (uint64_t)(w->options->question.timeout_s * 1e9);
	int err = w->began ? 0 : descent_begin(w, f);
	bool late = now - w->since_ns >= most || front_over(f);

	if (err && (err != -EAGAIN || late)) {
		walk_begin(w, f, now);
		return;
	}
	if (!w->began || (!driver_over(front_driver(f)) && !late))
		return;
	driver_stop(front_driver(f));
	trace_begin(w, f, now);
}

static void walk_end(struct front *f)
{
	front_walk(f, true);
	walker_end(front_walker(f));
}

static bool names_known(const struct when *w, struct front *f)
{
	bool known = driver_names(front_driver(f));

	known &= wait_driver_names(front_waits(f));
	if (w->found_by == WHEN_WALKS)
		known &= walker_names(front_walker(f));
	if (w->found_by == WHEN_LOOKS)
		known &= walker_names_open(front_walker(f), front_open_calls(f));
	return known;
}

static void put_answer(const struct when *w, struct front *f, FILE *out)
{
	const struct output_options oo = {.resolution = w->options->resolution};
	struct model *m = front_model(f);
	const struct op *op = op_of(w, f);

	if (w->found_by == WHEN_DESCENDS) {
		struct descend_report r = {.model = m,
					   .driver = front_driver(f),
					   .op = w->op,
					   .asked = w->options->condition.op,
					   .waits = wait_driver_of_descent(front_waits(f))};

		output_descend_text(&r, &oo, out);
	} else if (w->found_by == WHEN_LOOKS) {
		struct open_report r = {
		    .model = m, .names = front_driver(f), .calls = front_open_calls(f)};

		if (op) {
			r.what = op->requested[0] ? op->requested : op->name;
			r.ask = open_ask_of(op);
		}
		output_open_text(&r, &oo, out);
	} else {
		struct walk_report r = {
		    .model = m, .names = front_driver(f), .walker = front_walker(f)};

		output_walk_text(&r, &oo, out);
	}
}

/* Append the first paragraph of a text as one line. */
static void put_sentence(char *line, size_t size, const char *text)
{
	size_t n = strlen(line);

	for (; *text && n + 1 < size; text++) {
		if (*text != '\n')
			line[n++] = *text;
		else if (!text[1] || text[1] == '\n')
			break;
		else
			line[n++] = ' ';
	}
	line[n] = '\0';
}

/* Print the answer, and send it to the journal and to the command of --exec. */
static void announce(const struct when *w, struct front *f, const char *answer)
{
	char line[3 * LINE + sizeof(w->path)];
	char *text = NULL;
	size_t n = 0;
	FILE *out;

	snprintf(line, sizeof(line) - sizeof(w->path) - 64, "record: %s: ", w->head);
	put_sentence(line, sizeof(line) - sizeof(w->path) - 64, answer);
	if (w->path[0])
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "; the minute before is in %s", w->path);
	verb_complain(line);
	out = open_memstream(&text, &n);
	if (!out)
		return;
	fprintf(out, "%s\n\n%s", line + strlen("record: "), answer);
	if (!fclose(out))
		front_announce(f, line, text, n);
	free(text);
}

static void answer(struct when *w, struct front *f)
{
	char *text = NULL, line[LINE];
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int err;

	if (out) {
		put_answer(w, f, out);
		if (!fclose(out))
			announce(w, f, text);
		free(text);
	}
	err = front_aside_end(f);
	if (err) {
		snprintf(line, sizeof(line), "record: cannot write all of %.900s: %s", w->path,
			 strerror(-err));
		verb_complain(line);
	}
	w->stage = WHEN_WAITS;
}

/* The load of the last minute; negative: not known. */
static double load_now(void)
{
	double load;

	return getloadavg(&load, 1) == 1 ? load : -1;
}

void when_turn(struct when *w, struct front *f, int ticks, uint64_t now)
{
	uint64_t since = now - w->since_ns;
	/* also while an answer is looked for, so that the time of "for" goes on */
	bool met = ticks > 0 &&
		   condition_met(&w->options->condition, &w->state, front_model(f), load_now());

	switch (w->stage) {
	case WHEN_WAITS:
		if (met && now >= w->next_ns && !front_over(f))
			begin(w, f, now);
		break;
	case WHEN_DESCENDS:
		descend(w, f, now);
		break;
	case WHEN_LOOKS:
		if (front_snapshots_complete(f, w->round) || since >= LOOK_NS)
			trace_begin(w, f, now);
		break;
	case WHEN_WALKS:
		if (since < WALK_NS && !front_over(f))
			break;
		walk_end(f);
		trace_begin(w, f, now);
		break;
	case WHEN_TRACES:
		if (!front_waits_begun(f) && since < TRACE_MOST_NS)
			break;
		if (since < TRACE_NS && !front_waits_ended(f))
			break;
		front_waits_end(f);
		stage_begin(w, WHEN_STOPS, now);
		break;
	case WHEN_STOPS:
		if ((front_waits_ended(f) && !front_traces_pending(f)) || since >= STOP_NS)
			stage_begin(w, WHEN_NAMES, now);
		break;
	case WHEN_NAMES:
		if (names_known(w, f) || since >= NAMES_NS)
			answer(w, f);
		break;
	}
}

/* The condition was never true, or always: it says nothing. */
static void say_useless(const struct when *w)
{
	const struct condition_state *s = &w->state;
	const struct options *o = w->options;
	char line[LINE];

	if (!s->known)
		snprintf(line, sizeof(line),
			 "record: --when '%.700s': no figure was measured, so that it never came "
			 "true",
			 o->when);
	else if (!w->times && o->condition.figure == CONDITION_NEW_PEAK)
		snprintf(line, sizeof(line), "record: --when '%.700s' never came true", o->when);
	else if (!w->times)
		snprintf(line, sizeof(line),
			 "record: --when '%.700s' never came true; the figure was at %s %s",
			 o->when, o->condition.below ? "least" : "most",
			 condition_value(&o->condition, s->farthest).s);
	else if (s->known > 1 && s->held == s->known)
		snprintf(line, sizeof(line),
			 "record: --when '%.700s' was true in all of the %s slices; choose another "
			 "limit",
			 o->when, format_count_exact(s->known).s);
	else
		return;
	verb_complain(line);
}

void when_end(struct when *w, struct front *f)
{
	uint64_t until = now_ns() + LAST_NAMES_NS;

	if (w->stage == WHEN_WALKS)
		walker_end(front_walker(f));
	driver_stop(front_driver(f));
	if (w->stage != WHEN_WAITS) {
		while (!names_known(w, f) && now_ns() < until)
			verb_turn(f);
		answer(w, f);
	}
	front_announce_end(f);
	verb_messages(f);
	if (!w->options->quiet)
		say_useless(w);
}
