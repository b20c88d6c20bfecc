/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel functions that are timed, with kprobes. */
#pragma once

#include "analysis/session/record.h"
#include "collect/attach.h"
#include "collect/functions.h"

struct collector;

enum { MAX_KERNEL_FUNCTIONS = 32 };

struct kernel_function {
	uint32_t op, slot, site; /* front's number, histogram, index in the site table */
	char *name;
	struct attachment entry, exit;
	struct attach_batch *attaching; /* of the next burst; NULL: none begins */
	enum function_state state;
	uint64_t state_since;
	bool bursts;		    /* it has been armed in bursts */
	int64_t target_ns, host_ns; /* credit of the targets' time, and of all CPUs' time */
	uint64_t hits, looked_ns;   /* at the governor's last check */
	uint64_t armed_ns, reported_armed_ns,
	    reported_ns; /* ns armed in finished bursts; ... as of the last record; time of that
			    record */
};

struct kernel_function_table {
	struct kernel_function list[MAX_KERNEL_FUNCTIONS];
	unsigned int nr;
};

/* Carry out REQ_ARM for a kernel function. Sends REC_ACK or REC_REFUSED. */
void kernel_function_arm(struct collector *c, const struct req_arm *arm);
/* The function with this number of the front; NULL: none. Valid until one is removed. */
const struct kernel_function *kernel_function_by_op(const struct collector *c, uint32_t op);
/* Remove a kernel function. Returns false if there is none with this number. */
bool kernel_function_disarm(struct collector *c, uint32_t op);
/* Run the governor. Returns the time of the next check. */
uint64_t kernel_functions_govern(struct collector *c, uint64_t now);
/* The fuse of a site has blown at time `at`. Returns false if the site belongs to no kernel
 * function. */
bool kernel_function_blown(struct collector *c, uint32_t site, uint64_t at);
/* The measurement begins: count from now on. */
void kernel_functions_begin(struct collector *c, uint64_t now);
/*
 * Find the period that a record of this slot covers, from *start to now, and how many ns of it
 * the function was armed. Returns false if no record is to be sent yet.
 */
bool kernel_function_period(struct collector *c, uint32_t slot, uint64_t now, bool last,
			    uint64_t *start, uint64_t *armed);
/* Detach all probes while the front sleeps; start bursts again when it wakes up. */
void kernel_functions_sleep(struct collector *c);
void kernel_functions_wake(struct collector *c);
void kernel_functions_release(struct collector *c);
