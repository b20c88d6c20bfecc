// SPDX-License-Identifier: GPL-2.0-or-later
/* The verb descend -f: measure a start profile, choose the peak, or the parts of all time, run the
 * descents, print the answer. */
#include <limits.h>

#include "analysis/base/format.h"
#include "analysis/descent/choose.h"
#include "tui/cli/descend_explain.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/verb_descend.h"
#include "tui/cli/verb_open.h"
#include "tui/cli/verb_resume.h"
#include "tui/cli/verb_walk.h"
#include "tui/cli/verbs.h"
#include "tui/engine/descent_tracing.h"
#include "tui/engine/descent_whole.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output_descend_parts.h"

enum { NAMES_MS = 20000 };

struct descend_run {
	struct front *front;
	struct descent_driver *driver;
	const struct options *options;
	struct descend_report report;
	struct verb_loop loop;
	uint64_t began_ns;
	unsigned int decisions, rounds; /* when the last line was printed */
	struct choose_progress progress;
	struct descent_whole whole;
	struct descent_tracing tracing;
	struct saved_descent *saved; /* the descent that goes on; NULL: a new one */
	struct saved_descent *anew;  /* the one of which the question is asked anew; NULL: none */
	char refused[RESUME_WHY];    /* why it cannot go on with this target; "" */
};

/* A descent begins. */
static void descent_begins(struct descend_run *r)
{
	r->decisions = r->rounds = UINT_MAX; /* print a line for it */
	r->tracing = (struct descent_tracing){.stage = TRACING_NOT_YET};
}

static int begin_first(struct descend_run *r, const struct rec_descent *ask, uint64_t now)
{
	descent_begins(r);
	return descent_whole_begin(&r->whole, r->driver, ask, now);
}

/* Put what the user asked into the session: it can be resumed even if the descent never begins. */
static void ask_once(struct descend_run *r)
{
	if (driver_question(r->driver))
		return;
	driver_ask_question(r->driver, r->report.op, &r->options->question);
	if (r->anew)
		saved_descent_notes(r->anew, r->front);
}

/* Begin the descent if enough calls were seen. False: it cannot begin at all. */
static bool try_begin(struct descend_run *r, uint64_t now)
{
	double waited = (double)(now - r->began_ns) / 1e9;
	struct rec_descent ask;
	int err;

	if (!r->report.op)
		r->report.op = verb_op_of(r->report.model, r->options);
	if (!r->report.op)
		return true;
	if (r->saved) {
		descent_begins(r);
		descent_whole_divide(&r->whole, 0, now);
		err =
		    resume_begin(r->saved, r->front, r->options, r->report.op, waited, r->refused);
		if (!err && !driver_over(r->driver))
			front_recording_keep(r->front);
		return err != -ENOEXEC;
	}
	ask_once(r);
	err = choose_whole(r->report.model, r->report.op, &r->options->question, waited,
			   &r->whole.parts, &ask);
	if (err == -EAGAIN)
		return true;
	if (err == -ENOENT) {
		r->report.no_such_peak = true;
		return false;
	}
	err = begin_first(r, &ask, now);
	if (!err)
		front_recording_keep(r->front);
	else
		verb_complain(
		    "descend: the cause of this peak cannot be found, because the module of its "
		    "function or its range of latencies is not known; run it again, or name the "
		    "function with -f");
	return !err;
}

/* If the user did not choose the peak and its calls have moved to other latencies, change the
 * descent to the peak that is largest now. */
static void begin_again(struct descend_run *r, uint64_t now)
{
	const struct rec_descent *asked = driver_asked(r->driver);
	struct descent_progress p;
	struct choose_plan plan;

	if (driver_over(r->driver) || r->saved || asked->part > parts_next(&r->whole.parts.all, 0))
		return;
	descent_progress(driver_descent(r->driver), &p);
	if (choose_again(r->report.model, &r->options->question, asked,
			 (struct choose_progress){p.calls_used, now}, &r->progress, &plan)) {
		r->whole.parts = plan.parts;
		begin_first(r, &plan.ask, now);
	}
}

/* The descent is over. If the calls that it chose only waited for a CPU, go on to a peak, as long
 * as there is time for that. True: it goes on. */
