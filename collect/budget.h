/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of --max-overhead (analysis/latency/account.h): the prices of hits and of
 * attaching, and the CPU time of the targets. All times are ns.
 */
#pragma once

#include "analysis/latency/account.h"

struct collector;

/*
 * The initial credits are the budgets of these times. They are a part of what is given in advance;
 * the rest follows bit by bit.
 */
enum { BUDGET_FUNCTION_START_NS = 500000000, BUDGET_UNIT_START_NS = 250000000 };

/*
 * Call sites in the kernel are only probed if the user allows so much: every task of the host
 * passes them, and with less they are attached so seldom that a descent does not end.
 */
enum { BUDGET_INTO_KERNEL_PPM = 100000 };
/* What attaching and removing a probe in the kernel costs the host, ns. */
enum { BUDGET_KERNEL_SWITCH_NS = 200000 };
/* What a read of memory behind an argument costs a call, ns: two were measured to add 250 ns
 * (docs/notes/values.md). */
enum { MEMBER_READ_NS = 125 };

struct budget {
	bool began; /* the account is open: targets are known, nothing is attached yet */
	struct account account;
	uint64_t began_ns;
	uint64_t at;		/* time of the last turn */
	uint64_t hits_ns;	/* cost of all hits, as of the last turn */
	uint64_t ran, ran_ever; /* CPU time of the targets in the last turn, and in total (including
				   ended targets) */
	int64_t part;		/* the part of one unit, or of all functions, in the last turn */
	bool excess_is_told;	/* the user knows that what is never paused takes all */
	int64_t spilt;		/* budget that layers did not need, for the functions */
	int64_t waits_ns;	/* credit of the tracing of waits (collect/waits.h) */
	uint64_t waits_spent_ns; /* cost of that tracing, as of the last turn */
	uint64_t others_hits;	 /* hits of layers that are never paused, as of the last turn */
	struct {
		uint64_t at, hits; /* as of the last update; at 0: there was none */
		int64_t ns;
	} bystanders; /* credit for call sites in the kernel that tasks hit which are no targets */
	uint64_t helpers_ns;	  /* CPU time of the calibration's helper */
	uint64_t attach_ns;	  /* total cost of attaching and removing probes */
	uint64_t attach_reported; /* ... as of the last turn */
	int64_t own_attach;	  /* CPU time that attaching may take of peaktop itself now */
	uint64_t own_attach_cpu;  /* what it took, as of the last turn */
	bool own_attach_told;
	uint64_t slept_ns; /* sleeps of the targets in probes, for a lock of the kernel */
};

/* True with --max-overhead 100: there is no budget. */
bool budget_is_unlimited(const struct collector *c);

/* Update the account with what was earned and spent since the last turn. */
void budget_turn(struct collector *c, uint64_t now);

/* CPU time of the targets from the start of the account to the last turn, ns. */
uint64_t budget_ran(const struct collector *c);

/* What is left of the budget, ns. */
int64_t budget_left(const struct collector *c);

/* The budget that `ns` of one CPU's time gives, ns. */
int64_t budget_of(const struct collector *c, uint64_t ns);

/* The same, as an initial credit: a part of what is given in advance. */
int64_t budget_draw(struct collector *c, uint64_t ns);

/* The smallest budget that makes a burst worth attaching its probes, ns. */
int64_t budget_burst(const struct collector *c);

/* A descent begins (`borrows` true) or ends: while it runs, it may borrow from the future
 * budget. */
void budget_borrow(struct collector *c, bool borrows);

/*
 * False while peaktop's own CPU time of attaching and removing probes exceeds a part of one CPU;
 * the user is told once. It grows with the square of the processes: to remove a link the kernel
 * looks through those of all. Bursts become rarer then.
 */
bool budget_allows_attaching(struct collector *c);

/* Charge the account for attaching and removing one link with this many sites. */
void budget_attached(struct collector *c, uint64_t sites);

/* Charge the account for a sleep of a target in a probe: for the lock of its address space. */
void budget_slept(struct collector *c, uint64_t ns);

/* Cost for the targets of attaching and removing one link with this many sites, ns. */
uint64_t budget_attach_cost(uint64_t sites);

/* Cost of one hit of a site of this class, ns. */
uint64_t budget_hit_ns(const struct collector *c, uint32_t class);

/* Cost of one hit of a probe in the kernel's code, ns. */
uint64_t budget_kernel_ns(const struct collector *c);

/* What was timed and not estimated, ns: stack samples, which are few and long, and sleeps. */
uint64_t budget_timed(const struct collector *c);

/*
 * Cost for the targets of the hits that the counters `n` (enum pt_counter) count, ns. *others:
 * their cost for other processes.
 */
uint64_t budget_cost(const struct collector *c, const uint64_t *n, uint64_t *others);

/* CPU time of the collector and of its reader, ns. */
uint64_t budget_collector_cpu(void);

/* CPU time of peaktop's own processes: collector, front, parser and their helpers, ns. */
uint64_t budget_own_cpu(const struct collector *c);

/* The calibration is over: add its helper's CPU time to peaktop's own. */
void budget_calibrated(struct collector *c);

/*
 * Send a note if the budget was exceeded. `ns`: cost of the probes for the targets, `cpu`:
 * CPU time of the targets, `wall`: time since the start.
 */
void budget_note(struct collector *c, uint64_t ns, uint64_t cpu, uint64_t wall);
