// SPDX-License-Identifier: GPL-2.0-or-later
/* What those did for whom the calls of a path wait, and who had the lock for which they wait. */

#include "analysis/base/format.h"
#include "analysis/descent/path_waits.h"
#include "analysis/waits/traces.h"
#include "tui/report/output_descend_waits.h"
#include "tui/report/sanitise.h"

enum { MAX_OUTPUT = 16 << 20, MANY_NODES = 2048 };

/* Is it a wait for a lock whose holder is named, not what holds it? */
static bool names_holder(const struct cause *c)
{
	return c->kind == CAUSE_LOCK && !wait_kind_info(c->wait)->exact;
}

int report_name_holders(const struct descend_report *r, struct descent_result *result)
{
	struct waits_chains all = {0}, chains;
	struct lock_turns turns;
	unsigned int i = 0;
	int err;

	while (i < result->nr_paths && !names_holder(&result->paths[i].cause))
		i++;
	err = r->waits && i < result->nr_paths ? waits_chains(r->waits, &all) : 0;
	for (; all.nr && !err && i < result->nr_paths; i++) {
		if (!names_holder(&result->paths[i].cause))
			continue;
		err = path_waits_find(&all, result, &result->paths[i], &chains);
		err = err ? err : path_waits_turns(&chains, &turns);
		if (!err)
			path_waits_name(&chains, &turns, &result->paths[i].cause);
		waits_chains_release(&chains);
	}
	waits_chains_release(&all);
	return err;
}

/* How long awaited tasks of this name waited for a CPU. */
static uint64_t cpu_wait_ns(const struct waits_chains *c, const char *comm)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		uint32_t task = c->nodes[i].self_ns ? path_waits_innermost(c, i) : c->nr;

		if (task < c->nr && c->nodes[task].layer.state == CHAIN_RUNNABLE &&
		    !strcmp(c->nodes[task].layer.comm, comm))
			ns += c->nodes[i].self_ns;
	}
	return ns;
}

/* The holder that the cause names, if the chains of a lock begin with it; else NULL. */
static const char *named_holder(const struct waits_chains *c, const struct cause *cause)
{
	for (uint32_t i = 0; names_holder(cause) && i < c->nr; i++) {
		const struct waits_node *above = &c->nodes[c->nodes[i].parent];

		if (above != &c->nodes[i] && &c->nodes[above->parent] == above &&
		    !strcmp(c->nodes[i].layer.comm, cause->name))
			return cause->name;
	}
	return NULL;
}

/* The time of the runs that did the same as `l` and go through the first `depth` functions of its
 * stack. */
static uint64_t through_ns(const struct waits_chains *c, const struct waits_layer *l,
			   uint32_t depth)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		uint32_t task = c->nodes[i].self_ns ? path_waits_awaited(c, i, NULL) : c->nr, k = 0;
		const struct waits_layer *other = &c->nodes[task].layer;

		if (task == c->nr || !path_waits_alike(l, other) || !other->user ||
		    other->user->nr_frames < depth)
			continue;
		while (k < depth && other->user->frames[k].module == l->user->frames[k].module &&
		       other->user->frames[k].function == l->user->frames[k].function)
			k++;
		ns += k == depth ? c->nodes[i].self_ns : 0;
	}
	return ns;
}

/* Makes *path the call path that most of the runs go through that did the same as `l`, as far as
 * they are the same: the begin of the stack that has most of their time. Returns false if there is
 * none. */
static bool common_path(const struct waits_chains *c, const struct waits_layer *l,
			struct trace *path)
{
	const struct waits_node *best = NULL;
	uint64_t all = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct waits_node *n = &c->nodes[i];

		if (!n->self_ns || path_waits_awaited(c, i, NULL) != i ||
		    !path_waits_alike(l, &n->layer) || !path_waits_function(&n->layer).module)
			continue;
		all += n->self_ns;
		best = best && best->self_ns >= n->self_ns ? best : n;
	}
	if (!best)
		return false;
	*path = *best->layer.user;
	while (path->nr_frames && 2 * through_ns(c, &best->layer, path->nr_frames) <= all)
		path->nr_frames--;
	return path->nr_frames > 0;
}

/* Append where the tasks were that did this. */
static void put_where(struct buf *out, const struct wait_report *r, const struct waits_chains *c,
		      const struct waits_layer *l)
{
	SCOPED_BUF(stack, MAX_OUTPUT);
	struct waits_layer run = *l;
	struct trace path;

	if (l->state == CHAIN_RUN) {
		if (!common_path(c, l, &path))
			return;
		run.user = &path;
		l = &run;
	}
	wait_stack_words(&stack, r, l);
	if (stack.len)
		buf_printf(out, " (%s)", stack.data);
}

/* Is it known what the task did? */
static bool is_recorded(const struct waits_layer *l)
{
	return !(l->notes & (NOTE_NOT_RECORDED | NOTE_NOT_FOLLOWED | NOTE_HORIZON | NOTE_LIMIT));
}

void report_put_meanwhile(struct buf *out, const struct descend_report *report,
			  const struct descent_result *result, const struct descent_path *p)
{
	struct wait_report r = wait_report_for(report);
	struct waits_chains chains;
	struct path_doing most;
	uint64_t cpu_ns;
	const char *first; /* what is said of a lock is about the holder that the cause names */

	if (report_path_waits(report, result, p, &chains))
		return;
	most.node = chains.nr;
	first = named_holder(&chains, &p->cause);
	if (chains.nr <= MANY_NODES)
		most = path_waits_most(&chains, first);
	if (most.node < chains.nr && is_recorded(&chains.nodes[most.node].layer)) {
		const struct waits_node *n = &chains.nodes[most.node];

		cpu_ns = cpu_wait_ns(&chains, n->layer.comm);
		buf_puts(out, "; meanwhile ");
		sanitise_puts(out, n->layer.comm);
		buf_puts(out, " was ");
		if (cpu_ns > most.ns)
			buf_printf(out, "waiting for a CPU (%s of these waits) and ",
				   format_percent((double)cpu_ns / (double)chains.total_ns).s);
		wait_layer_words(out, n);
		put_where(out, &r, &chains, &n->layer);
	}
	waits_chains_release(&chains);
}
