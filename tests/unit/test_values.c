// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Value correlation on calls whose cause is known: every case makes its calls
 * from a rule of its own and asks that this rule, and no other, is found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/value_set.h"

static void test_error(void **state)
{
	struct set *s = set_new(1);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 4 == 0);

		c->known = SAMPLE_RET;
		c->ret = i % 4 == 0 ? -11 : 1 + (int64_t)(rng_next(&s->rng) % 4096);
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "return value", "-11 (EAGAIN) in 100% of these, 0% of the others");
	assert_true(s->out.value[0].separation == 1);
	free(s);
}

static void test_error_mostly(void **state)
{
	struct set *s = set_new(2);
	unsigned int in, out;

	for (int i = 0; i < 1000; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_RET;
		c->ret = chance(s, i % 2 == 0 ? 0.9 : 0.05) ? -110 : 0;
	}
	find(s, LAYER_SYSCALL, "syscall:futex");
	assert_int_equal(s->out.nr, 1);
	assert_int_equal(sscanf(s->out.value[0].text,
				"-110 (ETIMEDOUT) in %u%% of these, %u%% of the others", &in, &out),
			 2);
	assert_in_range(in, 84, 96);
	assert_in_range(out, 1, 10);
	assert_true(fabs(s->out.value[0].separation - (in - out) / 100.0) < 0.011);
	free(s);
}

/* Of a peak of successes among many kinds of error, the success is the news. */
static void test_success(void **state)
{
	struct set *s = set_new(3);

	for (int i = 0; i < 600; i++) {
		struct call_sample *c = add(s, i % 3 == 0);

		c->known = SAMPLE_RET;
		c->ret = i % 3 == 0 ? 1 + (int64_t)(rng_next(&s->rng) % 100000)
				    : -1 - (int64_t)(rng_next(&s->rng) % 60);
	}
	find(s, LAYER_SYSCALL, "syscall:open");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "return value", "above 0 in 100% of these, 0% of the others");
	free(s);
}

static void test_any_error(void **state)
{
	struct set *s = set_new(4);

	for (int i = 0; i < 600; i++) {
		struct call_sample *c = add(s, i % 3 == 0);

		c->known = SAMPLE_RET;
		c->ret = i % 3 ? (int64_t)(rng_next(&s->rng) % 100000)
			       : -1 - (int64_t)(rng_next(&s->rng) % 60);
	}
	find(s, LAYER_SYSCALL, "syscall:open");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "return value", "an error in 100% of these, 0% of the others");
	free(s);
}

static void test_result_size(void **state)
{
	struct set *s = set_new(5);

	for (int i = 0; i < 600; i++) {
		struct call_sample *c = add(s, i % 3 == 0);

		c->known = SAMPLE_RET;
		c->ret = i % 3 == 0 ? 60000 + (int64_t)(rng_next(&s->rng) % 5000)
				    : 1 + (int64_t)(rng_next(&s->rng) % 5000);
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	expect(s, 0, "return value", "at least 16384 in 100% of these, 0% of the others");
	free(s);
}

/* "under 16384" would not say whether errors are meant. */
static void test_result_below_with_errors(void **state)
{
	struct set *s = set_new(6);

	for (int i = 0; i < 900; i++) {
		struct call_sample *c = add(s, i % 3 == 0);

		c->known = SAMPLE_RET;
		if (i % 3 == 0)
			c->ret = 1 + (int64_t)(rng_next(&s->rng) % 5000);
		else if (i % 30 != 1)
			c->ret = 60000 + (int64_t)(rng_next(&s->rng) % 5000);
		else
			c->ret = -1 - (int64_t)(rng_next(&s->rng) % 60);
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	for (unsigned int i = 0; i < s->out.nr; i++)
		assert_null(strstr(s->out.value[i].text, "under"));
	/* Without them it is clear. */
	for (unsigned int i = 0; i < s->n; i++)
		if (s->calls[i].ret < 0)
			s->calls[i].ret = 60000;
	find(s, LAYER_SYSCALL, "syscall:read");
	expect(s, 0, "return value", "under 16384 in 100% of these, 0% of the others");
	free(s);
}

static void test_file_descriptor(void **state)
{
	struct set *s = set_new(7);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 4 == 0);

		c->known = SAMPLE_ARG0 | SAMPLE_ARG0 << 1 | SAMPLE_ARG0 << 2;
		c->args[0] = i % 4 == 0 ? 7 : 3 + rng_next(&s->rng) % 4;
		/* The buffer is another one too, but a pointer says nothing. */
		c->args[1] = i % 4 == 0 ? 0x7f0000001000 : 0x7f0000002000;
		c->args[2] = 4096;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "argument 0 (fd)", "7 in 100% of these, 0% of the others");
	free(s);
}

