// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver of a descent with a collector and a parser made of records: what it asks,
 * what it arms, what it says; and its replay from the session that it wrote.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/output_models.h"
#include "tui/live_descent.h"
#include "tui/output_descend.h"
#include "tui/replay.h"
#include "tui/script_session.h"
#include "tui/session_file.h"
#include "tui/verb_descend.h"

enum {
	F0 = 1024,
	PROGRAM = 1, /* modules */
	LIBRARY = 2,
	SERVE = 0x1000, /* serve() calls helper() at 0x1010, usleep@plt at 0x1020, through a pointer at 0x1030 */
	HELPER = 0x2000,
	USLEEP = 0x500,
	MAX_ASKED = 64,
};

/* --- the host */

struct question {
	uint32_t id;
	enum parse_type type;
	uint32_t module;
	uint64_t offset;
	char text[64];
	uint32_t nr_offsets;
	uint64_t offsets[64];
	bool answered;
};

static struct {
	struct model *model;
	struct descend *descend;
	struct session_writer *session;
	char path[64];
	struct question asked[MAX_ASKED];
	unsigned int nr_asked;
	struct req_descend last; /* with `nodes` below */
	struct req_fnode nodes[256];
	unsigned int nr_requests, nr_stops, nr_learns;
	struct req_learn learn;
	uint64_t time_ns;
	bool deaf; /* the parser cannot be asked */
} t;

static void host_feed(void *ctx, const struct record *rec)
{
	model_feed(t.model, rec);
	assert_int_equal(session_writer_append(t.session, rec), 0);
	descend_take(t.descend, rec);
}

static int host_request(void *ctx, const struct record *rec)
{
	if (rec->type == REQ_LEARN) {
		t.nr_learns++;
		t.learn = rec->learn;
		return 0;
	}
	assert_int_equal(rec->type, REQ_DESCEND);
	t.nr_requests++;
	t.nr_stops += rec->descend.stop;
	t.last = rec->descend;
	assert_true(rec->descend.nr_nodes <= 256);
	if (rec->descend.nr_nodes)
		memcpy(t.nodes, rec->descend.nodes, rec->descend.nr_nodes * sizeof(*t.nodes));
	return 0;
}

static uint32_t host_ask(void *ctx, enum parse_type type, struct parse_request *req)
{
	struct question *q = &t.asked[t.nr_asked];

	if (t.deaf)
		return 0;
	assert_true(t.nr_asked < MAX_ASKED && req->nr_offsets <= 64);
	*q = (struct question){.id = ++t.nr_asked, .type = type, .module = req->module, .offset = req->offset,
			       .nr_offsets = req->nr_offsets};
	snprintf(q->text, sizeof(q->text), "%s", req->text);
	if (req->nr_offsets)
		memcpy(q->offsets, req->offsets, req->nr_offsets * sizeof(*req->offsets));
	return q->id;
}

static void host_message(void *ctx, const char *line)
{
	fail_msg("%s", line);
}

static void give(struct record rec)
{
	host_feed(NULL, &rec);
}

/* One slice of f0: three fast calls for each slow one. */
static void give_profile(uint64_t slow)
{
	uint32_t bucket[] = {pt_bucket(10 * US), pt_bucket(4 * MS)};
	uint64_t count[] = {3 * slow, slow};

	give((struct record){.type = REC_PROFILE,
			     .profile = {.op = F0, .start_ns = t.time_ns, .end_ns = t.time_ns + S, .armed_ns = S,
					 .calls = 4 * slow, .sum_ns = slow * (30 * US + 4 * MS), .min_ns = 10 * US,
					 .max_ns = 4 * MS, .nr_buckets = 2, .bucket = bucket, .count = count}});
	t.time_ns += S;
	give((struct record){.type = REC_TICK, .tick = {t.time_ns / S - 1, t.time_ns - S, t.time_ns}});
}

