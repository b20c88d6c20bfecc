// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/op_rows.h"

#include "analysis/base/array.h"
#include "analysis/walk/class.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"
#include "tui/screen/screen_private.h"

enum { NAME_BYTES = 1 << 16 };

const char *const row_order_names[NR_ORDERS] = {
    [BY_NAME] = "name",	  [BY_RATE] = "rate",	[BY_TIME] = "wall", [BY_P50] = "p50",
    [BY_P99] = "p99",	  [BY_PEAKS] = "peaks", [BY_OPEN] = "open", [BY_LAYER] = "layer",
    [BY_CALLS] = "calls", [BY_TOTAL] = "total", [BY_MAX] = "max",
};

const char *const op_column_names[NR_COLUMNS] = {
    [COLUMN_LAYER] = "layer", [COLUMN_CALLS] = "calls", [COLUMN_TOTAL] = "total",
    [COLUMN_RATE] = "rate",   [COLUMN_WALL] = "wall",	[COLUMN_P50] = "p50",
    [COLUMN_P99] = "p99",     [COLUMN_MAX] = "max",	[COLUMN_HISTOGRAM] = "histogram",
    [COLUMN_PEAKS] = "peaks", [COLUMN_OPEN] = "open",
};

enum row_order op_column_sort(enum op_column column)
{
	static const enum row_order order[NR_COLUMNS] = {
	    [COLUMN_LAYER] = BY_LAYER, [COLUMN_CALLS] = BY_CALLS, [COLUMN_TOTAL] = BY_TOTAL,
	    [COLUMN_RATE] = BY_RATE,   [COLUMN_WALL] = BY_TIME,	  [COLUMN_P50] = BY_P50,
	    [COLUMN_P99] = BY_P99,     [COLUMN_MAX] = BY_MAX,	  [COLUMN_HISTOGRAM] = NR_ORDERS,
	    [COLUMN_PEAKS] = BY_PEAKS, [COLUMN_OPEN] = BY_OPEN,
	};

	return (unsigned int)column < NR_COLUMNS ? order[column] : NR_ORDERS;
}

uint64_t op_columns_pack(const enum op_column *order, int n)
{
	uint64_t packed = 0;

	_Static_assert(NR_COLUMNS < 16, "a column takes four bits, all columns 64");
	for (int i = n - 1; i >= 0; i--)
		packed = packed << 4 | (1U + order[i]);
	return packed;
}

void op_columns_unpack(uint64_t packed, enum op_column order[NR_COLUMNS])
{
	uint32_t taken = 0;
	int n = 0;

	for (; packed; packed >>= 4) {
		unsigned int i = (unsigned int)(packed & 15) - 1;

		if (i >= NR_COLUMNS || taken & 1U << i)
			continue;
		order[n++] = (enum op_column)i;
		taken |= 1U << i;
	}
	for (int i = 0; i < NR_COLUMNS; i++)
		if (!(taken & 1U << i))
			order[n++] = (enum op_column)i;
}

void op_rows_release(struct op_rows *r)
{
	free(r->row);
	free(r->shown);
	r->row = NULL;
	r->shown = NULL;
	r->nr = r->nr_shown = r->cap = 0;
}

const struct op_row *op_rows_at(const struct op_rows *r, size_t i)
{
	return i < r->nr_shown ? &r->row[r->shown[i]] : NULL;
}

uint64_t op_row_time(const struct op_row *row)
{
	uint64_t sum = row->time_ns + (row->began_before ? 0 : row->oldest_ns);

	return sum < row->time_ns ? UINT64_MAX : sum;
}

static void row_histogram(struct op_row *row, const struct profile *p)
{
	for (unsigned int i = 0; i < ROW_HALVES; i++) {
		uint64_t n = profile_count(p, i, 2);

		row->log[i] = n ? (uint8_t)(pt_bucket(n) < 254 ? pt_bucket(n) + 1 : 255) : 0;
		if (row->log[i] > row->log_max)
			row->log_max = row->log[i];
	}
}

static enum op_group group_of(const struct op *op)
{
	if (op_class(op) != WALK_WORK)
		return GROUP_IDLE;
	switch (op->layer) {
	case LAYER_FUNCTION:
	case LAYER_KERNEL:
		return GROUP_ASKED;
	case LAYER_SYSCALL:
		return GROUP_CALLS;
	default:
		return op->requested[0] ? GROUP_ASKED : GROUP_HOST;
	}
}

