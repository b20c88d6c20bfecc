/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sleep was: the one classifier. It turns facts (system call and arguments, kernel stack,
 * what stands behind the descriptor) into a kind, and a table says what each kind means: its
 * words, how its time is accounted, and whether a program that waits so is at work or idle.
 *
 * Who ended a sleep is another question: ender.c.
 */
#pragma once

#include "analysis/session/record.h"

enum wait_kind {
	WAIT_UNKNOWN = 0, /* nothing is known about the sleep */
	WAIT_CLOCK,	  /* asleep on purpose: nanosleep, poll without descriptors */
	WAIT_EVENTS,	  /* poll, select, epoll with descriptors */
	WAIT_CONNECTION,  /* accept */
	WAIT_SIGNAL,
	WAIT_CHILD,
	WAIT_VFORK,
	WAIT_JOIN,
	WAIT_LOCK, /* a futex that is used as a mutex */
	WAIT_CONDITION,
	WAIT_KERNEL_LOCK,
	WAIT_ADDRESS_SPACE, /* mmap_lock */
	WAIT_FILE_LOCK,
	WAIT_FILE_LOCK_POLLED, /* asleep until the next try to get it */
	WAIT_RETRY,	       /* asleep until the next try of a call that failed */
	WAIT_PIPE_EMPTY,
	WAIT_PIPE_FULL,
	WAIT_FIFO_WRITER, /* open() of a FIFO to read: nobody has it open to write */
	WAIT_FIFO_READER,
	WAIT_LOCAL, /* data from a local socket */
	WAIT_LOCAL_FULL,
	WAIT_DATAGRAM_FULL, /* a Unix socket: its reader has not taken earlier messages */
	WAIT_NETWORK,	    /* data from another host */
	WAIT_NETWORK_FULL,
	WAIT_HELD_BACK, /* for an answer, with own data that wait for an acknowledgement */
	WAIT_CONNECT,	/* connect(): until the peer has room for the connection */
	WAIT_MESSAGE,	/* message queues, eventfd */
	WAIT_MESSAGE_FULL,
	WAIT_SEMAPHORE, /* of System V; those of POSIX are futexes */
	WAIT_TERMINAL,
	WAIT_FILE,
	WAIT_DEVICE,
	WAIT_PAGE,	    /* a page fault that reads a file */
	WAIT_PROVIDED_PAGE, /* a page fault that a program serves: userfaultfd */
	WAIT_HUGE_PAGE,
	WAIT_SWAP,
	WAIT_WRITEBACK, /* until dirty pages are written */
	WAIT_THROTTLED, /* a writer that is held back: too many dirty pages */
	WAIT_JOURNAL,	/* of a file system */
	WAIT_RECLAIM,
	WAIT_COMPACTION,
	WAIT_URING,
	WAIT_STOPPED,
	WAIT_TRACED,
	WAIT_FROZEN,
	WAIT_FROZEN_FILES,
	WAIT_GRACE,	  /* until all CPUs have left what they may have been in: RCU */
	WAIT_FLUSH,	  /* until work items of the kernel are done */
	WAIT_QUOTA,	  /* runnable, but its CPU quota is used up */
	WAIT_KERNEL_IDLE, /* a thread of the kernel without work */
	WAIT_OTHER,
	WAIT_KINDS
};

/* What time is accounted as, best understood first. */
enum wait_account {
	ACCOUNT_RUN_SAMPLED = 0,
	ACCOUNT_DEVICE, /* block I/O at the device */
	ACCOUNT_RUN_UNSAMPLED,
	ACCOUNT_IO_QUEUE,
	ACCOUNT_RUN_QUEUE,
	ACCOUNT_HANDOFF,
	ACCOUNT_BUSY_OTHER, /* whom it waits for was busy with other work */
	ACCOUNT_LOCK,
	ACCOUNT_PAGE_FAULT,
	ACCOUNT_WRITEBACK, /* writeback, reclaim, journal */
	ACCOUNT_NETWORK,
	ACCOUNT_HARDWARE, /* interrupts */
	ACCOUNT_DELIBERATE,
	ACCOUNT_TIMED_OUT,
	ACCOUNT_IDLE,
	ACCOUNT_STOPPED,
	ACCOUNT_OTHER_PATH, /* a task that is known by name only */
	ACCOUNT_LOST,
	ACCOUNT_UNKNOWN,
	ACCOUNTS
};

/* What the time of a call is spent in: the kind of a cause. Documented in docs/descent.md,
 * "Causes". */
