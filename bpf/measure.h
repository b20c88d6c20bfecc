/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers of all BPF programs: recognise targets, count a latency, sample a call. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/maps.h"
#include "bpf/records.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * clang drops a check or a mask that it can prove redundant. The verifier cannot prove the same
 * and then rejects the program, so hide the value from the compiler first.
 */
#define HIDE(x) asm volatile("" : "+r"(x))

#define INLINE static inline __attribute__((always_inline))
/* For functions with loops: the verifier checks a separate function once instead of once per
 * calling state. It assumes that pointer arguments may be NULL. */
#define SEPARATE __attribute__((noinline, weak))
#define NOINLINE static __attribute__((noinline, unused))

/* The word of kernel memory at this address; 0 if it cannot be read. */
INLINE u64 kernel_word(u64 address)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* task_struct.flags: PF_IO_WORKER, PF_WQ_WORKER, PF_KTHREAD */
enum { FLAG_URING = 0x10, FLAG_KWORKER = 0x20, FLAG_KTHREAD = 0x200000 };

/* The registers of the task's program; NULL: a thread of the kernel has none. */
INLINE struct pt_regs *user_regs(struct task_struct *task)
{
	return task->flags & FLAG_KTHREAD ? 0 : (struct pt_regs *)bpf_task_pt_regs(task);
}

/* Copies of enum sample_known and enum layer of analysis/session/record.h; the collector
 * compares them at build time. */
enum {
	KNOWN_RET = 1 << 0,
	KNOWN_ARG0 = 1 << 1,
	KNOWN_ONCPU = 1 << 7,
	KNOWN_FAULTS = 1 << 8,
	KNOWN_MIGRATIONS = 1 << 9,
	KNOWN_SWITCHES = 1 << 10,
	KNOWN_RUNQUEUE = 1 << 11,
	KNOWN_INTERRUPTS = 1 << 12,
	KNOWN_MEMBER0 = 1 << 13,
	KNOWN_TEXT = 1 << 17,
};
enum {
	ON_SYSCALL = 1 << 0,
	ON_BLOCK = 1 << 3,
	ON_LOCK = 1 << 4,
	ON_RUNQUEUE = 1 << 5,
	ON_NET = 1 << 7,
};
/* Values of enum layer, as indices of gate_ns. Functions have their own gates
 * (pt_site.closed). */
enum {
	GATE_SYSCALL = 0,
	GATE_KERNEL = 2,
	GATE_BLOCK = 3,
	GATE_LOCK = 4,
	GATE_RUNQUEUE = 5,
	GATE_URING = 6,
	GATE_NET = 7,
};

INLINE struct pt_control *the_control(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

/* True if a call of this layer that began at `at` counts. */
INLINE bool gate_is_open(struct pt_control *c, u32 gate, u64 at)
{
	u64 since = *(volatile u64 *)&c->gate_ns[gate];

	return since && at >= since;
}

/* True if the user wants the calls of this thread: all threads, unless some were chosen. */
INLINE bool is_chosen(struct pt_control *c, u32 tgid, u32 tid)
{
	u32 *how;

	if (!*(volatile u32 *)&c->chosen)
		return true;
	how = bpf_map_lookup_elem(&chosen, &tid);
	if (how && *how & PT_CHOSEN_THREAD)
		return true;
	how = bpf_map_lookup_elem(&chosen, &tgid);
	return how && *how & PT_CHOSEN_PROCESS;
}

/* True if a call counts that was found to count when it began, at `start`: false if other threads
 * were chosen since. */
INLINE bool counts_still(struct pt_control *c, u64 start)
{
	return start >= *(volatile u64 *)&c->chosen_since;
}

/* A counter of this CPU. */
INLINE u64 *counter_here(u32 counter)
{
	u32 index = bpf_get_smp_processor_id() * PT_COUNTERS_ROOM + counter;

	return bpf_map_lookup_elem(&counters, &index);
}

INLINE void count_hit(u32 counter)
{
	u64 *n = counter_here(counter);

	if (n)
		__sync_fetch_and_add(n, 1);
}

INLINE bool is_target(struct pt_control *c, u32 tgid)
{
	u32 *state;

	if (c->nr_targets == 1)
		return tgid == c->only_tgid || c->host;
	if (!c->nr_targets)
		return false;
	state = bpf_map_lookup_elem(&targets, &tgid);
	return state && *state & PT_TARGET_WATCHED;
}

/* True if hits of the probe with this cookie count in this process. */
INLINE bool site_counts(struct pt_control *c, u64 cookie, u32 tgid)
{
	u32 only = cookie >> PT_COOKIE_PID;

	return is_target(c, tgid) && (!only || only == tgid);
}

/* The record of a target's thread. Creates it if it does not exist; NULL: the map is full. */
INLINE struct pt_thread *thread_of(struct pt_control *c, u32 tgid, u32 tid)
{
	struct pt_thread *t = bpf_map_lookup_elem(&threads, &tid), *fresh;
	u32 zero = 0;

	if (t)
		return t;
	fresh = bpf_map_lookup_elem(&fresh_thread, &zero);
	if (!fresh || bpf_map_update_elem(&threads, &tid, fresh, BPF_NOEXIST)) {
		__sync_fetch_and_add(&c->lost_threads, 1);
		return 0;
	}
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t)
		t->tgid = tgid;
	return t;
}

