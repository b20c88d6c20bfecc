// SPDX-License-Identifier: GPL-2.0-or-later
/* The streaming critical path against a longest path over the whole graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/waits/critical.h"

enum { MACHINES = 6, STATES = 9, EVENTS = 120, GRAPHS = 12000 };

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed += 0x9e3779b97f4a7c15u;
	uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

enum op { ENTER, BLOCK, EXTERNAL, EDGE };
struct event {
	uint64_t t;
	uint32_t op, a, b;
};

/* A vertex is a machine at an instant; an arc has a weight and the state that it is spent in. */
struct arc {
	uint32_t from, to, state;
	uint64_t ns;
};
struct graph {
	struct arc arc[8 * EVENTS];
	uint32_t nr_arcs, nr_vertices;
	uint32_t now[MACHINES]; /* vertex */
	uint64_t since[MACHINES];
	uint32_t state[MACHINES]; /* STATES: blocked */
};

static void arc_add(struct graph *g, uint32_t from, uint32_t to, uint32_t state, uint64_t ns)
{
	g->arc[g->nr_arcs++] = (struct arc){.from = from, .to = to, .state = state, .ns = ns};
}

/* The machine goes on to a new vertex at t. */
static void vertex_next(struct graph *g, uint32_t m, uint64_t t, uint32_t as)
{
	uint32_t state = as != STATES ? as : g->state[m];
	uint64_t ns = state != STATES ? t - g->since[m] : 0;

	arc_add(g, g->now[m], g->nr_vertices, state, ns);
	g->now[m] = g->nr_vertices++;
	if (state != STATES)
		g->since[m] = t;
}

static void graph_add(struct graph *g, const struct event *e)
{
	switch (e->op) {
	case ENTER:
	case BLOCK:
		vertex_next(g, e->a, e->t, STATES);
		g->since[e->a] = e->t;
		g->state[e->a] = e->op == ENTER ? e->b : STATES;
		return;
	case EXTERNAL:
		if (g->state[e->a] == STATES) {
			vertex_next(g, e->a, e->t, e->b);
			g->since[e->a] = e->t;
		}
		return;
	case EDGE:
		vertex_next(g, e->a, e->t, STATES);
		vertex_next(g, e->b, e->t, STATES);
		g->since[e->b] = e->t;
		arc_add(g, g->now[e->a], g->now[e->b], STATES, 0);
		return;
	}
}

/* Longest path to every vertex; arcs are in an order in which sources come first. */
static void graph_solve(const struct graph *g, uint32_t without, uint64_t *length)
{
	memset(length, 0, g->nr_vertices * sizeof(*length));
	for (uint32_t i = 0; i < g->nr_arcs; i++) {
		const struct arc *a = &g->arc[i];
		uint64_t ns = length[a->from] + (a->state == without ? 0 : a->ns);

		if (ns > length[a->to])
			length[a->to] = ns;
	}
}

static uint64_t graph_end(const struct graph *g, const uint64_t *length, uint32_t m, uint64_t t,
			  uint32_t without)
{
	return length[g->now[m]] +
	       (g->state[m] != STATES && g->state[m] != without ? t - g->since[m] : 0);
}

static void event_make(struct event *e, uint64_t *t)
{
	*t += random_below(4) ? random_below(1000) : 0;
	e->t = *t;
	e->op = random_below(4);
	e->a = random_below(MACHINES);
	e->b = random_below(STATES);
	if (e->op == EDGE) {
		e->b = random_below(MACHINES);
		e->op = e->a == e->b ? BLOCK : EDGE;
	}
}

static void event_feed(struct critical *c, const uint32_t *machine, const struct event *e)
{
	switch (e->op) {
	case ENTER:
		critical_enter(c, machine[e->a], e->t, e->b);
		return;
	case BLOCK:
		critical_block(c, machine[e->a], e->t);
		return;
	case EXTERNAL:
		critical_external(c, machine[e->a], e->t, e->b);
		return;
	case EDGE:
		critical_edge(c, machine[e->a], machine[e->b], e->t);
		return;
	}
}