/* One descriptor among a thousand; nothing else tells. */
static void test_one_of_many(void **state)
{
	struct set *s = set_new(8);

	for (int i = 0; i < 2000; i++) {
		struct call_sample *c = add(s, i % 4 == 0);

		c->known = SAMPLE_ARG0;
		c->args[0] = i % 4 == 0 ? 555 : 100 + rng_next(&s->rng) % 1000;
	}
	find(s, LAYER_SYSCALL, "syscall:close");
	assert_int_equal(s->out.nr, 1);
	assert_non_null(strstr(s->out.value[0].text, "555 in 100% of these,"));
	free(s);
}

/* What the kernel knows of the file is said before the number of its descriptor. */
static void test_file_of_descriptor(void **state)
{
	struct set *s = set_new(8);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 4 == 0);

		c->known = SAMPLE_ARG0 | SAMPLE_TEXT | SAMPLE_MEMBER0 << 1;
		c->args[0] = i % 4 == 0 ? 7 : 3 + rng_next(&s->rng) % 4;
		snprintf(c->text, sizeof(c->text), "%s", i % 4 == 0 ? "pipe" : "file on ext4");
		c->members[1] = i % 4 == 0 ? 0 : 040000;
		if (i % 4 == 0)
			continue;
		c->known |= SAMPLE_MEMBER0;
		c->members[0] = rng_next(&s->rng) % 5000;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 3);
	expect(s, 0, "flags of the file", "none in 100% of these, 0% of the others");
	expect(s, 1, "file", "pipe in 100% of these, 0% of the others");
	expect(s, 2, "argument 0 (fd)", "7 in 100% of these, 0% of the others");
	assert_false(s->out.value[1].in_program);
	/* the samples of other layers have none of these */
	find(s, LAYER_URING, "io_uring:read");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "file descriptor", "7 in 100% of these, 0% of the others");
	free(s);
}

static void test_size_of_file(void **state)
{
	struct set *s = set_new(9);

	for (int i = 0; i < 800; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_MEMBER0;
		c->members[0] =
		    i % 2 == 0 ? 3000000 + rng_next(&s->rng) % 900000 : rng_next(&s->rng) % 9000;
	}
	find(s, LAYER_SYSCALL, "syscall:fsync");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "size of the file", "at least 131072 in 100% of these, 0% of the others");
	free(s);
}

static void test_several_values(void **state)
{
	struct set *s = set_new(9);

	for (int i = 0; i < 800; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0;
		c->args[0] = i % 2 == 0 ? 7 + (uint64_t)i / 2 % 2 * 4 : 20 + rng_next(&s->rng) % 40;
	}
	find(s, LAYER_SYSCALL, "syscall:close");
	assert_int_equal(s->out.nr, 1);
	assert_true(!strcmp(s->out.value[0].text, "7 or 11 in 100% of these, 0% of the others") ||
		    !strcmp(s->out.value[0].text, "11 or 7 in 100% of these, 0% of the others"));
	free(s);
}

