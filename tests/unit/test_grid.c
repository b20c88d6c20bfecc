// SPDX-License-Identifier: GPL-2.0-or-later
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/grids.h"
#include "tui/screen/grid.h"
#include "tui/screen/list.h"
#include "tui/screen/theme.h"

static void assert_rows(const struct grid *g, const char *expected)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(grid_text(g, &b), 0);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

static void test_new_is_blank(void **state)
{
	struct grid *g = grid_new(3, 2, false);

	assert_rows(g, "\n\n");
	assert_int_equal(g->cursor_x, -1);
	assert_int_equal(grid_at(g, 2, 1)->width, 1);
	assert_null(grid_at(g, 3, 0));
	assert_null(grid_at(g, 0, 2));
	assert_null(grid_at(g, -1, 0));
	grid_free(g);
}

static void test_size_is_clamped(void **state)
{
	struct grid *g = grid_new(0, -5, false);

	assert_int_equal(g->cols, 1);
	assert_int_equal(g->rows, 1);
	assert_int_equal(grid_resize(g, 1 << 20, 1), 0);
	assert_int_equal(g->cols, GRID_MAX_COLS);
	grid_free(g);
}

static void test_put_clips(void **state)
{
	struct grid *g = grid_new(5, 2, false);

	assert_int_equal(grid_put(g, 3, 0, 10, ROLE_TEXT, "abcdef"), 6);
	assert_int_equal(grid_put(g, -2, 1, 10, ROLE_TEXT, "abcd"), 4);
	grid_put(g, 0, -1, 5, ROLE_TEXT, "no");
	grid_put(g, 0, 2, 5, ROLE_TEXT, "no");
	assert_rows(g, "   ab\ncd\n");
	assert_int_equal(grid_put(g, 0, 1, 2, ROLE_TEXT, "xyz"), 2);
	assert_rows(g, "   ab\nxy\n");
	assert_int_equal(grid_put(g, 0, 1, 0, ROLE_TEXT, "q"), 0);
	grid_free(g);
}

static void test_roles_stay_with_text(void **state)
{
	struct grid *g = grid_new(4, 1, false);

	grid_put(g, 0, 0, 2, ROLE_ALERT, "ab");
	assert_int_equal(grid_at(g, 1, 0)->role, ROLE_ALERT);
	assert_int_equal(grid_at(g, 2, 0)->role, ROLE_TEXT);
	grid_role(g, (struct rect){1, 0, 10, 1}, ROLE_MATCH);
	assert_int_equal(grid_at(g, 0, 0)->role, ROLE_ALERT);
	assert_int_equal(grid_at(g, 3, 0)->role, ROLE_MATCH);
	assert_rows(g, "ab\n");
	grid_free(g);
}

static void test_wide_characters(void **state)
{
	struct grid *g = grid_new(6, 1, false);

	assert_int_equal(grid_put(g, 0, 0, 6, ROLE_TEXT, "a世界"), 5);
	assert_int_equal(grid_at(g, 1, 0)->width, 2);
	assert_int_equal(grid_at(g, 2, 0)->width, 0);
	assert_rows(g, "a世界\n");
	/* half of one is overwritten: the other half becomes a blank */
	grid_put(g, 2, 0, 1, ROLE_TEXT, "x");
	assert_rows(g, "a x界\n");
	grid_put(g, 3, 0, 1, ROLE_TEXT, "y");
	assert_rows(g, "a xy\n");
	grid_free(g);
}

static void test_wide_at_the_edge(void **state)
{
	struct grid *g = grid_new(3, 1, false);

	/* one column is left: it is not taken, or stays blank */
	assert_int_equal(grid_put(g, 2, 0, 1, ROLE_TEXT, "世"), 0);
	assert_int_equal(grid_put(g, 2, 0, 2, ROLE_TEXT, "世"), 2);
	assert_rows(g, "\n");
	assert_int_equal(grid_at(g, 2, 0)->width, 1);
	grid_free(g);
}

