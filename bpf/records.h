/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between the programs in the kernel and the collector: maps,
 * their values and the records in the ring buffer. Plain layouts, shared by
 * both compilers; times in nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef PEAKTOP_RECORDS_H
#define PEAKTOP_RECORDS_H

#ifndef __bpf__
#include <stdint.h>
typedef uint32_t pt_u32;
typedef int32_t pt_s32;
typedef uint64_t pt_u64;
typedef int64_t pt_s64;
#else
typedef __u32 pt_u32;
typedef __s32 pt_s32;
typedef __u64 pt_u64;
typedef __s64 pt_s64;
#endif

#include "bpf/buckets.h"

enum {
	PT_SLOTS = 256,	   /* operations with a histogram; slot 0 means none */
	PT_SYSCALLS = 512, /* system call numbers with an operation of their own */
	PT_MAX_SHARDS = 8, /* copies of a histogram, to keep CPUs apart */
	PT_SITES = 4096,   /* entries of the site table */
	PT_ACTIVATIONS = 16384,
	PT_THREADS = 16384,
	PT_TARGETS = 1024,
	PT_RING_BYTES = 1 << 20,
	PT_FNODES = 256, /* armed in one descent */
	PT_DEPTH = 64,	 /* fnodes open at once in a thread */
	PT_LEARNS = 32,	 /* sites whose callees are learnt at the same time */
	PT_CALLEES = 16, /* callees in the record of one call of f0 */
	PT_COMM = 16,
	PT_FILE_NAME = 64,
	PT_SOCKET_PATH = 108, /* sun_path */
	PT_FUTEX_WORDS = 5,   /* of a pthread_mutex_t: lock, count, owner, users, kind */
	PT_PASTS = 4,	      /* times off a CPU that are kept of a thread */
	PT_RUNNERS = 4,	      /* tasks remembered that ran while a thread waited for the CPU */
	PT_GROUP_LEVELS = 3,
	PT_GROUP_NAME = 32, /* of the path of a cgroup, the innermost ones */
	PT_DEVICE_NAME = 16,
	PT_DIRTIERS = 256,
	PT_WAITING =
	    4, /* threads of targets that wait for one CPU, of which it is known who runs there */
	PT_CPUS = 1024,
	PT_REGS = 21,		   /* of struct pt_regs, in its order */
	PT_STACK = 8192,	   /* bytes of a stack copied at most */
	PT_SNAPSHOT_STACK = 16384, /* most bytes of a stack in a thread snapshot */
	PT_SNAPSHOT_STEP = 256,
	PT_SNAPSHOT_KERNEL = 32, /* frames in the kernel */
	PT_KERNEL_FRAMES = 32,
	PT_ARGS = 6,
	PT_SHARES = 8,		  /* functions too short to be timed whose share is sampled */
	PT_CLASSES = 2,		  /* of sites: enum site_class */
	PT_GATES = 8,		  /* layers that have a gate: enum layer */
	PT_TOKENS = PT_DOUBLINGS, /* per slot: one sampling allowance per doubling */
};

/* One shard of the histogram of one operation. Counters only grow. */
struct pt_hist {
	pt_u64 calls;
	pt_u64 sum;
	pt_u64 min; /* 0: none yet; else minimum + 1 */
	pt_u64 max;
	pt_u64 abnormal;
	pt_u64 unseen;
	pt_u64 entries; /* activations begun */
	/*
	 * The pace of the threads that call a function, from one call's begin to the next one's in
	 * the same thread. In one burst: intervals in which it kept its CPU, and those in which it
	 * was switched out.
	 */
	pt_u64 run_calls, run_ns;
	pt_u64 switch_calls, switch_cpu_ns; /* CPU time only */
	pt_u64 cycle_calls,
	    cycles; /* calls from one sleep of the thread to the next; sleeps that ended these */
	/* From the last call in a burst to the first in a later one. */
	pt_u64 gaps, gap_cpu_ns;
	pt_u64 gap_sleeper_cpu_ns, gap_sleeps; /* of threads that slept in the earlier burst */
	/* In bursts: hits of its starts and ends by class, and the time in their programs. That is
	 * all of a hit but the kernel's way to the program and back. */
	pt_u64 pace_hits[PT_CLASSES], program_ns;
	pt_u64 count[PT_BUCKETS];
};

