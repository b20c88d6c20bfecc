// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/critical.h"

#include "analysis/base/array.h"
#include "analysis/waits/critical_impl.h"

enum { FIRST_MACHINES = 1024 };
#define BEHIND_NS 1000000ull
#define SILENT_NS 2000000000ull

struct critical *critical_new(const struct critical_config *config)
{
	struct critical *c = calloc(1, sizeof(*c));
	uint32_t buckets = 1024;

	if (!c)
		return NULL;
	if (config)
		c->config = *config;
	if (!c->config.max_nodes)
		c->config.max_nodes = 1 << 17;
	if (!c->config.max_machines)
		c->config.max_machines = 1 << 16;
	if (!c->config.max_states)
		c->config.max_states = 1 << 12;
	if (!c->config.max_log)
		c->config.max_log = 1 << 18;
	c->nr_states = c->config.max_states;
	c->max_edges = 4 * c->config.max_states;
	while (buckets < 2 * c->max_edges)
		buckets *= 2;
	c->edge_mask = buckets - 1;
	c->silent_state = UINT32_MAX;
	c->nr_machines = 1;
	c->cap_machines = FIRST_MACHINES;
	c->machines = calloc(c->cap_machines, sizeof(*c->machines));
	c->states = calloc(c->nr_states, sizeof(*c->states));
	c->edges = calloc(c->max_edges, sizeof(*c->edges));
	c->edge_bucket = calloc(buckets + 8, sizeof(*c->edge_bucket));
	c->log = malloc(c->config.max_log * sizeof(*c->log));
	if (!c->machines || !c->states || !c->edges || !c->edge_bucket || !c->log ||
	    lists_init(c)) {
		critical_free(c);
		return NULL;
	}
	for (uint32_t i = 0; i < c->nr_states; i++)
		c->states[i].slack_ns = UINT64_MAX;
	return c;
}

void critical_free(struct critical *c)
{
	if (!c)
		return;
	free(c->machines);
	free(c->states);
	free(c->edges);
	free(c->edge_bucket);
	free(c->log);
	free(c->nodes);
	free(c);
}

static void log_add(struct critical *c, enum log_op op, uint32_t a, uint32_t b, uint64_t t)
{
	if (!c->began) {
		c->began = true;
		c->first_ns = t;
	}
	c->log[c->nr_log++ % c->config.max_log] =
	    (struct log_entry){.t = t, .a = a, .b = b, .op = op};
}

uint32_t critical_find(const struct critical *c, uint32_t machine, uint64_t owner)
{
	return machine && machine < c->nr_machines && c->machines[machine].used &&
		       c->machines[machine].owner == owner
		   ? machine
		   : 0;
}

static uint32_t machine_new(struct critical *c)
{
	uint32_t i = c->free_machine;

	if (i) {
		c->free_machine = c->machines[i].node;
		return i;
	}
	if (!array_grow(c->machines, c->nr_machines, c->cap_machines, c->config.max_machines))
		return c->nr_machines++;
	i = c->oldest;
	if (i) {
		critical_drop(c, i);
		c->free_machine = c->machines[i].node;
		c->forgotten++;
	}
	return i;
}

uint32_t critical_machine(struct critical *c, uint32_t machine, uint64_t owner)
{
	if (critical_find(c, machine, owner))
		return machine;
	machine = machine_new(c);
	if (!machine)
		return 0;
	c->machines[machine] = (struct machine){.owner = owner, .used = true};
	if (c->began)
		log_add(c, LOG_NEW, machine, 0, 0);
	return machine;
}

void critical_drop(struct critical *c, uint32_t machine)
{
	struct machine *m = &c->machines[machine];

	if (!machine || !m->used)
		return;
	list_release(c, m);
	*m = (struct machine){.node = c->free_machine};
	c->free_machine = machine;
}

static uint32_t state_in_range(const struct critical *c, uint32_t state)
{
	return state < c->nr_states ? state : 0;
}

