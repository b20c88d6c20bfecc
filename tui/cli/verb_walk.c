// SPDX-License-Identifier: GPL-2.0-or-later
/* The verb descend without -f: the walk, by share of wall time. */
#include <math.h>

#include "tui/cli/progress_terminal.h"
#include "tui/cli/verb_walk.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/report/output_walk.h"

/* A path that does not settle is printed after this part of --timeout. */
enum { NAMES_MS = 20000, LEAST_MS = 1500, SETTLES_AT = 3 };
#define MS 1000000ull

struct walk_run {
	struct front *front;
	const struct options *options;
	struct walk_report report;
	struct verb_loop loop;
	uint64_t began_ns, names_ns, reported_ns;
};

static void print_state(void *ctx)
{
	const struct walk_run *r = ctx;
	struct output_options oo = verb_output(r->options);

	output_walk_text(&r->report, &oo, stderr);
}

/* True if the walk has measured for the time of --for, or, without --for, until its path stays the
 * same. */
static bool is_enough(const struct walk_run *r, uint64_t now)
{
	double waited = (double)(now - r->began_ns) / 1e9;
	const struct options *o = r->options;

	if (o->for_s > 0)
		return waited >= o->for_s;
	/* Watch a command to its end: it may behave differently after its start. */
	if (o->command)
		return waited >= o->question.timeout_s;
	return waited >= o->question.timeout_s ||
	       (waited * 1e3 >= LEAST_MS &&
		(walker_settled(r->report.walker) || waited >= o->question.timeout_s / SETTLES_AT));
}

/* --json-lines: print one line per interval. False: the output failed. */
static bool print_progress(struct walk_run *r, uint64_t now)
{
	struct output_options oo = verb_output(r->options);

	if (!r->options->json_lines ||
	    now - r->reported_ns < (uint64_t)(r->options->interval_s * 1e9))
		return true;
	r->reported_ns = now;
	return !output_walk_json(&r->report, &oo, stdout);
}

static void describe(void *ctx, uint64_t now, struct buf *text, struct progress *p)
{
	const struct walk_run *r = ctx;
	const struct options *o = r->options;
	double most = o->for_s > 0 ? o->for_s : o->question.timeout_s / SETTLES_AT;

	if (!r->began_ns) {
		buf_puts(text, "descend: starting");
		return;
	}
	buf_puts(text, "descend: sampling the stacks of all threads");
	progress_of_time(p, now - r->began_ns, (uint64_t)(most * 1e9));
	p->left_at_most = o->for_s <= 0;
}

static bool run_turn(void *ctx, int ticks, uint64_t now)
{
	struct walk_run *r = ctx;

	if (r->loop.interrupted)
		return false;
	if (front_ready(r->front) && !r->began_ns)
		r->began_ns = r->names_ns = r->reported_ns = now;
	if (!r->began_ns)
		return true;
	if (now - r->names_ns > 500 * MS) {
		walker_names(front_walker(r->front));
		r->names_ns = now;
	}
	return print_progress(r, now) && !is_enough(r, now);
}

/* Wait for the last snapshots and the names in the answer, then end in order. */
static void run_end(struct walk_run *r)
{
	uint64_t until = now_ns() + NAMES_MS * MS;
	struct progress p = {.text = "descend: looking up names", .done = -1};

	progress_show(&p, now_ns());
	if (!front_over(r->front)) {
		front_walk(r->front, true);
		verb_turn(r->front);
	}
	while (front_snapshots_pending(r->front) && now_ns() < until)
		verb_turn(r->front);
	walker_end(front_walker(r->front));
	while (!walker_names(front_walker(r->front)) && now_ns() < until)
		verb_turn(r->front);
	verb_end(r->front);
	progress_erase();
}

static int print_answer(const struct walk_report *report, const struct options *o)
{
	struct output_options oo = verb_output(o);

	if (!model_meta(report->model))
		return 0;
	if (o->json || o->json_lines)
		return output_walk_json(report, &oo, stdout);
	/* no target: the message already gave the reason */
	return !model_nr_targets(report->model) ? 0 : output_walk_text(report, &oo, stdout);
}

/* The exit status; *why: what to do if there is no answer, else NULL. */
static int answer_status(const struct walk_report *report, const char **why)
{
	struct walk_result result;
	bool answered;

	*why = "no answer: out of memory";
	if (walker_result(report->walker, &result))
		return EXIT_NO_ANSWER;
	answered = result.nr_paths > 0;
	*why = answered ? NULL
	       : result.target_ended
		   ? "no answer: the target ended before any of its threads was sampled; "
		     "give it more work, or measure a loop of such runs with --follow"
		   : "no answer: no thread was sampled; try a longer --timeout";
	walk_result_release(&result);
	return answered ? EXIT_ANSWERED : EXIT_NO_ANSWER;
}

struct rec_walk walk_ask(const struct descent_question *q)
{
	return (struct rec_walk){.maxcount_ppm = (uint32_t)lround(q->maxcount_percentage * 1e6),
				 .max_depth = q->max_depth ? q->max_depth : WALK_NO_MAX_DEPTH,
				 .min_snapshots = q->start_ops};
}

int verb_walk(struct options *o)
{
	const struct rec_walk ask = walk_ask(&o->question);
	struct front_options fo = {.options = o, .record = o->output};
	struct walk_run r = {.options = o};
	const char *line;
	int status, err;

	r.loop = (struct verb_loop){.signals = verb_signals(),
				    .ctx = &r,
				    .describe = describe,
				    .print_state = print_state,
				    .turn = run_turn};
	status = verb_start(&r.front, o, &fo);
	if (status)
		return status;
	r.report = (struct walk_report){.model = front_model(r.front),
					.names = front_driver(r.front),
					.walker = front_walker(r.front)};
	if (walker_begin(front_walker(r.front), &ask)) {
		verb_complain("descend: there is not enough memory to begin");
		verb_free(r.front);
		return EXIT_USAGE;
	}
	front_walk(r.front, false);
	r.loop.front = r.front;
	verb_loop(&r.loop);
	run_end(&r);
	status = verb_failure(r.front);
	if (!status) {
		status = answer_status(&r.report, &line);
		if (status)
			verb_complain(line);
	}
	err = print_answer(&r.report, o);
	return verb_leave(r.front, o, status, err);
}

struct walk_report walk_report_of(struct replay *r)
{
	return (struct walk_report){
	    .model = replay_model(r), .names = replay_driver(r), .walker = replay_walker(r)};
}

int verb_walk_replayed(struct replay *r, const struct options *o)
{
	struct walk_report report = walk_report_of(r);
	const char *why;
	int err = print_answer(&report, o);

	return err ? output_status(err) : answer_status(&report, &why);
}
