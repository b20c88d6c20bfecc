// SPDX-License-Identifier: GPL-2.0-or-later
/* descend: the start profile, the choice of the peak, the descent, the answer. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "analysis/descent/choose.h"
#include "tui/cli/verb_descend.h"
#include "tui/cli/verb_open.h"
#include "tui/cli/verb_walk.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/report/output_descend.h"

enum { TURN_MS = 50, NAMES_MS = 20000 };
/* A slice of a second would be most of the wait. */
#define SLICE_S 0.25
#define STUCK_S 3 /* without a call in that peak, before another one is thought of */

struct run {
	struct front *front;
	struct descend *descend;
	const struct options *options;
	struct descend_report report;
	int signals;
	bool interrupted, late, unread;
	uint64_t began_ns;
	unsigned int decisions, rounds; /* when the last line was printed */
	uint64_t used, used_ns;		/* in-peak calls, and since when there are so many */
};

/* ---- what to ask for ---- */

static uint64_t constant_ns(struct model *m, const char *name)
{
	for (size_t i = 0; i < model_nr_constants(m); i++) {
		if (!strcmp(model_constant(m, i)->name, name))
			return model_constant(m, i)->high_ns;
	}
	return 0;
}

int descend_choose(struct model *m, uint32_t number, const struct options *o, double waited_s,
		   struct rec_descent *ask)
{
	const struct choose_question question = {.number = (unsigned int)o->peak,
						 .low_ns = o->peak_low_ns,
						 .high_ns = o->peak_high_ns,
						 .slowest = o->slowest,
						 .start_ops = o->start_ops,
						 .start_ops_fixed = o->start_ops_given,
						 .waited_s = waited_s,
						 .last_chance = waited_s > o->timeout_s / 3};
	const struct op *op = model_op_peaks(m, number);
	struct choose_answer calls;
	int err;

	if (!op)
		return -EAGAIN;
	err = choose_calls(op, &question, &calls);
	if (err)
		return err;
	descent_options_init(ask);
	ask->op = number;
	ask->function = (struct rec_code){op->module_id, op->offset};
	if (op->layer == LAYER_SYSCALL)
		ask->function =
		    (struct rec_code){REC_KERNEL_MODULE, REC_KERNEL_CALL | op->syscall_nr};
	ask->start_ops = calls.start_ops;
	ask->decision_ops = o->decision_ops;
	ask->maxcount_ppm = (uint32_t)lround(o->maxcount_percentage * 1e6);
	ask->max_depth = o->max_depth ? o->max_depth : DESCENT_DEFAULT_DEPTH;
	ask->max_sites = o->max_sites < DESCENT_MAX_SITES ? o->max_sites : DESCENT_MAX_SITES;
	ask->level_by_level = o->level_by_level;
	ask->minor_fault_ns = constant_ns(m, "page fault");
	ask->step_ns = model_cost(m) ? model_cost(m)->step_ns : 0;
	ask->low_ns = calls.low_ns;
	ask->high_ns = calls.high_ns;
	return 0;
}

/* The operation that -f named, once it is there. */
static uint32_t op_of(const struct run *r)
{
	struct model *m = front_model(r->front);

	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if ((op->layer == LAYER_FUNCTION || op->layer == LAYER_SYSCALL) &&
		    !strcmp(op->requested, r->options->ops[0].text))
			return op->op;
	}
	return 0;
}

/* Begin as soon as there is something to begin with. False: there will not be. */
static bool try_begin(struct run *r, uint64_t now)
{
	double waited = (double)(now - r->began_ns) / 1e9;
	struct rec_descent ask;
	int err;

	if (!r->report.op)
		r->report.op = op_of(r);
	if (!r->report.op)
		return true;
	err = descend_choose(front_model(r->front), r->report.op, r->options, waited, &ask);
	if (err == -EAGAIN)
		return true;
	if (err == -ENOENT) {
		r->report.no_such_peak = true;
		return false;
	}
	err = descend_begin(r->descend, &ask);
	if (err)
		verb_complain(
		    "descend: --start-ops, --decision-ops, --maxcount-percentage, --max-depth or "
		    "--max-sites is out of range; leave them out to use the defaults");
	r->used_ns = now;
	return !err;
}

/* Has the user said which calls are meant? */
static bool asks_for_calls(const struct options *o)
{
	return o->peak || o->peak_high_ns || o->slowest > 0;
}

/* The peak was not the user's choice, and its calls have gone elsewhere: ask for the one that is
 * the largest by now. */
static void begin_again(struct run *r, uint64_t now)
{
	const struct rec_descent *asked = descend_asked(r->descend);
	struct descent_progress p;
	struct rec_descent ask;

	if (asks_for_calls(r->options) || descend_over(r->descend))
		return;
	descent_progress(descend_state(r->descend), &p);
	if (p.calls_used != r->used) {
		r->used = p.calls_used;
		r->used_ns = now;
	}
	if (now - r->used_ns < (uint64_t)(STUCK_S * 1e9))
		return;
	r->used_ns = now;
	if (!descend_choose(front_model(r->front), r->report.op, r->options, r->options->timeout_s,
			    &ask) &&
	    (ask.low_ns >= asked->high_ns || asked->low_ns >= ask.high_ns))
		descend_begin(r->descend, &ask);
}

