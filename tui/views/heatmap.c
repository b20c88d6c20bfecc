// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/views/heatmap.h"

#include "tui/screen/theme.h"

enum { LATE = 10 }; /* slices without a record until an operation counts as not watched */

/* --- window, range, scale ---------------------------------------------------- */

/* The columns of a slice: [*from, *to). Rounded, so that small deviations of its start and end do
 * not change them. */
static void columns_of(const struct heatmap_span *span, const struct slice *s, uint64_t *from,
		       uint64_t *to)
{
	uint64_t half = span->column_ns / 2;

	*from = (s->start_ns + half) / span->column_ns;
	*to = (s->end_ns + half) / span->column_ns;
	if (*to <= *from) {
		*from = (s->start_ns + (s->end_ns - s->start_ns) / 2) / span->column_ns;
		*to = *from + 1;
	}
}

/* The number of columns since the start of the session, including the present one. */
static uint64_t columns_so_far(const struct heatmap_span *span)
{
	uint64_t n = 0, late, from, last;

	late = span->interval_ns < span->column_ns ? span->interval_ns / 2 : span->column_ns / 2;
	if (span->elapsed_ns)
		n = (span->elapsed_ns - 1 -
		     (span->elapsed_ns - 1 < late ? span->elapsed_ns - 1 : late)) /
			span->column_ns +
		    1;
	if (span->nr_slices) {
		columns_of(span, &span->slices[span->nr_slices - 1], &from, &last);
		if (last > n)
			n = last;
	}
	return n;
}

/* Move the window to a column that is further back. */
static void go_back_to(struct heatmap *h, uint64_t at)
{
	uint64_t cols = (uint64_t)h->cols, quarter = cols / 4 ? cols / 4 : 1;

	if (at < h->first)
		h->first = at > cols / 2 ? (at - cols / 2) / quarter * quarter : 0;
}

/* The columns of the part, at least one. */
static void set_part(struct heatmap *h, const struct heatmap_span *span)
{
	const struct slice part = {.start_ns = span->start_ns, .end_ns = span->end_ns};
	uint64_t from, to, end;

	if (!span->part)
		return;
	columns_of(span, &part, &from, &to);
	if (!span->cursor)
		go_back_to(h, from);
	end = h->first + (uint64_t)h->cols;
	from = from < h->first ? h->first : from;
	to = to > end ? end : to;
	if (from >= to)
		return;
	h->part_from = (int)(from - h->first);
	h->part_to = (int)(to - h->first);
}

/* The window ends at the present time, unless the cursor or the part is further back. */
static void set_window(struct heatmap *h, const struct heatmap_span *span)
{
	uint64_t n = columns_so_far(span), cols = (uint64_t)h->cols, at;
	uint64_t quarter = cols / 4 ? cols / 4 : 1;

	h->first = n > cols ? (n - cols + quarter - 1) / quarter * quarter : 0;
	h->cursor_col = h->cursor_row = -1;
	if (span->cursor) {
		at = span->cursor_ns / span->column_ns;
		at = at >= n ? (n ? n - 1 : 0) : at;
		go_back_to(h, at);
		h->cursor_col = (int)(at - h->first);
		h->cursor_start_ns = at * span->column_ns;
		h->cursor_end_ns = h->cursor_start_ns + span->column_ns;
	}
	set_part(h, span);
	h->filled = (int)(n - h->first < cols ? n - h->first : cols);
}

/* The smallest number of buckets per row with which low..high fits into `rows`. */
static unsigned int row_size(unsigned int finest, unsigned int low, unsigned int high,
			     unsigned int rows)
{
	static const unsigned int sizes[] = {1,	 2,  3,	 4,  5,	 6,  7,	  8,  9,  10,
					     11, 12, 13, 14, 15, 16, 18,  20, 22, 24,
					     28, 32, 40, 48, 64, 96, 176, 352};
	unsigned int size = PT_BUCKETS;

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size = sizes[i];
		if (size < finest)
			continue;
		if ((high - low / size * size) / size + 1 <= rows)
			break;
	}
	return size;
}

/* Narrow the range of buckets to the part that is zoomed to. */
static void zoom_range(const struct heatmap_span *span, unsigned int *low, unsigned int *high)
{
	unsigned int width = (*high - *low + 1) >> span->zoom, start;

	if (width < PT_RESOLUTION)
		width = PT_RESOLUTION;
	if (width > *high - *low + 1)
		return;
	start = span->centre > width / 2 ? span->centre - width / 2 : 0;
	if (start + width > *high + 1)
		start = *high + 1 - width;
	*low = start > *low ? start : *low;
	*high = *low + width - 1;
}

