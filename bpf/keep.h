/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls are observed: those of f0, in a descent, or all if slow calls are kept
 * (collect/keep.c). */
#pragma once

#include "bpf/measure.h"

/*
 * The call of f0 that a thread is in; NULL: none. A call that an earlier burst left open is
 * ignored, because its end was missed. The call may have begun before the present set was
 * armed: compare its epoch.
 */
INLINE struct pt_descent *descent_of(struct pt_control *c, struct task_struct *task)
{
	struct pt_descent *d = c->descend_slot ? bpf_task_storage_get(&descents, task, 0, 0) : 0;

	return d && d->active && d->burst == c->descend_burst ? d : 0;
}

/* True if calls of this operation are observed: it is f0, or its slow calls are kept. */
INLINE bool descends_into(struct pt_control *c, u64 slot)
{
	return c->keep ? slot && slot < PT_SLOTS : c->descend_slot == slot;
}

/* If slow calls are kept: those of this operation that take longer. */
INLINE u64 keep_limit(struct pt_control *c, u64 slot)
{
	u64 limit;

	HIDE(slot);
	slot &= PT_SLOTS - 1;
	limit = c->keep_ns[slot];
	return limit ? limit : c->keep;
}

/* A call of f0 that begins: which activation, the goroutine and the CFA as in struct pt_descent. */
struct descent_call {
	u64 key, goroutine, cfa;
	u32 slot, is_call;
	u32 arg_mask;
	u64 *args;
};

/* True if the call that begins belongs to the one that is open: it is further down its stack. A
 * call of the kernel has none inside; an exception may have left the open call. */
INLINE bool is_within(struct pt_control *c, struct task_struct *task, struct pt_descent *d,
		      const struct descent_call *call)
{
	if (!descent_of(c, task) || call->goroutine != d->goroutine || call->cfa >= d->cfa ||
	    d->record.epoch != c->descend_epoch)
		return false;
	/* a call that was found by its return address may be over: it must not hide this one */
	return !d->is_call && !d->record.late;
}

/* Send the longest sleeps of a call that is kept. */
SEPARATE int kept_sleeps_send(struct pt_control *c, struct pt_descent *d)
{
	u32 nr;

	if (!c || !d)
		return 0;
	nr = d->nr_sleeps;
#pragma nounroll
	for (u64 i = 0; i < PT_KEPT_SLEEPS; i++) {
		HIDE(i);
		if (i >= PT_KEPT_SLEEPS || i >= nr)
			break;
		if (bpf_ringbuf_output(&ring, &d->sleeps[i], sizeof(d->sleeps[i]),
				       BPF_RB_NO_WAKEUP))
			__sync_fetch_and_add(&c->lost_ring, 1);
	}
	return 0;
}
