/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state behind waits.h, for the files of analysis/waits only. */
#pragma once

#include "analysis/waits/critical.h"
#include "analysis/waits/keyed.h"
#include "analysis/waits/reorder.h"
#include "analysis/waits/tasks.h"
#include "analysis/waits/texts.h"
#include "analysis/waits/traces.h"
#include "analysis/waits/waits.h"

#define EARLY_WAKING_NS 50000ull /* before the wakee's own switch */
#define BRIEF_RUN_NS 100000ull	 /* between sleeps that are one */

enum { MAX_CPUS = 1024, MAX_DEPTH = 32, MAX_STEPS = 100000, NO_NAME = 4096, GAPS = 64 };
/* Each record pays for a few steps of walks. If chains of a load need many more, as those of a
 * thousand threads that queue for one lock, new ones are cut off after a few steps. */
enum { STEPS_PER_RECORD = 32, STEPS_SAVED = 1 << 20, FEW_STEPS = 32 };

struct block_request {
	struct keyed_head head;
	uint64_t submit_ns, issue_ns;
	uint32_t task, object;
	uint32_t bytes, kind; /* kind: as in struct rec_block */
	uint32_t machine;     /* of the critical path */
};

/* One that has completed. */
struct done_request {
	uint64_t submit_ns, issue_ns, complete_ns;
	uint32_t task, object;
	uint32_t bytes, kind;
};

struct queued_work {
	struct keyed_head head;
	uint32_t machine;
	struct wait_cause by;
	uint64_t at_ns;
};

/* Who released a lock: a chain of wakings, newest first. */
struct release {
	uint64_t at_ns, prev; /* number + 1 */
	uint32_t waker, spare;
};
struct lock_log {
	struct keyed_head head;
	uint64_t last; /* number + 1 */
};

struct cpu {
	uint32_t task; /* NO_TASK: not known, or a stranger */
	uint64_t event_ns;
};

struct object {
	uint32_t kind, serves, name;
	bool is_numbered; /* its name is only a number of the kernel */
};

/* A time in which records of some CPU are missing. */
struct gap {
	uint64_t from, to;
	uint32_t records;
};

/* Sleeps of a target that may be one. */
struct pending_sleep {
	struct segment first, last; /* first.state SEGMENT_NONE: nothing is pending */
	uint32_t parts;
};

/* A sampled call that waits for all events before its return. */
struct pending_call {
	uint64_t entry_ns, return_ns;
	uint32_t tid;
};
struct calls {
	struct pending_call *pending;
	uint32_t nr;
	struct waits_calls stats;
	struct critical_path path; /* the sum over all calls */
};

struct waits {
	struct waits_config config;
	struct reorder *reorder;
	struct texts *texts;
	struct traces *traces;
	struct tasks tasks;
	struct keyed requests, works, locks;
	struct segment *segments; /* a ring */
	uint64_t nr_segments;	  /* that were ever written */
	uint64_t first_segment;	  /* of this window */
	struct wait_cause *contexts;
	uint32_t nr_contexts;
	struct done_request *done; /* a ring, in the order of their completions */
	uint64_t nr_done;	   /* that were ever written */
	struct release *releases;
	uint64_t nr_releases;
	struct object *objects; /* by number */
	uint32_t nr_objects;
	uint32_t names[BRACKET_KINDS][NO_NAME]; /* of handlers: number of the text */
	uint8_t own_timer[NO_NAME];		/* a function that ends its owner's sleep */
	struct cpu cpu[MAX_CPUS];
	bool in_window;
	uint64_t now_ns, event_ns, window_ns, first_ns, swept_ns;
	uint64_t fed_window_ns; /* begin of the window that records arrive for */
	struct gap gaps[GAPS];	/* a ring */
	uint32_t nr_gaps;
	int64_t steps_saved;	 /* of walks */
	uint64_t gaps_before_ns; /* end of the last one that was overwritten */
	struct waits_stats stats;
	struct chains *chains;
	struct critical_feed *feed;
	struct calls calls;
	struct rec_chosen *chosen; /* threads of the targets; nr 0: all */
	uint32_t nr_chosen;
};

static inline struct wait_task *task_at(const struct waits *w, uint32_t task)
{
	return &w->tasks.task[task];
}