static void test_everything_but(void **state)
{
	struct set *s = set_new(10);

	for (int i = 0; i < 800; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0;
		c->args[0] = i % 2 ? 7 : 20 + rng_next(&s->rng) % 4000;
	}
	find(s, LAYER_SYSCALL, "syscall:close");
	expect(s, 0, "argument 0 (fd)", "not 7 in 100% of these, 0% of the others");
	free(s);
}

static void test_negative_descriptor(void **state)
{
	struct set *s = set_new(11);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0;
		/* AT_FDCWD in 32 bits, as registers have it. */
		c->args[0] = i % 2 == 0 ? 0xffffff9c : 5 + rng_next(&s->rng) % 100;
	}
	find(s, LAYER_SYSCALL, "syscall:openat");
	expect(s, 0, "argument 0 (dirfd)", "-100 in 100% of these, 0% of the others");
	free(s);
}

static void test_size_threshold(void **state)
{
	struct set *s = set_new(12);

	for (int i = 0; i < 800; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0 << 2;
		c->args[2] =
		    i % 2 == 0 ? 100000 + rng_next(&s->rng) % 900000 : 1 + rng_next(&s->rng) % 9000;
	}
	find(s, LAYER_SYSCALL, "syscall:write");
	expect(s, 0, "argument 2 (count)", "at least 32768 in 100% of these, 0% of the others");
	free(s);
}

static void test_flags_by_equality(void **state)
{
	struct set *s = set_new(13);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0 << 2;
		c->args[2] = i % 2 == 0 ? 0x101000 : 0x8000;
	}
	find(s, LAYER_SYSCALL, "syscall:openat");
	expect(s, 0, "argument 2 (flags)", "0x101000 in 100% of these, 0% of the others");
	free(s);
}

/* open has three arguments: what is in the fourth register is nobody's. */
static void test_no_such_argument(void **state)
{
	struct set *s = set_new(14);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0 << 3;
		c->args[3] = i % 2 == 0 ? 1 : 2;
	}
	find(s, LAYER_SYSCALL, "syscall:open");
	assert_int_equal(s->out.nr, 0);
	/* Of a call that is not in the table nobody knows. */
	find(s, LAYER_SYSCALL, "syscall:landlock_add_rule");
	expect(s, 0, "argument 3 (assumed integer)", "1 in 100% of these, 0% of the others");
	/* Nor of a function, even one of the name of a system call. */
	find(s, LAYER_FUNCTION, "open@libc.so.6");
	expect(s, 0, "argument 3 (assumed integer)", "1 in 100% of these, 0% of the others");
	free(s);
}

static void test_function_result(void **state)
{
	struct set *s = set_new(15);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_RET;
		c->ret = i % 2 == 0 ? -11 : 0;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "return value (assumed integer)",
	       "-11 (perhaps EAGAIN) in 100% of these, 0% of the others");
	/* an int in a register has an upper half of zeros */
	for (unsigned int i = 0; i < s->n; i++)
		s->calls[i].ret = s->calls[i].ret ? (uint32_t)-110 : 0;
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "return value (assumed integer)",
	       "-110 (perhaps ETIMEDOUT) in 100% of these, 0% of the others");
	/* -1 is any error, and a number without a name is a number */
	for (unsigned int i = 0; i < s->n; i++)
		s->calls[i].ret = s->calls[i].ret ? -1 : -3000;
	s->parameters = ",i,4";
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "return value", "-1 in 100% of these, 0% of the others");
	for (unsigned int i = 0; i < s->n; i++)
		s->calls[i].ret = s->calls[i].ret == -1 ? -5 : 0;
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "return value", "-5 (perhaps EIO) in 100% of these, 0% of the others");
	/* an unsigned number is no error */
	s->parameters = ",u,4";
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "return value", "4294967291 in 100% of these, 0% of the others");
	free(s);
}

