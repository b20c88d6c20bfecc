// SPDX-License-Identifier: GPL-2.0-or-later
/* Which chains of waits belong to the calls of a peak, and to a path of its descent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/descent/path_waits.h"
#include "analysis/waits/traces.h"
#include "tests/unit/waits_check.h"

enum { OP = 1024 };

/* ---- the calls of a peak */

/* A waits for B for 3 ms, then for C for 5 ms. */
static const struct sim_op a_script[] = {{LOOP, 10},	      {RUN, 1 * MS}, {POST, 1},
					 {WAIT, 2, HOW_PIPE}, {RUN, 1 * MS}, {POST, 3},
					 {WAIT, 4, HOW_PIPE}, {NEXT},	     {EXIT}};
static const struct sim_op b_script[] = {
    {LOOP, 10}, {WAIT, 1, HOW_PIPE}, {RUN, 3 * MS}, {POST, 2}, {NEXT}, {EXIT}};
static const struct sim_op c_script[] = {
    {LOOP, 10}, {WAIT, 3, HOW_PIPE}, {RUN, 5 * MS}, {POST, 4}, {NEXT}, {EXIT}};

/* When task `by` woke task `wakee` for the n-th time. */
static uint64_t woke(int by, int wakee, unsigned int n)
{
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		const struct rec_waking *k = &sim.records[i].waking;

		if (sim.records[i].type == REC_WAKING && k->current_tid == sim.task[by].tid &&
		    k->wakee_tid == sim.task[wakee].tid && !n--)
			return k->at_ns;
	}
	fail_msg("task %d never woke task %d", by, wakee);
	return 0;
}

static void sample(uint64_t from, uint64_t to)
{
	struct record rec = {.type = REC_SAMPLE};

	rec.sample = (struct rec_sample){
	    .op = OP, .tid = sim.task[0].tid, .start_ns = from, .latency_ns = to - from};
	assert_int_equal(waits_feed(waits, &rec), 0);
}

/* From before A wakes the other until A has run again. */
static void sample_of(int other, unsigned int n)
{
	sample(woke(0, other, n) - 50 * US, woke(other, 0, n) + 300 * US);
}

static void begin_calls(uint64_t low_ns, uint64_t high_ns)
{
	const struct waits_config config = {.no_critical = true,
					    .calls_only = true,
					    .calls_of = OP,
					    .calls_low_ns = low_ns,
					    .calls_high_ns = high_ns};

	sim_begin(&sim, 3);
	sim_task(&sim, "A", TASK_TARGET, 0, a_script);
	sim_task(&sim, "B", 0, 1, b_script);
	sim_task(&sim, "C", 0, 2, c_script);
	sim_play(150 * MS, 3);
	feed_all(&config);
}

static uint64_t followed(void)
{
	struct waits_calls calls;

	waits_calls(waits, &calls);
	return calls.followed;
}

static void test_calls_of_the_peak(void **state)
{
	begin_calls(4 * MS, 8 * MS);
	assert_int_equal(chains.nr, 0);
	for (unsigned int n = 0; n < 9; n++) {
		sample_of(2, n);
		/* not in the range */
		sample_of(1, n);
	}
	take_answers();
	assert_int_equal(followed(), 9);
	expect("A>C", ACCOUNT_RUN_UNSAMPLED, 45);
	expect_absent("B");
}

static void test_calls_of_the_other_peak(void **state)
{
	begin_calls(1 * MS, 4 * MS);
	for (unsigned int n = 0; n < 9; n++) {
		sample_of(1, n);
		sample_of(2, n);
	}
	take_answers();
	assert_int_equal(followed(), 9);
	expect("A>B", ACCOUNT_RUN_UNSAMPLED, 27);
	expect_absent("C");
}

/* Another operation, and calls that were not seen as a whole. */
static void test_calls_that_do_not_count(void **state)
{
	struct record rec = {.type = REC_SAMPLE};
	uint64_t from, to;

	begin_calls(0, UINT64_MAX);
	from = woke(0, 2, 4) - 50 * US;
	to = woke(2, 0, 4) + 300 * US;
	sample(from, to);
	rec.sample = (struct rec_sample){
	    .op = OP + 1, .tid = sim.task[0].tid, .start_ns = woke(0, 2, 6), .latency_ns = 6 * MS};
	assert_int_equal(waits_feed(waits, &rec), 0);
	sample(0, 5 * MS);		    /* began before the window */
	sample(woke(0, 2, 7), 100000 * MS); /* ended after it */
	take_answers();
	assert_int_equal(followed(), 1);
	expect("A>C", ACCOUNT_RUN_UNSAMPLED, 5);
	expect_absent("B");
}

