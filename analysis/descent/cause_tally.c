// SPDX-License-Identifier: GPL-2.0-or-later
/* Adds up the time of causes, and names the task that had the CPU for most of it. */
#include "analysis/descent/causes.h"

enum {
	ALONE_PERCENT = 90, /* from this percentage on, one task counts as the only one */
	NAMED_PERCENT = 25, /* a task with less of the time is not named */
};

static bool same(const struct cause *a, const struct cause *b)
{
	return a->kind == b->kind && a->wait == b->wait && !strcmp(a->name, b->name);
}

/* Keeps the detail that most of the entry's time has, if one has more than half of it (Boyer and
 * Moore, 1981): the first wait may be an odd one. */
static void vote_for_detail(struct cause_entry *e, const struct cause *cause, uint64_t ns)
{
	if (!strcmp(e->cause.detail, cause->detail)) {
		e->lead_ns += ns;
	} else if (e->lead_ns >= ns) {
		e->lead_ns -= ns;
	} else {
		e->lead_ns = ns - e->lead_ns;
		e->cause = *cause;
	}
}

/* The time of the cause itself, without that of causes that it has replaced. */
static uint64_t measured_ns(const struct cause_entry *e)
{
	return e->ns - e->inherited_ns;
}

/* Is it a wait for a lock that whoever ended it had until then? */
static bool is_released(const struct cause *c)
{
	return c->kind == CAUSE_LOCK && !wait_kind_info(c->wait)->exact && c->ender == ENDER_TASK &&
	       c->tid;
}

static void add_holder(struct cause_tally *t, uint32_t tid, uint64_t lock, bool differ)
{
	uint32_t i = 0;

	if (!t->nr_holders)
		t->lock = lock;
	t->locks_differ |= differ || !lock || lock != t->lock;
	while (i < t->nr_holders && t->holder[i] != tid)
		i++;
	if (i == t->nr_holders && i < CAUSE_HOLDERS)
		t->holder[t->nr_holders++] = tid;
}

void cause_tally_add(struct cause_tally *t, const struct cause *cause, uint64_t ns)
{
	unsigned int i, lightest = 0;

	if (is_released(cause))
		add_holder(t, cause->tid, cause->lock, false);
	for (i = 0; i < t->nr; i++) {
		if (same(&t->entry[i].cause, cause)) {
			t->entry[i].ns += ns;
			vote_for_detail(&t->entry[i], cause, ns);
			return;
		}
		if (t->entry[i].ns < t->entry[lightest].ns)
			lightest = i;
	}
	if (t->nr < CAUSE_NAMES) {
		t->entry[t->nr].cause = *cause;
		t->entry[t->nr].lead_ns = ns;
		t->entry[t->nr++].ns = ns;
		return;
	}
	/* Space saving: the new cause replaces the lightest and inherits its weight. */
	t->more = true;
	t->entry[lightest].inherited_ns = t->entry[lightest].ns;
	t->entry[lightest].cause = *cause;
	t->entry[lightest].ns += ns;
	t->entry[lightest].lead_ns = ns;
}

void cause_tally_move(struct cause_tally *t, const struct cause *from, const struct cause *to,
		      uint64_t ns)
{
	unsigned int i = 0;

	while (i < t->nr && !same(&t->entry[i].cause, from))
		i++;
	if (i == t->nr || measured_ns(&t->entry[i]) < ns)
		return;
	t->entry[i].ns -= ns;
	if (t->entry[i].lead_ns > t->entry[i].ns)
		t->entry[i].lead_ns = t->entry[i].ns;
	if (!t->entry[i].ns)
		t->entry[i] = t->entry[--t->nr];
	cause_tally_add(t, to, ns);
}

void cause_tally_join(struct cause_tally *t, const struct cause_tally *from, enum cause_kind kind)
{
	for (unsigned int i = 0; i < from->nr; i++)
		if (kind == CAUSE_KINDS || from->entry[i].cause.kind == kind)
			cause_tally_add(t, &from->entry[i].cause, from->entry[i].ns);
	for (uint32_t i = 0; i < from->nr_holders; i++)
		if (kind == CAUSE_KINDS || kind == CAUSE_LOCK)
			add_holder(t, from->holder[i], from->lock, from->locks_differ);
}

/* Says in the detail of `c` that it had the CPU for `percent` of the time, and who had it
 * otherwise: `tasks` tasks ran, `c` among them unless it is the hypervisor. `steals`: the
 * hypervisor took much of the time. */
