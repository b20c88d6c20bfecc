// SPDX-License-Identifier: GPL-2.0-or-later
/* The verbs chains and critical: for whom the target waits. */

#include "analysis/descent/choose.h"
#include "tui/cli/command_line.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output_timeline.h"
#include "tui/report/output_waits.h"

enum { DEFAULT_FOR_S = 5, NAMES_MS = 500, END_MS = 10000, SETTLE_MS = 20000, SLICES = 2 };
#define MS 1000000ull

/* Which calls --of and --peak mean. */
struct waits_call_choice {
	bool made;
	bool told; /* to the stream */
	bool no_such_peak;
	uint64_t since_ns; /* when probes were in place; 0: not yet */
	uint32_t op;
	uint64_t low_ns, high_ns;
};

struct waits_run {
	struct front *front;
	const struct options *options;
	struct verb_loop loop;
	double for_s;			/* 0: until the command has ended, or Ctrl-C */
	uint64_t began_ns;		/* when the collector began to trace; 0: not yet */
	uint64_t names_ns, reported_ns; /* last request for names, last line of --json-lines */
	int output_error;		/* negative errno of a failed write; 0: none */
	struct waits_call_choice choice;
};

static struct wait_report report_of(const struct waits_run *r)
{
	return (struct wait_report){.model = front_model(r->front),
				    .live = true,
				    .names = front_driver(r->front),
				    .waits = wait_driver_waits(front_waits(r->front)),
				    .stacks_dropped = front_traces_dropped(r->front)};
}

typedef int chains_fn(const struct wait_report *r, const struct output_options *o, FILE *f);

static int timeline_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	return output_timeline_text(r, &(struct timeline_ask){.span_ns = 0}, o, NULL, f);
}

static int folded_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	return r->waits ? output_chains_folded(r, f) : 0;
}

/* The function that prints the view with this name (--view); NULL if there is none. */
static chains_fn *chains_view(const char *name)
{
	static const struct {
		const char *name;
		chains_fn *fn;
	} views[] = {{"tree", output_chains_text},
		     {"accounting", output_account_text},
		     {"timeline", timeline_text},
		     {"flame", output_flame_text},
		     {"folded", folded_text}};

	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (!strcmp(name ? name : "tree", views[i].name))
			return views[i].fn;
	}
	return NULL;
}

static int print_answer(const struct wait_report *report, const struct options *o)
{
	struct output_options oo = verb_output(o);
	bool json = o->json || o->json_lines;

	if (!model_meta(report->model))
		return 0;
	if (o->verb == VERB_CRITICAL)
		return json ? output_critical_json(report, &oo, stdout)
			    : output_critical_text(report, &oo, stdout);
	return json ? output_chains_json(report, &oo, stdout)
		    : chains_view(o->view)(report, &oo, stdout);
}

static void print_state(void *ctx)
{
	const struct waits_run *r = ctx;
	struct wait_report report = report_of(r);
	struct output_options oo = {.ascii = r->options->ascii};

	output_state_head(report.model, now_ns(), stderr);
	if (r->options->verb == VERB_CRITICAL)
		output_critical_text(&report, &oo, stderr);
	else
		output_chains_text(&report, &oo, stderr);
}

static bool names_peak(const struct options *o)
{
	return o->question.peak || o->question.peak_high_ns;
}

/* False: there is no such peak. */
static bool choose(struct waits_call_choice *c, struct model *m, const struct options *o,
		   double waited_s)
{
	struct rec_descent ask;
	int err;

	if (!c->op)
		c->op = verb_op_of(m, o);
	if (!c->op || c->made)
		return true;
	c->high_ns = UINT64_MAX;
	if (names_peak(o)) {
		err = choose_descent(m, c->op, &o->question, waited_s, &ask);
		c->no_such_peak = err == -ENOENT;
		if (err)
			return err == -EAGAIN;
		c->low_ns = ask.low_ns;
		c->high_ns = ask.high_ns;
	}
	c->made = true;
	return true;
}

