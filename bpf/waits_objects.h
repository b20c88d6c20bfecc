/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing of waits: what a task sleeps in, and the object behind the descriptor. */
#pragma once

#include "bpf/asleep.h"
#include "bpf/groups.h"
#include "bpf/waits.h"

/* enum asleep_flags */
enum {
	SLEEPS_IN_FAULT = 1 << 0,
	SLEEPS_TIMED = 1 << 1,
	SLEEPS_HELD_BACK = 1 << 2,
	SLEEPS_QUEUE_FULL = 1 << 3,
	SLEEPS_RETRIES = 1 << 4,
	SLEEPS_RETRIES_LOCK = 1 << 5,
};

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

/* The address of the file behind a descriptor. */
INLINE u64 file_at(struct task_struct *task, u32 fd)
{
	struct fdtable *table = task->files->fdt;

	return fd < table->max_fds ? kernel_word((u64)table->fd + 8ull * fd) : 0;
}

/* The address of the socket behind a descriptor; 0: it is none. */
INLINE u64 socket_at(struct task_struct *task, u32 fd)
{
	struct file *file = (struct file *)file_at(task, fd);

	return mode_of(file) == S_IFSOCK ? (u64)sock_of(file) : 0;
}

/* True for calls that receive data. */
INLINE bool takes_answer(u64 call)
{
	return !call || call == 19 /* readv */ || call == 45 /* recvfrom */ ||
	       call == 47 /* recvmsg */ || call == 299 /* recvmmsg */;
}

/* True for calls that send data. */
INLINE bool gives_data(u64 call)
{
	return call == 1 || call == 20 /* writev */ || call == 44 /* sendto */ ||
	       call == 46 /* sendmsg */ || call == 307 /* sendmmsg */;
}

/* True if the other end of a Unix datagram socket has no room. */
INLINE bool is_queue_full(u64 socket)
{
	u64 waiting = socket ? datagrams_of(socket) : 0;

	return (u32)waiting && waiting >> 32 >= (u32)waiting;
}

/* Describe an object, of which all but the head is filled in. Returns its number, 0 if there was no
 * room. */
INLINE u32 object_send(struct pt_control *c, struct pt_waits_object *r, struct pt_inode *key,
		       u64 now)
{
	u32 number = __sync_fetch_and_add(&c->waits.objects, 1) + 1;

	waits_head(c, &r->head, PT_WAITS_OBJECT, now);
	r->number = number;
	if (bpf_ringbuf_output(&waits_ring, r, sizeof(*r), BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&c->waits.lost, 1);
		return 0;
	}
	bpf_map_update_elem(&waits_objects, key, &number, BPF_ANY);
	return number;
}

/* Returns the number of the quota that a throttled task has used up. */
INLINE u32 quota_number(struct pt_control *c, struct task_struct *task, u64 now)
{
	struct quota_of q = find_quota(task);
	/* no inode has such a number; one cgroup may have a quota of each kind */
	struct pt_inode key = {.address = q.address, .number = ~(u64)q.kind};
	struct pt_waits_object *r;
	u32 zero = 0, *known;

	known = bpf_map_lookup_elem(&waits_objects, &key);
	if (known)
		return *known;
	r = bpf_map_lookup_elem(&waits_object, &zero);
	if (!r)
		return 0;
	__builtin_memset(&r->object, 0, sizeof(r->object));
	__builtin_memset(&r->quota, 0, sizeof(r->quota));
	describe_quota(&r->quota, task, &q);
	return r->quota.period_ns ? object_send(c, r, &key, now) : 0;
}

/* Returns the number of the object behind a descriptor, 0 if there is none. It is described before
 * its first use. */
NOINLINE u32 object_of_fd(struct pt_control *c, struct task_struct *task, u32 fd, u64 now)
{
	struct pt_inode key = {};
	struct pt_waits_object *r;
	u32 zero = 0, *known;
	u64 file = file_at(task, fd);

	key.address = file ? kernel_word(file + bpf_core_field_offset(struct file, f_inode)) : 0;
	if (!key.address)
		return 0;
	key.number = kernel_word(key.address + bpf_core_field_offset(struct inode, i_ino));
	known = bpf_map_lookup_elem(&waits_objects, &key);
	if (known)
		return *known;
	r = bpf_map_lookup_elem(&waits_object, &zero);
	if (!r)
		return 0;
	__builtin_memset(&r->object, 0, sizeof(r->object));
	object_fill(&r->object, file);
	r->quota.period_ns = 0;
	r->tgid = task->tgid;
	r->fd = fd;
	return object_send(c, r, &key, now);
}

/*
 * The descriptor that a task's system call is about; PT_NO_FD: none. With `io`, the task does I/O:
 * of a call that copies between two descriptors, this is the file.
 */
