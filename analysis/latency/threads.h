/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of the targets, from records: how each spent its time lately (REC_THREAD), what it
 * waits for (REC_THREAD_SNAPSHOT), and in which operation it spends most time (REC_SAMPLE).
 * Pure. */
#pragma once

#include "analysis/session/record.h"

enum { THREADS_MAX = 4096, THREAD_OPS = 4, THREAD_WAIT_MAX = 128 };

struct thread_state {
	uint32_t pid, tid;
	char comm[24];
	/* of the latest interval; it slept for the rest of wall_ns. 0: not known */
	uint64_t at_ns, wall_ns, cpu_ns, runqueue_ns;
	char wait[THREAD_WAIT_MAX]; /* what it did at the last snapshot; "": not known */
	/* estimated time in operations, largest first; op 0: a free slot */
	struct {
		uint32_t op;
		double ns;
	} ops[THREAD_OPS];
};

struct threads {
	struct thread_state *list; /* ascending tid; those that ended are removed */
	size_t nr, cap;
	bool too_many; /* some are missing */
};

/* The threads whose calls are counted, if the user chose some. */
struct thread_choice {
	struct rec_chosen *list;
	size_t nr;			  /* 0: all threads */
	uint32_t threads, chosen_threads; /* when the choice was made */
};

/* Takes over a choice. Returns 0 or -ENOMEM. */
int thread_choice_set(struct thread_choice *c, const struct rec_choice *rec);
void thread_choice_release(struct thread_choice *c);
/* True if the thread was chosen: by itself, or with its process. */
bool thread_choice_has(const struct thread_choice *c, uint32_t pid, uint32_t tid);
/* True if the process was chosen with all its threads. */
bool thread_choice_has_process(const struct thread_choice *c, uint32_t pid);

void threads_release(struct threads *t);
/* Takes a record; ignores those of other types. */
void threads_feed(struct threads *t, const struct record *rec);
