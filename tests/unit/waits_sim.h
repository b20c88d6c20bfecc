/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small deterministic scheduler that runs scripts of tasks on some CPUs and writes the records
 * that the collector would send. It knows who ran for how long. Scripts take no time but for what
 * they say; every record has an instant of its own.
 */
#ifndef PEAKTOP_WAITS_SIM_H
#define PEAKTOP_WAITS_SIM_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/session/record.h"

/* A step of a script says only what it needs. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum {
	SIM_CPUS = 8,
	SIM_TASKS = 128,
	SIM_SEMAPHORES = 160,
	SIM_LOCKS = 8,
	SIM_TIMED = 256,
	SIM_DEPTH = 4,
};
#define US 1000ull
#define MS 1000000ull
#define SIM_SLICE (4 * MS)

/* How a task waits: what stands in its sleep. */
enum sim_how {
	HOW_PIPE,
	HOW_UNIX,
	HOW_TCP,
	HOW_CONDITION,
	HOW_POLL,
	HOW_ACCEPT,
	HOW_PEER,
	HOW_CHILD,
	HOW_VFORK,
	HOW_JOIN,
	HOW_STOPPED,
	HOW_URING,
	HOW_WORKER,
	HOW_FSYNC,
	HOW_READ,
	HOW_CLOCK,
	HOW_LOCK,
	HOW_FAULT,
	HOW_DIRECT,
	HOW_PIPE_FULL,
	HOW_PIPE_SPLICED,
	HOW_OTHER_PIPE,
	HOW_FIFO,
	HOW_TRACED,
	HOW_WRITEBACK,
	SIM_HOWS
};

enum sim_code {
	END = 0,
	RUN,	   /* ns */
	POST,	   /* semaphore: wakes one waiter, or leaves a token */
	POST_SOFT, /* the same from a soft interrupt that runs in this task: loopback */
	POST_ALL,  /* wakes all waiters; there is one token */
	WAIT,	   /* semaphore, how */
	WAIT_FOR,  /* semaphore, how, ns: gives up after that */
	SLEEP,	   /* ns */
	LOCK,	   /* lock: handed to waiters in turn */
	UNLOCK,
	IO,	 /* object, ns in the queue, ns at the device */
	IO_WORK, /* the same; then a work item (4th) for the worker that waits at semaphore 0 */
	FAULT,	 /* as IO, in a page fault */
	QUEUE,	 /* work item */
	BEGIN,	 /* work item */
	FINISH,	 /* work item */
	FORK,	 /* task */
	EXIT,
	SIGNAL,	      /* the next waking is by a signal */
	SIGCHLD_SENT, /* the same: by that of a child that ends */
	SAMPLE,	      /* stack: the profiler hits here */
	LOOP,	      /* times */
	NEXT,
	UNTIL, /* semaphore: goes back to LOOP unless it has a token */
};

struct sim_op {
	enum sim_code code;
	int64_t a, b, c, d;
};

enum sim_state { SIM_NEW, SIM_RUNS, SIM_READY, SIM_SLEEPS, SIM_DEAD };

struct sim_task {
	const struct sim_op *script;
	char comm[16];
	uint32_t tid, pid, flags, cpu;
	uint64_t start_ns;
	enum sim_state state;
	uint32_t pc, depth;
	struct {
		uint32_t pc;
		int64_t left;
	} loop[SIM_DEPTH];
	uint64_t left;	 /* of RUN */
	uint64_t run_ns; /* in all: the truth */
	uint64_t on_since, slice_since;
	int waits_for; /* semaphore; -1 */
	int how;
	uint64_t deadline; /* 0: none */
	uint64_t next_start;
	int lock;
};

struct sim_timed {
	uint64_t at;
	int kind; /* 0: free; 1: I/O issued; 2: I/O done; 3: a packet from outside */
	int task, semaphore, work;
	uint64_t request;
	int object;
	uint64_t device_ns;
};