static int setup(void **state)
{
	static const struct descend_host host = {
	    .feed = host_feed, .request = host_request, .ask = host_ask, .message = host_message};
	int fd;

	memset(&t, 0, sizeof(t));
	snprintf(t.path, sizeof(t.path), "/tmp/peaktop-descend.XXXXXX");
	fd = mkstemp(t.path);
	assert_true(fd >= 0);
	close(fd);
	t.model = model_new();
	t.descend = descend_new(&host);
	assert_int_equal(session_writer_create(&t.session, t.path), 0);
	give((struct record){.type = REC_META,
			     .meta = {.version = "0.1.0", .host = "box", .kernel = "6", .boot_id = "b", .cpus = 2,
				      .interval_ns = S, .command = "", .resolution = 4}});
	give((struct record){.type = REC_TARGET,
			     .target = {.pid = 9, .ns_pid = 9, .started_ns = 1, .comm = "server", .exe = "/srv/server", .requested = 1}});
	give((struct record){.type = REC_MODULE, .module = {.module = PROGRAM, .path = "/srv/server"}});
	give((struct record){.type = REC_MODULE, .module = {.module = LIBRARY, .path = "/lib/libc.so.6 (deleted)"}});
	give((struct record){.type = REC_OP,
			     .op = {.op = F0, .layer = LAYER_FUNCTION, .name = "serve@server", .label = "serve",
				    .requested = "serve", .module = "server", .module_id = PROGRAM, .offset = SERVE,
				    .placement = "entry"}});
	return 0;
}

static int teardown(void **state)
{
	descend_free(t.descend);
	model_free(t.model);
	if (t.session)
		session_writer_close(t.session);
	unlink(t.path);
	return 0;
}

/* --- the parser */

static struct question *question(enum parse_type type)
{
	for (unsigned int i = 0; i < t.nr_asked; i++) {
		if (t.asked[i].type == type && !t.asked[i].answered) {
			t.asked[i].answered = true;
			return &t.asked[i];
		}
	}
	return NULL;
}

static struct rec_site site(uint64_t offset, enum site_role role)
{
	return (struct rec_site){.module = PROGRAM, .offset = offset, .role = role, .ret = offset};
}

static struct parsed_call_site call_site(uint64_t offset, uint32_t kind, uint64_t callee, const char *import)
{
	return (struct parsed_call_site){.offset = offset, .ret = offset + 5, .kind = kind, .flags = CALL_SITE_TIMED,
					 .known = callee != 0, .callee = callee, .import = import,
					 .start = site(offset, SITE_CALL), .end = site(offset + 5, SITE_RETURN)};
}

static void answer_call_sites(const struct parsed_call_site *sites, uint32_t nr)
{
	const struct question *q = question(PARSE_CALL_SITES);
	struct parsed a = {.type = PARSED_CALL_SITES};

	assert_non_null(q);
	a.call_sites = (struct parsed_call_sites){.id = q->id, .module = q->module, .offset = q->offset, .reason = "",
						  .total = nr, .nr = nr, .sites = sites};
	assert_true(descend_answer(t.descend, &a));
}

static void answer_find(const struct parsed_function *list, uint32_t nr)
{
	const struct question *q = question(PARSE_FIND);
	struct parsed a = {.type = PARSED_FUNCTIONS};

	assert_non_null(q);
	a.functions = (struct parsed_functions){.id = q->id, .reason = "", .total = nr, .nr = nr, .functions = list};
	assert_true(descend_answer(t.descend, &a));
}

/* At the call sites of serve() lies the body of an inlined function. */
static bool answer_inlines(void)
{
	static const struct parsed_inline calls[] = {{"fast_path(int)", "/src/fast.h", 7, 1}, {"serve(request const&)", "/src/store.c", 32, 0}};
	const struct question *q = question(PARSE_INLINES);
	struct parsed_chain chains[64];
	struct parsed a = {.type = PARSED_INLINES};

	if (!q)
		return false;
	for (uint32_t i = 0; i < q->nr_offsets; i++)
		chains[i] = (struct parsed_chain){.offset = q->offsets[i], .nr = q->module == PROGRAM ? 2 : 0, .calls = calls};
	a.inlines = (struct parsed_inlines){.id = q->id, .module = q->module, .reason = "", .nr = q->nr_offsets, .chains = chains};
	assert_true(descend_answer(t.descend, &a));
	return true;
}