/* Calls are told while the window is open, before their switches have been put in order. */
static void test_call_comes_early(void **state)
{
	const struct waits_config config = {
	    .no_critical = true, .calls_only = true, .calls_of = OP, .calls_high_ns = 8 * MS};
	uint64_t to;

	begin_calls(0, 8 * MS);
	to = woke(2, 0, 3) + 300 * US;
	waits_free(waits);
	waits = waits_new(&config);
	assert_non_null(waits);
	for (uint32_t i = 0; i < sim.nr_records; i++) {
		const struct record *r = &sim.records[i];

		assert_int_equal(waits_feed(waits, r), 0);
		if (r->type == REC_WAKING && r->waking.at_ns == woke(2, 0, 3))
			sample(woke(0, 2, 3) - 50 * US, to);
	}
	waits_flush(waits);
	take_answers();
	assert_int_equal(followed(), 1);
	expect("A>C", ACCOUNT_RUN_UNSAMPLED, 5);
}

/* A wait of 2 ms that is begun again until B ends it is for B all the time. */
static void test_wait_that_is_begun_again(void **state)
{
	static const struct sim_op waiter[] = {{LOOP, 5},
					       {RUN, 1 * MS},
					       {POST, 1},
					       {LOOP, 2},
					       {WAIT_FOR, 2, HOW_CONDITION, 2 * MS},
					       {RUN, 20 * US},
					       {NEXT},
					       {WAIT, 2, HOW_CONDITION},
					       {NEXT},
					       {EXIT}};
	static const struct sim_op worker[] = {
	    {LOOP, 5}, {WAIT, 1, HOW_PIPE}, {RUN, 7 * MS}, {POST, 2}, {NEXT}, {EXIT}};
	const struct waits_config config = {
	    .no_critical = true, .calls_only = true, .calls_of = OP, .calls_high_ns = UINT64_MAX};

	sim_begin(&sim, 2);
	sim_task(&sim, "A", TASK_TARGET, 0, waiter);
	sim_task(&sim, "B", 0, 1, worker);
	sim_play(150 * MS, 2);
	feed_all(&config);
	for (unsigned int n = 1; n < 4; n++)
		sample(woke(0, 1, n), woke(1, 0, n) + 10 * US);
	take_answers();
	assert_int_equal(followed(), 3);
	expect("A>B", ACCOUNT_RUN_UNSAMPLED, 21);
	expect("A", ACCOUNT_TIMED_OUT, 0);
}

/* ---- the chains of a path */

/* f0 > 0x200 > the library's 0x20, and f0 > 0x300 */
static struct descent_fnode nodes[] = {
    {.node = 0, .function = {1, 0x100}},
    {.node = 1, .function = {1, 0x200}, .ret = 0x110},
    {.node = 2, .function = {2, 0x20}, .ret = 0x210},
    {.node = 3, .function = {1, 0x300}, .ret = 0x120},
};
static const uint32_t long_frames[] = {0, 1, 2}, other_frames[] = {0, 3}, call_frame[] = {0};
static const struct rec_frame outer_stack[] = {
    {1, 0x10, 0x8}, {1, 0x110, 0x100}, {1, 0x210, 0x200}, {2, 0x30, 0x20}, {2, 0x90, 0x80}};
static const struct rec_frame other_stack[] = {
    {1, 0x10, 0x8}, {1, 0x120, 0x100}, {1, 0x310, 0x300}};
static const struct trace long_trace = {.content = 1,
					.path = 1,
					.nr_frames = 5,
					.frames = outer_stack},
			  other_trace = {
			      .content = 2, .path = 2, .nr_frames = 3, .frames = other_stack};
static struct waits_node made[24];
static struct waits_chains all, found;

static uint32_t add_node(uint32_t parent, const char *comm, enum layer_state layer,
			 enum wait_kind kind, const struct trace *stack, uint64_t ns)
{
	uint32_t i = all.nr++;

