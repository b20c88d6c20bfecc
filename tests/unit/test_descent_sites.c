// SPDX-License-Identifier: GPL-2.0-or-later
/* What is armed next: shared sites, turns, blocks, pointers, jumps; sites that are lost. */
#include "tests/unit/descent/bench.h"

/* The same site under several paths is one probe and several fnodes. */
static void test_recursion(void **state)
{
	struct bench b;
	unsigned int sites = 0, i, k;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'a');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9900 * US));
	CALLS(20, &b, 10 * MS, P("a", 9900 * US), P("aa", 9800 * US));
	CALLS(20, &b, 10 * MS, P("a", 9900 * US), P("aa", 9800 * US), P("aaa", 9700 * US));
	assert_int_equal(b.nr_armed, 4);
	for (i = 0; i < b.nr_armed; i++) {
		for (k = 0; k < i && b.armed[k].site.offset != b.armed[i].site.offset; k++)
			;
		sites += k == i;
	}
	assert_int_equal(sites, 2);
	CALLS(20, &b, 10 * MS, P("a", 9900 * US), P("aa", 9800 * US), P("aaa", 9700 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "aaa", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* max_sites counts a site once: four fnodes of two sites under a limit of two. */
static void test_shared_sites_count_once(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);
	char path[24] = "";

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'a');
	rec.descent.max_sites = 2;
	rec.descent.max_depth = 4;
	assert_int_equal(feed(&b, &rec), 0);
	profile(&b, 100, 10 * MS);
	for (int depth = 0; depth < 4; depth++) {
		path[depth] = 'a';
		CALLS(20, &b, 10 * MS, P("a", 9900 * US), P("aa", 9800 * US), P("aaa", 9700 * US),
		      P("aaaa", 9600 * US));
	}
	expect_done(&b, DESCENT_DEPTH_REACHED);
	expect_path(&b, 0, path, CAUSE_UNMEASURED);
	bench_end(&b);
}

