/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing of waits: context switches and wakings. */
#pragma once

#include "bpf/groups.h"
#include "bpf/return_probes.h"
#include "bpf/waits_objects.h"
#include "bpf/waits_places.h"

/* enum switch_state */
enum {
	LEFT_DEAD = 0x10 | 0x20 | 0x80,
	LEFT_PREEMPTED = 1 << 16,
	LEFT_IN_IOWAIT = 1 << 17,
	LEFT_THROTTLED = 1 << 18,
};
/* Words of a stack that tell it from others. The CPU hashes the lanes at the same time. */
enum { USER_TOP = 16, USER_READ = 8, USER_LANES = 4 };

/* ---- the stack of user code */

/* Send the raw stack of the current task. Returns 0 if it was sent. */
SEPARATE int user_stack_send(u32 trace, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	struct pt_waits_user_stack *r;
	u64 bytes = 0, sp;
	u32 zero = 0;

	if (!c)
		return -1;
	r = bpf_map_lookup_elem(&waits_user_stack, &zero);
	if (!r)
		return -1;
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task)))
		return -1;
	sp = r->regs[PT_REG_SP];
	replaced_fill(&r->replaced, task);
	if (!bpf_probe_read_user(r->stack, PT_SNAPSHOT_STACK, (void *)sp)) {
		bytes = PT_SNAPSHOT_STACK;
	} else {
		for (u32 i = 0; i < PT_SNAPSHOT_STACK / PT_SNAPSHOT_STEP; i++) {
			if (bpf_probe_read_user(r->stack + i * PT_SNAPSHOT_STEP, PT_SNAPSHOT_STEP,
						(void *)(sp + i * PT_SNAPSHOT_STEP)))
				break;
			bytes += PT_SNAPSHOT_STEP;
		}
	}
	waits_head(c, &r->head, PT_WAITS_USER_STACK, now);
	r->trace = trace;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->bytes = bytes;
	HIDE(bytes);
	if (bytes > PT_SNAPSHOT_STACK)
		return -1;
	return bpf_ringbuf_output(&waits_ring, r,
				  __builtin_offsetof(struct pt_waits_user_stack, stack) + bytes,
				  BPF_RB_NO_WAKEUP);
}

/* May one more stack be sent? Samples have an allowance of their own, because few are equal. */
INLINE bool user_stack_take(struct pt_control *c, u32 sampled)
{
	if ((sampled ? c->waits.samples_left : c->waits.stacks_left) <= 0)
		return false;
	if (sampled)
		__sync_fetch_and_add(&c->waits.samples_left, -1);
	else
		__sync_fetch_and_add(&c->waits.stacks_left, -1);
	return true;
}

/*
 * The number of the current task's stack in user code; 0: not known. Stacks with the same
 * instruction, stack pointer and innermost words count as the same. `sampled`: PT_SAMPLED_TRACE if
 * a clock has interrupted the task, 0 if it falls asleep.
 */
NOINLINE u32 user_trace(struct pt_control *c, struct pt_follow *f, struct task_struct *task,
			u32 sampled, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 top[USER_READ], lane[USER_LANES] = {}, hash;
	u32 trace, window = c->waits.window;

	if (!(f->flags & IS_TARGET))
		return 0;
	hash = regs->ip ^ regs->sp * 31 ^ (u64)task->tgid << 32;
	/* in parts: Linux 6.1 allows 512 bytes of stack to this and all that calls it */
	for (int part = 0; part < USER_TOP / USER_READ; part++) {
		if (bpf_probe_read_user(top, sizeof(top), (void *)(regs->sp + part * sizeof(top))))
			return 0;
		for (int i = 0; i < USER_READ; i++)
			lane[i % USER_LANES] = hash_word(lane[i % USER_LANES], top[i]);
	}
	for (int i = 0; i < USER_LANES; i++)
		hash = hash_word(hash, lane[i]);
	if (!sampled && f->user_key == hash)
		return f->user_trace;
	trace = ((u32)(hash ^ hash >> 32) & (PT_USER_TRACE - 1)) | PT_USER_TRACE | sampled;
	if (!bpf_map_lookup_elem(&traces, &trace)) {
		if (!user_stack_take(c, sampled) || user_stack_send(trace, now))
			return 0;
		bpf_map_update_elem(&traces, &trace, &window, BPF_ANY);
	}
	if (sampled)
		return trace;
	f->user_key = hash;
	f->user_trace = trace;
	return trace;
}

