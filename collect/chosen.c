// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/chosen.h"
#include "collect/ring.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/target.h"

/* True if the user wants the calls of this thread. */
static bool chosen_has(const struct collector *c, uint32_t tgid, uint32_t tid)
{
	for (uint32_t i = 0; i < c->chosen.nr; i++) {
		const struct rec_chosen *one = &c->chosen.list[i];

		if (one->id == (one->is_process ? tgid : tid))
			return true;
	}
	return !c->chosen.nr;
}

bool chosen_shows(const struct collector *c, uint32_t tgid, uint32_t tid, uint64_t start)
{
	return start >= c->chosen.since || chosen_has(c, tgid, tid);
}

static int remember(struct collector *c, const struct rec_choice *req)
{
	struct rec_chosen *list = req->nr_chosen ? calloc(req->nr_chosen, sizeof(*list)) : NULL;

	if (req->nr_chosen && !list)
		return -ENOMEM;
	if (list)
		memcpy(list, req->chosen, req->nr_chosen * sizeof(*list));
	free(c->chosen.list);
	c->chosen.list = list;
	c->chosen.nr = req->nr_chosen;
	return 0;
}

struct thread_count {
	const struct collector *c;
	uint32_t pid, all, chosen;
};

static void count_thread(void *ctx, pid_t tid)
{
	struct thread_count *n = ctx;

	n->all++;
	n->chosen += chosen_has(n->c, n->pid, (uint32_t)tid);
}

static void choice_send(struct collector *c)
{
	struct record rec = {.type = REC_CHOICE};
	struct thread_count n = {.c = c};

	for (unsigned int i = 0; i < c->targets.nr; i++) {
		n.pid = (uint32_t)c->targets.list[i]->pid;
		target_threads(c->targets.list[i]->pid, count_thread, &n);
	}
	rec.choice = (struct rec_choice){.at_ns = session_ns(c),
					 .threads = n.all,
					 .chosen_threads = n.chosen,
					 .nr_chosen = c->chosen.nr,
					 .chosen = c->chosen.list};
	send_record(c, &rec);
}

void chosen_request(struct collector *c, const struct rec_choice *req)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	static const struct rec_choice all = {0};
	int err;

	ring_read(c);
	if (c->slice.start)
		slice_end(c, false);
	/* from here on no call counts that has begun */
	__atomic_store_n(&control->chosen_since, UINT64_MAX, __ATOMIC_SEQ_CST);
	err = remember(c, req);
	if (!err)
		err = kernel_side_choose(c->kernel, c->chosen.list, c->chosen.nr);
	if (err) {
		send_refused(c, 0, 0, err, "cannot limit the profiles to the chosen threads: %s",
			     strerror(-err));
		remember(c, &all);
		kernel_side_choose(c->kernel, NULL, 0);
	}
	ring_read(c);
	if (c->slice.start)
		slots_restart(c);
	choice_send(c);
	c->chosen.since = now_ns();
	__atomic_store_n(&control->chosen_since, c->chosen.since, __ATOMIC_SEQ_CST);
}

void chosen_release(struct collector *c)
{
	free(c->chosen.list);
	c->chosen = (struct chosen){0};
}
