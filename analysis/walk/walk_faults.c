// SPDX-License-Identifier: GPL-2.0-or-later
/* Page faults among the CPU time. Where a hypervisor handles a part of each fault, stack samples
 * attribute this part to the instruction that touched the page, as if the program computed. The
 * kernel counts the faults of each thread, and the collector has measured what a fault takes
 * here. */
#include <math.h>

#include "analysis/base/format.h"
#include "analysis/walk/walk_tree.h"

/* Page faults that take this part of the time of a path, or of the CPU time, are its cause. */
#define FAULTS_MOST 0.5
/* A smaller part of a thread's CPU time leaves no doubt about its code. */
#define FAULTS_DOUBT 0.3
enum { FAULTS_SEEN = 5 /* so many that samples found tell where faults happen */ };

/* Returns true if stack samples found the page faults of this node. */
static bool is_seen_fault(const struct walk *w, uint32_t node)
{
	const struct walk_self *self = w->nodes[node].self;
	const struct cause *top = self ? cause_tally_top(&self->causes[WALK_WORK]) : NULL;

	return top && top->kind == CAUSE_PAGE_FAULT;
}

/* Returns the function in which the kernel was entered. */
static uint32_t entered_from(const struct walk *w, uint32_t node)
{
	while (node && (w->nodes[node].kind == WALK_KERNEL || w->nodes[node].kind == WALK_SYSCALL))
		node = w->nodes[node].parent;
	return node;
}

/* CPU time of threads by their stack samples, and the part that page faults take of it, ns. */
struct faulting {
	double all, node;  /* of all their code, of one node itself */
	double seen, here; /* of the faults that samples found: of all, of the node's */
	double low, high;  /* page faults by their number, seen or not; at most `all` */
	double faults, cpu_ns;
	uint64_t snapshots; /* of faults that samples found */
};

static struct faulting faulting_of(const struct walk *w, const struct walk_thread *t, uint32_t node)
{
	struct faulting f = {.faults = (double)t->faults, .cpu_ns = (double)t->cpu_ns};
	double scale;

	for (uint32_t i = 0; i < t->nr; i++) {
		uint32_t leaf = t->leaf[i].node;
		double ns = (double)t->leaf[i].run_ns;

		f.all += ns;
		f.node += leaf == node ? ns : 0;
		/* one that waits for a disk takes no CPU time */
		if (!t->leaf[i].runs || !is_seen_fault(w, leaf))
			continue;
		f.seen += ns;
		f.here += entered_from(w, leaf) == node ? ns : 0;
		f.snapshots += t->leaf[i].runs;
	}
	/* samples are few: their sum differs from the CPU time */
	scale = t->cpu_ns ? f.all / f.cpu_ns : 0;
	f.low = fmin(f.faults * (double)w->fault_low_ns * scale, f.all);
	f.high = fmin(f.faults * (double)w->fault_high_ns * scale, f.all);
	f.low = fmax(f.low, f.seen);
	f.high = fmax(f.high, f.low);
	return f;
}

static void faulting_add(struct faulting *sum, const struct faulting *f)
{
	sum->all += f->all;
	sum->node += f->node;
	sum->seen += f->seen;
	sum->here += f->here;
	sum->low += f->low;
	sum->high += f->high;
	sum->faults += f->faults;
	sum->cpu_ns += f->cpu_ns;
	sum->snapshots += f->snapshots;
}

/* Returns how much of the time of the node itself `faults` take that samples did not find, if they
 * take this much of all the CPU time. Those that samples found tell where the others happen; if
 * there are too few, as many belong to the node as other code leaves over (`least`), or as it has
 * room for. */
static double unseen_here(const struct faulting *f, double faults, bool least)
{
	double unseen = faults - f->seen, other = f->all - f->seen - f->node;

	if (f->snapshots >= FAULTS_SEEN && f->seen > 0)
		unseen *= f->here / f->seen;
	else if (least)
		unseen = fmax(unseen - other, 0);
	return fmin(unseen, f->node);
}

/* Describe page faults: how many, and how much of the CPU time of their threads they take. */
static void faults_text(char *out, size_t n, const struct walk *w, const struct faulting *f)
{
	snprintf(out, n, "%.8s page faults per second of CPU time, %.32s each: %.8s to %.8s of it",
		 format_count((uint64_t)(f->faults * 1e9 / f->cpu_ns)).s,
		 format_range(w->fault_low_ns, w->fault_high_ns).s,
		 format_percent(f->low / f->all).s, format_percent(f->high / f->all).s);
}

void walk_count_faults(struct walk_making *m)
{
	const struct walk *w = m->w;
	double cpu = w->cpu_ns ? (double)w->cpu_ns : 1;

	m->r->faults_low = fmin((double)(w->faults * w->fault_low_ns) / cpu, 1);
	m->r->faults_high = fmin((double)(w->faults * w->fault_high_ns) / cpu, 1);
}

void walk_judge_faults(const struct walk_making *m, uint32_t node, struct walk_path *p)
{
	const struct walk *w = m->w;
	struct faulting sum = {0};
	double low, high;

	for (uint32_t k = 0; k < w->nr_judged; k++) {
		struct faulting f = faulting_of(w, &w->judged[k], node);

		if (f.node > 0 && f.cpu_ns > 0)
			faulting_add(&sum, &f);
	}
	if (sum.node <= 0 || sum.high < FAULTS_DOUBT * sum.all)
		return;
	low = unseen_here(&sum, sum.low, true);
	high = unseen_here(&sum, sum.high, false);
	if (high < FAULTS_MOST * sum.node)
		return;
	faults_text(p->cause.detail, sizeof(p->cause.detail), w, &sum);
	p->perhaps_faults = low < FAULTS_MOST * sum.node;
	if (low + high >= 2 * FAULTS_MOST * sum.node)
		p->cause.kind = CAUSE_PAGE_FAULT;
}
