// SPDX-License-Identifier: GPL-2.0-or-later
/* The story of one slow call, from its sleeps and the stacks inside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/latency/model.h"
#include "tui/engine/told_call.h"

#define MS 1000000ull

enum { OP = 1, TID = 7, MODULE = 1, SERVE = 0x1000, BACK_OFF = 0x2000, SPIN = 0x3000 };

/* serve() calls back_off(), which calls spin(). */
static const struct rec_frame frames[] = {
    {MODULE, SERVE + 0x10, SERVE}, {MODULE, BACK_OFF + 0x20, BACK_OFF}, {MODULE, SPIN + 0x8, SPIN}};
static const struct rec_op serve = {.op = OP,
				    .layer = LAYER_FUNCTION,
				    .name = "serve@program",
				    .label = "serve",
				    .requested = "serve",
				    .module = "program",
				    .module_id = MODULE,
				    .offset = SERVE,
				    .placement = ""};

/* What was recorded of one call of 80 ms, and its story. */
struct story {
	struct told_calls told;
	struct model *model;
	struct rec_witness sleep;
	struct rec_slow_call call;
	struct descent_driver *driver;
	struct descent_result result;
};

static void story_begin(struct story *s)
{
	*s = (struct story){.model = model_new()};
	assert_non_null(s->model);
	assert_int_equal(told_calls_init(&s->told), 0);
	s->call.call = (struct rec_call){.op = OP,
					 .pid = TID,
					 .tid = TID,
					 .start_ns = 1000 * MS,
					 .latency_ns = 80 * MS,
					 .raw_ns = 80 * MS,
					 .outcome = CALL_RETURNED,
					 .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED |
						  CALL_KNOWN_RUNQUEUE | CALL_KNOWN_NODE_RUNQUEUE,
					 .interrupt_name = "",
					 .preempted_by = ""};
}

/* The call slept all the time, in nanosleep(). */
static void story_sleeps(struct story *s)
{
	s->sleep = (struct rec_witness){.op = OP,
					.tid = TID,
					.at_ns = 1080 * MS,
					.weight_ns = 80 * MS,
					.kind = WITNESS_SLEEP,
					.sleep = SLEEP_NONE,
					.functions = ""};
	s->sleep.sleep.syscall = 35;
	s->sleep.sleep.call = "nanosleep";
	s->sleep.sleep.slept_ns = s->sleep.sleep.asked_ns = 80 * MS;
	s->call.call.blocked_ns = 80 * MS;
	s->call.nr_sleeps = s->call.blocked = 1;
	s->call.sleeps = &s->sleep;
}

static void story_stack(struct story *s, uint32_t tid, enum witness_kind kind, uint64_t at_ns,
			uint32_t nr_frames)
{
	struct record rec = {.type = REC_WITNESS};

	rec.witness = (struct rec_witness){
	    .op = OP,
	    .tid = tid,
	    .at_ns = at_ns,
	    .weight_ns = kind == WITNESS_SLEEP ? 80 * MS : 10 * MS,
	    .kind = kind,
	    .sleep = kind == WITNESS_SLEEP ? s->sleep.sleep : (struct rec_sleep)SLEEP_NONE,
	    .epoch = SLOW_CALL_EPOCH,
	    .nr_frames = nr_frames,
	    .frames = frames,
	    .functions = ""};
	assert_int_equal(told_calls_take(&s->told, &rec), 0);
}

static const struct descent_path *story_tell(struct story *s)
{
	s->driver = told_call(s->told.names, s->model, &serve, &s->call);
	assert_non_null(s->driver);
	assert_int_equal(driver_result(s->driver, &s->result), 0);
	assert_true(s->result.nr_paths > 0);
	return &s->result.paths[0];
}

static void story_end(struct story *s)
{
	descent_result_release(&s->result);
	driver_free(s->driver);
	told_calls_release(&s->told);
	model_free(s->model);
}

/* The functions of the path, as offsets. */
static void assert_path(const struct story *s, const struct descent_path *p, unsigned int nr)
{
	static const uint64_t functions[] = {SERVE, BACK_OFF, SPIN};

	assert_int_equal(p->nr_frames, nr);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(s->result.nodes[p->frames[i]].function.offset, functions[i]);
}

static void test_sleep(void **state)
{
	const struct descent_path *p;
	struct told_seen seen;
	struct story s;

	story_begin(&s);
	story_sleeps(&s);
	story_stack(&s, TID, WITNESS_SLEEP, 1080 * MS, 2);
	/* of another thread, and of another call */
	story_stack(&s, TID + 1, WITNESS_SLEEP, 1080 * MS, 3);
	story_stack(&s, TID, WITNESS_RUN, 1081 * MS, 3);
	p = story_tell(&s);
	assert_path(&s, p, 2);
	assert_int_equal(p->cause.kind, CAUSE_SLEEP);
	assert_true(p->share > 0.99);
	told_seen(s.told.names, &s.call, &seen);
	assert_int_equal(seen.sleeps, 1);
	assert_int_equal(seen.samples, 0);
	story_end(&s);
}

