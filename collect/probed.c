// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/probed.h"

#include "analysis/base/array.h"
#include "collect/process/clock.h"

/* The last time in which a process had probes. */
struct probed_process {
	pid_t pid;
	size_t nr, most;	       /* now; most of them at once in that time */
	uint64_t since_ns, removed_ns; /* its begin; the end of the time before it, or, if `nr` is
					  0, its own end; 0: none */
};

enum { MAX_PROCESSES = 1 << 20 };

static struct {
	struct probed_process *list;
	unsigned int nr, cap;
} processes;

static struct probed_process *process_find(pid_t pid)
{
	return find_first(i, processes.list, processes.nr, processes.list[i].pid == pid);
}

void probed_add(pid_t pid, size_t n)
{
	struct probed_process *p = process_find(pid);

	if (!p) {
		if (array_grow(processes.list, processes.nr, processes.cap, MAX_PROCESSES))
			return;
		p = &processes.list[processes.nr++];
		*p = (struct probed_process){.pid = pid};
	}
	if (!p->nr) {
		p->since_ns = now_ns();
		p->most = 0;
	}
	p->nr += n;
	if (p->nr > p->most)
		p->most = p->nr;
}

void probed_remove(pid_t pid, size_t n)
{
	struct probed_process *p = process_find(pid);

	if (!p || !p->nr)
		return;
	p->nr -= n < p->nr ? n : p->nr;
	if (!p->nr)
		p->removed_ns = now_ns();
}

void probed_forget(pid_t pid)
{
	struct probed_process *p = process_find(pid);

	if (p)
		*p = processes.list[--processes.nr];
}

struct probed probed_until(pid_t pid, uint64_t at_ns)
{
	const struct probed_process *p = process_find(pid);

	if (!p)
		return (struct probed){.nr = 0};
	/* probes were placed and removed between the end of a process and this look */
	if (p->since_ns <= at_ns && (p->nr || p->removed_ns >= at_ns))
		return (struct probed){.nr = p->nr ? p->nr : p->most};
	return (struct probed){.removed_ns = p->removed_ns < at_ns ? p->removed_ns : 0};
}
