// SPDX-License-Identifier: GPL-2.0-or-later
/* What is written to the terminal: colours, characters, and how many bytes. */
#include "tests/unit/pty_terminal.h"
#include "tests/unit/synthetic.h"
#include "tui/views/views.h"

/* Shows a line that changes in its last character; R repaints it. */
static void count_keys(void)
{
	unsigned int signals, n = 1;
	char text[64];
	int key;

	open_or_die(false);
	for (;;) {
		snprintf(text, sizeof(text), "a line of text that stays, and a digit: %u", n++);
		show(text);
		do
			key = wait_key(&signals);
		while (key == TERM_NOTHING);
		if (key == 'q') {
			term_close();
			_exit(0);
		}
		if (key == 'R')
			term_repaint();
	}
}

static void show_roles(void)
{
	unsigned int role, signals;
	struct grid *g;

	open_or_die(false);
	g = grid_new(80, 24, term_ascii());
	for (role = 0; role < ROLE_MAX; role++)
		grid_put(g, (int)role, 1, 1, role, "x");
	grid_put(g, 0, 2, 80, ROLE_TEXT, "█é世.");
	grid_cursor(g, 3, 5);
	if (term_put(g) < 0)
		_exit(3);
	while (wait_key(&signals) != 'q')
		;
	term_close();
	_exit(0);
}

static void show_ascii(void)
{
	struct grid *g;

	setlocale(LC_ALL, "C");
	unsetenv("LC_ALL");
	open_or_die(true);
	g = grid_new(80, 24, term_ascii());
	/* the levels of the heat map are characters, too, where they have colours */
	for (unsigned int level = 1; level <= HEAT_LEVELS; level++)
		grid_put(g, (int)level, 1, 1, ROLE_HEAT_1 + level - 1, level == 8 ? "%" : "&");
	grid_put(g, 0, 2, 80, ROLE_TEXT, "plain █.");
	if (term_put(g) < 0)
		_exit(3);
	term_close();
	_exit(term_ascii() ? 0 : 4);
}

static void test_only_changes_are_sent(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", count_keys);
	wait_for(&p, "digit: 1");
	forget(&p);
	send_text(&p, "b");
	wait_for(&p, "2");
	assert_true(p.n < 40);
	assert_false(saw(&p, "line"));
	forget(&p);
	send_text(&p, "R"); /* repaint: all of it again */
	wait_for(&p, "digit: 3");
	quit(&p);
}

/* Whether some `ESC [ ... m` chose a colour (30-38, 40-48, 90-107). */
static bool chose_colour(const struct pty *p)
{
	const char *at = p->seen, *end;
	long n;

	while ((at = strstr(at, "\x1b["))) {
		at += 2;
		end = at + strspn(at, "0123456789;");
		for (; *end == 'm' && at < end; at += strspn(at, ";")) {
			char *after;

			n = strtol(at, &after, 10);
			if (after == at)
				break;
			at = after;
			if ((n >= 30 && n <= 38) || (n >= 40 && n <= 48) || (n >= 90 && n <= 107))
				return true;
		}
	}
	return false;
}

static void test_colours(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", show_roles);
	wait_for(&p, "█é世.");
	assert_true(saw(&p, "48;5;226m"));
	assert_true(saw(&p, "48;5;53m"));
	assert_true(chose_colour(&p));
	quit(&p);
	start(&p, "xterm", show_roles); /* 8 colours */
	wait_for(&p, "█é世.");
	assert_false(saw(&p, "48;5;"));
	assert_true(chose_colour(&p));
	quit(&p);
}

static void no_color(struct pty *p, const char *type)
{
	start(p, type, show_roles);
	wait_for(p, "█é世.");
	assert_false(chose_colour(p));
	quit(p);
}

static void test_no_color(void **state)
{
	struct pty p;

	no_color(&p, "vt100");
	setenv("NO_COLOR", "1", 1);
	no_color(&p, "xterm-256color");
	unsetenv("NO_COLOR");
}

static void test_ascii(void **state)
{
	struct pty p;

	start(&p, "xterm-256color", show_ascii);
	wait_for(&p, "plain ?.");
	assert_true(saw(&p, "48;5;226m"));
	assert_true(saw(&p, "&"));
	assert_true(saw(&p, "%"));
	assert_int_equal(finish(&p), 0);
	end(&p);
}

/* UI: at most 1 KB a tick on average for the heatmap at 200x50. */
static void play_heatmap(void)
{
	struct model *m = synth_model(3);
	struct screen *s =
	    screen_new(m, &(struct screen_options){.root = SCREEN_OPERATIONS}, &all_views);
	struct grid *g = grid_new(200, 50, false);
	const char *keys;
	unsigned int i, signals;

	open_or_die(false);
	screen_resize(s, 200, 50);
	for (keys = "/read\r\r"; *keys; keys++)
		screen_key(s, *keys);
	for (i = 3; i < 203; i++) {
		screen_draw(s, g);
		term_put(g);
		synth_slice(m, i);
		screen_tick(s, i * SYNTH_SECOND);
	}
	screen_message(s, NOTE_INFO, "all of it was drawn.");
	screen_draw(s, g);
	term_put(g);
	while (wait_key(&signals) != 'q')
		;
	term_close();
	_exit(0);
}

static void test_byte_budget(void **state)
{
	static struct pty p;

	start(&p, "xterm-256color", play_heatmap);
	set_size(&p, 200, 50);
	wait_for(&p, "all of it was drawn.");
	print_message("%zu bytes in 200 ticks\n", p.n);
	assert_true(p.n < 200 * 1024);
	assert_true(p.n > 200 * 50); /* it was drawn at all */
	quit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_only_changes_are_sent),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_no_color),
	    cmocka_unit_test(test_ascii),
	    cmocka_unit_test(test_byte_budget),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
