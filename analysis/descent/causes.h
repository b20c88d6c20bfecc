/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The causes of time that is not spent in a callee, and the classification of sleeps.
 * Documented in docs/descent.md, "Causes".
 */
#ifndef PEAKTOP_CAUSES_H
#define PEAKTOP_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

enum cause_kind {
	CAUSE_OWN_CODE = 0,
	CAUSE_LOOP,	  /* the function's own loop around calls that are short each */
	CAUSE_PREEMPTION, /* name: by whom */
	CAUSE_RUN_QUEUE,
	CAUSE_INTERRUPT, /* name: handler, detail: number */
	CAUSE_PAGE_FAULT,
	CAUSE_IO,    /* name: file or device */
	CAUSE_LOCK,  /* name: holder */
	CAUSE_SLEEP, /* on purpose */
	CAUSE_TIMEOUT,
	CAUSE_NETWORK, /* name: peer */
	CAUSE_WAIT,    /* for another task; name: the task */
	CAUSE_UNMEASURED,
	CAUSE_UNKNOWN,
	CAUSE_QUOTA,	  /* the CPU quota of a cgroup is used up; name: which */
	CAUSE_STOPPED,	  /* by a signal, a debugger, the freezer; name: by whom */
	CAUSE_THROTTLED,  /* too many dirty pages; name: the device */
	CAUSE_RECLAIM,	  /* memory is freed; name: the cgroup whose limit it is; "": the host's */
	CAUSE_COMPACTION, /* memory is moved */
	CAUSE_SWAP,	  /* pages are read back from swap */
	CAUSE_HUGE_PAGE,  /* one is made */
	CAUSE_KERNEL,	  /* in the kernel; name: the function, detail: the system call */
	CAUSE_SIGNAL,	  /* in a handler of signals; name: the handler */
	CAUSE_KINDS
};

/* The word of the JSON: "own code", "run queue", ... */
const char *cause_kind_text(enum cause_kind kind);

enum { CAUSE_TEXT = 192, CAUSE_NAMES = 8 };

/* A cause with its name. Text is of the host: not trusted, cut to fit. */
struct cause {
	enum cause_kind kind;
	char name[CAUSE_TEXT];	 /* "" if none */
	char detail[CAUSE_TEXT]; /* "" if none */
};

/*
 * The work of the kernel (SLEEP_IN_...) at the time of a sample. True with *out filled;
 * false if the work has no name of its own.
 */
bool cause_of_work(const struct rec_sleep *s, struct cause *out);
/* The cause of a wait during which the thread was runnable. */
void cause_of_host_wait(const struct rec_host_wait *w, struct cause *out);

/* The cause of a sleep, with name and detail ("nanosleep", "woken by redis 812"). */
void cause_of_sleep(const struct rec_sleep *s, struct cause *out);

/* Names of one kind of cause with their weights; keeps the heaviest. */
struct cause_tally {
	unsigned int nr;
	struct {
		struct cause cause;
		uint64_t ns;
	} entry[CAUSE_NAMES];
	uint64_t other_ns; /* of those that were pushed out */
};

void cause_tally_add(struct cause_tally *t, const struct cause *cause, uint64_t ns);
/*
 * The task of one kind that took the most time. If it did not take nearly all, the detail
 * has the number of tasks and its share.
 */
void cause_tally_tasks(const struct cause_tally *t, enum cause_kind kind, struct cause *out);
/* The heaviest, or NULL when nothing was added. */
const struct cause *cause_tally_top(const struct cause_tally *t);

#endif
