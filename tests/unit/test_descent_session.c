// SPDX-License-Identifier: GPL-2.0-or-later
/* A descent over its records: replayed, resumed, asked again, ended early, fed with garbage. */
#include <math.h>

#include "analysis/session/frame.h"
#include <limits.h>

#include "tests/unit/descent/bench.h"

/* --- ends */

static void target(struct bench *b, enum record_type type, uint32_t pid)
{
	struct record rec = {.type = type};

	if (type == REC_TARGET)
		rec.target.pid = pid;
	else
		rec.target_end.pid = pid;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
}

static void test_target_ends(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	target(&b, REC_TARGET_END, 5);
	expect_done(&b, DESCENT_TARGET_END);
	expect_path(&b, 0, "a", CAUSE_UNMEASURED); /* what was found stays */
	bench_end(&b);
	/* Of several targets the last one. */
	bench_begin(&b);
	target(&b, REC_TARGET, 5);
	target(&b, REC_TARGET, 6);
	target(&b, REC_TARGET, 6); /* exec */
	start(&b, true);
	target(&b, REC_TARGET_END, 6);
	expect_done(&b, DESCENT_IN_PROGRESS);
	target(&b, REC_TARGET_END, 5);
	expect_done(&b, DESCENT_TARGET_END);
	bench_end(&b);
}

/* What its new callees took is its own still, as long as nothing was decided. */
static void test_target_ends_undecided(void **state)
{
	struct bench b;
	struct descent_result r;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(20, &b, 10 * MS, P("a", 9 * MS));
	assert_non_null(armed(&b, "ab"));
	CALLS(3, &b, 10 * MS, P("a", 9 * MS), P("ab", 8900 * US));
	target(&b, REC_TARGET_END, 5);
	expect_done(&b, DESCENT_TARGET_END);
	expect_path(&b, 0, "a", CAUSE_UNMEASURED);
	assert_int_equal(descent_result(b.d, &r), 0);
	assert_int_equal(r.nr_paths, 1);
	assert_true(r.paths[0].share > 0.85 && r.paths[0].share < 0.95);
	descent_result_release(&r);
	bench_end(&b);
}

static void test_stopped(void **state)
{
	struct bench b;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(19, &b, 10 * MS, P("a", 9 * MS));
	descent_stop(b.d);
	act(&b);
	assert_true(b.done);
	assert_int_equal(descent_status(b.d), DESCENT_TOO_FEW);
	bench_end(&b);
	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, 'a', 'b');
	start(&b, true);
	CALLS(21, &b, 10 * MS, P("a", 9 * MS));
	descent_stop(b.d);
	assert_int_equal(descent_status(b.d), DESCENT_IN_PROGRESS);
	assert_int_equal(nr_paths(&b), 1);
	bench_end(&b);
}

/* --- another peak */

static void test_another_peak(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);
	struct descent_result first, second;

	bench_begin(&b);
	site(&b, '0', 'a');
	site(&b, '0', 'c');
	site(&b, 'a', 'b');
	site(&b, 'c', 'd');
	start(&b, true);
	CALLS(40, &b, 10 * MS, P("a", 9 * MS), P("ab", 9 * MS));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "ab", CAUSE_OWN_CODE);
	assert_string_equal(b.expanded, "0ab");
	assert_int_equal(descent_result(b.d, &first), 0);
	rec.descent.low_ns = MS;
	rec.descent.high_ns = 2 * MS;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	/* It begins at once: there is a start profile, and the code is known. */
	assert_non_null(armed(&b, "a"));
	assert_non_null(armed(&b, "c"));
	expect_done(&b, DESCENT_IN_PROGRESS);
	CALLS(30, &b, 10 * MS, P("a", 9 * MS)); /* the first peak's calls */
	CALLS(40, &b, 1500 * US, P("c", 1400 * US), P("cd", 1300 * US));
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "cd", CAUSE_OWN_CODE);
	assert_string_equal(b.expanded, "0abcd");
	assert_int_equal(descent_result(b.d, &second), 0);
	assert_int_equal(second.calls_used, 40);
	assert_int_equal(second.nr_paths, 1);
	assert_false(descent_same_path(&first, &second));
	assert_true(descent_same_path(&first, &first));
	descent_result_release(&second);
	/* A third with the path of the first. */
	rec.descent.low_ns = 20 * MS;
	rec.descent.high_ns = 40 * MS;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	CALLS(40, &b, 30 * MS, P("a", 29 * MS), P("ab", 29 * MS));
	assert_int_equal(descent_result(b.d, &second), 0);
	assert_true(descent_same_path(&first, &second));
	assert_string_equal(b.expanded, "0abcd");
	descent_result_release(&first);
	descent_result_release(&second);
	bench_end(&b);
}

