// SPDX-License-Identifier: GPL-2.0-or-later
/* Which waits belong to a path of a descent, and how much they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/descent/first_hop.h"

enum { OP = 7, MS = 1000000, TIMER = BRACKET_CLOCK << 12 };

static const struct rec_frame stack[] = {{1, 0x110, 0x100}, {1, 0x210, 0x200}, {2, 0x30, 0x20}};
static const struct rec_frame other_stack[] = {{1, 0x120, 0x100}, {2, 0x38, 0x20}};

/* f0 > 0x200 > the library's 0x20, and f0 > an unknown callee; 0x200 jumps to 0x300. */
static struct descent_fnode nodes[] = {
    {.node = 0, .function = {1, 0x100}},
    {.node = 1, .function = {1, 0x200}, .ret = 0x110},
    {.node = 2, .function = {2, 0x20}, .ret = 0x210},
    {.node = 3, .function = {0, 0}, .ret = 0x118},
    {.node = 4, .function = {1, 0x300}},
};
static const struct rec_frame jumped_stack[] = {{1, 0x110, 0x100}, {1, 0x310, 0x300}};
static const uint32_t jump_frames[] = {0, 1, 4};
static const uint32_t long_frames[] = {0, 1, 2}, short_frames[] = {0, 2}, unknown_frames[] = {0, 3},
		      backward_frames[] = {2, 1};
static const struct descent_result result = {.nr_nodes = 5, .nodes = nodes};

static struct descent_path path_of(const uint32_t *frames, unsigned int nr, enum cause_kind kind)
{
	return (struct descent_path){.frames = frames, .nr_frames = nr, .cause = {.kind = kind}};
}

static void give_wait(struct hops *h, uint32_t tid, uint64_t at_ns, uint32_t bracket,
		      const struct rec_frame *frames, uint32_t nr)
{
	char call[] = "clock_nanosleep", name[] = "";
	struct record rec = {.type = REC_WITNESS};

	/* its texts are gone when this returns */
	rec.witness = (struct rec_witness){
	    .op = OP,
	    .tid = tid,
	    .at_ns = at_ns,
	    .weight_ns = 2 * MS,
	    .kind = WITNESS_SLEEP,
	    .nr_frames = nr,
	    .frames = frames,
	    .sleep = {
		.call = call, .name = name, .bracket = bracket, .waker = name, .holder = name}};
	hops_feed(h, OP, &rec);
	memset(call, 'x', sizeof(call) - 1);
}

static void give_call(struct hops *h, uint32_t tid, uint64_t start_ns, uint64_t latency_ns)
{
	struct record rec = {.type = REC_CALL};

	rec.call = (struct rec_call){.op = OP,
				     .pid = 90,
				     .tid = tid,
				     .start_ns = start_ns,
				     .latency_ns = latency_ns,
				     .raw_ns = latency_ns};
	hops_feed(h, OP, &rec);
}

static const struct hop *find(const struct hops *h, const uint32_t *frames, unsigned int nr,
			      enum cause_kind kind)
{
	struct descent_path p = path_of(frames, nr, kind);

	return hops_find(h, &result, &p);
}

static int setup(void **state)
{
	*state = hops_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	hops_free(*state);
	return 0;
}

static void before_its_call(void **state)
{
	const struct hop *hop;

	give_wait(*state, 5, 10 * MS, TIMER, stack, 3);
	/* not yet known whether that call is in the peak */
	assert_null(find(*state, long_frames, 3, CAUSE_SLEEP));
	give_call(*state, 5, 7 * MS, 4 * MS);
	hop = find(*state, long_frames, 3, CAUSE_SLEEP);
	assert_non_null(hop);
	assert_int_equal(hop->ns, 2 * MS);
	assert_int_equal(hop->count, 1);
	assert_int_equal(hop->pid, 90);
	assert_int_equal(hop->tid, 5);
	assert_int_equal(hop->nr_frames, 3);
	assert_int_equal(hop->frame[2].offset, 0x30);
	assert_string_equal(hop->sleep.call, "clock_nanosleep");
	assert_ptr_equal(hop->sleep.call, hop->texts.call);
}

static void after_its_call(void **state)
{
	give_call(*state, 5, 7 * MS, 4 * MS);
	give_wait(*state, 5, 10 * MS, TIMER, stack, 3);
	assert_non_null(find(*state, long_frames, 3, CAUSE_SLEEP));
}

