// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver of a descent with a collector and a parser made of records: what it asks,
 * what it arms, what it says; and its replay from the session that it wrote.
 */
#include "analysis/descent/choose.h"
#include "tests/unit/descend_rig.h"
#include "tui/cli/command_line.h"

/* --- choosing the peak */

static void too_early(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -EAGAIN);
	give_profile(10);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, 77, &o, o.timeout_s, &ask), -EAGAIN);
	/* enough of them, but the first second shows no distribution yet */
	give_profile(20);
	assert_int_equal(choose_descent(t.model, F0, &o, 0.9, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
}

/* Where calls are rare, fewer of them will do after a while; not where a person asked for a number.
 */
static void start_ops_adapt(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(10);
	assert_int_equal(choose_descent(t.model, F0, &o, 2, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, 8, &ask), 0);
	assert_true(ask.start_ops < 100 && ask.start_ops >= 10);
	o.start_ops_given = true;
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -EAGAIN);
}

static void largest_by_default(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS && ask.low_ns > 10 * US);
	assert_int_equal(ask.op, F0);
	assert_int_equal(ask.function.module, PROGRAM);
	assert_int_equal(ask.function.offset, SERVE);
	assert_int_equal(ask.maxcount_ppm, 500000);
	assert_int_equal(ask.level_by_level, 1);
	o.peak = 1;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 10 * US && ask.high_ns > 10 * US && ask.high_ns < 4 * MS);
}

/* One call in a thousand takes most of the time: no peak yet, so the fast ones are not taken for
 * the question. */
static void rare_and_slow(void **state)
{
	uint32_t bucket[] = {pt_bucket(10 * US), pt_bucket(100 * MS)};
	uint64_t count[] = {999, 1};
	struct descent_question o = options();
	struct rec_descent ask;

	give((struct record){.type = REC_PROFILE,
			     .profile = {.op = F0,
					 .start_ns = t.time_ns,
					 .end_ns = t.time_ns + S,
					 .armed_ns = S,
					 .calls = 1000,
					 .sum_ns = 999 * 10 * US + 100 * MS,
					 .min_ns = 10 * US,
					 .max_ns = 100 * MS,
					 .nr_buckets = 2,
					 .bucket = bucket,
					 .count = count}});
	t.time_ns += S;
	give((struct record){
	    .type = REC_TICK,
	    .tick = {.slice = t.time_ns / S - 1, .start_ns = t.time_ns - S, .end_ns = t.time_ns}});
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	/* nothing else comes: it is the slowest calls that are looked into */
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), 0);
	assert_true(ask.low_ns > 10 * US && ask.low_ns <= 100 * MS && ask.high_ns == UINT64_MAX);
	for (int i = 0; i < 5; i++)
		give_profile(40);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
}

/* The peak was not asked for by name, and its calls no longer come: the largest one of now is asked
 * for, but only once the calls have been missing for a while. */
static void calls_have_gone_to_another_peak(void **state)
{
	struct descent_question o = options();
	struct choose_progress progress = {0};
	struct rec_descent ask, asked;

	give_profile(100);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &asked), 0);
	/* as if the fast calls had been the ones asked about */
	asked.low_ns = 5 * US;
	asked.high_ns = 20 * US;
	assert_false(choose_again(t.model, &o, &asked, 7, 10 * S, &progress, &ask));
	assert_false(choose_again(t.model, &o, &asked, 8, 12 * S, &progress, &ask));
	assert_false(choose_again(t.model, &o, &asked, 8, 14 * S, &progress, &ask));
	assert_true(choose_again(t.model, &o, &asked, 8, 16 * S, &progress, &ask));
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
	/* not at once again */
	assert_false(choose_again(t.model, &o, &asked, 8, 17 * S, &progress, &ask));
	/* the same peak still */
	asked.low_ns = ask.low_ns;
	asked.high_ns = ask.high_ns;
	assert_false(choose_again(t.model, &o, &asked, 8, 30 * S, &progress, &ask));
	/* what a person asked for stays */
	asked.low_ns = 5 * US;
	asked.high_ns = 20 * US;
	o.peak = 1;
	assert_false(choose_again(t.model, &o, &asked, 8, 60 * S, &progress, &ask));
}

