// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_why.h"

#include <jansson.h>

#include "analysis/base/format.h"
#include "tui/report/json_put.h"
#include "tui/report/output_descend.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum {
	WHY_MAX = 4 << 20,
	LINE_MAX_BYTES = 1 << 16,
	TEXT_BYTES = 512,
	NOT_SEEN = 6,
	DIFFERENCES = 3
};

/* Shorter parts of a call are not worth a line about what was not seen of them. */
#define WORTH_A_LINE 0.05
/* Of an operation that was measured for less of the time, slow calls are missing. */
#define NEARLY_ALL 0.95
/* The share of the time that named causes must have: as in the answer of a descent. */
#define ENOUGH 0.6

void why_time(uint64_t realtime_ns, char *out, size_t n)
{
	time_t at = (time_t)(realtime_ns / 1000000000u);
	struct tm t;

	if (!realtime_ns || !localtime_r(&at, &t) || !strftime(out, n, "%Y-%m-%dT%H:%M:%S", &t))
		snprintf(out, n, "an unknown time");
}

int why_told_init(struct why_told *t, struct model *m, const struct told_names *names,
		  const struct slow_list_call *c)
{
	int err = -ENOMEM;

	t->names = names;
	t->driver = told_call(names, m, c->op, c->call);
	t->report = (struct descend_report){
	    .model = m, .driver = t->driver, .op = c->op->op, .asked = c->op->label};
	if (t->driver)
		err = report_result(&t->report, &t->result);
	if (err) {
		driver_free(t->driver);
		return err;
	}
	/* The story of one call is never unfinished: either its time has causes, or not. */
	t->result.status =
	    t->result.nr_paths && t->result.named >= ENOUGH ? DESCENT_ROOT_CAUSE : DESCENT_PARTLY;
	return 0;
}

void why_told_release(struct why_told *t)
{
	descent_result_release(&t->result);
	driver_free(t->driver);
}

/* What was not recorded of a call, a sentence each. Returns their number. */
static unsigned int not_seen(const struct told_names *names, const struct slow_list_call *c,
			     char text[NOT_SEEN][TEXT_BYTES])
{
	const struct rec_slow_call *s = c->call;
	struct told_seen seen;
	unsigned int n = 0;
	bool unsampled;

	told_seen(names, s, &seen);
	unsampled =
	    !seen.samples && (double)s->call.oncpu_ns > WORTH_A_LINE * (double)s->call.latency_ns;
	if (s->missing & SLOW_BEGIN)
		snprintf(text[n++], TEXT_BYTES,
			 "the call was found open while its function was not measured, so that its "
			 "begin is not known: its time counts from when the thread left its CPU");
	if (!(s->call.known & CALL_KNOWN_ONCPU))
		snprintf(
		    text[n++], TEXT_BYTES,
		    "the scheduler was not watched then, so that it is not known when the call "
		    "ran, slept or waited for a CPU");
	if (unsampled && !seen.forgotten)
		snprintf(text[n++], TEXT_BYTES,
			 "its time on the CPU (%s) was not sampled, so that its code is not known",
			 format_time(s->call.oncpu_ns).s);
	if (seen.sleeps < s->nr_sleeps && !seen.forgotten)
		snprintf(
		    text[n++], TEXT_BYTES,
		    c->op->layer == LAYER_SYSCALL
			? "no stack was taken where it slept, so that its callers are not known"
			: "no stack was taken at %u of its %u sleeps, so that the calls inside "
			  "it are not known there",
		    s->nr_sleeps - seen.sleeps, s->nr_sleeps);
	if (seen.forgotten && (unsampled || seen.sleeps < s->nr_sleeps))
		snprintf(text[n++], TEXT_BYTES,
			 "the stacks inside it, if any were taken, made room for those of later "
			 "calls, so that its code is not known; of a saved session, peaktop why "
			 "--at with its time reads them again");
	if (s->missing & SLOW_SLEEPS && s->blocked > s->nr_sleeps)
		snprintf(text[n++], TEXT_BYTES, "only the %u longest of its %u sleeps were kept",
			 s->nr_sleeps, s->blocked);
	if (c->seen < NEARLY_ALL)
		snprintf(text[n++], TEXT_BYTES,
			 "calls were measured for only %.0f%% of the time, to stay within "
			 "--max-overhead%s, so that slower ones may be missing",
			 100 * c->seen,
			 s->missing & SLOW_LOOKED
			     ? "; in the rest only calls whose thread did not run for 25 ms or "
			       "more could be found"
			     : "");
	return n;
}

