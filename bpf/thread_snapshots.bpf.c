// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread snapshots, which need no probes: a task iterator reports the sleeping threads of
 * the targets, and a timer on each CPU samples the running ones.
 */
#include "bpf/waits_objects.h"

/* Per-CPU buffers in which records are built. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_record_thread_snapshot);
} snapshot_room SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pt_task_now);
} task_room SEC(".maps");

/* Copy the stack from the stack pointer up, until it ends or the buffer is full. Returns the
 * number of bytes. */
INLINE u32 stack_copy(unsigned char *to, u64 sp)
{
	u32 bytes = 0;

	if (!bpf_probe_read_user(to, PT_SNAPSHOT_STACK, (void *)sp))
		return PT_SNAPSHOT_STACK;
	for (u32 i = 0; i < PT_SNAPSHOT_STACK / PT_SNAPSHOT_STEP; i++) {
		if (bpf_probe_read_user(to + i * PT_SNAPSHOT_STEP, PT_SNAPSHOT_STEP,
					(void *)(sp + i * PT_SNAPSHOT_STEP)))
			break;
		bytes += PT_SNAPSHOT_STEP;
	}
	return bytes;
}

SEC("perf_event")
int on_snapshot(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 begin = bpf_ktime_get_ns(), bytes;
	struct pt_record_thread_snapshot *r;
	u32 zero = 0;
	long got;

	if (!c || !c->snapshots || !is_target(c, task->tgid))
		return 0;
	if (c->snapshots_left <= 0) {
		__sync_fetch_and_add(&c->snapshots_dropped, 1);
		return 0;
	}
	r = bpf_map_lookup_elem(&snapshot_room, &zero);
	if (!r)
		return 0;
	__sync_fetch_and_add(&c->snapshots_left, -1);
	r->head.kind = PT_RECORD_THREAD_SNAPSHOT;
	r->head.slot = 0;
	r->head.tgid = task->tgid;
	r->head.tid = task->pid;
	r->head.at = begin;
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	r->in_kernel = !(ctx->regs.cs & 3);
	r->nr_kernel = 0;
	if (r->in_kernel) {
		got = bpf_get_stack(ctx, r->kernel, sizeof(r->kernel), 0);
		if (got > 0)
			r->nr_kernel = (u32)got / sizeof(u64);
	}
	bytes = stack_copy(r->stack, r->regs[PT_REG_SP]);
	r->bytes = bytes;
	HIDE(bytes);
	if (bytes > PT_SNAPSHOT_STACK)
		return 0;
	if (bpf_ringbuf_output(&ring, r,
			       __builtin_offsetof(struct pt_record_thread_snapshot, stack) + bytes,
			       BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&c->snapshots_dropped, 1);
	else
		__sync_fetch_and_add(&c->snapshots_done, 1);
	__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - begin);
	return 0;
}

/* Runs at each tick of a timer on each CPU: samples how often the target runs in functions
 * that are too short to be timed. */
SEC("perf_event")
int on_share(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_control *c = the_control();
	u64 ip = ctx->regs.ip, begin;
	u32 tgid = task->tgid;

	if (!c || c->share_hold || !is_target(c, tgid))
		return 0;
	begin = bpf_ktime_get_ns();
	/* a sample in the kernel falls into no function of the program */
	if (!(ctx->regs.cs & 3))
		ip = 0;
	for (int i = 0; i < PT_SHARES; i++) {
		struct pt_share *s = &c->shares[i];

		if (s->tgid != tgid)
			continue;
		__sync_fetch_and_add(&s->ticks, 1);
		if (ip >= s->low && ip < s->high && is_chosen(c, tgid, task->pid))
			__sync_fetch_and_add(&s->in, 1);
	}
	__sync_fetch_and_add(&c->snapshots_done, 1);
	__sync_fetch_and_add(&c->snapshot_ns, bpf_ktime_get_ns() - begin);
	return 0;
}