static void test_combining_marks(void **state)
{
	struct grid *g = grid_new(4, 1, false);

	assert_int_equal(grid_put(g, 0, 0, 4, ROLE_TEXT, "e\xcc\x81x"), 2);
	assert_string_equal(grid_at(g, 0, 0)->text, "e\xcc\x81");
	assert_string_equal(grid_at(g, 1, 0)->text, "x");
	/* one that has nothing to stand on is left out */
	grid_put(g, 0, 0, 4, ROLE_TEXT, "\xcc\x81y");
	assert_string_equal(grid_at(g, 0, 0)->text, "y");
	grid_free(g);
}

static void test_many_combining_marks_stay_in_the_cell(void **state)
{
	char text[256] = "e";
	struct grid *g = grid_new(4, 1, false);
	int i;

	for (i = 0; i < 60; i++)
		memcpy(text + 1 + 2 * i, "\xcc\x81", 3);
	assert_int_equal(grid_put(g, 0, 0, 4, ROLE_TEXT, text), 1);
	assert_true(strlen(grid_at(g, 0, 0)->text) < GRID_CELL_BYTES);
	assert_string_equal(grid_at(g, 1, 0)->text, " ");
	grid_free(g);
}

static void test_ascii_mode(void **state)
{
	struct grid *g = grid_new(8, 1, true);

	assert_int_equal(grid_put(g, 0, 0, 8, ROLE_TEXT, "aé世e\xcc\x81!"), 6);
	assert_rows(g, "a???e!\n");
	assert_int_equal(grid_put_cut(g, 0, 0, 4, ROLE_TEXT, "abcdef"), 4);
	assert_string_equal(grid_at(g, 3, 0)->text, "~");
	grid_free(g);
}

static void test_controls_and_bad_bytes(void **state)
{
	struct grid *g = grid_new(8, 1, false);

	grid_put(g, 0, 0, 8, ROLE_TEXT, "a\x1b[\x7f\xff\xc3z");
	assert_rows(g, "a?[???z\n");
	grid_free(g);
}

static void test_cut(void **state)
{
	struct grid *g = grid_new(10, 1, false);

	assert_int_equal(grid_put_cut(g, 0, 0, 6, ROLE_TEXT, "abcdef"), 6);
	assert_rows(g, "abcdef\n");
	assert_int_equal(grid_put_cut(g, 0, 0, 5, ROLE_TEXT, "abcdef"), 5);
	assert_rows(g, "abcd…f\n");
	grid_clear(g);
	assert_int_equal(grid_put_cut(g, 0, 0, 4, ROLE_TEXT, "世界人"), 3);
	assert_rows(g, "世…\n");
	assert_int_equal(grid_put_cut(g, 0, 0, 0, ROLE_TEXT, "abc"), 0);
	assert_int_equal(grid_put_cut(g, 0, 0, -3, ROLE_TEXT, "abc"), 0);
	grid_free(g);
}

static void test_right(void **state)
{
	struct grid *g = grid_new(6, 2, false);

	grid_put_right(g, 0, 0, 6, ROLE_TEXT, "abc");
	grid_put_right(g, 1, 1, 3, ROLE_TEXT, "abcdef");
	assert_rows(g, "   abc\n abc\n");
	grid_free(g);
}

static void test_fill_and_cursor(void **state)
{
	struct grid *g = grid_new(4, 3, false);

	grid_fill(g, (struct rect){1, 1, 9, 9}, ROLE_BAR, "#");
	assert_rows(g, "\n ###\n ###\n");
	grid_cursor(g, 100, -4);
	assert_int_equal(g->cursor_x, 3);
	assert_int_equal(g->cursor_y, 0);
	grid_free(g);
}

static void test_equal(void **state)
{
	struct grid *a = grid_new(4, 3, false), *b = grid_new(4, 3, false);

	grid_put(a, 0, 0, 4, ROLE_TEXT, "abcd");
	assert_false(grid_equal(a, b));
	grid_put(b, 0, 0, 4, ROLE_TEXT, "longer");
	grid_put(b, 0, 0, 4, ROLE_TEXT, "abcd");
	assert_true(grid_equal(a, b));
	grid_role(b, (struct rect){0, 0, 1, 1}, ROLE_DIM);
	assert_false(grid_equal(a, b));
	grid_free(a);
	grid_free(b);
}

/* --- themes ------------------------------------------------------------------------------ */

