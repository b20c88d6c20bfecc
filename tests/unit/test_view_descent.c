// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The view of a descent over made-up states: whole grids against tests/unit/golden
 * (UPDATE_GOLDEN=1 writes them anew), and what the keys do.
 */
#include <errno.h>
#include <locale.h>

#include "tests/unit/screen_harness.h"
#include "tui/views/views.h"

static const struct screen_descent_node nodes[] = {
    {.node = 0,
     .depth = 0,
     .name = "serve_request",
     .line = 40,
     .share = 1,
     .latency_ns = 12300000,
     .maxcount = 29,
     .votes = 29,
     .root_cause = true,
     .file = "/src/server.c",
     .evidence = "measured",
     .remark = ""},
    {.node = 3,
     .depth = 1,
     .name = "fetch",
     .line = 58,
     .share = 0.982,
     .latency_ns = 12100000,
     .maxcount = 26,
     .votes = 29,
     .root_cause = true,
     .file = "/src/server.c",
     .evidence = "measured",
     .remark = ""},
    {.node = 7,
     .depth = 2,
     .name = "usleep",
     .line = 88,
     .code_module = 1,
     .code_offset = 0x1234,
     .share = 0.975,
     .latency_ns = 12000000,
     .maxcount = 29,
     .votes = 29,
     .root_cause = true,
     .file = "/src/store.c",
     .evidence = "measured",
     .remark = ""},
    {.node = 9,
     .depth = 3,
     .name = "clock_nanosleep",
     .code_module = 2,
     .code_offset = 0x7a0,
     .share = 0.97,
     .latency_ns = 11900000,
     .root_cause = true,
     .file = "",
     .evidence = "witnessed",
     .remark = ""},
    {.node = 8,
     .depth = 2,
     .name = "read_index(std::vector<int> const&)",
     .line = 90,
     .share = 0.007,
     .latency_ns = 84000,
     .maxcount = 0,
     .votes = 29,
     .file = "/src/store.c",
     .evidence = "measured",
     .remark = "in a loop"},
    {.node = 4,
     .depth = 1,
     .name = "parse",
     .line = 61,
     .share = 0.012,
     .latency_ns = 150000,
     .maxcount = 3,
     .votes = 29,
     .file = "/src/a\ttab\033[31m.c",
     .evidence = "measured",
     .remark = ""},
    {.node = 5,
     .depth = 2,
     .name = "tokenise",
     .line = 12,
     .share = 0.01,
     .latency_ns = 120000,
     .maxcount = 3,
     .votes = 3,
     .file = "/src/parse.c",
     .evidence = "measured",
     .remark = ""},
    {.node = 6,
     .depth = 1,
     .name = "strlen",
     .line = 63,
     .share = 0.0001,
     .latency_ns = 800,
     .votes = 0,
     .file = "/src/server.c",
     .evidence = "witnessed",
     .remark = "too frequent to time"},
};
enum { NR_NODES = sizeof(nodes) / sizeof(nodes[0]) };

static const struct screen_descent_path paths[] = {
    {.share = 0.97,
     .latency_ns = 11900000,
     .cause = "timed sleep (nanosleep)",
     .evidence = "witnessed",
     .where = "",
     .node = 9},
    {.share = 0.012,
     .latency_ns = 150000,
     .cause = "in its own code",
     .evidence = "sampled",
     .where = "at parse.c:14",
     .node = 5},
};

static const struct screen_descent answer = {
    .sentence = "peak 3, 12 ms, 2% of calls and 41% of time: serve_request > fetch > usleep at "
		"store.c:88, timed sleep (nanosleep)",
    .status = "root cause found",
    .over = true,
    .rounds = 2,
    .calls_used = 58,
    .explained = 0.982,
    .nr_nodes = NR_NODES,
    .nr_paths = 2,
    .nodes = nodes,
    .paths = paths,
};

static const struct screen_descent_part parts[] = {
    {.share = 0.546,
     .calls = "7.6% of calls, 1.5-4.2 ms",
     .answer = "fetch > usleep, timed sleep (nanosleep)"},
    {.share = 0.352,
     .calls = "92.4% of calls, 202-741 us",
     .answer = "mix, in its own code, mostly in the loop at hash.c:40-44\033[31m"},
    {.share = 0.102, .calls = "0.01% of calls, 20.1 ms and more", .answer = "not looked into yet"},
};

