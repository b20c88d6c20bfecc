// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the text and the JSON output of a descent. */
#include "tui/report/output_descend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/format.h"
#include "tui/report/sanitise.h"

enum { SENTENCE_FRAMES = 8 };

/* If a peak and a range share this fraction of the calls of both, the range is reported as the
 * peak. */
#define SAME_PEAK 0.7
/* Smaller fractions of the time are not mentioned. */
#define WORTH_SAYING 0.03

static const char *kernel_function(const struct descent_driver *d, const struct rec_frame *f)
{
	const struct driver_symbol *s = driver_symbol(d, f->module, f->function);

	return s ? s->function : "";
}

void report_name_kernel(const struct descent_driver *d, struct descent_result *r)
{
	static const char prefix[] = "syscall:";

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		struct descent_path *p = &r->paths[i];
		const char *call = p->nr_kernel ? kernel_function(d, &p->kernel[0]) : "";
		struct buf name;

		if (p->cause.kind == CAUSE_SIGNAL && p->nr_below) {
			buf_init(&name, sizeof(p->cause.name));
			report_function(&name, d, p->below[0].function);
			snprintf(p->cause.name, sizeof(p->cause.name), "%s",
				 name.data ? name.data : "");
			buf_release(&name);
		}
		if (p->cause.kind != CAUSE_KERNEL)
			continue;
		call += strncmp(call, prefix, sizeof(prefix) - 1) ? 0 : sizeof(prefix) - 1;
		snprintf(p->cause.detail, sizeof(p->cause.detail), "%s", call);
		if (p->kernel_trunk > 1 && p->kernel_trunk <= p->nr_kernel)
			snprintf(p->cause.name, sizeof(p->cause.name), "%s",
				 kernel_function(d, &p->kernel[p->kernel_trunk - 1]));
	}
}

int report_result(const struct descend_report *r, struct descent_result *out)
{
	int err;

	if (driver_asked(r->driver)) {
		err = driver_result(r->driver, out);
		if (!err)
			report_name_kernel(r->driver, out);
		return err;
	}
	memset(out, 0, sizeof(*out));
	out->status = DESCENT_TOO_FEW;
	return 0;
}

const char *report_status(const struct descend_report *r, const struct descent_result *result)
{
	return r->no_such_peak ? "no such peak" : descent_status_text(result->status);
}

/* The peak that now holds most of the calls in the range `asked`; NULL if no peak holds any. */
static const struct peak *peak_with_most(const struct op *op, struct bucket_range asked)
{
	const struct peak *best = NULL;
	uint64_t most = 0;

	for (unsigned int i = 0; i < op->nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];
		struct bucket_range both = asked;
		uint64_t calls;

		if (p->range.low > both.low)
			both.low = p->range.low;
		if (p->range.high < both.high)
			both.high = p->range.high;
		calls = both.high > both.low ? profile_range_calls(&op->total, both) : 0;
		if (calls > most) {
			most = calls;
			best = p;
		}
	}
	return best;
}

/* The latency of the fullest bucket in a range, as its mode. */
static uint64_t mode_in(const struct profile *p, struct bucket_range range)
{
	unsigned int best = range.low;

	for (unsigned int i = range.low; i < range.high; i++) {
		if (p->count[i] > p->count[best])
			best = i;
	}
	return bucket_low_ns(best, PT_RESOLUTION);
}

static double part_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/*
 * The shares of calls and time that a range of latencies had when the descent began. Since then,
 * probes may have moved calls out of the range.
 */
static void shares_of(const struct descend_report *r, const struct op *op,
		      struct bucket_range range, double *calls, double *time)
{
	const struct profile *p = descent_start_profile(driver_descent(r->driver));

	if (!profile_range_calls(p, range))
		p = &op->total;
	*calls = part_of(profile_range_calls(p, range), p->calls);
	*time = part_of(profile_range_sum(p, range), p->sum_ns);
}

