// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/live_descent.h"

#include "analysis/base/format.h"
#include "tui/report/output_descend_parts.h"
#include "tui/views/descent_rows.h"
#include "tui/views/views.h"

enum { NO_PEAK = -1 }; /* no peak has this number */

#define SHOW_NS 100000000ull
#define TRACING_SHOW_NS 500000000ull
#define SILENCE_NS 10000000000ull
#define TRACE_NS 20000000000ull /* the budget may not pay for the first window at once */

static void say(struct live_descent *l, enum note_level level, const char *text)
{
	screen_message(l->screen, level, text);
}

static void show(struct live_descent *l, uint32_t op, int peak)
{
	l->op = op;
	l->part = 0;
	l->reported = false;
	l->next_ns = 0;
	l->seen = (struct live_calls){0};
	screen_open_descent(l->screen, op, peak);
}

static void ask_replay(struct live_descent *l, uint32_t op, int peak)
{
	const struct rec_descent *ask = driver_asked(l->driver);

	if (!ask || ask->op != op) {
		say(l, NOTE_WARNING,
		    !ask && driver_op(l->driver) == op
			? "the descent of this operation never began, because there were too few "
			  "calls; R begins it in a running process"
			: "this saved session contains no descent of this peak");
		return;
	}
	show(l, op, peak);
}

/* The present rank of a peak, from 1; 0: the peak has disappeared. */
static int rank_of(const struct op *op, int id)
{
	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		if (op->peaks[i].id == id)
			return (int)i + 1;
	}
	return 0;
}

/* The descent is over. True: for whom its calls wait is being traced. */
static bool trace_waits(struct live_descent *l, uint64_t now_ns)
{
	return l->front && l->waits &&
	       descent_tracing_turn(&l->tracing, l->front, now_ns, TRACE_NS);
}

static void tracing_reset(struct live_descent *l)
{
	if (l->front)
		descent_tracing_stop(&l->tracing, l->front);
	l->tracing = (struct descent_tracing){.patient = true};
}

/* Begin a descent into a peak, or (0) into the parts of the operation's time one after the other,
 * and open its view; or show the reason for a failure. A replay shows its recorded descent. */
static void ask(struct live_descent *l, uint32_t number, int peak, uint64_t now_ns)
{
	const struct op *op = model_op_peaks(l->model, number);
	struct descent_question q = *l->question;
	struct descent_whole whole = {.end_ns = now_ns + (uint64_t)(q.timeout_s * 1e9)};
	struct rec_descent request;
	int err;

	if (l->replay) {
		ask_replay(l, number, peak);
		return;
	}
	if (l->front && front_over(l->front)) {
		say(l, NOTE_WARNING, "the target has ended: there is nothing left to probe");
		return;
	}
	if (!op || !layer_is_called(op->layer)) {
		say(l, NOTE_INFO,
		    "only calls have a cause to find; o shows where the process spends its time, "
		    "W for whom it waits");
		return;
	}
	q.slowest = 0;
	q.peak_low_ns = q.peak_high_ns = 0;
	q.peak = peak ? rank_of(op, peak) : 0;
	if (peak && !q.peak) {
		say(l, NOTE_WARNING, "this peak has disappeared; choose another");
		return;
	}
	err = choose_whole(l->model, number, &q, q.timeout_s, &whole.parts, &request);
	if (err) {
		say(l, NOTE_WARNING,
		    err == -EAGAIN ? "not enough calls yet to find the cause; wait a moment"
				   : "there is no such peak");
		return;
	}
	driver_stop(l->driver);
	tracing_reset(l);
	l->whole = whole;
	err = descent_whole_begin(&l->whole, l->driver, &request, now_ns);
	if (err) {
		say(l, NOTE_ERROR,
		    "cannot find the cause: this function's module or the peak's range is not "
		    "known "
		    "yet; try again");
		return;
	}
	show(l, number, peak);
}

static void show_part(struct live_descent *l, int number)
{
	const struct rec_parts *parts = driver_parts(l->driver);

	if (!parts || number < 1 || (uint32_t)number > parts->nr_parts) {
		say(l, NOTE_INFO, "there is no such part");
	} else if (!driver_part(l->driver, (uint32_t)number)) {
		say(l, NOTE_INFO, "the cause of this part was not looked for yet");
	} else {
		l->part = (uint32_t)number;
		l->reported = false;
		l->next_ns = 0;
	}
}

