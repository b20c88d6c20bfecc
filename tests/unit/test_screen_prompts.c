// SPDX-License-Identifier: GPL-2.0-or-later
/* The prompts, the layers menu, and the process picker. */
#include <locale.h>

#include "tests/unit/screen_harness.h"
#include "tests/unit/screen_lists.h"

static void test_watch_prompt(void **state)
{
	struct harness *h = harness_new(3, NULL);

	assert_int_equal(screen_wants(h->screen) & SCREEN_WANTS_CANDIDATES, 0);
	harness_run(h, "key f\nexpect watch function:\ntype pr");
	assert_string_equal(harness_log(h), "search\nsearch 'p'\nsearch 'pr'\n");
	assert_true(screen_wants(h->screen) & SCREEN_WANTS_CANDIDATES);
	screen_set_candidates(h->screen, "p", candidates, 3); /* late: of an older text */
	harness_run(h, "reject processCommand(client*)");
	screen_set_candidates(h->screen, "pr", candidates, 3);
	harness_run(h, "expect > processCommand(client*)\nexpect posix_spawn\\x1b[2J\nkey Down\n"
		       "expect > processInput\nkey Enter\nreject watch function:");
	assert_string_equal(harness_log(h), "watch 'processInput@redis-server'\n");
	harness_free(h);
}

static void test_watch_prompt_takes_the_first_or_the_text(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key +\ntype pro");
	screen_set_candidates(h->screen, "pro", candidates, 3);
	harness_run(h, "key Enter");
	assert_string_equal(harness_log(h), "watch 'processCommand@redis-server'\n");
	/* an answer to "pro" says nothing about "prox" */
	harness_run(h, "key F4\ntype pro");
	screen_set_candidates(h->screen, "pro", candidates, 3);
	harness_run(h, "type x\nreject > processCommand(client\nkey Enter");
	assert_string_equal(harness_log(h), "search 'prox'\nwatch 'prox'\n");
	/* nothing known of that name */
	harness_run(h, "key f\ntype 0x1234@libc.so.6");
	screen_set_candidates(h->screen, "0x1234@libc.so.6", NULL, 0);
	harness_run(h, "expect no function with this name is known\nkey Enter");
	assert_string_equal(harness_log(h), "watch '0x1234@libc.so.6'\n");
	harness_free(h);
}

static void test_prompt_editing(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h, "key f\ntype abcd\nkey Left Left Backspace\nexpect watch function: acd\n"
		       "key Home Del\nexpect watch function: cd\nkey End\ntype é世 x\n"
		       "expect watch function: cdé世 x\nkey Ctrl-W\nexpect watch function: cdé世\n"
		       "key Backspace Backspace Backspace\nexpect watch function: cd\n"
		       "key Ctrl-U\nkey Backspace\nreject watch function:");
	harness_run(h, "key f\ntype pro");
	screen_set_candidates(h->screen, "pro", candidates, 3);
	harness_run(h, "key Tab\nexpect watch function: processCommand@redis-server\nkey "
		       "Esc\nreject watch function:");
	harness_run(h, "key f Enter\nreject watch function:"); /* nothing was asked for */
	assert_string_equal(harness_log(h), "search\n");
	harness_free(h);
}

static void test_prompts_take_no_controls(void **state)
{
	struct harness *h = harness_new(3, NULL);
	static const int keys[] = {0x202e, 0x9b, 0x2028, 0xfeff, 0xd800, 0x110000 + 99, 0, -5};
	size_t i;

	harness_run(h, "key /");
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		screen_key(h->screen, keys[i]);
	harness_run(h, "type wr\nkey Enter\nexpect filter: wr\nexpect > write");
	harness_free(h);
}

static void test_long_prompt_text_scrolls(void **state)
{
	struct harness *h = harness_new(3, NULL);
	char text[1024];

	snprintf(text, sizeof(text),
		 "size 40 10\nkey f\ntype %0400d\ntype end\nexpect end\nkey Home\n"
		 "reject end\nsize 8 4\ndump",
		 0);
	harness_run(h, text);
	harness_free(h);
}