/* What was learnt, and what is too hot, is known for the next peak too. */
static void test_another_peak_knows_the_sites(void **state)
{
	struct bench b;
	struct rec_code callee[] = {code('b'), code('c')};
	struct record rec;

	bench_begin(&b);
	site(&b, '0', '?')->kind = CALLEE_INDIRECT;
	site(&b, '0', 'h')->flags |= CALL_SITE_LOOP;
	start(&b, true);
	lose(&b, "h", FNODE_BLOWN);
	CALLS(20, &b, 10 * MS, P("?", 9 * MS));
	discover(&b, callee, 2);
	CALLS(20, &b, 10 * MS, P("b", 9 * MS));
	expect_path(&b, 0, "b", CAUSE_OWN_CODE);
	assert_int_equal(b.learns, 1);
	rec = ask_record(true);
	rec.descent.low_ns = MS;
	rec.descent.high_ns = 2 * MS;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	assert_int_equal(b.nr_armed, 2);
	assert_non_null(armed(&b, "b"));
	assert_non_null(armed(&b, "c"));
	CALLS(20, &b, 1500 * US, P("c", 1400 * US));
	expect_path(&b, 0, "c", CAUSE_OWN_CODE);
	assert_int_equal(b.learns, 1);
	bench_end(&b);
}

static void test_another_function(void **state)
{
	struct bench b;
	struct record rec = ask_record(true);

	bench_begin(&b);
	site(&b, '0', 'a');
	start(&b, true);
	rec.descent.function = code('a');
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	CALLS(20, &b, 10 * MS, NOTHING); /* no start profile yet */
	profile(&b, 100, 10 * MS);
	assert_string_equal(b.expanded, "0a");
	CALLS(20, &b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_OWN_CODE);
	bench_end(&b);
}

/* --- saved and resumed */

struct saved {
	struct buf frames;
	unsigned int nr;
};

static int save_one(void *ctx, const struct record *rec)
{
	struct saved *s = ctx;

	return frame_encode(&s->frames, rec, s->nr++);
}

static void save(struct bench *b, struct saved *s)
{
	buf_init(&s->frames, 1 << 24);
	s->nr = 0;
	assert_int_equal(descent_save(b->d, save_one, s), 0);
}

/* Feed all frames; the number that were refused. */
static unsigned int restore(struct bench *b, const struct saved *s)
{
	struct frame_decoder *decoder = frame_decoder_new();
	unsigned int refused = 0;
	struct frame f;
	size_t at = 0;

	while (at < s->frames.len) {
		assert_int_equal(frame_decode(decoder, s->frames.data + at, s->frames.len - at, &f),
				 1);
		refused += feed(b, &f.rec) != 0;
		at += f.size;
	}
	frame_decoder_free(decoder);
	return refused;
}

static void chain(struct bench *b)
{
	site(b, '0', 'a');
	site(b, '0', 'x');
	site(b, 'a', 'b');
	site(b, 'a', 'y');
	site(b, 'b', 'c');
	site(b, 'c', 'd');
}

#define CHAIN_CALL                                                                                 \
	P("a", 9900 * US), P("ab", 9800 * US), P("abc", 9700 * US), P("abcd", 9600 * US),          \
	    P("ay", 10 * US), P("x", 20 * US)

static void test_resume(void **state)
{
	struct bench b, c;
	struct saved s;
	struct descent_result r;
	struct descent_progress p;

	bench_begin(&b);
	chain(&b);
	start(&b, true);
	CALLS(45, &b, 10 * MS, CHAIN_CALL);
	assert_non_null(armed(&b, "abc"));
	assert_null(armed(&b, "abcd"));
	save(&b, &s);
	bench_begin(&c);
	chain(&c);
	ask(&c, true);
	assert_int_equal(restore(&c, &s), 0);
	assert_int_equal(restore(&c, &s), s.nr - 1); /* twice is a mistake, but for f0 */
	profile(&c, 100, 10 * MS);
	/* It goes on where it stood: what comes next is armed with the path, not the first level.
	 */
	assert_non_null(armed(&c, "abcd"));
	assert_null(armed(&c, "x"));
	CALLS(20, &c, 10 * MS, CHAIN_CALL);
	expect_done(&c, DESCENT_ROOT_CAUSE);
	expect_path(&c, 0, "abcd", CAUSE_OWN_CODE);
	assert_int_equal(descent_result(c.d, &r), 0);
	assert_true(r.nodes[r.paths[0].frames[1]].maxcount > 60); /* with those of the session */
	assert_int_equal(r.paths[0].nr_siblings, 0);
	assert_int_equal(r.calls_used, 20);
	descent_result_release(&r);
	descent_progress(c.d, &p);
	assert_int_equal(p.contradicted, 0);
	buf_release(&s.frames);
	bench_end(&c);
	bench_end(&b);
}

/* Calls of the chain until the descent is over, or until it has armed `rounds` sets. */
static void run_chain(struct bench *b, unsigned int rounds)
{
	struct descent_progress p;

	for (int i = 0; i < 1000 && !b->done; i++) {
		descent_progress(b->d, &p);
		if (p.rounds >= rounds)
			return;
		CALL(b, 10 * MS, CHAIN_CALL);
	}
}

