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

/* What was appended to `b`, which is sanitised, or nothing; releases it. */
static json_t *taken(struct buf *b)
{
	json_t *words = json_if(b->len, json_stringn(b->data, b->len));

	if (b->err)
		json_fail();
	buf_release(b);
	return words;
}

static json_t *part_of(uint64_t ns, uint64_t whole_ns)
{
	return json_share(whole_ns ? (double)ns / (double)whole_ns : 0);
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
	return json_add(json, {"observed_ns", json_u64(stats.observed_ns)},
			{"share_of_time_observed", json_share(wait_share_observed(r, o, &stats))},
			{"windows", json_u64(stats.windows)},
			{"steal_ns", json_u64(stats.steal_ns)});
}

static json_t *user_frame(const struct wait_report *r, const struct rec_frame *f, bool innermost,
			  bool sampled)
{
	struct rec_code place = driver_frame_place(f, innermost);
	const struct driver_symbol *function = driver_symbol(r->names, f->module, f->function),
				   *line = driver_symbol(r->names, place.module, place.offset);
	/* samples of one function are one layer, whatever line they fell on */
	bool has_line = !sampled && line && line->file[0];
	struct buf b = {.max = MAX_WORDS};

	if (function && function->function[0])
		sanitise_puts(&b, function->function);
	else
		wait_frame_name(&b, r, f);
	return json_new({"function", taken(&b)},
			{"module", json_given(driver_module(r->names, f->module))},
			{"file", json_if(has_line, json_given(line->file))},
			{"line", json_if(has_line, json_known(line->line))});
}

static void put_kernel_frames(json_t *frames, const char *kernel)
{
	while (*kernel) {
		size_t n = strcspn(kernel, ";");
		struct buf b = {.max = MAX_WORDS};

		sanitise_append(&b, kernel, n);
		json_append(frames,
			    json_new({"function", taken(&b)}, {"module", json_string("kernel")}));
		kernel += n + (kernel[n] == ';');
	}
}

static json_t *layer_json(const struct wait_report *r, const struct waits_node *n)
{
	const struct waits_layer *l = &n->layer;
	uint32_t nr = l->user ? l->user->nr_frames : 0;
	json_t *frames = json_list(
	    i, nr,
	    user_frame(r, &l->user->frames[i], i + 1 == nr, l->user->number & TRACE_SAMPLED));
	struct buf b = {.max = MAX_WORDS};

	if (l->kernel)
		put_kernel_frames(frames, l->kernel->kernel);
	wait_layer_words(&b, n);
	return json_new({"pid", json_if(l->tid, json_u64(l->pid))}, {"tid", json_known(l->tid)},
			{"comm", json_if(l->tid, json_given(l->comm))},
			{"state", json_string(layer_state_text(l->state))}, {"detail", taken(&b)},
			{"frames", frames});
}

json_t *wait_chain_json(const struct wait_report *r, const struct waits_chains *chains,
			uint32_t node)
{
	const struct waits_node *n = &chains->nodes[node];
	json_t *accounting = json_array();
	uint32_t path[MAX_DEPTH], depth = 0;

	for (uint32_t at = node; depth < MAX_DEPTH; at = chains->nodes[at].parent) {
		path[depth++] = at;
		if (chains->nodes[at].parent == at)
			break;
	}
	for (enum wait_account a = 0; a < ACCOUNTS; a++) {
		if (n->account_ns[a] && n->account_ns[a] != n->self_ns)
			json_append(accounting,
				    json_new({"category", json_string(wait_account_text(a))},
					     {"ns", json_u64(n->account_ns[a])}));
	}
	return json_new(
	    {"ns", json_u64(n->self_ns)}, {"count", json_u64(n->count)},
	    {"category", json_string(wait_account_text(n->account))},
	    {"accounting", json_unless_empty(accounting)},
	    {"layers", json_list(i, depth, layer_json(r, &chains->nodes[path[depth - 1 - i]]))});
}

static void put_accounting(json_t *o, const struct waits_account *account)
{
	json_add(
	    o,
	    {"accounting",
	     json_list(a, ACCOUNTS,
		       json_new({"category", json_string(wait_account_text((enum wait_account)a))},
				{"ns", json_u64(account->ns[a])},
				{"share", part_of(account->ns[a], account->total_ns)}))},
	    {"accounted_wall", json_share(account->wall)},
	    {"accounted_rsp", json_share(account->rsp)}, {"unknown", json_share(account->unknown)},
	    /* the common object of this name has another one here */
	    {"losses", json_incref(json_object_get(o, "lost"))},
	    {"lost", json_share(account->lost)});
}