enum pt_site_flags {
	PT_SITE_START = 1 << 0,	     /* begins an activation of `start_slot` */
	PT_SITE_END = 1 << 4,	     /* ends one of `end_slot`, before it begins another */
	PT_SITE_FNODE_CALL = 1 << 7, /* a call that a descent times; found in `contexts` */
	PT_SITE_FNODE_END = 1 << 8,  /* its return */
	PT_SITE_FNODE_ENTRY =
	    1 << 10, /* the entry of a callee that a descent times: some want a return address */
	PT_SITE_LEARN = 1 << 11,  /* a call or jump through a pointer; `learn` */
	PT_SITE_YIELDS = 1 << 9,  /* an exit before the return value is there: leaves the end to the
				     caller's side */
	PT_SITE_REPEATS = 1 << 5, /* may be passed again in the same activation */
	PT_SITE_GO =
	    1 << 6, /* Go: stacks move, frames are told by their distance from the stack's top */
	PT_SITE_READ_RET = 1 << 1,  /* look at the return address; report unknown ones */
	PT_SITE_NEED_RET = 1 << 2,  /* do not begin one that no armed site would end */
	PT_SITE_RET_VALID = 1 << 3, /* at the end: rax is the return value */
	PT_SITE_FNODE_START = PT_SITE_FNODE_CALL | PT_SITE_FNODE_ENTRY,
	PT_SITE_OF_DESCENT = PT_SITE_FNODE_START | PT_SITE_FNODE_END,
};

/* What the probe at one address does; found by the probe's cookie. */
struct pt_site {
	pt_u32 flags;
	pt_u32 start_slot;
	pt_s32 start_cfa; /* sp + start_cfa = canonical frame address */
	pt_u32 end_slot;
	pt_s32 end_cfa;
	pt_u32 arg_mask; /* argument registers that are intact */
	pt_u32 class;	 /* enum site_class */
	pt_u32 learn;	 /* index of the entry of `learns` */
	pt_u32 closed;	 /* begins nothing at the moment */
	pt_u32 seen;	 /* hits when the governor last read them */
	pt_s32 call_cfa; /* as start_cfa, of the fnodes: f0 may begin at the same address */
	pt_u64 last_ret; /* the return address known last; while there is one target */
	pt_u64 hits;
	pt_u64 fuse;		    /* hits after which the site counts as blown */
	pt_u64 fuse_since, fuse_ns; /* only if they came within fuse_ns; 0: however slowly */
	pt_u64 last;		    /* when it began a call last */
	pt_u64 of_call;		    /* the call of f0 that `passes` are of, by its start */
	pt_u32 passes;
	pt_s32 entry_cfa; /* and a function with the call that is its first */
	pt_u32 fuse_hits; /* that a fuse_ns allows */
	pt_u32 blown;
	pt_u32 op;	   /* of the front: for the collector only */
	pt_u32 call_bytes; /* a start at a call instruction: its length; 0: at the entry of the
			      function */
	pt_u32 burst;	   /* of the function that begins here: counted by the collector */
	pt_u32 pace;	   /* 1: count the pace of its callers, and its hits and their time */
	pt_u32 opened;	   /* fnodes that began here; the other hits were outside of their path */
};

/* One open activation of a user function: address space and CFA, not thread. */
struct pt_act_key {
	pt_u64 cfa;
	pt_u32 tgid;
	pt_u32 slot;
};

/* What a call's values are measured against. */
struct pt_snapshot {
	pt_u64 off_ns;	/* time off the CPU so far */
	pt_u64 runq_ns; /* of it, runnable */
	pt_u64 min_flt, maj_flt;
	pt_u64 migrations;
	pt_u64 nvcsw, nivcsw;
	pt_u32 sched_burst; /* in which off_ns and runq_ns were taken */
	pt_u32 spare;
	pt_u64 probe_ns; /* what probes of functions have cost the thread */
	pt_u64 irq_ns;	 /* time in interrupts so far, part of its time on the CPU */
	pt_u64 delay_ns; /* runnable without a CPU, as the kernel counts it; 0: it does not */
};

/* In arg_mask: an armed site will see this activation return in its caller. */
#define PT_ACT_RETURNS (1u << 31)
/* In arg_mask: it began outside of a phase and counts for nothing; kept because its end closes a
 * phase. */
#define PT_ACT_OUTSIDE (1u << 30)