static unsigned int expect_chain(struct bench *b, const char *letters)
{
	struct descent_result r;
	unsigned int rounds;

	expect_done(b, DESCENT_ROOT_CAUSE);
	expect_path(b, 0, letters, CAUSE_OWN_CODE);
	assert_int_equal(descent_result(b->d, &r), 0);
	rounds = r.rounds;
	descent_result_release(&r);
	return rounds;
}

/* Calls of the chain until so many sets were armed and decided; then the user stops it. */
static void stop_after(struct bench *b, unsigned int rounds)
{
	run_chain(b, rounds);
	CALLS(10, b, 10 * MS, CHAIN_CALL); /* enough for a decision, not for the next set */
	descent_stop(b->d);
	act(b);
	assert_true(b->done);
}

static void begin_chain(struct bench *b, bool level_by_level)
{
	bench_begin(b);
	chain(b);
	start(b, level_by_level);
}

static void resume_chain(struct bench *b, const struct saved *s, bool level_by_level)
{
	bench_begin(b);
	chain(b);
	ask(b, level_by_level);
	assert_int_equal(restore(b, s), 0);
	profile(b, 100, 10 * MS);
}

/*
 * Saved after 1, 2 and 3 rounds, in both modes; stopped before the next set was armed, or after
 * that. The answer is that of an uninterrupted descent, in as many fewer rounds as were decided
 * before: the first set has the call sites of the next round.
 */
static void test_resume_after_each_round(void **state)
{
	static const char *const next[] = {"", "ab", "abc", "abcd"};

	for (int variant = 0; variant < 4; variant++) {
		bool level = variant & 1, stopped = variant & 2;
		struct bench whole;
		unsigned int rounds;

		begin_chain(&whole, level);
		run_chain(&whole, UINT_MAX);
		rounds = expect_chain(&whole, "abcd");
		assert_true(rounds > 3);
		bench_end(&whole);
		for (unsigned int k = 1; k <= 3; k++) {
			struct bench b, same;
			struct saved s;

			begin_chain(&b, level);
			if (stopped)
				stop_after(&b, k);
			else
				run_chain(&b, k + 1);
			save(&b, &s);
			resume_chain(&same, &s, level);
			assert_non_null(armed(&same, next[k]));
			assert_null(armed(&same, "x"));
			run_chain(&same, UINT_MAX);
			assert_int_equal(expect_chain(&same, "abcd"), rounds - k);
			buf_release(&s.frames);
			bench_end(&same);
			bench_end(&b);
		}
	}
}

/* Stack samples propose the whole path: one round, and as many if it is confirmed later. */
static void test_resume_with_stacks(void **state)
{
	struct bench b, c;
	struct saved s;

	begin_chain(&b, false);
	for (int i = 0; i < 200 && !b.done; i++) {
		stack(&b, "abcd", 9 * MS, NULL);
		CALL(&b, 10 * MS, CHAIN_CALL);
		if (i == 25)
			save(&b, &s);
	}
	assert_int_equal(expect_chain(&b, "abcd"), 1);
	resume_chain(&c, &s, false);
	run_chain(&c, UINT_MAX);
	assert_int_equal(expect_chain(&c, "abcd"), 1);
	buf_release(&s.frames);
	bench_end(&c);
	bench_end(&b);
}

/* A round with too few calls for a decision is done again, and keeps the votes of these. */
static void test_resume_of_an_undecided_round(void **state)
{
	struct descent_result r;
	struct bench b, c;
	struct saved s;

	begin_chain(&b, true);
	run_chain(&b, 2);
	CALLS(4, &b, 10 * MS, CHAIN_CALL);
	save(&b, &s);
	resume_chain(&c, &s, true);
	assert_non_null(armed(&c, "ab"));
	assert_non_null(armed(&c, "ay"));
	assert_null(armed(&c, "abc"));
	CALLS(19, &c, 10 * MS, CHAIN_CALL);
	assert_null(armed(&c, "abc"));
	assert_int_equal(descent_result(c.d, &r), 0);
	assert_int_equal(r.nodes[1].votes, 20 + 4 + 19);
	assert_int_equal(r.nodes[2].votes, 4 + 19); /* those among the callees of a */
	descent_result_release(&r);
	run_chain(&c, UINT_MAX);
	assert_int_equal(expect_chain(&c, "abcd"), 3);
	buf_release(&s.frames);
	bench_end(&c);
	bench_end(&b);
}

/* With a call site that another build has elsewhere, what lies below it is measured again. */
static void test_resume_where_a_site_moved(void **state)
{
	for (unsigned int k = 1; k <= 3; k++) {
		struct bench b, rebuilt;
		struct saved s;

		begin_chain(&b, true);
		run_chain(&b, k + 1);
		save(&b, &s);
		bench_begin(&rebuilt);
		site(&rebuilt, '0', 'a');
		site(&rebuilt, '0', 'x');
		site(&rebuilt, 'a', 'p')->flags = CALL_SITE_NORETURN; /* moves those behind it */
		site(&rebuilt, 'a', 'b');
		site(&rebuilt, 'a', 'y');
		site(&rebuilt, 'b', 'c');
		site(&rebuilt, 'c', 'd');
		ask(&rebuilt, true);
		assert_int_equal(restore(&rebuilt, &s), 0);
		profile(&rebuilt, 100, 10 * MS);
		run_chain(&rebuilt, UINT_MAX);
		assert_true(expect_chain(&rebuilt, "abcd") <= 4);
		buf_release(&s.frames);
		bench_end(&rebuilt);
		bench_end(&b);
	}
}

