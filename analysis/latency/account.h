/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of --max-overhead: how much CPU time the targets may lose to probes, and how much
 * they have lost.
 *
 * The allowance is P percent of the targets' CPU time or P percent of one CPU, whichever is larger.
 * A descent may borrow: its allowance is three times that. Two seconds' allowance is given in
 * advance. The targets earn it back before anything more is given, so that the limit holds over any
 * run of more than two seconds; what nobody drew of it at the start is given out meanwhile, or
 * nothing would be measured for two seconds. At most one second's allowance is saved up, so that
 * the limit holds over any ten seconds. Only a part of the allowance is given out, because a burst
 * notices some milliseconds late that it has spent its part.
 *
 * Pure: the caller reads the clocks. All times are ns.
 */
#pragma once

enum { ACCOUNT_ADVANCE_NS = 2000000000 };

struct account {
	uint32_t ppm;	 /* the allowance in millionths */
	bool borrows;	 /* a descent runs: the allowance is three times `ppm` */
	int64_t left;	 /* time that may be spent now; negative: overdrawn */
	int64_t advance; /* the part of the advance that was not earned back yet */
	int64_t undrawn; /* the part of the advance that was not given out yet */
	int64_t earned;	 /* given out in the last turn */
	/* cost of probe hits that is not charged yet: a turn charges at most the time that the
	 * targets ran in it */
	uint64_t owed;
	int64_t missing;     /* what account_part() could not yet take from what was earned; <= 0 */
	uint64_t allowed_ns; /* sum of the allowance since account_open() */
};

/* What happened since the previous turn. */
struct account_turn {
	uint64_t ns; /* wall time */
	/* CPU time of the targets, including the time that probes took from it */
	uint64_t ran_ns;
	uint64_t hits_ns;   /* cost of the probe hits, by their calibrated prices */
	uint64_t attach_ns; /* cost of attaching and detaching */
};

void account_open(struct account *a, uint32_t ppm, bool borrows);
/* Notes that this part of the advance was given out as the initial credit of a part. The rest is
 * given out while the advance is earned back. */
void account_draw(struct account *a, int64_t ns);
void account_turn(struct account *a, const struct account_turn *t);
/* Notes that a descent begins (borrows) or ends. */
void account_borrow(struct account *a, bool borrows);
/* Divides what was earned in the last turn among `parts` (at least 1) that are paused when they
 * spend more. `fixed`: cost of what is never paused since the last call; it comes first, and what
 * it exceeds is taken from later turns. So the parts and the fixed cost never sum to more than what
 * was earned. Returns one part, at least 0. */
int64_t account_part(struct account *a, uint64_t fixed, unsigned int parts);
/* Returns the time that is given out for `ns` of running time. */
int64_t account_given(const struct account *a, uint64_t ns);
/* Returns the allowance of the time that is given in advance. */
uint64_t account_advance(const struct account *a);
/* Takes a sleep of the targets in a probe from what is left. It is no part of the time that the
 * targets ran, and it may be long: no more is overdrawn by it than is given for ten seconds. */
void account_slept(struct account *a, uint64_t ns);
/* Adds `spent` to *owed, charges at most `most` of that, and leaves the rest in *owed. Probes
 * cannot have taken more time than the targets ran, whatever the calibrated price; the rest exists
 * because the two clocks are read one after the other. Returns the charged time. */
uint64_t account_charge(uint64_t *owed, uint64_t spent, uint64_t most);
/* How long a credit lasts if as much is spent of it as lately in `wall` ns; a second if nothing was
 * spent. */
uint64_t account_lasts(int64_t credit, uint64_t spent, uint64_t wall);
