// SPDX-License-Identifier: GPL-2.0-or-later
/* The view of a descent over the driver: from a session by scripts, and live with several peaks. */
#include <ctype.h>
#include <locale.h>

#include "tests/unit/descend_rig.h"
#include "tui/cli/script_session.h"
#include "tui/views/live_descent.h"
#include "tui/views/views.h"

/* --- its screens, from the session */

static void compare_golden(const char *name, const char *got)
{
	char path[256], *want = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(want);
	snprintf(path, sizeof(path), "tests/unit/golden/%s.txt", name);
	f = fopen(path, getenv("UPDATE_GOLDEN") ? "w" : "r");
	if (f && getenv("UPDATE_GOLDEN")) {
		fputs(got, f);
		snprintf(want, 1 << 20, "%s", got);
	} else if (f) {
		want[fread(want, 1, (1 << 20) - 1, f)] = '\0';
	}
	if (f)
		fclose(f);
	if (strcmp(want, got))
		fail_msg("golden %s differs; UPDATE_GOLDEN=1 writes it anew:\n%s", name, got);
	free(want);
}

/* What a script prints over the session that was written; it must succeed. */
static void script_golden(const char *name, const char *script)
{
	struct options o = {.resolution = 4, .question = options()};
	struct replay *replay = NULL;
	struct buf out;
	char why[256];
	int err;

	buf_init(&out, 1 << 20);
	assert_int_equal(replay_open(&replay, t.path, why, sizeof(why)), 0);
	err = script_session(replay, &o, script, strlen(script), &out);
	if (err)
		fail_msg("%s: script: %d\n%s", name, err, out.data ? out.data : "");
	if (name[0])
		compare_golden(name, out.data ? out.data : "");
	buf_release(&out);
	replay_free(replay);
}

#define OPENED "key Enter 2 Enter\n"

/* The descent is asked for, has begun, and ends, each in a slice of its own. */
static void write_session(void)
{
	begin_armed();
	give_calls(0x1020, 5);
	answer_names();
	give_profile(10);
	for (int i = 0; i < 20 && !driver_over(t.driver); i++) {
		give_calls(0x1020, 20);
		answer_no_call_sites();
	}
	assert_true(driver_over(t.driver));
	answer_names();
	give_profile(10);
	assert_int_equal(session_writer_close(t.session), 0);
	t.session = NULL;
}

static void screens_of_its_session(void **state)
{
	write_session();
	/* before it was asked for there is nothing to show */
	script_golden("", "until 1\n" OPENED "expect contains no descent");
	script_golden(
	    "", "until 2\n" OPENED
		"expect in progress\nexpect probes active 3\ntick\nexpect root cause found\n"
		"reject in progress\nkey T\nexpect in progress\nkey t\nexpect root cause found\n"
		"key q\nexpect calls (log)");
	/* no file of this name, and a saved session holds no code */
	script_golden("", "end\n" OPENED "key Enter\nexpect no code\nkey d\nexpect no code");
	script_golden("descent-session-begun", "until 2\n" OPENED "dump");
	script_golden("descent-session-80x24", "end\n" OPENED "dump");
	script_golden("descent-session-200x50", "end\nsize 200 50\n" OPENED "key E\ndump");
	script_golden("descent-session-20x5", "end\nsize 20 5\n" OPENED "dump");
}

static bool shown(const struct screen *s, const char *text)
{
	struct buf out;
	size_t n = 0;
	bool found;

	buf_init(&out, 1 << 20);
	assert_int_equal(screen_text(s, &out), 0);
	/* wherever the lines were broken */
	for (size_t i = 0; i < out.len; i++) {
		if (!isspace((unsigned char)out.data[i]))
			out.data[n++] = out.data[i];
		else if (n && out.data[n - 1] != ' ')
			out.data[n++] = ' ';
	}
	out.data[n] = '\0';
	found = strstr(out.data, text) != NULL;
	buf_release(&out);
	return found;
}

