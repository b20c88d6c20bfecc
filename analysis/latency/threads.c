// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/threads.h"

#include "analysis/base/array.h"

void threads_release(struct threads *t)
{
	free(t->list);
	*t = (struct threads){0};
}

/* Returns the position of a thread, or where it belongs. */
static size_t position(const struct threads *t, uint32_t tid)
{
	return lower_bound(i, t->nr, t->list[i].tid < tid);
}

static struct thread_state *find(struct threads *t, uint32_t tid)
{
	size_t at = position(t, tid);

	return at < t->nr && t->list[at].tid == tid ? &t->list[at] : NULL;
}

/* Returns the thread, added if it is new; NULL: too many, or out of memory. */
static struct thread_state *need(struct threads *t, uint32_t pid, uint32_t tid, const char *comm)
{
	struct thread_state *s = find(t, tid);
	size_t at = position(t, tid);

	if (!s) {
		if (array_insert(t->list, at, t->nr, t->cap, THREADS_MAX,
				 (struct thread_state){.tid = tid})) {
			t->too_many = true;
			return NULL;
		}
		s = &t->list[at];
	}
	s->pid = pid;
	snprintf(s->comm, sizeof(s->comm), "%s", comm ? comm : "");
	return s;
}

static void feed_thread(struct threads *t, const struct rec_thread *rec)
{
	uint64_t queued = rec->runqueue_ns + rec->quota_ns;
	struct thread_state *s;

	if (rec->left_out) {
		t->too_many = true;
		return;
	}
	if (rec->ended) {
		s = find(t, rec->tid);
		if (!s)
			return;
		memmove(s, s + 1, (t->nr - (size_t)(s - t->list) - 1) * sizeof(*s));
		t->nr--;
		return;
	}
	s = need(t, rec->pid, rec->tid, rec->comm);
	if (!s)
		return;
	s->at_ns = rec->at_ns;
	s->wall_ns = rec->wall_ns;
	s->cpu_ns = rec->cpu_ns < rec->wall_ns ? rec->cpu_ns : rec->wall_ns;
	s->runqueue_ns = queued < rec->wall_ns - s->cpu_ns ? queued : rec->wall_ns - s->cpu_ns;
}

static void feed_snapshot(struct threads *t, const struct rec_thread_snapshot *rec)
{
	struct thread_state *s = need(t, rec->pid, rec->tid, rec->comm);
	const struct rec_sleep *sleep = &rec->sleep;

	if (!s)
		return;
	if (rec->kind == WITNESS_RUN)
		snprintf(s->wait, sizeof(s->wait), "running");
	else
		snprintf(s->wait, sizeof(s->wait), "%.30s%s%.60s%s%.20s",
			 sleep->call && sleep->call[0] ? sleep->call : "asleep",
			 sleep->name && sleep->name[0] ? " " : "", sleep->name ? sleep->name : "",
			 sleep->holder && sleep->holder[0] ? ", held by " : "",
			 sleep->holder ? sleep->holder : "");
}

/* Adds the time that a sampled call stands for. A new operation takes the place of the smallest,
 * and its time as well, so that none that counts is missed. */
static void feed_sample(struct threads *t, const struct rec_sample *rec)
{
	struct thread_state *s = find(t, rec->tid);
	double ns = (double)rec->latency_ns * (rec->chance_ppm ? 1e6 / (double)rec->chance_ppm : 1);
	size_t i = 0;

	if (!s)
		return;
	while (i < THREAD_OPS - 1 && s->ops[i].op && s->ops[i].op != rec->op)
		i++;
	s->ops[i].op = rec->op;
	s->ops[i].ns += ns;
	for (; i && s->ops[i].ns > s->ops[i - 1].ns; i--) {
		__auto_type other = s->ops[i - 1];

		s->ops[i - 1] = s->ops[i];
		s->ops[i] = other;
	}
}

void threads_feed(struct threads *t, const struct record *rec)
{
	switch (rec->type) {
	case REC_THREAD:
		feed_thread(t, &rec->thread);
		break;
	case REC_THREAD_SNAPSHOT:
		if (rec->snapshot.reason == SNAPSHOTS_FOR_WALK)
			feed_snapshot(t, &rec->snapshot);
		break;
	case REC_SAMPLE:
		feed_sample(t, &rec->sample);
		break;
	default:
		break;
	}
}

int thread_choice_set(struct thread_choice *c, const struct rec_choice *rec)
{
	struct rec_chosen *list = rec->nr_chosen ? calloc(rec->nr_chosen, sizeof(*list)) : NULL;

	if (rec->nr_chosen && !list)
		return -ENOMEM;
	if (list)
		memcpy(list, rec->chosen, rec->nr_chosen * sizeof(*list));
	free(c->list);
	*c = (struct thread_choice){.list = list,
				    .nr = rec->nr_chosen,
				    .threads = rec->threads,
				    .chosen_threads = rec->chosen_threads};
	return 0;
}

void thread_choice_release(struct thread_choice *c)
{
	free(c->list);
	*c = (struct thread_choice){0};
}

bool thread_choice_has_process(const struct thread_choice *c, uint32_t pid)
{
	return any_of(i, c->nr, c->list[i].is_process && c->list[i].id == pid);
}

bool thread_choice_has(const struct thread_choice *c, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < c->nr; i++)
		if (!c->list[i].is_process && c->list[i].id == tid)
			return true;
	return thread_choice_has_process(c, pid);
}