/* What debug information says of parameters and result; a text that is damaged says nothing. */
static void test_parameters(void **state)
{
	static const char *const damaged[] = {
	    "",	   ";", ",", "kind", ",i,4;kind", ",i,4;kind,e", ",i,4;kind,x,4,", ",i,4;kind,e,99",
	    ",i,4"};
	struct set *s = set_new(15);

	s->parameters = ",n,0;kind,e,4,READ=0,LOCK=7,BACK=-3;n,i,2;,n,0;on,b,1;,?,0;,?,0";
	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_RET | SAMPLE_ARG0 * 0x1f;
		c->ret = i % 2 ? 0 : -11;
		c->args[0] = i % 2 ? 0x7fff00000007 : 0x7fff00000000 + (uint32_t)-3;
		c->args[1] = i % 2 ? 0xabcd0005 : 0xabcd0000 + (uint16_t)-5;
		c->args[2] = (uint64_t)i % 2;
		c->args[3] = i % 2 ? 0xff00 : 0xff01;
		c->args[4] = (uint64_t)i % 2;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 4);
	expect(s, 0, "kind", "BACK in 100% of these, 0% of the others");
	expect(s, 1, "n", "-5 in 100% of these, 0% of the others");
	expect(s, 2, "on", "true in 100% of these, 0% of the others");
	expect(s, 3, "argument 4 (assumed integer)", "0 in 100% of these, 0% of the others");
	assert_true(s->out.value[0].in_program && !s->out.value[3].in_program);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		s->parameters = damaged[i];
		find(s, LAYER_FUNCTION, "work@demo");
		assert_string_equal(s->out.value[s->out.nr - 1].name,
				    "argument 4 (assumed integer)");
	}
	free(s);
}

/* Values behind arguments, with the names of the program; without a name for it a value says
 * nothing. */
static void test_members(void **state)
{
	static const char registers[] = ",n,0;req,p,8;,n,0;,n,0;,n,0;,n,0;,n,0";
	static const char statement[] = "SELECT * FROM a_table_of_a_long_name WHERE id = 7";
	static const char member[] = "req->cmd,e,4@0+16,GET=0,PUT=7";
	struct set *s = set_new(15);
	char text[400];

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_MEMBER0 * 5 | SAMPLE_TEXT;
		c->members[0] = i % 2 ? 0 : 7;
		c->members[1] = (uint64_t)i % 2;
		c->members[2] = i % 2 ? 3 : (uint16_t)-5;
		snprintf(c->text, sizeof(c->text), "%.40s", i % 2 ? "/etc/passwd" : statement);
	}
	snprintf(text, sizeof(text), "%s;%s;req->on,b,1@0+4;req->n,i,2@0+6;,n,0;sql,s,40@1+0",
		 registers, member);
	s->parameters = text;
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 3);
	expect(s, 0, "req->cmd", "PUT in 100% of these, 0% of the others");
	expect(s, 1, "req->n", "-5 in 100% of these, 0% of the others");
	expect(s, 2, "sql",
	       "\"SELECT * FROM a_table_of_a_long_name WH...\" in 100% of these, 0% of the others");
	assert_true(s->out.value[0].in_program && s->out.value[2].in_program);
	s->parameters = registers;
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 0);
	s->parameters = NULL;
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 0);
	free(s);
}

/* What the program names explains more than a sleep, and an address less than anything. */
static void test_names_come_first(void **state)
{
	struct set *s = set_new(16);

	s->parameters = ",n,0;at,p,8;kind,e,4,READ=0,LOCK=1;,n,0;,n,0;,n,0;,n,0";
	for (int i = 0; i < 2000; i++) {
		bool slow = i % 2 == 0;
		struct call_sample *c = add(s, slow);

		c->known = SAMPLE_ARG0 * 3 | SAMPLE_SWITCHES;
		c->args[0] = slow ? 0x55d0c0ffee00 : 0x55d0c0ffee08;
		c->args[1] = chance(s, slow ? 0.96 : 0.02);
		c->sleeps = slow;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 3);
	assert_string_equal(s->out.value[0].name, "kind");
	assert_string_equal(s->out.value[1].name, "sleeps");
	assert_string_equal(s->out.value[2].name, "at");
	free(s);
}

