// SPDX-License-Identifier: GPL-2.0-or-later
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tui/screen/theme.h"
#include "tui/views/heatmap.h"

#define SECOND 1000000000ULL

enum { MAX = 4000 };

/* Slices of one second each, with these calls in one bucket. */
struct maker {
	struct slice slice[MAX];
	uint16_t bucket[MAX];
	uint64_t count[MAX];
	struct profile total;
	struct heatmap_span span;
};

static struct maker *maker_new(void)
{
	struct maker *m = calloc(1, sizeof(*m));

	profile_init(&m->total);
	m->span = (struct heatmap_span){.slices = m->slice,
					.total = &m->total,
					.interval_ns = SECOND,
					.column_ns = SECOND,
					.resolution = 8};
	return m;
}

static void add(struct maker *m, uint64_t start_ns, unsigned int bucket, uint64_t count)
{
	unsigned int i = m->span.nr_slices++;

	m->bucket[i] = (uint16_t)bucket;
	m->count[i] = count;
	m->slice[i] = (struct slice){.start_ns = start_ns,
				     .end_ns = start_ns + SECOND,
				     .calls = count,
				     .nr_buckets = count ? 1 : 0,
				     .bucket = &m->bucket[i],
				     .count = &m->count[i]};
	m->total.count[bucket] += count;
	m->total.calls += count;
	m->span.elapsed_ns = start_ns + SECOND;
}

static void test_fills_from_the_left(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		add(m, i * SECOND, 80, 1);
		assert_int_equal(heatmap_init(&h, &m->span, 10, 4), 0);
		assert_int_equal(h.first, 0);
		assert_int_equal(h.filled, i + 1);
		heatmap_release(&h);
	}
	free(m);
}

static void test_jumps_by_a_quarter(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	uint64_t before = 0;
	unsigned int i, jumps = 0;

	for (i = 0; i < 100; i++) {
		add(m, i * SECOND, 80, 1);
		heatmap_init(&h, &m->span, 20, 4);
		assert_true(h.filled >= 1 && h.filled <= 20);
		assert_int_equal(h.first + h.filled, i + 1); /* the newest column is always there */
		if (h.first != before) {
			assert_int_equal(h.first - before, 5);
			jumps++;
		}
		before = h.first;
		heatmap_release(&h);
	}
	assert_int_equal(jumps, 16);
	free(m);
}

static void test_between_jumps_only_the_newest_column_changes(void **state)
{
	struct maker *m = maker_new();
	struct heatmap a, b;
	unsigned int i;
	int row, col;

	for (i = 0; i < 9; i++)
		add(m, i * SECOND, 80 + i % 3 * 20, 100 + i);
	heatmap_init(&a, &m->span, 20, 8);
	add(m, 9 * SECOND, 100, 90);
	heatmap_init(&b, &m->span, 20, 8);
	assert_int_equal(a.low, b.low);
	assert_int_equal(a.per_row, b.per_row);
	assert_int_equal(a.scale, b.scale);
	for (row = 0; row < 8; row++)
		for (col = 0; col < 20; col++)
			if (col != 9)
				assert_int_equal(heatmap_level(&a, col, row),
						 heatmap_level(&b, col, row));
	heatmap_release(&a);
	heatmap_release(&b);
	free(m);
}

static void test_late_slices_stay_in_their_column(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	unsigned int i, col;

	/* each a third of a slice late or early, not more and more */
	for (i = 0; i < 12; i++)
		add(m, i * SECOND + i % 3 * (SECOND / 3) - (i ? SECOND / 3 : 0), 80, 7);
	heatmap_init(&h, &m->span, 12, 1);
	for (col = 0; col < 12; col++)
		assert_int_equal(h.cell[col], 7);
	assert_int_equal(h.filled, 12);
	heatmap_release(&h);
	free(m);
}