/* ---- switches */

/* Interest in a task has expired: say so and forget it. */
NOINLINE int follow_end(struct pt_control *c, struct task_struct *task, struct pt_follow *f,
			u64 now)
{
	u32 tid = task->pid;

	waits_announce(c, task, (f->flags & ~IS_FOLLOWED) | IS_UNFOLLOWED, 'R', now);
	bpf_map_delete_elem(&followed, &tid);
	return 0;
}

/*
 * Why the current task leaves its CPU. A task that is still runnable was preempted, also if it left
 * on its way back to user code, where `preempt` is false; unless it is in sched_yield().
 */
INLINE u32 left_state(struct task_struct *prev, bool preempt)
{
	u32 state = preempt ? 0 : prev->__state & 0xffff;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(prev);

	if (state)
		return state;
	if (is_throttled(prev))
		return LEFT_PREEMPTED | LEFT_THROTTLED;
	return preempt || prev->flags & FLAG_KTHREAD || regs->orig_ax != CALL_SCHED_YIELD
		   ? LEFT_PREEMPTED
		   : 0;
}

/* The switch itself; the stacks and what `prev` falls asleep in are known already. */
INLINE void switched_fill(struct pt_switched *s, struct task_struct *prev, struct task_struct *next)
{
	struct irq_context *irq = irq_here();
	u64 in_irqs = irq ? irq->before : 0;

	s->prev_start = prev->start_boottime;
	s->next_start = next->start_boottime;
	s->prev_tid = prev->pid;
	s->next_tid = next->pid;
	s->irq_ns = in_irqs < 1ull << 32 ? in_irqs : ~0u;
}

/* The switch of a followed task that falls asleep, with what it falls asleep in. False: a thread of
 * the kernel, of which the switch is all. */
NOINLINE bool sleep_send(struct pt_control *c, struct task_struct *prev, struct task_struct *next,
			 struct pt_switched *s, u64 now)
{
	struct pt_waits_sleep *r;
	struct pt_asleep_in in;

	if (!asleep_fill(c, prev, &in, true, now))
		return false;
	WAITS_RECORD(c, r, PT_WAITS_SLEEP, now);
	if (!r)
		return true;
	r->switched = *s;
	r->in = in;
	switched_fill(&r->switched, prev, next);
	WAITS_SEND(r);
	return true;
}

/* Say which quota the task that leaves its CPU has used up. */
NOINLINE int throttled_send(struct pt_control *c, struct task_struct *prev, u64 now)
{
	u32 number = quota_number(c, prev, now);
	struct pt_waits_asleep *r;

	if (!number)
		return 0;
	WAITS_RECORD(c, r, PT_WAITS_ASLEEP, now);
	if (!r)
		return 0;
	__builtin_memset(&r->in, 0, sizeof(r->in));
	r->in.tid = prev->pid;
	r->in.syscall = -1;
	r->in.object = number;
	WAITS_SEND(r);
	return 0;
}

NOINLINE int waits_switched(void *ctx, struct pt_control *c, bool preempt, struct task_struct *prev,
			    struct task_struct *next)
{
	struct pt_follow *out = follow_of(c, prev), *in = follow_of(c, next);
	struct pt_switched s = {};
	u32 state, tid = prev->pid, any;
	struct pt_waits_switch *r;
	u64 now;

	/* the compiler would join the two pointers by an operation that the verifier prohibits */
	any = out ? 1 : 0;
	HIDE(any);
	any |= in ? 1 : 0;
	HIDE(any);
	if (!any) {
		others_count();
		return 0;
	}
	now = bpf_ktime_get_ns();
	state = s.state = left_state(prev, preempt);
	if (out) {
		follow_show(c, out, prev, now);
		if (out->until < now) {
			follow_end(c, prev, out, now);
			out = 0;
			any = in ? 1 : 0;
			HIDE(any);
		}
	}
	if (in && in->pending && !waits_announce(c, next, in->flags, 'Q', now))
		in->pending = 0;
	if (out && !in && !(state & 0xffff))
		waits_name(c, next, now);
	if (out && state & LEFT_THROTTLED)
		throttled_send(c, prev, now);
	if (out && state & 0xffff && !(state & LEFT_DEAD)) {
		s.state = state | (BPF_CORE_READ_BITFIELD(prev, in_iowait) ? LEFT_IN_IOWAIT : 0);
		if (follow_is_open(c, out, prev)) {
			s.kernel_stack = followed_trace(ctx, c, out, 0, now);
			s.user_stack = user_trace(c, out, prev, 0, now);
			if (sleep_send(c, prev, next, &s, now))
				any = 0;
		}
	}
	if (any) {
		WAITS_RECORD(c, r, PT_WAITS_SWITCH, now);
		if (r) {
			r->switched = s;
			switched_fill(&r->switched, prev, next);
			WAITS_SEND(r);
		}
	}
	if (out && state & LEFT_DEAD)
		bpf_map_delete_elem(&followed, &tid);
	sched_charge(now);
	return 0;
}