/* The answer about the whole operation, of which the first part is shown. */
static struct screen_descent whole(void)
{
	struct screen_descent d = answer;

	d.operation = "serve_request, 1.5k calls/s, 98% of a thread";
	d.nr_parts = sizeof(parts) / sizeof(parts[0]);
	d.part = 1;
	d.parts = parts;
	return d;
}

/* The answer with what its first path waits for, below clock_nanosleep. */
static struct screen_descent with_waits(void)
{
	enum { WAITS = SCREEN_DESCENT_MAX_NODES - SCREEN_DESCENT_WAITS };
	static const struct screen_descent_node layers[] = {
	    {.node = WAITS,
	     .depth = 4,
	     .name = "waiting for data in a pipe in read: pipe:[1]",
	     .share = 0.97,
	     .latency_ns = 11900000,
	     .file = "",
	     .evidence = "traced",
	     .remark = "",
	     .wait = true},
	    {.node = WAITS + 5,
	     .depth = 5,
	     .name = "C 502 running",
	     .share = 0.6,
	     .latency_ns = 7100000,
	     .file = "",
	     .evidence = "traced",
	     .remark = "",
	     .wait = true},
	    {.node = WAITS + 9,
	     .depth = 6,
	     .name = "main > answer",
	     .file = "",
	     .evidence = "",
	     .remark = "",
	     .wait = true}};
	static struct screen_descent_node all[NR_NODES + 3];
	static struct screen_descent_path its_paths[2];
	struct screen_descent d = answer;

	memcpy(all, nodes, 4 * sizeof(nodes[0]));
	memcpy(all + 4, layers, sizeof(layers));
	memcpy(all + 7, nodes + 4, (NR_NODES - 4) * sizeof(nodes[0]));
	memcpy(its_paths, paths, sizeof(paths));
	its_paths[0].waits = "waiting for data in a pipe in read: pipe:[1] > C 502 running";
	d.nodes = all;
	d.nr_nodes = NR_NODES + 3;
	d.paths = its_paths;
	return d;
}

/* The same while it goes on: fetch and what it calls are armed. */
static struct screen_descent running(void)
{
	static struct screen_descent_node now[NR_NODES];
	struct screen_descent d = answer;

	memcpy(now, nodes, sizeof(now));
	for (int i = 0; i < NR_NODES; i++) {
		now[i].root_cause = false;
		now[i].armed = i == 1 || i == 2;
	}
	d.sentence = "peak 3, 12 ms, 2% of calls and 41% of time: finding the cause...";
	d.status = "in progress";
	d.over = false;
	d.nodes = now;
	d.nr_paths = 0;
	d.armed = 2;
	d.until_next = 11;
	d.rounds = 1;
	d.explained = 0;
	return d;
}

static struct harness *opened_with(const struct screen_descent *d,
				   const struct screen_options *options)
{
	struct harness *h = harness_new(40, options);

	harness_run(h, "key /\ntype read\nkey Enter Enter 3 Enter");
	assert_true(!strncmp(harness_log(h), "descend op 2 peak ", 18));
	screen_open_descent(h->screen, 2, 3);
	if (d)
		assert_int_equal(screen_set_descent(h->screen, d), 0);
	screen_tick(h->screen, 1);
	return h;
}

/* --- goldens -----------------------------------------------------------------------------------
 */

static const struct screen_options ascii = {
    .root = SCREEN_OPERATIONS, .layers = 0x39, .layers_available = 0x3b, .ascii = true};

