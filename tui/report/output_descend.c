// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the text and the JSON output of a descent. */
#include "tui/report/output_descend.h"

#include <math.h>

#include "analysis/base/format.h"
#include "analysis/base/path.h"
#include "tui/report/output_descend_parts.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/sanitise.h"

enum { SENTENCE_FRAMES = 8, NAME_BYTES = 1024 };

/* Smaller fractions of the time are not mentioned. */
#define WORTH_SAYING 0.03
/* Of a function with this share of a system call's time the rest is not mentioned. */
#define NEARLY_ALL 0.95
/* A smaller explained share is rounded to 0%. */
#define NOTHING 0.0005
/* Tolerance for the means of a loop and of its calls, which are taken over different calls. */
#define LOOP_SLACK 1.02

static const char *kernel_function(const struct descent_driver *d, const struct rec_frame *f)
{
	const struct driver_symbol *s = driver_symbol(d, f->module, f->function);

	return s ? s->function : "";
}

/* Name causes in the kernel by the kernel's functions. */
static void name_kernel(const struct descent_driver *d, struct descent_result *r)
{
	static const char prefix[] = "syscall:";

	for (unsigned int i = 0; i < r->nr_paths; i++) {
		struct descent_path *p = &r->paths[i];
		const char *call = p->nr_kernel ? kernel_function(d, &p->kernel[0]) : "";
		SCOPED_BUF(name, sizeof(p->cause.name));
		bool below;

		if (p->cause.kind == CAUSE_SIGNAL && p->nr_below) {
			report_function(&name, d, p->below[0].function);
			snprintf(p->cause.name, sizeof(p->cause.name), "%s",
				 name.data ? name.data : "");
		}
		if (p->cause.kind != CAUSE_KERNEL)
			continue;
		below = strncmp(call, prefix, sizeof(prefix) - 1) != 0; /* f0 is the call */
		snprintf(p->cause.detail, sizeof(p->cause.detail), "%s",
			 below ? "" : call + sizeof(prefix) - 1);
		if (p->kernel_trunk + below > 1 && p->kernel_trunk <= p->nr_kernel)
			snprintf(p->cause.name, sizeof(p->cause.name), "%s",
				 kernel_function(d, &p->kernel[p->kernel_trunk - 1]));
	}
}

uint64_t report_below_measurable(const struct descend_report *r, uint64_t mean_ns)
{
	const struct op *op = model_op_peaks(r->model, r->op);

	return op && mean_ns && mean_ns < op->measurable_ns ? op->measurable_ns : 0;
}

/* The same for the mean of an answer. Samples measure nothing. */
static uint64_t below_measurable(const struct descend_report *r,
				 const struct descent_result *result)
{
	return result->sampled.samples ? 0 : report_below_measurable(r, result->latency_ns);
}

int report_result(const struct descend_report *r, struct descent_result *out)
{
	int err;

	if (driver_asked(r->driver)) {
		err = driver_result(r->driver, out);
		if (err)
			return err;
		name_kernel(r->driver, out);
		err = report_name_holders(r, out);
		if (err) {
			descent_result_release(out);
			return err;
		}
		if (below_measurable(r, out)) {
			out->named = 0;
			out->enough = false;
			if (out->status == DESCENT_ROOT_CAUSE)
				out->status = DESCENT_PARTLY;
		}
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->status = DESCENT_TOO_FEW;
	return 0;
}

const char *report_status(const struct descend_report *r, const struct descent_result *result)
{
	return r->no_such_peak ? "no such peak" : descent_status_text(result->status);
}

void report_doubt(struct buf *out, const struct descend_report *r,
		  const struct descent_result *result)
{
	uint64_t measurable = below_measurable(r, result);

	if (!result->nr_paths)
		return;
	if (measurable)
		buf_printf(out,
			   "in doubt, because calls of less than %s are too short to be measured "
			   "here, and most of this time is that of the probes: ",
			   format_time(measurable).s);
	else if (result->expected_ns)
		buf_printf(
		    out,
		    "in doubt, because the measured calls took %s on average, and such calls "
		    "%s before probes were armed inside them: ",
		    format_time(result->latency_ns).s, format_time(result->expected_ns).s);
	else if (result->status == DESCENT_PARTLY && result->named < NOTHING)
		buf_puts(out, "not explained: ");
	else if (result->status == DESCENT_PARTLY)
		buf_printf(out,
			   "partly explained (%s of the time): ", format_percent(result->named).s);
	else if (result->status == DESCENT_IN_PROGRESS && (r->ended || driver_over(r->driver)))
		buf_printf(out, "not finished, %s of the time explained so far: ",
			   format_percent(result->explained).s);
	else if (result->status == DESCENT_CHANGED || result->status == DESCENT_TARGET_END ||
		 result->status == DESCENT_TOO_FEW)
		buf_printf(out,
			   "%s, %s of the time explained: ", descent_status_text(result->status),
			   format_percent(result->explained).s);
}

void report_missing(const struct descend_report *r, const struct descent_result *result,
		    struct buf *out)
{
	const struct descent_missing *m = &result->missing;
	const struct {
		double share;
		const char *where;
	} parts[] = {
	    {m->unmeasured, "in callees that were not measured"},
	    {m->unsampled, "in code that no stack sample confirms"},
	    {m->unknown, "with unknown cause"},
	    {m->host, "waiting for a CPU or in interrupts"},
	    {m->other, "outside these paths"},
	};
	char name[1024];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].share >= WORTH_SAYING)
			buf_printf(out, "%s%s %s", out->len ? ", " : "",
				   format_percent(parts[i].share).s, parts[i].where);
	}
	if (m->other < WORTH_SAYING || !m->largest)
		return;
	buf_printf(out, ", %s %s in ",
		   2 * m->largest_share > m->other ? "most of it" : "the largest part",
		   format_percent(m->largest_share).s);
	report_short_name(
	    out, driver_function(r->driver, &result->nodes[m->largest], name, sizeof(name)));
}

