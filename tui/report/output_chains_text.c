// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains as text: accounting and a tree that goes through all processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "analysis/waits/traces.h"
#include "analysis/walk/names.h"
#include "tui/report/output_descend.h"
#include "tui/report/output_waits.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum {
	MAX_OUTPUT = 16 << 20,
	FIGURES = 22,	   /* columns of share, time and count */
	DEEP = 10,	   /* levels that are indented by two columns; deeper ones by one */
	KERNEL_NAMES = 6,  /* functions shown of a thread of the kernel */
	STACK_BYTES = 300, /* then the middle of a stack is left out */
	MAX_STARTED = 5,
};
#define LEAST 0.01 /* chains with a smaller share are counted together */

struct printer {
	const struct wait_report *r;
	const struct waits_chains *chains;
	struct buf *out;
	unsigned int columns;
	uint32_t *children; /* indices, grouped by parent, largest first */
	uint32_t *first;    /* of node i: its children are children[first[i] .. first[i + 1]);
			       those of node nr are the outermost layers */
};

static double share_of(const struct printer *p, uint64_t ns)
{
	return p->chains->total_ns ? (double)ns / (double)p->chains->total_ns : 0;
}

/* ---- stacks */

/* Functions that only start a program or a thread tell nothing. */
static bool is_start(const struct wait_report *r, const struct rec_frame *f)
{
	const struct driver_symbol *s = driver_symbol(r->names, f->module, f->function);

	return s && walk_name_starts(s->function);
}

static void put_user_stack(struct buf *out, const struct wait_report *r, const struct trace *t)
{
	uint32_t from = 0, nr;

	while (from + 1 < t->nr_frames && is_start(r, &t->frames[from]))
		from++;
	nr = t->nr_frames - from;
	for (uint32_t i = 0; i < nr; i++) {
		i = report_frame_between(out, i, nr);
		wait_frame_name(out, r, &t->frames[from + i]);
	}
}

/* The functions of a thread of the kernel, outermost first. */
static void put_kernel_stack(struct buf *out, const char *kernel)
{
	unsigned int nr = 0;

	while (*kernel && nr < KERNEL_NAMES) {
		size_t n = strcspn(kernel, ";");
		bool start = !strncmp(kernel, "ret_from_fork", 13) ||
			     (n == 7 && !strncmp(kernel, "kthread", 7));

		if (!start && strncmp(kernel, "schedule", 8) != 0 &&
		    strncmp(kernel, "__schedule", 10) != 0) {
			buf_puts(out, nr++ ? " > " : "");
			sanitise_append(out, kernel, n);
		}
		kernel += n + (kernel[n] == ';');
	}
}

static void put_stack(const struct printer *p, const struct waits_layer *l, unsigned int indent)
{
	struct buf line;
	size_t fit;

	buf_init(&line, MAX_OUTPUT);
	if (l->user && l->user->nr_frames)
		put_user_stack(&line, p->r, l->user);
	else if (l->kernel && l->tid && l->syscall < 0)
		put_kernel_stack(&line, l->kernel->kernel);
	if (line.len && !line.err) {
		fit = text_fit(line.data, STACK_BYTES);
		if (fit < line.len) {
			line.data[fit] = '\0';
			line.len = fit;
			buf_puts(&line, "...");
		}
		char blank[128];

		snprintf(blank, sizeof(blank), "%*s", (int)(indent < 100 ? indent : 100), "");
		words_wrap(p->out, line.data, p->columns, blank, indent + 2);
	}
	buf_release(&line);
}

/* ---- the tree */

static bool is_other_task(const struct waits_node *n, const struct waits_node *parent)
{
	return n->layer.tid &&
	       (!parent || parent->layer.tid != n->layer.tid || parent->layer.pid != n->layer.pid);
}

static void put_figures(struct buf *out, const struct printer *p, uint64_t ns, uint64_t count)
{
	buf_printf(out, "%s %s %s  ", format_percent_fixed(share_of(p, ns)).s,
		   format_time_fixed(ns).s, count ? format_count_fixed(count).s : "     ");
}

