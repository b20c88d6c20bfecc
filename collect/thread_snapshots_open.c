// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers a request for open calls: one snapshot of every thread of the targets, with its
 * stack. */
#include <stdlib.h>

#include "analysis/base/array.h"
#include "collect/kernel_work.h"
#include "collect/reader.h"
#include "collect/snapshot_wait.h"
#include "collect/stream.h"
#include "collect/thread_snapshots_state.h"

enum {
	OPEN_PASSES = 4, /* attempts for a thread that never stays asleep long enough */
};

struct found {
	struct pt_task_now now;
	uint32_t bytes;
	unsigned char stack[SNAPSHOT_STACK];
};

struct opening {
	struct collector *c;
	bool last; /* the last pass: send threads that keep moving without their stacks */
	uint32_t reported[MAX_THREADS];
	uint32_t nr_reported;
	struct found *found;
	uint32_t nr_found;
};

static bool listed(const uint32_t *list, uint32_t nr, uint32_t tid)
{
	return any_of(i, nr, list[i] == tid);
}

static void open_task(void *ctx, const struct pt_task_now *now)
{
	struct opening *o = ctx;
	struct thread_snapshots *l = o->c->thread_snapshots;

	if (listed(o->reported, o->nr_reported, now->tid))
		return;
	if (!now->state) {
		if (o->last && l->nr_running < MAX_RUNNING)
			l->running[l->nr_running++] = *now;
		return;
	}
	if (o->nr_found == MAX_MOVING)
		return;
	o->found[o->nr_found++].now = *now;
}

static void found_stacks(struct opening *o)
{
	struct reader_piece pieces[MAX_MOVING];

	for (uint32_t i = 0; i < o->nr_found; i++) {
		struct found *f = &o->found[i];

		pieces[i] = (struct reader_piece){.pid = (pid_t)f->now.tgid,
						  .address = f->now.regs[PT_REG_SP],
						  .bytes = SNAPSHOT_STACK,
						  .to = f->stack,
						  .holes = true};
	}
	reader_memory(pieces, o->nr_found);
	for (uint32_t i = 0; i < o->nr_found; i++)
		o->found[i].bytes = pieces[i].got;
}

/* The start of the requested call in a thread, if it was seen to begin. */
struct age {
	uint32_t tid, slot;
	uint64_t start;
};

static void age_of(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct age *age = ctx;

	if (a->key.slot == age->slot && a->tid == age->tid &&
	    (!age->start || a->start < age->start))
		age->start = a->start;
}

static uint64_t open_since(struct collector *c, const struct pt_task_now *now)
{
	uint32_t op = c->thread_snapshots->open.op;
	struct age age = {.tid = now->tid};
	struct pt_thread t;

	for (uint32_t s = 1; op && s < PT_SLOTS; s++) {
		if (c->slots[s].op == op && c->slots[s].function)
			age.slot = s;
	}
	if (age.slot) {
		kernel_side_activations(c->kernel, age_of, &age);
		return age.start;
	}
	/* the call was already open when peaktop started; its begin is not known */
	if (kernel_side_thread(c->kernel, now->tid, &t) || t.sys_open == PT_SYS_NONE ||
	    t.sys_open == PT_SYS_BEFORE ||
	    t.sys_burst != kernel_side_control(c->kernel)->sys_burst ||
	    t.sys_nr != (uint32_t)now->regs[PT_REG_ORIG_AX])
		return 0;
	return t.sys_start;
}

void open_report_call(struct collector *c, const struct pt_task_now *now, uint32_t kind,
		      const unsigned char *stack, uint32_t bytes)
{
	struct thread_snapshots *l = c->thread_snapshots;
	uint64_t at = now_ns(), since = open_since(c, now);
	struct rec_thread_snapshot snapshot = {.reason = SNAPSHOTS_FOR_OPEN,
					       .round = l->open.round,
					       .op = l->open.op,
					       .kind = kind,
					       .at_ns = snapshots_since_start(c, at),
					       .state = snapshots_letter(now->state)};
	struct wait_text text;

	snapshot_wait(now, &snapshot, &text);
	snapshot_pipe(c->kernel, now, &snapshot, &text);
	snapshot_work(now, &snapshot, &text);
	if (now->state && now->ran_ns && now->clock_ns > now->ran_ns)
		snapshot.asleep_ns = now->clock_ns - now->ran_ns;
	if (since && at > since)
		snapshot.open_ns = at - since;
	snapshots_send(c, &snapshot, now, stack, bytes);
}

bool snapshot_is_still(const struct pt_task_now *now, const struct pt_task_now *before)
{
	return now->state && now->switches == before->switches &&
	       kernel_stop_of(now->state) == kernel_stop_of(before->state);
}

static void still_task(void *ctx, const struct pt_task_now *now)
{
	struct opening *o = ctx;

	for (uint32_t i = 0; i < o->nr_found; i++) {
		struct found *f = &o->found[i];
		bool still = snapshot_is_still(now, &f->now);

		if (f->now.tid != now->tid || (!still && !o->last) || o->nr_reported == MAX_THREADS)
			continue;
		if (still)
			snapshots_polled_take(&f->now, now);
		modules_check(o->c, (pid_t)f->now.tgid, f->now.regs[PT_REG_IP]);
		open_report_call(o->c, &f->now, WITNESS_SLEEP, still && f->bytes ? f->stack : NULL,
				 f->bytes);
		o->reported[o->nr_reported++] = now->tid;
	}
}

void open_done(struct collector *c)
{
	struct thread_snapshots *l = c->thread_snapshots;

	/* threads that ran and were not sampled: send what is known of them */
	for (uint32_t i = 0; i < l->nr_running; i++)
		open_report_call(c, &l->running[i], WITNESS_RUN, NULL, 0);
	l->nr_running = 0;
	l->opening = false;
	send_ack(c, l->open.round);
}

/* Take snapshots of all sleeping threads; the sampling timers take the running ones. */
void open_begin(struct collector *c)
{
	struct thread_snapshots *l = c->thread_snapshots;
	struct opening *o = calloc(1, sizeof(*o));
	bool full = false;

	if (o)
		o->found = calloc(MAX_MOVING, sizeof(*o->found));
	l->nr_running = 0;
	reader_prepare();
	for (int pass = 1;
	     o && o->found && !o->last && pass <= OPEN_PASSES + MAX_THREADS / MAX_MOVING; pass++) {
		o->c = c;
		o->last = pass >= OPEN_PASSES && !full;
		o->nr_found = 0;
		if (kernel_side_tasks(c->kernel, snapshots_only_pid(c), open_task, o))
			break;
		found_stacks(o);
		for (uint32_t i = 0; i < o->nr_found; i++)
			snapshots_polled_ask(c, &o->found[i].now);
		kernel_side_tasks(c->kernel, snapshots_only_pid(c), still_task, o);
		full = o->nr_found == MAX_MOVING;
	}
	if (o)
		free(o->found);
	free(o);
	l->open_since = now_ns();
}
