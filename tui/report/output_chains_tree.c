// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains as text: the sentence that comes first, and a tree that goes through all processes. */

#include "tui/report/output_chains_tree.h"
#include "analysis/base/array.h"
#include "analysis/base/buf.h"
#include "analysis/base/format.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum {
	MAX_OUTPUT = 16 << 20,
	FIGURES = 22,	    /* columns of share, time and count */
	DEEP = 10,	    /* levels that are indented by two columns; deeper ones by one */
	STACK_BYTES = 300,  /* then the middle of a stack is left out */
	MAX_LEADERS = 1024, /* tasks whose waits for a CPU are joined below one layer */
	SMALL_THREADS = 5,  /* named of those that did next to nothing */
	MAX_CPU_USERS = 256,
	CPU_USERS = 3, /* tasks named that had the CPU */
};
#define LEAST 0.01 /* chains with a smaller share are counted together */

static double share_of(const struct printer *p, uint64_t ns)
{
	return p->whole ? (double)ns / (double)p->whole : 0;
}

bool chains_is_other_task(const struct waits_node *n, const struct waits_node *parent)
{
	return n->layer.tid &&
	       (!parent || parent->layer.tid != n->layer.tid || parent->layer.pid != n->layer.pid);
}

void chains_put_task_name(struct buf *out, const struct waits_layer *l)
{
	if (l->tasks > 1)
		buf_printf(out, "%u tasks named ", l->tasks);
	sanitise_puts(out, l->comm);
	if (l->tasks <= 1)
		buf_printf(out, " %u", l->tid);
}

