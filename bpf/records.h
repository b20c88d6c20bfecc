/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the BPF programs and the collector: map values and ring buffer records.
 * Both compilers lay the structs out in the same way. All times are nanoseconds of
 * CLOCK_MONOTONIC.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
typedef uint16_t pt_u16;
typedef uint32_t pt_u32;
typedef int32_t pt_s32;
typedef uint64_t pt_u64;
typedef int64_t pt_s64;
#else
typedef __u16 pt_u16;
typedef __u32 pt_u32;
typedef __s32 pt_s32;
typedef __u64 pt_u64;
typedef __s64 pt_s64;
#endif

#include "bpf/buckets.h"

enum {
	PT_SLOTS = 256,	   /* operations with a histogram; slot 0 means none */
	PT_SYSCALLS = 512, /* system call numbers with an operation of their own */
	PT_URING_OPS = 64, /* the same of operations of io_uring */
	PT_MAX_SHARDS = 8, /* copies of a histogram, so that CPUs do not share cache lines */
	PT_SITES = 4096,   /* entries of the site table */
	PT_ACTIVATIONS = 16384,
	PT_THREADS = 16384,
	PT_TARGETS = 1024,
	PT_CHOSEN = 1024, /* most threads and processes that the user can choose */
	PT_RING_BYTES = 1 << 20,
	PT_FNODES = 256,    /* most fnodes armed in one descent */
	PT_CONTEXTS = 8192, /* ... in their contexts; a system call has one for each mapping */
	PT_DEPTH = 64,	    /* most fnodes open at once in one thread */
	PT_LEARNS = 32,	    /* indirect calls whose callees are recorded at once */
	PT_COOKIE_PID = 32, /* upper half of a cookie: the only pid that counts, 0: any */
	PT_KEPT_SLEEPS = 4, /* longest sleeps of a call, if slow calls are kept */
	PT_CALLEES = 16,    /* callees in the record of one call of f0 */
	PT_COMM = 16,
	PT_FILE_NAME = 64,
	PT_SOCKET_PATH = 108, /* sun_path */
	PT_FUTEX_WORDS = 5,   /* words of a pthread_mutex_t: lock, count, owner, users, kind */
	PT_PASTS = 8,	      /* last off-CPU intervals kept per thread */
	PT_RUNNERS = 4,	      /* tasks remembered that ran while a thread waited for the CPU */
	PT_GROUP_LEVELS = 3,
	PT_GROUP_NAME = 32, /* bytes of one part of a cgroup's path */
	PT_DEVICE_NAME = 16,
	PT_DIRTIERS = 256,
	PT_WAITING = 4, /* waiting target threads tracked per CPU */
	PT_CPUS = 1024,
	PT_REGS = 21,	      /* registers in struct pt_regs */
	PT_KEPT_STACK = 2048, /* most bytes of the stack of a sleep in a call that may be kept */
	PT_STACK = 8192,      /* most bytes of a stack in a stack sample */
	PT_SNAPSHOT_STACK = 16384, /* most bytes of a stack in a thread snapshot */
	PT_SNAPSHOT_STEP = 256,
	PT_SNAPSHOT_KERNEL = 32, /* frames in the kernel */
	PT_KERNEL_FRAMES = 32,
	PT_ARGS = 6,
	PT_SHARES = 8,		  /* functions too short to be timed; samples find their share */
	PT_CLASSES = 2,		  /* values of enum site_class */
	PT_GATES = 8,		  /* values of enum layer */
	PT_TOKENS = PT_DOUBLINGS, /* per slot: one sampling allowance per doubling */
};

