/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of threads: stacks, what a thread sleeps on, and thread snapshots. Part of
 * record.h, which includes this file. */
#include "analysis/session/record.h"
#ifndef PEAKTOP_RECORD_THREAD_H
#define PEAKTOP_RECORD_THREAD_H

#include "analysis/session/record_waits.h"

/* The kernel as a module: offsets count from the begin of its text, so that they are the same after
 * a reboot. A system call is a function of it too, with the number in the lower bits; so is the
 * handling of a page fault. Names come as REC_SYMBOL. */
#define REC_KERNEL_MODULE UINT32_MAX
#define REC_KERNEL_CALL (1ull << 62)
#define REC_KERNEL_FAULT (REC_KERNEL_CALL | 0xffffff)

static inline bool code_is_syscall(struct rec_code c)
{
	return c.module == REC_KERNEL_MODULE && c.offset & REC_KERNEL_CALL &&
	       c.offset != REC_KERNEL_FAULT;
}

/* One frame of a stack. */
struct rec_frame {
	uint32_t module;
	uint64_t offset; /* the innermost frame's instruction; else the return address */
	/* first byte of the function that contains it; module 0: 0 or CALLERS_UNKNOWN */
	uint64_t function;
};
/* `function` of a last frame that stands for callers which are not known: the stack was cut. */
#define CALLERS_UNKNOWN UINT64_MAX

enum witness_kind { WITNESS_RUN = 0, WITNESS_SLEEP };

/* What the kernel did for a thread, asleep or on a CPU: also in the `sleep` of a WITNESS_RUN, of
 * which nothing else is meant then. */
enum sleep_work {
	SLEEP_NO_WORK = 0,
	SLEEP_IN_RECLAIM, /* frees memory; name: the cgroup whose limit was reached, "": the host's
			   */
	SLEEP_IN_COMPACTION, /* moves pages to have large free areas */
	SLEEP_IN_SWAP,	     /* reads pages back from swap */
	SLEEP_IN_HUGE_PAGE,  /* makes a huge page */
	SLEEP_IN_DIRTY, /* throttled: too many dirty pages; name: the device, holder: the largest
			   writer */
	SLEEP_IN_SPIN,	/* spins for a kernel lock; holder: its owner */
	SLEEP_STOPPED,	/* by a signal; holder: the sender */
	SLEEP_TRACED,	/* by a debugger; holder: which */
	SLEEP_FROZEN,	/* name: the cgroup */
	SLEEP_IN_PROBE, /* for a lock of the kernel that a probe of peaktop takes */
	SLEEP_PARKED, /* a goroutine that is parked; name: its wait reason, "" if that is not known
		       */
	SLEEP_IN_SUBMIT, /* on a CPU: hands requests for I/O to a device */
	SLEEP_IN_QUOTA,	 /* runnable; name: the cgroup whose CPU quota is used up, about: the quota
			  */
	SLEEP_WORKS
};

enum sleep_flags {
	SLEEP_IN_IOWAIT = 1 << 0,    /* the kernel counts it as a wait for a device */
	SLEEP_CONTENDS = 1 << 1,     /* for a lock of the kernel, by its tracepoint */
	SLEEP_BY_KSOFTIRQD = 1 << 2, /* the waker runs soft interrupts that were put off */
	SLEEP_BY_ITSELF = 1 << 3,    /* the waker is the thread itself */
	/* the value that a futex expects is the number of a thread of the process: `waker` */
	SLEEP_FOR_THREAD = 1 << 4,
	/* its own data are not sent before the peer acknowledges earlier ones (Nagle) */
	SLEEP_HELD_BACK = 1 << 5,
	/* it sleeps until the next try of a call that has failed, as before the sleep before:
	 * `about` says which call, `name` on what */
	SLEEP_RETRIES = 1 << 6,
	SLEEP_RETRIES_LOCK = 1 << 7, /* the same: for a lock on a file that `holder` has */
	SLEEP_AS_CLIENT = 1 << 8,    /* of a kept call: it polls one connection, as its client */
};

/* What was seen of a sleep in a descent or a thread snapshot. These are facts: analysis/waits/
 * decides what the sleep was (kinds.h) and who ended it (ender.h). */