enum cause_kind {
	CAUSE_OWN_CODE = 0,
	CAUSE_LOOP,	  /* a loop in the function around calls that are each short */
	CAUSE_PREEMPTION, /* name: the task that took the CPU */
	CAUSE_RUN_QUEUE,
	CAUSE_INTERRUPT, /* name: the handler, detail: the interrupt number */
	CAUSE_PAGE_FAULT,
	CAUSE_IO,    /* name: the file or the device */
	CAUSE_LOCK,  /* name: the holder of the lock, if it is known */
	CAUSE_SLEEP, /* the program asked to sleep */
	CAUSE_TIMEOUT,
	CAUSE_NETWORK, /* name: the peer of the connection */
	CAUSE_WAIT,    /* waits for another task; name: the task */
	CAUSE_UNMEASURED,
	CAUSE_UNKNOWN,
	CAUSE_QUOTA, /* the CPU quota of a cgroup is used up; name: the cgroup */
	/* stopped by a signal, a debugger or the cgroup freezer; name: the one that stopped the
	 * thread */
	CAUSE_STOPPED,
	CAUSE_THROTTLED, /* too many dirty pages; name: the device */
	/* the kernel frees memory; name: the cgroup at its limit, "" for the whole host */
	CAUSE_RECLAIM,
	CAUSE_COMPACTION, /* the kernel moves memory to make a large contiguous block */
	CAUSE_SWAP,	  /* pages are read back from swap */
	CAUSE_HUGE_PAGE,  /* the kernel allocates a huge page */
	/* other kernel code; name: the kernel function, detail: the system call */
	CAUSE_KERNEL,
	CAUSE_SIGNAL, /* a signal handler ran; name: the handler */
	CAUSE_KINDS
};

/* The words for a cause. Those of a sleep are its kind's, unless its kind is not known. */
struct cause_kind_info {
	const char *json; /* "own code", "run queue", ... */
	const char *text;
	const char *before_name; /* between the text and a name: " by " */
};

const struct cause_kind_info *cause_kind_info(enum cause_kind kind);
/* Returns the name of the kind in the JSON output: "own code", "run queue", ... */
static inline const char *cause_kind_text(enum cause_kind kind)
{
	return cause_kind_info(kind)->json;
}

enum wait_time { WAIT_TIME_WORK = 0, WAIT_TIME_SLEEP, WAIT_TIME_IDLE };

struct wait_kind_info {
	const char *text;	   /* "waiting for a lock" */
	enum cause_kind cause;	   /* CAUSE_UNKNOWN: whoever ended it tells */
	enum wait_account account; /* where the chain ends at this sleep */
	enum wait_time time;
	bool exact; /* it is waited for nothing else, whoever ended it */
	/* of what is waited for: what its holder does with it ("held by"), and, of a queue, what is
	 * in it */
	const char *holds, *items;
};

const struct wait_kind_info *wait_kind_info(enum wait_kind kind);
/* The word of the JSON: "sampled run", "block I/O", ... */
const char *wait_account_text(enum wait_account account);

/* What functions of the kernel in the sleeping stack tell: bits. */
enum wait_hint {
	HINT_LOCK = 1 << 0,
	HINT_PAGE = 1 << 1,
	HINT_IO = 1 << 2,
	HINT_PIPE_READ = 1 << 3,
	HINT_PIPE_WRITE = 1 << 4,
	HINT_TERMINAL = 1 << 5,
	HINT_JOURNAL = 1 << 6,
	HINT_WRITEBACK = 1 << 7,
	HINT_RECLAIM = 1 << 8,
	HINT_COMPACTION = 1 << 9,
	HINT_SWAP = 1 << 10,
	HINT_VFORK = 1 << 11,
	HINT_KTHREAD = 1 << 12,
	HINT_INTERRUPT = 1 << 13, /* frames of an interrupt */
	HINT_EVENT = 1 << 14,	  /* reads an eventfd */
	HINT_THROTTLED = 1 << 15,
	HINT_SIGNAL = 1 << 16,	      /* of a waker: sends a signal */
	HINT_SOFTIRQ = 1 << 17,	      /* runs soft interrupts */
	HINT_SENDS = 1 << 18,	      /* outside of these: sends a packet */
	HINT_FIFO = 1 << 19,	      /* opens a FIFO */
	HINT_SERVED = 1 << 20,	      /* asks the server of a file system: FUSE, NFS */
	HINT_ADDRESS_SPACE = 1 << 21, /* wants the lock of an address space */
	HINT_FROZEN_FILES = 1 << 22,  /* wants to write to a file system that is frozen */
	HINT_GRACE = 1 << 23,
	HINT_FLUSH = 1 << 24,
	HINT_QUEUE_FULL = 1 << 25, /* the queue of the other end of a Unix socket is full */
	HINT_FREEZER = 1 << 26,	   /* sleeps in nothing but the cgroup freezer */
	HINT_HUGE_PAGE = 1 << 27,
	HINT_SUBMIT = 1 << 28, /* hands requests for I/O to a device */
	HINT_OWNED = 1 << 29,  /* the lock has an owner that can be read */
	HINT_CHILD = 1 << 30,  /* tells its parent that it has ended, by a signal and otherwise */
	HINT_PROVIDED = 1u << 31, /* in a page fault that a program serves */
};