/* ---- the run ---- */

static void signals_take(struct run *r)
{
	struct output_options oo = {.resolution = r->options->resolution};
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGUSR1) {
			r->interrupted = true;
			continue;
		}
		output_state_head(r->report.model, front_now_ns(), stderr);
		output_descend_text(&r->report, &oo, stderr);
	}
}

/* --json-lines: a line for each round and each decision. */
static void print_progress(struct run *r)
{
	struct output_options oo = {.resolution = r->options->resolution, .json_lines = true};
	struct descent_progress p;

	if (!r->options->json_lines || !descend_asked(r->descend) || r->unread)
		return;
	descent_progress(descend_state(r->descend), &p);
	if (p.decisions == r->decisions && p.rounds == r->rounds)
		return;
	r->decisions = p.decisions;
	r->rounds = p.rounds;
	if (output_descend_json(&r->report, &oo, stdout))
		r->interrupted = r->unread = true;
}

static void run_loop(struct run *r)
{
	for (;;) {
		struct pollfd p = {.fd = r->signals, .events = POLLIN};
		int ticks = front_turn(r->front, &p, 1, TURN_MS);
		uint64_t now = front_now_ns();

		if (p.revents)
			signals_take(r);
		verb_messages(r->front);
		if (ticks == -ENOTCONN || r->interrupted || front_nothing_to_do(r->front))
			return;
		if (front_ready(r->front) && !r->began_ns)
			r->began_ns = now;
		if (!r->began_ns)
			continue;
		if (ticks > 0 && !descend_asked(r->descend) && !try_begin(r, now))
			return;
		if (descend_asked(r->descend)) {
			descend_names(r->descend);
			print_progress(r);
			if (descend_over(r->descend))
				return;
			if (ticks > 0)
				begin_again(r, now);
		}
		r->late = now - r->began_ns >= (uint64_t)(r->options->timeout_s * 1e9);
		if (r->late)
			return;
	}
}

/* The names of the answer, then the ordered end of the measurement. */
static void run_end(struct run *r)
{
	uint64_t until = front_now_ns() + NAMES_MS * 1000000ull;

	front_settle(r->front);
	verb_messages(r->front);
	descend_stop(r->descend);
	while (!descend_names(r->descend) && front_now_ns() < until) {
		if (front_over(r->front))
			front_parser_turn(r->front, TURN_MS);
		else
			front_turn(r->front, NULL, 0, TURN_MS);
	}
	verb_end(r->front);
}

/* ---- the answer ---- */

/* Is what was found an answer? */
static int answer_status(const struct descend_report *report, bool command)
{
	struct descent_result result;
	bool found;
	int status = EXIT_NO_ANSWER;

	if (report->no_such_peak || !descend_asked(report->descend) ||
	    report_result(report, &result))
		return EXIT_NO_ANSWER;
	found = result.nr_paths && result.calls_used;
	switch (result.status) {
	case DESCENT_ROOT_CAUSE:
	case DESCENT_DEPTH_REACHED:
		status = EXIT_ANSWERED;
		break;
	case DESCENT_IN_PROGRESS:
	case DESCENT_PARTLY:
		status = found ? EXIT_ANSWERED : EXIT_NO_ANSWER;
		break;
	case DESCENT_TARGET_END:
		status = found && command ? EXIT_ANSWERED : EXIT_NO_ANSWER;
		break;
	default:
		break;
	}
	descent_result_release(&result);
	return status;
}

static int print_answer(const struct descend_report *report, const struct options *o)
{
	struct output_options oo = {
	    .resolution = o->resolution, .ascii = o->ascii, .json_lines = o->json_lines};

	if (!model_meta(report->model))
		return 0;
	if (o->json || o->json_lines)
		return output_descend_json(report, &oo, stdout);
	/* nobody was there: the message has said why */
	return !model_nr_targets(report->model) ? 0 : output_descend_text(report, &oo, stdout);
}