/* Addresses are told apart by equality only. */
static void test_address_has_no_order(void **state)
{
	struct set *s = set_new(16);

	for (int i = 0; i < 800; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0 | SAMPLE_ARG0 << 1;
		c->args[0] =
		    (i % 2 == 0 ? 0x7f8000000000 : 0x7f4000000000) + rng_next(&s->rng) % 1000000;
		c->args[1] = i % 2 == 0 ? 0x7f8000001234 : 0x7f8000000000 + i;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "argument 1 (assumed integer)",
	       "0x7f8000001234 in 100% of these, 0% of the others");
	free(s);
}

static void test_futex_address(void **state)
{
	struct set *s = set_new(17);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ARG0;
		c->args[0] = i % 2 == 0 ? 0x55d0c0ffee00 : 0x55d0c0fff000 + i * 64;
	}
	find(s, LAYER_SYSCALL, "syscall:futex");
	expect(s, 0, "argument 0 (uaddr)", "0x55d0c0ffee00 in 100% of these, 0% of the others");
	free(s);
}

struct counted {
	const char *name;
	unsigned int known;
	size_t offset;
};

static void test_counters(void **state)
{
	static const struct counted c[] = {
	    {"minor page faults", SAMPLE_FAULTS, offsetof(struct call_sample, minor_faults)},
	    {"major page faults", SAMPLE_FAULTS, offsetof(struct call_sample, major_faults)},
	    {"migrations", SAMPLE_MIGRATIONS, offsetof(struct call_sample, migrations)},
	    {"sleeps", SAMPLE_SWITCHES, offsetof(struct call_sample, sleeps)},
	    {"preemptions", SAMPLE_SWITCHES, offsetof(struct call_sample, preempted)},
	};

	for (size_t k = 0; k < sizeof(c) / sizeof(c[0]); k++) {
		struct set *s = set_new(18 + k);

		for (int i = 0; i < 400; i++) {
			struct call_sample *call = add(s, i % 2 == 0);
			uint32_t value = i % 2 == 0 ? 1 + i % 3 : 0;

			call->known = (uint16_t)c[k].known;
			memcpy((char *)call + c[k].offset, &value, sizeof(value));
		}
		find(s, LAYER_FUNCTION, "work@demo");
		assert_int_equal(s->out.nr, 1);
		expect(s, 0, c[k].name, "at least 1 in 100% of these, 0% of the others");
		/* Not known is not 0. */
		for (unsigned int i = 0; i < s->n; i++)
			s->calls[i].known = 0;
		find(s, LAYER_FUNCTION, "work@demo");
		assert_int_equal(s->out.nr, 0);
		free(s);
	}
}

static void test_none(void **state)
{
	struct set *s = set_new(30);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_SWITCHES;
		c->sleeps = i % 2 ? 1 + i % 5 : 0;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "sleeps", "none in 100% of these, 0% of the others");
	free(s);
}

static void test_times(void **state)
{
	struct set *s = set_new(31);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = SAMPLE_ONCPU | SAMPLE_RUNQUEUE;
		c->oncpu_ns = i % 2 == 0 ? 1500000 + rng_next(&s->rng) % 400000
					 : 5000 + rng_next(&s->rng) % 3000;
		c->runqueue_ns = rng_next(&s->rng) % 3000;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 1);
	expect(s, 0, "on-CPU time", "over 100 us in 100% of these, 0% of the others");
	for (unsigned int i = 0; i < s->n; i++) {
		s->calls[i].oncpu_ns = 5000;
		s->calls[i].runqueue_ns = i % 2 == 0 ? 1800000 + i : 3 * i;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, 1);
	assert_string_equal(s->out.value[0].name, "run-queue delay");
	assert_non_null(strstr(s->out.value[0].text, "over 50 us in 100%"));
	free(s);
}

