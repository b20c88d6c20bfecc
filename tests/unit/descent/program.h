/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs and their calls, for the tests of the descent: functions with call
 * sites (direct, linkage stubs, indirect, tail; in loops, recursive, never executed, not
 * to be timed), and modes of f0 in each of which something at the end of a random path
 * takes its time. A call of f0 is a list of activations with all their times: the raw
 * record from which both the simulated kernel and the judge work.
 */
#ifndef PEAKTOP_TEST_PROGRAM_H
#define PEAKTOP_TEST_PROGRAM_H

#include <linux/futex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/descent/causes.h"
#include "analysis/session/record.h"

enum {
	MAX_FUNCTIONS = 48,
	MAX_SITES = 320,
	MAX_TARGETS = 3,
	MAX_STEPS = 14,
	MAX_MODES = 4,
	MAX_ACTS = 3000,
	ACT_BUDGET = 160, /* activations that the program makes by itself in one call */
	ACT_DEPTH = 22,
};

static uint64_t rng_state;

static uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static double uniform(void)
{
	return (double)(rng() >> 11) / 9007199254740992.0;
}

static unsigned int below(unsigned int n)
{
	uint64_t r = rng();

	return n == 1 ? 0 : (unsigned int)(r % n); /* mostly 1, and a division takes long */
}

static bool chance(double p)
{
	return uniform() < p;
}

/* Times scatter by a factor, like exp of a normal distribution. */
static uint64_t scatter(double mean, double sigma)
{
	double normal = 0;
	int i;

	for (i = 0; i < 12; i++)
		normal += uniform();
	return (uint64_t)(mean * exp((normal - 6) * sigma)) + 1;
}

struct t_site {
	struct rec_call_site rec; /* as the parser tells it */
	unsigned int nr_targets, target[MAX_TARGETS];
	double p;	     /* executed in an activation */
	unsigned int repeat; /* times in a row, at most */
};

struct t_function {
	uint64_t offset;
	unsigned int nr_sites;
	struct t_site *site;
	double own_ns, blocked_ns, p_blocked;
	bool tails; /* its last site is a tail call */
};

enum effect {
	EFFECT_OWN = 0,
	EFFECT_BLOCKED,
	EFFECT_FAULT,
	EFFECT_LOOP,
	EFFECT_PREEMPTED,
	EFFECT_RUNQUEUE,
	EFFECT_INTERRUPT,
	EFFECTS
};

/* What a mode does: down a path, and there something that takes time. */
struct culprit {
	unsigned int nr_steps;
	unsigned int site[MAX_STEPS], target[MAX_STEPS]; /* target: index of the site's */
	unsigned int end;				 /* function */
	enum effect effect;
	unsigned int loop_site, iterations; /* EFFECT_LOOP */
	bool loop_sleeps;		    /* ... of calls that do nothing else */
	double ns;
	double weight; /* among those of its mode */
};

struct mode {
	double weight;
	unsigned int nr;
	struct culprit culprit[2];
	bool both; /* in each call, not one of them */
};

struct program {
	unsigned int nr_functions;
	struct t_function function[MAX_FUNCTIONS];
	unsigned int nr_modes;
	struct mode mode[MAX_MODES];
	unsigned int asked; /* mode */
	double base_ns;	    /* a call without anything */
	uint64_t low_ns, high_ns;
	uint32_t max_depth;
	uint64_t fuse;			   /* hits of a site in one call */
	const struct culprit_sleep *sleep; /* of the culprit */
};

/* One activation, or `count` short ones of a leaf in a row. Parents come before children. */
struct activation {
	unsigned int function, parent, site; /* site: of the parent's function */
	unsigned int target;
	uint64_t count;
	uint64_t own, blocked, fault, runqueue, interrupt; /* exclusive */
	uint64_t longest;				   /* of several */
	uint64_t gross, net, slept;			   /* inclusive, filled at the end */
	bool culprit_sleep;
};

struct call {
	unsigned int nr;
	struct activation act[MAX_ACTS];
	uint64_t preempted, runqueue, interrupt; /* of the whole */
	uint64_t culprit_ns;			 /* what its mode put in */
};

/* --- making one */

