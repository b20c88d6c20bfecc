// SPDX-License-Identifier: GPL-2.0-or-later
/* The verbs watch, record and doctor: they print results or save the session, without a screen. */

#include "analysis/base/format.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/restarts.h"
#include "tui/cli/verbs.h"
#include "tui/cli/when.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output.h"
#include "tui/report/output_csv.h"

#define NS_PER_S 1000000000ull

/* The state of one run. */
struct watch_run {
	struct restarts restarts; /* record --ring: of the targets */
	struct when when;	  /* record --when */
	struct front *front;
	const struct options *options;
	struct verb_loop loop;
	double for_s; /* 0: until Ctrl-C */
	bool stopped;
	int output_error; /* negative errno of a failed write; 0: none */
	uint64_t began_ns, printed_ns;
	uint64_t calls, counted_slices; /* for the line of progress */
};

static void print_state(void *ctx)
{
	const struct watch_run *r = ctx;
	struct output_options oo = {.resolution = r->options->resolution};

	output_state_head(front_model(r->front), now_ns(), stderr);
	output_watch_text(front_model(r->front), &oo, stderr);
}

static void run_tick(struct watch_run *r)
{
	struct output_options oo = {.resolution = r->options->resolution,
				    .top = r->options->top,
				    .json_lines = true,
				    .since_ns = r->printed_ns};

	if (!r->options->json_lines)
		return;
	r->output_error = output_watch_json(front_model(r->front), &oo, stdout);
	r->printed_ns = model_elapsed_ns(front_model(r->front));
}

static void describe(void *ctx, uint64_t now, struct buf *text, struct progress *p)
{
	struct watch_run *r = ctx;
	struct model *m = front_model(r->front);
	uint64_t gone = r->began_ns ? now - r->began_ns : 0;

	buf_puts(text, r->options->verb == VERB_RECORD ? "record: " : "watch: ");
	if (!r->began_ns) {
		buf_puts(text, r->options->nr_ops
				   ? "looking for the operations and attaching probes"
				   : "attaching probes");
		return;
	}
	if (r->counted_slices != model_nr_slices(m)) {
		r->counted_slices = model_nr_slices(m);
		r->calls = 0;
		for (size_t i = 0; i < model_nr_ops(m); i++)
			r->calls += model_op(m, i)->total.calls;
	}
	buf_printf(text, "measured %s calls", format_count(r->calls).s);
	if (r->for_s > 0)
		progress_of_time(p, gone, (uint64_t)(r->for_s * 1e9));
	else
		buf_printf(text, " in %s; Ctrl-C ends it",
			   format_time(gone / NS_PER_S * NS_PER_S).s);
}

static bool run_turn(void *ctx, int ticks, uint64_t now)
{
	struct watch_run *r = ctx;
	const char *line;

	if (ticks > 0)
		run_tick(r);
	if (front_ready(r->front) && !r->began_ns)
		r->began_ns = now;
	if (options_have_ring(r->options))
		restarts_turn(&r->restarts, r->front, now);
	if (r->options->when && r->began_ns)
		when_turn(&r->when, r->front, ticks, now);
	if (r->stopped)
		return true;
	if (r->loop.interrupted || r->output_error || front_nothing_to_do(r->front) ||
	    front_failure(r->front, &line) ||
	    (r->for_s > 0 && r->began_ns && now - r->began_ns >= (uint64_t)(r->for_s * 1e9))) {
		r->stopped = true;
		front_stop(r->front);
	}
	return true;
}

/* Run until the stream ends. */
static void run(struct watch_run *r)
{
	r->loop.front = r->front;
	r->loop.ctx = r;
	r->loop.print_state = print_state;
	r->loop.turn = run_turn;
	r->loop.describe = describe;
	verb_loop(&r->loop);
	front_settle(r->front);
	verb_messages(r->front);
	progress_erase();
}

static bool anything_measured(struct model *m)
{
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (op->seen_calls || op->open || op->abnormal)
			return true;
	}
	return false;
}

static uint64_t untimed_calls(struct model *m)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < model_nr_ops(m); i++)
		calls += model_op(m, i)->unseen;
	return calls;
}