/* One shard of the histogram of one operation. Counters only grow. */
struct pt_hist {
	pt_u64 calls;
	pt_u64 min; /* 0: none yet; else minimum + 1 */
	pt_u64 max;
	pt_u64 sum; /* from here on sums, to the end */
	pt_u64 abnormal;
	pt_u64 unseen;
	pt_u64 entries; /* activations begun */
	/*
	 * Pace: the intervals between the starts of two successive calls in the same thread.
	 * Within a burst, count the intervals in which the thread kept its CPU apart from those
	 * in which it was switched out.
	 */
	pt_u64 run_calls, run_ns;
	pt_u64 switch_calls, switch_cpu_ns; /* only the CPU time of the thread */
	pt_u64 cycle_calls,
	    cycles; /* calls between two sleeps of a thread; sleeps that ended them */
	/* Gaps: from a thread's last call in a burst to its first call in a later burst. */
	pt_u64 gaps, gap_cpu_ns;
	pt_u64 gap_sleeper_cpu_ns, gap_sleeps; /* only if the thread slept in the earlier burst */
	pt_u64 callers;			       /* threads that have called */
	/* Within bursts: hits of the function's probes by site class, and the time in their
	 * BPF programs. The kernel's way into the program and back is not included. */
	pt_u64 pace_hits[PT_CLASSES], program_ns;
	pt_u64 count[PT_BUCKETS];
};

enum pt_site_flags {
	PT_SITE_START = 1 << 0,	     /* begins an activation of `start_slot` */
	PT_SITE_END = 1 << 4,	     /* ends an activation of `end_slot`, before START */
	PT_SITE_FNODE_CALL = 1 << 7, /* a timed call of a descent; `contexts` has its fnode */
	PT_SITE_FNODE_END = 1 << 8,  /* the return of such a call */
	PT_SITE_FNODE_ENTRY =
	    1 << 10, /* entry of a timed callee; its context may require a return address */
	PT_SITE_LEARN = 1 << 11,  /* a call or jump through a pointer: record its callees */
	PT_SITE_YIELDS = 1 << 9,  /* an exit reached before the return value is set: a probe at the
				     return address, if armed, ends the activation */
	PT_SITE_REPEATS = 1 << 5, /* may be hit again in the same activation */
	PT_SITE_GO = 1 << 6, /* Go: stacks move, so a frame is identified by its distance from the
				stack's top */
	PT_SITE_READ_RET = 1 << 1,  /* read the return address; report it if it is new */
	PT_SITE_NEED_RET = 1 << 2,  /* begin no activation that no armed site would end */
	PT_SITE_RET_VALID = 1 << 3, /* at an end: rax holds the return value */
	PT_SITE_BEHIND = 1 << 12,   /* at a start: read what is behind the arguments */
	PT_SITE_FNODE_START = PT_SITE_FNODE_CALL | PT_SITE_FNODE_ENTRY,
	PT_SITE_OF_DESCENT = PT_SITE_FNODE_START | PT_SITE_FNODE_END,
};

/* What the probe at one address does. The lower half of its cookie is the index in this table. */
struct pt_site {
	pt_u32 flags;
	pt_u32 start_slot;
	pt_s32 start_cfa; /* sp + start_cfa = canonical frame address */
	pt_u32 end_slot;
	pt_s32 end_cfa;
	pt_u32 arg_mask; /* argument registers that are intact */
	pt_u32 class;	 /* enum site_class */
	pt_u32 learn;	 /* index in `learns` */
	pt_u32 closed;	 /* 1: only ends of calls are handled now */
	pt_u32 seen;	 /* `hits` when the governor last read it */
	pt_s32 call_cfa; /* like start_cfa, for FNODE_CALL: f0 may begin here, too */
	pt_u32 replaced; /* 1: another tool's return probe had replaced the return address */
	pt_u64 last_ret; /* last return address with an armed site; for one target */
	pt_u64 hits;
	pt_u64 fuse;		    /* value of `hits` at which the fuse may blow */
	pt_u64 fuse_since, fuse_ns; /* if not 0, blow only if fuse_hits came within fuse_ns */
	pt_u64 last, program_ns; /* start of the last activation; in the kernel: time in programs */
	pt_u64 of_call;		 /* start of the call of f0 in which `passes` is counted */
	pt_u64 of_frame;	 /* stack pointer at the last hit */
	pt_u32 passes, loops;	 /* hits in that call, and those in a row with that pointer */
	pt_s32 entry_cfa;	 /* like start_cfa, for FNODE_ENTRY */
	pt_u32 fuse_hits;	 /* hits allowed within fuse_ns */
	pt_u32 blown;
	pt_u32 op;	   /* the front's number; only the collector reads it */
	pt_u32 call_bytes; /* a start at a call instruction: its length; 0: at the entry of the
			      function */
	pt_u32 burst;	   /* number of the function's burst, set by the collector */
	pt_u32 pace;	   /* 1: record the pace of callers, and count hits and their time */
	pt_u32 opened;	   /* hits that opened an fnode; the others were not on its path */
};

