/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints that the governor switches together, in bursts. */
#ifndef PEAKTOP_COLLECT_UNITS_H
#define PEAKTOP_COLLECT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "collect/functions.h"

struct collector;

enum unit { UNIT_SYSCALLS = 0, UNIT_SCHED, UNITS };

struct governed_unit {
	enum function_state state;
	struct armed_time time;
	int64_t credit_ns;		  /* of the targets' time */
	int64_t host_ns;		  /* of the host's */
	uint64_t hits_target, hits_other; /* as of the last look */
	uint64_t spent_ns;		  /* estimated cost to the targets so far */
	uint64_t state_since;
	uint64_t open_calls; /* scratch of a walk */
};

/* Into how many parts the budget of the target goes. */
unsigned int budget_parts(const struct collector *c);
void units_begin(struct collector *c);
void units_layers(struct collector *c);
uint64_t units_govern(struct collector *c, uint64_t now, uint64_t wall);
void units_sleep(struct collector *c);
/* No layer that is measured pauses at the moment. */
bool units_are_on(const struct collector *c);
void units_wake(struct collector *c);
/* Let calls that begin from now on count in every layer whose unit is armed. */
void gates_open(struct collector *c);
/* No call that begins from now on counts. */
void gates_close(struct collector *c);
/* The unit that a layer belongs to, NULL if the governor leaves it alone. */
struct governed_unit *unit_of(struct collector *c, enum layer layer);

#endif
