// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The front between a collector and a parser that are made here: the test holds the other end of
 * the collector's socket, and its parser_*() functions take the place of the real ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/latency/profile.h"
#include "collect/process/channel.h"
#include "tui/engine/front_state.h"
#include "tui/engine/walker.h"

enum { PID = 9, PROGRAM = 1, CODE_START = 0x400000, CODE_OFFSET = 0x1000, MAX_ASKED = 64 };

/* ---- a parser that is asked, and answered for by hand ---- */

struct question {
	enum parse_type type;
	struct parser_reply reply;
	uint32_t module;
	uint64_t offset;
	char text[64];
	bool answered;
};

static struct {
	struct front *front;
	struct channel *collector; /* its end of the socket */
	struct question asked[MAX_ASKED];
	unsigned int nr_asked;
	struct req_arm armed; /* the last REQ_ARM */
	unsigned int nr_arms, nr_disarms;
	bool no_copies;			    /* strdup() fails */
	unsigned int walked[64], nr_walked; /* types of the records that the walk was given */
} t;

static struct options options;

char *strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = t.no_copies ? NULL : malloc(n);

	return copy ? memcpy(copy, s, n) : NULL;
}

static int64_t note(enum parse_type type, const struct parse_request *req,
		    const struct parser_reply *reply)
{
	struct question *q = &t.asked[t.nr_asked];

	assert_true(t.nr_asked < MAX_ASKED);
	*q = (struct question){.type = type, .module = req->module, .offset = req->offset};
	if (reply)
		q->reply = *reply;
	snprintf(q->text, sizeof(q->text), "%s", req->text ? req->text : "");
	return ++t.nr_asked;
}

int parser_start(struct parser **out, uint64_t limit_ns)
{
	return -ENOSYS;
}

void parser_free(struct parser *p)
{
}

int parser_fd(const struct parser *p)
{
	return -1;
}

bool parser_wants_write(const struct parser *p)
{
	return false;
}

unsigned int parser_restarts(const struct parser *p)
{
	return 0;
}

const char *parser_lost_on(const struct parser *p)
{
	return "";
}

int64_t parser_add_module(struct parser *p, uint32_t module, int fd, const char *name,
			  const struct parser_reply *reply)
{
	return note(PARSE_ADD_MODULE, &(struct parse_request){.module = module}, reply);
}

int64_t parser_add_debug(struct parser *p, uint32_t module, int fd,
			 const struct parser_reply *reply)
{
	return note(PARSE_ADD_DEBUG, &(struct parse_request){.module = module}, reply);
}

int64_t parser_ask(struct parser *p, enum parse_type type, const struct parse_request *request,
		   const struct parser_reply *reply)
{
	return note(type, request, reply);
}

int64_t parser_forget(struct parser *p, uint32_t module)
{
	return 0;
}

bool parser_rest(struct parser *p, uint64_t now_ns, uint64_t idle_ns)
{
	return false;
}

void parser_run(struct parser *p, uint64_t now_ns)
{
}

/* ---- a walk that only notes what it is given, after the descent ---- */

struct walker *walker_new(const struct descent_driver *names, const struct driver_host *host)
{
	return (struct walker *)&t;
}

void walker_free(struct walker *w)
{
}

void walker_take(struct walker *w, const struct record *rec)
{
	if (t.nr_walked < 64)
		t.walked[t.nr_walked++] = rec->type;
}

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

static void answer(const struct question *q, const struct parsed *a)
{
	assert_non_null(q);
	q->reply.take(q->reply.ctx, q->reply.tag, a);
}

/* ---- a collector ---- */

static void turn(void)
{
	const struct record *rec;
	int fd;

	assert_true(front_turn(t.front, NULL, 0, 0) >= 0);
	channel_flush(t.front->collector.channel);
	channel_fill(t.collector);
	while (channel_next(t.collector, &rec, &fd) == 1) {
		t.nr_disarms += rec->type == REQ_DISARM;
		if (rec->type == REQ_FILE)
			assert_int_equal(
			    channel_send(t.collector,
					 &(struct record){.type = REC_FILE,
							  .file = {.module = rec->req_file.module}},
					 open("/dev/null", O_RDONLY | O_CLOEXEC)),
			    0);
		if (rec->type != REQ_ARM)
			continue;
		t.nr_arms++;
		t.armed = rec->arm;
	}
	channel_flush(t.collector);
}