/* Key of an activation: process and frame, not thread, because a coroutine may change threads. */
struct pt_act_key {
	pt_u64 cfa;
	pt_u32 tgid;
	pt_u32 slot;
};

/* Counters of a thread at one moment, or the difference of two such sets. */
struct pt_snapshot {
	pt_u64 off_ns;	/* time off the CPU so far, steal time included */
	pt_u64 runq_ns; /* part of off_ns in which it was runnable */
	pt_u64 min_flt, maj_flt;
	pt_u64 migrations;
	pt_u64 nvcsw, nivcsw;
	pt_u32 sched_burst; /* burst in which off_ns and runq_ns were read */
	pt_u32 spare;
	pt_u64 probe_ns;    /* time that function probes took from the thread */
	pt_u64 irq_ns;	    /* time in interrupts so far, part of its time on the CPU */
	pt_u64 delay_ns;    /* sched_info.run_delay; 0: the kernel does not count it */
	pt_u64 steal_ns;    /* part of runq_ns that the hypervisor took */
	pt_u64 steal_clock; /* steal time of the CPU so far; 0: not known */
};

#include "bpf/act.h"

/* An fnode of the current descent: a call site in the context of its call path. */
struct pt_fnode {
	pt_u32 node;   /* the front's number of the fnode */
	pt_u32 parent; /* parent's index + 1; 0: f0 */
	pt_u32 tail;   /* 1: a tail call, which uses its parent's frame */
	pt_u32 spare;
};

/* Key of `contexts`: a site in the context of the open fnode. The value is the index + 1 of
 * the fnode that begins there. */
enum { PT_SITE_CALL = 1u << 30 };
struct pt_context {
	pt_u32 parent; /* the innermost open fnode: index + 1; 0: f0 itself */
	pt_u32 site;   /* index in the site table; PT_SITE_CALL + number: a system call */
	/* required return address, of a system call the address after its instruction; 0: not
	   compared */
	pt_u64 ret;
};

/* An indirect call whose callees are recorded; its operand: struct rec_operand (record.h). */
enum { PT_ANY_PARENT = 0xffffffff };
struct pt_learn {
	pt_u32 id;	    /* unique, never reused */
	pt_u32 parent;	    /* index + 1 of the calling fnode; or PT_ANY_PARENT */
	pt_u32 memory;	    /* 0: register `base` holds the target; else memory does */
	pt_u32 base, index; /* register numbers as in struct pt_regs; PT_REGS: none */
	pt_u32 scale;
	pt_u32 cost; /* ns of one hit */
	pt_u32 spare;
	pt_s64 disp;
};

struct pt_callee {
	pt_u64 address;
	pt_u32 learn; /* pt_learn.id */
	pt_u32 count;
};

struct pt_fnode_open {
	pt_u64 cfa, start, off_ns, runq_ns, irq_ns;
	pt_u64 cost;   /* time taken by probes and samples in this call of f0 before it began */
	pt_u32 fnode;  /* index in `fnodes` */
	pt_u32 faults; /* minor faults of the thread when it began */
};

struct pt_fnode_sum {
	pt_u32 call; /* number of the call of f0; ignore the sums of an older call */
	pt_u32 count;
	/* ns, without the time of the probes inside; `max` also without the host's time, that is
	 * without waits for a CPU and interrupts */
	pt_u64 max, sum;
	pt_u64 blocked, runq, irq;
	pt_u64 faults; /* number of minor faults */
};

