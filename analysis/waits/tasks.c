// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/tasks.h"

#include "analysis/base/array.h"

enum { FIRST_ROOM = 1024 };

int tasks_init(struct tasks *t, uint32_t max)
{
	uint32_t buckets = 1024;

	*t = (struct tasks){.max = max < FIRST_ROOM ? FIRST_ROOM : max, .cap = FIRST_ROOM};
	while (buckets < t->max)
		buckets *= 2;
	t->mask = buckets - 1;
	t->task = calloc(t->cap, sizeof(*t->task));
	t->by_tid = calloc(buckets, sizeof(*t->by_tid));
	t->by_pid = calloc(buckets, sizeof(*t->by_pid));
	if (!t->task || !t->by_tid || !t->by_pid) {
		tasks_release(t);
		return -ENOMEM;
	}
	t->nr = FIRST_TASK;
	t->task[OTHER_TASKS].tid = UINT32_MAX;
	return 0;
}

void tasks_release(struct tasks *t)
{
	for (uint32_t i = 0; t->task && i < t->nr; i++)
		free(t->task[i].pending);
	free(t->task);
	free(t->by_tid);
	free(t->by_pid);
	*t = (struct tasks){0};
}

static uint32_t *bucket(uint32_t *table, uint32_t mask, uint32_t id)
{
	return &table[(id * 0x9e3779b1u >> 7) & mask];
}

uint32_t tasks_find(const struct tasks *t, uint32_t tid, uint64_t start_ns)
{
	if (!tid)
		return IDLE_TASK;
	for (uint32_t i = *bucket(t->by_tid, t->mask, tid); i; i = t->task[i].next) {
		if (t->task[i].tid == tid && t->task[i].start_ns == start_ns)
			return i;
	}
	return NO_TASK;
}

uint32_t tasks_find_tid(const struct tasks *t, uint32_t tid)
{
	if (!tid)
		return IDLE_TASK;
	for (uint32_t i = *bucket(t->by_tid, t->mask, tid); i; i = t->task[i].next) {
		if (t->task[i].tid == tid && !t->task[i].dead_ns)
			return i;
	}
	return NO_TASK;
}

uint32_t tasks_find_at(const struct tasks *t, uint32_t tid, uint64_t at_ns)
{
	for (uint32_t i = *bucket(t->by_tid, t->mask, tid); i; i = t->task[i].next) {
		if (t->task[i].tid == tid && t->task[i].birth_ns <= at_ns &&
		    (!t->task[i].dead_ns || t->task[i].dead_ns >= at_ns))
			return i;
	}
	return NO_TASK;
}

static void chain(struct tasks *t, uint32_t i)
{
	uint32_t *first = bucket(t->by_tid, t->mask, t->task[i].tid);

	t->task[i].next = *first;
	*first = i;
}

static void unchain(struct tasks *t, uint32_t i)
{
	uint32_t *link = bucket(t->by_tid, t->mask, t->task[i].tid);

	while (*link && *link != i)
		link = &t->task[*link].next;
	if (*link)
		*link = t->task[i].next;
}

static void unchain_process(struct tasks *t, uint32_t i)
{
	uint32_t *link = bucket(t->by_pid, t->mask, t->task[i].pid);

	while (*link && *link != i)
		link = &t->task[*link].next_in_process;
	if (*link)
		*link = t->task[i].next_in_process;
}

void tasks_set_pid(struct tasks *t, uint32_t task, uint32_t pid)
{
	struct wait_task *k = &t->task[task];
	uint32_t *first;

	if (task < FIRST_TASK || k->pid == pid)
		return;
	if (k->pid)
		unchain_process(t, task);
	k->pid = pid;
	first = bucket(t->by_pid, t->mask, pid);
	k->next_in_process = *first;
	*first = task;
}

static uint32_t task_new(struct tasks *t)
{
	uint32_t i = t->free;

	if (i) {
		t->free = t->task[i].next;
		t->task[i].next = 0;
		return i;
	}
	if (array_fit_zeroed(t->task, t->nr + 1, t->cap, t->max + FIRST_TASK))
		return NO_TASK;
	return t->nr++;
}

uint32_t tasks_make(struct tasks *t, uint32_t tid, uint64_t start_ns, uint64_t now)
{
	uint32_t i = tasks_find(t, tid, start_ns), older;

	if (i)
		return i;
	older = tasks_find_tid(t, tid);
	if (older >= FIRST_TASK)
		t->task[older].dead_ns = now ? now : 1;
	i = task_new(t);
	if (!i) {
		t->overflown++;
		return OTHER_TASKS;
	}
	t->task[i] = (struct wait_task){.tid = tid, .start_ns = start_ns, .touched_ns = now};
	chain(t, i);
	return i;
}

void tasks_rename(struct tasks *t, uint32_t task, uint32_t tid, uint64_t start_ns)
{
	uint32_t older = tasks_find(t, tid, start_ns);

	if (task < FIRST_TASK || older == task)
		return;
	if (older >= FIRST_TASK) {
		/* the thread that had the tid has ended; it keeps no name that could be found */
		unchain(t, older);
		t->task[older].start_ns = 0;
		t->task[older].dead_ns = t->task[older].touched_ns + 1;
		chain(t, older);
	}
	unchain(t, task);
	t->task[task].tid = tid;
	t->task[task].start_ns = start_ns;
	chain(t, task);
}

void tasks_sweep(struct tasks *t, uint64_t before)
{
	for (uint32_t i = FIRST_TASK; i < t->nr; i++) {
		struct wait_task *k = &t->task[i];

		if (!k->tid || k->touched_ns >= before)
			continue;
		if (!k->dead_ns && k->flags & (TASK_FOLLOWED | TASK_TARGET))
			continue;
		unchain(t, i);
		if (k->pid)
			unchain_process(t, i);
		free(k->pending);
		*k = (struct wait_task){.next = t->free};
		t->free = i;
	}
}
