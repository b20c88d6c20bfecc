// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/report/histogram.h"

#include <math.h>

#include "analysis/base/format.h"

enum { MAX_BAR = 50, SHORT_GAP = 2 };

struct histogram_row {
	uint64_t count;
	const struct peak *peak; /* the peak with most calls of this row, or NULL */
	unsigned int gap;	 /* this row begins `gap` empty rows drawn as one; 0: it does not */
};

struct histogram_rows {
	unsigned int first, nr, resolution;
	unsigned int lines;
	uint64_t most;
	struct histogram_row row[PT_BUCKETS];
};

static const struct peak *peak_of(const struct op *op, struct bucket_range range)
{
	const struct peak *best = NULL, *p;
	struct bucket_range both;
	uint64_t most = 0, calls;

	for (unsigned int i = 0; i < op->nr_peaks + op->nr_folded; i++) {
		p = i < op->nr_peaks ? &op->peaks[i] : &op->folded[i - op->nr_peaks];
		both.low = p->range.low > range.low ? p->range.low : range.low;
		both.high = p->range.high < range.high ? p->range.high : range.high;
		if (both.low >= both.high)
			continue;
		calls = profile_range_calls(&op->total, both);
		if (!best || calls > most) {
			best = p;
			most = calls;
		}
	}
	return best;
}

static void fill_rows(struct histogram_rows *r, const struct op *op, unsigned int resolution)
{
	unsigned int step = PT_RESOLUTION / resolution, j, last = 0;
	uint64_t count;

	*r = (struct histogram_rows){.first = PT_BUCKETS, .resolution = resolution};
	for (unsigned int i = 0; i < bucket_total(resolution); i++) {
		count = profile_count(&op->total, i, resolution);
		if (!count)
			continue;
		if (r->first == PT_BUCKETS)
			r->first = i;
		last = i;
		r->most = count > r->most ? count : r->most;
	}
	if (r->first == PT_BUCKETS)
		return;
	r->nr = last - r->first + 1;
	for (unsigned int i = 0; i < r->nr; i++) {
		j = r->first + i;
		r->row[i].count = profile_count(&op->total, j, resolution);
		r->row[i].peak = peak_of(op, (struct bucket_range){j * step, (j + 1) * step});
	}
	for (unsigned int i = 0; i < r->nr; i = j) {
		for (j = i; j < r->nr && !r->row[j].count; j++)
			;
		if (j - i > SHORT_GAP)
			r->row[i].gap = j - i;
		r->lines += j - i > SHORT_GAP ? 1 : j - i;
		if (j == i) {
			r->lines++;
			j++;
		}
	}
}

static int rank_of(const struct op *op, int id)
{
	for (unsigned int k = 0; k < op->nr_peaks; k++)
		if (op->peaks[k].id == id)
			return op->peaks[k].rank;
	return 0;
}

/* The numbers of the peaks whose mode is in row i; for a shadow "~" and the number of its peak. */
static struct text label(const struct histogram_rows *r, const struct op *op, unsigned int i)
{
	struct text t = {""};
	size_t len;

	for (unsigned int k = 0; k < op->nr_peaks; k++) {
		if (pt_bucket(op->peaks[k].mode_ns) / (PT_RESOLUTION / r->resolution) !=
		    r->first + i)
			continue;
		len = strlen(t.s);
		snprintf(t.s + len, sizeof(t.s) - len, "%s%d", len ? "," : "", op->peaks[k].rank);
	}
	for (unsigned int k = 0; k < op->nr_folded && !t.s[0]; k++) {
		const struct peak *p = &op->folded[k];

		if (p->shadow_of &&
		    pt_bucket(p->mode_ns) / (PT_RESOLUTION / r->resolution) == r->first + i)
			snprintf(t.s, sizeof(t.s), "~%d", rank_of(op, p->shadow_of));
	}
	return t;
}

static const char *bracket(const struct histogram_rows *r, unsigned int i, bool ascii)
{
	const struct peak *p = r->row[i].peak;
	unsigned int next = i + (r->row[i].gap ? r->row[i].gap : 1);
	bool begins, ends;

	if (!p)
		return " ";
	if (!p->rank)
		return p->shadow_of ? ":" : ".";
	begins = !i || r->row[i - 1].peak != p;
	ends = next >= r->nr || r->row[next].peak != p;
	if (begins && ends)
		return "[";
	if (begins)
		return ascii ? "/" : "┌";
	if (ends)
		return ascii ? "\\" : "└";
	return ascii ? "|" : "│";
}

static void put_bar(struct buf *out, uint64_t count, uint64_t most, unsigned int width, bool ascii)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned int length;

	if (!count)
		return;
	length = (unsigned int)lround(log1p((double)count) / log1p((double)most) * width * 8);
	if (ascii)
		length = (length + 7) & ~7u;
	length = length ? length : 1;
	buf_putc(out, ' ');
	for (; length >= 8; length -= 8)
		buf_puts(out, ascii ? "#" : "█");
	buf_puts(out, eighths[length]);
}

int histogram_append(struct buf *out, const struct op *op, const struct histogram_options *o)
{
	unsigned int resolution = o->resolution, width;
	struct histogram_rows r;

	fill_rows(&r, op, resolution);
	while (r.lines > o->max_rows && resolution > 1) {
		resolution /= 2;
		fill_rows(&r, op, resolution);
	}
	width = o->columns > 41 ? o->columns - 21 : 20;
	width = width > MAX_BAR ? MAX_BAR : width;
	for (unsigned int i = 0; i < r.nr; i += r.row[i].gap ? r.row[i].gap : 1) {
		buf_printf(out, "%4s %s ", label(&r, op, i).s, bracket(&r, i, o->ascii));
		if (r.row[i].gap) {
			buf_puts(out, "    ...\n");
			continue;
		}
		buf_printf(out, "%s %s",
			   format_time_fixed(bucket_low_ns(r.first + i, resolution)).s,
			   format_count_fixed(r.row[i].count).s);
		put_bar(out, r.row[i].count, r.most, width, o->ascii);
		buf_putc(out, '\n');
	}
	return out->err;
}
