/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer by brute force: from the raw activations of all in-peak calls, with
 * every function's callees seen, no tree of fnodes, no windows, no arming. Shares no
 * code with analysis/descent/; paths are strings.
 *
 * A candidate whose votes lie close to the threshold (a third below to a half above)
 * may be kept or not: twenty to sixty calls cannot tell.
 */
#ifndef PEAKTOP_TEST_JUDGE_H
#define PEAKTOP_TEST_JUDGE_H

#include "tests/unit/descent/program.h"

enum { PATH_TEXT = 320, MAX_ENTRIES = 20000, MAX_LEAVES = 64, JUDGE_HASH = 1 << 15 };

enum judged { J_SELF = 0, J_BLOCKED, J_FAULT, J_PREEMPTED, J_RUNQUEUE, J_INTERRUPT, J_KINDS };

/* All that is counted for one path, a string of sites and callees. */
struct entry {
	char path[PATH_TEXT];
	int parent; /* entry, -1: f0 */
	unsigned int function, depth;
	double votes;	      /* for it, in its caller */
	double self[J_KINDS]; /* for what it takes itself */
	double own_ns, loop_ns, untimed_ns;
	double time; /* inclusive, in all calls */
};

struct judge {
	const struct program *p;
	unsigned int nr;
	struct entry *entry;
	int *hash;
	uint64_t calls;
	double latency, culprit;
};

static void judge_init(struct judge *j, const struct program *p)
{
	unsigned int i;

	j->p = p;
	j->nr = 0;
	j->calls = 0;
	j->latency = j->culprit = 0;
	j->entry = malloc(MAX_ENTRIES * sizeof(*j->entry));
	j->hash = malloc(JUDGE_HASH * sizeof(*j->hash));
	for (i = 0; i < JUDGE_HASH; i++)
		j->hash[i] = -1;
}

static void judge_release(struct judge *j)
{
	free(j->entry);
	free(j->hash);
}

