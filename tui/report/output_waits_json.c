// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains and the critical path as JSON. */
#include "tui/report/output_waits.h"

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/waits/pressure.h"
#include "analysis/waits/traces.h"
#include "tui/report/json_put.h"
#include "tui/report/sanitise.h"

enum {
	MAX_WORDS = 64 << 10, /* bytes of sanitised text */
	MAX_DEPTH = 256,
	MAX_MACHINES = 4096,
	MAX_STARTED = 64,
};

/* Add what was appended to `b`, which is sanitised, and release it. */
static void put_buf(json_t *o, const char *key, struct buf *b)
{
	if (b->err)
		json_fail();
	else if (b->len)
		json_put(o, key, json_stringn(b->data, b->len));
	buf_release(b);
}

/* The fields of every document, and what was observed. */
static json_t *head(const struct wait_report *r, const char *kind, const struct output_options *o)
{
	json_t *json = output_json_head(r->model, kind, o), *notes = json_object_get(json, "notes");
	struct waits_stats stats = {0};
	SCOPED_BUF(b, MAX_WORDS);

	if (r->waits)
		waits_stats(r->waits, &stats);
	wait_calls_words(&b, r);
	if (b.len)
		json_append(notes, json_stringn(b.data, b.len));
	buf_reset(&b);
	for (unsigned int i = 0; wait_doubt(&b, r, &stats, i); i++) {
		json_append(notes, json_stringn(b.data, b.len));
		buf_reset(&b);
	}
	json_put_u64(json, "observed_ns", stats.observed_ns);
	json_put_share(json, "share_of_time_observed", wait_share_observed(r, o, &stats));
	json_put_u64(json, "windows", stats.windows);
	json_put_u64(json, "steal_ns", stats.steal_ns);
	return json;
}

static void put_user_frame(json_t *frames, const struct wait_report *r, const struct rec_frame *f,
			   bool innermost, bool sampled)
{
	struct rec_code place = driver_frame_place(f, innermost);
	const struct driver_symbol *function = driver_symbol(r->names, f->module, f->function),
				   *line = driver_symbol(r->names, place.module, place.offset);
	json_t *o = json_object();
	struct buf b = {.max = MAX_WORDS};

	if (function && function->function[0])
		sanitise_puts(&b, function->function);
	else
		wait_frame_name(&b, r, f);
	put_buf(o, "function", &b);
	json_put_text(o, "module", driver_module(r->names, f->module));
	/* samples of one function are one layer, whatever line they fell on */
	if (!sampled && line && line->file[0]) {
		json_put_text(o, "file", line->file);
		if (line->line)
			json_put_u64(o, "line", line->line);
	}
	json_append(frames, o);
}

static void put_kernel_frames(json_t *frames, const char *kernel)
{
	while (*kernel) {
		size_t n = strcspn(kernel, ";");
		json_t *o = json_object();
		struct buf b = {.max = MAX_WORDS};

		sanitise_append(&b, kernel, n);
		put_buf(o, "function", &b);
		json_put(o, "module", json_string("kernel"));
		json_append(frames, o);
		kernel += n + (kernel[n] == ';');
	}
}

static json_t *layer_json(const struct wait_report *r, const struct waits_node *n)
{
	const struct waits_layer *l = &n->layer;
	json_t *o = json_object(), *frames = json_array();
	struct buf b = {.max = MAX_WORDS};

	if (l->tid) {
		json_put_u64(o, "pid", l->pid);
		json_put_u64(o, "tid", l->tid);
		json_put_text(o, "comm", l->comm);
	}
	json_put(o, "state", json_string(layer_state_text(l->state)));
	wait_layer_words(&b, n);
	put_buf(o, "detail", &b);
	for (uint32_t i = 0; l->user && i < l->user->nr_frames; i++)
		put_user_frame(frames, r, &l->user->frames[i], i + 1 == l->user->nr_frames,
			       l->user->number & TRACE_SAMPLED);
	if (l->kernel)
		put_kernel_frames(frames, l->kernel->kernel);
	json_put(o, "frames", frames);
	return o;
}

