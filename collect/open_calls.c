// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds calls that have not returned. The BPF programs do not see that a call is left by an
 * exception or longjmp, or returns while no probe is attached. Functions that may have ended in
 * this way are compared with the registers and the stack of their thread, which the reader
 * process reads for all of them once per slice. For system calls, the kernel's list of tasks
 * says in which call a thread is and since when it sleeps.
 */
#include "collect/open_calls.h"
#include "analysis/base/array.h"
#include "collect/functions.h"
#include "collect/phases.h"
#include "collect/slices.h"
#include "collect/snapshot_wait.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/thread_snapshots_state.h"

#include "collect/reader.h"

enum {
	OPEN_PER_OP = 8, /* most open calls per operation that are sent individually */
	MAX_OPEN = 512,
	MAX_DOUBTFUL = 2 * PT_ACTIVATIONS,
	STALE_NS = 1000000000, /* open calls older than this are checked against the stack */
	TRAMPOLINE_ALIGN = 4096,
	SAME_CALL_NS = 10000000, /* a thread that has slept since then is still in the same call */
};

struct open_one {
	uint32_t slot;
	uint32_t tgid, tid;
	uint64_t start;
	uint32_t known;
	uint64_t args[PT_ARGS];
};

/* A call of a function that may have ended unseen. Its thread and its stack decide. */
struct doubtful {
	uint32_t index;
	struct pt_act act;
	/* by this address another tool's return probe may have replaced the return address */
	uint64_t trampoline;
};

/* A system call that may have ended unseen; another one may be open since. */
struct doubtful_call {
	uint32_t tid, nr;
	uint64_t start;
};

struct open_scan {
	struct collector *c;
	uint64_t now;
	bool last;
	struct doubtful *doubtful;
	size_t nr_doubtful, cap_doubtful;
	struct doubtful_call *calls;
	size_t nr_calls, cap_calls;
	struct open_one one[MAX_OPEN];
	unsigned int nr;
	unsigned int per_slot[PT_SLOTS];
};

static void open_note(struct open_scan *w, const struct open_one *one, const pt_u64 *args)
{
	const uint32_t slot = one->slot;
	struct slot_info *info = &w->c->slots[slot];
	uint64_t age = w->now > one->start ? w->now - one->start : 0;
	struct open_one *o = NULL;

	info->open++;
	if (age > info->oldest_ns)
		info->oldest_ns = age;
	if (w->per_slot[slot] < OPEN_PER_OP && w->nr < MAX_OPEN) {
		w->per_slot[slot]++;
		o = &w->one[w->nr++];
	} else {
		/* send the oldest calls: replace the youngest of this operation */
		for (unsigned int i = 0; i < w->nr; i++) {
			if (w->one[i].slot == slot && (!o || w->one[i].start > o->start))
				o = &w->one[i];
		}
		if (!o || o->start <= one->start)
			return;
	}
	*o = *one;
	memcpy(o->args, args, sizeof(o->args));
}

/* ---- system calls ----------------------------------------------------- */

/* `call` lacks its slot. */
static void call_note(struct open_scan *w, uint32_t nr, struct open_one call, const pt_u64 *args)
{
	struct pt_control *control = kernel_side_control(w->c->kernel);
	uint32_t slot = control->sys_slot[nr];

	if (!slot || slot >= PT_SLOTS) {
		/* no call of this number has ended yet: allot the slot here */
		slot = __atomic_fetch_add(&control->next_slot, 1, __ATOMIC_SEQ_CST);
		if (slot >= PT_SLOTS)
			return;
		control->sys_slot[nr] = slot;
		slots_announce(w->c);
	}
	call.slot = slot;
	call.known = 0x3f * SAMPLE_ARG0;
	open_note(w, &call, args);
}

