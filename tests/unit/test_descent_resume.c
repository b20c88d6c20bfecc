// SPDX-License-Identifier: GPL-2.0-or-later
/* A descent that was saved goes on: what is armed, which votes count, what is measured again. */
#include <limits.h>

#include "analysis/session/frame.h"
#include "tests/unit/descent/bench.h"

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

static void begin_chain(struct bench *b, bool level_by_level)
{
	bench_begin(b);
	chain(b);
	start(b, level_by_level);
}

/* A descent along the chain that has seen so many calls. */
static void chain_after(struct bench *b, unsigned int calls)
{
	begin_chain(b, true);
	CALLS(calls, b, 10 * MS, CHAIN_CALL);
}

static void test_resume(void **state)
{
	struct bench b, c;
	struct saved s;
	struct descent_result r;
	struct descent_progress p;

	chain_after(&b, 45);
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

	chain_after(&b, 80);
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

	chain_after(&b, 80);
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

	chain_after(&b, 45);
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

/* Of a rare peak the start profile tells nothing: the descent ends when enough calls have come. */
static void test_resume_of_a_rare_peak(void **state)
{
	const uint32_t bucket[] = {pt_bucket(1 * MS), pt_bucket(10 * MS)};
	const uint64_t count[] = {1960, 40};
	const struct record calls = {.type = REC_SAVED_PROFILE,
				     .profile = {.op = OP,
						 .calls = 2000,
						 .sum_ns = (1960 + 40 * 10) * MS,
						 .min_ns = 1 * MS,
						 .max_ns = 10 * MS,
						 .nr_buckets = 2,
						 .bucket = bucket,
						 .count = count}};

	for (int k = 0; k < 4; k++) {
		bool anyway = k & 1, moved = k & 2;
		struct record rec = ask_record(true);
		struct descent_result r;
		struct bench b;

		bench_begin(&b);
		chain(&b);
		rec.descent.resumes = anyway ? DESCENT_RESUMES_ANYWAY : DESCENT_RESUMES;
		assert_int_equal(feed(&b, &rec), 0);
		assert_int_equal(feed(&b, &calls), 0);
		for (int i = 0; i < 30; i++) {
			profile(&b, 98, 1 * MS);
			profile(&b, 2, moved ? 60 * MS : 10 * MS);
		}
		expect_done(&b, moved && !anyway ? DESCENT_CHANGED : DESCENT_IN_PROGRESS);
		assert_int_equal(descent_result(b.d, &r), 0);
		assert_int_equal(r.since_saved, moved);
		assert_int_equal(!!strstr(r.change, "the peak at 10.4 ms moved to"), moved);
		descent_result_release(&r);
		bench_end(&b);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	    cmocka_unit_test(test_resume_of_a_rare_peak),
	    cmocka_unit_test(test_bad_fnodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