static unsigned int indent_of(unsigned int depth)
{
	unsigned int columns = depth <= DEEP ? 2 * depth : DEEP + depth;

	return columns < 3 * DEEP ? columns : 3 * DEEP;
}

static void put_node(const struct printer *p, uint32_t i, unsigned int depth)
{
	const struct waits_node *n = &p->chains->nodes[i],
				*parent = n->parent == i ? NULL : &p->chains->nodes[n->parent];
	unsigned int indent = FIGURES + indent_of(depth);
	struct buf line, first;

	buf_init(&line, MAX_OUTPUT);
	buf_init(&first, MAX_OUTPUT);
	put_figures(&first, p, n->total_ns, n->count);
	buf_printf(&first, "%*s", (int)indent_of(depth), "");
	if (depth && is_other_task(n, parent)) {
		sanitise_append(&line, n->layer.comm, strlen(n->layer.comm));
		buf_printf(&line, " %u ", n->layer.tid);
	}
	wait_layer_words(&line, n);
	if (!line.err && !first.err)
		words_wrap(p->out, line.data, p->columns, first.data, indent + 2);
	buf_release(&line);
	buf_release(&first);
	put_stack(p, &n->layer, indent + 2);
}

/* Not recursive: chains may be deep. */
static void put_subtree(const struct printer *p, uint32_t root)
{
	struct {
		uint32_t at, end;
		uint64_t rest;
	} open[64];
	unsigned int depth = 0;

	put_node(p, root, 0);
	open[0].at = p->first[root];
	open[0].end = p->first[root + 1];
	open[0].rest = 0;
	for (;;) {
		uint32_t i;

		if (open[depth].at == open[depth].end) {
			if (share_of(p, open[depth].rest) >= LEAST) {
				put_figures(p->out, p, open[depth].rest, 0);
				buf_printf(p->out, "%*sothers, each below 1%%\n",
					   (int)indent_of(depth + 1), "");
			}
			if (!depth--)
				return;
			continue;
		}
		i = p->children[open[depth].at++];
		if (share_of(p, p->chains->nodes[i].total_ns) < LEAST) {
			open[depth].rest += p->chains->nodes[i].total_ns;
			continue;
		}
		put_node(p, i, depth + 1);
		if (depth + 1 == sizeof(open) / sizeof(open[0]))
			continue;
		depth++;
		open[depth].at = p->first[i];
		open[depth].end = p->first[i + 1];
		open[depth].rest = 0;
	}
}

static int by_total(const void *a, const void *b, void *nodes)
{
	const struct waits_node *n = nodes;
	uint64_t x = n[*(const uint32_t *)a].total_ns, y = n[*(const uint32_t *)b].total_ns;

	return (x < y) - (x > y);
}

/* Group the nodes by their parents; node `nr` stands for the parent of the outermost layers. */
static int children_sort(struct printer *p)
{
	uint32_t nr = p->chains->nr;

	p->children = calloc(nr + 1, sizeof(*p->children));
	p->first = calloc(nr + 3, sizeof(*p->first));
	if (!p->children || !p->first)
		return -1;
	for (uint32_t i = 0; i < nr; i++)
		p->first[(p->chains->nodes[i].parent == i ? nr : p->chains->nodes[i].parent) + 2]++;
	for (uint32_t i = 1; i < nr + 3; i++)
		p->first[i] += p->first[i - 1];
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t parent = p->chains->nodes[i].parent == i ? nr : p->chains->nodes[i].parent;

		p->children[p->first[parent + 1]++] = i;
	}
	for (uint32_t i = 0; i <= nr; i++) {
		if (p->first[i + 1] > p->first[i])
			qsort_r(p->children + p->first[i], p->first[i + 1] - p->first[i],
				sizeof(*p->children), by_total, p->chains->nodes);
	}
	return 0;
}

/* A thread of a target with its outermost layers. */
struct thread {
	const struct waits_layer *layer;
	uint64_t ns;
};

