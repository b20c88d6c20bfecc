/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs in the kernel send through the ring buffer, and what the iterator of tasks
 * writes. Part of records.h, which includes it. */
#include "bpf/records.h"
#ifndef PEAKTOP_RING_H
#define PEAKTOP_RING_H

enum pt_record_kind {
	PT_RECORD_SAMPLE = 1,
	PT_RECORD_NEW_RETURN,
	PT_RECORD_FORK,
	PT_RECORD_EXEC,
	PT_RECORD_EXIT,	  /* of a thread */
	PT_RECORD_MAPPED, /* code was mapped */
	PT_RECORD_BLOWN,
	PT_RECORD_CALL,	   /* an in-peak call of f0 */
	PT_RECORD_SLEEP,   /* a sleep inside a call of f0 */
	PT_RECORD_STACK,   /* the stack of a thread inside f0: as it goes to sleep, or sampled */
	PT_RECORD_CALLEES, /* callees seen in an in-peak call of f0 */
	PT_RECORD_CLOSED,  /* a hardware breakpoint saw an open call return */
	PT_RECORD_THREAD_SNAPSHOT, /* the stack of a thread that runs */
};

struct pt_record {
	pt_u32 kind;
	pt_u32 slot; /* or the index of the site */
	pt_u32 tgid, tid;
	pt_u64 at;
};

struct pt_record_sample {
	struct pt_record head;
	pt_u64 latency;
	pt_u32 known; /* enum sample_known of analysis/session/record.h */
	pt_u32 spare;
	pt_s64 ret;
	pt_u64 args[PT_ARGS];
	struct pt_snapshot delta;
};

struct pt_record_address {
	struct pt_record head;
	pt_u64 address;
};

/* Sent with the sums of the fnodes that are armed, and no more. */
struct pt_record_call {
	struct pt_record head; /* at: its start */
	pt_u64 raw;	       /* latency as measured */
	pt_u32 epoch;	       /* of the armed set when it began */
	pt_u32 hits;	       /* timed calls inside it */
	pt_u64 latency;	       /* corrected */
	struct pt_snapshot delta;
	pt_u32 known; /* enum sample_known */
	pt_u32 spare;
	pt_u64 preempt_ns, irq_ns;
	pt_u32 irq_number;
	pt_u32 call;	/* number: of its sums those with this one count */
	pt_u64 blurred; /* samples took so much of it that it is worth its stacks only */
	struct pt_host_waits waits;
	pt_u32 handlers; /* signal handlers that began inside the call */
	pt_u32 handler_signal;
	pt_u64 handler; /* address of the last one's function */
	struct pt_fnode_sum sums[PT_FNODES];
};

/* What an in-peak call of f0 called through the pointers that are watched. */
struct pt_record_callees {
	struct pt_record head;
	pt_u32 epoch;
	pt_u32 nr;
	struct pt_callee callees[PT_CALLEES];
};

/* A thread inside f0. The record is made in place: 10 KB do not fit on a stack. */
struct pt_descent {
	pt_u32 active;
	pt_u32 depth;
	pt_u32 burst; /* control.descend_burst when it began */
	pt_u32 spare;
	pt_u64 cfa;	  /* of the outermost call of f0 */
	pt_u64 start;	  /* when it began */
	pt_u64 cost;	  /* of the probes inside it so far */
	pt_u64 sampled;	  /* what looking at its stacks has taken so far */
	pt_u64 goroutine; /* that called f0; 0: it is no function of Go */
	struct pt_snapshot snap;
	pt_u64 preempt_ns, irq_ns; /* of the thread, when this call began */
	pt_u32 look;		   /* scratch: kept here, the verifier need not follow it */
	pt_u32 nr_callees;
	struct pt_callee callees[PT_CALLEES];
	pt_u32 waited; /* record.waits is not empty */
	pt_u32 spare2;
	struct pt_kernel_work work; /* now */
	struct pt_fnode_open open[PT_DEPTH];
	struct pt_record_call record;
};