static void test_longer_columns_add_up(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	unsigned int i;

	for (i = 0; i < 20; i++)
		add(m, i * SECOND, 80, 3);
	m->span.column_ns = 5 * SECOND;
	heatmap_init(&h, &m->span, 8, 1);
	assert_int_equal(h.filled, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(h.cell[i], 15);
	assert_int_equal(h.calls, 60);
	heatmap_release(&h);
	free(m);
}

static void test_a_merged_slice_counts_once(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;

	add(m, 0, 80, 64);
	m->slice[0].end_ns = 4 * SECOND; /* as the model merges old slices */
	m->span.elapsed_ns = 4 * SECOND;
	heatmap_init(&h, &m->span, 8, 1);
	assert_int_equal(h.calls, 64);
	assert_int_equal(h.filled, 4);
	heatmap_release(&h);
	free(m);
}

static void test_rows_hold_all_calls(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	unsigned int i, rows;
	uint64_t sum;

	for (i = 0; i < 300; i += 7)
		add(m, i * SECOND, i, i + 1);
	for (rows = 1; rows < 60; rows++) {
		int row;

		heatmap_init(&h, &m->span, 400, (int)rows);
		for (row = 0, sum = 0; row < (int)rows; row++)
			sum += h.row[row];
		assert_int_equal(sum, m->total.calls);
		assert_int_equal(sum, h.calls);
		assert_true(h.low + h.per_row * rows > 294);
		heatmap_release(&h);
	}
	free(m);
}

static void test_rows_are_not_finer_than_the_resolution(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;

	add(m, 0, 80, 1);
	add(m, SECOND, 90, 1);
	m->span.resolution = 4;
	heatmap_init(&h, &m->span, 10, 40);
	assert_int_equal(h.per_row, 2);
	assert_int_equal(h.low % 2, 0);
	heatmap_release(&h);
	m->span.resolution = 1;
	heatmap_init(&h, &m->span, 10, 40);
	assert_int_equal(h.per_row, 8);
	heatmap_release(&h);
	free(m);
}

static void test_levels_are_logarithmic_and_ordered(void **state)
{
	static const uint64_t counts[] = {1, 3, 9, 40, 150, 700, 3000, 16000};
	struct maker *m = maker_new();
	struct heatmap h;
	unsigned int i, level, before = 0;

	add(m, 0, 80, 0);
	for (i = 0; i < 8; i++)
		add(m, (i + 1) * SECOND, 80, counts[i]);
	heatmap_init(&h, &m->span, 10, 1);
	assert_int_equal(heatmap_level(&h, 0, 0), 0); /* none is the background */
	assert_int_equal(heatmap_level(&h, 1, 0), 1);
	for (i = 1; i <= 8; i++) {
		level = heatmap_level(&h, (int)i, 0);
		assert_true(level >= before && level <= HEAT_LEVELS);
		before = level;
	}
	assert_int_equal(before, 8);
	heatmap_release(&h);
	free(m);
}

static void test_huge_counts(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;

	add(m, 0, 80, UINT64_MAX / 4);
	add(m, SECOND, 80, 1);
	heatmap_init(&h, &m->span, 4, 3);
	assert_in_range(heatmap_level(&h, 0, 1), 1, 8);
	assert_int_equal(heatmap_bar(&h, 1, 40) > 20, 1);
	assert_int_equal(heatmap_bar(&h, 0, 40), 0);
	heatmap_release(&h);
	free(m);
}

static void test_bars(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;

	add(m, 0, 80, 1);
	add(m, SECOND, 120, 1000000);
	heatmap_init(&h, &m->span, 4, 41);
	assert_int_equal(h.per_row, 1);
	assert_int_equal(heatmap_bar(&h, 80 - (int)h.low, 40), 1); /* a single call is still seen */
	assert_in_range(heatmap_bar(&h, 120 - (int)h.low, 40), 30, 40);
	assert_int_equal(heatmap_bar(&h, 100 - (int)h.low, 40), 0);
	assert_int_equal(heatmap_bar(&h, 80 - (int)h.low, 0), 0);
	heatmap_release(&h);
	free(m);
}

static void test_rows_of_a_range(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	int low = -7, high = -7;

	add(m, 0, 80, 1);
	add(m, SECOND, 159, 1);
	heatmap_init(&h, &m->span, 4, 10);
	assert_int_equal(h.low, 80);
	assert_int_equal(h.per_row, 8);
	assert_true(heatmap_rows(&h, (struct bucket_range){88, 96}, &low, &high));
	assert_int_equal(low, 1);
	assert_int_equal(high, 1);
	assert_true(heatmap_rows(&h, (struct bucket_range){0, 352}, &low, &high));
	assert_int_equal(low, 0);
	assert_int_equal(high, 9);
	assert_false(heatmap_rows(&h, (struct bucket_range){0, 80}, &low, &high));
	assert_false(heatmap_rows(&h, (struct bucket_range){160, 170}, &low, &high));
	assert_false(heatmap_rows(&h, (struct bucket_range){100, 100}, &low, &high));
	assert_int_equal(heatmap_row_ns(&h, 0), 1024);
	assert_int_equal(heatmap_row_ns(&h, 1), 2048);
	heatmap_release(&h);
	free(m);
}

static void test_without_calls(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;

	assert_int_equal(heatmap_init(&h, &m->span, 10, 5), 0);
	assert_int_equal(h.filled, 0);
	assert_int_equal(h.calls, 0);
	assert_int_equal(heatmap_level(&h, 9, 4), 0);
	assert_int_equal(heatmap_bar(&h, 4, 10), 0);
	heatmap_release(&h);
	assert_int_equal(heatmap_init(&h, &m->span, 0, 0), 0); /* as small as can be */
	assert_int_equal(h.cols, 1);
	heatmap_release(&h);
	free(m);
}

static void test_extreme_buckets(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	int rows;

	add(m, 0, 0, 1);
	add(m, SECOND, PT_BUCKETS - 1, 1);
	for (rows = 1; rows < 400; rows += 13) {
		heatmap_init(&h, &m->span, 3, rows);
		assert_int_equal(h.calls, 2);
		assert_true(heatmap_row_ns(&h, rows) >= heatmap_row_ns(&h, 0));
		heatmap_release(&h);
	}
	free(m);
}

static void test_column_steps(void **state)
{
	assert_int_equal(heatmap_column_step(SECOND, SECOND, 1), 2 * SECOND);
	assert_int_equal(heatmap_column_step(SECOND, 2 * SECOND, 1), 5 * SECOND);
	assert_int_equal(heatmap_column_step(SECOND, SECOND, -1), SECOND / 2);
	assert_int_equal(heatmap_column_step(SECOND, SECOND / 2, -1), SECOND / 4);
	assert_int_equal(heatmap_column_step(SECOND, SECOND / 4, -1), SECOND / 4);
	assert_int_equal(heatmap_column_step(SECOND, 10 * SECOND, -1), 5 * SECOND);
	assert_int_equal(heatmap_column_step(SECOND, 3600 * SECOND, 1), 3600 * SECOND);
	assert_int_equal(heatmap_column_step(SECOND / 10, SECOND / 10, 1), SECOND / 5);
	assert_int_equal(heatmap_column_step(0, 7, 1), 7);
}

static void assert_drawn(struct heatmap *h, int labels, const char *expected)
{
	struct grid *g = grid_new(h->cols + labels, h->rows + 1, false);
	struct buf b;

	heatmap_draw_latencies(h, g, (struct rect){0, 0, labels, h->rows},
			       (struct bucket_range){80, 96});
	heatmap_draw(h, g, (struct rect){labels, 0, h->cols, h->rows});
	heatmap_draw_times(h, g, (struct rect){labels, h->rows, h->cols, 1});
	buf_init(&b, 1 << 16);
	grid_text(g, &b);
	assert_string_equal(b.data, expected);
	buf_release(&b);
	grid_free(g);
}

static void test_drawing(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	unsigned int i;

	for (i = 0; i < 13; i++)
		add(m, i * SECOND, 80 + i % 4 * 20, 1ULL << i);
	heatmap_init(&h, &m->span, 16, 8);
	assert_drawn(&h, 8,
		     "       │   ░   ▓   █\n"
		     "100 us ┤\n"
		     "       │  ░   ▒   ▓\n"
		     "       │\n"
		     " 10 us ┤\n"
		     "       │ ░   ▒   ▓\n"
		     "       ┃\n"
		     "       ┃░   ▒   ▓   █\n"
		     "        0:00──────0:10\n");
	heatmap_release(&h);
	free(m);
}

static void test_times_after_a_jump(void **state)
{
	struct maker *m = maker_new();
	struct heatmap h;
	struct grid *g = grid_new(40, 1, true);
	struct buf b;
	unsigned int i;

	for (i = 0; i < 3661; i++)
		add(m, i * SECOND, 80, 1);
	heatmap_init(&h, &m->span, 40, 1);
	heatmap_draw_times(&h, g, (struct rect){0, 0, 40, 1});
	buf_init(&b, 4096);
	grid_text(g, &b);
	assert_string_equal(b.data, "1:00:30---1:00:40---1:00:50---1:01:00\n");
	buf_release(&b);
	grid_free(g);
	heatmap_release(&h);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fills_from_the_left),
	    cmocka_unit_test(test_jumps_by_a_quarter),
	    cmocka_unit_test(test_between_jumps_only_the_newest_column_changes),
	    cmocka_unit_test(test_late_slices_stay_in_their_column),
	    cmocka_unit_test(test_longer_columns_add_up),
	    cmocka_unit_test(test_a_merged_slice_counts_once),
	    cmocka_unit_test(test_rows_hold_all_calls),
	    cmocka_unit_test(test_rows_are_not_finer_than_the_resolution),
	    cmocka_unit_test(test_levels_are_logarithmic_and_ordered),
	    cmocka_unit_test(test_huge_counts),
	    cmocka_unit_test(test_bars),
	    cmocka_unit_test(test_rows_of_a_range),
	    cmocka_unit_test(test_without_calls),
	    cmocka_unit_test(test_extreme_buckets),
	    cmocka_unit_test(test_column_steps),
	    cmocka_unit_test(test_drawing),
	    cmocka_unit_test(test_times_after_a_jump),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