/*
 * A function with more call sites than one set holds: those of the sets that were done are not
 * armed again, unless the function itself seems to be the cause.
 */
static void many_sites(struct bench *b)
{
	bench_begin(b);
	for (char f = 'a'; f <= 'l'; f++)
		site(b, '0', f);
}

static void begin_few_sites(struct bench *b, const struct saved *s)
{
	struct record rec = ask_record(true);

	many_sites(b);
	rec.descent.max_sites = 4;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
	if (s)
		assert_int_equal(restore(b, s), 0);
	profile(b, 100, 10 * MS);
}

#define LATE_CALL P("a", 10 * US), P("e", 10 * US), P("j", 9900 * US)
#define OWN_CALL P("a", 10 * US), P("e", 10 * US)

static void test_resume_within_a_large_function(void **state)
{
	struct bench b, c;
	struct saved s;

	begin_few_sites(&b, NULL);
	CALLS(45, &b, 10 * MS, LATE_CALL); /* two sets were done, the third is armed */
	assert_non_null(armed(&b, "j"));
	save(&b, &s);
	begin_few_sites(&c, &s);
	assert_non_null(armed(&c, "j"));
	assert_null(armed(&c, "a"));
	assert_null(armed(&c, "e"));
	for (int i = 0; i < 100 && !c.done; i++)
		CALL(&c, 10 * MS, LATE_CALL);
	assert_int_equal(expect_chain(&c, "j"), 1);
	bench_end(&c);
	/* now it is one of those that took nothing then */
	begin_few_sites(&c, &s);
	for (int i = 0; i < 400 && !c.done; i++)
		CALL(&c, 10 * MS, P("e", 9900 * US));
	assert_true(expect_chain(&c, "e") > 1);
	bench_end(&c);
	/* or its own code, after all */
	begin_few_sites(&c, &s);
	for (int i = 0; i < 400 && !c.done; i++)
		CALL(&c, 10 * MS, OWN_CALL);
	assert_true(expect_chain(&c, "") > 1);
	bench_end(&c);
	buf_release(&s.frames);
	bench_end(&b);
}

/* One that was finished is confirmed by new calls, not repeated from the file. */
static void test_resume_of_a_finished_one(void **state)
{
	struct bench b, c;
	struct saved s;

	bench_begin(&b);
	chain(&b);
	start(&b, true);
	CALLS(80, &b, 10 * MS, CHAIN_CALL);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	save(&b, &s);
	bench_begin(&c);
	chain(&c);
	ask(&c, true);
	assert_int_equal(restore(&c, &s), 0);
	profile(&c, 100, 10 * MS);
	expect_done(&c, DESCENT_IN_PROGRESS);
	assert_non_null(armed(&c, "abcd"));
	CALLS(19, &c, 10 * MS, CHAIN_CALL);
	expect_done(&c, DESCENT_IN_PROGRESS);
	CALL(&c, 10 * MS, CHAIN_CALL);
	expect_done(&c, DESCENT_ROOT_CAUSE);
	expect_path(&c, 0, "abcd", CAUSE_OWN_CODE);
	buf_release(&s.frames);
	bench_end(&c);
	bench_end(&b);
}

/* A chain in which other calls may take other paths. */
static void branches(struct bench *b)
{
	bench_begin(b);
	chain(b);
	site(b, 'a', 'z');
	site(b, 'z', 'w');
}

static void begin_resumed(struct bench *b, const struct saved *s)
{
	branches(b);
	ask(b, true);
	assert_int_equal(restore(b, s), 0);
	profile(b, 100, 10 * MS);
}

#define UNTIL_DONE(b, ...)                                                                         \
	for (int call = 0; call < 400 && !(b)->done; call++)                                       \
	CALL(b, 10 * MS, __VA_ARGS__)

/*
 * Calls that last as long as the saved ones may take another path: it is measured, from where it
 * leaves the saved one, and no time of the session stands for one of now.
 */