enum {
	PT_ACT_TAKEN = 1,
	PT_ACT_OPEN = 2,
	PT_ACT_STATE = 3,
	PT_ACT_START_SHIFT = 2,
	PT_ACT_PROBES = 8
};

/*
 * An entry of the table of activations: an array, found by the hash of the key among
 * PT_ACT_PROBES neighbours. A hash map would cost every call two locked updates.
 */
struct pt_act {
	/* 0: free; PT_ACT_TAKEN: being written; PT_ACT_OPEN with `start` above it, so that no two
	 * calls have the same */
	pt_u64 state;
	struct pt_act_key key;
	pt_u64 start;
	pt_u64 exit; /* when it passed an exit that left the end to the caller's side; 0: not yet */
	pt_u64 ret;  /* return address, 0 if not read */
	pt_u32 tid;
	pt_u32 arg_mask;
	pt_u64 args[PT_ARGS];
	struct pt_snapshot snap;
};

/* One fnode of the descent going on: a call site in the context of its path. */
struct pt_fnode {
	pt_u32 node;   /* the front's number */
	pt_u32 parent; /* index + 1; 0: f0 */
	pt_u32 tail;   /* a jump: its frame is its parent's */
	pt_u32 spare;
};

/* Which fnode begins where a site is hit: the value is its index + 1. */
struct pt_context {
	pt_u32 parent; /* the innermost open fnode: index + 1; 0: f0 itself */
	pt_u32 site;   /* index in the site table */
	pt_u64 ret;    /* return address that counts; 0: any */
};

/* An indirect call of which the callees are to be learnt; struct rec_operand of
 * analysis/session/record.h. */
enum { PT_ANY_PARENT = 0xffffffff };
struct pt_learn {
	pt_u32 id;	    /* never used again */
	pt_u32 parent;	    /* index + 1 of the fnode that makes the call; PT_ANY_PARENT */
	pt_u32 memory;	    /* 0: the target stands in the register `base` */
	pt_u32 base, index; /* in the order of struct pt_regs; PT_REGS: none */
	pt_u32 scale;
	pt_u32 cost; /* ns of one hit */
	pt_u32 spare;
	pt_s64 disp;
};

struct pt_callee {
	pt_u64 address;
	pt_u32 learn; /* id */
	pt_u32 count;
};

struct pt_fnode_open {
	pt_u64 cfa, start, off_ns, runq_ns, irq_ns;
	pt_u64 cost;   /* of the thread's probes in this call of f0, as it began */
	pt_u32 fnode;  /* index */
	pt_u32 faults; /* minor ones of the thread, as it began */
};

struct pt_fnode_sum {
	pt_u32 call; /* number of the call that it is of; of an older one it says nothing */
	pt_u32 count;
	pt_u64 max, sum; /* without what the probes inside took */
	pt_u64 blocked, runq, irq;
	pt_u64 faults; /* minor ones: how many */
};

/* Where a thread was when it called a function last. Key: slot and thread. */
struct pt_pace {
	pt_u64 at;  /* ns; 0: never */
	pt_u64 cpu; /* CPU time of the thread as the kernel had it: up to its last tick or switch */
	pt_u64 ahead; /* CPU time that was counted by the clock and that `cpu` did not have yet */
	pt_u64 nvcsw, nivcsw;
	pt_u64 calls; /* since it slept last in this burst */
	pt_u32 burst;
	pt_u32 slept; /* in this burst */
};

struct pt_ret_key {
	pt_u64 address;
	pt_u32 tgid;
	pt_u32 slot;
};
enum pt_ret_state { PT_RET_REPORTED = 1, PT_RET_ENDED = 2 };

enum pt_sys_open {
	PT_SYS_NONE = 0,
	PT_SYS_COUNTS,	/* in a system call */
	PT_SYS_BEFORE,	/* in one since before we came */
	PT_SYS_OUTSIDE, /* in one that began outside of a phase */
};

/*
 * A process while only what begins between two operations counts. Where both are
 * the same, `depth` is the number of its calls that are open.
 */
struct pt_phase {
	pt_u32 epoch; /* of pt_control: an older one's state says nothing */
	pt_u32 depth; /* 0: outside */
	pt_u64 since;
};

/* A task that ran on the CPU that a thread of a target was waiting for. */
struct pt_runner {
	pt_u64 ns;
	pt_u32 pid, spare;
	char comm[PT_COMM];
};