static void test_thread(void **state)
{
	struct set *s = set_new(32);

	for (int i = 0; i < 400; i++)
		add(s, i % 4 == 0)->tid = i % 4 == 0 ? 4711 : 4700 + i % 4;
	find(s, LAYER_FUNCTION, "work@demo");
	expect(s, 0, "thread", "4711 in 100% of these, 0% of the others");
	free(s);
}

static void test_other_layers(void **state)
{
	static const struct {
		enum layer layer;
		const char *op;
		unsigned int argument;
		uint64_t in, out;
		const char *name, *text;
	} c[] = {
	    {LAYER_SYSCALL, "syscall:futex", 1, 128, 129, "argument 1 (op)", "FUTEX_WAIT"},
	    {LAYER_SYSCALL, "syscall:futex", 1, 393, 129, "argument 1 (op)", "FUTEX_WAIT_BITSET"},
	    {LAYER_BLOCK, "block", 0, 1, 0, "operation", "write"},
	    {LAYER_BLOCK, "block", 0, 34, 0, "operation", "34"},
	    {LAYER_BLOCK, "block", 1, 1 << 20, 4096, "bytes", "1048576"},
	    {LAYER_BLOCK, "block", 3, 0x800010, 0x800000, "device", "0x800010"},
	    {LAYER_LOCK, "lock", 0, 0xffff888012345678, 0xffff888000000000, "lock",
	     "0xffff888012345678"},
	    {LAYER_LOCK, "lock", 1, 32, 1, "kind of lock", "mutex"},
	    {LAYER_LOCK, "lock", 1, 128, 1, "kind of lock", "futex"},
	    {LAYER_RUNQUEUE, "runqueue", 0, 1, 0, "queued", "after a preemption"},
	    {LAYER_RUNQUEUE, "runqueue", 1, 3, 0, "CPU", "3"},
	    {LAYER_RUNQUEUE, "runqueue", 2, 3, 0, NULL, NULL},
	};

	for (size_t k = 0; k < sizeof(c) / sizeof(c[0]); k++) {
		struct set *s = set_new(60 + k);
		char text[128];

		for (int i = 0; i < 400; i++) {
			struct call_sample *call = add(s, i % 2 == 0);

			call->known = (uint16_t)(SAMPLE_ARG0 << c[k].argument);
			call->args[c[k].argument] = i % 2 == 0 ? c[k].in : c[k].out;
		}
		find(s, c[k].layer, c[k].op);
		assert_int_equal(s->out.nr, c[k].name ? 1 : 0);
		if (c[k].name) {
			snprintf(text, sizeof(text), "%s in 100%% of these, 0%% of the others",
				 c[k].text);
			expect(s, 0, c[k].name, text);
		}
		free(s);
	}
}

static void test_ranked(void **state)
{
	struct set *s = set_new(33);

	for (int i = 0; i < 2000; i++) {
		bool slow = i % 2 == 0;
		struct call_sample *c = add(s, slow);

		c->known = SAMPLE_RET | SAMPLE_ARG0 | SAMPLE_SWITCHES | SAMPLE_ONCPU;
		c->ret = chance(s, slow ? 0.7 : 0.1) ? -4 : 0;
		c->args[0] = chance(s, slow ? 0.9 : 0.1) ? 3 : 4;
		c->sleeps = slow;
		c->oncpu_ns = slow ? 900000 : 8000;
	}
	find(s, LAYER_SYSCALL, "syscall:read");
	assert_int_equal(s->out.nr, 4);
	/* Of two that tell everything, the one that explains more comes first. */
	assert_string_equal(s->out.value[0].name, "sleeps");
	assert_string_equal(s->out.value[1].name, "on-CPU time");
	assert_string_equal(s->out.value[2].name, "argument 0 (fd)");
	assert_string_equal(s->out.value[3].name, "return value");
	for (unsigned int i = 1; i < 4; i++)
		assert_true(s->out.value[i].separation <= s->out.value[i - 1].separation + 0.05);
	assert_true(fabs(s->out.value[2].separation - 0.8) < 0.08);
	assert_true(fabs(s->out.value[3].separation - 0.6) < 0.1);
	free(s);
}