static void tell_others(struct cause *c, unsigned int tasks, bool steals, double percent)
{
	const char *plural = tasks == 1 ? "" : "s";

	if (cause_is_steal(c))
		snprintf(c->detail, sizeof(c->detail),
			 "steal time, %.0f%% of that time; %u task%s ran", percent, tasks, plural);
	else
		snprintf(c->detail, sizeof(c->detail),
			 "%u task%s ran; this one ran for %.0f%% of that time%s", tasks, plural,
			 percent, steals ? "; the hypervisor took the CPU, too" : "");
}

/* Puts the number of tasks in the place of a name: none of them ran for more than `percent`. */
static void tell_number(struct cause *c, unsigned int tasks, bool more, bool steals, double percent)
{
	enum cause_kind kind = c->kind;

	*c = (struct cause){.kind = kind};
	snprintf(c->name, sizeof(c->name), "%s%u task%s%s", more ? "at least " : "", tasks,
		 tasks == 1 ? "" : "s", steals ? " and the hypervisor" : "");
	snprintf(c->detail, sizeof(c->detail), "none of them for more than %.0f%% of that time",
		 percent);
}

/* The tasks of one kind in a tally. */
struct tasks {
	uint64_t all, named, steal; /* time */
	unsigned int nr;	    /* without the hypervisor */
	uint64_t top_ns;	    /* measured time of the first of them */
	const struct cause *top;
};

static void count_tasks(const struct cause_tally *t, enum cause_kind kind, struct tasks *out)
{
	*out = (struct tasks){0};
	for (unsigned int i = 0; i < t->nr; i++) {
		const struct cause_entry *e = &t->entry[i];

		if (e->cause.kind != kind)
			continue;
		out->all += e->ns;
		if (!e->cause.name[0])
			continue;
		out->named += e->ns;
		if (cause_is_steal(&e->cause))
			out->steal += measured_ns(e);
		else
			out->nr++;
		if (measured_ns(e) > out->top_ns) {
			out->top_ns = measured_ns(e);
			out->top = &e->cause;
		}
	}
}

void cause_tally_tasks(const struct cause_tally *t, enum cause_kind kind, struct cause *out)
{
	struct tasks tasks;
	double percent;
	bool steals;

	count_tasks(t, kind, &tasks);
	*out = tasks.top ? *tasks.top : (struct cause){.kind = kind};
	/* a quota or a stop has no task that ran */
	if (!tasks.top || (kind != CAUSE_PREEMPTION && kind != CAUSE_RUN_QUEUE))
		return;
	percent = 100 * (double)tasks.top_ns / (double)tasks.all;
	steals = tasks.steal * 100 > tasks.named * (100 - ALONE_PERCENT);
	if (tasks.named * 100 < tasks.all * NAMED_PERCENT)
		*out = (struct cause){.kind = kind};
	else if (percent < NAMED_PERCENT)
		tell_number(out, tasks.nr, t->more, steals, percent);
	else if (tasks.top_ns * 100 < tasks.named * ALONE_PERCENT)
		tell_others(out, tasks.nr, steals, percent);
	else if (2 * tasks.top_ns < tasks.all)
		snprintf(out->detail + strlen(out->detail),
			 sizeof(out->detail) - strlen(out->detail),
			 "%sfor %.0f%% of that time; the other tasks are not known",
			 out->detail[0] ? ", " : "", percent);
}

const struct cause *cause_tally_top(const struct cause_tally *t)
{
	unsigned int i, top = 0;

	for (i = 1; i < t->nr; i++)
		if (measured_ns(&t->entry[i]) > measured_ns(&t->entry[top]))
			top = i;
	return t->nr ? &t->entry[top].cause : NULL;
}

void cause_tally_lock(const struct cause_tally *t, struct cause *out)
{
	const struct cause *top = cause_tally_top(t);
	uint64_t all = 0, named = 0;

	*out = top ? *top : (struct cause){.kind = CAUSE_LOCK};
	if (!top || !is_released(top) || t->nr_holders < 2)
		return;
	for (unsigned int i = 0; i < t->nr; i++) {
		if (t->entry[i].cause.wait != top->wait)
			continue;
		all += t->entry[i].ns;
		if (&t->entry[i].cause == top)
			named = measured_ns(&t->entry[i]);
	}
	snprintf(out->detail, sizeof(out->detail),
		 "%s%u threads had %s; %s was the last one in %.0f%% of that time",
		 t->nr_holders == CAUSE_HOLDERS ? "at least " : "", t->nr_holders,
		 t->locks_differ ? "the locks waited for here" : "it in turn", top->name,
		 100 * (double)named / (double)all);
}