static void set_range(struct heatmap *h, const struct heatmap_span *span)
{
	unsigned int low = 0, high = PT_BUCKETS - 1, rows = (unsigned int)h->rows, spare;
	unsigned int finest = span->resolution ? PT_RESOLUTION / span->resolution : 1;

	while (low < high && !span->total->count[low])
		low++;
	while (high > low && !span->total->count[high])
		high--;
	if (!span->total->calls) { /* no calls yet: show 1 us to 1 s */
		low = 10 * PT_RESOLUTION;
		high = 30 * PT_RESOLUTION - 1;
	}
	if (span->zoom) {
		finest = 1;
		zoom_range(span, &low, &high);
	}
	h->per_row = row_size(finest ? finest : 1, low, high, rows);
	h->low = low / h->per_row * h->per_row;
	spare = rows - ((high - h->low) / h->per_row + 1);
	spare = spare / 2 * h->per_row;
	h->low -= spare < h->low ? spare : h->low / h->per_row * h->per_row;
}

/* The log2 of the smallest power of four (at least 16) that is larger than n. */
static unsigned int scale_of(uint64_t n)
{
	unsigned int log2 = 4;

	while (log2 < 64 && n >> log2)
		log2 += 2;
	return log2;
}

/* Add the calls of a slice to the rows of their latencies. The slice covers `columns` columns from
 * `col` on, and each of them gets its part of the calls. */
static void count_buckets(struct heatmap *h, const struct slice *s, int col, int columns,
			  uint64_t parts, bool in_span)
{
	for (unsigned int i = 0; i < s->nr_buckets; i++) {
		unsigned int row;

		if (s->bucket[i] < h->low)
			continue;
		row = (s->bucket[i] - h->low) / h->per_row;
		if (row >= (unsigned int)h->rows)
			continue;
		for (int k = 0; k < columns; k++)
			h->cell[row * (unsigned int)h->cols + (unsigned int)(col + k)] +=
			    (s->count[i] + parts - 1) / parts;
		if (in_span) {
			h->row[row] += s->count[i];
			h->calls += s->count[i];
		}
	}
}

/* The calls of the part in each row. */
static void count_part(struct heatmap *h, const struct profile *part)
{
	for (unsigned int i = h->low; i < PT_BUCKETS; i++) {
		unsigned int row = (i - h->low) / h->per_row;

		if (row >= (unsigned int)h->rows)
			return;
		h->row[row] += part->count[i];
		h->calls += part->count[i];
	}
}

static void count_slice(struct heatmap *h, const struct heatmap_span *span, const struct slice *s)
{
	uint64_t from, to, parts, end = h->first + (uint64_t)h->cols, cursor;
	bool in_span = !span->part;
	int col, columns;

	columns_of(span, s, &from, &to);
	if (from >= end || to <= h->first)
		return;
	parts = to - from;
	if (h->cursor_col >= 0) {
		cursor = h->first + (uint64_t)h->cursor_col;
		in_span = cursor >= from && cursor < to;
		if (in_span && s->start_ns < h->cursor_start_ns)
			h->cursor_start_ns = s->start_ns;
		if (in_span && s->end_ns > h->cursor_end_ns)
			h->cursor_end_ns = s->end_ns;
	}
	from = from > h->first ? from : h->first;
	to = to < end ? to : end;
	col = (int)(from - h->first);
	columns = (int)(to - from);
	for (int k = 0; k < columns; k++)
		h->watched[col + k] |= s->armed_ns > 0;
	count_buckets(h, s, col, columns, parts, in_span);
}

/* The time since the last slice counts as watched for a while: an operation that is sampled in
 * bursts has a record only after each burst. */
static void watch_tail(struct heatmap *h, const struct heatmap_span *span)
{
	uint64_t from, last;

	if (!span->nr_slices ||
	    span->elapsed_ns > span->slices[span->nr_slices - 1].end_ns + LATE * span->interval_ns)
		return;
	columns_of(span, &span->slices[span->nr_slices - 1], &from, &last);
	for (last = last > h->first ? last - h->first : 0; last < (uint64_t)h->cols; last++)
		h->watched[last] = true;
}

/* A column of which a part was watched counts as watched; deviations of the slices do not count. */
static void unwatch_off(struct heatmap *h, const struct heatmap_span *span)
{
	uint64_t end = h->first + (uint64_t)h->cols, tolerance = span->column_ns / 8;

	for (unsigned int i = 0; span->off && i < span->off->nr; i++) {
		const struct layer_gap *gap = &span->off->gap[i];
		uint64_t from = (gap->start_ns + span->column_ns - 1 - tolerance) / span->column_ns,
			 to = (gap->end_ns + tolerance) / span->column_ns;

		for (from = from > h->first ? from : h->first; from < to && from < end; from++)
			h->watched[from - h->first] = false;
	}
}

