/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A saved session of simulated programs, and what is printed of it. */
#ifndef TESTS_WAITS_SESSION_H
#define TESTS_WAITS_SESSION_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <jansson.h>
#include <unistd.h>

#include "tests/unit/session_create.h"
#include "tests/unit/waits_check.h"
#include "tui/engine/replay.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output_waits.h"

enum { USER_STACK = 900, MODULE = 1 };

typedef int output_fn(const struct wait_report *, const struct output_options *, FILE *);

static char path[64];
static struct replay *replay;
static struct wait_report report;
static const char *outermost = "main"; /* name of the function that calls wait_for() */
static char *printed;
static size_t printed_bytes;

static inline void put_record(struct session_writer *w, struct record rec)
{
	assert_int_equal(session_writer_append(w, &rec), 0);
}

/* The session that the front writes: names, then the simulated records. All threads of the target
 * are in the same user code. */
static inline void write_session(const char *comm)
{
	static const struct rec_frame frames[] = {{MODULE, 0x110, 0x100}, {MODULE, 0x210, 0x200}};
	const struct {
		uint64_t offset;
		const char *function;
		uint32_t line;
	} symbols[] = {{0x100, outermost, 10},
		       {0x10f, outermost, 12},
		       {0x200, "store::wait_for(int)", 20},
		       {0x210, "store::wait_for(int)", 23}};
	struct session_writer *w;
	int fd;

	snprintf(path, sizeof(path), "/tmp/peaktop-waits-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(session_create(&w, path), 0);
	put_record(w, (struct record){.type = REC_META,
				      .meta = {.version = "",
					       .host = "",
					       .kernel = "",
					       .boot_id = "",
					       .command = "",
					       .interval_ns = 1000 * MS,
					       .cpus = 4}});
	put_record(
	    w,
	    (struct record){
		.type = REC_TARGET,
		.target = {.pid = sim.task[0].pid, .comm = comm, .exe = "/bin/x", .requested = 1}});
	put_record(w, (struct record){.type = REC_MODULE,
				      .module = {.module = MODULE, .path = "/usr/bin/store"}});
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		put_record(w, (struct record){.type = REC_SYMBOL,
					      .symbol = {.module = MODULE,
							 .offset = symbols[i].offset,
							 .symbol = symbols[i].function,
							 .function = symbols[i].function,
							 .file = "/src/store.cc",
							 .line = symbols[i].line}});
	put_record(
	    w, (struct record){
		   .type = REC_TRACE,
		   .trace = {.trace = USER_STACK, .kernel = "", .nr_frames = 2, .frames = frames}});
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		struct record rec = sim.records[i];

		if (rec.type == REC_SWITCH && rec.switched.prev_tid == sim.task[0].tid)
			rec.switched.user_stack = USER_STACK;
		put_record(w, rec);
	}
	put_record(w, (struct record){.type = REC_TICK, .tick = {.end_ns = 1000 * MS}});
	assert_int_equal(session_writer_close(w), 0);
}

/* Saves what was played, and opens it. */
static inline void reopen(const char *comm)
{
	char why[256];

	write_session(comm);
	assert_int_equal(replay_open(&replay, path, why, sizeof(why)), 0);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	report = (struct wait_report){.model = replay_model(replay),
				      .names = replay_driver(replay),
				      .waits = wait_driver_waits(replay_waits(replay))};
	assert_true(report.waits || !sim.nr_records);
	if (report.waits)
		waits_flush(report.waits);
}

static inline const char *print(output_fn *fn, const struct output_options *o)
{
	static const struct output_options usual;
	FILE *f;

	free(printed);
	printed = NULL;
	f = open_memstream(&printed, &printed_bytes);
	assert_non_null(f);
	assert_int_equal(fn(&report, o ? o : &usual, f), 0);
	fclose(f);
	return printed;
}

static inline json_t *document(output_fn *fn)
{
	json_error_t error;
	json_t *json = json_loads(print(fn, NULL), JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("%s in %s", error.text, printed);
	return json;
}

static inline void expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static inline uint64_t number(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static inline const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		fail_msg("no text '%s' in %s", key, json_dumps(o, 0));
	return s;
}

static inline int end(void **state)
{
	if (path[0])
		unlink(path);
	path[0] = '\0';
	replay_free(replay);
	replay = NULL;
	free(printed);
	printed = NULL;
	return teardown(state);
}

/* A asks C, which asks B; beside them somebody who has nothing to do with it. */
static inline void play_triangle(const char *comm)
{
	static const struct sim_op a[] = {{LOOP, 20},	       {RUN, 1 * MS}, {POST, 1},
					  {WAIT, 3, HOW_PIPE}, {NEXT},	      {EXIT}};
	static const struct sim_op b[] = {
	    {LOOP, 20}, {WAIT, 1, HOW_UNIX}, {RUN, 2 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	static const struct sim_op c[] = {
	    {LOOP, 20}, {WAIT, 2, HOW_CONDITION}, {RUN, 3 * MS}, {POST, 3}, {NEXT}, {EXIT}};
	static const struct sim_op busy[] = {{LOOP, 1000}, {RUN, 2 * MS}, {NEXT}, {EXIT}};

	sim_begin(&sim, 4);
	sim_task(&sim, comm, TASK_TARGET, 0, a);
	sim_task(&sim, "B", 0, 1, b);
	sim_task(&sim, "C", 0, 2, c);
	sim_task(&sim, "innocent", 0, 3, busy);
	sim_play(150 * MS, 4);
}

static inline void reopen_triangle(void)
{
	play_triangle("A");
	reopen("A");
}

#endif
