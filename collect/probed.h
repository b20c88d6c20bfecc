/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which targets have probes in their code, and since when they have none: if a target dies, the
 * user is told whether probes can have been the reason. Used by the thread of the event loop only.
 */
#pragma once

/* `n` probes were placed in this process, or removed from it. */
void probed_add(pid_t pid, size_t n);
void probed_remove(pid_t pid, size_t n);
void probed_forget(pid_t pid);

struct probed {
	size_t nr;	     /* probes that were in it */
	uint64_t removed_ns; /* if there were none: when the last was removed; 0: it had none */
};
/* The probes in a process at the time `at_ns`, which is not long ago. */
struct probed probed_until(pid_t pid, uint64_t at_ns);