json_t *wait_chain_json(const struct wait_report *r, const struct waits_chains *chains,
			uint32_t node)
{
	const struct waits_node *n = &chains->nodes[node];
	json_t *o = json_object(), *layers = json_array(), *accounting = json_array();
	uint32_t path[MAX_DEPTH], depth = 0;

	for (uint32_t at = node; depth < MAX_DEPTH; at = chains->nodes[at].parent) {
		path[depth++] = at;
		if (chains->nodes[at].parent == at)
			break;
	}
	json_put_u64(o, "ns", n->self_ns);
	json_put_u64(o, "count", n->count);
	json_put(o, "category", json_string(wait_account_text(n->account)));
	for (unsigned int a = 0; a < ACCOUNTS; a++) {
		json_t *part;

		if (!n->account_ns[a] || n->account_ns[a] == n->self_ns)
			continue;
		part = json_object();
		json_put(part, "category", json_string(wait_account_text((enum wait_account)a)));
		json_put_u64(part, "ns", n->account_ns[a]);
		json_append(accounting, part);
	}
	if (json_array_size(accounting))
		json_put(o, "accounting", accounting);
	else
		json_decref(accounting);
	while (depth--)
		json_append(layers, layer_json(r, &chains->nodes[path[depth]]));
	json_put(o, "layers", layers);
	return o;
}

static void put_accounting(json_t *o, const struct waits_account *account)
{
	json_t *list = json_array();

	for (unsigned int a = 0; a < ACCOUNTS; a++) {
		json_t *row = json_object();

		json_put(row, "category", json_string(wait_account_text((enum wait_account)a)));
		json_put_u64(row, "ns", account->ns[a]);
		json_put_share(
		    row, "share",
		    account->total_ns ? (double)account->ns[a] / (double)account->total_ns : 0);
		json_append(list, row);
	}
	json_put(o, "accounting", list);
	json_put_share(o, "accounted_wall", account->wall);
	json_put_share(o, "accounted_rsp", account->rsp);
	json_put_share(o, "unknown", account->unknown);
	/* the common object of this name has another one here */
	json_put(o, "losses", json_incref(json_object_get(o, "lost")));
	json_put_share(o, "lost", account->lost);
}

static void put_started(json_t *o, const struct wait_report *r)
{
	struct waits_started started[MAX_STARTED];
	uint32_t nr = r->waits ? waits_started(r->waits, started, MAX_STARTED) : 0;
	json_t *list = json_array();

	for (uint32_t i = 0; i < nr; i++) {
		json_t *one = json_object();

		json_put_u64(one, "pid", started[i].pid);
		json_put_u64(one, "tid", started[i].tid);
		json_put_text(one, "comm", started[i].comm);
		json_put_u64(one, "ns", started[i].ns);
		json_append(list, one);
	}
	json_put(o, "started", list);
}

static int by_self(const void *a, const void *b, void *nodes)
{
	const struct waits_node *n = nodes;
	uint64_t x = n[*(const uint32_t *)a].self_ns, y = n[*(const uint32_t *)b].self_ns;

	return (x < y) - (x > y);
}

/* Written chain by chain: there may be 64k of them, each with whole stacks. */
static int write_chains(const struct wait_report *r, const struct waits_chains *chains,
			const struct output_options *o, FILE *f)
{
	uint32_t *index = malloc((chains->nr + 1) * sizeof(*index)), nr = 0;
	const char *separator = o->json_lines ? "" : "\n ";
	int err = index ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < chains->nr; i++) {
		if (chains->nodes[i].self_ns)
			index[nr++] = i;
	}
	if (!err)
		qsort_r(index, nr, sizeof(*index), by_self, chains->nodes);
	for (uint32_t i = 0; !err && i < nr; i++) {
		json_t *chain = wait_chain_json(r, chains, index[i]);

		err = json_write_text(f, separator);
		separator = o->json_lines ? "," : ",\n ";
		if (!err)
			err = json_write(chain, JSON_NESTED, f);
		else
			json_decref(chain);
	}
	free(index);
	return err;
}

