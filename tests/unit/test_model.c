// SPDX-License-Identifier: GPL-2.0-or-later
/* The session, the targets, and what is said of the measurement. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_feed.h"

static int setup(void **state)
{
	*state = model_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	model_free(*state);
	return 0;
}

static void test_empty(void **state)
{
	struct model *m = *state;

	assert_int_equal(model_nr_ops(m), 0);
	assert_null(model_op(m, 0));
	assert_null(model_op_by_number(m, 1));
	assert_null(model_op_peaks(m, 1));
	assert_null(model_meta(m));
	assert_int_equal(model_nr_targets(m), 0);
	assert_null(model_target(m, 0));
	assert_false(model_target_ended(m, 0));
	assert_int_equal(model_elapsed_ns(m), 0);
	assert_int_equal(model_nr_slices(m), 0);
	assert_int_equal(model_nr_notes(m), 0);
	assert_null(model_note(m, 0));
	assert_int_equal(model_nr_checks(m), 0);
	assert_null(model_check(m, 0));
	assert_int_equal(model_nr_constants(m), 0);
	assert_null(model_constant(m, 0));
	assert_int_equal(model_cost(m)->hits, 0);
	assert_int_equal(model_loss(m)->records, 0);
	model_free(NULL);
}

static void test_meta(void **state)
{
	struct model *m = *state;
	char host[16] = "web3";
	struct record r = {.type = REC_META,
			   .meta = {.version = "0.1.0",
				    .host = host,
				    .kernel = "6.18",
				    .boot_id = "b",
				    .cpus = 2,
				    .interval_ns = SECOND,
				    .command = "peaktop watch -p 1"}};

	assert_int_equal(model_feed(m, &r), 0);
	/* The texts are copies. */
	memset(host, 'x', sizeof(host) - 1);
	assert_string_equal(model_meta(m)->host, "web3");
	assert_string_equal(model_meta(m)->command, "peaktop watch -p 1");
	assert_int_equal(model_meta(m)->cpus, 2);
	/* A stream has one. */
	r.meta.host = "other";
	assert_int_equal(model_feed(m, &r), -EINVAL);
	assert_string_equal(model_meta(m)->host, "web3");
}

static int feed_target(struct model *m, uint32_t pid, uint64_t started, const char *comm)
{
	struct record r = {
	    .type = REC_TARGET,
	    .target = {.pid = pid, .started_ns = started, .comm = comm, .exe = "/bin/x"}};

	return model_feed(m, &r);
}

static int feed_end(struct model *m, uint32_t pid)
{
	struct record r = {.type = REC_TARGET_END, .target_end = {.pid = pid}};

	return model_feed(m, &r);
}

static void test_targets(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_target(m, 10, 5, "sh"), 0);
	assert_int_equal(feed_target(m, 11, 6, "worker"), 0);
	assert_int_equal(model_nr_targets(m), 2);
	/* An exec is the same process under another name. */
	assert_int_equal(feed_target(m, 10, 5, "redis"), 0);
	assert_int_equal(model_nr_targets(m), 2);
	assert_string_equal(model_target(m, 0)->comm, "redis");
	assert_int_equal(feed_end(m, 10), 0);
	assert_true(model_target_ended(m, 0));
	assert_false(model_target_ended(m, 1));
	/* It cannot end twice, nor before it was there. */
	assert_int_equal(feed_end(m, 10), -EINVAL);
	assert_int_equal(feed_end(m, 99), -EINVAL);
	/* The pid given again is another process. */
	assert_int_equal(feed_target(m, 10, 77, "cron"), 0);
	assert_int_equal(model_nr_targets(m), 3);
	assert_true(model_target_ended(m, 0));
	assert_string_equal(model_target(m, 2)->comm, "cron");
	assert_false(model_target_ended(m, 2));
	/* Even when nobody said that the old one ended. */
	assert_int_equal(feed_target(m, 11, 78, "late"), 0);
	assert_true(model_target_ended(m, 1));
	/* With --host all processes are one target. */
	assert_int_equal(feed_target(m, 0, 0, "all processes"), 0);
	assert_int_equal(model_target(m, 4)->pid, 0);
	assert_null(model_target(m, 5));
}

