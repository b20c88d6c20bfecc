// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver of a descent with a collector and a parser made of records: what it asks,
 * what it arms.
 */
#include "analysis/descent/choose.h"
#include "tests/unit/descend_rig.h"

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
	begin_armed();
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
	begin_armed();
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
	begin_armed();
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

/* What another build finds by its name, though no answer of this run shows it. */
static void saved_functions_are_named(void **state)
{
	struct descent_question o = options();
	struct rec_descent ask;

	give_profile(100);
	assert_int_equal(choose_descent(t.model, F0, &o, 1.5, &ask), 0);
	ask.resumes = DESCENT_RESUMES;
	assert_int_equal(driver_begin(t.driver, &ask), 0);
	give((struct record){.type = REC_FNODE,
			     .fnode = {.op = F0, .callee = {PROGRAM, SERVE}, .maxcount = 20}});
	give((struct record){.type = REC_FNODE,
			     .fnode = {.op = F0,
				       .node = 1,
				       .site = {PROGRAM, 0x1010},
				       .callee = {PROGRAM, HELPER},
				       .armed = 20}});
	answer_names();
	assert_non_null(driver_symbol(t.driver, PROGRAM, HELPER));
	assert_string_equal(driver_symbol(t.driver, PROGRAM, HELPER)->symbol, "helper(int)");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(imports_come_from_exports),
	    TEST(an_ifunc_stays_unknown),
	    TEST(a_pointer_is_discovered),
	    TEST(several_callees_of_a_pointer_are_told_apart),
	    TEST(what_an_ifunc_chose_has_the_name_of_the_import),
	    TEST(what_no_probe_can_read_is_not_asked_for),
	    TEST(a_deaf_parser_ends_it),
	    TEST(a_refusal_ends_it),
	    TEST(a_refusal_after_the_ack_is_another),
	    TEST(answers_come_in_any_order),
	    TEST(stop_is_said_once),
	    TEST(saved_functions_are_named),
	    TEST(out_of_range),
	    TEST(steps_in_short_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