static bool turn_to_peak(struct descend_run *r, uint64_t now)
{
	const struct rec_descent *asked = driver_asked(r->driver);
	uint64_t timeout = (uint64_t)(r->options->question.timeout_s * 1e9);
	struct descent_result found;
	struct rec_descent ask;
	bool turns;

	if (r->saved || asked->part || driver_waited(r->driver) ||
	    now - r->began_ns > timeout / 2 || report_result(&r->report, &found))
		return false;
	turns = choose_instead(r->report.model, &r->options->question, asked, &found, &ask);
	descent_result_release(&found);
	if (!turns)
		return false;
	return !begin_first(r, &ask, now);
}

/* The descent into a part is over: begin the next one. False: there is none, or no time for it. */
static bool begin_next(struct descend_run *r, uint64_t now)
{
	if (!descent_whole_next(&r->whole, r->driver, r->report.model, now))
		return false;
	descent_begins(r);
	return true;
}

static void print_state(void *ctx)
{
	const struct descend_run *r = ctx;
	struct output_options oo = {.resolution = r->options->resolution};

	output_state_head(r->report.model, now_ns(), stderr);
	output_descend_text(&r->report, &oo, stderr);
}

/* --json-lines: print a line for each round and each decision. False: the output failed. */
static bool print_progress(struct descend_run *r)
{
	struct output_options oo = verb_output(r->options);
	struct descent_progress p;

	if (!r->options->json_lines)
		return true;
	descent_progress(driver_descent(r->driver), &p);
	if (p.decisions == r->decisions && p.rounds == r->rounds)
		return true;
	r->decisions = p.decisions;
	r->rounds = p.rounds;
	return !output_descend_json(&r->report, &oo, stdout);
}

/* Text: print the rows of the parts that are over, once their names are known. False: the output
 * failed. */
static bool print_parts(struct descend_run *r)
{
	struct output_options oo = verb_output(r->options);

	if (r->options->json || r->options->json_lines || !report_has_parts(&r->report) ||
	    driver_asked(r->driver)->part <= r->report.rows_printed)
		return true;
	progress_erase();
	return !output_descend_begin(&r->report, &oo, stdout);
}

/* How many calls must be seen before the descent begins. */
static unsigned int calls_needed(const struct descend_run *r)
{
	return r->saved ? resume_start_ops(r->saved, r->options) : r->options->question.start_ops;
}

static void describe(void *ctx, uint64_t now, struct buf *text, struct progress *p)
{
	const struct descend_run *r = ctx;
	const struct options *o = r->options;
	const struct op *op = model_op_by_number(r->report.model, r->report.op);
	struct descent_progress d;

	buf_puts(text, r->saved ? "resume: " : "descend: ");
	if (!r->began_ns) {
		buf_printf(text, "looking for %s and attaching probes", o->ops[0].text);
		return;
	}
	progress_of_time(p, now - r->began_ns, (uint64_t)(o->question.timeout_s * 1e9));
	p->left_at_most = true;
	if (!driver_asked(r->driver)) {
		buf_printf(text, "%s: saw %s calls of %s (%u needed)",
			   r->saved ? "comparing latencies" : "choosing the peak",
			   format_count(op ? op->seen_calls : 0).s, o->ops[0].text,
			   calls_needed(r));
		return;
	}
	if (r->tracing.stage) {
		buf_puts(text, "tracing for whom these calls wait");
		return;
	}
	descent_progress(driver_descent(r->driver), &d);
	buf_puts(text, "finding the cause");
	if (report_has_parts(&r->report))
		buf_printf(text, " of part %u of %u", driver_asked(r->driver)->part,
			   r->whole.parts.all.nr_parts);
	buf_printf(text, ": measured %s of its calls, probed %u %s", format_count(d.calls_used).s,
		   d.rounds, d.rounds == 1 ? "time" : "times");
}

/* The descent is over: find for whom its calls wait. False: there is nothing left to do. */
static bool trace_waits(struct descend_run *r, uint64_t now)
{
	/* waits are traced from the threads of a target on */
	if (r->options->host)
		return false;
	r->report.waits = wait_driver_of_descent(front_waits(r->front));
	return descent_tracing_turn(&r->tracing, r->front, now,
				    r->whole.until_ns > now ? r->whole.until_ns - now : 0);
}

/* A turn after the descent has begun. False: the measurement is over. */
static bool descent_turn(struct descend_run *r, int ticks, uint64_t now)
{
	if (driver_names(r->driver) && !print_parts(r))
		return false;
	if (!print_progress(r))
		return false;
	if (driver_over(r->driver))
		return turn_to_peak(r, now) || trace_waits(r, now) || begin_next(r, now);
	if (ticks > 0)
		begin_again(r, now);
	if (now < r->whole.until_ns)
		return true;
	driver_stop(r->driver);
	return begin_next(r, now);
}