static void test_files(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(
	    h, "key P\nexpect peaktop-redis-server-1234-operations.txt\nkey Ctrl-U\ntype /tmp/x "
	       "y\nkey Enter\n"
	       "key w\nexpect write snapshot to: peaktop-redis-server-1234.session\nkey Enter\n"
	       "key Enter P Enter\nkey w Esc");
	assert_string_equal(harness_log(h),
			    "text '/tmp/x y'\nsnapshot 'peaktop-redis-server-1234.session'\n"
			    "text 'peaktop-redis-server-1234-operation.txt'\n");
	harness_free(h);
}

static void test_layers(void **state)
{
	struct harness *h = harness_new(3, NULL);

	harness_run(h,
		    "key L\nexpect Layers measured\nexpect 1 [x] system calls\nexpect 2 [ ] user "
		    "functions\n"
		    "expect 3  -  kernel functions\nkey 1\nexpect 1 [ ] system calls\nkey 3\n"
		    "expect not available on this kernel\nkey j Space Esc\nreject Layers measured");
	/* j goes on from the third row, which 3 selected */
	assert_string_equal(harness_log(h), "layers 38\nlayers 30\n");
	screen_set_layers(h->screen, 0x3f, 0x3f);
	harness_run(h, "key F5\nexpect 3 [x] kernel\nkey q");
	harness_free(h);
}

/* --- the picker */

static struct harness *picker(void)
{
	const struct screen_options options = {.root = SCREEN_PICKER};
	struct harness *h = harness_new(0, &options);

	assert_true(screen_wants(h->screen) & SCREEN_WANTS_PROCESSES);
	harness_run(h, "wait 0\nexpect reading the list");
	assert_string_equal(harness_log(h), "refresh\n");
	screen_set_processes(h->screen, processes, 6);
	return h;
}

static void test_picker(void **state)
{
	struct harness *h = picker();

	harness_run(
	    h, "expect >    1234 redis\nreject kworker\nkey Down\nexpect >    4321\ntype redis\n"
	       "expect filter: redis_\nreject 4321\nkey Enter");
	assert_string_equal(harness_log(h), "pick pid 1234\n");
	harness_run(
	    h, "key Backspace\nexpect filter: redi_\nkey Esc\nexpect 4321\nkey Esc\nexpect 4321");
	/* a fresh list keeps the selection where its process is */
	harness_run(h, "key Down Down\nexpect >     777");
	screen_set_processes(h->screen, processes + 2, 3);
	harness_run(h, "expect >     777\nkey Ctrl-W\nkey Right Right Right\nexpect ↓COMMAND\nkey "
		       "Ctrl-R\nexpect ↑COMMAND");
	harness_free(h);
}

static void test_picker_keys_are_characters(void **state)
{
	struct harness *h = picker();

	harness_run(h, "type java\nexpect filter: java_\nexpect no process matches\nkey "
		       "Ctrl-W\nkey /\ntype qe\n"
		       "expect filter: qe_\nexpect qemu-system\nkey Enter");
	assert_string_equal(harness_log(h), "pick pid 888\n");
	harness_run(
	    h, "key Esc ?\nexpect Process picker\nkey q\nkey F4\nexpect choose a process first");
	assert_string_equal(harness_log(h), "");
	harness_run(h, "key q\nexpect never looked at");
	harness_free(h);
}

static void test_picker_refuses_what_is_not_permitted(void **state)
{
	struct harness *h = picker();

	harness_run(h, "type init\nkey Enter\nexpect pid 1: not permitted");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

static void test_from_the_picker_to_operations(void **state)
{
	struct harness *h = picker();
	unsigned int i;

	screen_show(h->screen, SCREEN_OPERATIONS);
	assert_int_equal(screen_wants(h->screen), 0);
	for (i = 0; i < 3; i++)
		synth_slice(h->model, h->slices++);
	harness_run(h, "expect > processCommand\nkey q\nexpect never looked at");
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_watch_prompt),
	    cmocka_unit_test(test_watch_prompt_takes_the_first_or_the_text),
	    cmocka_unit_test(test_prompt_editing),
	    cmocka_unit_test(test_prompts_take_no_controls),
	    cmocka_unit_test(test_long_prompt_text_scrolls),
	    cmocka_unit_test(test_files),
	    cmocka_unit_test(test_layers),
	    cmocka_unit_test(test_picker),
	    cmocka_unit_test(test_picker_keys_are_characters),
	    cmocka_unit_test(test_picker_refuses_what_is_not_permitted),
	    cmocka_unit_test(test_from_the_picker_to_operations),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