static bool ends_in_system_call(const struct descent_result *result, const struct descent_path *p)
{
	const struct rec_frame *first = p->kernel;

	return (p->nr_deep && code_is_syscall((struct rec_code){first->module, first->function})) ||
	       (p->nr_frames &&
		code_is_syscall(result->nodes[p->frames[p->nr_frames - 1]].function));
}

bool report_lacks_kernel(struct buf *out, const struct descend_report *r,
			 const struct descent_result *result)
{
	const struct rec_descent *ask = driver_asked(r->driver);
	const struct descent_path *p = result->paths;

	if (!ask || ask->kernel_ns || !result->nr_paths || !ends_in_system_call(result, p) ||
	    (p->cause.kind != CAUSE_KERNEL && p->cause.kind != CAUSE_IO &&
	     p->cause.kind != CAUSE_UNMEASURED))
		return false;
	buf_puts(out, "calls in the kernel are not timed: that needs Linux 6.7 with kprobes, and "
		      "--max-overhead 10 or more");
	return true;
}

bool report_left(struct buf *out, const struct op *op)
{
	uint64_t calls = op ? op->total.calls + op->abnormal : 0;

	if (!calls || op->abnormal * 100 < calls)
		return false;
	buf_printf(out,
		   "%s of its calls (%s) ended by an exception, longjmp or thread exit; their time "
		   "is in none of its peaks, but in the function that continued",
		   format_percent((double)op->abnormal / (double)calls).s,
		   format_count(op->abnormal).s);
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

void report_cause(struct buf *out, const struct cause *c)
{
	const struct cause_kind_info *info = cause_kind_info(c->kind);

	buf_puts(out, c->wait ? wait_kind_info(c->wait)->text : info->text);
	if (c->name[0]) {
		buf_puts(out, info->before_name);
		sanitise_puts(out, c->name);
	}
	/* the name of a hardware interrupt already contains its number */
	if (c->detail[0] && (c->kind != CAUSE_INTERRUPT || !c->name[0])) {
		buf_puts(out, " (");
		sanitise_puts(out, c->detail);
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
		buf_puts(out, function.offset == CALLERS_UNKNOWN ? "(unknown callers)" : NO_FILE);
		return;
	}
	sanitise_puts(out, driver_module(d, function.module));
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

bool report_loop_kernel(struct buf *out, const char *before, const struct descent_driver *d,
			const struct descent_path *p)
{
	double share = fmin(p->looped.kernel, fmin(p->looped.share, p->share));

	if (share < WORTH_SAYING)
		return false;
	buf_printf(out, "%s%s in the kernel", before, format_percent(share).s);
	if (p->nr_kernel > 1) {
		buf_puts(out, ": ");
		sanitise_puts(out, kernel_function(d, &p->kernel[p->nr_kernel - 1]));
	}
	return true;
}

void report_path_cause(struct buf *out, const struct descent_driver *d,
		       const struct descent_path *p)
{
	if (p->cause.kind == CAUSE_KERNEL && p->kernel_named > 0 && p->kernel_named < NEARLY_ALL &&
	    p->cause.name[0] && p->cause.detail[0]) {
		buf_puts(out, "in the kernel: ");
		sanitise_puts(out, p->cause.name);
		buf_printf(out, " (%s of ", format_percent(p->kernel_named).s);
		sanitise_puts(out, p->cause.detail);
		buf_puts(out, ")");
		return;
	}
	if (p->looped.share <= 0) {
		report_cause(out, &p->cause);
		if (p->looped.function.module) {
			buf_puts(out, " of ");
			report_function(out, d, p->looped.function);
		}
		return;
	}
	if (!p->looped.calls) {
		bool loop = p->cause.kind == CAUSE_LOOP;

		buf_puts(out, loop ? "its own loop around short calls of " : "in calls of ");
		report_function(out, d, p->looped.function);
		buf_printf(out, "%s (%s, sampled", loop ? "" : " that were not timed",
			   format_percent(p->looped.share).s);
		report_loop_kernel(out, "; ", d, p);
		buf_puts(out, ")");
		return;
	}
	buf_puts(out, "its own loop: ");
	report_mean_count(out, p->looped.calls);
	buf_puts(out, " calls of ");
	report_function(out, d, p->looped.function);
	/* of calls that also contain the time of other paths only the number belongs to this one */
	if (p->looped.share <= LOOP_SLACK * p->share)
		buf_printf(out, ", %s each (%s)", format_time(p->looped.mean_ns).s,
			   format_percent(fmin(p->looped.share, p->share)).s);
}

bool report_line(struct buf *out, const char *before, const char *file, uint32_t line)
{
	if (!file[0] || !line)
		return false;
	buf_puts(out, before);
	sanitise_puts(out, path_file(file));
	buf_printf(out, ":%u", line);
	return true;
}

bool report_place(struct buf *out, const char *before, const struct descent_driver *d,
		  struct rec_code place)
{
	const struct driver_symbol *s =
	    place.module ? driver_symbol(d, place.module, place.offset) : NULL;

	return s && report_line(out, before, s->file, s->line);
}

/* Returns true if the callee of the path's loop has the name of this function, as in the vDSO. */
static bool is_looped(const struct descent_driver *d, const struct descent_path *p,
		      struct rec_code function)
{
	SCOPED_BUF(looped, NAME_BYTES);
	SCOPED_BUF(name, NAME_BYTES);
	bool is = false;

	if (p->looped.function.module) {
		report_function(&looped, d, p->looped.function);
		report_function(&name, d, function);
		is = looped.data && name.data && !strcmp(looped.data, name.data);
	}
	return is;
}

bool report_where(struct buf *out, const struct descent_driver *d, const struct descent_path *p)
{
	const struct inlined_level *l;
	struct inlined in;

	if (p->cause.kind == CAUSE_SIGNAL) /* its name is the place */
		return false;
	if (p->nr_below && 2 * p->below[0].share > p->share && !p->below[0].own &&
	    !is_looped(d, p, p->below[0].function)) {
		buf_puts(out, "in ");
		report_function(out, d, p->below[0].function);
		return true;
	}
	driver_narrow(d, p, &in);
	l = in.nr ? &in.level[in.nr - 1] : NULL;
	if (!l || !l->file[0] || !l->line)
		return p->nr_pcs && report_place(out, "at ", d, p->pcs[0].place);
	report_line(out, l->loop_first ? "in the loop at " : "at ", l->file,
		    l->loop_first ? l->loop_first : l->line);
	if (l->loop_last > l->loop_first)
		buf_printf(out, "-%u", l->loop_last);
	if (in.nr > 1) {
		buf_puts(out, " of ");
		report_short_name(out, l->function);
		buf_puts(out, " (inlined)");
	}
	return true;
}

bool report_inlined_at(struct buf *out, const char *before, const struct descent_driver *d,
		       struct rec_code site)
{
	const struct rec_inlines *in = driver_inlines(d, site);
	uint32_t i;

	for (i = 0; in && i < in->nr_calls && in->calls[i].inlined; i++) {
		buf_puts(out, i ? " < " : before);
		report_short_name(out, in->calls[i].function);
	}
	if (i)
		buf_puts(out, " (inlined)");
	return i;
}

void report_name(struct buf *out, const struct descend_report *r, const struct descent_fnode *n)
{
	const struct op *op = model_op_by_number(r->model, r->op);
	char name[1024];

	if (!n->site.module && op && op->label[0] &&
	    !driver_symbol(r->driver, n->function.module, n->function.offset))
		report_short_name(out, op->label);
	else
		report_short_name(out, driver_function(r->driver, n, name, sizeof(name)));
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
