// SPDX-License-Identifier: GPL-2.0-or-later
/* The sentence above the tree of chains. */
#include <limits.h>

#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/output_chains_tree.h"
#include "tui/report/words.h"

enum { MAX_OUTPUT = 64 << 10, MAX_WAITED_FOR = 64, NAMED = 3 };
#define ANY_STATE UINT_MAX
#define LEAST 0.1 /* smaller shares of the time, or of a wait, are not named */

/* Did another task do what node `i` says? */
static bool is_for_task(const struct waits_chains *c, uint32_t i)
{
	for (; c->nodes[i].parent != i; i = c->nodes[i].parent) {
		const struct waits_layer *l = &c->nodes[i].layer;

		if (l->tid && !chains_is_same_task(l, &c->nodes[c->nodes[i].parent].layer))
			return true;
	}
	return false;
}

uint64_t *chains_times(const struct waits_chains *c, unsigned int kinds)
{
	uint64_t *busy = calloc(c->nr + 1, sizeof(*busy));

	for (uint32_t i = c->nr; busy && i--;) {
		const struct waits_node *n = &c->nodes[i];
		bool left_out = kinds & CHAINS_FOR_TASKS && !is_for_task(c, i);

		for (unsigned int a = 0; a < ACCOUNTS && !left_out; a++)
			if (n->account_ns[a] && wait_rest_of(c, i, (enum wait_account)a) & kinds)
				busy[i] += n->account_ns[a];
		if (n->parent != i)
			busy[n->parent] += busy[i];
	}
	return busy;
}

/* The line below `group` with most of the time in `busy`, of the outermost layers only those of
 * thread `of` (NULL: of all). `states`: bits of enum layer_state. nr: there is none. */
static uint32_t busiest(const struct printer *p, const uint64_t *busy, uint32_t group,
			const struct waits_layer *of, unsigned int states)
{
	uint32_t best = p->chains->nr;

	for (uint32_t k = p->first[group]; k < p->first[group + 1]; k++) {
		uint32_t i = p->children[k];

		if (of && !chains_is_same_task(&p->chains->nodes[i].layer, of))
			continue;
		if (!(states & 1u << p->chains->nodes[i].layer.state))
			continue;
		if (p->line[i] == i && busy[i] && (best == p->chains->nr || busy[i] > busy[best]))
			best = i;
	}
	return best;
}

/* From a layer down, as long as one layer below has more than half of its time. */
static uint32_t leading(const struct printer *p, const uint64_t *busy, uint32_t best)
{
	uint32_t below;

	while (!chains_is_joined(p, best) && !chains_is_handoff(p, best)) {
		below = busiest(p, busy, best, NULL, ANY_STATE);
		if (below == p->chains->nr || 2 * busy[below] <= busy[best])
			break;
		/* that a sleep on purpose lasted until its timer need not be told */
		if (p->chains->nodes[below].account == ACCOUNT_DELIBERATE &&
		    p->chains->nodes[below].layer.state == CHAIN_TIMER)
			break;
		best = below;
	}
	return best;
}

/* A task for which a layer waits, with its time that is not rest. */
struct waited_for {
	const struct waits_layer *layer;
	uint64_t ns;
};

/* The tasks in the lines below node `i`, those with most time first. */
static uint32_t waited_for(const struct printer *p, const uint64_t *busy, uint32_t i,
			   struct waited_for *out, uint32_t max)
{
	const struct waits_layer *above = &p->chains->nodes[i].layer;
	uint32_t nr = 0, at;

	for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++) {
		uint32_t child = p->children[k];
		const struct waits_layer *l = &p->chains->nodes[child].layer;

		if (p->line[child] != child || !l->tid || chains_is_same_task(l, above))
			continue;
		for (at = 0; at < nr && !chains_is_same_task(out[at].layer, l);)
			at++;
		if (at == max)
			continue;
		if (at == nr)
			out[nr++] = (struct waited_for){.layer = l};
		out[at].ns += busy[child];
		for (; at && out[at].ns > out[at - 1].ns; at--) {
			struct waited_for swap = out[at];

			out[at] = out[at - 1];
			out[at - 1] = swap;
		}
	}
	return nr;
}

static const char *separator(unsigned int k, unsigned int named)
{
	return !k ? "" : k + 1 < named ? ", " : " and ";
}

static void put_share(struct buf *out, uint64_t ns, uint64_t whole)
{
	buf_puts(out, format_percent((double)ns / (double)whole).s);
}