/* By what the call differs from ordinary ones, a remark each. Returns their number. */
static unsigned int differences(const struct why_told *t, const struct slow_list_call *c,
				char text[DIFFERENCES][TEXT_BYTES])
{
	const struct op *op = model_op_by_number(t->report.model, c->op->op);
	struct values values = {0};

	if (op)
		told_differences(t->names, op, c->call, &values);
	for (unsigned int i = 0; i < values.nr && i < DIFFERENCES; i++) {
		SCOPED_BUF(line, TEXT_BYTES);

		words_value(&line, &values.value[i]);
		snprintf(text[i], TEXT_BYTES, "%s", line.data ? line.data : "");
	}
	return values.nr < DIFFERENCES ? values.nr : DIFFERENCES;
}

/* Which functions a call went through is known by its stacks alone. */
static void set_evidence(json_t *o)
{
	if (json_object_get(o, "evidence"))
		json_put(o, "evidence", json_string(evidence_text(EVIDENCE_SAMPLED)));
}

/* The paths without the numbers of votes and waits: a descent into one call counts it repeatedly.
 */
static json_t *paths_json(const struct why_told *t)
{
	json_t *paths = report_paths_json(&t->report, &t->result), *path, *frame;
	size_t i, k;

	json_array_foreach(paths, i, path)
	{
		json_object_del(path, "wait");
		json_object_del(path, "samples");
		json_array_foreach(json_object_get(path, "frames"), k, frame)
		{
			json_object_del(frame, "maxcount");
			json_object_del(frame, "decisions");
			json_object_del(frame, "records");
			if (k)
				set_evidence(frame);
		}
		if (json_array_size(json_object_get(path, "frames")) > 1)
			set_evidence(path);
	}
	return paths;
}

static json_t *call_json(const struct why_report *r, const struct slow_list_call *c)
{
	char text[NOT_SEEN][TEXT_BYTES], other[DIFFERENCES][TEXT_BYTES], at[64];
	unsigned int n = not_seen(r->names, c, text), nr;
	const struct rec_call *call = &c->call->call;
	struct why_told t;
	json_t *o;

	if (why_told_init(&t, r->model, r->names, c)) {
		json_fail();
		return json_object();
	}
	why_time(c->realtime_ns, at, sizeof(at));
	nr = differences(&t, c, other);
	o = json_new(
	    {"op", json_given(c->op->name)}, {"at", json_if(c->realtime_ns, json_given(at))},
	    {"start_ns", json_u64(call->start_ns)}, {"latency_ns", json_u64(call->latency_ns)},
	    {"at_least", json_flag(c->call->missing & SLOW_BEGIN)}, {"tid", json_u64(call->tid)},
	    {"usual_ns", json_known(c->call->usual_ns)},
	    {"status", json_string(report_status(&t.report, &t.result))},
	    {"explained", json_share(t.result.explained)}, {"paths", paths_json(&t)},
	    {"differences", json_list(i, nr, json_string(other[i]))},
	    {"not_seen", json_list(i, n, json_string(text[i]))});
	why_told_release(&t);
	return o;
}

int output_why_json(const struct why_report *r, const struct output_options *o, FILE *f)
{
	const struct slow_list_call *left = r->left_out;
	json_t *head = output_json_head(r->model, "why", o);

	json_add(head, {"calls", json_list(i, r->nr, call_json(r, r->calls[i]))},
		 {"left_out",
		  json_if(left, json_new({"op", json_given(left->op->name)},
					 {"latency_ns", json_u64(left->call->call.latency_ns)}))});
	return json_write(head, JSON_LINE, f);
}

/* The operation as the user would name it. */
static const char *op_words(const struct slow_list_call *c)
{
	return c->op->label && c->op->label[0] ? c->op->label : c->op->name;
}

static void put_head(struct buf *line, const struct slow_list_call *c)
{
	const struct rec_slow_call *s = c->call;
	char at[64];

	why_time(c->realtime_ns, at, sizeof(at));
	sanitise_puts(line, op_words(c));
	buf_printf(line, ", %s%s at %s", s->missing & SLOW_BEGIN ? "at least " : "",
		   format_time(s->call.latency_ns).s, at);
	if (s->usual_ns)
		buf_printf(line, " (usually %s)", format_time(s->usual_ns).s);
	buf_printf(line, ", thread %u: ", s->call.tid);
}

