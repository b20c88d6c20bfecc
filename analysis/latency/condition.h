/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The condition of `record --when`: what is measured of an operation, or the load of the host, is
 * compared with a limit after each slice. Pure. The grammar:
 *
 *	CONDITION = FIGURE ( "<" | ">" ) VALUE [ "for" TIME ] | "new_peak(" OP ")"
 *	FIGURE    = "p" NUMBER "(" OP ")" | "mean(" OP ")" | "max(" OP ")" | "open(" OP ")"
 *	          | "rate(" OP ")" | "share(" OP ")" | "load"
 *	VALUE     = TIME of p, mean, max and open; NUMBER [ "/s" ] of rate; NUMBER "%" of share;
 *	            NUMBER of load
 */
#pragma once

#include "analysis/base/format.h"
#include "analysis/latency/model.h"

enum condition_figure {
	CONDITION_QUANTILE = 0,
	CONDITION_MEAN,
	CONDITION_MAX,
	CONDITION_OPEN,	 /* how long the oldest call that has not returned is open */
	CONDITION_RATE,	 /* calls per second */
	CONDITION_SHARE, /* of one thread's time, in such calls; more than 1 if several threads call
			  */
	CONDITION_NEW_PEAK,
	CONDITION_LOAD, /* of the last minute */
};

enum { CONDITION_OP = 1024 };

struct condition {
	enum condition_figure figure;
	double quantile;       /* 0..1 */
	char op[CONDITION_OP]; /* "" if it is about the load */
	bool below;	       /* it is true if the figure is smaller than `value`, not larger */
	double value;	       /* ns, calls per second, share or load */
	uint64_t for_ns;       /* it must be true for so long */
};

/* Returns 0, or -EINVAL with a line in `error` that names the position, from 1. */
int condition_parse(struct condition *c, const char *text, char *error, size_t n);
/* A figure with its unit: "81 ms", "1.2k/s", "23%". */
struct text condition_value(const struct condition *c, double value);

/* What is remembered of earlier slices. All zero at the begin. */
struct condition_state {
	uint32_t op;	   /* the operation that it is about; 0: none of this name so far */
	uint64_t slice_ns; /* end of the last slice that was looked at */
	uint64_t since_ns; /* since when it is true, plus 1; 0: it is false */
	int last_peak;	   /* the highest id that a peak had */
	double now;	   /* the figure in the last slice in which it is known */
	/* for the end of a run */
	uint64_t known, held; /* slices in which the figure is known; in which the test was true */
	double farthest; /* the figure that came nearest to the limit, or went beyond it most */
};

/* A peak that appears earlier in a session does not count as new, because then all are. */
#define CONDITION_LEARNS_NS 60000000000ull

/* Call it after each REC_TICK. `load`: of the host; negative: not known. True: the test has been
 * true for the time of "for". A slice in which no call ended makes a test of latencies false; one
 * in which the operation was not measured changes nothing. */
bool condition_met(const struct condition *c, struct condition_state *s, struct model *m,
		   double load);
