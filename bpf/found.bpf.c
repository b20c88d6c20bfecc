// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows a call that was found open in a thread that does not run, from there to its end. */
#include "bpf/activations.h"
#include "bpf/asleep.h"
#include "bpf/descend.h"
#include "bpf/host_waits.h"

/* True if the thread has not run since the collector saw it. */
INLINE bool is_still(struct task_struct *task, struct pt_found *f)
{
	return !*(volatile int *)&task->on_cpu && task->nvcsw + task->nivcsw == f->switches;
}

/* What the thread sleeps on. Its memory cannot be read here: the collector has read it. */
INLINE void asleep_fill(struct task_struct *task, struct pt_found *f)
{
	struct pt_asleep *a = asleep_of(task->pid);

	if (!a)
		return;
	a->since = f->since;
	a->asked = f->asked;
	a->fd = f->fd;
	a->io = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
	for (int i = 0; i < PT_FUTEX_WORDS; i++)
		a->words[i] = f->words[i];
	a->parked = a->retransmits = a->held_back = a->queued = a->room = a->tried.call = 0;
}

enum { PRIO_FAIR = 100, LATE_NS = 20000000 };

/*
 * A call must not seem longer than it is, so that `since` must not be earlier than when the thread
 * left its CPU. The collector adds the time that the scheduler has counted to when the thread got
 * its CPU. Of threads with a real-time priority that is not known. Steal time is not in it, nor the
 * time of interrupts, if the kernel counts it: add the time once more, as if they had taken half.
 * When the thread was seen not to run, it had left its CPU in any case.
 */
INLINE void since_bound(struct pt_control *c, struct task_struct *task, struct pt_found *f)
{
	f->certain = 1;
	f->since += task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
	if (task->prio < PRIO_FAIR || c->steal_offset || f->since > f->seen)
		f->since = f->seen;
}

/*
 * The scheduler is watched: the thread has been off its CPU since then. If it was seen to leave its
 * CPU, it was in no call that is followed, so that it was not noted why.
 */
INLINE void off_fill(struct pt_control *c, struct task_struct *task, struct pt_thread *t,
		     struct pt_descent *d, struct pt_found *f)
{
	u32 state = task->__state;

	if (!t->off_since) {
		t->off_since = f->since;
		t->wake_since = state ? 0 : f->woken;
		t->wake_outside = 1;
		t->wait = f->woken > f->since ? PT_WAIT_WOKEN : PT_WAIT_PREEMPTED;
		t->wait_cpu = 0;
	}
	if (!state && is_throttled(task)) {
		t->wait = PT_WAIT_QUOTA;
		fill_quota_of(&d->record.waits.quota, task);
	}
	if (!state && t->wake_since == t->off_since)
		return;
	t->off_wait = stop_of(task, state);
	if (t->off_wait)
		fill_stop(d, task, t->off_wait);
	else
		asleep_fill(task, f);
}

/* The counters of the thread when it left its CPU. */
INLINE void left_fill(struct pt_control *c, struct pt_snapshot *s, struct task_struct *task,
		      struct pt_thread *t)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->steal_clock = steal_clock(c);
	if (t) {
		s->off_ns = t->off_ns;
		s->runq_ns = t->runq_ns;
		s->probe_ns = t->probe_ns;
		s->irq_ns = t->irq_ns;
		s->steal_ns = t->steal_ns;
		s->sched_burst = c->sched_burst;
	}
	s->delay_ns =
	    bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
	s->min_flt = task->min_flt;
	s->maj_flt = task->maj_flt;
	s->migrations = task->se.nr_migrations;
	s->nvcsw = task->nvcsw - (task->__state ? 1 : 0);
	s->nivcsw = task->nivcsw - (task->__state ? 0 : 1);
}

/* An activation for a call whose begin was not seen; NULL: the table is full. */
INLINE struct pt_act *act_found(struct pt_control *c, struct pt_act_key *key, struct pt_found *f,
				struct task_struct *task, struct pt_thread *t)
{
	struct pt_act *a = act_take(key, act_hash(key));

	if (!a)
		return 0;
	a->start = f->since;
	a->ret = f->ret;
	a->tid = f->tid;
	a->arg_mask = PT_ACT_FOUND | PT_ACT_OUTSIDE | PT_ACT_RETURNS;
	__builtin_memset(a->args, 0, sizeof(a->args));
	left_fill(c, &a->snap, task, t);
	act_state(a, a->start << PT_ACT_START_SHIFT | PT_ACT_OPEN);
	return a;
}