/* With --peak: watch the operation until its peaks are known. False: there is nothing to wait for
 * any more. */
static bool choose_turn(void *ctx, int ticks, uint64_t now)
{
	struct waits_run *r = ctx;
	struct waits_call_choice *c = &r->choice;
	const char *line;

	if (r->loop.interrupted || front_failure(r->front, &line) || front_nothing_to_do(r->front))
		return false;
	if (front_ready(r->front) && !c->since_ns)
		c->since_ns = now;
	if (!c->since_ns || ticks <= 0)
		return true;
	return choose(c, front_model(r->front), r->options, (double)(now - c->since_ns) / 1e9) &&
	       !c->made && now - c->since_ns < (uint64_t)(r->options->question.timeout_s * 1e9);
}

/* Put into the stream which calls are followed, so that a replay follows the same ones. */
static void tell_choice(struct waits_run *r)
{
	const struct options *o = r->options;
	struct waits_call_choice *c = &r->choice;
	const struct rec_followed calls = {.requested = o->ops[0].text,
					   .op = c->op,
					   .low_ns = c->low_ns,
					   .high_ns = c->high_ns,
					   .peak = (uint32_t)o->question.peak,
					   .peak_low_ns = o->question.peak_low_ns,
					   .peak_high_ns = o->question.peak_high_ns};

	wait_driver_follow(front_waits(r->front), &calls);
	c->told = c->made;
}

/* Without --peak, the operation may get its number after the tracing has begun. */
static void limit_calls(struct waits_run *r)
{
	struct waits_call_choice *c = &r->choice;

	if (r->options->nr_ops && !c->told &&
	    choose(c, front_model(r->front), r->options, r->options->question.timeout_s) && c->made)
		tell_choice(r);
}

static void describe(void *ctx, uint64_t now, struct buf *text, struct progress *p)
{
	const struct waits_run *r = ctx;

	buf_printf(text, "%s: %s", r->options->verb == VERB_CRITICAL ? "critical" : "chains",
		   r->began_ns		? "observing who waits for whom"
		   : r->choice.since_ns ? "waiting for enough calls to choose the peak"
					: "starting");
	if (r->began_ns && r->for_s > 0)
		progress_of_time(p, now - r->began_ns, (uint64_t)(r->for_s * 1e9));
}

static bool run_turn(void *ctx, int ticks, uint64_t now)
{
	struct waits_run *r = ctx;
	struct wait_report report;
	const char *line;

	if (r->loop.interrupted || r->output_error || front_failure(r->front, &line) ||
	    (r->options->nr_ops && front_nothing_to_do(r->front)))
		return false;
	limit_calls(r);
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
	struct waits_run *r = ctx;
	const char *line;

	if (r->loop.interrupted || front_failure(r->front, &line))
		return false;
	return !model_nr_targets(front_model(r->front));
}

/* Wait for the end of the window, the stacks and the names in the answer, then end in order. */
static void run_end(struct waits_run *r)
{
	uint64_t until = now_ns() + END_MS * MS;
	struct progress p = {.text = "unwinding stacks and looking up names", .done = -1};
	int slices = 0;

	progress_show(&p, now_ns());
	front_waits_end(r->front);
	while (!front_waits_ended(r->front) && now_ns() < until)
		verb_turn(r->front);
	/* the samples of the last calls come at the end of a slice */
	while (r->options->nr_ops && r->choice.made && slices < SLICES && !front_over(r->front) &&
	       now_ns() < until)
		slices += front_turn(r->front, NULL, 0, NAMES_MS);
	if (wait_driver_waits(front_waits(r->front)))
		waits_flush(wait_driver_waits(front_waits(r->front)));
	until = now_ns() + SETTLE_MS * MS;
	while (front_traces_pending(r->front) && now_ns() < until)
		verb_turn(r->front);
	while (!wait_driver_names(front_waits(r->front)) && now_ns() < until)
		verb_turn(r->front);
	verb_end(r->front);
	progress_erase();
}

