/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The targets: the processes that are measured. */
#pragma once

#include "analysis/latency/armed.h"
#include "bpf/records.h"
#include "collect/collector.h"
#include "collect/target.h"

struct collector;

struct target_table {
	struct target *list[COLLECTOR_MAX_TARGETS];
	unsigned int nr;
	uint64_t gone_cpu_ns; /* CPU time of ended targets */
};

/* Measure all processes of the host, as one target without a pid. Sends REC_REFUSED if that is not
 * permitted. Returns 0 or a negative errno. */
int target_add_host(struct collector *c);
/*
 * Add a target. `born_ns`: the start of the process according to the kernel, ns since boot; 0:
 * not known. If another process has the pid by now, -ESRCH. Returns 0 or a negative errno,
 * which target_refused() explains.
 */
int target_add(struct collector *c, pid_t pid, bool requested, uint64_t born_ns);
/* Send REC_REFUSED for a process that cannot be a target. */
void target_refused(struct collector *c, uint32_t epoch, pid_t pid, int err);
/* The target with this pid; NULL: none. */
struct target *target_by_pid(struct collector *c, uint32_t pid);
/* A thread has ended: note what that tells about the end of its process. */
void target_exits(struct collector *c, const struct pt_record_address *r);
/* Send the end of each target that has ended, and forget it. */
void targets_end(struct collector *c);
/* A target has forked: make the child a target. */
void target_forked(struct collector *c, const struct pt_record_fork *r);
/* A target has called execve(): check its rights and read its data again. */
void target_executed(struct collector *c, uint32_t pid);
/* See whether the main thread of a target has ended while others live. */
void targets_main_check(struct collector *c);
/* Drop targets that the invoking user may not trace any more. Rights can also change without
 * exec. */
void targets_check(struct collector *c);

/* CPU time of all targets so far, including ended ones, ns. */
uint64_t targets_cpu_ns(const struct collector *c);
/* The present time and the CPU time of the targets. */
struct armed_clock clock_now(const struct collector *c);