enum { NEARLY_ALL_PART = 16 };

/* True if the thread has been off its CPU for nearly all of its call: what it did before, when the
 * scheduler may not have been watched, matters little. */
INLINE bool left_at_once(struct pt_act *a, struct pt_found *f)
{
	return f->since < a->start + (bpf_ktime_get_ns() - a->start) / NEARLY_ALL_PART;
}

/* What is known of the thread; NULL: the scheduler is not watched. If it was seen to leave its CPU,
 * takes over when. */
INLINE struct pt_thread *left_thread(struct pt_control *c, struct task_struct *task,
				     struct pt_found *f)
{
	struct pt_thread *t = 0;
	bool preempted = f->woken == f->since;

	if (c->layers & ON_RUNQUEUE)
		t = thread_of(c, task->tgid, task->pid);
	if (t)
		burst_check(c, t);
	/* it has run since then, and was not seen to leave its CPU again */
	if (t && t->off_since && t->off_since + LATE_NS < f->since)
		t->off_since = t->wake_since = 0;
	if (t && t->off_since) {
		f->since = t->off_since;
		f->certain = 1;
	}
	if (!f->certain)
		since_bound(c, task, f);
	if (preempted || (f->woken && f->woken < f->since))
		f->woken = f->since;
	return t;
}

/* The thread was found to have run meanwhile: what was written may be wrong. */
INLINE u32 found_undo(struct pt_descent *d, struct pt_act *a, struct pt_thread *t,
		      struct pt_found *f)
{
	d->active = 0;
	if (t)
		__sync_val_compare_and_swap(&t->off_since, f->since, 0);
	if (a)
		__sync_val_compare_and_swap(&a->state, f->start << PT_ACT_START_SHIFT | PT_ACT_OPEN,
					    0);
	return PT_FOUND_GONE;
}

INLINE bool is_followed(struct pt_control *c, struct task_struct *task, struct pt_descent *d,
			struct pt_act_key *key)
{
	return descent_of(c, task) && d->key == key->cfa && d->slot == key->slot;
}

INLINE u32 found_follow(struct pt_control *c, struct task_struct *task, struct pt_found *f)
{
	struct pt_act_key key = {.cfa = f->cfa, .tgid = task->tgid, .slot = f->slot};
	struct pt_act *a = act_find(&key, act_hash(&key));
	struct pt_descent *d =
	    bpf_task_storage_get(&descents, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct descent_call call = {.key = key.cfa, .cfa = key.cfa, .slot = key.slot};
	bool fresh = !a, late = fresh || a->arg_mask & PT_ACT_FOUND;
	struct pt_thread *t;

	if (!d)
		return PT_FOUND_GONE;
	t = left_thread(c, task, f);
	/* the end of another call in this frame was not seen */
	if (!fresh && late && a->start != f->start) {
		__sync_val_compare_and_swap(&a->state, a->start << PT_ACT_START_SHIFT | PT_ACT_OPEN,
					    0);
		fresh = true;
	}
	if (!fresh && is_followed(c, task, d, &key)) {
		f->start = a->start;
		return late ? PT_FOUND_LATE : PT_FOUND_FOLLOWED;
	}
	if (fresh)
		a = act_found(c, &key, f, task, t);
	if (!a)
		return PT_FOUND_GONE;
	if (!fresh && t && left_at_once(a, f))
		left_fill(c, &a->snap, task, t);
	f->start = a->start;
	call.arg_mask = a->arg_mask & 0x3f;
	call.args = a->args;
	d->waited = 1; /* clears what an earlier call has waited for */
	descent_fill(c, d, &call, t, &a->snap, f->start);
	d->record.late = late;
	d->asleep_at = 0;
	if (t && is_still(task, f))
		off_fill(c, task, t, d, f);
	if (is_still(task, f))
		return late ? PT_FOUND_LATE : PT_FOUND_AGAIN;
	return found_undo(d, fresh ? a : 0, t, f);
}

SEC("iter/task")
int on_found(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_control *c = the_control();
	struct pt_found *f;

	if (!task || !c || !c->keep || !is_target(c, task->tgid))
		return 0;
	f = &c->found;
	if (task->pid != f->tid || !is_still(task, f) || !f->slot || f->slot >= PT_SLOTS)
		return 0;
	f->state = found_follow(c, task, f);
	return 0;
}