static void say(struct record rec)
{
	assert_int_equal(channel_send(t.collector, &rec, -1), 0);
	assert_int_equal(channel_flush(t.collector), 0);
	turn();
}

static int setup(void **state)
{
	const struct front_options fo = {.options = &options};
	struct parsed ready = {.type = PARSED_MODULE,
			       .module = {.reason = "", .build_id = "", .debuglink = ""}};
	int pair[2];

	memset(&t, 0, sizeof(t));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	t.front = front_new(&fo);
	assert_non_null(t.front);
	t.front->parser = (struct parser *)&t;
	t.front->collector.channel = channel_new(pair[0], 1 << 20);
	t.collector = channel_new(pair[1], 1 << 20);
	modules_want(t.front);
	say((struct record){
	    .type = REC_TARGET,
	    .target = {.pid = PID, .ns_pid = PID, .comm = "server", .exe = "/srv/server"}});
	say((struct record){.type = REC_MODULE,
			    .module = {.module = PROGRAM, .path = "/srv/server"}});
	say((struct record){.type = REC_MAPPING,
			    .mapping = {.pid = PID,
					.module = PROGRAM,
					.start = CODE_START,
					.end = CODE_START + 0x10000,
					.offset = CODE_OFFSET}});
	turn();
	answer(question(PARSE_ADD_MODULE), &ready);
	assert_true(modules_settled(t.front));
	return 0;
}

static int teardown(void **state)
{
	channel_free(t.collector);
	front_free(t.front);
	return 0;
}

/* ---- modules ---- */

static void send_file(void)
{
	struct record rec = {.type = REC_FILE, .file = {.module = PROGRAM}};

	assert_int_equal(channel_send(t.collector, &rec, open("/dev/null", O_RDONLY | O_CLOEXEC)),
			 0);
	assert_int_equal(channel_flush(t.collector), 0);
}

/* A command that ends at once: its files come after the last record. */
static void files_come_after_the_end(void **state)
{
	enum module_stage *stage = &t.front->files.modules[0].stage;

	*stage = MODULE_ASKED;
	say((struct record){.type = REC_BYE});
	front_parser_turn(t.front, 0);
	assert_false(modules_settled(t.front));
	send_file();
	front_parser_turn(t.front, 0);
	assert_int_equal(*stage, MODULE_ADDED);
	assert_false(t.front->collector.closed);
	*stage = MODULE_READY;
	front_parser_turn(t.front, 0);
	assert_true(t.front->collector.closed);
}

/* Once the collector has closed its socket, only the parser can still answer. */
static void an_ended_collector_sends_no_files(void **state)
{
	enum module_stage *stage = &t.front->files.modules[0].stage;

	*stage = MODULE_ASKED;
	say((struct record){.type = REC_BYE});
	assert_false(modules_settled(t.front));
	shutdown(channel_fd(t.collector), SHUT_RDWR);
	front_parser_turn(t.front, 0);
	assert_true(modules_settled(t.front));
	*stage = MODULE_ADDED;
	assert_false(modules_settled(t.front));
	*stage = MODULE_DEBUG_ASKED;
	assert_true(modules_settled(t.front));
}

/* ---- watches ---- */

static void watch(const char *name)
{
	struct op_spec spec = {.kind = OP_FUNCTION, .text = name};

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	front_watch(t.front, &spec);
	turn();
}

static void answer_find(uint64_t offset)
{
	struct question *q = question(PARSE_FIND);
	const struct parsed_function fn = {.module = PROGRAM,
					   .offset = offset,
					   .symbol = q->text,
					   .function = q->text,
					   .source_name = ""};

	answer(q, &(struct parsed){.type = PARSED_FUNCTIONS,
				   .functions = {.nr = 1, .total = 1, .functions = &fn}});
}

static struct parsed plan_of(const struct rec_site *site)
{
	return (struct parsed){.type = PARSED_PLAN,
			       .plan = {.module = PROGRAM,
					.offset = site->offset,
					.text = "entry and exits",
					.price = "",
					.nr_sites = 1,
					.sites = site}};
}

