// SPDX-License-Identifier: GPL-2.0-or-later
/* A descent over its records: asked again, ended early, fed with garbage. */
#include <math.h>
#include <time.h>

#include "tests/unit/descent/bench.h"

/* --- ends */

static void target(struct bench *b, enum record_type type, uint32_t pid)
{
	struct record rec = {.type = type};

	if (type == REC_TARGET)
		rec.target.pid = pid;
	else
		rec.target_end.pid = pid;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
}

static void test_target_ends(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	target(&b, REC_TARGET_END, 5);
	expect_done(&b, DESCENT_TARGET_END);
	expect_path(&b, 0, "a", CAUSE_UNMEASURED); /* what was found stays */
	bench_end(&b);
	/* Of several targets the last one. */
	bench_begin(&b);
	target(&b, REC_TARGET, 5);
	target(&b, REC_TARGET, 6);
	target(&b, REC_TARGET, 6); /* exec */
	start(&b, true);
	target(&b, REC_TARGET_END, 6);
	expect_done(&b, DESCENT_IN_PROGRESS);
	target(&b, REC_TARGET_END, 5);
	expect_done(&b, DESCENT_TARGET_END);
	bench_end(&b);
}

/* What its new callees took is its own still, as long as nothing was decided. */
static void test_target_ends_undecided(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	assert_non_null(armed(&b, "ab"));
	CALLS(3, &b, 10 * MS, P("a", 9 * MS), P("ab", 8900 * US));
	target(&b, REC_TARGET_END, 5);
	expect_done(&b, DESCENT_TARGET_END);
	expect_path(&b, 0, "a", CAUSE_UNMEASURED);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_true(r.paths[0].share > 0.85 && r.paths[0].share < 0.95);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_stopped(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(19, &b, 10 * MS, P("a", 9 * MS));
	descent_stop(b.d);
	act(&b);
	assert_true(b.done);
	assert_int_equal(descent_status(b.d), DESCENT_TOO_FEW);
	bench_end(&b);
	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(21, &b, 10 * MS, P("a", 9 * MS));
	descent_stop(b.d);
	assert_int_equal(descent_status(b.d), DESCENT_IN_PROGRESS);
	assert_int_equal(nr_paths(&b), 1);
	bench_end(&b);
}

/* --- another peak */

static void test_another_peak(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);
	struct descent_result first, second;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	site(&b, 'a', 'b');
	site(&b, 'c', 'd');
	start(&b, true);
	CALLS(40, &b, 10 * MS, P("a", 9 * MS), P("ab", 9 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "ab", CAUSE_OWN_CODE);
	assert_string_equal(b.expanded, "0ab");
	assert_int_equal(descent_result(b.d, &first), 0);
	rec.descent.low_ns = MS;
	rec.descent.high_ns = 2 * MS;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	/* It begins at once: there is a start profile, and the code is known. */
	assert_non_null(armed(&b, "a"));
	assert_non_null(armed(&b, "c"));
	expect_done(&b, DESCENT_IN_PROGRESS);
	CALLS(30, &b, 10 * MS, P("a", 9 * MS)); /* the first peak's calls */
	CALLS(40, &b, 1500 * US, P("c", 1400 * US), P("cd", 1300 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "cd", CAUSE_OWN_CODE);
	assert_string_equal(b.expanded, "0abcd");
	assert_int_equal(descent_result(b.d, &second), 0);
	assert_int_equal(second.calls_used, 40);
	assert_int_equal(second.nr_paths, 1);
	assert_false(descent_same_path(&first, &second));
	assert_true(descent_same_path(&first, &first));
	descent_result_release(&second);
	/* A third with the path of the first. */
	rec.descent.low_ns = 20 * MS;
	rec.descent.high_ns = 40 * MS;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	CALLS(40, &b, 30 * MS, P("a", 29 * MS), P("ab", 29 * MS));
	assert_int_equal(descent_result(b.d, &second), 0);
	assert_true(descent_same_path(&first, &second));
	assert_string_equal(b.expanded, "0abcd");
	descent_result_release(&first);
	descent_result_release(&second);
	bench_end(&b);
}

/* What was learnt, and what is too hot, is known for the next peak too. */
static void test_another_peak_knows_the_sites(void **state)
{
	struct bench b;
	struct rec_code callee[] = {code('b'), code('c')};
	struct record rec;

	bench_begin(&b);
	site(&b, '0', '?')->kind = CALLEE_INDIRECT;
	site(&b, '0', 'h')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	lose(&b, "h", FNODE_BLOWN);
	CALLS(20, &b, 10 * MS, P("?", 9 * MS));
	discover(&b, callee, 2);
	CALLS(20, &b, 10 * MS, P("b", 9 * MS));
	expect_path(&b, 0, "b", CAUSE_OWN_CODE);
	assert_int_equal(b.learns, 1);
	rec = ask_record(true);
	rec.descent.low_ns = MS;
	rec.descent.high_ns = 2 * MS;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	assert_int_equal(b.nr_armed, 2);
	assert_non_null(armed(&b, "b"));
	assert_non_null(armed(&b, "c"));
	CALLS(20, &b, 1500 * US, P("c", 1400 * US));
	expect_path(&b, 0, "c", CAUSE_OWN_CODE);
	assert_int_equal(b.learns, 1);
	bench_end(&b);
}

static void test_another_function(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	rec.descent.function = code('a');
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	CALLS(20, &b, 10 * MS, NOTHING); /* no start profile yet */
	profile(&b, 100, 10 * MS);
	assert_string_equal(b.expanded, "0a");
	CALLS(20, &b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* --- garbage */

static uint64_t rng_state;

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static uint64_t some_number(void)
{
	switch (rng() % 6) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return rng() % 64;
	case 3:
		return 8 * MS + rng() % (8 * MS);
	default:
		return rng() >> rng() % 64;
	}
}

static struct rec_code some_code(void)
{
	if (rng() % 8 == 0)
		return (struct rec_code){(uint32_t)some_number(), some_number()};
	return code((char)('0' + rng() % 12));
}

static void some_call(struct bench *b, struct record *rec)
{
	static struct rec_call_node node[64];
	uint32_t i, n = (uint32_t)(rng() % 12);

	for (i = 0; i < n; i++)
		node[i] = (struct rec_call_node){
		    .node = b->nr_armed && rng() % 4 ? b->armed[rng() % b->nr_armed].node
						     : (uint32_t)some_number(),
		    .count = some_number(),
		    .max_ns = some_number(),
		    .sum_ns = some_number(),
		    .blocked_ns = some_number(),
		    .runqueue_ns = some_number(),
		    .interrupt_ns = some_number(),
		    .fault_ns = some_number(),
		};
	rec->call = (struct rec_call){
	    .epoch = rng() % 8 ? b->epoch : (uint32_t)some_number(),
	    .op = OP,
	    .tid = (uint32_t)(rng() % 3),
	    .start_ns = some_number(),
	    .latency_ns = 8 * MS + rng() % (8 * MS),
	    .raw_ns = some_number(),
	    .outcome = (uint32_t)(rng() % 4),
	    .known = (uint32_t)rng(),
	    .blocked_ns = some_number(),
	    .runqueue_ns = some_number(),
	    .preempted_ns = some_number(),
	    .interrupt_ns = some_number(),
	    .fault_ns = some_number(),
	    .minor_faults = some_number(),
	    .nr_nodes = n,
	    .nodes = node,
	};
}

static void some_record(struct bench *b, struct record *rec)
{
	static struct rec_call_site sites[16];
	static struct rec_code callees[16];
	static struct rec_frame frames[100];
	uint32_t i, n = (uint32_t)(rng() % 16);

	memset(rec, 0, sizeof(*rec));
	switch (rng() % 40) {
	case 0:
		*rec = ask_record(rng() % 2);
		rec->descent.max_sites = (uint32_t)(1 + rng() % 80);
		rec->descent.max_depth = (uint32_t)(1 + rng() % 20);
		return;
	case 1:
		rec->type = REC_FNODE_LOST;
		rec->fnode_lost.epoch = b->epoch;
		rec->fnode_lost.node = (uint32_t)(rng() % 200);
		rec->fnode_lost.reason = (uint32_t)(rng() % 3);
		return;
	case 2:
	case 3:
		rec->type = REC_INDIRECT_CALLEES;
		rec->discovered.node = rng() % 4 ? b->learn_node : (uint32_t)(rng() % 200);
		rec->discovered.error = rng() % 4 ? 0 : -EIO;
		for (i = 0; i < n; i++)
			callees[i] = some_code();
		rec->discovered.nr_callees = n;
		rec->discovered.callees = callees;
		return;
	case 4:
		rec->type = REC_FNODE;
		rec->fnode = (struct rec_fnode){.op = OP,
						.node = (uint32_t)(rng() % 50),
						.parent = (uint32_t)(rng() % 50),
						.site = some_code(),
						.callee = some_code(),
						.last_site = some_number(),
						.state = (uint32_t)(rng() % 8),
						.maxcount = some_number(),
						.votes = some_number(),
						.armed = some_number()};
		return;
	case 5:
	case 6:
	case 7:
		rec->type = REC_CALLEES;
		rec->callees.function = some_code();
		for (i = 0; i < n; i++)
			sites[i] = (struct rec_call_site){
			    .offset =
				rec->callees.function.offset + 16 * i + (rng() % 20 == 0 ? 0 : 16),
			    .ret = some_number(),
			    .kind = (uint32_t)(rng() % (CALLEE_KINDS + (rng() % 20 == 0))),
			    .flags = (uint32_t)rng() & 7,
			    .block = (uint32_t)(rng() % 3),
			    .callee = some_code(),
			    .inside_ns = some_number(),
			    .total_ns = some_number()};
		rec->callees.nr_sites = n;
		rec->callees.total = rng() % 8 ? n : (uint32_t)some_number();
		rec->callees.sites = sites;
		return;
	case 8:
	case 9:
	case 10:
		rec->type = REC_WITNESS;
		n = (uint32_t)(rng() % 100);
		for (i = 0; i < n; i++)
			frames[i] =
			    (struct rec_frame){1, some_code().offset + 5, some_code().offset};
		frames[0].function = code('0').offset;
		rec->witness = (struct rec_witness){.op = OP,
						    .tid = (uint32_t)(rng() % 3),
						    .at_ns = some_number(),
						    .weight_ns = some_number(),
						    .kind = (uint32_t)(rng() % 3),
						    .nr_frames = n,
						    .frames = frames};
		rec->witness.sleep.object = (uint32_t)(rng() % 20);
		rec->witness.sleep.work = (uint32_t)(rng() % 20);
		rec->witness.sleep.bracket = (uint32_t)rng();
		return;
	default:
		rec->type = REC_CALL;
		some_call(b, rec);
		return;
	}
}

static void check_result(const struct descent *d)
{
	struct descent_result r;
	unsigned int i;

	assert_int_equal(descent_result(d, &r), 0);
	assert_true(r.explained >= 0 && r.explained <= 1 + 1e-9);
	for (i = 0; i < r.nr_paths; i++) {
		assert_true(r.paths[i].nr_frames > 0 &&
			    r.paths[i].nr_frames <= DESCENT_MAX_DEPTH + 1);
		assert_true(r.paths[i].frames[0] == 0);
		assert_true(isfinite(r.paths[i].share));
	}
	for (i = 1; i < r.nr_nodes; i++)
		assert_true(r.nodes[i].parent < r.nodes[i].node);
	descent_result_release(&r);
}

static void test_garbage(void **state)
{
	const char *text = getenv("PEAKTOP_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	printf("PEAKTOP_SEED=%llu\n", (unsigned long long)seed);
	for (unsigned int run = 0; run < 40; run++) {
		struct bench b;

		rng_state = (seed << 8 | run) * 0x9e3779b97f4a7c15u | 1;
		bench_begin(&b);
		b.hold_expand = true;
		start(&b, run % 2);
		for (unsigned int i = 0; i < 3000; i++) {
			struct record rec;

			some_record(&b, &rec);
			feed(&b, &rec);
			if (rec.type == REC_DESCENT)
				b.done = false;
			act(&b);
			assert_true(b.nr_armed <= DESCENT_MAX_ARMED);
			if (i % 100 == 0)
				check_result(b.d);
		}
		bench_end(&b);
	}
}

/* A function of 100,000 call sites: bounded, and it ends. */
static void test_huge_function(void **state)
{
	enum { HUGE_SITES = 100000 };
	struct rec_call_site *sites = calloc(HUGE_SITES, sizeof(*sites));
	struct record rec = {.type = REC_CALLEES};
	struct bench b;
	struct descent_progress p;

	for (unsigned int i = 0; i < HUGE_SITES; i++)
		sites[i] = (struct rec_call_site){.offset = code('0').offset + 8 * i,
						  .ret = code('0').offset + 8 * i + 5,
						  .flags = CALL_SITE_TIMED,
						  .callee = code('a')};
	bench_begin(&b);
	b.hold_expand = true;
	start(&b, true);
	rec.callees.function = code('0');
	rec.callees.nr_sites = rec.callees.total = HUGE_SITES;
	rec.callees.sites = sites;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	for (int i = 0; i < 2000 && !b.done; i++)
		CALL(&b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	descent_progress(b.d, &p);
	assert_true(p.rounds <= 16);
	/* Another such function does not fit any more, and is said to be unreadable. */
	rec.callees.function = code('z');
	assert_int_equal(feed(&b, &rec), 0);
	free(sites);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_target_ends),
	    cmocka_unit_test(test_target_ends_undecided),
	    cmocka_unit_test(test_stopped),
	    cmocka_unit_test(test_another_peak),
	    cmocka_unit_test(test_another_peak_knows_the_sites),
	    cmocka_unit_test(test_another_function),
	    cmocka_unit_test(test_garbage),
	    cmocka_unit_test(test_huge_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
