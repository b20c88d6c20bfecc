/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracing of waits: which tasks are followed, and their records. Interest begins with the targets'
 * tasks and spreads to whoever wakes a followed task. All of this is skipped while no window is
 * open.
 */
#pragma once

#include "bpf/measure.h"

/* 0: the kernel refused the programs with the tracing of waits, so it is left out of them. */
extern const volatile unsigned int waits_built;

/* Bits of rec_task.flags: enum task_flags of analysis/session/record_waits.h. */
enum {
	IS_TARGET = 1 << 0,
	IS_FOLLOWED = 1 << 1,
	IS_KERNEL = 1 << 2,
	IS_KWORKER = 1 << 3,
	IS_URING = 1 << 6,
	IS_HUB = 1 << 7,
	IS_RESTRICTED = 1 << 8,
	IS_UNFOLLOWED = 1 << 9,
};
/* enum bracket_kind */
enum {
	IN_HARD = 1,
	IN_SOFT,
	IN_TIMER,
	IN_CLOCK,
	IN_IPI,
	IN_BLOCK,
	IN_WORK,
	IN_URING,
};
enum { SOFT_NET_TX = 2, SOFT_NET_RX = 3 };
/* A task that woke this many strangers, and four times as many as followed ones, wakes everybody.
 */
enum { HUB_STRANGERS = 32 };
#define EXPIRES_NS 5000000000ull
#define NEVER (~0ull)

INLINE bool waits_on(struct pt_control *c)
{
	return waits_built && c && *(volatile u32 *)&c->waits.window;
}

/* ---- records */

/* Count the time since `begin` as cost of the tracing. */
INLINE void waits_charge(u64 begin)
{
	u64 *ns = counter_here(PT_WAITS_NS);

	if (ns)
		__sync_fetch_and_add(ns, bpf_ktime_get_ns() - begin);
	count_hit(PT_HIT_WAITS);
}

/*
 * The same for switches and wakings, where interrupts are off, so that nothing else counts on this
 * CPU meanwhile. Reading the clock costs as much as sending a record: one event of 8 stands for
 * all. Which one it is follows from a hash of their number, because switches and wakings alternate.
 */
enum { CHARGED_BITS = 3 };
INLINE void sched_charge(u64 begin)
{
	u64 *hits = counter_here(PT_HIT_WAITS), *ns;

	if (!hits || ++*hits * 0x9e3779b97f4a7c15ull >> (64 - CHARGED_BITS))
		return;
	ns = counter_here(PT_WAITS_NS);
	if (ns)
		*ns += (bpf_ktime_get_ns() - begin) << CHARGED_BITS;
}

INLINE struct waits_cpu *waits_cpu(struct pt_control *c)
{
	u32 zero = 0;
	struct waits_cpu *cpu = bpf_map_lookup_elem(&waits_cpus, &zero);

	if (cpu && cpu->window != c->waits.window) {
		cpu->window = c->waits.window;
		cpu->lost = 0;
	}
	return cpu;
}

INLINE void waits_lose(struct pt_control *c)
{
	struct waits_cpu *cpu = waits_cpu(c);

	if (cpu)
		__sync_fetch_and_add(&cpu->lost, 1);
}

INLINE void waits_head(struct pt_control *c, struct pt_waits_head *h, u32 kind, u64 now)
{
	struct waits_cpu *cpu = waits_cpu(c);

	h->kind = kind;
	h->window = c->waits.window;
	h->cpu = bpf_get_smp_processor_id();
	h->lost = cpu ? cpu->lost : 0;
	h->at = now;
}

/* Reserve a record of this CPU in `r`; if there is no room, count it as lost. */
#define WAITS_RECORD(c, r, kind_, now)                                                             \
	r = bpf_ringbuf_reserve(&waits_ring, sizeof(*r), 0);                                       \
	if (!r)                                                                                    \
		waits_lose(c);                                                                     \
	else                                                                                       \
		waits_head(c, &r->head, kind_, now)

