/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descents (DARC, SIGMETRICS 2008, section 3): inside calls of f0, times the call
 * sites that are armed, each in the context of its path, and sends one record
 * per in-peak call with the sums of all. All votes are taken in user space.
 */
#ifndef PEAKTOP_BPF_DESCEND_H
#define PEAKTOP_BPF_DESCEND_H

#include "bpf/measure.h"

/* Sleeps and interrupts are told only for calls that are worth it. */
enum { DESCEND_SLEEP_MIN_NS = 1000 };

/*
 * How often one call of f0 passes a site before that may be a loop too hot to be timed, and the part of the call that
 * its probes may take by their nominal cost: on a busy host they cost twice that, and nobody corrects the difference.
 */
enum { DESCEND_HOT_COUNT = 64, DESCEND_HOT_PART = 8 };

/* Close the fnode on top of the stack: its time goes to its sum, unless it was left by a throw. */
INLINE void fnode_close(struct pt_descent *d, struct pt_thread *t, u64 now, bool returned)
{
	u64 depth = d->depth, ns, index;
	struct pt_fnode_open *o;
	struct pt_fnode_sum *s;

	HIDE(depth);
	if (!depth || depth > PT_DEPTH)
		return;
	depth--;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	o = &d->open[depth];
	d->depth = depth;
	if (!returned)
		return;
	index = o->fnode;
	HIDE(index);
	index &= PT_FNODES - 1;
	s = &d->sums[index];
	ns = now - o->start;
	s->count++;
	s->sum += ns;
	if (ns > s->max)
		s->max = ns;
	if (t) {
		s->runq += t->runq_ns - o->runq_ns;
		s->blocked += (t->off_ns - o->off_ns) - (t->runq_ns - o->runq_ns);
	}
}

INLINE u64 top_cfa(struct pt_descent *d)
{
	u64 depth = d->depth;

	HIDE(depth);
	if (!depth || depth > PT_DEPTH)
		return ~0ull;
	depth--;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	return d->open[depth].cfa;
}

/* The fnode that begins here in the present context: its parent is open and on top. */
INLINE u32 fnode_choose(struct pt_descent *d, u32 first, u64 ret)
{
	u64 depth = d->depth;
	u32 parent = 0, index = first;

	HIDE(depth);
	if (depth && depth <= PT_DEPTH) {
		depth--;
		HIDE(depth);
		depth &= PT_DEPTH - 1;
		parent = d->open[depth].fnode + 1;
	}
	for (int i = 0; i < 8 && index; i++) {
		u32 key = index - 1;
		struct pt_fnode *f = bpf_map_lookup_elem(&fnodes, &key);

		if (!f)
			return 0;
		if (f->parent == parent && (!f->only_return || f->only_return == ret))
			return index;
		index = f->next;
	}
	return 0;
}

/*
 * A site that one call of f0 passes again and again while probes take much of that call: timing this loop would
 * move the very peak that is asked for.
 */
INLINE bool fnode_too_hot(struct pt_descent *d, u32 fnode, u64 now)
{
	u64 index = fnode;

	HIDE(index);
	index &= PT_FNODES - 1;
	return d->sums[index].count >= DESCEND_HOT_COUNT && d->cost > (now - d->start) / DESCEND_HOT_PART;
}

