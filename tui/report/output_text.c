// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output.h"

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/latency/target_end.h"
#include "tui/report/histogram.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum {
	MAX_OUTPUT = 64 << 20, /* maximum bytes of one text */
	DEFAULT_DETAILS = 3,
};

/* Append `s`, sanitised, padded or cut with a mark to `columns` (0: neither). */
static void put_cell(struct buf *out, const char *s, unsigned int columns)
{
	SCOPED_BUF(safe, MAX_OUTPUT);
	size_t n;

	if (sanitise_append(&safe, s, strnlen(s, 64 << 10))) {
		out->err = safe.err;
		return;
	}
	if (columns && text_columns(safe.data) > columns) {
		n = text_fit(safe.data, columns - 3);
		safe.len = n;
		safe.data[n] = '\0';
		buf_puts(&safe, "...");
	}
	buf_puts(out, safe.data);
	if (columns && text_columns(safe.data) < columns)
		buf_printf(out, "%*s", (int)(columns - text_columns(safe.data)), "");
}

/* --- what was measured, and what it cost */

static void put_end(struct buf *out, const struct model *m, size_t i)
{
	const struct rec_target_end *end = model_target_end(m, i);

	if (end && target_end_signal(end))
		buf_printf(out, ", killed by %s", target_end_signal_name(target_end_signal(end)).s);
	else if (model_target_ended(m, i))
		buf_puts(out, ", ended");
}

static void put_targets(struct buf *out, const struct model *m, const struct output_options *o)
{
	size_t nr = model_nr_targets(m), i;
	const struct rec_target *t;
	SCOPED_BUF(line, MAX_OUTPUT);

	for (i = 0; i < nr && i < 8; i++) {
		t = model_target(m, i);
		buf_puts(&line, i ? ", " : "");
		sanitise_puts(&line, t->comm);
		if (!t->pid) /* --host */
			continue;
		buf_printf(&line, " (pid %u", t->pid);
		if (t->ns_pid && t->ns_pid != t->pid)
			buf_printf(&line, ", pid %u in its container", t->ns_pid);
		put_end(&line, m, i);
		buf_putc(&line, ')');
	}
	if (nr > i)
		buf_printf(&line, " and %zu more processes", nr - i);
	buf_printf(&line, "%s%s", nr ? ", " : "",
		   format_time(o->elapsed_ns ? o->elapsed_ns : model_elapsed_ns(m)).s);
	output_wrap(out, &line, o, "Target: ", 8);
}

static void put_cost(struct buf *out, const struct model *m, const struct output_options *o)
{
	static const struct rec_cost no_cost;
	static const struct rec_loss no_loss;
	const struct rec_cost *c = model_cost(m) ? model_cost(m) : &no_cost;
	const struct rec_loss *l = model_loss(m) ? model_loss(m) : &no_loss;
	const struct rec_meta *meta = model_meta(m);
	double host = output_cost_host_percent(c) / 100;
	SCOPED_BUF(line, MAX_OUTPUT);
	size_t before;

	if (c->allowed_ns && meta)
		buf_printf(&line, "used %s of the %s that --max-overhead %g allows: ",
			   format_time(output_cost_target_ns(c)).s, format_time(c->allowed_ns).s,
			   meta->budget_ppm / 1e4);
	before = line.len;
	output_cost_words(&line, c);
	buf_puts(&line, line.len > before ? ", " : "");
	buf_printf(&line, "%s probe hits", format_count(c->hits).s);
	if (c->start_cpu_ns)
		buf_printf(
		    &line, "; peaktop's own processes used %s of CPU time, %s of it at the start",
		    format_time(c->own_cpu_ns + c->start_cpu_ns).s, format_time(c->start_cpu_ns).s);
	if (host >= 0)
		buf_printf(&line, "; the probes and %s took %s of all CPUs%s",
			   c->start_cpu_ns ? "these processes" : "peaktop's own processes",
			   format_percent(host).s, c->start_cpu_ns ? " after the start" : "");
	buf_printf(&line, "\n");
	output_wrap(out, &line, o, "Cost:   ", 8);
	buf_reset(&line);
	words_loss(&line, l);
	output_wrap(out, &line, o, "Lost:   ", 8);
}

static void put_notes(struct buf *out, const struct model *m, const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);

	for (size_t i = 0; i < model_nr_notes(m); i++) {
		if (o->said_errors && model_note(m, i)->level == NOTE_ERROR)
			continue;
		buf_reset(&line);
		sanitise_puts(&line, model_note(m, i)->text);
		output_wrap(out, &line, o, "Note:   ", 8);
	}
	if (model_phases(m)) {
		buf_reset(&line);
		words_phases(&line, model_phases(m));
		output_wrap(out, &line, o, "Note:   ", 8);
	}
}

