// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules, functions and call sites of a session in a run with another build of its program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tui/engine/saved_places.h"

enum { PROGRAM = 1, LIBRARY, GONE, HERE_LIBRARY = 1, HERE_PROGRAM, HERE_KEPT };
enum { MAX_ASKED = 8 };

static struct asked {
	struct parser_reply reply;
	uint32_t module;
	char text[32];
} asked[MAX_ASKED];
static unsigned int nr_asked;
static bool deaf;

static bool note_question(void *ctx, enum parse_type type, struct parse_request *req,
			  const struct parser_reply *reply)
{
	assert_int_equal(type, PARSE_FIND);
	assert_true(nr_asked < MAX_ASKED);
	if (deaf)
		return false;
	asked[nr_asked] = (struct asked){*reply, req->module, ""};
	snprintf(asked[nr_asked++].text, sizeof(asked[0].text), "%s", req->text);
	return true;
}

static const struct driver_host host = {.ask = note_question};

static void answer(unsigned int i, const struct parsed_function *functions, uint32_t nr)
{
	struct parsed a = {0};

	a.functions.nr = nr;
	a.functions.total = nr;
	a.functions.functions = functions;
	asked[i].reply.take(asked[i].reply.ctx, asked[i].reply.tag, &a);
}

static void take_module(struct descent_driver *d, uint32_t number, const char *path,
			const char *build_id)
{
	driver_take(
	    d, &(struct record){.type = REC_MODULE,
				.module = {.module = number, .path = path, .size = 1000 + number}});
	driver_take(d, &(struct record){.type = REC_BUILD_ID,
					.build_id = {.module = number, .build_id = build_id}});
}

static void take_name(struct descent_driver *d, uint32_t module, uint64_t offset, const char *name)
{
	driver_take(d, &(struct record){.type = REC_SYMBOL,
					.symbol = {.module = module,
						   .offset = offset,
						   .symbol = name,
						   .function = name,
						   .file = ""}});
}

static void take_kernel(struct descent_driver *d, const char *release)
{
	driver_take(d,
		    &(struct record){
			.type = REC_META,
			.meta = {.version = "1", .host = "db1", .kernel = release, .boot_id = ""}});
}

static struct descent_driver *saved, *live;
static struct saved_places *places;

static int setup(void **state)
{
	nr_asked = 0;
	deaf = false;
	saved = driver_new(NULL);
	live = driver_new(NULL);
	take_kernel(saved, "6.12");
	take_kernel(live, "6.12");
	take_module(saved, PROGRAM, "/srv/server", "aa");
	take_module(saved, LIBRARY, "/lib/work.so", "bb");
	take_module(saved, GONE, "/lib/plugin.so", "cc");
	take_name(saved, PROGRAM, 0x100, "serve");
	take_name(saved, PROGRAM, 0x300, "twin");
	take_name(saved, PROGRAM, 0x500, "removed");
	take_name(saved, LIBRARY, 0x700, "work");
	take_module(live, HERE_LIBRARY, "/lib/other-place/work-1.so", "bb");
	take_module(live, HERE_PROGRAM, "/opt/server (deleted)", "dd");
	take_module(live, HERE_KEPT, "/lib/else.so", "ee");
	places = saved_places_new(saved);
	assert_non_null(places);
	saved_places_modules(places, live);
	return 0;
}

static int teardown(void **state)
{
	saved_places_free(places);
	driver_free(saved);
	driver_free(live);
	return 0;
}

static void expect_function(struct rec_code was, uint32_t module, uint64_t offset)
{
	assert_true(saved_places_function(places, &was));
	assert_int_equal(was.module, module);
	assert_int_equal(was.offset, offset);
}

static void expect_no_function(struct rec_code was)
{
	assert_false(saved_places_function(places, &was));
}