enum { PRIO_FAIR = 100 }; /* lower values are real-time priorities */

/*
 * When a task last ran, or now if it runs; 0: not known. This is the time at which it got its
 * CPU plus its run time since then, which the kernel does not keep for real-time tasks.
 * se.exec_start is no alternative: it leaves out interrupts and time stolen by the hypervisor,
 * so the values of two CPUs differ by seconds.
 */
INLINE u64 ran_until(struct task_struct *task)
{
	u64 since, ran;

	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return 0;
	since = task->sched_info.last_arrival;
	ran = task->prio >= PRIO_FAIR ? task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime
				      : 0;
	return since ? since + ran : 0;
}

/* Key: thread id. The collector fills it between two iterations. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct pt_polled);
} polled SEC(".maps");

INLINE bool is_poll(u64 call)
{
	return call == CALL_POLL || call == CALL_PPOLL || call == CALL_SELECT ||
	       call == CALL_PSELECT6;
}

INLINE bool is_unix(struct file *file)
{
	return mode_of(file) == S_IFSOCK &&
	       BPF_CORE_READ(sock_of(file), __sk_common.skc_family) == AF_UNIX;
}

/* What can end a wait for one file. */
enum { ENDED_BY_SELF, ENDED_BY_OTHERS, ENDED_BY_PEER, ENDED_BY_UNIX_PEER };

/*
 * Who can end the wait of a task for a descriptor in its table `files`: a client, by a connection
 * to this process or a terminal; the peer of a connection; or the process itself. A function of its
 * own, so that the verifier follows it once and not for each descriptor.
 */
SEPARATE u32 descriptor_end(u64 files, u32 fd)
{
	struct file *file = file_in((struct fdtable *)files, fd);
	u32 mode = mode_of(file);
	struct sock *sk;

	if (mode != S_IFSOCK)
		return mode == S_IFCHR ? ENDED_BY_OTHERS : ENDED_BY_SELF;
	sk = sock_of(file);
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		return ENDED_BY_OTHERS;
	if (!is_unix(file))
		return ENDED_BY_PEER;
	return unix_end(sk) <= PT_END_SERVER ? ENDED_BY_OTHERS : ENDED_BY_UNIX_PEER;
}

/*
 * Who can end the poll() or select() of a thread (PT_AWAITS_..., in the upper half), and, if peers
 * alone can, the descriptor of the first one (in the lower half; else PT_NO_FD): a Unix socket that
 * is a client's, or one of a pair, or the only connection of the thread.
 */
SEPARATE u64 polled_end(u64 files, u32 tid)
{
	struct pt_polled *p = bpf_map_lookup_elem(&polled, &tid);
	u32 fd = PT_NO_FD, end;
	u64 ends = 0; /* how many descriptors have which end, in a byte for each */

	if (!p || !p->nr)
		return (u64)PT_AWAITS_UNKNOWN << 32 | PT_NO_FD;
	for (u32 i = 0; i < PT_POLLED && i < p->nr; i++) {
		end = descriptor_end(files, p->fd[i]);
		if (end >= ENDED_BY_PEER && fd == PT_NO_FD)
			fd = p->fd[i];
		/* without a branch: the verifier follows each one through all further rounds */
		ends += 1ull << end % 4 * 8;
	}
	if (ends >> ENDED_BY_OTHERS * 8 & 0xff)
		return (u64)PT_AWAITS_OTHERS << 32 | PT_NO_FD;
	if (fd == PT_NO_FD)
		return (u64)PT_AWAITS_OWN << 32 | PT_NO_FD;
	/* several peers, and not all of Unix sockets: no single one can be named */
	if (ends >> ENDED_BY_PEER * 8 & 0xff && ends >> ENDED_BY_PEER * 8 != 1)
		fd = PT_NO_FD;
	return (u64)PT_AWAITS_UNKNOWN << 32 | fd;
}