static void stay(struct critical *c, struct machine *m, uint32_t state, uint64_t t)
{
	uint64_t ns = t - m->since;

	c->states[state].ns += ns;
	if (ns > SILENT_NS && m->edge_out_ns < m->since)
		c->silent_state = state;
	list_append(c, m, state, ns);
	m->since = t;
}

static void advance(struct critical *c, struct machine *m, uint64_t t)
{
	if (m->counts && t > m->since)
		stay(c, m, m->state, t);
}

void critical_enter(struct critical *c, uint32_t machine, uint64_t t, uint32_t state)
{
	struct machine *m = &c->machines[machine];

	if (!machine)
		return;
	state = state_in_range(c, state);
	log_add(c, LOG_ENTER, machine, state, t);
	advance(c, m, t);
	m->since = t;
	m->state = state;
	m->counts = true;
	c->states[state].count++;
	list_touch(c, m);
}

void critical_block(struct critical *c, uint32_t machine, uint64_t t)
{
	struct machine *m = &c->machines[machine];

	if (!machine)
		return;
	log_add(c, LOG_BLOCK, machine, 0, t);
	advance(c, m, t);
	m->since = t;
	m->counts = false;
	list_touch(c, m);
}

void critical_external(struct critical *c, uint32_t machine, uint64_t t, uint32_t state)
{
	struct machine *m = &c->machines[machine];

	if (!machine || m->counts)
		return;
	state = state_in_range(c, state);
	log_add(c, LOG_EXTERNAL, machine, state, t);
	c->states[state].count++;
	m->edge_out_ns = t;
	if (t > m->since)
		stay(c, m, state, t);
	list_touch(c, m);
}

static void note_slack(struct critical *c, const struct machine *loser, uint64_t margin)
{
	uint32_t state =
	    loser->node != NO_NODE ? c->nodes[loser->node].state : (uint32_t)UINT32_MAX;

	if (state < c->nr_states && margin < c->states[state].slack_ns)
		c->states[state].slack_ns = margin;
}

void critical_edge(struct critical *c, uint32_t from, uint32_t to, uint64_t t)
{
	struct machine *u = &c->machines[from], *v = &c->machines[to];

	if (!from || !to || from == to)
		return;
	log_add(c, LOG_EDGE, from, to, t);
	advance(c, u, t);
	advance(c, v, t);
	u->edge_out_ns = t;
	/* what it was blocked for by itself is over */
	if (!v->counts)
		v->since = t;
	if (u->length > v->length) {
		note_slack(c, v, u->length - v->length);
		list_share(c, v, u);
	} else {
		uint64_t behind = v->length - u->length;

		note_slack(c, u, behind);
		if (behind > BEHIND_NS && behind > v->length / 10) {
			c->behind++;
			if (behind > c->behind_ns) {
				c->behind_ns = behind;
				c->behind_machine = from;
			}
		}
	}
	list_touch(c, u);
	list_touch(c, v);
}

void critical_restart(struct critical *c, uint64_t t)
{
	log_add(c, LOG_RESTART, 0, 0, t);
	c->first_ns = t;
	for (uint32_t i = 0; i < c->nr_states; i++)
		c->states[i].critical_ns = 0;
	for (uint32_t i = 0; i < c->nr_edges; i++)
		c->edges[i].critical_ns = 0;
	for (uint32_t i = 1; i < c->nr_machines; i++) {
		struct machine *m = &c->machines[i];

		if (!m->used)
			continue;
		list_release(c, m);
		m->length = 0;
		m->counts = false;
		m->since = t;
	}
}

uint64_t critical_length(const struct critical *c, uint32_t machine, uint64_t t)
{
	const struct machine *m = &c->machines[machine];

	if (!machine || !m->used)
		return 0;
	return m->length + (m->counts && t > m->since ? t - m->since : 0);
}