/* Counters of a thread at its last call of a function. Key: slot and thread. */
struct pt_pace {
	pt_u64 at;    /* ns; 0: never */
	pt_u64 cpu;   /* CPU time of the thread; the kernel updates it at ticks and switches */
	pt_u64 ahead; /* CPU time already counted by the clock and not yet in `cpu` */
	pt_u64 nvcsw, nivcsw;
	pt_u64 calls; /* calls since its last sleep in this burst */
	pt_u32 burst;
	pt_u32 slept; /* 1: the thread slept in this burst */
};

struct pt_ret_key {
	pt_u64 address;
	pt_u32 tgid;
	pt_u32 slot;
};
enum pt_ret_state { PT_RET_REPORTED = 1, PT_RET_ENDED = 2 };

enum pt_sys_open {
	PT_SYS_NONE = 0,
	PT_SYS_COUNTS,	/* in a system call that counts */
	PT_SYS_BEFORE,	/* in a call that began with the gate closed */
	PT_SYS_OUTSIDE, /* in a call that began outside of a phase */
};

/*
 * Phase state of a process. If the same operation begins and ends phases, `depth` is the number
 * of its open calls.
 */
struct pt_phase {
	pt_u32 epoch; /* pt_control.phase_epoch; ignore the state if it is older */
	pt_u32 depth; /* 0: outside of a phase */
	pt_u64 since;
};

/* A task that ran on the CPU that a thread of a target was waiting for. */
struct pt_runner {
	pt_u64 ns;
	pt_u32 pid;
	pt_u32 tid; /* 0: several threads of the process */
	char comm[PT_COMM];
};

struct pt_runners {
	struct pt_runner one[PT_RUNNERS];
	pt_u64 other_ns; /* time of tasks that did not fit in */
};

/* The last parts of the path of a cgroup, innermost first; unused parts are "". */
struct pt_group {
	char part[PT_GROUP_LEVELS][PT_GROUP_NAME];
};

enum { PT_QUOTA_FAIR = 0, PT_QUOTA_RT, PT_QUOTA_DEADLINE };
struct pt_quota {
	struct pt_group of;	    /* PT_QUOTA_DEADLINE: the thread itself has it, not a cgroup */
	pt_u64 ns, period_ns, kind; /* PT_QUOTA_...; 0 ns: not known */
};

/* Why a thread that is runnable, or stopped, cannot run. */
enum pt_wait {
	PT_WAIT_WOKEN = 0, /* it was woken and waits for a CPU */
	PT_WAIT_PREEMPTED,
	PT_WAIT_QUOTA,	 /* the CPU quota of its cgroup is used up */
	PT_WAIT_STOPPED, /* stopped by a signal */
	PT_WAIT_TRACED,	 /* stopped by a debugger */
	PT_WAIT_FROZEN,	 /* stopped by the cgroup freezer */
	PT_WAITS,
	PT_RUNNER_KINDS = PT_WAIT_PREEMPTED + 1
};

/* How long and why a thread could not run during one call of f0. */
struct pt_host_waits {
	pt_u64 ns[PT_WAITS];
	struct pt_runners runners[PT_RUNNER_KINDS];
	struct pt_quota quota;		 /* the one that was used up */
	struct pt_group frozen;		 /* the cgroup that was frozen */
	pt_u32 stopper_pid, stop_signal; /* process that stopped or traces it; 0: not known */
	char stopper[PT_COMM];
};

/* Bits: kernel work for a thread, between a begin and an end tracepoint. */
enum pt_doing {
	PT_DOING_RECLAIM = 1 << 0,	 /* frees pages because the host is short of memory */
	PT_DOING_GROUP_RECLAIM = 1 << 1, /* frees pages because a cgroup has reached its limit */
	PT_DOING_COMPACTION = 1 << 2,
	PT_DOING_DIRTY = 1 << 3, /* waits for dirty pages to be written */
	PT_DOING_LOCK = 1 << 4,	 /* contends for a lock of the kernel */
};