static int open_thread(void *ctx, uint32_t tid, const struct pt_thread *t)
{
	struct open_scan *w = ctx;
	struct pt_control *control = kernel_side_control(w->c->kernel);
	bool watched =
	    w->c->units[UNIT_SYSCALLS].state != FUNCTION_OFF && t->sys_burst == control->sys_burst;

	if (!t->sys_open || t->sys_open == PT_SYS_OUTSIDE || t->sys_nr >= PT_SYSCALLS ||
	    !(w->c->layers & 1u << LAYER_SYSCALL) ||
	    !chosen_shows(w->c, t->tgid, tid, t->sys_start))
		return 0;
	/* a call that began before peaktop started is outside of every known phase */
	if (t->sys_open == PT_SYS_BEFORE && control->phase_mode)
		return 0;
	if (watched)
		call_note(w, t->sys_nr,
			  (struct open_one){.tgid = t->tgid, .tid = tid, .start = t->sys_start},
			  t->sys_args);
	/* the tracepoint at its end has been detached since it began */
	else if (!array_grow(w->calls, w->nr_calls, w->cap_calls, MAX_DOUBTFUL))
		w->calls[w->nr_calls++] =
		    (struct doubtful_call){.tid = tid, .nr = t->sys_nr, .start = t->sys_start};
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct doubtful_call *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/*
 * The call in which a thread is now that may have left the one that was seen to begin. If it
 * has run since, this may be another call: then its age is at least the time since it last ran.
 */
static void call_decide(void *ctx, const struct pt_task_now *now)
{
	struct open_scan *w = ctx;
	size_t at = lower_bound(i, w->nr_calls, w->calls[i].tid < now->tid);
	uint64_t nr = now->regs[PT_REG_ORIG_AX], slept, start;
	pt_u64 args[PT_ARGS];

	if (at == w->nr_calls || w->calls[at].tid != now->tid || !now->state || nr >= PT_SYSCALLS ||
	    !now->ran_ns || now->clock_ns < now->ran_ns)
		return;
	slept = now->clock_ns - now->ran_ns;
	start = slept < w->now ? w->now - slept : 0;
	if (nr == w->calls[at].nr && start < w->calls[at].start + SAME_CALL_NS)
		start = w->calls[at].start;
	for (int i = 0; i < PT_ARGS; i++)
		args[i] = snapshot_argument(now, i);
	call_note(w, (uint32_t)nr,
		  (struct open_one){.tgid = now->tgid, .tid = now->tid, .start = start}, args);
}

static void calls_decide(struct open_scan *w)
{
	qsort(w->calls, w->nr_calls, sizeof(*w->calls), by_tid);
	/* if the kernel cannot tell, these calls are not shown */
	kernel_side_tasks(w->c->kernel, snapshots_only_pid(w->c), call_decide, w);
}

/* ---- functions -------------------------------------------------------- */

static bool is_live_target(const struct collector *c, uint32_t tgid)
{
	return any_of(i, c->targets.nr,
		      !c->targets.list[i]->pid || (uint32_t)c->targets.list[i]->pid == tgid);
}

/*
 * True if the thread has begun an outer activation since: then a longjmp or an exception left
 * this one. Stacks of coroutines in the same thread are further away than 32 KiB.
 */
static bool outer_begun(struct collector *c, const struct pt_act_key *key, const struct pt_act *a)
{
	struct pt_thread t;

	return !kernel_side_thread(c->kernel, a->tid, &t) && t.last_start > a->start &&
	       t.last_cfa > key->cfa && t.last_cfa - key->cfa < (32u << 10);
}

static bool thread_exited(const struct collector *c, uint32_t tid)
{
	return any_of(i, c->exited.nr, c->exited.tid[i] == tid);
}

static void act_left(struct open_scan *w, uint32_t index, const struct pt_act *a)
{
	struct slot_info *info = &w->c->slots[a->key.slot];
	bool outside = a->arg_mask & PT_ACT_OUTSIDE || a->start < w->c->chosen.since;

	if (!kernel_side_activation_drop(w->c->kernel, index, a))
		return;
	phases_left(w->c, a->key.slot);
	/* no exception leaves the kernel: its thread has ended, and the return was missed */
	if (a->key.cfa & PT_ACT_KERNEL) {
		info->extra_unseen += !outside;
		return;
	}
	info->extra_abnormal += !outside;
	info->abnormal_total += !outside;
}

static void act_open(struct open_scan *w, const struct pt_act *a)
{
	if (!(a->arg_mask & PT_ACT_OUTSIDE) && chosen_shows(w->c, a->key.tgid, a->tid, a->start))
		open_note(w,
			  &(struct open_one){.slot = a->key.slot,
					     .tgid = a->key.tgid,
					     .tid = a->tid,
					     .start = a->start,
					     .known = (a->arg_mask & 0x3f) * SAMPLE_ARG0},
			  a->args);
}

static void open_activation(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct open_scan *w = ctx;
	const struct pt_act_key *key = &a->key;
	struct slot_info *info = key->slot < PT_SLOTS ? &w->c->slots[key->slot] : NULL;

	if (!info || (!info->function && info->layer != LAYER_KERNEL)) {
		kernel_side_activation_drop(w->c->kernel, index, a);
	} else if (!is_live_target(w->c, key->tgid) || thread_exited(w->c, a->tid)) {
		act_left(w, index, a);
	} else if (!info->function || (!w->last && a->start + STALE_NS > w->now) ||
		   function_is_go(info->function)) {
		/* a sum, not a difference: a call may have begun after `now` was read */
		act_open(w, a);
	} else if (a->exit || outer_begun(w->c, key, a)) {
		act_left(w, index, a);
	} else if (!array_grow(w->doubtful, w->nr_doubtful, w->cap_doubtful, MAX_DOUBTFUL)) {
		w->doubtful[w->nr_doubtful++] = (struct doubtful){.index = index, .act = *a};
	} else {
		act_open(w, a);
	}
}

/* True if the thread has ended or left the frame of this activation. `ret` points to the value
 * now at the place of its return address; NULL: not known. */
static bool frame_left(const struct doubtful *d, const struct thread_now *now, const uint64_t *ret)
{
	const struct pt_act *a = &d->act;

	/* if the process does not respond, try again later */
	if (!now->known)
		return now->error == -ESRCH || now->error == -ENOENT;
	/* later calls have overwritten the return address */
	if (a->ret && ret && *ret != a->ret && !(*ret && *ret == d->trampoline))
		return true;
	/* further away it may be another stack */
	return !now->running && now->sp > a->key.cfa && now->sp - a->key.cfa < (8u << 20);
}

static void trampoline_take(void *ctx, const struct pt_task_now *now)
{
	struct open_scan *w = ctx;

	for (size_t i = 0; i < w->nr_doubtful; i++) {
		if (w->doubtful[i].act.key.tgid == now->tgid)
			w->doubtful[i].trampoline = now->replaced.trampoline;
	}
}

/* ---- decisions -------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
	const struct pt_act *x = &((const struct doubtful *)a)->act;
	const struct pt_act *y = &((const struct doubtful *)b)->act;

	return ascending(x->key.tgid, y->key.tgid) ?: ascending(x->tid, y->tid);
}

/* Read the state of each doubtful call's thread once. of[i] is the index of the thread of call
 * i. */
static void threads_read(const struct open_scan *w, struct thread_now *threads, size_t *of)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_doubtful; i++) {
		const struct pt_act *a = &w->doubtful[i].act;

		if (!nr || threads[nr - 1].tid != (pid_t)a->tid ||
		    threads[nr - 1].pid != (pid_t)a->key.tgid)
			threads[nr++] =
			    (struct thread_now){.pid = (pid_t)a->key.tgid, .tid = (pid_t)a->tid};
		of[i] = nr - 1;
	}
	target_threads_now(threads, nr);
}