/* Take the calls of the descent to its end. */
static void finish(uint64_t latency, uint64_t slow)
{
	for (int i = 0; i < 20 && !driver_over(t.driver); i++) {
		if (!t.last.nr_nodes) {
			arm_serve();
		}
		give_calls_of(latency, slow, 20);
		answer_no_call_sites();
	}
	assert_true(driver_over(t.driver));
	answer_names();
}

static void turn(struct live_descent *l, uint64_t now)
{
	live_descent_turn(l, now);
	screen_tick(l->screen, 1);
}

static void ask(struct live_descent *l, uint32_t op, int peak, uint64_t now)
{
	live_descent_action(
	    l, &(struct screen_action){.type = SCREEN_DESCEND, .op = op, .peak = peak}, now);
}

static void show_part(struct live_descent *l, int number)
{
	live_descent_action(l, &(struct screen_action){.type = SCREEN_DESCENT_PART, .peak = number},
			    0);
}

/* Ask for a peak on the live screen, and take the calls of it to the end. */
static void descend_on_screen(struct live_descent *l, unsigned int peak, uint64_t latency,
			      uint64_t slow)
{
	ask(l, F0, model_op_peaks(t.model, F0)->peaks[peak - 1].id, l->next_ns);
	finish(latency, slow);
	turn(l, l->next_ns);
}

static void peaks_with_the_same_path(void **state)
{
	const struct screen_options so = {.root = SCREEN_OPERATIONS};
	struct descent_question o = options();
	struct live_descent l = {.model = t.model, .driver = t.driver, .question = &o};

	l.screen = screen_new(t.model, &so, &all_views);
	screen_resize(l.screen, 120, 40);
	give_profile(100);
	descend_on_screen(&l, 2, 4 * MS, 0x1020);
	assert_true(shown(l.screen, "root cause found"));
	assert_false(shown(l.screen, "the same path"));
	/* the other one, without starting again */
	descend_on_screen(&l, 1, 10 * US, 0x1020);
	assert_true(shown(l.screen, "peak 1, "));
	assert_true(shown(l.screen,
			  "the same path as the peak at 4.02 ms: the difference may be in "
			  "what they wait for"));
	/* the first again: it is not compared with itself */
	descend_on_screen(&l, 2, 4 * MS, 0x1020);
	assert_true(shown(l.screen, "the same path as the peak at 10"));
	assert_false(shown(l.screen, "the same path as the peak at 4"));
	/* and another path is not the same */
	descend_on_screen(&l, 1, 10 * US, 0x1010);
	assert_false(shown(l.screen, "the same path"));
	/* two computations */
	t.computes = true;
	descend_on_screen(&l, 2, 4 * MS, 0x1020);
	assert_false(shown(l.screen, "the same path"));
	descend_on_screen(&l, 1, 10 * US, 0x1020);
	assert_true(shown(l.screen, "the same path as the peak at 4.02 ms: the cause of the "
				    "difference is not visible to software"));
	live_descent_release(&l);
	screen_free(l.screen);
}