/* More call sites than may be armed: in turns, and what was found before stays. */
static void test_many_sites_in_turns(void **state)
{
	struct bench b;
	struct descent_progress p;

	bench_begin(&b);
	for (int i = 0; i < 150; i++)
		site(&b, '0', i == 140 ? 'a' : i == 3 ? 'b' : 'c');
	start(&b, true);
	assert_int_equal(b.nr_armed, 64);
	assert_non_null(armed(&b, "b"));
	assert_null(armed(&b, "a"));
	CALLS(20, &b, 10 * MS, P("a", 6 * MS), P("b", 3 * MS));
	assert_true(b.nr_armed <= 64);
	assert_non_null(armed(&b, "b")); /* might be the largest in the end */
	CALLS(20, &b, 10 * MS, P("a", 6 * MS), P("b", 3 * MS));
	assert_non_null(armed(&b, "a"));
	assert_non_null(armed(&b, "b"));
	CALLS(40, &b, 10 * MS, P("a", 6 * MS), P("b", 3 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_OWN_CODE);
	descent_progress(b.d, &p);
	assert_int_equal(p.rounds, 3);
	bench_end(&b);
}

/* Basic blocks first, then the members of the one that was kept. */
static void test_blocks_first(void **state)
{
	struct bench b;
	const struct descent_armed *block = NULL;
	struct rec_call_node node;
	struct record rec = {.type = REC_CALL};
	unsigned int i;

	bench_begin(&b);
	for (i = 0; i < 150; i++)
		site(&b, '0', i == 107 ? 'a' : 'c')->block = 1 + i / 5;
	start(&b, true);
	assert_int_equal(b.nr_armed, 30);
	for (i = 0; i < b.nr_armed; i++) {
		assert_int_equal(b.armed[i].last_site - b.armed[i].site.offset, 4 * 16);
		if (b.armed[i].site.offset == site_offset('0', 105))
			block = &b.armed[i];
	}
	assert_non_null(block);
	node = (struct rec_call_node){
	    .node = block->node, .count = 1, .max_ns = 9 * MS, .sum_ns = 9 * MS};
	rec.call = (struct rec_call){.op = OP,
				     .epoch = b.epoch,
				     .latency_ns = 10 * MS,
				     .known = ALL_KNOWN,
				     .nr_nodes = 1,
				     .nodes = &node};
	for (i = 0; i < 20; i++)
		assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	assert_non_null(armed(&b, "a"));
	assert_int_equal(b.nr_armed, 5);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_indirect_call_with_one_callee(void **state)
{
	struct bench b;
	struct rec_code callee = code('b');

	bench_begin(&b);
	site(&b, '0', '?')->kind = CALLEE_INDIRECT;
	site(&b, 'b', 'c');
	start(&b, true);
	assert_non_null(armed(&b, "?"));
	assert_false(armed(&b, "?")->only_callee);
	CALLS(20, &b, 10 * MS, P("?", 9 * MS));
	assert_int_equal(b.learns, 1);
	assert_int_equal(b.learn_site.site.offset, site_offset('0', 0));
	discover(&b, &callee, 1);
	assert_non_null(armed(&b, "bc"));
	CALLS(20, &b, 10 * MS, P("b", 9 * MS), P("bc", 8 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "bc", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_indirect_call_with_several_callees(void **state)
{
	struct bench b;
	struct rec_code callee[] = {code('b'), code('c'), code('d')};

	bench_begin(&b);
	site(&b, '0', '?')->kind = CALLEE_INDIRECT;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("?", 9 * MS));
	discover(&b, callee, 3);
	assert_null(armed(&b, "?"));
	assert_int_equal(b.nr_armed, 3);
	assert_true(armed(&b, "b")->only_callee);
	assert_true(armed(&b, "d")->only_callee);
	CALLS(20, &b, 10 * MS, P("c", 9 * MS), P("b", 10 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "c", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_indirect_call_that_cannot_be_discovered(void **state)
{
	struct bench b;
	struct record rec = {.type = REC_INDIRECT_CALLEES};

	bench_begin(&b);
	site(&b, '0', '?')->kind = CALLEE_INDIRECT;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("?", 9 * MS));
	rec.discovered.node = b.learn_node;
	rec.discovered.error = -ENOTSUP;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "?", CAUSE_UNMEASURED);
	rec.discovered.node = 4000;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	bench_end(&b);
}

static void test_tail_call(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b')->kind = CALLEE_TAIL;
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	assert_int_equal(armed(&b, "ab")->ret, 0);
	assert_int_equal(armed(&b, "ab")->kind, CALLEE_TAIL);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS), P("ab", 8900 * US));
	expect_path(&b, 0, "ab", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_blown_fuse_is_the_loop(void **state)
{
	struct bench b;
	uint32_t before;

	bench_begin(&b);
	site(&b, '0', 'a')->flags |= CALL_SITE_LOOP;
	site(&b, '0', 'c');
	start(&b, true);
	before = b.epoch;
	lose(&b, "a", FNODE_BLOWN);
	assert_int_equal(b.epoch, before + 1);
	assert_int_equal(b.nr_armed, 1);
	CALLS(20, &b, 10 * MS, P("c", 10 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_LOOP);
	bench_end(&b);
}

/* The time is over before there are votes again: the answer ends where the fuse has blown. */
static void test_stopped_after_a_blown_fuse(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b')->flags |= CALL_SITE_LOOP;
	site(&b, 'b', 'c');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9900 * US));
	CALLS(20, &b, 10 * MS, P("a", 9900 * US), P("ab", 9800 * US));
	CALLS(4, &b, 10 * MS, P("a", 9900 * US), P("ab", 9800 * US), P("abc", 9700 * US));
	assert_non_null(armed(&b, "abc"));
	lose(&b, "ab", FNODE_BLOWN);
	CALL(&b, 10 * MS, P("a", 9900 * US));
	descent_stop(b.d);
	expect_path(&b, 0, "a", CAUSE_LOOP);
	bench_end(&b);
}

/* What is armed takes longer than the calls, which leave the peak: the answer is given without it.
 */
static void test_probes_that_move_the_peak(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	assert_non_null(armed(&b, "a"));
	for (int i = 0; i < 3; i++) {
		profile_corrected(&b, 100, 40 * MS, 20 * MS);
		assert_non_null(armed(&b, "a"));
	}
	profile_corrected(&b, 100, 40 * MS, 20 * MS);
	assert_int_equal(b.nr_armed, 0);
	CALLS(40, &b, 10 * MS);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	bench_end(&b);
}

/* As long as calls come, they are what counts. */
static void test_probes_that_move_half_of_the_calls(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	for (int i = 0; i < 20; i++) {
		profile_corrected(&b, 100, 40 * MS, 20 * MS);
		profile_corrected(&b, 100, 10 * MS, 20 * MS);
	}
	assert_non_null(armed(&b, "a"));
	CALLS(20, &b, 10 * MS, P("a", 9900 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_OWN_CODE);
	bench_end(&b);
}

static void test_refused_site(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	start(&b, true);
	lose(&b, "a", FNODE_REFUSED);
	CALLS(20, &b, 10 * MS, P("c", 10 * US));
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	bench_end(&b);
}

/* Of a site that is on several paths all fnodes are lost, and those below them. */
static void test_fuse_of_a_shared_site(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'a');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9900 * US));
	CALLS(20, &b, 10 * MS, P("a", 9900 * US), P("aa", 9800 * US));
	assert_non_null(armed(&b, "aaa"));
	lose(&b, "aa", FNODE_BLOWN);
	assert_non_null(armed(&b, "a"));
	assert_int_equal(b.nr_armed, 1);
	CALLS(40, &b, 10 * MS, P("a", 9900 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "a", CAUSE_UNMEASURED);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_recursion),
	    cmocka_unit_test(test_shared_sites_count_once),
	    cmocka_unit_test(test_many_sites_in_turns),
	    cmocka_unit_test(test_blocks_first),
	    cmocka_unit_test(test_indirect_call_with_one_callee),
	    cmocka_unit_test(test_indirect_call_with_several_callees),
	    cmocka_unit_test(test_indirect_call_that_cannot_be_discovered),
	    cmocka_unit_test(test_tail_call),
	    cmocka_unit_test(test_blown_fuse_is_the_loop),
	    cmocka_unit_test(test_stopped_after_a_blown_fuse),
	    cmocka_unit_test(test_refused_site),
	    cmocka_unit_test(test_probes_that_move_the_peak),
	    cmocka_unit_test(test_probes_that_move_half_of_the_calls),
	    cmocka_unit_test(test_fuse_of_a_shared_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
