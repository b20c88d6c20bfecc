// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over crowds of threads: what one thread does is shown beside them, what was left out is not
 * known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/walk_rig.h"

/* Feed how a thread spent its time, which is part of a crowd's. */
static void thread_joined(struct walk *w, const struct rec_thread *t)
{
	assert_int_equal(walk_feed(w, &(struct record){.type = REC_THREAD, .thread = *t}), 0);
}

static void test_apart_from_a_crowd(void **state)
{
	struct rec_sleep wait = running;
	struct walk *w = begin(&defaults);
	struct walk_result r;

	wait.syscall = 202;
	wait.call = "futex";
	wait.args[1] = FUTEX_WAIT_BITSET_PRIVATE;
	process = 1;
	for (uint32_t tid = 100; tid < 1100; tid++)
		thread_joined(w, &(struct rec_thread){.tid = tid,
						      .comm = "t",
						      .at_ns = 2000,
						      .wall_ns = 1000,
						      .joined_ns = tid < 1000 ? 1000 : 0});
	thread_id = 1050;
	SNAPSHOT(w, 999000, WITNESS_SLEEP, &wait, "", WORKER, TAKE, READ);
	thread_id = 1051;
	SNAPSHOT(w, 1000, WITNESS_SLEEP, &wait, "", WORKER, SERVE, READ);
	r = result_of(w);
	assert_int_equal(r.threads, 1000);
	near(r.joined, 0.9);
	assert_int_equal(r.nr_paths, 2);
	/* what one thread does comes first, although 999 are elsewhere */
	assert_true(r.paths[0].apart);
	assert_path(&r, 0, "600 300 800 futex");
	near(r.paths[0].share, 0.001);
	near(r.paths[1].share, 0.999);
	near(r.explained, 1);
	walk_result_release(&r);
	walk_free(w);
	process = 0;
	thread_id = 7;
}

static void test_left_out(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	thread(w, 7, 2000, 2000, 0);
	SNAPSHOT(w, 2000, WITNESS_RUN, &running, "", MAIN, COMPUTE);
	thread_joined(w, &(struct rec_thread){.comm = "", .wall_ns = 6000, .left_out = 3});
	thread_joined(w, &(struct rec_thread){.comm = "", .wall_ns = 2000, .left_out = 1});
	r = result_of(w);
	assert_int_equal(r.threads, 4);
	assert_int_equal(r.left_out, 3);
	near(r.not_seen, 0.8);
	/* their time counts as not known */
	near(r.explained, 0.2);
	walk_result_release(&r);
	walk_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_apart_from_a_crowd),
	    cmocka_unit_test(test_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
