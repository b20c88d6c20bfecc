/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For whom the targets wait: segments of all tasks of interest, who ended each sleep, chains
 * (pseudostacks) through any number of processes, accounting, and the critical path.
 *
 * Feed it the stream of records (record_waits.h); others are ignored. Records are put in order
 * and take effect 20 ms later, or at the end of their window. A chain is counted when the
 * segment of the target that it begins with is over. Pure: no clock, no I/O. All memory is
 * bounded by the configuration. docs/waits.md explains the rules.
 */
#pragma once

#include "analysis/session/record.h"
#include "analysis/waits/ender.h"

enum waits_group { WAITS_BY_THREAD = 0, WAITS_BY_PROCESS };
enum { WAITS_ALIKE = 5 }; /* fewer tasks of one name are shown one by one */

/* 0 stands for the default. */
struct waits_config {
	uint64_t horizon_ns;   /* how far back a chain may look: 30 s */
	uint32_t max_segments; /* 512k */
	uint32_t max_tasks;    /* 128k */
	uint32_t max_traces;   /* 16k */
	uint32_t max_nodes;    /* of the tree of chains: 64k */
	uint32_t max_events;   /* that wait to be put in order: 256k */
	enum waits_group group;
	bool rsp_compat;  /* follow a segment only if it lies within its parent, give or take
			     100 us, as the RSP paper does; else it is clipped to its parent */
	bool no_chains;	  /* only segments and the critical path */
	bool no_critical; /* no critical path */
	/* Chains and critical path of sampled calls (REC_SAMPLE) instead of whole threads. See
	 * waits_limit_calls(). */
	bool calls_only;
	uint32_t calls_of;		      /* their operation */
	uint64_t calls_low_ns, calls_high_ns; /* low <= latency < high */
};

enum segment_state {
	SEGMENT_NONE = 0,
	SEGMENT_RUN,
	SEGMENT_READY, /* waits for a CPU */
	SEGMENT_SLEEP,
	SEGMENT_UNKNOWN, /* its state was not known yet */
	SEGMENT_LOST,	 /* records are missing */
	SEGMENT_GONE
};

enum ready_why { READY_WOKEN = 0, READY_NEW, READY_PREEMPTED, READY_YIELDED, READY_THROTTLED };

struct waits;
/* NULL: no memory. `config` NULL: all defaults. */
struct waits *waits_new(const struct waits_config *config);
void waits_free(struct waits *w);
/* 0, or -ENOMEM: the record is lost and counted. */
int waits_feed(struct waits *w, const struct record *rec);
/* Take into account what has arrived, though older records might still come. */
void waits_flush(struct waits *w);

/* From now on only these threads of the targets have chains, are accounted for, and can be the end
 * of the critical path; `nr` 0: all. Returns 0 or -ENOMEM. */
int waits_choose(struct waits *w, const struct rec_chosen *chosen, uint32_t nr);

struct waits_stats {
	uint64_t records;
	uint64_t observed_ns, elapsed_ns; /* in windows; from the begin of the first one */
	uint32_t windows;
	uint64_t lost_records, gaps, bursts;
	uint64_t tainted_ns; /* of CPUs */
	uint64_t clamped;    /* events whose time was before that of an earlier one */
	uint64_t late;	     /* events that came more than 20 ms too late */
	uint64_t mismatches; /* switches that do not fit what is known */
	uint64_t false_wakeups, merged;
	uint64_t limits;	 /* chains cut off: too deep or too long */
	uint64_t beyond;	 /* parts of chains that lay before the horizon */
	uint64_t steal_ns;	 /* that the host took from CPUs */
	uint64_t tasks_full;	 /* tasks for which there was no room */
	uint64_t unknown_irq;	 /* sleeps that an interrupt ended of which nothing is known */
	uint64_t sleeps[ENDERS]; /* of targets, by who ended them */
};
void waits_stats(const struct waits *w, struct waits_stats *out);

/* With calls_only: follow these calls from now on. */
void waits_limit_calls(struct waits *w, uint32_t op, uint64_t low_ns, uint64_t high_ns);
struct waits_calls {
	uint32_t op; /* 0: waits are not limited to calls */
	uint64_t low_ns, high_ns;
	uint64_t sampled;  /* calls of which a sample came */
	uint64_t followed; /* of these: lay within a window */
	uint64_t outside;  /* of these: did not, or not all of it */
	uint64_t ns;	   /* of those that were followed */
};
void waits_calls(const struct waits *w, struct waits_calls *out);

struct waits_account {
	uint64_t ns[ACCOUNTS];
	uint64_t total_ns;
	/* 0..1: without unknown and LOST, of all time; of the RSP paper's denominator */
	double wall, rsp;
	double unknown, lost;
};
void waits_account(const struct waits *w, struct waits_account *out);

/* The state of one layer of a chain, for JSON and marks. */
enum layer_state {
	CHAIN_RUN = 0,
	CHAIN_RUNNABLE,
	CHAIN_SLEEP,
	CHAIN_IO,
	CHAIN_NET,
	CHAIN_INTERRUPT,
	CHAIN_TIMER
};
const char *layer_state_text(enum layer_state state);