/* False: it is passed too often in this call to be timed at all. */
INLINE bool descent_fnode_start(struct pt_control *c, struct pt_site *s, struct pt_regs *ctx, u32 tid)
{
	struct pt_descent *d = bpf_task_storage_get(&descents, bpf_get_current_task_btf(), 0, 0);
	u64 cfa = ctx->sp + (s64)s->fnode_cfa, ret = 0, depth;
	struct pt_fnode_open *o;
	struct pt_thread *t;
	struct pt_fnode *f;
	u32 index, key;

	if (!d || !d->active || d->epoch != c->descend_epoch)
		return true;
	key = s->start_fnode - 1;
	f = bpf_map_lookup_elem(&fnodes, &key);
	if (!f)
		return true;
	/* what lies below this frame is gone; a tail call keeps its parent's frame */
	for (int i = 0; i < PT_DEPTH; i++) {
		u64 top = top_cfa(d);

		if (top == ~0ull || top > cfa || (top == cfa && f->tail))
			break;
		fnode_close(d, 0, 0, false);
	}
	if (f->only_return && bpf_probe_read_user(&ret, sizeof(ret), (void *)(cfa - 8)))
		return true;
	index = fnode_choose(d, s->start_fnode, ret);
	if (!index)
		return true;
	key = index - 1;
	f = bpf_map_lookup_elem(&fnodes, &key);
	if (!f)
		return true;
	d->hits++;
	d->cost += f->cost;
	if (d->depth >= PT_DEPTH)
		return true;
	t = bpf_map_lookup_elem(&threads, &tid);
	depth = d->depth;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	o = &d->open[depth];
	o->cfa = cfa;
	o->fnode = index - 1;
	o->off_ns = t ? t->off_ns : 0;
	o->runq_ns = t ? t->runq_ns : 0;
	d->depth = depth + 1;
	o->start = bpf_ktime_get_ns();
	return s->flags & PT_SITE_START || !fnode_too_hot(d, index - 1, o->start);
}

INLINE void descent_fnode_end(struct pt_control *c, struct pt_site *s, struct pt_regs *ctx, u64 now, u32 tid)
{
	struct pt_descent *d = bpf_task_storage_get(&descents, bpf_get_current_task_btf(), 0, 0);
	u64 cfa = ctx->sp + (s64)s->end_cfa;
	struct pt_thread *t;

	if (!d || !d->active || d->epoch != c->descend_epoch)
		return;
	t = bpf_map_lookup_elem(&threads, &tid);
	for (int i = 0; i < PT_DEPTH; i++) {
		u64 top = top_cfa(d);

		if (top == ~0ull || top > cfa)
			break;
		fnode_close(d, t, now, top == cfa);
	}
}

/* A call of f0 begins. When f0 calls itself, the outermost one is meant. */
INLINE void descent_start(struct pt_control *c, struct pt_act_key *key, struct pt_act *a)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_descent *d = bpf_task_storage_get(&descents, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct pt_thread *t;
	u32 tid = a->tid;

	if (!d)
		return;
	/* one further down the stack is inside the one that is open; else that one was left by a throw */
	if (d->active && key->cfa < d->cfa && d->epoch == c->descend_epoch)
		return;
	d->active = 0;
	d->cfa = key->cfa;
	d->epoch = c->descend_epoch;
	d->depth = 0;
	d->hits = 0;
	d->cost = 0;
	d->start = bpf_ktime_get_ns();
	d->snap = a->snap;
#pragma nounroll
	for (u64 i = 0; i < PT_FNODES; i++) {
		HIDE(i);
		if (i >= PT_FNODES)
			break;
		d->sums[i].count = 0;
		d->sums[i].max = 0;
		d->sums[i].sum = 0;
		d->sums[i].blocked = 0;
		d->sums[i].runq = 0;
	}
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t) {
		d->preempt_ns = t->preempt_ns;
		d->irq_ns = t->irq_ns;
		t->preempt_longest = 0;
		t->irq_longest = 0;
	}
	d->active = 1;
}

