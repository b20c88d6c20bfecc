// SPDX-License-Identifier: GPL-2.0-or-later
/* Slow calls on the screen of a saved session: their list, and the way to the story of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/latency/profile_record.h"
#include "tests/unit/profiles.h"
#include "tests/unit/session_create.h"
#include "tui/cli/script_session.h"
#include "tui/engine/replay.h"
#include "tui/views/views.h"

#define US 1000ull
#define MS (1000 * US)
#define S (1000 * MS)

enum { READ = 1, WRITE = 2, POLL = 3, SLICES = 20, NANOSLEEP = 35 };

static struct session_writer *writer;
static char path[64];

static void put(struct record rec)
{
	assert_int_equal(session_writer_append(writer, &rec), 0);
}

static void put_op(uint32_t op, const char *name, const char *label)
{
	put((struct record){.type = REC_OP,
			    .op = {.op = op,
				   .layer = LAYER_SYSCALL,
				   .syscall_nr = op,
				   .name = name,
				   .label = label,
				   .requested = name,
				   .module = "",
				   .placement = ""}});
}

static void put_slice(uint64_t slice)
{
	static const uint32_t ops[] = {READ, WRITE, POLL};
	struct record rec = {.type = REC_PROFILE};
	struct profile_buckets buckets;
	struct profile p;

	profile_init(&p);
	for (unsigned int i = 0; i < 100; i++)
		profile_add(&p, 10 * US);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		profile_to_record(&p, ops[i], &buckets, &rec.profile);
		rec.profile.start_ns = slice * S;
		rec.profile.end_ns = slice * S + S;
		rec.profile.armed_ns = S;
		put(rec);
	}
	put((struct record){
	    .type = REC_TICK,
	    .tick = {.slice = slice, .start_ns = slice * S, .end_ns = slice * S + S}});
}

/* A call that slept in this system call all the time; `missing`: enum slow_call_missing. */
static void put_slow_of(uint32_t missing, uint32_t op, uint32_t tid, uint64_t start_ns,
			uint64_t latency_ns, const char *call)
{
	struct rec_witness sleep = {.op = op,
				    .tid = tid,
				    .at_ns = start_ns + latency_ns,
				    .weight_ns = latency_ns,
				    .kind = WITNESS_SLEEP,
				    .sleep = SLEEP_NONE,
				    .functions = ""};
	struct rec_slow_call slow = {.call = {.op = op,
					      .pid = 7,
					      .tid = tid,
					      .start_ns = start_ns,
					      .latency_ns = latency_ns,
					      .raw_ns = latency_ns,
					      .blocked_ns = latency_ns,
					      .outcome = CALL_RETURNED,
					      .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED |
						       CALL_KNOWN_RUNQUEUE |
						       CALL_KNOWN_NODE_RUNQUEUE,
					      .interrupt_name = "",
					      .preempted_by = ""},
				     .usual_ns = 10 * US,
				     .limit_ns = 20 * US,
				     .missing = missing,
				     .nr_sleeps = 1,
				     .blocked = 1,
				     .sleeps = &sleep};

	sleep.sleep.syscall = NANOSLEEP;
	sleep.sleep.call = call;
	sleep.sleep.slept_ns = latency_ns;
	put((struct record){.type = REC_SLOW_CALL, .slow_call = slow});
}

static void put_slow(uint32_t op, uint32_t tid, uint64_t start_ns, uint64_t latency_ns,
		     const char *call)
{
	put_slow_of(0, op, tid, start_ns, latency_ns, call);
}

static void put_open(uint32_t tid, uint64_t start_ns, uint64_t now_ns)
{
	put((struct record){.type = REC_OPEN,
			    .open = {.op = WRITE,
				     .pid = 7,
				     .tid = tid,
				     .comm = "writer",
				     .start_ns = start_ns,
				     .age_ns = now_ns - start_ns}});
}

static void session_begin(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/peaktop-slow-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(session_create(&writer, path), 0);
	put((struct record){.type = REC_META,
			    .meta = {.version = "",
				     .host = "",
				     .kernel = "",
				     .boot_id = "",
				     .command = "",
				     .realtime_ns = 1000000 * S,
				     .interval_ns = S,
				     .cpus = 2}});
	put((struct record){.type = REC_TARGET,
			    .target = {.pid = 7, .comm = "x", .exe = "/bin/x", .requested = 1}});
	put_op(READ, "syscall:read", "read");
	put_op(WRITE, "syscall:write", "write");
	put_op(POLL, "syscall:poll", "poll");
}

/* Run the script on the screen of the session. */
static void run(const char *script)
{
	static const struct options usual;
	struct buf out = {.max = 1 << 22};
	struct replay *replay;
	char why[256];
	int err;

	assert_int_equal(session_writer_close(writer), 0);
	assert_int_equal(replay_open(&replay, path, why, sizeof(why)), 0);
	err = script_session(replay, &usual, script, strlen(script), &out);
	if (err)
		fail_msg("%d: %s", err, out.data ? out.data : "");
	buf_release(&out);
	replay_free(replay);
	unlink(path);
}

/* Ordinary calls are those of thread 71. */
static void put_samples(void)
{
	for (uint64_t i = 0; i < 100; i++)
		put((struct record){.type = REC_SAMPLE,
				    .sample = {.op = READ,
					       .tid = 71,
					       .start_ns = i * MS,
					       .latency_ns = 10 * US,
					       .chance_ppm = 1000000}});
}