void live_descent_show(struct live_descent *l, uint32_t op)
{
	l->whole = (struct descent_whole){.end_ns = 0};
	tracing_reset(l);
	show(l, op, NO_PEAK);
}

void live_descent_action(struct live_descent *l, const struct screen_action *a, uint64_t now_ns)
{
	if (a->type == SCREEN_DESCEND) {
		ask(l, a->op, a->peak, now_ns);
	} else if (a->type == SCREEN_DESCENT_PART) {
		show_part(l, a->peak);
	} else if (a->type == SCREEN_DESCEND_STOP) {
		l->op = 0;
		tracing_reset(l);
		if (!l->replay)
			driver_stop(l->driver);
	}
}

/* True if the ranges overlap: the range of a peak may have moved since the earlier answer. */
static bool same_peak(const struct live_answer *a, const struct rec_descent *ask)
{
	return a->low_ns < ask->high_ns && ask->low_ns < a->high_ns;
}

static bool is_wait(enum cause_kind kind)
{
	switch (kind) {
	case CAUSE_IO:
	case CAUSE_LOCK:
	case CAUSE_SLEEP:
	case CAUSE_TIMEOUT:
	case CAUSE_NETWORK:
	case CAUSE_WAIT:
		return true;
	default:
		return false;
	}
}

/* Write a remark about other peaks of this function that had the same path. */
static void same_paths(const struct live_descent *l, const struct descent_result *r, char *out,
		       size_t size)
{
	const struct rec_descent *ask = driver_asked(l->driver);
	size_t n = 0;

	out[0] = '\0';
	for (unsigned int i = 0; i < l->nr_answers && n < size; i++) {
		const struct live_answer *a = &l->answers[i];

		if (a->op != ask->op || same_peak(a, ask) || !descent_same_path(&a->result, r))
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s%s",
				      n ? ", " : "the same path as the peak at ",
				      format_time(a->mode_ns).s);
	}
	if (n && n < size)
		snprintf(out + n, size - n, "%s",
			 is_wait(r->paths[0].cause.kind)
			     ? ": the difference may be in what they wait for"
			     : ": the cause of the difference is not visible to software");
}

/* Store an answer, to compare it with those of other peaks. Moves the result out of `r`. */
static void keep_answer(struct live_descent *l, struct descent_result *r)
{
	const struct rec_descent *ask = driver_asked(l->driver);
	struct descend_report report = {
	    .model = l->model, .driver = l->driver, .op = ask->op, .names = PEAKS_BY_NUMBER};
	struct peak peak;
	bool known = report_peak(&report, model_op_peaks(l->model, ask->op), &peak);
	struct live_answer *a = NULL;

	for (unsigned int i = 0; i < l->nr_answers && !a; i++) {
		if (l->answers[i].op == ask->op && same_peak(&l->answers[i], ask))
			a = &l->answers[i];
	}
	if (!a && l->nr_answers == LIVE_ANSWERS) {
		descent_result_release(&l->answers[0].result);
		memmove(l->answers, l->answers + 1, (LIVE_ANSWERS - 1) * sizeof(*l->answers));
		l->nr_answers--;
	} else if (a) {
		descent_result_release(&a->result);
	}
	if (!a)
		a = &l->answers[l->nr_answers++];
	*a = (struct live_answer){.op = ask->op,
				  .low_ns = ask->low_ns,
				  .high_ns = ask->high_ns,
				  .mode_ns = known ? peak.mode_ns : ask->low_ns,
				  .result = *r};
	*r = (struct descent_result){0};
}

void live_descent_release(struct live_descent *l)
{
	for (unsigned int i = 0; i < l->nr_answers; i++)
		descent_result_release(&l->answers[i].result);
	l->nr_answers = 0;
}

