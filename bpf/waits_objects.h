/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing of waits: what a task sleeps in, and the object behind the descriptor. */
#ifndef PEAKTOP_BPF_WAITS_OBJECTS_H
#define PEAKTOP_BPF_WAITS_OBJECTS_H

#include "bpf/asleep.h"
#include "bpf/waits.h"

/* enum asleep_flags */
enum { SLEEPS_IN_FAULT = 1 << 0, SLEEPS_TIMED = 1 << 1 };

/* True for system calls that name one object by their first argument. */
INLINE bool has_descriptor(u64 call)
{
	/* read, write */
	if (call <= 1)
		return true;
	switch (call) {
	case 16:  /* ioctl */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 72:  /* fcntl */
	case 73:  /* flock */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 77:  /* ftruncate */
	case 217: /* getdents64 */
	case 277: /* sync_file_range */
	case 285: /* fallocate */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 306: /* syncfs */
	case 307: /* sendmmsg */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
	case CALL_SENDFILE:
	case CALL_SPLICE:
	case CALL_COPY_FILE_RANGE:
		return true;
	default:
		return false;
	}
}

/* The number of the object of a system call of the current task; 0: it has none. An object is
 * described before its first use. */
NOINLINE u32 object_number(struct pt_control *c, struct task_struct *task, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct pt_inode key = {};
	struct pt_waits_object *r;
	u32 zero = 0, *known, number, fd;
	struct inode *inode;
	struct file *file;
	u64 call;

	call = regs->orig_ax;
	if (!has_descriptor(call))
		return 0;
	fd = regs->di;
	if (call == CALL_SENDFILE)
		fd = copied_fd(task, regs->si, regs->di,
			       BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait));
	else if (call == CALL_SPLICE || call == CALL_COPY_FILE_RANGE)
		fd = copied_fd(task, regs->di, regs->dx,
			       BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait));
	file = file_of(task, fd);
	inode = file ? BPF_CORE_READ(file, f_inode) : 0;
	if (!inode)
		return 0;
	key.address = (u64)inode;
	key.number = BPF_CORE_READ(inode, i_ino);
	known = bpf_map_lookup_elem(&waits_objects, &key);
	if (known)
		return *known;
	r = bpf_map_lookup_elem(&waits_object, &zero);
	if (!r)
		return 0;
	__builtin_memset(&r->object, 0, sizeof(r->object));
	object_fill(&r->object, (u64)file);
	number = __sync_fetch_and_add(&c->waits.objects, 1) + 1;
	waits_head(c, &r->head, PT_WAITS_OBJECT, now);
	r->number = number;
	r->tgid = task->tgid;
	r->fd = fd;
	if (bpf_ringbuf_output(&waits_ring, r, sizeof(*r), BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&c->waits.lost, 1);
		return 0;
	}
	bpf_map_update_elem(&waits_objects, &key, &number, BPF_ANY);
	return number;
}

/*
 * Record what a task falls asleep in, or has slept in since before the window. The memory of its
 * program can be read only if it is `current`.
 */
NOINLINE int waits_asleep(struct pt_control *c, struct task_struct *task, bool current, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 object = 0, tid = task->pid;
	struct pt_waits_asleep *r;
	u64 asked = 0;

	if (BPF_CORE_READ(task, flags) & (FLAG_KTHREAD | FLAG_URING))
		return 0;
	if ((s64)regs->orig_ax >= 0) {
		asked = current ? asked_ns(regs->orig_ax, regs, now) : 0;
		object = object_number(c, task, now);
	}
	WAITS_RECORD(c, r, PT_WAITS_ASLEEP, now);
	if (!r)
		return 0;
	if (!current)
		r->head.cpu = PT_NO_CPU;
	r->tid = tid;
	r->syscall = -1;
	r->object = object;
	r->asked = asked;
	r->flags = asked ? SLEEPS_TIMED : 0;
	r->args[0] = r->args[1] = r->args[2] = 0;
	if ((s64)regs->orig_ax >= 0) {
		r->syscall = regs->orig_ax;
		r->args[0] = regs->di;
		r->args[1] = regs->si;
		r->args[2] = regs->dx;
	}
	WAITS_SEND(r);
	return 0;
}

#endif