static bool same_snapshot(enum theme theme, unsigned int a, unsigned int b, bool ascii)
{
	struct style x = theme_style(theme, ROLE_HEAT_1 + a - 1),
		     y = theme_style(theme, ROLE_HEAT_1 + b - 1);

	return x.fg == y.fg && x.bg == y.bg && x.bold == y.bold && x.reverse == y.reverse &&
	       (x.blank || !strcmp(theme_shade(a, ascii), theme_shade(b, ascii)));
}

static void test_heat_levels_differ_in_every_theme(void **state)
{
	unsigned int theme, level;

	for (theme = THEME_256; theme <= THEME_MONO; theme++)
		for (level = 1; level < HEAT_LEVELS; level++)
			assert_false(same_snapshot(theme, level, level + 1, false));
	assert_string_equal(theme_shade(0, false), " ");
	assert_string_equal(theme_spark(0, true), " ");
}

static void test_ramp_is_the_specified_one(void **state)
{
	static const short ramp[] = {53, 61, 67, 73, 79, 121, 191, 226};
	unsigned int i;

	for (i = 0; i < HEAT_LEVELS; i++) {
		struct style s = theme_style(THEME_256, ROLE_HEAT_1 + i);

		assert_int_equal(s.bg, ramp[i]);
		assert_true(s.blank);
	}
}

static void test_mono_has_no_colour(void **state)
{
	unsigned int role;

	for (role = 0; role < ROLE_MAX; role++) {
		struct style s = theme_style(THEME_MONO, role);

		assert_int_equal(s.fg, -1);
		assert_int_equal(s.bg, -1);
	}
	assert_int_equal(theme_for(WISH_AUTO, 256, true), THEME_MONO);
	assert_int_equal(theme_for(WISH_AUTO, 256, false), THEME_256);
	assert_int_equal(theme_for(WISH_AUTO, 16, false), THEME_16);
	assert_int_equal(theme_for(WISH_AUTO, 8, false), THEME_8);
	assert_int_equal(theme_for(WISH_AUTO, 88, false), THEME_16);
	assert_int_equal(theme_for(WISH_AUTO, 1 << 24, false), THEME_256);
	/* a wish takes colours away, and never adds any */
	assert_int_equal(theme_for(WISH_MONO, 256, false), THEME_MONO);
	assert_int_equal(theme_for(WISH_8, 256, false), THEME_8);
	assert_int_equal(theme_for(WISH_16, 256, false), THEME_16);
	assert_int_equal(theme_for(WISH_16, 8, false), THEME_8);
	assert_int_equal(theme_for(WISH_256, 8, false), THEME_8);
	assert_int_equal(theme_for(WISH_TRUE, 256, false), THEME_256);
	assert_int_equal(theme_for(WISH_BLIND, 256, false), THEME_BLIND);
	assert_int_equal(theme_for(WISH_BLIND, 16, false), THEME_BLIND_8);
	assert_int_equal(theme_for(WISH_BLIND, 16, true), THEME_MONO);
	assert_int_equal(theme_for(WISH_AUTO, 0, false), THEME_MONO);
}

static void test_themes_keep_to_their_colours(void **state)
{
	static const struct {
		enum theme theme;
		int colors;
	} themes[] = {
	    {THEME_8, 8}, {THEME_BLIND_8, 8}, {THEME_16, 16}, {THEME_256, 256}, {THEME_BLIND, 256}};
	unsigned int role;

	for (size_t i = 0; i < sizeof(themes) / sizeof(themes[0]); i++) {
		for (role = 0; role < ROLE_MAX; role++) {
			struct style s = theme_style(themes[i].theme, role);

			assert_in_range(s.fg + 1, 0, themes[i].colors);
			assert_in_range(s.bg + 1, 0, themes[i].colors);
		}
	}
}

/* Lightness as the eye sees it (Rec. 709), 0..255. */
static double lightness(int rgb)
{
	return 0.2126 * (rgb >> 16 & 255) + 0.7152 * (rgb >> 8 & 255) + 0.0722 * (rgb & 255);
}

/* Who distinguishes no hues at all still reads the heat map for the colour-blind. */
static void test_blind_ramp_rises_in_lightness(void **state)
{
	for (unsigned int i = 0; i + 1 < HEAT_LEVELS; i++)
		assert_true(lightness(theme_rgb(theme_style(THEME_BLIND, ROLE_HEAT_1 + i).bg)) +
				10 <
			    lightness(theme_rgb(theme_style(THEME_BLIND, ROLE_HEAT_1 + i + 1).bg)));
}

