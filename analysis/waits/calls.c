// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains and critical paths of the calls of one operation instead of whole threads: each sampled
 * call is told backwards from its return, clipped at its entry, once everything up to its return
 * is known. */

#include "analysis/waits/tree.h"
#include "analysis/waits/waits_critical.h"

enum { MAX_PENDING = 1 << 14 };

void waits_limit_calls(struct waits *w, uint32_t op, uint64_t low_ns, uint64_t high_ns)
{
	w->config.calls_of = op;
	w->config.calls_low_ns = low_ns;
	w->config.calls_high_ns = high_ns;
}

int calls_add(struct waits *w, const struct rec_sample *s)
{
	const struct waits_config *c = &w->config;
	struct calls *k = &w->calls;

	if (!c->calls_only || s->op != c->calls_of || s->latency_ns < c->calls_low_ns ||
	    s->latency_ns >= c->calls_high_ns)
		return 0;
	k->stats.sampled++;
	if (!k->pending)
		k->pending = calloc(MAX_PENDING, sizeof(*k->pending));
	if (!k->pending)
		return -ENOMEM;
	if (k->nr == MAX_PENDING) {
		k->stats.outside++;
		return 0;
	}
	k->pending[k->nr++] = (struct pending_call){
	    .tid = s->tid, .entry_ns = s->start_ns, .return_ns = s->start_ns + s->latency_ns};
	return 0;
}

static void call_tell(struct waits *w, const struct pending_call *c)
{
	uint32_t task = tasks_find_at(&w->tasks, c->tid, c->return_ns);
	struct chain_walker k = walk_begin(w);

	/* nothing is known of what lies before the window */
	if (task < FIRST_TASK || c->entry_ns < w->window_ns || c->return_ns <= c->entry_ns) {
		w->calls.stats.outside++;
		return;
	}
	k.since_ns = c->entry_ns;
	w->calls.stats.followed++;
	w->calls.stats.ns += c->return_ns - c->entry_ns;
	if (!w->config.no_chains) {
		w->chains->episode++;
		walk_task(&k, 0, task, c->entry_ns, c->return_ns, 0);
	}
	if (w->feed)
		waits_call_path(w, c->tid, task_at(w, task)->start_ns, c->entry_ns, c->return_ns,
				&w->calls.path);
}

void calls_settle(struct waits *w, bool all)
{
	struct calls *k = &w->calls;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < k->nr; i++) {
		if (k->pending[i].return_ns <= w->now_ns)
			call_tell(w, &k->pending[i]);
		else if (all)
			k->stats.outside++;
		else
			k->pending[kept++] = k->pending[i];
	}
	k->nr = kept;
}

void calls_release(struct waits *w)
{
	free(w->calls.pending);
	critical_path_release(&w->calls.path);
}

void waits_calls(const struct waits *w, struct waits_calls *out)
{
	*out = w->calls.stats;
	out->outside += w->calls.nr;
	out->op = w->config.calls_of;
	out->low_ns = w->config.calls_low_ns;
	out->high_ns = w->config.calls_high_ns;
}
