/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path of the targets. */
#pragma once

#include "analysis/waits/critical.h"
#include "analysis/waits/waits.h"

/* A state of the critical path in words. */
struct waits_state {
	const char *machine;	   /* comm of a task, name of a file, "work items" */
	uint32_t tid;		   /* of the only one; 0: all of that name but targets */
	const char *what;	   /* "running", "runnable", "waiting for ..." */
	struct rec_frame function; /* of a sampled run; module 0: not known */
	const char *after;	   /* of a wait for a CPU: what it waited for before; "": nothing */
	int32_t syscall;	   /* of a wait, or of that before; -1: none */
	enum wait_ender ender;	   /* of a wait; else ENDER_NONE */
};
struct waits_state waits_state(const struct waits *w, uint32_t state);

struct waits_next {
	uint32_t state;
	uint64_t length_ns, speedup_ns; /* without it, over the last events */
};
enum { WAITS_NEXT = 10, WAITS_WARNINGS = 8, WAITS_WARNING = 160 };

struct waits_critical {
	struct critical_path path; /* of all windows; states by number */
	uint32_t end_tid;	   /* the task that the path ends at */
	uint32_t nr_next;
	struct waits_next next[WAITS_NEXT]; /* most speedup first */
	uint32_t nr_warnings;
	char warning[WAITS_WARNINGS][WAITS_WARNING];
};
/* The path that ends at the task `tid` that started at `start_ns`; tid 0: at the target whose path
 * is longest. 0 or -ENOMEM; -ENOENT: no such task, or no critical path is kept. */
int waits_critical(struct waits *w, uint32_t tid, uint64_t start_ns, struct waits_critical *out);
void waits_critical_release(struct waits_critical *c);

/* The path's time by machine, largest first: how many there are, at most `max`. */
struct waits_machine {
	const char *machine; /* as in struct waits_state */
	uint32_t tid;
	uint64_t critical_ns;
};
uint32_t waits_machines(const struct waits *w, const struct waits_critical *c,
			struct waits_machine *out, uint32_t max);

/* One call: back from its return, always along the last arrival, to its entry; times are added to
 * `sum`, which begins as zero and is released by critical_path_release(). Returns 1 if it was
 * added, 0 if the call lies beyond what is remembered, -ENOMEM. */
int waits_call_path(struct waits *w, uint32_t tid, uint64_t start_ns, uint64_t entry_ns,
		    uint64_t return_ns, struct critical_path *sum);
