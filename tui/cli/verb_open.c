// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/verb_open.h"

#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/engine/front.h"
#include "tui/engine/walker.h"
#include "tui/report/output_open.h"

static bool until(struct front *f, uint64_t end)
{
	const struct progress p = {.text = "descend: taking the stacks of all threads", .done = -1};

	verb_messages(f);
	if (progress_due(now_ns()))
		progress_show(&p, now_ns());
	return !front_over(f) && now_ns() < end;
}

static void take_snapshots_now(struct front *f, struct open_report *r, const struct options *o)
{
	uint64_t end = now_ns() + (uint64_t)(o->question.timeout_s * 1e9);
	uint32_t round;

	while (!front_ready(f) && !front_nothing_to_do(f) && until(f, end))
		verb_turn(f);
	if (!front_ready(f) || !front_found(f, &r->ask.function))
		return;
	front_ask_open(f, &(struct rec_open_ask){.requested = r->what ? r->what : "",
						 .syscall = r->ask.syscall ? r->ask.syscall : "",
						 .function = r->ask.function});
	round = front_take_snapshots(f, 0);
	while (!front_snapshots_complete(f, round) && until(f, end))
		verb_turn(f);
	while (!walker_names_open(front_walker(f), r->calls) && until(f, end))
		verb_turn(f);
}

/* One line about an option that --open does not support; NULL: all are supported. */
static const char *refusal(const struct options *o)
{
	enum op_kind kind = o->nr_ops ? o->ops[0].kind : OP_FUNCTION;

	if (o->nr_ops > 1 || (kind != OP_FUNCTION && kind != OP_OFFSET && kind != OP_SYSCALL))
		return "descend --open: -f must be one function or one syscall:NAME; leave -f out "
		       "to see all threads";
	if (o->command)
		return "descend --open shows a running process: give -p PID or -n NAME, not -- CMD";
	return NULL;
}

static int print_answer(const struct open_report *r, const struct options *o, bool nothing)
{
	struct output_options oo = verb_output(o);

	if (!model_meta(r->model))
		return 0;
	if (o->json || o->json_lines)
		return output_open_json(r, &oo, stdout);
	/* no target: the message already gave the reason */
	return !model_nr_targets(r->model) || nothing ? 0 : output_open_text(r, &oo, stdout);
}

int verb_open(struct options *o)
{
	struct front_options fo = {.options = o, .record = o->output};
	struct open_report r = {.what = o->nr_ops ? o->ops[0].text : NULL};
	const char *line = refusal(o);
	struct front *f;
	int status, err;

	if (line) {
		verb_complain(line);
		return EXIT_USAGE;
	}
	status = verb_start(&f, o, &fo);
	if (status)
		return status;
	r.model = front_model(f);
	r.names = front_driver(f);
	r.calls = front_open_calls(f);
	if (o->nr_ops && o->ops[0].kind == OP_SYSCALL)
		r.ask.syscall = o->ops[0].name;
	take_snapshots_now(f, &r, o);
	progress_erase();
	verb_messages(f);
	verb_end(f);
	status = verb_failure(f);
	if (!status && (front_nothing_to_do(f) || !open_report_nr(&r)))
		status = EXIT_NO_ANSWER;
	err = print_answer(&r, o, front_nothing_to_do(f));
	return verb_leave(f, o, status, err);
}

struct open_report open_report_of(struct replay *r)
{
	const struct rec_open_ask *ask = open_calls_asked(replay_open_calls(r));
	struct open_report report = {
	    .model = replay_model(r), .names = replay_driver(r), .calls = replay_open_calls(r)};

	if (!ask)
		return report;
	report.what = ask->requested[0] ? ask->requested : NULL;
	report.ask.function = ask->function;
	report.ask.syscall = ask->syscall[0] ? ask->syscall : NULL;
	return report;
}

int verb_open_replayed(struct replay *r, const struct options *o)
{
	struct open_report report = open_report_of(r);
	int err = print_answer(&report, o, false);

	if (err)
		return output_status(err);
	return open_report_nr(&report) ? EXIT_ANSWERED : EXIT_NO_ANSWER;
}
