/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw facts about waits: who ran, who slept in what, who woke whom and under which interrupt.
 * A part of record.h, which includes it. The collector sends facts only; analysis/waits/ decides
 * what a sleep was and who ended it.
 *
 * A task is identified by its tid and its start time (`start_ns`, CLOCK_BOOTTIME, exactly as
 * task_struct.start_boottime). tid 0 is the idle task of a CPU.
 *
 * `at_ns` is the time since the start of the session. `sequence` counts the records that a CPU
 * tried to send, from 1 at the begin of each window; a number that is missing is a lost record.
 * Records of one CPU arrive in the order of their numbers; those of different CPUs may be mixed
 * by up to 20 ms. Records without `cpu` take effect when they arrive.
 *
 * The structs without text are fixed in size, have no padding and are at most 64 bytes, so that
 * a BPF program can fill the same layout.
 */
#include "analysis/session/record.h"
#ifndef PEAKTOP_RECORD_WAITS_H
#define PEAKTOP_RECORD_WAITS_H

enum {
	WAITS_NO_CPU = 0xffff, /* not of a CPU: no sequence either */
	WAITS_BRACKETS = 4,    /* in one word */
	WAITS_ARGS = 3,	       /* of a system call */
};

/* What the record of an event begins with. */
#define WAITS_HEAD                                                                                 \
	uint64_t at_ns;                                                                            \
	uint32_t sequence, cpu
struct rec_waits_head {
	WAITS_HEAD;
};

enum window_edge {
	WINDOW_BEGIN = 0,
	WINDOW_CPU, /* just before the end: `sequence` is the last number that `cpu` gave out */
	WINDOW_END
};

/* Nothing is known about what happened between two windows. */
struct rec_window {
	WAITS_HEAD;
	uint32_t edge; /* enum window_edge */
	uint32_t spare;
};

enum task_flags {
	TASK_TARGET = 1 << 0,	  /* belongs to what the user asked for */
	TASK_FOLLOWED = 1 << 1,	  /* all its switches are sent from now on */
	TASK_KERNEL = 1 << 2,	  /* a thread of the kernel */
	TASK_KWORKER = 1 << 3,	  /* executes work items */
	TASK_IRQ = 1 << 4,	  /* a thread that handles an interrupt */
	TASK_KSOFTIRQD = 1 << 5,  /* runs soft interrupts that were put off */
	TASK_URING = 1 << 6,	  /* a worker of an io_uring */
	TASK_HUB = 1 << 7,	  /* wakes mostly unrelated tasks: its wakers are not followed */
	TASK_RESTRICTED = 1 << 8, /* the invoking user may not trace it: no stack, no argument */
	TASK_UNFOLLOWED = 1 << 9, /* its switches are not sent any more */
};

/* A task is named: when the window begins, when it is followed, and as a waker before its first
 * waking. */
struct rec_task {
	WAITS_HEAD; /* `cpu` is WAITS_NO_CPU in the list of tasks */
	uint64_t start_ns;
	uint32_t tid, pid;
	uint32_t flags; /* enum task_flags */
	uint32_t state; /* letter as in /proc: R on a CPU, Q runnable, S, D, T, t; 0: not known */
	uint64_t parent_start_ns;
	uint32_t parent_tid; /* 0: not known */
	const char *comm;
};

/* In `state` of a switch: the low 16 bits are the state of the previous task as in the tracepoint.
 */
enum switch_state {
	SWITCH_INTERRUPTIBLE = 0x1,
	SWITCH_UNINTERRUPTIBLE = 0x2,
	SWITCH_STOPPED = 0x4,
	SWITCH_TRACED = 0x8,
	SWITCH_DEAD = 0x10 | 0x20 | 0x80, /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
	SWITCH_WAKEKILL = 0x100,
	SWITCH_NOLOAD = 0x400,
	SWITCH_FREEZABLE = 0x2000,
	SWITCH_FROZEN = 0x8000,
	SWITCH_STATES = 0xffff,
	SWITCH_PREEMPTED = 1 << 16,
	SWITCH_IN_IOWAIT = 1 << 17,
	SWITCH_THROTTLED = 1 << 18, /* with _PREEMPTED: its CPU quota is used up */
};

