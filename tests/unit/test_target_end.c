// SPDX-License-Identifier: GPL-2.0-or-later
/* How a target ended: what is a death, what is said of it, and whether probes were in it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/target_end.h"
#include "tests/unit/model_feed.h"
/* pure but for its clock, and in the collector, whose library is not linked here */
#include "collect/probed.c"

static const struct rec_target serve = {
    .pid = 123, .started_ns = 5, .comm = "serve", .exe = "/bin/serve", .requested = 1};

static struct rec_target_end killed(unsigned int status)
{
	return (struct rec_target_end){
	    .pid = 123, .at_ns = 7, .has_status = 1, .status = status, .has_probes = 1};
}

static void assert_words(const struct rec_target_end *end, const char *want)
{
	struct buf b = {.max = 4096};

	target_end_words(&b, &serve, end);
	assert_int_equal(b.err, 0);
	assert_string_equal(b.data, want);
	buf_release(&b);
}

static void test_signal(void **state)
{
	struct rec_target_end end = killed(SIGSEGV);

	assert_int_equal(target_end_signal(&end), SIGSEGV);
	assert_false(target_end_has_core(&end));
	end.status |= 0x80;
	assert_int_equal(target_end_signal(&end), SIGSEGV);
	assert_true(target_end_has_core(&end));
	/* exit(139) is no signal */
	end = killed(139 << 8);
	assert_int_equal(target_end_signal(&end), 0);
	assert_false(target_end_has_core(&end));
	/* a status that nobody knows */
	end = killed(SIGSEGV);
	end.has_status = 0;
	assert_int_equal(target_end_signal(&end), 0);
	assert_false(target_end_is_death(&end));
}

static void test_signal_names(void **state)
{
	assert_string_equal(target_end_signal_name(SIGKILL).s, "SIGKILL");
	assert_string_equal(target_end_signal_name(SIGABRT).s, "SIGABRT");
	assert_string_equal(target_end_signal_name(35).s, "signal 35");
	assert_string_equal(target_end_signal_name(4000000000u).s, "signal 4000000000");
}

static void test_what_is_a_death(void **state)
{
	static const unsigned int asked[] = {SIGINT, SIGTERM, SIGHUP};
	static const unsigned int others[] = {SIGSEGV, SIGKILL, SIGABRT, SIGQUIT, SIGPIPE};
	struct rec_target_end end;

	for (size_t i = 0; i < 3; i++) {
		end = killed(asked[i]);
		assert_true(target_end_is_death(&end));
		end.started = 1;
		assert_false(target_end_is_death(&end));
		/* an older session: only a command has a status */
		end.started = end.has_probes = 0;
		assert_false(target_end_is_death(&end));
	}
	for (size_t i = 0; i < 5; i++) {
		end = killed(others[i]);
		assert_true(target_end_is_death(&end));
		end.started = 1;
		assert_true(target_end_is_death(&end));
	}
	end = killed(0);
	assert_false(target_end_is_death(&end));
	end = killed(3 << 8);
	assert_false(target_end_is_death(&end));
}

static void test_words(void **state)
{
	struct rec_target_end end = killed(SIGSEGV);

	assert_words(&end, "serve (process 123) was killed by SIGSEGV; no probe was in it");
	end.unprobed_ns = 400000000;
	assert_words(&end, "serve (process 123) was killed by SIGSEGV; no probe was in it: the "
			   "last one had been removed 400 ms before; if that repeats only while it "
			   "is watched, report it");
	end.unprobed_ns = 0;
	end.probes = 1;
	assert_words(&end, "serve (process 123) was killed by SIGSEGV while 1 probe was in it; if "
			   "that repeats only while it is watched, report it");
	end.probes = 3;
	end.status |= 0x80;
	assert_words(&end, "serve (process 123) was killed by SIGSEGV (core dumped) while 3 probes "
			   "were in it; if that repeats only while it is watched, report it");
	end.has_probes = 0;
	end.status = SIGKILL;
	assert_words(&end, "serve (process 123) was killed by SIGKILL while it was measured");
}

/* --- the model */