/* The record of the current thread. NULL: no layer needs one, and none exists. */
INLINE struct pt_thread *thread_now(struct pt_control *c, u32 tgid, u32 tid)
{
	if (c->layers & ON_RUNQUEUE)
		return thread_of(c, tgid, tid);
	return bpf_map_lookup_elem(&threads, &tid);
}

/*
 * The steal time of this CPU so far in ns: the time in which the hypervisor had something else run
 * on it. 0: not known. KVM changes the value only while the virtual CPU does not run, so the CPU
 * itself need not compare the version field.
 */
INLINE u64 steal_clock(struct pt_control *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cfs_rq *queue;
	u64 rq, ns = 0;

	if (!c->steal_offset || !bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(struct cfs_rq, rq))
		return 0;
	/* many kernels do not list their variables in kallsyms, so no program may refer to
	 * steal_time by name: find it from the run queue of this CPU */
	queue = task->se.cfs_rq;
	rq = (u64)BPF_CORE_READ(queue, rq);
	bpf_probe_read_kernel(&ns, sizeof(ns), (void *)(rq + c->steal_offset));
	return ns;
}

/*
 * The current thread has run on this CPU: add the steal time since the last call to its totals, as
 * a wait after a preemption. Call this before the totals are read and when the thread leaves the
 * CPU. `clock`: steal_clock(). Nothing is added if the thread was not seen getting this CPU.
 */
INLINE void steal_add(struct pt_control *c, struct pt_thread *t, u64 clock)
{
	u32 cpu = bpf_get_smp_processor_id() + 1;
	u64 ns = clock - t->steal_seen;

	if (!clock || !(c->layers & ON_RUNQUEUE) || t->sched_burst != c->sched_burst)
		return;
	t->steal_seen = clock;
	if (t->steal_cpu != cpu) {
		t->steal_cpu = cpu;
		return;
	}
	if (!ns)
		return;
	t->off_ns += ns;
	t->runq_ns += ns;
	t->preempt_ns += ns;
	t->steal_ns += ns;
}

/* Discard timestamps from an earlier burst: the events since then were not observed. */
INLINE void burst_check(struct pt_control *c, struct pt_thread *t)
{
	if (t->sched_burst == c->sched_burst)
		return;
	t->sched_burst = c->sched_burst;
	t->off_since = 0;
	t->wake_since = 0;
	t->wait_cpu = 0;
	t->off_wait = 0;
	t->steal_cpu = 0;
}

/*
 * The current thread runs: from now on its off-CPU time is known, if the scheduler is watched. A
 * thread that never leaves its CPU within a burst has no switch from which this could be learned.
 */
INLINE void runs_here(struct pt_control *c, struct pt_thread *t)
{
	if (t->sched_burst != c->sched_burst && c->layers & ON_RUNQUEUE &&
	    gate_is_open(c, GATE_RUNQUEUE, bpf_ktime_get_ns()))
		burst_check(c, t);
}

