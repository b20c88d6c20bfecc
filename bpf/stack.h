/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies the stack of a thread inside f0, as it falls asleep or when it is sampled. */
#pragma once

#include "bpf/asleep.h"
#include "bpf/descend.h"
#include "bpf/return_probes.h"

/*
 * The thread that owns the futex of a mutex with priority inheritance, from the futex's word; its
 * name is not read. In a namespace the word holds a number of that namespace, which is of no use.
 */
INLINE void fill_futex_owner(struct pt_lock_owner *out, struct task_struct *task, u64 word_at)
{
	u32 word = 0;

	if (BPF_CORE_READ(task, thread_pid, level) ||
	    bpf_probe_read_user(&word, sizeof(word), (void *)word_at))
		return;
	out->pid = word & FUTEX_TID;
	out->comm[0] = 0;
}

/* The owners of two locks for which threads often spin in the kernel: that of the address
 * space, and that of the file or the futex that the system call names. */
INLINE void fill_owners(struct pt_record_stack *r, struct task_struct *task)
{
	u64 object = r->regs[PT_REG_DI], operation = r->regs[PT_REG_SI] & FUTEX_OPERATION;
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0, **at;

	r->owners[PT_OWNER_MEMORY].pid = r->owners[PT_OWNER_OBJECT].pid = 0;
	if (mm)
		fill_owner(&r->owners[PT_OWNER_MEMORY], BPF_CORE_READ(mm, mmap_lock.owner.counter));
	if (r->syscall == CALL_FUTEX) {
		if (operation == FUTEX_LOCK_PI_CALL || operation == FUTEX_LOCK_PI2_CALL)
			fill_futex_owner(&r->owners[PT_OWNER_OBJECT], task, object);
		return;
	}
	if (!table || object >= BPF_CORE_READ(table, max_fds))
		return;
	at = BPF_CORE_READ(table, fd);
	if (!bpf_probe_read_kernel(&file, sizeof(file), at + object) && file)
		fill_owner(&r->owners[PT_OWNER_OBJECT],
			   BPF_CORE_READ(file, f_inode, i_rwsem.owner.counter));
}

/*
 * If the goroutine that called f0 is parked, or its thread works for it on the stack of the system,
 * put the registers with which it goes on in the place of its thread's.
 */
INLINE void parked_regs(struct pt_record_stack *r, u64 goroutine)
{
	struct {
		u64 sp, pc, g, context, ret, lr, bp;
	} sched;

	if ((!parked(goroutine) && !is_on_system_stack(goroutine, r->regs[PT_REG_R14])) ||
	    bpf_probe_read_user(&sched, sizeof(sched), (void *)(goroutine + GO_SCHED)))
		return;
	r->regs[PT_REG_SP] = sched.sp;
	r->regs[PT_REG_IP] = sched.pc;
	r->regs[PT_REG_BP] = sched.bp;
}

/* The address of f0's frame; in Go its stack may have moved since the call began. */
INLINE u64 frame_of_f0(struct pt_descent *d)
{
	u64 top = 0;

	if (d->goroutine &&
	    bpf_probe_read_user(&top, sizeof(top), (void *)(d->goroutine + GO_STACK_TOP)))
		return 0;
	return d->cfa + top;
}

