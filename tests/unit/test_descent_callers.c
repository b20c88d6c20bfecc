// SPDX-License-Identifier: GPL-2.0-or-later
/* Who calls a system call, in short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tui/views/descent_callers.h"

enum { PROGRAM = 1, LIBC = 2 };

static struct descent_driver *driver_with_names(void)
{
	static const struct record records[] = {
	    {.type = REC_MODULE, .module = {.module = PROGRAM, .path = "/usr/bin/server"}},
	    {.type = REC_MODULE, .module = {.module = LIBC, .path = "/lib/libc.so.6"}},
	    {.type = REC_SYMBOL,
	     .symbol = {.module = PROGRAM, .offset = 0x10, .function = "handle(int)"}},
	    {.type = REC_SYMBOL, .symbol = {.module = LIBC, .offset = 0x20, .function = "syslog"}},
	    {.type = REC_SYMBOL, .symbol = {.module = LIBC, .offset = 0x30, .function = "dprintf"}},
	    {.type = REC_SYMBOL, .symbol = {.module = LIBC, .offset = 0x40, .function = "write"}},
	};
	struct descent_driver *d = driver_new(NULL);

	assert_non_null(d);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		driver_take(d, &records[i]);
	return d;
}

/* Adds a path, innermost frame first; ends with a frame whose module is 0. */
static void add(struct descent_result *r, double share, const struct rec_frame *frames)
{
	struct descent_callers *c = &r->callers[r->nr_callers++];

	c->share = share;
	for (c->nr_frames = 0; frames[c->nr_frames].module; c->nr_frames++)
		c->frame[c->nr_frames] = frames[c->nr_frames];
}

static void test_paths_are_short(void **state)
{
	static const struct rec_frame write = {LIBC, 0x44, 0x40}, dprintf = {LIBC, 0x35, 0x30},
				      syslog = {LIBC, 0x25, 0x20}, handle = {PROGRAM, 0x15, 0x10},
				      unknown = {PROGRAM, 0x999, 0}, none = {0};
	struct descent_driver *d = driver_with_names();
	static struct descent_result r;
	struct caller_rows rows;

	caller_rows_of(d, &r, &rows);
	assert_int_equal(rows.nr, 0);
	add(&r, 0.5, (const struct rec_frame[]){write, dprintf, syslog, handle, unknown, none});
	add(&r, 0.2, (const struct rec_frame[]){write, handle, none});
	/* the same three functions, another way through the library */
	add(&r, 0.1,
	    (const struct rec_frame[]){write, dprintf, dprintf, syslog, handle, handle, none});
	add(&r, 0.1, (const struct rec_frame[]){write, unknown, none});
	add(&r, 0.05, (const struct rec_frame[]){write, none}); /* says nothing */
	add(&r, 0.05, (const struct rec_frame[]){write, syslog, handle, none});
	add(&r, 0.05, (const struct rec_frame[]){write, syslog, unknown, none}); /* no room */
	caller_rows_of(d, &r, &rows);
	assert_int_equal(rows.nr, CALLER_ROWS);
	assert_string_equal(rows.row[0].text, "called by handle > syslog > ... > write");
	assert_true(rows.row[0].share > 0.599 && rows.row[0].share < 0.601);
	assert_string_equal(rows.row[1].text, "called by handle > write");
	assert_string_equal(rows.row[2].text, "called by server+0x999 > write");
	assert_string_equal(rows.row[3].text, "called by handle > syslog > write");
	r.nr_callers = 0;
	add(&r, 1, (const struct rec_frame[]){write, dprintf, syslog, dprintf, none});
	caller_rows_of(d, &r, &rows);
	assert_string_equal(rows.row[0].text, "called by syslog > dprintf > write");
	driver_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_paths_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
