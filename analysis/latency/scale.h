/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates the number of calls in the gaps between bursts, in which no calls were seen.
 *
 * Armed probes slow a target down, so there are fewer calls per armed second than per second of a
 * gap. Therefore calls are related to clocks of the target that a probe does not change:
 *
 *	 - the CPU time of the calling threads, in bursts without the time that the probes took;
 *	 - for threads that sleep between calls, the number of their sleeps.
 *
 * Both are known in the burst and in the gap (struct rec_profile). Where they are not (system
 * calls, the run queue, calls of short-lived threads), the CPU time of the whole target is used
 * beside the wall clock. A gap lies between two bursts: its estimate is the mean of the estimates
 * by the rates of both bursts. Estimates that differ are averaged in logarithms, weighted by their
 * errors. The error by chance of a clock is learnt from the bursts: if few calls take most of the
 * CPU time, or most sleeps, the calls per CPU time or per sleep differ much from burst to burst,
 * while the calls per second may be steady.
 *
 * The error of the estimate has two parts: the error of the cost of a probe, which is the same in
 * all bursts and adds up, and the error of chance, which averages out. Calls that were seen in few
 * of the bursts came all at once; nobody knows how often they did so in the gaps, perhaps never.
 * Pure and deterministic.
 */
#pragma once

#include "analysis/session/record.h"

/* The clocks of a target to which its calls are related. */
enum scale_clock { SCALE_CPU, SCALE_CYCLE, SCALE_ALL_CPU, SCALE_WALL, SCALE_CLOCKS };

/* Call rates of one burst, by the clocks of the target. */
struct scale_rates {
	bool cpu_known, cycle_known, all_known;
	double per_cpu;	  /* calls per ns of CPU time without probes */
	double cpu_error; /* relative error of per_cpu, from the cost of the probes */
	double per_cycle; /* calls per sleep */
	double cycle_error;
	double per_all_cpu, all_cpu_error; /* the same for the CPU time of the whole target */
	double per_wall, wall_error;
	double spread[SCALE_CLOCKS];	/* relative error by chance of the rate by this clock */
	double least_share, most_share; /* share of a CPU that the target takes: without the probes,
					   and with them */
};

/* Sums over bursts: from one call to the next one of the same thread. */
struct scale_pace {
	double calls, cpu;
	double probes; /* the part of `cpu` that the probes took */
	/* the part of `probes` that is calibrated and was not timed in the target */
	double calibrated;
	double least; /* the least CPU time of the calls themselves, by their latencies */
	double more;  /* what the probes may have taken beyond `probes`, by their latencies */
	double bursts;
};

/* How much the rates by one clock that are used for the bursts differ from one to the next. */
struct scale_spread {
	double last;	/* logarithm of the rate in the previous burst */
	double squares; /* sum of the squares of the differences between neighbouring bursts */
	unsigned int bursts;
};

/* State for one operation. All zero: nothing is known. */
struct scale {
	struct scale_pace pace; /* sums over all bursts */
	struct scale_spread spread[SCALE_CLOCKS];
	bool has_last;
	struct scale_rates last; /* rates of the previous burst */
	double seen;		 /* calls that were seen */
	double gap;		 /* calls in the gaps, estimated */
	double least;		 /* of `gap`: if calls were as slow there as with their probes */
	double error;		 /* error of `gap`: the part that is the same in all bursts */
	double variance;	 /* variance of `gap` by chance */
	double unknown_ns;	 /* time of which no burst tells anything */
	double bursts;		 /* in which calls were seen */
	double busy_ns;		 /* length of their periods, from burst to burst */
	double watched_ns;	 /* set by the caller: length of all periods; 0: not known */
};

/* Returns the estimated calls in the gap of this record's period, whose burst saw `calls`; 0 if the
 * burst is all of it. Adds both to *s. */
double scale_gap(struct scale *s, const struct rec_profile *rec, uint64_t calls);
/* Returns the estimated calls in a time of `ns` after the last burst, in which the target had
 * `cpu_ns` of CPU time, and adds them to *s. Returns a negative number, and adds nothing, if there
 * was no burst. */
double scale_tail(struct scale *s, uint64_t ns, uint64_t cpu_ns);
/* Adds `calls` that the caller assumed for a time without measurement, at the same rate as
 * before. */
void scale_guess(struct scale *s, uint64_t calls);
/* Notes that nothing is known about the calls in a time of `ns`: there may be any number. */
void scale_unknown(struct scale *s, uint64_t ns);
/* Computes the 95% confidence interval of the number of calls, on the assumption that the estimates
 * of the errors are right. */
void scale_interval(const struct scale *s, double *low, double *high);
