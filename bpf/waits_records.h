/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about waits, as the BPF programs send them through a ring buffer of their own, and the
 * state of the tasks that are followed. The records have the content of
 * analysis/session/record_waits.h, whose constants they use; those of switches, samples, sleeps,
 * wakings, requests and work have it in the same order. Part of records.h, which includes it.
 */
#include "bpf/records.h"
#ifndef PEAKTOP_WAITS_RECORDS_H
#define PEAKTOP_WAITS_RECORDS_H

#include "bpf/replaced.h"

enum {
	PT_WAITS_RING_BYTES = 4 << 20,
	PT_FOLLOWED = 16384,	/* tasks followed at once */
	PT_FOLLOW_BITS = 65536, /* of a set of thread ids; only its members are looked up */
	PT_WAITS_FRAMES = 64,	/* of a kernel stack */
	PT_TRACES = 16384,	/* stacks that were sent, remembered */
	PT_WAITS_WORDS = 128,	/* of the kernel stack are searched for return addresses */
	PT_PLACES = 2048,
	PT_WAITS_OBJECTS = 4096,
	PT_WAITS_REQUESTS = 8192,
	PT_SUBMITTERS = 16, /* a power of two */
	PT_WAITS_WORKS = 4096,
	PT_HANDLERS = 4095, /* functions of timers and work items: 12 bits */
	PT_BRACKETS = 8,    /* interrupts and the like on top of each other; a power of two */
	PT_USER_TRACE = 1 << 30,
};
/* Added to the number of a stack that a clock sampled: TRACE_SAMPLED of
 * analysis/session/record_waits.h. */
#define PT_SAMPLED_TRACE (1u << 31)

enum pt_waits_kind {
	PT_WAITS_TASK = 1,
	PT_WAITS_SWITCH,
	PT_WAITS_ASLEEP,
	PT_WAITS_WAKING,
	PT_WAITS_LIFE,
	PT_WAITS_BLOCK,
	PT_WAITS_WORK,
	PT_WAITS_STACK,	     /* a kernel stack, before its first use */
	PT_WAITS_USER_STACK, /* the raw stack of user code */
	PT_WAITS_NAME,	     /* the number of a handler */
	PT_WAITS_OBJECT,
	PT_WAITS_SAMPLE,
	PT_WAITS_SLEEP, /* a switch of a task that falls asleep, and in what */
};

/* Begins as struct pt_record does. */
struct pt_waits_head {
	pt_u32 kind;
	pt_u32 window; /* number of the window; records of an older one are dropped */
	pt_u32 cpu;    /* PT_NO_CPU: none */
	pt_u32 lost;   /* records of this CPU for which the ring had no room, in this window */
	pt_u64 at;
};
enum { PT_NO_CPU = 0xffff };

struct pt_waits_task {
	struct pt_waits_head head;
	pt_u64 start, parent_start;
	pt_u32 tid, pid;
	pt_u32 flags, state;
	pt_u32 parent_tid;
	pt_u32 kernel; /* task_struct.flags */
	char comm[PT_COMM];
};

struct pt_switched {
	pt_u64 prev_start, next_start;
	pt_u32 prev_tid, next_tid;
	pt_u32 state;
	pt_u32 kernel_stack, user_stack;
	pt_u32 irq_ns;
};

struct pt_waits_switch {
	struct pt_waits_head head;
	struct pt_switched switched;
};

struct pt_waits_sample {
	struct pt_waits_head head;
	pt_u32 tid;
	pt_u32 kernel_stack, user_stack;
	pt_u32 irq_ns;
};

struct pt_asleep_in {
	pt_u64 args[3];
	pt_u64 asked;
	pt_u32 tid;
	pt_s32 syscall;
	pt_u32 object;
	pt_u32 flags;
};

struct pt_waits_asleep {
	struct pt_waits_head head;
	struct pt_asleep_in in;
};

/* One record instead of two: reserving room in the ring costs more than filling it. */
struct pt_waits_sleep {
	struct pt_waits_head head;
	struct pt_switched switched;
	struct pt_asleep_in in;
};

struct pt_waits_waking {
	struct pt_waits_head head;
	pt_u64 current_start, wakee_start;
	pt_u64 brackets, cause;
	pt_u32 current_tid, wakee_tid;
	pt_u32 kernel_stack, spare;
};