static int judge_entry(struct judge *j, int parent, uint64_t site, unsigned int function)
{
	char path[PATH_TEXT];
	uint32_t h = 2166136261u;
	const char *s;

	if (snprintf(path, sizeof(path), "%s>%x.%x", parent < 0 ? "" : j->entry[parent].path,
		     (unsigned int)(site >> 3), function) >= (int)sizeof(path))
		return -1;
	for (s = path; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	for (h %= JUDGE_HASH; j->hash[h] >= 0; h = (h + 1) % JUDGE_HASH)
		if (!strcmp(j->entry[j->hash[h]].path, path))
			return j->hash[h];
	if (j->nr == MAX_ENTRIES)
		return -1;
	j->hash[h] = (int)j->nr;
	memset(&j->entry[j->nr], 0, sizeof(*j->entry));
	memcpy(j->entry[j->nr].path, path, sizeof(path));
	j->entry[j->nr].parent = parent;
	j->entry[j->nr].function = function;
	j->entry[j->nr].depth = parent < 0 ? 0 : j->entry[parent].depth + 1;
	return (int)j->nr++;
}

/* Halve both until the larger is 1: then the other is 1 too, or not of this doubling. */
static bool as_large(uint64_t a, uint64_t largest)
{
	if (!a)
		return false;
	while (largest > 1) {
		largest /= 2;
		a /= 2;
	}
	return a == 1;
}

struct group {
	unsigned int site, function;
	uint64_t longest, sum, slept;
	unsigned int longest_act;
};

/* Of short ones in a row each sleeps its part. */
static uint64_t slept_in_longest(const struct activation *a)
{
	return a->count > 1 ? (uint64_t)((double)a->slept * (double)a->longest / (double)a->net)
			    : a->slept;
}

static void judge_activation(struct judge *j, const struct call *c, unsigned int at, int entry)
{
	const struct t_function *f = &j->p->function[c->act[at].function];
	struct group group[64];
	unsigned int nr = 0, i, k;
	uint64_t self = c->act[at].own, loop = 0, blocked = c->act[at].blocked;
	uint64_t fault = c->act[at].fault, largest = 0, untimed = 0, value[J_KINDS] = {0};

	if (c->act[at].count > 1) { /* short ones in a row: one of them */
		blocked = slept_in_longest(&c->act[at]);
		self = c->act[at].longest - blocked;
		fault = 0;
	}
	if (j->entry[entry].depth >= j->p->max_depth && f->nr_sites) {
		self = c->act[at].net;
		blocked = fault = 0;
	}
	for (i = at + 1; i < c->nr && j->entry[entry].depth < j->p->max_depth; i++) {
		const struct activation *a = &c->act[i];

		if (a->parent != at)
			continue;
		if (!(f->site[a->site].rec.flags & CALL_SITE_TIMED)) {
			untimed += a->net;
			continue;
		}
		for (k = 0; k < nr; k++)
			if (group[k].site == a->site && group[k].function == a->function)
				break;
		if (k == 64)
			continue;
		if (k == nr)
			group[nr++] = (struct group){.site = a->site, .function = a->function};
		group[k].sum += a->net;
		group[k].slept += a->slept;
		if (a->longest > group[k].longest) {
			group[k].longest = a->longest;
			group[k].longest_act = i;
		}
	}
	for (k = 0; k < nr; k++) {
		uint64_t slept = group[k].slept - slept_in_longest(&c->act[group[k].longest_act]);

		loop += group[k].sum - group[k].longest - slept;
		blocked += slept;
		if (group[k].longest > largest)
			largest = group[k].longest;
	}
	value[J_SELF] = self + loop + untimed;
	value[J_BLOCKED] = blocked;
	value[J_FAULT] = fault;
	if (!at) {
		value[J_PREEMPTED] = c->preempted;
		value[J_RUNQUEUE] = c->runqueue - c->preempted;
		value[J_INTERRUPT] = c->interrupt;
	}
	/* What the host takes is told beside what the program does, not in its place. */
	for (k = 0; k < J_PREEMPTED; k++)
		if (value[k] > largest)
			largest = value[k];
	for (k = 0; k < J_KINDS; k++)
		j->entry[entry].self[k] +=
		    as_large(value[k], largest) || (k >= J_PREEMPTED && value[k] > largest);
	if (as_large(value[J_SELF], largest)) {
		j->entry[entry].own_ns += (double)self;
		j->entry[entry].loop_ns += (double)loop;
		j->entry[entry].untimed_ns += (double)untimed;
	}
	for (k = 0; k < nr; k++) {
		int e;

		if (!as_large(group[k].longest, largest))
			continue;
		e = judge_entry(j, entry, f->site[group[k].site].rec.offset, group[k].function);
		if (e < 0)
			continue;
		j->entry[e].votes++;
		j->entry[e].time += (double)group[k].sum;
		judge_activation(j, c, group[k].longest_act, e);
	}
}

static void judge_call(struct judge *j, const struct call *c)
{
	int root = judge_entry(j, -1, 0, 0);

	j->calls++;
	j->latency += (double)c->act[0].gross;
	j->culprit += (double)c->culprit_ns;
	judge_activation(j, c, 0, root);
}

/* --- the answer */

struct leaf {
	int entry;
	enum judged kind;
	bool required; /* else: may be there */
};

struct verdict {
	unsigned int nr;
	struct leaf leaf[MAX_LEAVES];
};

static void judge_walk(const struct judge *j, int entry, bool required, struct verdict *v)
{
	const struct entry *e = &j->entry[entry];
	double largest = 0, part;
	unsigned int i;

	for (i = 0; i < J_PREEMPTED; i++)
		largest = e->self[i] > largest ? e->self[i] : largest;
	for (i = 0; i < j->nr; i++)
		if (j->entry[i].parent == entry && j->entry[i].votes > largest)
			largest = j->entry[i].votes;
	for (i = 0; i < J_KINDS; i++) {
		double self_ns = e->own_ns + e->loop_ns + e->untimed_ns;

		part = largest > 0 ? e->self[i] / largest : e->self[i] > 0;
		/* what takes a fair part of the time may be told whatever its votes */
		if ((part > 0.33 || (!entry && i >= J_PREEMPTED) ||
		     (e->self[i] > 0 && (!required || e->time > 0.12 * j->latency))) &&
		    v->nr < MAX_LEAVES)
			v->leaf[v->nr++] = (struct leaf){
			    entry, (enum judged)i,
			    required && part > 0.75 && e->self[i] > 0.2 * (double)j->calls &&
				(i != J_SELF || self_ns > 0.1 * j->latency)};
	}
	for (i = 0; i < j->nr && largest > 0; i++) {
		part = j->entry[i].votes / largest;
		/* what takes next to nothing of the time need not be told */
		if (j->entry[i].parent == entry &&
		    (part > 0.33 || j->entry[i].time > 0.12 * j->latency))
			judge_walk(j, (int)i,
				   required && part > 0.75 && j->entry[i].time > 0.06 * j->latency,
				   v);
	}
}

static void judge_answer(const struct judge *j, struct verdict *v)
{
	v->nr = 0;
	if (j->nr)
		judge_walk(j, 0, true, v);
}

#endif