static void set_cursor_row(struct heatmap *h, const struct heatmap_span *span)
{
	unsigned int row;

	if (h->cursor_col < 0 || span->cursor_bucket < h->low)
		return;
	row = (span->cursor_bucket - h->low) / h->per_row;
	if (row < (unsigned int)h->rows)
		h->cursor_row = (int)row;
}

int heatmap_init(struct heatmap *h, const struct heatmap_span *span, int cols, int rows)
{
	uint64_t max = 0, row_max = 0;
	size_t cells;

	*h = (struct heatmap){.cols = cols < 1 ? 1 : cols, .rows = rows < 1 ? 1 : rows};
	h->column_ns = span->column_ns;
	cells = (size_t)h->cols * (size_t)h->rows;
	h->cell = calloc(cells, sizeof(*h->cell));
	h->row = calloc((size_t)h->rows, sizeof(*h->row));
	h->watched = malloc((size_t)h->cols * sizeof(*h->watched));
	if (!h->cell || !h->row || !h->watched) {
		heatmap_release(h);
		return -ENOMEM;
	}
	set_window(h, span);
	set_range(h, span);
	set_cursor_row(h, span);
	memset(h->watched, !span->only_slices, (size_t)h->cols * sizeof(*h->watched));
	watch_tail(h, span);
	unwatch_off(h, span);
	for (unsigned int k = 0; k < span->nr_slices; k++)
		count_slice(h, span, &span->slices[k]);
	if (span->part && h->cursor_col < 0)
		count_part(h, span->part);
	for (size_t i = 0; i < cells; i++)
		if (h->cell[i] > max)
			max = h->cell[i];
	for (size_t i = 0; i < (size_t)h->rows; i++)
		if (h->row[i] > row_max)
			row_max = h->row[i];
	h->scale = scale_of(max);
	h->row_scale = scale_of(row_max);
	return 0;
}

void heatmap_release(struct heatmap *h)
{
	free(h->cell);
	free(h->row);
	free(h->watched);
	h->cell = NULL;
	h->row = NULL;
	h->watched = NULL;
}

unsigned int heatmap_level(const struct heatmap *h, int col, int row)
{
	uint64_t n = h->cell[(size_t)row * (size_t)h->cols + (size_t)col];
	unsigned int level;

	if (!n)
		return 0;
	/* pt_bucket() is PT_RESOLUTION times the log2 */
	level = 1 + pt_bucket(n) * HEAT_LEVELS / (PT_RESOLUTION * h->scale);
	return level < HEAT_LEVELS ? level : HEAT_LEVELS;
}

int heatmap_bar(const struct heatmap *h, int row, int halves)
{
	uint64_t n = h->row[row];
	unsigned int length;

	if (!n || halves < 1)
		return 0;
	length = 1 + pt_bucket(n) * (unsigned int)halves / (PT_RESOLUTION * h->row_scale);
	return length < (unsigned int)halves ? (int)length : halves;
}

bool heatmap_rows(const struct heatmap *h, struct bucket_range range, int *low, int *high)
{
	unsigned int end = h->low + h->per_row * (unsigned int)h->rows;

	if (range.high <= h->low || range.low >= end || range.low >= range.high)
		return false;
	*low = range.low < h->low ? 0 : (int)((range.low - h->low) / h->per_row);
	*high = range.high > end ? h->rows - 1 : (int)((range.high - 1 - h->low) / h->per_row);
	return true;
}

uint64_t heatmap_row_ns(const struct heatmap *h, int row)
{
	unsigned int bucket = h->low + h->per_row * (unsigned int)row;

	if (bucket >= PT_BUCKETS)
		return bucket_high_ns(PT_BUCKETS - 1, PT_RESOLUTION);
	return bucket_low_ns(bucket, PT_RESOLUTION);
}

uint64_t heatmap_column_fit(uint64_t interval_ns, uint64_t elapsed_ns, int cols)
{
	uint64_t column = interval_ns / 4 ? interval_ns / 4 : 1;

	while (cols > 0 && elapsed_ns && (elapsed_ns - 1) / column + 1 > (uint64_t)cols)
		column *= 2;
	return column;
}

uint64_t heatmap_column_step(uint64_t interval_ns, uint64_t column_ns, int direction)
{
	static const unsigned int quarters[] = {1,   2,	  4,   8,    20,   40,
						120, 240, 480, 1200, 2400, 14400};
	int i, n = sizeof(quarters) / sizeof(quarters[0]);

	if (interval_ns < 4)
		return column_ns;
	for (i = 0; i < n - 1; i++)
		if (quarters[i] * (interval_ns / 4) >= column_ns)
			break;
	i += direction;
	return quarters[i < 0 ? 0 : i >= n ? n - 1 : i] * (interval_ns / 4);
}