INLINE void snapshot_take(struct pt_snapshot *s, struct pt_control *c, struct task_struct *task,
			  struct pt_thread *t)
{
	s->steal_clock = steal_clock(c);
	if (t) {
		runs_here(c, t);
		steal_add(c, t, s->steal_clock);
	}
	s->off_ns = t ? t->off_ns : 0;
	s->runq_ns = t ? t->runq_ns : 0;
	s->probe_ns = t ? t->probe_ns : 0;
	s->irq_ns = t ? t->irq_ns : 0;
	s->steal_ns = t ? t->steal_ns : 0;
	s->delay_ns =
	    bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
	s->min_flt = task->min_flt;
	s->maj_flt = task->maj_flt;
	s->migrations = task->se.nr_migrations;
	s->nvcsw = task->nvcsw;
	s->nivcsw = task->nivcsw;
	s->sched_burst = t ? t->sched_burst : 0;
}

INLINE void hist_min(u64 *min, u64 ns)
{
	u64 old = *min;

	for (int i = 0; i < 4; i++) {
		u64 was;

		if (old && old <= ns + 1)
			return;
		was = __sync_val_compare_and_swap(min, old, ns + 1);
		if (was == old)
			return;
		old = was;
	}
}

INLINE void hist_max(u64 *max, u64 ns)
{
	u64 old = *max;

	for (int i = 0; i < 4; i++) {
		u64 was;

		if (old >= ns)
			return;
		was = __sync_val_compare_and_swap(max, old, ns);
		if (was == old)
			return;
		old = was;
	}
}

INLINE struct pt_hist *hist_of(struct pt_control *c, u32 slot)
{
	u32 index = (bpf_get_smp_processor_id() & c->hist_mask) * PT_SLOTS + slot;

	return bpf_map_lookup_elem(&hists, &index);
}

/* pt_bucket() has hundreds of paths: the verifier shall follow them once in each program. */
SEPARATE u32 bucket_of(u64 ns)
{
	return pt_bucket(ns);
}

/* Count one latency; returns its corrected value. The bucket is updated before `calls`, so
 * that a reader never sees more calls than bucket entries. */
INLINE u64 hist_count(struct pt_control *c, u32 slot, u64 ns)
{
	struct pt_hist *h = hist_of(c, slot);
	u64 bucket, index = slot, correction;

	if (!h)
		return ns;
	HIDE(index);
	index &= PT_SLOTS - 1;
	correction = c->correction[index];
	/* subtract at most three quarters: beyond that the result would be mostly the
	 * correction's error */
	ns = ns > correction + (ns >> 2) ? ns - correction : (ns >> 2) + !ns;
	bucket = bucket_of(ns);
	HIDE(bucket);
	if (bucket < PT_BUCKETS)
		__sync_fetch_and_add(&h->count[bucket], 1);
	__sync_fetch_and_add(&h->sum, ns);
	hist_min(&h->min, ns);
	hist_max(&h->max, ns);
	__sync_fetch_and_add(&h->calls, 1);
	return ns;
}

/* Take one sampling token; false if there is none. The collector refills the tokens. */
INLINE bool token_take(u32 slot, u64 ns)
{
	u32 index = slot * PT_TOKENS + bucket_of(ns) / PT_RESOLUTION;
	s64 *left = bpf_map_lookup_elem(&tokens, &index);

	if (!left || *left <= 0)
		return false;
	/* two CPUs may take the last token at once: the collector tolerates an extra sample */
	__sync_fetch_and_add(left, -1);
	return true;
}

INLINE struct pt_record_sample *sample_begin(struct pt_control *c, u32 slot, u32 tgid, u32 tid,
					     u64 start, u64 ns)
{
	struct pt_record_sample *r;

	if (!token_take(slot, ns))
		return 0;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&c->lost_samples, 1);
		return 0;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->head.kind = PT_RECORD_SAMPLE;
	r->head.slot = slot;
	r->head.tgid = tgid;
	r->head.tid = tid;
	r->head.at = start;
	r->latency = ns;
	return r;
}

