// SPDX-License-Identifier: GPL-2.0-or-later
/* A descent of one session goes on in another, whose modules have other numbers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/latency/profile_record.h"
#include "tests/unit/profiles.h"
#include "tui/engine/front_state.h"
#include "tui/engine/saved_descent.h"

#define MS 1000000ull
enum { OLD_OP = 7, NEW_OP = 9, CALLS = 100, SAVED_CALLS = 30, FUNCTION = 0x100, CALLEE = 0x500 };

static struct options options;
static struct buf bytes;

/* ---- the session that was saved: the program is module 1, the library module 2 ---- */

struct session {
	struct descent_driver *driver;
	struct model *model;
};

static void take(struct session *s, const struct record *rec)
{
	model_feed(s->model, rec);
	driver_take(s->driver, rec);
}

static void profile(struct record *rec, uint32_t op, uint64_t calls, uint64_t latency_ns)
{
	static struct profile_buckets buckets;
	struct profile p;

	profile_init(&p);
	for (uint64_t i = 0; i < calls; i++)
		profile_add(&p, latency_ns);
	*rec = (struct record){.type = REC_PROFILE};
	profile_to_record(&p, op, &buckets, &rec->profile);
}

static struct rec_descent question(uint32_t op, uint32_t module)
{
	struct rec_descent ask;

	descent_options_init(&ask);
	ask.op = op;
	ask.function = (struct rec_code){module, FUNCTION};
	ask.low_ns = 8 * MS;
	ask.high_ns = 16 * MS;
	return ask;
}

/* The threads that were chosen in the session, of the process with pid 3. */
static const struct rec_chosen chosen[] = {{.id = 31}, {.id = 32}};
static uint32_t nr_chosen;

static void save(const char *build_id, const char *library_build_id)
{
	struct session s = {driver_new(NULL), model_new()};
	const struct record begin[] = {
	    {.type = REC_TARGET, .target = {.pid = 3, .comm = "server", .exe = "/srv/server"}},
	    {.type = REC_MODULE, .module = {.module = 1, .path = "/srv/server", .size = 1000}},
	    {.type = REC_MODULE, .module = {.module = 2, .path = "/lib/work.so", .size = 2000}},
	    {.type = REC_BUILD_ID, .build_id = {.module = 1, .build_id = build_id}},
	    {.type = REC_BUILD_ID, .build_id = {.module = 2, .build_id = library_build_id}},
	    {.type = REC_SYMBOL,
	     .symbol = {.module = 1,
			.offset = FUNCTION,
			.symbol = "serve",
			.function = "serve",
			.file = "",
			.parameters = ""}},
	    {.type = REC_SYMBOL,
	     .symbol = {.module = 2,
			.offset = CALLEE,
			.symbol = "work",
			.function = "work",
			.file = "",
			.parameters = ""}},
	    {.type = REC_DESCENT, .descent = question(OLD_OP, 1)},
	    {.type = REC_FNODE,
	     .fnode = {.op = OLD_OP,
		       .callee = {1, FUNCTION},
		       .maxcount = SAVED_CALLS,
		       .votes = SAVED_CALLS}},
	    {.type = REC_FNODE,
	     .fnode = {.op = OLD_OP,
		       .node = 1,
		       .site = {1, 0x140},
		       .callee = {2, CALLEE},
		       .maxcount = 25,
		       .armed = SAVED_CALLS,
		       .records = SAVED_CALLS,
		       .called = 28}},
	};
	struct record calls;

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		if (begin[i].type != REC_BUILD_ID || begin[i].build_id.build_id[0])
			take(&s, &begin[i]);
	}
	if (nr_chosen)
		take(&s, &(struct record){.type = REC_CHOICE,
					  .choice = {.threads = 14,
						     .chosen_threads = nr_chosen,
						     .nr_chosen = nr_chosen,
						     .chosen = chosen}});
	profile(&calls, OLD_OP, CALLS, 10 * MS);
	take(&s, &calls);
	buf_reset(&bytes);
	assert_int_equal(saved_descent_write(s.driver, s.model, "", &bytes), 0);
	driver_free(s.driver);
	model_free(s.model);
}

/* ---- this run: the library is module 1, the program module 2 ---- */

struct program {
	const char *exe, *build_id, *library_build_id;
	uint64_t size, library_size;
	uint32_t pid; /* the session is of 3 */
};

static const struct program same = {"/srv/server", "aabb", "ccdd", 1000, 2000, 4};

static struct front *run(const struct program *p)
{
	const struct front_options fo = {.options = &options};
	struct front *f = front_new(&fo);
	const struct record begin[] = {
	    {.type = REC_TARGET, .target = {.pid = p->pid, .comm = "server", .exe = p->exe}},
	    {.type = REC_MODULE,
	     .module = {.module = 1, .path = "/lib/work.so", .size = p->library_size}},
	    {.type = REC_MODULE, .module = {.module = 2, .path = p->exe, .size = p->size}},
	    {.type = REC_BUILD_ID, .build_id = {.module = 1, .build_id = p->library_build_id}},
	    {.type = REC_BUILD_ID, .build_id = {.module = 2, .build_id = p->build_id}},
	    {.type = REC_OP,
	     .op = {.op = NEW_OP,
		    .layer = LAYER_FUNCTION,
		    .name = "serve",
		    .label = "serve",
		    .requested = "",
		    .module_id = 2,
		    .offset = FUNCTION}},
	};

