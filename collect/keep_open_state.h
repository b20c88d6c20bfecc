/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What keep_open.c, which looks for open calls, and keep_follow.c, which follows them, share. */
#pragma once

#include "collect/attach.h"
#include "collect/keep_open.h"
#include "collect/keep_stack.h"
#include "collect/state.h"

#define MS 1000000ull

enum {
	CANDIDATES = 16,
	FOLLOWED = PT_FOLLOWED_CALLS,
	LOOKED = 1024,
	AGAIN_MS = 1000, /* until a thread is looked at again after a failure */
};

/* A thread that was looked at: it is not looked at again before it runs, or before `again_ns`. */
struct looked {
	uint32_t tid;
	uint64_t switches, again_ns;
	uint64_t off_switches, off_ns; /* when it was first seen not to run, since it last ran */
	uint64_t rests_ns;	       /* until then it is left alone in any case */
	/* where it was in no call: at this place it is not looked at later either */
	uint64_t sp, ip;
};

struct candidate {
	struct pt_task_now now;
	struct looked *looked;
	uint64_t since, woken; /* as in struct pt_found */
	uint32_t bytes;
	uint64_t stack[PT_STACK / 8];
};

struct followed {
	struct pt_found found;
	struct pt_task_now now;
	struct attachment end;
	uint64_t found_ns, seen_ns; /* when it was seen first and last not to have run */
	bool moved;		    /* it has run since */
	bool open;		    /* its activation was there at the last check */
	uint32_t bytes;
	uint64_t stack[PT_STACK / 8];
};

struct keep_open {
	struct looked looked[LOOKED];
	struct candidate list[CANDIDATES];
	uint32_t nr;
	uint32_t eligible, first; /* threads to look at in this turn, and which of them is first */
	struct followed *followed[FOLLOWED];
	struct known_return *returns; /* sorted */
	size_t nr_returns, cap_returns;
	uint64_t now, turn_ns, checked_ns, returns_version;
	uint64_t missed_ns;		/* when a call may last not have been found; 0: never */
	int64_t credit_ns;		/* CPU time that looking may take */
	const struct followed *dropped; /* by followed_drop() */
};

/* ---- keep_open.c */

struct looked *looked_of(struct keep_open *o, uint32_t tid);

/* ---- keep_follow.c */

struct followed **followed_of(struct keep_open *o, uint32_t tid);
/* Follow the call at `at` of a thread. */
void follow(struct collector *c, struct keep_open *o, const struct candidate *t,
	    const struct stack_return *at);
/* Do not await its end any more. */
void followed_drop(struct collector *c, struct followed **f);
/* Give up calls whose breakpoints are hit by other calls. */
void followed_misses(struct collector *c, struct keep_open *o);
/* Forget calls that are over. */
void followed_check(struct collector *c, struct keep_open *o);
