/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that are open now, from the last round of thread snapshots
 * (SNAPSHOTS_FOR_OPEN), one per thread. A call that began before peaktop started is found
 * by its frame on the stack, or by the system call that the thread is in. */
#pragma once

#include "analysis/session/record.h"

enum { OPEN_MAX_THREADS = 2048 };

struct open_calls;

struct open_calls *open_calls_new(void);
void open_calls_free(struct open_calls *o);
/* Takes REC_OPEN_ASK and REC_THREAD_SNAPSHOT, and ignores other records. The first snapshot of a
 * new round drops the older rounds. Returns 0 or -ENOMEM. */
int open_calls_feed(struct open_calls *o, const struct record *rec);
uint32_t open_calls_round(const struct open_calls *o);
/* The REC_OPEN_ASK of the stream; NULL: none was asked for. */
const struct rec_open_ask *open_calls_asked(const struct open_calls *o);
/* The open calls of the last round, asleep for the longest time first. */
size_t open_calls_nr(const struct open_calls *o);
const struct rec_thread_snapshot *open_calls_at(const struct open_calls *o, size_t i);

/* Selects open calls: of a function, of a system call, or any. */
struct open_ask {
	struct rec_code function; /* module 0: not a function */
	const char *syscall;	  /* NULL: not a system call */
};

/* Returns true if the thread is in such a call. *frame is the index of the outermost frame of the
 * function; nr_frames for a system call. */
bool open_matches(const struct rec_thread_snapshot *snapshot, const struct open_ask *ask,
		  uint32_t *frame);
/* Returns true if it is not known whether the thread is in such a call: its stack is incomplete. */
bool open_may_match(const struct rec_thread_snapshot *snapshot, const struct open_ask *ask);