/* --- the table of operations */

enum { TABLE_FIGURES = 41 }; /* columns before the name, without the open calls */

/* The number of calls and their rate: ">113k >37.5k" if only a lower bound is known. */
static void put_calls(struct buf *out, const struct op *op, double elapsed)
{
	double sure = words_sure_part(op), calls = (double)op->total.calls * sure;
	struct text count = format_count_fixed((uint64_t)calls),
		    rate = format_rate_fixed(elapsed > 0 ? calls / elapsed * 1e9 : -1);
	size_t k = strspn(count.s, " ");

	if (sure < 1 && k)
		count.s[k - 1] = '>';
	k = strspn(rate.s, " ");
	if (sure < 1 && k)
		rate.s[k - 1] = '>';
	buf_printf(out, "%s %s ", count.s, rate.s);
}

static void put_row(struct buf *out, struct model *m, const struct op *op, double elapsed,
		    unsigned int columns, bool with_open)
{
	const struct profile *p = &op->total;
	unsigned int room = columns - TABLE_FIGURES - (with_open ? FORMAT_TIME_WIDTH + 1 : 0);
	SCOPED_BUF(name, MAX_OUTPUT);

	put_calls(out, op, elapsed);
	buf_printf(out, "%s ",
		   format_percent_fixed(elapsed > 0 ? (double)op->time_ns / elapsed : -1).s);
	if (op->below_measurable)
		buf_printf(out, "%7s %7s ", "short", "short");
	else if (p->calls)
		buf_printf(out, "%s %s ", format_time_fixed(profile_quantile(p, 0.5)).s,
			   format_time_fixed(profile_quantile(p, 0.99)).s);
	else
		buf_printf(out, "%7s %7s ", "-", "-");
	buf_printf(out, "%5u ", op->nr_peaks);
	if (with_open && op->open && op->oldest_open_ns)
		buf_printf(out, "%s ", format_time_fixed(op->oldest_open_ns).s);
	else if (with_open && op->open)
		buf_printf(out, "%7s ", "now");
	else if (with_open)
		buf_printf(out, "%7s ", "-");
	words_op_name(&name, m, op);
	put_cell(out, name.data ? name.data : "", room);
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_putc(out, '\n');
}

static void put_table(struct buf *out, struct model *m, const struct op **ops, size_t nr,
		      const struct output_options *o)
{
	double elapsed = (double)(o->elapsed_ns ? o->elapsed_ns : model_elapsed_ns(m));
	bool with_open = false;

	for (size_t i = 0; i < nr; i++)
		with_open |= ops[i]->open > 0;
	buf_printf(out,
		   "      calls\n"
		   "calls    /s   wall%%     p50     p99 peaks %soperation\n",
		   with_open ? "oldest " : "");
	for (size_t i = 0; i < nr; i++) {
		if (i && output_is_idle(ops[i]) && !output_is_idle(ops[i - 1]))
			buf_puts(out, "idle: waiting for events or work, and timed sleep\n");
		put_row(out, m, ops[i], model_covered_ns(ops[i], elapsed), output_columns(o),
			with_open);
	}
}

/* --- one operation in full */

static void put_peak(struct buf *out, struct model *m, const struct op *op, const struct peak *p,
		     const struct output_options *o)
{
	SCOPED_BUF(line, MAX_OUTPUT);
	char first[32];

	words_peak(&line, p);
	snprintf(first, sizeof(first), "Peak %d: ", p->rank);
	output_wrap(out, &line, o, first, 8);
	buf_reset(&line);
	words_peak_shadows(&line, op, p, PEAKS_BY_RANK);
	words_peak_remarks(&line, m, p, PEAKS_BY_RANK);
	if (line.len)
		output_wrap(out, &line, o, "        - ", 10);
}