/* Watch a function of this name at this offset, until the collector says that it is armed. */
static uint32_t watch_armed(const char *name, uint64_t offset)
{
	const struct rec_site entry = {.module = PROGRAM, .offset = offset, .role = SITE_ENTRY};
	struct parsed plan = plan_of(&entry);

	watch(name);
	answer_find(offset);
	answer(question(PARSE_PLAN), &plan);
	turn();
	say((struct record){.type = REC_ACK, .ack = {.epoch = t.armed.epoch}});
	assert_int_equal(watch_by_op(t.front, t.armed.op.op)->stage, WATCH_ARMED);
	return t.armed.op.op;
}

static void learn(uint32_t op, uint64_t offset)
{
	say((struct record){
	    .type = REC_NEW_RETURN,
	    .new_return = {.op = op, .pid = PID, .address = CODE_START - CODE_OFFSET + offset}});
}

/* The answer to what was asked for one watch reaches it also when another one was removed
 * meanwhile, which moves it to another place in the list. */
static void a_removed_watch_loses_no_answer_of_another(void **state)
{
	const struct rec_site ret = {.module = PROGRAM, .offset = 0x3005, .role = SITE_RETURN};
	uint32_t first = watch_armed("first", 0x2000), second = watch_armed("second", 0x2100);
	struct parsed plan = plan_of(&ret);
	unsigned int arms = t.nr_arms;
	struct question *q;

	learn(second, 0x3005);
	q = question(PARSE_PLAN_RETURN);
	assert_non_null(q);
	assert_int_equal(q->offset, 0x3005);
	front_unwatch(t.front, first);
	turn();
	assert_int_equal(t.nr_disarms, 1);
	answer(q, &plan);
	turn();
	assert_int_equal(t.nr_arms, arms + 1);
	assert_int_equal(t.armed.op.op, second);
	assert_int_equal(watch_by_op(t.front, second)->nr_returns, 1);
}

static void answers_for_a_removed_watch_are_dropped(void **state)
{
	const struct rec_site ret = {.module = PROGRAM, .offset = 0x3005, .role = SITE_RETURN};
	uint32_t first = watch_armed("first", 0x2000), second = watch_armed("second", 0x2100);
	struct parsed plan = plan_of(&ret), none = {.type = PARSED_FUNCTIONS};
	unsigned int arms = t.nr_arms;

	learn(first, 0x3005);
	watch("third");
	front_unwatch(t.front, first);
	front_unwatch(t.front, second + 1);
	answer(question(PARSE_PLAN_RETURN), &plan);
	answer(question(PARSE_FIND), &none);
	turn();
	assert_int_equal(t.nr_arms, arms);
	assert_int_equal(watch_by_op(t.front, second)->nr_returns, 0);
	assert_null(question(PARSE_NEAREST));
}

static void without_memory_for_its_name_a_watch_is_refused(void **state)
{
	unsigned int arms = t.nr_arms;
	const char *line;

	watch("first");
	t.no_copies = true;
	/* the message itself is a copy, too: there is none, but the refusal stays */
	answer_find(0x2000);
	assert_int_equal(t.front->watches.list[0]->stage, WATCH_REFUSED);
	watch("second");
	t.no_copies = false;
	assert_int_equal(t.front->watches.nr, 1);
	turn();
	assert_int_equal(t.nr_arms, arms);
	assert_null(question(PARSE_PLAN));
	front_search(t.front, "a");
	line = front_next_message(t.front);
	assert_null(line);
}

/* ---- text in anonymous memory ---- */

/* The program text of a process, or its copy in anonymous memory. */
static void say_mapping(uint32_t pid, uint32_t copied, uint32_t gone)
{
	say((struct record){.type = REC_MAPPING,
			    .mapping = {.pid = pid,
					.module = PROGRAM,
					.start = CODE_START,
					.end = CODE_START + 0x10000,
					.offset = CODE_OFFSET,
					.gone = gone,
					.copied = copied}});
}

static void a_function_in_copied_text_is_refused(void **state)
{
	const char *line;

	say_mapping(PID, 1, 0);
	say_mapping(PID, 0, 1);
	watch("serve");
	answer_find(0x2000);
	turn();
	assert_null(question(PARSE_PLAN));
	assert_int_equal(t.front->watches.list[0]->stage, WATCH_REFUSED);
	line = front_next_message(t.front);
	assert_non_null(line);
	assert_string_equal(
	    line, "serve: the text of server was copied to anonymous memory at 0x400000; its "
		  "functions cannot be probed; system calls, libraries and samples work");
	/* behind the end of the copy */
	watch("other");
	answer_find(0x20000);
	assert_non_null(question(PARSE_PLAN));
}

