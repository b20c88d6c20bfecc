// SPDX-License-Identifier: GPL-2.0-or-later
/* The sentence above the tree of chains. */
#include <stdlib.h>
#include <string.h>

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/output_chains_tree.h"
#include "tui/report/words.h"

enum { MAX_OUTPUT = 64 << 10 };

uint64_t *chains_busy_times(const struct waits_chains *c)
{
	uint64_t *busy = calloc(c->nr + 1, sizeof(*busy));

	for (uint32_t i = c->nr; busy && i--;) {
		const struct waits_node *n = &c->nodes[i];

		for (unsigned int a = 0; a < ACCOUNTS; a++)
			busy[i] += wait_is_rest((enum wait_account)a) ? 0 : n->account_ns[a];
		if (n->parent != i)
			busy[n->parent] += busy[i];
	}
	return busy;
}

/* The line below `group` with most of the time that is not rest; nr: there is none. */
static uint32_t busiest(const struct printer *p, const uint64_t *busy, uint32_t group)
{
	uint32_t best = p->chains->nr;

	for (uint32_t k = p->first[group]; k < p->first[group + 1]; k++) {
		uint32_t i = p->children[k];

		if (p->line[i] == i && busy[i] && (best == p->chains->nr || busy[i] > busy[best]))
			best = i;
	}
	return best;
}

/*
 * The largest wait or run: from the outermost layer with most time that is not rest down, as long
 * as one layer below has more than half of the time. nr: there is none. *ns is its time.
 */
static uint32_t leading(const struct printer *p, uint64_t *ns)
{
	uint32_t nr = p->chains->nr, best, below;
	uint64_t *busy = chains_busy_times(p->chains);

	*ns = 0;
	if (!busy)
		return nr;
	for (uint32_t i = 0; i < nr; i++)
		busy[p->line[i]] += p->line[i] != i ? busy[i] : 0;
	best = busiest(p, busy, nr);
	while (best < nr && !chains_is_joined(p, best) && !chains_is_handoff(p, best)) {
		below = busiest(p, busy, best);
		if (below == nr || 2 * busy[below] <= busy[best])
			break;
		best = below;
	}
	*ns = best < nr ? busy[best] : 0;
	free(busy);
	return best;
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

void chains_put_sentence(const struct printer *p, const struct waits_account *a)
{
	uint64_t idle = a->ns[ACCOUNT_IDLE] + a->ns[ACCOUNT_DELIBERATE];
	uint64_t ns;
	uint32_t best = leading(p, &ns);
	struct buf line;

	buf_init(&line, MAX_OUTPUT);
	if (idle)
		buf_printf(&line, "%s of the time idle or in a timed sleep",
			   format_percent((double)idle / (double)a->total_ns).s);
	if (best < p->chains->nr) {
		buf_printf(&line, "%s%s of the time: ", idle ? "; " : "",
			   format_percent((double)ns / (double)a->total_ns).s);
		put_chain_words(&line, p, best);
	}
	if (!line.len)
		wait_rest_words(&line, a);
	words_wrap(p->out, line.err ? "" : line.data, p->columns, "", 0);
	buf_release(&line);
}
