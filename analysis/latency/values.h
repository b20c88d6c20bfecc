/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Value correlation (OSprof, OSDI 2006, section 3.1, "profiles of values"): finds the values of
 * calls that distinguish the calls of one peak from all others, without being told which value to
 * look at.
 *
 * Candidates are the return value, the arguments, the thread, on-CPU time, faults, migrations,
 * sleeps, preemptions and run-queue delay. For each candidate one rule (a set of values, or a
 * threshold) is chosen on one half of the sampled calls and judged on the other half.
 * docs/notes/values.md has the method.
 *
 * Pure: same samples in, same answer out.
 */
#pragma once

#include "analysis/latency/model.h"
#include "analysis/latency/samples.h"

enum {
	VALUES_MAX = 6, /* values of one peak; the text shows fewer */
	VALUES_NAME = 64,
	VALUES_TEXT = 200,
};

/* The values that distinguish the calls of one peak from all others, best first. */
struct values {
	unsigned int nr;
	struct peak_value value[VALUES_MAX]; /* name and text point into `name` and `text` */
	char name[VALUES_MAX][VALUES_NAME];
	char text[VALUES_MAX][VALUES_TEXT];
};

/* Sampled calls of one operation, prepared for several questions. */
struct value_table;

/* Prepares sampled calls. `call` and `weight` (the number of calls that each represents) are the
 * output of samples_list() and must outlive the table, as must the operation. The name
 * "syscall:NAME" of a system call gives arguments their names and return values their meaning; the
 * parameters of a function, if they are known, do the same. Returns NULL if out of memory. */
struct value_table *value_table_new(const struct call_sample *const *call, const double *weight,
				    unsigned int n, const struct op *op);
void value_table_free(struct value_table *t);

/* Finds the values that distinguish the calls with a latency in `range` from all others. Do not
 * copy *out: its pointers point into itself. */
void values_find(const struct value_table *t, struct bucket_range range, struct values *out);

/* Finds the values of one call that the calls of the table, which are ordinary ones, do not have:
 * one that nearly none of them has, if nearly all have the same one or two, or a number that is
 * much larger than all of theirs. The best ones first; none if the calls are too few. The text is
 * "9 (ordinary calls: 5)". Do not copy *out. */
void values_of_call(const struct value_table *t, const struct call_sample *call,
		    struct values *out);
