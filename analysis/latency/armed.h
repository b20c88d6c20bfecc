/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps account of the time during which probes were armed. A profile record covers a period; its
 * calls are scaled up by the share of the period that was armed. With bursts, a period lasts from
 * the end of one burst to the end of the next one (a cut): first the gap, in which no new calls
 * were seen, then the burst.
 *
 * Times are ns of one clock. Callers pass the time at which the gate was opened or closed, not the
 * time at which they decided to do so. A time before an earlier one counts as equal to it, so no
 * sum is ever negative.
 */
#pragma once

enum { ARMED_MIN_NS = 1000000 }; /* a period with less armed time is not used to scale counts */

/* A clock reading: the time and the CPU time of all targets. */
struct armed_clock {
	uint64_t ns, cpu_ns;
};

/* The period that a record covers. */
struct armed_period {
	uint64_t start_ns, end_ns, armed_ns;
	uint64_t cpu_ns, armed_cpu_ns; /* CPU time of the targets: in the period, and while armed */
};

struct armed_time {
	bool on, bursting;
	struct armed_clock since;  /* if `on`: when the gate was opened, or the period began */
	struct armed_clock off;	   /* if not `on`: when the gate was closed */
	struct armed_clock start;  /* start of the present period */
	uint64_t on_ns, on_cpu_ns; /* armed time of this period before `since` */
	/* the caller has to report the present period at the end of this slice */
	bool report_due;
	bool has_cut; /* `cut` is a period that has ended and was not reported yet */
	struct armed_period cut;
	uint64_t begin, past_on_ns; /* sum of the armed time of all reported periods */
};

/* Begins to count, or begins a new period, at `now`. */
void armed_begin(struct armed_time *a, struct armed_clock now);
/* Notes that the gate was opened at `now`. */
void armed_on(struct armed_time *a, struct armed_clock now);
/* Notes that the gate was closed at `end`. The clocks were read at `now`, perhaps later. */
void armed_off(struct armed_time *a, uint64_t end, struct armed_clock now);
/* Returns the period up to `now`. Without bursts the period ends when the gate was closed: after
 * that the measurement is over or paused, and no calls are missing. */
struct armed_period armed_period(const struct armed_time *a, struct armed_clock now);
/* Ends the period of a burst that is over when its gate was closed, and returns true: the time that
 * open calls took to end belongs to the next gap, like the clocks of the threads (bpf/pace.h). If
 * less than ARMED_MIN_NS of the period was armed, the period goes on to the end of the next burst,
 * and the function returns false. */
bool armed_cut(struct armed_time *a, struct armed_clock now);