/* Before the slow calls are many enough for a peak they pass for the tail of the fast ones. */
static void slow_tail(void **state)
{
	uint64_t latency[] = {10 * US,	20 * US,  40 * US,   80 * US,	160 * US,
			      320 * US, 640 * US, 1280 * US, 2560 * US, 14 * MS};
	uint64_t count[] = {3000, 300, 40, 12, 4, 2, 1, 1, 1, 5};
	uint32_t bucket[10];
	struct descent_question o = options();
	struct rec_descent ask;

	for (int i = 0; i < 10; i++)
		bucket[i] = pt_bucket(latency[i]);
	give((struct record){.type = REC_PROFILE,
			     .profile = {.op = F0,
					 .start_ns = t.time_ns,
					 .end_ns = t.time_ns + S,
					 .armed_ns = S,
					 .calls = 3366,
					 .sum_ns = 115 * MS,
					 .min_ns = 10 * US,
					 .max_ns = 14 * MS,
					 .nr_buckets = 10,
					 .bucket = bucket,
					 .count = count}});
	t.time_ns += S;
	give((struct record){
	    .type = REC_TICK,
	    .tick = {.slice = t.time_ns / S - 1, .start_ns = t.time_ns - S, .end_ns = t.time_ns}});
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), 0);
	assert_true(ask.low_ns > 1280 * US);
}

/* A latency means the peak that it lies in, a range just the calls in it. */
static void peak_by_latency(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	o.peak_low_ns = o.peak_high_ns = 10 * US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 10 * US && ask.high_ns > 10 * US && ask.high_ns < 4 * MS);
	o.peak_low_ns = o.peak_high_ns = 4 * MS;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
	o.peak_low_ns = o.peak_high_ns = 300 * US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -ENOENT);
	o.peak_low_ns = 3 * MS;
	o.peak_high_ns = 5 * MS;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns == 3 * MS && ask.high_ns == 5 * MS);
	o.peak_low_ns = 300 * US;
	o.peak_high_ns = 400 * US;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -ENOENT);
}

/*
 * Ten calls in one bucket are a peak of 9% of its latency, and tracepoints may add as much to the
 * next call. So what lies beside them, where no call was seen, counts as the peak, up to half of
 * the way to the next one.
 */
static void room_beside_a_peak(void **state)
{
	struct choose_question q = {.start_ops = 10, .waited_s = 2};
	struct peak p[2] = {{.mode_ns = 5800 * US, .share_of_time = 0.3},
			    {.mode_ns = 8760 * US, .share_of_time = 0.7}};
	struct op op = {.nr_peaks = 2, .peaks = p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 2; i++) {
		p[i].range =
		    (struct bucket_range){pt_bucket(p[i].mode_ns), pt_bucket(p[i].mode_ns) + 1};
		p[i].low_ns = bucket_low_ns(p[i].range.low, PT_RESOLUTION);
		p[i].high_ns = bucket_low_ns(p[i].range.high, PT_RESOLUTION);
		p[i].calls = 10;
		for (int k = 0; k < 10; k++)
			profile_add(&op.total, p[i].mode_ns);
	}
	op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_PEAK);
	assert_true(a.low_ns < p[1].low_ns && a.low_ns > p[0].high_ns);
	assert_true(a.high_ns > 10500 * US && a.high_ns < 13 * MS);
	q.number = 1;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_true(a.high_ns > p[0].high_ns && a.high_ns < p[1].low_ns && a.low_ns > 4 * MS);
	/* a call beside the peak: up to half of the way to it */
	profile_add(&op.total, 10 * MS);
	q.number = 2;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_true(a.high_ns < 10 * MS);
	/* a range that was asked for stays as it is */
	q = (struct choose_question){
	    .start_ops = 10, .waited_s = 2, .low_ns = 8 * MS, .high_ns = 9 * MS};
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_true(a.low_ns == 8 * MS && a.high_ns == 9 * MS);
}

/* The 10 us of a peak and the 14 ms that it has swallowed are not one answer: asked for is what has
 * the time. */
static void swallowed(void **state)
{
	struct choose_question q = {.start_ops = 100, .waited_s = 2};
	struct peak p = {.range = {pt_bucket(8 * US), pt_bucket(20 * MS)},
			 .low_ns = 8 * US,
			 .high_ns = 20 * MS,
			 .mode_ns = 10 * US,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 3000; i++)
		profile_add(&op.total, 10 * US);
	for (int i = 0; i < 60; i++)
		profile_add(&op.total, i < 30 ? 100 * US : 14 * MS);
	p.calls = op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_RANGE);
	assert_true(a.low_ns > 100 * US && a.low_ns <= 14 * MS && a.high_ns == 20 * MS);
}

