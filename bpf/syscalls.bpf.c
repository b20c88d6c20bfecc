// SPDX-License-Identifier: GPL-2.0-or-later
/* Measures the latencies of system calls, and of futex calls that wait for a lock. */
#include "bpf/asleep.h"
#include "bpf/descend.h"
#include "bpf/descriptors.h"
#include "bpf/measure.h"
#include "bpf/phases.h"

enum { SYS_MMAP = 9, SYS_MPROTECT = 10, PROT_CODE = 4, SYS_FUTEX = 202 };
enum { FUTEX_COMMAND = 127, FUTEX_WAIT_OP = 0, FUTEX_LOCK_PI_OP = 6, FUTEX_LOCK_PI2_OP = 13 };

/* The slot of a system call; 0: none is left. */
INLINE u32 syscall_slot(struct pt_control *c, u64 nr)
{
	HIDE(nr);
	return nr < PT_SYSCALLS ? slot_allotted(c, &c->sys_slot[nr]) : 0;
}

/* True if calls of this number are observed by a descent, or kept if they are slow. */
INLINE bool call_descends(struct pt_control *c, u64 nr)
{
	return c->keep ? c->layers & ON_SYSCALL : c->descend_call == (u32)nr + 1;
}

/*
 * The frame of a system call: above all frames of the kernel, whose addresses are less than the
 * size of a stack (kernel_frame()), and below those of the program, which maps nothing there.
 */
enum { CALL_FRAME = 0xffff };

/* A system call inside a call of f0 begins: open its fnode, if it has one. */
INLINE void descent_call_begin(struct pt_control *c, struct pt_regs *regs, u64 nr, u32 tid)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());

	if (d && d->record.epoch == c->descend_epoch && is_inside(d, regs))
		fnode_open(d, false, PT_SITE_CALL + (u32)nr, CALL_FRAME, tid);
}

INLINE void descent_call_end(struct pt_control *c, u32 tid, u64 now)
{
	struct pt_descent *d = descent_of(c, bpf_get_current_task_btf());

	if (!d || d->record.epoch != c->descend_epoch)
		return;
	d->look = d->depth;
	look_above(d, CALL_FRAME, false);
	fnodes_close(d, d->look, now, tid);
	d->cost += c->call_ns;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long nr)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid();
	struct pt_thread *t;

	if (!c)
		return 0;
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_SYSCALL_OTHER);
		return 0;
	}
	t = thread_of(c, id >> 32, (u32)id);
	if (!t)
		return 0;
	t->sys_nr = nr;
	t->sys_args[0] = regs->di;
	t->sys_args[1] = regs->si;
	t->sys_args[2] = regs->dx;
	t->sys_args[3] = regs->r10;
	t->sys_args[4] = regs->r8;
	t->sys_args[5] = regs->r9;
	snapshot_take(&t->sys_snap, c, bpf_get_current_task_btf(), t);
	t->sys_start = bpf_ktime_get_ns();
	t->sys_burst = c->sys_burst;
	if (c->descend_calls)
		descent_call_begin(c, regs, nr, (u32)id);
	if (!gate_is_open(c, GATE_SYSCALL, t->sys_start)) {
		t->sys_open = PT_SYS_BEFORE;
		return 0;
	}
	if (c->phase_begin_call == (u32)nr + 1)
		phase_begin(c, id >> 32);
	t->sys_open = counts_now(c, id >> 32, (u32)id) ? PT_SYS_COUNTS : PT_SYS_OUTSIDE;
	if (t->sys_open == PT_SYS_COUNTS && call_descends(c, nr))
		descent_start(c,
			      &(struct descent_call){.key = regs->sp,
						     .cfa = regs->sp,
						     .slot = syscall_slot(c, nr),
						     .is_call = 1,
						     .arg_mask = 0x3f,
						     .args = t->sys_args},
			      (u32)id, &t->sys_snap);
	return 0;
}

