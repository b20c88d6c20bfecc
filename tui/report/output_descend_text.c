// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_descend.h"

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/output_descend_parts.h"
#include "tui/report/output_descend_sampled.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { MAX_OUTPUT = 16 << 20, NAME_BYTES = 1024, SENTENCE_CAUSES = 3 };

/* A cause with this share of the peak's time is reported beside the largest one. */
#define WORTH_A_CLAUSE 0.1
/* If the host's share exceeds this multiple of the program's own, it is reported first. */
#define HOST_LEADS 3

/* "serve > fetch > usleep at store.c:88, timed sleep" */
static void put_path(struct buf *out, const struct descend_report *r,
		     const struct descent_result *result, const struct descent_path *p)
{
	unsigned int named = report_frames_named(result, p);
	const struct descent_fnode *last = &result->nodes[p->frames[named - 1]];
	SCOPED_BUF(place, NAME_BYTES * 4);

	for (unsigned int i = 0; i < named; i++) {
		i = report_frame_between(out, i, named);
		report_name(out, r, &result->nodes[p->frames[i]]);
	}
	report_place(out, " at ", r->driver, last->site);
	buf_puts(out, ", ");
	report_path_cause(out, r->driver, p);
	if (report_where(&place, r->driver, p))
		buf_printf(out, ", mostly %s", place.data);
	report_put_meanwhile(out, r, result, p);
}

/* The largest path whose cause is in the host (`host`), or in the program; NULL: there is none. */
static const struct descent_path *largest_of(const struct descent_result *result, bool host)
{
	return find_first(i, result->paths, result->nr_paths,
			  cause_of_host(result->paths[i].cause.kind) == host);
}

static void put_share(struct buf *out, double share)
{
	buf_printf(out, " (%s of the time)", format_percent(share).s);
}

/* A clause of the sentence. Paths with the same text share a clause; `share` is their sum. */
struct clause {
	struct buf text;
	double share;
	const struct descent_path *path;
	bool joined; /* other functions of the kernel were joined to it */
};

/* Returns true if both paths are time in the kernel below one system call of one function. */
static bool same_call(const struct descent_path *a, const struct descent_path *b)
{
	return a->cause.kind == CAUSE_KERNEL && b->cause.kind == CAUSE_KERNEL &&
	       a->nr_frames == b->nr_frames &&
	       a->frames[a->nr_frames - 1] == b->frames[b->nr_frames - 1] &&
	       !strcmp(a->cause.detail, b->cause.detail);
}

static void clause_add(struct clause *clauses, unsigned int *nr, struct buf *text,
		       const struct descent_path *p)
{
	unsigned int i = 0;

	while (i < *nr && strcmp(clauses[i].text.data, text->data) &&
	       !same_call(clauses[i].path, p))
		i++;
	if (i == *nr && i < SENTENCE_CAUSES) {
		clauses[(*nr)++] = (struct clause){*text, p->share, p, false};
		return;
	}
	if (i < *nr) {
		clauses[i].joined |= strcmp(clauses[i].text.data, text->data) != 0;
		clauses[i].share += p->share;
	}
	buf_release(text);
}

/* Append the largest causes in the program, each with its share. Paths that differ only in what the
 * sentence leaves out, such as their frames in the kernel, are one cause. */
static void put_own_causes(struct buf *out, const struct descend_report *r,
			   const struct descent_result *result, const struct descent_path *first)
{
	struct clause clauses[SENTENCE_CAUSES];
	unsigned int nr = 0;

	for (const struct descent_path *p = first; p < result->paths + result->nr_paths; p++) {
		struct buf text = {.max = MAX_OUTPUT};

		if (cause_of_host(p->cause.kind) || (p != first && p->share < WORTH_A_CLAUSE))
			continue;
		put_path(&text, r, result, p);
		if (text.err) {
			out->err = text.err;
			buf_release(&text);
			break;
		}
		clause_add(clauses, &nr, &text, p);
	}
	for (unsigned int i = 0; i < nr; i++) {
		buf_printf(out, "%s%s%s", i ? "; and " : "", clauses[i].text.data,
			   clauses[i].joined ? " and other functions" : "");
		put_share(out, clauses[i].share);
		buf_release(&clauses[i].text);
	}
}

