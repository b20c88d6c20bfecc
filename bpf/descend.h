/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descents (DARC, SIGMETRICS 2008, section 3): time the armed call sites inside calls of f0,
 * each in the context of its call path, and send their sums. User space votes.
 */
#pragma once

#include "bpf/keep.h"
#include "bpf/measure.h"
#include "bpf/return_probes.h"

/* Shorter sleeps are not sent. */
enum { DESCEND_SLEEP_MIN_NS = 1000 };

/*
 * A site may be in a loop too hot to be timed if one call of f0 hits it at least DESCEND_HOT_LEAST
 * times in one frame and the probes take too much of the call by their nominal cost: half of it
 * after 16 hits, a quarter after 32; after DESCEND_HOT_COUNT hits in whatever frame an eighth. The
 * limit is low because probes cost twice their nominal cost on a busy host, which is not corrected.
 */
enum { DESCEND_HOT_LEAST = 16, DESCEND_HOT_COUNT = 64, DESCEND_HOT_PART = 8 };

/* If probes and samples took less than 1/PROBED_PART of a call, the call may be judged by its
 * latency with or without them. */
enum { PROBED_PART = 4 };

/* Charge the cost of a hit inside f0: it is not time of the program, whichever function was
 * probed. */
INLINE void descent_charge(struct pt_control *c, struct pt_descent *d, struct pt_site *s)
{
	d->cost += c->hit_ns[s->class ? 1 : 0];
}

enum { GO_STACK_TOP = 8 }; /* in the struct g of a goroutine */

/*
 * Set d->top for an event inside f0. In Go a stack may move while a call is open: CFAs are kept
 * less the top of the stack. Returns false if the event belongs to another goroutine than the one
 * that called f0: that one is parked, and its thread runs others or the scheduler.
 */
INLINE bool is_inside(struct pt_descent *d, struct pt_regs *ctx)
{
	d->top = 0;
	return !d->goroutine || (ctx->r14 == d->goroutine &&
				 !bpf_probe_read_user(&d->top, sizeof(d->top),
						      (void *)(d->goroutine + GO_STACK_TOP)));
}

/* Time that probes and samples took from the call so far. */
INLINE u64 taken(struct pt_descent *d)
{
	return d->cost + d->sampled;
}

/*
 * Close the innermost open fnode and add its time to its sum. An fnode that an exception left
 * open is closed at the next event above it, usually the first call of the exception handler.
 */
SEPARATE int fnode_close(struct pt_descent *d, struct pt_thread *t, u64 now)
{
	u64 depth, ns, index, probes, runq = 0, irq = 0;
	struct pt_fnode_open *o;
	struct pt_fnode_sum *s;

	if (!d)
		return 0;
	depth = d->depth;
	HIDE(depth);
	if (!depth || depth > PT_DEPTH)
		return 0;
	depth--;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	o = &d->open[depth];
	d->depth = depth;
	index = o->fnode;
	HIDE(index);
	index &= PT_FNODES - 1;
	s = &d->record.sums[index];
	ns = now - o->start;
	probes = taken(d) - o->cost;
	ns = ns > probes ? ns - probes : 0;
	if (s->call != d->record.call) {
		s->call = d->record.call;
		s->count = 0;
		s->max = s->sum = s->blocked = s->runq = s->irq = s->faults = 0;
	}
	s->count++;
	s->sum += ns;
	s->faults += (u32)bpf_get_current_task_btf()->min_flt - o->faults;
	if (t) {
		runq = t->runq_ns - o->runq_ns;
		irq = t->irq_ns - o->irq_ns;
		s->runq += runq;
		s->irq += irq;
		s->blocked += (t->off_ns - o->off_ns) - runq;
	}
	/* the longest call is that with the most time of the program, not of the host */
	ns = ns > runq + irq ? ns - runq - irq : 0;
	if (ns > s->max)
		s->max = ns;
	return 0;
}

/* Close all open fnodes that are deeper than `depth`. */
SEPARATE int fnodes_close(struct pt_descent *d, u32 depth, u64 now, u32 tid)
{
	struct pt_thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct pt_control *c = the_control();

	if (d && c && t && d->depth > depth)
		steal_add(c, t, steal_clock(c));
#pragma nounroll
	for (int i = 0; d && i < PT_DEPTH; i++) {
		if (d->depth <= depth)
			break;
		fnode_close(d, t, now);
	}
	return 0;
}

