// SPDX-License-Identifier: GPL-2.0-or-later
/* By what a slow call differs from ordinary ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/latency/ordinary.h"

#define US 1000ull
#define MS (1000 * US)

enum {
	READ = 1,
	ALL_ARGS = 7 * SAMPLE_ARG0, /* the three that read() has */
	KNOWN = ALL_ARGS | SAMPLE_ONCPU | SAMPLE_FAULTS | SAMPLE_SWITCHES,
	CALLS = 200
};

static const struct op read_op = {
    .op = READ, .layer = LAYER_SYSCALL, .name = "syscall:read", .label = "read"};

struct calls {
	struct ordinary *ordinary;
	struct rec_slow_call slow;
	struct values values;
};

/* An ordinary call: read(5, ..., 512) of thread 7. */
static struct rec_sample usual(unsigned int i)
{
	return (struct rec_sample){.op = READ,
				   .tid = 7,
				   .start_ns = i * MS,
				   .latency_ns = 10 * US,
				   .known = KNOWN,
				   .args = {5, 0x7f0000001000 + 4096 * i, 512},
				   .oncpu_ns = 9 * US,
				   .chance_ppm = 1000};
}

static void give(struct calls *c, struct rec_sample s)
{
	struct record rec = {.type = REC_SAMPLE, .sample = s};

	assert_int_equal(ordinary_take(c->ordinary, &rec), 0);
}

/* Slow calls are sampled, too: they say nothing about ordinary ones. */
static void calls_begin(struct calls *c, unsigned int ordinary_calls)
{
	memset(c, 0, sizeof(*c));
	c->ordinary = ordinary_new();
	assert_non_null(c->ordinary);
	for (unsigned int i = 0; i < ordinary_calls; i++) {
		struct rec_sample slow = usual(i);

		give(c, usual(i));
		slow.latency_ns = 80 * MS;
		slow.args[0] = 9;
		give(c, slow);
	}
	c->slow = (struct rec_slow_call){
	    .call = {.op = READ,
		     .tid = 7,
		     .start_ns = 500 * MS,
		     .latency_ns = 80 * MS,
		     .oncpu_ns = 10 * US,
		     .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED | CALL_KNOWN_FAULTS},
	    .limit_ns = 20 * US,
	    .known = ALL_ARGS,
	    .args = {5, 0x7f0000700000, 512}};
}

static unsigned int differences(struct calls *c)
{
	ordinary_differences(c->ordinary, &read_op, &c->slow, &c->values);
	return c->values.nr;
}

static void assert_difference(const struct calls *c, unsigned int i, const char *name,
			      const char *text)
{
	assert_true(i < c->values.nr);
	assert_string_equal(c->values.value[i].name, name);
	assert_string_equal(c->values.value[i].text, text);
}

static void calls_end(struct calls *c)
{
	ordinary_free(c->ordinary);
}

/* A pointer differs in each call, and a call that is like the others has nothing to say. */
static void nothing_to_say(void **state)
{
	struct calls c;

	calls_begin(&c, CALLS);
	assert_int_equal(differences(&c), 0);
	/* a few page faults, and a time on the CPU that is nothing beside the call */
	c.slow.call.minor_faults = 3;
	c.slow.call.oncpu_ns = 90 * US;
	/* twice as much is not unusual */
	c.slow.args[2] = 1024;
	for (unsigned int i = 0; i < CALLS; i++) {
		struct rec_sample s = usual(i);

		s.args[2] = 512 + i;
		give(&c, s);
	}
	assert_int_equal(differences(&c), 0);
	calls_end(&c);
}

static void an_argument(void **state)
{
	struct calls c;

	calls_begin(&c, CALLS);
	c.slow.args[0] = 9;
	assert_int_equal(differences(&c), 1);
	assert_difference(&c, 0, "argument 0 (fd)", "9 (ordinary calls: 5)");
	calls_end(&c);
}

static void two_usual_values(void **state)
{
	struct calls c;

	calls_begin(&c, CALLS);
	for (unsigned int i = 0; i < CALLS / 2; i++) {
		struct rec_sample s = usual(i);

		s.args[0] = 6;
		give(&c, s);
	}
	c.slow.args[0] = 9;
	assert_int_equal(differences(&c), 1);
	assert_difference(&c, 0, "argument 0 (fd)", "9 (ordinary calls: 5 or 6)");
	/* a third one, as frequent as those: none of them is usual */
	for (unsigned int i = 0; i < CALLS; i++) {
		struct rec_sample s = usual(i);

		s.args[0] = 7 + i % 2 * 100;
		give(&c, s);
	}
	assert_int_equal(differences(&c), 0);
	calls_end(&c);
}

static void a_larger_number(void **state)
{
	struct calls c;

	calls_begin(&c, CALLS);
	c.slow.args[2] = 1 << 20;
	assert_int_equal(differences(&c), 1);
	assert_difference(&c, 0, "argument 2 (count)", "1048576 (ordinary calls: at most 512)");
	calls_end(&c);
}

/* Another thread, which slept, had faults and computed; arguments that are not known. */
static void what_happened_in_it(void **state)
{
	struct calls c;

	calls_begin(&c, CALLS);
	c.slow.known = 0;
	c.slow.args[0] = 9;
	c.slow.call.tid = 8;
	c.slow.call.minor_faults = 200;
	c.slow.call.oncpu_ns = 40 * MS;
	c.slow.blocked = 3;
	assert_int_equal(differences(&c), 4);
	assert_difference(&c, 0, "thread", "8 (ordinary calls: 7)");
	assert_difference(&c, 1, "minor page faults", "200 (ordinary calls: none)");
	assert_difference(&c, 2, "sleeps", "3 (ordinary calls: none)");
	assert_difference(&c, 3, "on-CPU time", "40 ms (ordinary calls: at most 9 us)");
	calls_end(&c);
}

static void too_few_ordinary_calls(void **state)
{
	struct calls c;

	calls_begin(&c, 10);
	c.slow.args[0] = 9;
	assert_int_equal(differences(&c), 0);
	calls_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_to_say),	   cmocka_unit_test(an_argument),
	    cmocka_unit_test(two_usual_values),	   cmocka_unit_test(a_larger_number),
	    cmocka_unit_test(what_happened_in_it), cmocka_unit_test(too_few_ordinary_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