	made[i] = (struct waits_node){.parent = parent == UINT32_MAX ? i : parent,
				      .layer = {.state = layer,
						.tid = comm[0] ? 7 : 0,
						.comm = comm,
						.kind = kind,
						.syscall = layer == CHAIN_SLEEP ? SYS_read : -1,
						.what = "",
						.user = stack,
						.hint = ""},
				      .self_ns = ns,
				      .total_ns = ns,
				      .count = 1};
	if (parent != UINT32_MAX)
		made[parent].total_ns += ns;
	return i;
}

static struct descent_path path_of(const uint32_t *frames, unsigned int nr, enum cause_kind kind)
{
	return (struct descent_path){.frames = frames, .nr_frames = nr, .cause = {.kind = kind}};
}

static int begin_path(void **state)
{
	uint32_t root;

	all = (struct waits_chains){.nodes = made};
	found = (struct waits_chains){0};
	root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_PIPE_EMPTY, &long_trace, 0);
	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, NULL, 3 * MS);
	root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_PIPE_EMPTY, &other_trace, 0);
	add_node(root, "C", CHAIN_RUN, WAIT_UNKNOWN, NULL, 9 * MS);
	add_node(UINT32_MAX, "A", CHAIN_RUN, WAIT_UNKNOWN, &long_trace, 20 * MS);
	return 0;
}

static int end_path(void **state)
{
	waits_chains_release(&found);
	return 0;
}

static void find(struct descent_path *paths, unsigned int nr_paths, unsigned int which)
{
	const struct descent_result r = {
	    .nr_nodes = 4, .nodes = nodes, .nr_paths = nr_paths, .paths = paths};

	waits_chains_release(&found);
	assert_int_equal(path_waits_find(&all, &r, &paths[which], &found), 0);
}

static void test_chains_of_a_path(void **state)
{
	struct descent_path paths[] = {path_of(long_frames, 3, CAUSE_WAIT),
				       path_of(other_frames, 2, CAUSE_WAIT)};
	uint32_t best;

	find(paths, 2, 0);
	assert_int_equal(found.nr, 2);
	assert_int_equal(found.total_ns, 3 * MS);
	best = path_waits_largest(&found);
	assert_true(best < found.nr);
	assert_string_equal(found.nodes[best].layer.comm, "B");
	assert_int_equal(found.nodes[best].parent, 0);
	find(paths, 2, 1);
	assert_int_equal(found.nr, 2);
	assert_string_equal(found.nodes[path_waits_largest(&found)].layer.comm, "C");
}

static void test_kind_must_fit(void **state)
{
	static const enum cause_kind kinds[] = {CAUSE_LOCK, CAUSE_IO, CAUSE_OWN_CODE, CAUSE_SLEEP};

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct descent_path path = path_of(long_frames, 3, kinds[i]);

		find(&path, 1, 0);
		assert_int_equal(found.nr, 0);
		assert_int_equal(path_waits_largest(&found), 0);
	}
}

/* A sleep without a stack counts if only one path can be meant, and joins the one with a stack. */
static void test_stack_not_known(void **state)
{
	struct descent_path paths[] = {path_of(long_frames, 3, CAUSE_WAIT),
				       path_of(other_frames, 2, CAUSE_OWN_CODE)};
	uint32_t root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_PIPE_EMPTY, NULL, 0);

	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, NULL, 4 * MS);
	find(paths, 2, 0);
	assert_int_equal(found.nr, 2);
	assert_int_equal(found.nodes[path_waits_largest(&found)].self_ns, 7 * MS);
	assert_int_equal(found.nodes[path_waits_largest(&found)].count, 2);
	assert_ptr_equal(found.nodes[0].layer.user, &long_trace);
	paths[1].cause.kind = CAUSE_IO;
	find(paths, 2, 0);
	assert_int_equal(found.nodes[path_waits_largest(&found)].self_ns, 3 * MS);
}

