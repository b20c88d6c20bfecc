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
	MAX_CLOCKS = 256,
	MAX_MOVING = 64, /* stacks read in one scan: the others have their turn later */
	MAX_RUNNING = 256,
};

struct snapshot_thread {
	struct pt_task_now now;	  /* at the last scan; while `held`, from when it fell asleep */
	uint64_t at;		  /* of the last scan */
	uint64_t wall, cpu, runq; /* since the last record of this thread */
	uint64_t carried;	  /* time asleep whose stack is not known */
	uint64_t pending; /* ns that the last snapshot stands for and that were not sent yet */
	uint64_t reported;
	uint32_t scan; /* in which it was seen */
	uint32_t next; /* in its bucket: index + 1 */
	bool used, held;
	bool moved; /* its stack could not be read while it stood still */
	uint32_t bytes;
	unsigned char *stack;
};

struct thread_snapshots {
	bool walking;
	struct req_thread_snapshots open; /* the question that is being answered */
	bool opening;
	uint64_t open_since;
	struct pt_task_now running[MAX_RUNNING]; /* not sampled by a timer yet */
	uint32_t nr_running;
	struct attachment clocks[MAX_CLOCKS];
	uint32_t nr_clocks, hz;
	uint64_t next;
	uint64_t done, dropped; /* of the samples, as of the last refill */
	double scale;		/* number of periods that one sample stands for */
	struct snapshot_thread threads[MAX_THREADS];
	uint32_t bucket[BUCKETS]; /* index + 1 */
	uint32_t nr_threads, scan, moving;
	uint32_t list[MAX_MOVING];
	uint32_t seed;
	bool too_many;
	uint32_t error;
};

/* looks.c */
uint32_t snapshots_letter(uint32_t state);
uint64_t snapshots_since_start(const struct collector *c, uint64_t at);
/* Send a snapshot, with its stack if there is one. */
void snapshots_send(struct collector *c, struct rec_thread_snapshot *snapshot,
		    const struct pt_task_now *now, const unsigned char *stack, uint32_t bytes);
uint32_t snapshots_only_pid(const struct collector *c);
/* Code that is not known yet: a file was mapped since. */
void snapshots_mappings_check(struct collector *c, const struct pt_task_now *t);

/* looks_open.c: ask every thread once; those that run are left to the clocks. */
void open_begin(struct collector *c);
/* Tell one thread, with its stack if that was read. */
void open_report_call(struct collector *c, const struct pt_task_now *now, uint32_t kind,
		      const unsigned char *stack, uint32_t bytes);
/* Everybody was told: say so. */
void open_done(struct collector *c);

#endif