static void test_many_targets(void **state)
{
	struct model *m = *state;

	for (uint32_t i = 1; i <= 4096; i++)
		assert_int_equal(feed_target(m, i, i, "child"), 0);
	assert_int_equal(feed_target(m, 5000, 1, "child"), -ENOMEM);
	assert_int_equal(model_nr_targets(m), 4096);
	/* What is known is still updated. */
	assert_int_equal(feed_target(m, 4096, 4096, "exec"), 0);
	assert_string_equal(model_target(m, 4095)->comm, "exec");
}

static void test_ended_targets_make_room(void **state)
{
	struct model *m = *state;
	struct record r = {
	    .type = REC_TARGET,
	    .target = {.pid = 1, .started_ns = 1, .comm = "parent", .exe = "", .requested = 1}};

	assert_int_equal(model_feed(m, &r), 0);
	for (uint32_t i = 2; i <= 3 * 4096; i++) {
		assert_int_equal(feed_target(m, i, i, "child"), 0);
		/* the first children stay */
		if (i > 10)
			assert_int_equal(feed_end(m, i), 0);
	}
	assert_int_equal(model_nr_targets(m), 4096);
	assert_string_equal(model_target(m, 0)->comm, "parent");
	for (uint32_t i = 1; i <= 10; i++)
		assert_int_equal(model_target(m, i - 1)->pid, i);
	assert_int_equal(model_target(m, 4095)->pid, 3 * 4096);
	/* Also one that was named by the user and has ended. */
	assert_int_equal(feed_end(m, 1), 0);
	assert_int_equal(feed_target(m, 20000, 1, "late"), 0);
	assert_string_equal(model_target(m, 0)->comm, "parent");
}

static int feed_note(struct model *m, uint32_t level, const char *text)
{
	struct record r = {.type = REC_NOTE, .note = {.level = level, .text = text}};

	return model_feed(m, &r);
}

static void test_notes(void **state)
{
	struct model *m = *state;

	assert_int_equal(feed_note(m, NOTE_INFO, "one"), 0);
	assert_int_equal(feed_note(m, NOTE_WARNING, "two"), 0);
	assert_int_equal(feed_note(m, NOTE_INFO, "one"), 0);
	assert_int_equal(model_nr_notes(m), 2);
	assert_string_equal(model_note(m, 0)->text, "one");
	assert_int_equal(model_note(m, 1)->level, NOTE_WARNING);
	/* The graver word for the same thing counts, an unknown one is the gravest. */
	assert_int_equal(feed_note(m, 99, "one"), 0);
	assert_int_equal(model_note(m, 0)->level, NOTE_ERROR);
	assert_int_equal(feed_note(m, NOTE_INFO, "two"), 0);
	assert_int_equal(model_note(m, 1)->level, NOTE_WARNING);
	assert_int_equal(feed_note(m, NOTE_INFO, NULL), 0);
	assert_string_equal(model_note(m, 2)->text, "");
}

static void test_too_many_notes(void **state)
{
	struct model *m = *state;
	char text[32];
	bool said = false, grave = false;

	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "note %d", i);
		assert_int_equal(feed_note(m, NOTE_INFO, text), 0);
	}
	assert_int_equal(model_nr_notes(m), MODEL_MAX_NOTES);
	assert_int_equal(feed_note(m, NOTE_ERROR, "grave"), 0);
	assert_int_equal(model_nr_notes(m), MODEL_MAX_NOTES);
	for (size_t i = 0; i < MODEL_MAX_NOTES; i++) {
		said |= strstr(model_note(m, i)->text, "too many notes") != NULL;
		grave |= !strcmp(model_note(m, i)->text, "grave");
	}
	assert_true(said);
	assert_true(grave);
	/* The oldest of the lightest made room. */
	assert_string_equal(model_note(m, 0)->text, "note 1");
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "error %d", i);
		assert_int_equal(feed_note(m, NOTE_ERROR, text), 0);
	}
	assert_string_equal(model_note(m, 0)->text, "grave");
	assert_non_null(strstr(model_note(m, MODEL_MAX_NOTES - 1)->text, "too many notes"));
	for (size_t i = 0; i < MODEL_MAX_NOTES - 1; i++)
		assert_int_equal(model_note(m, i)->level, NOTE_ERROR);
}