/* The open fnode at this depth (1: the outermost); NULL: none. */
INLINE struct pt_fnode_open *open_at(struct pt_descent *d, u64 depth)
{
	HIDE(depth);
	if (!depth || depth > PT_DEPTH)
		return 0;
	depth--;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	return &d->open[depth];
}

INLINE u64 top_cfa(struct pt_descent *d)
{
	struct pt_fnode_open *o = open_at(d, d->depth);

	return o ? o->cfa : ~0ull;
}

/* Set `look` to the depth of the innermost open fnode whose frame is above `cfa`, or, with
 * `same`, at `cfa`. */
INLINE void look_above(struct pt_descent *d, u64 cfa, bool same)
{
#pragma nounroll
	for (int i = 0; i < PT_DEPTH; i++) {
		struct pt_fnode_open *o = open_at(d, d->look);

		if (!o || o->cfa > cfa || (same && o->cfa == cfa))
			break;
		d->look--;
	}
}

/* The index + 1 of the fnode that begins at this site with the fnode at depth `look` as its
 * parent; 0: none. */
INLINE u32 fnode_choose(struct pt_descent *d, u32 site, u64 ret)
{
	struct pt_fnode_open *o = open_at(d, d->look);
	struct pt_context key = {.parent = o ? o->fnode + 1 : 0, .site = site, .ret = ret};
	u32 *index = bpf_map_lookup_elem(&contexts, &key);

	return index ? *index : 0;
}

INLINE struct pt_fnode *fnode_at(u32 index)
{
	u32 key = index - 1;

	return index ? bpf_map_lookup_elem(&fnodes, &key) : 0;
}

/* The fnode of a tail call, hit at the jump or at the entry of its target; NULL: none. A tail
 * call has the frame of the function that jumps. */
INLINE struct pt_fnode *tail_chosen(struct pt_descent *d, u32 site, u64 cfa, u32 *index)
{
	struct pt_fnode_open *o;
	struct pt_fnode *f;

	look_above(d, cfa, true);
	o = open_at(d, d->look);
	if ((o ? o->cfa : d->cfa) != cfa)
		return 0;
	*index = fnode_choose(d, site, 0);
	f = fnode_at(*index);
	return f && f->tail ? f : 0;
}

/* The fnode of a call, hit at the call instruction or, with `entry`, at the entry of the
 * callee; NULL: none. */
INLINE struct pt_fnode *call_chosen(struct pt_descent *d, bool entry, u32 site, u64 cfa, u32 *index)
{
	struct pt_fnode *f;
	u64 ret = 0;

	look_above(d, cfa, false);
	if (entry && bpf_probe_read_user(&ret, sizeof(ret), (void *)(cfa + d->top - 8)))
		return 0;
	if (site >= PT_SITE_CALL)
		ret = ((struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()))->ip;
	*index = fnode_choose(d, site, entry ? true_return(cfa + d->top - 8, ret) : ret);
	if (!*index && ret && !entry)
		*index = fnode_choose(d, site, 0);
	f = fnode_at(*index);
	return f && !f->tail ? f : 0;
}

/*
 * True if one call of f0 hits the site many times and probes take much of that call: timing
 * such a loop would shift the peak that is being analysed. Hits on any path count, because a
 * probe costs the same where no fnode begins.
 */
INLINE bool site_too_hot(struct pt_site *s, struct pt_descent *d, u64 sp, u64 now)
{
	u64 passes;

	/* threads share the counter without a lock: an error of a few hits does not matter */
	if (s->of_call != d->start) {
		s->of_call = d->start;
		s->passes = s->loops = 0;
	}
	/* a recursion has few hits at each depth, and all of them are wanted */
	if (s->of_frame != sp) {
		s->of_frame = sp;
		s->loops = 0;
	}
	s->loops++;
	passes = ++s->passes < DESCEND_HOT_COUNT ? s->loops : DESCEND_HOT_COUNT;
	if (passes < DESCEND_HOT_LEAST || s->flags & PT_SITE_START)
		return false;
	return d->cost * passes > (now - d->start) * (DESCEND_HOT_COUNT / DESCEND_HOT_PART);
}

