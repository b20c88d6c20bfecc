/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that thread_snapshots.c and thread_snapshots_open.c share: the followed threads,
 * and the request for open calls.
 */
#ifndef PEAKTOP_COLLECT_THREAD_SNAPSHOTS_STATE_H
#define PEAKTOP_COLLECT_THREAD_SNAPSHOTS_STATE_H

#include "collect/attach.h"
#include "collect/state.h"

enum {
	MAX_THREADS = 2048,
	BUCKETS = 4096,
	/*
	 * most bytes of the stack of a sleeping thread: a wait in libuv has 12 KiB of events on it
	 */
	SNAPSHOT_STACK = 32768,
	MAX_MOVING = 64, /* stacks read in one scan; later scans read the others */
	MAX_RUNNING = 256,
};

struct snapshot_thread {
	struct pt_task_now now;	  /* state at the last scan; while `held`, since it fell asleep */
	uint64_t at;		  /* time of the last scan */
	uint64_t wall, cpu, runq; /* ns since the last record of this thread */
	uint64_t carried;	  /* time asleep, ns, for which no stack is known yet */
	uint64_t pending; /* ns that the last snapshot stands for and that were not sent yet */
	uint64_t reported;
	uint32_t scan; /* number of the last scan that saw it */
	uint32_t next; /* index + 1 of the next thread in its bucket */
	bool used, held;
	bool moved; /* its stack could not be read while it slept */
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
	uint64_t done, dropped; /* counts of samples, as of the last refill */
	double scale;		/* number of periods that one sample stands for */
	struct snapshot_thread threads[MAX_THREADS];
	uint32_t bucket[BUCKETS]; /* index + 1 of the first thread */
	uint32_t nr_threads, scan, moving;
	uint32_t list[MAX_MOVING];
	uint32_t seed;
	bool too_many;
	uint32_t error;
};

/* ---- thread_snapshots.c */
uint32_t snapshots_letter(uint32_t state);
uint64_t snapshots_since_start(const struct collector *c, uint64_t at);
/* Send a snapshot, with its stack if there is one. */
void snapshots_send(struct collector *c, struct rec_thread_snapshot *snapshot,
		    const struct pt_task_now *now, const unsigned char *stack, uint32_t bytes);
uint32_t snapshots_only_pid(const struct collector *c);
/* True if the thread is in poll() or select(). */
bool snapshot_polls(const struct pt_task_now *t);
/* Have the next iteration report what a thread in poll() waits for; then take it over. */
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

#endif