/* A name for every place asked for. */
static void answer_names(void)
{
	struct rec_symbol symbols[64];
	struct parsed a = {.type = PARSED_SYMBOLS};
	const struct question *q;

	while (!descend_names(t.descend)) {
		if (answer_inlines())
			continue;
		q = question(PARSE_SYMBOLS);
		assert_non_null(q);
		for (uint32_t i = 0; i < q->nr_offsets; i++) {
			uint64_t at = q->offsets[i];
			const char *name = q->module == LIBRARY ? "usleep" : at >= HELPER ? "helper(int)" : "serve(request const&)";

			symbols[i] = (struct rec_symbol){.module = q->module, .offset = at, .symbol = name, .function = name,
							 .file = "/src/store.c", .line = (uint32_t)(at & 0xff)};
		}
		a.symbols = (struct parsed_symbols){.id = q->id, .reason = "", .nr = q->nr_offsets, .symbols = symbols};
		assert_true(descend_answer(t.descend, &a));
	}
}

static const struct parsed_function usleep_found[] = {
	{.module = PROGRAM, .offset = 0x777, .symbol = "usleep", .function = "usleep", .source_name = ""},
	{.module = LIBRARY, .offset = USLEEP, .symbol = "usleep", .function = "usleep", .source_name = "", .exported = 1},
};

static void answer_serve(void)
{
	const struct parsed_call_site sites[] = {call_site(0x1010, CALLEE_DIRECT, HELPER, ""),
						 call_site(0x1020, CALLEE_PLT, 0, "usleep"),
						 call_site(0x1030, CALLEE_PLT, 0, "memcpy")};

	answer_call_sites(sites, 3);
}

/* --- the collector */

static bool is_armed(uint64_t offset)
{
	for (uint32_t i = 0; i < t.last.nr_nodes; i++) {
		if (t.nodes[i].start.offset == offset)
			return true;
	}
	return false;
}

/* In-peak calls, of which the call site at `slow` takes all but an eightieth, asleep. */
static void give_calls_of(uint64_t latency, uint64_t slow, unsigned int nr)
{
	uint64_t rest = latency / 80, small = latency / 400;
	struct rec_call_node nodes[16];

	for (unsigned int k = 0; k < nr && !descend_over(t.descend); k++) {
		struct rec_call c = {.epoch = t.last.epoch, .op = F0, .pid = 9, .tid = 9, .start_ns = t.time_ns + k * 5 * MS,
				     .latency_ns = latency, .raw_ns = latency, .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED,
				     .oncpu_ns = rest, .blocked_ns = latency - rest, .preempted_by = "",
				     .interrupt_name = "", .nodes = nodes};

		for (uint32_t i = 0; i < t.last.nr_nodes && i < 16; i++) {
			bool is = t.nodes[i].start.offset == slow;

			nodes[c.nr_nodes++] = (struct rec_call_node){
			    .node = t.nodes[i].node, .count = 1, .max_ns = is ? latency - rest : small,
			    .sum_ns = is ? latency - rest : small, .blocked_ns = is ? latency - rest - small : 0};
		}
		give((struct record){.type = REC_CALL, .call = c});
	}
}

static void give_calls(uint64_t slow, unsigned int nr)
{
	give_calls_of(4 * MS, slow, nr);
}

static struct options options(void)
{
	return (struct options){.start_ops = 100, .decision_ops = 20, .maxcount_percentage = 0.5, .max_depth = 16, .max_sites = 64,
				.level_by_level = true, .timeout_s = 30, .resolution = 4};
}

static void begin(void)
{
	struct options o = options();
	struct rec_descent ask;

	give_profile(100);
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
	assert_int_equal(descend_begin(t.descend, &ask), 0);
}