struct rec_sleep {
	int32_t syscall;  /* number; -1: none */
	const char *call; /* name of the system call, "" */
	uint64_t args[WAITS_ARGS];
	uint32_t object;       /* enum object_kind: what stands behind the descriptor */
	const char *name;      /* of the object, or of what is mapped at the missing page */
	uint32_t flags;	       /* enum sleep_flags */
	uint32_t bracket;      /* in which the waking came: one BRACKET(); 0: in none */
	const char *interrupt; /* name of the interrupt of `bracket`, "" */
	/* the task that was current at the waking; 0: not known */
	uint32_t waker_pid, waker_tid;
	const char *waker;    /* its comm, ""; in a snapshot: who can end the sleep */
	const char *holder;   /* of the lock when the sleep began, "" */
	uint64_t slept_ns;    /* 0: not known; so are the next ones */
	uint64_t asked_ns;    /* after which its timer would have ended it */
	uint64_t slack_ns;    /* timer slack: delay that the thread's timers may have */
	uint32_t retransmits; /* of its TCP connection meanwhile */
	const char *doing;    /* what the waker, or the holder, did meanwhile: "was in fsync", "was
				 preempted by make 812"; "" */
	uint32_t work;	      /* enum sleep_work */
	const char *about;    /* of `work` or of retries: details in words; "" if none */
	/* Of the queue of datagrams or connections in which it waits for room: how many are in it,
	 * how many it holds, and how often it had no room so far; room 0: not known. `holder` is
	 * who takes from it. */
	uint32_t queued, room, overflows;
};

/* The `sleep` of a sample of a running thread. */
#define SLEEP_NONE                                                                                 \
	{                                                                                          \
		.syscall = -1, .call = "", .name = "", .waker = "", .holder = "", .doing = "",     \
		.about = ""                                                                        \
	}

/* The parameters of a walk (analysis/walk/walk.h). */
struct rec_walk {
	uint32_t maxcount_ppm; /* of the largest share: what is followed */
	uint32_t max_depth;
	uint32_t min_snapshots; /* at work, before there is an answer */
	uint32_t stop;		/* 1: the walk is over; all other fields are unused */
};

enum snapshot_reason { SNAPSHOTS_FOR_WALK = 0, SNAPSHOTS_FOR_OPEN };

/* Who can end a wait for events; the first four and AWAITS_OWED as in bpf/ring.h. */
enum awaits {
	AWAITS_UNKNOWN = 0,
	AWAITS_OWN,	 /* pipes, timers, signals and the like: no socket, no terminal */
	AWAITS_OTHERS,	 /* a socket or a character device, too */
	AWAITS_PAIR,	 /* a Unix socket without names: not known which end sends requests */
	AWAITS_CHILD,	 /* a pipe that only a process writes that this one has started, or the end
			    of commands that it has started */
	AWAITS_PEER,	 /* the server at the other end of the only connection of an epoll */
	AWAITS_CHILDREN, /* perhaps the end of children, some of which may be its workers */
	AWAITS_OWED,	 /* clients and others, while a client has, or perhaps has, sent a request
			    that is not answered */
};

/* What one thread is doing, and what it waits for. In a walk a snapshot stands for some
 * time of the thread; for --open it is the state at one moment. */
struct rec_thread_snapshot {
	uint32_t reason; /* enum snapshot_reason */
	uint32_t round;	 /* of the REQ_THREAD_SNAPSHOTS */
	uint32_t pid, tid;
	const char *comm;
	uint64_t at_ns;
	uint64_t weight_ns; /* SNAPSHOTS_FOR_WALK: slept, or the CPU time that it stands for */
	uint32_t kind;	    /* enum witness_kind */
	uint32_t state;	    /* letter as in /proc: S, D, T, R */
	struct rec_sleep sleep;
	uint64_t args[SAMPLE_ARGS]; /* of the system call */
	uint32_t serves;    /* 1: it waits on the serving side of a connection, or for one */
	uint64_t asleep_ns; /* since it last ran; 0: it runs */
	uint64_t open_ns; /* age of the call of `op`, or of the system call; 0: not known, it began
			     before */
	uint32_t op;	  /* 0: none was asked for */
	const char *kernel; /* functions of the kernel, outermost first, a semicolon between; "" */
	uint32_t
	    stop; /* enum unwind_stop: why there are no more frames; 0: the stack is complete */
	const char *stop_text;
	uint32_t nr_frames;
	const struct rec_frame *frames; /* outermost first */
	uint32_t awaits; /* enum awaits, of a thread that waits for events, a signal, a child or a
			    pipe */
};