struct pt_runners {
	struct pt_runner one[PT_RUNNERS];
	pt_u64 other_ns; /* of those for which there was no room */
};

/* The last parts of the path of a cgroup, innermost first; "" where there are no more. */
struct pt_group {
	char part[PT_GROUP_LEVELS][PT_GROUP_NAME];
};

/* Why a thread that is runnable, or stopped, cannot run. */
enum pt_wait {
	PT_WAIT_WOKEN = 0, /* it was woken and waits for a CPU */
	PT_WAIT_PREEMPTED,
	PT_WAIT_QUOTA,	 /* the CPU quota of its cgroup is used up */
	PT_WAIT_STOPPED, /* by a signal */
	PT_WAIT_TRACED,	 /* by a debugger */
	PT_WAIT_FROZEN,	 /* by the cgroup freezer */
	PT_WAITS
};
enum { PT_RUNNER_KINDS = PT_WAIT_PREEMPTED + 1 };

/* What the waits for a CPU inside one call of f0 were for. */
struct pt_host_waits {
	pt_u64 ns[PT_WAITS];
	struct pt_runners runners[PT_RUNNER_KINDS];
	struct pt_group quota_of;
	pt_u64 quota_ns, quota_period_ns; /* the limit of that cgroup; 0: not known */
	struct pt_group frozen;		  /* the cgroup that was frozen */
	pt_u32 stopper_pid;		  /* who stopped or traces it; 0: not known */
	pt_u32 stop_signal;
	char stopper[PT_COMM];
};

/* What the kernel does for a thread, by pairs of tracepoints: bits. */
enum pt_doing {
	PT_DOING_RECLAIM = 1 << 0,	 /* frees pages because the host is short of memory */
	PT_DOING_GROUP_RECLAIM = 1 << 1, /* ... because a cgroup is */
	PT_DOING_COMPACTION = 1 << 2,
	PT_DOING_DIRTY = 1 << 3, /* waits for dirty pages to be written */
	PT_DOING_LOCK = 1 << 4,	 /* contends for a lock of the kernel */
};

/* What goes with a sleep or a sample: what the kernel was doing for the thread, and for whose sake.
 */
struct pt_kernel_work {
	pt_u32 doing;
	pt_u32 holder_pid; /* thread that holds the lock that is contended for; 0: not known */
	char holder[PT_COMM];
	char device[PT_DEVICE_NAME]; /* PT_DOING_DIRTY: on which there are too many dirty pages */
	struct pt_group group;	     /* whose memory limit was reached */
	pt_u64 limit;		     /* its limit in bytes */
};

/* The thread that holds a lock for writing; pid 0: none does, or it is not known. */
struct pt_lock_owner {
	pt_u32 pid, spare;
	char comm[PT_COMM];
};
/* Locks that a thread in the kernel may be spinning for without a tracepoint saying so. */
enum { PT_OWNER_MEMORY = 0, PT_OWNER_FILE, PT_OWNERS };

/* A thread that waits for a CPU, and who runs there meanwhile. */
struct pt_waiting {
	pt_u32 tid, spare; /* tid 0: free */
	pt_u64 since;
	struct pt_runners runners;
};

/* One CPU during a descent. */
struct pt_cpu {
	pt_u64 since; /* when the task that runs there got it */
	pt_u32 pid;
	pt_u32 nr_waiting;
	char comm[PT_COMM];
	struct pt_waiting waiting[PT_WAITING];
};

/* Who stopped a process last. */
struct pt_stopper {
	pt_u32 pid, signal;
	char comm[PT_COMM];
};

/* A process that was throttled because a device has too many dirty pages. */
struct pt_dirtier {
	pt_u64 pages; /* it has dirtied since it was seen first */
	char comm[PT_COMM];
	char device[PT_DEVICE_NAME];
};