static void test_resume_on_another_path(void **state)
{
	for (unsigned int rounds = 2; rounds <= 12; rounds += 5) {
		struct descent_progress p;
		struct descent_result r;
		struct bench b, c;
		struct saved s;

		branches(&b);
		start(&b, true);
		run_chain(&b, rounds);
		save(&b, &s);
		begin_resumed(&c, &s);
		UNTIL_DONE(&c, P("a", 9900 * US), P("az", 9800 * US), P("azw", 9700 * US));
		expect_done(&c, DESCENT_ROOT_CAUSE);
		expect_path(&c, 0, "azw", CAUSE_OWN_CODE);
		assert_int_equal(descent_result(c.d, &r), 0);
		for (unsigned int i = 0; i < r.nr_nodes; i++) /* "ay" took 10 us in the session */
			assert_true(r.nodes[i].root_cause || !r.nodes[i].latency_ns);
		descent_result_release(&r);
		bench_end(&c);
		begin_resumed(&c, &s);
		UNTIL_DONE(&c, P("x", 9900 * US));
		expect_done(&c, DESCENT_ROOT_CAUSE);
		expect_path(&c, 0, "x", CAUSE_OWN_CODE);
		descent_progress(c.d, &p);
		assert_true(p.contradicted > 0);
		bench_end(&c);
		begin_resumed(&c, &s);
		for (int i = 0; i < 600 && !c.done; i++) {
			CALL(&c, 10 * MS, CHAIN_CALL);
			CALL(&c, 10 * MS, P("a", 9900 * US), P("az", 9800 * US));
		}
		expect_done(&c, DESCENT_ROOT_CAUSE);
		assert_int_equal(nr_paths(&c), 2); /* each in half of the calls */
		bench_end(&c);
		buf_release(&s.frames);
		bench_end(&b);
	}
}

/* A saved answer that blames a function's own code says nothing about what the function calls now.
 */
static void test_resume_of_own_code(void **state)
{
	struct bench b, c;
	struct saved s;

	branches(&b);
	start(&b, true);
	UNTIL_DONE(&b, P("a", 9900 * US), P("ay", 10 * US));
	expect_path(&b, 0, "a", CAUSE_OWN_CODE);
	save(&b, &s);
	begin_resumed(&c, &s);
	assert_non_null(armed(&c, "ab")); /* the callees of the last function, in the same set */
	assert_non_null(armed(&c, "az"));
	CALLS(20, &c, 10 * MS, P("a", 9900 * US), P("ay", 10 * US));
	expect_done(&c, DESCENT_ROOT_CAUSE);
	expect_path(&c, 0, "a", CAUSE_OWN_CODE);
	bench_end(&c);
	begin_resumed(&c, &s);
	UNTIL_DONE(&c, P("a", 9900 * US), P("az", 9800 * US));
	expect_done(&c, DESCENT_ROOT_CAUSE);
	expect_path(&c, 0, "az", CAUSE_OWN_CODE);
	bench_end(&c);
	/* time of f0 itself, too little for a vote and too much to be left out */
	begin_resumed(&c, &s);
	UNTIL_DONE(&c, P("a", 6 * MS), P("ay", 10 * US));
	expect_done(&c, DESCENT_ROOT_CAUSE);
	assert_int_equal(nr_paths(&c), 2);
	bench_end(&c);
	buf_release(&s.frames);
	bench_end(&b);
}

/* What could not be timed in the session that was saved is not armed again. */
static void test_resume_of_lost_sites(void **state)
{
	for (int reason = FNODE_BLOWN; reason <= FNODE_REFUSED; reason++) {
		struct descent_result r;
		struct bench b, c;
		struct saved s;
		unsigned int lost = 0;

		branches(&b);
		start(&b, true);
		run_chain(&b, 2);
		lose(&b, "ay", (enum fnode_lost)reason);
		save(&b, &s);
		begin_resumed(&c, &s);
		assert_non_null(armed(&c, "ab"));
		for (int call = 0; call < 400 && !c.done; call++) {
			assert_null(armed(&c, "ay"));
			CALL(&c, 10 * MS, CHAIN_CALL);
		}
		expect_done(&c, DESCENT_ROOT_CAUSE);
		expect_path(&c, 0, "abcd", CAUSE_OWN_CODE);
		assert_int_equal(descent_result(c.d, &r), 0);
		for (unsigned int i = 0; i < r.nr_nodes; i++)
			lost +=
			    r.nodes[i].state == (reason == FNODE_BLOWN ? FNODE_HOT : FNODE_UNTIMED);
		assert_int_equal(lost, reason == FNODE_BLOWN); /* the answer lists those */
		descent_result_release(&r);
		buf_release(&s.frames);
		bench_end(&c);
		bench_end(&b);
	}
}

/* What is saved again before a call was measured is as much as before. */
static void test_resume_twice(void **state)
{
	struct bench b, c;
	struct saved s, again;

	branches(&b);
	start(&b, true);
	run_chain(&b, 12);
	save(&b, &s);
	begin_resumed(&c, &s);
	save(&c, &again);
	bench_end(&c);
	assert_int_equal(again.nr, s.nr);
	begin_resumed(&c, &again);
	CALLS(20, &c, 10 * MS, CHAIN_CALL);
	expect_done(&c, DESCENT_ROOT_CAUSE);
	expect_path(&c, 0, "abcd", CAUSE_OWN_CODE);
	bench_end(&c);
	buf_release(&s.frames);
	buf_release(&again.frames);
	bench_end(&b);
}

