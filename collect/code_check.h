/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps probes out of code that a target has changed in memory: live patches, hook libraries, nops
 * at the start of a function that became a call. The kernel executes the instruction of the file
 * when a probe is hit, so that a probe on other code kills the target.
 *
 * The code at each site is compared with the file right before a probe is attached and right after
 * it, and, as long as the session lasts, at least once in CODE_CHECK_ROUND_MS for up to
 * CODE_CHECK_SITES sites in CODE_CHECK_PROCESSES processes (collect/code_memory.h). A site that was
 * found changed is not probed again.
 */
#pragma once

#include "collect/attach.h"

struct collector;

enum {
	CODE_CHECK_ROUND_MS = 50, /* at each refill of the tokens */
	CODE_CHECK_SITES = 1024,  /* compared in one round; more take several rounds */
	/*
	 * Processes that are compared in one round. Opening the files of one costs as much as
	 * twenty sites: 256 processes in each round took a third of a CPU.
	 */
	CODE_CHECK_PROCESSES = 16,
	/* The error of a site whose code differs from the file. */
	CODE_DIFFERS = EBADMSG,
};

/*
 * Compare the code at these points with the file: before they are attached in the process, and
 * again after that. Returns 0; -CODE_DIFFERS, with points->refused set; or another negative errno
 * if the code cannot be read now. Then the points must not be attached, or be detached.
 */
int code_check_before(struct collector *c, uint32_t module, pid_t pid,
		      struct attach_points *points);
int code_check_after(struct collector *c, uint32_t module, pid_t pid, struct attach_points *points);
/* Compare the code at the sites that have or had probes, and remove probes where it changed. Call
 * this with each refill of the tokens. */
void code_check_turn(struct collector *c);
/* True if there are such sites: then the reader is needed often. */
bool code_check_is_used(const struct collector *c);
/* Forget the sites of a process that has ended or executes another program. */
void code_check_forget(struct collector *c, pid_t pid);
/* The file of this module is about to change: forget its sites, and let go of its uprobes. */
void code_check_forget_module(struct collector *c, uint32_t module);
/* After all probes are detached. */
void code_check_release(struct collector *c);
