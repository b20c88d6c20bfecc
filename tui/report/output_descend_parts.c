// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts of an operation's time: as a table and as JSON. */
#include "tui/report/output_descend_parts.h"

#include "analysis/base/format.h"
#include "analysis/descent/parts.h"
#include "tui/report/json_put.h"
#include "tui/report/sanitise.h"

enum { MAX_OUTPUT = 1 << 20, SHARE_COLUMNS = 2 + FORMAT_PERCENT_WIDTH + 2 };

/* A second cause with this share of a part's time is named beside the largest one. */
#define WORTH_NAMING 0.1
/* So is a second cause on the same side, the program's or the host's, with this share. */
#define WORTH_A_SECOND 0.25
/* While a descent runs, only a path with that share is told. */
#define WORTH_TELLING_EARLY 0.5
/* A smaller rest is not mentioned. */
#define WORTH_SAYING 0.01

bool report_has_parts(const struct descend_report *r)
{
	const struct rec_parts *parts = driver_parts(r->driver);

	return parts && parts->nr_parts > 1;
}

bool report_part(const struct descend_report *r, uint32_t number, struct descend_report *out)
{
	const struct descent_driver *d = driver_part(r->driver, number);

	if (!d)
		return false;
	*out = *r;
	out->driver = d;
	if (r->part_waits)
		out->waits = wait_driver_of_part(r->part_waits, number);
	return true;
}

struct descend_report report_first_part(const struct descend_report *r)
{
	const struct rec_parts *parts = driver_parts(r->driver);
	struct descend_report first;

	for (uint32_t i = 1; parts && i <= parts->nr_parts; i++)
		if (report_part(r, i, &first))
			return first;
	return *r;
}

/* The state of a part into which there was no descent. */
static enum descent_status state_without(const struct descend_report *r, uint32_t number)
{
	struct descent_result last;
	enum descent_status status = DESCENT_IN_PROGRESS;

	if (driver_parts(r->driver)->parts[number - 1].few)
		return DESCENT_TOO_FEW;
	if (!report_result(r, &last)) {
		if (last.status == DESCENT_TARGET_END)
			status = last.status;
		descent_result_release(&last);
	}
	return status;
}

void report_parts_heading(struct buf *out, const struct descend_report *r)
{
	const struct rec_parts *parts = driver_parts(r->driver);
	double seconds = (double)parts->covered_ns / 1e9,
	       threads = report_share(parts->time_ns, parts->covered_ns), sure = 1;

	if (model_op_by_number(r->model, parts->op))
		sure = words_sure_part(model_op_by_number(r->model, parts->op));
	words_op_function(out, r->model, model_op_by_number(r->model, parts->op));
	if (seconds > 0)
		buf_printf(out, ", %s%s calls/s", sure < 1 ? "at least " : "",
			   format_rate((double)parts->calls * sure / seconds).s);
	if (threads > 1)
		buf_printf(out, ", the time of %.1f threads", threads);
	else
		buf_printf(out, ", %s of a thread", format_percent(threads).s);
}

void report_part_calls(struct buf *out, const struct rec_parts *parts, const struct rec_part *p)
{
	buf_printf(out, "%s of calls, ", format_percent(report_share(p->calls, parts->calls)).s);
	if (p->high_ns == UINT64_MAX)
		buf_printf(out, "%s and more", format_time(p->low_ns).s);
	else
		buf_puts(out, format_range(p->low_ns, p->high_ns).s);
}

/* "fetch > usleep, timed sleep": what the part's function calls, and what happens there. */
static void put_path(struct buf *out, const struct descend_report *part,
		     const struct descent_result *result, const struct descent_path *p)
{
	unsigned int named = report_frames_named(result, p);
	SCOPED_BUF(place, MAX_OUTPUT);

	for (unsigned int i = 1; i < named; i++) {
		i = 1 + report_frame_between(out, i - 1, named - 1);
		report_name(out, part, &result->nodes[p->frames[i]]);
	}
	buf_puts(out, named > 1 ? ", " : "");
	report_path_cause(out, part->driver, p);
	if (report_where(&place, part->driver, p))
		buf_printf(out, ", mostly %s", place.data);
}

