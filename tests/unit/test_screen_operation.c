// SPDX-License-Identifier: GPL-2.0-or-later
/* The view of one operation: its peaks, what is said about them, its open calls. */
#include <locale.h>

#include "tests/unit/screen_harness.h"

static void test_choosing_peaks(void **state)
{
	struct harness *h = harness_new(40, NULL);

	harness_run(
	    h,
	    "key /\ntype read\nkey Enter Enter\nexpect syscall:read\nexpect <4\nkey 2\nexpect "
	    "<2\nreject <4\n"
	    "key Right\nexpect <3\nkey h h\nexpect <1\nkey h\nexpect <1\nkey >\nexpect <4\nkey 9\n"
	    "expect there is no such peak\nexpect <4\nkey k\nexpect <3\nkey g\nexpect <1\nkey "
	    "G\nexpect <4");
	harness_free(h);
}

static void test_descend(void **state)
{
	struct harness *h = harness_new(40, NULL);
	char expected[64];
	const struct op *op;

	/* the operation as a whole, until a peak is chosen, and again to the left of the first */
	harness_run(h, "key /\ntype read\nkey Enter Enter\nexpect > syscall:read\nkey Enter");
	assert_string_equal(harness_log(h), "descend op 2\n");
	harness_run(h, "key 1 Enter");
	op = model_op_peaks(h->model, 2);
	snprintf(expected, sizeof(expected), "descend op 2 peak %d\n", op->peaks[0].id);
	assert_string_equal(harness_log(h), expected);
	harness_run(h, "reject > syscall:read\nkey Left\nexpect > syscall:read\nreject >  1\n"
		       "key Enter Right\nexpect >  1\nkey Down 2 Enter");
	op = model_op_peaks(h->model, 2);
	snprintf(expected, sizeof(expected), "descend op 2\ndescend op 2 peak %d\n",
		 op->peaks[1].id);
	assert_string_equal(harness_log(h), expected);
	harness_free(h);
}

static void test_a_chosen_peak_stays_chosen(void **state)
{
	struct harness *h = harness_new(10, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter 1\nexpect <1\ntick 30\nexpect <1");
	harness_free(h);
}

static void test_details(void **state)
{
	struct harness *h = harness_new(75, NULL);

	harness_run(h, "size 80 40\n"
		       "key /\n"
		       "type read\n"
		       "key Enter Enter\n"
		       "expect tends to occur with syscall:fdatasync\n"
		       "key c\n"
		       "reject tends to occur with\n"
		       "expect every 5 s\n"
		       "key e\n"
		       "expect tends to occur with\n"
		       "key C\n"
		       "reject tends to occur with\n"
		       "key E\n"
		       "expect tends to occur with\n"
		       "key 1\n"
		       "expect tends to occur with");
	harness_free(h);
}

/* Calls whose values tell the two peaks of futex apart in many ways. */
static void feed_samples(struct harness *h)
{
	unsigned int i;

	for (i = 0; i < 600; i++) {
		bool slow = i % 2;
		struct rec_sample s = {.op = 5,
				       .tid = 1234 + slow,
				       .start_ns = i * 1000000ULL,
				       .latency_ns = slow ? 450000 + i : 2500 + i % 64,
				       .known = SAMPLE_RET | SAMPLE_ARG0 * 7 | SAMPLE_ONCPU |
						SAMPLE_SWITCHES,
				       .ret = slow ? -11 : 0,
				       .args = {slow ? 0x1000 : 0x2000, slow ? 0 : 1, slow ? 7 : 9},
				       .oncpu_ns = slow ? 9000 : 2000,
				       .sleeps = slow,
				       .chance_ppm = 1000000};

		synth_feed(h->model, (struct record){.type = REC_SAMPLE, .sample = s});
	}
}

static void test_remarks_that_do_not_fit_scroll(void **state)
{
	struct harness *h = harness_new(20, NULL);
	const char *out;

	feed_samples(h);
	harness_run(
	    h,
	    "tick\nkey /\ntype futex\nkey Enter Enter 2\nsize 80 60\nexpect EAGAIN\nreject PgDn\n"
	    "size 80 20\nexpect PgDn: more\ndump");
	out = strstr(harness_out(h), "peak   latency");
	assert_non_null(out);
	assert_non_null(
	    strstr(out, "\n   1 ")); /* no peak loses its row to the remarks of another */
	assert_non_null(strstr(out, "\n>  2 "));
	harness_run(
	    h, "size 80 20\nkey PgDn PgDn PgDn PgDn PgDn\nexpect PgUp: more\nreject PgDn: more\n"
	       "key PgUp PgUp PgUp PgUp PgUp\nexpect PgDn: more\nkey Ctrl-D Ctrl-U 1 PgDn PgUp");
	harness_free(h);
}

static void test_related_peaks(void **state)
{
	struct harness *h = harness_new(75, NULL);

	harness_run(h, "key /\n"
		       "type read\n"
		       "key Enter Enter Tab\n"
		       "expect > tends to occur with syscall:fdatasync peak 2\n"
		       "key Enter\n"
		       "expect  syscall:fdatasync \n"
		       "expect <2\n"
		       "key q\n"
		       "expect  syscall:read \n"
		       "key Tab\n"
		       "key Enter");
	assert_true(!strncmp(harness_log(h), "descend op 2", 12));
	harness_free(h);
}

static void test_open_calls(void **state)
{
	struct harness *h = harness_new(20, NULL);

	harness_run(h,
		    "key /\ntype futex\nkey Enter Enter\nexpect open calls\nexpect bio_lazy_free\n"
		    "expect 0x7f0012340000, 0x80\nkey Tab\nexpect > !20 s\nkey j Enter");
	assert_string_equal(harness_log(h), "open calls op 5\n");
	screen_show_open(
	    h->screen,
	    "3 of 5 threads are in futex now\n\nworker 7, asleep for 20 s: waiting for a lock\n"
	    "    main at a.c:3\n    kernel: do_futex > futex_wait\n");
	harness_run(h, "expect 3 of 5 threads are in futex now\nexpect worker 7, asleep for 20 s: "
		       "waiting for a lock\n"
		       "expect     main at a.c:3\nexpect kernel: do_futex\nkey q\nexpect > ");
	harness_free(h);
}

static void test_columns_of_time(void **state)
{
	struct harness *h = harness_new(100, NULL);

	harness_run(h, "key Enter\nexpect 2 s per column\nkey {\nexpect 1 s per column\nkey }\n"
		       "expect 2 s per column\nkey } } }\nexpect 30 s per column\n"
		       "key { { { { { { {\nexpect 250 ms per column\nkey 0\nexpect 2 s per column");
	harness_free(h);
}

static void test_find_in_the_words(void **state)
{
	struct harness *h = harness_new(75, NULL);

	harness_run(h, "key /\ntype read\nkey Enter Enter 1\nkey /\ntype FDATA\nexpect <4\nkey "
		       "Enter\nkey 1 n\nexpect <4");
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_choosing_peaks),
	    cmocka_unit_test(test_descend),
	    cmocka_unit_test(test_a_chosen_peak_stays_chosen),
	    cmocka_unit_test(test_details),
	    cmocka_unit_test(test_remarks_that_do_not_fit_scroll),
	    cmocka_unit_test(test_related_peaks),
	    cmocka_unit_test(test_open_calls),
	    cmocka_unit_test(test_columns_of_time),
	    cmocka_unit_test(test_find_in_the_words),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