/* Returns true if a task of the same name as one that these calls wait for had their CPU. */
static bool awaited_had_cpu(const struct descent_result *result, const struct descent_path *host)
{
	for (unsigned int i = 0; host->cause.name[0] && i < result->nr_paths; i++) {
		const struct cause *c = &result->paths[i].cause;

		if ((c->kind == CAUSE_WAIT || c->kind == CAUSE_LOCK) &&
		    !strcmp(c->name, host->cause.name))
			return true;
	}
	return false;
}

/* Report the program's own causes and what the host adds. Waiting for a CPU is reported in
 * addition to the program's own path, never instead of it; it comes first only if it is by
 * far the largest part. */
static void put_causes(struct buf *out, const struct descend_report *r,
		       const struct descent_result *result)
{
	const struct descent_path *own = largest_of(result, false),
				  *host = largest_of(result, true);
	double program = 0;

	if (!own) {
		put_path(out, r, result, host);
		put_share(out, host->share);
		return;
	}
	if (!host || host->share < WORTH_A_CLAUSE) {
		put_own_causes(out, r, result, own);
		if (result->missing.host >= WORTH_A_CLAUSE) {
			buf_puts(out, "; added by the host: waiting for a CPU or in interrupts");
			put_share(out, result->missing.host);
		}
		return;
	}
	for (unsigned int i = 0; i < result->nr_paths; i++)
		program += cause_of_host(result->paths[i].cause.kind) ? 0 : result->paths[i].share;
	if (host->share > HOST_LEADS * program) {
		put_path(out, r, result, host);
		put_share(out, host->share);
		buf_puts(out, "; the program's own part: ");
		put_own_causes(out, r, result, own);
		return;
	}
	put_own_causes(out, r, result, own);
	buf_puts(out, awaited_had_cpu(result, host)
			  ? "; meanwhile a task of the same name had the CPU: "
			  : "; added by the host: ");
	report_cause(out, &host->cause);
	put_share(out, host->share);
}

static void put_no_peak(struct buf *out, const struct descend_report *r)
{
	const struct op *op = model_op_peaks(r->model, r->op);

	if (r->wanted_peak)
		buf_printf(out, "there is no peak %d", r->wanted_peak);
	else if (r->wanted_low_ns < r->wanted_high_ns)
		buf_printf(out, "no call took %s",
			   format_range(r->wanted_low_ns, r->wanted_high_ns).s);
	else if (r->wanted_low_ns)
		buf_printf(out, "there is no peak at %s", format_time(r->wanted_low_ns).s);
	else
		buf_puts(out, "there is no peak");
	for (unsigned int i = 0; op && i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];

		buf_printf(out, "%s %d (%s, %s of calls)", i ? "," : "; there are", p->rank,
			   format_time(p->mode_ns).s, format_percent(p->share_of_calls).s);
	}
}

void report_causes(struct buf *out, const struct descend_report *r,
		   const struct descent_result *result)
{
	report_doubt(out, r, result);
	if (result->nr_paths && result->paths[0].nr_frames)
		put_causes(out, r, result);
	else if (result->refused[0])
		buf_printf(out,
			   "no answer, because its figures contradict each other: %s; run it again",
			   result->refused);
	else
		buf_printf(out, "no cause was found (%s)", report_status(r, result));
}

void output_descend_sentence(const struct descend_report *r, struct buf *out)
{
	struct descent_result result;

	if (r->no_such_peak) {
		put_no_peak(out, r);
		return;
	}
	if (!driver_asked(r->driver)) {
		buf_puts(out, "not enough calls to choose a peak");
		return;
	}
	if (report_result(r, &result)) {
		buf_puts(out, "no memory");
		return;
	}
	if (result.sampled.samples)
		report_sampled_begin(r, &result, out);
	else
		report_peak_begin(r, result.latency_ns, out);
	buf_puts(out, ": ");
	report_causes(out, r, &result);
	if (result.sampled.samples)
		report_sampled_end(&result, out);
	report_waited(r, ". Beside this, ", out);
	report_other_peak(r, out);
	descent_result_release(&result);
}

/* --- the paths as a tree */