/* What is the same is joined below its own parent only, in the place where it was first. */
static void test_many_that_are_alike(void **state)
{
	static struct waits_node many[3 * 200];
	struct descent_path path = path_of(long_frames, 3, CAUSE_WAIT);
	const struct waits_node sleep = made[0], run = made[1];

	for (uint32_t i = 0; i < 200; i++) {
		struct waits_node *n = &many[3 * i];

		n[0] = sleep;
		n[0].parent = 3 * i;
		n[0].layer.tid = 100 + i % 50;
		n[0].layer.user = i % 100 < 50 ? &long_trace : NULL;
		for (uint32_t k = 1; k < 3; k++) {
			n[k] = run;
			n[k].parent = 3 * i;
			n[k].layer.tid = 1000 + k;
		}
	}
	all = (struct waits_chains){.nr = 3 * 200, .nodes = many};
	find(&path, 1, 0);
	assert_int_equal(found.nr, 3 * 50);
	for (uint32_t i = 0; i < found.nr; i++) {
		assert_int_equal(found.nodes[i].parent, i - i % 3);
		assert_int_equal(found.nodes[i].layer.tid, i % 3 ? 1000 + i % 3 : 100 + i / 3);
		assert_int_equal(found.nodes[i].count, 4);
	}
	all.nodes = made;
}

/* ---- who had the lock for which a path waits */

/* Waits for the lock of this number. */
static uint32_t add_lock(uint64_t lock, uint64_t count)
{
	uint32_t node = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_LOCK, &long_trace, 0);

	made[node].locks = (struct lock_waits){lock, count};
	return node;
}

static uint32_t add_turn(uint32_t lock, uint32_t tid, const char *comm, uint64_t ns)
{
	uint32_t node = add_node(lock, comm, CHAIN_RUN, WAIT_UNKNOWN, NULL, ns);

	made[node].layer.tid = tid;
	return node;
}

static struct cause cause_of_turns(uint32_t *holders)
{
	struct descent_path path = path_of(long_frames, 3, CAUSE_LOCK);
	struct cause cause = {.kind = CAUSE_LOCK, .name = "last", .detail = "futex"};
	struct lock_turns turns;

	find(&path, 1, 0);
	assert_int_equal(path_waits_turns(&found, &turns), 0);
	path_waits_name(&found, &turns, &cause);
	*holders = turns.holders;
	return cause;
}

/* No waits were traced: there are no nodes. */
static void test_no_chains_name_nobody(void **state)
{
	struct cause cause = {.kind = CAUSE_LOCK, .name = "last", .detail = "futex"};
	struct waits_chains none = {0};
	struct lock_turns turns;

	assert_int_equal(path_waits_turns(&none, &turns), 0);
	assert_int_equal(turns.holders, 0);
	path_waits_name(&none, &turns, &cause);
	assert_string_equal(cause.name, "last");
	assert_string_equal(cause.detail, "futex");
}

static void test_who_had_a_lock_longest(void **state)
{
	uint32_t lock = add_lock(8, 5), nr, node;
	struct cause cause;

	/* one holder: whoever released it had it */
	add_turn(lock, 20, "worker", 2 * MS);
	cause = cause_of_turns(&nr);
	assert_int_equal(nr, 1);
	assert_string_equal(cause.name, "last");
	assert_string_equal(cause.detail, "futex");
	/* threads of one name are several holders; what the hoarder waited for was its turn, too */
	add_turn(lock, 21, "worker", 2 * MS);
	add_turn(lock, 20, "worker", 1 * MS);
	node = add_turn(lock, 30, "hoarder", 1 * MS);
	add_turn(node, 40, "disk", 4 * MS);
	cause = cause_of_turns(&nr);
	assert_int_equal(nr, 3);
	assert_string_equal(cause.name, "hoarder");
	assert_int_equal(cause.tid, 30);
	assert_string_equal(
	    cause.detail, "thread 30, longest of 3 threads that had it in turn, 50% of that time");
}

static void test_nobody_had_a_lock_for_long(void **state)
{
	uint32_t lock = add_lock(8, 5), nr;
	struct cause cause;

	for (uint32_t i = 0; i < 5; i++)
		add_turn(lock, 20 + i, "worker", MS);
	cause = cause_of_turns(&nr);
	assert_int_equal(nr, 5);
	assert_string_equal(cause.name, "5 threads named worker");
	assert_string_equal(cause.detail, "in turn, none of them for more than 20% of that time");
	assert_int_equal(cause.tid, 0);
	add_turn(lock, 30, "other", MS);
	assert_string_equal(cause_of_turns(&nr).name, "6 threads");
}