static void begin_time(struct descend_run *r, uint64_t now)
{
	r->began_ns = now;
	r->whole.end_ns = now + (uint64_t)(r->options->question.timeout_s * 1e9);
}

static bool run_turn(void *ctx, int ticks, uint64_t now)
{
	struct descend_run *r = ctx;

	if (r->loop.interrupted || front_nothing_to_do(r->front))
		return false;
	if (front_ready(r->front) && !r->began_ns)
		begin_time(r, now);
	if (!r->began_ns)
		return true;
	if (ticks > 0 && !driver_asked(r->driver) && !try_begin(r, now))
		return false;
	return driver_asked(r->driver) ? descent_turn(r, ticks, now) : now < r->whole.end_ns;
}

/* Wait for the names in the answer, then end the measurement in order. */
static void run_end(struct descend_run *r)
{
	uint64_t until = now_ns() + NAMES_MS * 1000000ull;

	struct progress p = {.text = r->saved ? "resume: looking up names"
					      : "descend: looking up names",
			     .done = -1};

	progress_show(&p, now_ns());
	front_settle(r->front);
	verb_messages(r->front);
	driver_stop(r->driver);
	descent_tracing_stop(&r->tracing, r->front);
	while ((!driver_names(r->driver) || !wait_driver_names(front_waits(r->front))) &&
	       now_ns() < until)
		verb_turn(r->front);
	verb_end(r->front);
	r->report.waits = wait_driver_of_descent(front_waits(r->front));
	progress_erase();
}

static int print_answer(const struct descend_report *report, const struct options *o)
{
	struct output_options oo = verb_output(o);

	if (!model_meta(report->model))
		return 0;
	if (o->json || o->json_lines)
		return output_descend_json(report, &oo, stdout);
	/* no target: the message already gave the reason */
	return !model_nr_targets(report->model) ? 0 : output_descend_text(report, &oo, stdout);
}

/* One line about an option that this verb does not support; NULL: all are supported. */
static const char *refusal(const struct options *o)
{
	if (o->nr_ops > 1)
		return "descend: more than one -f given; give one";
	switch (o->ops[0].kind) {
	case OP_FUNCTION:
	case OP_OFFSET:
	case OP_SYSCALL:
	case OP_KERNEL:
		break;
	default:
		return "descend: -f must be a function of the program or its libraries, "
		       "syscall:NAME or kernel:FUNC; descending into block, lock, "
		       "runqueue, net and io_uring is not supported";
	}
	if ((o->question.peak || o->question.peak_high_ns) && o->question.slowest > 0)
		return "descend: --peak and --slowest cannot be combined; give one of them";
	return NULL;
}

int verb_descend_live(struct options *o, const struct buf *saved)
{
	struct front_options fo = {.options = o, .record = o->output, .provisional = saved != NULL};
	struct saved_descent *resumed = NULL;
	struct descend_run r = {.options = o};
	int status, err;

	fo.descends = true;
	r.loop = (struct verb_loop){.signals = verb_signals(),
				    .ctx = &r,
				    .describe = describe,
				    .print_state = print_state,
				    .turn = run_turn};
	status = verb_start(&r.front, o, &fo);
	if (status)
		return status;
	r.driver = front_driver(r.front);
	if (saved)
		resumed = saved_descent_new(saved->data, saved->len);
	if (saved && !resumed) {
		verb_complain("resume: the saved descent cannot be read");
		verb_free(r.front);
		return EXIT_DAMAGED;
	}
	/* one that had not begun begins as a new one does, in the same program */
	r.saved = resumed && saved_descent_asked(resumed) ? resumed : NULL;
	r.anew = r.saved ? NULL : resumed;
	if (resumed)
		resume_question(resumed, o);
	front_resume(r.front, resumed);
	wait_driver_configure(front_waits(r.front),
			      &(struct waits_config){.no_chains = true, .no_critical = true});
	r.report = (struct descend_report){.model = front_model(r.front),
					   .driver = r.driver,
					   .wanted_peak = o->question.peak,
					   .wanted_low_ns = o->question.peak_low_ns,
					   .wanted_high_ns = o->question.peak_high_ns,
					   .slowest = o->question.slowest,
					   .asked = o->ops[0].text,
					   .part_waits = front_waits(r.front)};
	r.loop.front = r.front;
	verb_loop(&r.loop);
	run_end(&r);
	status = verb_failure(r.front);
	if (r.saved && r.refused[0]) {
		verb_complain(r.refused);
		saved_descent_free(resumed);
		verb_free(r.front);
		return EXIT_USAGE;
	}
	if (!status) {
		status = descend_status(&r.report, o->command != NULL);
		if (status && !front_nothing_to_do(r.front))
			descend_explain(
			    &(struct descend_end){.report = report_first_part(&r.report),
						  .front = r.front,
						  .options = o,
						  .needed = calls_needed(&r),
						  .resumes = r.saved != NULL});
	}
	/* nothing of a target that was refused */
	err = status <= EXIT_NO_ANSWER && (!front_nothing_to_do(r.front) || o->json)
		  ? print_answer(&r.report, o)
		  : 0;
	saved_descent_free(resumed);
	return verb_leave(r.front, o, status, err);
}