bool report_peak(const struct descend_report *r, const struct op *op, struct peak *out)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct peak *now;
	struct bucket_range asked;

	if (!ask || !op || ask->high_ns == UINT64_MAX)
		return false;
	asked = (struct bucket_range){.low = pt_bucket(ask->low_ns),
				      .high = pt_bucket(ask->high_ns - 1) + 1};
	now = peak_with_most(op, asked);
	if (!now)
		return false;
	*out = *now;
	shares_of(r, op, asked, &out->share_of_calls, &out->share_of_time);
	if (now->range.low >= asked.low && now->range.high <= asked.high &&
	    profile_range_calls(&op->total, now->range) == profile_range_calls(&op->total, asked))
		return true;
	/* The peak has changed its range since the descent began: the answer is about the range
	 * that was asked for. */
	out->range = asked;
	out->low_ns = ask->low_ns;
	out->high_ns = ask->high_ns;
	if (out->mode_ns < ask->low_ns || out->mode_ns >= ask->high_ns)
		out->mode_ns = mode_in(&op->total, asked);
	out->calls = profile_range_calls(&op->total, asked);
	out->total_ns = profile_range_sum(&op->total, asked);
	out->rate_hz = now->rate_hz * part_of(out->calls, now->calls);
	out->run_queue_share = out->expected_preempted = out->seen_preempted = -1;
	out->nr_values = out->nr_related = 0;
	return true;
}

/* True if the range that was asked for has nearly the same calls as this peak. If it is only a part
 * of a peak, its latencies are reported instead of the peak's number. */
static bool is_that_peak(const struct descend_report *r, const struct peak *p)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct op *op = model_op_peaks(r->model, r->op);
	struct bucket_range asked = {pt_bucket(ask->low_ns), pt_bucket(ask->high_ns - 1) + 1},
			    both = asked;
	const struct peak *now = peak_with_most(op, asked);
	double calls;

	if (!now || now->rank != p->rank)
		return false;
	both.low = now->range.low > both.low ? now->range.low : both.low;
	both.high = now->range.high < both.high ? now->range.high : both.high;
	calls = (double)profile_range_calls(&op->total, both);
	return calls >= SAME_PEAK * (double)profile_range_calls(&op->total, now->range) &&
	       calls >= SAME_PEAK * (double)profile_range_calls(&op->total, asked);
}

/* Begin the sentence of a descent into the slowest calls (no peak). */
static bool slowest_begin(const struct descend_report *r, uint64_t mean_ns, struct buf *out)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct op *op = model_op_peaks(r->model, r->op);
	struct bucket_range range;
	double calls, time;

	if (!ask)
		return false;
	range = (struct bucket_range){pt_bucket(ask->low_ns),
				      ask->high_ns == UINT64_MAX ? PT_BUCKETS
								 : pt_bucket(ask->high_ns - 1) + 1};
	if (ask->high_ns == UINT64_MAX)
		buf_printf(out, "calls of %s and more", format_time(ask->low_ns).s);
	else
		buf_printf(out, "calls of %s", format_range(ask->low_ns, ask->high_ns).s);
	if (mean_ns)
		buf_printf(out, ", %s on average", format_time(mean_ns).s);
	if (op && op->total.calls) {
		shares_of(r, op, range, &calls, &time);
		buf_printf(out, ", %s of calls and %s of time", format_percent(calls).s,
			   format_percent(time).s);
	}
	return true;
}

bool report_peak_begin(const struct descend_report *r, uint64_t mean_ns, struct buf *out)
{
	struct peak p;

	if (!report_peak(r, model_op_peaks(r->model, r->op), &p) || !is_that_peak(r, &p))
		return slowest_begin(r, mean_ns, out);
	buf_printf(out, "peak %d, %s, ", peak_name(&p, r->names),
		   format_range(p.low_ns, p.high_ns).s);
	if (mean_ns)
		buf_printf(out, "%s on average, ", format_time(mean_ns).s);
	else
		buf_printf(out, "most at %s, ", format_time(p.mode_ns).s);
	buf_printf(out, "%s of calls and %s of time", format_percent(p.share_of_calls).s,
		   format_percent(p.share_of_time).s);
	return true;
}

void report_missing(const struct descend_report *r, const struct descent_result *result,
		    struct buf *out)
{
	const struct descent_missing *m = &result->missing;
	const char *between = "";
	char name[1024];

	if (m->unmeasured >= WORTH_SAYING) {
		buf_printf(out, "%s in callees that were not measured",
			   format_percent(m->unmeasured).s);
		between = ", ";
	}
	if (m->unknown >= WORTH_SAYING) {
		buf_printf(out, "%s%s with unknown cause", between, format_percent(m->unknown).s);
		between = ", ";
	}
	if (m->host >= WORTH_SAYING) {
		buf_printf(out, "%s%s waiting for a CPU or in interrupts", between,
			   format_percent(m->host).s);
		between = ", ";
	}
	if (m->other < WORTH_SAYING)
		return;
	buf_printf(out, "%s%s outside these paths", between, format_percent(m->other).s);
	if (!m->largest)
		return;
	buf_printf(out, ", most of it %s in ", format_percent(m->largest_share).s);
	report_short_name(
	    out, driver_function(r->driver, &result->nodes[m->largest], name, sizeof(name)));
}