/*
 * A latency in the tail of a peak: with few calls there, wait for more, because it may be a peak of
 * its own. Then leave out what is shorter than half of it.
 */
static void latency_in_a_tail(void **state)
{
	struct choose_question q = {
	    .start_ops = 100, .waited_s = 2, .low_ns = 30 * MS, .high_ns = 30 * MS};
	struct peak p = {.range = {pt_bucket(1 * MS), pt_bucket(50 * MS)},
			 .low_ns = 1 * MS,
			 .high_ns = 50 * MS,
			 .mode_ns = 2500 * US,
			 .share_of_calls = 1,
			 .share_of_time = 1};
	struct op op = {.nr_peaks = 1, .peaks = &p, .share_seen = 1};
	struct choose_answer a;

	for (int i = 0; i < 200; i++)
		profile_add(&op.total, 2500 * US);
	for (int i = 0; i < 12; i++)
		profile_add(&op.total, 30 * MS);
	p.calls = op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), -EAGAIN);
	for (int i = 0; i < 12; i++)
		profile_add(&op.total, 30 * MS);
	p.calls = op.seen_calls = op.total.calls;
	assert_int_equal(choose_calls(&op, &q, &a), 0);
	assert_int_equal(a.basis, CHOSEN_RANGE);
	assert_true(a.low_ns > 13 * MS && a.low_ns < 30 * MS && a.high_ns == 50 * MS);
}

/* Each end of a range has its own unit; only one without any takes that of the other. */
static void range_of_latencies(void **state)
{
	static const struct {
		const char *text;
		uint64_t low_ns, high_ns;
	} wanted[] = {{"2-4ms", 2 * MS, 4 * MS},
		      {"500us-2ms", 500 * US, 2 * MS},
		      {"0.5ms-800us", 500 * US, 800 * US},
		      {"0.5us-900ns", 500, 900},
		      {"1s-2000ms", S, 2 * S},
		      {"2.5ms", 2500 * US, 2500 * US},
		      {"1m08s", 68 * S, 68 * S},
		      {"2 s-1m00s", 2 * S, 60 * S},
		      {"1m-3h05m", 60 * S, 185 * 60 * S},
		      {"0.5 ms - 800 us", 500 * US, 800 * US}};
	char error[512];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char text[32],
		    *argv[] = {"peaktop", "descend", "-p", "1", "-f", "x", "--peak", text, NULL};
		struct options o;

		snprintf(text, sizeof(text), "%s", wanted[i].text);
		assert_int_equal(options_parse(&o, 8, argv, error, sizeof(error)), 0);
		assert_int_equal(o.question.peak_low_ns, wanted[i].low_ns);
		assert_int_equal(o.question.peak_high_ns, wanted[i].high_ns);
	}
}

static void no_such_peak(void **state)
{
	struct descend_report r = report();
	struct descent_question o = options();
	struct rec_descent ask;
	char *text;

	give_profile(100);
	o.peak = 9;
	/* it may still come */
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), -ENOENT);
	r.no_such_peak = true;
	r.wanted_peak = 9;
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "there is no peak 9; there are 1 ("));
	free(text);
	text = printed(output_descend_json, &r);
	assert_non_null(strstr(text, "\"status\":\"no such peak\""));
	assert_non_null(strstr(text, "\"paths\":[]"));
	free(text);
}

static void slowest(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	o.slowest = 10;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_true(ask.low_ns > 10 * US && ask.low_ns <= 5 * MS);
	assert_true(ask.high_ns == UINT64_MAX);
	o.slowest = 0.01;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), -EAGAIN);
	assert_int_equal(choose_descent(t.model, F0, &o, o.timeout_s, &ask), 0);
}

/* --- asking and arming */

static void imports_come_from_exports(void **state)
{
	begin();
	answer_serve();
	assert_string_equal(t.asked[1].text, "usleep");
	assert_string_equal(t.asked[2].text, "memcpy");
	/* not before all is known */
	assert_int_equal(t.last.nr_nodes, 0);
	answer_find(usleep_found, 2);
	assert_int_equal(t.last.nr_nodes, 0);
	answer_find(NULL, 0);
	assert_int_equal(t.last.nr_nodes, 3);
	assert_int_equal(t.last.op, F0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(t.nodes[i].parent, 0);
		assert_int_equal(t.nodes[i].start.op, F0);
		assert_int_equal(t.nodes[i].end.offset, t.nodes[i].start.offset + 5);
		assert_int_equal(t.nodes[i].end.role, SITE_RETURN);
	}
}

