// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/words.h"

#include "analysis/base/format.h"
#include "tui/report/sanitise.h"

enum { NAME_BYTES = 4096 };

static void put_safe(struct buf *out, const char *s)
{
	sanitise_append(out, s, strnlen(s, NAME_BYTES));
}

static bool has_function_name(const struct op *op)
{
	return op->layer == LAYER_FUNCTION && op->label[0];
}

/* True if another function of the same module has the same short name, or with `whole` the same
 * demangled name. */
static bool is_ambiguous(struct model *m, const struct op *op, bool whole)
{
	for (size_t i = 0; i < model_nr_ops(m); i++) {
		const struct op *other = model_op(m, i);

		if (other->op != op->op && has_function_name(other) &&
		    !strcmp(other->module, op->module) &&
		    !strcmp(whole ? other->label : other->shown, whole ? op->label : op->shown))
			return true;
	}
	return false;
}

int words_op_function(struct buf *out, struct model *m, const struct op *op)
{
	if (!has_function_name(op) || !is_ambiguous(m, op, false))
		put_safe(out, op->shown);
	else if (!is_ambiguous(m, op, true))
		put_safe(out, op->label);
	else
		sanitise_append(out, op->name, strcspn(op->name, "@"));
	return out->err;
}

int words_op_name(struct buf *out, struct model *m, const struct op *op)
{
	if (!has_function_name(op)) {
		put_safe(out, op->name);
		return out->err;
	}
	words_op_function(out, m, op);
	if (op->module[0]) {
		buf_putc(out, '@');
		put_safe(out, op->module);
	}
	return out->err;
}

int words_peak(struct buf *out, const struct peak *p)
{
	return buf_printf(out, "%s, most at %s: %s %s, %s of calls, %s of time, %s/s",
			  format_range(p->low_ns, p->high_ns).s, format_time(p->mode_ns).s,
			  format_count(p->calls).s, p->calls == 1 ? "call" : "calls",
			  format_percent(p->share_of_calls).s, format_percent(p->share_of_time).s,
			  format_rate(p->rate_hz).s);
}

int peak_name(const struct peak *p, enum peak_names names)
{
	return names == PEAKS_BY_NUMBER ? p->number : p->rank;
}

static void related_words(struct buf *out, struct model *m, const struct peak_related *r,
			  enum peak_names names)
{
	const struct op *other = model_op_by_number(m, r->op);

	if (!other)
		return;
	buf_puts(out, "tends to occur with ");
	words_op_name(out, m, other);
	for (unsigned int i = 0; i < other->nr_peaks; i++) {
		if (other->peaks[i].id == r->peak_id)
			buf_printf(out, " peak %d", peak_name(&other->peaks[i], names));
	}
	buf_puts(out, " (same ");
	sanitise_puts(out, r->by);
	buf_puts(out, ")\n");
}

static const char *const fold_words[] = {
    [PEAK_LISTED] = "",
    [PEAK_RARE] = "tail",
    [PEAK_PREEMPTED] = "preemption",
    [PEAK_RUNQUEUE] = "run queue",
    [PEAK_FAULTS] = "page fault",
    [PEAK_INTERRUPTED] = "interrupt",
    [PEAK_SPEED] = "CPU speed",
    [PEAK_UNTRACED] = "untraced delay",
};

const char *words_fold(enum peak_fold fold)
{
	return (size_t)fold < sizeof(fold_words) / sizeof(fold_words[0]) ? fold_words[fold] : "";
}

/* The cause that made the calls of a shadow longer. */
static const char *shadow_cause(enum peak_fold fold)
{
	switch (fold) {
	case PEAK_RUNQUEUE:
		return "waited for a CPU";
	case PEAK_FAULTS:
		return "had a page fault";
	case PEAK_INTERRUPTED:
		return "were interrupted";
	case PEAK_SPEED:
		return "took about as long, perhaps at another speed of the CPU";
	case PEAK_UNTRACED:
		return "took longer without a visible cause, perhaps an interrupt or the "
		       "hypervisor";
	default:
		return "were preempted";
	}
}

