// SPDX-License-Identifier: GPL-2.0-or-later
/* What clicks and the wheel do, on the made-up session. Places are found by their text. */
#include <locale.h>

#include "tests/unit/screen_harness.h"
#include "tui/screen/keys.h"

/* Find a text on the screen as it is now. */
static void find_text(const struct harness *h, int cols, int rows, const char *text, int *x, int *y)
{
	struct grid *g = grid_new(cols, rows, screen_ascii(h->screen));
	char *line, *next, *at = NULL;
	struct buf b;

	assert_non_null(g);
	screen_draw(h->screen, g);
	buf_init(&b, 1 << 20);
	assert_int_equal(grid_text(g, &b), 0);
	*y = 0;
	for (line = b.data; line && !at; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		at = strstr(line, text);
		if (!at)
			++*y;
		else
			for (*x = 0; line < at; line++) /* columns, as no character is wide */
				*x += (*line & 0xc0) != 0x80;
	}
	if (!at)
		fail_msg("%s is not on the screen", text);
	buf_release(&b);
	grid_free(g);
}

static void mouse_at(struct harness *h, const char *command, int cols, int rows, const char *text)
{
	char script[64];
	int x, y;

	find_text(h, cols, rows, text, &x, &y);
	snprintf(script, sizeof(script), "%s %d %d", command, x, y);
	harness_run(h, script);
}

#define CLICK(h, text) mouse_at(h, "click", 80, 24, text)
#define DOUBLE_CLICK(h, text) mouse_at(h, "double-click", 80, 24, text)

static void test_click_selects_and_double_click_opens(void **state)
{
	struct harness *h = harness_new(20, NULL);

	CLICK(h, "futex");
	harness_run(h, "expect > futex\nreject > block");
	CLICK(h, "openat");
	harness_run(h, "expect > openat\nreject > futex\nexpect CALLS/S");
	DOUBLE_CLICK(h, "futex");
	harness_run(h, "expect futex\nreject CALLS/S\nexpect p50\nkey q\nexpect > futex");
	harness_free(h);
}

/* Two clicks at one place that are far apart in time, and two fast ones at two places. */
static void test_slow_clicks_are_two(void **state)
{
	struct harness *h = harness_new(20, NULL);
	char script[256];
	int x, y, other_x, other_y;

	find_text(h, 80, 24, "futex", &x, &y);
	find_text(h, 80, 24, "openat", &other_x, &other_y);
	snprintf(script, sizeof(script),
		 "click %d %d\nwait 600\nclick %d %d\nexpect > futex\nexpect CALLS/S\nwait 600\n"
		 "click %d %d\nclick %d %d\nexpect > futex\nexpect CALLS/S\nwait 100\n"
		 "click %d %d\nreject > futex\nexpect per column",
		 x, y, x, y, other_x, other_y, x, y, x, y);
	harness_run(h, script);
	harness_free(h);
}

/* The first click selects; what is under the pointer at the second one does not matter. */
static void test_double_click_opens_what_was_selected(void **state)
{
	struct harness *h = harness_new(20, NULL);
	char script[64];
	int x, y;

	find_text(h, 80, 24, "futex", &x, &y);
	snprintf(script, sizeof(script), "click %d %d\nkey R\nclick %d %d", x, y, x, y);
	harness_run(h, script);
	harness_run(h, "expect futex\nexpect latency\nkey q\nexpect > futex");
	harness_free(h);
}

static void test_click_on_a_heading_sorts(void **state)
{
	struct harness *h = harness_new(20, NULL);

	CLICK(h, "P99");
	harness_run(h, "expect ↓P99");
	CLICK(h, "P99");
	harness_run(h, "expect ↑P99");
	CLICK(h, "OPERATION");
	harness_run(h, "reject ↓P99\nexpect OPERATION");
	harness_free(h);
}

static void test_wheel_in_a_text(void **state)
{
	struct harness *h = harness_new(20, NULL);

	harness_run(h, "key ?\nexpect wall: total\nwheel down\nreject wall: total\nwheel up\n"
		       "expect wall: total");
	harness_free(h);
}

static void test_wheel_moves_three_rows(void **state)
{
	struct harness *a = harness_new(20, NULL), *b = harness_new(20, NULL);

	harness_run(a, "key g\nwheel down\ndump");
	harness_run(b, "key g j j j\ndump");
	assert_string_equal(harness_out(a), harness_out(b));
	harness_run(a, "wheel up\ndump");
	harness_run(b, "key k k k\ndump");
	assert_string_equal(harness_out(a), harness_out(b));
	harness_free(a);
	harness_free(b);
}

/* What stands on the bottom line is a button. */
static void test_click_on_a_hint(void **state)
{
	struct harness *h = harness_new(20, NULL);

	CLICK(h, "help ?");
	harness_run(h, "expect wall: total");
	CLICK(h, "close q");
	harness_run(h, "expect CALLS/S");
	CLICK(h, "filter /");
	harness_run(h, "type fut\nkey Enter\nexpect filter: fut\nkey Esc");
	harness_free(h);
}

