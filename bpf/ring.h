/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that the BPF programs send through the ring buffer or write with the task iterator.
 * Part of records.h, which includes it. */
#include "bpf/records.h"
#ifndef PEAKTOP_RING_H
#define PEAKTOP_RING_H

/* A process that was throttled because a device has too many dirty pages. */
struct pt_dirtier {
	pt_u64 pages; /* pages dirtied since the process was first seen */
	char comm[PT_COMM];
	char device[PT_DEVICE_NAME];
};

enum pt_record_kind {
	PT_RECORD_SAMPLE = 1,
	PT_RECORD_NEW_RETURN,
	PT_RECORD_FORK,
	PT_RECORD_EXEC,
	PT_RECORD_EXIT,	  /* a thread ended; `address`: PT_EXIT_KNOWN and its process's status, or 0
			   */
	PT_RECORD_MAPPED, /* code was mapped */
	PT_RECORD_BLOWN,
	PT_RECORD_CALL,	   /* an in-peak call of f0, with its fnodes' sums */
	PT_RECORD_SLEEP,   /* a sleep inside a call of f0 */
	PT_RECORD_STACK,   /* the stack of a thread inside f0, as it falls asleep or sampled */
	PT_RECORD_CALLEES, /* callees seen in an in-peak call of f0 */
	PT_RECORD_CLOSED,  /* a hardware breakpoint saw an open call return */
	PT_RECORD_MISSED,  /* one was hit by PT_BREAK_MISSES other calls */
	PT_RECORD_THREAD_SNAPSHOT, /* the stack of a running thread */
};

struct pt_record {
	pt_u32 kind;
	pt_u32 slot; /* or the index of the site */
	pt_u32 tgid, tid;
	pt_u64 at;
};

/* Indices in the blocks of a sample of a system call: what is known of its file. */
enum pt_file_value {
	PT_FILE_SIZE = 0, /* bytes, of a regular file */
	PT_FILE_FLAGS,	  /* of open() */
	PT_FILE_STATE,	  /* of a socket with connections */
	PT_FILE_KIND,	  /* its mode, and of a socket family << 48, type << 32, protocol << 16 */
};

/* Flags of a block request, which have other numbers in each kernel. */
enum pt_request_flag {
	PT_REQUEST_SYNC = 1 << 0,
	PT_REQUEST_META = 1 << 1,
	PT_REQUEST_FUA = 1 << 2,
	PT_REQUEST_PREFLUSH = 1 << 3,
	PT_REQUEST_RAHEAD = 1 << 4,
	PT_REQUEST_BACKGROUND = 1 << 5,
};

struct pt_record_sample {
	struct pt_record head;
	pt_u64 latency;
	pt_u32 known; /* enum sample_known of analysis/session/record.h */
	pt_u32 spare;
	pt_s64 ret;
	pt_u64 args[PT_ARGS];
	struct pt_snapshot delta;
	pt_u64 blocks[PT_BLOCKS][PT_BLOCK / 8]; /* known: as if each was a member */
	char text[PT_TEXT_ROOM];
};

struct pt_record_address {
	struct pt_record head;
	pt_u64 address;
};
/* In `address` of PT_RECORD_EXIT, above a status as waitpid() gives it. */
#define PT_EXIT_KNOWN (1ull << 32)

/* An in-peak call of f0. Only the sums of armed fnodes are sent; the record ends after them. */
struct pt_record_call {
	struct pt_record head; /* at: start of the call */
	pt_u64 raw;	       /* latency as measured, ns */
	pt_u32 epoch;	       /* epoch of the armed set when the call began */
	pt_u32 hits;	       /* timed calls inside the call */
	pt_u64 latency;	       /* latency without the cost of probes, ns */
	struct pt_snapshot delta;
	pt_u32 known; /* enum sample_known */
	pt_u32 late; /* 1: its begin was not seen: `at` is when the thread left its CPU inside it */
	pt_u64 preempt_ns, irq_ns;
	pt_u32 irq_number;
	pt_u32 call;	/* number of the call; ignore sums with another number */
	pt_u64 blurred; /* 1: samples took so much of the call that only its stacks are used */
	struct pt_host_waits waits;
	pt_u32 handlers; /* signal handlers that began inside the call */
	pt_u32 handler_signal;
	pt_u64 handler; /* address of the last handler's function */
	/* If slow calls are kept: its sleeps, and its arguments, of which a bit of `arg_mask` says
	 * which are known. */
	pt_u32 blocked, arg_mask;
	pt_u64 args[PT_ARGS];
	struct pt_fnode_sum sums[PT_FNODES];
};