static void put_frame(struct buf *out, const struct descend_report *r,
		      const struct descent_fnode *n, unsigned int level)
{
	buf_printf(out, "  %s %s ", format_percent_fixed(n->share).s,
		   format_time_fixed(n->latency_ns).s);
	if (n->records || (!n->depth && n->votes))
		buf_printf(out, "%5s of %-5s", format_count(n->maxcount).s,
			   format_count(n->votes).s);
	else
		buf_printf(out, "%5s    %-5s", "-", "");
	buf_printf(out, " %-9s %*s", report_evidence_words(report_evidence(n)), (int)level, "");
	report_name(out, r, n);
	report_place(out, " at ", r->driver, n->site);
	report_inlined_at(out, " in ", r->driver, n->site);
	if (n->in_loop)
		buf_puts(out, ", in a loop");
	buf_putc(out, '\n');
}

/* Append the functions inlined into the last frame, with their shares of the samples. */
static void put_inlined(struct buf *out, const struct descend_report *r,
			const struct descent_path *p)
{
	struct inlined in;

	driver_narrow(r->driver, p, &in);
	for (unsigned int i = 1; i < in.nr; i++) {
		const struct inlined_level *l = &in.level[i];

		buf_printf(out, "  %s %7s %5s    %-5s %-9s %*s",
			   format_percent_fixed(p->share * (double)l->ns / (double)in.ns).s, "",
			   "-", "", report_evidence_words(EVIDENCE_SAMPLED),
			   (int)(2 * (p->nr_frames + i - 1)), "");
		report_short_name(out, l->function);
		buf_puts(out, ", inlined");
		report_line(out, ", at ", l->file, l->line);
		if (l->loop_first)
			buf_printf(out, ", in the loop of lines %u-%u", l->loop_first,
				   l->loop_last);
		buf_putc(out, '\n');
	}
}

static void put_siblings(struct buf *out, const struct descend_report *r,
			 const struct descent_result *result, const struct descent_path *p,
			 const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	if (!p->nr_siblings)
		return;
	for (unsigned int i = 0; i < p->nr_siblings; i++) {
		const struct descent_fnode *n = &result->nodes[p->siblings[i]];

		buf_puts(&line, i ? ", " : "");
		report_name(&line, r, n);
		if (n->records)
			buf_printf(&line, " %s", format_time(n->latency_ns).s);
	}
	output_wrap(out, &line, o, "  other callees of the last function: ", 19);
}

/* Append the callers of a system call. */
static void put_callers(struct buf *out, const struct descend_report *r,
			const struct descent_result *result, const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	for (unsigned int i = 0; i < result->nr_callers; i++) {
		const struct descent_callers *c = &result->callers[i];

		if (!i)
			buf_puts(out, "\nCalled by (% of the time of these calls):\n");
		buf_reset(&line);
		for (unsigned int k = c->nr_frames; k > 0; k--) {
			report_function(
			    &line, r->driver,
			    (struct rec_code){c->frame[k - 1].module, c->frame[k - 1].function});
			buf_puts(&line, k > 1 ? " > " : "");
		}
		buf_printf(out, "  %s ", format_percent_fixed(c->share).s);
		words_wrap(out, line.err ? "" : line.data, output_columns(o) - 10, "", 2);
	}
}

static void put_paths(struct buf *out, const struct descend_report *r,
		      const struct descent_result *result, const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	for (unsigned int i = 0; i < result->nr_paths; i++) {
		const struct descent_path *p = &result->paths[i];

		buf_reset(&line);
		buf_printf(&line, "Path %u: %s of the time of these calls, ", i + 1,
			   format_percent(p->share).s);
		report_path_cause(&line, r->driver, p);
		buf_printf(&line, "; %s, %s", format_time(p->latency_ns).s,
			   report_evidence_words(p->evidence));
		buf_putc(out, '\n');
		output_wrap(out, &line, o, "", 8);
		if (!i)
			buf_puts(out, "   share    time   largest in evidence  function\n");
		for (unsigned int k = 0; k < p->nr_frames; k++)
			put_frame(out, r, &result->nodes[p->frames[k]], 2 * k);
		put_inlined(out, r, p);
		report_put_below(out, r, p, o);
		report_put_kernel(out, r, p, o);
		report_put_wait_tree(out, r, result, p, o);
		put_siblings(out, r, result, p, o);
	}
	put_callers(out, r, result, o);
	report_sampled_table(r, result, out);
}

