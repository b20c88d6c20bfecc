/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints that the governor switches together, in bursts. */
#pragma once

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "collect/functions.h"

struct collector;

enum unit { UNIT_SYSCALLS = 0, UNIT_SCHED, UNITS };

struct governed_unit {
	enum function_state state;
	struct armed_time time;
	int64_t credit_ns;		  /* credit of the targets' time, ns */
	int64_t host_ns;		  /* credit of the host's time, ns */
	uint64_t hits_target, hits_other; /* hits as of the last check */
	uint64_t spent_ns;		  /* estimated cost to the targets so far */
	uint64_t state_since;
	uint64_t lasts_ns;   /* how long the credit lasts at the rate of the last turn */
	uint64_t open_calls; /* used while counting open calls */
	bool pause_is_told;  /* the user knows of long pauses */
};

/*
 * Parts of the budget that go to the functions: the user asked for them, and a hit of theirs costs
 * many times as much as an event of a unit.
 */
enum { FUNCTION_PARTS = 3 };

/* Number of parts into which the targets' budget is divided. */
unsigned int budget_parts(const struct collector *c);
/*
 * Give all units their initial credit and switch them on. With a command they stay off until
 * units_go(): all tasks of the host pass their tracepoints, and would use up the credit before the
 * command's first instruction.
 */
void units_begin(struct collector *c);
/* The command is about to start: switch the units on. */
void units_go(struct collector *c);
/*
 * Return the layers (1 << enum layer) that were switched on in the slice that ends now, and begin a
 * new one. Functions are measured one by one: no switch turns their layers off.
 */
uint32_t units_layers_of_slice(struct collector *c);
/* Attach the tracepoints of the layers that are requested and not paused. Updates c->layers. */
void units_layers(struct collector *c);
/* Govern the units; `wall`: ns since the last turn. Returns the time of the next check. */
uint64_t units_govern(struct collector *c, uint64_t now, uint64_t wall);
/* Detach all layers while the front sleeps. */
void units_sleep(struct collector *c);
/* True if no unit that the running descent needs is paused. */
bool units_are_on(const struct collector *c);
/*
 * Switch on the units that the running descent needs, for a burst of its function: they stay on
 * until the burst has ended. Returns false if one of them was switched off too short a time ago.
 */
bool units_start(struct collector *c, uint64_t now);
/* Watch the scheduler from now on for a call that was found, if that was asked for and the budget
 * is not overdrawn much. */
void units_watch_scheduler(struct collector *c);
/* Start the units again when the front wakes up. */
void units_wake(struct collector *c);
/* Open the gates of all layers whose unit is armed: calls that begin from now on count. */
void gates_open(struct collector *c);
/* Attach the layers that are wanted. Nothing that began before counts for these `layers`. */
void units_layers_begin(struct collector *c, uint32_t layers);
/* The layer of a unit that has a gate. Waits for user-space locks belong to the system calls. */
enum layer unit_gate(enum unit u);
/* Another burst of a unit begins: from now on the state that threads have from older ones is
 * ignored. */
void unit_burst_count(struct collector *c, enum unit u);
/* Open or close the gate of an attached unit, and begin or end its measured time. */
void unit_gate_open(struct collector *c, enum unit u);
void unit_gate_close(struct collector *c, enum unit u);
/* Close all gates: calls that begin from now on do not count. */
void gates_close(struct collector *c);
/* The unit of a layer; NULL if the layer is not measured in bursts. */
struct governed_unit *unit_of(struct collector *c, enum layer layer);
