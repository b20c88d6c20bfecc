// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The planner on whole programs: the share of functions that can be watched, and
 * every place against objdump's instruction boundaries and against the call frame
 * information (with a planner that was not given any).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/code/arch.h"
#include "analysis/code/coverage.h"
#include "analysis/code/source_module.h"
#include "tests/unit/placement_fixture.h"

static const char *const redis[] = {"/usr/bin/redis-server", "/usr/bin/redis-check-rdb", NULL};
static const char *const postgres[] = {"/usr/lib/postgresql/15/bin/postgres",
				       "/usr/lib/postgresql/16/bin/postgres",
				       "/usr/lib/postgresql/17/bin/postgres", NULL};
static const char *const python[] = {"/usr/bin/python3.11", "/usr/bin/python3.12",
				     "/usr/bin/python3.13", NULL};
static const char *const libc[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", NULL};
static const char *const libstdcxx[] = {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					"/lib64/libstdc++.so.6", NULL};

struct opened {
	const char *path;
	int fd;
	struct module *module;
	struct module_source *source;
	struct placer *placer;
};

/* The first of the files that is there; cmocka's skip() if none is. */
static struct opened open_first(const char *const *paths)
{
	struct opened o = {.fd = -1};

	for (; *paths && o.fd < 0; paths++) {
		o.path = *paths;
		o.fd = open(*paths, O_RDONLY | O_CLOEXEC);
	}
	if (o.fd < 0) {
		print_message("none of %s ... is installed\n", o.path);
		skip();
	}
	assert_int_equal(module_open(&o.module, o.fd), 0);
	o.source = module_source_new(o.module);
	assert_non_null(o.source);
	o.placer = placer_new(module_source(o.source), NULL);
	assert_non_null(o.placer);
	return o;
}

static void close_all(struct opened *o)
{
	placer_free(o->placer);
	module_source_free(o->source);
	module_free(o->module);
	close(o->fd);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Percent of the functions that must be watchable, and whose entry must be emulated. */
static void check_share(const char *const *paths, uint64_t functions, unsigned watchable,
			unsigned emulated)
{
	double begin = cpu_seconds(), took;
	struct opened o = open_first(paths);
	struct module_coverage c;
	struct buf text;

	assert_int_equal(coverage_module(o.placer, &c), 0);
	took = cpu_seconds() - begin;
	buf_init(&text, 1 << 16);
	assert_int_equal(coverage_text(&c, o.path, &text), 0);
	print_message("%s  in %.2f s of CPU\n", text.data, took);
	buf_release(&text);

	assert_true(c.functions > functions);
	assert_true(coverage_watchable(&c) * 100 >= c.functions * watchable);
	assert_true((c.pairs + c.entry_emulated) * 100 >= c.functions * emulated);
	/* nothing is counted twice or not at all */
	for (int i = 0; i < PLACE_WHY_MAX; i++)
		c.functions -= c.declined[i];
	assert_int_equal(c.functions, coverage_watchable(&c));
	assert_int_equal(c.calls, c.ends_emulated + c.ends_stepped + c.ends_none);
	assert_true(c.ends_straight <= c.ends_emulated);
	assert_true(c.only_direct_pairs <= c.only_direct && c.only_direct_pairs <= c.pairs);
	assert_true(c.ends_emulated * 100 >= c.calls * 80);
	close_all(&o);
}

static void test_share_redis(void **state)
{
	check_share(redis, 2000, 99, 88);
}

static void test_share_postgres(void **state)
{
	check_share(postgres, 8000, 99, 88);
}

static void test_share_python(void **state)
{
	check_share(python, 3000, 99, 90);
}

static void test_share_libc(void **state)
{
	check_share(libc, 2500, 99, 78);
}

static void test_share_libstdcxx(void **state)
{
	check_share(libstdcxx, 3000, 99, 78);
}

/* In steps it is the same. */
static void test_steps(void **state)
{
	struct opened o = open_first(libc);
	struct coverage_run *run;
	struct module_coverage whole;
	int more, steps = 0;

	assert_int_equal(coverage_module(o.placer, &whole), 0);
	run = coverage_begin(o.placer);
	assert_non_null(run);
	while ((more = coverage_step(run, 100)) > 0)
		steps++;
	assert_int_equal(more, 0);
	assert_true(steps > 10);
	assert_memory_equal(coverage_result(run), &whole, sizeof(whole));
	coverage_end(run);
	close_all(&o);
}

/* ---- against objdump ---- */

enum { MAX_VADDR = 1 << 28 };

static uint8_t *boundaries(const char *path)
{
	uint8_t *map = calloc(1, MAX_VADDR / 8);
	char command[256], *line = NULL;
	size_t size = 0, n = 0;
	FILE *pipe;

	assert_non_null(map);
	snprintf(command, sizeof(command), "objdump -d -w --no-show-raw-insn %s", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (getline(&line, &size, pipe) > 0) {
		char *colon;
		uint64_t vaddr;

		if (line[0] != ' ')
			continue;
		vaddr = strtoull(line, &colon, 16);
		if (*colon != ':' || vaddr >= MAX_VADDR || strstr(colon, "(bad)") ||
		    strstr(colon, ".byte"))
			continue;
		map[vaddr / 8] |= (uint8_t)(1 << vaddr % 8);
		n++;
	}
	free(line);
	assert_int_equal(pclose(pipe), 0);
	assert_true(n > 100000);
	return map;
}

static bool is_boundary(const uint8_t *map, uint64_t vaddr)
{
	return vaddr < MAX_VADDR && map[vaddr / 8] >> vaddr % 8 & 1;
}

struct tally {
	uint64_t places, off_boundary, entries, exits, returns, compared, wrong;
	uint64_t framed; /* where the CFI is in terms of a frame pointer: nothing to compare */
};

static void check_boundary(struct tally *t, const uint8_t *map, const struct place *place)
{
	t->places++;
	if (is_boundary(map, place->vaddr))
		return;
	t->off_boundary++;
	print_error("place %" PRIx64 " (%s) for %" PRIx64 " is on no boundary of objdump\n",
		    place->vaddr, place->text, place->ideal);
}

/* `expected` of the CFI in terms of the stack pointer, where it is. */
static void check_cfa(struct tally *t, struct module *m, const struct place *place, int64_t base)
{
	struct cfa cfa;

	if (module_cfa(m, place->vaddr, &cfa))
		return;
	if (cfa.reg != CFA_RSP) {
		t->framed++;
		return;
	}
	t->compared++;
	if (cfa.offset == base + place->cfa)
		return;
	t->wrong++;
	print_message("place %" PRIx64 " (%s) for %" PRIx64 ": cfa %" PRId64 ", CFI %" PRId64 "\n",
		      place->vaddr, place->text, place->ideal, place->cfa, cfa.offset - base);
}

static void check_calls(struct tally *t, struct opened *o, const uint8_t *map, uint64_t function)
{
	static struct call_site sites[20000];
	enum place_why why;
	int n =
	    function_call_sites(o->placer, function, sites, sizeof(sites) / sizeof(sites[0]), &why);

	assert_in_range(n, 0, sizeof(sites) / sizeof(sites[0]));
	for (int i = 0; i < n; i++) {
		struct place place;
		struct cfa cfa;

		assert_true(is_boundary(map, sites[i].vaddr));
		if (!sites[i].ret || place_return(o->placer, sites[i].ret, &place, &why))
			continue;
		t->returns++;
		check_boundary(t, map, &place);
		if (module_cfa(o->module, sites[i].ret, &cfa))
			continue;
		if (cfa.reg == CFA_RSP)
			check_cfa(t, o->module, &place, cfa.offset);
		else
			t->framed++;
	}
}

static void check_function(struct tally *t, struct opened *o, const uint8_t *map,
			   const struct module_function *f)
{
	struct place place, exits[64];
	enum place_why why;
	uint32_t flags;
	struct cfa cfa;
	int n;

	/* what is not entered by a call has another CFA at its start */
	if (!module_cfa(o->module, f->vaddr, &cfa) &&
	    (cfa.reg != CFA_RSP || cfa.offset != ARCH_ENTRY_CFA))
		return;
	if (!place_entry(o->placer, f->vaddr, &place, &why)) {
		t->entries++;
		check_boundary(t, map, &place);
		check_cfa(t, o->module, &place, 0);
	}
	n = place_exits(o->placer, f->vaddr, exits, 64, &flags, &why);
	for (int i = 0; i < n; i++) {
		t->exits++;
		check_boundary(t, map, &exits[i]);
		check_cfa(t, o->module, &exits[i], 0);
	}
	check_calls(t, o, map, f->vaddr);
}

/*
 * All places of all functions, from code bytes alone: the planner gets no CFI,
 * so that its own tracking of the stack pointer is what is compared.
 */
static void check_places(const char *const *paths, uint64_t allowed)
{
	struct opened o = open_first(paths);
	struct code_source blind = *module_source(o.source);
	uint8_t *map = boundaries(o.path);
	struct tally t = {0};

	blind.cfa = NULL;
	placer_free(o.placer);
	o.placer = placer_new(&blind, NULL);
	assert_non_null(o.placer);
	for (size_t i = 0; i < module_nr_functions(o.module); i++)
		check_function(&t, &o, map, module_function(o.module, i));
	print_message("%s: %" PRIu64 " entries, %" PRIu64 " exits, %" PRIu64 " returns: %" PRIu64
		      " compared with CFI, %" PRIu64 " with a frame pointer, %" PRIu64 " differ\n",
		      o.path, t.entries, t.exits, t.returns, t.compared, t.framed, t.wrong);
	assert_true(t.entries > 1000 && t.exits > 1000 && t.returns > 5000);
	assert_true(t.compared * 10 > (t.places - t.framed) * 7 && t.compared > 5000);
	assert_int_equal(t.off_boundary, 0);
	/* the real planner does not use those that differ */
	assert_true(t.wrong <= allowed);
	free(map);
	close_all(&o);
}

static void test_places_libc(void **state)
{
	check_places(libc, 4);
}

static void test_places_redis(void **state)
{
	check_places(redis, 4);
}

static void test_places_libstdcxx(void **state)
{
	check_places(libstdcxx, 4);
}

/* ---- against a linear decode of the whole module ---- */

/* The callers found by the byte scan are those that decoding everything finds. */
static void test_callers_complete(void **state)
{
	struct opened o = open_first(redis);
	const struct code_source *src = module_source(o.source);
	struct decoder *d = decoder_new();
	uint64_t calls = 0, found = 0;
	uint32_t flags;

	assert_non_null(d);
	for (size_t i = 0; i < src->nr_parts; i++) {
		uint64_t at = src->parts[i].start;
		const uint8_t *bytes;
		struct insn insn;
		size_t len;

		if (src->parts[i].flags & CODE_PART_PLT)
			continue;
		for (; at < src->parts[i].end; at += insn.length) {
			const struct code_part *to;

			assert_non_null(code_bytes_at(src, at, &bytes, &len));
			if (decode_insn(d, bytes, len, at, &insn))
				break;
			to = insn.flow == INSN_CALL ? code_part_at(src, insn.target) : NULL;
			calls += to && to->start == insn.target && !(to->flags & CODE_PART_PLT);
		}
	}
	for (size_t i = 0; i < src->nr_parts; i++) {
		struct caller callers[2];
		int n;

		if (src->parts[i].flags & CODE_PART_PLT)
			continue;
		n = callers_find(o.placer, src->parts[i].start, callers, 2, &flags);
		assert_true(n >= 0);
		found += (uint64_t)n;
	}
	print_message("%" PRIu64 " direct calls\n", calls);
	assert_true(calls > 5000);
	assert_int_equal(found, calls);
	decoder_free(d);
	close_all(&o);
}

/* Every plan holds together, and none of it takes long. */
static void test_plans(void **state)
{
	struct opened o = open_first(redis);
	uint64_t strategies[PLAN_STRATEGIES] = {0}, prices[PLAN_PRICES] = {0};

	for (size_t i = 0; i < module_nr_functions(o.module); i++) {
		const struct module_function *f = module_function(o.module, i);
		struct plan plan;

		if (!plan_function(o.placer, f->vaddr, &plan)) {
			strategies[plan.strategy]++;
			prices[plan.price]++;
			assert_true(plan.strategy == PLAN_EXITS || !plan.nr_exits);
			assert_true(plan.strategy != PLAN_CALLERS || plan.nr_returns);
			assert_true(plan.strategy != PLAN_DISCOVERED || plan.needs_learning);
			for (size_t k = 0; k < plan.nr_exits; k++)
				assert_int_not_equal(plan.exits[k].vaddr, plan.entry.vaddr);
		} else {
			assert_int_not_equal(plan.why, PLACE_OK);
		}
		assert_true(strlen(plan.text) > 5);
		plan_release(&plan);
	}
	for (int i = 0; i < PLAN_STRATEGIES; i++) {
		print_message("strategy %d: %" PRIu64 "\n", i, strategies[i]);
		assert_true(strategies[i] > 100);
	}
	for (int i = 0; i < PLAN_PRICES; i++)
		print_message("%s: %" PRIu64 "\n", plan_price_text((enum plan_price)i), prices[i]);
	assert_true(prices[PLAN_EMULATED] > prices[PLAN_ENTRY_STEPPED] + prices[PLAN_BOTH_STEPPED]);
	close_all(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_share_redis),
	    cmocka_unit_test(test_share_postgres),
	    cmocka_unit_test(test_share_python),
	    cmocka_unit_test(test_share_libc),
	    cmocka_unit_test(test_share_libstdcxx),
	    cmocka_unit_test(test_steps),
	    cmocka_unit_test(test_places_libc),
	    cmocka_unit_test(test_places_redis),
	    cmocka_unit_test(test_places_libstdcxx),
	    cmocka_unit_test(test_callers_complete),
	    cmocka_unit_test(test_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
