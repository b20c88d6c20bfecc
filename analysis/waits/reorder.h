/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the records of all CPUs into the order of their times. The records of one CPU arrive in
 * order; an event leaves once another one was seen that is 20 ms younger, or when it must. */
#pragma once

#include "analysis/session/record.h"

#define REORDER_WATERMARK_NS 20000000ull

/* A record without text. `comm`: number of its text. */
struct wait_event {
	uint64_t at_ns;
	uint32_t sequence;
	uint16_t cpu;
	uint16_t type; /* enum record_type */
	uint32_t comm;
	uint32_t lost; /* records of this CPU that are missing before this one */
	uint64_t lost_since_ns;
	union {
		struct rec_waits_head head;
		struct rec_task task;
		struct rec_switch switched;
		struct rec_asleep asleep;
		struct rec_waking waking;
		struct rec_life life;
		struct rec_block block;
		struct rec_work work;
		struct rec_run_sample run_sample;
		struct rec_steal steal;
		struct rec_window window;
	};
};

struct reorder;
/* At most `max` events wait; then the oldest leaves early. NULL: no memory. */
struct reorder *reorder_new(uint32_t max);
void reorder_free(struct reorder *r);

/* Takes an event and fills its `lost` from the sequence of its CPU. An event that is older than
 * one of its CPU before it gets that one's time: 1 is returned. Else 0, -ENOMEM, -ERANGE (cpu). */
int reorder_put(struct reorder *r, struct wait_event *event);
/* The next event in order; `all`: also those for which an older one might still come. */
bool reorder_get(struct reorder *r, bool all, struct wait_event *out);
/* Sequences begin anew. */
void reorder_restart(struct reorder *r);
