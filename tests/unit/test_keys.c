// SPDX-License-Identifier: GPL-2.0-or-later
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tui/screen/keys_private.h"

static void test_every_request_has_name_help_and_key(void **state)
{
	char keys[64];
	int request, map;

	for (request = REQUEST_NONE + 1; request < REQUEST_MAX; request++) {
		const struct request_info *info = request_info(request);
		bool bound = false;

		assert_true(info->name && info->name[0]);
		assert_true(info->help && info->help[0]);
		for (map = 0; map < KEYMAP_MAX; map++)
			bound |= keys_of(map, request, keys, sizeof(keys))[0] != '\0';
		if (!bound)
			fail_msg("no key asks for %s", info->name);
	}
	assert_string_equal(request_info(REQUEST_MAX)->name, "");
	assert_string_equal(request_info(-1)->name, "");
}

static void test_names_are_unique(void **state)
{
	int a, b;

	for (a = 1; a < REQUEST_MAX; a++)
		for (b = a + 1; b < REQUEST_MAX; b++)
			assert_string_not_equal(request_info(a)->name, request_info(b)->name);
}

/* The keys that docs/tui.md promises: people know them from other tools. */
static void test_the_promised_keys(void **state)
{
	static const struct {
		enum keymap map;
		int key;
		enum request request;
	} promised[] = {
	    {KEYMAP_OPERATIONS, 'q', REQUEST_CLOSE},
	    {KEYMAP_OPERATIONS, 27, REQUEST_BACK},
	    {KEYMAP_OPERATIONS, 'h', REQUEST_LEFT},
	    {KEYMAP_OPERATIONS, 'j', REQUEST_DOWN},
	    {KEYMAP_OPERATIONS, 'k', REQUEST_UP},
	    {KEYMAP_OPERATIONS, 'l', REQUEST_RIGHT},
	    {KEYMAP_OPERATIONS, SCREEN_KEY_LEFT, REQUEST_LEFT},
	    {KEYMAP_OPERATIONS, SCREEN_KEY_DOWN, REQUEST_DOWN},
	    {KEYMAP_OPERATIONS, 'g', REQUEST_FIRST},
	    {KEYMAP_OPERATIONS, 'G', REQUEST_LAST},
	    {KEYMAP_OPERATIONS, KEY_CONTROL('D'), REQUEST_HALF_DOWN},
	    {KEYMAP_OPERATIONS, KEY_CONTROL('U'), REQUEST_HALF_UP},
	    {KEYMAP_OPERATIONS, '/', REQUEST_SEARCH},
	    {KEYMAP_OPERATIONS, 'n', REQUEST_FIND_NEXT},
	    {KEYMAP_OPERATIONS, 'N', REQUEST_FIND_PREVIOUS},
	    {KEYMAP_OPERATION, '\t', REQUEST_NEXT_PANE},
	    {KEYMAP_OPERATION, '1', REQUEST_CHOOSE_PEAK},
	    {KEYMAP_OPERATION, '9', REQUEST_CHOOSE_PEAK},
	    {KEYMAP_OPERATION, 'e', REQUEST_EXPAND},
	    {KEYMAP_OPERATION, 'c', REQUEST_COLLAPSE},
	    {KEYMAP_OPERATION, 'E', REQUEST_EXPAND_ALL},
	    {KEYMAP_OPERATION, 'C', REQUEST_COLLAPSE_ALL},
	    {KEYMAP_OPERATION, '>', REQUEST_COSTLIEST},
	    {KEYMAP_OPERATION, ' ', REQUEST_PAUSE},
	    {KEYMAP_OPERATION, 'a', REQUEST_ASK_AGAIN},
	    {KEYMAP_OPERATION, 'w', REQUEST_SNAPSHOT},
	    {KEYMAP_OPERATION, 'P', REQUEST_VIEW_TEXT},
	    {KEYMAP_OPERATION, KEY_CONTROL('L'), REQUEST_REPAINT},
	    {KEYMAP_OPERATION, '?', REQUEST_HELP},
	    {KEYMAP_OPERATION, '\n', REQUEST_OPEN},
	};
	size_t i;

	for (i = 0; i < sizeof(promised) / sizeof(promised[0]); i++)
		assert_int_equal(keys_request(promised[i].map, false, promised[i].key),
				 promised[i].request);
	assert_int_equal(keys_request_only(KEYMAP_PROMPT, 127), REQUEST_ERASE);
	assert_int_equal(keys_request_only(KEYMAP_PROMPT, 8), REQUEST_ERASE);
}