static const struct golden {
	const char *name, *script;
	/* 0: nothing came yet, 1: running, 2: the answer, 3: with its waits, 4: of one part */
	int state;
	bool ascii;
} goldens[] = {
    {"descent-waiting", "dump-roles", 0, false},
    {"descent-running-80x24", "dump-roles", 1, false},
    {"descent-80x24", "dump-roles", 2, false},
    {"descent-120x40", "size 120 40\nkey E\ndump-roles", 2, false},
    {"descent-40x12", "size 40 12\ndump-roles", 2, false},
    {"descent-20x5", "size 20 5\ndump-roles", 2, false},
    {"descent-paths", "key Tab j\ndump-roles", 2, false},
    {"descent-collapsed", "key C\ndump-roles", 2, false},
    {"descent-ascii", "dump-roles", 2, true},
    {"descent-waits-80x24", "dump-roles", 3, false},
    {"descent-waits-200x50", "size 200 50\ndump-roles", 3, false},
    {"descent-parts-80x24", "dump-roles", 4, false},
    {"descent-parts-120x40", "size 120 40\ndump-roles", 4, false},
    {"descent-parts-20x5", "size 20 5\ndump-roles", 4, false},
    {"descent-text", "key E\nview", 2, false},
    {"help-descent", "key ?\nview", 2, false},
};
enum { NR_GOLDENS = sizeof(goldens) / sizeof(goldens[0]) };