#define WAITS_SEND(r) bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP)

/* ---- who is followed */

INLINE bool follow_bit(u32 tid)
{
	u32 zero = 0;
	u64 at = tid % PT_FOLLOW_BITS / 64;
	struct follow_bits *bits = bpf_map_lookup_elem(&follow_bits, &zero);

	HIDE(at);
	return bits && at < PT_FOLLOW_BITS / 64 && bits->word[at] & 1ull << tid % 64;
}

/* Count an event of tasks that are not followed. Interrupts are off, so nothing else counts on this
 * CPU meanwhile; an atomic addition would be half of the cost of such an event. */
INLINE void others_count(void)
{
	u64 *n = counter_here(PT_HIT_WAITS_OTHER);

	if (n)
		(*n)++;
}

INLINE void follow_bit_set(u32 tid)
{
	u32 zero = 0;
	u64 at = tid % PT_FOLLOW_BITS / 64;
	struct follow_bits *bits = bpf_map_lookup_elem(&follow_bits, &zero);

	HIDE(at);
	if (!bits || at >= PT_FOLLOW_BITS / 64)
		return;
	__sync_fetch_and_or(&bits->word[at], 1ull << tid % 64);
}

/* The state of a followed task; NULL: it is not followed. */
INLINE struct pt_follow *follow_of(struct pt_control *c, struct task_struct *task)
{
	u32 tid = task->pid;
	struct pt_follow *f;

	if (!follow_bit(tid))
		return 0;
	f = bpf_map_lookup_elem(&followed, &tid);
	return f && f->window == c->waits.window && f->start == task->start_boottime ? f : 0;
}

INLINE u32 kind_flags(struct task_struct *task)
{
	u32 flags = BPF_CORE_READ(task, flags);

	return (flags & FLAG_KTHREAD ? IS_KERNEL : 0) | (flags & FLAG_KWORKER ? IS_KWORKER : 0) |
	       (flags & FLAG_URING ? IS_URING : 0);
}

/* Announce a task. `state`: a letter as in /proc, 0: not known. */
NOINLINE int waits_announce(struct pt_control *c, struct task_struct *task, u32 flags, u32 state,
			    u64 now)
{
	struct task_struct *parent;
	struct pt_waits_task *r;

	WAITS_RECORD(c, r, PT_WAITS_TASK, now);
	if (!r)
		return -1;
	parent = BPF_CORE_READ(task, real_parent);
	r->start = task->start_boottime;
	r->parent_start = BPF_CORE_READ(parent, start_boottime);
	r->parent_tid = BPF_CORE_READ(parent, pid);
	r->tid = task->pid;
	r->pid = task->tgid;
	r->flags = flags;
	r->state = state;
	r->kernel = BPF_CORE_READ(task, flags);
	bpf_probe_read_kernel(r->comm, PT_COMM, task->comm);
	WAITS_SEND(r);
	return 0;
}

/* Name a task that is not followed, once in a window. */
INLINE void waits_name(struct pt_control *c, struct task_struct *task, u64 now)
{
	u64 start = task->start_boottime;
	u32 window = c->waits.window, *named;

	if (!task->pid)
		return;
	named = bpf_map_lookup_elem(&strangers, &start);
	if (named && *named == window)
		return;
	if (!waits_announce(c, task, kind_flags(task), 0, now))
		bpf_map_update_elem(&strangers, &start, &window, BPF_ANY);
}

INLINE u32 restriction(struct pt_control *c, struct task_struct *task)
{
	u32 tgid = task->tgid;

	return c->waits.check && !is_target(c, tgid) && !bpf_map_lookup_elem(&traceable, &tgid)
		   ? IS_RESTRICTED
		   : 0;
}