void chains_put_task(struct buf *out, const struct waits_layer *l)
{
	chains_put_task_name(out, l);
	buf_puts(out, l->tasks > 1 ? ": " : " ");
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

/* The children of a node, or the outermost layers if it has no parent. */
static uint32_t group_of(const struct waits_chains *c, uint32_t i)
{
	return c->nodes[i].parent == i ? c->nr : c->nodes[i].parent;
}

struct cpu_user {
	const char *comm;
	uint64_t ns;
};

uint64_t chains_put_cpu_users(struct buf *out, const struct printer *p, uint32_t i)
{
	uint32_t group = group_of(p->chains, i), nr = 0;
	struct cpu_user users[MAX_CPU_USERS];
	uint64_t count = 0;

	for (uint32_t k = p->first[group]; k < p->first[group + 1]; k++) {
		const struct waits_node *n = &p->chains->nodes[p->children[k]];
		uint32_t at = 0;

		if (p->line[p->children[k]] != i)
			continue;
		count += n->count;
		while (at < nr && strcmp(users[at].comm, n->layer.what) != 0)
			at++;
		if (!n->layer.what[0] || at == MAX_CPU_USERS)
			continue;
		if (at == nr)
			users[nr++] = (struct cpu_user){.comm = n->layer.what};
		users[at].ns += n->total_ns;
	}
	for (uint32_t k = 0; k < nr && k < CPU_USERS; k++) {
		struct cpu_user *most = users;

		for (uint32_t at = 1; at < nr; at++)
			most = users[at].ns > most->ns ? &users[at] : most;
		buf_puts(out, k ? ", " : ", last used by ");
		sanitise_puts(out, most->comm);
		buf_printf(out, " %s", format_time(most->ns).s);
		most->ns = 0;
	}
	if (nr > CPU_USERS)
		buf_puts(out, " and others");
	return count;
}

bool chains_is_joined(const struct printer *p, uint32_t i)
{
	return p->ns[i] != p->chains->nodes[i].total_ns;
}

/* A wait_line_fn: append the line as text, with the call path below it. */
static void put_line(void *ctx, const struct wait_line *l)
{
	const struct printer *p = ctx;
	unsigned int indent = FIGURES + indent_of(l->depth);
	char blank[FIGURES + 4 * DEEP];
	SCOPED_BUF(first, MAX_OUTPUT);

	put_figures(&first, p, l->ns, l->count);
	buf_printf(&first, "%*s", (int)indent_of(l->depth), "");
	if (!first.err)
		words_wrap(p->out, l->words, p->columns, first.data, indent + 2);
	snprintf(blank, sizeof(blank), "%*s", (int)indent + 2, "");
	if (l->stack[0])
		words_wrap(p->out, l->stack, p->columns, blank, indent + 4);
}

/* Shortens a stack that is too long; its end, the function that ran or waited, says most. */
static void leave_out_middle(struct buf *stack)
{
	const char *end;
	size_t begin = STACK_BYTES / 3, room = STACK_BYTES - begin - 3;

	if (stack->err || stack->len <= STACK_BYTES)
		return;
	begin = text_fit(stack->data, begin);
	end = strstr(stack->data + stack->len - room, " > ");
	if (!end)
		end = stack->data + stack->len;
	stack->len = begin + 3 + strlen(end);
	memmove(stack->data + begin + 3, end, strlen(end) + 1);
	memcpy(stack->data + begin, "...", 3);
}

static void give_node(const struct printer *p, uint32_t i, unsigned int depth)
{
	const struct waits_node *n = &p->chains->nodes[i],
				*parent = n->parent == i ? NULL : &p->chains->nodes[n->parent];
	struct wait_line l = {.depth = depth, .node = i, .ns = p->ns[i], .count = n->count};
	SCOPED_BUF(words, MAX_OUTPUT);
	SCOPED_BUF(stack, MAX_OUTPUT);

	if (depth && chains_is_other_task(n, parent))
		chains_put_task(&words, &n->layer);
	if (chains_is_joined(p, i)) {
		buf_puts(&words, "waiting for a CPU");
		l.count = chains_put_cpu_users(&words, p, i);
	} else {
		wait_layer_words(&words, n);
	}
	wait_stack_words(&stack, p->r, &n->layer);
	leave_out_middle(&stack);
	l.words = words.data && !words.err ? words.data : "";
	l.stack = stack.data && !stack.err ? stack.data : "";
	p->give(p->ctx, &l);
}

static void give_others(const struct printer *p, uint64_t ns, unsigned int depth)
{
	p->give(p->ctx, &(struct wait_line){.depth = depth,
					    .node = p->chains->nr,
					    .ns = ns,
					    .words = "others, each below 1%",
					    .stack = ""});
}

bool chains_is_handoff(const struct printer *p, uint32_t i)
{
	return p->chains->nodes[i].layer.notes & NOTE_HANDOFF;
}

/* Not recursive: chains may be deep. */
static void put_subtree(const struct printer *p, uint32_t root)
{
	struct {
		uint32_t at, end;
		uint64_t rest;
	} open[64];
	unsigned int depth = 0;

	give_node(p, root, 0);
	open[0].at = p->first[root];
	open[0].end = chains_is_handoff(p, root) ? open[0].at : p->first[root + 1];
	open[0].rest = 0;
	for (;;) {
		uint32_t i;

		if (open[depth].at == open[depth].end) {
			if (share_of(p, open[depth].rest) >= LEAST)
				give_others(p, open[depth].rest, depth + 1);
			if (!depth--)
				return;
			continue;
		}
		i = p->children[open[depth].at++];
		if (p->line[i] != i)
			continue;
		if (share_of(p, p->ns[i]) < LEAST) {
			open[depth].rest += p->ns[i];
			continue;
		}
		give_node(p, i, depth + 1);
		if (depth + 1 == ARRAY_SIZE(open) || chains_is_handoff(p, i))
			continue;
		depth++;
		open[depth].at = p->first[i];
		open[depth].end = p->first[i + 1];
		open[depth].rest = 0;
	}
}

static int by_ns(const void *a, const void *b, void *all)
{
	const uint64_t *ns = all;
	uint64_t x = ns[*(const uint32_t *)a], y = ns[*(const uint32_t *)b];

	return (x < y) - (x > y);
}

bool chains_is_same_task(const struct waits_layer *a, const struct waits_layer *b)
{
	return a->tid == b->tid && a->pid == b->pid && !strcmp(a->comm, b->comm);
}

/* Put the waits for a CPU among children[from .. to) on one line for each task. */
static void cpu_waits_join(struct printer *p, uint32_t from, uint32_t to)
{
	const struct waits_node *nodes = p->chains->nodes;
	uint32_t leaders[MAX_LEADERS], nr = 0;

	for (uint32_t k = from; k < to; k++) {
		uint32_t i = p->children[k], at = 0;

		if (nodes[i].layer.state != CHAIN_RUNNABLE || chains_is_handoff(p, i) ||
		    nodes[i].layer.why == READY_THROTTLED)
			continue;
		while (at < nr && !chains_is_same_task(&nodes[leaders[at]].layer, &nodes[i].layer))
			at++;
		if (at < nr) {
			p->line[i] = leaders[at];
			p->ns[leaders[at]] += p->ns[i];
		} else if (nr < MAX_LEADERS) {
			leaders[nr++] = i;
		}
	}
}

/* Group the nodes by their parents. 0 or -ENOMEM; node `nr` stands for the parent of the outermost
 * layers. */
static int children_sort(struct printer *p)
{
	uint32_t nr = p->chains->nr;

	p->children = calloc(nr + 1, sizeof(*p->children));
	p->first = calloc(nr + 3, sizeof(*p->first));
	p->line = calloc(nr + 1, sizeof(*p->line));
	p->ns = calloc(nr + 1, sizeof(*p->ns));
	if (!p->children || !p->first || !p->line || !p->ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		p->line[i] = i;
		p->ns[i] = p->chains->nodes[i].total_ns;
		p->first[group_of(p->chains, i) + 2]++;
	}
	for (uint32_t i = 1; i < nr + 3; i++)
		p->first[i] += p->first[i - 1];
	for (uint32_t i = 0; i < nr; i++)
		p->children[p->first[group_of(p->chains, i) + 1]++] = i;
	for (uint32_t i = 0; i <= nr; i++) {
		uint32_t *group = p->children + p->first[i], n = p->first[i + 1] - p->first[i];

		if (n < 2)
			continue;
		qsort_r(group, n, sizeof(*group), by_ns, p->ns);
		cpu_waits_join(p, p->first[i], p->first[i + 1]);
		qsort_r(group, n, sizeof(*group), by_ns, p->ns);
	}
	return 0;
}

/* A thread of a target with its outermost layers. */
struct thread {
	const struct waits_layer *layer;
	uint64_t ns;
	uint64_t busy_ns; /* of it not at rest */
};

static int by_busy_time(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return descending(x->busy_ns, y->busy_ns) ?: descending(x->ns, y->ns);
}

static void put_thread(struct printer *p, const struct thread *t)
{
	uint32_t nr = p->chains->nr;
	uint64_t rest = 0;

	p->whole = t->ns;
	buf_putc(p->out, '\n');
	sanitise_puts(p->out, t->layer->comm);
	buf_printf(p->out, " %u", t->layer->tid);
	if (t->layer->pid != t->layer->tid)
		buf_printf(p->out, " (thread of %u)", t->layer->pid);
	buf_printf(p->out, ": %s\n", format_time(t->ns).s);
	for (uint32_t i = p->first[nr]; i < p->first[nr + 1]; i++) {
		const struct waits_node *n = &p->chains->nodes[p->children[i]];

		if (!chains_is_same_task(&n->layer, t->layer) ||
		    p->line[p->children[i]] != p->children[i])
			continue;
		if (share_of(p, p->ns[p->children[i]]) < LEAST)
			rest += p->ns[p->children[i]];
		else
			put_subtree(p, p->children[i]);
	}
	if (share_of(p, rest) >= LEAST)
		give_others(p, rest, 0);
}

/* The threads with their times, those that did most first. NULL: out of memory. */
static struct thread *threads_of(const struct printer *p, uint32_t *nr_threads)
{
	uint32_t nr = p->chains->nr, most = p->first[nr + 1] - p->first[nr], found = 0;
	struct thread *threads = calloc(most + 1, sizeof(*threads));
	uint64_t *busy = chains_times(p->chains, WAIT_NO_REST);

	if (!threads || !busy) {
		free(threads);
		free(busy);
		return NULL;
	}
	for (uint32_t i = p->first[nr]; i < p->first[nr + 1]; i++) {
		const struct waits_node *n = &p->chains->nodes[p->children[i]];
		uint32_t k = 0;

		while (k < found && !chains_is_same_task(threads[k].layer, &n->layer))
			k++;
		if (k == found)
			threads[found++].layer = &n->layer;
		threads[k].ns += n->total_ns;
		threads[k].busy_ns += busy[p->children[i]];
	}
	free(busy);
	if (found)
		qsort(threads, found, sizeof(*threads), by_busy_time);
	*nr_threads = found;
	return threads;
}

int chains_busiest_thread(const struct printer *p, struct busy_thread *out)
{
	uint32_t nr_threads = 0;
	struct thread *threads = threads_of(p, &nr_threads);

	if (nr_threads)
		*out = (struct busy_thread){.layer = *threads->layer, .ns = threads->ns};
	free(threads);
	return nr_threads ? 0 : -ENOENT;
}

/* Threads that did next to nothing have one line together. */
static int put_threads(struct printer *p)
{
	uint32_t nr_threads, small = 0;
	struct thread *threads = threads_of(p, &nr_threads);
	uint64_t rest = 0, busy = 0;
	SCOPED_BUF(line, MAX_OUTPUT);

	if (!threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_threads; i++)
		busy += threads[i].busy_ns;
	for (uint32_t i = 0; i < nr_threads; i++) {
		const struct thread *t = &threads[i];

		if (!i || (double)t->busy_ns > LEAST * (double)busy) {
			put_thread(p, t);
			continue;
		}
		rest += t->ns;
		if (small++ < SMALL_THREADS) {
			buf_puts(&line, small > 1 ? ", " : "");
			sanitise_puts(&line, t->layer->comm);
			buf_printf(&line, " %u", t->layer->tid);
		}
	}
	if (small) {
		buf_printf(&line, "%s: %s in all, each with less than 1%% of the work",
			   small > SMALL_THREADS ? ", ..." : "", format_time(rest).s);
		buf_putc(p->out, '\n');
		words_wrap(p->out, line.err ? "" : line.data, p->columns,
			   small == 1 ? "1 more thread: " : "more threads: ", 2);
	}
	free(threads);
	return 0;
}

static void printer_release(struct printer *p)
{
	free(p->line);
	free(p->ns);
	free(p->children);
	free(p->first);
}

static int give_subtrees(struct printer *p)
{
	uint32_t nr = p->chains->nr;
	int err = children_sort(p);

	p->whole = p->chains->total_ns;
	for (uint32_t k = err ? 0 : p->first[nr]; !err && k < p->first[nr + 1]; k++) {
		uint32_t i = p->children[k];

		if (p->line[i] == i && share_of(p, p->ns[i]) >= LEAST)
			put_subtree(p, i);
	}
	printer_release(p);
	return err;
}

int wait_subtrees_each(const struct wait_report *r, const struct waits_chains *chains,
		       wait_line_fn *fn, void *ctx)
{
	struct printer p = {.r = r, .chains = chains, .give = fn, .ctx = ctx};

	return give_subtrees(&p);
}

int wait_subtrees_text(struct buf *out, const struct wait_report *r,
		       const struct waits_chains *chains, unsigned int columns)
{
	struct printer p = {
	    .r = r, .chains = chains, .give = put_line, .out = out, .columns = columns};

	p.ctx = &p;
	return give_subtrees(&p);
}

int wait_sentence_text(struct buf *out, const struct wait_report *r,
		       const struct waits_chains *outline, const struct waits_account *account,
		       unsigned int columns)
{
	struct printer p = {.r = r, .chains = outline, .out = out, .columns = columns};
	int err = children_sort(&p);

	if (!err)
		chains_put_sentence(&p, account);
	printer_release(&p);
	return err;
}

int wait_tree_text(struct buf *out, const struct wait_report *r, const struct waits_chains *chains,
		   unsigned int columns)
{
	struct printer p = {
	    .r = r, .chains = chains, .give = put_line, .out = out, .columns = columns};
	int err = children_sort(&p);

	p.ctx = &p;
	if (!err) {
		buf_puts(out, "\n share    time times  chain: share of the thread's time, largest "
			      "first\n");
		err = put_threads(&p);
	}
	printer_release(&p);
	return err;
}