static inline bool is_followed(const struct waits *w, uint32_t task)
{
	return task >= FIRST_TASK && w->tasks.task[task].flags & TASK_FOLLOWED;
}

/* The name of an object, in w->texts; 0: none. */
static inline uint32_t object_name(const struct waits *w, uint32_t object)
{
	return object && object < w->nr_objects ? w->objects[object].name : 0;
}

/* NULL: overwritten, or before this window. */
static inline const struct segment *segment_get(const struct waits *w, uint64_t number)
{
	if (number < w->first_segment || number + w->config.max_segments < w->nr_segments + 1)
		return NULL;
	return &w->segments[number & (w->config.max_segments - 1)];
}

/* ---- events.c: what happens to tasks */
void waits_event(struct waits *w, const struct wait_event *e);

/* ---- timeline.c */
/* The segments of a task from the newest to the oldest. The one that is open ends now. Set `w` and
 * `task`, and the rest to zero. */
struct segment_cursor {
	const struct waits *w;
	const struct wait_task *task;
	uint64_t number;
	bool begun;
	struct segment open;
};
/* NULL: there are no more. */
const struct segment *segment_next(struct segment_cursor *c);
/* By task: true for the targets and, transitively, for those who ended their sleeps in this time.
 * Free it. NULL: out of memory. */
bool *tasks_wanted(const struct waits *w, uint64_t from, uint64_t to);

/* ---- gaps.c */
void gap_add(struct waits *w, uint64_t from, uint64_t to, uint32_t records);
/* Were at least so many records lost at one CPU at some time in (from, to)? */
bool gap_within(const struct waits *w, uint64_t from, uint64_t to, uint32_t records);

/* ---- follow.c: the state of one task */
/* The segment that is open ends, and one in this state begins. */
void task_turn(struct waits *w, uint32_t task, uint64_t now, enum segment_state state);
/* Its time in interrupts since the last sample, or since it got the CPU; `total`: since then. */
uint32_t task_irq_ns(struct waits *w, uint32_t task, uint32_t total);
/* It leaves the CPU at `now` and sleeps, or is runnable: `next` took the CPU. */
void task_leave(struct waits *w, uint32_t task, const struct wait_event *e, uint32_t next);
/* It was asleep when the window began: in what. */
void task_asleep_before(struct waits *w, uint32_t task, const struct wait_event *e);
void task_enter(struct waits *w, uint32_t task, const struct wait_event *e, uint32_t prev);
/* It ran on `cpu` when the records of that CPU ceased. */
void task_lose(struct waits *w, uint32_t task, uint64_t since);
void task_wake(struct waits *w, uint32_t task, uint32_t current, uint64_t now,
	       const struct wait_cause *cause);

/* ---- requests.c */
int requests_init(struct waits *w);
void request_event(struct waits *w, const struct wait_event *e, uint32_t task);

/* ---- ender.c */
struct waking {
	uint64_t brackets, cause, at_ns;
	uint32_t current, wakee; /* wakee NO_TASK: nobody; who did something in this context */
	uint32_t kernel_stack;
};
void ender_find(struct waits *w, const struct waking *k, struct wait_cause *out);
const struct wait_cause *waits_context(const struct waits *w, uint32_t number);

/* ---- holders.c */
void lock_released(struct waits *w, uint64_t lock, uint32_t waker, uint64_t now);
/* The release of this lock before the one that was number `after` (0: the newest); NULL: none. */
const struct release *lock_release(struct waits *w, uint64_t lock, uint64_t *after);

/* ---- calls.c */
int calls_add(struct waits *w, const struct rec_sample *s);
/* Tell those calls that can be told; `all`: the others will never be. */
void calls_settle(struct waits *w, bool all);
void calls_release(struct waits *w);

/* ---- choice.c: true for a task of the targets, if it is chosen or none is */
bool is_chosen_target(const struct waits *w, const struct wait_task *t);

/* ---- chains.c: which segments of a target are told, and when */
/* A segment of a target is over. */
void chains_segment(struct waits *w, const struct segment *s);
/* A sleep that waited for its next parts is told now. */
void chains_settle(struct waits *w, uint32_t task);
