/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that thread_snapshots.c and thread_snapshots_open.c share: the followed threads,
 * and the request for open calls.
 */
#pragma once

#include "collect/attach.h"
#include "collect/crowds.h"
#include "collect/replaced.h"
#include "collect/snapshot_ports.h"
#include "collect/snapshot_wait.h"
#include "collect/state.h"

enum {
	MAX_THREADS = 16384, /* that are followed */
	MAX_STACKS = 2048,   /* of these whose stacks are known at a time */
	BUCKETS = 16384,
	/*
	 * most bytes of the stack of a sleeping thread: a wait in libuv has 12 KiB of events on it
	 */
	SNAPSHOT_STACK = 32768,
	MAX_MOVING = 64, /* stacks read in one scan; later scans read the others */
	MAX_RUNNING = 256,
};

/* What a thread waits for; the strings of `snapshot` point into `text`. */
struct snapshot_described {
	struct rec_thread_snapshot snapshot;
	struct wait_text text;
};

struct snapshot_thread {
	struct pt_task_now now; /* state at the last scan; while `held`, since it fell asleep */
	uint64_t at;		/* time of the last scan */
	/* ns since the last record of this thread */
	uint64_t wall, cpu, runq, throttled;
	struct pt_quota quota; /* by which it was throttled last */
	uint64_t faults;       /* since the last record of this thread */
	/* of a process's first thread: the part of `now.ended_...` that records contain */
	uint64_t reported_cpu_ns, reported_faults;
	uint64_t carried;   /* time asleep, ns, for which no stack is known yet */
	uint64_t pending;   /* ns that the last snapshot stands for and that were not sent yet */
	uint64_t joined_ns; /* since the last record: told by the stacks of others */
	uint32_t waited;    /* scans in which its stack was to be read, and others came first */
	uint64_t reported;
	uint32_t scan; /* number of the last scan that saw it */
	uint32_t next; /* index + 1 of the next thread in its bucket */
	bool used, held;
	bool newborn;	/* it has started since the scan before the first one that saw it */
	bool moved;	/* its stack could not be read while it slept */
	bool joined;	/* asleep at a place of many threads, whose stacks tell its time */
	bool described; /* `wait` is of the present sleep */
	struct snapshot_described *wait;
	uint32_t bytes;
	unsigned char *stack;
};

struct thread_snapshots {
	bool walking;
	struct req_thread_snapshots open; /* the request that is being answered */
	bool opening;
	uint64_t open_since;
	struct pt_task_now running[MAX_RUNNING]; /* running threads that no timer has sampled yet */
	uint32_t nr_running;
	struct clocks clocks;
	uint32_t hz;
	uint64_t next;
	uint64_t scanned;	/* time of the last scan; 0: none yet */
	uint64_t took;		/* CPU time of the last scan, ns */
	uint64_t longest;	/* time between two scans if neither is late, ns */
	uint64_t done, dropped; /* counts of samples, as of the last refill */
	double scale;		/* number of periods that one sample stands for */
	struct snapshot_thread threads[MAX_THREADS];
	uint32_t bucket[BUCKETS]; /* index + 1 of the first thread */
	uint32_t nr_threads, slots /* used so far */, nr_stacks, scan, moving;
	uint32_t list[MAX_MOVING];
	struct crowd_member *members; /* of the present scan: the sleeping threads ... */
	uint32_t nr_members, cap_members;
	struct crowd_member
	    *left; /* ... and those that were joined with a crowd and have left it */
	uint32_t nr_left, cap_left;
	uint32_t left_out; /* threads for which the table has no room */
	uint32_t seed;
	struct known_ports ports;
	uint32_t error;
};

/* ---- thread_times.c */
/*
 * A thread that no scan has seen before: its times begin now. Of threads that have started since
 * the last scan, at `scanned` (0: there was none), there are as many more as this scan came too
 * late to see, so the sleep of one stands for all the time since that scan.
 */
void thread_begin(struct snapshot_thread *t, uint64_t scanned, uint64_t now);
/*
 * What this thread has used, which has ended, is in its own records. `first`: the first thread of
 * its process, which has the sums of all ended threads; NULL if that is not known.
 */
