// SPDX-License-Identifier: GPL-2.0-or-later
/* The heat map on the screen: its columns, its cursor, zoom, and time that was not watched. */
#include <locale.h>

#include "tests/unit/screen_harness.h"
#include "tui/screen/theme.h"
#include "tui/views/heatmap.h"

static struct grid *drawn(const struct harness *h, int cols, int rows)
{
	struct grid *g = grid_new(cols, rows, false);

	screen_draw(h->screen, g);
	return g;
}

static int count_text(const struct grid *g, const char *text)
{
	int n = 0;

	for (int y = 0; y < g->rows; y++)
		for (int x = 0; x < g->cols; x++)
			n += !strcmp(grid_at(g, x, y)->text, text);
	return n;
}

/* The last column that shows calls. */
static int last_heat(const struct grid *g)
{
	int last = -1;

	for (int y = 0; y < g->rows; y++)
		for (int x = 0; x < g->cols; x++)
			if (grid_at(g, x, y)->role >= ROLE_HEAT_1 &&
			    grid_at(g, x, y)->role <= ROLE_HEAT_8 && y > 3 && x > last)
				last = x;
	return last;
}

/* After half a minute a wide map is more than half full, and it never scrolls by itself. */
static void test_fills_early_and_joins(void **state)
{
	static const struct {
		unsigned int slices;
		const char *columns;
	} steps[] = {{10, "expect 250 ms per column"},
		     {30, "expect 250 ms per column"},
		     {60, "expect 500 ms per column"},
		     {130, "expect 1 s per column"},
		     {500, "expect 4 s per column"}};
	struct harness *h = harness_new(0, NULL);
	char script[128];

	harness_run(h, "size 200 50\ntick 3\nkey /\ntype read\nkey Enter Enter");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct grid *g;

		snprintf(script, sizeof(script), "size 200 50\nuntil %u\n%s\nexpect 0:00",
			 steps[i].slices, steps[i].columns);
		harness_run(h, script);
		g = drawn(h, 200, 50);
		if (steps[i].slices >= 30)
			assert_true(last_heat(g) > 70);
		grid_free(g);
	}
	harness_free(h);
}

/* The cursor tells time, latency and calls under it, and the profile of its column. */
static void test_cursor(void **state)
{
	struct harness *h = harness_new(40, NULL);
	struct grid *g;

	harness_run(h,
		    "key /\ntype read\nkey Enter Enter m\nexpect at 0:39-0:40, \n"
		    "key Left Left\nexpect at 0:37-0:38\n"
		    "key Home\nexpect at 0:00-0:01\nkey Left\nexpect at 0:00-0:01\nkey End Right\n"
		    "expect at 0:39-0:40");
	g = drawn(h, 80, 24);
	assert_in_range(g->cursor_x, 40, 60);
	assert_in_range(g->cursor_y, 3, 16);
	assert_int_equal(count_text(g, "↑"), 1);
	grid_free(g);
	/* each 5th slice has calls of about 24 ms, the others have none */
	harness_run(h, "key m 4 q\nkey Enter 4 m\nreject 0 of \nkey Left\nexpect 0 of \n");
	/* the time stays under the cursor when columns join */
	harness_run(h, "expect at 0:38-0:39\ntick 40\nexpect at 0:38-0:40");
	harness_run(h, "key Esc\nexpect per column\nreject at 0:3\nkey m\nexpect at 0:38-0:40\n"
		       "key m\nexpect per column");
	harness_free(h);
}

