// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks: page faults among the CPU time, and threads that no scan has seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/walk_rig.h"

enum { LOW_NS = 10, HIGH_NS = 20 };

/* This thread has this CPU time and these page faults, of LOW_NS to HIGH_NS each. */
static void faulting_thread(struct walk *w, uint64_t cpu, uint64_t faults)
{
	struct record rec = {.type = REC_THREAD,
			     .thread = {.tid = 7,
					.comm = "t",
					.wall_ns = cpu,
					.cpu_ns = cpu,
					.faults = faults,
					.fault_low_ns = LOW_NS,
					.fault_high_ns = HIGH_NS}};

	assert_int_equal(walk_feed(w, &rec), 0);
}

/* 100 samples of 10 ns: `compute` of them in one function, `seen` in page faults, others elsewhere.
 */
static struct walk *sampled(int compute, int seen)
{
	struct walk *w = begin(&defaults);

	for (int i = 0; i < 100; i++) {
		if (i < compute)
			SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
		else if (i < compute + seen)
			SNAPSHOT(w, 10, WITNESS_RUN, &running, "asm_exc_page_fault;exc_page_fault",
				 MAIN, COMPUTE);
		else
			SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, SERVE);
	}
	return w;
}

static struct walk_path first_path(struct walk *w, struct walk_result *r)
{
	*r = result_of(w);
	assert_true(r->nr_paths > 0);
	return r->paths[0];
}

static void done(struct walk *w, struct walk_result *r)
{
	walk_result_release(r);
	walk_free(w);
}

static void test_faults_are_the_cause(void **state)
{
	struct walk *w = sampled(100, 0);
	struct walk_result r;
	struct walk_path p;

	(void)state;
	faulting_thread(w, 1000, 60);
	p = first_path(w, &r);
	assert_path(&r, 0, "200 400");
	assert_int_equal(p.cause.kind, CAUSE_PAGE_FAULT);
	assert_false(p.perhaps_faults);
	assert_non_null(strstr(p.cause.detail, "60% to 100% of it"));
	near(r.faults_low, 0.6);
	near(r.faults_high, 1);
	done(w, &r);
}

static void test_faults_are_in_doubt(void **state)
{
	struct walk *w = sampled(100, 0);
	struct walk_result r;
	struct walk_path p;

	(void)state;
	/* between 30% and 60% of the time */
	faulting_thread(w, 1000, 30);
	p = first_path(w, &r);
	assert_int_equal(p.cause.kind, CAUSE_OWN_CODE);
	assert_true(p.perhaps_faults);
	done(w, &r);

	/* between 40% and 80% */
	w = sampled(100, 0);
	faulting_thread(w, 1000, 40);
	p = first_path(w, &r);
	assert_int_equal(p.cause.kind, CAUSE_PAGE_FAULT);
	assert_true(p.perhaps_faults);
	done(w, &r);

	/* most of the time is faults, but perhaps not that of the function with most of it */
	w = sampled(60, 0);
	faulting_thread(w, 1000, 60);
	assert_true(first_path(w, &r).perhaps_faults);
	done(w, &r);
}

/* The faults that samples found tell in which function the others happen. */
static void test_where_faults_happen(void **state)
{
	struct walk *w = begin(&defaults);
	struct walk_result r;

	(void)state;
	for (int i = 0; i < 40; i++) {
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, PARSE);
		if (i % 2)
			SNAPSHOT(w, 10, WITNESS_RUN, &running, "asm_exc_page_fault", MAIN, PARSE);
	}
	faulting_thread(w, 1000, 55);
	r = result_of(w);
	assert_int_equal(r.nr_paths, 3);
	for (unsigned int i = 0; i < 2; i++) {
		bool computes = r.nodes[r.paths[i].frames[1]].function.offset == COMPUTE;

		assert_int_equal(r.paths[i].cause.kind,
				 computes ? CAUSE_OWN_CODE : CAUSE_PAGE_FAULT);
		assert_false(r.paths[i].perhaps_faults && computes);
	}
	done(w, &r);
}

/* Faults that wait for a disk take no CPU time: they do not tell where the others happen. */
static void test_faults_that_sleep(void **state)
{
	static const struct rec_sleep page = {
	    .syscall = -1, .call = "", .name = "", .about = "", .waker = ""};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	(void)state;
	for (int i = 0; i < 50; i++) {
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", MAIN, COMPUTE);
		if (i < 10)
			SNAPSHOT(w, 10, WITNESS_SLEEP, &page,
				 "asm_exc_page_fault;handle_mm_fault;folio_wait_bit_common", MAIN,
				 COMPUTE);
	}
	faulting_thread(w, 1000, 20);
	r = result_of(w);
	for (unsigned int i = 0; i < r.nr_paths; i++)
		if (r.paths[i].cause.kind == CAUSE_PAGE_FAULT)
			assert_int_equal(r.paths[i].evidence, EVIDENCE_WITNESSED);
	assert_int_equal(r.paths[0].cause.kind, CAUSE_OWN_CODE);
	done(w, &r);
}

static void test_few_faults(void **state)
{
	struct walk *w = sampled(100, 0);
	struct walk_result r;
	struct walk_path p;

	(void)state;
	faulting_thread(w, 1000, 14);
	p = first_path(w, &r);
	assert_int_equal(p.cause.kind, CAUSE_OWN_CODE);
	assert_false(p.perhaps_faults);
	assert_string_equal(p.cause.detail, "");
	done(w, &r);

	/* stack samples have found nearly all of them */
	w = sampled(70, 30);
	faulting_thread(w, 1000, 20);
	p = first_path(w, &r);
	assert_int_equal(p.cause.kind, CAUSE_OWN_CODE);
	assert_false(p.perhaps_faults);
	done(w, &r);
}

/* CPU time of threads that ended between two scans belongs to the samples that found them. */
static void test_unseen_threads(void **state)
{
	struct record rec = {.type = REC_THREAD,
			     .thread = {.tid = 7, .comm = "t", .unseen_cpu_ns = 900}};
	struct walk *w = begin(&defaults);
	struct walk_result r;

	(void)state;
	for (int i = 0; i < 90; i++) {
		thread_id = 100 + (uint32_t)i;
		SNAPSHOT(w, 10, WITNESS_RUN, &running, "", START, WORKER, COMPUTE);
	}
	thread_id = 7;
	for (int i = 0; i < 99; i++)
		SNAPSHOT(w, 10, WITNESS_SLEEP, &on_epoll, "", MAIN, SERVE);
	thread(w, 7, 1000, 10, 0);
	assert_int_equal(walk_feed(w, &rec), 0);
	r = result_of(w);
	assert_int_equal(r.lead, WALK_WORK);
	near(r.share[WALK_WORK], 910.0 / 1900);
	near(r.share[WALK_IDLE], 990.0 / 1900);
	assert_path(&r, 0, "600 400");
	done(w, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_faults_are_the_cause), cmocka_unit_test(test_faults_are_in_doubt),
	    cmocka_unit_test(test_where_faults_happen),	 cmocka_unit_test(test_faults_that_sleep),
	    cmocka_unit_test(test_few_faults),		 cmocka_unit_test(test_unseen_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