struct pt_record_sleep {
	struct pt_record head; /* at: its end */
	pt_u64 slept;
	pt_u64 since;	/* when it left the CPU */
	pt_s64 syscall; /* -1: not in one */
	pt_u64 args[3];
	pt_u32 waker_tid, waker_tgid;
	pt_u32 waker_irq; /* in an interrupt, on top of whoever ran */
	pt_u32 fnode;	  /* innermost open one: index + 1; 0: f0 itself */
	char waker_comm[PT_COMM];
	pt_u64 fault;  /* address of the page fault that it slept in */
	pt_u64 asked;  /* ns after which its timer would end it; 0: no timer, or not known */
	pt_u64 slack;  /* by which timers of this thread may be late */
	pt_u32 fd;     /* that `object` is about; PT_NO_FD */
	pt_u32 io;     /* 1: it waited in the kernel for I/O to a device */
	pt_u32 parked; /* the goroutine in f0 waited, and its thread had nothing else to do: its
			  wait reason + 1; 0 */
	pt_u32 owner;  /* of the mutex that it waited for, by its word; 0: not known */
	pt_u32 retransmits; /* of its TCP connection during the sleep */
	/* What the thread that woke it, or owned the mutex, did meanwhile for most of the time. */
	pt_u32 did;	    /* enum pt_did */
	pt_s32 did_syscall; /* that it slept in; -1: none */
	pt_u64 did_ns;
	pt_u32 did_pid; /* who took its CPU */
	char did_comm[PT_COMM];
	struct pt_object object;
	struct pt_kernel_work work;
};

/* Index of the stack pointer and the instruction pointer in struct pt_regs. */
enum { PT_REG_DI = 14, PT_REG_ORIG_AX = 15, PT_REG_IP = 16, PT_REG_SP = 19 };

struct pt_record_stack {
	struct pt_record head;
	pt_u64 regs[PT_REGS];
	pt_u64 cfa;    /* of f0 */
	pt_u32 sleeps; /* 1: goes to sleep; 0: a sample of the CPU */
	pt_u32 fnode;  /* innermost open one: index + 1 */
	pt_u32 bytes;  /* of the stack that were copied, from the stack pointer up */
	pt_u32 epoch;
	pt_s64 syscall; /* -1: not in one */
	pt_u32 nr_kernel, spare;
	pt_u64 kernel[PT_KERNEL_FRAMES]; /* addresses, innermost first */
	struct pt_kernel_work work;
	struct pt_lock_owner owners[PT_OWNERS];
	unsigned char stack[PT_STACK];
};

/* A running thread as the clock of its CPU met it. Registers: those of user code. */
struct pt_record_thread_snapshot {
	struct pt_record head;
	pt_u64 regs[PT_REGS];
	pt_u64 kernel[PT_SNAPSHOT_KERNEL]; /* innermost first */
	pt_u32 nr_kernel;
	pt_u32 in_kernel; /* 1: it was in the kernel, called by the system call in orig_ax, or
			     interrupted */
	pt_u32 bytes;
	pt_u32 spare;
	unsigned char stack[PT_SNAPSHOT_STACK];
};

/* A thread as the iterator of tasks shows it. */
struct pt_task_now {
	pt_u32 tgid, tid;
	pt_u32 state; /* 0: runs, or could */
	pt_u32 nr_kernel;
	pt_u64 switches; /* unchanged: it has not run in between */
	pt_u64 cpu_ns, runq_ns;
	pt_u64 ran_ns; /* when it ran last, on the clock of `clock_ns`; 0: not known */
	pt_u64 clock_ns;
	pt_u64 regs[PT_REGS];
	pt_u64 kernel[PT_SNAPSHOT_KERNEL];
	char comm[PT_COMM];
};

struct pt_record_fork {
	struct pt_record head;
	pt_u32 child_tgid, child_tid;
	pt_u64
	    child_start; /* ns since boot, sleeping included: with the pid this is its identity */
};

#endif
