// SPDX-License-Identifier: GPL-2.0-or-later
#include <jansson.h>
#include <math.h>

#include "analysis/base/buf.h"
#include "tui/report/json_put.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/output_walk.h"
#include "tui/report/sanitise.h"

enum { NAME_BYTES = 4096, TEXT_MAX = NAME_BYTES * SANITISE_MAX_GROWTH + 64, MAX_SIBLINGS = 8 };
#define TREE_LEAST 0.01 /* smaller fractions of the time are left out of the tree */

static double share_of(const struct walk_node *n)
{
	return n->share[WALK_WORK] + n->share[WALK_SLEEP] + n->share[WALK_IDLE];
}

static void put_line(json_t *o, const struct walk_report *r, struct rec_code c)
{
	report_put_line(o, c.module ? driver_symbol(r->names, c.module, c.offset) : NULL);
}

static void put_function(json_t *o, const struct walk_report *r, const struct walk_node *n)
{
	const struct driver_symbol *s = NULL;
	char name[NAME_BYTES];
	json_t *site;

	json_put(o, "function", json_text(walk_name(r, n, name, sizeof(name)), NAME_BYTES));
	if (n->kind == WALK_FUNCTION) {
		s = driver_symbol(r->names, n->function.module, n->function.offset);
		json_put_text(o, "module", driver_module(r->names, n->function.module));
	} else if (n->kind == WALK_SYSCALL || n->kind == WALK_KERNEL) {
		json_put_text(o, "module", "kernel");
	}
	if (s)
		json_put_text(o, "symbol", s->symbol);
	if (!n->site.module || !n->parent)
		return;
	site = json_object();
	put_line(site, r, n->site);
	json_put_text(site, "module", driver_module(r->names, n->site.module));
	json_put(o, "call_site", site);
}

static json_t *frame_json(const struct walk_report *r, const struct walk_node *n,
			  const struct walk_path *p)
{
	json_t *o = json_object();

	put_function(o, r, n);
	if (n->kind == WALK_FUNCTION) {
		put_line(o, r, n->function);
		json_put_address(o, n->function.offset);
	}
	json_put_share(o, "share", n->share[p->class]);
	json_put(o, "evidence", json_string(evidence_text(p->evidence)));
	if (n->recursive)
		json_put(o, "recursive", json_true());
	return o;
}

static json_t *cause_json(const struct walk_report *r, const struct walk_path *p)
{
	json_t *o = json_object();
	SCOPED_BUF(where, TEXT_MAX);

	json_put(o, "kind", json_string(walk_cause_text(p)));
	json_put_text(o, "name", p->cause.name);
	if (p->cause.wait)
		json_put_text(o, "wait", wait_kind_info(p->cause.wait)->text);
	if (p->cause.detail[0]) {
		json_put_text(o, "detail", p->cause.detail);
	} else if (p->nr_pcs) {
		if (report_place(&where, "", r->names, p->pcs[0].place))
			json_put_text(o, "detail", where.data);
	}
	return o;
}

static int by_share(const void *a, const void *b)
{
	double x = share_of(*(const struct walk_node *const *)a),
	       y = share_of(*(const struct walk_node *const *)b);

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The other callees of the function that calls the last frame. */
static json_t *siblings_json(const struct walk_report *r, const struct walk_result *result,
			     const struct walk_path *p)
{
	uint32_t last = p->frames[p->nr_frames - 1], parent = result->nodes[last].parent;
	const struct walk_node **list = calloc(result->nr_nodes, sizeof(*list));
	json_t *siblings = json_array();
	char name[NAME_BYTES];
	unsigned int nr = 0;

	if (!list)
		json_fail();
	for (uint32_t i = 1; list && parent && i < result->nr_nodes; i++) {
		if (result->nodes[i].parent == parent && i != last &&
		    result->nodes[i].share[p->class] > 0)
			list[nr++] = &result->nodes[i];
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_share);
	for (unsigned int i = 0; i < nr && i < MAX_SIBLINGS; i++) {
		json_t *o = json_object();

		json_put(o, "function",
			 json_text(walk_name(r, list[i], name, sizeof(name)), NAME_BYTES));
		json_put_share(o, "share", list[i]->share[p->class]);
		json_append(siblings, o);
	}
	free(list);
	return siblings;
}

static json_t *path_json(const struct walk_report *r, const struct walk_result *result,
			 const struct walk_path *p)
{
	json_t *o = json_object(), *frames = json_array();

	json_put_share(o, "share", p->share);
	json_put(o, "time", json_string(walk_class_text(p->class)));
	if (p->unsure || p->perhaps_faults)
		json_put(o, "unsure", json_true());
	json_put_share(o, "share_of_that_time", p->of_class);
	json_put(o, "cause", cause_json(r, p));
	json_put(o, "evidence", json_string(evidence_text(p->evidence)));
	for (unsigned int i = 0; i < p->nr_frames; i++)
		json_append(frames, frame_json(r, &result->nodes[p->frames[i]], p));
	json_put(o, "frames", frames);
	json_put(o, "siblings", siblings_json(r, result, p));
	return o;
}

/* The call tree as JSON. Parents come before their children in `result`. Leave out small subtrees
 * that are on no path. */
static json_t *ftree_json(const struct walk_report *r, const struct walk_result *result)
{
	json_t **children = calloc(result->nr_nodes + 1, sizeof(*children)), *root = NULL;

	if (!children)
		json_fail();
	for (unsigned int i = 0; children && i < result->nr_nodes; i++) {
		const struct walk_node *n = &result->nodes[i];
		json_t *o;

		if (i && (!children[n->parent] || (!n->followed && share_of(n) < TREE_LEAST)))
			continue;
		/* Skip start functions: show their callees as callees of the process. */
		if (n->start) {
			children[i] = children[n->parent];
			continue;
		}
		o = json_object();
		children[i] = json_array();
		put_function(o, r, n);
		json_put_share(o, "share", share_of(n));
		json_put(o, "root_cause", json_boolean(n->followed));
		json_put(o, "children", children[i]);
		if (i)
			json_append(children[n->parent], o);
		else
			root = o;
	}
	free(children);
	return root;
}

/* The threads by their roles: shares of their own wall time. */
static json_t *groups_json(const struct walk_report *r, const struct walk_result *result)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < result->nr_groups; i++) {
		const struct walk_group *g = &result->groups[i];
		json_t *o = json_object();

		if (g->root)
			put_function(o, r, &result->nodes[g->root]);
		json_put(o, "threads", json_integer(g->threads));
		json_put_share(o, "on_cpu", report_share(g->cpu_ns, g->wall_ns));
		json_put_share(o, "run_queue", report_share(g->runqueue_ns, g->wall_ns));
		json_put_share(o, "sleep", report_share(g->sleep_ns, g->wall_ns));
		json_append(list, o);
	}
	return list;
}