/* A session without a descent: say so. If it is damaged, which was said, the descent may have been
 * in what is lost: show the profiles that are intact. Returns 0 or a negative errno. */
static int no_descent(struct replay *r, const struct options *o)
{
	struct output_options oo = verb_output(o);

	if (replay_damage(r)[0])
		return o->json || o->json_lines ? output_watch_json(replay_model(r), &oo, stdout)
						: output_watch_text(replay_model(r), &oo, stdout);
	fprintf(stderr,
		"peaktop: %s: the session contains no descent; record one with peaktop descend "
		"TARGET -f OP -o FILE\n",
		o->files[0]);
	return 0;
}

/* The descent of a session never began: say why, as the live one did. */
static void never_began(struct replay *r, struct descend_report *report, const struct options *o)
{
	const struct rec_question *asked = driver_question(replay_driver(r));
	struct descent_question q = {0}; /* without a timeout: this was the last chance */
	struct rec_descent ask;
	const struct op *op;

	report->op = asked->op;
	if (replay_damage(r)[0])
		return;
	question_of_record(asked, &q);
	op = model_op_by_number(report->model, asked->op);
	report->no_such_peak = op && op->seen_calls >= q.start_ops &&
			       choose_descent(report->model, asked->op, &q, 1, &ask) == -ENOENT;
	fprintf(stderr, "peaktop: %s: %s; begin it with peaktop resume FILE TARGET\n", o->files[0],
		report->no_such_peak ? "the descent never began, because there is no such peak"
				     : "not enough calls: the descent never began");
}

/* Replay a recorded descent: compute its answer again from the records. */
static int descend_file(struct options *o)
{
	struct descend_report report;
	struct replay *r = NULL;
	int status, err;

	progress_begin(o);
	status = replay_whole(&r, o->files[0]);
	if (status)
		return status;
	replay_options(o, r);
	report = descend_report_of(r);
	if (!report.op && walker_asked(replay_walker(r)))
		return replay_leave(r, verb_killed(report.model, verb_walk_replayed(r, o)), 0);
	if (!report.op && open_calls_asked(replay_open_calls(r)))
		return replay_leave(r, verb_killed(report.model, verb_open_replayed(r, o)), 0);
	if (!report.op && !driver_question(replay_driver(r)))
		return replay_leave(r, EXIT_NO_ANSWER, no_descent(r, o));
	if (!report.op)
		never_began(r, &report, o);
	err = print_answer(&report, o);
	status = verb_killed(report.model, descend_status(&report, true));
	return replay_leave(r, status, err);
}

struct descend_report descend_report_of(struct replay *r)
{
	const struct rec_descent *ask = driver_asked(replay_driver(r));

	return (struct descend_report){.model = replay_model(r),
				       .driver = replay_driver(r),
				       .ended = true,
				       .op = ask ? ask->op : 0,
				       .waits = wait_driver_of_descent(replay_waits(r)),
				       .part_waits = replay_waits(r)};
}

int verb_descend(struct options *o)
{
	const char *why;

	if (o->nr_files)
		return descend_file(o);
	if (o->open)
		return verb_open(o);
	if (!o->nr_ops)
		return verb_walk(o);
	why = refusal(o);
	if (!why)
		return verb_descend_live(o, NULL);
	verb_complain(why);
	return EXIT_USAGE;
}