/* Follow a task from now on, without announcing it. NULL: there is no room. */
NOINLINE struct pt_follow *follow_begin(struct pt_control *c, struct task_struct *task, u32 hops,
					u64 until)
{
	struct pt_follow f = {.until = until, .hops = hops};
	u32 tid = task->pid;

	f.start = task->start_boottime;
	f.window = c->waits.window;
	f.flags = IS_FOLLOWED | kind_flags(task) | restriction(c, task);
	if (is_target(c, task->tgid))
		f.flags |= IS_TARGET;
	/* interest does not spread through a worker, which works for everybody */
	if (f.flags & IS_KWORKER)
		f.flags |= IS_HUB;
	if (bpf_map_update_elem(&followed, &tid, &f, BPF_ANY)) {
		__sync_fetch_and_add(&c->waits.lost, 1);
		return 0;
	}
	follow_bit_set(tid);
	return bpf_map_lookup_elem(&followed, &tid);
}

/* The current task was found running, and this is its first event: announce it. */
INLINE void follow_show(struct pt_control *c, struct pt_follow *f, struct task_struct *task,
			u64 now)
{
	if (f->pending && !waits_announce(c, task, f->flags, 'R', now))
		f->pending = 0;
}

INLINE bool follow_spreads(struct pt_control *c, struct pt_follow *f)
{
	return !(f->flags & IS_HUB) && f->hops < c->waits.hops;
}

/* The current task has woken, or queued work for, a followed one: follow it, too. */
INLINE struct pt_follow *follow_spread(struct pt_control *c, struct pt_follow *from,
				       struct task_struct *current, u64 now)
{
	struct pt_follow *f = follow_of(c, current);
	u32 hops = from->hops + 1;

	if (!f) {
		if (!follow_spreads(c, from))
			return 0;
		f = follow_begin(c, current, hops, now + EXPIRES_NS);
		if (f)
			waits_announce(c, current, f->flags, 'R', now);
		return f;
	}
	follow_show(c, f, current, now);
	if (f->until != NEVER)
		f->until = now + EXPIRES_NS;
	if (hops < f->hops)
		f->hops = hops;
	f->wakes++;
	return f;
}

/* May its stacks and arguments be seen? */
INLINE bool follow_is_open(struct pt_control *c, struct pt_follow *f, struct task_struct *task)
{
	if (!(f->flags & IS_RESTRICTED))
		return true;
	if (restriction(c, task))
		return false;
	f->flags &= ~IS_RESTRICTED;
	return true;
}

/* ---- brackets */

INLINE struct irq_context *irq_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&irqs, &zero);
}

INLINE void bracket_push(struct irq_context *irq, u32 kind, u32 number, u64 of)
{
	u64 at = irq->brackets++;

	HIDE(at);
	at &= PT_BRACKETS - 1;
	irq->bracket[at] = kind << 12 | (number & 0xfff);
	irq->of[at] = of;
}

/* Remove the innermost bracket, if it is of this kind. A block request whose end has no tracepoint
 * ends with what is around it. */
INLINE void bracket_pop(struct irq_context *irq, u32 kind)
{
	for (int i = 0; i < 2; i++) {
		u64 at = irq->brackets - 1;
		u32 top;

		if (!irq->brackets)
			return;
		HIDE(at);
		at &= PT_BRACKETS - 1;
		top = irq->bracket[at] >> 12;
		if (top != kind && top != IN_BLOCK)
			break;
		irq->brackets--;
		if (top == kind)
			return;
	}
	/* an entry or an exit was missed */
	irq->brackets = 0;
}

/* The number of a function of a timer or a work item. */
NOINLINE u32 handler_number(struct pt_control *c, u32 kind, u64 address, u64 now)
{
	u32 *known = bpf_map_lookup_elem(&handlers, &address), number;
	struct pt_waits_name *r;

	if (known)
		return *known;
	number = __sync_fetch_and_add(&c->waits.handlers, 1) + 1;
	if (number > PT_HANDLERS)
		return 0;
	WAITS_RECORD(c, r, PT_WAITS_NAME, now);
	if (!r)
		return 0;
	r->address = address;
	r->kind = kind;
	r->number = number;
	WAITS_SEND(r);
	bpf_map_update_elem(&handlers, &address, &number, BPF_ANY);
	return number;
}

