/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the waits of a call of f0 in which its thread could not run into records. Pure: no
 * I/O, no clock. */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

enum {
	HOST_WAITS_MAX = PT_RUNNER_KINDS * (PT_RUNNERS + 1) + HOST_WAITS - PT_RUNNER_KINDS,
	GROUP_PATH = PT_GROUP_LEVELS * (PT_GROUP_NAME + 1) + 8,
	QUOTA_TEXT = 64,
};

/* Holds the strings that `wait` points to. Do not copy this struct. */
struct host_waits {
	uint32_t nr;
	struct rec_host_wait wait[HOST_WAITS_MAX];
	uint32_t preempted_by_pid; /* task that ran longest after preemptions; 0: not known */
	const char *preempted_by;  /* name of that task; "" if not known */
	char comm[HOST_WAITS_MAX][PT_COMM + 1];
	char quota_of[GROUP_PATH], quota[QUOTA_TEXT], frozen[GROUP_PATH], stopped[32];
};

/* Fill `out` from the record of a call and its steal time in ns. The strings point into `out`. */
void host_waits_fill(struct host_waits *out, const struct pt_host_waits *w, uint64_t steal_ns);
/* Write the path of a cgroup as "/a/b/c", with "..." before it if levels above may be missing. */
void group_path(const struct pt_group *g, char *out, size_t n);
/* Write "20 ms of CPU time each 100 ms"; "" if the quota is not known. */
void quota_text(const struct pt_quota *q, char *out, size_t n);
/* Write the path of the cgroup that has the quota, or "the thread itself". */
void quota_owner(const struct pt_quota *q, char *out, size_t n);
