/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of processes, read from /proc with the front's own rights. */
#ifndef PEAKTOP_PROCESSES_H
#define PEAKTOP_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESSES_MAX = 32768 };

struct picker_process {
	uint32_t pid;
	const char *user;
	double cpu_percent; /* of one CPU; negative: not known yet */
	char state;	    /* as in /proc/PID/stat */
	uint32_t threads;
	const char *comm;
	const char *cmdline; /* arguments joined by spaces, "" for a kernel thread */
	bool permitted;	     /* this user may attach to it */
};

/*
 * Give the present list to `take`; it is valid only during the call. CPU shares are over the time
 * since the last call.
 */
void processes_list(void (*take)(void *ctx, const struct picker_process *list, size_t nr),
		    void *ctx);

#endif