/* A futex call that waited for a lock (glibc waits on the value 2 of a contended mutex). */
INLINE bool waited_for_lock(struct pt_thread *t)
{
	u32 op = t->sys_args[1] & FUTEX_COMMAND;

	if (t->sys_nr != SYS_FUTEX)
		return false;
	return op == FUTEX_LOCK_PI_OP || op == FUTEX_LOCK_PI2_OP ||
	       (op == FUTEX_WAIT_OP && (u32)t->sys_args[2] == 2);
}

enum { ANONYMOUS_INODES = 0x09041934 /* eventfd, epoll and the like have these in common */ };

INLINE void sample_socket(struct pt_record_sample *r, struct sock *sk)
{
	u64 type = BPF_CORE_READ(sk, sk_type);

	r->blocks[PT_FILE_KIND][0] |= (u64)BPF_CORE_READ(sk, __sk_common.skc_family) << 48 |
				      type << 32 | (u64)BPF_CORE_READ(sk, sk_protocol) << 16;
	if (type == SOCK_DGRAM)
		return;
	r->blocks[PT_FILE_STATE][0] = BPF_CORE_READ(sk, __sk_common.skc_state);
	r->known |= KNOWN_MEMBER0 << PT_FILE_STATE;
}

/* What is known of the file that a sampled call worked on. Read when the call is over, so that it
 * takes nothing of the call's time. */