/* Two calls of read in different seconds, two of write in one, and a wait for work. */
static void some_calls(void)
{
	session_begin();
	put_samples();
	for (uint64_t i = 0; i < SLICES; i++) {
		if (i == 3)
			put_slow(READ, 71, 3 * S + 100 * MS, 300 * MS, "ppoll");
		if (i == 15)
			put_slow(READ, 72, 15 * S + 100 * MS, 400 * MS, "nanosleep");
		if (i == 8) {
			put_slow(WRITE, 73, 8 * S + 100 * MS, 500 * MS, "nanosleep");
			put_slow(WRITE, 74, 8 * S + 200 * MS, 600 * MS, "nanosleep");
		}
		if (i == 9)
			put_slow(POLL, 75, 8 * S, 1500 * MS, "poll");
		if (i == 5 || i == SLICES - 1)
			put_open(76, 4 * S, (i + 1) * S);
		put_slice(i);
	}
}

/* Of a call that was found open, the list and its story say that it took longer. */
static void a_call_whose_begin_is_not_known(void **state)
{
	session_begin();
	put_samples();
	for (uint64_t i = 0; i < SLICES; i++) {
		if (i == 3)
			put_slow(READ, 71, 3 * S + 100 * MS, 310 * MS, "ppoll");
		if (i == 5)
			put_slow_of(SLOW_BEGIN | SLOW_LOOKED, WRITE, 73, 5 * S + 100 * MS, 520 * MS,
				    "nanosleep");
		put_slice(i);
	}
	run("size 110 30\nend\nkey S\nexpect > 520 ms\nexpect 310 ms\nreject > 310 ms\n"
	    "key Home Enter\nexpect at least 520 ms\n");
}

/* A column is half a second. */
static void a_column_of_the_heat_map(void **state)
{
	some_calls();
	run("size 100 30\nend\nkey /\ntype read\nkey Enter Enter m g PgDn Ctrl-D\n"
	    "expect at 0:15\nkey y\nexpect thread 72\nreject thread 71\nexpect 400 ms\n"
	    "expect thread: 72 (ordinary calls: 71)\n"
	    "key q\nexpect at 0:15\nreject thread 72\n"
	    /* one without a slow call */
	    "key Left Left y\nexpect no slow call was kept of this time\nreject thread 7\n"
	    "key g Right Right Right Right Right Right y\nexpect thread 71\n");
}

static void several_calls_of_a_column(void **state)
{
	some_calls();
	run("size 100 30\nend\nkey /\ntype write\nkey Enter Enter m g Ctrl-D\n"
	    "key Right Right Right Right Right Right y\nexpect why it was slow\nexpect 2 calls\n"
	    "expect only those of this operation at this time\n"
	    "expect 500 ms\nexpect 600 ms\nreject 300 ms\nkey j Enter\nexpect thread 73\n"
	    /* the list of all calls, opened above that of some, and that of some again */
	    "key S\nexpect 4 calls\nexpect 1 wait for work not shown\n"
	    "key q q\nexpect 2 calls\nreject 300 ms\n");
}

static void calls_of_an_operation(void **state)
{
	some_calls();
	run("size 100 30\nend\nkey /\ntype read\nkey Enter y\nexpect 2 calls\n"
	    "expect only those of this operation\nreject 500 ms\nkey q\n"
	    /* asked for, a wait for work is explained */
	    "key / Ctrl-U\ntype poll\nkey Enter y\nexpect thread 75\n");
}

static void an_open_call(void **state)
{
	some_calls();
	run("size 100 40\nuntil 6\nkey /\ntype write\nkey Enter Enter Tab y\n"
	    "expect this call is not over at this time of the session\n");
	/* it is over, but the last slice in which it was seen open is shown */
	some_calls();
	put_slow(WRITE, 76, 4 * S, 17 * S, "nanosleep");
	run("size 100 40\nend\nkey /\ntype write\nkey Enter Enter Tab y\nexpect thread 76\n");
}

static void an_event(void **state)
{
	session_begin();
	put_slice(0);
	put_slow(READ, 71, 1 * S, 300 * MS, "nanosleep");
	for (uint64_t i = 1; i < 30; i++)
		put_slice(i);
	put_slow(READ, 72, 29 * S, 400 * MS, "nanosleep");
	put((struct record){.type = REC_NOTE, .note = {.level = NOTE_WARNING, .text = "the jump"}});
	put_slice(30);
	run("size 100 30\nend\nkey v /\ntype jump\nkey Enter y\nexpect thread 72\n");
}

/* What says nothing about calls names what does. */
static void nothing_is_chosen(void **state)
{
	some_calls();
	run("end\nkey i y\nexpect choose an operation\n");
}

/* The numbers of calls in the list differ by 512 and more, because waits for work are between. */
static void sentences_are_those_of_their_calls(void **state)
{
	session_begin();
	put_slow(READ, 71, 10 * MS, 300 * MS, "nanosleep");
	for (uint64_t i = 0; i < SCREEN_SLOW_CALLS_MAX - 1; i++)
		put_slow(POLL, 75, 500 * MS + i * US, 1 * MS, "poll");
	put_slow(READ, 72, 600 * MS, 200 * MS, "ppoll");
	put_slice(0);
	run("size 160 30\nend\nkey S\nexpect 2 calls\n"
	    "expect 200 ms  10.0 us  read                      read, sleeping (ppoll)\n"
	    "expect 300 ms  10.0 us  read                      read, sleeping (nanosleep)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_whose_begin_is_not_known),
	    cmocka_unit_test(a_column_of_the_heat_map),
	    cmocka_unit_test(several_calls_of_a_column),
	    cmocka_unit_test(calls_of_an_operation),
	    cmocka_unit_test(an_open_call),
	    cmocka_unit_test(an_event),
	    cmocka_unit_test(nothing_is_chosen),
	    cmocka_unit_test(sentences_are_those_of_their_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