bool report_left(struct buf *out, const struct op *op)
{
	uint64_t calls = op ? op->total.calls + op->abnormal : 0;

	if (!calls || op->abnormal * 100 < calls)
		return false;
	buf_printf(out,
		   "%s of its calls (%s) ended by an exception, longjmp or thread exit; their time "
		   "is in none of its peaks, but in the function that continued",
		   format_percent(part_of(op->abnormal, calls)).s, format_count(op->abnormal).s);
	return true;
}

enum evidence report_evidence(const struct descent_fnode *n)
{
	return n->records || !n->depth ? EVIDENCE_MEASURED : EVIDENCE_WITNESSED;
}

const char *report_evidence_words(enum evidence evidence)
{
	return evidence == EVIDENCE_WITNESSED ? "stacks" : evidence_text(evidence);
}

static void append_safe(struct buf *out, const char *s)
{
	sanitise_append(out, s, strlen(s));
}

void report_cause(struct buf *out, const struct cause *c)
{
	static const char *const words[CAUSE_KINDS] = {
	    [CAUSE_OWN_CODE] = "in its own code",
	    [CAUSE_LOOP] = "its own loop around short calls",
	    [CAUSE_PREEMPTION] = "preempted",
	    [CAUSE_RUN_QUEUE] = "runnable, waiting for a CPU",
	    [CAUSE_INTERRUPT] = "interrupted",
	    [CAUSE_PAGE_FAULT] = "in page faults",
	    [CAUSE_IO] = "waiting for I/O",
	    [CAUSE_LOCK] = "waiting for a lock",
	    [CAUSE_SLEEP] = "timed sleep",
	    [CAUSE_TIMEOUT] = "waiting until a timeout",
	    [CAUSE_NETWORK] = "waiting for the network",
	    [CAUSE_WAIT] = "waiting for another task",
	    [CAUSE_UNMEASURED] = "in callees that were not measured",
	    [CAUSE_UNKNOWN] = "unknown cause",
	    [CAUSE_QUOTA] = "throttled by the CPU quota",
	    [CAUSE_STOPPED] = "stopped",
	    [CAUSE_THROTTLED] = "throttled while writing: too many dirty pages",
	    [CAUSE_RECLAIM] = "freeing memory",
	    [CAUSE_COMPACTION] = "waiting while the kernel compacts memory",
	    [CAUSE_SWAP] = "reading pages back from swap",
	    [CAUSE_HUGE_PAGE] = "waiting while the kernel makes huge pages",
	    [CAUSE_KERNEL] = "in the kernel",
	    [CAUSE_SIGNAL] = "in a signal handler",
	};
	static const char *const before_name[CAUSE_KINDS] = {
	    [CAUSE_PREEMPTION] = " by ",
	    [CAUSE_INTERRUPT] = " by ",
	    [CAUSE_IO] = " on ",
	    [CAUSE_LOCK] = " held by ",
	    [CAUSE_NETWORK] = ": ",
	    [CAUSE_WAIT] = ": ",
	    [CAUSE_QUOTA] = " of ",
	    [CAUSE_STOPPED] = " by ",
	    [CAUSE_THROTTLED] = " on ",
	    [CAUSE_RECLAIM] = " for ",
	    [CAUSE_RUN_QUEUE] = ", behind ",
	};
	enum cause_kind kind = c->kind < CAUSE_KINDS ? c->kind : CAUSE_UNKNOWN;

	buf_puts(out, words[kind]);
	if (c->name[0]) {
		buf_puts(out, before_name[kind] ? before_name[kind] : ": ");
		append_safe(out, c->name);
	}
	/* the name of a hardware interrupt already contains its number */
	if (c->detail[0] && (kind != CAUSE_INTERRUPT || !c->name[0])) {
		buf_puts(out, " (");
		append_safe(out, c->detail);
		buf_puts(out, ")");
	}
}

void report_function(struct buf *out, const struct descent_driver *d, struct rec_code function)
{
	const struct driver_symbol *s = driver_symbol(d, function.module, function.offset);

	if (s && s->function[0]) {
		report_short_name(out, s->function);
		return;
	}
	if (!function.module) {
		buf_puts(out, NO_FILE);
		return;
	}
	append_safe(out, driver_module(d, function.module));
	buf_printf(out, "+0x%llx", (unsigned long long)function.offset);
}