struct sim {
	struct sim_task task[SIM_TASKS];
	int nr_tasks;
	uint32_t nr_cpus;
	int current[SIM_CPUS]; /* -1: idle */
	int queue[SIM_CPUS][SIM_TASKS];
	int nr_queue[SIM_CPUS];
	int tokens[SIM_SEMAPHORES];
	int holder[SIM_LOCKS]; /* -1: free */
	int waiter[SIM_LOCKS][SIM_TASKS];
	int nr_waiters[SIM_LOCKS];
	struct sim_timed timed[SIM_TIMED];
	uint32_t sequence[SIM_CPUS];
	uint64_t now, last_at, requests;
	struct record *records;
	uint32_t nr_records, cap_records;
	/* loss: one record in `lose_one_in`, or all of one CPU in a burst */
	uint32_t lose_one_in, lost;
	uint64_t burst_from, burst_to, random;
	uint32_t burst_cpu;
	uint64_t edges;
	/* what lies below the interrupt of a timer, as a bracket; 0: nothing */
	uint64_t below_timer;
	uint32_t waker_stack; /* of the next waking */
	unsigned int timer;   /* function of the timers; 0: TIMER_SLEEP */
};

/* ---- records */

static inline uint64_t sim_random(struct sim *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline struct record *sim_put(struct sim *s, enum record_type type)
{
	struct record *r;

	if (s->nr_records == s->cap_records) {
		s->cap_records = s->cap_records ? 2 * s->cap_records : 4096;
		s->records = realloc(s->records, s->cap_records * sizeof(*s->records));
		assert(s->records);
	}
	r = &s->records[s->nr_records++];
	memset(r, 0, sizeof(*r));
	r->type = type;
	return r;
}

static inline uint64_t sim_at(struct sim *s)
{
	s->last_at = s->now > s->last_at ? s->now : s->last_at + 1;
	return s->last_at;
}

/* A record of a CPU with its sequence, or nothing: it was lost. The sequence counts on. */
static inline bool sim_lose(struct sim *s, uint32_t cpu)
{
	bool lose =
	    (s->lose_one_in && !(sim_random(s) % s->lose_one_in)) ||
	    (s->burst_to && cpu == s->burst_cpu && s->now >= s->burst_from && s->now < s->burst_to);

	s->sequence[cpu]++;
	s->lost += lose;
	return lose;
}

#define SIM_RECORD(s, type_, member, cpu_)                                                         \
	struct record *r = sim_put(s, type_);                                                      \
	bool lose = sim_lose(s, cpu_);                                                             \
	r->member.at_ns = sim_at(s);                                                               \
	r->member.cpu = cpu_;                                                                      \
	r->member.sequence = (s)->sequence[cpu_];                                                  \
	if (lose)                                                                                  \
	(s)->nr_records--

static inline void sim_trace(struct sim *s, uint32_t number, const char *kernel)
{
	struct record *r = sim_put(s, REC_TRACE);

	r->trace.trace = number;
	r->trace.flags = TRACE_KERNEL;
	r->trace.kernel = kernel;
}

static inline void sim_object(struct sim *s, uint32_t number, enum object_kind kind,
			      const char *name)
{
	struct record *r = sim_put(s, REC_OBJECT);

	r->object.object = number;
	r->object.kind = kind;
	r->object.name = name;
}

static inline void sim_name(struct sim *s, enum bracket_kind kind, uint32_t number,
			    const char *text)
{
	struct record *r = sim_put(s, REC_NAME);

	r->name.kind = kind;
	r->name.number = number;
	r->name.text = text;
}

/* stacks of wakers */
enum { STACK_SIGNAL = 90, STACK_CHILD, STACK_SENDS, STACK_BY_CHANCE };
enum {
	TIMER_SLEEP = 1,
	TIMER_PROCESS = 2,
	TIMER_ALARM = 3,
	IRQ_DISK = 14,
	SOFT_RX = 3,
	SOFT_NAMED_RCU = 9
};
enum {
	OBJECT_NR_PIPE = 1,
	OBJECT_NR_UNIX,
	OBJECT_NR_TCP,
	OBJECT_NR_PEER,
	OBJECT_NR_FILE,
	OBJECT_NR_COLD,
	OBJECT_NR_OTHER_PIPE,
	OBJECT_NR_FIFO
};

struct sim_sleep {
	int32_t syscall;
	uint64_t args[3];
	uint32_t object, state, flags;
	const char *kernel;
};

static const struct sim_sleep sim_sleeps[SIM_HOWS] = {
    [HOW_PIPE] = {SYS_read, {3}, OBJECT_NR_PIPE, 1, 0, "ksys_read;pipe_read;schedule"},
    [HOW_PIPE_SPLICED] =
	{SYS_read, {3}, OBJECT_NR_PIPE, 1, 0, "vfs_read;pipe_read;io_wait;schedule"},
    [HOW_OTHER_PIPE] = {SYS_read, {11}, OBJECT_NR_OTHER_PIPE, 1, 0, "ksys_read;pipe_read;schedule"},
    [HOW_FIFO] = {SYS_read, {12}, OBJECT_NR_FIFO, 1, 0, "ksys_read;pipe_read;schedule"},
    [HOW_PIPE_FULL] = {SYS_write, {3}, OBJECT_NR_PIPE, 1, 0, "ksys_write;pipe_write;schedule"},
    [HOW_UNIX] = {SYS_recvfrom, {4}, OBJECT_NR_UNIX, 1, 0, "unix_stream_recvmsg;schedule"},
    [HOW_TCP] = {SYS_recvfrom, {5}, OBJECT_NR_TCP, 1, 0, "tcp_recvmsg;sk_wait_data;schedule"},
    [HOW_CONDITION] = {SYS_futex, {0x1000, 137, 0}, 0, 1, 0, "futex_wait;schedule"},
    [HOW_POLL] = {SYS_poll, {0x2000, 2, 10}, 0, 1, ASLEEP_TIMED, "do_sys_poll;schedule"},
    [HOW_ACCEPT] = {SYS_accept, {6}, 0, 1, 0, "inet_csk_accept;schedule"},
    [HOW_PEER] = {SYS_recvfrom, {7}, OBJECT_NR_PEER, 1, 0, "tcp_recvmsg;sk_wait_data;schedule"},
    [HOW_CHILD] = {SYS_wait4, {0}, 0, 1, 0, "do_wait;schedule"},
    [HOW_VFORK] = {SYS_vfork, {0}, 0, 2, 0, "kernel_clone;wait_for_vfork_done;schedule"},
    [HOW_JOIN] = {SYS_futex, {0x3000, 9, 0}, 0, 1, 0, "futex_wait;schedule"},
    [HOW_STOPPED] = {-1, {0}, 0, SWITCH_STOPPED, 0, "do_signal_stop;schedule"},
    [HOW_TRACED] = {-1, {0}, 0, SWITCH_TRACED, 0, "ptrace_stop;schedule"},
    [HOW_WRITEBACK] =
	{SYS_fsync, {9}, OBJECT_NR_FILE, 2, 0, "do_fsync;folio_wait_writeback;io_schedule"},
    [HOW_URING] = {SYS_io_uring_enter, {8}, 0, 1, 0, "io_cqring_wait;schedule"},
    [HOW_WORKER] = {-1, {0}, 0, 0x402, 0, "kthread;worker_thread;schedule"},
    [HOW_FSYNC] = {SYS_fsync, {9}, OBJECT_NR_FILE, 2, 0, "do_fsync;io_schedule"},
    [HOW_READ] = {SYS_read, {10}, OBJECT_NR_COLD, 2, 0, "filemap_read;io_schedule"},
    [HOW_DIRECT] = {SYS_pread64, {11}, OBJECT_NR_FILE, 2, 0, "iomap_dio_rw;io_schedule"},
    [HOW_CLOCK] = {SYS_clock_nanosleep, {1, 0, 0x4000}, 0, 1, ASLEEP_TIMED, "hrtimer_nanosleep"},
    [HOW_LOCK] = {SYS_futex, {0x5000, 128, 2}, 0, 1, 0, "futex_wait;schedule"},
    [HOW_FAULT] =
	{-1, {0xabc000}, 0, 2, ASLEEP_IN_FAULT, "asm_exc_page_fault;filemap_fault;io_schedule"},
};

static inline void sim_begin(struct sim *s, uint32_t nr_cpus)
{
	memset(s, 0, sizeof(*s));
	s->nr_cpus = nr_cpus;
	s->now = s->last_at = 1000 * MS;
	s->random = 42;
	for (uint32_t i = 0; i < SIM_CPUS; i++)
		s->current[i] = -1;
	for (uint32_t i = 0; i < SIM_LOCKS; i++)
		s->holder[i] = -1;
	for (uint32_t i = 0; i < SIM_HOWS; i++)
		sim_trace(s, 100 + i, sim_sleeps[i].kernel);
	sim_trace(s, STACK_SIGNAL, "kill_pid_info;do_send_sig_info;__send_signal_locked");
	sim_trace(s, STACK_CHILD, "do_exit;do_notify_parent;__send_signal_locked;complete_signal");
	sim_trace(s, STACK_SENDS,
		  "tcp_sendmsg;__dev_queue_xmit;__local_bh_enable_ip;do_softirq;net_rx_action");
	sim_trace(s, STACK_BY_CHANCE,
		  "__sys_bpf;__local_bh_enable_ip;do_softirq;net_rx_action;__dev_queue_xmit");
	sim_object(s, OBJECT_NR_PIPE, OBJECT_PIPE, "pipe:[1]");
	sim_object(s, OBJECT_NR_OTHER_PIPE, OBJECT_PIPE, "pipe:[2]");
	sim_object(s, OBJECT_NR_FIFO, OBJECT_PIPE, "/run/fifo");
	sim_object(s, OBJECT_NR_UNIX, OBJECT_LOCAL, "/run/server.socket");
	sim_object(s, OBJECT_NR_TCP, OBJECT_LOCAL, "127.0.0.1:80");
	sim_object(s, OBJECT_NR_PEER, OBJECT_SOCKET, "10.9.0.2:5432");
	sim_object(s, OBJECT_NR_FILE, OBJECT_FILE, "/var/lib/log");
	sim_object(s, OBJECT_NR_COLD, OBJECT_FILE, "/usr/share/cold");
	sim_name(s, BRACKET_TIMER, TIMER_SLEEP, "hrtimer_wakeup");
	sim_name(s, BRACKET_TIMER, TIMER_PROCESS, "process_timeout");
	sim_name(s, BRACKET_TIMER, TIMER_ALARM, "it_real_fn");
	sim_name(s, BRACKET_HARD, IRQ_DISK, "nvme0q1");
	sim_name(s, BRACKET_SOFT, SOFT_NAMED_RCU, "RCU");
}

static inline int sim_task(struct sim *s, const char *comm, uint32_t flags, uint32_t cpu,
			   const struct sim_op *script)
{
	int i = s->nr_tasks++;
	struct sim_task *t = &s->task[i];

	assert(i < SIM_TASKS);
	t->script = script;
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
	t->tid = 500 + (uint32_t)i;
	t->pid = t->tid;
	t->flags = flags | TASK_FOLLOWED;
	t->cpu = cpu;
	t->start_ns = 10 * MS + (uint64_t)i;
	t->waits_for = t->lock = -1;
	return i;
}

static inline void sim_tell_task(struct sim *s, int i, uint32_t state)
{
	const struct sim_task *t = &s->task[i];
	struct record *r = sim_put(s, REC_TASK);

	r->task.at_ns = sim_at(s);
	r->task.start_ns = t->start_ns;
	r->task.cpu = WAITS_NO_CPU;
	r->task.tid = t->tid;
	r->task.pid = t->pid;
	r->task.flags = t->flags;
	r->task.state = state;
	r->task.comm = t->comm;
}

static inline void sim_window(struct sim *s, enum window_edge edge)
{
	for (uint32_t cpu = 0; edge == WINDOW_END && cpu < s->nr_cpus; cpu++) {
		struct record *r = sim_put(s, REC_WINDOW);

		r->window.at_ns = sim_at(s);
		r->window.edge = WINDOW_CPU;
		r->window.cpu = cpu;
		r->window.sequence = s->sequence[cpu];
	}
	struct record *r = sim_put(s, REC_WINDOW);

	r->window.at_ns = sim_at(s);
	r->window.edge = edge;
	memset(s->sequence, 0, sizeof(s->sequence));
}

/* ---- the scheduler */

static inline void sim_switch(struct sim *s, uint32_t cpu, int prev, int next, uint32_t state)
{
	SIM_RECORD(s, REC_SWITCH, switched, cpu);

	r->switched.prev_tid = prev < 0 ? 0 : s->task[prev].tid;
	r->switched.prev_start_ns = prev < 0 ? 0 : s->task[prev].start_ns;
	r->switched.next_tid = next < 0 ? 0 : s->task[next].tid;
	r->switched.next_start_ns = next < 0 ? 0 : s->task[next].start_ns;
	r->switched.state = state;
	if (prev >= 0 && s->task[prev].state == SIM_SLEEPS)
		r->switched.kernel_stack = 100 + (uint32_t)s->task[prev].how;
}

static inline void sim_next(struct sim *s, uint32_t cpu, int prev, uint32_t state)
{
	int next = -1;

	if (s->nr_queue[cpu]) {
		next = s->queue[cpu][0];
		memmove(&s->queue[cpu][0], &s->queue[cpu][1],
			(size_t)--s->nr_queue[cpu] * sizeof(int));
	}
	sim_switch(s, cpu, prev, next, state);
	s->current[cpu] = next;
	if (next >= 0) {
		s->task[next].state = SIM_RUNS;
		s->task[next].on_since = s->task[next].slice_since = s->now;
	}
}

static inline void sim_enqueue(struct sim *s, int i)
{
	uint32_t cpu = s->task[i].cpu;

	s->task[i].state = SIM_READY;
	s->queue[cpu][s->nr_queue[cpu]++] = i;
	if (s->current[cpu] < 0)
		sim_next(s, cpu, -1, 0);
}

/* Who wakes it: the current task of a CPU, in these contexts. */
static inline void sim_wake(struct sim *s, uint32_t cpu, int wakee, uint64_t brackets,
			    uint64_t cause)
{
	{
		SIM_RECORD(s, REC_WAKING, waking, cpu);
		int current = s->current[cpu];

		r->waking.current_tid = current < 0 ? 0 : s->task[current].tid;
		r->waking.current_start_ns = current < 0 ? 0 : s->task[current].start_ns;
		r->waking.wakee_tid = s->task[wakee].tid;
		r->waking.wakee_start_ns = s->task[wakee].start_ns;
		r->waking.brackets = brackets;
		r->waking.cause = cause;
		r->waking.kernel_stack = s->waker_stack;
		s->waker_stack = 0;
	}
	s->edges++;
	s->task[wakee].waits_for = -1;
	s->task[wakee].deadline = 0;
	sim_enqueue(s, wakee);
}

static inline void sim_asleep(struct sim *s, int i, int how, uint64_t third)
{
	const struct sim_sleep *sleep = &sim_sleeps[how];
	struct sim_task *t = &s->task[i];
	uint32_t cpu = t->cpu;

	t->how = how;
	{
		SIM_RECORD(s, REC_ASLEEP, asleep, cpu);

		r->asleep.tid = t->tid;
		r->asleep.syscall = sleep->syscall;
		memcpy(r->asleep.args, sleep->args, sizeof(r->asleep.args));
		if (third)
			r->asleep.args[2] = third;
		if (how == HOW_LOCK)
			r->asleep.args[0] += 64 * (uint64_t)t->lock;
		r->asleep.object = sleep->object;
		r->asleep.flags = sleep->flags;
	}
	t->state = SIM_SLEEPS;
	t->run_ns += s->now - t->on_since;
	sim_next(s, cpu, i, sleep->state);
}

static inline struct sim_timed *sim_timer(struct sim *s, int kind, uint64_t at)
{
	for (int i = 0; i < SIM_TIMED; i++) {
		if (!s->timed[i].kind) {
			memset(&s->timed[i], 0, sizeof(s->timed[i]));
			s->timed[i].kind = kind;
			s->timed[i].at = at;
			s->timed[i].semaphore = s->timed[i].work = -1;
			return &s->timed[i];
		}
	}
	assert(!"too many timed events");
	return NULL;
}

static inline int sim_waiter(const struct sim *s, int semaphore)
{
	int found = -1;

	for (int i = 0; i < s->nr_tasks; i++) {
		if (s->task[i].state == SIM_SLEEPS && s->task[i].waits_for == semaphore &&
		    (found < 0 || s->task[i].next_start < s->task[found].next_start))
			found = i;
	}
	return found;
}

static inline void sim_post(struct sim *s, uint32_t cpu, int semaphore, uint64_t brackets,
			    uint64_t cause)
{
	int i = sim_waiter(s, semaphore);

	if (i >= 0)
		sim_wake(s, cpu, i, brackets, cause);
	else
		s->tokens[semaphore]++;
}

enum { SIM_BYTES = 8192, SIM_WRITE = 2, SIM_DISK = 3 };

static inline void sim_block(struct sim *s, uint32_t cpu, enum block_event event, uint64_t request,
			     int task, int object)
{
	SIM_RECORD(s, REC_BLOCK, block, cpu);

	r->block.event = event;
	r->block.request = request;
	r->block.tid = task < 0 ? 0 : s->task[task].tid;
	r->block.start_ns = task < 0 ? 0 : s->task[task].start_ns;
	r->block.object = (uint32_t)object;
	r->block.bytes = SIM_BYTES;
	r->block.kind = SIM_WRITE | SIM_DISK << 8;
}

static inline void sim_work(struct sim *s, uint32_t cpu, enum work_event event, int work,
			    uint64_t brackets, uint64_t cause)
{
	SIM_RECORD(s, REC_WORK, work, cpu);
	int current = s->current[cpu];

	r->work.event = event;
	r->work.work = 0x700000u + (uint64_t)work;
	r->work.tid = current < 0 ? 0 : s->task[current].tid;
	r->work.start_ns = current < 0 ? 0 : s->task[current].start_ns;
	r->work.brackets = brackets;
	r->work.cause = cause;
}

/* The interrupt of the disk comes to CPU 0, on top of whoever runs there. */
static inline void sim_complete(struct sim *s, struct sim_timed *e)
{
	uint64_t brackets = BRACKET(BRACKET_BLOCK, 0) | BRACKET(BRACKET_HARD, IRQ_DISK) << 16;

	sim_block(s, 0, BLOCK_COMPLETE, e->request, -1, 0);
	if (e->work >= 0) {
		sim_work(s, 0, WORK_QUEUED, e->work, brackets, e->request);
		sim_post(s, 0, 0, BRACKET(BRACKET_HARD, IRQ_DISK), 0);
	} else if (e->task >= 0) {
		sim_wake(s, 0, e->task, brackets, e->request);
	}
}

static inline void sim_due(struct sim *s, struct sim_timed *e)
{
	struct sim_timed copy = *e, *done;

	e->kind = 0;
	if (copy.kind == 1) {
		sim_block(s, 0, BLOCK_ISSUE, copy.request, -1, 0);
		done = sim_timer(s, 2, copy.at + copy.device_ns);
		done->task = copy.task;
		done->request = copy.request;
		done->work = copy.work;
	} else if (copy.kind == 2) {
		sim_complete(s, &copy);
	} else if (copy.kind == 3) {
		sim_post(s, 0, copy.semaphore,
			 BRACKET(BRACKET_SOFT, SOFT_RX) | BRACKET(BRACKET_HARD, 30) << 16, 0x99);
	}
}

static inline void sim_unlock(struct sim *s, uint32_t cpu, int lock)
{
	s->holder[lock] = -1;
	if (!s->nr_waiters[lock])
		return;
	int next = s->waiter[lock][0];

	memmove(&s->waiter[lock][0], &s->waiter[lock][1],
		(size_t)--s->nr_waiters[lock] * sizeof(int));
	s->holder[lock] = next;
	sim_wake(s, cpu, next, 0, 0);
}

static inline void sim_life(struct sim *s, enum life_event event, int i, int child)
{
	SIM_RECORD(s, REC_LIFE, life, s->task[i].cpu);

	r->life.event = event;
	r->life.tid = s->task[i].tid;
	r->life.start_ns = s->task[i].start_ns;
	r->life.comm = "";
	if (child < 0)
		return;
	r->life.child_tid = s->task[child].tid;
	r->life.child_pid = s->task[child].pid;
	r->life.child_start_ns = s->task[child].start_ns;
	r->life.flags = s->task[child].flags;
	r->life.comm = s->task[child].comm;
}

static inline void sim_io(struct sim *s, int i, const struct sim_op *op)
{
	uint64_t request = 0x800000u + 64 * ++s->requests;
	struct sim_timed *e;
	int how = op->code == FAULT	    ? HOW_FAULT
		  : op->a == OBJECT_NR_COLD ? HOW_READ
		  : op->code == IO_WORK	    ? HOW_DIRECT
					    : HOW_FSYNC;

	/* further ones, which complete earlier */
	for (uint64_t more = 0; op->code == IO && more < (uint64_t)op->d; more++) {
		e = sim_timer(s, 1, s->now + (uint64_t)op->b);
		e->task = e->work = -1;
		e->request = request + 0x10000u * (more + 1);
		e->device_ns = (uint64_t)op->c / 2;
		sim_block(s, s->task[i].cpu, BLOCK_SUBMIT, e->request, i, (int)op->a);
	}
	e = sim_timer(s, 1, s->now + (uint64_t)op->b);
	e->task = i;
	e->request = request;
	e->device_ns = (uint64_t)op->c;
	e->work = op->code == IO_WORK ? (int)op->d : -1;
	sim_block(s, s->task[i].cpu, BLOCK_SUBMIT, request, i, (int)op->a);
	s->task[i].waits_for = op->code == IO_WORK ? SIM_SEMAPHORES - 1 - i : -1;
	sim_asleep(s, i, how, 0);
}

static inline void sim_exit(struct sim *s, int i)
{
	struct sim_task *t = &s->task[i];

	sim_life(s, LIFE_EXIT, i, -1);
	t->run_ns += s->now - t->on_since;
	t->state = SIM_DEAD;
	sim_next(s, t->cpu, i, 0x80);
}

static inline bool sim_wait(struct sim *s, int i, const struct sim_op *op)
{
	struct sim_task *t = &s->task[i];
	uint64_t joined = 0;

	if (s->tokens[op->a] > 0) {
		s->tokens[op->a]--;
		return true;
	}
	t->waits_for = (int)op->a;
	t->next_start = s->now;
	t->deadline = op->code == WAIT_FOR ? s->now + (uint64_t)op->c : 0;
	if (op->b == HOW_JOIN)
		joined = s->task[op->c].tid;
	sim_asleep(s, i, (int)op->b, joined);
	return false;
}

/* Executes one step of a task that takes no time; false: the CPU has another task now, or time must
 * pass. */
static inline bool sim_step(struct sim *s, int i)
{
	struct sim_task *t = &s->task[i];
	const struct sim_op *op = &t->script[t->pc];
	uint32_t cpu = t->cpu;

	switch (op->code) {
	case RUN:
		if (!t->left) {
			t->left = (uint64_t)op->a;
			t->slice_since = t->slice_since ? t->slice_since : s->now;
		}
		return false;
	case POST:
		t->pc++;
		sim_post(s, cpu, (int)op->a, 0, 0);
		return s->current[cpu] == i;
	case POST_SOFT:
		t->pc++;
		sim_post(s, cpu, (int)op->a, BRACKET(BRACKET_SOFT, SOFT_RX), 0x77);
		return true;
	case POST_ALL:
		t->pc++;
		s->tokens[op->a]++;
		for (int w; (w = sim_waiter(s, (int)op->a)) >= 0;)
			sim_wake(s, cpu, w, 0, 0);
		return true;
	case WAIT:
	case WAIT_FOR:
		/* a broadcast wakes more than get something: these wait again */
		if (sim_wait(s, i, op))
			t->pc++;
		else if (op->code == WAIT_FOR || op->d == 0)
			t->pc++;
		return s->current[cpu] == i;
	case SLEEP:
		t->pc++;
		t->deadline = s->now + (uint64_t)op->a;
		sim_asleep(s, i, HOW_CLOCK, 0);
		return false;
	case LOCK:
		t->pc++;
		if (s->holder[op->a] < 0) {
			s->holder[op->a] = i;
			return true;
		}
		s->waiter[op->a][s->nr_waiters[op->a]++] = i;
		t->lock = (int)op->a;
		sim_asleep(s, i, HOW_LOCK, 0);
		return false;
	case UNLOCK:
		t->pc++;
		sim_unlock(s, cpu, (int)op->a);
		return true;
	case IO:
	case IO_WORK:
	case FAULT:
		t->pc++;
		sim_io(s, i, op);
		return false;
	case QUEUE:
		t->pc++;
		sim_work(s, cpu, WORK_QUEUED, (int)op->a, 0, 0);
		return true;
	case BEGIN:
		t->pc++;
		sim_work(s, cpu, WORK_BEGIN, (int)op->a, 0, 0);
		return true;
	case FINISH:
		t->pc++;
		sim_work(s, cpu, WORK_END, (int)op->a, 0, 0);
		return true;
	case FORK:
		t->pc++;
		sim_life(s, LIFE_FORK, i, (int)op->a);
		sim_life(s, LIFE_NEW, i, (int)op->a);
		sim_enqueue(s, (int)op->a);
		return true;
	case SIGNAL:
	case SIGCHLD_SENT:
		s->waker_stack = op->code == SIGNAL ? STACK_SIGNAL : STACK_CHILD;
		t->pc++;
		return true;
	case SAMPLE: {
		SIM_RECORD(s, REC_RUN_SAMPLE, run_sample, cpu);
		r->run_sample.tid = t->tid;
		r->run_sample.user_stack = (uint32_t)op->a;
		t->pc++;
		return true;
	}
	case LOOP:
		t->loop[t->depth].pc = ++t->pc;
		t->loop[t->depth++].left = op->a;
		return true;
	case NEXT:
		if (--t->loop[t->depth - 1].left > 0)
			t->pc = t->loop[t->depth - 1].pc;
		else
			t->depth--, t->pc++;
		return true;
	case UNTIL:
		if (s->tokens[op->a] <= 0)
			t->pc = t->loop[t->depth - 1].pc;
		else
			t->depth--, t->pc++;
		return true;
	case EXIT:
	case END:
	default:
		sim_exit(s, i);
		return false;
	}
}

/* When something happens next; 0: never. */
static inline uint64_t sim_when(const struct sim *s)
{
	uint64_t when = UINT64_MAX;

	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
		const struct sim_task *t = s->current[cpu] < 0 ? NULL : &s->task[s->current[cpu]];

		if (!t)
			continue;
		if (s->now + t->left < when)
			when = s->now + t->left;
		if (s->nr_queue[cpu] && t->slice_since + SIM_SLICE < when)
			when = t->slice_since + SIM_SLICE > s->now ? t->slice_since + SIM_SLICE
								   : s->now;
	}
	for (int i = 0; i < SIM_TIMED; i++) {
		if (s->timed[i].kind && s->timed[i].at < when)
			when = s->timed[i].at;
	}
	for (int i = 0; i < s->nr_tasks; i++) {
		if (s->task[i].state == SIM_SLEEPS && s->task[i].deadline &&
		    s->task[i].deadline < when)
			when = s->task[i].deadline;
	}
	return when == UINT64_MAX ? 0 : when;
}