INLINE void descent_record(struct pt_control *c, struct pt_descent *d, struct pt_act_key *key, struct pt_act *a,
			   struct task_struct *task, struct pt_thread *t, u64 raw, u64 latency)
{
	struct pt_record_call *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&c->lost_ring, 1);
		return;
	}
	__builtin_memset(r, 0, sizeof(*r) - sizeof(r->sums));
	r->head.kind = PT_RECORD_CALL;
	r->head.slot = key->slot;
	r->head.tgid = key->tgid;
	r->head.tid = a->tid;
	r->head.at = a->start;
	r->raw = raw;
	r->latency = latency;
	r->epoch = d->epoch;
	r->hits = d->hits;
	r->known = snapshot_delta(&r->delta, c, &d->snap, task, t);
	if (t) {
		r->preempt_ns = t->preempt_ns - d->preempt_ns;
		r->preempt_pid = t->preempt_pid;
		__builtin_memcpy(r->preempt_comm, t->preempt_comm, PT_COMM);
		r->irq_ns = t->irq_ns - d->irq_ns;
		r->irq_number = t->irq_number;
	}
	bpf_probe_read_kernel(r->sums, sizeof(r->sums), d->sums);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

INLINE u32 innermost(struct pt_descent *d)
{
	u64 depth = d->depth;

	HIDE(depth);
	if (!depth || depth > PT_DEPTH)
		return 0;
	depth--;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	return d->open[depth].fnode + 1;
}

/* Copy registers and the part of the stack that lies inside f0, where this thread is in a call of it. */
INLINE void descent_stack(struct pt_control *c, struct task_struct *task, struct pt_regs *regs, u32 room, bool sleeps)
{
	struct pt_descent *d = bpf_task_storage_get(&descents, task, 0, 0);
	struct pt_record_stack *r = bpf_map_lookup_elem(&stacks, &room);
	u64 bytes;

	if (!d || !d->active || !r || c->stacks_left <= 0)
		return;
	__sync_fetch_and_add(&c->stacks_left, -1);
	r->head.kind = PT_RECORD_STACK;
	r->head.slot = c->descend_slot;
	r->head.tgid = task->tgid;
	r->head.tid = task->pid;
	r->head.at = bpf_ktime_get_ns();
	r->cfa = d->cfa;
	r->sleeps = sleeps;
	r->fnode = innermost(d);
	r->epoch = d->epoch;
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), regs))
		return;
	/* with the return address of f0 and a little of its caller's frame */
	bytes = d->cfa + 64 - r->regs[PT_REG_SP];
	HIDE(bytes);
	if (bytes > PT_STACK)
		bytes = PT_STACK;
	if (bpf_probe_read_user(r->stack, bytes, (void *)r->regs[PT_REG_SP])) {
		bytes = 512;
		if (bpf_probe_read_user(r->stack, bytes, (void *)r->regs[PT_REG_SP]))
			bytes = 0;
	}
	r->bytes = bytes;
	HIDE(bytes);
	if (bytes > PT_STACK)
		return;
	if (bpf_ringbuf_output(&ring, r, __builtin_offsetof(struct pt_record_stack, stack) + bytes, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&c->lost_ring, 1);
}

/* Never more than three quarters, as in hist_count(). */
INLINE u64 less_probes(u64 raw, u64 cost)
{
	u64 least = (raw >> 2) + !raw;

	return raw > cost + least ? raw - cost : least;
}

/* A call of f0 has returned. Returns what the probes inside it took of its latency. */
INLINE u64 descent_end(struct pt_control *c, struct pt_act_key *key, struct pt_act *a, u64 now, u32 tid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_descent *d = bpf_task_storage_get(&descents, task, 0, 0);
	u64 raw = now - a->start, latency, index = key->slot;
	struct pt_thread *t;

	if (!d || !d->active || d->cfa != key->cfa || a->tid != tid)
		return 0;
	d->active = 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	/* what ends with f0: tail calls, and a call whose own end stands at the same address */
	for (int i = 0; i < PT_DEPTH; i++) {
		if (top_cfa(d) == ~0ull)
			break;
		fnode_close(d, t, now, true);
	}
	HIDE(index);
	index &= PT_SLOTS - 1;
	latency = less_probes(raw, c->correction[index] + d->cost);
	if (latency >= c->descend_low && latency < c->descend_high)
		descent_record(c, d, key, a, task, t, raw, latency);
	return raw - less_probes(raw, d->cost);
}

#endif