/* Enter on the operation: its parts are explained one after the other, and each can be seen. */
static void all_parts_of_an_operation(void **state)
{
	const struct screen_options so = {.root = SCREEN_OPERATIONS};
	struct descent_question o = options();
	struct live_descent l = {.model = t.model, .driver = t.driver, .question = &o};

	l.screen = screen_new(t.model, &so, &all_views);
	screen_resize(l.screen, 120, 40);
	give_two_peaks();
	ask(&l, F0, 0, S);
	arm_serve();
	turn(&l, S);
	assert_true(shown(l.screen, "4k calls/s, 97.8% of a thread"));
	assert_true(shown(l.screen, "> 1 58.6% 47.5% of calls"));
	assert_true(shown(l.screen, "286-312 us finding the cause..."));
	assert_true(shown(l.screen, "not looked into yet"));
	show_part(&l, 2); /* there is nothing to see yet */
	assert_int_equal(l.part, 0);
	finish(300 * US, 0x1020);
	turn(&l, 2 * S);
	assert_int_equal(driver_asked(t.driver)->part, 2);
	turn(&l, 3 * S);
	assert_true(shown(l.screen, "usleep, sleeping (clock_nanosleep)"));
	assert_true(shown(l.screen, "> 1 "));
	assert_true(shown(l.screen, "root cause found"));
	finish(4 * MS, 0x1010);
	turn(&l, 4 * S);
	assert_true(l.reported);
	assert_true(shown(l.screen, "helper, sleeping (clock_nanosleep)"));
	assert_true(shown(l.screen, "> 1 "));
	show_part(&l, 2);
	turn(&l, 5 * S);
	assert_true(shown(l.screen, "> 2 39."));
	assert_true(shown(l.screen, "peak 3, "));
	show_part(&l, 3);
	assert_int_equal(l.part, 2); /* there is no such part */
	live_descent_release(&l);
	screen_free(l.screen);
}

/* The first part has no end: after its share of the time the next one begins, and the last goes on
 * until the user ends it. */
static void a_part_that_takes_too_long(void **state)
{
	const struct screen_options so = {.root = SCREEN_OPERATIONS};
	struct descent_question o = options();
	struct live_descent l = {.model = t.model, .driver = t.driver, .question = &o};

	l.screen = screen_new(t.model, &so, &all_views);
	screen_resize(l.screen, 120, 40);
	give_two_peaks();
	ask(&l, F0, 0, S);
	arm_serve();
	turn(&l, 15 * S);
	assert_int_equal(driver_asked(t.driver)->part, 1);
	turn(&l, 17 * S);
	assert_int_equal(driver_asked(t.driver)->part, 2);
	turn(&l, 100 * S);
	assert_false(driver_over(t.driver));
	assert_true(shown(l.screen, "286-312 us not enough calls, 0% of the time explained"));
	live_descent_release(&l);
	screen_free(l.screen);
}

/* The calls of the peak stop coming: the screen says since when, and what to do. */
static void silence_is_told(void **state)
{
	const struct screen_options so = {.root = SCREEN_OPERATIONS};
	struct descent_question o = options();
	struct live_descent l = {.model = t.model, .driver = t.driver, .question = &o};
	uint64_t now = 100 * S;

	l.screen = screen_new(t.model, &so, &all_views);
	screen_resize(l.screen, 120, 40);
	give_profile(100);
	ask(&l, F0, model_op_peaks(t.model, F0)->peaks[1].id, now);
	arm_serve();
	give_calls(0x1020, 1);
	live_descent_turn(&l, now);
	give_slice(30, 10, 20 * US);
	live_descent_turn(&l, now + 9 * S);
	screen_tick(l.screen, 1);
	assert_true(shown(l.screen, "in progress"));
	assert_false(shown(l.screen, "no call of this peak"));
	live_descent_turn(&l, now + 11 * S);
	screen_tick(l.screen, 2);
	assert_true(shown(l.screen,
			  "no call of this peak for 11 s, but 40 others; the search goes on with"));
	/* a call of the peak, then none at all */
	give_profile(1);
	live_descent_turn(&l, now + 12 * S);
	screen_tick(l.screen, 3);
	assert_false(shown(l.screen, "no call"));
	live_descent_turn(&l, now + 25 * S);
	screen_tick(l.screen, 4);
	assert_true(
	    shown(l.screen, "no call was seen for 13 s; the search goes on with the next calls"));
	/* the descent is over: its answer stands alone */
	driver_stop(t.driver);
	live_descent_turn(&l, now + 40 * S);
	screen_tick(l.screen, 5);
	assert_false(shown(l.screen, "no call"));
	live_descent_release(&l);
	screen_free(l.screen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(screens_of_its_session),    TEST(peaks_with_the_same_path),
	    TEST(all_parts_of_an_operation), TEST(a_part_that_takes_too_long),
	    TEST(silence_is_told),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
