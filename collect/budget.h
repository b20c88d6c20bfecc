/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of --max-overhead (analysis/latency/account.h): the prices of what probes do, and the
 * clocks of the targets. All times are ns.
 */
#ifndef PEAKTOP_COLLECT_BUDGET_H
#define PEAKTOP_COLLECT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/latency/account.h"

struct collector;

struct budget {
	bool began; /* the targets are known, and nothing is attached yet */
	struct account account;
	uint64_t began_ns;
	uint64_t at;		  /* the time of the last turn */
	uint64_t hits_ns;	  /* cost of all hits, as of the last turn */
	uint64_t ran, ran_ever;	  /* by the targets in the last turn, and since it began; of those
				     that ended, too */
	int64_t spilt;		  /* earned by layers that had no use for it */
	uint64_t helpers_ns;	  /* CPU time of the calibration's helper */
	uint64_t attach_ns;	  /* what attaching and removing probes cost, ever */
	uint64_t attach_reported; /* ... as of the last turn */
};

/* Whether there is no budget: --max-overhead 100. */
bool budget_is_unlimited(const struct collector *c);

/* Take up what was earned and spent since the last turn. */
void budget_turn(struct collector *c, uint64_t now);

/* What the targets ran from the opening of the account to the last turn. */
uint64_t budget_ran(const struct collector *c);

/* What the targets may still lose now. */
int64_t budget_left(const struct collector *c);

/* What is given out for so much time of one CPU. */
int64_t budget_of(const struct collector *c, uint64_t ns);

/* What a burst must be able to spend to be worth its attaching. */
int64_t budget_burst(const struct collector *c);

/* A descent begins or ends. */
void budget_borrow(struct collector *c, bool borrows);

/* Charge one link with this many sites for being attached and removed. */
void budget_attached(struct collector *c, uint64_t sites);

/* What one link with this many sites costs the targets to attach and to remove. */
uint64_t budget_attach_cost(uint64_t sites);

/* What one hit of a site of this class costs a program. */
uint64_t budget_hit_ns(const struct collector *c, uint32_t class);

/* What probes have cost the targets, ever; *others: what they cost other processes. `n`: counters
 * of hits. */
uint64_t budget_cost(const struct collector *c, const uint64_t *n, uint64_t *others);

/* CPU time of peaktop's processes: collector, front, parser, and what they started. */
uint64_t budget_own_cpu(const struct collector *c);

/* The calibration is over: what its helper ran is peaktop's own CPU time. */
void budget_calibrated(struct collector *c);

/* Say so when the allowance was not kept. `ns`: what probes cost the targets, `cpu`: what these
 * ran, `wall`: since the begin. */
void budget_note(struct collector *c, uint64_t ns, uint64_t cpu, uint64_t wall);

#endif