void why_sentence(struct buf *line, const struct why_told *t, const struct slow_list_call *c)
{
	char text[NOT_SEEN][TEXT_BYTES], other[DIFFERENCES][TEXT_BYTES];
	unsigned int n = not_seen(t->names, c, text), nr = differences(t, c, other);

	put_head(line, c);
	report_causes(line, &t->report, &t->result);
	for (unsigned int i = 0; i < nr; i++)
		buf_printf(line, "; %s", other[i]);
	for (unsigned int i = 0; i < n; i++)
		buf_printf(line, "; %s", text[i]);
}

/* "300 ms from 12 us on, in read of data.log; woken by writer (thread 12), which ..." */
static void put_sleep(struct buf *line, const struct rec_call *call, const struct rec_witness *w)
{
	const struct rec_sleep *s = &w->sleep;
	uint64_t since =
	    w->at_ns > call->start_ns + w->weight_ns ? w->at_ns - w->weight_ns - call->start_ns : 0;

	buf_printf(line, "%s, %s after the call began", format_time(w->weight_ns).s,
		   format_time(since).s);
	if (s->call[0]) {
		buf_puts(line, ", in ");
		sanitise_puts(line, s->call);
	}
	if (s->name[0]) {
		buf_puts(line, " on ");
		sanitise_puts(line, s->name);
	}
	if (s->interrupt[0]) {
		buf_puts(line, "; woken in interrupt ");
		sanitise_puts(line, s->interrupt);
	} else if (s->waker[0]) {
		buf_puts(line, "; woken by ");
		sanitise_puts(line, s->waker);
		buf_printf(line, " (thread %u)", s->waker_tid);
	}
}

static int put_call(struct buf *out, const struct why_report *r, const struct slow_list_call *c,
		    const struct output_options *o)
{
	char text[NOT_SEEN][TEXT_BYTES], other[DIFFERENCES][TEXT_BYTES];
	unsigned int n = not_seen(r->names, c, text);
	SCOPED_BUF(line, LINE_MAX_BYTES);
	struct why_told t;
	int err = why_told_init(&t, r->model, r->names, c);

	if (err)
		return err;
	put_head(&line, c);
	report_causes(&line, &t.report, &t.result);
	output_wrap(out, &line, o, "", 0);
	for (uint32_t i = 0; i < c->call->nr_sleeps; i++) {
		buf_reset(&line);
		put_sleep(&line, &c->call->call, &c->call->sleeps[i]);
		output_wrap(out, &line, o, "Slept:    ", 10);
	}
	for (unsigned int i = 0, nr = differences(&t, c, other); i < nr; i++) {
		buf_reset(&line);
		buf_puts(&line, other[i]);
		output_wrap(out, &line, o, "Unlike others: ", 15);
	}
	for (unsigned int i = 0; i < n; i++) {
		buf_reset(&line);
		buf_puts(&line, text[i]);
		output_wrap(out, &line, o, "Not seen: ", 10);
	}
	err = line.err;
	why_told_release(&t);
	return err;
}

/* Calls that wait for work come last, although they are slower. */
static void put_left_out(struct buf *out, const struct slow_list_call *c,
			 const struct output_options *o)
{
	SCOPED_BUF(line, LINE_MAX_BYTES);
	const char *name = op_words(c);

	buf_puts(&line, "longer calls in which threads usually wait for work or sleep: ");
	sanitise_puts(&line, name);
	buf_printf(&line, ", %s; --op ", format_time(c->call->call.latency_ns).s);
	sanitise_puts(&line, name);
	buf_puts(&line, " tells of them");
	output_wrap(out, &line, o, "Left out: ", 10);
	out->err = out->err ?: line.err;
}

int output_why_text(const struct why_report *r, const struct output_options *o, FILE *f)
{
	struct buf out = {.max = WHY_MAX};
	int err = 0;

	for (size_t i = 0; i < r->nr && !err; i++) {
		if (i)
			buf_putc(&out, '\n');
		err = put_call(&out, r, r->calls[i], o);
	}
	if (r->left_out)
		put_left_out(&out, r->left_out, o);
	out.err = out.err ?: err;
	return output_text_write(&out, f);
}