/* Remove the bracket of a block request, if it is the innermost one. */
INLINE void bracket_pop_request(struct irq_context *irq)
{
	u64 at = irq->brackets - 1;

	if (!irq->brackets)
		return;
	HIDE(at);
	at &= PT_BRACKETS - 1;
	if (irq->bracket[at] >> 12 == IN_BLOCK)
		irq->brackets--;
}

struct brackets {
	u64 word; /* the four innermost ones */
	u64 cause;
	u32 hard; /* 1: in an interrupt, or what an interrupt does */
	u32 soft; /* 1: in a soft interrupt */
	u32 network;
	u32 spare;
};

/* What runs on top of the current task. */
NOINLINE int brackets_read(struct pt_control *c, struct brackets *b, u64 now)
{
	struct irq_context *irq = irq_here();
	u64 depth = irq ? irq->brackets : 0;

	b->word = b->cause = 0;
	b->hard = b->soft = b->network = 0;
	for (u64 i = 0; i < 4; i++) {
		u64 at = depth - 1 - i;
		u32 one, kind;

		if (i >= depth || !irq)
			break;
		HIDE(at);
		at &= PT_BRACKETS - 1;
		one = irq->bracket[at];
		kind = one >> 12;
		if (kind == IN_TIMER)
			one |= handler_number(c, kind, irq->of[at], now) & 0xfff;
		if (kind == IN_BLOCK && !b->cause)
			b->cause = irq->of[at];
		if (kind == IN_SOFT) {
			b->soft = 1;
			b->network |= (one & 0xfff) == SOFT_NET_RX || (one & 0xfff) == SOFT_NET_TX;
		} else if (kind != IN_WORK && kind != IN_URING) {
			b->hard = 1;
		}
		b->word |= (u64)one << 16 * i;
	}
	return 0;
}

/* ---- stacks */

INLINE u64 hash_word(u64 hash, u64 word)
{
	hash = (hash ^ word) * 1099511628211ull;
	return hash ^ hash >> 29;
}

/* The number of the kernel stack in `r`, which has `nr` frames. It is sent before its first use. */
SEPARATE u32 kernel_stack_send(struct pt_waits_stack *r, u64 nr, u32 sampled, u64 now)
{
	u64 hash = 14695981039346656037ull;
	struct pt_control *c = the_control();
	u32 trace, window, *sent;

	if (!r || !c)
		return 0;
	for (u64 i = 0; i < PT_WAITS_FRAMES; i++) {
		if (i >= nr)
			break;
		hash = hash_word(hash, r->frames[i]);
	}
	trace = (u32)(hash ^ hash >> 32) & (PT_USER_TRACE - 1);
	trace += !trace;
	trace |= sampled;
	sent = bpf_map_lookup_elem(&traces, &trace);
	if (sent)
		return trace;
	waits_head(c, &r->head, PT_WAITS_STACK, now);
	r->trace = trace;
	r->nr = nr;
	HIDE(nr);
	if (nr > PT_WAITS_FRAMES)
		return 0;
	if (bpf_ringbuf_output(&waits_ring, r,
			       __builtin_offsetof(struct pt_waits_stack, frames) + nr * sizeof(u64),
			       BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&c->waits.lost, 1);
		return 0;
	}
	window = c->waits.window;
	bpf_map_update_elem(&traces, &trace, &window, BPF_ANY);
	return trace;
}

/* The number of the current kernel stack. `sampled`: PT_SAMPLED_TRACE, or 0. */
NOINLINE u32 kernel_trace(void *ctx, u32 sampled, u64 now)
{
	u32 zero = 0;
	long got;
	struct pt_waits_stack *r = bpf_map_lookup_elem(&waits_stack, &zero);

	if (!r)
		return 0;
	got = bpf_get_stack(ctx, r->frames, sizeof(r->frames), 0);
	return got > 0 ? kernel_stack_send(r, (u64)got / sizeof(u64), sampled, now) : 0;
}