/* Returns true if a part of the time that has no named cause is large enough to be one. */
static bool lacks_a_part(const struct descent_result *result)
{
	const struct descent_missing *m = &result->missing;

	return m->unmeasured >= WORTH_A_CLAUSE || m->unsampled >= WORTH_A_CLAUSE ||
	       m->unknown >= WORTH_A_CLAUSE || m->host >= WORTH_A_CLAUSE ||
	       m->other >= WORTH_A_CLAUSE;
}

static void put_status(struct buf *out, const struct descend_report *r,
		       const struct descent_result *result, const struct output_options *o)
{
	struct descent_progress now = {0};
	SCOPED_BUF(line, MAX_OUTPUT);

	if (result->status == DESCENT_IN_PROGRESS && !driver_over(r->driver))
		descent_progress(driver_descent(r->driver), &now);
	if (now.armed)
		buf_printf(&line, "%u call sites probed now; ", now.armed);
	if (now.until_next)
		buf_printf(&line, "next decision after %u more calls; ", now.until_next);
	buf_printf(&line, "%s; ", report_status(r, result));
	if (result->sampled.samples)
		buf_printf(&line, "not probed, %s CPU samples",
			   format_count(result->sampled.samples).s);
	else
		buf_printf(&line, "probed %u %s, %s of these calls measured", result->rounds,
			   result->rounds == 1 ? "time" : "times",
			   format_count(result->calls_used).s);
	buf_printf(
	    &line, ", %s of their time explained",
	    format_percent(result->status == DESCENT_PARTLY ? result->named : result->explained).s);
	if (!result->refused[0] && (result->status == DESCENT_PARTLY || lacks_a_part(result))) {
		SCOPED_BUF(missing, MAX_OUTPUT);

		report_missing(r, result, &missing);
		if (missing.len)
			buf_printf(&line, "; missing: %s", missing.data);
	}
	if (result->change[0]) {
		buf_puts(&line, "; ");
		sanitise_puts(&line, result->change);
	}
	buf_putc(out, '\n');
	output_wrap(out, &line, o, "Status: ", 8);
	buf_reset(&line);
	if (report_lacks_waits(&line, r, result))
		output_wrap(out, &line, o, "Note:   ", 8);
	buf_reset(&line);
	if (report_lacks_kernel(&line, r, result))
		output_wrap(out, &line, o, "Note:   ", 8);
	buf_reset(&line);
	if (report_left(&line, model_op_peaks(r->model, r->op)))
		output_wrap(out, &line, o, "Left:   ", 8);
}

/* Append the answer about one range of calls; `number`: of the part, 0: there are none. */
static int put_answer(struct buf *out, const struct descend_report *r,
		      const struct output_options *o, uint32_t number)
{
	struct descent_result result;
	SCOPED_BUF(line, MAX_OUTPUT);
	int err = report_result(r, &result);

	if (err)
		return err;
	if (number)
		buf_printf(&line, "Part %u: ", number);
	output_descend_sentence(r, &line);
	output_wrap(out, &line, o, "", 0);
	put_paths(out, r, &result, o);
	put_status(out, r, &result, o);
	descent_result_release(&result);
	return 0;
}

static int put_parts(struct buf *out, const struct descend_report *r,
		     const struct output_options *o)
{
	uint32_t nr = driver_parts(r->driver)->nr_parts;
	struct descend_report part;
	int err = 0;

	report_put_parts(out, r, o, nr + 2);
	for (uint32_t i = 1; i <= nr && !err; i++) {
		if (!report_part(r, i, &part))
			continue;
		buf_putc(out, '\n');
		err = put_answer(out, &part, o, i);
	}
	return err;
}

int output_descend_text(const struct descend_report *r, const struct output_options *o, FILE *f)
{
	SCOPED_BUF(out, MAX_OUTPUT);
	SCOPED_BUF(line, MAX_OUTPUT);
	int err;

	err = report_has_parts(r) ? put_parts(&out, r, o) : put_answer(&out, r, o, 0);
	if (report_lacks_parts(&line, r))
		output_wrap(&out, &line, o, "Parts:  ", 8);
	output_text_state(&out, r->model, o);
	out.err = out.err ?: err;
	return output_text_write(&out, f);
}
