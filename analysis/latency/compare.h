/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two sets of latency profiles (OSprof, OSDI 2006, sections 3.2 and 5.3), in three phases:
 *
 *	  1. sort out pairs that do not matter (little latency and few calls in both sets),
 *	     have too few calls, or are plainly alike;
 *	  2. compare the peaks: which are new, gone, moved, lighter or heavier;
 *	  3. rate the rest by metrics, the Earth Mover's Distance among them.
 *
 * A difference counts only if it is large (the options) and exceeds sampling noise (`sigmas`).
 * docs/notes/compare.md has the method and its measured error rates. Pure. Times in ns.
 */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/latency/profile.h"

enum { COMPARE_MAX_REASONS = 8 };

struct compare_item {
	const char *name; /* items of equal names form a pair; names are unique in a set */
	const struct profile *profile;
	/* share of the calls that was seen (bursts); counts are already scaled up by 1 /
	 * share_seen. 0 means 1 */
	double share_seen;
	/* time that the profile covers; 0: as long as the set */
	uint64_t elapsed_ns;
};

struct compare_set {
	unsigned int nr;
	const struct compare_item *item;
	uint64_t elapsed_ns; /* length of the measurement; 0 in either set: compare calls instead of
				rates */
};

struct compare_options {
	/* a pair with a smaller share of the latency and of the calls in both sets is negligible */
	double min_share;
	double min_calls;   /* a pair with fewer seen calls in both sets cannot be judged */
	double rate_factor; /* a call rate that changes by this factor is a change */
	/* doublings by which a latency may drift without a change; at most 2 */
	double tolerance;
	double min_moved;      /* share of the calls that must move by more than the tolerance */
	double min_emd;	       /* a distance of this many doublings alone is a change */
	double peak_factor;    /* a peak is heavier or lighter from this factor on ... */
	double min_peak_calls; /* ... if it has this share of the calls */
	double min_peak_time;  /* ... or this share of the time */
	/* standard deviations beyond which a difference is not sampling noise */
	double sigmas;
};

enum compare_phase { COMPARE_PREFILTER = 1, COMPARE_PEAKS, COMPARE_METRIC };

enum compare_verdict {
	COMPARE_SAME = 0,
	COMPARE_CHANGED,
	COMPARE_NEGLIGIBLE, /* phase 1: too little latency and too few calls to matter */
	COMPARE_TOO_FEW,    /* phase 1: too few calls to decide */
};

enum compare_kind {
	COMPARE_APPEARED, /* only in the second set */
	COMPARE_VANISHED, /* only in the first set */
	/* more or fewer calls: before, after = calls per second (or calls) */
	COMPARE_CALLS,
	COMPARE_PEAK_NEW,
	COMPARE_PEAK_GONE,
	COMPARE_PEAK_MOVED,
	COMPARE_PEAK_WEIGHT,
	/* after = share of the calls that moved; before < 0: they became faster */
	COMPARE_SHAPE,
};

struct compare_reason {
	enum compare_kind kind;
	/* mode of the peak in the second set, or in the first if the peak is gone */
	uint64_t mode_ns;
	uint64_t old_mode_ns; /* COMPARE_PEAK_MOVED */
	double before, after; /* shares of the calls, or as stated at the kind */
};

/* The metrics of OSprof and the share of moved calls; all but emd_noise are 0 for equal profiles.
 */
struct compare_metrics {
	double emd;	  /* doublings; INFINITY when only one set has it */
	double emd_noise; /* mean distance that sampling alone would cause */
	double calls;	  /* log2 of the ratio of the rates, second to first */
	double latency;	  /* log2 of the ratio of total latency per time */
	/* 0..1: half the sum of (a - b)^2 / (a + b) over the normalised buckets */
	double chi_square;
	double slower; /* share of the calls that became slower by more than the tolerance */
	double faster;
};

struct compare_pair {
	const char *name;			   /* owned by the caller */
	const struct compare_item *before, *after; /* NULL: the set does not have this item */
	enum compare_verdict verdict;
	enum compare_phase phase; /* the phase that decided */
	struct compare_metrics metrics;
	double score; /* weight of the difference, for sorting */
	unsigned int nr_reasons;
	struct compare_reason reason[COMPARE_MAX_REASONS]; /* the reasons of a change */
};

struct compare_result {
	unsigned int nr, nr_changed;
	struct compare_pair *pair; /* changed ones first, largest score first */
	bool rates;		   /* COMPARE_CALLS gives calls per second */
};

void compare_options_init(struct compare_options *o);

/* Compares two sets; `o` may be NULL. The sets and their profiles must outlive the result. Returns
 * 0 or -ENOMEM; release *out with compare_release(). */
int compare_sets(const struct compare_set *before, const struct compare_set *after,
		 const struct compare_options *o, struct compare_result *out);
void compare_release(struct compare_result *r);

/* Compares one pair without its sets, so that it is never negligible. Elapsed times as in the
 * sets. */
void compare_profiles(const struct compare_item *before, const struct compare_item *after,
		      uint64_t elapsed_before_ns, uint64_t elapsed_after_ns,
		      const struct compare_options *o, struct compare_pair *out);

/* Appends one reason in words: "new peak at 40 ms, with 3% of the calls". Returns 0, -ENOMEM or
 * -E2BIG. */
int compare_reason_words(struct buf *out, const struct compare_reason *r, bool rates);