static void test_replay_keys_only_in_a_replay(void **state)
{
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, true, 't'), REQUEST_STEP);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, true, 'T'), REQUEST_STEP_BACK);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, true, 'b'), REQUEST_JUMP);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, true, 'r'), REQUEST_REWIND);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, 't'), REQUEST_NONE);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, 'r'), REQUEST_NONE);
}

/* F-keys are never the only way. */
static void test_f_keys_are_aliases(void **state)
{
	char keys[64];
	int map, request;

	for (map = 0; map < KEYMAP_MAX; map++) {
		for (request = 1; request < REQUEST_MAX; request++) {
			keys_of(map, request, keys, sizeof(keys));
			if (keys[0] == 'F' && keys[1] >= '0' && keys[1] <= '9')
				fail_msg("%s is on %s alone or first", request_info(request)->name,
					 keys);
		}
	}
}

static void test_no_key_has_two_meanings_in_a_view(void **state)
{
	enum request both[2];
	char why[256];

	if (keys_conflict(why, sizeof(why), both))
		fail_msg("%s", why);
}

static void test_names_of_keys_read_back(void **state)
{
	char name[32];
	int key;

	for (key = 1; key < 127; key++) {
		if (key == 8 || key == '\n') /* Backspace and Enter */
			continue;
		if (key_parse(key_name(key, name, sizeof(name))) != key)
			fail_msg("key %d is named %s, which is %d", key, name, key_parse(name));
	}
	for (key = SCREEN_KEY_UP; key <= SCREEN_KEY_F12; key++)
		if (key != SCREEN_KEY_RESIZE)
			assert_int_equal(key_parse(key_name(key, name, sizeof(name))), key);
	assert_int_equal(key_parse("ä"), 0xe4);
	assert_string_equal(key_name(0xe4, name, sizeof(name)), "U+00E4");
	assert_int_equal(key_parse("U+00E4"), 0xe4);
	assert_int_equal(key_parse("Ctrl-]"), 29);
	assert_int_equal(key_parse("U+110000"), -1);
	assert_int_equal(key_parse("U+"), -1);
	assert_int_equal(key_parse("U+e4x"), -1);
	assert_int_equal(key_parse("esc"), 27);
	assert_int_equal(key_parse("Ctrl-l"), 12);
	assert_int_equal(key_parse("F13"), -1);
	assert_int_equal(key_parse("F0"), -1);
	assert_int_equal(key_parse("nonsense"), -1);
	assert_int_equal(key_parse(""), -1);
}

static void test_keys_of_is_bounded(void **state)
{
	char small[4];

	keys_of(KEYMAP_ALL, REQUEST_WATCH, small, sizeof(small));
	assert_int_equal(strlen(small), 3);
	keys_of(KEYMAP_ALL, REQUEST_ACCEPT, small, sizeof(small));
	assert_string_equal(small, "");
}

struct found {
	bool open, step, zero, up_twice;
	int up;
};

static void look(void *ctx, const struct keys_line *line)
{
	struct found *f = ctx;

	f->open |= line->request == REQUEST_OPEN && strstr(line->keys, "Enter");
	f->step |= line->request == REQUEST_STEP;
	f->up += line->request == REQUEST_UP;
	assert_true(line->text[0]);
}

static void test_help_shows_what_works(void **state)
{
	struct found live = {0}, replay = {0};

	keys_help(KEYMAP_OPERATIONS, false, look, &live);
	keys_help(KEYMAP_OPERATIONS, true, look, &replay);
	assert_true(live.open);
	assert_false(live.step);
	assert_true(replay.step);
}