static json_t *walk_json(const struct walk_report *r, const struct walk_result *result)
{
	json_t *o = json_object();

	json_put(o, "looks", json_integer((json_int_t)result->snapshots));
	json_put(o, "threads", json_integer(result->threads));
	if (result->joined > 0)
		json_put_share(o, "joined", result->joined);
	if (result->left_out) {
		json_put(o, "threads_left_out", json_integer(result->left_out));
		json_put_share(o, "not_seen", result->not_seen);
	}
	json_put(o, "total_ns", json_integer((json_int_t)result->total_ns));
	json_put_share(o, "work", result->share[WALK_WORK]);
	json_put_share(o, "run_queue", result->runqueue);
	json_put_share(o, "sleep", result->share[WALK_SLEEP]);
	json_put_share(o, "idle", result->share[WALK_IDLE]);
	json_put(o, "busy_threads", json_real(round(result->busy * 1e6) / 1e6));
	if (result->nr_groups)
		json_put(o, "groups", groups_json(r, result));
	json_put(o, "lead", json_string(walk_class_text(result->lead)));
	return o;
}

/* The functions with the most time of their own, for a flat profile. */
static json_t *tops_json(const struct walk_report *r, const struct walk_result *result)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < result->nr_tops; i++) {
		json_t *o = json_object();

		put_function(o, r, &result->nodes[result->tops[i].node]);
		json_put_share(o, "share_of_work", result->tops[i].of_work);
		json_append(list, o);
	}
	return list;
}

static json_t *document(const struct walk_report *r, const struct output_options *opt,
			const struct walk_result *result)
{
	json_t *o = output_json_head(r->model, "descend", opt), *paths = json_array(),
	       *notes = json_object_get(o, "notes");
	const struct walk_node *root =
	    result->nr_paths ? &result->nodes[result->paths[0].frames[0]] : NULL;
	const struct walk_node process = {.kind = WALK_PROCESS};
	struct walk_remarks remarks;
	char name[NAME_BYTES];

	json_put(o, "function",
		 json_text(walk_name(r, root ? root : &process, name, sizeof(name)), NAME_BYTES));
	if (root && root->kind == WALK_FUNCTION)
		json_put_text(o, "module", driver_module(r->names, root->function.module));
	json_put(o, "status", json_string(walk_status(result)));
	json_put(o, "rounds", json_integer(0));
	json_put(o, "calls_used", json_integer(0));
	json_put(o, "walk", walk_json(r, result));
	json_put_share(o, "explained", result->explained);
	for (unsigned int i = 0; i < result->nr_paths; i++)
		json_append(paths, path_json(r, result, &result->paths[i]));
	json_put(o, "paths", paths);
	if (result->nr_tops)
		json_put(o, "functions", tops_json(r, result));
	if (result->nr_nodes)
		json_put(o, "ftree", ftree_json(r, result));
	walk_remarks_fill(&remarks, r, result);
	for (unsigned int i = 0; i < remarks.nr; i++)
		json_append(notes, json_text(remarks.line[i], NAME_BYTES));
	return o;
}

int output_walk_json(const struct walk_report *r, const struct output_options *opt, FILE *f)
{
	struct walk_result result;
	json_t *json;
	int err = walker_result(r->walker, &result);

	if (err)
		return err;
	json = document(r, opt, &result);
	err = json_write(json, JSON_LINE, f);
	walk_result_release(&result);
	return err;
}