/* The kernel work during a sleep or at a stack sample, and its cause. */
struct pt_kernel_work {
	pt_u32 doing, spare;
	pt_u32 holder_pid, holder_reads; /* of the contended lock; 1: the last reader */
	char holder[PT_COMM];
	char device[PT_DEVICE_NAME]; /* PT_DOING_DIRTY: it has too many dirty pages */
	struct pt_group group;	     /* cgroup whose memory limit was reached */
	pt_u64 limit;		     /* memory limit of `group` in bytes */
};

/* The thread that holds a lock, or the last reader that got it; pid 0: not known. */
struct pt_lock_owner {
	pt_u32 pid, reads;
	char comm[PT_COMM];
};
enum { PT_OWNER_MEMORY = 0, PT_OWNER_OBJECT, PT_OWNERS }; /* locks without tracepoints */

/* A thread that waits for a CPU, and the tasks that have run there meanwhile. */
struct pt_waiting {
	pt_u32 tid, spare; /* tid 0: free */
	pt_u64 since;
	struct pt_runners runners;
};

/* State of a CPU during a descent. */
struct pt_cpu {
	pt_u64 since; /* when the running task got the CPU */
	pt_u32 pid, tid;
	pt_u32 nr_waiting;
	pt_u32 spare;
	char comm[PT_COMM];
	struct pt_waiting waiting[PT_WAITING];
};

/* The process that last sent a stop signal to a target. */
struct pt_stopper {
	pt_u32 pid, signal;
	char comm[PT_COMM];
};

/* One thread of a target. */
struct pt_thread {
	pt_u32 tgid;
	pt_u32 sys_open; /* enum pt_sys_open */
	pt_u32 sys_nr;
	pt_u32 lock_open; /* 1: waits for a kernel lock */
	pt_u64 sys_start;
	pt_u64 sys_args[PT_ARGS];
	struct pt_snapshot sys_snap;
	pt_u64 off_since;  /* when it left its CPU; 0: on a CPU */
	pt_u64 wake_since; /* when it began to wait for a CPU; 0: does not wait */
	pt_u64 off_ns, runq_ns;
	pt_u64 last_start, last_cfa; /* start and CFA of the last activation it began */
	pt_u64 lock_start, lock_address;
	pt_u32 lock_flags;
	pt_u32 wait;	    /* enum pt_wait: reason of the current wait for a CPU */
	pt_u32 sys_burst;   /* control.sys_burst when the open call began */
	pt_u32 sched_burst; /* control.sched_burst when this state was written */
	pt_u64 preempt_ns;  /* total wait after preemption, throttling or a stop; steal time */
	pt_u64 irq_ns;
	pt_u64 irq_lead; /* of irq_number in the vote for the interrupt with most time */
	pt_u64 probe_ns; /* total time of function probes; counted only if control.nested */
	pt_u32 irq_number;
	pt_u32 waker_tid, waker_tgid, waker_irq;
	char waker_comm[PT_COMM];
	pt_u32 wake_outside;   /* 1: the current wait for a CPU began outside of a phase */
	pt_u32 waker_switches; /* how often its waker had left its CPU then */
	pt_u64 fault;	       /* address of its last page fault */
	pt_u32 wait_cpu;       /* number + 1 of the CPU on whose queue it waits; 0: not known */
	pt_u32 off_wait;   /* enum pt_wait: why it was stopped as it left the CPU; 0: not stopped */
	pt_u32 next_pid;   /* task that ran next on its CPU after a preemption */
	pt_u32 steal_cpu;  /* number + 1 of the CPU that steal_seen belongs to; 0: none */
	pt_u64 steal_seen; /* steal time of that CPU when it was last added to steal_ns */
	pt_u64 steal_ns;   /* total time that the hypervisor took while the thread ran */
	char next_comm[PT_COMM];
};

#include "bpf/asleep_records.h"