static void picker_line(void *ctx, const struct keys_line *line)
{
	const char *name = line->name;

	/* letters go to the filter, so no request may be promised on them */
	if (!strcmp(name, "repaint"))
		*(bool *)ctx = true;
	if (!strcmp(name, "pause") || !strcmp(name, "watch-function") || !strcmp(name, "snapshot"))
		fail_msg("the picker promises %s on %s", name, line->keys);
}

static void test_help_of_the_picker(void **state)
{
	bool repaint = false;

	keys_help(KEYMAP_PICKER, false, picker_line, &repaint);
	assert_true(repaint);
}

/* docs/tui.md holds the tables between two marks; UPDATE_GOLDEN=1 writes them. */
static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	char *data = malloc(1 << 20);

	assert_non_null(f);
	assert_non_null(data);
	*n = fread(data, 1, (1 << 20) - 1, f);
	data[*n] = '\0';
	fclose(f);
	return data;
}

/* The table of one keymap. */
struct markdown {
	enum keymap map;
	struct buf *out;
};

static void markdown_line(void *ctx, const struct keys_line *line)
{
	const struct markdown *m = ctx;

	if (line->request == REQUEST_NONE || line->map != m->map)
		return;
	buf_puts(m->out, "| ");
	for (const char *p = line->keys; *p; p++)
		buf_printf(m->out, "%s%c", *p == '|' ? "\\" : "", *p);
	buf_printf(m->out, " | %s | %s |\n", line->name, line->text);
}

/* All tables as Markdown. */
static int keys_markdown(struct buf *out)
{
	static const enum keymap order[] = {KEYMAP_ALL,	    KEYMAP_OPERATIONS, KEYMAP_OPERATION,
					    KEYMAP_COLUMNS, KEYMAP_DESCENT,    KEYMAP_THREADS,
					    KEYMAP_WAITS,   KEYMAP_PICKER,     KEYMAP_REPLAY,
					    KEYMAP_PROMPT,  KEYMAP_MENU};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct markdown m = {order[i], out};
		bool everywhere = order[i] == KEYMAP_PROMPT || order[i] == KEYMAP_MENU;

		buf_printf(out, "%s### %s\n\n| keys | name | what it does |\n|---|---|---|\n",
			   i ? "\n" : "", keys_title(order[i]));
		/* the help of each view ends with the prompt and the menu */
		keys_help(everywhere ? KEYMAP_ALL : order[i], false, markdown_line, &m);
	}
	return out->err;
}

#define BEGIN "<!-- keys: begin -->\n"
#define END "<!-- keys: end -->"

static void test_documentation_is_up_to_date(void **state)
{
	struct buf tables;
	size_t n;
	char *doc = slurp("docs/tui.md", &n), *begin, *end;
	FILE *f;

	buf_init(&tables, 1 << 16);
	assert_int_equal(keys_markdown(&tables), 0);
	begin = strstr(doc, BEGIN);
	end = strstr(doc, END);
	assert_non_null(begin);
	assert_non_null(end);
	begin += strlen(BEGIN);
	if (getenv("UPDATE_GOLDEN")) {
		f = fopen("docs/tui.md", "w");
		assert_non_null(f);
		fwrite(doc, 1, (size_t)(begin - doc), f);
		fwrite(tables.data, 1, tables.len, f);
		fputs(end, f);
		fclose(f);
	} else if ((size_t)(end - begin) != tables.len || memcmp(begin, tables.data, tables.len)) {
		fail_msg("docs/tui.md: the key tables are old; run UPDATE_GOLDEN=1 test_keys");
	}
	buf_release(&tables);
	free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_request_has_name_help_and_key),
	    cmocka_unit_test(test_names_are_unique),
	    cmocka_unit_test(test_the_promised_keys),
	    cmocka_unit_test(test_replay_keys_only_in_a_replay),
	    cmocka_unit_test(test_f_keys_are_aliases),
	    cmocka_unit_test(test_no_key_has_two_meanings_in_a_view),
	    cmocka_unit_test(test_names_of_keys_read_back),
	    cmocka_unit_test(test_keys_of_is_bounded),
	    cmocka_unit_test(test_help_shows_what_works),
	    cmocka_unit_test(test_help_of_the_picker),
	    cmocka_unit_test(test_documentation_is_up_to_date),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