static void an_ifunc_stays_unknown(void **state)
{
	const struct parsed_function ifunc = {.module = LIBRARY,
					      .offset = USLEEP,
					      .symbol = "usleep",
					      .function = "usleep",
					      .source_name = "",
					      .ifunc = 1,
					      .exported = 1};

	begin();
	answer_serve();
	answer_find(&ifunc, 1);
	answer_find(NULL, 0);
	give_calls(0x1020, 25);
	/* nothing in it to ask for, and nobody to learn from: it is named all the same */
	for (unsigned int i = 0; i < t.nr_asked; i++)
		assert_false(t.asked[i].type == PARSE_CALL_SITES && t.asked[i].module == LIBRARY);
	answer_names();
	assert_non_null(driver_symbol(t.driver, PROGRAM, 0x1020 | DRIVER_CALLEE_OF));
	assert_string_equal(driver_symbol(t.driver, PROGRAM, 0x1020 | DRIVER_CALLEE_OF)->function,
			    "usleep");
}

/* serve() calls through a pointer at 0x1030, read from memory, and helper(). */
static void begin_with_pointer(uint32_t operand)
{
	struct parsed_call_site sites[] = {call_site(0x1010, CALLEE_DIRECT, HELPER, ""),
					   call_site(0x1030, CALLEE_INDIRECT, 0, "")};

	sites[1].operand =
	    (struct rec_operand){.kind = operand, .base = 12, .index = OPERAND_NO_REG, .disp = 24};
	begin();
	answer_call_sites(sites, 2);
	assert_true(is_armed(0x1030));
	give_calls(0x1030, 25);
}

static void a_pointer_is_discovered(void **state)
{
	const struct rec_code callee = {PROGRAM, HELPER + 0x800};
	const struct question *q;

	begin_with_pointer(OPERAND_MEMORY);
	assert_int_equal(t.nr_learns, 1);
	assert_int_equal(t.learn.op, F0);
	assert_int_equal(t.learn.parent, 0);
	assert_int_equal(t.learn.site.offset, 0x1030);
	assert_int_equal(t.learn.site.role, SITE_CALL);
	assert_int_equal(t.learn.operand.base, 12);
	assert_int_equal(t.learn.operand.disp, 24);
	give((struct record){
	    .type = REC_INDIRECT_CALLEES,
	    .discovered = {.node = t.learn.node, .nr_callees = 1, .callees = &callee}});
	q = question(PARSE_CALL_SITES);
	assert_non_null(q);
	assert_int_equal(q->offset, callee.offset);
	assert_int_equal(t.nr_learns, 1);
}

static void several_callees_of_a_pointer_are_told_apart(void **state)
{
	const struct rec_code callees[] = {{PROGRAM, 0x4000}, {PROGRAM, 0x5000}};
	struct parsed a = {.type = PARSED_PLAN};
	unsigned int requests;

	begin_with_pointer(OPERAND_REGISTER);
	requests = t.nr_requests;
	give((struct record){
	    .type = REC_INDIRECT_CALLEES,
	    .discovered = {.node = t.learn.node, .nr_callees = 2, .callees = callees}});
	/* timed from their entries, which the parser is asked for */
	for (int i = 0; i < 2; i++) {
		const struct question *q = question(PARSE_PLAN);
		struct rec_site entry;

		assert_non_null(q);
		entry = site(q->offset + 4, SITE_ENTRY);
		entry.cfa = 8;
		a.plan = (struct parsed_plan){.module = q->module,
					      .offset = q->offset,
					      .text = "",
					      .price = "",
					      .nr_sites = 1,
					      .sites = &entry};
		assert_int_equal(t.nr_requests, requests);
		reply(q, &a);
	}
	assert_int_equal(t.nr_requests, requests + 1);
	assert_true(is_armed(0x4004) && is_armed(0x5004) && !is_armed(0x1030));
	for (uint32_t i = 0; i < t.last.nr_nodes; i++) {
		if (t.nodes[i].start.role != SITE_ENTRY)
			continue;
		/* where they return to the site that was asked about */
		assert_int_equal(t.nodes[i].only_return, 0x1035);
		assert_int_equal(t.nodes[i].end.offset, 0x1035);
		assert_int_equal(t.nodes[i].start.cfa, 8);
	}
}