enum layer_note {
	NOTE_FALSE_WAKEUP = 1 << 0, /* woken, ran under 100 us, woke nobody, and slept again */
	NOTE_MERGED = 1 << 1,	    /* several sleeps that timers ended, reported as one */
	NOTE_FORK = 1 << 2,	    /* the parent, before this task was made */
	NOTE_BUSY = 1 << 3,	    /* had not got the request yet */
	NOTE_HANDOFF = 1 << 4,
	NOTE_BEFORE = 1 << 5, /* began before the window */
	NOTE_HORIZON = 1 << 6,
	NOTE_LIMIT = 1 << 7,
	NOTE_NOT_FOLLOWED = 1 << 8,
	NOTE_STILL = 1 << 9,	     /* still asleep when the window ended */
	NOTE_QUEUED = 1 << 10,	     /* of I/O: not issued to the device yet */
	NOTE_SIGNAL = 1 << 11,	     /* whoever ended it sent a signal */
	NOTE_NOT_RECORDED = 1 << 12, /* of a task that is followed: whether it ran is not known */
	/* the process of the layer above has started that of this task; of a sleep that has not
	 * ended (NOTE_STILL): its own process has started the one that it waits for */
	NOTE_CHILD = 1 << 13,
};

/* One layer of a pseudostack. Texts are as the host gave them. */
struct waits_layer {
	enum layer_state state;
	uint32_t pid, tid; /* tid 0: no task */
	const char *comm;
	uint32_t notes;			   /* enum layer_note */
	enum wait_kind kind;		   /* of a sleep */
	enum ready_why why;		   /* of a wait for a CPU */
	int32_t syscall;		   /* -1: none */
	const char *what;		   /* file, peer, handler, who had the CPU; "" */
	const struct trace *user, *kernel; /* NULL: none */
	const char *hint;   /* a thread that finished what was polled for, and woke nobody; "" */
	uint32_t operation; /* CHAIN_IO: as in BLOCK_OPERATION(); 0: not known */
	const char *device; /* CHAIN_IO: the disk; ""; one text has one address */
	uint32_t tasks; /* of waits_chains_join(): so many tasks; pid and tid are of one of them.
			   0: one task */
};

/* Waits for locks that a task ended. */
struct lock_waits {
	uint64_t lock; /* a number for the lock; 0: none; LOCKS_DIFFER: they were for several */
	uint64_t count;
};
#define LOCKS_DIFFER UINT64_MAX
static inline void lock_waits_add(struct lock_waits *to, struct lock_waits more)
{
	if (more.lock)
		to->lock = !to->lock || to->lock == more.lock ? more.lock : LOCKS_DIFFER;
	to->count += more.count;
}

/* Block requests that ended the sleep above, or that its task had submitted and that completed
 * meanwhile. The times are those of all of them, which may have passed at the same time. */
struct request_sums {
	uint64_t count, bytes;
	uint64_t queue_ns;  /* from the submission until the device got them */
	uint64_t device_ns; /* from then to their completion */
};
static inline void request_sums_add(struct request_sums *to, const struct request_sums *more)
{
	to->count += more->count;
	to->bytes += more->bytes;
	to->queue_ns += more->queue_ns;
	to->device_ns += more->device_ns;
}

/* A node of the consolidated tree of chains: parents come before children. */
struct waits_node {
	uint32_t parent; /* index; of the outermost layers: their own */
	struct waits_layer layer;
	enum wait_account account;     /* of `self_ns` */
	uint64_t self_ns;	       /* spent exactly here */
	uint64_t total_ns;	       /* with the layers below */
	uint64_t count, first_ns;      /* times; when it was seen first */
	uint64_t account_ns[ACCOUNTS]; /* of `self_ns` */
	struct lock_waits locks;
	struct request_sums requests; /* CHAIN_IO, without NOTE_QUEUED */
};

struct waits_chains {
	uint32_t nr;
	struct waits_node *nodes; /* siblings in the order in which they were seen first */
	uint64_t total_ns;
	uint64_t no_room_ns; /* part of chains for which there was no room in the tree */
	bool of_calls;	     /* of calls: their sleeps are no rest, and nothing in them is idle */
};
/* A copy of what is known now; its pointers are valid until the next record. 0 or -ENOMEM. */
int waits_chains(const struct waits *w, struct waits_chains *out);
void waits_chains_release(struct waits_chains *c);
/* Join tasks that are alike: if at least WAITS_ALIKE tasks of the same name stand below one layer,
 * those that did the same become one layer. `outermost`: whether threads of a process, of one name,
 * that did the same become one outermost layer, too, whose tid is the pid. Waits in one system call
 * that differ only in the stack of the kernel, which no text shows, become one layer, too; and so
 * do waits whose call path is not known with the same ones that have it, if nearly all of these
 * have one. 0, or -ENOMEM: nothing has changed. */
int waits_chains_join(struct waits_chains *c, enum waits_group outermost);
/* A copy for a sentence, which shows no stacks: alike tasks are joined as above, and all runs of a
 * task below one layer are one, and so are its waits for the same, whether they were in vain or
 * not. 0, or -ENOMEM: *out is empty. Release it. */
int waits_chains_outline(const struct waits_chains *c, enum waits_group outermost,
			 struct waits_chains *out);

/* The block requests of chains by device and operation, those with most time first. */
struct waits_requests {
	const char *device; /* "": not known */
	uint32_t operation; /* as in BLOCK_OPERATION() */
	struct request_sums sums;
};
/* Returns how many were stored, at most `max`; those of further kinds are left out. */
uint32_t waits_chains_requests(const struct waits_chains *c, struct waits_requests *out,
			       uint32_t max);

/* Work that targets started (by waking or fork) and did not wait for, largest first. */
struct waits_started {
	uint32_t pid, tid;
	const char *comm;
	uint64_t ns;
};
uint32_t waits_started(const struct waits *w, struct waits_started *out, uint32_t max);