static void test_long_text_is_cut(void **state)
{
	struct model *m = *state;
	char *text = malloc(100001);

	assert_non_null(text);
	memset(text, 'a', 100000);
	text[100000] = 0;
	assert_int_equal(feed_note(m, NOTE_INFO, text), 0);
	assert_int_equal(strlen(model_note(m, 0)->text), 4096);
	/* The same again is the same. */
	assert_int_equal(feed_note(m, NOTE_INFO, text), 0);
	assert_int_equal(model_nr_notes(m), 1);
	free(text);
}

static void test_checks(void **state)
{
	struct model *m = *state;
	struct record r = {.type = REC_CHECK,
			   .check = {"uprobe_multi", 0, "many sites", "Linux 6.6"}};

	assert_int_equal(model_feed(m, &r), 0);
	r.check.ok = 1;
	assert_int_equal(model_feed(m, &r), 0);
	assert_int_equal(model_nr_checks(m), 1);
	assert_int_equal(model_check(m, 0)->ok, 1);
	assert_string_equal(model_check(m, 0)->remedy, "Linux 6.6");
	r.check.name = "BTF";
	assert_int_equal(model_feed(m, &r), 0);
	assert_int_equal(model_nr_checks(m), 2);
	assert_string_equal(model_check(m, 1)->name, "BTF");
	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "check %d", i);
		r.check.name = name;
		assert_int_equal(model_feed(m, &r), i < 254 ? 0 : -ENOMEM);
	}
	assert_int_equal(model_nr_checks(m), 256);
}

static void test_constants(void **state)
{
	struct model *m = *state;
	struct record r = {.type = REC_CONSTANT, .constant = {"context switch", 900, 1100, 1}};

	assert_int_equal(model_feed(m, &r), 0);
	r.constant.high_ns = 1200;
	assert_int_equal(model_feed(m, &r), 0);
	assert_int_equal(model_nr_constants(m), 1);
	assert_int_equal(model_constant(m, 0)->high_ns, 1200);
	r.constant.name = "upside down";
	r.constant.low_ns = 5000;
	assert_int_equal(model_feed(m, &r), -EINVAL);
	assert_int_equal(model_nr_constants(m), 1);
}

static void test_cost_and_loss(void **state)
{
	struct model *m = *state;
	struct record cost = {.type = REC_COST, .cost = {.hits = 10, .ns = 20}};
	struct record loss = {.type = REC_LOSS, .loss = {.records = 1, .stacks = 2}};

	assert_int_equal(model_feed(m, &cost), 0);
	assert_int_equal(model_feed(m, &loss), 0);
	cost.cost.hits = 30;
	assert_int_equal(model_feed(m, &cost), 0);
	assert_int_equal(model_cost(m)->hits, 30);
	assert_int_equal(model_loss(m)->stacks, 2);
}

static void test_refused_is_said(void **state)
{
	struct model *m = *state;
	struct record r = {.type = REC_REFUSED,
			   .refused = {.op = 3, .error = -EPERM, .reason = "not permitted here"}};

	assert_int_equal(feed_op(m, 3, LAYER_FUNCTION, "work@demo"), 0);
	assert_int_equal(model_feed(m, &r), 0);
	assert_string_equal(model_note(m, 0)->text, "work@demo: not permitted here");
	assert_int_equal(model_note(m, 0)->level, NOTE_ERROR);
	r.refused.reason = "work@demo is gone";
	assert_int_equal(model_feed(m, &r), 0);
	assert_string_equal(model_note(m, 1)->text, "work@demo is gone");
	r.refused.op = 0;
	r.refused.reason = "too many sites";
	assert_int_equal(model_feed(m, &r), 0);
	assert_string_equal(model_note(m, 2)->text, "too many sites");
}

static void test_requests_are_not_for_it(void **state)
{
	static const enum record_type types[] = {
	    REQ_HEARTBEAT,  REQ_LAYERS, REQ_ARM,       REQ_DISARM, REQ_FILE,
	    REQ_DEBUG_FILE, REQ_STOP,	REC_SAVED_MAX, 0,	   (enum record_type)0x7fff};
	struct record r;

	memset(&r, 0, sizeof(r));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		r.type = types[i];
		assert_int_equal(model_feed(*state, &r), -EINVAL);
	}
}

