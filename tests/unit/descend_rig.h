/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A descent whose collector and parser are made of records: what it asks for is noted, answers are
 * given by hand. */
#ifndef PEAKTOP_TESTS_DESCEND_RIG_H
#define PEAKTOP_TESTS_DESCEND_RIG_H

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/output_models.h"
#include "tests/unit/session_create.h"
#include "tui/cli/verb_descend.h"
#include "tui/engine/record_queue.h"
#include "tui/engine/replay.h"
#include "tui/report/output_descend.h"

enum {
	F0 = 1024,
	PROGRAM = 1, /* modules */
	LIBRARY = 2,
	SERVE = 0x1000, /* serve() calls helper() at 0x1010, usleep@plt at 0x1020, through a pointer
			   at 0x1030 */
	HELPER = 0x2000,
	USLEEP = 0x500,
	MAX_ASKED = 64,
};

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* --- the host */

struct question {
	struct parser_reply reply;
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
	struct descent_driver *driver;
	struct session_writer *session;
	struct record_queue queue; /* records that are made while one is taken */
	bool taking;
	char path[64];
	struct question asked[MAX_ASKED];
	unsigned int nr_asked;
	struct req_descend last; /* with `nodes` below */
	struct req_fnode nodes[256];
	unsigned int nr_requests, nr_stops, nr_learns;
	struct req_learn learn;
	uint64_t time_ns;
	bool deaf; /* the parser cannot be asked */
	/* If not NULL: calls wait for this task; it took the CPU for half of their time. */
	const char *peer, *on_cpu;
	bool computes; /* calls are on a CPU all the time */
} t;

static inline void host_feed(void *ctx, const struct record *rec)
{
	if (t.taking) {
		assert_int_equal(record_queue_push(&t.queue, rec), 0);
		return;
	}
	t.taking = true;
	do {
		model_feed(t.model, rec);
		assert_int_equal(session_writer_append(t.session, rec), 0);
		driver_take(t.driver, rec);
	} while ((rec = record_queue_pop(&t.queue)));
	t.taking = false;
}

static inline int host_request(void *ctx, const struct record *rec)
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

static inline bool host_ask(void *ctx, enum parse_type type, struct parse_request *req,
			    const struct parser_reply *reply)
{
	struct question *q = &t.asked[t.nr_asked];

	if (t.deaf)
		return false;
	assert_true(t.nr_asked < MAX_ASKED && req->nr_offsets <= 64);
	t.nr_asked++;
	*q = (struct question){.reply = *reply,
			       .type = type,
			       .module = req->module,
			       .offset = req->offset,
			       .nr_offsets = req->nr_offsets};
	snprintf(q->text, sizeof(q->text), "%s", req->text);
	if (req->nr_offsets)
		memcpy(q->offsets, req->offsets, req->nr_offsets * sizeof(*req->offsets));
	return true;
}

static inline void host_message(void *ctx, const char *line)
{
	fail_msg("%s", line);
}

static inline void give(struct record rec)
{
	host_feed(NULL, &rec);
}

/* Calls of f0 in this slice, by ascending latency. */
static inline void give_histogram(const uint64_t *latency, const uint64_t *count, uint32_t nr)
{
	uint32_t bucket[16];
	struct rec_profile p = {.op = F0,
				.start_ns = t.time_ns,
				.end_ns = t.time_ns + S,
				.armed_ns = S,
				.min_ns = latency[0],
				.max_ns = latency[nr - 1],
				.nr_buckets = nr,
				.bucket = bucket,
				.count = count};

	for (uint32_t i = 0; i < nr; i++) {
		bucket[i] = pt_bucket(latency[i]);
		p.calls += count[i];
		p.sum_ns += count[i] * latency[i];
	}
	give((struct record){.type = REC_PROFILE, .profile = p});
}

static inline void end_slice(void)
{
	t.time_ns += S;
	give((struct record){
	    .type = REC_TICK,
	    .tick = {.slice = t.time_ns / S - 1, .start_ns = t.time_ns - S, .end_ns = t.time_ns}});
}