static void test_layers_menu(void **state)
{
	struct harness *h = harness_new(20, NULL);

	harness_run(h, "key L\nexpect Layers measured");
	CLICK(h, "lock waits");
	assert_non_null(strstr(harness_log(h), "layers 29"));
	harness_run(h, "expect Layers measured\nclick 0 0\nreject Layers measured");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

static void test_candidates(void **state)
{
	static const struct function_candidate list[] = {{"first", "app", "first@app"},
							 {"second", "app", "second@app"}};
	struct harness *h = harness_new(20, NULL);

	harness_run(h, "key f\ntype s");
	screen_set_candidates(h->screen, "s", list, 2);
	CLICK(h, "second");
	harness_run(h, "expect > second");
	assert_string_equal(harness_log(h), "");
	DOUBLE_CLICK(h, "second");
	assert_non_null(strstr(harness_log(h), "watch 'second@app'"));
	harness_free(h);
}

static void test_peaks_of_an_operation(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter 1\nexpect >  1");
	mouse_at(h, "click", 80, 24, "3.16-42.5 us");
	harness_run(h, "expect >  2\nreject >  1");
	mouse_at(h, "double-click", 80, 24, "332 ns-3.16 us");
	assert_non_null(strstr(harness_log(h), "descend op 2 peak "));
	harness_free(h);
}

static void test_click_into_the_heat_map(void **state)
{
	struct harness *h = harness_new(40, NULL);
	int x, y;

	harness_run(h, "key /\ntype read\nkey Enter Enter 1\nexpect >  1");
	find_text(h, 80, 24, "10 ms", &x, &y);
	{
		char script[256];

		/* the first second, at the latency of the label */
		snprintf(script, sizeof(script),
			 "click %d %d\nexpect at 0:00-0:0\nkey Right Left\nexpect at 0:00-0:0\n"
			 "wait 900\ndouble-click %d %d\nexpect >  3",
			 x + 7, y, x + 7, y);
		harness_run(h, script);
	}
	harness_free(h);
}

static void test_the_picker_attaches_to_what_was_clicked(void **state)
{
	static const struct screen_options picker = {.root = SCREEN_PICKER, .host = "db1"};
	static const struct picker_process before[] = {
	    {1, "root", 9, 'S', 1, "systemd", "/sbin/init", true, false},
	    {7, "root", 5, 'S', 1, "other", "/usr/bin/other", true, false}};
	static const struct picker_process after[] = {
	    {1, "root", 1, 'S', 1, "systemd", "/sbin/init", true, false},
	    {7, "root", 5, 'S', 1, "other", "/usr/bin/other", true, false}};
	struct harness *h = harness_new(0, &picker);
	char script[64];
	int x, y;

	screen_set_processes(h->screen, before, 2);
	find_text(h, 80, 24, "systemd", &x, &y);
	snprintf(script, sizeof(script), "click %d %d", x, y);
	harness_run(h, script);
	screen_set_processes(h->screen, after, 2); /* the rows change places */
	harness_run(h, script);
	assert_string_equal(harness_log(h), "pick pid 1\n");
	harness_free(h);
}

/* Anywhere, at any size, with anything open: nothing breaks. */
static void test_clicks_everywhere(void **state)
{
	static const char *const states[] = {"",	"key Enter\n", "key v\n",
					     "key ?\n", "key i\n",     "key L\n",
					     "key f\n", "key /\n",     "key Space\n"};
	static const int sizes[][2] = {{80, 24}, {20, 5}, {1, 1}, {200, 50}};

	for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++) {
		for (size_t i = 0; i < 4; i++) {
			struct harness *h = harness_new(3, NULL);
			char script[128];

			snprintf(script, sizeof(script), "size %d %d\n%s", sizes[i][0], sizes[i][1],
				 states[k]);
			harness_run(h, script);
			for (int y = -1; y <= sizes[i][1]; y += 1 + sizes[i][1] / 20) {
				int x = (y * 7 + 3) % (sizes[i][0] + 1);

				/* a click on `quit` ends the script; the screen goes on */
				snprintf(script, sizeof(script), "click %d %d\nwheel down", x, y);
				harness_script(h, script);
			}
			harness_free(h);
		}
	}
}

static void test_bad_commands(void **state)
{
	struct harness *h = harness_new(1, NULL);

	assert_int_not_equal(harness_script(h, "click"), 0);
	assert_int_not_equal(harness_script(h, "click 1"), 0);
	assert_int_not_equal(harness_script(h, "click 1 2 3"), 0);
	assert_int_not_equal(harness_script(h, "wheel sideways"), 0);
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_click_selects_and_double_click_opens),
	    cmocka_unit_test(test_slow_clicks_are_two),
	    cmocka_unit_test(test_double_click_opens_what_was_selected),
	    cmocka_unit_test(test_click_on_a_heading_sorts),
	    cmocka_unit_test(test_wheel_in_a_text),
	    cmocka_unit_test(test_wheel_moves_three_rows),
	    cmocka_unit_test(test_click_on_a_hint),
	    cmocka_unit_test(test_layers_menu),
	    cmocka_unit_test(test_candidates),
	    cmocka_unit_test(test_peaks_of_an_operation),
	    cmocka_unit_test(test_click_into_the_heat_map),
	    cmocka_unit_test(test_the_picker_attaches_to_what_was_clicked),
	    cmocka_unit_test(test_clicks_everywhere),
	    cmocka_unit_test(test_bad_commands),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
