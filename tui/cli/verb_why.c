// SPDX-License-Identifier: GPL-2.0-or-later
/* why FILE: explain slow calls that are over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/format.h"
#include "tui/cli/command_line.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/report/output_why.h"
#include "tui/session/session_file.h"

enum { DEFAULT_CALLS = 5, CALLS_AT = 20 };

/* What is read of the session. */
struct why {
	struct session_reader *reader;
	struct model *model;
	struct told_calls calls;
};

static void why_release(struct why *w)
{
	if (w->reader)
		session_reader_close(w->reader);
	told_calls_release(&w->calls);
	model_free(w->model);
}

/* The profiles are not needed; without them a week is read in a second. */
static bool model_needs(const struct record *rec)
{
	return rec->type != REC_PROFILE && rec->type != REC_SAMPLE && rec->type != REC_OPEN &&
	       rec->type != REC_SLOW_CALL;
}

static int take(struct why *w, const struct record *rec)
{
	int err = told_calls_take(&w->calls, rec);

	if (!err && model_needs(rec) && model_feed(w->model, rec) == -ENOMEM)
		err = -ENOMEM;
	return err;
}

/* Returns 0, or an exit status after printing the error. */
static int why_read(struct why *w, const char *path)
{
	const struct record *rec;
	char why[512];
	int err;

	w->model = model_new();
	if (!w->model || told_calls_init(&w->calls)) {
		verb_complain("why: out of memory");
		return EXIT_NO_ANSWER;
	}
	err = session_reader_open(&w->reader, path, why, sizeof(why));
	if (err) {
		verb_complain(why);
		return replay_open_status(err);
	}
	while ((err = session_reader_next(w->reader, &rec)) == 1) {
		err = take(w, rec);
		if (err)
			break;
	}
	if (err) {
		fprintf(stderr, "peaktop: cannot read %s: %s\n", path, strerror(-err));
		return EXIT_DAMAGED;
	}
	if (session_reader_damage(w->reader)[0])
		verb_complain(session_reader_damage(w->reader));
	return 0;
}

/* There is nothing to explain: say why, and what there is. */
static int nothing(const struct why *w, const struct options *o,
		   const struct slow_list_call *nearest)
{
	struct buf line = {.max = 2048};
	char at[64];

	if (o->op && !slow_list_has_op(w->calls.list, o->op)) {
		buf_printf(&line, "why: --op '%.200s': the session has no operation of this name",
			   o->op);
	} else if (!slow_list_nr(w->calls.list)) {
		buf_puts(&line, "why: no slow call was kept in this session; peaktop record --ring "
				"keeps them, once 20 calls of an operation were seen");
	} else if (nearest) {
		why_time(nearest->realtime_ns, at, sizeof(at));
		buf_printf(&line,
			   "why: --at %s: no slow call was kept for this time; the nearest one is "
			   "%s, %s at %s",
			   o->at, nearest->op->label, format_time(nearest->call->call.latency_ns).s,
			   at);
	} else {
		buf_puts(&line, "why: no slow call of this operation was kept");
	}
	verb_complain(line.data ? line.data : "why: out of memory");
	buf_release(&line);
	return EXIT_NO_ANSWER;
}

static int answer(struct why *w, const struct options *o)
{
	struct slow_question q = {.op = o->op,
				  .most = o->question.slowest > 0 ? (size_t)o->question.slowest
					  : o->at		  ? CALLS_AT
								  : DEFAULT_CALLS};
	struct output_options oo = {.ascii = o->ascii};
	struct why_report report = {.model = w->model, .names = w->calls.names};
	const struct slow_list_call **calls, *nearest;
	struct time_span span = {0};
	char error[256];
	int status, err;

	if (o->at &&
	    time_span_parse(&span, o->at,
			    slow_list_realtime_ns(w->calls.list, model_elapsed_ns(w->model)), error,
			    sizeof(error))) {
		verb_complain(error);
		return EXIT_USAGE;
	}
	q.from_ns = span.from_ns;
	q.to_ns = span.to_ns;
	calls = slow_list_pick(w->calls.list, &q, &report.nr, &nearest);
	report.calls = calls;
	if (!calls)
		return output_status(-ENOMEM);
	status = report.nr ? EXIT_ANSWERED : nothing(w, o, nearest);
	err = o->json	  ? output_why_json(&report, &oo, stdout)
	      : report.nr ? output_why_text(&report, &oo, stdout)
			  : 0;
	free(calls);
	return status ? status : output_status(err);
}

int verb_why(struct options *o)
{
	struct why w = {0};
	char why[512];
	int status = front_unprivileged(why, sizeof(why));

	if (status) {
		verb_complain(why);
		return status;
	}
	status = why_read(&w, o->files[0]);
	if (!status) {
		status = answer(&w, o);
		if (session_reader_damage(w.reader)[0])
			status = EXIT_DAMAGED;
	}
	why_release(&w);
	return status;
}