/* Samples of the program counter of a process, and how many fell between `low` and `high`. */
struct pt_share {
	pt_u64 low, high;
	pt_u64 in, ticks;
	pt_u32 tgid;
	pt_u32 spare;
};

#include "bpf/waits_records.h"

/*
 * The control block. The collector writes the settings. The BPF programs allot slots
 * (`next_slot`, `sys_slot`), use up the allowances and count.
 */
struct pt_control {
	pt_u32 nr_targets;	 /* 0: measure nothing */
	pt_u32 only_tgid;	 /* the target if nr_targets is 1 */
	pt_u32 host, host_spare; /* 1: all tasks of the host are targets */
	pt_u32 follow;		 /* children become targets */
	pt_u32
	    check_exec; /* 1: suspend a target that calls execve() until the collector resumes it */
	pt_u32 layers;	/* 1 << enum layer */
	pt_u32 next_slot;
	pt_u32 slot_block, slot_lock, slot_runqueue;
	pt_u32 slot_block_queue, slot_block_device; /* parts of slot_block */
	pt_u32 slot_connect;
	pt_u32 nr_cpus;
	pt_u32 sys_burst, sched_burst; /* number of the burst; state of older bursts is ignored */
	pt_u32 hist_mask; /* number of the shards of a histogram, which is a power of two, less 1 */
	pt_u32 descend_slot;		       /* f0; 0: no descent */
	pt_u32 descend_burst;		       /* burst of f0; calls of older bursts are ignored */
	pt_u32 descend_epoch, descend_sampled; /* sampled: stacks of targets, in f0 or not */
	pt_u32 descend_fnodes;		       /* number of armed fnodes */
	pt_u32 descend_call;  /* number + 1 if f0 is a system call; 0: f0 is a function */
	pt_u32 descend_calls; /* 1: system calls in f0 are fnodes */
	/* Not 0: there is no descent, and slow calls are sent: those that take longer, if keep_ns
	 * has no limit for their operation. */
	pt_u64 keep;
	pt_u64 descend_low, descend_high; /* in-peak: low <= corrected latency < high */
	pt_u32 nested; /* 1: several functions are watched, so calls may contain probes of others */
	pt_u32 hit_ns[2]; /* cost of a hit by site class; in the kernel, outside of the program: */
	pt_u32 kernel_ns, call_ns; /* of a probe in its code; of the tracepoints of a system call */
	pt_u32 tick_ns;		   /* cost of a sampling interrupt without its BPF program */
	/* What an interrupt takes from the code that it interrupts before the first and after the
	 * last of its tracepoints, ns. */
	pt_u32 irq_outside_ns;
	pt_u32 clock_tid;	 /* measure the clock's interrupts of this thread; 0: of none */
	pt_u64 clocks, clock_ns; /* their number, and their time between their tracepoints */
	pt_s32 stacks_left;	 /* stacks that may be copied until the collector refills this */
	pt_u32 snapshots;	 /* 1: sample the stacks of running threads, inside f0 or not */
	pt_s32 snapshots_left;
	pt_u64 snapshots_done, snapshots_dropped, snapshot_ns; /* counts, and total cost in ns */
	pt_u64 lost_ring, lost_samples, lost_acts, lost_threads;
	pt_u32 phase_mode;  /* 1: count only what begins inside a phase */
	pt_u32 phase_blind; /* 1: begin or end is not watched now, so no phase is known */
	pt_u32 phase_epoch;
	pt_u32 phase_begin_slot, phase_end_slot; /* functions; 0: none */
	pt_u32 phase_begin_call, phase_end_call; /* system calls, number + 1; 0: none */
	pt_u32 phase_spare;
	pt_u64 phases, phase_ns; /* phases begun; total time of those that ended */
	/* address of a CPU's steal time minus that of its struct rq; 0: there is no steal time */
	pt_s64 steal_offset;
	/*
	 * For each layer: when its gate was opened; 0: closed. Only calls that begin while the
	 * gate is open are counted. A layer is attached before its gate opens and detached
	 * after it closes, so that the measured time is exact.
	 */
	pt_u64 gate_ns[PT_GATES];
	struct pt_share shares[PT_SHARES];
	struct pt_waits_control waits;
	pt_u32 share_hold; /* 1: discard samples, because functions are armed */
	pt_u32 share_spare;
	pt_u32 chosen;	     /* 1: count only calls of the threads in the map `chosen` */
	pt_u32 tries;	     /* the slot of f0 if one of its calls has slept twice by a timer */
	pt_u64 chosen_since; /* calls that began before the last choice of threads do not count */
	struct pt_sought sought; /* what the iterator over files looks for */
	struct pt_found found;
	pt_u32 break_misses[PT_FOLLOWED_CALLS]; /* hits by other calls, of each breakpoint */
	pt_u32 sys_slot[PT_SYSCALLS];
	pt_u16 sys_file[PT_SYSCALLS]; /* enum pt_file_argument of each system call */
	pt_u32 uring_slot[PT_URING_OPS];
	pt_u32 uring_open; /* requests of this burst of the system calls */
	/* Calls of this operation that take longer are sent. 0: not known, see `keep`. */
	pt_u64 keep_ns[PT_SLOTS];
	pt_u32 correction[PT_SLOTS]; /* ns to subtract from each latency */
};

