// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/keep_open.h"

#include "analysis/base/array.h"
#include "collect/functions.h"
#include "collect/keep_open_state.h"
#include "collect/modules.h"
#include "collect/process/clock.h"
#include "collect/reader.h"
#include "collect/replaced.h"
#include "collect/thread_snapshots_state.h"
#include "collect/units.h"

enum {
	LOOK_MS = 25,
	IDLE_MS = 500,	     /* between two turns while slow calls are not kept */
	REGULAR_MS = 50,     /* turns further apart may have missed a call */
	COMPLETE_MS = 10000, /* so long after that it is not said that calls are looked for */
	LOOK_PART = 500,     /* looking may take this part of one CPU, */
	CREDIT_NS = 3000000, /* and save so much of that */
	LEAST_MS = 15, /* threads that have run since then are in no slow call, as far as known */
	QUEUED_LATER_NS = 1000000,
};

/* ---- which threads */

struct looked *looked_of(struct keep_open *o, uint32_t tid)
{
	struct looked *l = &o->looked[tid % LOOKED];

	if (l->tid != tid)
		*l = (struct looked){.tid = tid};
	return l;
}

/* The time on our clock of `at` on the clock of the scheduler, or somewhat later: a call must not
 * seem longer than it is. */
static uint64_t our_time(const struct pt_task_now *now, uint64_t at)
{
	uint64_t age = now->clock_ns > at ? now->clock_ns - at : 0;

	return now_ns() - age;
}

/* When a thread that is runnable began to wait for a CPU: when it left its CPU, or later, if it has
 * slept before. */
static uint64_t woken_at(const struct pt_task_now *now, uint64_t since)
{
	if (now->state)
		return 0;
	return now->queued_ns > now->ran_ns + QUEUED_LATER_NS ? our_time(now, now->queued_ns)
							      : since;
}

static void look_task(void *ctx, const struct pt_task_now *now)
{
	struct keep_open *o = ctx;
	struct followed **f = followed_of(o, now->tid);
	struct looked *l;
	uint64_t since;

	if (f) {
		(*f)->moved |= now->switches != (*f)->found.switches;
		if (!(*f)->moved)
			(*f)->seen_ns = o->now;
	}
	if (now->on_cpu)
		return;
	l = looked_of(o, now->tid);
	if (!l->off_ns || l->off_switches != now->switches) {
		l->off_switches = now->switches;
		l->off_ns = now_ns();
	}
	if (!now->ran_ns || now->clock_ns < now->ran_ns + LEAST_MS * MS)
		return;
	if (o->now < l->rests_ns)
		return;
	if (l->switches == now->switches && o->now < l->again_ns)
		return;
	if (l->sp == now->regs[PT_REG_SP] && l->ip == now->regs[PT_REG_IP])
		return;
	/* those that have no room have their turn next */
	if (o->eligible++ < o->first || o->nr == CANDIDATES)
		return;
	l->switches = now->switches;
	l->again_ns = UINT64_MAX;
	since = our_time(now, now->ran_ns);
	o->list[o->nr++] = (struct candidate){
	    .now = *now, .looked = l, .since = since, .woken = woken_at(now, since)};
}

static void stacks_read(struct keep_open *o)
{
	struct reader_piece pieces[CANDIDATES];

	for (uint32_t i = 0; i < o->nr; i++)
		pieces[i] = (struct reader_piece){.pid = (pid_t)o->list[i].now.tgid,
						  .address = o->list[i].now.regs[PT_REG_SP],
						  .bytes = sizeof(o->list[i].stack),
						  .to = o->list[i].stack,
						  .holes = true};
	reader_memory(pieces, o->nr);
	for (uint32_t i = 0; i < o->nr; i++) {
		struct candidate *t = &o->list[i];

		t->bytes = pieces[i].got;
		replaced_restore(&t->now.replaced, t->now.regs[PT_REG_SP], t->stack, t->bytes / 8);
	}
}

/* ---- where calls of watched functions return to */

static void returns_of(struct collector *c, struct keep_open *o, const struct function *f,
		       const struct file_mapping *m)
{
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		const struct function_site *s = &f->sites[i];
		struct known_return r = {.pid = (uint32_t)m->pid, .slot = f->slot};

		if (s->site.role != SITE_RETURN || s->dead || s->site.module != m->module)
			continue;
		r.address = mapping_address(m, s->site.module, s->site.ret);
		if (r.address &&
		    array_append(o->returns, o->nr_returns, o->cap_returns, PT_SITES, r))
			return;
	}
}

/* A number that changes with the addresses. */
static uint64_t returns_version(struct collector *c)
{
	uint64_t version = c->files.mappings_version;

	for (unsigned int i = 0; i < c->functions.nr; i++) {
		const struct function *f = c->functions.list[i];
		uint64_t live = 0;

		for (unsigned int j = 0; j < f->nr_sites; j++)
			live += f->sites[j].site.role == SITE_RETURN && !f->sites[j].dead;
		version = (version * 31 + f->slot) * 31 + live;
	}
	return version;
}

