/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces who waits for whom, from the targets on, in windows of continuous observation. A window is
 * as long as the budget of --max-overhead allows, and at least as long as was asked for; then the
 * tracepoints are detached until the budget pays for another window.
 */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"
#include "collect/attach.h"

struct collector;

enum { WAITS_DISKS = 64 };

/* The state of the tracing. Private to collect/waits*.c. */
struct waits_tracing {
	struct req_waits request;
	uint32_t window; /* number of the last window */
	bool open;
	bool tries; /* calls that fail are watched, too */
	uint64_t opened_ns;
	uint64_t cost_ns;    /* cost of all windows when this one began */
	int64_t estimate;    /* expected cost of a window, ns; 0: not known */
	uint64_t refill_ns;  /* when user stacks were last allowed */
	uint64_t objects_ns; /* when sockets were last looked up, and how many since */
	uint32_t objects;
	uint32_t listed_tid, listed_pid; /* the thread of a target that was announced last */
	uint32_t disk[WAITS_DISKS]; /* devices whose names were sent; their numbers are from 1 */
	uint32_t nr_disks;
	struct clocks clocks;	     /* they sample running tasks */
	uint64_t steal_ns[PT_CPUS];  /* of each CPU, when the window began */
	bool full;		     /* a note about missing room was sent */
	uint32_t given[PT_CPUS];     /* records of each CPU in this window */
	uint32_t lost[PT_CPUS];	     /* ... and those that were lost before they were sent */
	uint32_t checked_pid[256];   /* processes whose rights were checked */
	uint64_t checked_start[256]; /* start of the thread that it was checked for */
};

/* Carry out REQ_WAITS. The answer is ACK, or REFUSED. */
void waits_request(struct collector *c, const struct req_waits *req);
/* Begin or end a window if it is time. Called some fifty times a second. */
void waits_turn(struct collector *c, uint64_t now);
/* True if the tracing gets a part of the budget of its own: it goes on, or has to earn back what it
 * has spent. */
bool waits_have_part(const struct collector *c);
/* Add this part, and subtract the cost since the last call; `n` has the present counters. */
void waits_credit(struct collector *c, const uint64_t *n, int64_t earned);
/* True if threads of targets sleep by a timer again and again: perhaps between tries of a call that
 * fails. */
bool waits_want_tries(const struct collector *c);
/* Send the records that are in the ring buffer. */
void waits_drain(struct collector *c);
/* End the window, because everything is detached. waits_turn() begins another one. */
void waits_pause(struct collector *c);
/* End the tracing. */
void waits_end(struct collector *c);

/* Send one record of the BPF programs to the front (waits_records.c). */
void waits_record(void *ctx, const struct pt_waits_head *r, size_t size);
/* Send the names of interrupts. */
void waits_names(struct collector *c);