static inline void sim_preempt(struct sim *s, uint32_t cpu)
{
	int i = s->current[cpu];
	struct sim_task *t = &s->task[i];

	t->run_ns += s->now - t->on_since;
	t->state = SIM_READY;
	s->queue[cpu][s->nr_queue[cpu]++] = i;
	sim_next(s, cpu, i, SWITCH_PREEMPTED);
}

static inline void sim_pass(struct sim *s, uint64_t when)
{
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct sim_task *t = s->current[cpu] < 0 ? NULL : &s->task[s->current[cpu]];
		uint64_t ns = when - s->now;

		if (!t || !t->left)
			continue;
		t->left -= ns < t->left ? ns : t->left;
		if (!t->left)
			t->pc++;
	}
	s->now = when;
	for (int i = 0; i < SIM_TIMED; i++) {
		if (s->timed[i].kind && s->timed[i].at <= s->now)
			sim_due(s, &s->timed[i]);
	}
	for (int i = 0; i < s->nr_tasks; i++) {
		if (s->task[i].state == SIM_SLEEPS && s->task[i].deadline &&
		    s->task[i].deadline <= s->now)
			sim_wake(s, s->task[i].cpu, i,
				 BRACKET(BRACKET_TIMER, s->timer ? s->timer : TIMER_SLEEP) |
				     BRACKET(BRACKET_CLOCK, 0) << 16 | s->below_timer << 32,
				 0);
	}
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
		int i = s->current[cpu];

		if (i >= 0 && s->task[i].left && s->nr_queue[cpu] &&
		    s->now >= s->task[i].slice_since + SIM_SLICE)
			sim_preempt(s, cpu);
	}
}

/* Runs all that was made, but for those that are forked, until nothing happens or `until`. */
static inline void sim_run(struct sim *s, uint64_t until)
{
	uint64_t when;
	bool again;

	until += s->now;
	do {
		for (again = true; again;) {
			again = false;
			for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
				int i = s->current[cpu];

				while (i >= 0 && s->current[cpu] == i && !s->task[i].left &&
				       sim_step(s, i))
					again = true;
				again |= s->current[cpu] != i;
			}
		}
		when = sim_when(s);
		if (!when || when > until)
			break;
		sim_pass(s, when);
	} while (true);
	if (until > s->now)
		sim_pass(s, until);
	for (uint32_t cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct sim_task *t = s->current[cpu] < 0 ? NULL : &s->task[s->current[cpu]];

		if (!t)
			continue;
		t->run_ns += s->now - t->on_since;
		t->on_since = s->now;
	}
}

static inline void sim_release(struct sim *s)
{
	free(s->records);
	s->records = NULL;
}

#endif