/* In a stripped library, what an IFUNC chose has no symbol: it is called as it was asked for. */
static void what_an_ifunc_chose_has_the_name_of_the_import(void **state)
{
	const struct parsed_function ifunc = {.module = LIBRARY,
					      .offset = USLEEP,
					      .symbol = "memcpy",
					      .function = "memcpy",
					      .source_name = "",
					      .ifunc = 1,
					      .exported = 1};
	struct parsed_call_site sites[] = {call_site(0x1030, CALLEE_PLT, 0, "memcpy")};
	const struct rec_code chosen = {LIBRARY, 0x9000};
	struct rec_symbol nameless = {.module = LIBRARY,
				      .offset = 0x9000,
				      .symbol = "",
				      .function = "libc.so.6+0x9000",
				      .file = ""};
	struct descent_fnode n = {.function = chosen, .site = {PROGRAM, 0x1030}};
	struct descent_result r;
	char name[64];

	sites[0].operand = (struct rec_operand){
	    .kind = OPERAND_SLOT, .base = OPERAND_IP, .index = OPERAND_NO_REG, .disp = 0x3000};
	begin();
	answer_call_sites(sites, 1);
	answer_find(&ifunc, 1);
	give_calls(0x1030, 25);
	assert_int_equal(t.nr_learns, 1);
	assert_int_equal(t.learn.operand.kind, OPERAND_SLOT);
	assert_int_equal(t.learn.operand.disp, 0x3000);
	give((struct record){
	    .type = REC_INDIRECT_CALLEES,
	    .discovered = {.node = t.learn.node, .nr_callees = 1, .callees = &chosen}});
	assert_int_equal(descent_result(driver_descent(t.driver), &r), 0);
	assert_true(r.nr_nodes >= 2);
	descent_result_release(&r);
	driver_names(t.driver);
	give((struct record){.type = REC_SYMBOL, .symbol = nameless});
	assert_string_equal(driver_function(t.driver, &n, name, sizeof(name)), "memcpy");
	/* with a symbol of its own it has that name */
	nameless.symbol = nameless.function = "__memcpy_avx";
	give((struct record){.type = REC_SYMBOL, .symbol = nameless});
	assert_string_equal(driver_function(t.driver, &n, name, sizeof(name)), "__memcpy_avx");
}

static void what_no_probe_can_read_is_not_asked_for(void **state)
{
	begin_with_pointer(OPERAND_NONE);
	assert_int_equal(t.nr_learns, 0);
}

static void a_deaf_parser_ends_it(void **state)
{
	t.deaf = true;
	begin();
	give_calls(0x1020, 60);
	assert_int_equal(t.last.nr_nodes, 0);
	assert_true(driver_names(t.driver) || t.nr_asked == 0);
}

static void a_refusal_ends_it(void **state)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give((struct record){
	    .type = REC_REFUSED,
	    .refused = {
		.epoch = t.last.epoch + 1, .op = F0, .error = -EPERM, .reason = "another"}});
	assert_false(driver_over(t.driver));
	give((struct record){
	    .type = REC_REFUSED,
	    .refused = {.epoch = t.last.epoch, .op = F0, .error = -EPERM, .reason = "no"}});
	assert_true(driver_over(t.driver));
	assert_int_equal(t.nr_stops, 1);
}

static void a_refusal_after_the_ack_is_another(void **state)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give((struct record){.type = REC_ACK, .ack = {.epoch = t.last.epoch}});
	give((struct record){
	    .type = REC_REFUSED,
	    .refused = {.epoch = t.last.epoch, .op = F0, .error = -EPERM, .reason = "no"}});
	assert_false(driver_over(t.driver));
}