struct rec_switch {
	WAITS_HEAD;
	uint64_t prev_start_ns, next_start_ns;
	uint32_t prev_tid, next_tid;
	uint32_t state;			   /* enum switch_state */
	uint32_t kernel_stack, user_stack; /* REC_TRACE of `prev`; 0: none */
	uint32_t irq_ns; /* spent in interrupts while `prev` had the CPU this time */
};

enum asleep_flags {
	ASLEEP_IN_FAULT = 1 << 0,  /* in a page fault, not in a system call; args[0]: the address */
	ASLEEP_TIMED = 1 << 1,	   /* it has a timer: asked_ns */
	ASLEEP_HELD_BACK = 1 << 2, /* as SLEEP_HELD_BACK */
	ASLEEP_QUEUE_FULL = 1 << 3, /* of datagrams, at the other end */
	ASLEEP_RETRIES = 1 << 4,    /* as SLEEP_RETRIES; `object` is that of the call that failed */
	ASLEEP_RETRIES_LOCK = 1 << 5,
};

/* Sent before the switch that puts this task, the current one, to sleep: what it sleeps in. With
 * WAITS_NO_CPU it follows the REC_TASK of a task that sleeps when the window begins. */
struct rec_asleep {
	WAITS_HEAD;
	uint64_t args[WAITS_ARGS]; /* of the system call */
	uint64_t asked_ns;	   /* after which its timer ends the sleep */
	uint32_t tid;
	int32_t syscall; /* number; -1: none */
	uint32_t object; /* REC_OBJECT behind the descriptor; 0: none */
	uint32_t flags;	 /* enum asleep_flags */
};

/* Contexts on top of a task. Four of them stand in a word, 16 bits each, the innermost one in the
 * low bits: the kind in the upper 4 bits, a number in the lower 12: the interrupt, the soft
 * interrupt, or the number of the handler's REC_NAME. */
enum bracket_kind {
	BRACKET_NONE = 0,
	BRACKET_HARD,  /* number: the interrupt */
	BRACKET_SOFT,  /* number: the soft interrupt */
	BRACKET_TIMER, /* a timer expires; number: its function */
	BRACKET_CLOCK, /* the interrupt of the local timer */
	BRACKET_IPI,
	BRACKET_BLOCK, /* a block request is completed; cause: the request */
	BRACKET_WORK,  /* a work item is executed; cause: the item; number: its function */
	BRACKET_URING, /* a request of an io_uring is executed; cause: the request */
	BRACKET_BARE,  /* frames of an interrupt on the stack without a tracepoint */
	BRACKET_KINDS
};
#define BRACKET(kind, number) ((uint64_t)((unsigned int)(kind) << 12 | ((number)&0xfff)))

/* Names of numbers: of handlers, by kind of their bracket. */
struct rec_name {
	uint32_t kind; /* enum bracket_kind */
	uint32_t number;
	const char *text;
};

struct rec_waking {
	WAITS_HEAD;
	uint64_t current_start_ns, wakee_start_ns;
	uint64_t brackets; /* enum bracket_kind, four of them */
	uint64_t cause;	   /* of the innermost bracket that has one; in BRACKET_SOFT of the network:
			      the socket; 0: none */
	uint32_t current_tid, wakee_tid;
	uint32_t kernel_stack; /* of the waker: REC_TRACE; 0: none */
	uint32_t spare;
};

enum life_event {
	LIFE_FORK = 0, /* child_tid, child_start_ns; comm: the child's */
	LIFE_NEW,      /* the child is put on a run queue for the first time */
	LIFE_EXEC,     /* comm: the new one; child_tid: the tid before, if it was another */
	LIFE_EXIT,
	LIFE_RENAME, /* comm */
};

struct rec_life {
	WAITS_HEAD;
	uint64_t start_ns, child_start_ns;
	uint32_t event; /* enum life_event */
	uint32_t tid;
	uint32_t child_tid, child_pid;
	uint32_t flags; /* enum task_flags of the child */
	const char *comm;
};

enum block_event {
	BLOCK_SUBMIT = 0, /* block_io_start or rq_insert, whichever comes first */
	BLOCK_ISSUE,
	BLOCK_COMPLETE,
};

struct rec_block {
	WAITS_HEAD;
	uint64_t request, sector;
	uint64_t start_ns; /* of the task that submitted it */
	uint32_t event;	   /* enum block_event */
	uint32_t tid;
	uint32_t device, bytes;
	uint32_t object; /* REC_OBJECT of the file; 0: not known */
	/* the operation (enum req_op of the kernel) + 1 in the low byte, 0: not known; above it the
	 * number of the device's REC_NAME, of BRACKET_BLOCK; 0: none */
	uint32_t kind;
};
#define BLOCK_OPERATION(kind) ((kind)&0xff)
#define BLOCK_DISK(kind) ((kind) >> 8)