static void test_rgb_of_the_palette(void **state)
{
	assert_int_equal(theme_rgb(-1), -1);
	assert_int_equal(theme_rgb(256), -1);
	assert_int_equal(theme_rgb(0), 0);
	assert_int_equal(theme_rgb(16), 0);
	assert_int_equal(theme_rgb(231), 0xffffff);
	assert_int_equal(theme_rgb(226), 0xffff00);
	assert_int_equal(theme_rgb(67), 0x5f87af);
	assert_int_equal(theme_rgb(244), 0x808080);
}

static void test_ascii_glyphs_are_ascii(void **state)
{
	unsigned int i;

	for (i = 0; i < GLYPH_MAX; i++) {
		assert_int_equal(strlen(theme_glyph(i, true)), 1);
		assert_in_range((unsigned char)theme_glyph(i, true)[0], ' ', '~');
	}
	for (i = 0; i <= HEAT_LEVELS; i++) {
		assert_int_equal(strlen(theme_shade(i, true)), 1);
		assert_int_equal(strlen(theme_spark(i, true)), 1);
	}
}

/* --- lists --------------------------------------------------------------------------------- */

static void test_list_moves_and_stays_inside(void **state)
{
	struct list l = {.n = 5};

	assert_true(list_request(&l, REQUEST_UP, 3));
	assert_int_equal(l.selected, 0);
	list_request(&l, REQUEST_LAST, 3);
	assert_int_equal(l.selected, 4);
	list_request(&l, REQUEST_DOWN, 3);
	assert_int_equal(l.selected, 4);
	assert_int_equal(list_top(&l, 3), 2);
	list_request(&l, REQUEST_PAGE_UP, 3);
	assert_int_equal(l.selected, 1);
	list_request(&l, REQUEST_HALF_DOWN, 3);
	assert_int_equal(l.selected, 3);
	assert_false(list_request(&l, REQUEST_OPEN, 3));
	list_resize(&l, 2);
	assert_int_equal(l.selected, 1);
	list_resize(&l, 0);
	assert_int_equal(l.selected, 0);
	assert_true(list_request(&l, REQUEST_LAST, 3));
	assert_int_equal(l.selected, 0);
	assert_int_equal(list_top(&l, 0), 0);
}

static void test_list_scrolls_only_as_far_as_needed(void **state)
{
	struct list l = {.n = 100};
	int i;

	for (i = 0; i < 12; i++)
		list_request(&l, REQUEST_DOWN, 10);
	assert_int_equal(list_top(&l, 10), 3);
	for (i = 0; i < 5; i++)
		list_request(&l, REQUEST_UP, 10);
	assert_int_equal(list_top(&l, 10), 3); /* the window stays while the row is in it */
	assert_int_equal(list_top(&l, 2), 6);  /* a smaller one still shows the row */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_new_is_blank),
	    cmocka_unit_test(test_size_is_clamped),
	    cmocka_unit_test(test_put_clips),
	    cmocka_unit_test(test_roles_stay_with_text),
	    cmocka_unit_test(test_wide_characters),
	    cmocka_unit_test(test_wide_at_the_edge),
	    cmocka_unit_test(test_combining_marks),
	    cmocka_unit_test(test_many_combining_marks_stay_in_the_cell),
	    cmocka_unit_test(test_ascii_mode),
	    cmocka_unit_test(test_controls_and_bad_bytes),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_right),
	    cmocka_unit_test(test_fill_and_cursor),
	    cmocka_unit_test(test_equal),
	    cmocka_unit_test(test_heat_levels_differ_in_every_theme),
	    cmocka_unit_test(test_ramp_is_the_specified_one),
	    cmocka_unit_test(test_mono_has_no_colour),
	    cmocka_unit_test(test_themes_keep_to_their_colours),
	    cmocka_unit_test(test_blind_ramp_rises_in_lightness),
	    cmocka_unit_test(test_rgb_of_the_palette),
	    cmocka_unit_test(test_ascii_glyphs_are_ascii),
	    cmocka_unit_test(test_list_moves_and_stays_inside),
	    cmocka_unit_test(test_list_scrolls_only_as_far_as_needed),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