/* What a task did for which layer `i` waits: "running 50% and waiting for a CPU 14%". */
static void put_doings(struct buf *out, const struct printer *p, const uint64_t *busy, uint32_t i,
		       const struct waits_layer *task)
{
	uint32_t line[NAMED];
	unsigned int named = 0;

	for (uint32_t k = p->first[i]; k < p->first[i + 1] && named < NAMED; k++) {
		uint32_t child = p->children[k];

		if (p->line[child] == child && (double)busy[child] >= LEAST * (double)busy[i] &&
		    chains_is_same_task(&p->chains->nodes[child].layer, task))
			line[named++] = child;
	}
	for (unsigned int k = 0; k < named; k++) {
		buf_puts(out, k ? separator(k, named) : ": ");
		if (chains_is_joined(p, line[k]))
			buf_puts(out, "waiting for a CPU");
		else
			wait_layer_words(out, &p->chains->nodes[line[k]]);
		if (named == 1)
			return;
		buf_putc(out, ' ');
		put_share(out, busy[line[k]], busy[i]);
	}
}

/* No line below `i` has more than half of its time: name the tasks for which it waits. */
static void put_waited_for(struct buf *out, const struct printer *p, const uint64_t *busy,
			   uint32_t i)
{
	struct waited_for tasks[MAX_WAITED_FOR];
	uint32_t nr = waited_for(p, busy, i, tasks, MAX_WAITED_FOR), named = 0;

	while (named < nr && named < NAMED && (double)tasks[named].ns >= LEAST * (double)busy[i])
		named++;
	for (uint32_t k = 0; k < named; k++) {
		buf_puts(out, k ? separator(k, named) : " > ");
		chains_put_task_name(out, tasks[k].layer);
		buf_puts(out, " (");
		put_share(out, tasks[k].ns, busy[i]);
		put_doings(out, p, busy, i, tasks[k].layer);
		buf_putc(out, ')');
	}
}

static void put_chain_words(struct buf *out, const struct printer *p, uint32_t node)
{
	const struct waits_chains *c = p->chains;
	uint32_t path[64], depth = 0;

	for (uint32_t i = node; depth < 64; i = c->nodes[i].parent) {
		path[depth++] = i;
		if (c->nodes[i].parent == i)
			break;
	}
	for (uint32_t k = depth; k--;) {
		const struct waits_node *n = &c->nodes[path[k]],
					*parent = k + 1 < depth ? &c->nodes[path[k + 1]] : NULL;

		/* Long chains: the target, and the last three layers. */
		if (depth > 5 && k + 2 < depth && k > 2)
			continue;
		buf_puts(out, parent ? " > " : "");
		if (chains_is_other_task(n, parent))
			chains_put_task(out, &n->layer);
		if (chains_is_joined(p, path[k])) {
			buf_puts(out, "waiting for a CPU");
			chains_put_cpu_users(out, p, path[k]);
		} else {
			wait_layer_words(out, n);
		}
	}
}

/* The wait or run that leads from an outermost layer of thread `t`. */
static void put_leading(struct buf *out, const struct printer *p, const uint64_t *busy,
			const struct busy_thread *t, uint32_t from)
{
	uint32_t best = leading(p, busy, from);

	buf_printf(out, "%s%s of the time%s: ", out->len ? "; " : "",
		   format_percent((double)busy[best] / (double)t->ns).s,
		   t->ns < p->chains->total_ns ? " of the busiest thread" : "");
	put_chain_words(out, p, best);
	if (!chains_is_joined(p, best) && !chains_is_handoff(p, best))
		put_waited_for(out, p, busy, best);
}

/* The largest wait or run of the thread that did most. If it is a run, the largest wait, too: a run
 * is told by one word, wherever it was, and waits for different things are told apart. */
static void put_busiest(struct buf *out, const struct printer *p, const uint64_t *busy)
{
	uint32_t nr = p->chains->nr, first, wait;
	struct busy_thread thread;

	if (chains_busiest_thread(p, &thread))
		return;
	first = busiest(p, busy, nr, &thread.layer, ANY_STATE);
	if (first == nr)
		return;
	put_leading(out, p, busy, &thread, first);
	if (p->chains->nodes[first].layer.state != CHAIN_RUN)
		return;
	wait = busiest(p, busy, nr, &thread.layer, 1u << CHAIN_SLEEP);
	if (wait < nr && (double)busy[wait] >= LEAST * (double)thread.ns)
		put_leading(out, p, busy, &thread, wait);
}