/* One slice of f0: so many calls of 10 us, and slower ones. */
static inline void give_slice(uint64_t fast, uint64_t slow, uint64_t slow_ns)
{
	give_histogram((uint64_t[]){10 * US, slow_ns}, (uint64_t[]){fast, slow}, 2);
	end_slice();
}

/* Three fast calls for each slow one. */
static inline void give_profile(uint64_t slow)
{
	give_slice(3 * slow, slow, 4 * MS);
}

/* Two peaks, of 58% and 40% of the time, and one of 2%. */
static inline void give_two_peaks(void)
{
	give_histogram((uint64_t[]){10 * US, 300 * US, 4 * MS}, (uint64_t[]){2000, 1900, 97}, 3);
	end_slice();
}

static inline int setup(void **state)
{
	static const struct driver_host host = {
	    .feed = host_feed, .request = host_request, .ask = host_ask, .message = host_message};
	int fd;

	memset(&t, 0, sizeof(t));
	snprintf(t.path, sizeof(t.path), "/tmp/peaktop-descend.XXXXXX");
	fd = mkstemp(t.path);
	assert_true(fd >= 0);
	close(fd);
	t.model = model_new();
	t.driver = driver_new(&host);
	assert_int_equal(record_queue_init(&t.queue), 0);
	assert_int_equal(session_create(&t.session, t.path), 0);
	give((struct record){.type = REC_META,
			     .meta = {.version = "0.1.0",
				      .host = "box",
				      .kernel = "6",
				      .boot_id = "b",
				      .cpus = 2,
				      .interval_ns = S,
				      .command = "",
				      .resolution = 4}});
	give((struct record){.type = REC_TARGET,
			     .target = {.pid = 9,
					.ns_pid = 9,
					.started_ns = 1,
					.comm = "server",
					.exe = "/srv/server",
					.requested = 1}});
	give((struct record){.type = REC_MODULE,
			     .module = {.module = PROGRAM, .path = "/srv/server"}});
	give((struct record){.type = REC_MODULE,
			     .module = {.module = LIBRARY, .path = "/lib/libc.so.6 (deleted)"}});
	give((struct record){.type = REC_OP,
			     .op = {.op = F0,
				    .layer = LAYER_FUNCTION,
				    .name = "serve@server",
				    .label = "serve",
				    .requested = "serve",
				    .module = "server",
				    .module_id = PROGRAM,
				    .offset = SERVE,
				    .placement = "entry"}});
	return 0;
}

static inline int teardown(void **state)
{
	driver_free(t.driver);
	model_free(t.model);
	record_queue_release(&t.queue);
	if (t.session)
		session_writer_close(t.session);
	unlink(t.path);
	return 0;
}

/* --- the parser */

static inline struct question *question(enum parse_type type)
{
	for (unsigned int i = 0; i < t.nr_asked; i++) {
		if (t.asked[i].type == type && !t.asked[i].answered) {
			t.asked[i].answered = true;
			return &t.asked[i];
		}
	}
	return NULL;
}

static inline void reply(const struct question *q, const struct parsed *a)
{
	q->reply.take(q->reply.ctx, q->reply.tag, a);
}

static inline struct rec_site site(uint64_t offset, enum site_role role)
{
	return (struct rec_site){.module = PROGRAM, .offset = offset, .role = role, .ret = offset};
}

static inline struct parsed_call_site call_site(uint64_t offset, uint32_t kind, uint64_t callee,
						const char *import)
{
	return (struct parsed_call_site){.offset = offset,
					 .ret = offset + 5,
					 .kind = kind,
					 .flags = CALL_SITE_TIMED,
					 .known = callee != 0,
					 .callee = callee,
					 .import = import,
					 .start = site(offset, SITE_CALL),
					 .end = site(offset + 5, SITE_RETURN)};
}

static inline void answer_call_sites(const struct parsed_call_site *sites, uint32_t nr)
{
	const struct question *q = question(PARSE_CALL_SITES);
	struct parsed a = {.type = PARSED_CALL_SITES};

	assert_non_null(q);
	a.call_sites = (struct parsed_call_sites){.module = q->module,
						  .offset = q->offset,
						  .reason = "",
						  .total = nr,
						  .nr = nr,
						  .sites = sites};
	reply(q, &a);
}

