// SPDX-License-Identifier: GPL-2.0-or-later
/* The configuration: every setting, every way in which a line can be wrong, whose file is read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tui/cli/config.h"
#include "tui/screen/keys.h"
#include "tui/views/op_rows.h"

static struct config config;
static char error[2048];

static int parse_bytes(const char *text, size_t n)
{
	int err;

	keys_reset();
	config_init(&config);
	error[0] = '\0';
	err = config_parse(&config, text, n, error, sizeof(error));
	return err ? err : config_apply(&config, error, sizeof(error));
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void assert_taken(const char *text)
{
	if (parse(text))
		fail_msg("%s: %s", text, error);
}

static void assert_refused(const char *text, const char *why)
{
	assert_int_equal(parse(text), -EINVAL);
	if (!strstr(error, why))
		fail_msg("%s: %s", text, error);
	assert_null(strchr(error, '\n'));
}

static void test_nothing_is_the_default(void **state)
{
	assert_taken("");
	assert_taken("\n\n  \t\n# a comment\n   # another = one\r\n\r\n");
	assert_int_equal(config.theme, WISH_AUTO);
	assert_int_equal(config.columns, 0);
	assert_int_equal(config.sort, 0);
	assert_true(config.defaults.max_overhead == 1);
	assert_int_equal(config.defaults.resolution, 4);
}

static void test_settings(void **state)
{
	assert_taken("theme = colorblind\ncolumns = p99, wall  rate\n\tsort=p99   reverse \r\n"
		     "option.max-overhead = 0.5\noption.ascii = yes\noption.resolution = 8\n"
		     "option.start-ops = 50\nkey.pause = p F9");
	assert_int_equal(config.defaults.theme, WISH_BLIND);
	assert_int_equal(config.defaults.columns,
			 1 << COLUMN_P99 | 1 << COLUMN_WALL | 1 << COLUMN_RATE);
	assert_int_equal(config.defaults.sort, 1 + BY_P99);
	assert_true(config.defaults.reverse);
	assert_true(config.defaults.max_overhead == 0.5);
	assert_true(config.defaults.ascii);
	assert_int_equal(config.defaults.resolution, 8);
	assert_int_equal(config.defaults.question.start_ops, 50);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, 'p'), REQUEST_PAUSE);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, SCREEN_KEY_F1 + 8), REQUEST_PAUSE);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, ' '), REQUEST_NONE);
	/* the last line counts; "no" and "auto" take back */
	assert_taken("option.ascii = yes\noption.ascii = no\ncolumns = wall\ncolumns = auto\n"
		     "sort = p50 reverse\nsort = p50");
	assert_false(config.defaults.ascii);
	assert_int_equal(config.columns, 0);
	assert_false(config.reverse);
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, ' '), REQUEST_PAUSE);
}

static void test_every_theme_column_and_order(void **state)
{
	char text[64];

	for (int i = 0; i < WISHES; i++) {
		snprintf(text, sizeof(text), "theme = %s", theme_wish_name(i));
		assert_taken(text);
		assert_int_equal(config.theme, i);
	}
	for (int i = 0; i < NR_COLUMNS; i++) {
		snprintf(text, sizeof(text), "columns = %s", op_column_names[i]);
		assert_taken(text);
		assert_int_equal(config.columns, 1 << i);
	}
	for (int i = 0; i < NR_ORDERS; i++) {
		snprintf(text, sizeof(text), "sort = %s", row_order_names[i]);
		assert_taken(text);
		assert_int_equal(config.sort, 1 + i);
	}
}

static void test_wrong_lines(void **state)
{
	assert_refused("\n\ntheme", "line 3: 'theme' is no setting; write SETTING = VALUE");
	assert_refused("theme =", "line 1: the value is missing");
	assert_refused("= 3", "line 1: the name of the setting is missing");
	assert_refused("thema = 256", "line 1: unknown setting 'thema'; peaktop --dump-config");
	assert_refused("theme = 17", "line 1: unknown theme '17'; choose one of auto, mono, 8");
	assert_refused("columns = wall, p98", "unknown column 'p98'; choose from layer, calls");
	assert_refused("columns = ,", "no column is named");
	assert_refused("sort = module", "cannot be sorted by 'module'; choose one of name");
	assert_refused("sort = p99 up", "only one 'reverse' may stand (got 'up')");
	assert_refused("sort = p99 reverse again", "only one 'reverse' may stand (got 'again')");
	assert_refused("option.pid = 3", "'option.pid' cannot be set here; options with a default");
	assert_refused("option.json = yes", "cannot be set here");
	assert_refused("option.output = /etc/passwd", "cannot be set here");
	assert_refused("option.ascii = 1", "'option.ascii' must be yes or no (got '1')");
	assert_refused("option.max-overhead = 1000",
		       "--max-overhead must be a number from 0.01 to 100");
	assert_refused("option.max-overhead = much", "--max-overhead must be");
	assert_refused("option.resolution = 3", "--resolution must be 1, 2, 4 or 8 (got 3)");
	assert_refused("option.start-ops = 0", "--start-ops must be");
}

