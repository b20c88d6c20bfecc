/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find out what a thread sleeps on. Its memory (the descriptors of a poll(), the time of a
 * nanosleep(), the words of a mutex) can be read only while it is the current task, so it is
 * read when the thread falls asleep. What a descriptor refers to is read from the kernel when
 * the thread wakes up.
 */
#pragma once

#include "bpf/descriptors.h"
#include "bpf/goroutine.h"
#include "bpf/measure.h"
#include "bpf/past.h"

/* System calls of x86-64. */
enum {
	CALL_POLL = 7,
	CALL_SELECT = 23,
	CALL_SCHED_YIELD = 24,
	CALL_NANOSLEEP = 35,
	CALL_SENDFILE = 40,
	CALL_CLONE = 56,
	CALL_FORK = 57,
	CALL_VFORK = 58,
	CALL_FUTEX = 202,
	CALL_CLOCK_NANOSLEEP = 230,
	CALL_EPOLL_WAIT = 232,
	CALL_PSELECT6 = 270,
	CALL_PPOLL = 271,
	CALL_SPLICE = 275,
	CALL_EPOLL_PWAIT = 281,
	CALL_COPY_FILE_RANGE = 326,
	CALL_IO_URING_ENTER = 426,
	CALL_CLONE3 = 435,
	CALL_EPOLL_PWAIT2 = 441,
};
enum {
	FUTEX_OPERATION = 127,
	FUTEX_WAIT_CALL = 0,
	FUTEX_LOCK_PI_CALL = 6,
	FUTEX_WAIT_BITSET_CALL = 9,
	FUTEX_LOCK_PI2_CALL = 13
};
enum { FUTEX_TID = 0x3fffffff, TIMER_ABSOLUTE = 1, CLOCK_OF_MONOTONIC = 1 };

INLINE bool is_epoll_wait(u64 call)
{
	return call == CALL_EPOLL_WAIT || call == CALL_EPOLL_PWAIT || call == CALL_EPOLL_PWAIT2;
}

/* One of the two descriptors of a copying system call: the regular file if the call waits for
 * a device, else the other descriptor. */
INLINE u32 copied_fd(struct task_struct *task, u32 a, u32 b, bool io)
{
	return (mode_of(file_of(task, a)) == S_IFREG) == io ? a : b;
}

/* ---- falling asleep */

INLINE struct pt_asleep *asleep_of(u32 tid)
{
	static const struct pt_asleep blank = {.fd = PT_NO_FD, .uring_fd = PT_NO_FD};
	struct pt_asleep *a = bpf_map_lookup_elem(&asleep, &tid);

	if (a)
		return a;
	bpf_map_update_elem(&asleep, &tid, &blank, BPF_NOEXIST);
	return bpf_map_lookup_elem(&asleep, &tid);
}

INLINE u32 lowest_bit(u64 bits)
{
	u32 n = 0;

	for (u32 half = 32; half; half /= 2) {
		if (!(bits & ((1ull << half) - 1))) {
			bits >>= half;
			n += half;
		}
	}
	return n;
}

/* The first descriptor of a poll() or select(). */
INLINE u32 polled_fd(u64 call, struct pt_regs *regs)
{
	u64 bits = 0, sets[2] = {regs->si, regs->dx};
	u32 fd = PT_NO_FD;

	if (call == CALL_POLL || call == CALL_PPOLL) {
		if (regs->si)
			bpf_probe_read_user(&fd, sizeof(fd), (void *)regs->di);
		return fd;
	}
	for (int i = 0; i < 2; i++) {
		if (sets[i] && !bpf_probe_read_user(&bits, sizeof(bits), (void *)sets[i]) && bits)
			return lowest_bit(bits);
	}
	return PT_NO_FD;
}

INLINE u64 timespec_ns(u64 at, u32 unit_ns)
{
	u64 t[2];

	if (!at || bpf_probe_read_user(t, sizeof(t), (void *)at))
		return 0;
	return t[0] * 1000000000 + t[1] * unit_ns;
}

/*
 * The longest time that a call may sleep; 0 if it has no timeout, or the timeout uses a
 * clock that is not read here.
 */