unsigned int report_frames_named(const struct descent_result *result, const struct descent_path *p)
{
	uint32_t own = result->nodes[p->frames[0]].function.module;
	unsigned int named = 1;

	if (p->cause.kind == CAUSE_OWN_CODE)
		return p->nr_frames;
	for (unsigned int i = 1; i < p->nr_frames; i++) {
		if (result->nodes[p->frames[i]].site.module == own)
			named = i + 1;
	}
	return named;
}

unsigned int report_frame_between(struct buf *out, unsigned int i, unsigned int nr)
{
	if (nr > SENTENCE_FRAMES && i == SENTENCE_FRAMES / 2) {
		buf_puts(out, " > ...");
		i = nr - SENTENCE_FRAMES / 2;
	}
	buf_puts(out, i ? " > " : "");
	return i;
}

void report_mean_count(struct buf *out, double mean)
{
	if (mean >= 10 || mean - (double)(unsigned long)mean < 0.05)
		buf_printf(out, "%.0f", mean);
	else
		buf_printf(out, "%.1f", mean);
}

void report_path_cause(struct buf *out, const struct descent_driver *d,
		       const struct descent_path *p)
{
	if (p->looped.share <= 0) {
		report_cause(out, &p->cause);
		return;
	}
	if (!p->looped.calls) {
		buf_puts(out, "its own loop around short calls of ");
		report_function(out, d, p->looped.function);
		buf_printf(out, " (%s, sampled)", format_percent(p->looped.share).s);
		return;
	}
	buf_puts(out, "its own loop: ");
	report_mean_count(out, p->looped.calls);
	buf_puts(out, " calls of ");
	report_function(out, d, p->looped.function);
	buf_printf(out, ", %s each (%s)", format_time(p->looped.mean_ns).s,
		   format_percent(p->looped.share).s);
}

bool report_line(struct buf *out, const char *file, uint32_t line)
{
	const char *slash = strrchr(file, '/');

	if (!file[0] || !line)
		return false;
	append_safe(out, slash ? slash + 1 : file);
	buf_printf(out, ":%u", line);
	return true;
}

bool report_place(struct buf *out, const struct descent_driver *d, struct rec_code place)
{
	const struct driver_symbol *s =
	    place.module ? driver_symbol(d, place.module, place.offset) : NULL;

	return s && report_line(out, s->file, s->line);
}

bool report_where(struct buf *out, const struct descent_driver *d, const struct descent_path *p)
{
	const struct inlined_level *l;
	struct inlined in;

	if (p->cause.kind == CAUSE_SIGNAL) /* its name is the place */
		return false;
	if (p->nr_below && 2 * p->below[0].share > p->share && !p->below[0].own) {
		buf_puts(out, "in ");
		report_function(out, d, p->below[0].function);
		return true;
	}
	driver_narrow(d, p, &in);
	l = in.nr ? &in.level[in.nr - 1] : NULL;
	if (!l || !l->file[0] || !l->line) {
		if (!p->nr_pcs ||
		    !driver_symbol(d, p->pcs[0].place.module, p->pcs[0].place.offset) ||
		    !driver_symbol(d, p->pcs[0].place.module, p->pcs[0].place.offset)->line)
			return false;
		buf_puts(out, "at ");
		return report_place(out, d, p->pcs[0].place);
	}
	buf_puts(out, l->loop_first ? "in the loop at " : "at ");
	report_line(out, l->file, l->loop_first ? l->loop_first : l->line);
	if (l->loop_last > l->loop_first)
		buf_printf(out, "-%u", l->loop_last);
	if (in.nr > 1) {
		buf_puts(out, " of ");
		report_short_name(out, l->function);
		buf_puts(out, " (inlined)");
	}
	return true;
}

bool report_inlined_at(struct buf *out, const struct descent_driver *d, struct rec_code site)
{
	const struct rec_inlines *in = driver_inlines(d, site);
	bool any = false;

	for (uint32_t i = 0; in && i < in->nr_calls && in->calls[i].inlined; i++) {
		buf_puts(out, any ? " < " : "");
		report_short_name(out, in->calls[i].function);
		any = true;
	}
	return any;
}

void report_subject(const struct descend_report *r, const struct op *op,
		    const struct descent_result *result, char *out, size_t size)
{
	bool labelled = op && op->layer == LAYER_FUNCTION && op->label[0];

	if (!result->nr_nodes)
		snprintf(out, size, "%s",
			 labelled   ? op->label
			 : op	    ? op->name
			 : r->asked ? r->asked
				    : "");
	else if (labelled && !driver_symbol(r->driver, op->module_id, op->offset))
		snprintf(out, size, "%s", op->label);
	else
		driver_function(r->driver, &result->nodes[0], out, size);
}