/* Time of all threads at rest that is accounted as this. */
static uint64_t rest_ns(const struct waits_chains *c, const struct waits_account *a,
			enum wait_account of)
{
	uint64_t others = 0;

	for (uint32_t i = 0; i < c->nr; i++)
		if (c->nodes[i].account_ns[of] && wait_rest_of(c, i, of) != WAIT_REST)
			others += c->nodes[i].account_ns[of];
	return a->ns[of] > others ? a->ns[of] - others : 0;
}

/* Time of all threads in which they did nothing, or nothing that is known. */
static void put_rest(struct buf *out, const struct waits_chains *c, const struct waits_account *a)
{
	const struct {
		uint64_t ns;
		double least;
		const char *words;
	} rests[] = {
	    {rest_ns(c, a, ACCOUNT_STOPPED), LEAST, "stopped"},
	    {rest_ns(c, a, ACCOUNT_IDLE) + rest_ns(c, a, ACCOUNT_DELIBERATE) +
		 rest_ns(c, a, ACCOUNT_TIMED_OUT),
	     0, "idle or in a timed sleep"},
	    {a->ns[ACCOUNT_LOST] + a->ns[ACCOUNT_UNKNOWN], LEAST, "not known"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		double share = (double)rests[i].ns / (double)a->total_ns;

		if (rests[i].ns && share >= rests[i].least)
			buf_printf(out, "%s%s of the time %s", out->len ? "; " : "",
				   format_percent(share).s, rests[i].words);
	}
}

/* All time of the thread that the outermost layer `i` is about. */
static uint64_t thread_ns(const struct waits_chains *c, uint32_t i)
{
	uint64_t ns = 0;

	for (uint32_t k = 0; k < c->nr; k++)
		if (c->nodes[k].parent == k &&
		    chains_is_same_task(&c->nodes[k].layer, &c->nodes[i].layer))
			ns += c->nodes[k].total_ns;
	return ns;
}

/* Time of which it is not known whether the threads had nothing to do or waited for others. The
 * largest wait that another task ended is named; only if there is none, one until a timer.
 * `for_tasks`: of `perhaps`, the time in waits for other tasks. */
static void put_perhaps_rest(struct buf *out, const struct printer *p, const uint64_t *perhaps,
			     const uint64_t *for_tasks, const struct waits_account *a)
{
	uint32_t nr = p->chains->nr, first = busiest(p, for_tasks, nr, NULL, ANY_STATE), best;
	const uint64_t *named = perhaps;
	uint64_t ns = 0;

	if (first < nr && (double)for_tasks[first] >= LEAST * (double)thread_ns(p->chains, first))
		named = for_tasks;
	else
		first = busiest(p, perhaps, nr, NULL, ANY_STATE);

	for (uint32_t k = p->first[nr]; k < p->first[nr + 1]; k++)
		ns += p->line[p->children[k]] == p->children[k] ? perhaps[p->children[k]] : 0;
	if (first == nr || (double)ns < LEAST * (double)a->total_ns)
		return;
	best = leading(p, named, first);
	buf_printf(out, "%s%s of the time idle or waiting for others%s", out->len ? "; " : "",
		   format_percent((double)ns / (double)a->total_ns).s,
		   2 * named[best] > ns ? ", mostly: " : ", e.g. ");
	put_chain_words(out, p, best);
}

/* chains_times() by line. */
static uint64_t *times_of_lines(const struct printer *p, unsigned int kinds)
{
	uint64_t *ns = chains_times(p->chains, kinds);

	for (uint32_t i = 0; ns && i < p->chains->nr; i++)
		ns[p->line[i]] += p->line[i] != i ? ns[i] : 0;
	return ns;
}

void chains_put_sentence(const struct printer *p, const struct waits_account *a)
{
	uint64_t *busy = times_of_lines(p, WAIT_NO_REST),
		 *perhaps = times_of_lines(p, WAIT_PERHAPS_REST),
		 *for_tasks = times_of_lines(p, WAIT_PERHAPS_REST | CHAINS_FOR_TASKS);
	SCOPED_BUF(line, MAX_OUTPUT);

	put_rest(&line, p->chains, a);
	if (perhaps && for_tasks)
		put_perhaps_rest(&line, p, perhaps, for_tasks, a);
	if (busy)
		put_busiest(&line, p, busy);
	words_wrap(p->out, line.err ? "" : line.data, p->columns, "", 0);
	free(busy);
	free(perhaps);
	free(for_tasks);
}