static void compare(const char *name, const char *got)
{
	char path[256], *want = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(want);
	snprintf(path, sizeof(path), "tests/unit/golden/%s.txt", name);
	if (getenv("UPDATE_GOLDEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(got, f);
		fclose(f);
	} else {
		f = fopen(path, "r");
		if (f) {
			want[fread(want, 1, (1 << 20) - 1, f)] = '\0';
			fclose(f);
		}
		if (strcmp(want, got))
			fail_msg("golden %s differs; UPDATE_GOLDEN=1 writes it anew:\n%s", name,
				 got);
	}
	free(want);
}

static void test_golden(void **state)
{
	const struct golden *golden = *state;
	struct screen_descent d = golden->state == 1   ? running()
				  : golden->state == 3 ? with_waits()
				  : golden->state == 4 ? whole()
						       : answer;
	struct harness *h = opened_with(golden->state ? &d : NULL, golden->ascii ? &ascii : NULL);

	harness_run(h, golden->script);
	compare(golden->name, harness_out(h));
	harness_free(h);
}

/* --- keys ----------------------------------------------------------------------------------------
 */

static void test_closing_stops(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	harness_run(h, "key q\nexpect syscall:read");
	assert_string_equal(harness_log(h), "undescend op 2\n");
	harness_free(h);
	h = opened_with(&answer, NULL);
	harness_run(h, "key Esc\nexpect syscall:read");
	assert_string_equal(harness_log(h), "undescend op 2\n");
	harness_free(h);
}

static void test_again(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	harness_run(h, "key a");
	assert_string_equal(harness_log(h), "descend op 2 peak 3\n");
	/* the same view: closing it once leads back */
	screen_open_descent(h->screen, 2, 3);
	harness_run(h, "key q\nexpect syscall:read");
	harness_free(h);
}

/* Digits and clicks choose a part; its tree begins as that of a new descent. */
static void test_parts(void **state)
{
	struct screen_descent d = whole();
	struct harness *h = opened_with(&d, NULL);

	harness_run(h, "expect > 1  54.6%\nexpect   2  35.2%\nkey 2");
	assert_string_equal(harness_log(h), "part peak 2\n");
	harness_run(h, "click 10 4");
	assert_string_equal(harness_log(h), "part peak 3\n");
	harness_run(h, "key C\nexpect + fetch");
	d.part = 2;
	assert_int_equal(screen_set_descent(h->screen, &d), 0);
	screen_tick(h->screen, 2);
	harness_run(h, "expect > 2  35.2%\nreject > 1\nexpect - fetch");
	harness_free(h);
	/* a descent into a peak has none */
	h = opened_with(&answer, NULL);
	harness_run(h, "key 2\nexpect this descent is about one peak");
	assert_string_equal(harness_log(h), "");
	harness_free(h);
}

static void test_source(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	/* the end of the path is selected, and has no source: its code is asked for */
	harness_run(h, "key Enter");
	assert_string_equal(harness_log(h), "source at 2:7a0\n");
	harness_run(h, "key d");
	assert_string_equal(harness_log(h), "code at 2:7a0\n");
	harness_run(h, "key k Enter");
	assert_string_equal(harness_log(h), "source '/src/store.c' line 88 at 1:1234\n");
	harness_run(h, "key d");
	assert_string_equal(harness_log(h), "code at 1:1234\n");
	harness_run(h, "key g d\n"
		       "expect the place of this frame in the code is not known");
	assert_string_equal(harness_log(h), "");
	screen_show_source(h->screen, "/src/store.c:3", "one\n\ttwo\nthree \033[1m\nfour", 3);
	harness_run(
	    h, "expect /src/store.c:3\nexpect >     3  three \\x1b[1m\nexpect      2          two\n"
	       "expect 4  four\nkey q\nexpect clock_nanosleep");
	harness_free(h);
}

static void test_source_of_a_line_far_down(void **state)
{
	struct harness *h = opened_with(&answer, NULL);
	struct buf b;

	buf_init(&b, 1 << 20);
	for (int i = 1; i <= 9000; i++)
		buf_printf(&b, "line %d\n", i);
	screen_show_source(h->screen, "t", b.data, 8000);
	harness_run(h, "expect >  8000  line 8000\nexpect  t");
	harness_run(h, "key q");
	/* beyond the end: shown without a mark */
	screen_show_source(h->screen, "t", "one\n", 7);
	harness_run(h, "expect 1  one\nreject >");
	buf_release(&b);
	harness_free(h);
}

static void test_code(void **state)
{
	static const struct screen_insn insns[] = {
	    {.offset = 0x1200, .text = "pushq %rbx", .file = "/src/hash.c", .line = 40},
	    {.offset = 0x1201,
	     .text = "callq mix\033[1m",
	     .file = "",
	     .line = 41,
	     .loop = true,
	     .jumped_to = true,
	     .share = 0.382},
	    {.offset = 0x1206, .text = "jne +0x1", .file = "", .loop = true},
	    {.offset = 0x1208, .text = "retq", .file = "/src/other.c", .line = 41},
	};
	struct screen_code c = {
	    .title = "fold in libhash.so", .start = 0x1200, .site = 2, .nr = 4, .insns = insns};
	struct harness *h = opened_with(&answer, NULL);

	screen_show_code(h->screen, &c);
	harness_run(
	    h, "expect fold in libhash.so\nexpect hash.c:40\nexpect +0x0    pushq %rbx\n"
	       "expect 38.2%      +0x1 >│ callq mix\\x1b[1m\nexpect >            +0x6  │ jne +0x1\n"
	       "expect other.c:41\nexpect +0x8    retq\ndump-roles");
	harness_run(h, "size 20 5\ndump\nkey q\nsize 80 24\nexpect serve_request");
	/* nothing sampled: no column for it; nothing at all */
	c.insns = insns + 2;
	c.nr = 2;
	c.site = 0;
	c.start = 0x1207;
	screen_show_code(h->screen, &c);
	harness_run(h, "size 80 24\nexpect >      -0x1  │ jne +0x1\nkey q");
	c.nr = 0;
	screen_show_code(h->screen, &c);
	harness_run(h, "expect fold in libhash.so\nkey j k Enter q\nexpect clock_nanosleep");
	harness_free(h);
}

/* W opens the chains at the first line that names the selected function, once there is one. */
static void test_chains_of_the_path(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	harness_run(h, "key W\nexpect tracing for whom the target waits");
	screen_set_waits(h->screen, SCREEN_WAITS_CHAINS, "first\nredis 1: running\n");
	harness_run(h, "wait 1\nexpect  first\nreject >");
	screen_set_waits(h->screen, SCREEN_WAITS_CHAINS,
			 "first\nredis 1: running\nsleeping in clock_nanosleep\nclock_nanosleep\n");
	harness_run(h, "wait 1\nexpect >sleeping in clock_nanosleep\nexpect  clock_nanosleep");
	harness_run(h, "key q\nexpect usleep");
	harness_free(h);
}

/* From a layer of a chain `W` goes to the function that waits. */
static void test_chains_from_a_layer(void **state)
{
	struct screen_descent d = with_waits();
	struct harness *h = opened_with(&d, NULL);

	harness_run(h, "key G k k k k\nexpect C 502 running\nkey W");
	screen_set_waits(h->screen, SCREEN_WAITS_CHAINS, "first\nclock_nanosleep\nC 502\n");
	harness_run(h, "wait 1\nexpect >clock_nanosleep");
	harness_free(h);
}

static void test_what_is_not_known(void **state)
{
	struct screen_descent_node some[3] = {nodes[0], nodes[5], nodes[7]};
	struct screen_descent d = answer;
	struct harness *h;

	/* armed a moment ago: no figures; a call without a line: where it is in the code of its
	 * caller */
	some[1].evidence = "";
	some[1].share = some[1].latency_ns = 0;
	some[1].votes = 0;
	some[2].file = "";
	some[2].code_module = 1;
	some[2].code_start = 0x1000;
	some[2].code_offset = 0x1021;
	d.nodes = some;
	d.nr_nodes = 3;
	d.nr_paths = 0;
	h = opened_with(&d, NULL);
	harness_run(h,
		    "dump\nexpect parse\nreject   0 ns\nreject    0%\nexpect strlen\nexpect +0x21");
	harness_free(h);
}

static void test_expand_and_collapse(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	/* what is no cause is closed at first, its siblings are shown */
	harness_run(h, "reject tokenise\nexpect parse\nexpect strlen\nexpect read_index");
	harness_run(h, "key j j\nexpect + parse\nkey e\nexpect tokenise\nexpect - parse\nkey "
		       "c\nreject tokenise");
	harness_run(h, "key l\nexpect tokenise\nkey l h\nreject tokenise");
	harness_run(
	    h, "key E\nexpect tokenise\nkey C\nreject usleep    \nexpect + fetch\nexpect + parse");
	harness_run(h, "key g c\nreject fetch  \nexpect + serve_request");
	/* nothing is selected that cannot be seen */
	harness_run(h, "key Enter");
	assert_string_equal(harness_log(h), "source '/src/server.c' line 40\n");
	harness_free(h);
}

static void test_costliest(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	harness_run(h, "key C g > Enter");
	assert_string_equal(harness_log(h), "source '/src/server.c' line 58\n");
	harness_run(h, "key > Enter");
	assert_string_equal(harness_log(h), "source '/src/store.c' line 88 at 1:1234\n");
	harness_run(h, "key > >\n"
		       "expect none of its callees were measured");
	harness_free(h);
}

static void test_find_opens_what_hides(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	harness_run(h, "reject tokenise\nkey /\ntype token\nkey Enter\nexpect tokenise\nkey Enter");
	assert_string_equal(harness_log(h), "source '/src/parse.c' line 12\n");
	harness_free(h);
}

static void test_paths_lead_to_their_frame(void **state)
{
	struct harness *h = opened_with(&answer, NULL);

	harness_run(h, "key Tab j Enter\nexpect tokenise\nkey Enter");
	assert_string_equal(harness_log(h), "source '/src/parse.c' line 12\n");
	harness_free(h);
}

static void test_selection_follows_its_node(void **state)
{
	struct screen_descent_node other[NR_NODES];
	struct screen_descent d = running();
	struct harness *h = opened_with(&d, NULL);

	/* strlen, the last row; then it comes first */
	harness_run(h, "key G Enter");
	assert_string_equal(harness_log(h), "source '/src/server.c' line 63\n");
	other[0] = nodes[0];
	other[1] = nodes[7];
	memcpy(&other[2], &nodes[1], 6 * sizeof(nodes[0]));
	d = answer;
	d.nodes = other;
	assert_int_equal(screen_set_descent(h->screen, &d), 0);
	assert_true(screen_tick(h->screen, 2));
	harness_run(h, "key Enter");
	assert_string_equal(harness_log(h), "source '/src/server.c' line 63\n");
	/* gone altogether: something else that exists is selected */
	d.nr_nodes = 1;
	d.nr_paths = 0;
	assert_int_equal(screen_set_descent(h->screen, &d), 0);
	harness_run(h, "tick\nkey Enter");
	assert_string_equal(harness_log(h), "source '/src/server.c' line 40\n");
	harness_free(h);
}

static void test_paused_stays(void **state)
{
	struct screen_descent d = running();
	struct harness *h = opened_with(&d, NULL);

	harness_run(h, "key Space\nexpect in progress");
	assert_int_equal(screen_set_descent(h->screen, &answer), 0);
	harness_run(h, "tick\nexpect in progress\nreject root cause found\nkey Space\nexpect root "
		       "cause found");
	harness_free(h);
}

static void test_a_state_that_is_no_tree(void **state)
{
	struct screen_descent_node bad[3] = {nodes[0], nodes[1], nodes[3]};
	struct screen_descent d = answer;
	struct harness *h = opened_with(&answer, NULL);

	d.nodes = bad;
	d.nr_nodes = 3; /* depths 0 1 3 */
	assert_int_equal(screen_set_descent(h->screen, &d), -EINVAL);
	bad[2] = nodes[0]; /* a second root */
	assert_int_equal(screen_set_descent(h->screen, &d), -EINVAL);
	bad[2] = nodes[2];
	bad[2].node = SCREEN_DESCENT_MAX_NODES;
	assert_int_equal(screen_set_descent(h->screen, &d), -EINVAL);
	bad[2].node = SCREEN_DESCENT_MAX_NODES - 1;
	assert_int_equal(screen_set_descent(h->screen, &d), 0);
	harness_run(h, "tick\nkey E C e c > Enter");
	harness_free(h);
}

/* Every key at every size over a deep chain with long names: nothing may be written outside. */
static void test_sizes(void **state)
{
	static struct screen_descent_node deep[200];
	static const int sizes[][2] = {{1, 1},	{2, 2},	  {5, 3},   {10, 4},  {20, 6},
				       {33, 9}, {60, 15}, {80, 24}, {250, 70}};
	struct screen_descent d = answer;
	char name[600], script[128];
	struct harness *h;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (unsigned int i = 0; i < 200; i++) {
		deep[i] = nodes[i % NR_NODES];
		deep[i].node = i;
		deep[i].depth = i < 150 ? i : 150;
		deep[i].name = i & 1 ? name : "short";
		deep[i].maxcount = UINT64_MAX;
		deep[i].votes = i % 3 ? 1 : UINT64_MAX;
	}
	d.nodes = deep;
	d.nr_nodes = 200;
	d.sentence = name;
	h = opened_with(&d, NULL);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(script, sizeof(script),
			 "size %d %d\ndump-roles\nkey E G PgUp > e c h l Ctrl-D\ndump\nkey Tab j "
			 "Tab g C\nview",
			 sizes[i][0], sizes[i][1]);
		harness_run(h, script);
	}
	harness_free(h);
}