static void doubtful_decide(struct open_scan *w)
{
	size_t n = w->nr_doubtful;
	struct thread_now *threads = calloc(n, sizeof(*threads));
	struct reader_piece *pieces = calloc(n, sizeof(*pieces));
	uint64_t *ret = calloc(n, sizeof(*ret));
	size_t *of = calloc(n, sizeof(*of));

	if (threads && pieces && ret && of) {
		qsort(w->doubtful, n, sizeof(*w->doubtful), by_thread);
		threads_read(w, threads, of);
		for (size_t i = 0; i < n; i++) {
			const struct pt_act *a = &w->doubtful[i].act;

			if (a->ret)
				pieces[i] = (struct reader_piece){.pid = (pid_t)a->key.tgid,
								  .bytes = sizeof(*ret),
								  .address = a->key.cfa - 8,
								  .to = &ret[i]};
		}
		reader_memory(pieces, n);
		/* a trampoline begins a page; to ask for it takes long */
		if (any_of(i, n, ret[i] && ret[i] % TRAMPOLINE_ALIGN == 0))
			kernel_side_tasks(w->c->kernel, snapshots_only_pid(w->c), trampoline_take,
					  w);
		for (size_t i = 0; i < n; i++) {
			const struct doubtful *d = &w->doubtful[i];
			const struct thread_now *now = &threads[of[i]];

			if (frame_left(d, now, pieces[i].got == sizeof(*ret) ? &ret[i] : NULL))
				act_left(w, d->index, &d->act);
			else
				act_open(w, &d->act);
		}
	}
	free(threads);
	free(pieces);
	free(ret);
	free(of);
}

struct open_scan *open_calls_snapshot(struct collector *c, uint64_t now, bool last)
{
	struct open_scan *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->c = c;
	w->now = now;
	w->last = last;
	kernel_side_threads(c->kernel, open_thread, w);
	/* the table is large: read it only if something can be in it */
	if (c->functions.nr || c->kernel_functions.nr)
		kernel_side_activations(c->kernel, open_activation, w);
	if (w->nr_calls)
		calls_decide(w);
	if (w->nr_doubtful)
		doubtful_decide(w);
	c->exited.nr = 0;
	return w;
}

void open_calls_send(struct collector *c, struct open_scan *w)
{
	struct record rec = {.type = REC_OPEN};
	char comm[TARGET_COMM];

	for (unsigned int i = 0; w && i < w->nr; i++) {
		const struct open_one *o = &w->one[i];

		target_thread_comm((pid_t)o->tgid, (pid_t)o->tid, comm, sizeof(comm));
		rec.open = (struct rec_open){
		    .op = c->slots[o->slot].op,
		    .pid = o->tgid,
		    .tid = o->tid,
		    .comm = comm,
		    .start_ns = o->start > c->start_ns ? o->start - c->start_ns : 0,
		    .age_ns = w->now > o->start ? w->now - o->start : 0,
		    .known = c->options->no_values ? 0 : o->known};
		if (rec.open.known)
			memcpy(rec.open.args, o->args, sizeof(rec.open.args));
		send_record(c, &rec);
	}
	if (w) {
		free(w->doubtful);
		free(w->calls);
	}
	free(w);
}
