/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When something was armed. A profile record covers a period; its calls are scaled by how much of
 * the period was armed. While there are bursts, a period lasts from the end of one burst to the end
 * of the next (a cut): first the gap in which no new calls were seen, then the burst.
 *
 * Times are ns of one clock. Callers pass the time at which the gate was opened or closed, not the
 * time at which they decided to. A time that lies before an earlier one counts as equal to it: no
 * sum is ever negative.
 */
#ifndef PEAKTOP_ARMED_H
#define PEAKTOP_ARMED_H

#include <stdbool.h>
#include <stdint.h>

enum { ARMED_MIN_NS = 1000000 }; /* no counts are scaled by less armed time than this */

/* A clock reading: the time and the CPU time of all targets. */
struct armed_clock {
	uint64_t ns, cpu_ns;
};

/* A period of a record. */
struct armed_period {
	uint64_t start_ns, end_ns, armed_ns;
	uint64_t cpu_ns,
	    armed_cpu_ns; /* CPU time of the targets: in the period, and of it while armed */
};

struct armed_time {
	bool on, bursting;
	struct armed_clock since;  /* on: when the gate opened, or a period began */
	struct armed_clock start;  /* of the present period */
	uint64_t on_ns, on_cpu_ns; /* armed in this period before `since` */
	bool tell;		   /* report the present period at the end of this slice */
	bool has_cut;		   /* a period that is over and was not reported yet: */
	struct armed_period cut;
	uint64_t begin, past_on_ns; /* sum over all reported periods */
};

/* Begin to count, or begin a new period, at `now`. */
void armed_begin(struct armed_time *a, struct armed_clock now);
/* The gate was opened at `now`. */
void armed_on(struct armed_time *a, struct armed_clock now);
/* The gate was closed at `end`; the clocks were read at `now`, perhaps later. */
void armed_off(struct armed_time *a, uint64_t end, struct armed_clock now);
/*
 * The period up to `now`. While there are no bursts it ends with the gate: behind it the
 * measurement is over or paused, and nothing is missing.
 */
struct armed_period armed_period(const struct armed_time *a, struct armed_clock now);
/*
 * A burst is over: end its period, unless less than ARMED_MIN_NS of it was armed: then it goes on
 * to the end of the next burst. True if the period was ended.
 */
bool armed_cut(struct armed_time *a, struct armed_clock now);

#endif