/* Open the fnode that begins at this site with this frame, if the call is on its path. Returns
 * the number of fnodes opened. */
SEPARATE int fnode_open(struct pt_descent *d, bool entry, u32 site, u64 cfa, u32 tid)
{
	struct pt_control *c = the_control();
	struct pt_fnode_open *o;
	struct pt_thread *t;
	struct pt_fnode *f;
	u32 index = 0;
	u64 depth;

	if (!d || !c)
		return 0;
	d->look = d->depth;
	f = tail_chosen(d, site, cfa, &index);
	if (!f)
		f = call_chosen(d, entry, site, cfa, &index);
	if (!f)
		return 0;
	/* frames below this one are gone: an exception left them */
	if (d->depth > d->look)
		fnodes_close(d, d->look, bpf_ktime_get_ns(), tid);
	d->record.hits++;
	t = bpf_map_lookup_elem(&threads, &tid);
	depth = d->depth;
	if (depth >= PT_DEPTH)
		return 0;
	HIDE(depth);
	depth &= PT_DEPTH - 1;
	o = &d->open[depth];
	o->cfa = cfa;
	o->fnode = index - 1;
	o->cost = taken(d);
	o->faults = (u32)bpf_get_current_task_btf()->min_flt;
	if (t)
		steal_add(c, t, steal_clock(c));
	o->off_ns = t ? t->off_ns : 0;
	o->runq_ns = t ? t->runq_ns : 0;
	o->irq_ns = t ? t->irq_ns : 0;
	d->depth = depth + 1;
	o->start = bpf_ktime_get_ns();
	return 1;
}

/* A site where fnodes begin was hit. Returns false if one call hits it too often to time it. */
INLINE bool descent_fnode_start(struct pt_control *c, struct pt_site *s, u32 site,
				struct pt_regs *ctx, u32 tid)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());

	if (!d)
		return true;
	descent_charge(c, d, s);
	/* in a call that began before this set was armed, only check for hot loops */
	if (d->record.epoch != c->descend_epoch || !is_inside(d, ctx))
		return !site_too_hot(s, d, ctx->sp, bpf_ktime_get_ns());
	/* a function may begin with a call: open its own fnode first, then the call's as its
	 * child */
	if (s->flags & PT_SITE_FNODE_ENTRY)
		s->opened += fnode_open(d, true, site, ctx->sp + (s64)s->entry_cfa - d->top, tid);
	if (s->flags & PT_SITE_FNODE_CALL)
		s->opened += fnode_open(d, false, site, ctx->sp + (s64)s->call_cfa - d->top, tid);
	return !site_too_hot(s, d, ctx->sp, bpf_ktime_get_ns());
}

INLINE void descent_fnode_end(struct pt_control *c, struct pt_site *s, struct pt_regs *ctx, u64 now,
			      u32 tid)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());

	if (!d)
		return;
	if (d->record.epoch == c->descend_epoch && is_inside(d, ctx)) {
		d->look = d->depth;
		look_above(d, ctx->sp + (s64)s->end_cfa - d->top, false);
		fnodes_close(d, d->look, now, tid);
	}
	/* if an fnode begins here, it charges the hit */
	if (!(s->flags & PT_SITE_FNODE_START))
		descent_charge(c, d, s);
}

INLINE u32 innermost(struct pt_descent *d)
{
	struct pt_fnode_open *o = open_at(d, d->depth);

	return o ? o->fnode + 1 : 0;
}

/* ---- the callees of an indirect call ---------------------------------- */

/* True if the indirect call at hand is made by the fnode that the entry is for. */
INLINE bool learn_context(struct pt_descent *d, struct pt_learn *l, u64 cfa)
{
	u32 top = innermost(d);
	struct pt_fnode *f;

	if (l->parent == PT_ANY_PARENT || top == l->parent)
		return true;
	/* or the call itself is timed, and its fnode was opened just before */
	f = fnode_at(top);
	return f && f->parent == l->parent && top_cfa(d) == cfa;
}

