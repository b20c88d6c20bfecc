// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descents of random programs from their saved records: a replay gives the recorded
 * answer, with the same arming on the way; a resumed one comes to the answer of
 * the one that was saved; with and without witnesses the answer is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analysis/session/frame.h"
#include "tests/unit/descent/harness.h"

enum { MAX_CALLS = 6000, PROGRAMS = 60, RESUMED = 150, MODES = 150 };

struct tape {
	struct buf frames;
	uint32_t sequence;
};

static void record_one(void *ctx, const struct record *rec)
{
	struct tape *t = ctx;

	assert_int_equal(frame_encode(&t->frames, rec, t->sequence++), 0);
}

static int save_one(void *ctx, const struct record *rec)
{
	record_one(ctx, rec);
	return 0;
}

static struct program program;
static struct call one_call;

static void begin(struct harness *h, const struct program *p)
{
	memset(h, 0, sizeof(*h));
	h->p = p;
	h->now = 1000;
	h->d = descent_new();
	h->witness_period = (double)p->low_ns / 4;
}

static void run(struct harness *h)
{
	unsigned int i;

	for (i = 0; i < MAX_CALLS && !harness_done(h); i++) {
		execute_call(h->p, pick_mode(h->p), &one_call);
		remember_seen(h, &one_call);
		send_call(h, &one_call);
	}
}

/* FNV over what is armed, and when. */
static uint64_t mix(uint64_t h, uint64_t value)
{
	return (h ^ value) * 1099511628211u;
}

static uint64_t drain(struct descent *d, uint64_t hash)
{
	struct descent_action a;
	uint32_t i;

	for (;;) {
		descent_next(d, &a);
		if (a.kind == DESCENT_WAIT || a.kind == DESCENT_DONE)
			return hash;
		hash = mix(mix(hash, a.kind), a.function.offset);
		for (i = 0; a.kind == DESCENT_ARM && i < a.nr_armed; i++)
			hash = mix(mix(hash, a.armed[i].node), a.armed[i].site.offset);
	}
}

static uint64_t replay(const struct tape *t, struct descent *d)
{
	struct frame_decoder *decoder = frame_decoder_new();
	uint64_t hash = 14695981039346656037u;
	struct frame f;
	size_t at = 0;

	while (at < t->frames.len) {
		assert_int_equal(frame_decode(decoder, t->frames.data + at, t->frames.len - at, &f),
				 1);
		descent_feed(d, &f.rec);
		hash = drain(d, hash);
		at += f.size;
	}
	frame_decoder_free(decoder);
	return hash;
}

static void expect_same(const struct descent_result *a, const struct descent_result *b)
{
	unsigned int i, k;

	assert_int_equal(a->status, b->status);
	assert_int_equal(a->rounds, b->rounds);
	assert_int_equal(a->calls_used, b->calls_used);
	assert_int_equal(a->nr_nodes, b->nr_nodes);
	assert_int_equal(a->nr_paths, b->nr_paths);
	assert_true(a->explained == b->explained);
	assert_memory_equal(a->nodes, b->nodes, a->nr_nodes * sizeof(*a->nodes));
	for (i = 0; i < a->nr_paths; i++) {
		assert_true(a->paths[i].share == b->paths[i].share);
		assert_int_equal(a->paths[i].cause.kind, b->paths[i].cause.kind);
		assert_string_equal(a->paths[i].cause.name, b->paths[i].cause.name);
		assert_int_equal(a->paths[i].nr_frames, b->paths[i].nr_frames);
		for (k = 0; k < a->paths[i].nr_frames; k++)
			assert_int_equal(a->paths[i].frames[k], b->paths[i].frames[k]);
	}
}

static void tell(const struct descent_result *r)
{
	unsigned int i, k;

	printf("    %s after %u rounds, %llu calls\n", descent_status_text(r->status), r->rounds,
	       (unsigned long long)r->calls_used);
	for (i = 0; i < r->nr_paths; i++) {
		printf("      %.3f %s:", r->paths[i].share,
		       cause_kind_text(r->paths[i].cause.kind));
		for (k = 1; k < r->paths[i].nr_frames; k++)
			printf(" %llx.%llx",
			       (unsigned long long)r->nodes[r->paths[i].frames[k]].site.offset,
			       (unsigned long long)r->nodes[r->paths[i].frames[k]].function.offset);
		printf("\n");
	}
}