/* Each thread always has the same one of two locks: neither had the other's. */
static void test_turns_of_several_locks(void **state)
{
	uint32_t one = add_lock(8, 3), other, nr;
	struct cause cause;

	add_turn(one, 20, "worker", 2 * MS);
	other = add_lock(16, 2);
	add_turn(other, 21, "worker", 6 * MS);
	cause = cause_of_turns(&nr);
	assert_int_equal(nr, 2);
	assert_string_equal(cause.detail, "thread 21, longest of 2 threads that had the locks "
					  "waited for here, 75% of that time");
	for (uint32_t i = 0; i < 6; i++)
		add_turn(one, 30 + i, "worker", 5 * MS);
	cause = cause_of_turns(&nr);
	assert_string_equal(cause.name, "8 threads named worker");
	assert_string_equal(cause.detail, "they had the locks waited for here, none of them for "
					  "more than 16% of that time");
}

/* What a few waits say does not replace what all waits of the descent say. */
static void test_few_turns(void **state)
{
	uint32_t lock = add_lock(8, 4), nr;
	struct cause cause;

	add_turn(lock, 20, "worker", 2 * MS);
	add_turn(lock, 21, "worker", 6 * MS);
	cause = cause_of_turns(&nr);
	assert_int_equal(nr, 2);
	assert_string_equal(cause.name, "last");
	assert_string_equal(cause.detail, "futex");
	made[lock].locks.count = 5;
	assert_string_equal(cause_of_turns(&nr).name, "worker");
}

/* Whoever ends a wait for a lock of the kernel need not have had it. */
static void test_turns_of_other_waits(void **state)
{
	uint32_t lock = add_lock(8, 5), nr;

	made[lock].layer.kind = WAIT_KERNEL_LOCK;
	add_turn(lock, 20, "worker", 2 * MS);
	add_turn(lock, 21, "worker", 2 * MS);
	assert_string_equal(cause_of_turns(&nr).name, "last");
	assert_int_equal(nr, 0);
}

static void test_of_a_system_call(void **state)
{
	struct descent_fnode call = {.function = {REC_KERNEL_MODULE, REC_KERNEL_CALL | SYS_read}};
	struct descent_path path = path_of(call_frame, 1, CAUSE_WAIT);
	struct descent_result r = {.nr_nodes = 1, .nodes = &call, .nr_paths = 1, .paths = &path};

	assert_int_equal(path_waits_find(&all, &r, &path, &found), 0);
	assert_int_equal(found.nr, 4);
	waits_chains_release(&found);
	call.function.offset = REC_KERNEL_CALL | SYS_write;
	assert_int_equal(path_waits_find(&all, &r, &path, &found), 0);
	assert_int_equal(found.nr, 0);
	waits_chains_release(&found);
	/* a function of the kernel may be called in any system call */
	call.function.offset = 0x1000;
	assert_int_equal(path_waits_find(&all, &r, &path, &found), 0);
	assert_int_equal(found.nr, 4);
	waits_chains_release(&found);
}

/* ---- threads that wait for the same */

enum { THREADS = 2, CHAIN = 2 };

/* Each of two threads sleeps for one holder. */
static void chains_of_threads(struct waits_chains *c)
{
	static const char *const waiter = "worker", *const holder = "journal", *const none = "";

	*c = (struct waits_chains){.nr = THREADS * CHAIN,
				   .nodes = calloc(THREADS * CHAIN, sizeof(*c->nodes))};
	assert_non_null(c->nodes);
	for (uint32_t i = 0; i < c->nr; i++) {
		uint32_t thread = i / CHAIN;
		struct waits_node *n = &c->nodes[i];

		*n = (struct waits_node){
		    .parent = thread * CHAIN, .count = 1, .self_ns = i % CHAIN * MS};
		n->layer = (struct waits_layer){.state = CHAIN_SLEEP,
						.pid = 10,
						.tid = 11 + thread,
						.comm = waiter,
						.what = none,
						.hint = none,
						.syscall = SYS_write};
		if (i % CHAIN) {
			n->layer.tid = 20;
			n->layer.comm = holder;
		}
	}
	c->total_ns = THREADS * MS;
}