/* The program was built anew: what is gone is forgotten, what it does now is found. */
static void test_resume_of_another_build(void **state)
{
	struct bench b, c;
	struct saved s;

	bench_begin(&b);
	chain(&b);
	start(&b, true);
	CALLS(80, &b, 10 * MS, CHAIN_CALL);
	save(&b, &s);
	bench_begin(&c);
	site(&c, '0', 'p')->flags = CALL_SITE_NORETURN; /* its sites lie elsewhere */
	site(&c, '0', 'q')->flags = CALL_SITE_NORETURN;
	site(&c, '0', 'z');
	ask(&c, true);
	assert_int_equal(restore(&c, &s), 0);
	profile(&c, 100, 10 * MS);
	for (int i = 0; i < 200 && !c.done; i++)
		CALL(&c, 10 * MS, P("z", 9900 * US));
	expect_done(&c, DESCENT_ROOT_CAUSE);
	expect_path(&c, 0, "z", CAUSE_OWN_CODE);
	buf_release(&s.frames);
	bench_end(&c);
	bench_end(&b);
}

/* Tells that a saved descent follows; `latency` is that of all calls of its start profile. */
static void ask_resumed(struct bench *b, const struct saved *s, enum descent_resumes resumes,
			uint64_t latency)
{
	struct record rec = ask_record(true);
	const uint32_t bucket = pt_bucket(latency);
	const uint64_t count = 100;

	rec.descent.resumes = resumes;
	assert_int_equal(feed(b, &rec), 0);
	act(b);
	assert_int_equal(restore(b, s), 0);
	profile(b, 100, 10 * MS); /* enough calls, but the saved ones are not known yet */
	assert_int_equal(b->arms, 0);
	rec = (struct record){.type = REC_SAVED_PROFILE,
			      .profile = {.op = OP,
					  .calls = count,
					  .sum_ns = count * latency,
					  .min_ns = latency,
					  .max_ns = latency,
					  .nr_buckets = 1,
					  .bucket = &bucket,
					  .count = &count}};
	assert_int_equal(feed(b, &rec), 0);
	act(b);
	profile(b, 1, 10 * MS);
}

static void test_resume_compares_distributions(void **state)
{
	struct bench b, same, other, anyway;
	struct descent_result r;
	struct saved s;

	bench_begin(&b);
	chain(&b);
	start(&b, true);
	CALLS(45, &b, 10 * MS, CHAIN_CALL);
	save(&b, &s);
	bench_begin(&same);
	chain(&same);
	ask_resumed(&same, &s, DESCENT_RESUMES, 11 * MS);
	assert_non_null(armed(&same, "ab"));
	CALLS(60, &same, 10 * MS, CHAIN_CALL);
	expect_done(&same, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(same.d, &r), 0);
	assert_int_equal(r.nodes[0].votes, 45 + r.calls_used); /* with those of the session */
	assert_int_equal(r.nodes[0].maxcount, r.nodes[0].votes);
	descent_result_release(&r);
	bench_begin(&other);
	chain(&other);
	ask_resumed(&other, &s, DESCENT_RESUMES, 40 * MS);
	expect_done(&other, DESCENT_CHANGED);
	assert_int_equal(other.arms, 0);
	assert_int_equal(descent_result(other.d, &r), 0);
	assert_string_equal(r.change, "since the session was saved: the peak at 41.7 ms moved to "
				      "10.4 ms; it holds 100% of the calls");
	descent_result_release(&r);
	bench_begin(&anyway);
	chain(&anyway);
	ask_resumed(&anyway, &s, DESCENT_RESUMES_ANYWAY, 40 * MS);
	assert_non_null(armed(&anyway, "ab"));
	CALLS(60, &anyway, 10 * MS, CHAIN_CALL);
	expect_done(&anyway, DESCENT_ROOT_CAUSE);
	assert_int_equal(descent_result(anyway.d, &r), 0);
	assert_non_null(strstr(r.change, "since the session was saved: the peak at"));
	descent_result_release(&r);
	buf_release(&s.frames);
	bench_end(&anyway);
	bench_end(&other);
	bench_end(&same);
	bench_end(&b);
}

static void test_bad_fnodes(void **state)
{
	struct bench b;
	struct record rec = {.type = REC_FNODE};

	bench_begin(&b);
	assert_int_equal(feed(&b, &rec), -EINVAL); /* nothing asked */
	ask(&b, true);
	rec.fnode.op = OP;
	assert_int_equal(feed(&b, &rec), -EINVAL); /* node 0 is not f0 */
	rec.fnode.callee = code('0');
	assert_int_equal(feed(&b, &rec), 0);
	rec.fnode.node = 2;
	rec.fnode.parent = 1;
	rec.fnode.site = (struct rec_code){1, site_offset('0', 0)};
	assert_int_equal(feed(&b, &rec), -EINVAL); /* its parent did not come */
	rec.fnode.node = DESCENT_MAX_NODES;
	rec.fnode.parent = 0;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec.fnode.node = 3;
	rec.fnode.site.module = 0;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec.fnode.site.module = 1;
	rec.fnode.state = 99;
	rec.fnode.op = OP + 1;
	assert_int_equal(feed(&b, &rec), -EINVAL);
	rec.fnode.op = OP;
	assert_int_equal(feed(&b, &rec), 0);
	profile(&b, 100, 10 * MS);
	assert_int_equal(feed(&b, &rec), -EINVAL); /* too late */
	bench_end(&b);
}