static void test_wrong_keys(void **state)
{
	assert_refused("key.paus = p", "there is no key named 'paus'");
	assert_refused("key.pause = Hyper-p", "unknown key 'Hyper-p'; use a character, or a name");
	assert_refused("key.choose-peak = a", "the keys of 'choose-peak' cannot be changed");
	assert_refused("key.cancel = a", "the keys of 'cancel' cannot be changed");
	assert_refused("key.pause = a b c d e f g h i", "has more than 8 keys");
	/* The line is that of the later one of both; both requests are named. */
	assert_refused("key.help = z\n\nkey.pause = z", "line 3: the key z is both key.");
	assert_refused("theme = 8\nkey.pause = q", "line 2: the key q is both key.");
	/* Keys that change places are no conflict, and what was bound before is free. */
	assert_taken("key.pause = P\nkey.view-text = Space");
	assert_int_equal(keys_request(KEYMAP_DESCENT, false, 'P'), REQUEST_PAUSE);
	assert_int_equal(keys_request(KEYMAP_DESCENT, false, ' '), REQUEST_VIEW_TEXT);
	/* A refused file changes no key. */
	assert_refused("key.pause = q", "the key q is both");
	assert_int_equal(keys_request(KEYMAP_DESCENT, false, ' '), REQUEST_PAUSE);
	/* Digits choose peaks there. */
	assert_refused("key.expand = 5", "the key 5 is both");
}

/* Letters go to the filter of the picker, whatever the file says. */
static void test_keys_of_the_picker(void **state)
{
	assert_taken("key.up = u F9\nkey.down = x");
	assert_int_equal(keys_request_only(KEYMAP_PICKER, 'u'), REQUEST_NONE);
	assert_int_equal(keys_request_only(KEYMAP_PICKER, SCREEN_KEY_F1 + 8), REQUEST_UP);
	assert_int_equal(keys_request_only(KEYMAP_PICKER, SCREEN_KEY_DOWN), REQUEST_DOWN);
	assert_int_equal(keys_request_only(KEYMAP_ALL, 'u'), REQUEST_UP);
	keys_reset();
}

static void test_limits(void **state)
{
	static char text[CONFIG_MAX_BYTES + 2];

	memset(text, '#', sizeof(text));
	for (size_t i = 100; i < sizeof(text); i += 100)
		text[i] = '\n';
	assert_int_equal(parse_bytes(text, CONFIG_MAX_BYTES), 0);
	assert_int_equal(parse_bytes(text, CONFIG_MAX_BYTES + 1), -EINVAL);
	assert_non_null(strstr(error, "more than 65536 bytes"));
	memset(text, 'a', CONFIG_MAX_LINE);
	text[0] = '#';
	assert_int_equal(parse_bytes(text, CONFIG_MAX_LINE - 1), 0);
	assert_int_equal(parse_bytes(text, CONFIG_MAX_LINE), -EINVAL);
	assert_non_null(strstr(error, "line 1: the line has more than 511 bytes"));
	assert_int_equal(parse_bytes("theme = 8\nso\0rt", 15), -EINVAL);
	assert_non_null(strstr(error, "line 2: the line contains a NUL byte"));
	/* what the file contains is not sent to the terminal as it is */
	assert_int_equal(parse("\x1b[2J\xff = 1"), -EINVAL);
	assert_null(strchr(error, '\x1b'));
	assert_null(strchr(error, '\xff'));
}

static void dump(struct buf *out)
{
	buf_init(out, 1 << 20);
	assert_int_equal(config_dump(&config, out), 0);
}

/* What is printed is a file that says the same. */
static void test_dump_and_parse(void **state)
{
	static const char *const files[] = {
	    "",
	    "theme = 16\ncolumns = open wall\nsort = rate reverse\noption.follow = yes\n"
	    "option.interval = 0.1\noption.for = 7\nkey.quit = Q\nkey.up = u Up\n"
	    "key.find-next = z",
	};

	for (size_t i = 0; i < 2; i++) {
		struct buf first, second;

		assert_taken(files[i]);
		dump(&first);
		assert_true(first.len < CONFIG_MAX_BYTES);
		assert_int_equal(parse_bytes(first.data, first.len), 0);
		dump(&second);
		assert_int_equal(first.len, second.len);
		assert_memory_equal(first.data, second.data, first.len);
		buf_release(&first);
		buf_release(&second);
	}
	assert_int_equal(keys_request(KEYMAP_OPERATIONS, false, 'Q'), REQUEST_QUIT);
	assert_true(config.defaults.interval_s == 0.1);
	keys_reset();
}