/* Each answer is of the request that its reply was passed with, whatever the order. */
static void answers_come_in_any_order(void **state)
{
	struct parsed a = {.type = PARSED_FUNCTIONS};
	const struct question *usleep_asked, *memcpy_asked;
	struct descent_result r;
	unsigned int nr = 0;

	begin();
	answer_serve();
	usleep_asked = question(PARSE_FIND);
	memcpy_asked = question(PARSE_FIND);
	assert_string_equal(usleep_asked->text, "usleep");
	assert_string_equal(memcpy_asked->text, "memcpy");
	reply(memcpy_asked, &a);
	assert_int_equal(t.nr_requests, 0);
	a.functions = (struct parsed_functions){.total = 2, .nr = 2, .functions = usleep_found};
	reply(usleep_asked, &a);
	assert_true(is_armed(0x1010) && is_armed(0x1020));
	give_calls(0x1020, 25);
	assert_int_equal(descent_result(driver_descent(t.driver), &r), 0);
	for (unsigned int i = 0; i < r.nr_nodes; i++) {
		const struct descent_fnode *n = &r.nodes[i];

		if (n->site.offset == 0x1020) {
			nr++;
			assert_int_equal(n->function.module, LIBRARY);
			assert_int_equal(n->function.offset, USLEEP);
		}
	}
	assert_int_equal(nr, 1);
	descent_result_release(&r);
}

static void stop_is_said_once(void **state)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give_calls(0x1020, 21);
	driver_stop(t.driver);
	driver_stop(t.driver);
	assert_int_equal(t.nr_stops, 1);
	assert_true(driver_over(t.driver));
}

/* A site that the kernel steps over is not for calls that are hardly longer than the step. */
static void steps_in_short_calls(void **state)
{
	struct parsed_call_site sites[] = {call_site(0x1010, CALLEE_DIRECT, HELPER, ""),
					   call_site(0x1020, CALLEE_DIRECT, HELPER, "")};
	struct descent_question o = options();
	struct rec_descent ask;

	sites[0].end.class = SITE_STEPPED;
	for (int is_short = 0; is_short < 2; is_short++) {
		give_profile(100);
		assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
		ask.high_ns = ask.low_ns * 4;
		ask.step_ns = is_short ? ask.low_ns + 1 : ask.low_ns - 1;
		assert_int_equal(driver_begin(t.driver, &ask), 0);
		if (!is_short)
			answer_call_sites(sites, 2);
		assert_true(is_armed(0x1020));
		assert_int_equal(is_armed(0x1010), !is_short);
	}
}

static void out_of_range(void **state)
{
	struct rec_descent ask;

	descent_options_init(&ask);
	assert_int_equal(driver_begin(t.driver, &ask), -EINVAL);
	ask.op = F0;
	ask.function = (struct rec_code){PROGRAM, SERVE};
	ask.low_ns = 5;
	ask.high_ns = 5;
	assert_int_equal(driver_begin(t.driver, &ask), -EINVAL);
	assert_null(driver_asked(t.driver));
}

/* --- the answer */

static void the_answer(void **state)
{
	struct descend_report r;
	json_error_t error;
	json_t *json, *path, *frames, *last, *inlined;
	char *text;

	whole_descent();
	assert_int_equal(t.nr_stops, 1);
	r = report();
	text = printed(output_descend_json, &r);
	json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(json);
	free(text);
	assert_string_equal(json_string_value(json_object_get(json, "kind")), "descend");
	assert_string_equal(json_string_value(json_object_get(json, "status")), "root cause found");
	assert_string_equal(json_string_value(json_object_get(json, "function")),
			    "serve(request const&)");
	path = json_array_get(json_object_get(json, "paths"), 0);
	frames = json_object_get(path, "frames");
	assert_int_equal(json_array_size(frames), 2);
	last = json_array_get(frames, 1);
	assert_string_equal(json_string_value(json_object_get(last, "function")), "usleep");
	assert_string_equal(json_string_value(json_object_get(last, "module")), "libc.so.6");
	assert_string_equal(json_string_value(json_object_get(last, "evidence")), "measured");
	assert_true(json_integer_value(json_object_get(last, "records")) >= 20);
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(last, "call_site"), "line")), 0x20);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(last, "call_site"), "address")),
	    "0x1020");
	inlined = json_object_get(json_object_get(last, "call_site"), "inlined");
	assert_int_equal(json_array_size(inlined), 1);
	assert_string_equal(json_string_value(json_array_get(inlined, 0)), "fast_path(int)");
	assert_non_null(json_object_get(json, "profile"));
	assert_non_null(json_object_get(json, "peak"));
	assert_int_equal(
	    json_array_size(json_object_get(json_object_get(json, "ftree"), "children")), 3);
	json_decref(json);
}