/* If no call of the peak came for a while, write a remark that says so, and what to do. */
static void tell_silence(struct live_descent *l, uint64_t now_ns, char *out, size_t size)
{
	const struct rec_descent *ask = driver_asked(l->driver);
	const struct op *op = model_op_by_number(l->model, ask->op);
	struct descent_progress progress;
	struct live_calls now = {.at_ns = now_ns};

	descent_progress(driver_descent(l->driver), &progress);
	now.measured = progress.calls_used;
	if (op) {
		const struct bucket_range peak = {pt_bucket(ask->low_ns),
						  pt_bucket(ask->high_ns - 1) + 1};

		now.of_peak = profile_range_calls(&op->total, peak);
		now.all = op->total.calls;
	}
	if (!l->seen.at_ns || now.measured != l->seen.measured || now.of_peak != l->seen.of_peak)
		l->seen = now;
	if (now_ns - l->seen.at_ns < SILENCE_NS)
		return;
	if (now.all > l->seen.all)
		snprintf(out, size,
			 "no call of this peak for %s, but %s others; the search goes on with the "
			 "next one, or press q and choose another peak",
			 format_age(now_ns - l->seen.at_ns).s,
			 format_count(now.all - l->seen.all).s);
	else
		snprintf(
		    out, size,
		    "no call was seen for %s; the search goes on with the next calls, q ends it",
		    format_age(now_ns - l->seen.at_ns).s);
}

/* Write what the screen says beside the answer so far. */
static void remark_of(struct live_descent *l, const struct descent_result *r, uint64_t now_ns,
		      char *out, size_t size)
{
	out[0] = '\0';
	if (r->status == DESCENT_ROOT_CAUSE)
		same_paths(l, r, out, size);
	if (!l->replay && !driver_over(l->driver))
		tell_silence(l, now_ns, out, size);
}

/* The present descent is over, or its time is: begin the one into the next part. False: there is
 * none. */
static bool begin_next(struct live_descent *l, bool traces, uint64_t now_ns)
{
	if (l->replay || traces || !descent_whole_goes_on(&l->whole, l->driver))
		return false;
	if (!driver_over(l->driver)) {
		if (now_ns < l->whole.until_ns)
			return false;
		driver_stop(l->driver);
	}
	if (!descent_whole_next(&l->whole, l->driver, l->model, now_ns))
		return false;
	tracing_reset(l);
	return true;
}

/* The report to show: on the part that the user wants to see, or on the first with an answer. */
static struct descend_report shown(const struct live_descent *l, const struct descend_report *whole)
{
	struct descend_report part;

	return l->part && report_part(whole, l->part, &part) ? part : report_first_part(whole);
}

/* Pass the state to the screen. True: this was the final state. */
static bool hand_over(struct live_descent *l, const struct descend_report *whole, uint64_t now_ns)
{
	struct descend_report report = shown(l, whole);
	struct descent_result r;
	char remark[512];
	bool done;

	if (report_result(&report, &r))
		return false;
	remark[0] = '\0';
	if (report.driver == l->driver)
		remark_of(l, &r, now_ns, remark, sizeof(remark));
	done = !descent_rows_show(l->screen, whole, &report, &r, remark);
	if (!report_has_parts(whole) && r.status == DESCENT_ROOT_CAUSE && driver_over(l->driver))
		keep_answer(l, &r);
	descent_result_release(&r);
	return done;
}

bool live_descent_turn(struct live_descent *l, uint64_t now_ns)
{
	struct descend_report report = {
	    .model = l->model, .driver = l->driver, .op = l->op, .names = PEAKS_BY_NUMBER};
	bool over, named, traced;

	screen_set_recorded_descent(l->screen, l->replay ? driver_op(l->driver) : 0);
	if (!l->op || l->reported || now_ns < l->next_ns)
		return false;
	l->next_ns = now_ns + SHOW_NS;
	if (!driver_asked(l->driver))
		return false;
	/* a replay may still step forwards or backwards */
	over = driver_over(l->driver) && !l->replay;
	report.tracing = over && trace_waits(l, now_ns);
	if (report.tracing) /* every answer copies all chains */
		l->next_ns = now_ns + TRACING_SHOW_NS;
	if (begin_next(l, report.tracing, now_ns))
		over = false;
	report.more_parts =
	    !l->replay && (!over || report.tracing) && descent_whole_goes_on(&l->whole, l->driver);
	named = driver_names(l->driver);
	report.waits = l->waits ? wait_driver_of_descent(l->waits) : NULL;
	report.part_waits = l->waits;
	traced = !report.waits || wait_driver_names(l->waits);
	if (hand_over(l, &report, now_ns))
		l->reported = over && named && traced && !report.tracing;
	return true;
}