INLINE u64 asked_ns(u64 call, struct pt_regs *regs, u64 now)
{
	u64 until;

	switch (call) {
	case CALL_NANOSLEEP:
		return timespec_ns(regs->di, 1);
	case CALL_CLOCK_NANOSLEEP:
		until = timespec_ns(regs->dx, 1);
		if (!(regs->si & TIMER_ABSOLUTE))
			return until;
		return (u32)regs->di == CLOCK_OF_MONOTONIC && until > now ? until - now : 0;
	case CALL_POLL:
		return (s32)regs->dx > 0 ? (u64)(u32)regs->dx * 1000000 : 0;
	case CALL_EPOLL_WAIT:
	case CALL_EPOLL_PWAIT:
		return (s32)regs->r10 > 0 ? (u64)(u32)regs->r10 * 1000000 : 0;
	case CALL_PPOLL:
		return timespec_ns(regs->dx, 1);
	case CALL_SELECT:
		return timespec_ns(regs->r8, 1000);
	case CALL_PSELECT6:
		return timespec_ns(regs->r8, 1);
	case CALL_FUTEX:
		return (regs->si & FUTEX_OPERATION) == FUTEX_WAIT_CALL ? timespec_ns(regs->r10, 1)
								       : 0;
	default:
		return 0;
	}
}

INLINE u32 awaited_fd(struct pt_asleep *a, u64 call, struct task_struct *task, struct pt_regs *regs)
{
	switch (call) {
	case CALL_POLL:
	case CALL_PPOLL:
	case CALL_SELECT:
	case CALL_PSELECT6:
		return polled_fd(call, regs);
	case CALL_SENDFILE:
		return copied_fd(task, regs->si, regs->di, a->io);
	case CALL_SPLICE:
	case CALL_COPY_FILE_RANGE:
		return copied_fd(task, regs->di, regs->dx, a->io);
	case CALL_IO_URING_ENTER:
		return a->uring_fd;
	default:
		return regs->di;
	}
}

/* ---- calls that are tried again and again, with a sleep between */

enum {
	LOCKS_LOOKED = 8,
	CALL_FCNTL = 72,
	CALL_FLOCK = 73,
	SET_LOCK = 6,
	SET_OFD_LOCK = 37,
	LOCK_WRITES = 1,
	PAUSE_MAX_NS = 100000000
};

/* struct flock of the program. */
struct wanted_lock {
	u16 type, whence;
	u32 spare;
	s64 start, length;
};

/* True if a lock on a file excludes the wanted one. `want` NULL: of flock(), on the whole file. */
INLINE bool lock_excludes(struct wanted_lock *want, u64 type, s64 start, s64 end)
{
	if (!want)
		return true;
	if (want->length && want->start + want->length - 1 < start)
		return false;
	return end >= want->start && (type == LOCK_WRITES || want->type == LOCK_WRITES);
}

/*
 * The process that has the lock on a file for which the current thread did not get its own; 0: not
 * known. `want`: address of the struct flock in its memory; 0: the lock is one of flock(). The list
 * is read without its lock: a wrong owner would have to be freed and used again meanwhile.
 */
SEPARATE u32 locked_by(u64 of, u64 want_at)
{
	struct file *file = (struct file *)of;
	struct wanted_lock want = {};
	struct file_lock_context *locks;
	struct list_head *head, *item;
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!file || !bpf_core_type_exists(struct file_lock_context) ||
	    !bpf_core_field_exists(struct inode, i_flctx))
		return 0;
	locks = BPF_CORE_READ(file, f_inode, i_flctx);
	if (!locks || (want_at && (bpf_probe_read_user(&want, sizeof(want), (void *)want_at) ||
				   want.whence || want.length < 0)))
		return 0;
	item = head =
	    (void *)locks + (want_at ? bpf_core_field_offset(struct file_lock_context, flc_posix)
				     : bpf_core_field_offset(struct file_lock_context, flc_flock));
#pragma nounroll
	for (u64 i = 0; i < LOCKS_LOOKED; i++) {
		struct file_lock___old *old;
		struct file_lock *lock;
		s64 start, end;
		u64 type;
		s32 pid;

		HIDE(i);
		item = BPF_CORE_READ(item, next);
		if (!item || item == head)
			return 0;
		if (bpf_core_field_exists(struct file_lock, c)) {
			lock = (void *)item - bpf_core_field_offset(struct file_lock, c.flc_list);
			pid = BPF_CORE_READ(lock, c.flc_pid);
			type = BPF_CORE_READ(lock, c.flc_type);
			start = BPF_CORE_READ(lock, fl_start);
			end = BPF_CORE_READ(lock, fl_end);
		} else {
			old = (void *)item - bpf_core_field_offset(struct file_lock___old, fl_list);
			pid = BPF_CORE_READ(old, fl_pid);
			type = BPF_CORE_READ(old, fl_type);
			start = BPF_CORE_READ(old, fl_start);
			end = BPF_CORE_READ(old, fl_end);
		}
		if (pid > 0 && (u32)pid != tgid &&
		    lock_excludes(want_at ? &want : 0, type, start, end))
			return pid;
	}
	return 0;
}