/* The order of the columns holds, and is printed again. */
static void test_order_of_columns(void **state)
{
	enum op_column order[NR_COLUMNS];
	struct buf out;

	assert_taken("columns = p99 wall, p99 layer");
	op_columns_unpack(config.defaults.column_order, order);
	assert_int_equal(order[0], COLUMN_P99);
	assert_int_equal(order[1], COLUMN_WALL);
	assert_int_equal(order[2], COLUMN_LAYER);
	assert_int_equal(order[3], COLUMN_CALLS); /* those that are not named, as usual */
	dump(&out);
	assert_non_null(strstr(out.data, "\ncolumns = p99 wall layer\n"));
	buf_release(&out);
	assert_taken("columns = p99 wall\ncolumns = auto");
	assert_int_equal(config.defaults.column_order, 0);
	assert_taken("sort = max\n");
	assert_int_equal(config.sort, 1 + BY_MAX);
}

static void assert_edited(const char *text, const char *settings, const char *expected)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(config_edit(text, strlen(text), settings, &out), 0);
	buf_putc(&out, '\0');
	assert_string_equal(out.data, expected);
	buf_release(&out);
}

static void test_edit(void **state)
{
	char large[CONFIG_MAX_BYTES];
	struct buf out;

	assert_edited("", "sort = p99\n", "sort = p99\n");
	/* comments, other settings and blank lines stay; the last of two lines is the one */
	assert_edited("# sort = rate\nsort=rate\n\n  theme = 8 \n\tsort = p50\nkey.up = u",
		      "columns = p99\nsort = wall reverse\n",
		      "# sort = rate\nsort=rate\n\n  theme = 8 \nsort = wall reverse\nkey.up = u\n"
		      "columns = p99\n");
	/* a name that only begins alike is another setting; the last line needs no line feed */
	assert_edited("sorted = x\ncolumns = p50", "columns = p99", "sorted = x\ncolumns = p99\n");
	memset(large, '#', sizeof(large));
	buf_init(&out, 1 << 20);
	assert_int_equal(config_edit(large, sizeof(large), "sort = p99\n", &out), -EINVAL);
	buf_release(&out);
}

/* --- whose file ------------------------------------------------------------------------ */

static char warning[1024];

static int read_it(const char *directory)
{
	setenv("XDG_CONFIG_HOME", directory, 1);
	keys_reset();
	config_init(&config);
	error[0] = '\0';
	return config_load(&config, error, sizeof(error), warning, sizeof(warning));
}

static void test_whose_file_is_read(void **state)
{
	char directory[] = "/tmp/peaktop-config-XXXXXX", path[64];
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/peaktop", directory);
	assert_int_equal(read_it(directory), 0);
	assert_string_equal(warning, "");
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/peaktop/config", directory);
	assert_int_equal(read_it(directory), 0);
	assert_string_equal(warning, "");
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "theme = 8\nnonsense\n", 19), 19);
	close(fd);
	assert_int_equal(read_it(directory), -EINVAL);
	assert_non_null(strstr(error, path));
	assert_non_null(strstr(error, ", line 2: 'nonsense' is no setting"));
	/* Others could write it: nothing of it is used, and it is said why. */
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(read_it(directory), 0);
	assert_int_equal(config.theme, WISH_AUTO);
	assert_non_null(strstr(warning, "is ignored: other users may write it; run chmod go-w"));
	assert_int_equal(chmod(path, 0644), 0);
	if (!geteuid()) {
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_int_equal(read_it(directory), 0);
		assert_non_null(strstr(warning, "it belongs to another user"));
		assert_int_equal(chown(path, 0, 0), 0);
	}
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "theme = 8\n", 10), 10);
	close(fd);
	assert_int_equal(read_it(directory), 0);
	assert_string_equal(warning, "");
	assert_int_equal(config.defaults.theme, WISH_8);
	/* A FIFO without a writer does not hang. */
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_it(directory), 0);
	assert_non_null(strstr(warning, "it is not a regular file"));
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(read_it(directory), 0);
	assert_non_null(strstr(warning, "it is not a regular file"));
	rmdir(path);
	snprintf(path, sizeof(path), "%s/peaktop", directory);
	rmdir(path);
	rmdir(directory);
}

