/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks that records name, each by tid and start time, with what it does now. For the files of
 * analysis/waits only. */
#pragma once

#include "analysis/waits/kinds.h"
#include "analysis/waits/waits.h"

/* Indices of tasks. */
enum {
	NO_TASK = 0,
	IDLE_TASK = 1,	 /* of every CPU */
	OTHER_TASKS = 2, /* where there is no room for more */
	FIRST_TASK
};

/* Did the task that ended a sleep send a signal? That of a child tells that it has ended. */
enum sent_signal { SIGNAL_NONE, SIGNAL_OTHER, SIGNAL_OF_CHILD };

/* Who ended a sleep. */
struct wait_cause {
	uint64_t start_ns; /* of a request: submitted */
	uint64_t at_ns;	   /* of a request: issued; of work: queued; of a message: sent; 0 */
	uint32_t task;	   /* the waker; of work: the worker */
	uint32_t object;   /* REC_OBJECT */
	uint32_t next;	   /* of work: who queued it (waits_context()); 0: not known */
	uint16_t number;   /* of an interrupt or handler; of a task: enum sent_signal */
	uint8_t kind;	   /* enum wait_ender */
	uint8_t bracket;   /* enum bracket_kind: what `number` is of */
};

/* A time in which a task did one thing. */
struct segment {
	uint64_t from, to;
	uint64_t prev; /* number + 1 of the one before of the same task; 0: none */
	uint64_t lock; /* that it sleeps for; 0: none */
	struct wait_cause cause;
	uint32_t task;
	uint32_t kernel_stack, user_stack;
	uint32_t object;
	uint32_t by;	/* SEGMENT_READY: who had the CPU */
	uint32_t waker; /* SEGMENT_READY: the task that woke it */
	uint32_t irq_ns;
	uint32_t word; /* a hash of the address of the futex that it sleeps at; 0: of none */
	int16_t syscall;
	uint8_t state; /* enum segment_state */
	uint8_t kind;  /* SEGMENT_SLEEP: enum wait_kind; SEGMENT_READY: of the sleep before */
	uint8_t why;   /* SEGMENT_READY: enum ready_why */
	uint8_t sampled, lost, before;
};

enum { REQUESTS_KEPT = 4 };

struct wait_task {
	uint64_t start_ns;
	uint32_t tid, pid;
	uint32_t flags; /* enum task_flags; 0: only its name is known */
	uint32_t comm;
	uint32_t parent;
	uint32_t next, next_in_process; /* of the chains of the hash tables */
	uint32_t identity;		/* in the chains; 0: none yet */
	uint64_t birth_ns, dead_ns;	/* 0: before we came; lives */
	uint64_t joined_ns; /* since when it is followed; 0: from its birth, or not at all */
	uint64_t touched_ns;
	uint64_t tail;	    /* number + 1 of its last segment */
	struct segment now; /* SEGMENT_NONE: nothing is known of it */
	uint32_t cpu;
	/* what it is about to sleep in */
	struct rec_asleep facts;
	/* woken while it still ran */
	uint64_t early_ns;
	struct wait_cause early;
	uint64_t run_since;    /* of the CPU that it has */
	uint32_t irq_ns;       /* in interrupts since it got the CPU, as of the last sample */
	uint64_t woke_ns;      /* when it woke somebody last */
	struct wait_cause job; /* of a worker: who queued what it executes now */
	uint64_t job_ns;       /* when */
	bool has_job;
	struct {
		uint64_t at_ns;
		uint32_t task;
	} request[REQUESTS_KEPT]; /* who woke it last, newest first */
	uint32_t started_by;	  /* a target that woke it, until it sleeps again */
	uint64_t started_ns, charged_ns;
	struct pending_sleep *pending; /* of a target */
	uint32_t machine;	       /* of the critical path; 0: none */
	/* states of the critical path for a run and for a wait for a CPU, under this name */
	uint32_t state_comm, state_target, state_run, state_ready;
};

struct tasks {
	struct wait_task *task; /* by index */
	uint32_t nr, cap, max;
	uint32_t free; /* first of a chain by `next` */
	uint32_t *by_tid, *by_pid;
	uint32_t mask;
	uint64_t overflown;
};

int tasks_init(struct tasks *t, uint32_t max);
void tasks_release(struct tasks *t);
/* NO_TASK: not there. */
uint32_t tasks_find(const struct tasks *t, uint32_t tid, uint64_t start_ns);
/* The one that lives under this tid. */
uint32_t tasks_find_tid(const struct tasks *t, uint32_t tid);
/* The one that lived under this tid at this time. */
uint32_t tasks_find_at(const struct tasks *t, uint32_t tid, uint64_t at_ns);
/* Found or made. An older task that lived under this tid is dead by `now`: its end was missed. */
uint32_t tasks_make(struct tasks *t, uint32_t tid, uint64_t start_ns, uint64_t now);
void tasks_set_pid(struct tasks *t, uint32_t task, uint32_t pid);
/* exec in another thread than the first: this one takes that one's tid. */
void tasks_rename(struct tasks *t, uint32_t task, uint32_t tid, uint64_t start_ns);
/* Forget the dead, and the strangers, that were last touched before `before`. */
void tasks_sweep(struct tasks *t, uint64_t before);