/* Find out what a sleeping thread waits for, as far as its table of files tells. */
INLINE void awaited_fill(struct pt_task_now *r, struct task_struct *task)
{
	u64 call = r->regs[PT_REG_ORIG_AX], files = (u64)files_of(task), end;
	struct file *file = file_of(task, r->regs[PT_REG_DI]);

	if (is_epoll_wait(call)) {
		r->awaits = epoll_awaits(file);
		return;
	}
	if (is_poll(call)) {
		end = polled_end(files, r->tid);
		r->awaits = end >> 32;
		r->fd = end;
	} else if (is_unix(file)) {
		r->fd = r->regs[PT_REG_DI];
	}
	if (r->fd != PT_NO_FD)
		object_fill(&r->object, (u64)file_of(task, r->fd));
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_control *c = the_control();
	struct pt_task_now *r;
	u32 zero = 0;
	long got;

	if (!task || !c || !is_target(c, task->tgid))
		return 0;
	r = bpf_map_lookup_elem(&task_room, &zero);
	if (!r)
		return 0;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->state = BPF_CORE_READ(task, __state);
	r->switches = task->nvcsw + task->nivcsw;
	r->cpu_ns = task->se.sum_exec_runtime;
	r->runq_ns = 0;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		r->runq_ns = task->sched_info.run_delay;
	r->ran_ns = ran_until(task);
	r->clock_ns = ran_until(bpf_get_current_task_btf());
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
	r->nr_kernel = 0;
	r->awaits = PT_AWAITS_UNKNOWN;
	r->fd = PT_NO_FD;
	__builtin_memset(&r->object, 0, sizeof(r->object));
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	if (r->state) {
		awaited_fill(r, task);
		got = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);
		if (got > 0)
			r->nr_kernel = (u32)got / sizeof(u64);
	}
	bpf_seq_write(ctx->meta->seq, r, sizeof(*r));
	return 0;
}

/* ---- who has a pipe open */

enum { PIPEFS_MAGIC = 0x50495045 };

/* Files of threads that share their table with the first one are listed once. */
SEC("iter/task_file")
int on_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct pt_control *c = the_control();
	struct pt_pipe_end end = {};

	if (!task || !file || !c || mode_of(file) != S_IFIFO ||
	    BPF_CORE_READ(file, f_inode, i_ino) != c->pipe_inode ||
	    BPF_CORE_READ(file, f_inode, i_sb, s_magic) != PIPEFS_MAGIC)
		return 0;
	end.tgid = task->tgid;
	end.parent = BPF_CORE_READ(task, real_parent, tgid);
	end.mode = BPF_CORE_READ(file, f_mode) & (PT_PIPE_READS | PT_PIPE_WRITES);
	bpf_probe_read_kernel(end.comm, sizeof(end.comm), task->comm);
	bpf_seq_write(ctx->meta->seq, &end, sizeof(end));
	return 0;
}

/* ---- tracing of waits: the tasks of the targets at the begin of a window */

SEC("iter/task")
int on_waits_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_control *c = the_control();
	struct pt_follow *f;
	u32 state;
	u64 now;

	if (!task || !waits_on(c) || !is_target(c, task->tgid) || follow_of(c, task))
		return 0;
	f = follow_begin(c, task, 0, NEVER);
	if (!f)
		return 0;
	now = bpf_ktime_get_ns();
	state = BPF_CORE_READ(task, __state) & 0xffff;
	/* on a CPU or about to be: its first event or the next tick announces it */
	if (!state || BPF_CORE_READ(task, on_cpu)) {
		f->pending = 1;
		return 0;
	}
	waits_announce(c, task, f->flags,
		       state & 4   ? 'T'
		       : state & 8 ? 't'
		       : state & 2 ? 'D'
				   : 'S',
		       now);
	waits_asleep(c, task, false, now + 1);
	return 0;
}