/* Note that the current thread has made a call that failed. */
INLINE void failed_note(struct pt_tried *t, struct pt_regs *regs, u32 error)
{
	struct file *file;

	t->call = regs->orig_ax + 1;
	t->error = error;
	t->args[0] = regs->di;
	t->args[1] = regs->si;
	t->owner = t->later = 0;
	file = file_of(bpf_get_current_task_btf(), regs->di);
	if (regs->orig_ax == CALL_FLOCK)
		t->owner = locked_by((u64)file, 0);
	if (regs->orig_ax == CALL_FCNTL && regs->si == SET_LOCK)
		t->owner = locked_by((u64)file, regs->dx);
}

/* Does the thread sleep for a time, and wait for nothing else? */
INLINE bool is_timed_sleep(u64 call, struct pt_regs *regs)
{
	switch (call) {
	case CALL_NANOSLEEP:
	case CALL_CLOCK_NANOSLEEP:
		return true;
	case CALL_POLL:
	case CALL_PPOLL:
		return !regs->si;
	case CALL_SELECT:
	case CALL_PSELECT6:
		return !regs->di;
	default:
		return false;
	}
}

/*
 * Does it poll descriptors for a short time? So interpreters sleep that another thread may wake. It
 * is a sleep between two tries only if these want a lock on a file: any other call may be tried
 * again because of what it polls.
 */
INLINE bool is_pause(u64 call, u64 asked)
{
	return (call == CALL_POLL || call == CALL_PPOLL || call == CALL_SELECT ||
		call == CALL_PSELECT6) &&
	       asked && asked <= PAUSE_MAX_NS;
}

INLINE bool wants_file_lock(struct pt_tried *t)
{
	return t->call == CALL_FLOCK + 1 ||
	       (t->call == CALL_FCNTL + 1 &&
		(t->args[1] == SET_LOCK || t->args[1] == SET_OFD_LOCK));
}

/* How often a task has left its CPU: this tells its sleeps apart. */
INLINE u64 switches_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/* The current thread begins a timed sleep, or a pause: does it follow a call that failed, and did
 * the sleep before it? */
SEPARATE int tried_note(struct pt_asleep *a, u64 turn, u32 pause)
{
	/* a descent and a window of waits may both see this sleep */
	if (!a || a->turn == turn)
		return 0;
	a->turn = turn;
	a->tried.call = 0;
	if (pause && !wants_file_lock(&a->failed))
		return 0;
	if (a->failed.call == a->before.call && a->failed.args[0] == a->before.args[0])
		a->tried = a->failed;
	a->before = a->failed;
	a->failed.call = 0;
	return 0;
}

/* Record what `task` waits for: it is the current task and leaves its CPU at `now` to sleep
 * inside a call of f0. */
INLINE void asleep_note(struct pt_control *c, struct pt_descent *d, struct task_struct *task,
			struct pt_regs *regs, u64 now)
{
	struct pt_asleep *a = asleep_of(task->pid);
	struct file *file;
	u64 call, waiting;
	u32 pause;

	if (!a || !regs)
		return;
	call = regs->orig_ax;
	a->since = now;
	a->parked = parked(d->goroutine);
	a->io = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
	a->asked = asked_ns(call, regs, now);
	a->words[0] = a->words[2] = 0;
	pause = !is_timed_sleep(call, regs);
	if (!pause || is_pause(call, a->asked)) {
		if (++d->timed >= 2 && !c->keep)
			c->tries = c->descend_slot;
		tried_note(a, switches_of(task), pause);
	} else {
		a->tried.call = 0;
	}
	if (call == CALL_FUTEX)
		bpf_probe_read_user(a->words, sizeof(a->words), (void *)regs->di);
	a->fd = (s64)call < 0 ? PT_NO_FD : awaited_fd(a, call, task, regs);
	a->retransmits = a->held_back = a->queued = a->room = 0;
	file = a->fd != PT_NO_FD ? file_of(task, a->fd) : 0;
	if (mode_of(file) == S_IFSOCK) {
		a->retransmits = retransmits_of(sock_of(file));
		a->held_back = is_held_back((u64)sock_of(file));
		waiting = datagrams_of((u64)sock_of(file));
		a->queued = waiting >> 32;
		a->room = waiting;
	}
}

