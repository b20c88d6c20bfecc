/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector as a whole, made of the parts that the headers below describe. Private to collect/.
 */
#ifndef PEAKTOP_COLLECT_STATE_H
#define PEAKTOP_COLLECT_STATE_H

#include "collect/budget.h"
#include "collect/calibrate.h"
#include "collect/collector.h"
#include "collect/functions.h"
#include "collect/kernel_functions.h"
#include "collect/kernel_side.h"
#include "collect/modules.h"
#include "collect/phases.h"
#include "collect/process/channel.h"
#include "collect/slices.h"
#include "collect/targets.h"
#include "collect/units.h"

struct collector {
	const struct collector_options *options;
	struct channel *front;
	struct kernel_side *kernel;
	struct opener *opener; /* NULL: no debug files, and no site can be checked */
	struct site_checks *checks;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	struct target *targets[COLLECTOR_MAX_TARGETS];
	unsigned int nr_targets;
	bool hurried; /* this process has a higher priority than the user gave it */
	pid_t child;  /* -- CMD */
	int keeper;   /* its end of the socket: closed, the command is ended */
	int child_status;
	bool child_ended;
	struct file_module modules[MAX_MODULES];
	unsigned int nr_modules;
	struct file_mapping *mappings;
	unsigned int nr_mappings, cap_mappings;
	bool maps_changed;
	struct function *functions[MAX_FUNCTIONS];
	unsigned int nr_functions;
	struct kernel_function kernel_functions[MAX_KERNEL_FUNCTIONS];
	unsigned int nr_kernel_functions;
	uint32_t site_used[PT_SITES / 32], site_last;
	struct governed_unit units[UNITS];
	struct budget budget;
	struct slot_info slots[PT_SLOTS];
	struct probe_cost cost;
	struct sharing *sharing;	/* NULL: no function is too short to be timed */
	struct descent_arming *descent; /* NULL: none going on */
	struct kernel_symbols *symbols; /* NULL: not needed yet */
	struct phases phases;
	struct looking *looking;   /* NULL: nobody asks where threads are */
	struct learning *learning; /* NULL: nothing is learnt */
	uint32_t layers; /* asked for and possible; the governor may have some off at the moment */
	uint64_t interval_ns, slice, slice_start, slice_end;
	uint64_t hits_before[PT_COUNTERS]; /* of the calibration */
	uint64_t own_before; /* CPU time of peaktop's processes before the measurement began */
	uint64_t cost_target_ns, cost_cpu_ns, cost_wall_ns; /* as last told */
	uint64_t heartbeat_ns;
	uint64_t target_cpu_gone_ns; /* of targets that ended */
	uint64_t samples_lost, front_lost;
	uint32_t exited[256]; /* threads that ended since the last sweep */
	unsigned int nr_exited;
	struct rec_sample *samples; /* of the slice now open */
	uint32_t *sample_slot;
	unsigned int nr_samples, cap_samples;
	bool held_up; /* asleep because this loop did not get on */
	bool asleep;  /* no heartbeat: everything is detached until one comes */
	bool stopping;
	int error; /* why it ends */
};

uint64_t now_ns(void);
/* Since the start of the session. */
uint64_t session_ns(const struct collector *c);

#endif