/* serve() > usleep(), to the end. */
static void whole_descent(void)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	assert_true(is_armed(0x1010) && is_armed(0x1020));
	for (int i = 0; i < 20 && !descend_over(t.descend); i++) {
		const struct question *q;

		give_calls(0x1020, 20);
		for (unsigned int k = 0; k < t.nr_asked; k++) {
			q = &t.asked[k];
			if (q->type == PARSE_CALL_SITES && !q->answered)
				answer_call_sites(NULL, 0);
		}
	}
	assert_true(descend_over(t.descend));
	answer_names();
	give_profile(100);
}

static struct descend_report report(void)
{
	return (struct descend_report){.model = t.model, .descend = t.descend, .op = F0};
}

static char *printed(int (*fn)(const struct descend_report *, const struct output_options *, FILE *), const struct descend_report *r)
{
	const struct output_options o = {.resolution = 4};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(fn(r, &o, f), 0);
	fclose(f);
	return text;
}

/* --- choosing the peak */

static void too_early(void **state)
{
	struct options o = options();
	struct rec_descent ask;

	assert_int_equal(descend_choose(t.model, F0, &o, true, &ask), -EAGAIN);
	give_profile(10);
	assert_int_equal(descend_choose(t.model, F0, &o, true, &ask), -EAGAIN);
	assert_int_equal(descend_choose(t.model, 77, &o, true, &ask), -EAGAIN);
	give_profile(20);
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
}

static void largest_by_default(void **state)
{
	struct options o = options();
	struct rec_descent ask;

	give_profile(100);
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS && ask.low_ns > 10 * US);
	assert_int_equal(ask.op, F0);
	assert_int_equal(ask.function.module, PROGRAM);
	assert_int_equal(ask.function.offset, SERVE);
	assert_int_equal(ask.maxcount_ppm, 500000);
	assert_int_equal(ask.level_by_level, 1);
	o.peak = 1;
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
	assert_true(ask.low_ns <= 10 * US && ask.high_ns > 10 * US && ask.high_ns < 4 * MS);
}

/* One call in a thousand takes most of the time: no peak yet, so the fast ones are not taken for the question. */
static void rare_and_slow(void **state)
{
	uint32_t bucket[] = {pt_bucket(10 * US), pt_bucket(100 * MS)};
	uint64_t count[] = {999, 1};
	struct options o = options();
	struct rec_descent ask;

	give((struct record){.type = REC_PROFILE,
			     .profile = {.op = F0, .start_ns = t.time_ns, .end_ns = t.time_ns + S, .armed_ns = S, .calls = 1000,
					 .sum_ns = 999 * 10 * US + 100 * MS, .min_ns = 10 * US, .max_ns = 100 * MS, .nr_buckets = 2,
					 .bucket = bucket, .count = count}});
	t.time_ns += S;
	give((struct record){.type = REC_TICK, .tick = {t.time_ns / S - 1, t.time_ns - S, t.time_ns}});
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), -EAGAIN);
	assert_int_equal(descend_choose(t.model, F0, &o, true, &ask), 0);
	assert_true(ask.high_ns < 100 * MS);
	for (int i = 0; i < 5; i++)
		give_profile(40);
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
	assert_true(ask.low_ns <= 4 * MS && ask.high_ns > 4 * MS);
}

/* Before the slow calls are many enough for a peak they pass for the tail of the fast ones. */
static void slow_tail(void **state)
{
	uint64_t latency[] = {10 * US, 20 * US, 40 * US, 80 * US, 160 * US, 320 * US, 640 * US, 1280 * US, 2560 * US, 14 * MS};
	uint64_t count[] = {3000, 300, 40, 12, 4, 2, 1, 1, 1, 5};
	uint32_t bucket[10];
	struct options o = options();
	struct rec_descent ask;

	for (int i = 0; i < 10; i++)
		bucket[i] = pt_bucket(latency[i]);
	give((struct record){.type = REC_PROFILE,
			     .profile = {.op = F0, .start_ns = t.time_ns, .end_ns = t.time_ns + S, .armed_ns = S, .calls = 3366,
					 .sum_ns = 115 * MS, .min_ns = 10 * US, .max_ns = 14 * MS, .nr_buckets = 10,
					 .bucket = bucket, .count = count}});
	t.time_ns += S;
	give((struct record){.type = REC_TICK, .tick = {t.time_ns / S - 1, t.time_ns - S, t.time_ns}});
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), -EAGAIN);
	assert_int_equal(descend_choose(t.model, F0, &o, true, &ask), 0);
}