static bool is_answered(const struct wait_report *report, const struct options *o)
{
	struct waits_stats stats;
	struct waits_calls calls;

	if (!report->waits)
		return false;
	waits_stats(report->waits, &stats);
	waits_calls(report->waits, &calls);
	return stats.observed_ns > 0 && (!o->nr_ops || calls.followed);
}

/* Why no call of --of was followed. */
static void explain_calls(const struct wait_report *report, const struct options *o,
			  const struct waits_call_choice *c)
{
	struct waits_calls calls = {0};
	const struct op *op = model_op_by_number(report->model, c->op);
	char line[512];

	if (report->waits)
		waits_calls(report->waits, &calls);
	if (c->no_such_peak)
		snprintf(line, sizeof(line),
			 "no answer: %s has no peak as --peak says; peaktop watch -f %s lists its "
			 "peaks",
			 o->ops[0].text, o->ops[0].text);
	else if (!c->made && names_peak(o))
		snprintf(line, sizeof(line),
			 "no answer: %s had %llu calls, too few to choose the peak; give "
			 "--peak as a range of latencies",
			 o->ops[0].text, (unsigned long long)(op ? op->seen_calls : 0));
	else if (!calls.sampled)
		snprintf(line, sizeof(line),
			 "no answer: no call of %s%s ended while waits were traced; try a longer "
			 "--for",
			 o->ops[0].text, names_peak(o) ? " with this latency" : "");
	else
		snprintf(line, sizeof(line),
			 "no answer: none of the %llu sampled calls of %s lay within a window of "
			 "observation; try a longer --for or a larger --max-overhead",
			 (unsigned long long)calls.sampled, o->ops[0].text);
	verb_complain(line);
}

static int answer_status(const struct wait_report *report, const struct options *o,
			 const struct waits_call_choice *c)
{
	if (is_answered(report, o))
		return EXIT_ANSWERED;
	if (o->nr_ops && (report->waits || !o->nr_files))
		explain_calls(report, o, c);
	else
		verb_complain(o->nr_files
				  ? "no answer: this session has no records of waits; record some "
				    "with peaktop chains TARGET -o FILE"
				  : "no answer: the target ended, or peaktop was stopped, before a "
				    "wait was observed; try a longer --for");
	return EXIT_NO_ANSWER;
}

/* Analyse only what the verb shows. A recorded stream gets names for both, and its replay analyses
 * both, so that it gives the same document. */
static struct waits_config config_of(const struct options *o)
{
	bool deficit = o->view && !strcmp(o->view, "accounting");
	bool recorded = o->output || o->nr_files;

	return (struct waits_config){.rsp_compat = o->rsp_compat,
				     .group = o->per_process ? WAITS_BY_PROCESS : WAITS_BY_THREAD,
				     .no_critical = o->verb == VERB_CHAINS && !recorded && !deficit,
				     .no_chains = o->verb == VERB_CRITICAL && !recorded};
}

/* True if the session followed the calls that the options ask about, so that its limits hold. */
static bool is_same_choice(const struct rec_followed *f, const struct options *o)
{
	const struct descent_question *q = &o->question;

	return f && !strcmp(f->requested, o->ops[0].text) && f->peak == (uint32_t)q->peak &&
	       f->peak_low_ns == q->peak_low_ns && f->peak_high_ns == q->peak_high_ns;
}

/* Without --of: ask about the calls that the session followed. 0, or a negative errno after the
 * error was printed. */
static int options_follow(struct options *o, const struct rec_followed *f)
{
	char error[512];
	int err = op_spec_parse(&o->ops[0], f->requested, error, sizeof(error));

	o->question.peak = (int)f->peak;
	o->question.peak_low_ns = f->peak_low_ns;
	o->question.peak_high_ns = f->peak_high_ns;
	o->nr_ops = 1;
	if (err)
		verb_complain(error);
	return err;
}