int words_peak_shadows(struct buf *out, const struct op *op, const struct peak *p,
		       enum peak_names names)
{
	for (unsigned int i = 0; i < op->nr_folded; i++) {
		const struct peak *s = &op->folded[i];

		if (s->shadow_of != p->id)
			continue;
		buf_printf(out, "also seen at %s: %s of its calls %s (%s of time)\n",
			   format_range(s->low_ns, s->high_ns).s, format_count(s->calls).s,
			   shadow_cause(s->fold), format_percent(s->share_of_time).s);
	}
	if (p->fold == PEAK_RARE)
		buf_puts(out, "too small to be listed without --all-peaks\n");
	for (unsigned int i = 0; p->shadow_of && i < op->nr_peaks; i++)
		if (op->peaks[i].id == p->shadow_of)
			buf_printf(out, "a shadow of peak %d: calls of that peak that %s\n",
				   peak_name(&op->peaks[i], names), shadow_cause(p->fold));
	return out->err;
}

/* Summarise the folded peaks, one line per kind. */
static void folded_words(struct buf *out, const struct op *op, bool tail)
{
	uint64_t calls = 0;
	unsigned int n = 0;
	double of_calls = 0, of_time = 0;

	for (unsigned int i = 0; i < op->nr_folded; i++) {
		const struct peak *p = &op->folded[i];

		if ((p->fold == PEAK_RARE) != tail)
			continue;
		n++;
		calls += p->calls;
		of_calls += p->share_of_calls;
		of_time += p->share_of_time;
	}
	if (!n)
		return;
	if (tail)
		buf_printf(out, "tail: %u small %s", n, n == 1 ? "peak" : "peaks");
	else
		buf_puts(out, "calls made longer by the host (preemption, interrupts, waiting for "
			      "a CPU, page faults)");
	buf_printf(out, ": %s %s, %s of calls, %s of time%s\n", format_count(calls).s,
		   calls == 1 ? "call" : "calls", format_percent(of_calls).s,
		   format_percent(of_time).s, tail ? " (--all-peaks lists them)" : "");
}

/* The period of a peak, with the known constant that equals it. */
static void period_words(struct buf *out, const struct peak *p)
{
	buf_printf(out, "recurs every %s", format_time((uint64_t)p->period_ns).s);
	if (p->period_near[0]) {
		buf_puts(out, ", the period of: ");
		sanitise_puts(out, p->period_near);
	}
	buf_putc(out, '\n');
}

/* Calls that are preempted about as often as their CPU time lets expect are no news. */
#define PREEMPTED_MORE 1.5

enum { REMARK_PERIOD, REMARK_NEAR, REMARK_RUN_QUEUE, REMARK_PREEMPTED, REMARK_VALUE };

/* A remark that can be made, and how much of the peak it explains: 0..1. */
struct remark {
	int kind;
	unsigned int index; /* of a value */
	double worth;
};

/* Keeps the best remarks, the best first; among equal ones the order in which they came. */
static void remark_add(struct remark *list, unsigned int *nr, const struct remark *one)
{
	unsigned int at = *nr;

	if (one->worth <= 0)
		return;
	if (*nr == REMARKS_SHOWN && list[--at].worth >= one->worth)
		return;
	for (; at > 0 && list[at - 1].worth < one->worth; at--)
		list[at] = list[at - 1];
	list[at] = *one;
	*nr += *nr < REMARKS_SHOWN;
}

static double preempted_share(const struct peak *p)
{
	return p->seen_preempted >= 3 && p->seen_preempted >= 0.05 * (double)p->calls &&
		       p->seen_preempted > PREEMPTED_MORE * p->expected_preempted
		   ? p->seen_preempted / (double)p->calls
		   : 0;
}

static unsigned int remarks_choose(const struct peak *p, struct remark list[REMARKS_SHOWN])
{
	unsigned int nr = 0;
	double worth = 1;

	/* values stay in the order of the model */
	for (unsigned int i = 0; i < p->nr_values; i++) {
		if (p->values[i].separation < worth)
			worth = p->values[i].separation;
		remark_add(list, &nr, &(struct remark){REMARK_VALUE, i, worth});
	}
	remark_add(list, &nr, &(struct remark){REMARK_PERIOD, 0, p->period_ns > 0 ? 0.7 : 0});
	remark_add(list, &nr,
		   &(struct remark){REMARK_RUN_QUEUE, 0,
				    p->run_queue_share >= 0.05 ? p->run_queue_share : 0});
	remark_add(list, &nr, &(struct remark){REMARK_PREEMPTED, 0, preempted_share(p)});
	remark_add(list, &nr, &(struct remark){REMARK_NEAR, 0, p->near[0] ? 0.3 : 0});
	return nr;
}