static void no_such_peak(void **state)
{
	struct descend_report r = report();
	struct options o = options();
	struct rec_descent ask;
	char *text;

	give_profile(100);
	o.peak = 9;
	/* it may still come */
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), -EAGAIN);
	assert_int_equal(descend_choose(t.model, F0, &o, true, &ask), -ENOENT);
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
	struct options o = options();
	struct rec_descent ask;

	give_profile(100);
	o.slowest = 10;
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
	assert_true(ask.low_ns > 10 * US && ask.low_ns <= 5 * MS);
	assert_true(ask.high_ns == UINT64_MAX);
	o.slowest = 0.01;
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), -EAGAIN);
	assert_int_equal(descend_choose(t.model, F0, &o, true, &ask), 0);
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
	const struct parsed_function ifunc = {.module = LIBRARY, .offset = USLEEP, .symbol = "usleep", .function = "usleep",
					      .source_name = "", .ifunc = 1, .exported = 1};

	begin();
	answer_serve();
	answer_find(&ifunc, 1);
	answer_find(NULL, 0);
	give_calls(0x1020, 25);
	/* nothing in it to ask for, and nobody to learn from: it is named all the same */
	for (unsigned int i = 0; i < t.nr_asked; i++)
		assert_false(t.asked[i].type == PARSE_CALL_SITES && t.asked[i].module == LIBRARY);
	answer_names();
	assert_non_null(descend_symbol(t.descend, PROGRAM, 0x1020 | DESCEND_CALLEE_OF));
	assert_string_equal(descend_symbol(t.descend, PROGRAM, 0x1020 | DESCEND_CALLEE_OF)->function, "usleep");
}

/* serve() calls through a pointer at 0x1030, read from memory, and helper(). */
static void begin_with_pointer(uint32_t operand)
{
	struct parsed_call_site sites[] = {call_site(0x1010, CALLEE_DIRECT, HELPER, ""),
					   call_site(0x1030, CALLEE_INDIRECT, 0, "")};

	sites[1].operand = (struct rec_operand){.kind = operand, .base = 12, .index = OPERAND_NO_REG, .disp = 24};
	begin();
	answer_call_sites(sites, 2);
	assert_true(is_armed(0x1030));
	give_calls(0x1030, 25);
}

static void a_pointer_is_learnt(void **state)
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
	give((struct record){.type = REC_LEARNT,
			     .learnt = {.node = t.learn.node, .nr_callees = 1, .callees = &callee}});
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
	give((struct record){.type = REC_LEARNT,
			     .learnt = {.node = t.learn.node, .nr_callees = 2, .callees = callees}});
	/* timed from their entries, which the parser is asked for */
	for (int i = 0; i < 2; i++) {
		const struct question *q = question(PARSE_PLAN);
		struct rec_site entry;

		assert_non_null(q);
		entry = site(q->offset + 4, SITE_ENTRY);
		entry.cfa = 8;
		a.plan = (struct parsed_plan){.id = q->id, .module = q->module, .offset = q->offset, .text = "", .price = "",
					      .nr_sites = 1, .sites = &entry};
		assert_int_equal(t.nr_requests, requests);
		assert_true(descend_answer(t.descend, &a));
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
	assert_true(descend_names(t.descend) || t.nr_asked == 0);
}