/* Records that say nothing about results are taken without a word. */
static void test_other_records(void **state)
{
	static const enum record_type types[] = {REC_MODULE,	 REC_MAPPING, REC_SITE,
						 REC_ACK,	 REC_MARK,    REC_SYMBOL,
						 REC_NEW_RETURN, REC_FILE,    REC_BYE};
	struct record r;

	memset(&r, 0, sizeof(r));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		r.type = types[i];
		assert_int_equal(model_feed(*state, &r), 0);
	}
	assert_int_equal(model_nr_notes(*state), 0);
}

/* The slices in which a layer was off are joined; a session that does not tell has none. */
static void test_layers_off(void **state)
{
	const uint32_t function = 1u << LAYER_FUNCTION, lock = 1u << LAYER_LOCK;
	const struct layer_off *off;
	struct model *m = *state;

	for (uint64_t i = 0; i < 4 * LAYER_GAPS; i++) {
		struct record r = {.type = REC_TICK,
				   .tick = {.slice = i,
					    .start_ns = i * SECOND,
					    .end_ns = (i + 1) * SECOND,
					    .layers = !i      ? 0
						      : i % 3 ? function
							      : function | lock}};

		assert_int_equal(model_feed(m, &r), 0);
	}
	assert_int_equal(model_layer_off(m, LAYER_FUNCTION)->nr, 0);
	off = model_layer_off(m, LAYER_BLOCK);
	assert_int_equal(off->nr, 1);
	assert_int_equal(off->gap[0].start_ns, SECOND);
	assert_int_equal(off->gap[0].end_ns, 4 * LAYER_GAPS * SECOND);
	/* too many: the newest are there */
	off = model_layer_off(m, LAYER_LOCK);
	assert_int_equal(off->nr, LAYER_GAPS);
	for (unsigned int i = 0; i + 1 < off->nr; i++) {
		assert_int_equal(off->gap[i].end_ns - off->gap[i].start_ns, 2 * SECOND);
		assert_int_equal(off->gap[i + 1].start_ns, off->gap[i].end_ns + SECOND);
	}
	assert_int_equal(off->gap[off->nr - 1].end_ns, 4 * LAYER_GAPS * SECOND - SECOND);
}

static void test_ticks(void **state)
{
	struct model *m = *state;
	struct record r = {.type = REC_TICK,
			   .tick = {.slice = 7, .start_ns = 10 * SECOND, .end_ns = 9 * SECOND}};

	assert_int_equal(feed_tick(m, 0), 0);
	assert_int_equal(model_elapsed_ns(m), SECOND);
	assert_int_equal(feed_tick(m, 1), 0);
	assert_int_equal(model_nr_slices(m), 2);
	/* Time goes on. */
	assert_int_equal(feed_tick(m, 1), -EINVAL);
	assert_int_equal(feed_tick(m, 0), -EINVAL);
	assert_int_equal(model_feed(m, &r), -EINVAL);
	r.tick = (struct rec_tick){.slice = 8, .end_ns = SECOND};
	assert_int_equal(model_feed(m, &r), -EINVAL);
	assert_int_equal(model_nr_slices(m), 2);
	assert_int_equal(model_elapsed_ns(m), 2 * SECOND);
	/* A session that was cut may begin with another slice than 0, and lack some. */
	assert_int_equal(feed_tick(m, 9), 0);
	assert_int_equal(model_nr_slices(m), 3);
	assert_int_equal(model_elapsed_ns(m), 10 * SECOND);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_empty),
	    TEST(test_meta),
	    TEST(test_targets),
	    TEST(test_many_targets),
	    TEST(test_ended_targets_make_room),
	    TEST(test_notes),
	    TEST(test_too_many_notes),
	    TEST(test_long_text_is_cut),
	    TEST(test_checks),
	    TEST(test_constants),
	    TEST(test_cost_and_loss),
	    TEST(test_refused_is_said),
	    TEST(test_requests_are_not_for_it),
	    TEST(test_other_records),
	    TEST(test_ticks),
	    TEST(test_layers_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