static void check_path(struct critical *c, uint32_t machine, uint64_t t, uint64_t length,
		       const struct graph *g, bool exact)
{
	struct critical_path p;
	uint64_t sum = 0, into = 0;

	assert_int_equal(critical_result(c, machine, t, &p), 0);
	assert_true(p.length_ns == length);
	assert_true(p.elapsed_ns >= p.length_ns);
	assert_true(p.deficit_ns == p.elapsed_ns - p.length_ns);
	for (uint32_t i = 0; i < p.nr_states; i++) {
		assert_true(p.states[i].critical_ns <= p.states[i].ns);
		sum += p.states[i].critical_ns;
	}
	if (exact)
		assert_true(sum == length);
	for (uint32_t i = 0; i < p.nr_edges; i++) {
		assert_true(p.edges[i].critical_ns <= p.edges[i].ns);
		assert_true(p.edges[i].from != p.edges[i].to);
		into += p.edges[i].critical_ns;
	}
	assert_true(into <= length);
	assert_false(p.approximate);
	critical_path_release(&p);
}

/* One random graph: lengths, composition, and other weights agree for every machine. */
static void one_graph(uint32_t nr_events)
{
	static struct graph g;
	static uint64_t length[8 * EVENTS];
	struct critical *c = critical_new(&(struct critical_config){
	    .max_nodes = 4096, .max_states = 16, .max_log = 1024, .max_machines = 64});
	uint32_t machine[MACHINES], without;
	uint64_t t = 0;

	memset(&g, 0, sizeof(g));
	g.nr_vertices = MACHINES;
	for (uint32_t m = 0; m < MACHINES; m++) {
		machine[m] = critical_machine(c, 0, m + 1);
		assert_int_not_equal(machine[m], 0);
		g.now[m] = m;
		g.state[m] = STATES;
	}
	for (uint32_t i = 0; i < nr_events; i++) {
		struct event e;

		event_make(&e, &t);
		/* the elapsed time counts from the first event */
		if (!i)
			e.t = t = 0;
		graph_add(&g, &e);
		event_feed(c, machine, &e);
	}
	t += random_below(500);
	graph_solve(&g, STATES + 1, length);
	for (uint32_t m = 0; m < MACHINES; m++) {
		assert_true(critical_length(c, machine[m], t) ==
			    graph_end(&g, length, m, t, STATES + 1));
		check_path(c, machine[m], t, graph_end(&g, length, m, t, STATES + 1), &g, true);
		assert_true(critical_without(c, machine[m], t, UINT32_MAX) ==
			    graph_end(&g, length, m, t, STATES + 1));
	}
	without = random_below(STATES);
	graph_solve(&g, without, length);
	for (uint32_t m = 0; m < MACHINES; m++)
		assert_true(critical_without(c, machine[m], t, without) ==
			    graph_end(&g, length, m, t, without));
	critical_free(c);
}

static void test_random_graphs(void **state)
{
	seed = getenv("PEAKTOP_SEED") ? strtoull(getenv("PEAKTOP_SEED"), NULL, 0) : 1;
	for (unsigned int i = 0; i < GRAPHS; i++)
		one_graph(2 + random_below(EVENTS - 2));
}

/* Two that hand over to each other for ever: all is folded, memory stays as it is. */
static void test_memory_is_flat(void **state)
{
	struct critical *c = critical_new(&(struct critical_config){.max_nodes = 1 << 14});
	struct critical_memory early, late;
	uint32_t m[3];
	uint64_t t = 0;

	for (uint32_t i = 0; i < 3; i++)
		m[i] = critical_machine(c, 0, i + 1);
	critical_enter(c, m[0], t, 0);
	for (uint32_t i = 0; i < 4000000; i++) {
		uint32_t a = i % 2, b = 1 - a;

		t += 100;
		critical_edge(c, m[a], m[b], t);
		critical_enter(c, m[b], t, b);
		critical_block(c, m[a], t);
		if (i == 100000)
			critical_memory(c, &early);
	}
	critical_memory(c, &late);
	assert_true(late.bytes <= early.bytes);
	assert_true(late.most_nodes < 100);
	assert_true(critical_length(c, m[0], t) == t);
	critical_free(c);
}

/* One task that ended long ago, and many that sleep, keep the others from being folded: they keep
 * their lengths only, and the longest path is as long as ever. */