/* Each call that sleeps waits for a CPU and uses it for a moment: no news. */
static void test_small_times_say_nothing(void **state)
{
	static const struct {
		uint32_t known;
		uint64_t slow, fast; /* parts of the latency */
		bool told, few;	     /* few: a quarter of the slow calls waited all the time */
	} c[] = {
	    {SAMPLE_RUNQUEUE, 1000, 0, false, false}, {SAMPLE_RUNQUEUE, 4, 0, true, false},
	    {SAMPLE_ONCPU, 50, 0, false, false},      {SAMPLE_ONCPU, 3, 0, true, false},
	    {SAMPLE_RUNQUEUE, 1000, 0, false, true},
	};

	for (size_t k = 0; k < sizeof(c) / sizeof(c[0]); k++) {
		struct set *s = set_new(40 + k);

		for (int i = 0; i < 600; i++) {
			bool slow = i % 2 == 0;
			struct call_sample *one = add(s, slow);
			uint64_t ns = slow ? one->latency_ns / c[k].slow : c[k].fast;

			if (slow && c[k].few && i % 8 == 0)
				ns = one->latency_ns;
			one->known = c[k].known;
			one->runqueue_ns = one->oncpu_ns = ns;
		}
		find(s, LAYER_SYSCALL, "syscall:read");
		assert_int_equal(s->out.nr, c[k].told);
		free(s);
	}
}

static void test_at_most_six(void **state)
{
	struct set *s = set_new(34);

	for (int i = 0; i < 400; i++) {
		struct call_sample *c = add(s, i % 2 == 0);

		c->known = 0xfff;
		c->ret = i % 2;
		for (int k = 0; k < SAMPLE_ARGS; k++)
			c->args[k] = i % 2;
		c->oncpu_ns = i % 2;
		c->sleeps = i % 2;
	}
	find(s, LAYER_FUNCTION, "work@demo");
	assert_int_equal(s->out.nr, VALUES_MAX);
	/* Not what stands in the register of the return value: the function may return none. */
	assert_string_equal(s->out.value[0].name, "argument 0 (assumed integer)");
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_error),
	    cmocka_unit_test(test_error_mostly),
	    cmocka_unit_test(test_success),
	    cmocka_unit_test(test_any_error),
	    cmocka_unit_test(test_result_size),
	    cmocka_unit_test(test_result_below_with_errors),
	    cmocka_unit_test(test_file_descriptor),
	    cmocka_unit_test(test_one_of_many),
	    cmocka_unit_test(test_file_of_descriptor),
	    cmocka_unit_test(test_size_of_file),
	    cmocka_unit_test(test_several_values),
	    cmocka_unit_test(test_everything_but),
	    cmocka_unit_test(test_negative_descriptor),
	    cmocka_unit_test(test_size_threshold),
	    cmocka_unit_test(test_flags_by_equality),
	    cmocka_unit_test(test_no_such_argument),
	    cmocka_unit_test(test_function_result),
	    cmocka_unit_test(test_parameters),
	    cmocka_unit_test(test_members),
	    cmocka_unit_test(test_names_come_first),
	    cmocka_unit_test(test_address_has_no_order),
	    cmocka_unit_test(test_futex_address),
	    cmocka_unit_test(test_counters),
	    cmocka_unit_test(test_none),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_thread),
	    cmocka_unit_test(test_other_layers),
	    cmocka_unit_test(test_ranked),
	    cmocka_unit_test(test_small_times_say_nothing),
	    cmocka_unit_test(test_at_most_six),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