/* What is told as the peak are the calls that were asked about, whatever peaks there are by now. */
static void the_peak_that_was_asked(void **state)
{
	struct descend_report r = {.model = NULL};
	const struct op *op;
	struct rec_descent ask;
	struct peak now, both;

	begin();
	r = report();
	op = model_op_peaks(r.model, r.op);
	assert_int_equal(op->nr_peaks, 2);
	assert_true(report_peak(&r, op, &now));
	assert_int_equal(now.rank, 2);
	assert_int_equal(now.calls, op->peaks[1].calls);
	assert_int_equal(now.low_ns, op->peaks[1].low_ns);
	ask = *driver_asked(t.driver);
	ask.low_ns = op->peaks[0].low_ns;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_true(report_peak(&r, op, &both));
	assert_int_equal(both.low_ns, ask.low_ns);
	assert_int_equal(both.high_ns, ask.high_ns);
	assert_int_equal(both.calls, op->peaks[0].calls + op->peaks[1].calls);
	assert_true(both.share_of_calls > 0.999 && both.share_of_time > 0.999);
	assert_true(both.mode_ns >= ask.low_ns && both.mode_ns < ask.high_ns);
}

static void the_sentence(void **state)
{
	struct descend_report r;
	char *text;

	whole_descent();
	r = report();
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "peak 2, "));
	assert_non_null(strstr(text, "serve > usleep at\n") ||
			strstr(text, "serve > usleep at store.c:32") ||
			strstr(text, "serve >\nusleep at store.c:32"));
	assert_true(strstr(text, "Path 1") < strstr(text, "Status: ") &&
		    strstr(text, "Status: ") < strstr(text, "Cost: "));
	/* parameters are for the JSON */
	assert_null(strstr(text, "request"));
	free(text);
}

/* The inside of libraries is left out, unless the cause is the own code of a function in there. */
static void frames_of_the_sentence(void **state)
{
	static const uint32_t frames[] = {0, 1, 2};
	struct descent_fnode nodes[] = {
	    {.function = {PROGRAM, 0x1000}},
	    {.function = {LIBRARY, 0x100}, .site = {PROGRAM, 0x1010}},
	    {.function = {LIBRARY, 0x200}, .site = {LIBRARY, 0x110}},
	};
	struct descent_result result = {.nodes = nodes, .nr_nodes = 3};
	struct descent_path path = {
	    .frames = frames, .nr_frames = 3, .cause = {.kind = CAUSE_SLEEP}};

	assert_int_equal(report_frames_named(&result, &path), 2);
	path.cause.kind = CAUSE_OWN_CODE;
	assert_int_equal(report_frames_named(&result, &path), 3);
}

static void sentence_with(const char *on_cpu, const char *expected)
{
	struct descend_report r;
	struct buf text;

	t.peer = "worker";
	t.on_cpu = on_cpu;
	whole_descent();
	r = report();
	buf_init(&text, 1 << 16);
	output_descend_sentence(&r, &text);
	assert_non_null(strstr(text.data, "waiting for another task: worker"));
	assert_non_null(strstr(text.data, expected));
	buf_release(&text);
}

/* Who had the CPU is the host's doing, unless it may be the task that the calls wait for. */
static void a_stranger_had_the_cpu(void **state)
{
	sentence_with("stranger", "; added by the host: preempted by stranger (50% ");
}

static void the_awaited_had_the_cpu(void **state)
{
	sentence_with("worker",
		      "; meanwhile a task of the same name had the CPU: preempted by worker (50% ");
}

static void replayed_from_its_session(void **state)
{
	struct descend_report r;
	struct replay *replay = NULL;
	char *live, *again, why[256];

	whole_descent();
	r = report();
	live = printed(output_descend_json, &r);
	assert_int_equal(session_writer_close(t.session), 0);
	t.session = NULL;
	assert_int_equal(replay_open(&replay, t.path, why, sizeof(why)), 0);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	r = descend_report_of(replay);
	assert_int_equal(r.op, F0);
	again = printed(output_descend_json, &r);
	assert_string_equal(live, again);
	replay_free(replay);
	free(live);
	free(again);
}

static void a_stopped_one_replays_too(void **state)
{
	struct descend_report r;
	struct replay *replay = NULL;
	char *live, *again, why[256];

	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give_calls(0x1020, 25);
	driver_stop(t.driver);
	/* comes late, changes nothing */
	give_calls(0x1010, 40);
	answer_names();
	give_profile(10);
	r = report();
	live = printed(output_descend_json, &r);
	assert_int_equal(session_writer_close(t.session), 0);
	t.session = NULL;
	assert_int_equal(replay_open(&replay, t.path, why, sizeof(why)), 0);
	assert_true(replay_advance(replay, UINT64_MAX) > 0);
	r = descend_report_of(replay);
	again = printed(output_descend_json, &r);
	assert_string_equal(live, again);
	replay_free(replay);
	free(live);
	free(again);
}