static void explain(const struct run *r)
{
	struct descend_report report = r->report;
	char line[512];
	struct buf b;

	buf_init(&b, 1 << 16);
	if (report.no_such_peak) {
		output_descend_sentence(&report, &b);
		snprintf(line, sizeof(line), "%s: %s", r->options->ops[0].text,
			 b.data ? b.data : "there is no such peak");
	} else if (phases_missing(r->front)) {
		snprintf(line, sizeof(line), "%s", phases_missing(r->front));
	} else if (!descend_asked(r->descend)) {
		const struct op *op = model_op_by_number(report.model, report.op);
		unsigned long long seen = op ? op->seen_calls : 0;
		bool left = report_left(&b, op),
		     ended = model_nr_targets(report.model) && model_target_ended(report.model, 0);

		/* one that began before is in none of these counts: a program's main loop, a call
		 * that is stuck */
		if (ended && seen >= r->options->start_ops)
			snprintf(line, sizeof(line),
				 "%s: the target ended after %llu calls, before the cause of a "
				 "peak could be measured; run a longer workload",
				 r->options->ops[0].text, seen);
		else
			snprintf(
			    line, sizeof(line),
			    "%s: not enough calls: saw %llu of the %u needed%s%s%s; try %s",
			    r->options->ops[0].text, seen, r->options->start_ops,
			    ended ? " before the target ended" : "", left ? "; " : "",
			    left && b.data ? b.data : "",
			    seen || left || ended
				? "a longer --timeout or fewer --start-ops"
				: "a longer --timeout, or --open to see calls that began earlier");
	} else {
		struct descent_result result;

		if (report_result(&report, &result))
			return;
		if (result.refused[0])
			snprintf(line, sizeof(line),
				 "%s: no answer, because its figures contradict each other: %s; "
				 "run it again",
				 r->options->ops[0].text, result.refused);
		else
			snprintf(line, sizeof(line), "%s: no answer: %s", r->options->ops[0].text,
				 report_status(&report, &result));
		descent_result_release(&result);
	}
	buf_release(&b);
	verb_complain(line);
}

/* What this verb does not do, in one line; NULL: all is well. */
static const char *refusal(const struct options *o)
{
	if (o->nr_ops > 1)
		return "descend: more than one -f given; give one";
	switch (o->ops[0].kind) {
	case OP_FUNCTION:
	case OP_OFFSET:
	case OP_SYSCALL:
		break;
	default:
		return "descend: -f must be a function of the program or its libraries, or "
		       "syscall:NAME; descending into kernel functions, block, lock and runqueue "
		       "is not supported";
	}
	if ((o->peak || o->peak_high_ns) && o->slowest > 0)
		return "descend: --peak and --slowest cannot be combined; give one of them";
	return NULL;
}

static int descend_live(struct options *o)
{
	struct front_options fo = {.options = o, .record = o->output};
	struct run r = {.options = o};
	const char *line;
	int status, err;

	if (o->interval_s == 1)
		o->interval_s = SLICE_S;
	fo.descends = true;
	r.signals = verb_signals();
	status = verb_start(&r.front, o, &fo);
	if (status)
		return status;
	r.descend = front_descend(r.front);
	r.report = (struct descend_report){.model = front_model(r.front),
					   .descend = r.descend,
					   .wanted_peak = o->peak,
					   .wanted_low_ns = o->peak_low_ns,
					   .wanted_high_ns = o->peak_high_ns,
					   .slowest = o->slowest,
					   .asked = o->ops[0].text};
	run_loop(&r);
	run_end(&r);
	status = front_failure(r.front, &line);
	if (status)
		verb_complain(line);
	if (!status) {
		status = answer_status(&r.report, o->command != NULL);
		if (status && !front_nothing_to_do(r.front))
			explain(&r);
	}
	err = !front_nothing_to_do(r.front) || o->json ? print_answer(&r.report, o) : 0;
	if (!err && o->output)
		err = front_recording_close(r.front);
	front_free(r.front);
	return status ? status : output_status(err);
}

/* A recorded descent, computed again from its records. */
static int descend_file(struct options *o)
{
	struct replay *r = NULL;
	int status = replay_whole(&r, o->files[0]), err;
	struct descend_report report;
	bool damaged;

	if (status)
		return status;
	report = descend_report_of(r);
	if (!report.op && walker_asked(replay_walker(r))) {
		status = verb_walk_replayed(r, o);
		damaged = replay_damage(r)[0];
		replay_free(r);
		return damaged ? EXIT_DAMAGED : status;
	}
	if (!report.op) {
		fprintf(stderr,
			"peaktop: %s: the session contains no descent; record one with peaktop "
			"descend TARGET -f OP -o FILE\n",
			o->files[0]);
		replay_free(r);
		return EXIT_NO_ANSWER;
	}
	err = print_answer(&report, o);
	status = answer_status(&report, true);
	damaged = replay_damage(r)[0];
	replay_free(r);
	return damaged ? EXIT_DAMAGED : err ? output_status(err) : status;
}

struct descend_report descend_report_of(struct replay *r)
{
	const struct rec_descent *ask = descend_asked(replay_descend(r));

	return (struct descend_report){
	    .model = replay_model(r), .descend = replay_descend(r), .op = ask ? ask->op : 0};
}

int verb_descend(struct options *o)
{
	const char *why;

	if (o->nr_files && !o->nr_pids && !o->name && !o->command)
		return descend_file(o);
	if (o->open)
		return verb_open(o);
	if (!o->nr_ops)
		return verb_walk(o);
	why = refusal(o);
	if (!why)
		return descend_live(o);
	verb_complain(why);
	return EXIT_USAGE;
}