/* List where calls of the watched functions return to. */
static void returns_list(struct collector *c, struct keep_open *o)
{
	const uint64_t version = returns_version(c);

	if (version == o->returns_version)
		return;
	o->returns_version = version;
	/* a thread that was in no known call may be in one of those that are known now */
	memset(o->looked, 0, sizeof(o->looked));
	o->nr_returns = 0;
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		/* frames of Go may move */
		if (function_is_go(c->functions.list[i]))
			continue;
		for (unsigned int j = 0; j < c->files.nr_mappings; j++)
			returns_of(c, o, c->functions.list[i], &c->files.mappings[j]);
	}
	known_returns_sort(o->returns, o->nr_returns);
}

/* Follow the call that the thread is in, if it is in one of a watched function. */
static void candidate_look(struct collector *c, struct keep_open *o, struct candidate *t)
{
	const struct pt_control *control = kernel_side_control(c->kernel);
	struct known_returns list = {o->returns, o->nr_returns};
	struct followed **f = followed_of(o, t->now.tid);
	struct stack_return at;
	uint64_t limit;

	if (!t->bytes) {
		t->looked->again_ns = o->now + AGAIN_MS * MS;
		return;
	}
	if (!stack_find_return(&list, t->now.tgid, t->now.regs[PT_REG_SP], t->stack, t->bytes / 8,
			       &at)) {
		t->looked->sp = t->now.regs[PT_REG_SP];
		t->looked->ip = t->now.regs[PT_REG_IP];
		/* an exception may have ended its call unseen */
		if (f)
			followed_drop(c, f);
		return;
	}
	limit = control->keep_ns[at.slot] ?: control->keep;
	if (t->since + limit > o->now)
		t->looked->again_ns = t->since + limit;
	else
		follow(c, o, t, &at);
}

/* ---- turns */

static void look(struct collector *c, struct keep_open *o)
{
	returns_list(c, o);
	o->nr = o->eligible = 0;
	if (kernel_side_tasks(c->kernel, snapshots_only_pid(c), look_task, o))
		o->missed_ns = o->now;
	if (o->eligible > o->nr)
		o->missed_ns = o->now;
	o->first = o->eligible > o->first + o->nr ? o->first + o->nr : 0;
	if (o->nr)
		stacks_read(o);
	for (uint32_t i = 0; i < o->nr; i++)
		candidate_look(c, o, &o->list[i]);
}

bool keep_open_looks(struct collector *c, uint32_t slot)
{
	const struct keep_open *o = c->keep_open;
	const struct function *f = function_by_slot(c, slot);

	return o && f && (!o->missed_ns || now_ns() > o->missed_ns + COMPLETE_MS * MS) &&
	       !function_is_go(f) &&
	       any_of(i, f->nr_sites, f->sites[i].site.role == SITE_RETURN && !f->sites[i].dead);
}

/* The CPU time of this process and its readers. */
static uint64_t cpu_used(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + reader_cpu_ns();
}

/* The time of the next turn, of which this one took so much CPU time. What calm turns do not use is
 * saved, because calls that are found take more. */
static uint64_t next_turn(struct keep_open *o, uint64_t used)
{
	if (o->turn_ns && o->now > o->turn_ns + REGULAR_MS * MS)
		o->missed_ns = o->now;
	o->credit_ns += (int64_t)((o->now - o->turn_ns) / LOOK_PART);
	if (o->credit_ns > CREDIT_NS)
		o->credit_ns = CREDIT_NS;
	o->turn_ns = o->now;
	o->credit_ns -= (int64_t)used;
	return o->now + (o->credit_ns < 0 ? (uint64_t)-o->credit_ns * LOOK_PART : 0) + LOOK_MS * MS;
}

uint64_t keep_open_turn(struct collector *c, uint64_t now)
{
	uint64_t used;

	if (c->keep_open && !c->functions.nr)
		keep_open_release(c);
	if (!c->keeping || !c->functions.nr)
		return now + IDLE_MS * MS;
	if (!c->keep_open)
		c->keep_open = calloc(1, sizeof(*c->keep_open));
	if (!c->keep_open)
		return UINT64_MAX;
	used = cpu_used();
	c->keep_open->now = now;
	look(c, c->keep_open);
	followed_misses(c, c->keep_open);
	if (keep_open_waits(c))
		units_watch_scheduler(c);
	followed_check(c, c->keep_open);
	return next_turn(c->keep_open, cpu_used() - used);
}

void keep_open_release(struct collector *c)
{
	if (!c->keep_open)
		return;
	for (uint32_t i = 0; i < FOLLOWED; i++) {
		if (c->keep_open->followed[i])
			followed_drop(c, &c->keep_open->followed[i]);
	}
	free(c->keep_open->returns);
	free(c->keep_open);
	c->keep_open = NULL;
}