static void a_refusal_ends_it(void **state)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give((struct record){.type = REC_REFUSED,
			     .refused = {.epoch = t.last.epoch + 1, .op = F0, .error = -EPERM, .reason = "another"}});
	assert_false(descend_over(t.descend));
	give((struct record){.type = REC_REFUSED,
			     .refused = {.epoch = t.last.epoch, .op = F0, .error = -EPERM, .reason = "no"}});
	assert_true(descend_over(t.descend));
	assert_int_equal(t.nr_stops, 1);
}

static void a_refusal_after_the_ack_is_another(void **state)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give((struct record){.type = REC_ACK, .ack = {.epoch = t.last.epoch}});
	give((struct record){.type = REC_REFUSED,
			     .refused = {.epoch = t.last.epoch, .op = F0, .error = -EPERM, .reason = "no"}});
	assert_false(descend_over(t.descend));
}

static void foreign_answers_are_left(void **state)
{
	struct parsed a = {.type = PARSED_FUNCTIONS, .functions = {.id = 4711}};

	begin();
	assert_false(descend_answer(t.descend, &a));
	a.type = PARSED_PLAN;
	assert_false(descend_answer(t.descend, &a));
	a.type = PARSED_SYMBOLS;
	assert_false(descend_answer(t.descend, &a));
}

static void stop_is_said_once(void **state)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give_calls(0x1020, 21);
	descend_stop(t.descend);
	descend_stop(t.descend);
	assert_int_equal(t.nr_stops, 1);
	assert_true(descend_over(t.descend));
}

static void out_of_range(void **state)
{
	struct rec_descent ask;

	descent_options_init(&ask);
	assert_int_equal(descend_begin(t.descend, &ask), -EINVAL);
	ask.op = F0;
	ask.function = (struct rec_code){PROGRAM, SERVE};
	ask.low_ns = 5;
	ask.high_ns = 5;
	assert_int_equal(descend_begin(t.descend, &ask), -EINVAL);
	assert_null(descend_asked(t.descend));
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
	assert_string_equal(json_string_value(json_object_get(json, "function")), "serve(request const&)");
	path = json_array_get(json_object_get(json, "paths"), 0);
	frames = json_object_get(path, "frames");
	assert_int_equal(json_array_size(frames), 2);
	last = json_array_get(frames, 1);
	assert_string_equal(json_string_value(json_object_get(last, "function")), "usleep");
	assert_string_equal(json_string_value(json_object_get(last, "module")), "libc.so.6");
	assert_string_equal(json_string_value(json_object_get(last, "evidence")), "measured");
	assert_true(json_integer_value(json_object_get(last, "records")) >= 20);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(last, "call_site"), "line")), 0x20);
	assert_string_equal(json_string_value(json_object_get(json_object_get(last, "call_site"), "address")), "0x1020");
	inlined = json_object_get(json_object_get(last, "call_site"), "inlined");
	assert_int_equal(json_array_size(inlined), 1);
	assert_string_equal(json_string_value(json_array_get(inlined, 0)), "fast_path(int)");
	assert_non_null(json_object_get(json, "profile"));
	assert_non_null(json_object_get(json, "peak"));
	assert_int_equal(json_array_size(json_object_get(json_object_get(json, "ftree"), "children")), 3);
	json_decref(json);
}