static void of_other_calls(void **state)
{
	/* another thread, before, after, another operation; a sample of the CPU */
	struct record rec = {.type = REC_WITNESS};

	give_wait(*state, 6, 10 * MS, TIMER, stack, 3);
	give_wait(*state, 5, 6 * MS, TIMER, stack, 3);
	give_call(*state, 5, 7 * MS, 4 * MS);
	give_wait(*state, 5, 12 * MS, TIMER, stack, 3);
	rec.witness = (struct rec_witness){
	    .op = OP + 1,
	    .tid = 5,
	    .at_ns = 10 * MS,
	    .weight_ns = 1,
	    .kind = WITNESS_SLEEP,
	    .sleep = {.call = "nanosleep", .name = "", .waker = "", .holder = ""}};
	hops_feed(*state, OP, &rec);
	rec.witness.op = OP;
	rec.witness.kind = WITNESS_RUN;
	hops_feed(*state, OP, &rec);
	assert_null(find(*state, long_frames, 3, CAUSE_SLEEP));
	assert_null(find(*state, long_frames, 1, CAUSE_SLEEP));
}

static void same_ones_add_up(void **state)
{
	const struct hop *hop;

	for (unsigned int i = 0; i < 20; i++) {
		give_wait(*state, 5, i * 100 * MS + 10 * MS, TIMER, i % 4 ? stack : other_stack,
			  i % 4 ? 3 : 2);
		give_call(*state, 5, i * 100 * MS + 7 * MS, 4 * MS);
	}
	hop = find(*state, long_frames, 3, CAUSE_SLEEP);
	assert_int_equal(hop->count, 15);
	assert_int_equal(hop->ns, 30 * MS);
	/* the heavier of both that end in the library */
	assert_ptr_equal(find(*state, short_frames, 2, CAUSE_SLEEP), hop);
}

static void only_on_the_path(void **state)
{
	give_wait(*state, 5, 10 * MS, TIMER, other_stack, 2);
	give_call(*state, 5, 7 * MS, 4 * MS);
	assert_null(find(*state, long_frames, 3, CAUSE_SLEEP));
	assert_null(find(*state, backward_frames, 2, CAUSE_SLEEP));
	assert_non_null(find(*state, short_frames, 2, CAUSE_SLEEP));
	assert_non_null(find(*state, unknown_frames, 2, CAUSE_SLEEP));
	/* of another kind */
	assert_null(find(*state, short_frames, 2, CAUSE_LOCK));
}

static void another_peak(void **state)
{
	give_wait(*state, 5, 10 * MS, TIMER, stack, 3);
	hops_forget(*state);
	give_call(*state, 5, 7 * MS, 4 * MS);
	assert_null(find(*state, long_frames, 3, CAUSE_SLEEP));
	give_wait(*state, 5, 8 * MS, TIMER, stack, 3);
	assert_non_null(find(*state, long_frames, 3, CAUSE_SLEEP));
}

/* More kinds than are kept: the heavy one stays; nothing grows without bound. */
static void many(void **state)
{
	struct rec_frame one[3];
	uint64_t at = 0;

	memcpy(one, stack, sizeof(one));
	for (unsigned int i = 0; i < 3 * HOPS_MAX; i++) {
		at += 100 * MS;
		give_call(*state, 5, at, 4 * MS);
		give_wait(*state, 5, at + MS, TIMER, stack, 3);
		one[2].offset = 0x1000 + i;
		give_wait(*state, 5, at + 2 * MS, TIMER, one, 3);
		/* of calls that are never told */
		give_wait(*state, 9, at, TIMER, stack, 3);
	}
	assert_int_equal(find(*state, long_frames, 3, CAUSE_SLEEP)->frame[2].offset,
			 stack[2].offset);
	assert_int_equal(find(*state, long_frames, 3, CAUSE_SLEEP)->count, 3 * HOPS_MAX);
}

/* Who has jumped has no frame in the stacks below. */
static void through_a_jump(void **state)
{
	give_wait(*state, 5, 10 * MS, TIMER, jumped_stack, 2);
	give_call(*state, 5, 7 * MS, 4 * MS);
	assert_non_null(find(*state, jump_frames, 3, CAUSE_SLEEP));
	assert_null(find(*state, long_frames, 3, CAUSE_SLEEP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(before_its_call, setup, teardown),
	    cmocka_unit_test_setup_teardown(after_its_call, setup, teardown),
	    cmocka_unit_test_setup_teardown(of_other_calls, setup, teardown),
	    cmocka_unit_test_setup_teardown(same_ones_add_up, setup, teardown),
	    cmocka_unit_test_setup_teardown(only_on_the_path, setup, teardown),
	    cmocka_unit_test_setup_teardown(through_a_jump, setup, teardown),
	    cmocka_unit_test_setup_teardown(another_peak, setup, teardown),
	    cmocka_unit_test_setup_teardown(many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