NOINLINE int sample_file(struct pt_record_sample *r, u64 address)
{
	struct file *file = (struct file *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	const void *name = BPF_CORE_READ(inode, i_sb, s_type, name);
	u32 mode = mode_of(file);

	r->blocks[PT_FILE_FLAGS][0] = BPF_CORE_READ(file, f_flags);
	r->known |= KNOWN_TEXT | KNOWN_MEMBER0 << PT_FILE_FLAGS;
	if (BPF_CORE_READ(inode, i_sb, s_magic) == ANONYMOUS_INODES)
		mode = 0;
	r->blocks[PT_FILE_KIND][0] = mode;
	if (mode == S_IFREG) {
		r->blocks[PT_FILE_SIZE][0] = BPF_CORE_READ(inode, i_size);
		r->known |= KNOWN_MEMBER0 << PT_FILE_SIZE;
	} else if (mode == S_IFSOCK) {
		sample_socket(r, sock_of(file));
	} else if (!mode || mode == S_IFCHR || mode == S_IFBLK) {
		name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	}
	bpf_probe_read_kernel_str(r->text, PT_TEXT, name);
	return 0;
}

/* The file that a call worked on; NULL: none. */
INLINE struct file *file_of_call(struct pt_control *c, struct pt_record_sample *r, u64 nr)
{
	u32 argument;

	HIDE(nr);
	argument = nr < PT_SYSCALLS ? c->sys_file[nr] : PT_FILE_NONE;
	if (!argument)
		return 0;
	count_hit(PT_READS);
	argument--;
	HIDE(argument);
	return file_of(bpf_get_current_task_btf(), argument < PT_ARGS ? r->args[argument] : r->ret);
}

INLINE void call_sample(struct pt_control *c, struct pt_thread *t, u32 slot, u64 id, u64 ns,
			long ret)
{
	struct pt_record_sample *r = sample_begin(c, slot, id >> 32, (u32)id, t->sys_start, ns);
	struct file *file;

	if (!r)
		return;
	sample_deltas(r, c, &t->sys_snap, bpf_get_current_task_btf(), t);
	r->ret = ret;
	r->known |= KNOWN_RET | KNOWN_ARG0 * 0x3f;
	for (int i = 0; i < PT_ARGS; i++)
		r->args[i] = t->sys_args[i];
	file = file_of_call(c, r, t->sys_nr);
	if (file)
		sample_file(r, (u64)file);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

INLINE void lock_wait_count(struct pt_control *c, struct pt_thread *t, u64 id, u64 ns, long ret)
{
	if (c->slot_lock >= PT_SLOTS || !counts_still(c, t->sys_start))
		return;
	ns = hist_count(c, c->slot_lock, ns);
	call_sample(c, t, c->slot_lock, id, ns, ret);
}

/* Close the phase that this call's end closes. If the same call begins and ends phases, its
 * begin must have been seen. */
INLINE void syscall_phase(struct pt_control *c, struct pt_thread *t, u64 nr, u32 tgid)
{
	if (c->phase_end_call != (u32)nr + 1)
		return;
	if (phase_nests(c) && t->sys_open != PT_SYS_COUNTS && t->sys_open != PT_SYS_OUTSIDE)
		return;
	phase_end(c, tgid);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct pt_control *c = the_control();
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), ns, raw;
	u32 tid = (u32)id, slot;
	struct pt_thread *t;

	if (!c || !is_target(c, id >> 32))
		return 0;
	count_hit(PT_HIT_SYSCALL);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return 0;
	if (c->descend_calls)
		descent_call_end(c, tid, now);
	if (t->sys_burst != c->sys_burst)
		t->sys_open = PT_SYS_NONE;
	if (t->sys_open == PT_SYS_COUNTS && (c->layers & ON_SYSCALL)) {
		raw = now - t->sys_start;
		slot = syscall_slot(c, t->sys_nr);
		if (slot && slot < PT_SLOTS) {
			if (call_descends(c, t->sys_nr))
				raw -= descent_end(c, slot, regs->sp, t->sys_start, now);
			if (counts_still(c, t->sys_start)) {
				ns = hist_count(c, slot, raw);
				call_sample(c, t, slot, id, ns, ret);
			}
		}
	}
	if (t->sys_open == PT_SYS_COUNTS && (c->layers & ON_LOCK) && waited_for_lock(t))
		lock_wait_count(c, t, id, now - t->sys_start, ret);
	if (t->sys_open &&
	    ((t->sys_nr == SYS_MMAP || t->sys_nr == SYS_MPROTECT) && (t->sys_args[2] & PROT_CODE)))
		record_send(c, PT_RECORD_MAPPED, 0, id >> 32, tid, t->sys_args[0]);
	if (c->phase_end_call)
		syscall_phase(c, t, regs->orig_ax, id >> 32);
	t->sys_open = PT_SYS_NONE;
	return 0;
}

/* True for an error that the next try of the same call may not have. */
INLINE bool may_be_retried(u64 call, u64 error)
{
	switch (error) {
	case 2:	  /* ENOENT */
	case 6:	  /* ENXIO */
	case 11:  /* EAGAIN */
	case 16:  /* EBUSY */
	case 17:  /* EEXIST */
	case 26:  /* ETXTBSY */
	case 98:  /* EADDRINUSE */
	case 105: /* ENOBUFS */
	case 107: /* ENOTCONN */
	case 111: /* ECONNREFUSED */
	case 114: /* EALREADY */
	case 115: /* EINPROGRESS */
		/* a futex whose word has changed is no lock that was refused */
		return call != SYS_FUTEX;
	default:
		return false;
	}
}

enum { LATER_CALLS = 4 };

/* Keep the last call of a thread that failed, for the sleep that follows: one in f0, or any while a
 * window of waits is open. A program of its own: it is attached only while threads are seen to
 * sleep by a timer again and again. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_failed, struct pt_regs *regs, long ret)
{
	struct pt_control *c = the_control();
	u64 id = bpf_get_current_pid_tgid(), error = -ret;
	u32 tid = (u32)id;
	struct pt_asleep *a;

	if (!c)
		return 0;
	if (!is_target(c, id >> 32)) {
		count_hit(PT_HIT_SYSCALL_OTHER);
		return 0;
	}
	count_hit(PT_HIT_SYSCALL);
	if (!c->waits.window && !descent_of(c, bpf_get_current_task_btf()))
		return 0;
	a = bpf_map_lookup_elem(&asleep, &tid);
	if (!a)
		return 0;
	if (error && error < 4096) {
		if (may_be_retried(regs->orig_ax, error))
			failed_note(&a->failed, regs, error);
	} else if (a->failed.call && ++a->failed.later > LATER_CALLS) {
		a->failed.call = 0;
	}
	return 0;
}
