/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of --max-overhead: what targets may lose to probes, and what they have lost.
 *
 * The allowance is P percent of the targets' CPU time or P percent of one CPU, whichever is larger;
 * a descent may borrow three times that. Two seconds' allowance is given in advance and earned back
 * before anything more is given, so that the limit holds over any run of more than two seconds. One
 * second's allowance is saved up at most, so that it holds over any ten seconds. Not all of it is
 * given out: a burst is noticed to have spent its part some milliseconds late.
 *
 * Pure: the caller reads the clocks. All times are ns.
 */
#ifndef PEAKTOP_ACCOUNT_H
#define PEAKTOP_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { ACCOUNT_ADVANCE_NS = 2000000000 };

struct account {
	uint32_t ppm;	     /* the allowance */
	bool borrows;	     /* three times that */
	int64_t left;	     /* may be spent now; negative: overdrawn */
	int64_t advance;     /* part of what was given in advance that was not earned yet */
	int64_t earned;	     /* in the last turn */
	uint64_t owed;	     /* spent, but more than the targets had run until then */
	uint64_t allowed_ns; /* since it was opened */
};

/* What happened since the turn before. */
struct account_turn {
	uint64_t ns;	    /* by the wall clock */
	uint64_t ran_ns;    /* CPU time of the targets, with what the probes took of it */
	uint64_t hits_ns;   /* what hits cost, by their prices */
	uint64_t attach_ns; /* what attaching and removing cost */
};

void account_open(struct account *a, uint32_t ppm, bool borrows);
void account_turn(struct account *a, const struct account_turn *t);
/* A descent begins or ends. */
void account_borrow(struct account *a, bool borrows);
/* What is given out for so much time. */
int64_t account_given(const struct account *a, uint64_t ns);
/* The allowance of the time that is given in advance. */
uint64_t account_advance(const struct account *a);
/*
 * Charge `spent`, but no more than `most` with what is owed from before: probes cannot have taken
 * more than the targets ran, whatever their price. The rest stays in *owed: of two clocks one is
 * always read first. Returns what is charged.
 */
uint64_t account_charge(uint64_t *owed, uint64_t spent, uint64_t most);

#endif
