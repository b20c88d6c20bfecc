// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads that a walk follows, and of which of them the stacks are read. */

#include "analysis/base/array.h"
#include "collect/thread_snapshots_state.h"

struct snapshot_thread *table_find(struct thread_snapshots *l, uint32_t tid)
{
	uint32_t i = l->bucket[tid % BUCKETS];

	while (i && l->threads[i - 1].now.tid != tid)
		i = l->threads[i - 1].next;
	return i ? &l->threads[i - 1] : NULL;
}

struct snapshot_thread *table_add(struct thread_snapshots *l, const struct pt_task_now *now)
{
	struct snapshot_thread *t;
	uint32_t i = 0;

	if (l->nr_threads == MAX_THREADS)
		return NULL;
	while (l->threads[(l->nr_threads + i) % MAX_THREADS].used)
		i++;
	t = &l->threads[(l->nr_threads + i) % MAX_THREADS];
	*t = (struct snapshot_thread){
	    .used = true, .now = *now, .next = l->bucket[now->tid % BUCKETS]};
	l->bucket[now->tid % BUCKETS] = (uint32_t)(t - l->threads) + 1;
	l->nr_threads++;
	if (l->slots < t - l->threads + 1)
		l->slots = (uint32_t)(t - l->threads) + 1;
	return t;
}

static void stack_free(struct thread_snapshots *l, struct snapshot_thread *t)
{
	l->nr_stacks -= t->stack != NULL;
	free(t->stack);
	free(t->wait);
	t->stack = NULL;
	t->wait = NULL;
}

void table_drop(struct thread_snapshots *l, struct snapshot_thread *t)
{
	uint32_t *link = &l->bucket[t->now.tid % BUCKETS], index = (uint32_t)(t - l->threads) + 1;

	while (*link && *link != index)
		link = &l->threads[*link - 1].next;
	*link = t->next;
	stack_free(l, t);
	*t = (struct snapshot_thread){0};
	l->nr_threads--;
}

void table_need_stack(struct thread_snapshots *l, struct snapshot_thread *t)
{
	if (t->stack)
		return;
	t->stack = malloc(SNAPSHOT_STACK);
	l->nr_stacks += t->stack != NULL;
}

void table_release(struct thread_snapshots *l)
{
	free(l->members);
	free(l->left);
}

/* ---- crowds */

/* Another order in each scan, so that over time each thread of a crowd has its turn. */
static uint64_t order_of(const struct thread_snapshots *l, const struct snapshot_thread *t)
{
	return (t->now.tid + (uint64_t)l->scan * 0x10001) * 0x9e3779b97f4a7c15ull;
}

static void member_add(struct thread_snapshots *l, uint32_t i)
{
	struct snapshot_thread *t = &l->threads[i];

	if (!t->used || t->scan != l->scan || !t->now.state)
		return;
	(void)array_append(l->members, l->nr_members, l->cap_members, 2 * MAX_THREADS,
			   (struct crowd_member){.place = crowd_place(&t->now),
						 .order = order_of(l, t),
						 .index = i,
						 .waited = t->waited,
						 .read = t->held && !t->joined});
}

/* Threads that are not asleep any more keep no stack if other threads lack room for theirs. */
static void stacks_make_room(struct thread_snapshots *l)
{
	for (uint32_t i = 0; l->nr_stacks > MAX_STACKS - MAX_MOVING && i < l->slots; i++) {
		if (!l->threads[i].held || l->threads[i].joined)
			stack_free(l, &l->threads[i]);
	}
}

void crowd_turn(struct thread_snapshots *l)
{
	size_t to_read;

	l->nr_members = l->moving = 0;
	for (uint32_t i = 0; i < l->slots; i++)
		member_add(l, i);
	for (uint32_t i = 0; i < l->nr_left; i++)
		(void)array_append(l->members, l->nr_members, l->cap_members, 2 * MAX_THREADS,
				   l->left[i]);
	l->nr_left = 0;
	to_read = crowds_choose(l->members, l->nr_members);
	stacks_make_room(l);
	for (uint32_t i = 0; i < l->nr_members; i++) {
		struct crowd_member *m = &l->members[i];
		struct snapshot_thread *t = &l->threads[m->index];

		if (m->gone || m->read)
			continue;
		if (i < to_read && l->moving < MAX_MOVING && l->nr_stacks < MAX_STACKS) {
			l->list[l->moving++] = m->index;
			t->waited = 0;
			t->joined = false;
			m->read = true;
		} else if (i < to_read) {
			t->waited++;
		} else if (!t->joined) {
			t->joined = t->held = true;
			t->pending = t->carried;
			t->carried = 0;
		}
		m->joined = t->joined;
	}
}

void crowd_tell(struct thread_snapshots *l)
{
	for (uint32_t i = 0; i < l->nr_members; i++) {
		struct crowd_member *m = &l->members[i];

		if (m->joined)
			m->ns = l->threads[m->index].pending;
	}
	crowds_spread(l->members, l->nr_members);
	for (uint32_t i = 0; i < l->nr_members; i++) {
		const struct crowd_member *m = &l->members[i];
		struct snapshot_thread *t = &l->threads[m->index];

		if (m->joined) {
			t->joined_ns += t->pending - m->ns;
			t->pending = m->ns;
		} else if (m->read) {
			t->pending += m->ns;
		}
	}
}

void crowd_leave(struct thread_snapshots *l, struct snapshot_thread *t)
{
	if (t->joined && t->pending &&
	    !array_append(l->left, l->nr_left, l->cap_left, MAX_THREADS,
			  (struct crowd_member){
			      .place = crowd_place(&t->now), .gone = true, .ns = t->pending}))
		t->joined_ns += t->pending;
	if (t->joined)
		t->pending = 0;
}
