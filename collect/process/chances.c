// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/process/chances.h"

#include "collect/process/clock.h"
#include "collect/process/live_thread.h"
#include "collect/process/small_file.h"

enum {
	/* /proc is asked only after so long a silence */
	PATIENT_NS = 500000000,
	LEAST_PART = 10,
	/* threads of the process that may have the lock: more take too long to look at */
	MAX_LOOKS = 64,
};

void chances_begin(struct chances *c)
{
	*c = (struct chances){0};
}

/* CPU time of the main thread, ns; 0: not known. */
static uint64_t main_cpu_ns(pid_t pid)
{
	unsigned long long ns;
	char buf[128];

	if (small_file_read(buf, sizeof(buf), "/proc/%d/schedstat", (int)pid) <= 0 ||
	    sscanf(buf, "%llu", &ns) != 1)
		return 0;
	return ns;
}

void chances_turn(struct chances *c, pid_t pid, uint64_t turn_ns)
{
	uint64_t cpu, before = c->cpu_ns, counts = turn_ns;

	c->silent_ns += turn_ns;
	if (c->silent_ns >= PATIENT_NS) {
		cpu = main_cpu_ns(pid);
		c->cpu_ns = cpu;
		/* it runs, or waits for a CPU */
		if (before && cpu >= before && thread_state(pid, pid) == 'R' &&
		    cpu - before < turn_ns)
			counts = cpu - before;
	}
	c->counted_ns += counts > turn_ns / LEAST_PART ? counts : turn_ns / LEAST_PART;
}

void chances_turn_behind(struct chances *c, pid_t process, uint64_t turn_ns)
{
	uint64_t cpu = process_cpu_ns(process), got = cpu - c->cpu_ns, counts = turn_ns;

	/* less than all threads that are ready could have used: one of them waits for a CPU */
	if (c->cpu_ns && got < threads_ready(process, MAX_LOOKS) * turn_ns / 10 * 9)
		counts = turn_ns / LEAST_PART;
	c->cpu_ns = cpu;
	c->silent_ns += turn_ns;
	c->counted_ns += counts;
}