int main(void)
{
	const struct CMUnitTest keys[] = {
	    cmocka_unit_test(test_closing_stops),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_source),
	    cmocka_unit_test(test_code),
	    cmocka_unit_test(test_source_of_a_line_far_down),
	    cmocka_unit_test(test_chains_of_the_path),
	    cmocka_unit_test(test_chains_from_a_layer),
	    cmocka_unit_test(test_what_is_not_known),
	    cmocka_unit_test(test_expand_and_collapse),
	    cmocka_unit_test(test_costliest),
	    cmocka_unit_test(test_find_opens_what_hides),
	    cmocka_unit_test(test_paths_lead_to_their_frame),
	    cmocka_unit_test(test_selection_follows_its_node),
	    cmocka_unit_test(test_paused_stays),
	    cmocka_unit_test(test_a_state_that_is_no_tree),
	    cmocka_unit_test(test_sizes),
	};
	struct CMUnitTest tests[NR_GOLDENS];
	int failed;

	for (unsigned int i = 0; i < NR_GOLDENS; i++)
		tests[i] = (struct CMUnitTest){.name = goldens[i].name,
					       .test_func = test_golden,
					       .initial_state = (void *)(uintptr_t)&goldens[i]};
	setlocale(LC_ALL, "C.UTF-8");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return cmocka_run_group_tests(keys, NULL, NULL) + failed;
}
