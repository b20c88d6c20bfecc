/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What identifies a call of a kernel function, and its frame. */
#pragma once

#include "bpf/activations.h"
#include "bpf/measure.h"
#include "bpf/phases.h"

/*
 * The key of a kernel function's activation: the stack that it runs on, and the operation. A stack
 * belongs to a thread. It belongs to a CPU if the thread is idle, since each CPU has an idle task
 * and all have thread id 0, or if an interrupt has switched to a stack of its own. A task in such
 * an interrupt may be in a call of the same function itself.
 */
enum { KEY_IDLE = 1, KEY_INTERRUPT = 2 };

/* True if the current task runs on its own stack, which its user registers are the upper end of. */
INLINE bool is_on_own_stack(struct task_struct *task, u64 sp)
{
	u64 low = (u64)task->stack, high = (u64)bpf_task_pt_regs(task) + sizeof(struct pt_regs);

	return sp >= low && sp < high;
}

INLINE void kernel_key(struct pt_act_key *key, u64 sp, u64 id, u32 slot)
{
	u64 owner = (u32)id;

	if (!is_on_own_stack(bpf_get_current_task_btf(), sp))
		owner = (u64)KEY_INTERRUPT << 32 | bpf_get_smp_processor_id();
	else if (!owner)
		owner = (u64)KEY_IDLE << 32 | bpf_get_smp_processor_id();
	key->cfa = PT_ACT_KERNEL | owner;
	key->tgid = id >> 32;
	key->slot = slot;
}

/*
 * True if the return at `sp` is that of the call that began at `entry_sp`, where its return address
 * was. A call that is made inside of it (a recursion) returns further down, and the return of a
 * call that was not seen to begin is further up.
 */
INLINE bool kernel_returns(u64 entry_sp, u64 sp)
{
	return sp >= entry_sp && sp - entry_sp <= 2 * sizeof(u64);
}

/*
 * The address of a frame of the kernel: its distance from the lower end of the task's stack. So it
 * is less than that of each frame of the program, whose calls come before.
 */
INLINE u64 kernel_frame(struct pt_regs *ctx)
{
	return ctx->sp - (u64)bpf_get_current_task_btf()->stack;
}

/* Have the collector detach a site whose fuse has blown. If the record is lost, the next hit
 * reports it again. */
INLINE void report_blown(struct pt_control *c, struct pt_site *s, u32 index, u64 id, u64 ip)
{
	if (!record_send(c, PT_RECORD_BLOWN, index, id >> 32, (u32)id, ip))
		s->blown = 0;
}

/* Count a hit; true if it blows the site's fuse. The BPF program decides this itself, because
 * the collector may be busy and hits begin as soon as the probe is attached. */
INLINE bool fuse_blows(struct pt_site *s)
{
	u64 hits = __sync_fetch_and_add(&s->hits, 1), now;

	if (hits < s->fuse || s->blown)
		return false;
	if (s->fuse_ns) {
		now = bpf_ktime_get_ns();
		if (now - s->fuse_since >= s->fuse_ns) {
			s->fuse_since = now;
			s->fuse = hits + s->fuse_hits;
			return false;
		}
	}
	return !__sync_fetch_and_add(&s->blown, 1);
}

/*
 * The site of a kernel function whose probe was hit; NULL if the caller is not a target. Hits
 * of all processes count for the fuse, because all callers pay for the probe.
 */
INLINE struct pt_site *kernel_hit(struct pt_control *c, struct pt_regs *ctx, u64 id)
{
	u32 index = (u32)bpf_get_attach_cookie(ctx);
	struct pt_site *s = bpf_map_lookup_elem(&sites, &index);
	u64 hits;

	if (!s || !s->start_slot)
		return 0;
	hits = __sync_fetch_and_add(&s->hits, 1);
	if (hits >= s->fuse && !s->blown && !__sync_fetch_and_add(&s->blown, 1))
		report_blown(c, s, index, id, 0);
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_KERNEL_OTHER);
		return 0;
	}
	count_hit(PT_HIT_KERNEL);
	return s;
}

/*
 * The entry for a call of a kernel function that begins at `sp`. NULL: the table is full, or the
 * call is made inside another one, because only the outermost counts. An open call that began at
 * the same place or further down cannot be open any more. The kernel has missed its return, because
 * it follows only so many calls of a function at once; it counts as a call without a latency.
 */
INLINE struct pt_act *kernel_begin(struct pt_control *c, struct pt_act_key *key, u64 sp)
{
	u32 hash = act_hash(key);
	struct pt_act *a = act_find(key, hash);
	struct pt_hist *h;

	if (!a) {
		a = act_take(key, hash);
		if (!a)
			__sync_fetch_and_add(&c->lost_acts, 1);
		return a;
	}
	if (a->ret > sp)
		return 0;
	h = hist_of(c, key->slot);
	if (h && !(a->arg_mask & PT_ACT_OUTSIDE) && counts_still(c, a->start))
		__sync_fetch_and_add(&h->unseen, 1);
	if (c->phase_end_slot && c->phase_end_slot == key->slot)
		phase_end(c, key->tgid);
	act_state(a, PT_ACT_TAKEN);
	return a;
}
