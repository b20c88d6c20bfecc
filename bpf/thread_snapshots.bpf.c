// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread snapshots, which need no probes: a task iterator reports the sleeping threads of
 * the targets, and a timer on each CPU samples the running ones.
 */
#include "bpf/groups.h"
#include "bpf/return_probes.h"
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
	r->memory.limit = 0;
	if (r->in_kernel) {
		fill_memory_limit(&r->memory, memory_group(task));
		got = bpf_get_stack(ctx, r->kernel, sizeof(r->kernel), 0);
		if (got > 0)
			r->nr_kernel = (u32)got / sizeof(u64);
	}
	replaced_fill(&r->replaced, task);
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
enum { STATE_UNINTERRUPTIBLE = 2 };

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

/*
 * How long the task has waited for a CPU. The kernel adds a wait to run_delay when it ends; one
 * that goes on is added here, so that the sum grows as time passes. `clock`: the present time on
 * the clock of ran_until().
 */
INLINE u64 waited_for_cpu(struct task_struct *task, u64 clock)
{
	u64 queued;

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	queued = task->__state ? 0 : task->sched_info.last_queued;
	return task->sched_info.run_delay + (queued && clock > queued ? clock - queued : 0);
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

/*
 * Who can end the poll() or select() of a thread (PT_AWAITS_..., in the upper half), and the
 * descriptor of what tells most (in the lower half; else PT_NO_FD): the only connection, the only
 * one whose turn it is, a Unix socket that is a client's, or one of a pair. A proxy polls the
 * connections to its client and to its server: while the server is asked, it is the server's turn
 * alone; between two requests it is the client's. A peer from which nothing was ever received may
 * be one that only takes data: if there are other peers, it is not named.
 */
SEPARATE u64 polled_end(u64 files, u32 tid)
{
	struct pt_polled *p = bpf_map_lookup_elem(&polled, &tid);
	u64 ends = 0;
	u32 fd = 0, asked, peers, servers;

	if (!p || !p->nr)
		return (u64)PT_AWAITS_UNKNOWN << 32 | PT_NO_FD;
	for (u32 i = 0; i < PT_POLLED && i < p->nr; i++) {
		fd = p->fd[i];
		ends = ends_add(ends, file_end((u64)file_in((struct fdtable *)files, fd)), fd);
	}
	if (ends_with(ends, ENDED_BY_OTHERS))
		return (u64)PT_AWAITS_OTHERS << 32 | PT_NO_FD;
	if (!(ends >> (32 + ENDED_BY_PAIR * ENDS_BITS)))
		return (u64)PT_AWAITS_OWN << 32 | PT_NO_FD;
	asked = ends_with(ends, ENDED_BY_ASKED);
	peers = ends_with(ends, ENDED_BY_PEER) + asked;
	servers = ends_with(ends, ENDED_BY_UNIX_SERVER);
	/* several: no single one can be named, and whose clients they are is not known */
	if (peers && peers + servers > 1 &&
	    (servers || asked != 1 || !has_received(file_in((struct fdtable *)files, ends))))
		return (u64)PT_AWAITS_PAIR << 32 | PT_NO_FD;
	return (u64)PT_AWAITS_UNKNOWN << 32 | (u32)ends;
}

/* What a file tells about requests. At most eight kinds: served_end() counts them in bytes. */
enum {
	TURN_NONE,	  /* no request is open, or the file is no connection */
	TURN_ASKED,	  /* connection as client: a request was sent and not answered */
	TURN_ASKED_MAYBE, /* connection as client: a request was sent, and it is not known whether
			     it was answered, or whether this server ever answers */
	TURN_OWED,	  /* connection as server: a request was received and not answered */
	TURN_OWED_FIRST,  /* connection as server: data were received and none were ever sent. This
			     is a first request, or a client that only sends */
	TURN_OWED_MAYBE,  /* connection as server: a request was received, and it is not known
			     whether it was answered */
};

INLINE bool is_served_port(const struct pt_polled *p, u32 port)
{
	for (u32 i = 0; i < PT_PORTS; i++) {
		if (i >= p->nr_ports)
			break;
		if (p->port[i] == port)
			return true;
	}
	return false;
}

/*
 * Whose turn it is on this connection, by when data were last sent and received. The kernel notes
 * these times in ticks of its clock. If both fall into one tick, the numbers of segments tell, as
 * long as requests and answers have one each. If data went in one direction only, the other side
 * may be one that never answers, as a log server does.
 */
INLINE u32 turn_of(struct sock *sk, bool serves)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct inet_connection_sock *connection = (struct inet_connection_sock *)sk;
	u32 sent = BPF_CORE_READ(tcp, data_segs_out), got = BPF_CORE_READ(tcp, data_segs_in);
	s32 after = BPF_CORE_READ(tcp, lsndtime) - BPF_CORE_READ(connection, icsk_ack.lrcvtime);

	if (!got)
		return sent && !serves ? TURN_ASKED_MAYBE : TURN_NONE;
	if (!sent)
		return serves ? TURN_OWED_FIRST : TURN_NONE;
	if (after > 0)
		return serves ? TURN_NONE : TURN_ASKED;
	if (after < 0)
		return serves ? TURN_OWED : TURN_NONE;
	if (sent == got)
		return TURN_NONE;
	if (serves)
		return got > sent ? TURN_OWED : TURN_OWED_MAYBE;
	return sent > got ? TURN_ASKED : TURN_ASKED_MAYBE;
}