/* Answer each open question for call sites: there are none. */
static inline void answer_no_call_sites(void)
{
	for (unsigned int k = 0; k < t.nr_asked; k++) {
		if (t.asked[k].type == PARSE_CALL_SITES && !t.asked[k].answered)
			answer_call_sites(NULL, 0);
	}
}

static inline void answer_find(const struct parsed_function *list, uint32_t nr)
{
	const struct question *q = question(PARSE_FIND);
	struct parsed a = {.type = PARSED_FUNCTIONS};

	assert_non_null(q);
	a.functions =
	    (struct parsed_functions){.reason = "", .total = nr, .nr = nr, .functions = list};
	reply(q, &a);
}

/* At the call sites of serve() lies the body of an inlined function. */
static inline bool answer_inlines(void)
{
	static const struct parsed_inline calls[] = {
	    {"fast_path(int)", "/src/fast.h", 7, 1},
	    {"serve(request const&)", "/src/store.c", 32, 0}};
	const struct question *q = question(PARSE_INLINES);
	struct parsed_chain chains[64];
	struct parsed a = {.type = PARSED_INLINES};

	if (!q)
		return false;
	for (uint32_t i = 0; i < q->nr_offsets; i++)
		chains[i] = (struct parsed_chain){
		    .offset = q->offsets[i], .nr = q->module == PROGRAM ? 2 : 0, .calls = calls};
	a.inlines = (struct parsed_inlines){
	    .module = q->module, .reason = "", .nr = q->nr_offsets, .chains = chains};
	reply(q, &a);
	return true;
}

/* A name for every place asked for. */
static inline void answer_names(void)
{
	struct rec_symbol symbols[64];
	struct parsed a = {.type = PARSED_SYMBOLS};
	const struct question *q;

	while (!driver_names(t.driver)) {
		if (answer_inlines())
			continue;
		q = question(PARSE_SYMBOLS);
		assert_non_null(q);
		for (uint32_t i = 0; i < q->nr_offsets; i++) {
			uint64_t at = q->offsets[i];
			const char *name = q->module == LIBRARY ? "usleep"
					   : at >= HELPER	? "helper(int)"
								: "serve(request const&)";

			symbols[i] = (struct rec_symbol){.module = q->module,
							 .offset = at,
							 .symbol = name,
							 .function = name,
							 .file = "/src/store.c",
							 .line = (uint32_t)(at & 0xff)};
		}
		a.symbols =
		    (struct parsed_symbols){.reason = "", .nr = q->nr_offsets, .symbols = symbols};
		reply(q, &a);
	}
}

static const struct parsed_function usleep_found[] = {
    {.module = PROGRAM,
     .offset = 0x777,
     .symbol = "usleep",
     .function = "usleep",
     .source_name = ""},
    {.module = LIBRARY,
     .offset = USLEEP,
     .symbol = "usleep",
     .function = "usleep",
     .source_name = "",
     .exported = 1},
};

static inline void answer_serve(void)
{
	const struct parsed_call_site sites[] = {call_site(0x1010, CALLEE_DIRECT, HELPER, ""),
						 call_site(0x1020, CALLEE_PLT, 0, "usleep"),
						 call_site(0x1030, CALLEE_PLT, 0, "memcpy")};

	answer_call_sites(sites, 3);
}

/* All of serve() is known; memcpy() is not found. */
static inline void arm_serve(void)
{
	answer_serve();
	answer_find(usleep_found, 2);
	answer_find(NULL, 0);
}

/* --- the collector */

static inline bool is_armed(uint64_t offset)
{
	for (uint32_t i = 0; i < t.last.nr_nodes; i++) {
		if (t.nodes[i].start.offset == offset)
			return true;
	}
	return false;
}

