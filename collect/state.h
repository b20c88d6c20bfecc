/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole state of the collector, composed of the parts that the headers below describe.
 * Private to collect/. */
#pragma once

#include "collect/budget.h"
#include "collect/calibrate.h"
#include "collect/chosen.h"
#include "collect/collector.h"
#include "collect/functions.h"
#include "collect/kernel_functions.h"
#include "collect/kernel_side.h"
#include "collect/launch.h"
#include "collect/modules.h"
#include "collect/open_calls.h"
#include "collect/phases.h"
#include "collect/process/channel.h"
#include "collect/process/clock.h"
#include "collect/sites.h"
#include "collect/slices.h"
#include "collect/targets.h"
#include "collect/units.h"

/* Costs as of the last record. */
struct cost_account {
	uint64_t hits_before[PT_COUNTERS]; /* hits of the calibration */
	uint64_t own_before; /* CPU time of peaktop's processes before the measurement began */
	uint64_t reported_target_ns, reported_cpu_ns, reported_wall_ns;
	uint64_t steal_before; /* steal time of the host before the measurement began */
};

/* The state of the event loop. */
struct loop_state {
	uint64_t heartbeat_ns; /* time of the front's last message */
	bool held_up;	       /* asleep because this loop hung */
	bool asleep;	       /* everything is detached until the next heartbeat */
	bool stopping;
	int error; /* why the loop ends: 0 or a negative errno */
};

struct collector {
	const struct collector_options *options;
	struct channel *front;
	struct kernel_side *kernel;
	uint64_t start_ns; /* start of the session, CLOCK_MONOTONIC */
	bool hurried;	   /* begin_hurry() has raised the priority of this process */
	struct loop_state loop;
	struct command command;
	struct target_table targets;
	struct exited_threads exited;
	struct module_table files;
	struct function_table functions;
	struct kernel_function_table kernel_functions;
	struct site_table sites;
	struct governed_unit units[UNITS];
	bool units_held; /* the units stay off until the command starts */
	uint32_t
	    layers; /* layers requested and possible; the governor may have switched some off now */
	struct budget budget;
	struct probe_cost cost;
	struct cost_account account;
	struct slot_info slots[PT_SLOTS];
	struct slice_state slice;
	struct {
		uint64_t samples, front;
	} lost; /* lost records */
	struct phases phases;
	struct chosen chosen;
	struct sharing *sharing;	/* NULL: no function is too short to be timed */
	struct descent_arming *descent; /* NULL: no descent */
	struct keeping *keeping;	/* NULL: slow calls are not kept */
	struct keeping *keeping_paused; /* they are again once the descent is over */
	struct keep_open *keep_open;	/* NULL: no call was looked for */
	bool names_looked;		/* the names of the kernel's functions were asked for */
	struct kernel_symbols *symbols; /* NULL: not needed yet */
	struct thread_snapshots
	    *thread_snapshots;	     /* NULL while no thread snapshots are requested */
	struct waits_tracing *waits; /* NULL: waits are not traced */
	struct learning *learning;   /* NULL: no indirect calls are examined */
	struct code_checks *code;    /* NULL: nothing was probed yet */
};

/* Time since the start of the session, ns. */
uint64_t session_ns(const struct collector *c);