static void another_peak_afterwards(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;
	unsigned int asked;

	whole_descent();
	asked = t.nr_asked;
	o.peak = 1;
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	assert_false(driver_over(t.driver));
	/* the call sites are known already */
	for (unsigned int i = asked; i < t.nr_asked; i++)
		assert_int_not_equal(t.asked[i].type, PARSE_CALL_SITES);
	assert_int_equal(t.last.stop, 0);
	assert_int_equal(t.last.high_ns, ask.high_ns);
}

static void nothing_asked_yet(void **state)
{
	struct descend_report r = report();
	char *text;

	give_profile(1);
	text = printed(output_descend_json, &r);
	assert_non_null(strstr(text, "\"status\":\"not enough calls\""));
	assert_non_null(strstr(text, "\"function\":\"serve\""));
	free(text);
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "not enough calls"));
	free(text);
}

static void hostile_names(void **state)
{
	struct descend_report r;
	json_t *json;
	char *text;

	whole_descent();
	give((struct record){.type = REC_SYMBOL,
			     .symbol = {.module = LIBRARY,
					.offset = USLEEP,
					.symbol = HOSTILE,
					.function = HOSTILE,
					.file = HOSTILE,
					.line = 1}});
	give((struct record){.type = REC_SYMBOL,
			     .symbol = {.module = PROGRAM,
					.offset = 0x1020,
					.symbol = HOSTILE,
					.function = HOSTILE,
					.file = HOSTILE,
					.line = 1}});
	r = report();
	text = printed(output_descend_text, &r);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "\\x1b"));
	free(text);
	text = printed(output_descend_json, &r);
	assert_null(strchr(text, '\x1b'));
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	json_decref(json);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(start_ops_adapt, setup, teardown),
	    cmocka_unit_test_setup_teardown(peak_by_latency, setup, teardown),
	    cmocka_unit_test(room_beside_a_peak),
	    cmocka_unit_test(swallowed),
	    cmocka_unit_test(latency_in_a_tail),
	    cmocka_unit_test_setup_teardown(too_early, setup, teardown),
	    cmocka_unit_test(range_of_latencies),
	    cmocka_unit_test_setup_teardown(largest_by_default, setup, teardown),
	    cmocka_unit_test_setup_teardown(rare_and_slow, setup, teardown),
	    cmocka_unit_test_setup_teardown(calls_have_gone_to_another_peak, setup, teardown),
	    cmocka_unit_test_setup_teardown(slow_tail, setup, teardown),
	    cmocka_unit_test_setup_teardown(no_such_peak, setup, teardown),
	    cmocka_unit_test_setup_teardown(slowest, setup, teardown),
	    cmocka_unit_test_setup_teardown(imports_come_from_exports, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_ifunc_stays_unknown, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_pointer_is_discovered, setup, teardown),
	    cmocka_unit_test_setup_teardown(several_callees_of_a_pointer_are_told_apart, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_an_ifunc_chose_has_the_name_of_the_import, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_no_probe_can_read_is_not_asked_for, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_deaf_parser_ends_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_refusal_ends_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_refusal_after_the_ack_is_another, setup, teardown),
	    cmocka_unit_test_setup_teardown(answers_come_in_any_order, setup, teardown),
	    cmocka_unit_test_setup_teardown(stop_is_said_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(out_of_range, setup, teardown),
	    cmocka_unit_test_setup_teardown(steps_in_short_calls, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_answer, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_peak_that_was_asked, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_sentence, setup, teardown),
	    cmocka_unit_test_setup_teardown(frames_of_the_sentence, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_stranger_had_the_cpu, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_awaited_had_the_cpu, setup, teardown),
	    cmocka_unit_test_setup_teardown(replayed_from_its_session, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_stopped_one_replays_too, setup, teardown),
	    cmocka_unit_test_setup_teardown(another_peak_afterwards, setup, teardown),
	    cmocka_unit_test_setup_teardown(nothing_asked_yet, setup, teardown),
	    cmocka_unit_test_setup_teardown(hostile_names, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