/* One thread of a target. */
struct pt_thread {
	pt_u32 tgid;
	pt_u32 sys_open; /* enum pt_sys_open */
	pt_u32 sys_nr;
	pt_u32 lock_open; /* kernel lock contention */
	pt_u64 sys_start;
	pt_u64 sys_args[PT_ARGS];
	struct pt_snapshot sys_snap;
	pt_u64 off_since;  /* 0: on a CPU */
	pt_u64 wake_since; /* runnable and waiting since; 0: not */
	pt_u64 off_ns, runq_ns;
	pt_u64 last_start, last_cfa; /* of the activation that it began last */
	pt_u64 lock_start, lock_address;
	pt_u32 lock_flags;
	pt_u32 wait;	    /* enum pt_wait: what the wait now going on is for */
	pt_u32 sys_burst;   /* of control: in which the call now open began */
	pt_u32 sched_burst; /* in which the scheduling state was written */
	pt_u64 preempt_ns;  /* waited after preemptions, so far */
	pt_u64 irq_ns, irq_longest;
	pt_u64 probe_ns; /* what probes of functions have cost it so far; kept only with `nested` */
	pt_u32 irq_number;
	pt_u32 waker_tid, waker_tgid, waker_irq;
	char waker_comm[PT_COMM];
	pt_u32 wake_outside; /* the wait for a CPU now going on began outside of a phase */
	pt_u32 spare;
	pt_u64 fault;	 /* address of its last page fault */
	pt_u32 wait_cpu; /* number + 1 of the CPU on whose queue it waits; 0: not known */
	pt_u32 off_wait; /* enum pt_wait: what it left the CPU for, if it was stopped; else 0 */
	pt_u32 next_pid; /* who ran next on its CPU, when it was preempted */
	pt_u32 spare2;
	char next_comm[PT_COMM];
};

enum { PT_NO_FD = 0xffffffff };

/* One time that a thread was off its CPU. */
struct pt_past {
	pt_u64 since, until;
	pt_s32 syscall;	    /* that it slept in; -1: none */
	pt_u32 preempt_pid; /* 0: it slept; else: who took its CPU */
	char preempt_comm[PT_COMM];
};

/*
 * What a thread notes about its sleep as it falls asleep inside a call of f0, because its memory
 * can be read only then; and its last times off a CPU, for those that wait for it.
 */
struct pt_asleep {
	pt_u64 since; /* pt_thread.off_since of the sleep that this is about */
	pt_u64 asked; /* ns after which its timer ends it; 0: no timer */
	pt_u32 fd;    /* that it waits for, where that is not the first argument; PT_NO_FD */
	pt_u32 io;    /* 1: it waits in the kernel for I/O to a device */
	pt_u32 words[PT_FUTEX_WORDS]; /* of the futex that it waits for */
	pt_u32 retransmits;	      /* of the connection that it waits for, since it was made */
	pt_u32
	    parked; /* the goroutine in f0 waits by itself: its wait reason + 1; 0: it does not */
	pt_u32 spare;
	pt_u32 uring_fd; /* of the last request that it gave to an io_uring; PT_NO_FD */
	pt_u32 nr_past;
	struct pt_past past[PT_PASTS];
};

/* What a descriptor stands for. */
struct pt_object {
	pt_u32 mode;   /* S_IFMT bits; 0: there is no descriptor */
	pt_u32 family; /* of a socket; 0: it is none */
	pt_u32 protocol;
	pt_u32 port, own_port; /* of its peer, and its own; 0: not connected */
	pt_u32 peer_pid;       /* of a Unix socket: who made the other end */
	pt_u32 retransmits;    /* of a TCP connection, since it was made */
	pt_u32 spare;
	unsigned char peer[16], own[16]; /* addresses, 4 or 16 bytes */
	char file[PT_FILE_NAME]; /* last part of the name of a file or FIFO, perhaps cut off */
	char path[PT_SOCKET_PATH + 4]; /* of a Unix socket; an abstract one begins with a 0 */
};

/* What a thread did while another one waited for it. */
enum pt_did { PT_DID_UNKNOWN = 0, PT_DID_RUN, PT_DID_SLEEP, PT_DID_WAIT_FOR_CPU };

struct pt_request {
	pt_u64 start; /* 0: it does not count: outside of a phase, or the gate was closed */
	pt_u64 sector;
	pt_u32 tgid, tid;
	pt_u32 bytes;
	pt_u32 flags;
	pt_u32 device;
	pt_u32 spare;
};

/* Samples of the program counter of a process, and how many of them were in a function. */
struct pt_share {
	pt_u64 low, high;
	pt_u64 in, ticks;
	pt_u32 tgid;
	pt_u32 spare;
};

/*
 * The one control block: written by the collector but for `next_slot`, `sys_slot`, what is lost and
 * what is counted of phases.
 */