/* Callees of an in-peak call of f0 that were called through watched pointers. */
struct pt_record_callees {
	struct pt_record head;
	pt_u32 epoch;
	pt_u32 nr;
	struct pt_callee callees[PT_CALLEES];
};

enum { PT_NO_PROGRAM = -2 }; /* a thread of the kernel makes no system calls */

struct pt_record_sleep {
	struct pt_record head; /* at: end of the sleep */
	pt_u64 slept;
	pt_u64 since;	/* when it left the CPU */
	pt_s64 syscall; /* system call number; -1: not in a system call */
	pt_u64 args[3];
	pt_u32 waker_tid, waker_tgid;
	pt_u32 waker_irq; /* interrupt number + 1 if an interrupt handler woke it; else 0 */
	pt_u32 fnode;	  /* innermost open fnode: index + 1; 0: f0 itself */
	char waker_comm[PT_COMM];
	pt_u64 fault;  /* address of the page fault that it slept in */
	pt_u64 asked;  /* ns after which a timer would end the sleep; 0: no timer, or not known */
	pt_u64 slack;  /* timer slack: ns by which timers of this thread may be late */
	pt_u32 fd;     /* descriptor that `object` describes; PT_NO_FD: none */
	pt_u32 io;     /* 1: the thread waited in the kernel for I/O to a device */
	pt_u32 parked; /* wait reason + 1 of the goroutine in f0 if it was parked while its thread
			  slept; else 0 */
	pt_u32 owner;  /* thread that owns the mutex it waited for; 0: not known */
	pt_u32 retransmits; /* retransmits on its TCP connection during the sleep */
	/* What the waker or the owner of the mutex did for most of the sleep. */
	pt_u32 did;	    /* enum pt_did */
	pt_s32 did_syscall; /* system call in which it slept; -1: none; or PT_NO_PROGRAM */
	pt_u64 did_ns;
	pt_u32 did_pid; /* task that took its CPU */
	char did_comm[PT_COMM];
	struct pt_tried tried; /* it sleeps until the next try of this call */
	struct pt_object object;
	struct pt_kernel_work work;
};

/* State of a thread inside f0. The record is built in place, because its 10 KB do not fit on a
 * stack. */
struct pt_descent {
	pt_u32 active;
	pt_u32 depth;
	pt_u32 burst;	  /* control.descend_burst at the start of the call */
	pt_u32 slot;	  /* the operation that was called, if slow calls are kept */
	pt_u64 key;	  /* identifies the activation of the outermost call of f0 */
	pt_u64 cfa;	  /* CFA of that call, in Go less the top of its stack */
	pt_u64 top;	  /* top of the goroutine's stack at the event at hand; 0: not Go */
	pt_u64 start;	  /* start of the call */
	pt_u64 cost;	  /* time of the probes inside the call so far */
	pt_u64 sampled;	  /* time of stack samples inside the call so far */
	pt_u64 goroutine; /* goroutine that called f0; 0: f0 is not a Go function */
	struct pt_snapshot snap;
	pt_u64 preempt_ns, irq_ns; /* totals of the thread when this call began */
	pt_u32 look; /* scratch depth; kept here so that the verifier need not track it */
	pt_u32 nr_callees;
	struct pt_callee callees[PT_CALLEES];
	pt_u32 waited;		    /* record.waits is not empty */
	pt_u32 is_call;		    /* 1: of a system call or a function of the kernel */
	struct pt_kernel_work work; /* work going on now */
	struct pt_fnode_open open[PT_DEPTH];
	struct pt_record_sleep sleeps[PT_KEPT_SLEEPS]; /* if slow calls are kept */
	pt_u32 nr_sleeps;
	pt_u32 timed; /* timed sleeps in this call */
	/* The stack with which the thread fell asleep last, at asleep_at, until it wakes up. */
	pt_u32 asleep_bytes;
	pt_u64 asleep_at, asleep_regs[PT_REGS];
	unsigned char asleep_stack[PT_KEPT_STACK];
	struct pt_record_call record;
};

/* Indices of registers in struct pt_regs. */
enum {
	PT_REG_R14 = 1,
	PT_REG_BP = 4,
	PT_REG_R10 = 7,
	PT_REG_R9 = 8,
	PT_REG_R8 = 9,
	PT_REG_DX = 12,
	PT_REG_SI = 13,
	PT_REG_DI = 14,
	PT_REG_ORIG_AX = 15,
	PT_REG_IP = 16,
	PT_REG_SP = 19
};