static void feed(struct model *m, struct record rec)
{
	assert_int_equal(model_feed(m, &rec), 0);
}

static struct model *with_target(uint32_t requested)
{
	struct model *m = model_new();
	struct record rec = {.type = REC_TARGET, .target = serve};

	rec.target.requested = requested;
	feed(m, rec);
	return m;
}

static void test_death_is_noted(void **state)
{
	for (uint32_t requested = 0; requested < 2; requested++) {
		struct model *m = with_target(requested);

		assert_null(model_target_end(m, 0));
		feed(m, (struct record){.type = REC_TARGET_END, .target_end = killed(SIGBUS)});
		assert_true(model_target_ended(m, 0));
		assert_int_equal(model_target_end(m, 0)->status, SIGBUS);
		assert_int_equal(model_nr_notes(m), 1);
		assert_int_equal(model_note(m, 0)->level, requested ? NOTE_ERROR : NOTE_WARNING);
		assert_string_equal(model_note(m, 0)->text,
				    "serve (process 123) was killed by SIGBUS; no probe was in it");
		model_free(m);
	}
}

static void test_other_ends_are_not(void **state)
{
	struct model *m = with_target(1);
	struct record again = {.type = REC_TARGET, .target = serve};

	feed(m, (struct record){.type = REC_TARGET_END, .target_end = killed(1 << 8)});
	assert_int_equal(model_target_end(m, 0)->status, 1 << 8);
	assert_int_equal(model_nr_notes(m), 0);
	/* the pid is reused: nothing tells how the second process ended */
	again.target.started_ns = 6;
	feed(m, again);
	assert_null(model_target_end(m, 1));
	again.target.started_ns = 7;
	feed(m, again);
	assert_true(model_target_ended(m, 1));
	assert_null(model_target_end(m, 1));
	assert_null(model_target_end(m, 9));
	model_free(m);
}

/* --- probes in a process */

static void test_probes_in_it(void **state)
{
	uint64_t before = now_ns(), during, after;

	assert_int_equal(probed_until(7, before).nr, 0);
	assert_int_equal(probed_until(7, before).removed_ns, 0);
	probed_add(7, 2);
	probed_add(8, 5);
	probed_add(7, 1);
	during = now_ns();
	assert_int_equal(probed_until(7, during).nr, 3);
	assert_int_equal(probed_until(8, during).nr, 5);
	probed_remove(7, 1);
	assert_int_equal(probed_until(7, during).nr, 2);
	probed_remove(7, 2);
	after = now_ns() + 1;
	/* it had ended before they were removed */
	assert_int_equal(probed_until(7, during).nr, 3);
	assert_int_equal(probed_until(7, after).nr, 0);
	assert_in_range(probed_until(7, after).removed_ns, during, after - 1);
	assert_int_equal(probed_until(8, after).nr, 5);
	probed_forget(7);
	assert_int_equal(probed_until(7, after).removed_ns, 0);
	assert_int_equal(probed_until(8, after).nr, 5);
	probed_forget(8);
}

static void test_probes_placed_after_its_end(void **state)
{
	uint64_t between;

	probed_add(7, 2);
	probed_remove(7, 2);
	between = now_ns() + 1;
	while (now_ns() <= between)
		;
	probed_add(7, 4);
	assert_int_equal(probed_until(7, between).nr, 0);
	assert_true(probed_until(7, between).removed_ns);
	assert_int_equal(probed_until(7, now_ns()).nr, 4);
	/* more is removed than was placed: a process that has the pid again */
	probed_remove(7, 9);
	assert_int_equal(probed_until(7, now_ns() + 1).nr, 0);
	probed_remove(7, 1);
	probed_remove(99, 1);
	probed_forget(7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_signal),
	    cmocka_unit_test(test_signal_names),
	    cmocka_unit_test(test_what_is_a_death),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_death_is_noted),
	    cmocka_unit_test(test_other_ends_are_not),
	    cmocka_unit_test(test_probes_in_it),
	    cmocka_unit_test(test_probes_placed_after_its_end),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(processes.list);
	return failed;
}