/* How a thread spent its time since its last record of this type. It slept for the rest of
 * wall_ns. */
struct rec_thread {
	uint32_t pid, tid;
	const char *comm;
	uint64_t at_ns;
	uint64_t wall_ns, cpu_ns, runqueue_ns;
	uint32_t ended;
	uint64_t quota_ns;	  /* it could not run because a CPU quota was used up */
	const char *quota_of;	  /* the cgroup, "" if that is not known ... */
	const char *quota_detail; /* ... and the quota, "": not known */
	uint64_t faults;	  /* page faults */
	/* of a process's first thread: what threads used that ended between two scans */
	uint64_t unseen_cpu_ns, unseen_faults;
	/* time that a page fault takes on this host: of the cheapest kind, and of a dear one */
	uint64_t fault_low_ns, fault_high_ns;
	/* part of wall_ns: asleep at one place with many threads, whose snapshots tell this time */
	uint64_t joined_ns;
	/* not 0: the record is of so many threads that were not looked at, and wall_ns their sum */
	uint32_t left_out;
};

/* A thread, or a process with all its threads. */
struct rec_chosen {
	uint32_t id;
	uint32_t is_process;
};

/* The threads whose calls count; none chosen: all threads. As a request only the list is used. As a
 * record it says that the profiles begin anew at this time. */
struct rec_choice {
	uint64_t at_ns;
	uint32_t threads;	 /* of all targets, at this time */
	uint32_t chosen_threads; /* of them those that were chosen */
	uint32_t nr_chosen;
	const struct rec_chosen *chosen;
};

/* Unwound by the front's parser, it becomes a REC_THREAD_SNAPSHOT. */
struct rec_raw_snapshot {
	struct rec_thread_snapshot snapshot; /* without frames */
	uint32_t nr_regs;
	const uint64_t *regs; /* in the order of struct rec_stack */
	uint32_t nr_words;
	const uint64_t *words;
	/* how often the thread had left its CPU, if it was still asleep when this was sent; else 0
	 */
	uint64_t switches;
	/* What REC_STACK_PIECE records have added above the words: an address, a number of words
	 * and these words, for each of at most STACK_PIECES pieces. The collector sends none. */
	uint32_t nr_pieces;
	const uint64_t *pieces;
};

enum {
	STACK_PIECE_WORDS = 256, /* at most */
	STACK_PIECES = 8,
	STACK_PIECES_WORDS = STACK_PIECES * (STACK_PIECE_WORDS + 2),
};

/* Read the stack of a thread around `address`, where the unwinder needs a word that the copy does
 * not have: a frame between was larger than the copy. */
struct req_stack_piece {
	uint32_t pid, tid;
	uint64_t switches, sp; /* of the REC_RAW_SNAPSHOT */
	uint64_t address;
};

struct rec_stack_piece {
	uint32_t tid;
	uint64_t wanted;   /* the address of the request */
	uint64_t address;  /* of the first word */
	uint32_t nr_words; /* 0: the thread has moved, or there is no such memory */
	const uint64_t *words;
};

/* Which open calls the snapshots of SNAPSHOTS_FOR_OPEN are to show. */
struct rec_open_ask {
	const char *requested;	  /* as the user wrote it; "": all open calls */
	const char *syscall;	  /* ""; else the name of a system call */
	struct rec_code function; /* module 0: none */
};

/* SNAPSHOTS_FOR_OPEN: one snapshot of each thread; an ACK with the round as its epoch says
 * that all were sent. SNAPSHOTS_FOR_WALK: repeated snapshots, until a request with `stop`. */
struct req_thread_snapshots {
	uint32_t reason; /* enum snapshot_reason */
	uint32_t round;
	uint32_t op; /* SNAPSHOTS_FOR_OPEN: whose calls are meant; 0: any */
	uint32_t stop;
};

#endif
