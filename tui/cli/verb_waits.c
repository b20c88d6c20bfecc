// SPDX-License-Identifier: GPL-2.0-or-later
/* The verbs chains and critical: for whom the target waits. */
#include <stdio.h>
#include <string.h>

#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output_waits.h"

enum { DEFAULT_FOR_S = 5, NAMES_MS = 500, END_MS = 10000, SETTLE_MS = 20000 };
#define MS 1000000ull

struct run {
	struct front *front;
	const struct options *options;
	struct verb_loop loop;
	double for_s;			/* 0: until the command has ended, or Ctrl-C */
	uint64_t began_ns;		/* when the collector began to trace; 0: not yet */
	uint64_t names_ns, reported_ns; /* last request for names, last line of --json-lines */
	int output_error;		/* negative errno of a failed write; 0: none */
};

static struct wait_report report_of(const struct run *r)
{
	return (struct wait_report){.model = front_model(r->front),
				    .live = true,
				    .names = front_driver(r->front),
				    .waits = wait_driver_waits(front_waits(r->front)),
				    .stacks_dropped = front_traces_dropped(r->front)};
}

static int print_answer(const struct wait_report *report, const struct options *o)
{
	struct output_options oo = {
	    .resolution = o->resolution, .ascii = o->ascii, .json_lines = o->json_lines};
	bool json = o->json || o->json_lines;

	if (!model_meta(report->model))
		return 0;
	if (o->verb == VERB_CRITICAL)
		return json ? output_critical_json(report, &oo, stdout)
			    : output_critical_text(report, &oo, stdout);
	return json ? output_chains_json(report, &oo, stdout)
		    : output_chains_text(report, &oo, stdout);
}

static void print_state(void *ctx)
{
	const struct run *r = ctx;
	struct wait_report report = report_of(r);
	struct output_options oo = {.ascii = r->options->ascii};

	output_state_head(report.model, front_now_ns(), stderr);
	if (r->options->verb == VERB_CRITICAL)
		output_critical_text(&report, &oo, stderr);
	else
		output_chains_text(&report, &oo, stderr);
}

static void describe(void *ctx, uint64_t now, struct buf *text, struct progress *p)
{
	const struct run *r = ctx;

	buf_printf(text, "%s: %s", r->options->verb == VERB_CRITICAL ? "critical" : "chains",
		   r->began_ns ? "observing who waits for whom" : "starting");
	if (r->began_ns && r->for_s > 0)
		progress_of_time(p, now - r->began_ns, (uint64_t)(r->for_s * 1e9));
}

static bool run_turn(void *ctx, int ticks, uint64_t now)
{
	struct run *r = ctx;
	struct wait_report report;
	const char *line;

	if (r->loop.interrupted || r->output_error || front_failure(r->front, &line))
		return false;
	if (!front_waits_begun(r->front))
		return !front_waits_ended(r->front);
	if (!r->began_ns)
		r->began_ns = r->names_ns = r->reported_ns = now;
	if (now - r->names_ns > NAMES_MS * MS) {
		wait_driver_names(front_waits(r->front));
		r->names_ns = now;
	}
	if (r->options->json_lines &&
	    now - r->reported_ns >= (uint64_t)(r->options->interval_s * 1e9)) {
		report = report_of(r);
		r->output_error = print_answer(&report, r->options);
		r->reported_ns = now;
	}
	return r->for_s <= 0 || now - r->began_ns < (uint64_t)(r->for_s * 1e9);
}

/* The front asks for the tracing when all targets are known, before a command begins to run. */
static bool run_begin(void *ctx, int ticks, uint64_t now)
{
	struct run *r = ctx;
	const char *line;

	if (r->loop.interrupted || front_failure(r->front, &line))
		return false;
	return !model_nr_targets(front_model(r->front));
}

/* Wait for the end of the window, the stacks and the names in the answer, then end in order. */
static void run_end(struct run *r)
{
	uint64_t until = front_now_ns() + END_MS * MS;
	struct progress p = {.text = "unwinding stacks and looking up names", .done = -1};

	progress_show(&p, front_now_ns());
	front_waits_end(r->front);
	while (!front_waits_ended(r->front) && front_now_ns() < until)
		verb_turn(r->front);
	if (wait_driver_waits(front_waits(r->front)))
		waits_flush(wait_driver_waits(front_waits(r->front)));
	until = front_now_ns() + SETTLE_MS * MS;
	while (front_traces_pending(r->front) && front_now_ns() < until)
		verb_turn(r->front);
	while (!wait_driver_names(front_waits(r->front)) && front_now_ns() < until)
		verb_turn(r->front);
	verb_end(r->front);
	progress_erase();
}

static bool is_observed(const struct wait_report *report)
{
	struct waits_stats stats;

	if (!report->waits)
		return false;
	waits_stats(report->waits, &stats);
	return stats.observed_ns > 0;
}

static int answer_status(const struct wait_report *report, const struct options *o)
{
	if (is_observed(report))
		return EXIT_ANSWERED;
	verb_complain(o->nr_files ? "no answer: this session has no records of waits; record some "
				    "with peaktop chains TARGET -o FILE"
				  : "no answer: the target ended, or peaktop was stopped, before a "
				    "wait was observed; try a longer --for");
	return EXIT_NO_ANSWER;
}

/* Analyse only what the verb shows; a recorded stream gets names for both. */
static struct waits_config config_of(const struct options *o)
{
	return (struct waits_config){.rsp_compat = o->rsp_compat,
				     .no_critical = o->verb == VERB_CHAINS && !o->output,
				     .no_chains = o->verb == VERB_CRITICAL && !o->output};
}

static int waits_of_file(const struct options *o)
{
	struct waits_config config = config_of(o);
	struct wait_report report;
	struct replay *r = NULL;
	bool damaged;
	int err, status = replay_whole_waits(&r, o->files[0], &config);

	if (status)
		return status;
	report = wait_report_of(r);
	if (report.waits)
		waits_flush(report.waits);
	err = print_answer(&report, o);
	damaged = replay_damage(r)[0];
	status = damaged ? EXIT_DAMAGED : answer_status(&report, o);
	replay_free(r);
	return err && !damaged ? output_status(err) : status;
}

int verb_waits(struct options *o)
{
	struct front_options fo = {.options = o, .record = o->output};
	struct run r = {.options = o,
			.for_s = o->for_s > 0 ? o->for_s
				 : o->command ? 0
					      : DEFAULT_FOR_S};
	struct waits_config config = config_of(o);
	struct wait_report report;
	const char *line;
	int status, err;

	if (o->nr_files) {
		progress_begin(o);
		return waits_of_file(o);
	}
	r.loop = (struct verb_loop){
	    .signals = verb_signals(), .ctx = &r, .describe = describe, .print_state = print_state};
	status = verb_start(&r.front, o, &fo);
	if (status)
		return status;
	r.loop.front = r.front;
	wait_driver_configure(front_waits(r.front), &config);
	r.loop.turn = run_begin;
	verb_loop(&r.loop);
	if (!front_over(r.front) && front_waits_begin(r.front)) {
		r.loop.turn = run_turn;
		verb_loop(&r.loop);
	}
	run_end(&r);
	report = report_of(&r);
	status = front_failure(r.front, &line);
	if (status)
		verb_complain(line);
	else
		status = answer_status(&report, o);
	err = r.output_error;
	if (!err && (!status || o->json || o->json_lines))
		err = print_answer(&report, o);
	if (!err && o->output)
		err = front_recording_close(r.front);
	front_free(r.front);
	return status ? status : output_status(err);
}