struct pt_control {
	pt_u32 nr_targets; /* 0: measure nothing */
	pt_u32 only_tgid;  /* the target, when there is one */
	pt_u32 follow;	   /* children become targets */
	pt_u32 check_exec; /* a target that executes a program is suspended until the collector
			      resumes it */
	pt_u32 layers;	   /* 1 << enum layer */
	pt_u32 next_slot;
	pt_u32 slot_block, slot_lock, slot_runqueue;
	pt_u32 nr_cpus;
	pt_u32 sys_burst, sched_burst; /* number of the burst: state of an older one says nothing */
	pt_u32 spare;
	pt_u32 descend_slot;  /* f0; 0: no descent */
	pt_u32 descend_burst; /* of f0: what began before it counts no more */
	pt_u32 descend_epoch;
	pt_u32 descend_fnodes;		  /* armed */
	pt_u32 descend_call;		  /* f0 is this system call, number + 1; 0: a function */
	pt_u64 descend_low, descend_high; /* in-peak: low <= corrected latency < high */
	pt_u32 nested;	    /* several functions are watched: calls may hold probes of others */
	pt_u32 hit_ns[2];   /* what a hit costs, by class */
	pt_u32 tick_ns;	    /* what a tick of the clocks costs before it does anything */
	pt_s32 stacks_left; /* that may be copied until the collector says so again */
	pt_u32 snapshots;   /* stacks of running threads are wanted, wherever they are */
	pt_s32 snapshots_left;
	pt_u64 snapshots_done, snapshots_dropped, snapshot_ns; /* their cost */
	pt_u64 lost_ring, lost_samples, lost_acts, lost_threads;
	pt_u32 phase_mode;  /* only what begins inside of a phase counts */
	pt_u32 phase_blind; /* an edge is not watched at the moment: no phase is known */
	pt_u32 phase_epoch;
	pt_u32 phase_begin_slot, phase_end_slot; /* functions; 0: none */
	pt_u32 phase_begin_call, phase_end_call; /* system calls, number + 1; 0: none */
	pt_u32 phase_spare;
	pt_u64 phases, phase_ns; /* seen to begin; time in those that ended */
	/*
	 * By layer: when its gate was opened, 0: closed. Only what begins behind an open gate
	 * counts. A layer is attached before its gate opens and detached after it closed, so that
	 * the time armed is exact.
	 */
	pt_u64 gate_ns[PT_GATES];
	struct pt_share shares[PT_SHARES];
	pt_u32 share_hold; /* 1: functions are armed, samples say nothing */
	pt_u32 share_spare;
	pt_u32 sys_slot[PT_SYSCALLS];
	pt_u32 correction[PT_SLOTS]; /* ns to subtract from each latency */
};

/* Hits by what they cost. Per CPU. */
enum pt_counter {
	PT_HIT_EMULATED = 0,
	PT_HIT_STEPPED,
	PT_HIT_SYSCALL,	      /* pairs of a target */
	PT_HIT_SYSCALL_OTHER, /* pairs of everyone else */
	PT_HIT_SCHED,
	PT_HIT_SCHED_OTHER,
	PT_HIT_BLOCK,
	PT_HIT_LOCK,
	PT_HIT_LOCK_OTHER,
	PT_HIT_KERNEL_OTHER, /* kernel functions, called by everyone else */
	PT_HIT_COLD, /* also in one of the first two: other code ran on this CPU since the last one
		      */
	PT_COUNTERS,
	PT_LAST_HIT = PT_COUNTERS, /* no counter: when the last hit of a site was */
	PT_COUNTERS_ROOM
};

/* Numbers of interrupts beside the lines of hard ones. */
enum { PT_IRQ_LOCAL_TIMER = 0x10000, PT_IRQ_SOFT = 0x20000, PT_IRQ_VECTOR = 0x30000 };
/* PT_IRQ_VECTOR + one of these: what another CPU asked this one for. */
enum { PT_VECTOR_RESCHEDULE = 0, PT_VECTOR_CALL, PT_VECTOR_CALL_SINGLE, PT_VECTOR_IRQ_WORK };

/* What the map of targets holds for a process. */
enum pt_target_state {
	PT_TARGET_WATCHED = 1 << 0,
	PT_TARGET_NEW = 1 << 1, /* a child that the collector has not confirmed yet */
	PT_TARGET_SUSPENDED =
	    1 << 2, /* it executed a program: the collector checks its rights again */
};

#include "bpf/ring.h"

#endif