static void test_forgets_the_idle(void **state)
{
	enum { IDLE = 3000 };
	struct critical *c = critical_new(
	    &(struct critical_config){.max_nodes = 4096, .max_states = 16, .max_log = 64});
	struct critical_memory memory;
	struct critical_path p;
	uint32_t busy = critical_machine(c, 0, 1), idle[IDLE];
	uint64_t t = 0, sum = 0;

	critical_enter(c, busy, t, 0);
	for (uint32_t i = 0; i < IDLE; i++) {
		t += 1000;
		idle[i] = critical_machine(c, 0, i + 2);
		critical_enter(c, busy, t, i % 2);
		critical_edge(c, busy, idle[i], t);
		critical_enter(c, idle[i], t, 2);
		critical_block(c, idle[i], t + 1);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		t += 1000;
		critical_enter(c, busy, t, i % 2);
	}
	critical_memory(c, &memory);
	assert_true(memory.most_nodes <= 4096);
	assert_true(memory.forgotten > 0);
	assert_int_equal(critical_result(c, busy, t, &p), 0);
	assert_true(p.length_ns == t && !p.deficit_ns);
	for (uint32_t i = 0; i < p.nr_states; i++)
		sum += p.states[i].critical_ns;
	assert_true(sum == t);
	assert_false(p.approximate);
	critical_path_release(&p);
	/* one that was forgotten goes on with what it was known to have */
	critical_enter(c, idle[0], t, 3);
	assert_true(critical_length(c, idle[0], t + 5) >= 1000);
	critical_block(c, idle[0], t + 5);
	assert_int_equal(critical_result(c, idle[0], t + 5, &p), 0);
	assert_true(p.approximate);
	critical_path_release(&p);
	critical_free(c);
}

/* Producer and consumer: what makes the other wait has no slack, the other one's is the margin. */
static void test_slack_and_without(void **state)
{
	enum { SLOW = 1, FAST = 2, AFTER = 3 };
	struct critical *c = critical_new(NULL);
	uint32_t a = critical_machine(c, 0, 1), b = critical_machine(c, 0, 2),
		 end = critical_machine(c, 0, 3);
	struct critical_path p;

	critical_enter(c, a, 0, SLOW);
	critical_enter(c, b, 0, FAST);
	critical_edge(c, b, end, 300);
	critical_block(c, b, 300);
	critical_edge(c, a, end, 1000);
	critical_block(c, a, 1000);
	critical_enter(c, end, 1000, AFTER);
	assert_int_equal(critical_result(c, end, 1100, &p), 0);
	assert_true(p.length_ns == 1100 && p.deficit_ns == 0);
	assert_true(p.states[SLOW].critical_ns == 1000 && p.states[AFTER].critical_ns == 100);
	assert_true(p.states[FAST].critical_ns == 0 && p.states[FAST].ns == 300);
	assert_true(p.states[FAST].slack_ns == 700 && p.states[SLOW].slack_ns == UINT64_MAX);
	critical_path_release(&p);
	/* the slow one has a criticality of 91%, but without it the fast one is waited for */
	assert_true(critical_without(c, end, 1100, SLOW) == 400);
	assert_true(critical_without(c, end, 1100, FAST) == 1100);
	critical_free(c);
}

static void test_many_machines(void **state)
{
	struct critical *c = critical_new(&(struct critical_config){
	    .max_machines = 2048, .max_nodes = 8192, .max_states = 16, .max_log = 64});
	uint64_t t = 0;
	uint32_t before = critical_machine(c, 0, 1);

	critical_enter(c, before, t, 0);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t child = critical_machine(c, 0, i + 2);

		t += 10;
		assert_int_not_equal(child, 0);
		critical_edge(c, before, child, t);
		critical_enter(c, child, t, i % 3);
		if (i % 2)
			critical_drop(c, before);
		before = child;
	}
	assert_true(critical_length(c, before, t) == t);
	critical_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_slack_and_without), cmocka_unit_test(test_random_graphs),
	    cmocka_unit_test(test_memory_is_flat),    cmocka_unit_test(test_forgets_the_idle),
	    cmocka_unit_test(test_many_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