/* --- garbage */

static uint64_t rng_state;

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static uint64_t some_number(void)
{
	switch (rng() % 6) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return rng() % 64;
	case 3:
		return 8 * MS + rng() % (8 * MS);
	default:
		return rng() >> rng() % 64;
	}
}

static struct rec_code some_code(void)
{
	if (rng() % 8 == 0)
		return (struct rec_code){(uint32_t)some_number(), some_number()};
	return code((char)('0' + rng() % 12));
}

static void some_call(struct bench *b, struct record *rec)
{
	static struct rec_call_node node[64];
	uint32_t i, n = (uint32_t)(rng() % 12);

	for (i = 0; i < n; i++)
		node[i] = (struct rec_call_node){
		    .node = b->nr_armed && rng() % 4 ? b->armed[rng() % b->nr_armed].node
						     : (uint32_t)some_number(),
		    .count = some_number(),
		    .max_ns = some_number(),
		    .sum_ns = some_number(),
		    .blocked_ns = some_number(),
		    .runqueue_ns = some_number(),
		    .interrupt_ns = some_number(),
		    .fault_ns = some_number(),
		};
	rec->call = (struct rec_call){
	    .epoch = rng() % 8 ? b->epoch : (uint32_t)some_number(),
	    .op = OP,
	    .tid = (uint32_t)(rng() % 3),
	    .start_ns = some_number(),
	    .latency_ns = 8 * MS + rng() % (8 * MS),
	    .raw_ns = some_number(),
	    .outcome = (uint32_t)(rng() % 4),
	    .known = (uint32_t)rng(),
	    .blocked_ns = some_number(),
	    .runqueue_ns = some_number(),
	    .preempted_ns = some_number(),
	    .interrupt_ns = some_number(),
	    .fault_ns = some_number(),
	    .minor_faults = some_number(),
	    .nr_nodes = n,
	    .nodes = node,
	};
}

static void some_record(struct bench *b, struct record *rec)
{
	static struct rec_call_site sites[16];
	static struct rec_code callees[16];
	static struct rec_frame frames[100];
	uint32_t i, n = (uint32_t)(rng() % 16);

	memset(rec, 0, sizeof(*rec));
	switch (rng() % 40) {
	case 0:
		*rec = ask_record(rng() % 2);
		rec->descent.max_sites = (uint32_t)(1 + rng() % 80);
		rec->descent.max_depth = (uint32_t)(1 + rng() % 20);
		return;
	case 1:
		rec->type = REC_FNODE_LOST;
		rec->fnode_lost.epoch = b->epoch;
		rec->fnode_lost.node = (uint32_t)(rng() % 200);
		rec->fnode_lost.reason = (uint32_t)(rng() % 3);
		return;
	case 2:
	case 3:
		rec->type = REC_INDIRECT_CALLEES;
		rec->discovered.node = rng() % 4 ? b->learn_node : (uint32_t)(rng() % 200);
		rec->discovered.error = rng() % 4 ? 0 : -EIO;
		for (i = 0; i < n; i++)
			callees[i] = some_code();
		rec->discovered.nr_callees = n;
		rec->discovered.callees = callees;
		return;
	case 4:
		rec->type = REC_FNODE;
		rec->fnode = (struct rec_fnode){.op = OP,
						.node = (uint32_t)(rng() % 50),
						.parent = (uint32_t)(rng() % 50),
						.site = some_code(),
						.callee = some_code(),
						.last_site = some_number(),
						.state = (uint32_t)(rng() % 8),
						.maxcount = some_number(),
						.votes = some_number(),
						.armed = some_number()};
		return;
	case 5:
	case 6:
	case 7:
		rec->type = REC_CALLEES;
		rec->callees.function = some_code();
		for (i = 0; i < n; i++)
			sites[i] = (struct rec_call_site){
			    .offset =
				rec->callees.function.offset + 16 * i + (rng() % 20 == 0 ? 0 : 16),
			    .ret = some_number(),
			    .kind = (uint32_t)(rng() % (CALLEE_KINDS + (rng() % 20 == 0))),
			    .flags = (uint32_t)rng() & 7,
			    .block = (uint32_t)(rng() % 3),
			    .callee = some_code(),
			    .inside_ns = some_number(),
			    .total_ns = some_number()};
		rec->callees.nr_sites = n;
		rec->callees.total = rng() % 8 ? n : (uint32_t)some_number();
		rec->callees.sites = sites;
		return;
	case 8:
	case 9:
	case 10:
		rec->type = REC_WITNESS;
		n = (uint32_t)(rng() % 100);
		for (i = 0; i < n; i++)
			frames[i] =
			    (struct rec_frame){1, some_code().offset + 5, some_code().offset};
		frames[0].function = code('0').offset;
		rec->witness = (struct rec_witness){.op = OP,
						    .tid = (uint32_t)(rng() % 3),
						    .at_ns = some_number(),
						    .weight_ns = some_number(),
						    .kind = (uint32_t)(rng() % 3),
						    .nr_frames = n,
						    .frames = frames};
		rec->witness.sleep.object = (uint32_t)(rng() % 20);
		rec->witness.sleep.work = (uint32_t)(rng() % 20);
		rec->witness.sleep.bracket = (uint32_t)rng();
		return;
	default:
		rec->type = REC_CALL;
		some_call(b, rec);
		return;
	}
}