/* With short columns the window follows the cursor into the past. */
static void test_window_follows_the_cursor(void **state)
{
	struct harness *h = harness_new(200, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter { {\nexpect 1 s per column\n"
		       "expect 3:10\nreject 0:00─\nkey m\nexpect at 3:19-3:20\nkey Home\n"
		       "expect at 0:00-0:01\nexpect 0:10\nreject 3:10\nkey End\nexpect 3:10\n"
		       "key PgUp PgUp PgUp PgUp\nexpect at 1:59-2:00\nexpect 2:00\n"
		       "key 0\nexpect at 1:56-2:00\nexpect 0:40");
	harness_free(h);
}

static void test_enter_chooses_the_peak_under_the_cursor(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(
	    h, "key /\ntype read\nkey Enter Enter 4 m 1\nexpect >  1\nexpect select this peak\n"
	       "reject find the cause\nkey Enter\nexpect >  4\n"
	       "expect per column");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

static void test_zoom_in_latency(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(h,
		    "key /\ntype read\nkey Enter Enter 1\nexpect 10 ms\nexpect 1 us\n"
		    "key z z\nreject 10 ms \nexpect 1 us\nexpect <1\nkey Z Z\nexpect 10 ms\n"
		    "key Z\nexpect all latencies are shown\nkey 4 z z z\nreject   1 us ┤\n"
		    "expect <4\nkey 0\nexpect   1 us ┤\nkey z z z z z z\nexpect finer latencies\n"
		    "key { { { { { { { { { {\nexpect columns are not shorter than a quarter");
	harness_free(h);
}

/* A function that is armed late, and not at all for a while: hatched, which is not "no calls". */
static void test_time_that_was_not_watched(void **state)
{
	struct harness *h = harness_new(10, NULL);
	uint32_t bucket = pt_bucket(2000);
	uint64_t count = 50;
	struct grid *g;

	synth_feed(h->model, (struct record){.type = REC_OP,
					     .op = {.op = 20,
						    .layer = LAYER_FUNCTION,
						    .name = "late@redis-server",
						    .label = "late",
						    .requested = "late",
						    .module = "redis-server",
						    .placement = "entry at +0 (pushq, emulated)"}});
	for (uint64_t i = 10; i < 30; i++) {
		bool armed = i < 20 || i >= 25;
		struct rec_profile p = {.op = 20,
					.start_ns = i * SYNTH_SECOND,
					.end_ns = (i + 1) * SYNTH_SECOND,
					.armed_ns = SYNTH_SECOND,
					.bucket = &bucket,
					.count = &count};

		if (armed && i != 15) { /* in slice 15 nothing happened */
			p.calls = count;
			p.sum_ns = count * 2000;
			p.min_ns = p.max_ns = 2000;
			p.nr_buckets = 1;
		}
		if (armed)
			synth_feed(h->model, (struct record){.type = REC_PROFILE, .profile = p});
		harness_run(h, "tick");
	}
	harness_run(h,
		    "key /\ntype late\nkey Enter Enter } {\nexpect 1 s per column\nreject pushq");
	g = drawn(h, 80, 24);
	for (int y = 4; y < 12; y++) {
		assert_string_equal(grid_at(g, 8, y)->text, "╱");
		assert_string_equal(grid_at(g, 17, y)->text, "╱");
		assert_string_not_equal(grid_at(g, 18, y)->text, "╱");
		assert_string_equal(grid_at(g, 23, y)->text, " ");
		assert_string_equal(grid_at(g, 28, y)->text, "╱");
		assert_string_equal(grid_at(g, 32, y)->text, "╱");
		assert_string_not_equal(grid_at(g, 33, y)->text, "╱");
		assert_string_equal(grid_at(g, 38, y)->text, " ");
	}
	grid_free(g);
	harness_run(h, "key m Home\nexpect at 0:00-0:01: not watched\nkey Esc q i\n"
		       "key /\ntype pushq\nkey Enter\nexpect entry at +0 (pushq, emulated)");
	harness_free(h);
}

/* Other layers send nothing in slices without calls: there nothing was missed. */
static void test_layers_have_no_gaps(void **state)
{
	struct harness *h = harness_new(30, NULL);
	struct grid *g;

	harness_run(h, "key /\ntype openat\nkey Enter Enter");
	g = drawn(h, 80, 24);
	assert_int_equal(count_text(g, "╱"), 0);
	grid_free(g);
	harness_free(h);
}

/* ... except while their layer was switched off. */
static void test_layer_that_was_off(void **state)
{
	struct harness *h = harness_new(30, NULL);
	struct grid *g;

	for (uint64_t i = 30; i < 36; i++) {
		const uint32_t others = 1u << LAYER_FUNCTION | 1u << LAYER_BLOCK;

		synth_feed(h->model,
			   (struct record){
			       .type = REC_TICK,
			       .tick = {.slice = i,
					.start_ns = i * SYNTH_SECOND,
					.end_ns = (i + 1) * SYNTH_SECOND,
					.layers = i < 34 ? others : others | 1u << LAYER_SYSCALL}});
	}
	screen_tick(h->screen, 36 * SYNTH_SECOND);
	harness_run(h, "key /\ntype openat\nkey Enter Enter } {\nexpect 1 s per column");
	g = drawn(h, 80, 24);
	for (int y = 4; y < 12; y++) {
		assert_string_not_equal(grid_at(g, 8 + 29, y)->text, "╱");
		assert_string_equal(grid_at(g, 8 + 30, y)->text, "╱");
		assert_string_equal(grid_at(g, 8 + 33, y)->text, "╱");
		assert_string_not_equal(grid_at(g, 8 + 34, y)->text, "╱");
		assert_string_not_equal(grid_at(g, 8 + 35, y)->text, "╱");
	}
	grid_free(g);
	harness_free(h);
}

/* Arrow keys that have no other meaning enter the map without `m`; the wheel never does. */
static void test_arrows_enter_the_map(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter 2\nexpect <2\nkey Up\nexpect <1\n"
		       "reject at 0:39-0:40\nwheel up\nreject at 0:39-0:40\nkey Left\n"
		       "reject at 0:39-0:40\nkey Up\nexpect at 0:39-0:40, \nkey Left\n"
		       "expect at 0:38-0:39\nkey Esc\nexpect per column\nexpect <1\n"
		       "key Down\nexpect >  1\nkey Down\nexpect <2\nreject at 0:38-0:39");
	/* no room for the map */
	harness_run(h, "size 80 3\nkey 1 Up\nreject no room\nsize 80 24\nexpect per column");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

/* An operation with a few calls has no peak yet: each arrow key enters the map. */
static void test_each_arrow_enters_the_map_without_peaks(void **state)
{
	static const char *const keys[] = {"Up", "Down", "Left", "Right"};
	struct harness *h = harness_new(10, NULL);
	char script[64];

	synth_feed(h->model, (struct record){.type = REC_OP,
					     .op = {.op = 20,
						    .layer = LAYER_FUNCTION,
						    .name = "rare@redis-server",
						    .label = "rare",
						    .requested = "rare",
						    .module = "redis-server"}});
	harness_run(h, "tick\nkey /\ntype rare\nkey Enter Enter\nexpect per column");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(script, sizeof(script),
			 "key %s\nexpect at 0:\nkey Esc\nreject at 0:", keys[i]);
		harness_run(h, script);
	}
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fills_early_and_joins),
	    cmocka_unit_test(test_cursor),
	    cmocka_unit_test(test_window_follows_the_cursor),
	    cmocka_unit_test(test_enter_chooses_the_peak_under_the_cursor),
	    cmocka_unit_test(test_arrows_enter_the_map),
	    cmocka_unit_test(test_each_arrow_enters_the_map_without_peaks),
	    cmocka_unit_test(test_zoom_in_latency),
	    cmocka_unit_test(test_time_that_was_not_watched),
	    cmocka_unit_test(test_layers_have_no_gaps),
	    cmocka_unit_test(test_layer_that_was_off),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