/* The stack of a sleep in what the site at `slow` calls. */
static inline void give_sleep(uint64_t at_ns, uint64_t slow, uint64_t ns)
{
	bool helper = slow == 0x1010;
	struct rec_frame frames[] = {
	    {PROGRAM, slow + 5, SERVE},
	    {helper ? PROGRAM : LIBRARY, (helper ? HELPER : USLEEP) + 3, helper ? HELPER : USLEEP}};

	give(
	    (struct record){.type = REC_WITNESS,
			    .witness = {.op = F0,
					.tid = 9,
					.at_ns = at_ns,
					.weight_ns = ns,
					.kind = WITNESS_SLEEP,
					.sleep = {.call = t.peer ? "read" : "clock_nanosleep",
						  .object = t.peer ? OBJECT_PIPE : OBJECT_OTHER,
						  .bracket = t.peer ? 0 : BRACKET(BRACKET_CLOCK, 0),
						  .name = "",
						  .waker = t.peer ? t.peer : "",
						  .waker_pid = t.peer ? 77 : 0,
						  .waker_tid = t.peer ? 77 : 0,
						  .holder = ""},
					.nr_frames = 2,
					.frames = frames}});
}

/* In-peak calls, of which the call site at `slow` takes all but an eightieth, asleep. */
static inline void give_calls_of(uint64_t latency, uint64_t slow, unsigned int nr)
{
	uint64_t rest = latency / 80, small = latency / 400, queue = t.on_cpu ? latency / 2 : 0,
		 asleep = t.computes ? 0 : latency - rest - queue;
	const struct rec_host_wait wait = {
	    .kind = HOST_WAIT_PREEMPTED, .ns = queue, .name = t.on_cpu, .detail = ""};
	struct rec_call_node nodes[16];

	for (unsigned int k = 0; k < nr && !driver_over(t.driver); k++) {
		struct rec_call c = {
		    .epoch = t.last.epoch,
		    .op = F0,
		    .pid = 9,
		    .tid = 9,
		    .start_ns = t.time_ns + k * 5 * MS,
		    .latency_ns = latency,
		    .raw_ns = latency,
		    .known = CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED |
			     (queue ? CALL_KNOWN_RUNQUEUE | CALL_KNOWN_NODE_RUNQUEUE : 0),
		    .oncpu_ns = latency - asleep - queue,
		    .blocked_ns = asleep,
		    .runqueue_ns = queue,
		    .preempted_ns = queue,
		    .nr_waits = queue > 0,
		    .waits = &wait,
		    .preempted_by = "",
		    .interrupt_name = "",
		    .nodes = nodes};

		for (uint32_t i = 0; i < t.last.nr_nodes && i < 16; i++) {
			bool is = t.nodes[i].start.offset == slow;

			nodes[c.nr_nodes++] =
			    (struct rec_call_node){.node = t.nodes[i].node,
						   .count = 1,
						   .max_ns = is ? latency - rest : small,
						   .sum_ns = is ? latency - rest : small,
						   .runqueue_ns = is ? queue : 0,
						   .blocked_ns = is && asleep ? asleep - small : 0};
		}
		if (asleep)
			give_sleep(c.start_ns + latency / 2, slow, asleep);
		give((struct record){.type = REC_CALL, .call = c});
	}
}

static inline void give_calls(uint64_t slow, unsigned int nr)
{
	give_calls_of(4 * MS, slow, nr);
}

static inline struct descent_question options(void)
{
	return (struct descent_question){.start_ops = 100,
					 .decision_ops = 20,
					 .maxcount_percentage = 0.5,
					 .max_depth = 16,
					 .max_sites = 64,
					 .level_by_level = true,
					 .timeout_s = 30};
}

static inline void begin(void)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	assert_int_equal(driver_begin(t.driver, &ask), 0);
}

static inline void begin_armed(void)
{
	begin();
	arm_serve();
}

/* serve() > usleep(), to the end. */
static inline void whole_descent(void)
{
	begin_armed();
	assert_true(is_armed(0x1010) && is_armed(0x1020));
	for (int i = 0; i < 20 && !driver_over(t.driver); i++) {
		give_calls(0x1020, 20);
		answer_no_call_sites();
	}
	assert_true(driver_over(t.driver));
	answer_names();
	give_profile(100);
}

static inline struct descend_report report(void)
{
	return (struct descend_report){.model = t.model, .driver = t.driver, .op = F0};
}

__attribute__((noinline, unused)) static char *
printed(int (*fn)(const struct descend_report *, const struct output_options *, FILE *),
	const struct descend_report *r)
{
	const struct output_options o = {.resolution = 4};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(fn(r, &o, f), 0);
	fclose(f);
	return text;
}

#endif