/* ---- waking up */

/*
 * True for a thread that has not run yet: its registers are those of the call that made it, with
 * the result 0. Its parent has -ENOSYS there while it is in the call.
 */
INLINE bool is_newborn(struct pt_regs *regs)
{
	u64 call = regs->orig_ax;

	return !regs->ax && (call == CALL_CLONE || call == CALL_FORK || call == CALL_VFORK ||
			     call == CALL_CLONE3);
}

/* Remember the off-CPU interval that ended now: it may explain the sleep of a thread that
 * waits for this one. */
INLINE void past_note(struct task_struct *task, struct pt_thread *t, u64 now)
{
	struct pt_regs *regs = user_regs(task);
	struct pt_past *p;
	struct pt_asleep *a = asleep_of(task->pid);

	if (!a)
		return;
	if (regs && is_newborn(regs)) {
		past_begin(a, now, switches_of(task));
		return;
	}
	p = past_add(a, t->off_since, now, switches_of(task));
	if (!p)
		return;
	p->syscall = regs ? (s32)regs->orig_ax : PT_NO_PROGRAM;
	p->preempt_pid = t->wait == PT_WAIT_PREEMPTED ? t->next_pid : 0;
	__builtin_memcpy(p->preempt_comm, t->next_comm, PT_COMM);
}

/* The thread that owns the mutex of a futex call; 0: no mutex, or its layout does not name the
 * owner. */
INLINE u32 mutex_owner(struct pt_asleep *a, struct pt_regs *regs)
{
	u64 operation = regs->si & FUTEX_OPERATION;

	if (operation == FUTEX_LOCK_PI_CALL || operation == FUTEX_LOCK_PI2_CALL)
		return a->words[0] & FUTEX_TID;
	if ((operation != FUTEX_WAIT_CALL && operation != FUTEX_WAIT_BITSET_CALL) ||
	    (u32)regs->dx != 2 || a->words[0] > 2)
		return 0;
	return a->words[3] < 1 << 16 && a->words[4] < 1 << 9 ? a->words[2] : 0;
}

/* Fill in what the sleep that has ended waited for, in `r`. */
INLINE void asleep_tell(struct pt_record_sleep *r, struct task_struct *task, struct pt_regs *regs,
			u64 since, u64 until, u32 waker_switches)
{
	struct pt_asleep *a, *other;
	struct file *file;
	u32 tid = task->pid, by = r->waker_irq ? 0 : r->waker_tid;

	r->fd = PT_NO_FD;
	r->slack = BPF_CORE_READ(task, timer_slack_ns);
	a = bpf_map_lookup_elem(&asleep, &tid);
	if (!a || a->since != since || !regs) {
		if (r->syscall >= 0)
			r->fd = r->args[0];
	} else {
		r->fd = a->fd;
		r->io = a->io;
		r->parked = a->parked;
		r->asked = a->asked;
		if (r->syscall == CALL_FUTEX)
			r->owner = mutex_owner(a, regs);
		if (a->tried.call) {
			r->tried = a->tried;
			r->fd = r->tried.args[0];
		}
	}
	file = r->fd != PT_NO_FD ? file_of(task, r->fd) : 0;
	if (file && is_epoll_wait(r->syscall))
		file = epoll_ready(file);
	object_fill(&r->object, (u64)file);
	if (a && a->since == since && !is_epoll_wait(r->syscall) &&
	    r->object.retransmits > a->retransmits)
		r->retransmits = r->object.retransmits - a->retransmits;
	/* what was so when it fell asleep counts */
	if (!a || a->since != since) {
		r->object.held_back = r->object.room = 0;
	} else {
		r->object.held_back = a->held_back;
		r->object.queued = a->queued;
		r->object.room = a->room;
	}
	if (!by) {
		by = r->owner ? r->owner : r->tried.owner;
		waker_switches = PAST_NOT_COUNTED;
	}
	/* nothing is known of a thread that is no target or never left its CPU */
	other = by && by != tid ? bpf_map_lookup_elem(&asleep, &by) : 0;
	if (other)
		past_fill(r, other, since, until, waker_switches);
}
