/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many calls there were in the gaps between bursts, in which nobody looked.
 *
 * Probes slow a target down while they are armed, so calls per armed second are fewer than calls
 * per second of a gap. What the target does is therefore counted on clocks of its own, which a
 * probe does not change:
 *
 *  - the CPU time of the threads that call, in bursts without what the probes took of it;
 *  - for threads that sleep between calls, how often they slept.
 *
 * Both are known in the burst and in the gap (struct rec_profile). Where they are not (system
 * calls, the run queue, calls from threads that live shortly) the CPU time of the whole target is
 * used beside the wall clock. A gap lies between two bursts: its estimate is the mean of what the
 * rates of both say. Estimates that differ are averaged by their errors, in logarithms.
 *
 * The error of the estimate has two parts: that of the cost of a probe, which is the same in all
 * bursts and adds up, and that of chance, which averages out. Pure and deterministic.
 */
#ifndef PEAKTOP_SCALE_H
#define PEAKTOP_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/session/record.h"

/* Calls by the clocks of the threads, in one burst. */
struct scale_rates {
	bool cpu_known, cycle_known, all_known;
	double per_cpu;	  /* calls per ns of CPU time without probes */
	double cpu_error; /* its relative error, from the cost of the probes */
	double per_cycle; /* calls per sleep */
	double cycle_error;
	double per_all_cpu, all_cpu_error; /* as per_cpu, of the whole target */
	double per_wall, wall_error;
	double least_share,
	    most_share; /* of a CPU that the target takes: without the probes, and with them */
};

/* The pace of the callers in bursts: from one call to the next in the same thread. */
struct scale_pace {
	double calls, cpu;
	double probes;	   /* of the CPU time, what the probes took */
	double calibrated; /* of that, what was not timed in the target */
	double least;	   /* of the rest, what the latencies of the calls prove */
	double bursts;
};

/* One operation. All zero: nothing is known. */
struct scale {
	struct scale_pace pace; /* of all bursts */
	bool has_last;
	struct scale_rates last; /* of the burst before */
	double seen;		 /* calls */
	double gap;		 /* calls in the gaps, estimated */
	double error;		 /* of `gap`, of the part that is the same in all bursts */
	double variance;	 /* of the rest */
};

/* Calls in the gap of this record's period, which saw `calls`. Adds both to `s`. */
double scale_gap(struct scale *s, const struct rec_profile *rec, uint64_t calls);
/*
 * Calls in a time after the last burst, `ns` long, in which the target had `cpu_ns` of CPU time.
 * Adds them to `s`. Negative: nothing is known, and nothing was added.
 */
double scale_tail(struct scale *s, uint64_t ns, uint64_t cpu_ns);
/* `calls` were assumed for a time without measurement, at the same rate as before. */
void scale_guess(struct scale *s, uint64_t calls);
/* The interval in which the number of calls lies with a probability of 95%, if the estimates of the
 * errors are right. */
void scale_interval(const struct scale *s, double *low, double *high);

#endif
