// SPDX-License-Identifier: GPL-2.0-or-later
/* The common parts of the verbs that measure: start, messages, end. */
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "analysis/latency/target_end.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/target.h"
#include "tui/cli/usage.h"
#include "tui/cli/verbs.h"
#include "tui/report/output_descend.h"
#include "tui/report/sanitise.h"

enum { TURN_MS = 50, PROGRESS_BYTES = 4096 };

void verb_complain(const char *line)
{
	char safe[4096];

	progress_erase();
	fprintf(stderr, "peaktop: %s\n", sanitise(safe, sizeof(safe), line));
}

void verb_free(struct front *f)
{
	pid_t left = front_free(f);

	if (left)
		fprintf(
		    stderr,
		    "peaktop: the kernel has not removed all probes yet; the collector (process "
		    "%d) waits for this and then ends by itself\n",
		    (int)left);
}

int verb_failure(struct front *f)
{
	const char *line;
	int status = front_failure(f, &line);

	if (status)
		verb_complain(line);
	return status;
}

bool verb_death(const struct model *m, size_t *next, struct buf *line)
{
	while (*next < model_nr_targets(m)) {
		const struct rec_target *t = model_target(m, *next);
		const struct rec_target_end *end = model_target_end(m, (*next)++);

		if (!t->requested || !end || !target_end_is_death(end))
			continue;
		buf_reset(line);
		target_end_words(line, t, end);
		return line->data != NULL;
	}
	return false;
}

int verb_killed(const struct model *m, int status)
{
	SCOPED_BUF(line, 4096);
	size_t next = 0;

	while (verb_death(m, &next, &line)) {
		verb_complain(line.data);
		status = status == EXIT_ANSWERED ? EXIT_NO_ANSWER : status;
	}
	return status;
}

int verb_leave(struct front *f, const struct options *o, int status, int err)
{
	int unsaved = o->output ? front_recording_close(f) : 0;

	if (unsaved && front_recording_stopped(f)) /* which was said */
		status = status ? status : EXIT_NO_ANSWER;
	else if (!err)
		err = unsaved;
	status = verb_killed(front_model(f), status);
	verb_free(f);
	return status ? status : output_status(err);
}

struct output_options verb_output(const struct options *o)
{
	return (struct output_options){
	    .resolution = o->resolution, .ascii = o->ascii, .json_lines = o->json_lines};
}

int output_status(int err)
{
	if (!err || err == -EPIPE)
		return EXIT_ANSWERED;
	fprintf(stderr, "peaktop: cannot write the output: %s\n", strerror(-err));
	return EXIT_NO_ANSWER;
}

int verb_help(enum verb verb)
{
	SCOPED_BUF(text, 1 << 16);
	int err = usage_text(verb, &text);

	if (!err && fwrite(text.data, 1, text.len, stdout) != text.len)
		err = -errno;
	if (!err && fflush(stdout))
		err = -errno;
	return output_status(err);
}

int verb_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void signals_take(struct verb_loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGUSR1) {
			l->interrupted = true;
			continue;
		}
		progress_erase();
		l->print_state(l->ctx);
	}
}

static void show_progress(const struct verb_loop *l, uint64_t now)
{
	struct progress p = {.done = -1};
	SCOPED_BUF(text, PROGRESS_BYTES);

	if (!progress_due(now))
		return;
	l->describe(l->ctx, now, &text, &p);
	p.text = text.data ? text.data : "";
	progress_show(&p, now);
}

void verb_loop(struct verb_loop *l)
{
	int ticks;

	do {
		struct pollfd p = {.fd = l->signals, .events = POLLIN};

		ticks = front_turn(l->front, &p, 1, TURN_MS);
		if (p.revents)
			signals_take(l);
		verb_messages(l->front);
		show_progress(l, now_ns());
	} while (ticks != -ENOTCONN && l->turn(l->ctx, ticks, now_ns()));
}

void verb_turn(struct front *f)
{
	if (front_over(f))
		front_parser_turn(f, TURN_MS);
	else
		front_turn(f, NULL, 0, TURN_MS);
}

/* With --json: print a document without data if there is no process to measure. */
static void answer_nobody(const struct options *o, const char *why)
{
	struct output_options oo = {.resolution = o->resolution};
	struct record note = {.type = REC_NOTE};
	struct descent_driver *none = driver_new(NULL);
	struct descend_report report = {.model = model_new(),
					.driver = none,
					.asked = o->nr_ops ? o->ops[0].text : "(process)"};
	struct wait_report waits = {.model = report.model, .names = none};

	note.note.text = why;
	if (report.model && none && !model_feed(report.model, &note)) {
		if (o->verb == VERB_DESCEND)
			output_descend_json(&report, &oo, stdout);
		else if (o->verb == VERB_CHAINS)
			output_chains_json(&waits, &oo, stdout);
		else if (o->verb == VERB_CRITICAL)
			output_critical_json(&waits, &oo, stdout);
		else
			output_watch_json(report.model, &oo, stdout);
	}
	driver_free(none);
	model_free(report.model);
}

int verb_start(struct front **f, struct options *o, const struct front_options *fo)
{
	char error[512];
	int status = target_resolve(o, false, error, sizeof(error));

	if (status) {
		verb_complain(error);
		if (o->json && o->verb != VERB_DOCTOR && status == EXIT_NO_ANSWER)
			answer_nobody(o, error);
		return status;
	}
	progress_begin(o);
	status = front_start(f, fo, error, sizeof(error));
	if (status)
		verb_complain(error);
	return status;
}

void verb_messages(struct front *f)
{
	const char *line;

	while ((line = front_next_message(f)))
		verb_complain(line);
}

uint32_t verb_op_of(struct model *m, const struct options *o)
{
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *op = model_op(m, i);

		if (layer_is_called(op->layer) && !strcmp(op->requested, o->ops[0].text))
			return op->op;
	}
	return 0;
}

void verb_end(struct front *f)
{
	if (front_over(f))
		return;
	front_stop(f);
	while (front_turn(f, NULL, 0, TURN_MS) != -ENOTCONN)
		;
	verb_messages(f);
}