	assert_non_null(f);
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		if (begin[i].type != REC_BUILD_ID || begin[i].build_id.build_id[0])
			front_feed(f, &begin[i]);
	}
	return f;
}

static void calls(struct front *f, uint64_t latency_ns)
{
	struct record rec;

	profile(&rec, NEW_OP, CALLS, latency_ns);
	front_feed(f, &rec);
}

/* What the descent of this run has taken over. */
struct taken {
	unsigned int nr;
	struct rec_fnode fnode[4];
};

static int take_fnode(void *ctx, const struct record *rec)
{
	struct taken *t = ctx;

	assert_true(t->nr < 4);
	t->fnode[t->nr++] = rec->fnode;
	return 0;
}

static struct taken taken_by(struct front *f)
{
	struct taken t = {0};

	assert_int_equal(descent_save(driver_descent(front_driver(f)), take_fnode, &t), 0);
	return t;
}

static struct saved_descent *read_bytes(void)
{
	struct saved_descent *s = saved_descent_new(bytes.data, bytes.len);

	assert_non_null(s);
	return s;
}

static void goes_on(struct front *f, struct saved_descent *s)
{
	struct rec_descent ask = question(NEW_OP, 2);
	char why[512] = "";

	ask.resumes = DESCENT_RESUMES;
	front_resume(f, s);
	assert_true(saved_descent_allows(f));
	assert_int_equal(saved_descent_match(s, f, why, sizeof(why)), 0);
	assert_int_equal(saved_descent_begin(s, f, &ask), 0);
}

static void end(struct front *f, struct saved_descent *s)
{
	saved_descent_free(s);
	front_free(f);
}

/*
 * A stripped copy of the same build: the session's names of its functions hold in this run, those
 * of other modules are left to the parser. A program that has its names keeps them.
 */
static void test_names_of_a_stripped_copy(void **state)
{
	struct watch watch = {.module = 2, .offset = FUNCTION, .symbol = (char[]){""}};
	struct saved_descent *s;
	struct front *f;

	for (int stripped = 0; stripped < 2; stripped++) {
		save("aabb", "ccdd");
		s = read_bytes();
		f = run(&same);
		calls(f, 10 * MS);
		watch.symbol = stripped ? (char[]){""} : (char[]){"serve"};
		f->watches.list[0] = &watch;
		f->watches.nr = 1;
		goes_on(f, s);
		f->watches.nr = 0;
		assert_int_equal(!!driver_symbol(front_driver(f), 2, FUNCTION), stripped);
		assert_null(driver_symbol(front_driver(f), 1, CALLEE));
		end(f, s);
	}
}

static void test_goes_on_with_other_numbers(void **state)
{
	struct saved_descent *s;
	struct front *f = run(&same);
	struct descent_progress p;
	struct taken t;

	save("aabb", "ccdd");
	s = read_bytes();
	calls(f, 10 * MS); /* before the descent began */
	goes_on(f, s);
	t = taken_by(f);
	assert_int_equal(t.nr, 2);
	assert_int_equal(t.fnode[0].op, NEW_OP);
	assert_int_equal(t.fnode[0].callee.module, 2);
	assert_int_equal(t.fnode[0].maxcount, SAVED_CALLS);
	assert_int_equal(t.fnode[1].site.module, 2);
	assert_int_equal(t.fnode[1].site.offset, 0x140);
	assert_int_equal(t.fnode[1].callee.module, 1);
	assert_int_equal(t.fnode[1].callee.offset, CALLEE);
	assert_int_equal(t.fnode[1].maxcount, 25);
	descent_progress(driver_descent(front_driver(f)), &p);
	assert_int_equal(p.status, DESCENT_IN_PROGRESS);
	assert_int_equal(p.start_calls, CALLS); /* of this run, not of the session */
	assert_true(model_nr_notes(front_model(f)) == 1);
	assert_non_null(strstr(model_note(front_model(f), 0)->text, "2 of its functions"));
	end(f, s);
}

static void test_keeps_the_choice_of_threads(void **state)
{
	const struct program same_process = {"/srv/server", "aabb", "ccdd", 1000, 2000, 3};
	const struct program *programs[] = {&same_process, &same};

	nr_chosen = 2;
	save("aabb", "ccdd");
	nr_chosen = 0;
	for (int i = 0; i < 2; i++) {
		struct saved_descent *s = read_bytes();
		struct front *f = run(programs[i]);

		front_resume(f, s);
		assert_true(saved_descent_allows(f));
		assert_true(saved_descent_allows(f)); /* once is enough */
		assert_int_equal(model_nr_notes(front_model(f)), 1);
		assert_non_null(strstr(model_note(front_model(f), 0)->text, "(2 of 14); "));
		assert_non_null(strstr(model_note(front_model(f), 0)->text,
				       i ? "all its threads" : "so does this one"));
		assert_int_equal(f->nr_chosen, i ? 0 : 2);
		if (!i)
			assert_int_equal(f->chosen[1].id, 32);
		end(f, s);
	}
}