static int by_time(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static bool is_same(const struct waits_layer *a, const struct waits_layer *b)
{
	return a->tid == b->tid && a->pid == b->pid && !strcmp(a->comm, b->comm);
}

static void put_thread(const struct printer *p, const struct thread *t)
{
	uint32_t nr = p->chains->nr;
	uint64_t rest = 0;

	buf_putc(p->out, '\n');
	sanitise_append(p->out, t->layer->comm, strlen(t->layer->comm));
	buf_printf(p->out, " %u", t->layer->tid);
	if (t->layer->pid != t->layer->tid)
		buf_printf(p->out, " (thread of %u)", t->layer->pid);
	buf_printf(p->out, ": %s\n", format_time(t->ns).s);
	for (uint32_t i = p->first[nr]; i < p->first[nr + 1]; i++) {
		const struct waits_node *n = &p->chains->nodes[p->children[i]];

		if (!is_same(&n->layer, t->layer))
			continue;
		if (share_of(p, n->total_ns) < LEAST)
			rest += n->total_ns;
		else
			put_subtree(p, p->children[i]);
	}
	if (share_of(p, rest) >= LEAST) {
		put_figures(p->out, p, rest, 0);
		buf_puts(p->out, "others, each below 1%\n");
	}
}

static void put_threads(const struct printer *p)
{
	uint32_t nr = p->chains->nr, nr_threads = 0, small = 0,
		 most = p->first[nr + 1] - p->first[nr];
	struct thread *threads = calloc(most + 1, sizeof(*threads));
	uint64_t rest = 0;

	for (uint32_t i = p->first[nr]; threads && i < p->first[nr + 1]; i++) {
		const struct waits_node *n = &p->chains->nodes[p->children[i]];
		uint32_t k = 0;

		while (k < nr_threads && !is_same(threads[k].layer, &n->layer))
			k++;
		if (k == nr_threads)
			threads[nr_threads++].layer = &n->layer;
		threads[k].ns += n->total_ns;
	}
	if (nr_threads)
		qsort(threads, nr_threads, sizeof(*threads), by_time);
	for (uint32_t i = 0; i < nr_threads; i++) {
		if (share_of(p, threads[i].ns) >= LEAST) {
			put_thread(p, &threads[i]);
			continue;
		}
		small++;
		rest += threads[i].ns;
	}
	if (small)
		buf_printf(p->out, "\n%u more %s, each below 1%%: %s\n", small,
			   small == 1 ? "thread" : "threads", format_time(rest).s);
	free(threads);
}

/* ---- the sentence that comes first */

static bool is_rest(enum wait_account a)
{
	return a == ACCOUNT_IDLE || a == ACCOUNT_DELIBERATE;
}

/* The chain with most of the time that is neither idle nor slept on purpose; nr: there is none. */
static uint32_t leading(const struct waits_chains *c)
{
	uint32_t best = c->nr;

	for (uint32_t i = 0; i < c->nr; i++) {
		if (c->nodes[i].self_ns && !is_rest(c->nodes[i].account) &&
		    (best == c->nr || c->nodes[i].self_ns > c->nodes[best].self_ns))
			best = i;
	}
	return best;
}

static void put_chain_words(struct buf *out, const struct waits_chains *c, uint32_t node)
{
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
		if (is_other_task(n, parent)) {
			sanitise_append(out, n->layer.comm, strlen(n->layer.comm));
			buf_printf(out, " %u ", n->layer.tid);
		}
		wait_layer_words(out, n);
	}
}

static void put_sentence(struct buf *out, const struct waits_chains *c,
			 const struct waits_account *a, unsigned int columns)
{
	uint64_t idle = a->ns[ACCOUNT_IDLE] + a->ns[ACCOUNT_DELIBERATE];
	uint32_t best = leading(c);
	struct buf line;

	buf_init(&line, MAX_OUTPUT);
	if (!a->total_ns) {
		buf_puts(out, "no thread of the target was observed\n");
		return;
	}
	if (idle)
		buf_printf(&line, "%s of the time idle or in a timed sleep",
			   format_percent((double)idle / (double)a->total_ns).s);
	if (best < c->nr) {
		buf_printf(&line, "%s%s of the time: ", idle ? "; " : "",
			   format_percent((double)c->nodes[best].self_ns / (double)a->total_ns).s);
		put_chain_words(&line, c, best);
	}
	if (!line.err)
		words_wrap(out, line.data, columns, "", 0);
	buf_release(&line);
}

