// SPDX-License-Identifier: GPL-2.0-or-later
/* Hostile names, every size, any keys; scripts, and what they make of the same records. */
#include <errno.h>
#include <locale.h>

#include "tests/unit/grids.h"
#include "tests/unit/screen_harness.h"
#include "tests/unit/screen_lists.h"
#include "tui/screen/keys.h"
#include "tui/screen/theme.h"

/* No cell holds anything that could drive a terminal. */
static void assert_safe(const struct grid *g)
{
	int x, y;

	for (y = 0; y < g->rows; y++) {
		for (x = 0; x < g->cols; x++) {
			const struct cell *c = grid_at(g, x, y);
			const unsigned char *p = (const unsigned char *)c->text;

			for (; *p; p++)
				assert_true(*p >= ' ' && *p != 0x7f);
			assert_true(c->role < ROLE_MAX);
			assert_true(!g->ascii || !(c->text[0] & 0x80));
		}
	}
	assert_true(g->cursor_x < g->cols && g->cursor_y < g->rows);
}

static void test_hostile_names(void **state)
{
	struct harness *h = harness_new(3, NULL);
	struct grid *g = grid_new(100, 30, false);
	static const char evil[] = "\x1b[2J\x9b"
				   "31m\n\t\xe2\x80\xae\xc2\x9b\xff evil";

	synth_feed(h->model, (struct record){.type = REC_OP,
					     .op = {.op = 100,
						    .layer = LAYER_FUNCTION,
						    .name = evil,
						    .label = evil,
						    .requested = evil,
						    .module = evil,
						    .placement = evil}});
	synth_feed(h->model, (struct record){
				 .type = REC_TARGET,
				 .target = {.pid = 5, .comm = evil, .exe = evil, .requested = 1}});
	synth_feed(h->model, (struct record){.type = REC_NOTE, .note = {.text = evil}});
	synth_feed(
	    h->model,
	    (struct record){.type = REC_OPEN,
			    .open = {.op = 100, .pid = 5, .tid = 5, .comm = evil, .age_ns = 5}});
	harness_run(h, "tick\nkey G");
	screen_set_candidates(h->screen, "", candidates, 3);
	screen_draw(h->screen, g);
	assert_safe(g);
	harness_run(h, "key Enter");
	screen_draw(h->screen, g);
	assert_safe(g);
	harness_run(h, "key i");
	screen_draw(h->screen, g);
	assert_safe(g);
	grid_free(g);
	harness_free(h);
}

static void test_every_size(void **state)
{
	static const char *const views[] = {"key g", "key Enter", "key G Enter", "key ?",
					    "key i", "key L",	  "key f"};
	unsigned int i;
	int cols, rows;

	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct harness *h = harness_new(30, NULL);
		struct grid *g = grid_new(1, 1, i % 2);

		harness_run(h, views[i]);
		for (rows = 1; rows < 60; rows += rows < 26 ? 1 : 9) {
			for (cols = 1; cols < 220; cols += cols < 84 ? 1 : 31) {
				screen_resize(h->screen, cols, rows);
				grid_resize(g, cols, rows);
				screen_draw(h->screen, g);
				assert_safe(g);
			}
		}
		grid_free(g);
		harness_free(h);
	}
}

/* Many keys in a made-up order, at changing sizes, time passing meanwhile. */
static void test_any_keys(void **state)
{
	static const int special[] = {27,
				      '\r',
				      '\t',
				      SCREEN_KEY_UP,
				      SCREEN_KEY_DOWN,
				      SCREEN_KEY_BACKSPACE,
				      SCREEN_KEY_PAGE_DOWN,
				      SCREEN_KEY_RESIZE,
				      0x4e16,
				      0x10ffff,
				      0xd800,
				      0,
				      -1};
	struct harness *h = harness_new(10, NULL);
	struct grid *g = grid_new(80, 24, false);
	struct screen_action action;
	struct buf text;
	unsigned int i;

	buf_init(&text, 64 << 20);
	for (i = 0; i < 12000; i++) {
		double x = synth_noise(i), y = synth_noise(i * 31 + 7);
		int key = x < 0.3    ? special[(int)(y * 13)]
			  : x < 0.35 ? (int)(y * 32)
				     : ' ' + (int)(y * 95);

		screen_key(h->screen, key);
		if (i % 97 == 0) {
			screen_set_candidates(h->screen, "", candidates, 3);
			screen_set_processes(h->screen, processes, 6);
			synth_slice(h->model, h->slices++);
			screen_tick(h->screen, i * 100000000ULL);
			grid_resize(g, 1 + (int)(y * 150), 1 + (int)(x * 60));
			screen_resize(h->screen, g->cols, g->rows);
			screen_draw(h->screen, g);
			assert_safe(g);
		}
		if (i % 997 == 0) {
			buf_reset(&text);
			assert_int_equal(screen_text(h->screen, &text), 0);
		}
		if (i % 50 == 0)
			while (screen_next_action(h->screen, &action))
				assert_non_null(action.text);
	}
	buf_release(&text);
	grid_free(g);
	harness_free(h);
}