static void test_another_distribution(void **state)
{
	struct saved_descent *s;
	struct front *f = run(&same);
	struct descent_result r;

	save("aabb", "ccdd");
	s = read_bytes();
	calls(f, 40 * MS);
	goes_on(f, s);
	assert_true(driver_over(front_driver(f)));
	assert_int_equal(descent_result(driver_descent(front_driver(f)), &r), 0);
	assert_int_equal(r.status, DESCENT_CHANGED);
	assert_non_null(strstr(r.change, "since the session was saved"));
	assert_int_equal(r.rounds, 0); /* no callee was probed */
	descent_result_release(&r);
	end(f, s);
}

static void expect_refused(const struct program *p, const char *word)
{
	struct saved_descent *s = read_bytes();
	struct front *f = run(p);
	const char *line;

	front_resume(f, s);
	assert_false(saved_descent_allows(f));
	assert_false(saved_descent_allows(f));
	assert_true(front_nothing_to_do(f));
	assert_int_equal(front_failure(f, &line), EXIT_USAGE);
	assert_non_null(strstr(line, word));
	end(f, s);
}

static void test_other_programs_are_refused(void **state)
{
	struct program other = same;

	save("aabb", "ccdd");
	other.exe = "/srv/client";
	other.build_id = "eeff";
	expect_refused(&other, "/srv/client");
}

/* The function of the descent is looked for by its name, for which there is no parser here. */
static void expect_gone(const struct program *p)
{
	struct saved_descent *s = read_bytes();
	struct front *f = run(p);
	char why[512] = "";

	front_resume(f, s);
	assert_true(saved_descent_allows(f));
	assert_int_equal(saved_descent_match(s, f, why, sizeof(why)), -ENOEXEC);
	assert_non_null(strstr(why, "cannot be found by its name in this build of /srv/server"));
	end(f, s);
}

static void test_another_build(void **state)
{
	struct program other = same;

	save("aabb", "ccdd");
	other.build_id = "eeff";
	expect_gone(&other);
	other.exe = "/usr/bin/server (deleted)"; /* the file was replaced while it ran */
	expect_gone(&other);
	/* without a build id on one side, the size decides */
	other.build_id = "";
	other.size++;
	expect_gone(&other);
	save("", "");
	other.build_id = "aabb";
	expect_gone(&other);
}

static void test_without_build_ids(void **state)
{
	struct program stripped = same;
	struct saved_descent *s;
	struct front *f;

	stripped.build_id = stripped.library_build_id = "";
	save("aabb", "ccdd");
	s = read_bytes();
	f = run(&stripped);
	calls(f, 10 * MS);
	goes_on(f, s);
	assert_int_equal(taken_by(f).nr, 2);
	end(f, s);
}

/* The program is the same, and a library was replaced: what lies in it is found anew. */
static void test_another_library(void **state)
{
	struct program updated = same;
	struct saved_descent *s;
	struct front *f;

	updated.library_build_id = "0123";
	save("aabb", "ccdd");
	s = read_bytes();
	f = run(&updated);
	calls(f, 10 * MS);
	goes_on(f, s);
	assert_int_equal(taken_by(f).nr, 1);
	end(f, s);
}

/* The function at the place of f0 in this run must be the one of the session. */
static void test_another_function(void **state)
{
	struct rec_descent ask = question(NEW_OP, 2);
	struct saved_descent *s;
	struct front *f = run(&same);
	char why[512];

	save("aabb", "ccdd");
	s = read_bytes();
	assert_int_equal(saved_descent_match(s, f, why, sizeof(why)), 0);
	ask.function.offset++;
	assert_true(saved_descent_begin(s, f, &ask) < 0);
	assert_null(driver_asked(front_driver(f)));
	end(f, s);
}

static void test_damaged_bytes(void **state)
{
	save("aabb", "ccdd");
	for (size_t n = 0; n < bytes.len; n += 7) {
		struct saved_descent *s = saved_descent_new(bytes.data, n);

		if (s) /* cut off between two records, after the question */
			assert_non_null(saved_descent_asked(s));
		saved_descent_free(s);
	}
	bytes.data[bytes.len / 2] ^= 4;
	assert_null(saved_descent_new(bytes.data, bytes.len));
}

static int setup(void **state)
{
	buf_init(&bytes, SAVED_DESCENT_MAX_BYTES);
	return 0;
}

static int teardown(void **state)
{
	buf_release(&bytes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_goes_on_with_other_numbers),
	    cmocka_unit_test(test_names_of_a_stripped_copy),
	    cmocka_unit_test(test_keeps_the_choice_of_threads),
	    cmocka_unit_test(test_another_distribution),
	    cmocka_unit_test(test_other_programs_are_refused),
	    cmocka_unit_test(test_another_build),
	    cmocka_unit_test(test_without_build_ids),
	    cmocka_unit_test(test_another_library),
	    cmocka_unit_test(test_another_function),
	    cmocka_unit_test(test_damaged_bytes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