/* Append a cause of which `share` of the part's time is. */
static void put_further(struct buf *out, double share, const struct buf *text)
{
	buf_printf(out, "; %s of it %s", format_percent(share).s, text->data ? text->data : "");
}

/* The largest path of a part; a second one on the same side, the program's or the host's, of a good
 * share; and the largest one on the other side. Paths with the same text are one. */
static void put_paths(struct buf *out, const struct descend_report *part,
		      const struct descent_result *result)
{
	const struct descent_path *first = result->paths, *p;
	bool host = cause_of_host(first->cause.kind), other = false;
	SCOPED_BUF(one, MAX_OUTPUT);
	SCOPED_BUF(two, MAX_OUTPUT);
	SCOPED_BUF(more, MAX_OUTPUT);
	double share = first->share, second = 0;

	put_path(&one, part, result, first);
	for (p = first + 1; p < first + result->nr_paths; p++) {
		SCOPED_BUF(text, MAX_OUTPUT);

		put_path(&text, part, result, p);
		if (text.data && one.data && !strcmp(text.data, one.data)) {
			share += p->share;
		} else if (text.data && two.data && !strcmp(text.data, two.data)) {
			second += p->share;
		} else if (cause_of_host(p->cause.kind) != host) {
			if (!other && p->share >= WORTH_NAMING)
				put_further(&more, p->share, &text);
			other = true;
		} else if (!two.data && p->share >= WORTH_A_SECOND) {
			buf_puts(&two, text.data);
			second = p->share;
		}
	}
	buf_puts(out, one.data ? one.data : "");
	if (two.data) {
		buf_printf(out, " (%s of it)", format_percent(share).s);
		put_further(out, second, &two);
	}
	buf_puts(out, more.data ? more.data : "");
	out->err = out->err ?: one.err ?: two.err ?: more.err;
}

/* What takes the time of a part. */
static void put_answer(struct buf *out, const struct descend_report *part)
{
	const struct descent_path *first;
	struct descent_result result;

	if (report_result(part, &result)) {
		buf_puts(out, "no memory");
		return;
	}
	first = result.paths;
	if (!part->ended && !driver_over(part->driver) &&
	    (!result.nr_paths || first->share < WORTH_TELLING_EARLY ||
	     first->cause.kind == CAUSE_UNMEASURED)) {
		buf_puts(out, "finding the cause...");
	} else if (!result.nr_paths || !first->nr_frames) {
		buf_printf(out, driver_over(part->driver) ? "no cause was found (%s)" : "%s",
			   report_status(part, &result));
	} else {
		report_doubt(out, part, &result);
		put_paths(out, part, &result);
	}
	descent_result_release(&result);
}

void report_part_answer(struct buf *out, const struct descend_report *r, uint32_t number)
{
	const struct rec_part *p = &driver_parts(r->driver)->parts[number - 1];
	struct descend_report part;

	if (report_part(r, number, &part))
		put_answer(out, &part);
	else if (p->few)
		buf_printf(out, "too few calls to find a cause: %s", format_count(p->calls).s);
	else
		buf_puts(out, r->more_parts ? "not looked into yet"
					    : "no cause was looked for: there was no time left");
}

/* The number of columns that report_part_calls() takes at most. */
static unsigned int calls_columns(const struct rec_parts *parts)
{
	SCOPED_BUF(text, MAX_OUTPUT);
	size_t most = 0;

	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		buf_reset(&text);
		report_part_calls(&text, parts, &parts->parts[i]);
		most = text.len > most ? text.len : most;
	}
	return (unsigned int)most;
}

static void put_row(struct buf *out, const struct descend_report *r, const struct output_options *o,
		    uint32_t number)
{
	const struct rec_parts *parts = driver_parts(r->driver);
	const struct rec_part *p = &parts->parts[number - 1];
	SCOPED_BUF(begin, MAX_OUTPUT);
	SCOPED_BUF(text, MAX_OUTPUT);
	unsigned int columns = calls_columns(parts);

	report_part_calls(&text, parts, p);
	buf_printf(&begin, "  %s  %-*s  ",
		   format_percent_fixed(report_share(p->time_ns, parts->time_ns)).s, (int)columns,
		   text.data ? text.data : "");
	buf_reset(&text);
	report_part_answer(&text, r, number);
	output_wrap(out, &text, o, begin.data ? begin.data : "", SHARE_COLUMNS + columns + 2);
}