static void preempted_words(struct buf *out, const struct peak *p)
{
	buf_printf(out, "%s of its calls were preempted", format_percent(preempted_share(p)).s);
	if (p->expected_preempted >= 0)
		buf_printf(out, ", expected %s",
			   format_percent(p->expected_preempted / (double)p->calls).s);
	buf_putc(out, '\n');
}

void words_value(struct buf *out, const struct peak_value *v)
{
	buf_puts(out, v->in_program ? "`" : "");
	sanitise_puts(out, v->name);
	buf_puts(out, v->in_program ? "` is " : ": ");
	sanitise_puts(out, v->text);
}

unsigned int words_related_shown(const struct peak *p)
{
	struct remark list[REMARKS_SHOWN];
	unsigned int room = REMARKS_SHOWN - remarks_choose(p, list);

	return p->nr_related < room ? p->nr_related : room;
}

int words_peak_remarks(struct buf *out, struct model *m, const struct peak *p,
		       enum peak_names names)
{
	struct remark list[REMARKS_SHOWN];
	unsigned int nr = remarks_choose(p, list), related = words_related_shown(p);

	for (unsigned int i = 0; i < nr; i++) {
		switch (list[i].kind) {
		case REMARK_PERIOD:
			period_words(out, p);
			break;
		case REMARK_NEAR:
			buf_puts(out, "near ");
			sanitise_puts(out, p->near);
			buf_putc(out, '\n');
			break;
		case REMARK_RUN_QUEUE:
			buf_printf(out, "%s of its time waiting for a CPU\n",
				   format_percent(p->run_queue_share).s);
			break;
		case REMARK_PREEMPTED:
			preempted_words(out, p);
			break;
		default:
			words_value(out, &p->values[list[i].index]);
			buf_putc(out, '\n');
		}
	}
	for (unsigned int i = 0; i < related; i++)
		related_words(out, m, &p->related[i], names);
	return out->err;
}

enum {
	ERROR_SHARE = 10
}; /* report an error of the latency that is at least 1/ERROR_SHARE of the median */

/* If the upper bound of the calls exceeds this multiple of the lower one, say that the count is
 * uncertain. */
#define WIDE_INTERVAL 1.5
/* Beyond this multiple only the lower bound is reported as a figure. */
#define LOWER_BOUND_ONLY 4

double words_sure_part(const struct op *op)
{
	if (!op->total.calls || (double)op->calls_high <= LOWER_BOUND_ONLY * (double)op->calls_low)
		return 1;
	return (double)op->calls_low / (double)op->total.calls;
}

static void scaled_words(struct buf *out, const struct op *op)
{
	buf_printf(out, "sampled: %s of calls, counts are estimates",
		   format_percent(op->share_seen).s);
	if (op->calls_high > op->calls_low)
		buf_printf(out, " (%s to %s calls)", format_count(op->calls_low).s,
			   format_count(op->calls_high).s);
	if ((double)op->calls_high > WIDE_INTERVAL * (double)op->calls_low)
		buf_puts(out, "; the number of calls is uncertain");
	buf_putc(out, '\n');
}

static void precision_words(struct buf *out, const struct op *op)
{
	uint64_t median = op->total.calls ? profile_quantile(&op->total, 0.5) : 0;

	if (op->below_measurable)
		buf_printf(out,
			   "most calls are shorter than %s, which is too short to measure: calls "
			   "are counted, but latencies and times are upper limits\n",
			   format_time(op->measurable_ns).s);
	if (op->below_measurable && op->sampled_share >= 0)
		buf_printf(out, "it uses %s of the target's CPU time according to %s CPU samples\n",
			   format_percent(op->sampled_share).s, format_count(op->ticks).s);
	if (!op->below_measurable && op->error_ns * ERROR_SHARE > median)
		buf_printf(out,
			   "latencies are uncertain by %s, because the time that the probe adds "
			   "varies from call to call\n",
			   format_time(op->error_ns).s);
}