INLINE u64 register_of(struct pt_regs *ctx, u64 number)
{
	u64 value = 0;

	HIDE(number);
	if (number >= PT_REGS)
		return 0;
	if (number == PT_REG_IP)
		return ctx->ip;
	if (bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + number * 8))
		return 0;
	return value;
}

/* Target address of the call at hand; 0: the pointer could not be read. */
INLINE u64 learn_target(struct pt_learn *l, struct pt_regs *ctx)
{
	u64 at = register_of(ctx, l->base), value = 0;

	if (!l->memory)
		return at;
	at += (u64)l->disp + register_of(ctx, l->index) * l->scale;
	return bpf_probe_read_user(&value, sizeof(value), (void *)at) ? 0 : value;
}

INLINE void callee_note(struct pt_descent *d, u32 learn, u64 address)
{
	u64 n;

#pragma nounroll
	for (u64 i = 0; i < PT_CALLEES; i++) {
		HIDE(i);
		if (i >= PT_CALLEES || i >= d->nr_callees)
			break;
		if (d->callees[i].address == address && d->callees[i].learn == learn) {
			d->callees[i].count++;
			return;
		}
	}
	n = d->nr_callees;
	HIDE(n);
	if (n >= PT_CALLEES)
		return;
	d->callees[n].address = address;
	d->callees[n].learn = learn;
	d->callees[n].count = 1;
	d->nr_callees = n + 1;
}

INLINE void descent_learn(struct pt_control *c, struct pt_site *s, struct pt_regs *ctx)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());
	u32 key = s->learn;
	struct pt_learn *l = bpf_map_lookup_elem(&learns, &key);
	u64 target;

	if (!d || !l || d->record.epoch != c->descend_epoch)
		return;
	d->cost += l->cost;
	if (!is_inside(d, ctx) || !learn_context(d, l, ctx->sp + (s64)s->start_cfa - d->top))
		return;
	target = learn_target(l, ctx);
	if (target)
		callee_note(d, l->id, target);
}

INLINE void callees_send(struct pt_control *c, struct pt_descent *d)
{
	struct pt_record_callees *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&c->lost_ring, 1);
		return;
	}
	r->head.kind = PT_RECORD_CALLEES;
	r->head.slot = d->record.head.slot;
	r->head.tgid = d->record.head.tgid;
	r->head.tid = d->record.head.tid;
	r->head.at = d->record.head.at;
	r->epoch = d->record.epoch;
	r->nr = d->nr_callees;
	bpf_probe_read_kernel(r->callees, sizeof(r->callees), d->callees);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* The call has begun at `start`, when the counters of its thread were `snap`; `t` may be NULL. */
INLINE void descent_fill(struct pt_control *c, struct pt_descent *d,
			 const struct descent_call *call, struct pt_thread *t,
			 struct pt_snapshot *snap, u64 start)
{
	d->active = 0;
	d->key = call->key;
	d->goroutine = call->goroutine;
	d->cfa = call->cfa;
	d->depth = 0;
	d->cost = d->sampled = 0;
	d->start = start;
	d->nr_callees = 0;
	d->slot = call->slot;
	d->is_call = call->is_call;
	d->nr_sleeps = d->timed = 0;
	d->record.blocked = 0;
	d->record.arg_mask = call->arg_mask;
	for (int i = 0; i < PT_ARGS; i++)
		d->record.args[i] = call->args[i];
	d->snap = *snap;
	d->record.epoch = c->descend_epoch;
	d->burst = c->descend_burst;
	d->record.call++;
	d->record.hits = 0;
	d->record.late = 0;
	if (t) {
		d->preempt_ns = t->preempt_ns;
		d->irq_ns = t->irq_ns;
		t->irq_lead = 0;
	}
	if (d->waited)
		__builtin_memset(&d->record.waits, 0, sizeof(d->record.waits));
	d->waited = 0;
	d->work.doing = 0;
	d->record.handlers = 0;
	d->active = 1;
}

/* A call of f0 begins. If f0 calls itself, only the outermost call counts. */
INLINE void descent_start(struct pt_control *c, const struct descent_call *call, u32 tid,
			  struct pt_snapshot *snap)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_descent *d =
	    bpf_task_storage_get(&descents, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!d || is_within(c, task, d, call))
		return;
	descent_fill(c, d, call, bpf_map_lookup_elem(&threads, &tid), snap, bpf_ktime_get_ns());
}