/* The turn (TURN_...) of the file at this address, which is the descriptor `fd` of a thread. */
SEPARATE u32 served_turn(u64 address, u32 fd, u32 tid)
{
	struct pt_polled *p = bpf_map_lookup_elem(&polled, &tid);
	u32 end = file_end(address), turn;
	struct sock *sk;

	if (!p || end == ENDED_BY_SELF || end == ENDED_BY_PAIR || end == ENDED_BY_OTHERS)
		return TURN_NONE;
	if (end == ENDED_BY_UNIX_SERVER)
		return TURN_ASKED_MAYBE;
	sk = sock_of((struct file *)address);
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return TURN_ASKED_MAYBE;
	turn = turn_of(sk, is_served_port(p, BPF_CORE_READ(sk, __sk_common.skc_num)));
	if (turn == TURN_ASKED)
		p->asked = fd;
	return turn;
}

/*
 * Who can end the wait of a thread that serves clients: as polled_end(), or 0 if its descriptors
 * tell no more. While a client waits for its answer and one server is asked, the thread waits for
 * that server, if neither of them may be one that only sends or only takes data.
 */
SEPARATE u64 served_end(u64 files, u32 tid)
{
	struct pt_polled *p = bpf_map_lookup_elem(&polled, &tid);
	u64 turns = 0;
	u32 asked, asked_maybe, owed, owed_first, owed_maybe;

	if (!p || !p->nr)
		return 0;
	for (u32 i = 0; i < PT_POLLED && i < p->nr; i++) {
		u32 fd = p->fd[i];
		u32 turn = served_turn((u64)file_in((struct fdtable *)files, fd), fd, tid);

		turns += 1ull << turn % 8 * 8;
	}
	asked = turns >> TURN_ASKED * 8 & 0xff;
	asked_maybe = turns >> TURN_ASKED_MAYBE * 8 & 0xff;
	owed = turns >> TURN_OWED * 8 & 0xff;
	owed_first = turns >> TURN_OWED_FIRST * 8 & 0xff;
	owed_maybe = turns >> TURN_OWED_MAYBE * 8 & 0xff;
	if (asked == 1 && owed)
		return (u64)PT_AWAITS_UNKNOWN << 32 | p->asked;
	if (owed || owed_first || (owed_maybe && (asked || asked_maybe)))
		return (u64)PT_AWAITS_OWED << 32 | PT_NO_FD;
	return 0;
}

/* Find out what a sleeping thread waits for, as far as its table of files tells. */
INLINE void awaited_fill(struct pt_task_now *r, struct task_struct *task)
{
	u64 call = r->regs[PT_REG_ORIG_AX], files = (u64)files_of(task), end;
	struct file *file = file_of(task, r->regs[PT_REG_DI]);

	if (is_epoll_wait(call) || is_poll(call)) {
		end = is_poll(call) ? polled_end(files, r->tid) : epoll_awaits(file);
		if (end >> 32 == PT_AWAITS_OTHERS)
			end = served_end(files, r->tid) ?: end;
		r->awaits = end >> 32;
		r->fd = end;
	} else if (mode_of(file) == S_IFSOCK) {
		r->fd = r->regs[PT_REG_DI];
	}
	if (r->fd != PT_NO_FD)
		object_fill(&r->object, (u64)file_of(task, r->fd));
}

