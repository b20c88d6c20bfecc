// SPDX-License-Identifier: GPL-2.0-or-later
/* why FILE: explain slow calls that are over. */

#include "analysis/base/format.h"
#include "tui/cli/command_line.h"
#include "tui/cli/progress_terminal.h"
#include "tui/cli/verbs.h"
#include "tui/engine/replay.h"
#include "tui/report/output_why.h"
#include "tui/session/session_file.h"

enum { DEFAULT_CALLS = 5, CALLS_AT = 20 };
/* With --at, records of this time before and after are read, too: a call is recorded at its end. */
#define AROUND_NS (600 * 1000000000ull)

/* What is read of the session. */
struct why {
	struct session_reader *reader;
	struct model *model;
	struct told_calls calls;
	struct time_span span; /* of --at; 0: of any time */
	uint64_t elapsed_ns;   /* end of the last slice that was read */
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

/* Forget what was read. 0 or -ENOMEM. */
static int forget(struct why *w)
{
	told_calls_release(&w->calls);
	model_free(w->model);
	w->model = model_new();
	w->elapsed_ns = 0;
	return w->model ? told_calls_init(&w->calls) : -ENOMEM;
}

/* Read from where the reader stands to the end of the session, or until the wall clock shows
 * `until_ns`. 1, 0 at the end, or a negative errno. */
static int read_until(struct why *w, uint64_t until_ns)
{
	const struct record *rec;
	int err;

	while ((err = session_reader_next(w->reader, &rec)) == 1) {
		err = take(w, rec);
		if (err)
			return err;
		if (rec->type != REC_TICK)
			continue;
		w->elapsed_ns = rec->tick.end_ns;
		if (slow_list_realtime_ns(w->calls.list, w->elapsed_ns) > until_ns)
			return 1;
	}
	return err;
}

/* Read what a ring has of the time of --at. Returns 1; 0 if it cannot be told where that is,
 * because the wall clock was set meanwhile; or a negative errno. */
static int read_around(struct why *w)
{
	uint64_t ahead = slow_list_realtime_ns(w->calls.list, 0), from, begins;
	int err;

	if (w->span.from_ns < ahead + AROUND_NS)
		return 0;
	from = w->span.from_ns - AROUND_NS;
	session_reader_seek(w->reader, from - ahead);
	err = forget(w);
	if (!err)
		err = read_until(w, 0);
	if (err < 0)
		return err;
	begins = slow_list_realtime_ns(w->calls.list, w->elapsed_ns);
	if (begins > w->span.from_ns - AROUND_NS / 2)
		return 0;
	err = read_until(w, w->span.to_ns + AROUND_NS);
	return err < 0 ? err : slow_list_nr(w->calls.list) > 0;
}

/* Read the session, or what --at needs of it. 0, a negative errno, or -EINVAL with `error` if --at
 * is no time. */
static int read_session(struct why *w, const struct options *o, char *error, size_t n)
{
	int err = forget(w);

	if (o->at) {
		/* the end of the session tells which day is meant */
		session_reader_seek(w->reader, UINT64_MAX);
		err = err ?: read_until(w, UINT64_MAX);
		if (!err &&
		    time_span_parse(&w->span, o->at,
				    slow_list_realtime_ns(w->calls.list, w->elapsed_ns), error, n))
			return -EINVAL;
		err = err ?: read_around(w);
		if (err)
			return err < 0 ? err : 0;
		session_reader_rewind(w->reader);
		err = forget(w);
	}
	return err ?: read_until(w, UINT64_MAX);
}

/* Returns 0, or an exit status after printing the error. */
static int why_read(struct why *w, const struct options *o)
{
	const char *path = o->files[0];
	char why[512] = "";
	int err;

	err = session_reader_open(&w->reader, path, why, sizeof(why));
	if (err) {
		verb_complain(why);
		return replay_open_status(err);
	}
	err = read_session(w, o, why, sizeof(why));
	if (err == -EINVAL && why[0]) {
		verb_complain(why);
		return EXIT_USAGE;
	}
	if (err < 0) {
		fprintf(stderr, "peaktop: cannot read %s: %s\n", path, strerror(-err));
		return err == -ENOMEM ? EXIT_NO_ANSWER : EXIT_DAMAGED;
	}
	if (session_reader_damage(w->reader)[0])
		verb_complain(session_reader_damage(w->reader));
	return 0;
}

/* There is nothing to explain: say why, and what there is. */
static int nothing(const struct why *w, const struct options *o,
		   const struct slow_list_call *nearest)
{
	SCOPED_BUF(line, 2048);
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
	const struct slow_list_call **calls;
	struct slow_beside beside;
	int status, err;

	q.from_ns = w->span.from_ns;
	q.to_ns = w->span.to_ns;
	calls = slow_list_pick(w->calls.list, &q, &report.nr, &beside);
	report.calls = calls;
	report.left_out = beside.left_out;
	if (!calls)
		return output_status(-ENOMEM);
	status = report.nr ? EXIT_ANSWERED : nothing(w, o, beside.nearest);
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
	status = why_read(&w, o);
	if (!status) {
		status = answer(&w, o);
		if (session_reader_damage(w.reader)[0])
			status = EXIT_DAMAGED;
	}
	why_release(&w);
	return status;
}
