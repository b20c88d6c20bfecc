/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of time that is not spent in a callee, and the classification of sleeps.
 * Documented in docs/descent.md, "Causes". */
#pragma once

#include "analysis/session/record.h"
#include "analysis/waits/ender.h"
#include "analysis/waits/kinds.h"

enum { CAUSE_TEXT = 192, CAUSE_NAMES = 8, CAUSE_HOLDERS = 16 };

/* A cause with its name. Both texts come from the target and the host: sanitise them before
 * printing. A longer text is truncated. */
struct cause {
	enum cause_kind kind;
	char name[CAUSE_TEXT];	 /* "" if none */
	char detail[CAUSE_TEXT]; /* "" if none */
	/* the thread that `name` names: it took the CPU, or woke; 0: no thread, or not known */
	uint32_t tid;
	enum wait_ender ender; /* of a sleep */
	enum wait_kind wait;   /* of a sleep or of kernel work, which has its words; else 0 */
	uint64_t lock; /* of a sleep at a futex that a task ended: a number for it; 0: not known */
	bool took_cpu; /* of CAUSE_WAIT: the thread did not sleep; the task ran on its CPU */
};

/* Names the work that the kernel did for the thread, or what stopped the thread, at the time of a
 * stack sample. Returns true and fills *out. Returns false if s->object is an ordinary object to
 * sleep on; then *out is zeroed. */
bool cause_of_work(const struct rec_sleep *s, struct cause *out);
/* Returns true if the hypervisor had the CPU, not another task. */
bool cause_is_steal(const struct cause *c);
/* Fills *out with the cause of a wait for a CPU, or of a stop. */
void cause_of_host_wait(const struct rec_host_wait *w, struct cause *out);

/* Fills *out with the cause of a sleep, its name and its detail ("nanosleep", "woken by redis
 * 812"). `kernel`: functions of the kernel, outermost first, a semicolon between; "" if not known.
 * analysis/waits/ decides what the sleep was and who ended it. */
void cause_of_sleep(const struct rec_sleep *s, const char *kernel, struct cause *out);

/* Causes with their time. If there are more than CAUSE_NAMES, the tally keeps the heaviest ones. */
struct cause_tally {
	unsigned int nr;
	struct cause_entry {
		struct cause cause; /* its detail is that of most of the time */
		uint64_t ns;
		uint64_t inherited_ns; /* part of `ns`: of causes that this one has replaced */
		uint64_t lead_ns;      /* time for this detail minus time against it */
	} entry[CAUSE_NAMES];
	bool more; /* there were more causes than entries */
	/* the threads that released a lock for which others slept; the first CAUSE_HOLDERS */
	uint32_t nr_holders, holder[CAUSE_HOLDERS];
	uint64_t lock;	   /* that the first of them released */
	bool locks_differ; /* others released another one, or it is not known whether they did */
};

/* Adds time to the entry with the same kind and name, or makes one. */
void cause_tally_add(struct cause_tally *t, const struct cause *cause, uint64_t ns);
/* Gives time of one cause to another one, as far as the tally has it. */
void cause_tally_move(struct cause_tally *t, const struct cause *from, const struct cause *to,
		      uint64_t ns);
/* Adds all that `from` holds of causes of this kind; CAUSE_KINDS: of all kinds. */
void cause_tally_join(struct cause_tally *t, const struct cause_tally *from, enum cause_kind kind);
/* Fills *out with the task that took the most time among causes of one kind. If that task did not
 * take nearly all of the time, the detail states its share. If it took less than a quarter, the
 * number of tasks stands in the place of its name. If most of the time is of unknown tasks, there
 * is no name. */
void cause_tally_tasks(const struct cause_tally *t, enum cause_kind kind, struct cause *out);
/* Returns the heaviest cause, or NULL if the tally is empty. */
const struct cause *cause_tally_top(const struct cause_tally *t);
/* Fills *out with the heaviest cause. If several threads had the lock, or the locks, whoever
 * released it last need not have had it for long: then the detail says how many threads had it, and
 * in how much of the time the one that is named was the last. */
void cause_tally_lock(const struct cause_tally *t, struct cause *out);
