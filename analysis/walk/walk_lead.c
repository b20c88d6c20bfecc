// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides whether an answer begins with what the threads work on, sleep for, or are idle in. */
#include "analysis/walk/walk_tree.h"

/* Share of one thread: a program with less work than this is idle or asleep. */
#define BUSY_LEAST 0.1
/* The same of the time waiting for a CPU alone. */
#define QUEUED_LEAST 0.5
/* Idle time that is less than this share of the time asleep does not lead the answer. */
#define IDLE_LEAST 0.1
/* The same unit: so much sleep paces threads that wait for each other for as much time. */
#define PACED_LEAST 0.5

/* Returns the time, ns, in which threads waited for other threads of a program that nobody outside
 * gives work to: no thread waits for clients, and none has left another wait that something outside
 * ends. Waits that no thread has left do not count: nobody had work for these threads. */
static uint64_t waits_inside(const struct walk_making *m)
{
	const struct walk *w = m->w;
	uint64_t ns = 0;

	/* there may be threads that are not known */
	if (w->nr_judged == WALK_JUDGED)
		return 0;
	for (uint32_t k = 0; k < w->nr_judged; k++) {
		const struct walk_thread *t = &w->judged[k];

		for (uint32_t i = 0; i < t->nr; i++) {
			const struct walk_leaf *l = &t->leaf[i];

			if (!l->idle_ns || m->blocked_own[l->node])
				continue;
			if (!l->inside && (l->for_clients || t->cpu_ns))
				return 0;
			ns += l->inside && t->cpu_ns ? l->idle_ns : 0;
		}
	}
	return ns;
}

/* Returns true if the threads of a program only wait for each other, while one of them sleeps: they
 * are not idle, they wait for the one that sleeps. `span`: the time of one thread, ns. */
static bool is_paced_by_sleep(const struct walk_making *m, double span)
{
	return m->r->share[WALK_SLEEP] * m->total >= PACED_LEAST * span &&
	       (double)waits_inside(m) >= PACED_LEAST * span;
}

void walk_rank_classes(struct walk_making *m, double span, unsigned int rank[WALK_CLASSES])
{
	struct walk_result *r = m->r;
	const double *share = r->share;
	/* waiting for a CPU is what the host does to a program, idle or not */
	double queued = share[WALK_WORK] > 0 ? r->busy * r->runqueue / share[WALK_WORK] : 0;
	bool busy =
	    r->busy - queued >= BUSY_LEAST || queued >= QUEUED_LEAST || share[WALK_WORK] >= 0.5;

	/* A timed sleep is what the program asked for: it leads only if the program neither works
	 * nor waits for anything. */
	if (busy)
		r->lead = WALK_WORK;
	else
		r->lead = share[WALK_IDLE] < IDLE_LEAST * share[WALK_SLEEP] ||
				  share[WALK_IDLE] * m->total < walk_sleep_in_requests(m->w) ||
				  is_paced_by_sleep(m, span)
			      ? WALK_SLEEP
			      : WALK_IDLE;
	if (share[r->lead] <= 0)
		r->lead = share[WALK_WORK] > 0 ? WALK_WORK : WALK_SLEEP;
	for (int c = 0; c < WALK_CLASSES; c++)
		rank[c] = (enum walk_class)c == r->lead ? 0 : 1 + (unsigned int)c;
}

const struct walk_path *walk_main_sleep(const struct walk_result *r)
{
	const struct walk_path *most = NULL;
	bool mostly = r->share[WALK_SLEEP] > 0.5;

	if (!r->nr_paths || r->paths[0].class == WALK_SLEEP)
		return NULL;
	for (unsigned int i = 0; i < r->nr_paths; i++) {
		const struct walk_path *p = &r->paths[i];
		/* the first thread may serve requests, while the others only help it */
		bool main = p->main_thread > 0.5 && p->share * r->threads > 0.5;

		if (p->class == WALK_SLEEP && (mostly || main) && (!most || p->share > most->share))
			most = p;
	}
	return most;
}

bool walk_unsure(const struct walk_result *r)
{
	return r->lead == WALK_IDLE && r->unsure * r->threads >= 0.5;
}

const struct walk_path *walk_main_unsure(const struct walk_result *r)
{
	const struct walk_path *most = NULL;

	if (!r->nr_paths || r->paths[0].unsure || !walk_unsure(r))
		return NULL;
	for (unsigned int i = 1; i < r->nr_paths; i++) {
		const struct walk_path *p = &r->paths[i];

		if (p->unsure && (!most || p->share > most->share))
			most = p;
	}
	return most;
}
