/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks in nanoseconds. */
#pragma once

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	return clock_gettime(id, &ts) ? 0
				      : (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Time of the monotonic clock. */
static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}
static inline uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

/* CPU time of a process, ns; 0 if it has ended. */
static inline uint64_t process_cpu_ns(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock);
}
