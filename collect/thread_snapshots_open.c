// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers a request for open calls: one snapshot of every thread of the targets, with its
 * stack. */

#include "analysis/base/array.h"
#include "collect/kernel_work.h"
#include "collect/reader.h"
#include "collect/snapshot_wait.h"
#include "collect/stream.h"
#include "collect/thread_snapshots_state.h"

enum {
	OPEN_TRIES = 4,	      /* attempts for a thread that never stays asleep long enough */
	MAX_LISTED = 1 << 20, /* threads that are listed */
};

/* A thread of the targets. */
struct listed {
	uint32_t tid;
	uint32_t tries;
	bool turn, done; /* it is looked at in this pass; it was sent */
	uint64_t place;	 /* equal for threads that seem to do the same */
	uint64_t asleep_ns;
};

struct found {
	struct listed *thread;
	struct pt_task_now now;
	uint32_t bytes;
	unsigned char stack[SNAPSHOT_STACK];
};

struct opening {
	struct collector *c;
	struct listed *threads; /* by thread id */
	struct listed **order;	/* which are looked at, the first one first */
	uint32_t nr_threads, cap_threads, nr_order;
	struct found *found;
	uint32_t nr_found;
};

/* ---- which threads are looked at */

static void list_task(void *ctx, const struct pt_task_now *now)
{
	struct opening *o = ctx;

	if (array_grow(o->threads, o->nr_threads, o->cap_threads, MAX_LISTED))
		return;
	o->threads[o->nr_threads++] = (struct listed){
	    .tid = now->tid,
	    .place = crowd_place(now),
	    .asleep_ns = now->state && now->ran_ns && now->clock_ns > now->ran_ns
			     ? now->clock_ns - now->ran_ns
			     : 0,
	};
}

static int by_tid(const void *a, const void *b)
{
	return ascending(((const struct listed *)a)->tid, ((const struct listed *)b)->tid);
}

/*
 * Choose the threads whose stacks are read: those first that do something else than most, and of
 * those at one place the ones that have slept longest.
 */
static void order_fill(struct opening *o, struct crowd_member *list)
{
	size_t nr;

	qsort(o->threads, o->nr_threads, sizeof(*o->threads), by_tid);
	for (uint32_t i = 0; i < o->nr_threads; i++)
		list[i] = (struct crowd_member){
		    .index = i, .place = o->threads[i].place, .order = ~o->threads[i].asleep_ns};
	nr = crowds_choose(list, o->nr_threads);
	o->nr_order = nr < MAX_STACKS ? (uint32_t)nr : MAX_STACKS;
	for (uint32_t i = 0; i < o->nr_order; i++)
		o->order[i] = &o->threads[list[i].index];
	if (o->nr_order < o->nr_threads)
		send_note(o->c, NOTE_INFO,
			  "the target has %u threads; the stacks of %u were read, first of those "
			  "that do something else than most; %s",
			  o->nr_threads, o->nr_order,
			  nr > MAX_STACKS ? "the others were left out"
					  : "the others are at the same places as these");
}

/* Choose the threads of the next pass. Returns false if none is left. */
static bool turn_begins(struct opening *o)
{
	uint32_t nr = 0;

	o->nr_found = 0;
	for (uint32_t i = 0; i < o->nr_order; i++) {
		struct listed *t = o->order[i];

		t->turn = nr < MAX_MOVING && !t->done && t->tries < OPEN_TRIES;
		t->tries += t->turn;
		nr += t->turn;
	}
	return nr > 0;
}

static struct listed *listed_find(const struct opening *o, uint32_t tid)
{
	size_t at = lower_bound(i, o->nr_threads, o->threads[i].tid < tid);

	return at < o->nr_threads && o->threads[at].tid == tid ? &o->threads[at] : NULL;
}

/* ---- a pass */

static void open_task(void *ctx, const struct pt_task_now *now)
{
	struct opening *o = ctx;
	struct thread_snapshots *l = o->c->thread_snapshots;
	struct listed *t = listed_find(o, now->tid);

	if (!t || !t->turn || t->done)
		return;
	if (!now->state && !now->throttled) {
		if (t->tries == OPEN_TRIES && l->nr_running < MAX_RUNNING) {
			l->running[l->nr_running++] = *now;
			t->done = true;
		}
		return;
	}
	if (o->nr_found == MAX_MOVING)
		return;
	o->found[o->nr_found].thread = t;
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

uint32_t snapshots_letter(uint32_t state)
{
	return !state ? 'R' : state & 2 ? 'D' : state & 4 ? 'T' : state & 8 ? 't' : 'S';
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

	snapshot_wait(c->kernel, now, &snapshot, &text);
	snapshot_pipe(c->kernel, now, &snapshot, &text);
	snapshot_work(now, &snapshot, &text);
	if (now->state && now->ran_ns && now->clock_ns > now->ran_ns)
		snapshot.asleep_ns = now->clock_ns - now->ran_ns;
	if (since && at > since)
		snapshot.open_ns = at - since;
	snapshots_send(c, &snapshot, now, kind == WITNESS_SLEEP ? STILL_ASLEEP : SLEEP_OVER, stack,
		       bytes);
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
		bool still = snapshot_is_still(now, &f->now) ||
			     (now->throttled && now->switches == f->now.switches);

		if (f->now.tid != now->tid || f->thread->done ||
		    (!still && f->thread->tries < OPEN_TRIES))
			continue;
		if (still)
			snapshots_polled_take(&f->now, now);
		modules_check(o->c, (pid_t)f->now.tgid, f->now.regs[PT_REG_IP]);
		open_report_call(o->c, &f->now, WITNESS_SLEEP, still && f->bytes ? f->stack : NULL,
				 f->bytes);
		f->thread->done = true;
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

static void open_passes(struct opening *o)
{
	struct collector *c = o->c;

	while (turn_begins(o)) {
		if (kernel_side_tasks(c->kernel, snapshots_only_pid(c), open_task, o))
			break;
		found_stacks(o);
		for (uint32_t i = 0; i < o->nr_found; i++)
			snapshots_polled_ask(c, &o->found[i].now);
		kernel_side_tasks(c->kernel, snapshots_only_pid(c), still_task, o);
	}
}

/* Take snapshots of the sleeping threads; the sampling timers take the running ones. */
void open_begin(struct collector *c)
{
	struct thread_snapshots *l = c->thread_snapshots;
	struct opening o = {.c = c, .found = calloc(MAX_MOVING, sizeof(*o.found))};
	struct crowd_member *members;

	l->nr_running = 0;
	reader_prepare();
	kernel_side_tasks(c->kernel, snapshots_only_pid(c), list_task, &o);
	o.order = calloc(o.nr_threads + 1, sizeof(*o.order));
	members = calloc(o.nr_threads + 1, sizeof(*members));
	if (o.order && o.found && members) {
		order_fill(&o, members);
		open_passes(&o);
	}
	free(members);
	free(o.threads);
	free(o.order);
	free(o.found);
	l->open_since = now_ns();
}