/* Nothing if the critical path was not computed. */
static int put_deficit(json_t *o, const struct wait_report *r)
{
	struct waits_critical c = {0};
	int err = r->waits ? waits_critical(r->waits, 0, 0, &c) : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	if (c.path.elapsed_ns) {
		json_put_u64(o, "deficit_ns", c.path.deficit_ns);
		json_put_u64(o, "path_elapsed_ns", c.path.elapsed_ns);
	}
	waits_critical_release(&c);
	return 0;
}

int output_chains_json(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	struct waits_chains chains = {0};
	struct waits_account account = {.wall = 0};
	int err = r->waits ? waits_chains(r->waits, &chains) : 0;
	json_t *json;

	if (err)
		return err;
	if (r->waits)
		waits_account(r->waits, &account);
	json = head(r, "chains", o);
	put_accounting(json, &account);
	put_started(json, r);
	if (chains.no_room_ns)
		json_put_u64(json, "no_room_ns", chains.no_room_ns);
	err = put_deficit(json, r);
	if (err)
		json_decref(json);
	else
		err = json_write(json, JSON_OPEN, f);
	if (!err)
		err = json_write_text(f, ",\"chains\":[");
	if (!err)
		err = write_chains(r, &chains, o, f);
	if (!err)
		err = json_write_text(f, "]}");
	waits_chains_release(&chains);
	return err ? err : json_write_end(f);
}

static void put_label(json_t *o, const char *key, const struct wait_report *r, uint32_t state)
{
	struct buf b = {.max = MAX_WORDS};

	wait_state_label(&b, r, state);
	put_buf(o, key, &b);
}

static json_t *state_json(const struct wait_report *r, const struct waits_critical *c, uint32_t i)
{
	const struct critical_state *s = &c->path.states[i];
	struct waits_state words = waits_state(r->waits, i);
	json_t *o = json_object();
	struct buf b = {.max = MAX_WORDS};

	json_put(o, "machine", json_text(words.machine, JSON_MAX_TEXT));
	if (words.tid)
		json_put_u64(o, "tid", words.tid);
	wait_state_words(&b, r, &words);
	put_buf(o, "state", &b);
	json_put_u64(o, "count", s->count);
	json_put_u64(o, "ns", s->ns);
	json_put_u64(o, "critical_ns", s->critical_ns);
	json_put_share(o, "criticality",
		       c->path.length_ns ? (double)s->critical_ns / (double)c->path.length_ns : 0);
	return o;
}

static int by_criticality(const void *a, const void *b, void *states)
{
	const struct critical_state *s = states, *x = &s[*(const uint32_t *)a],
				    *y = &s[*(const uint32_t *)b];

	return descending(x->critical_ns, y->critical_ns) ?: descending(x->ns, y->ns);
}

static void put_states(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	uint32_t *index = malloc((c->path.nr_states + 1) * sizeof(*index)), nr = 0;
	json_t *states = json_array(), *slack = json_array();

	if (!index)
		json_fail();
	for (uint32_t i = 0; index && i < c->path.nr_states; i++) {
		if (c->path.states[i].count || c->path.states[i].ns)
			index[nr++] = i;
	}
	if (nr)
		qsort_r(index, nr, sizeof(*index), by_criticality, c->path.states);
	for (uint32_t i = 0; i < nr; i++) {
		json_t *one;

		json_append(states, state_json(r, c, index[i]));
		if (c->path.states[index[i]].slack_ns == UINT64_MAX)
			continue;
		one = json_object();
		put_label(one, "state", r, index[i]);
		json_put_u64(one, "min_ns", c->path.states[index[i]].slack_ns);
		json_append(slack, one);
	}
	free(index);
	json_put(o, "states", states);
	json_put(o, "slack", slack);
}