static void test_replay(void **state)
{
	static struct harness h;
	struct tape t = {.sequence = 0};

	buf_init(&t.frames, 1 << 28);
	for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
		struct descent *again = descent_new(), *third = descent_new();
		struct descent_result a, b;

		buf_reset(&t.frames);
		program_make(&program, seed);
		begin(&h, &program);
		h.tap = record_one;
		h.tap_ctx = &t;
		harness_ask(&h, seed % 2);
		run(&h);
		assert_true(replay(&t, again) == replay(&t, third));
		assert_int_equal(descent_result(h.d, &a), 0);
		assert_int_equal(descent_result(again, &b), 0);
		expect_same(&a, &b);
		descent_result_release(&a);
		descent_result_release(&b);
		descent_free(again);
		descent_free(third);
		descent_free(h.d);
		program_release(&program);
	}
	buf_release(&t.frames);
}

static void test_resume(void **state)
{
	static struct harness h, later;
	struct tape t = {.sequence = 0};
	unsigned int compared = 0, different = 0;
	uint64_t calls = 0, calls_later = 0;

	buf_init(&t.frames, 1 << 28);
	for (uint64_t seed = 0; seed < RESUMED; seed++) {
		struct descent_result a, b;

		buf_reset(&t.frames);
		program_make(&program, seed);
		begin(&h, &program);
		harness_ask(&h, seed % 2);
		run(&h);
		assert_int_equal(descent_save(h.d, save_one, &t), 0);
		begin(&later, &program);
		memcpy(later.seen, h.seen, sizeof(h.seen));
		later.nr_seen = h.nr_seen;
		harness_ask(&later, seed % 2);
		replay(&t, later.d);
		harness_act(&later);
		run(&later);
		assert_int_equal(descent_result(h.d, &a), 0);
		assert_int_equal(descent_result(later.d, &b), 0);
		/* Where several causes are about equal their order is chance. */
		if (a.status == DESCENT_ROOT_CAUSE && a.nr_paths == 1) {
			compared++;
			if (!descent_same_path(&a, &b)) {
				different++;
				printf("  different: seed %llu\n", (unsigned long long)seed);
				tell(&a), tell(&b);
			}
			calls += a.calls_used;
			calls_later += b.calls_used;
		}
		descent_result_release(&a);
		descent_result_release(&b);
		descent_free(h.d);
		descent_free(later.d);
		program_release(&program);
	}
	buf_release(&t.frames);
	printf("resumed: %u compared, %u different; in-peak calls %.0f, resumed %.0f\n", compared,
	       different, (double)calls / compared, (double)calls_later / compared);
	assert_true(compared > RESUMED / 3);
	assert_true(different * 33 <= compared);
	assert_true(calls_later < calls);
}

static void test_with_and_without_witnesses(void **state)
{
	static struct harness h[2];
	unsigned int compared = 0, different = 0, rounds[2] = {0, 0};

	for (uint64_t seed = 0; seed < MODES; seed++) {
		struct descent_result r[2];

		for (unsigned int level = 0; level < 2; level++) {
			program_make(&program, seed);
			begin(&h[level], &program);
			harness_ask(&h[level], level);
			run(&h[level]);
			assert_int_equal(descent_result(h[level].d, &r[level]), 0);
			program_release(&program);
		}
		/*
		 * Out of f0 by a jump there are no stacks, so no names for sleeps; a fuse may
		 * blow for one and not for the other. Both happen to few.
		 */
		if (r[1].status == DESCENT_ROOT_CAUSE && r[1].nr_paths == 1) {
			compared++;
			rounds[0] += r[0].rounds;
			rounds[1] += r[1].rounds;
			if (!descent_same_path(&r[0], &r[1])) {
				different++;
				printf("  different: seed %llu\n", (unsigned long long)seed);
				tell(&r[0]), tell(&r[1]);
			}
		}
		for (unsigned int level = 0; level < 2; level++) {
			descent_result_release(&r[level]);
			descent_free(h[level].d);
		}
	}
	printf(
	    "witnessed against level by level: %u compared, %u different; rounds %.2f and %.2f\n",
	    compared, different, (double)rounds[0] / compared, (double)rounds[1] / compared);
	assert_true(compared > MODES / 3);
	assert_true(different * 20 <= compared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_replay),
	    cmocka_unit_test(test_resume),
	    cmocka_unit_test(test_with_and_without_witnesses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