/* The exit status of a run that came to its end: is there an answer? */
static int run_status(struct watch_run *r)
{
	struct model *m = front_model(r->front);
	int status = verb_failure(r->front);

	if (status)
		return status;
	if (front_nothing_to_do(r->front))
		return EXIT_NO_ANSWER;
	if (phases_missing(r->front)) {
		verb_complain(phases_missing(r->front));
		return EXIT_NO_ANSWER;
	}
	if (anything_measured(m))
		return EXIT_ANSWERED;
	if (model_nr_targets(m) && model_target_ended(m, 0) && !r->options->command) {
		verb_complain("the target ended before any call was measured");
		return EXIT_NO_ANSWER;
	}
	verb_complain(
	    untimed_calls(m) ? "calls began, but none of them was timed; try a longer --for or "
			       "--max-overhead 100"
	    : r->options->nr_ops
		? "no call of the operations given with -f began while peaktop watched; try a "
		  "longer --for, or peaktop descend --open to see calls that began earlier"
		: "the target made no system call while peaktop watched; try a longer --for");
	return r->options->command && model_nr_ops(m) ? EXIT_ANSWERED : EXIT_NO_ANSWER;
}

int verb_watch(struct options *o)
{
	struct front_options fo = {.options = o};
	struct output_options oo = {
	    .resolution = o->resolution, .ascii = o->ascii, .said_errors = true, .top = o->top};
	struct watch_run r = {.options = o, .for_s = o->for_s > 0 ? o->for_s : o->command ? 0 : 5};
	int status, err = 0;

	if (o->nr_files)
		return verb_watch_file(o);
	r.loop.signals = verb_signals();
	status = verb_start(&r.front, o, &fo);
	if (status)
		return status;
	run(&r);
	status = run_status(&r);
	if (o->json && model_meta(front_model(r.front)))
		err = output_watch_json(front_model(r.front), &oo, stdout);
	else if (o->csv && model_meta(front_model(r.front)))
		err = output_watch_csv(front_model(r.front), &oo, stdout);
	else if (!o->json_lines && (!status || (status == EXIT_USAGE && r.began_ns)))
		err = output_watch_text(front_model(r.front), &oo, stdout);
	status = verb_killed(front_model(r.front), status);
	verb_free(r.front);
	return status ? status : output_status(err ? err : r.output_error);
}

int verb_record(struct options *o)
{
	const struct options asked = *o; /* before its target is looked up */
	struct front_options fo = {.options = o, .record = o->output};
	struct output_options oo = {.resolution = o->resolution};
	struct watch_run r = {
	    .options = o, .for_s = o->for_s, .restarts = {.asked = &asked}, .when = {.options = o}};
	int status, err, output_error = 0;

	fo.restarts = options_have_ring(o) && restarts_follow(&asked);
	r.loop.signals = verb_signals();
	status = verb_start(&r.front, o, &fo);
	if (status)
		return status;
	if (o->when) /* the answer of --when does not use the critical path, which takes memory */
		wait_driver_configure(front_waits(r.front),
				      &(struct waits_config){.no_critical = true});
	run(&r);
	if (o->when)
		when_end(&r.when, r.front);
	status = run_status(&r);
	err = front_recording_close(r.front);
	if (err) {
		if (!front_recording_stopped(r.front))
			fprintf(stderr, "peaktop: cannot write all of %s: %s\n", o->output,
				strerror(-err));
		status = EXIT_NO_ANSWER;
	} else if (!o->quiet && !status) {
		fprintf(stderr, "peaktop: session written to %s; open it with peaktop -r %s\n",
			o->output, o->output);
	}
	if (o->json && model_meta(front_model(r.front)))
		output_error = output_watch_json(front_model(r.front), &oo, stdout);
	/* a recorder has told each death when it happened */
	if (!options_have_ring(o))
		status = verb_killed(front_model(r.front), status);
	verb_free(r.front);
	return status ? status : output_status(output_error ? output_error : r.output_error);
}

int verb_doctor(struct options *o)
{
	struct front_options fo = {.options = o, .doctor = true};
	struct output_options oo = {.ascii = o->ascii};
	struct watch_run r = {.options = o};
	int status = verb_start(&r.front, o, &fo), err;

	if (status)
		return status;
	while (front_turn(r.front, NULL, 0, 100) != -ENOTCONN)
		;
	if (!model_meta(front_model(r.front))) {
		if (!verb_failure(r.front))
			verb_complain("doctor: the collector ended without an answer");
		verb_free(r.front);
		return EXIT_NO_ANSWER;
	}
	if (o->json)
		err = output_doctor_json(front_model(r.front), &oo, stdout);
	else
		err = output_doctor_text(front_model(r.front), &oo, stdout);
	status = output_status(err);
	for (size_t i = 0; i < model_nr_checks(front_model(r.front)); i++) {
		const struct rec_check *c = model_check(front_model(r.front), i);

		if (!c->ok && !strcmp(c->name, "privileges"))
			status = EXIT_NOT_PERMITTED;
	}
	verb_free(r.front);
	return status;
}