INLINE u32 called_fd(struct task_struct *task, struct pt_regs *regs, bool io)
{
	u64 call = regs->orig_ax;

	if (!has_descriptor(call))
		return PT_NO_FD;
	if (call == CALL_SENDFILE)
		return copied_fd(task, regs->si, regs->di, io);
	if (call == CALL_SPLICE || call == CALL_COPY_FILE_RANGE)
		return copied_fd(task, regs->di, regs->dx, io);
	return regs->di;
}

/* Returns the number of the object of a task's system call, 0 if it has none; `io` as above. */
INLINE u32 object_number(struct pt_control *c, struct task_struct *task, bool io, u64 now)
{
	u32 fd = called_fd(task, (struct pt_regs *)bpf_task_pt_regs(task), io);

	return fd != PT_NO_FD ? object_of_fd(c, task, fd, now) : 0;
}

/*
 * The current task begins a timed sleep, or a pause (is_pause()). If it sleeps until the next try
 * of a call that has failed, returns the descriptor of that call; else, or if it has none,
 * PT_NO_FD. Calls that fail are seen from the second such sleep of a target's
 * thread in this window on.
 */
SEPARATE u32 retried_fd(struct pt_asleep_in *in, u32 pause)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	struct pt_asleep *a;
	u64 call;

	if (!in || !c || !is_target(c, task->tgid))
		return PT_NO_FD;
	a = asleep_of(task->pid);
	if (!a)
		return PT_NO_FD;
	if (a->naps_window != c->waits.window)
		a->naps = 0;
	a->naps_window = c->waits.window;
	if (++a->naps >= 2)
		c->waits.tries = c->waits.window;
	tried_note(a, switches_of(task), pause);
	if (!a->tried.call)
		return PT_NO_FD;
	call = a->tried.call - 1;
	in->flags |= SLEEPS_RETRIES;
	if (wants_file_lock(&a->tried))
		in->flags |= SLEEPS_RETRIES_LOCK;
	return has_descriptor(call) ? a->tried.args[0] : PT_NO_FD;
}

/*
 * Fill in what a task falls asleep in, or has slept in since before the window. The memory of its
 * program can be read only if it is `current`. False: a thread of the kernel, which is in no system
 * call.
 */
INLINE bool asleep_fill(struct pt_control *c, struct task_struct *task, struct pt_asleep_in *in,
			bool current, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 fd, tried;

	if (task->flags & (FLAG_KTHREAD | FLAG_URING))
		return false;
	__builtin_memset(in, 0, sizeof(*in));
	in->tid = task->pid;
	in->syscall = -1;
	if ((s64)regs->orig_ax < 0)
		return true;
	in->syscall = regs->orig_ax;
	in->args[0] = regs->di;
	in->args[1] = regs->si;
	in->args[2] = regs->dx;
	in->asked = current ? asked_ns(regs->orig_ax, regs, now) : 0;
	in->flags = in->asked ? SLEEPS_TIMED : 0;
	if (takes_answer(regs->orig_ax) && is_held_back(socket_at(task, regs->di)))
		in->flags |= SLEEPS_HELD_BACK;
	if (gives_data(regs->orig_ax) && is_queue_full(socket_at(task, regs->di)))
		in->flags |= SLEEPS_QUEUE_FULL;
	fd = called_fd(task, regs, BPF_CORE_READ_BITFIELD(task, in_iowait));
	if (current && is_timed_sleep(regs->orig_ax, regs)) {
		fd = retried_fd(in, false);
	} else if (current && is_pause(regs->orig_ax, in->asked)) {
		tried = retried_fd(in, true);
		fd = in->flags & SLEEPS_RETRIES ? tried : fd;
	}
	if (fd != PT_NO_FD)
		in->object = object_of_fd(c, task, fd, now);
	return true;
}

/* Send what a task has slept in since before it was followed. */
NOINLINE int asleep_send(struct pt_control *c, struct task_struct *task, u64 now)
{
	struct pt_waits_asleep *r;
	struct pt_asleep_in in;

	if (!asleep_fill(c, task, &in, false, now))
		return 0;
	WAITS_RECORD(c, r, PT_WAITS_ASLEEP, now);
	if (!r)
		return 0;
	r->head.cpu = PT_NO_CPU;
	r->in = in;
	WAITS_SEND(r);
	return 0;
}

/* Announce a task that is followed from now on, and what it sleeps in. If it is on a CPU or about
 * to be, its first event announces it. */
NOINLINE int follow_announce(struct pt_control *c, struct task_struct *task, struct pt_follow *f,
			     u64 now)
{
	u32 state = task->__state & 0xffff;

	if (!state || task->on_cpu) {
		f->pending = 1;
		return 0;
	}
	waits_announce(c, task, f->flags,
		       state & 4   ? 'T'
		       : state & 8 ? 't'
		       : state & 2 ? 'D'
				   : 'S',
		       now);
	if (follow_is_open(c, f, task))
		asleep_send(c, task, now + 1);
	return 0;
}