static void the_sentence(void **state)
{
	struct descend_report r;
	char *text;

	whole_descent();
	r = report();
	text = printed(output_descend_text, &r);
	assert_non_null(strstr(text, "peak 2, "));
	assert_non_null(strstr(text, "serve > usleep at\n") || strstr(text, "serve > usleep at store.c:32") ||
			strstr(text, "serve >\nusleep at store.c:32"));
	assert_true(strstr(text, "Path 1") < strstr(text, "Status: ") && strstr(text, "Status: ") < strstr(text, "Cost: "));
	/* parameters are for the JSON */
	assert_null(strstr(text, "request"));
	free(text);
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
	descend_stop(t.descend);
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

/* --- its screens, from the session */

static void compare_golden(const char *name, const char *got)
{
	char path[256], *want = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(want);
	snprintf(path, sizeof(path), "tests/unit/golden/%s.txt", name);
	f = fopen(path, getenv("UPDATE_GOLDEN") ? "w" : "r");
	if (f && getenv("UPDATE_GOLDEN")) {
		fputs(got, f);
		snprintf(want, 1 << 20, "%s", got);
	} else if (f) {
		want[fread(want, 1, (1 << 20) - 1, f)] = '\0';
	}
	if (f)
		fclose(f);
	if (strcmp(want, got))
		fail_msg("golden %s differs; UPDATE_GOLDEN=1 writes it anew:\n%s", name, got);
	free(want);
}

/* What a script prints over the session that was written; it must succeed. */
static void script_golden(const char *name, const char *script)
{
	struct options o = options();
	struct replay *replay = NULL;
	struct buf out;
	char why[256];
	int err;

	buf_init(&out, 1 << 20);
	assert_int_equal(replay_open(&replay, t.path, why, sizeof(why)), 0);
	err = script_session(replay, &o, script, strlen(script), &out);
	if (err)
		fail_msg("%s: script: %d\n%s", name, err, out.data ? out.data : "");
	if (name[0])
		compare_golden(name, out.data ? out.data : "");
	buf_release(&out);
	replay_free(replay);
}

#define OPENED "key Enter 2 Enter\n"

/* The descent is asked for, has begun, and ends, each in a slice of its own. */
static void write_session(void)
{
	begin();
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
	give_calls(0x1020, 5);
	answer_names();
	give_profile(10);
	for (int i = 0; i < 20 && !descend_over(t.descend); i++) {
		give_calls(0x1020, 20);
		for (unsigned int k = 0; k < t.nr_asked; k++) {
			if (t.asked[k].type == PARSE_CALL_SITES && !t.asked[k].answered)
				answer_call_sites(NULL, 0);
		}
	}
	assert_true(descend_over(t.descend));
	answer_names();
	give_profile(10);
	assert_int_equal(session_writer_close(t.session), 0);
	t.session = NULL;
}

static void screens_of_its_session(void **state)
{
	write_session();
	/* before it was asked for there is nothing to show */
	script_golden("", "until 1\n" OPENED "expect and it holds no");
	script_golden("", "until 2\n" OPENED "expect in progress\nexpect armed now 3\ntick\nexpect root cause found\n"
			  "reject in progress\nkey T\nexpect in progress\nkey t\nexpect root cause found\n"
			  "key q\nexpect calls (log)");
	/* no file of this name, and a saved session holds no code */
	script_golden("", "end\n" OPENED "key Enter\nexpect no code\nkey d\nexpect no code");
	script_golden("descent-session-begun", "until 2\n" OPENED "dump");
	script_golden("descent-session-80x24", "end\n" OPENED "dump");
	script_golden("descent-session-200x50", "end\nsize 200 50\n" OPENED "key E\ndump");
	script_golden("descent-session-20x5", "end\nsize 20 5\n" OPENED "dump");
}

static bool shown(const struct screen *s, const char *text)
{
	struct buf out;
	size_t n = 0;
	bool found;

	buf_init(&out, 1 << 20);
	assert_int_equal(screen_text(s, &out), 0);
	/* wherever the lines were broken */
	for (size_t i = 0; i < out.len; i++) {
		if (!isspace((unsigned char)out.data[i]))
			out.data[n++] = out.data[i];
		else if (n && out.data[n - 1] != ' ')
			out.data[n++] = ' ';
	}
	out.data[n] = '\0';
	found = strstr(out.data, text) != NULL;
	buf_release(&out);
	return found;
}

/* Ask for a peak on the live screen, and take the calls of it to the end. */
static void descend_on_screen(struct live_descent *l, unsigned int peak, uint64_t latency, uint64_t slow)
{
	live_descent_ask(l, F0, model_op_peaks(t.model, F0)->peaks[peak - 1].id);
	for (int i = 0; i < 20 && !descend_over(t.descend); i++) {
		if (!t.last.nr_nodes) {
			answer_serve();
			answer_find(usleep_found, 2);
			answer_find(NULL, 0);
		}
		give_calls_of(latency, slow, 20);
		for (unsigned int k = 0; k < t.nr_asked; k++) {
			if (t.asked[k].type == PARSE_CALL_SITES && !t.asked[k].answered)
				answer_call_sites(NULL, 0);
		}
	}
	assert_true(descend_over(t.descend));
	answer_names();
	live_descent_turn(l, l->next_ns);
	screen_tick(l->screen, 1);
}

static void peaks_with_the_same_path(void **state)
{
	const struct screen_options so = {.root = SCREEN_OPERATIONS};
	struct options o = options();
	struct live_descent l = {.model = t.model, .descend = t.descend, .options = &o};

	l.screen = screen_new(t.model, &so);
	screen_resize(l.screen, 120, 40);
	give_profile(100);
	descend_on_screen(&l, 2, 4 * MS, 0x1020);
	assert_true(shown(l.screen, "root cause found"));
	assert_false(shown(l.screen, "below software"));
	/* the other one, without starting again */
	descend_on_screen(&l, 1, 10 * US, 0x1020);
	assert_true(shown(l.screen, "peak 1, "));
	assert_true(shown(l.screen, "the same path as the peak at 4.02 ms: the difference is below software"));
	/* the first again: it is not compared with itself */
	descend_on_screen(&l, 2, 4 * MS, 0x1020);
	assert_true(shown(l.screen, "the same path as the peak at 10"));
	assert_false(shown(l.screen, "the same path as the peak at 4"));
	/* and another path is not the same */
	descend_on_screen(&l, 1, 10 * US, 0x1010);
	assert_false(shown(l.screen, "the same path"));
	live_descent_release(&l);
	screen_free(l.screen);
}

static void another_peak_afterwards(void **state)
{
	struct options o = options();
	struct rec_descent ask;
	unsigned int asked;

	whole_descent();
	asked = t.nr_asked;
	o.peak = 1;
	assert_int_equal(descend_choose(t.model, F0, &o, false, &ask), 0);
	assert_int_equal(descend_begin(t.descend, &ask), 0);
	assert_false(descend_over(t.descend));
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
			     .symbol = {.module = LIBRARY, .offset = USLEEP, .symbol = HOSTILE, .function = HOSTILE, .file = HOSTILE, .line = 1}});
	give((struct record){.type = REC_SYMBOL,
			     .symbol = {.module = PROGRAM, .offset = 0x1020, .symbol = HOSTILE, .function = HOSTILE, .file = HOSTILE, .line = 1}});
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
		cmocka_unit_test_setup_teardown(too_early, setup, teardown),
		cmocka_unit_test_setup_teardown(largest_by_default, setup, teardown),
		cmocka_unit_test_setup_teardown(rare_and_slow, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(no_such_peak, setup, teardown),
		cmocka_unit_test_setup_teardown(slowest, setup, teardown),
		cmocka_unit_test_setup_teardown(imports_come_from_exports, setup, teardown),
		cmocka_unit_test_setup_teardown(an_ifunc_stays_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pointer_is_learnt, setup, teardown),
		cmocka_unit_test_setup_teardown(several_callees_of_a_pointer_are_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_probe_can_read_is_not_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deaf_parser_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refusal_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refusal_after_the_ack_is_another, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_answers_are_left, setup, teardown),
		cmocka_unit_test_setup_teardown(stop_is_said_once, setup, teardown),
		cmocka_unit_test_setup_teardown(out_of_range, setup, teardown),
		cmocka_unit_test_setup_teardown(the_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(the_sentence, setup, teardown),
		cmocka_unit_test_setup_teardown(replayed_from_its_session, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stopped_one_replays_too, setup, teardown),
		cmocka_unit_test_setup_teardown(screens_of_its_session, setup, teardown),
		cmocka_unit_test_setup_teardown(peaks_with_the_same_path, setup, teardown),
		cmocka_unit_test_setup_teardown(another_peak_afterwards, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_asked_yet, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_names, setup, teardown),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
