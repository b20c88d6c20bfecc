/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The states of the critical path by number; for critical_feed.c and those that tell of it. */
#pragma once

#include "analysis/waits/critical_feed.h"
#include "analysis/waits/waits_critical.h"

enum state_type {
	STATE_OTHERS = 0,
	STATE_RUN,
	STATE_READY,
	STATE_WAIT,
	STATE_IO_QUEUE,
	STATE_DEVICE,
	STATE_WORK_QUEUE,
};

struct state_name {
	struct rec_frame function; /* of a sampled run */
	uint32_t machine;	   /* number of a text */
	uint32_t tid;
	int32_t detail; /* system call */
	uint16_t type;	/* enum state_type */
	uint8_t kind, ender;
};

/* The tasks with states of one name, other than targets. */
struct named_tasks {
	uint32_t machine; /* number of a text; 0: the slot is free */
	uint32_t tid;	  /* of the only one; 0: there are several */
};

struct critical_feed {
	struct critical *critical;
	struct state_name *names; /* by number */
	uint32_t nr_names, *slot;
	struct named_tasks *tasks; /* as many slots as `slot` has */
	struct critical_path sum;  /* of the windows that are over */
	uint32_t end;		   /* task at which the last one's path ended */
};

uint32_t state_of_segment(struct waits *w, const struct segment *s);
/* The thread of a state; 0: it is of several threads, or of none. */
uint32_t state_tid(const struct critical_feed *f, const struct state_name *name);
uint32_t state_of_request(struct waits *w, uint32_t object, bool issued);
uint32_t critical_end(struct waits *w, uint64_t now);
int critical_sum_add(struct critical_path *sum, const struct critical_path *p);