struct pt_waits_life {
	struct pt_waits_head head;
	pt_u64 start, child_start;
	pt_u32 event, tid;
	pt_u32 child_tid, child_pid;
	pt_u32 flags, kernel;
	char comm[PT_COMM];
};

struct pt_waits_block {
	struct pt_waits_head head;
	pt_u64 request, sector;
	pt_u64 start;
	pt_u32 event, tid;
	pt_u32 device, bytes;
	pt_u32 object, kind; /* kind: the operation + 1; the collector adds the device's name */
};

struct pt_waits_work {
	struct pt_waits_head head;
	pt_u64 work, start;
	pt_u64 brackets, cause;
	pt_u32 tid, event;
};

struct pt_waits_stack {
	struct pt_waits_head head;
	pt_u32 trace, nr;
	pt_u64 frames[PT_WAITS_FRAMES]; /* innermost first */
};

struct pt_waits_user_stack {
	struct pt_waits_head head;
	pt_u32 trace, tgid, tid, bytes;
	pt_u64 regs[PT_REGS];
	struct pt_replaced replaced;
	unsigned char stack[PT_SNAPSHOT_STACK];
};

struct pt_waits_name {
	struct pt_waits_head head;
	pt_u64 address;
	pt_u32 kind, number;
};

struct pt_waits_object {
	struct pt_waits_head head;
	pt_u32 number, tgid, fd, spare;
	struct pt_object object;
	struct pt_quota quota; /* of the object; period_ns 0: it is none */
};

/* The part of struct pt_control for the tracing of waits. */
struct pt_waits_control {
	/* number of the window, from 1; 0: none, and the programs skip all that belongs to it */
	pt_u32 window;
	pt_u32 hops;	    /* how far interest spreads */
	pt_u32 check;	    /* 1: tasks are restricted until the collector has checked them */
	pt_s32 stacks_left; /* user stacks that may be sent until the collector refills this */
	pt_u32 handlers, objects; /* numbers given so far */
	pt_s32 samples_left;	  /* as stacks_left, of running tasks */
	pt_u32 tries; /* the window in which a target's thread has slept twice by a timer */
	/* threads of the kernel by tid % PT_SUBMITTERS: a followed task waited for their requests
	 */
	pt_u32 submitter[PT_SUBMITTERS];
	pt_u64 opened; /* when the window was opened, as task_struct.start_boottime */
	pt_u64 lost;   /* records of no CPU, tasks and stacks for which there was no room */
};

/*
 * A place where tasks sleep or wake others: its kernel stack, and where in it which return
 * addresses lie, counted in words from the context of the tracepoint's program. If they lie there
 * again, the stack is the same.
 */
enum { PT_PLACE_ADDRESSES = 16, PT_PLACE_LEAST = 4 };
struct pt_place {
	pt_u32 trace, nr;
	pt_u32 hits, misses;
	pt_u64 address[PT_PLACE_ADDRESSES];
	pt_u16 at[PT_PLACE_ADDRESSES];
};

/* The words of a stack, and the place that is learnt from it. */
struct pt_place_room {
	pt_u64 word[PT_WAITS_WORDS];
	struct pt_place place;
};

/* A task whose switches are recorded. */
struct pt_follow {
	pt_u64 start; /* task_struct.start_boottime: the thread id may be used again */
	pt_u64 until; /* when interest in it expires */
	pt_u32 window;
	pt_u32 flags;		 /* enum task_flags of analysis/session/record_waits.h */
	pt_u32 hops;		 /* from a target */
	pt_u32 pending;		 /* 1: it ran when it was found, and is not announced yet */
	pt_u32 strangers, wakes; /* how many tasks that are not followed it woke, and others */
	pt_u32 user_trace;
	pt_u32 is_parent; /* 1: it is followed because of what it starts */
	pt_u64 user_key;
	pt_u64 stack_at; /* scratch: turns a pointer into a number */
};

struct pt_waits_request {
	pt_u64 start;
	pt_u32 tid, object;
	pt_u32 stranger; /* enum pt_stranger: its submitter, a thread of the kernel, is not followed
			  */
	pt_u32 window;	 /* of a stranger */
};
enum pt_stranger { PT_STRANGER_NONE = 0, PT_STRANGER, PT_STRANGER_DONE /* it has completed */ };

/* Identifies an object: an inode's address may be used again, its number hardly at the same time.
 */
struct pt_inode {
	pt_u64 address, number;
};

#endif
