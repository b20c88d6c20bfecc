// SPDX-License-Identifier: GPL-2.0-or-later
/* Time travel, bookmarks and comparisons on the screen. */
#include <locale.h>

#include "tests/unit/screen_harness.h"
#include "tui/screen/theme.h"

static struct grid *drawn(const struct harness *h, int cols, int rows, bool ascii)
{
	struct grid *g = grid_new(cols, rows, ascii);

	screen_draw(h->screen, g);
	return g;
}

/* Row `y` as text. */
static const char *row_of(const struct grid *g, int y)
{
	static char text[1024];
	size_t n = 0;

	for (int x = 0; x < g->cols; x++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", grid_at(g, x, y)->text);
	return text;
}

/* Cells of the time axis with this text. */
static int nr_on_axis(const struct grid *g, const char *text)
{
	int n = 0, y = 0;

	while (y < g->rows - 1 && !strstr(row_of(g, y), "        0:00"))
		y++;
	for (int x = 0; x < g->cols; x++)
		n += !strcmp(grid_at(g, x, y)->text, text);
	return n;
}

static void bookmark(struct harness *h, uint64_t start_s, uint64_t end_s, const char *note)
{
	synth_feed(h->model, (struct record){.type = REC_BOOKMARK,
					     .mark = {.at_ns = start_s * SYNTH_SECOND,
						      .end_ns = end_s * SYNTH_SECOND,
						      .label = note}});
}

/* [ and ] show a second, ( and ) change how much is shown, 0 goes back. */
static void test_list_of_a_second(void **state)
{
	struct harness *h = harness_new(40, NULL);
	struct grid *g;

	harness_run(h, "expect whole run\nreject PAST\nkey ]\nexpect this is the present\n"
		       "key [\nexpect PAST 0:39-0:40, 22:13:59 UTC\nexpect LIVE\nexpect now 0\n"
		       "expect 0:39-0:40\nreject whole run\nreject 3: \n"
		       "key [ [\nexpect PAST 0:37-0:38\nkey ]\nexpect PAST 0:38-0:39\n"
		       "key )\nexpect PAST 0:37-0:39\nkey )\nexpect PAST 0:35-0:39\n"
		       "key [\nexpect PAST 0:31-0:35\nkey (\nexpect PAST 0:33-0:35\nkey ( (\n"
		       "expect PAST 0:34-0:35\nexpect the shortest time\n"
		       "key ] ] ] ] ]\nexpect 0:39-0:40\nkey ]\nexpect newest time\n"
		       "key 0\nreject PAST\nexpect whole run\nexpect 3: ");
	assert_string_equal(harness_log(h), "");
	/* measuring goes on, and the past stays what it was */
	harness_run(h, "key [ [\nexpect PAST 0:38-0:39\ntick 10\nexpect PAST 0:38-0:39\n"
		       "expect LIVE   0:50\nkey 0\nkey [\nexpect PAST 0:49-0:50");
	g = drawn(h, 80, 24, false);
	for (int x = 0; x < g->cols; x++)
		if (!strcmp(grid_at(g, x, 0)->text, "P"))
			assert_int_equal(grid_at(g, x, 0)->role, ROLE_PAUSED);
	assert_non_null(strstr(row_of(g, 0), "redis-server 1234   PAST 0:49-0:50"));
	assert_non_null(strstr(row_of(g, 0), "LIVE   0:50"));
	grid_free(g);
	harness_free(h);
}

/* At the beginning there is nothing earlier; without a slice there is no past. */
static void test_beginning(void **state)
{
	struct harness *h = harness_new(0, NULL);

	harness_run(h,
		    "key [\nexpect beginning of the session\nkey )\nexpect beginning\nreject PAST\n"
		    "tick 3\nkey [ [ [\nexpect PAST 0:00-0:01\nkey [\nexpect beginning\n"
		    "key ) ) )\nexpect PAST 0:00-0:01");
	harness_free(h);
}

/* The peaks of one second keep the numbers that they have in the whole run. */
static void test_peaks_of_a_second(void **state)
{
	struct harness *h = harness_new(40, NULL);
	struct grid *g;

	/* the calls of 24 ms are in each fifth second: the last one, but not in the one before */
	harness_run(h, "key /\ntype read\nkey Enter Enter 4\nexpect >  4\n"
		       "key [\nexpect PAST 0:39-0:40\nexpect >  4\n"
		       "size 160 40\nexpect calls of this span (log)\nsize 80 24\n"
		       "key [\nexpect PAST 0:38-0:39\nreject  4 - \nreject disappeared\n"
		       "key ]\nexpect >  4\n");
	harness_run(h, "size 80 24");
	g = drawn(h, 80, 24, false);
	/* the bar below the map: one second of 40, in columns of a second */
	assert_int_equal(nr_on_axis(g, "█"), 1);
	grid_free(g);
	harness_run(h, "key )\nexpect PAST 0:38-0:40");
	g = drawn(h, 80, 24, true);
	assert_int_equal(nr_on_axis(g, "#"), 2);
	grid_free(g);
	/* a cause is found in calls that come now */
	harness_run(h, "reject find the cause\nkey Enter\nexpect 0 goes back to now");
	assert_string_equal(harness_log(h), "");
	harness_run(h, "key 0\nreject PAST\nexpect find the cause\nkey Enter");
	assert_string_equal(harness_log(h), "descend op 2 peak 4\n");
	harness_free(h);
}

/* The cursor of the heat map chooses where the span begins and where it ends. */
static void test_span_by_the_cursor(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter m Left Left Left\nexpect at 0:36-0:37\n"
		       "key [\nexpect PAST 0:36-0:37\nkey Right Right ]\nexpect PAST 0:36-0:39\n"
		       "key Home [\nexpect PAST 0:00-0:39\nkey Right ]\nexpect PAST 0:00-0:02\n"
		       "key Right Right [\nexpect PAST 0:03-0:04\n"
		       "key 0\nreject PAST\nexpect at 0:03-0:04\nkey }\nkey 0\nexpect at 0:03");
	harness_free(h);
}