static void put_op(struct buf *out, struct model *m, const struct op *op,
		   const struct output_options *o)
{
	struct histogram_options h = {
	    .resolution = o->resolution ? o->resolution : 4,
	    .columns = output_columns(o),
	    .max_rows = 40,
	    .ascii = o->ascii,
	};
	SCOPED_BUF(line, MAX_OUTPUT);
	double sure = words_sure_part(op);

	words_op_name(&line, m, op);
	buf_printf(&line, ": %s%s %s, %s%s in all", sure < 1 ? "at least " : "",
		   format_count((uint64_t)((double)op->total.calls * sure)).s,
		   op->total.calls == 1 ? "call" : "calls", op->below_measurable ? "at most " : "",
		   format_time(op->total.sum_ns).s);
	if (op->total.calls)
		buf_printf(&line, ", %s", format_range(op->total.min_ns, op->total.max_ns).s);
	for (unsigned int i = 0; op->total.calls && !op->below_measurable && i < OUTPUT_QUANTILES;
	     i++)
		buf_printf(&line, ", %s %s", output_quantiles[i].text,
			   format_time(profile_quantile(&op->total, output_quantiles[i].q)).s);
	if (op->placement[0]) {
		buf_puts(&line, "; ");
		sanitise_puts(&line, op->placement);
	}
	buf_putc(out, '\n');
	output_wrap(out, &line, o, "", 4);
	buf_reset(&line);
	words_op_remarks(&line, op);
	if (line.len)
		output_wrap(out, &line, o, "- ", 2);
	histogram_append(out, op, &h);
	for (unsigned int i = 0; i < op->nr_peaks; i++)
		put_peak(out, m, op, &op->peaks[i], o);
}

static bool any_requested(const struct op **ops, size_t nr)
{
	return any_of(i, nr, ops[i]->requested[0]);
}

void output_text_state(struct buf *out, const struct model *m, const struct output_options *o)
{
	put_targets(out, m, o);
	put_cost(out, m, o);
	put_notes(out, m, o);
}

int output_text_write(struct buf *out, FILE *f)
{
	int err = out->err;

	if (!err) {
		errno = EIO;
		if (fwrite(out->data ? out->data : "", 1, out->len, f) != out->len || fflush(f))
			err = -errno;
	}
	buf_release(out);
	return err;
}

int output_watch_text(struct model *m, const struct output_options *o, FILE *f)
{
	unsigned int shown = 0, most = o->details ? o->details : DEFAULT_DETAILS;
	struct output_ops ops;
	const struct op *full;
	bool requested;
	struct buf out = {.max = MAX_OUTPUT};
	int err = output_ops(m, o, OPS_IDLE_LAST, &ops);

	if (err)
		return err;
	put_targets(&out, m, o);
	put_cost(&out, m, o);
	put_notes(&out, m, o);
	buf_putc(&out, '\n');
	if (ops.nr)
		put_table(&out, m, ops.list, ops.nr, o);
	else
		buf_puts(&out, "No call of any operation was seen.\n");
	if (ops.left_out)
		buf_printf(&out, "%zu more %s not shown (--top %u)\n", ops.left_out,
			   ops.left_out == 1 ? "operation is" : "operations are", o->top);
	requested = any_requested(ops.list, ops.nr);
	for (size_t i = 0; i < ops.nr && (requested || shown < most); i++) {
		if (requested ? !ops.list[i]->requested[0] : !ops.list[i]->total.calls)
			continue;
		/* the latencies of idle waits are told to those who ask for them */
		if (output_is_idle(ops.list[i]) && !o->details)
			continue;
		full = model_op_peaks(m, ops.list[i]->op);
		if (full)
			put_op(&out, m, full, o);
		shown++;
	}
	free(ops.list);
	return output_text_write(&out, f);
}

int output_doctor_text(struct model *m, const struct output_options *o, FILE *f)
{
	const struct rec_meta *meta = model_meta(m);
	const struct rec_check *c;
	SCOPED_BUF(out, MAX_OUTPUT);
	SCOPED_BUF(line, MAX_OUTPUT);

	buf_puts(&out, "Kernel: ");
	put_cell(&out, meta && meta->kernel[0] ? meta->kernel : "unknown", 0);
	buf_putc(&out, '\n');
	put_notes(&out, m, o);
	for (size_t i = 0; i < model_nr_checks(m); i++) {
		c = model_check(m, i);
		buf_puts(&out, c->ok ? "\nok       " : "\nMISSING  ");
		put_cell(&out, c->name, 0);
		buf_putc(&out, '\n');
		buf_reset(&line);
		if (c->needed_for[0]) {
			buf_puts(&line, "for ");
			sanitise_puts(&line, c->needed_for);
			buf_putc(&line, '\n');
		}
		if (!c->ok && c->remedy[0]) {
			buf_puts(&line, "remedy: ");
			sanitise_puts(&line, c->remedy);
		}
		if (line.len)
			output_wrap(&out, &line, o, "         ", 9);
	}
	return output_text_write(&out, f);
}