/* Which argument of a system call is the descriptor whose file is read for samples: its number + 1.
 */
enum pt_file_argument { PT_FILE_NONE = 0, PT_FILE_RESULT = 7 };

/* Counters of hits by kind, for each CPU. */
enum pt_counter {
	PT_HIT_EMULATED = 0,
	PT_HIT_STEPPED,
	PT_HIT_SYSCALL,	      /* enter/exit pairs of targets */
	PT_HIT_SYSCALL_OTHER, /* ... of other processes */
	PT_HIT_SCHED,
	PT_HIT_SCHED_OTHER,
	PT_HIT_BLOCK,
	PT_HIT_LOCK,
	PT_HIT_LOCK_OTHER,
	PT_HIT_KERNEL_OTHER, /* kernel functions called by other processes */
	PT_HIT_COLD, /* counted in addition: the caches are cold, since the last hit was long ago */
	PT_HIT_WAITS,	    /* events of tasks whose waits are traced */
	PT_HIT_WAITS_OTHER, /* the same tracepoints, of other tasks */
	PT_WAITS_NS,	    /* not a number of hits: time in the programs at PT_HIT_WAITS */
	PT_HIT_KERNEL,
	PT_HIT_KERNEL_SITE_OTHER, /* call sites of a descent, by tasks that are no targets */
	PT_READS,		  /* not a number of hits: reads of what is behind arguments */
	PT_COUNTERS,
	PT_LAST_HIT = PT_COUNTERS, /* not a counter: time of the last hit */
	PT_COUNTERS_ROOM = 24,	   /* of a CPU: whole cache lines */
};

/* Interrupt numbers above those of hardware lines. */
enum { PT_IRQ_LOCAL_TIMER = 0x10000, PT_IRQ_SOFT = 0x20000, PT_IRQ_VECTOR = 0x30000 };
/* Added to PT_IRQ_VECTOR: interrupts that another CPU sends. */
enum { PT_VECTOR_RESCHEDULE = 0, PT_VECTOR_CALL, PT_VECTOR_CALL_SINGLE, PT_VECTOR_IRQ_WORK };

/* Bits in the map `chosen`. A process and its first thread have the same id. */
enum pt_chosen {
	PT_CHOSEN_THREAD = 1 << 0,
	PT_CHOSEN_PROCESS = 1 << 1, /* with all its threads, also later ones */
};

/* Bits of a process in the map `targets`. */
enum pt_target_state {
	PT_TARGET_WATCHED = 1 << 0,
	PT_TARGET_NEW = 1 << 1, /* a forked child, not confirmed by the collector yet */
	PT_TARGET_SUSPENDED =
	    1 << 2, /* it called execve(): the collector must check its rights again */
};

#include "bpf/ring.h"