static void assert_file(const char *path, const char *expected)
{
	char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

/* Settings are written where they are read; a file that may not be trusted stays as it is. */
static void test_save(void **state)
{
	char directory[] = "/tmp/peaktop-config-XXXXXX", folder[64], path[96], line[1024];
	struct stat st;
	int lock;

	assert_non_null(mkdtemp(directory));
	setenv("XDG_CONFIG_HOME", directory, 1);
	snprintf(folder, sizeof(folder), "%s/peaktop", directory);
	snprintf(path, sizeof(path), "%s/config", folder);
	assert_int_equal(config_save("columns = p99 wall\n", line, sizeof(line)), 0);
	assert_non_null(strstr(line, path));
	assert_file(path, "columns = p99 wall\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(config_save("sort = rate\ncolumns = auto\n", line, sizeof(line)), 0);
	assert_file(path, "columns = auto\nsort = rate\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(read_it(directory), 0);
	assert_int_equal(config.sort, 1 + BY_RATE);
	/* another one is just writing it */
	lock = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	assert_true(config_save("sort = p50\n", line, sizeof(line)) < 0);
	assert_non_null(strstr(line, "another peaktop is writing it; try again"));
	close(lock);
	assert_file(path, "columns = auto\nsort = rate\n");
	/* others may write it */
	assert_int_equal(chmod(path, 0666), 0);
	assert_true(config_save("sort = p50\n", line, sizeof(line)) < 0);
	assert_non_null(strstr(line, "cannot write the configuration"));
	assert_non_null(strstr(line, "chmod go-w"));
	assert_file(path, "columns = auto\nsort = rate\n");
	assert_int_equal(chmod(path, 0444), 0);
	assert_true(config_save("sort = p50\n", line, sizeof(line)) < 0);
	assert_non_null(strstr(line, "chmod u+w"));
	assert_file(path, "columns = auto\nsort = rate\n");
	unlink(path);
	/* a link whose target is not there now is not replaced */
	assert_int_equal(symlink("/nonexistent/config", path), 0);
	assert_true(config_save("sort = p50\n", line, sizeof(line)) < 0);
	assert_non_null(strstr(line, "symbolic link"));
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(path);
	/* root does not write into the home of another user */
	if (!geteuid()) {
		assert_int_equal(chown(directory, 65534, 65534), 0);
		assert_true(config_save("sort = p50\n", line, sizeof(line)) < 0);
		assert_non_null(strstr(line, "another user"));
		assert_int_equal(chown(directory, 0, 0), 0);
	}
	assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
	/* the folder is a file */
	close(open(folder, O_WRONLY | O_CREAT, 0600));
	assert_true(config_save("sort = p50\n", line, sizeof(line)) < 0);
	assert_non_null(strstr(line, "Not a directory"));
	unlink(folder);
	rmdir(directory);
}

static void test_where_the_file_is(void **state)
{
	char directory[] = "/tmp/peaktop-config-XXXXXX", path[128], home[64];
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(home, sizeof(home), "%s/.config", directory);
	assert_int_equal(mkdir(home, 0700), 0);
	snprintf(path, sizeof(path), "%s/peaktop", home);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/peaktop/config", home);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "theme = 16\n", 11), 11);
	close(fd);
	setenv("HOME", directory, 1);
	unsetenv("XDG_CONFIG_HOME");
	config_init(&config);
	assert_int_equal(config_load(&config, error, sizeof(error), warning, sizeof(warning)), 0);
	assert_int_equal(config.theme, WISH_16);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	config_init(&config);
	assert_int_equal(config_load(&config, error, sizeof(error), warning, sizeof(warning)), 0);
	assert_int_equal(config.theme, WISH_AUTO);
	setenv("HOME", "/nonexistent", 1);
	setenv("XDG_CONFIG_HOME", home, 1);
	config_init(&config);
	assert_int_equal(config_load(&config, error, sizeof(error), warning, sizeof(warning)), 0);
	assert_int_equal(config.theme, WISH_16);
	unsetenv("HOME");
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(config_load(&config, error, sizeof(error), warning, sizeof(warning)), 0);
	unlink(path);
	snprintf(path, sizeof(path), "%s/peaktop", home);
	rmdir(path);
	rmdir(home);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_is_the_default),
	    cmocka_unit_test(test_settings),
	    cmocka_unit_test(test_every_theme_column_and_order),
	    cmocka_unit_test(test_wrong_lines),
	    cmocka_unit_test(test_wrong_keys),
	    cmocka_unit_test(test_keys_of_the_picker),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_dump_and_parse),
	    cmocka_unit_test(test_whose_file_is_read),
	    cmocka_unit_test(test_order_of_columns),
	    cmocka_unit_test(test_edit),
	    cmocka_unit_test(test_save),
	    cmocka_unit_test(test_where_the_file_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
