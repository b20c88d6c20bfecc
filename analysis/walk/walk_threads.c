// SPDX-License-Identifier: GPL-2.0-or-later
/* Records for each thread how long it was at each place, and for whom it waited there. */
#include <linux/futex.h>

#include "analysis/walk/walk_tree.h"

static struct walk_thread *thread_find(const struct walk *w, uint32_t tid)
{
	for (uint32_t i = 0; i < w->nr_judged; i++) {
		if (w->judged[i].tid == tid)
			return &w->judged[i];
	}
	return NULL;
}

static struct walk_thread *thread_of(struct walk *w, uint32_t tid)
{
	struct walk_thread *known = thread_find(w, tid);

	if (known)
		return known;
	if (!w->judged)
		w->judged = calloc(WALK_JUDGED, sizeof(*w->judged));
	if (!w->judged || w->nr_judged == WALK_JUDGED)
		return NULL;
	w->judged[w->nr_judged].tid = tid;
	return &w->judged[w->nr_judged++];
}

/* The algorithm "space saving": if the table is full, a new leaf replaces the one with the least
 * time. The time of the replaced leaf is not judged. */
static struct walk_leaf *leaf_of(struct walk_thread *t, uint32_t node)
{
	struct walk_leaf *lightest = &t->leaf[0];

	for (uint32_t i = 0; i < t->nr; i++) {
		struct walk_leaf *l = &t->leaf[i];

		if (l->node == node)
			return l;
		if (l->all_ns < lightest->all_ns)
			lightest = l;
	}
	if (t->nr < WALK_LEAVES)
		lightest = &t->leaf[t->nr++];
	*lightest = (struct walk_leaf){.node = node};
	return lightest;
}

/* Returns true for an epoll without a timeout. */
static bool waits_without_end(const struct rec_thread_snapshot *snapshot)
{
	const char *call = snapshot->sleep.call;

	if (!call || strncmp(call, "epoll", 5) != 0)
		return false;
	/* the timeout of epoll_pwait2() is a pointer, of the others a number */
	return strcmp(call, "epoll_pwait2") ? (int32_t)snapshot->args[3] < 0 : !snapshot->args[3];
}

/* Returns true if only a thread of the same process can end the wait: not what also ends by itself
 * after a time, nor what the kernel ends, as it does for inotify. */
static bool ends_inside(const struct rec_thread_snapshot *snapshot, enum wait_kind kind)
{
	const struct rec_sleep *s = &snapshot->sleep;

	bool event = s->object == OBJECT_EVENT && s->name && !strcmp(s->name, "an eventfd");

	return kind == WAIT_JOIN || (kind == WAIT_MESSAGE && event) ||
	       (kind == WAIT_EVENTS && event && waits_without_end(snapshot)) ||
	       ((kind == WAIT_CONDITION || kind == WAIT_LOCK) && s->args[1] & FUTEX_PRIVATE_FLAG &&
		!snapshot->args[3]);
}

/* A wait that looks idle: who may end it. */
static void leaf_note_idle(struct walk_leaf *l, const struct rec_thread_snapshot *snapshot,
			   enum wait_kind kind)
{
	enum awaits of = (enum awaits)snapshot->awaits;

	l->idle_ns += snapshot->weight_ns;
	l->awaits_own = of == AWAITS_OWN;
	l->awaits_pair = of == AWAITS_PAIR;
	l->doubtful = of == AWAITS_CHILDREN || kind == WAIT_FIFO_WRITER || kind == WAIT_URING ||
		      kind == WAIT_SEMAPHORE || (kind == WAIT_CHILD && !snapshot->sleep.waker[0]);
	l->owed_ns += of == AWAITS_OWED ? snapshot->weight_ns : 0;
	l->serves = snapshot->serves || of == AWAITS_OTHERS || of == AWAITS_OWED;
	l->inside = ends_inside(snapshot, kind);
	l->for_thread = l->inside || kind == WAIT_CONDITION || kind == WAIT_LOCK ||
			kind == WAIT_SEMAPHORE || l->awaits_own || (l->awaits_pair && !l->serves);
	l->for_clients =
	    kind == WAIT_CONNECTION || (kind == WAIT_EVENTS && !l->awaits_own && !l->awaits_pair);
}

void walk_note_thread(struct walk *w, const struct rec_thread_snapshot *snapshot,
		      enum walk_class class, uint32_t node)
{
	struct walk_leaf *l;
	struct walk_thread *t = thread_of(w, snapshot->tid);

	if (!t)
		return;
	l = leaf_of(t, node);
	l->all_ns += snapshot->weight_ns;
	if (snapshot->kind == WITNESS_RUN) {
		l->run_ns += snapshot->weight_ns;
		l->runs++;
		t->runs++;
	} else if (class == WALK_SLEEP) {
		t->sleep_ns += snapshot->weight_ns;
		l->sleep_ns += snapshot->weight_ns;
	} else if (class == WALK_IDLE) {
		leaf_note_idle(l, snapshot, wait_kind_of_snapshot(snapshot));
	}
}

void walk_note_times(struct walk *w, const struct rec_thread *thread)
{
	struct walk_thread *t = thread_find(w, thread->tid);

	if (!t)
		return;
	t->cpu_ns += thread->cpu_ns;
	t->wall_ns += thread->wall_ns;
	t->runqueue_ns += thread->runqueue_ns;
	t->faults += thread->faults;
}