static void modules(void **state)
{
	assert_true(saved_places_is_rebuilt(places, PROGRAM));
	assert_false(saved_places_is_rebuilt(places, LIBRARY));
	expect_function((struct rec_code){LIBRARY, 0x10}, HERE_LIBRARY, 0x10);
	expect_no_function((struct rec_code){GONE, 0x10});
	expect_no_function((struct rec_code){77, 0x10}); /* no module */
	expect_function((struct rec_code){REC_KERNEL_MODULE, 0x10}, REC_KERNEL_MODULE, 0x10);
	assert_false(saved_places_is_rebuilt(places, REC_KERNEL_MODULE));
	/* another kernel has its functions elsewhere */
	take_kernel(live, "6.13");
	saved_places_modules(places, live);
	expect_no_function((struct rec_code){REC_KERNEL_MODULE, 0x10});
	assert_true(module_name_is_same("/a/server (deleted)", "server"));
	assert_false(module_name_is_same("/a/server", "/server/a"));
	assert_false(module_name_is_same("/a/server", "/a/serve"));
}

static void functions(void **state)
{
	const struct parsed_function serve = {
	    .module = HERE_PROGRAM, .offset = 0x1180, .symbol = "serve", .function = "serve"};
	const struct parsed_function twins[] = {
	    {.module = HERE_PROGRAM, .offset = 0x10, .symbol = "twin", .function = "twin"},
	    {.module = HERE_PROGRAM, .offset = 0x20, .symbol = "twin", .function = "twin"}};
	struct rec_code site = {PROGRAM, 0x140}, elsewhere = {LIBRARY, 0x140};
	unsigned int of;

	saved_places_want(places, (struct rec_code){PROGRAM, 0x100}, &host);
	saved_places_want(places, (struct rec_code){PROGRAM, 0x100}, &host); /* once is enough */
	saved_places_want(places, (struct rec_code){PROGRAM, 0x300}, &host);
	saved_places_want(places, (struct rec_code){PROGRAM, 0x500}, &host);
	saved_places_want(places, (struct rec_code){PROGRAM, 0x900}, &host); /* has no name */
	saved_places_want(places, (struct rec_code){LIBRARY, 0x700}, &host); /* the same build */
	saved_places_want(places, (struct rec_code){GONE, 0x700}, &host);
	assert_int_equal(nr_asked, 3);
	assert_string_equal(asked[0].text, "serve");
	assert_int_equal(asked[0].module, HERE_PROGRAM);
	assert_false(saved_places_ready(places));
	answer(2, NULL, 0);
	answer(0, &serve, 1);
	assert_false(saved_places_ready(places));
	answer(1, twins, 2);
	assert_true(saved_places_ready(places));
	/* of "twin" and "removed" */
	assert_int_equal(saved_places_found(places, (struct rec_code){PROGRAM, 0x100}, &of), 1);
	assert_int_equal(of, 2);
	assert_int_equal(saved_places_found(places, (struct rec_code){LIBRARY, 0x700}, &of), 0);
	assert_int_equal(of, 0);
	expect_function((struct rec_code){PROGRAM, 0x100}, HERE_PROGRAM, 0x1180);
	expect_function((struct rec_code){LIBRARY, 0x700}, HERE_LIBRARY, 0x700);
	expect_function((struct rec_code){0, 0}, 0, 0); /* whatever a pointer calls */
	expect_no_function((struct rec_code){PROGRAM, 0x300});
	expect_no_function((struct rec_code){PROGRAM, 0x500});
	expect_no_function((struct rec_code){PROGRAM, 0x900});
	expect_no_function((struct rec_code){PROGRAM, 0x104}); /* never asked for */
	expect_no_function((struct rec_code){GONE, 0x700});
	/* a call site keeps its distance from the begin of its function */
	assert_true(saved_places_site(places, (struct rec_code){PROGRAM, 0x100}, &site));
	assert_int_equal(site.module, HERE_PROGRAM);
	assert_int_equal(site.offset, 0x11c0);
	site = (struct rec_code){PROGRAM, 0x540};
	assert_false(saved_places_site(places, (struct rec_code){PROGRAM, 0x500}, &site));
	assert_true(saved_places_site(places, (struct rec_code){PROGRAM, 0x100}, &elsewhere));
	assert_int_equal(elsewhere.module, HERE_LIBRARY);
	assert_int_equal(elsewhere.offset, 0x140);
}

static void without_a_parser(void **state)
{
	deaf = true;
	saved_places_want(places, (struct rec_code){PROGRAM, 0x100}, &host);
	assert_true(saved_places_ready(places));
	expect_no_function((struct rec_code){PROGRAM, 0x100});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(modules, setup, teardown),
	    cmocka_unit_test_setup_teardown(functions, setup, teardown),
	    cmocka_unit_test_setup_teardown(without_a_parser, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