static void check_result(const struct descent *d)
{
	struct descent_result r;
	unsigned int i;

	assert_int_equal(descent_result(d, &r), 0);
	assert_true(r.explained >= 0 && r.explained <= 1 + 1e-9);
	for (i = 0; i < r.nr_paths; i++) {
		assert_true(r.paths[i].nr_frames > 0 &&
			    r.paths[i].nr_frames <= DESCENT_MAX_DEPTH + 1);
		assert_true(r.paths[i].frames[0] == 0);
		assert_true(isfinite(r.paths[i].share));
	}
	for (i = 1; i < r.nr_nodes; i++)
		assert_true(r.nodes[i].parent < r.nodes[i].node);
	descent_result_release(&r);
}

static void test_garbage(void **state)
{
	const char *text = getenv("PEAKTOP_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	printf("PEAKTOP_SEED=%llu\n", (unsigned long long)seed);
	for (unsigned int run = 0; run < 40; run++) {
		struct bench b;

		rng_state = (seed << 8 | run) * 0x9e3779b97f4a7c15u | 1;
		bench_begin(&b);
		b.hold_expand = true;
		start(&b, run % 2);
		for (unsigned int i = 0; i < 3000; i++) {
			struct record rec;

			some_record(&b, &rec);
			feed(&b, &rec);
			if (rec.type == REC_DESCENT)
				b.done = false;
			act(&b);
			assert_true(b.nr_armed <= DESCENT_MAX_ARMED);
			if (i % 100 == 0)
				check_result(b.d);
		}
		bench_end(&b);
	}
}

/* A function of 100,000 call sites: bounded, and it ends. */
static void test_huge_function(void **state)
{
	enum { HUGE_SITES = 100000 };
	struct rec_call_site *sites = calloc(HUGE_SITES, sizeof(*sites));
	struct record rec = {.type = REC_CALLEES};
	struct bench b;
	struct descent_progress p;

	for (unsigned int i = 0; i < HUGE_SITES; i++)
		sites[i] = (struct rec_call_site){.offset = code('0').offset + 8 * i,
						  .ret = code('0').offset + 8 * i + 5,
						  .flags = CALL_SITE_TIMED,
						  .callee = code('a')};
	bench_begin(&b);
	b.hold_expand = true;
	start(&b, true);
	rec.callees.function = code('0');
	rec.callees.nr_sites = rec.callees.total = HUGE_SITES;
	rec.callees.sites = sites;
	assert_int_equal(feed(&b, &rec), 0);
	act(&b);
	for (int i = 0; i < 2000 && !b.done; i++)
		CALL(&b, 10 * MS, NOTHING);
	expect_done(&b, DESCENT_ROOT_CAUSE);
	expect_path(&b, 0, "", CAUSE_UNMEASURED);
	descent_progress(b.d, &p);
	assert_true(p.rounds <= 16);
	/* Another such function does not fit any more, and is said to be unreadable. */
	rec.callees.function = code('z');
	assert_int_equal(feed(&b, &rec), 0);
	free(sites);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_target_ends),
	    cmocka_unit_test(test_target_ends_undecided),
	    cmocka_unit_test(test_stopped),
	    cmocka_unit_test(test_another_peak),
	    cmocka_unit_test(test_another_peak_knows_the_sites),
	    cmocka_unit_test(test_another_function),
	    cmocka_unit_test(test_resume),
	    cmocka_unit_test(test_resume_after_each_round),
	    cmocka_unit_test(test_resume_with_stacks),
	    cmocka_unit_test(test_resume_of_an_undecided_round),
	    cmocka_unit_test(test_resume_where_a_site_moved),
	    cmocka_unit_test(test_resume_within_a_large_function),
	    cmocka_unit_test(test_resume_of_a_finished_one),
	    cmocka_unit_test(test_resume_on_another_path),
	    cmocka_unit_test(test_resume_of_own_code),
	    cmocka_unit_test(test_resume_of_lost_sites),
	    cmocka_unit_test(test_resume_twice),
	    cmocka_unit_test(test_resume_of_another_build),
	    cmocka_unit_test(test_resume_compares_distributions),
	    cmocka_unit_test(test_bad_fnodes),
	    cmocka_unit_test(test_garbage),
	    cmocka_unit_test(test_huge_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