/* Send a stack of which this many bytes were copied. */
INLINE void stack_output(struct pt_control *c, struct pt_record_stack *r, u64 bytes)
{
	r->bytes = bytes;
	HIDE(bytes);
	if (bytes > PT_STACK)
		return;
	if (bpf_ringbuf_output(&ring, r, __builtin_offsetof(struct pt_record_stack, stack) + bytes,
			       BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&c->lost_ring, 1);
}

/*
 * Send a stack sample of a thread inside f0: its user registers `regs`, its user stack down to
 * the frame of f0's caller (up to PT_STACK bytes if f0 is a call of the kernel, or if calls of f0
 * are not timed: then the front looks for f0 in the stack, and `cfa` is 0), and the kernel's
 * return addresses. `ctx` is the context of the BPF program. `room` is the buffer's index; 0
 * means that the thread falls asleep.
 */
INLINE void descent_stack(void *ctx, struct pt_control *c, struct task_struct *task,
			  struct pt_regs *regs, u32 room, bool in_kernel)
{
	bool sleeps = !room, anywhere = !sleeps && c->descend_sampled;
	struct pt_descent *d = anywhere ? 0 : descent_of(c, task);
	struct pt_record_stack *r = bpf_map_lookup_elem(&stacks, &room);
	u64 bytes;
	u32 slot;
	s64 kernel;

	if ((!d && !anywhere) || !r || c->stacks_left <= 0)
		return;
	__sync_fetch_and_add(&c->stacks_left, -1);
	r->head.kind = PT_RECORD_STACK;
	r->head.tgid = task->tgid;
	r->head.tid = task->pid;
	r->head.at = bpf_ktime_get_ns();
	/* compare the pointer itself: the compiler would remember `anywhere` instead, which tells
	 * an older verifier nothing about the pointer; nor may it choose between the addresses of
	 * the slots instead of their values */
	slot = c->descend_slot;
	HIDE(slot);
	barrier_var(d);
	if (c->keep && d)
		slot = d->slot;
	r->head.slot = slot;
	r->cfa = d ? frame_of_f0(d) : 0;
	r->sleeps = sleeps;
	r->fnode = d ? innermost(d) : 0;
	r->epoch = d ? d->record.epoch : c->descend_epoch;
	if (!regs)
		__builtin_memset(r->regs, 0, sizeof(r->regs));
	else if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), regs))
		return;
	r->syscall = regs ? (s64)r->regs[PT_REG_ORIG_AX] : -1;
	if (d && sleeps && d->goroutine)
		parked_regs(r, d->goroutine);
	replaced_fill(&r->replaced, task);
	kernel = bpf_get_stack(ctx, r->kernel, sizeof(r->kernel), 0);
	r->nr_kernel = kernel > 0 ? kernel / sizeof(u64) : 0;
	r->work.doing = 0;
	if (d)
		work_copy(&r->work, d);
	if (!sleeps && in_kernel)
		fill_owners(r, task);
	else
		r->owners[PT_OWNER_MEMORY].pid = r->owners[PT_OWNER_OBJECT].pid = 0;
	/* include f0's return address and 64 bytes of its caller's frame */
	bytes = !d || d->is_call ? PT_STACK : r->cfa + 64 - r->regs[PT_REG_SP];
	if (!regs || c->host)
		bytes = 0; /* there is no program whose code the front knows */
	HIDE(bytes);
	if (bytes > PT_STACK)
		bytes = PT_STACK;
	if (bpf_probe_read_user(r->stack, bytes, (void *)r->regs[PT_REG_SP])) {
		/* the stack ends before that: try less */
		bytes = 2048;
		if (bpf_probe_read_user(r->stack, bytes, (void *)r->regs[PT_REG_SP]))
			bytes = 512;
		if (bytes == 512 &&
		    bpf_probe_read_user(r->stack, bytes, (void *)r->regs[PT_REG_SP]))
			bytes = 0;
	}
	stack_output(c, r, bytes);
	/* sample_charge() adds the time of samples */
	if (sleeps)
		__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - r->head.at);
}

/*
 * A thread falls asleep inside a call, and slow calls are kept: copy its user stack, as it can be
 * read only now. It is sent if the sleep turns out to be one of those that are kept.
 */
SEPARATE int asleep_stack_note(struct pt_control *c, struct pt_descent *d, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = user_regs(task);
	u64 bytes, sp, began = bpf_ktime_get_ns();

	if (!c || !d || !regs)
		return 0;
	d->asleep_at = 0;
	if (c->stacks_left <= 0 || d->goroutine ||
	    bpf_probe_read_kernel(d->asleep_regs, sizeof(d->asleep_regs), regs))
		return 0;
	sp = d->asleep_regs[PT_REG_SP];
	bytes = d->is_call ? PT_KEPT_STACK : d->cfa + 64 - sp;
	HIDE(bytes);
	if (bytes > PT_KEPT_STACK)
		bytes = PT_KEPT_STACK;
	if (!bpf_probe_read_user(d->asleep_stack, bytes, (void *)sp)) {
		d->asleep_bytes = bytes;
		d->asleep_at = now;
	}
	__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - began);
	return 0;
}

/* Send that stack, and that of the kernel: the thread wakes up and has not run yet. `at`: when the
 * sleep ended. */
INLINE void asleep_stack_send(struct pt_control *c, struct pt_descent *d, struct task_struct *task,
			      u64 at)
{
	u32 zero = 0;
	struct pt_record_stack *r = bpf_map_lookup_elem(&stacks, &zero);
	u64 bytes = d->asleep_bytes, began = bpf_ktime_get_ns();
	s64 kernel;

	if (!r || c->stacks_left <= 0)
		return;
	__sync_fetch_and_add(&c->stacks_left, -1);
	__builtin_memset(r, 0, __builtin_offsetof(struct pt_record_stack, kernel));
	r->head.kind = PT_RECORD_STACK;
	r->head.slot = d->slot;
	r->head.tgid = task->tgid;
	r->head.tid = task->pid;
	r->head.at = at;
	r->cfa = d->cfa;
	r->sleeps = 1;
	r->epoch = d->record.epoch;
	__builtin_memcpy(r->regs, d->asleep_regs, sizeof(r->regs));
	r->syscall = (s64)r->regs[PT_REG_ORIG_AX];
	replaced_fill(&r->replaced, task);
	kernel = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);
	r->nr_kernel = kernel > 0 ? kernel / sizeof(u64) : 0;
	work_copy(&r->work, d);
	r->owners[PT_OWNER_MEMORY].pid = r->owners[PT_OWNER_OBJECT].pid = 0;
	HIDE(bytes);
	if (bytes > PT_KEPT_STACK)
		bytes = 0;
	if (bpf_probe_read_kernel(r->stack, bytes, d->asleep_stack))
		return;
	stack_output(c, r, bytes);
	__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - began);
}