/* `kernel`: functions of the kernel, a semicolon between. Done once for a stack. */
uint32_t wait_hints(const char *kernel);
/* The same of `nr` names, innermost first (NULL: not known). *wants: the function that wants the
 * lock of HINT_LOCK; "" if that is not known. */
uint32_t wait_hints_of(const char *const *names, uint32_t nr, const char **wants);

struct wait_facts {
	int32_t syscall; /* -1: none */
	uint64_t args[WAITS_ARGS];
	uint32_t object; /* enum object_kind */
	uint32_t state;	 /* enum switch_state */
	uint32_t hints;	 /* enum wait_hint */
	bool has_object, serves;
	bool in_fault;
	bool contends;	 /* for a lock of the kernel */
	bool for_thread; /* of a futex: the expected value is the tid of a thread of this process */
	bool exclusive;	 /* of a futex without arguments: it was used as a lock */
	bool kernel_thread;
	bool held_back;		    /* as SLEEP_HELD_BACK */
	bool retries, retries_lock; /* as SLEEP_RETRIES */
	bool queue_full;	    /* of datagrams, at the other end */
};

enum wait_kind wait_kind_of(const struct wait_facts *f);
/* The kind of a sleep of a descent. `kernel`: as for wait_hints(). `serves`: the thread waits on
 * the serving side of a connection. */
enum wait_kind wait_kind_of_sleep(const struct rec_sleep *s, const char *kernel, bool serves);
enum wait_kind wait_kind_of_snapshot(const struct rec_thread_snapshot *snapshot);
/* True for calls that read: whether time in them is idle depends on what is read. */
bool wait_reads(int32_t syscall);

/* A sleep of this kind that a timer ended was asleep on purpose; else it timed out. */
static inline bool wait_is_deliberate(enum wait_kind kind)
{
	return kind == WAIT_CLOCK;
}

/* A wait timed out after `slept_ns`, and the thread waits for the same again after `gap_ns`: is
 * that the same wait, which a loop begins again? Of a futex it is certain that it waits for the
 * same; between both it may have had to wait for a CPU. */
static inline bool wait_is_begun_again(uint64_t gap_ns, uint64_t slept_ns, bool futex)
{
	return gap_ns <= 100000 || gap_ns <= (futex ? slept_ns : slept_ns / 10);
}

/* Asleep by a timer until the next try of a call that failed? */
static inline bool wait_is_retry(enum wait_kind kind)
{
	return kind == WAIT_FILE_LOCK_POLLED || kind == WAIT_RETRY;
}

/* Stopped from outside? */
static inline bool wait_is_stop(enum wait_kind kind)
{
	return kind == WAIT_STOPPED || kind == WAIT_TRACED || kind == WAIT_FROZEN ||
	       kind == WAIT_FROZEN_FILES;
}

/* Has whoever ended it held what was waited for? Locks of the kernel do not tell: a thread that
 * waits for one itself may wake the next one. Whoever thaws a file system need not have frozen it.
 * A thread of the kernel that ends a grace period only counts who is still in it. */
static inline bool wait_is_ended_by_holder(enum wait_kind kind)
{
	return kind != WAIT_KERNEL_LOCK && kind != WAIT_ADDRESS_SPACE && kind != WAIT_GRACE &&
	       kind != WAIT_FLUSH && !wait_is_stop(kind);
}

/* Does it pass by itself, whoever ends it? Who lets a thread go on has not kept it from running;
 * who tells that a grace period is over has not made it longer; the timer of a retry is not what it
 * waits for. */
static inline bool wait_passes_by_itself(enum wait_kind kind)
{
	return wait_is_stop(kind) || kind == WAIT_GRACE || wait_is_retry(kind);
}

/* Does it wait for a device that reads or writes? */
static inline bool wait_is_io(enum wait_kind kind)
{
	return kind == WAIT_FILE || kind == WAIT_PAGE || kind == WAIT_SWAP ||
	       kind == WAIT_WRITEBACK || kind == WAIT_JOURNAL;
}

/* Does it wait for a lock that somebody holds? */
static inline bool wait_is_lock(enum wait_kind kind)
{
	return kind == WAIT_LOCK || kind == WAIT_KERNEL_LOCK || kind == WAIT_ADDRESS_SPACE ||
	       kind == WAIT_FILE_LOCK || kind == WAIT_FILE_LOCK_POLLED;
}

/* Is the thread kept from going on with its work, until there is room or a lock is free? Whatever
 * those that it waits for do, it is not idle; and each time that it is woken, it may get some. */
static inline bool wait_is_blocked(enum wait_kind kind)
{
	return wait_is_lock(kind) || kind == WAIT_PIPE_FULL || kind == WAIT_FIFO_READER ||
	       kind == WAIT_LOCAL_FULL || kind == WAIT_DATAGRAM_FULL || kind == WAIT_NETWORK_FULL ||
	       kind == WAIT_MESSAGE_FULL;
}