/* Send the call; slot, begin and latencies are in the record. */
INLINE void descent_record(struct pt_control *c, struct pt_descent *d, u64 id,
			   struct task_struct *task, struct pt_thread *t)
{
	struct pt_record_call *r = &d->record;
	u64 nr = c->descend_fnodes;

	r->head.kind = PT_RECORD_CALL;
	r->head.tgid = id >> 32;
	r->head.tid = (u32)id;
	r->known = snapshot_delta(&r->delta, c, &d->snap, task, t);
	r->preempt_ns = 0;
	r->irq_ns = 0;
	if (t) {
		r->preempt_ns = t->preempt_ns - d->preempt_ns;
		r->irq_ns = t->irq_ns - d->irq_ns;
		r->irq_number = t->irq_number;
	}
	HIDE(nr);
	if (nr > PT_FNODES)
		nr = PT_FNODES;
	if (bpf_ringbuf_output(&ring, r,
			       __builtin_offsetof(struct pt_record_call, sums) +
				   nr * sizeof(struct pt_fnode_sum),
			       BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&c->lost_ring, 1);
	if (d->nr_callees)
		callees_send(c, d);
}

/* Copy the kernel work that is going on for the thread. */
INLINE void work_copy(struct pt_kernel_work *to, struct pt_descent *d)
{
	to->doing = d->work.doing;
	if (to->doing)
		__builtin_memcpy(to, &d->work, sizeof(*to));
}

/* The kernel work `doing` has ended for the current thread. */
INLINE void work_end(struct pt_control *c, u32 doing)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());

	if (d)
		d->work.doing &= ~doing;
}

/* Subtract the cost of probes, at most three quarters as in hist_count(). */
INLINE u64 less_probes(u64 raw, u64 cost)
{
	u64 least = (raw >> 2) + !raw;

	return raw > cost + least ? raw - cost : least;
}

/*
 * True if the call may be in the peak. The time that samples took is known to within a half. If
 * that is much of the call, accept the call within this error and mark it as blurred, so that
 * only its stacks are used.
 */
INLINE bool in_peak(struct pt_control *c, struct pt_descent *d, u64 low, u64 latency)
{
	u64 unsure = d->sampled / 2, high = c->keep ? ~0ull >> 1 : c->descend_high;

	d->record.blurred = unsure > latency / 4;
	if (!d->record.blurred)
		unsure = 0;
	return latency + unsure >= low && latency < high + unsure;
}

/* A call of f0 has returned. Returns the part of its latency that probes and samples took. */
SEPARATE u64 descent_end(struct pt_control *c, u32 slot, u64 key, u64 start, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_descent *d = c ? descent_of(c, task) : 0;
	u64 raw = now - start, latency, low, index = slot, id = bpf_get_current_pid_tgid();
	u32 tid = (u32)id;
	struct pt_thread *t;

	if (!c || !d || d->key != key || (c->keep && d->slot != slot))
		return 0;
	d->active = 0;
	/* close fnodes that end with f0: tail calls, and a call that returns to the address at
	 * which f0 ends */
	fnodes_close(d, 0, now, tid);
	t = bpf_map_lookup_elem(&threads, &tid);
	HIDE(index);
	index &= PT_SLOTS - 1;
	low = c->keep ? keep_limit(c, index) : c->descend_low;
	latency = less_probes(raw, c->correction[index] + taken(d));
	/* probes do not lengthen a call that waits until a point in time: if they took little,
	 * count the call if either length is in the peak */
	if (latency < low && taken(d) < raw / PROBED_PART &&
	    less_probes(raw, c->correction[index]) >= low)
		latency = low;
	if (low && in_peak(c, d, low, latency)) {
		if (c->keep)
			kept_sleeps_send(c, d);
		d->record.head.slot = slot;
		d->record.head.at = start;
		d->record.raw = raw;
		d->record.latency = latency;
		descent_record(c, d, id, task, t);
	}
	return raw - less_probes(raw, taken(d));
}