void thread_end(const struct snapshot_thread *t, struct snapshot_thread *first);
/* Send how the thread spent its time since its last record. */
void thread_times(struct collector *c, struct snapshot_thread *t, bool ended);
/*
 * Account the time since the last scan. Returns the time asleep, ns. The kernel counts only a part
 * of the time in which a quota was used up as a wait for a CPU, and the rest as nothing: if the
 * thread is throttled now, or was at the last scan and has not slept since, all is the quota's.
 */
uint64_t thread_account(struct snapshot_thread *t, const struct pt_task_now *now, uint64_t at);

/*
 * Divide the time asleep since the last scan of a thread that is not in the same sleep any more:
 * adds the end of that sleep to `pending` and returns the part that the next sleep to be found
 * stands for. Sleeps that began and ended unseen, but are so long that a scan had seen them if it
 * had come when it was due, at most `unseen_ns` after the one before, belong to none.
 */
uint64_t thread_divide(struct snapshot_thread *t, const struct pt_task_now *now, uint64_t slept,
		       uint64_t unseen_ns);
/* Take over the clock and what a thread has used that is in the same sleep as before. */
void thread_usage(struct pt_task_now *t, const struct pt_task_now *now);

/*
 * Send that `nr` threads, of which nothing else is known, were there for so long: their time counts
 * as not known.
 */
void threads_left_out(struct collector *c, uint32_t nr, uint64_t ns, uint64_t now);

/* ---- thread_table.c: the followed threads, by thread id */
struct snapshot_thread *table_find(struct thread_snapshots *l, uint32_t tid);
/* Returns NULL if there is no room. */
struct snapshot_thread *table_add(struct thread_snapshots *l, const struct pt_task_now *now);
void table_drop(struct thread_snapshots *l, struct snapshot_thread *t);
/* Have `stack` point to room for the thread's stack; NULL if out of memory. */
void table_need_stack(struct thread_snapshots *l, struct snapshot_thread *t);
void table_release(struct thread_snapshots *l);
/* Choose the threads whose stacks are read in this scan (`list`); others join their crowds. */
void crowd_turn(struct thread_snapshots *l);
/* Let the threads whose stacks are known tell the time of those that have joined them. */
void crowd_tell(struct thread_snapshots *l);
/* The sleep of a thread is over: keep the time for which it had joined a crowd. */
void crowd_leave(struct thread_snapshots *l, struct snapshot_thread *t);

/* ---- thread_describe.c */
/*
 * Find what a thread waits for, into `wait`. Once its sleep is over, its child or its process may
 * be gone. Returns false if out of memory.
 */
bool thread_describe(struct collector *c, struct snapshot_thread *t);

/* ---- thread_snapshots.c */
uint32_t snapshots_letter(uint32_t state);
uint64_t snapshots_since_start(const struct collector *c, uint64_t at);
/* Send a snapshot, with its stack if there is one. */
void snapshots_send(struct collector *c, struct rec_thread_snapshot *snapshot,
		    const struct pt_task_now *now, const unsigned char *stack, uint32_t bytes);
uint32_t snapshots_only_pid(const struct collector *c);
/*
 * True if a thread is still in the sleep in which it was seen. The freezer may stop a sleeping
 * thread, and let it go on, without waking it.
 */
bool snapshot_is_still(const struct pt_task_now *now, const struct pt_task_now *before);
/* True if the thread is in poll() or select(). */
bool snapshot_polls(const struct pt_task_now *t);
/*
 * Read the descriptors of a thread in poll() or select() from its memory, or the first ones of its
 * epoll. Returns false if it is in another system call, or runs.
 */
bool snapshots_polled_read(const struct pt_task_now *t, struct pt_polled *out);
/* Have the next iteration report what such a thread waits for; then take it over. */
void snapshots_polled_ask(struct collector *c, const struct pt_task_now *t);
void snapshots_polled_take(struct pt_task_now *t, const struct pt_task_now *again);

/* ---- thread_snapshots_open.c: take one snapshot of every thread; timers sample the running
 * ones */
void open_begin(struct collector *c);
/* Send the snapshot of one thread; `stack` is NULL if it was not read. */
void open_report_call(struct collector *c, const struct pt_task_now *now, uint32_t kind,
		      const unsigned char *stack, uint32_t bytes);
/* All threads were sent: acknowledge the request. */
void open_done(struct collector *c);