/* Draw a cell without calls. */
static void draw_empty(const struct heatmap *h, struct grid *g, int x, int y, int col, int row)
{
	bool at_col = col == h->cursor_col, at_row = row == h->cursor_row;

	if (at_col && at_row)
		grid_put(g, x, y, 1, ROLE_SELECTED, "+");
	else if (at_col || (at_row && h->watched[col]))
		grid_put(g, x, y, 1, ROLE_DIM,
			 theme_glyph(at_col ? GLYPH_VLINE : GLYPH_HLINE, g->ascii));
	else if (!h->watched[col] && col < h->filled)
		grid_put(g, x, y, 1, ROLE_DIM, theme_glyph(GLYPH_HATCH, g->ascii));
}

void heatmap_draw(const struct heatmap *h, struct grid *g, struct rect r)
{
	for (int row = 0; row < h->rows && row < r.h; row++) {
		for (int col = 0; col < h->cols && col < r.w; col++) {
			unsigned int level = heatmap_level(h, col, row);
			int x = r.x + col, y = r.y + r.h - 1 - row;

			if (level)
				grid_put(g, x, y, 1, ROLE_HEAT_1 + level - 1,
					 theme_shade(level, g->ascii));
			else
				draw_empty(h, g, x, y, col, row);
			if (col == h->cursor_col && row == h->cursor_row)
				grid_cursor(g, x, y);
		}
	}
}

/* Write the label of 10^n ns: "1 us", "10 us", ... */
static void decade_label(char *out, size_t size, unsigned int n)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	static const unsigned int tens[] = {1, 10, 100};
	unsigned int unit = n / 3 < 3 ? n / 3 : 3;
	unsigned int value = tens[n % 3], rest = n / 3 > 3 ? n - 9 : 0;

	for (; rest >= 3; rest -= 3)
		value *= 1000;
	snprintf(out, size, "%u %s", value, units[unit]);
}

void heatmap_draw_latencies(const struct heatmap *h, struct grid *g, struct rect r,
			    struct bucket_range chosen)
{
	int low = -1, high = -2, width = r.w - 2;
	uint64_t decade = 1;
	unsigned int n = 0;
	char label[24];

	heatmap_rows(h, chosen, &low, &high);
	for (int row = 0; row < h->rows && row < r.h; row++) {
		int y = r.y + r.h - 1 - row;
		bool in = row >= low && row <= high, tick = false;

		while (decade < heatmap_row_ns(h, row)) {
			decade *= 10;
			n++;
		}
		if (decade < heatmap_row_ns(h, row + 1)) {
			decade_label(label, sizeof(label), n);
			if (width > 0)
				grid_put_right(g, r.x, y, width, ROLE_DIM, label);
			tick = true;
		}
		if (row == h->cursor_row) {
			grid_put(g, r.x + r.w - 1, y, 1, ROLE_SELECTED, ">");
			continue;
		}
		grid_put(g, r.x + r.w - 1, y, 1, in ? ROLE_PEAK_CHOSEN : ROLE_DIM,
			 theme_glyph(in	    ? GLYPH_VLINE_CHOSEN
				     : tick ? GLYPH_TICK
					    : GLYPH_VLINE,
				     g->ascii));
	}
}

void heatmap_time(char *out, size_t size, uint64_t ns, uint64_t column_ns)
{
	unsigned long long s = ns / 1000000000;

	if (s >= 3600)
		snprintf(out, size, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else if (column_ns * 10 % 1000000000)
		snprintf(out, size, "%llu:%02llu.%llu", s / 60, s % 60,
			 (unsigned long long)(ns / 100000000 % 10));
	else
		snprintf(out, size, "%llu:%02llu", s / 60, s % 60);
}

void heatmap_draw_times(const struct heatmap *h, struct grid *g, struct rect r)
{
	enum { EVERY = 10 };
	int length;
	char label[48];

	for (int col = 0; col < h->filled && col < r.w; col++)
		grid_put(g, r.x + col, r.y, 1, ROLE_DIM, theme_glyph(GLYPH_HLINE, g->ascii));
	for (int col = (int)((EVERY - h->first % EVERY) % EVERY); col < r.w; col += EVERY) {
		heatmap_time(label, sizeof(label), (h->first + (uint64_t)col) * h->column_ns,
			     h->column_ns);
		length = (int)strlen(label);
		if (length < EVERY && col + length <= r.w && col < h->filled)
			grid_put(g, r.x + col, r.y, length, ROLE_DIM, label);
	}
	if (h->cursor_col >= 0 && h->cursor_col < r.w)
		grid_put(g, r.x + h->cursor_col, r.y, 1, ROLE_SELECTED,
			 theme_glyph(GLYPH_ASCENDING, g->ascii));
}