static void make_site(struct program *p, unsigned int f, unsigned int i, bool odd)
{
	struct t_site *s = &p->function[f].site[i];
	unsigned int k;
	double u = uniform();

	memset(s, 0, sizeof(*s));
	s->rec.offset = p->function[f].offset + 16 + 8 * i;
	s->rec.ret = s->rec.offset + 5;
	s->rec.flags = CALL_SITE_TIMED;
	s->rec.inside_ns = 700;
	s->rec.total_ns = 1260;
	s->rec.kind = u < 0.75 ? CALLEE_DIRECT : u < 0.87 ? CALLEE_PLT : CALLEE_INDIRECT;
	s->nr_targets = s->rec.kind == CALLEE_INDIRECT ? 1 + below(MAX_TARGETS) : 1;
	for (k = 0; k < s->nr_targets; k++) {
		/* Mostly forward, so that calls end; now and then back, which is recursion. */
		if (chance(0.08) || f + 1 >= p->nr_functions)
			s->target[k] = below(p->nr_functions);
		else
			s->target[k] = f + 1 + below(p->nr_functions - f - 1);
	}
	for (k = 1; k < s->nr_targets; k++)
		if (s->target[k] == s->target[0] || s->target[k] == s->target[1 % k])
			s->nr_targets = k;
	u = uniform();
	s->p = u < 0.5 ? 1 : u < 0.7 ? 0.5 : u < 0.8 ? 0.1 : 0;
	s->repeat = 1;
	if (chance(0.15)) {
		s->rec.flags |= CALL_SITE_LOOP;
		s->repeat = 1 + below(6);
	}
	if (odd && chance(0.1))
		s->rec.flags &= ~(uint32_t)CALL_SITE_TIMED;
	if (chance(0.04)) {
		s->rec.flags = CALL_SITE_NORETURN;
		s->p = 0;
	}
	if (s->rec.kind == CALLEE_DIRECT || (s->rec.kind == CALLEE_PLT && chance(0.6)))
		s->rec.callee = (struct rec_code){1, p->function[s->target[0]].offset};
}

static void make_tail(struct t_function *f)
{
	struct t_site *s = &f->site[f->nr_sites - 1];

	if (s->rec.flags & CALL_SITE_NORETURN)
		return;
	f->tails = true;
	s->rec.ret = 0;
	s->rec.flags &= ~(uint32_t)CALL_SITE_LOOP;
	s->repeat = 1;
	s->rec.kind = s->rec.kind == CALLEE_INDIRECT ? CALLEE_TAIL_INDIRECT : CALLEE_TAIL;
	if (s->rec.kind == CALLEE_TAIL)
		s->rec.callee.module = 0; /* filled by the caller */
}

/* Runs of sites that are executed one after the other. */
static void make_blocks(struct t_function *f)
{
	unsigned int i, number = 1, length;

	for (i = 0; i < f->nr_sites; i += length) {
		unsigned int k;

		length = 1 + below(5);
		if (i + length > f->nr_sites)
			length = f->nr_sites - i;
		for (k = i; length > 1 && k < i + length; k++) {
			struct t_site *s = &f->site[k];

			if ((s->rec.flags & (CALL_SITE_LOOP | CALL_SITE_NORETURN)) || !s->rec.ret ||
			    !(s->rec.flags & CALL_SITE_TIMED))
				continue;
			s->rec.block = number;
			s->p = s->p > 0 ? 1 : 0;
		}
		number++;
	}
	/* A block is without gaps. */
	for (i = 0; i < f->nr_sites; i++)
		if (f->site[i].rec.block &&
		    (!i || f->site[i - 1].rec.block != f->site[i].rec.block) &&
		    (i + 1 == f->nr_sites || f->site[i + 1].rec.block != f->site[i].rec.block))
			f->site[i].rec.block = 0;
	for (i = 1; i < f->nr_sites; i++)
		if (f->site[i].rec.block && f->site[i - 1].rec.block == f->site[i].rec.block)
			f->site[i].p = f->site[i - 1].p;
}