/* The window of a map with short columns goes to the span. */
static void test_window_follows_the_span(void **state)
{
	struct harness *h = harness_new(200, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter { {\nexpect 1 s per column\nexpect 3:10\n"
		       "key m Home [ m\nexpect PAST 0:00-0:01\nexpect 0:10\nreject 3:10\nkey 0\n"
		       "expect 3:10");
	harness_free(h);
}

/* What does not show the past says so, and so does the status line above it. */
static void test_views_of_the_present(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(
	    h, "key [\nexpect PAST\nkey i\nreject PAST\nexpect LIVE\nkey [\n"
	       "expect shows the present\nkey q\nexpect PAST 0:39-0:40\n"
	       "key s\nexpect when you go back\nkey Space\nexpect PAST\nkey [\nexpect PAST 0:38");
	harness_free(h);
}

static void test_events_of_a_span(void **state)
{
	struct harness *h = harness_new(40, NULL);

	synth_feed(h->model,
		   (struct record){.type = REC_MARK,
				   .mark = {.at_ns = 20500000000, .label = "half of it"}});
	harness_run(h, "key v\nexpect half of it\nexpect peak at 32.1 ms\n"
		       "key [\nreject half of it\nexpect nothing happened in this time\n"
		       "key ) ) ) ) ) )\nexpect half of it\nkey 0\nexpect peak at 32.1 ms");
	harness_free(h);
}

static void test_bookmarks(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(h, "key '\nexpect no bookmark\nkey B\nexpect note of the bookmark\n"
		       "type load doubled\nkey Enter");
	assert_string_equal(harness_log(h), "bookmark 'load doubled' 39000000000 40000000000\n");
	harness_run(h, "key [ [ [ )\nexpect PAST 0:36-0:38\nkey B\ntype slow\nkey Enter");
	assert_string_equal(harness_log(h), "bookmark 'slow' 36000000000 38000000000\n");
	/* without a note there is none */
	harness_run(h, "key B Enter\nkey B Esc\nkey 0");
	assert_string_equal(harness_log(h), "");
	bookmark(h, 0, 1, "the start");
	bookmark(h, 36, 38, "\x1b[31mslow\n");
	harness_run(h, "key '\nexpect PAST 0:36-0:38\nexpect slow\nkey '\nexpect PAST 0:00-0:01\n"
		       "expect bookmark: the start\nkey '\nexpect PAST 0:36-0:38\nkey 0\n"
		       "key v\nexpect the start\nexpect 0:36\nkey j Enter\nexpect PAST 0:00-0:01\n"
		       "expect the start\nreject slow");
	harness_free(h);
}

/* In a saved session a bookmark is shown, but none can be set. */
static void test_bookmarks_of_a_replay(void **state)
{
	struct harness *h =
	    harness_new(40, &(struct screen_options){.root = SCREEN_OPERATIONS, .replay = true});

	bookmark(h, 10, 12, "here");
	harness_run(h, "key B\nexpect kept in its session\nkey '\nexpect PAST 0:10-0:12\n"
		       "expect REPLAY\nkey t\nreject PAST");
	assert_string_equal(harness_log(h), "step 1\n");
	harness_free(h);
}

/* Findings first, the changed operations on top; below them both histograms of the selected one. */
static void test_compare_spans(void **state)
{
	struct harness *h = harness_new(40, NULL);
	struct grid *g;

	harness_run(
	    h, "key [ [\nkey D\nexpect compare with (m:ss-m:ss, or a saved session): 0:39-0:40\n"
	       "key Enter\nexpect before: 0:38-0:39, 22:13:58 UTC\n"
	       "expect after:  0:39-0:40, 22:13:59 UTC\nexpect operations changed\n"
	       "expect new peak at \nexpect before \nexpect after \nreject PAST");
	g = drawn(h, 80, 24, false);
	assert_non_null(strstr(row_of(g, 4), ">"));
	assert_non_null(strstr(row_of(g, 4), "changed"));
	assert_int_equal(g->cursor_y, 4);
	grid_free(g);
	harness_run(
	    h, "key /\ntype openat\nkey Enter\nexpect before openat: \nexpect after  openat: \n"
	       "key Enter\nexpect syscall:openat\nkey q q\nexpect PAST");
	/* the whole run with a part of it, the same of both, times that do not exist */
	harness_run(h, "key 0 D Ctrl-U\ntype 0:04-0:05\nkey Enter\nexpect before: 0:00-0:40\n"
		       "expect after:  0:04-0:05\nkey q D Ctrl-U\ntype 0:00-0:40\nkey Enter\n"
		       "expect no change was found in 9 operations\n"
		       "key q D Ctrl-U\ntype 0:05-0:04\nkey Enter\nexpect after:  0:04-0:05\n"
		       "key q D Ctrl-U\ntype 0:04-0:04\nkey Enter\nexpect after:  0:04-0:05\n"
		       "key q D Ctrl-U\ntype 1:00:00\nkey Enter\nexpect no such time");
	assert_string_equal(harness_log(h), "");
	harness_run(h, "key D Ctrl-U\ntype old.session\nkey Enter");
	assert_string_equal(harness_log(h), "compare 'old.session'\n");
	harness_free(h);
}

static void test_compare_sessions(void **state)
{
	struct harness *h = harness_new(40, NULL);
	struct model *other = synth_model(5);

	screen_compare_with(h->screen, other, "old\x1b.session");
	model_free(other);
	harness_run(h, "expect before: 0:00-0:40\nexpect 0:00-0:05 of old\nexpect after  ");
	harness_free(h);
}

/* The views of this file fit into any window, with ASCII alone where that is asked for. */
static void test_sizes(void **state)
{
	static const char *const keys[] = {"[", "[ Enter", "[ v", "[ [ D Enter"};
	static const int size[][2] = {{200, 50}, {80, 24}, {40, 12}, {20, 5}, {5, 2}, {1, 1}};

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
			struct harness *h = harness_new(
			    40, &(struct screen_options){.root = SCREEN_OPERATIONS, .ascii = true});
			struct grid *g;
			char script[128];

			snprintf(script, sizeof(script), "size %d %d\nkey %s\ndump", size[i][0],
				 size[i][1], keys[k]);
			harness_run(h, script);
			g = drawn(h, size[i][0], size[i][1], true);
			for (int y = 0; y < g->rows; y++)
				for (int x = 0; x < g->cols; x++)
					assert_true((unsigned char)grid_at(g, x, y)->text[0] < 128);
			if (size[i][0] >= 80 && k != 3)
				assert_non_null(strstr(row_of(g, 0), "PAST 0:39-0:40"));
			grid_free(g);
			harness_run(h, "view");
			harness_free(h);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_list_of_a_second),
	    cmocka_unit_test(test_beginning),
	    cmocka_unit_test(test_peaks_of_a_second),
	    cmocka_unit_test(test_span_by_the_cursor),
	    cmocka_unit_test(test_window_follows_the_span),
	    cmocka_unit_test(test_views_of_the_present),
	    cmocka_unit_test(test_events_of_a_span),
	    cmocka_unit_test(test_bookmarks),
	    cmocka_unit_test(test_bookmarks_of_a_replay),
	    cmocka_unit_test(test_compare_spans),
	    cmocka_unit_test(test_compare_sessions),
	    cmocka_unit_test(test_sizes),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
