/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes records of the waits of a call of f0 during which its thread was runnable. Pure. */
#ifndef PEAKTOP_COLLECT_HOST_WAITS_H
#define PEAKTOP_COLLECT_HOST_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/session/record.h"
#include "bpf/records.h"

enum {
	HOST_WAITS_MAX = PT_RUNNER_KINDS * (PT_RUNNERS + 1) + HOST_WAITS - PT_RUNNER_KINDS,
	GROUP_PATH = PT_GROUP_LEVELS * (PT_GROUP_NAME + 1) + 8,
};

/* Holds the strings that `wait` points to. Do not copy this struct. */
struct host_waits {
	uint32_t nr;
	struct rec_host_wait wait[HOST_WAITS_MAX];
	uint32_t preempted_by_pid; /* who ran longest after preemptions; 0: nobody is known */
	const char *preempted_by;  /* "" */
	char comm[HOST_WAITS_MAX][PT_COMM + 1];
	char quota_of[GROUP_PATH], quota[64], frozen[GROUP_PATH], stopped[32];
};

void host_waits_fill(struct host_waits *out, const struct pt_host_waits *w);
/* "/a/b/c"; "/..." before it if there may be more levels above. */
void group_path(const struct pt_group *g, char *out, size_t n);

#endif