static void test_threads_are_joined(void **state)
{
	struct waits_chains c;

	(void)state;
	chains_of_threads(&c);
	assert_int_equal(waits_chains_join(&c, WAITS_BY_THREAD), 0);
	assert_int_equal(c.nr, THREADS * CHAIN);
	waits_chains_release(&c);

	chains_of_threads(&c);
	assert_int_equal(waits_chains_join(&c, WAITS_BY_PROCESS), 0);
	assert_int_equal(c.nr, CHAIN);
	assert_int_equal(c.nodes[0].layer.tid, 10);
	assert_int_equal(c.nodes[0].layer.tasks, THREADS);
	/* the holder is still told by its thread */
	assert_int_equal(c.nodes[1].layer.tid, 20);
	assert_int_equal(c.nodes[1].self_ns, THREADS * MS);
	assert_int_equal(c.nodes[0].total_ns, THREADS * MS);
	waits_chains_release(&c);
}

/* ---- one wait, with and without its stack */

/* The sleeps of A, and its runs: with and without a stack, in vain, since before the window. */
static void begin_parts(const struct trace *other)
{
	uint32_t root;

	all = (struct waits_chains){.nodes = made};
	root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_CONDITION, &long_trace, 0);
	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, &long_trace, 1 * MS);
	root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_CONDITION, other, 0);
	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, NULL, 2 * MS);
	root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_CONDITION, NULL, 0);
	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, &long_trace, 4 * MS);
	root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_CONDITION, NULL, 0);
	all.nodes[root].layer.notes = NOTE_FALSE_WAKEUP;
	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, NULL, 8 * MS);
	add_node(UINT32_MAX, "A", CHAIN_RUN, WAIT_UNKNOWN, &long_trace, 16 * MS);
	add_node(UINT32_MAX, "A", CHAIN_RUN, WAIT_UNKNOWN, NULL, 32 * MS);
}

static struct waits_chains joined_parts(void)
{
	struct waits_chains c = all;

	c.nodes = calloc(all.nr, sizeof(*c.nodes));
	assert_non_null(c.nodes);
	memcpy(c.nodes, all.nodes, all.nr * sizeof(*c.nodes));
	assert_int_equal(waits_chains_join(&c, WAITS_BY_THREAD), 0);
	return c;
}

/* The time below the outermost sleep of A with this stack and notes. */
static uint64_t slept_ns(const struct waits_chains *c, const struct trace *stack, uint32_t notes)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct waits_node *n = &c->nodes[i];

		if (n->parent == i && n->layer.state == CHAIN_SLEEP && n->layer.user == stack &&
		    n->layer.notes == notes)
			ns += n->total_ns;
	}
	return ns;
}

/* A wait joins the same one with a stack, if nearly all have that stack. Runs stay apart. */
static void test_parts_of_a_wait(void **state)
{
	struct waits_chains c;

	begin_parts(&long_trace);
	c = joined_parts();
	assert_int_equal(slept_ns(&c, &long_trace, 0), 7 * MS);
	assert_int_equal(slept_ns(&c, &long_trace, NOTE_FALSE_WAKEUP), 0);
	assert_int_equal(slept_ns(&c, NULL, NOTE_FALSE_WAKEUP), 8 * MS);
	assert_int_equal(slept_ns(&c, NULL, 0), 0);
	assert_int_equal(c.nr, 3 + 2 + 2);
	waits_chains_release(&c);

	/* another one that is too short to matter */
	begin_parts(&other_trace);
	all.nodes[2].total_ns = all.nodes[3].self_ns = 100 * US;
	c = joined_parts();
	assert_int_equal(slept_ns(&c, &long_trace, 0), 5 * MS);
	assert_int_equal(slept_ns(&c, &other_trace, 0), 100 * US);
	waits_chains_release(&c);

	begin_parts(&other_trace);
	c = joined_parts();
	assert_int_equal(slept_ns(&c, &long_trace, 0), 1 * MS);
	assert_int_equal(slept_ns(&c, &other_trace, 0), 2 * MS);
	assert_int_equal(slept_ns(&c, NULL, 0), 4 * MS);
	waits_chains_release(&c);
}