static void put_machines(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	struct waits_machine *m = calloc(MAX_MACHINES, sizeof(*m));
	uint32_t nr = m && r->waits ? waits_machines(r->waits, c, m, MAX_MACHINES) : 0;
	json_t *list = json_array();

	if (!m)
		json_fail();
	for (uint32_t i = 0; i < nr; i++) {
		json_t *one = json_object();

		json_put(one, "machine", json_text(m[i].machine, JSON_MAX_TEXT));
		if (m[i].tid)
			json_put_u64(one, "tid", m[i].tid);
		json_put_u64(one, "critical_ns", m[i].critical_ns);
		json_append(list, one);
	}
	free(m);
	json_put(o, "machines", list);
}

static void put_edges(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->path.nr_edges; i++) {
		const struct critical_edge_sum *e = &c->path.edges[i];
		json_t *one = json_object();

		put_label(one, "from", r, e->from);
		put_label(one, "to", r, e->to);
		json_put_u64(one, "count", e->count);
		json_put_u64(one, "ns", e->ns);
		json_put_u64(one, "critical_ns", e->critical_ns);
		json_append(list, one);
	}
	json_put(o, "edges", list);
}

static void put_next(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->nr_next; i++) {
		const struct waits_next *n = &c->next[i];
		uint64_t whole = n->length_ns + n->speedup_ns;
		json_t *one = json_object();

		put_label(one, "without", r, n->state);
		json_put_u64(one, "length_ns", n->length_ns);
		json_put_share(one, "speedup", whole ? (double)n->speedup_ns / (double)whole : 0);
		json_put_u64(one, "speedup_ns", n->speedup_ns);
		json_append(list, one);
	}
	json_put(o, "next", list);
}

static void put_queues(json_t *o, const struct wait_report *r)
{
	struct waits_pressure queue[MAX_STARTED];
	uint64_t span;
	uint32_t nr = r->waits ? waits_pressure(r->waits, queue, MAX_STARTED, &span) : 0;
	json_t *list = json_array();

	for (uint32_t i = 0; i < nr; i++) {
		json_t *one = json_object();

		json_put_text(one, "queue", queue[i].queue);
		json_put(one, "state", json_string(queue[i].full ? "full" : "empty"));
		json_put_text(one, "waiter", queue[i].waiter);
		json_put_u64(one, "waiter_tid", queue[i].waiter_tid);
		json_put_text(one, "waits_for", queue[i].other);
		json_put_u64(one, "waits_for_tid", queue[i].other_tid);
		json_put_u64(one, "ns", queue[i].ns);
		json_put_u64(one, "count", queue[i].count);
		json_append(list, one);
	}
	json_put(o, "queues", list);
}

int output_critical_json(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	json_t *warnings = json_array(), *json;
	struct waits_critical c = {0};
	int err = r->waits ? waits_critical(r->waits, 0, 0, &c) : 0;

	if (err && err != -ENOENT) {
		json_decref(warnings);
		return err;
	}
	json = head(r, "critical", o);
	json_put_u64(json, "length_ns", c.path.length_ns);
	json_put_u64(json, "deficit_ns", c.path.deficit_ns);
	json_put_u64(json, "path_elapsed_ns", c.path.elapsed_ns);
	if (c.end_tid)
		json_put_u64(json, "end_tid", c.end_tid);
	json_put(json, "approximate", json_boolean(c.path.approximate));
	put_states(json, r, &c);
	put_machines(json, r, &c);
	put_edges(json, r, &c);
	put_next(json, r, &c);
	put_queues(json, r);
	for (uint32_t i = 0; i < c.nr_warnings; i++)
		json_append(warnings, json_text(c.warning[i], WAITS_WARNING));
	json_put(json, "warnings", warnings);
	waits_critical_release(&c);
	return json_write(json, JSON_LINE, f);
}
