// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/output_csv.h"

#include "analysis/base/buf.h"
#include "tui/report/sanitise.h"

enum { MAX_OUTPUT = 64 << 20, NAME_BYTES = 4096 };

/* The columns. A row fills all of them in this order. */
static const char header[] =
    "name,function,layer,module,peak,calls,rate_hz,total_ns,share_of_wall,share_of_calls,"
    "share_of_time,min_ns,max_ns,low_ns,high_ns,mode_ns,p50_ns,p90_ns,p99_ns,p999_ns,open,"
    "oldest_open_ns,share_of_calls_seen\n";

/* Append a field, sanitised. RFC 4180: quote it if it contains a comma, a quote or a newline, and
 * double its quotes. */
static void put_text(struct buf *out, const char *s)
{
	SCOPED_BUF(safe, NAME_BYTES * SANITISE_MAX_GROWTH + 64);

	sanitise_append(&safe, s, strnlen(s, NAME_BYTES));
	if (!safe.data || !strpbrk(safe.data, ",\"\r\n")) {
		buf_puts(out, safe.data ? safe.data : "");
	} else {
		buf_putc(out, '"');
		for (const char *p = safe.data; *p; p++)
			buf_printf(out, *p == '"' ? "\"\"" : "%c", *p);
		buf_putc(out, '"');
	}
	buf_putc(out, ',');
}

static void put_u64(struct buf *out, uint64_t v)
{
	buf_printf(out, "%" PRIu64 ",", v);
}

static void put_real(struct buf *out, double v)
{
	buf_printf(out, "%.9g,", v);
}

static void put_empty(struct buf *out, unsigned int columns)
{
	while (columns-- > 0)
		buf_putc(out, ',');
}

static void put_quantiles(struct buf *out, const struct profile *p, struct bucket_range range)
{
	for (size_t i = 0; i < OUTPUT_QUANTILES; i++) {
		if (profile_range_calls(p, range))
			put_u64(out, profile_range_quantile(p, range, output_quantiles[i].q));
		else
			put_empty(out, 1);
	}
}

/* End a row: replace the comma behind its last field. */
static void end_row(struct buf *out)
{
	if (out->len)
		out->data[out->len - 1] = '\n';
}

static void put_names(struct buf *out, const struct op *op)
{
	put_text(out, op->name);
	put_text(out, op->layer == LAYER_FUNCTION ? op->label : "");
	put_text(out, output_layer(op->layer));
	put_text(out, op->module);
}

static void put_op(struct buf *out, const struct op *op, double elapsed_ns)
{
	const struct bucket_range all = {0, PT_BUCKETS};
	double covered = model_covered_ns(op, elapsed_ns);

	put_names(out, op);
	put_empty(out, 1);
	put_u64(out, op->total.calls);
	put_real(out, covered > 0 ? (double)op->total.calls / covered * 1e9 : 0);
	put_u64(out, model_total_ns(op));
	put_real(out, covered > 0 ? (double)op->time_ns / covered : 0);
	put_empty(out, 2);
	if (op->total.calls) {
		put_u64(out, op->total.min_ns);
		put_u64(out, op->total.max_ns);
	} else {
		put_empty(out, 2);
	}
	put_empty(out, 3);
	put_quantiles(out, &op->total, all);
	put_u64(out, op->open);
	if (op->open)
		put_u64(out, op->oldest_open_ns);
	else
		put_empty(out, 1);
	put_real(out, op->share_seen);
	end_row(out);
}

static void put_peak(struct buf *out, const struct op *op, const struct peak *p)
{
	put_names(out, op);
	put_u64(out, (uint64_t)p->rank);
	put_u64(out, p->calls);
	put_real(out, p->rate_hz);
	put_u64(out, p->total_ns);
	put_empty(out, 1);
	put_real(out, p->share_of_calls);
	put_real(out, p->share_of_time);
	put_empty(out, 2);
	put_u64(out, p->low_ns);
	put_u64(out, p->high_ns);
	put_u64(out, p->mode_ns);
	put_quantiles(out, &op->total, p->range);
	put_empty(out, 3);
	end_row(out);
}

int output_watch_csv(struct model *m, const struct output_options *o, FILE *f)
{
	double elapsed = (double)(o->elapsed_ns ? o->elapsed_ns : model_elapsed_ns(m));
	struct output_ops ops;
	struct buf out = {.max = MAX_OUTPUT};
	int err = output_ops(m, o, OPS_BY_TIME, &ops);

	if (err)
		return err;
	buf_puts(&out, header);
	for (size_t i = 0; i < ops.nr; i++) {
		const struct op *op = model_op_peaks(m, ops.list[i]->op);

		if (!op)
			continue;
		put_op(&out, op, elapsed);
		for (unsigned int k = 0; k < op->nr_peaks; k++)
			put_peak(&out, op, &op->peaks[k]);
	}
	free(ops.list);
	return output_text_write(&out, f);
}