struct pt_record_stack {
	struct pt_record head;
	pt_u64 regs[PT_REGS];
	struct pt_replaced replaced;
	pt_u64 cfa;    /* CFA of f0 */
	pt_u32 sleeps; /* 1: the thread falls asleep; 0: sampled while it runs */
	pt_u32 fnode;  /* innermost open fnode: index + 1; 0: f0 itself */
	pt_u32 bytes;  /* bytes of the stack copied, from the stack pointer up */
	pt_u32 epoch;
	pt_s64 syscall; /* system call number; -1: not in a system call */
	pt_u32 nr_kernel, spare;
	pt_u64 kernel[PT_KERNEL_FRAMES]; /* addresses, innermost first */
	struct pt_kernel_work work;
	struct pt_lock_owner owners[PT_OWNERS];
	unsigned char stack[PT_STACK];
};

/* A running thread, sampled by the timer of its CPU. The registers are those of user code. */
struct pt_record_thread_snapshot {
	struct pt_record head;
	pt_u64 regs[PT_REGS];
	pt_u64 kernel[PT_SNAPSHOT_KERNEL]; /* innermost first */
	pt_u32 nr_kernel;
	pt_u32 in_kernel; /* 1: the thread was in the kernel, by the system call in orig_ax or an
			     interrupt */
	pt_u32 bytes;
	pt_u32 spare;
	struct pt_kernel_work memory; /* as in struct pt_task_now */
	struct pt_replaced replaced;
	unsigned char stack[PT_SNAPSHOT_STACK];
};

/* Who can end a wait of a thread for events. */
enum {
	PT_AWAITS_UNKNOWN = 0,
	PT_AWAITS_OWN,	    /* pipes, timers, signals and the like: no socket, no terminal */
	PT_AWAITS_OTHERS,   /* a socket or a character device, too */
	PT_AWAITS_PAIR,	    /* a Unix socket without names: not known which end sends requests */
	PT_AWAITS_OWED = 7, /* a client that has, or perhaps has, sent a request is not answered */
};

/* A thread as the task iterator reports it. */
struct pt_task_now {
	pt_u32 tgid, tid;
	pt_u32 state; /* task_struct.__state; 0: running or runnable */
	pt_u32 nr_kernel;
	pt_u32 awaits;	 /* PT_AWAITS_..., of a thread that waits for several descriptors */
	pt_u32 fd;	 /* descriptor that `object` describes; PT_NO_FD: none */
	pt_u64 switches; /* context switches so far; if unchanged, the thread has not run */
	pt_u64 cpu_ns, runq_ns;
	pt_u64 ran_ns; /* when it last ran, on the same clock as clock_ns; 0: not known */
	pt_u64 clock_ns;
	pt_u64 queued_ns; /* when it began to wait for a CPU; 0: it does not, or not known */
	pt_u64 regs[PT_REGS];
	pt_u64 kernel[PT_SNAPSHOT_KERNEL];
	char comm[PT_COMM];
	struct pt_object object; /* of a Unix socket, or of what a poll() or select() waits for */
	pt_u32 throttled;	 /* runnable, but a CPU quota is used up: ... */
	struct pt_quota quota;	 /* ... this one */
	struct pt_kernel_work memory; /* the group and the limit of its memory; limit 0: none */
	pt_u32 on_cpu;
	pt_u64 started_ns; /* on the monotonic clock */
	pt_u64 faults;	   /* page faults so far */
	/* of the first thread of a process: what threads of the process used that have ended */
	pt_u64 ended_cpu_ns, ended_faults;
	struct pt_replaced replaced;
};

/* A process that has control.sought open. */
enum { PT_PIPE_READS = 1, PT_PIPE_WRITES = 2 }; /* as FMODE_READ and FMODE_WRITE of the kernel */
struct pt_pipe_end {
	pt_u32 tgid, parent;
	pt_u32 mode; /* PT_PIPE_... */
	/* of a listener: connections that wait, its room for them, and how many found none */
	pt_u32 queued, room, dropped;
	char comm[PT_COMM];
};

/*
 * The descriptors of a thread in poll() or select(), which the collector reads in its memory, or
 * of an epoll: its first ones.
 */
enum { PT_POLLED = 24, PT_PORTS = 64 };
struct pt_polled {
	pt_u32 nr; /* 0: not known, or more than PT_POLLED */
	pt_u32 fd[PT_POLLED];
	pt_u32 asked; /* the last server seen that is asked; set by the iteration */
	pt_u32 nr_ports;
	pt_u32 port[PT_PORTS]; /* TCP ports that the process's network listens on */
};

struct pt_record_fork {
	struct pt_record head;
	pt_u32 child_tgid, child_tid;
	pt_u64 child_start; /* start in ns since boot, suspend included; identifies the process
			       together with the pid */
};

#endif