/* Fill in what the thread has used, and what the ended threads of its process have used. */
INLINE void usage_fill(struct pt_task_now *r, struct task_struct *task)
{
	r->cpu_ns = task->se.sum_exec_runtime;
	r->faults = task->min_flt + task->maj_flt;
	r->started_ns = task->start_time;
	r->ended_cpu_ns = r->ended_faults = 0;
	if (task->pid != task->tgid)
		return;
	r->ended_cpu_ns = BPF_CORE_READ(task, signal, sum_sched_runtime);
	r->ended_faults =
	    BPF_CORE_READ(task, signal, min_flt) + BPF_CORE_READ(task, signal, maj_flt);
}

/* True for a thread that has ended before its process: a main thread stays listed until the last
 * thread ends. */
INLINE bool has_ended_alone(struct task_struct *task)
{
	return task->exit_state && BPF_CORE_READ(task, signal, live.counter) > 0;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_control *c = the_control();
	struct pt_task_now *r;
	u32 zero = 0;
	long got;

	if (!task || !c || !is_target(c, task->tgid) || has_ended_alone(task))
		return 0;
	r = bpf_map_lookup_elem(&task_room, &zero);
	if (!r)
		return 0;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->state = BPF_CORE_READ(task, __state);
	r->on_cpu = task->on_cpu;
	r->switches = task->nvcsw + task->nivcsw;
	usage_fill(r, task);
	r->throttled = !r->state && is_throttled(task);
	if (r->throttled)
		fill_quota_of(&r->quota, task);
	r->ran_ns = ran_until(task);
	r->clock_ns = ran_until(bpf_get_current_task_btf());
	r->queued_ns = 0;
	if (bpf_core_field_exists(task->sched_info.last_queued) && !r->state)
		r->queued_ns = task->sched_info.last_queued;
	r->runq_ns = waited_for_cpu(task, r->clock_ns);
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
	r->nr_kernel = 0;
	r->awaits = PT_AWAITS_UNKNOWN;
	r->fd = PT_NO_FD;
	__builtin_memset(&r->object, 0, sizeof(r->object));
	if (bpf_probe_read_kernel(r->regs, sizeof(r->regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	replaced_fill(&r->replaced, task);
	r->memory.limit = 0;
	/* the kernel does not let itself be interrupted while it frees memory */
	if (r->state & STATE_UNINTERRUPTIBLE)
		fill_memory_limit(&r->memory, memory_group(task));
	if (r->state) {
		awaited_fill(r, task);
		got = bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0);
		if (got > 0)
			r->nr_kernel = (u32)got / sizeof(u64);
	}
	bpf_seq_write(ctx->meta->seq, r, sizeof(*r));
	return 0;
}

/* ---- who has a pipe or a socket open */

enum { PIPEFS_MAGIC = 0x50495045 };

INLINE bool is_sought(struct pt_sought *s, struct file *file)
{
	u32 mode = mode_of(file), address;
	struct sock *sk;

	if (mode != S_IFIFO && mode != S_IFSOCK)
		return false;
	if (s->inode)
		return BPF_CORE_READ(file, f_inode, i_ino) == s->inode &&
		       (mode == S_IFSOCK ||
			BPF_CORE_READ(file, f_inode, i_sb, s_magic) == PIPEFS_MAGIC);
	if (mode != S_IFSOCK)
		return false;
	sk = sock_of(file);
	if (BPF_CORE_READ(sk, __sk_common.skc_state) != TCP_LISTEN ||
	    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP ||
	    BPF_CORE_READ(sk, __sk_common.skc_num) != s->port ||
	    BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) != s->network)
		return false;
	BPF_CORE_READ_INTO(&address, sk, __sk_common.skc_rcv_saddr);
	return !address || !s->address || address == s->address;
}

/* Files of threads that share their table with the first one are listed once. */
SEC("iter/task_file")
int on_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct pt_control *c = the_control();
	struct pt_pipe_end end = {};
	struct sock *sk;

	if (!task || !file || !c || !is_sought(&c->sought, file))
		return 0;
	if (!c->sought.inode) {
		sk = sock_of(file);
		end.queued = BPF_CORE_READ(sk, sk_ack_backlog);
		end.room = BPF_CORE_READ(sk, sk_max_ack_backlog) + 1;
		end.dropped = BPF_CORE_READ(sk, sk_drops.counter);
	}
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

	if (!task || !waits_on(c) || !is_target(c, task->tgid) || has_ended_alone(task) ||
	    follow_of(c, task))
		return 0;
	f = follow_begin(c, task, 0, NEVER);
	if (!f)
		return 0;
	follow_announce(c, task, f, bpf_ktime_get_ns());
	return 0;
}