/* Read the session, whose limits of calls hold if --of and --peak are those of its recording, or
 * are not given. Else choose the calls from the whole session, and read it once more. */
static int read_choice(struct replay **r, struct options *o, struct waits_call_choice *c)
{
	struct waits_config config = config_of(o);
	const struct rec_followed *f;
	int status = replay_whole_waits(r, o->files[0], &config);

	if (status)
		return status;
	f = wait_driver_followed(replay_waits(*r));
	if (f && !o->nr_ops && options_follow(o, f))
		return replay_leave(*r, EXIT_DAMAGED, 0);
	if (!o->nr_ops)
		return 0;
	if (is_same_choice(f, o)) {
		c->made = f->op != 0;
		c->op = f->op;
		return 0;
	}
	choose(c, replay_model(*r), o, o->question.timeout_s);
	replay_free(*r);
	config.calls_only = true;
	config.calls_of = c->op;
	config.calls_low_ns = c->low_ns;
	config.calls_high_ns = c->high_ns;
	return replay_whole_waits(r, o->files[0], &config);
}

static int waits_of_file(struct options *o)
{
	struct waits_call_choice choice = {.made = false};
	struct wait_report report;
	struct replay *r = NULL;
	int err, status = read_choice(&r, o, &choice);

	if (status)
		return status;
	replay_options(o, r);
	report = wait_report_of(r);
	if (report.waits)
		waits_flush(report.waits);
	err = print_answer(&report, o);
	status = replay_damage(r)[0] ? EXIT_DAMAGED : answer_status(&report, o, &choice);
	status = verb_killed(report.model, status);
	return replay_leave(r, status, err);
}

/* One line about an option that these verbs cannot use; NULL: all can be. */
static const char *refusal(const struct options *o)
{
	enum op_kind kind = o->ops[0].kind;

	if (!chains_view(o->view))
		return "--view must be tree, accounting, timeline, flame or folded";
	if (o->verb == VERB_CRITICAL && (o->view || o->per_process))
		return "--view and --per-process belong to the verb chains";
	if (!o->nr_ops)
		return names_peak(o) ? "--peak needs --of: name the operation whose peak is meant"
				     : NULL;
	if (o->nr_ops > 1)
		return "--of was given more than once; chains and critical follow the calls of one "
		       "operation";
	return kind == OP_FUNCTION || kind == OP_OFFSET || kind == OP_SYSCALL
		   ? NULL
		   : "--of must be a function of the program or its libraries, or syscall:NAME, "
		     "for "
		     "chains and critical";
}

int verb_waits(struct options *o)
{
	struct front_options fo = {.options = o, .record = o->output};
	struct waits_run r = {.options = o,
			      .for_s = o->for_s > 0 ? o->for_s
				       : o->command ? 0
						    : DEFAULT_FOR_S};
	struct waits_config config = config_of(o);
	struct wait_report report;
	int status, err;

	if (refusal(o)) {
		verb_complain(refusal(o));
		return EXIT_USAGE;
	}
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
	if (names_peak(o)) {
		r.loop.turn = choose_turn;
		verb_loop(&r.loop);
	}
	if (o->nr_ops && (r.choice.made || !names_peak(o)))
		tell_choice(&r);
	if (!front_over(r.front) && (r.choice.made || !names_peak(o)) &&
	    front_waits_begin(r.front)) {
		r.loop.turn = run_turn;
		verb_loop(&r.loop);
	}
	run_end(&r);
	report = report_of(&r);
	status = verb_failure(r.front);
	if (!status)
		status = answer_status(&report, o, &r.choice);
	err = r.output_error;
	if (!err && (!status || o->json || o->json_lines))
		err = print_answer(&report, o);
	return verb_leave(r.front, o, status, err);
}