static void a_function_in_text_that_one_process_copied_is_watched_in_others(void **state)
{
	say_mapping(PID + 1, 1, 0);
	watch_armed("serve", 0x2000);
	assert_true(t.front->watches.list[0]->said_copied);
	watch_armed("other", 0x20000);
	assert_false(t.front->watches.list[1]->said_copied);
}

static void text_that_is_copied_while_it_is_watched_is_said(void **state)
{
	watch_armed("serve", 0x2000);
	assert_false(t.front->watches.list[0]->said_copied);
	say_mapping(PID, 1, 0);
	say_mapping(PID, 0, 1);
	assert_int_equal(t.front->files.nr_mappings, 1);
	assert_true(t.front->files.mappings[0].copied);
	assert_int_equal(t.front->watches.list[0]->stage, WATCH_ARMED);
	assert_true(t.front->watches.list[0]->said_copied);
}

/* A caller that is in no file, or in a copy: calls end at the exits of the function. */
static void exits_are_kept_for_callers_that_cannot_be_probed(void **state)
{
	const struct rec_site exit = {.module = PROGRAM, .offset = 0x2005, .role = SITE_EXIT};
	struct parsed plan = plan_of(&exit);
	unsigned int arms;
	uint32_t op;

	watch("serve");
	answer_find(0x2000);
	answer(question(PARSE_PLAN), &plan);
	turn();
	say((struct record){.type = REC_ACK, .ack = {.epoch = t.armed.epoch}});
	op = t.armed.op.op;
	assert_false(t.armed.keep_exits);
	arms = t.nr_arms;
	learn(op, 0x20000);
	turn();
	assert_null(question(PARSE_PLAN_RETURN));
	assert_int_equal(t.nr_arms, arms + 1);
	assert_true(t.armed.keep_exits);
	learn(op, 0x20010);
	turn();
	assert_int_equal(t.nr_arms, arms + 1);
}

/* ---- the search for names ---- */

static void answer_nearest(const struct question *q, const char *name)
{
	const struct parsed_function fn = {
	    .module = PROGRAM, .symbol = name, .function = name, .source_name = ""};

	answer(q, &(struct parsed){.type = PARSED_FUNCTIONS,
				   .functions = {.nr = 1, .total = 1, .functions = &fn}});
}

static void candidates_are_given_once(void **state)
{
	const struct function_candidate *list;
	const char *searched;
	size_t nr;

	assert_false(front_take_candidates(t.front, &searched, &list, &nr));
	front_search(t.front, "serv");
	assert_false(front_take_candidates(t.front, &searched, &list, &nr));
	answer_nearest(question(PARSE_NEAREST), "serve");
	assert_true(front_take_candidates(t.front, &searched, &list, &nr));
	assert_string_equal(searched, "serv");
	assert_int_equal(nr, 1);
	assert_string_equal(list[0].text, "serve@server");
	assert_false(front_take_candidates(t.front, &searched, &list, &nr));
	/* the same text again is a new question */
	front_search(t.front, "serv");
	answer_nearest(question(PARSE_NEAREST), "serve");
	assert_true(front_take_candidates(t.front, &searched, &list, &nr));
	assert_false(front_take_candidates(t.front, &searched, &list, &nr));
}

static void an_answer_to_an_older_text_is_dropped(void **state)
{
	const struct function_candidate *list;
	struct question *older, *newer;
	const char *searched;
	size_t nr;

	front_search(t.front, "se");
	older = question(PARSE_NEAREST);
	front_search(t.front, "serv");
	newer = question(PARSE_NEAREST);
	assert_non_null(newer);
	answer_nearest(older, "send");
	assert_false(front_take_candidates(t.front, &searched, &list, &nr));
	answer_nearest(newer, "serve");
	assert_true(front_take_candidates(t.front, &searched, &list, &nr));
	assert_string_equal(searched, "serv");
	assert_string_equal(list[0].name, "serve");
}