static void test_sleep_without_stack(void **state)
{
	const struct descent_path *p;
	struct story s;

	story_begin(&s);
	story_sleeps(&s);
	p = story_tell(&s);
	assert_path(&s, p, 1);
	assert_int_equal(p->cause.kind, CAUSE_SLEEP);
	story_end(&s);
}

static void test_own_code(void **state)
{
	const struct descent_path *p;
	struct story s;

	story_begin(&s);
	s.call.call.oncpu_ns = 80 * MS;
	/* one sample less than the call had ticks: they stand for all of its time */
	for (uint64_t at = 10; at < 80; at += 10)
		story_stack(&s, TID, WITNESS_RUN, (1000 + at) * MS, 3);
	p = story_tell(&s);
	assert_path(&s, p, 3);
	assert_int_equal(p->cause.kind, CAUSE_OWN_CODE);
	assert_true(p->share > 0.99);
	story_end(&s);
}

static void test_own_code_without_samples(void **state)
{
	const struct descent_path *p;
	struct story s;

	story_begin(&s);
	s.call.call.oncpu_ns = 80 * MS;
	p = story_tell(&s);
	assert_path(&s, p, 1);
	assert_int_equal(p->cause.kind, CAUSE_UNMEASURED);
	story_end(&s);
}

/* A single sample does not say where the rest of the time went. */
static void test_few_samples(void **state)
{
	const struct descent_path *p;
	struct story s;

	story_begin(&s);
	s.call.call.oncpu_ns = 80 * MS;
	story_stack(&s, TID, WITNESS_RUN, 1070 * MS, 3);
	p = story_tell(&s);
	assert_int_equal(p->frames[p->nr_frames - 1], p->frames[0]);
	assert_int_equal(p->cause.kind, CAUSE_UNMEASURED);
	story_end(&s);
}

/* Of many samples some are used, which stand for the others, too. */
static void test_many_samples(void **state)
{
	const struct descent_path *p;
	struct told_seen seen;
	struct story s;

	story_begin(&s);
	s.call.call.oncpu_ns = 80 * MS;
	/* the last ones, of all that were taken most, in spin() */
	for (uint64_t at = 1; at < 800; at++)
		story_stack(&s, TID, WITNESS_RUN, 1000 * MS + at * MS / 10, at < 200 ? 2 : 3);
	told_seen(s.told.names, &s.call, &seen);
	assert_int_equal(seen.samples, 799);
	p = story_tell(&s);
	assert_path(&s, p, 3);
	assert_int_equal(p->cause.kind, CAUSE_OWN_CODE);
	assert_true(p->share > 0.7 && p->share < 0.8);
	story_end(&s);
}

/* The oldest stacks make room, and what is said of their calls is that these may have had some. */
static void test_oldest_are_dropped(void **state)
{
	const struct descent_path *p;
	struct told_seen seen;
	struct story s;

	story_begin(&s);
	s.call.call.oncpu_ns = 80 * MS;
	story_stack(&s, TID, WITNESS_RUN, 1010 * MS, 3);
	told_seen(s.told.names, &s.call, &seen);
	assert_int_equal(seen.samples, 1);
	assert_false(seen.forgotten);
	for (uint64_t i = 0; i < 20000; i++)
		story_stack(&s, TID + 1, WITNESS_RUN, 1100 * MS + i, 3);
	told_seen(s.told.names, &s.call, &seen);
	assert_int_equal(seen.samples, 0);
	assert_true(seen.forgotten);
	/* a later call has its own */
	s.call.call.start_ns = 2000 * MS;
	for (uint64_t at = 10; at <= 80; at += 10)
		story_stack(&s, TID, WITNESS_RUN, (2000 + at) * MS, 3);
	told_seen(s.told.names, &s.call, &seen);
	assert_int_equal(seen.samples, 8);
	assert_false(seen.forgotten);
	p = story_tell(&s);
	assert_path(&s, p, 3);
	assert_int_equal(p->cause.kind, CAUSE_OWN_CODE);
	story_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sleep),
	    cmocka_unit_test(test_sleep_without_stack),
	    cmocka_unit_test(test_own_code),
	    cmocka_unit_test(test_own_code_without_samples),
	    cmocka_unit_test(test_few_samples),
	    cmocka_unit_test(test_many_samples),
	    cmocka_unit_test(test_oldest_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
