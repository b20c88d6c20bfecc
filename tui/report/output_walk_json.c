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

static json_t *put_line(json_t *o, const struct walk_report *r, struct rec_code c)
{
	return report_put_line(o, c.module ? driver_symbol(r->names, c.module, c.offset) : NULL);
}

static json_t *function_json(const struct walk_report *r, const struct walk_node *n)
{
	struct rec_code f = n->function;
	const struct driver_symbol *s =
	    n->kind == WALK_FUNCTION ? driver_symbol(r->names, f.module, f.offset) : NULL;
	const char *module = n->kind == WALK_FUNCTION ? driver_module(r->names, f.module)
			     : n->kind == WALK_SYSCALL || n->kind == WALK_KERNEL ? "kernel"
										 : NULL;
	bool has_site = n->site.module && n->parent;
	char name[NAME_BYTES];

	return json_new(
	    {"function", json_text(walk_name(r, n, name, sizeof(name)), NAME_BYTES)},
	    {"module", json_given(module)}, {"symbol", json_if(s, json_given(s->symbol))},
	    {"call_site",
	     json_if(has_site,
		     json_add(put_line(json_object(), r, n->site),
			      {"module", json_given(driver_module(r->names, n->site.module))}))});
}

static json_t *frame_json(const struct walk_report *r, const struct walk_node *n,
			  const struct walk_path *p)
{
	json_t *o = function_json(r, n);

	if (n->kind == WALK_FUNCTION)
		json_put(put_line(o, r, n->function), "address", json_address(n->function.offset));
	return json_add(o, {"share", json_share(n->share[p->class])},
			{"evidence", json_string(evidence_text(p->evidence))},
			{"recursive", json_flag(n->recursive)});
}

static json_t *cause_json(const struct walk_report *r, const struct walk_path *p)
{
	const struct cause *c = &p->cause;
	SCOPED_BUF(where, TEXT_MAX);

	if (!c->detail[0] && p->nr_pcs)
		report_place(&where, "", r->names, p->pcs[0].place);
	return json_new({"kind", json_string(walk_cause_text(p))}, {"name", json_given(c->name)},
			{"wait", json_if(c->wait, json_given(wait_kind_info(c->wait)->text))},
			{"detail", json_given(c->detail[0] ? c->detail : where.data)});
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
	char name[NAME_BYTES];
	unsigned int nr = 0;
	json_t *siblings;

	if (!list)
		json_fail();
	for (uint32_t i = 1; list && parent && i < result->nr_nodes; i++) {
		if (result->nodes[i].parent == parent && i != last &&
		    result->nodes[i].share[p->class] > 0)
			list[nr++] = &result->nodes[i];
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_share);
	siblings = json_list(
	    i, nr < MAX_SIBLINGS ? nr : MAX_SIBLINGS,
	    json_new({"function", json_text(walk_name(r, list[i], name, sizeof(name)), NAME_BYTES)},
		     {"share", json_share(list[i]->share[p->class])}));
	free(list);
	return siblings;
}

static json_t *path_json(const struct walk_report *r, const struct walk_result *result,
			 const struct walk_path *p)
{
	return json_new(
	    {"share", json_share(p->share)}, {"time", json_string(walk_class_text(p->class))},
	    {"unsure", json_flag(p->unsure || p->perhaps_faults)},
	    {"share_of_that_time", json_share(p->of_class)}, {"cause", cause_json(r, p)},
	    {"evidence", json_string(evidence_text(p->evidence))},
	    {"frames", json_list(i, p->nr_frames, frame_json(r, &result->nodes[p->frames[i]], p))},
	    {"siblings", siblings_json(r, result, p)});
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
		children[i] = json_array();
		o = json_add(function_json(r, n), {"share", json_share(share_of(n))},
			     {"root_cause", json_boolean(n->followed)}, {"children", children[i]});
		if (i)
			json_append(children[n->parent], o);
		else
			root = o;
	}
	free(children);
	return root;
}

/* Threads with one role: shares of their own wall time. */
static json_t *group_json(const struct walk_report *r, const struct walk_node *root,
			  const struct walk_group *g)
{
	return json_add(root ? function_json(r, root) : json_object(),
			{"threads", json_integer(g->threads)},
			{"on_cpu", json_share(report_share(g->cpu_ns, g->wall_ns))},
			{"run_queue", json_share(report_share(g->runqueue_ns, g->wall_ns))},
			{"sleep", json_share(report_share(g->sleep_ns, g->wall_ns))});
}

static json_t *walk_json(const struct walk_report *r, const struct walk_result *w)
{
	return json_new(
	    {"looks", json_u64(w->snapshots)}, {"threads", json_integer(w->threads)},
	    {"joined", json_if(w->joined > 0, json_share(w->joined))},
	    {"threads_left_out", json_known(w->left_out)},
	    {"not_seen", json_if(w->left_out, json_share(w->not_seen))},
	    {"total_ns", json_u64(w->total_ns)}, {"work", json_share(w->share[WALK_WORK])},
	    {"run_queue", json_share(w->runqueue)}, {"sleep", json_share(w->share[WALK_SLEEP])},
	    {"idle", json_share(w->share[WALK_IDLE])},
	    {"busy_threads", json_real(round(w->busy * 1e6) / 1e6)},
	    {"groups", json_unless_empty(json_list(
			   i, w->nr_groups,
			   group_json(r, w->groups[i].root ? &w->nodes[w->groups[i].root] : NULL,
				      &w->groups[i])))},
	    {"lead", json_string(walk_class_text(w->lead))});
}

static json_t *document(const struct walk_report *r, const struct output_options *opt,
			const struct walk_result *w)
{
	const struct walk_node process = {.kind = WALK_PROCESS},
			       *root = w->nr_paths ? &w->nodes[w->paths[0].frames[0]] : &process;
	json_t *o = output_json_head(r->model, "descend", opt),
	       *notes = json_object_get(o, "notes");
	struct walk_remarks remarks;
	char name[NAME_BYTES];

	json_add(o, {"function", json_text(walk_name(r, root, name, sizeof(name)), NAME_BYTES)},
		 {"module", json_if(root->kind == WALK_FUNCTION,
				    json_given(driver_module(r->names, root->function.module)))},
		 {"status", json_string(walk_status(w))}, {"rounds", json_integer(0)},
		 {"calls_used", json_integer(0)}, {"walk", walk_json(r, w)},
		 {"explained", json_share(w->explained)},
		 {"paths", json_list(i, w->nr_paths, path_json(r, w, &w->paths[i]))},
		 /* those with the most time of their own, for a flat profile */
		 {"functions", json_unless_empty(json_list(
				   i, w->nr_tops,
				   json_add(function_json(r, &w->nodes[w->tops[i].node]),
					    {"share_of_work", json_share(w->tops[i].of_work)})))},
		 {"ftree", json_if(w->nr_nodes, ftree_json(r, w))});
	walk_remarks_fill(&remarks, r, w);
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