static void without_memory_there_are_no_candidates(void **state)
{
	const struct function_candidate *list;
	const char *searched;
	size_t nr;

	front_search(t.front, "serv");
	t.no_copies = true;
	answer_nearest(question(PARSE_NEAREST), "serve");
	front_search(t.front, "serve");
	t.no_copies = false;
	assert_null(question(PARSE_NEAREST));
	assert_false(front_take_candidates(t.front, &searched, &list, &nr));
}

/* ---- records that wait for their turn ---- */

enum { READ = 5, CALLS = 400 };

/* A system call with a peak at 4 ms, as the stream shows it before anything is asked. */
static void feed_syscall(void)
{
	uint32_t bucket[] = {pt_bucket(10000), pt_bucket(4000000)};
	uint64_t count[] = {CALLS, CALLS};

	front_feed(t.front, &(struct record){.type = REC_OP,
					     .op = {.op = READ,
						    .layer = LAYER_SYSCALL,
						    .name = "syscall:read",
						    .label = "read",
						    .requested = "",
						    .module = "",
						    .placement = ""}});
	front_feed(t.front, &(struct record){.type = REC_PROFILE,
					     .profile = {.op = READ,
							 .end_ns = 1000000000,
							 .armed_ns = 1000000000,
							 .calls = 2 * CALLS,
							 .sum_ns = CALLS * 4010000ull,
							 .min_ns = 10000,
							 .max_ns = 4000000,
							 .nr_buckets = 2,
							 .bucket = bucket,
							 .count = count}});
}

/* What the descent makes while it takes a record comes after that record, for everyone. */
static void records_made_meanwhile_come_after(void **state)
{
	struct rec_descent ask;

	feed_syscall();
	descent_options_init(&ask);
	ask.op = READ;
	ask.function = (struct rec_code){REC_KERNEL_MODULE, REC_KERNEL_CALL};
	ask.low_ns = 3000000;
	ask.high_ns = 5000000;
	t.nr_walked = 0;
	assert_int_equal(driver_begin(front_driver(t.front), &ask), 0);
	assert_int_equal(t.nr_walked, 3);
	assert_int_equal(t.walked[0], REC_DESCENT);
	assert_int_equal(t.walked[1], REC_SYMBOL);
	assert_int_equal(t.walked[2], REC_CALLEES);
	/* the descent itself has taken them */
	assert_string_equal(
	    driver_symbol(front_driver(t.front), REC_KERNEL_MODULE, REC_KERNEL_CALL)->function,
	    "syscall:read");
}

static void queued_records_are_copies_in_order(void **state)
{
	char name[] = "first";
	struct record rec = {.type = REC_SYMBOL,
			     .symbol = {.module = 1, .function = name, .symbol = "", .file = ""}};
	const struct record *out;
	struct record_queue q;

	assert_int_equal(record_queue_init(&q), 0);
	assert_null(record_queue_pop(&q));
	assert_int_equal(record_queue_push(&q, &rec), 0);
	name[0] = 'F';
	rec.symbol.module = 2;
	assert_int_equal(record_queue_push(&q, &rec), 0);
	out = record_queue_pop(&q);
	assert_int_equal(out->symbol.module, 1);
	assert_string_equal(out->symbol.function, "first");
	/* one that is made while another one is taken goes to the end */
	rec.symbol.module = 3;
	assert_int_equal(record_queue_push(&q, &rec), 0);
	assert_string_equal(out->symbol.function, "first");
	out = record_queue_pop(&q);
	assert_int_equal(out->symbol.module, 2);
	assert_string_equal(out->symbol.function, "First");
	assert_int_equal(record_queue_pop(&q)->symbol.module, 3);
	assert_null(record_queue_pop(&q));
	record_queue_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(files_come_after_the_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_ended_collector_sends_no_files, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_removed_watch_loses_no_answer_of_another, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(answers_for_a_removed_watch_are_dropped, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(without_memory_for_its_name_a_watch_is_refused, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_function_in_copied_text_is_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		a_function_in_text_that_one_process_copied_is_watched_in_others, setup, teardown),
	    cmocka_unit_test_setup_teardown(text_that_is_copied_while_it_is_watched_is_said, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(exits_are_kept_for_callers_that_cannot_be_probed, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(candidates_are_given_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_answer_to_an_older_text_is_dropped, setup, teardown),
	    cmocka_unit_test_setup_teardown(without_memory_there_are_no_candidates, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(records_made_meanwhile_come_after, setup, teardown),
	    cmocka_unit_test(queued_records_are_copies_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