static void make_function(struct program *p, unsigned int f, bool odd, bool large)
{
	struct t_function *t = &p->function[f];
	unsigned int i;

	t->nr_sites = chance(0.35) && f ? 0 : 1 + below(9);
	if (large && chance(0.15))
		t->nr_sites = 70 + below(MAX_SITES - 70);
	t->own_ns = 50 + uniform() * 1000;
	t->p_blocked = chance(0.05) ? 0.3 : 0;
	t->blocked_ns = 500 + uniform() * 2000;
	t->site = calloc(t->nr_sites + 1, sizeof(*t->site));
	for (i = 0; i < t->nr_sites; i++) {
		make_site(p, f, i, odd);
		if (t->nr_sites > 20 && chance(0.8))
			t->site[i].p = 0;
	}
	if (t->nr_sites && chance(0.12)) {
		make_tail(t);
		if (t->tails && t->site[t->nr_sites - 1].rec.kind == CALLEE_TAIL)
			t->site[t->nr_sites - 1].rec.callee = (struct rec_code){
			    1, p->function[t->site[t->nr_sites - 1].target[0]].offset};
	}
	if (chance(0.5))
		make_blocks(t);
}

/* --- executing it */

struct execution {
	const struct program *p;
	struct call *c;
	const struct culprit *follow[2]; /* culprits that are still to be met */
	unsigned int nr_own;
};

static int add_act(struct execution *x, unsigned int f, unsigned int parent, unsigned int site,
		   unsigned int target)
{
	struct activation *a;

	if (x->c->nr == MAX_ACTS)
		return -1;
	a = &x->c->act[x->c->nr];
	memset(a, 0, sizeof(*a));
	a->function = f;
	a->parent = parent;
	a->site = site;
	a->target = target;
	a->count = 1;
	a->own = scatter(x->p->function[f].own_ns, 0.2);
	if (chance(x->p->function[f].p_blocked))
		a->blocked = scatter(x->p->function[f].blocked_ns, 0.3);
	return (int)x->c->nr++;
}

static void execute_loop(struct execution *x, unsigned int at, const struct culprit *c)
{
	const struct t_function *f = &x->p->function[x->c->act[at].function];
	unsigned int leaf = f->site[c->loop_site].target[0];
	uint64_t n = (uint64_t)c->iterations * (90 + below(20)) / 100 + 2;
	double each = (double)scatter(c->ns, 0.1) / (double)n;
	int id = add_act(x, leaf, at, c->loop_site, 0);
	struct activation *a;

	if (id < 0)
		return;
	a = &x->c->act[id];
	a->count = n;
	a->own = (uint64_t)(each * (double)n);
	a->blocked = c->loop_sleeps ? a->own * 9 / 10 : 0;
	a->own -= a->blocked;
	a->culprit_sleep = c->loop_sleeps;
	x->c->culprit_ns += a->own + a->blocked;
	a->longest = (uint64_t)(each * (2 + uniform()));
}

static void apply(struct execution *x, unsigned int at, const struct culprit *c)
{
	struct activation *a = &x->c->act[at];
	uint64_t ns = scatter(c->ns, 0.1);

	if (c->effect < EFFECT_LOOP)
		x->c->culprit_ns += ns;
	switch (c->effect) {
	case EFFECT_OWN:
		a->own += ns;
		break;
	case EFFECT_BLOCKED:
		a->blocked += ns;
		a->culprit_sleep = true;
		break;
	case EFFECT_FAULT:
		a->fault += ns;
		break;
	case EFFECT_LOOP:
		execute_loop(x, at, c);
		break;
	default:
		break;
	}
}

/* `on`: bit k: this activation lies on the path of culprit k, `step` steps down. */
static void execute(struct execution *x, unsigned int at, unsigned int depth,
		    const unsigned int *on_step, unsigned int on)
{
	const struct t_function *f = &x->p->function[x->c->act[at].function];
	unsigned int i, k, r;

	for (i = 0; i < f->nr_sites; i++) {
		const struct t_site *s = &f->site[i];
		unsigned int forced = 0, target = below(s->nr_targets), times;
		unsigned int next[2] = {0, 0};

		for (k = 0; k < 2; k++)
			if ((on & 1u << k) && x->follow[k] && on_step[k] < x->follow[k]->nr_steps &&
			    x->follow[k]->site[on_step[k]] == i)
				forced |= 1u << k;
		times = chance(s->p) && x->c->nr < ACT_BUDGET && depth < ACT_DEPTH
			    ? 1 + below(s->repeat)
			    : 0;
		if (forced && !times)
			times = 1;
		for (r = 0; r < times; r++) {
			unsigned int now = 0;
			int id;

			if (!r && forced) {
				now = forced;
				for (k = 0; k < 2; k++) {
					if (!(forced & 1u << k))
						continue;
					target = x->follow[k]->target[on_step[k]];
					next[k] = on_step[k] + 1;
				}
				/* Both through one site, but to different callees: the first has
				 * it. */
				if (forced == 3 && x->follow[0]->target[on_step[0]] !=
						       x->follow[1]->target[on_step[1]]) {
					target = x->follow[0]->target[on_step[0]];
					now = 1;
				}
			}
			id = add_act(x, s->target[target], at, i, target);
			if (id < 0)
				return;
			execute(x, (unsigned int)id, depth + 1, next, now);
		}
	}
	for (k = 0; k < 2; k++) {
		if (!(on & 1u << k) || !x->follow[k] || on_step[k] != x->follow[k]->nr_steps)
			continue;
		apply(x, at, x->follow[k]);
		x->follow[k] = NULL;
	}
}

