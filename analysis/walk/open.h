/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is open now: the looks of the last round at all threads (REC_THREAD_SNAPSHOT with
 * SNAPSHOTS_FOR_OPEN), one for each thread. A call that began before anybody watched is found
 * by its frame on the stack, or by the system call that the thread is in.
 */
#ifndef PEAKTOP_OPEN_H
#define PEAKTOP_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/session/record.h"

enum { OPEN_MAX_THREADS = 2048 };

struct open_calls;

struct open_calls *open_calls_new(void);
void open_calls_free(struct open_calls *o);
/* REC_THREAD_SNAPSHOT; others are ignored. A look of a newer round forgets the older ones. 0 or
 * -ENOMEM. */
int open_calls_feed(struct open_calls *o, const struct record *rec);
uint32_t open_calls_round(const struct open_calls *o);
/* Those of the last round: asleep for the longest time first. */
size_t open_calls_nr(const struct open_calls *o);
const struct rec_thread_snapshot *open_calls_at(const struct open_calls *o, size_t i);

/* Whose calls are meant: a function, a system call, or whatever is open. */
struct open_ask {
	struct rec_code function; /* module 0: not a function */
	const char *syscall;	  /* NULL: not a system call */
};

/* Is this thread in such a call? `*frame`: index of the outermost frame of it, nr_frames for a
 * system call. */
bool open_matches(const struct rec_thread_snapshot *snapshot, const struct open_ask *ask,
		  uint32_t *frame);

#endif