static void test_full_queue_of_actions(void **state)
{
	struct harness *h = harness_new(3, NULL);
	struct screen_action action;
	int i, n = 0;

	for (i = 0; i < 1000; i++)
		screen_key(h->screen, KEY_CONTROL('L'));
	while (screen_next_action(h->screen, &action)) {
		assert_int_equal(action.type, SCREEN_REPAINT);
		n++;
	}
	assert_in_range(n, 1, 1000);
	assert_int_equal(action.type, SCREEN_NONE);
	assert_string_equal(action.text, "");
	harness_free(h);
}

static void test_drawing_changes_nothing(void **state)
{
	struct harness *h = harness_new(30, NULL);
	struct grid *a = grid_new(80, 24, false), *b = grid_new(80, 24, false),
		    *c = grid_new(11, 3, false);

	harness_run(h, "key Enter Tab");
	screen_draw(h->screen, a);
	screen_draw(h->screen, c);
	screen_draw(h->screen, b);
	assert_true(grid_equal(a, b));
	grid_free(a);
	grid_free(b);
	grid_free(c);
	harness_free(h);
}

/* --- scripts */

static void test_script_errors(void **state)
{
	struct harness *h = harness_new(3, NULL);

	assert_int_equal(harness_script(h, "# fine\n\nfly away"), -EINVAL);
	assert_string_equal(harness_out(h), "line 3: unknown command: fly\n");
	assert_int_equal(harness_script(h, "key nokey"), -EINVAL);
	assert_int_equal(harness_script(h, "size 0 3"), -EINVAL);
	assert_int_equal(harness_script(h, "size 80"), -EINVAL);
	assert_int_equal(harness_script(h, "tick x"), -EINVAL);
	assert_int_equal(harness_script(h, "until later"), -EINVAL);
	assert_int_equal(harness_script(h, "wait"), -EINVAL);
	assert_int_equal(harness_script(h, "type \xff"), -EINVAL);
	assert_int_equal(harness_script(h, "expect nothing like that"), 1);
	assert_true(!strncmp(harness_out(h), "line 1: the screen does not contain: nothing", 44));
	assert_non_null(strstr(harness_out(h), "epoll_wait"));
	assert_int_equal(harness_script(h, "reject epoll_wait"), 1);
	assert_int_equal(harness_script(h, "size 20 5\r\ndump\r\n"), 0);
	harness_free(h);
}

static void test_script_end_of_session(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "end\nexpect 8:23\ntick\nexpect 8:23\nuntil 99999\nexpect 8:23");
	harness_free(h);
}

static void test_same_records_same_screen(void **state)
{
	static const char script[] =
	    "tick 7\nkey j j Enter\ntick 40\ndump-roles\nkey Tab\ntick 60\ndump-roles\nkey q\ndump";
	struct harness *a = harness_new(0, NULL), *b = harness_new(0, NULL);

	harness_run(a, script);
	harness_run(b, script);
	assert_string_equal(harness_out(a), harness_out(b));
	harness_free(a);
	harness_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_hostile_names),
	    cmocka_unit_test(test_every_size),
	    cmocka_unit_test(test_any_keys),
	    cmocka_unit_test(test_full_queue_of_actions),
	    cmocka_unit_test(test_drawing_changes_nothing),
	    cmocka_unit_test(test_script_errors),
	    cmocka_unit_test(test_script_end_of_session),
	    cmocka_unit_test(test_same_records_same_screen),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