enum work_event { WORK_QUEUED = 0, WORK_BEGIN, WORK_END };
enum work_kind { WORK_ITEM = 0, WORK_URING };

/* A work item of the kernel, or a request of an io_uring. */
struct rec_work {
	WAITS_HEAD;
	uint64_t work;	   /* its address */
	uint64_t start_ns; /* of the current task */
	uint64_t brackets; /* WORK_QUEUED: in which it was queued */
	uint64_t cause;	   /* of these, as in rec_waking */
	uint32_t tid;
	uint32_t event; /* enum work_event | enum work_kind << 8 | name of its function << 16 */
};

/* Where a task was on its CPU when a clock ticked. */
struct rec_run_sample {
	WAITS_HEAD;
	uint32_t tid;
	uint32_t kernel_stack, user_stack; /* REC_TRACE; 0: none */
	uint32_t irq_ns;		   /* spent in interrupts since it got the CPU */
};

/* In the number of a stack that REC_RUN_SAMPLE names: the stack was taken anywhere in a function.
 * Such stacks count as equal if they go through the same functions. */
#define TRACE_SAMPLED (1u << 31)

enum trace_flags {
	TRACE_KERNEL = 1 << 0,
	TRACE_PARTIAL = 1 << 1, /* its outermost frames are missing */
};

/* A stack and its number. One number stands for one stack while it is in use; a stack that is sent
 * again may have another number. A kernel stack is sent before its first use, a user stack may
 * come later. */
struct rec_trace {
	uint32_t trace; /* number, from 1 */
	uint32_t flags; /* enum trace_flags */
	uint32_t pid;
	const char *kernel; /* functions of the kernel, outermost first, a semicolon between; "" */
	uint32_t nr_frames;
	const struct rec_frame *frames; /* outermost first */
};

/* Unwound by the front's parser, it becomes a REC_TRACE with this number. Its first use may come
 * before or after it. */
struct rec_raw_trace {
	uint32_t trace;
	uint32_t pid, tid;
	uint32_t nr_regs;
	const uint64_t *regs; /* in the order of struct pt_regs of x86-64: r15 ... ss */
	uint32_t nr_words;
	const uint64_t *words; /* of the stack, from its pointer up */
};

enum object_kind {
	OBJECT_OTHER = 0,
	OBJECT_FILE,
	OBJECT_DEVICE,
	OBJECT_TERMINAL,
	OBJECT_PIPE,
	OBJECT_LOCAL,  /* a Unix socket, or loopback */
	OBJECT_SOCKET, /* of the network; name: the peer's host:port */
	OBJECT_EVENT,  /* an eventfd */
	OBJECT_TIMER,  /* a timerfd */
	OBJECT_DISK,   /* a block device, for requests without a file */
	OBJECT_KINDS
};

/* What stands behind a descriptor or a request. */
struct rec_object {
	uint32_t object; /* number, from 1 */
	uint32_t kind;	 /* enum object_kind */
	/* 1: it listens, or is the serving side of a connection; of what is no socket: the thread
	 * waits for a process that it has started, which is named */
	uint32_t serves;
	const char *name;
};

/* The host took this CPU away for so long since the window began. `sequence` is 0: not counted. */
struct rec_steal {
	WAITS_HEAD;
	uint64_t ns;
};

/* From here on only these calls are followed (--of and --peak). It comes before the first window,
 * and again once its operation has a number. The limits are those that the run has chosen, so that
 * a replay need not choose anew, from a profile that is another one by then. */
struct rec_followed {
	const char *requested; /* the OP that the user gave */
	uint32_t op;	       /* 0: not known yet */
	uint32_t peak;	       /* as in rec_question, like the limits below: what the user asked */
	uint64_t peak_low_ns, peak_high_ns;
	uint64_t low_ns, high_ns; /* low <= latency < high */
};

_Static_assert(sizeof(struct rec_switch) <= 64 && sizeof(struct rec_asleep) <= 64 &&
		   sizeof(struct rec_waking) <= 64 && sizeof(struct rec_block) <= 64 &&
		   sizeof(struct rec_work) <= 64,
	       "the common records fit into a cache line");

#endif