static void host_times(struct call *c, const struct culprit *k)
{
	struct activation *a = &c->act[below(c->nr)];
	uint64_t ns = scatter(k->ns, 0.1);

	if (k->effect > EFFECT_LOOP)
		c->culprit_ns += ns;
	if (k->effect == EFFECT_INTERRUPT) {
		a->interrupt += ns;
		c->interrupt += ns;
	} else if (k->effect == EFFECT_PREEMPTED || k->effect == EFFECT_RUNQUEUE) {
		a->runqueue += ns;
		c->runqueue += ns;
		if (k->effect == EFFECT_PREEMPTED)
			c->preempted += ns;
	}
}

static void sum_up(struct call *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		c->act[i].gross = c->act[i].net = c->act[i].slept = 0;
	for (i = c->nr; i-- > 0;) {
		struct activation *a = &c->act[i];

		a->gross += a->own + a->blocked + a->fault + a->runqueue + a->interrupt;
		a->net += a->own + a->blocked + a->fault;
		a->slept += a->blocked;
		if (a->count == 1)
			a->longest = a->net;
		if (i) {
			c->act[a->parent].gross += a->gross;
			c->act[a->parent].net += a->net;
			c->act[a->parent].slept += a->slept;
		}
	}
}

/* One call of f0 in the given mode; NULL: the program alone. */
static void execute_call(const struct program *p, const struct mode *m, struct call *c)
{
	struct execution x = {.p = p, .c = c};
	unsigned int k, step[2] = {0, 0}, on = 0;
	const struct culprit *did[2] = {NULL, NULL};

	c->nr = 0;
	c->preempted = c->runqueue = c->interrupt = c->culprit_ns = 0;
	for (k = 0; m && k < m->nr; k++)
		did[k] = &m->culprit[k];
	if (m && m->nr == 2 && !m->both)
		did[chance(m->culprit[0].weight)] = NULL;
	for (k = 0; k < 2; k++) {
		x.follow[k] = did[k];
		on |= did[k] ? 1u << k : 0;
	}
	add_act(&x, 0, 0, 0, 0);
	execute(&x, 0, 0, step, on);
	for (k = 0; k < 2; k++)
		if (did[k])
			host_times(c, did[k]);
	sum_up(c);
}

/* --- making its modes */

static bool leaf_loop(const struct program *p, unsigned int f, unsigned int *site)
{
	unsigned int i;

	for (i = 0; i < p->function[f].nr_sites; i++) {
		const struct t_site *s = &p->function[f].site[i];

		if ((s->rec.flags & CALL_SITE_LOOP) && (s->rec.flags & CALL_SITE_TIMED) &&
		    s->nr_targets == 1 && s->target[0] != f) {
			*site = i;
			return true;
		}
	}
	return false;
}

static void make_culprit(struct program *p, struct culprit *c, double ns)
{
	unsigned int wanted = below(12), f = 0, i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < wanted; i++) {
		const struct t_function *t = &p->function[f];
		unsigned int site;

		if (!t->nr_sites)
			break;
		site = below(t->nr_sites);
		if (t->site[site].rec.flags & CALL_SITE_NORETURN)
			break;
		c->site[i] = site;
		c->target[i] = below(t->site[site].nr_targets);
		f = t->site[site].target[c->target[i]];
		c->nr_steps++;
	}
	c->end = f;
	c->ns = ns;
	c->weight = 1;
	c->iterations = (unsigned int)exp(2 + 6 * uniform()); /* 7 to 3000 */
	c->effect = (enum effect)below(EFFECT_LOOP + 1);
	if (chance(0.2))
		c->effect = EFFECT_PREEMPTED + below(3);
	if (c->effect == EFFECT_LOOP && !leaf_loop(p, f, &c->loop_site))
		c->effect = EFFECT_OWN;
	c->loop_sleeps = chance(0.4);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The peak that is asked about: around the middle of the mode's calls. */