/* The slot of an operation, allotted on first use; 0: none is left. */
INLINE u32 slot_allotted(struct pt_control *c, u32 *of)
{
	u32 slot = *of, was;

	if (slot)
		return slot;
	slot = __sync_fetch_and_add(&c->next_slot, 1);
	if (slot >= PT_SLOTS)
		return 0;
	was = __sync_val_compare_and_swap(of, 0, slot);
	return was ? was : slot;
}

/* Compute how the thread's counters changed since `from`. Returns which of them are valid
 * (enum sample_known). */
INLINE u32 snapshot_delta(struct pt_snapshot *delta, struct pt_control *c, struct pt_snapshot *from,
			  struct task_struct *task, struct pt_thread *t)
{
	struct pt_snapshot now;

	snapshot_take(&now, c, task, t);
	delta->off_ns = now.off_ns - from->off_ns;
	delta->runq_ns = now.runq_ns - from->runq_ns;
	delta->irq_ns = now.irq_ns - from->irq_ns;
	delta->min_flt = now.min_flt - from->min_flt;
	delta->maj_flt = now.maj_flt - from->maj_flt;
	delta->migrations = now.migrations - from->migrations;
	delta->nvcsw = now.nvcsw - from->nvcsw;
	delta->nivcsw = now.nivcsw - from->nivcsw;
	delta->delay_ns = now.delay_ns - from->delay_ns;
	delta->steal_ns = now.steal_ns - from->steal_ns;
	/* off-CPU time is known only if the scheduler was watched during the whole call */
	if ((c->layers & ON_RUNQUEUE) && t && from->sched_burst == c->sched_burst &&
	    now.sched_burst == c->sched_burst)
		return KNOWN_FAULTS | KNOWN_MIGRATIONS | KNOWN_SWITCHES | KNOWN_ONCPU |
		       KNOWN_RUNQUEUE | KNOWN_INTERRUPTS;
	/* otherwise take the wait for a CPU from the kernel's own counter, if it has one, and the
	 * steal time from the CPU's clock, if the thread never left the CPU */
	delta->steal_ns = delta->nvcsw || delta->nivcsw ? 0 : now.steal_clock - from->steal_clock;
	delta->runq_ns = delta->delay_ns + delta->steal_ns;
	return KNOWN_FAULTS | KNOWN_MIGRATIONS | KNOWN_SWITCHES |
	       (now.delay_ns ? KNOWN_RUNQUEUE : 0);
}

INLINE void sample_deltas(struct pt_record_sample *r, struct pt_control *c,
			  struct pt_snapshot *from, struct task_struct *task, struct pt_thread *t)
{
	r->known |= snapshot_delta(&r->delta, c, from, task, t);
}

/* Returns false if the ring buffer is full: the record is lost. */
INLINE bool record_send(struct pt_control *c, u32 kind, u32 slot, u32 tgid, u32 tid, u64 address)
{
	struct pt_record_address *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&c->lost_ring, 1);
		return false;
	}
	r->head.kind = kind;
	r->head.slot = slot;
	r->head.tgid = tgid;
	r->head.tid = tid;
	r->head.at = bpf_ktime_get_ns();
	r->address = address;
	/* wake the collector at once: a probe hit too often slows the target until it is
	 * removed */
	bpf_ringbuf_submit(r, kind == PT_RECORD_BLOWN || kind == PT_RECORD_MISSED
				  ? BPF_RB_FORCE_WAKEUP
				  : BPF_RB_NO_WAKEUP);
	return true;
}

/* The thread that holds a lock for writing, from the lock's owner word. The lower bits of the
 * word are flags; bit 0 says that readers hold the lock. */
INLINE void fill_owner(struct pt_lock_owner *out, u64 word)
{
	struct task_struct *owner = (struct task_struct *)(word & ~7ull);

	out->pid = 0;
	if (!owner)
		return;
	out->reads = word & 1;
	out->pid = BPF_CORE_READ(owner, pid);
	bpf_probe_read_kernel(out->comm, PT_COMM, owner->comm);
}