/* ---- accounting */

static void put_accounting(struct buf *out, const struct waits_account *a)
{
	uint64_t sum = 0;

	buf_puts(out, "\nAccounting              share  in sum     time\n");
	for (unsigned int i = 0; i < ACCOUNTS; i++) {
		if (!a->ns[i])
			continue;
		sum += a->ns[i];
		buf_printf(out, "  %-20s %s  %s  %s\n", wait_account_text((enum wait_account)i),
			   format_percent_fixed((double)a->ns[i] / (double)a->total_ns).s,
			   format_percent_fixed((double)sum / (double)a->total_ns).s,
			   format_time_fixed(a->ns[i]).s);
	}
	buf_printf(out, "  accounted for: %s of all time", format_percent(a->wall).s);
	buf_printf(out, ", %s as the RSP paper counts\n", format_percent(a->rsp).s);
}

static void put_observed(struct buf *out, const struct wait_report *r, unsigned int columns)
{
	struct waits_stats s;
	struct buf line;

	waits_stats(r->waits, &s);
	buf_init(&line, MAX_OUTPUT);
	buf_printf(&line, "%s of %s (%s) in %u %s", format_time(s.observed_ns).s,
		   format_time(s.elapsed_ns).s, format_percent(wait_share_observed(&s)).s,
		   s.windows, s.windows == 1 ? "window" : "windows");
	if (s.steal_ns)
		buf_printf(&line, "; the host took %s from the CPUs meanwhile",
			   format_time(s.steal_ns).s);
	words_wrap(out, line.err ? "" : line.data, columns, "Observed: ", 10);
	buf_reset(&line);
	for (unsigned int i = 0; wait_doubt(&line, r, &s, i); i++) {
		words_wrap(out, line.data, columns, "  ", 4);
		buf_reset(&line);
	}
	buf_release(&line);
}

static void put_started(const struct printer *p)
{
	struct waits_started started[MAX_STARTED];
	uint32_t nr = waits_started(p->r->waits, started, MAX_STARTED);
	struct buf line;

	while (nr && share_of(p, started[nr - 1].ns) < LEAST)
		nr--;
	if (!nr)
		return;
	buf_init(&line, MAX_OUTPUT);
	for (uint32_t i = 0; i < nr; i++) {
		buf_puts(&line, i ? ", " : "");
		sanitise_append(&line, started[i].comm, strlen(started[i].comm));
		buf_printf(&line, " %u %s", started[i].tid, format_time(started[i].ns).s);
	}
	words_wrap(p->out, line.err ? "" : line.data, p->columns,
		   "Started and not waited for: ", 2);
	buf_release(&line);
}

int output_chains_text(const struct wait_report *r, const struct output_options *o, FILE *f)
{
	struct waits_chains chains = {0};
	struct waits_account account = {.wall = 0};
	int err = r->waits ? waits_chains(r->waits, &chains) : 0;
	struct buf out;
	struct printer p = {.r = r, .chains = &chains, .out = &out, .columns = output_columns(o)};

	if (err)
		return err;
	buf_init(&out, MAX_OUTPUT);
	if (r->waits)
		waits_account(r->waits, &account);
	put_sentence(&out, &chains, &account, p.columns);
	if (account.total_ns) {
		buf_puts(&out, "\n share    time times  chain: share of the time of all threads, "
			       "largest first\n");
		if (children_sort(&p))
			out.err = -ENOMEM;
		else
			put_threads(&p);
		put_accounting(&out, &account);
	}
	buf_putc(&out, '\n');
	if (r->waits) {
		put_started(&p);
		put_observed(&out, r, p.columns);
	}
	free(p.children);
	free(p.first);
	waits_chains_release(&chains);
	output_text_state(&out, r->model, o);
	return output_text_write(&out, f);
}