static void row_fill(struct op_row *row, struct model *m, const struct op *op, bool last_slice)
{
	uint64_t elapsed_ns = model_elapsed_ns(m);
	SCOPED_BUF(name, NAME_BYTES);
	const struct profile *p = last_slice ? &op->recent : &op->total;
	uint64_t span_ns = elapsed_ns - op->since_ns;

	memset(row, 0, sizeof(*row));
	if (op->nr_slices) {
		const struct slice *last = &op->slices[op->nr_slices - 1];

		if (last_slice)
			span_ns = last->end_ns - last->start_ns;
		else if (op->share_seen < 1 && last->end_ns > op->slices[0].start_ns)
			span_ns =
			    last->end_ns -
			    op->slices[0]
				.start_ns; /* the time after the last burst is not covered yet */
		else if ((op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL) &&
			 op->slices[0].start_ns < elapsed_ns)
			span_ns = elapsed_ns -
				  op->slices[0].start_ns; /* armed after the start of the session */
	}
	row->op = op->op;
	row->layer = op->layer;
	words_op_function(&name, m, op);
	sanitise(row->name, sizeof(row->name), name.data ? name.data : "");
	sanitise(row->module, sizeof(row->module), op->module);
	row->calls = p->calls;
	row->time_ns = p->sum_ns;
	if (op->below_measurable && op->total.calls)
		row->time_ns =
		    (uint64_t)((double)op->time_ns * (double)p->calls / (double)op->total.calls);
	if (op->most_callers && row->time_ns / op->most_callers > span_ns)
		row->time_ns = op->most_callers * span_ns;
	row->rate = span_ns ? (double)p->calls * 1e9 / (double)span_ns : -1;
	row->at_least = words_sure_part(op) < 1;
	if (span_ns)
		row->rate *= words_sure_part(op);
	row->wall = span_ns ? (double)row->time_ns / (double)span_ns : -1;
	row->p50_ns = p->calls ? profile_quantile(p, 0.5) : 0;
	row->p99_ns = p->calls ? profile_quantile(p, 0.99) : 0;
	row->max_ns = p->max_ns;
	row->peaks = op->nr_peaks;
	row->open = op->open;
	row->oldest_ns = op->oldest_open_ns;
	row->began_before = op_began_before(op, elapsed_ns);
	row->asked = op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL;
	row->group = group_of(op);
	row->stuck = op_is_stuck(op, elapsed_ns);
	row->seen = op->share_seen;
	row->adds_up = op->adds_up;
	row_histogram(row, p);
}

static int compare_by(enum row_order order, const struct op_row *a, const struct op_row *b)
{
	switch (order) {
	case BY_NAME:
		return strcmp(a->name, b->name);
	case BY_RATE:
		return descending(a->rate, b->rate);
	case BY_P50:
		return descending(a->p50_ns, b->p50_ns);
	case BY_P99:
		return descending(a->p99_ns, b->p99_ns);
	case BY_PEAKS:
		return descending(a->peaks, b->peaks);
	case BY_OPEN:
		return descending(a->oldest_ns, b->oldest_ns);
	case BY_LAYER:
		return strcmp(layer_name(a->layer), layer_name(b->layer));
	case BY_CALLS:
		return descending(a->calls, b->calls);
	case BY_TOTAL:
		return descending(a->time_ns, b->time_ns);
	case BY_MAX:
		return descending(a->max_ns, b->max_ns);
	case BY_TIME:
	case NR_ORDERS:
		break;
	}
	return 0;
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct op_rows *r = ctx;
	const struct op_row *a = &r->row[*(const size_t *)pa], *b = &r->row[*(const size_t *)pb];
	int c = compare_by(r->order, a, b) ?: descending(op_row_time(a), op_row_time(b));

	return ascending(a->group, b->group) ?: (r->reverse ? -c : c) ?: ascending(a->op, b->op);
}

static bool matches(const struct op_row *row, const char *text)
{
	return !text[0] || strcasestr(row->name, text) || strcasestr(row->module, text);
}

void op_rows_arrange(struct op_rows *r)
{
	size_t i;

	r->nr_shown = 0;
	for (i = 0; i < r->nr; i++)
		if (matches(&r->row[i], r->filter))
			r->shown[r->nr_shown++] = i;
	if (r->nr_shown)
		qsort_r(r->shown, r->nr_shown, sizeof(*r->shown), compare, r);
	for (int group = 0; group <= NR_GROUPS; group++) {
		for (i = 0; i < r->nr_shown && (int)op_rows_at(r, i)->group < group; i++)
			;
		r->first[group] = i;
	}
}

static bool reserve(struct op_rows *r, size_t n)
{
	size_t cap = r->cap;

	return !array_fit(r->row, n, cap, SIZE_MAX) && !array_fit(r->shown, n, r->cap, SIZE_MAX);
}

/* Set the common range of all small histograms, rounded to steps so that it seldom changes. */
static void set_range(struct op_rows *r)
{
	enum { STEP = 8 };

	r->low = ROW_HALVES;
	r->high = 0;
	for (size_t i = 0; i < r->nr; i++) {
		for (int k = 0; k < ROW_HALVES; k++) {
			if (!r->row[i].log[k])
				continue;
			if (k < r->low)
				r->low = k;
			if (k >= r->high)
				r->high = k + 1;
		}
	}
	if (r->low >= r->high) { /* no calls: show 256 ns to 16 s */
		r->low = 16;
		r->high = 68;
	}
	r->low -= r->low % STEP;
	r->high += (STEP - r->high % STEP) % STEP;
}

void op_rows_update(struct op_rows *r, struct model *m, bool last_slice)
{
	size_t i, n = model_nr_ops(m);

	if (!reserve(r, n))
		return;
	r->nr_ops = n;
	r->nr = 0;
	for (i = 0; i < n; i++) {
		const struct op *op = model_op(m, i);

		if (op->total.calls || op->open || op->abnormal || op->requested[0] ||
		    op->layer == LAYER_FUNCTION)
			row_fill(&r->row[r->nr++], m, op, last_slice);
	}
	set_range(r);
	op_rows_arrange(r);
}
