/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What changed between two sets of latency profiles (OSprof, OSDI 2006,
 * sections 3.2 and 5.3), in its three phases:
 *
 *   1. sort out pairs that do not matter (little latency and few calls in both sets),
 *      have too few calls to say anything, or are plainly alike;
 *   2. look at the peaks: which are new, gone, moved, lighter or heavier;
 *   3. rate the rest by metrics, the Earth Mover's Distance among them.
 *
 * Every difference must be both large (the options) and more than sampling
 * makes (`sigmas`). docs/notes/compare.md has the method and its measured
 * rates of error. Pure. Times in ns.
 */
#ifndef PEAKTOP_COMPARE_H
#define PEAKTOP_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/base/buf.h"
#include "analysis/latency/profile.h"

enum { COMPARE_MAX_REASONS = 8 };

struct compare_item {
	const char *name; /* pairs are made of equal names; unique in a set */
	const struct profile *profile;
	double share_seen; /* of the calls (bursts): counts are weighted by 1 / share_seen. 0 = 1 */
};

struct compare_set {
	unsigned int nr;
	const struct compare_item *item;
	uint64_t
	    elapsed_ns; /* of the measurement; 0 in either set: calls are compared, not rates */
};

struct compare_options {
	double min_share;      /* a pair with less of the latency and of the calls of both sets is
				  negligible */
	double min_calls;      /* seen; a pair with fewer in both sets says nothing */
	double rate_factor;    /* more or fewer calls by this factor are a change */
	double tolerance;      /* doublings that a latency may drift and be the same; at most 2 */
	double min_moved;      /* share of the calls that must move by more than the tolerance */
	double min_emd;	       /* doublings: from here on the distance alone is a change */
	double peak_factor;    /* a peak is heavier or lighter from this factor on, */
	double min_peak_calls; /* and where it has this share of the calls */
	double min_peak_time;  /* or of the time */
	double sigmas;	       /* standard deviations beyond which it is not sampling */
};

enum compare_phase { COMPARE_PREFILTER = 1, COMPARE_PEAKS, COMPARE_METRIC };

enum compare_verdict {
	COMPARE_SAME = 0,
	COMPARE_CHANGED,
	COMPARE_NEGLIGIBLE, /* phase 1: it does not matter whether it changed */
	COMPARE_TOO_FEW,    /* phase 1: too few calls to decide */
};

enum compare_kind {
	COMPARE_APPEARED, /* only in the second set */
	COMPARE_VANISHED, /* only in the first set */
	COMPARE_CALLS,	  /* more or fewer: before, after = calls a second (or calls) */
	COMPARE_PEAK_NEW,
	COMPARE_PEAK_GONE,
	COMPARE_PEAK_MOVED,
	COMPARE_PEAK_WEIGHT,
	COMPARE_SHAPE, /* after = share of the calls that moved; before < 0: they became faster */
};

struct compare_reason {
	enum compare_kind kind;
	uint64_t mode_ns;     /* of the peak: after, or before when it is gone */
	uint64_t old_mode_ns; /* COMPARE_PEAK_MOVED */
	double before, after; /* share of the calls, or as said above */
};

/* The metrics of OSprof and one more; each 0 for equal profiles. */
struct compare_metrics {
	double emd;	   /* doublings; INFINITY when only one set has it */
	double emd_noise;  /* what sampling alone would give on average */
	double calls;	   /* log2 of the ratio of the rates, second to first */
	double latency;	   /* log2 of the ratio of total latency per time */
	double chi_square; /* 0..1: half the sum of (a - b)^2 / (a + b) of the normalised buckets */
	double slower;	   /* share of the calls that became slower by more than the tolerance */
	double faster;
};

struct compare_pair {
	const char *name;			   /* the caller's */
	const struct compare_item *before, *after; /* NULL where the set does not have it */
	enum compare_verdict verdict;
	enum compare_phase phase; /* in which it was decided */
	struct compare_metrics metrics;
	double score; /* how much it matters: the ranking */
	unsigned int nr_reasons;
	struct compare_reason reason[COMPARE_MAX_REASONS]; /* why it changed */
};

struct compare_result {
	unsigned int nr, nr_changed;
	struct compare_pair *pair; /* changed ones first, largest score first */
	bool rates;		   /* COMPARE_CALLS speaks of calls a second */
};

void compare_options_init(struct compare_options *o);

/*
 * Compare two sets; `o` may be NULL. The sets and their profiles must outlive
 * the result. Returns 0 or -ENOMEM.
 */
int compare_sets(const struct compare_set *before, const struct compare_set *after,
		 const struct compare_options *o, struct compare_result *out);
void compare_release(struct compare_result *r);

/*
 * One pair by itself, without phase 1's look at the whole sets. `before` and
 * `after` are its profiles; elapsed as in the sets.
 */
void compare_profiles(const struct compare_item *before, const struct compare_item *after,
		      uint64_t elapsed_before_ns, uint64_t elapsed_after_ns,
		      const struct compare_options *o, struct compare_pair *out);

/* Append one reason in words: "new peak at 40 ms: 3% of the calls". Returns 0, -ENOMEM, -E2BIG. */
int compare_reason_words(struct buf *out, const struct compare_reason *r, bool rates);

#endif