int words_op_remarks(struct buf *out, const struct op *op)
{
	if (op->open)
		buf_printf(out, "%s still open, the oldest %s%s\n", format_count(op->open).s,
			   op->oldest_open_ns ? "for " : "", format_age(op->oldest_open_ns).s);
	if (op->abnormal)
		/* at the end of a burst, an end may pass where its probe was just removed */
		buf_printf(
		    out, "%s ended by an exception, longjmp or thread exit%s, not in the profile\n",
		    format_count(op->abnormal).s,
		    op->share_seen < ALL_SEEN ? ", or while probes were removed" : "");
	if (op->unseen)
		buf_printf(out, "%s counted but not timed\n", format_count(op->unseen).s);
	if (!op->nr_slices)
		buf_puts(out, "no call was measured\n");
	else if (op->share_seen < ALL_SEEN)
		scaled_words(out, op);
	precision_words(out, op);
	folded_words(out, op, false);
	folded_words(out, op, true);
	if (!op->adds_up)
		buf_puts(
		    out,
		    "the buckets do not add up to the number of calls: the counts are not exact\n");
	return out->err;
}

int words_loss(struct buf *out, const struct rec_loss *l)
{
	const struct {
		uint64_t n;
		const char *what;
	} lost[] = {
	    {l->records, "records"},
	    {l->samples, "samples"},
	    {l->stacks, "stacks"},
	    {l->activations, "calls (the table of open calls was full)"},
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		if (!lost[i].n)
			continue;
		buf_printf(out, "%s%s %s", any ? ", " : "", format_count(lost[i].n).s,
			   lost[i].what);
		any = true;
	}
	if (l->tainted_ns) {
		buf_printf(out, "%s%s with missing events", any ? ", " : "",
			   format_time(l->tainted_ns).s);
		any = true;
	}
	return any ? out->err : buf_puts(out, "nothing");
}

int words_phases(struct buf *out, const struct rec_phases *p)
{
	bool same = !strcmp(p->begin, p->end);

	buf_puts(out, same ? "counted only calls that began inside a call of "
			   : "counted only calls that began between the start of ");
	sanitise_puts(out, p->begin);
	if (!same) {
		buf_puts(out, " and the end of ");
		sanitise_puts(out, p->end);
	}
	buf_printf(out, ": saw %s phase%s", format_count(p->seen).s, p->seen == 1 ? "" : "s");
	if (p->ns)
		buf_printf(out, ", %s in all", format_time(p->ns).s);
	if (p->blind)
		buf_printf(
		    out,
		    "; %s both functions were not watched for a while to stay within "
		    "--max-overhead, and calls up to the start of the next phase are missing",
		    p->blind == 1 ? "once" : "repeatedly");
	return out->err;
}

/* The number of bytes of `s` to put on a line with `room` columns; at least 1. */
static size_t next_piece(const char *s, unsigned int room)
{
	size_t line = strcspn(s, "\n"), fit = text_fit(s, room), cut;

	if (fit >= line)
		return line;
	for (cut = fit; cut > 0 && s[cut] != ' '; cut--)
		;
	if (cut)
		return cut;
	return fit ? fit : 1;
}

int words_wrap(struct buf *out, const char *text, unsigned int columns, const char *first,
	       unsigned int rest)
{
	unsigned int indent = text_columns(first);
	bool start = true;
	size_t n;

	if (indent + 10 > columns || rest + 10 > columns)
		columns = (indent > rest ? indent : rest) + 10;
	while (*text) {
		if (start)
			buf_puts(out, first);
		else
			buf_printf(out, "%*s", (int)rest, "");
		n = next_piece(text, columns - (start ? indent : rest));
		buf_append(out, text, n);
		buf_putc(out, '\n');
		text += n;
		start = *text == '\n';
		if (start)
			text++;
		else
			text += strspn(text, " ");
	}
	return out->err;
}