/* ---- wakings */

/* A followed task wakes a stranger: if it does that most of the time, it wakes everybody. */
INLINE void stranger_woken(struct pt_control *c, struct task_struct *current)
{
	struct pt_follow *f = follow_of(c, current);

	others_count();
	if (!f || f->flags & (IS_HUB | IS_TARGET))
		return;
	f->strangers++;
	if (f->strangers >= HUB_STRANGERS && f->strangers > 4 * f->wakes)
		f->flags |= IS_HUB;
}

/*
 * A task that was born in this window, as `f`, and now wakes a followed one: follow its parent,
 * too. What this starts next, e.g. the next client of a server, is then followed from its birth.
 */
NOINLINE int parent_follow(struct pt_control *c, struct pt_follow *f, struct task_struct *task,
			   u64 now)
{
	struct task_struct *parent = task->real_parent;
	struct pt_follow *g;

	/* the first process of the host takes in all orphans */
	if (parent->pid <= 1 || parent->flags & FLAG_KTHREAD)
		return 0;
	g = follow_of(c, parent);
	if (!g && follow_spreads(c, f)) {
		g = follow_begin(c, parent, f->hops + 1, now + EXPIRES_NS);
		if (g)
			follow_announce(c, parent, g, now);
	} else if (g && g->until != NEVER) {
		g->until = now + EXPIRES_NS;
	}
	if (g)
		g->is_parent = 1;
	return 0;
}

/* Was this waker born in the window, and does it wake a followed task for the first time? */
INLINE bool is_newcomer(struct pt_control *c, struct pt_follow *by)
{
	return by && by->wakes <= 1 && by->start > c->waits.opened;
}

/* A followed task waited for this request: follow its submitter from the next one on. */
INLINE void submitter_want(struct pt_control *c, u64 key)
{
	struct pt_waits_request *q = bpf_map_lookup_elem(&waits_requests, &key);

	if (q && q->stranger && q->window == c->waits.window)
		c->waits.submitter[q->tid & (PT_SUBMITTERS - 1)] = q->tid;
}

NOINLINE int waits_woken(void *ctx, struct pt_control *c, struct task_struct *wakee)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_follow *f = follow_of(c, wakee), *by = 0;
	struct pt_waits_waking *r;
	struct brackets b;
	u32 kernel = 0;
	u64 now;

	if (!f) {
		stranger_woken(c, current);
		return 0;
	}
	now = bpf_ktime_get_ns();
	brackets_read(c, &b, now);
	if ((b.word & 0xf000) == IN_BLOCK << 12)
		submitter_want(c, b.cause);
	/* what an interrupt wakes says nothing about the task under it; a packet that a task
	 * delivers itself does */
	if (current->pid && current != wakee && !b.hard && (!b.soft || b.network))
		by = follow_spread(c, f, current, now);
	if (is_newcomer(c, by))
		parent_follow(c, by, current, now);
	if (current->pid && !by)
		by = follow_of(c, current);
	if (by)
		follow_show(c, by, current, now);
	else if (!b.hard)
		waits_name(c, current, now);
	if (current->pid && !b.hard && (by ? follow_is_open(c, by, current) : !c->waits.check))
		kernel =
		    by && !b.word ? followed_trace(ctx, c, by, 1, now) : kernel_trace(ctx, 0, now);
	WAITS_RECORD(c, r, PT_WAITS_WAKING, now);
	if (r) {
		r->current_start = current->pid ? current->start_boottime : 0;
		r->wakee_start = wakee->start_boottime;
		r->brackets = b.word;
		r->cause = b.cause;
		r->current_tid = current->pid;
		r->wakee_tid = wakee->pid;
		r->kernel_stack = kernel;
		r->spare = 0;
		WAITS_SEND(r);
	}
	sched_charge(now);
	return 0;
}
