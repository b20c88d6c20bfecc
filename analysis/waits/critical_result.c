// SPDX-License-Identifier: GPL-2.0-or-later
/* The path that ends at one machine, and how long it would be with a state taken out. */

#include "analysis/waits/critical_impl.h"

/* The states of the machine's list; what is folded stays only if the list goes on from there. */
static void add_list(const struct critical *c, const struct machine *m, struct critical_path *out)
{
	bool detached = m->node == NO_NODE;

	for (uint32_t i = m->node; i != NO_NODE && i != c->root; i = c->nodes[i].parent)
		detached |= (c->nodes[i].children & PATH_DETACHED) != 0;
	for (uint32_t i = 0; detached && i < c->nr_states; i++)
		out->states[i].critical_ns = 0;
	for (uint32_t i = 0; detached && i < c->nr_edges; i++)
		out->edges[i].critical_ns = 0;
	for (uint32_t i = m->node; i != NO_NODE && i != c->root; i = c->nodes[i].parent) {
		out->states[c->nodes[i].state].critical_ns += c->nodes[i].ns;
		if (c->nodes[i].edge != NO_EDGE)
			out->edges[c->nodes[i].edge].critical_ns += c->nodes[i].ns;
	}
}

int critical_result(struct critical *c, uint32_t machine, uint64_t t, struct critical_path *out)
{
	struct machine *m = &c->machines[machine];

	memset(out, 0, sizeof(*out));
	out->nr_states = c->nr_states;
	out->nr_edges = c->nr_edges;
	out->states = malloc(c->nr_states * sizeof(*out->states));
	out->edges = malloc((c->nr_edges + 1) * sizeof(*out->edges));
	if (!out->states || !out->edges) {
		critical_path_release(out);
		return -ENOMEM;
	}
	memcpy(out->states, c->states, c->nr_states * sizeof(*out->states));
	memcpy(out->edges, c->edges, c->nr_edges * sizeof(*out->edges));
	out->elapsed_ns = c->began && t > c->first_ns ? t - c->first_ns : 0;
	out->behind = c->behind;
	out->behind_ns = c->behind_ns;
	out->behind_machine = c->behind_machine;
	out->silent_state = c->silent_state;
	if (!machine || !m->used)
		return 0;
	out->length_ns = critical_length(c, machine, t);
	/* what it is still blocked for has not ended: no path could explain it yet */
	if (!m->counts && m->since < t)
		out->elapsed_ns = m->since > c->first_ns ? m->since - c->first_ns : 0;
	out->deficit_ns = out->elapsed_ns > out->length_ns ? out->elapsed_ns - out->length_ns : 0;
	add_list(c, m, out);
	if (m->counts && t > m->since) {
		out->states[m->state].critical_ns += t - m->since;
		out->states[m->state].ns += t - m->since;
	}
	out->approximate = c->approximate;
	return 0;
}

void critical_path_release(struct critical_path *p)
{
	free(p->states);
	free(p->edges);
	p->states = NULL;
	p->edges = NULL;
}

struct replayed {
	uint64_t length, since;
	uint32_t state;
	bool counts;
};

static void replay_advance(struct replayed *m, uint64_t t, uint32_t without)
{
	if (m->counts && t > m->since) {
		m->length += m->state == without ? 0 : t - m->since;
		m->since = t;
	}
}

static void replay(struct replayed *m, uint32_t nr, const struct log_entry *e, uint32_t without)
{
	struct replayed *a = &m[e->a];

	switch ((enum log_op)e->op) {
	case LOG_ENTER:
	case LOG_BLOCK:
		replay_advance(a, e->t, without);
		a->since = e->t;
		a->counts = e->op == LOG_ENTER;
		a->state = e->b;
		return;
	case LOG_EXTERNAL:
		a->length += e->b == without || e->t < a->since ? 0 : e->t - a->since;
		a->since = e->t;
		return;
	case LOG_EDGE:
		replay_advance(a, e->t, without);
		replay_advance(&m[e->b], e->t, without);
		m[e->b].since = e->t;
		if (a->length > m[e->b].length)
			m[e->b].length = a->length;
		return;
	case LOG_NEW:
		*a = (struct replayed){0};
		return;
	case LOG_RESTART:
		for (uint32_t i = 0; i < nr; i++)
			m[i] = (struct replayed){.since = e->t};
		return;
	}
}

uint64_t critical_without(const struct critical *c, uint32_t machine, uint64_t t, uint32_t state)
{
	uint64_t first = c->nr_log > c->config.max_log ? c->nr_log - c->config.max_log : 0, length;
	struct replayed *m = calloc(c->nr_machines, sizeof(*m));

	if (!m)
		return 0;
	for (uint32_t i = 0; first && i < c->nr_machines; i++)
		m[i].since = c->log[first % c->config.max_log].t;
	for (uint64_t n = first; n < c->nr_log; n++)
		replay(m, c->nr_machines, &c->log[n % c->config.max_log], state);
	replay_advance(&m[machine], t, state);
	length = m[machine].length;
	free(m);
	return length;
}

void critical_memory(const struct critical *c, struct critical_memory *out)
{
	*out = (struct critical_memory){.bytes = c->cap_nodes * sizeof(*c->nodes) +
						 c->cap_machines * sizeof(*c->machines) +
						 c->config.max_log * sizeof(*c->log),
					.nodes = c->used_nodes,
					.most_nodes = c->most_nodes,
					.forgotten = c->forgotten};
}
