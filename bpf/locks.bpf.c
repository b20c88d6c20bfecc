// SPDX-License-Identifier: GPL-2.0-or-later
/* Contention for locks of the kernel. */
#include "bpf/descend.h"
#include "bpf/phases.h"

/* Flags of the contention tracepoints. */
enum {
	CONTENDS_SPIN = 1,
	CONTENDS_READ = 2,
	CONTENDS_WRITE = 4,
	CONTENDS_RT = 8,
	CONTENDS_PERCPU = 16,
	CONTENDS_MUTEX = 32
};

/* In a descent: record the holder of the lock, if the type of lock names it. */
INLINE void contention_note(struct pt_control *c, void *lock, unsigned int flags)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());
	struct pt_lock_owner owner = {};

	if (!d)
		return;
	d->work.doing |= PT_DOING_LOCK;
	if (flags & CONTENDS_MUTEX)
		fill_owner(&owner, BPF_CORE_READ((struct mutex *)lock, owner.counter));
	else if (flags & (CONTENDS_READ | CONTENDS_WRITE) &&
		 !(flags & (CONTENDS_SPIN | CONTENDS_RT | CONTENDS_PERCPU)))
		fill_owner(&owner, BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter));
	d->work.holder_pid = owner.pid;
	d->work.holder_reads = owner.reads;
	__builtin_memcpy(d->work.holder, owner.comm, PT_COMM);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid();
	struct pt_thread *t;

	if (!c)
		return 0;
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_LOCK_OTHER);
		return 0;
	}
	count_hit(PT_HIT_LOCK);
	contention_note(c, lock, flags);
	t = thread_of(c, id >> 32, (u32)id);
	if (!t || t->lock_open || !counts_now(c, id >> 32, (u32)id))
		return 0;
	t->lock_start = bpf_ktime_get_ns();
	if (!gate_is_open(c, GATE_LOCK, t->lock_start))
		return 0;
	t->lock_open = 1;
	t->lock_address = (u64)lock;
	t->lock_flags = flags;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock, int ret)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), ns;
	struct pt_record_sample *r;
	u32 tid = (u32)id, slot;
	struct pt_thread *t;

	if (!c || !is_target(c, id >> 32))
		return 0;
	work_end(c, PT_DOING_LOCK);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t || !t->lock_open || t->lock_address != (u64)lock)
		return 0;
	t->lock_open = 0;
	slot = c->slot_lock;
	if (!slot || slot >= PT_SLOTS || !counts_still(c, t->lock_start))
		return 0;
	ns = hist_count(c, slot, bpf_ktime_get_ns() - t->lock_start);
	r = sample_begin(c, slot, id >> 32, tid, t->lock_start, ns);
	if (r) {
		r->known = KNOWN_RET | KNOWN_ARG0 * 3;
		r->ret = ret;
		r->args[0] = t->lock_address;
		r->args[1] = t->lock_flags;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	return 0;
}