void report_put_parts(struct buf *out, const struct descend_report *r,
		      const struct output_options *o, unsigned int end)
{
	const struct rec_parts *parts = driver_parts(r->driver);
	double rest = parts_rest(parts);

	for (unsigned int row = r->rows_printed; row < end && row < parts->nr_parts + 2; row++) {
		if (!row) {
			report_parts_heading(out, r);
			buf_puts(out, ":\n");
		} else if (row <= parts->nr_parts) {
			put_row(out, r, o, row);
		} else if (rest >= WORTH_SAYING) {
			buf_printf(out, "  %s  in other calls\n", format_percent_fixed(rest).s);
		}
	}
}

int output_descend_begin(struct descend_report *r, const struct output_options *o, FILE *f)
{
	unsigned int end = driver_asked(r->driver)->part;
	struct buf out = {.max = MAX_OUTPUT};

	if (!report_has_parts(r) || end <= r->rows_printed)
		return 0;
	report_put_parts(&out, r, o, end);
	r->rows_printed = end;
	return output_text_write(&out, f);
}

bool report_lacks_parts(struct buf *out, const struct descend_report *r)
{
	const struct rec_parts *parts = driver_parts(r->driver);
	struct descend_report part;
	double few = 0, later = 0;

	for (uint32_t i = 1; parts && i <= parts->nr_parts; i++)
		if (!report_part(r, i, &part))
			*(parts->parts[i - 1].few ? &few : &later) +=
			    report_share(parts->parts[i - 1].time_ns, parts->time_ns);
	if (few > 0)
		buf_printf(out, "%s of the time is in calls that are too few to find their cause",
			   format_percent(few).s);
	if (later > 0)
		buf_printf(out,
			   "%s%s of the time was not looked into, because the descent ended "
			   "before: give it a longer --timeout",
			   few > 0 ? "; " : "", format_percent(later).s);
	return few > 0 || later > 0;
}

static json_t *part_json(const struct descend_report *r, uint32_t number)
{
	static const char *const kinds[PART_KINDS] = {
	    [PART_PEAK] = "peak", [PART_SHADOW] = "shadow", [PART_TAIL] = "tail"};
	const struct rec_parts *parts = driver_parts(r->driver);
	const struct rec_part *p = &parts->parts[number - 1];
	const struct op *op = model_op_peaks(r->model, r->op);
	enum descent_status status = DESCENT_IN_PROGRESS;
	struct descent_result result = {.nr_paths = 0};
	struct descend_report part = *r;
	json_t *o =
	    json_new({"share_of_time", json_share(report_share(p->time_ns, parts->time_ns))},
		     {"share_of_calls", json_share(report_share(p->calls, parts->calls))},
		     {"low_ns", json_u64(p->low_ns)},
		     {"high_ns", json_if(p->high_ns != UINT64_MAX, json_u64(p->high_ns))},
		     {"kind", json_string(p->kind < PART_KINDS ? kinds[p->kind] : "tail")},
		     {"calls", json_u64(p->calls)},
		     {"mean_ns", json_if(p->calls, json_u64(p->time_ns / p->calls))},
		     {"rate_hz", json_if(parts->covered_ns, json_real((double)p->calls * 1e9 /
								      (double)parts->covered_ns))});
	struct peak peak;

	if (!report_part(r, number, &part)) {
		status = state_without(r, number);
	} else if (report_result(&part, &result)) {
		json_fail();
	} else {
		status = result.status;
		if (p->kind == PART_PEAK && op && report_peak(&part, op, &peak))
			json_put(o, "peak", output_json_peak(r->model, op, &peak));
		json_put(o, "calls_used", json_u64(result.calls_used));
	}
	json_add(o, {"status", json_string(descent_status_text(status))},
		 {"explained", json_share(result.explained)},
		 {"paths", report_paths_json(&part, &result)});
	descent_result_release(&result);
	return o;
}

void report_put_parts_json(json_t *o, const struct descend_report *r)
{
	const struct rec_parts *parts = driver_parts(r->driver);

	if (parts)
		json_add(o, {"parts", json_list(i, parts->nr_parts, part_json(r, (uint32_t)i + 1))},
			 {"rest", json_share(parts_rest(parts))});
}
