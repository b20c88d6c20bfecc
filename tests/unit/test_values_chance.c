// SPDX-License-Identifier: GPL-2.0-or-later
/* Value correlation: what is said is no luck, and what is there is found. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/value_set.h"

/* What was sampled rarely stands for many. */
static void test_weights(void **state)
{
	struct set *s = set_new(35);
	unsigned int in, out;

	for (int i = 0; i < 1600; i++) {
		bool slow = i % 4 == 0, rare = i % 16 >= 12;
		struct call_sample *c = add(s, slow);

		/*
		 * Of the other calls a third of the samples has fd 3, but these stand
		 * for a thirtieth of the calls.
		 */
		c->known = SAMPLE_ARG0;
		c->args[0] = slow || rare ? 3 : 4;
		if (!slow && !rare)
			s->weight[i] = 10;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 1);
	assert_int_equal(
	    sscanf(s->out.value[0].text, "3 in %u%% of these, %u%% of the others", &in, &out), 2);
	assert_int_equal(in, 100);
	assert_in_range(out, 2, 5);
	free(s);
}

/* One call that stands for all of them is no proof. */
static void test_heavy_weight_is_no_proof(void **state)
{
	struct set *s = set_new(36);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0;
		c->args[0] = rng_next(&s->rng) % 2;
	}
	for (unsigned int i = 0; i < 8; i++) {
		s->calls[i].args[0] = i % 2 == 0;
		s->weight[i] = 1e9;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 0);
	free(s);
}

static void test_few_calls(void **state)
{
	struct set *s = set_new(37);

	/* Two calls of the peak in a half say nothing however clear they are. */
	for (int i = 0; i < 200; i++) {
		struct call_sample *c = add(s, i < 4);

		c->known = SAMPLE_RET;
		c->ret = i < 4 ? -11 : 0;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 0);
	/* Four do, among that many. */
	for (int i = 0; i < 8; i++) {
		s->calls[i].latency_ns = slow_ns;
		s->calls[i].ret = -11;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	expect(s, 0, "return value", "-11 (EAGAIN) in 100% of these, 0% of the others");
	free(s);
}

static void test_nothing_to_compare(void **state)
{
	struct set *s = set_new(38);

	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 0);
	for (int i = 0; i < 100; i++) {
		add(s, true)->known = SAMPLE_RET;
		find(s, LAYER_SYSCALL, "syscall:read");
		assert_int_equal(s->out.nr, 0);
	}
	free(s);
}

/*
 * Calls whose values have nothing to do with their latency, of every size of
 * set: hardly ever is anything said.
 */
static void test_nothing_to_find(void **state)
{
	unsigned int said = 0, asked = 0;

	for (uint64_t seed = 1000; seed < 1400; seed++) {
		struct set *s = set_new(seed);
		unsigned int n = 20 + (unsigned int)(rng_next(&s->rng) % 500);
		double share = 0.02 + 0.5 * rng_double(&s->rng);

		for (unsigned int i = 0; i < n; i++) {
			struct call_sample *c = add(s, chance(s, share));

			c->held_out = rng_next(&s->rng) & 1;
			c->known = 0xfff;
			c->tid = 100 + rng_next(&s->rng) % 4;
			c->ret = chance(s, 0.3) ? -11 : (int64_t)(rng_next(&s->rng) % 5000);
			c->args[0] = rng_next(&s->rng) % 3;
			c->args[1] = rng_next(&s->rng) % 50;
			c->args[2] = rng_next(&s->rng) % 100000;
			c->args[3] = rng_next(&s->rng);
			c->args[4] = chance(s, 0.02);
			c->oncpu_ns = rng_latency(&s->rng, 5000, 1);
			c->runqueue_ns = rng_latency(&s->rng, 500, 3);
			c->minor_faults = chance(s, 0.1);
			c->sleeps = chance(s, 0.5);
			c->preempted = chance(s, 0.01);
			c->migrations = chance(s, 0.02);
		}
		find(s, seed & 1 ? LAYER_FUNCTION : LAYER_SYSCALL, "syscall:unknown");
		said += s->out.nr;
		asked += 14;
		free(s);
	}
	/* 5600 questions at 1e-4 each: more than 5 in one of a thousand runs. */
	assert_true(said <= 5);
	print_message("said %u of %u\n", said, asked);
}

/* An effect of middling size is found when there are calls enough, whatever the seed. */
static void test_power(void **state)
{
	unsigned int found = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct set *s = set_new(seed);

		for (int i = 0; i < 600; i++) {
			struct call_sample *c = add(s, i % 3 == 0);

			c->held_out = rng_next(&s->rng) & 1;
			c->known = SAMPLE_ARG0 << 2;
			c->args[2] = rng_latency(&s->rng, i % 3 == 0 ? 64000 : 8000, 1.2);
		}
		find(s, LAYER_SYSCALL, "syscall:write");
		found += s->out.nr == 1 && s->out.value[0].separation > 0.6 &&
			 s->out.value[0].separation < 0.95;
		free(s);
	}
	assert_true(found >= 95);
}

static void test_same_twice(void **state)
{
	struct set *s = set_new(40);
	struct values first;

	for (int i = 0; i < 500; i++) {
		struct call_sample *c = add(s, i % 5 == 0);

		c->known = SAMPLE_RET | SAMPLE_ONCPU | SAMPLE_ARG0;
		c->ret = chance(s, i % 5 ? 0.2 : 0.8);
		c->args[0] = rng_next(&s->rng) % (i % 5 ? 10 : 3);
		c->oncpu_ns = rng_latency(&s->rng, i % 5 ? 4000 : 9000, 0.5);
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	first = s->out;
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(first.nr, s->out.nr);
	assert_true(first.nr > 0);
	for (unsigned int i = 0; i < first.nr; i++) {
		assert_string_equal(first.text[i], s->out.text[i]);
		assert_true(fabs(first.value[i].separation - s->out.value[i].separation) == 0);
	}
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights),	    cmocka_unit_test(test_heavy_weight_is_no_proof),
	    cmocka_unit_test(test_few_calls),	    cmocka_unit_test(test_nothing_to_compare),
	    cmocka_unit_test(test_nothing_to_find), cmocka_unit_test(test_power),
	    cmocka_unit_test(test_same_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