/* A sentence shows no stacks: one wait, and one run. */
static void test_outline(void **state)
{
	struct waits_chains c;

	begin_parts(&other_trace);
	assert_int_equal(waits_chains_outline(&all, WAITS_BY_THREAD, &c), 0);
	assert_int_equal(c.nr, 3);
	for (uint32_t i = 0; i < c.nr; i++) {
		const struct waits_node *n = &c.nodes[i];
		bool below = n->parent != i;

		assert_int_equal(n->layer.notes, 0);
		assert_int_equal(n->total_ns,
				 n->layer.state == CHAIN_RUN && !below ? 48 * MS : 15 * MS);
		assert_string_equal(n->layer.comm, below ? "B" : "A");
	}
	assert_int_equal(c.total_ns, 63 * MS);
	waits_chains_release(&c);
}

/* A task that took the CPU of the thread: the thread did not sleep for it. */
static void test_no_sleep(void **state)
{
	struct descent_path paths[] = {path_of(long_frames, 3, CAUSE_WAIT),
				       path_of(long_frames, 1, CAUSE_WAIT)};
	uint32_t root = add_node(UINT32_MAX, "A", CHAIN_SLEEP, WAIT_PIPE_EMPTY, NULL, 0);

	add_node(root, "B", CHAIN_RUN, WAIT_UNKNOWN, NULL, 4 * MS);
	paths[1].cause.took_cpu = true;
	find(paths, 2, 1);
	assert_int_equal(found.nr, 0);
	/* and no other path but the first can be meant by a sleep without a stack */
	find(paths, 2, 0);
	assert_int_equal(found.total_ns, 7 * MS);
}

/*
 * A thread writes: the device works for 70 ms, a worker of the kernel hands 15 ms of requests to
 * it, and is without work for 18 ms of them. Neither is what the thread waits for most of the time.
 */
static void test_a_device_works_for_most_of_the_time(void **state)
{
	struct waits_node parts[] = {
	    {.parent = 0,
	     .layer = {.state = CHAIN_SLEEP, .kind = WAIT_FILE, .comm = "A", .tid = 1}},
	    {.parent = 0, .layer = {.state = CHAIN_IO, .comm = ""}, .self_ns = 70 * MS},
	    {.parent = 0,
	     .layer = {.state = CHAIN_RUN, .comm = "kworker", .tid = 2},
	     .self_ns = 15 * MS},
	    {.parent = 0,
	     .layer =
		 {.state = CHAIN_SLEEP, .kind = WAIT_KERNEL_IDLE, .comm = "kworker", .tid = 2}},
	    {.parent = 3, .layer = {.state = CHAIN_IO, .comm = ""}, .self_ns = 18 * MS}};
	struct waits_chains c = {.nodes = parts, .nr = 5};

	assert_int_equal(path_waits_most(&c, NULL).node, c.nr);
	/* the worker runs for longer than the device works */
	parts[2].self_ns = 100 * MS;
	assert_int_equal(path_waits_most(&c, NULL).node, 2);
	/* without work it is none, whatever the time */
	parts[2].self_ns = 0;
	parts[4].self_ns = 500 * MS;
	assert_int_equal(path_waits_most(&c, NULL).node, c.nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_calls_of_the_peak, teardown),
	    cmocka_unit_test_teardown(test_calls_of_the_other_peak, teardown),
	    cmocka_unit_test_teardown(test_calls_that_do_not_count, teardown),
	    cmocka_unit_test_teardown(test_call_comes_early, teardown),
	    cmocka_unit_test_teardown(test_wait_that_is_begun_again, teardown),
	    cmocka_unit_test_setup_teardown(test_chains_of_a_path, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_kind_must_fit, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_stack_not_known, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_of_a_system_call, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_many_that_are_alike, begin_path, end_path),
	    cmocka_unit_test(test_no_chains_name_nobody),
	    cmocka_unit_test_setup_teardown(test_who_had_a_lock_longest, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_nobody_had_a_lock_for_long, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_turns_of_several_locks, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_few_turns, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_turns_of_other_waits, begin_path, end_path),
	    cmocka_unit_test_setup_teardown(test_no_sleep, begin_path, end_path),
	    cmocka_unit_test(test_threads_are_joined),
	    cmocka_unit_test(test_parts_of_a_wait),
	    cmocka_unit_test(test_outline),
	    cmocka_unit_test(test_a_device_works_for_most_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