static void set_peak(struct program *p)
{
	struct call *c = malloc(sizeof(*c));
	uint64_t latency[41];
	unsigned int i;

	for (i = 0; i < 41; i++) {
		execute_call(p, &p->mode[p->asked], c);
		latency[i] = c->act[0].gross;
	}
	free(c);
	qsort(latency, 41, sizeof(latency[0]), by_value);
	p->low_ns = latency[20] * 2 / 3;
	p->high_ns = latency[20] * 3 / 2;
}

static void make_modes(struct program *p)
{
	struct call *c = malloc(sizeof(*c));
	unsigned int i, m;
	double ns, first;

	for (i = 0, p->base_ns = 0; i < 40; i++) {
		execute_call(p, NULL, c);
		p->base_ns += (double)c->act[0].gross / 40;
	}
	free(c);
	if (p->base_ns < 5000)
		p->base_ns = 5000;
	p->nr_modes = 2 + below(MAX_MODES - 1);
	memset(p->mode, 0, sizeof(p->mode));
	p->mode[0].weight = 0.3;
	first = p->base_ns * exp(0.5 + 2.5 * uniform()); /* times 1.6 to 20 */
	for (m = 1, ns = first; m < p->nr_modes; m++, ns *= 6) {
		struct mode *mode = &p->mode[m];

		mode->weight = 0.1;
		mode->nr = 1 + chance(0.3);
		mode->both = chance(0.4);
		for (i = 0; i < mode->nr; i++)
			make_culprit(p, &mode->culprit[i],
				     mode->both && mode->nr == 2 ? ns / 2 : ns);
		mode->culprit[0].weight = 0.3 + 0.4 * uniform();
	}
	p->asked = 1 + below(p->nr_modes - 1);
	p->mode[p->asked].weight = 0.6;
	set_peak(p);
	p->fuse = chance(0.5) ? 400 : 100000;
}

static void program_release(struct program *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_functions; i++)
		free(p->function[i].site);
}

static const struct culprit_sleep {
	struct rec_sleep sleep;
	enum cause_kind cause;
} culprit_sleeps[] = {
    {{.call = "nanosleep", .bracket = BRACKET(BRACKET_CLOCK, 0)}, CAUSE_SLEEP},
    {{.call = "fsync", .object = OBJECT_FILE}, CAUSE_IO},
    {{.call = "recvfrom", .object = OBJECT_SOCKET}, CAUSE_NETWORK},
    {{.call = "futex", .args = {8, FUTEX_WAIT, 2}}, CAUSE_LOCK},
    {{.call = "recvfrom", .object = OBJECT_LOCAL, .waker_tid = 9}, CAUSE_WAIT},
    {{.call = "mmap", .flags = SLEEP_CONTENDS}, CAUSE_LOCK},
};

static void program_make(struct program *p, uint64_t seed)
{
	unsigned int i;
	bool odd, large;

	memset(p, 0, sizeof(*p));
	rng_state = seed * 0x2545f4914f6cdd1du + 1;
	p->nr_functions = 3 + below(MAX_FUNCTIONS - 3);
	odd = chance(0.2);
	large = chance(0.2);
	for (i = 0; i < p->nr_functions; i++)
		p->function[i].offset = 0x10000 * (uint64_t)(i + 1);
	for (i = 0; i < p->nr_functions; i++)
		make_function(p, i, odd, large);
	p->max_depth = chance(0.1) ? 3 : 16;
	p->sleep = &culprit_sleeps[below(sizeof(culprit_sleeps) / sizeof(culprit_sleeps[0]))];
	make_modes(p);
}

static const struct mode *pick_mode(const struct program *p)
{
	double sum = 0, u;
	unsigned int i;

	for (i = 0; i < p->nr_modes; i++)
		sum += p->mode[i].weight;
	u = uniform() * sum;
	for (i = 0; i + 1 < p->nr_modes && u >= p->mode[i].weight; i++)
		u -= p->mode[i].weight;
	return i ? &p->mode[i] : NULL;
}

static bool in_peak(const struct program *p, const struct call *c)
{
	return c->act[0].gross >= p->low_ns && c->act[0].gross < p->high_ns;
}

#endif