static void put_started(json_t *o, const struct wait_report *r)
{
	struct waits_started s[MAX_STARTED];
	uint32_t nr = r->waits ? waits_started(r->waits, s, MAX_STARTED) : 0;

	json_put(o, "started",
		 json_list(i, nr,
			   json_new({"pid", json_u64(s[i].pid)}, {"tid", json_u64(s[i].tid)},
				    {"comm", json_given(s[i].comm)}, {"ns", json_u64(s[i].ns)})));
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
	if (c.path.elapsed_ns)
		json_add(o, {"deficit_ns", json_u64(c.path.deficit_ns)},
			 {"path_elapsed_ns", json_u64(c.path.elapsed_ns)});
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
	json_put(json, "no_room_ns", json_known(chains.no_room_ns));
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

static json_t *label(const struct wait_report *r, uint32_t state)
{
	struct buf b = {.max = MAX_WORDS};

	wait_state_label(&b, r, state);
	return taken(&b);
}

static json_t *state_json(const struct wait_report *r, const struct waits_critical *c, uint32_t i)
{
	const struct critical_state *s = &c->path.states[i];
	struct waits_state words = waits_state(r->waits, i);
	struct buf b = {.max = MAX_WORDS};

	wait_state_words(&b, r, &words);
	return json_new({"machine", json_text(words.machine, JSON_MAX_TEXT)},
			{"tid", json_known(words.tid)}, {"state", taken(&b)},
			{"count", json_u64(s->count)}, {"ns", json_u64(s->ns)},
			{"critical_ns", json_u64(s->critical_ns)},
			{"criticality", part_of(s->critical_ns, c->path.length_ns)});
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
	json_t *slack = json_array();

	if (!index)
		json_fail();
	for (uint32_t i = 0; index && i < c->path.nr_states; i++) {
		if (c->path.states[i].count || c->path.states[i].ns)
			index[nr++] = i;
	}
	if (nr)
		qsort_r(index, nr, sizeof(*index), by_criticality, c->path.states);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t ns = c->path.states[index[i]].slack_ns;

		if (ns != UINT64_MAX)
			json_append(slack, json_new({"state", label(r, index[i])},
						    {"min_ns", json_u64(ns)}));
	}
	json_add(o, {"states", json_list(i, nr, state_json(r, c, index[i]))}, {"slack", slack});
	free(index);
}

static void put_machines(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	struct waits_machine *m = calloc(MAX_MACHINES, sizeof(*m));
	uint32_t nr = m && r->waits ? waits_machines(r->waits, c, m, MAX_MACHINES) : 0;

	if (!m)
		json_fail();
	json_put(o, "machines",
		 json_list(i, nr,
			   json_new({"machine", json_text(m[i].machine, JSON_MAX_TEXT)},
				    {"tid", json_known(m[i].tid)},
				    {"critical_ns", json_u64(m[i].critical_ns)})));
	free(m);
}

static void put_edges(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	const struct critical_edge_sum *e = c->path.edges;

	json_put(o, "edges",
		 json_list(i, c->path.nr_edges,
			   json_new({"from", label(r, e[i].from)}, {"to", label(r, e[i].to)},
				    {"count", json_u64(e[i].count)}, {"ns", json_u64(e[i].ns)},
				    {"critical_ns", json_u64(e[i].critical_ns)})));
}

static void put_next(json_t *o, const struct wait_report *r, const struct waits_critical *c)
{
	const struct waits_next *n = c->next;

	json_put(
	    o, "next",
	    json_list(
		i, c->nr_next,
		json_new({"without", label(r, n[i].state)}, {"length_ns", json_u64(n[i].length_ns)},
			 {"speedup", part_of(n[i].speedup_ns, n[i].length_ns + n[i].speedup_ns)},
			 {"speedup_ns", json_u64(n[i].speedup_ns)})));
}

static void put_queues(json_t *o, const struct wait_report *r)
{
	struct waits_pressure q[MAX_STARTED];
	uint64_t span;
	uint32_t nr = r->waits ? waits_pressure(r->waits, q, MAX_STARTED, &span) : 0;

	json_put(o, "queues",
		 json_list(i, nr,
			   json_new({"queue", json_given(q[i].queue)},
				    {"state", json_string(q[i].full ? "full" : "empty")},
				    {"waiter", json_given(q[i].waiter)},
				    {"waiter_tid", json_u64(q[i].waiter_tid)},
				    {"waits_for", json_given(q[i].other)},
				    {"waits_for_tid", json_u64(q[i].other_tid)},
				    {"ns", json_u64(q[i].ns)}, {"count", json_u64(q[i].count)})));
}

int output_critical_json(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	struct waits_critical c = {0};
	int err = r->waits ? waits_critical(r->waits, 0, 0, &c) : 0;
	json_t *json;

	if (err && err != -ENOENT)
		return err;
	json = json_add(head(r, "critical", o), {"length_ns", json_u64(c.path.length_ns)},
			{"deficit_ns", json_u64(c.path.deficit_ns)},
			{"path_elapsed_ns", json_u64(c.path.elapsed_ns)},
			{"end_tid", json_known(c.end_tid)},
			{"approximate", json_boolean(c.path.approximate)});
	put_states(json, r, &c);
	put_machines(json, r, &c);
	put_edges(json, r, &c);
	put_next(json, r, &c);
	put_queues(json, r);
	json_put(json, "warnings",
		 json_list(i, c.nr_warnings, json_text(c.warning[i], WAITS_WARNING)));
	waits_critical_release(&c);
	return json_write(json, JSON_LINE, f);
}
