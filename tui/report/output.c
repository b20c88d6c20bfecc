// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the text and the JSON output. */
#include "tui/report/output.h"

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/walk/class.h"
#include "tui/report/words.h"

const struct output_quantile output_quantiles[OUTPUT_QUANTILES] = {
    {"p50", "p50", 0.5}, {"p90", "p90", 0.9}, {"p99", "p99", 0.99}, {"p999", "p99.9", 0.999}};

enum { DEFAULT_COLUMNS = 80, MIN_COLUMNS = 60 };

unsigned int output_columns(const struct output_options *o)
{
	unsigned int columns = o->columns ? o->columns : DEFAULT_COLUMNS;

	return columns < MIN_COLUMNS ? MIN_COLUMNS : columns;
}

void output_wrap(struct buf *out, const struct buf *line, const struct output_options *o,
		 const char *first, unsigned int rest)
{
	if (line->data && !line->err)
		words_wrap(out, line->data, output_columns(o), first, rest);
}

static bool worth_printing(const struct op *op)
{
	return op->total.calls || op->open || op->abnormal || op->unseen || op->requested[0];
}

static int by_latency(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;

	return descending(x->total.sum_ns, y->total.sum_ns)
	       ?: descending(x->oldest_open_ns, y->oldest_open_ns) ?: ascending(x->op, y->op);
}

static int idle_last(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;

	return ascending(output_is_idle(x), output_is_idle(y)) ?: by_latency(a, b);
}

bool output_is_idle(const struct op *op)
{
	return op_class(op) != WALK_WORK && !op->requested[0];
}

int output_ops(struct model *m, const struct output_options *o, enum output_order order,
	       struct output_ops *ops)
{
	size_t nr = model_nr_ops(m);

	*ops = (struct output_ops){.list = calloc(nr ? nr : 1, sizeof(*ops->list))};
	if (!ops->list)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct op *op = model_op(m, i);

		if (op && worth_printing(op))
			ops->list[ops->nr++] = op;
	}
	qsort(ops->list, ops->nr, sizeof(*ops->list),
	      order == OPS_IDLE_LAST ? idle_last : by_latency);
	if (o->top && ops->nr > o->top) {
		ops->left_out = ops->nr - o->top;
		ops->nr = o->top;
	}
	return 0;
}

const char *output_layer(enum layer layer)
{
	static const char *const layers[LAYER_MAX] = {"syscall", "function", "kernel",	 "block",
						      "lock",	 "runqueue", "io_uring", "net"};

	return layer < LAYER_MAX ? layers[layer] : "";
}

void output_state_head(const struct model *m, uint64_t now_ns, FILE *f)
{
	const struct rec_meta *meta = model_meta(m);
	uint64_t at = model_elapsed_ns(m), from = meta ? meta->monotonic_ns + at : now_ns;

	fprintf(f, "State at %s, %s old:\n", format_time(at).s,
		format_time(now_ns > from ? now_ns - from : 0).s);
}

uint64_t output_cost_target_ns(const struct rec_cost *c)
{
	return c->ns > c->other_ns ? c->ns - c->other_ns : 0;
}

double output_cost_target_percent(const struct rec_cost *c)
{
	return c->target_cpu_ns > 1000000
		   ? 100.0 * (double)output_cost_target_ns(c) / (double)c->target_cpu_ns
		   : -1;
}

double output_cost_one_cpu_percent(const struct rec_cost *c)
{
	uint64_t wall = c->wall_ns ? c->wall_ns : c->at_ns;

	return wall > 1000000 ? 100.0 * (double)output_cost_target_ns(c) / (double)wall : -1;
}

void output_cost_words(struct buf *out, const struct rec_cost *c)
{
	double target = output_cost_target_percent(c) / 100,
	       one = output_cost_one_cpu_percent(c) / 100;

	if (one < 0 || (target >= 0 && target <= one)) {
		if (target >= 0)
			buf_printf(out, "%s of the target's CPU time", format_percent(target).s);
		if (target >= 0 && one >= 0)
			buf_printf(out, " (%s of one CPU)", format_percent(one).s);
		return;
	}
	buf_printf(out, "%s of one CPU", format_percent(one).s);
	if (target >= 0 && target <= 1)
		buf_printf(out, " (%s of the target's CPU time)", format_percent(target).s);
	else
		buf_printf(out, " (the target itself used %s of CPU time)",
			   format_time(c->target_cpu_ns).s);
}

double output_cost_host_percent(const struct rec_cost *c)
{
	/* a share of less than 50 ms of CPU time is noise */
	return c->host_cpu_ns > 50000000
		   ? 100.0 * ((double)c->ns + (double)c->own_cpu_ns) / (double)c->host_cpu_ns
		   : -1;
}
