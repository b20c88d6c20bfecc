/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Value correlation (OSprof, OSDI 2006, section 3.1, "profiles of values"):
 * which value of a call tells the calls of one peak from the rest, without
 * being asked for any.
 *
 * Candidates are the return value, the arguments, on-CPU time, faults,
 * migrations, sleeps, preemptions and run-queue delay. Per candidate one rule
 * (a set of values or a threshold) is chosen on one half of the sampled calls
 * and judged on the other half. docs/notes/values.md has the method.
 *
 * Pure: same samples in, same answer out.
 */
#ifndef PEAKTOP_VALUES_H
#define PEAKTOP_VALUES_H

#include <stdint.h>

#include "analysis/latency/model.h"
#include "analysis/latency/samples.h"

enum {
	VALUES_MAX = 6, /* shown for one peak */
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

/*
 * `call` and `weight` (the calls that each stands for) as samples_list() gives
 * them; both must outlive the table. `name` is the canonical name of the
 * operation: "syscall:NAME" gives arguments their names and return values
 * their meaning. NULL without memory.
 */
struct value_table *value_table_new(const struct call_sample *const *call, const double *weight,
				    unsigned int n, enum layer layer, const char *name);
void value_table_free(struct value_table *t);

/* Answer for the calls whose latency lies in `range` against all others. Do not copy `out`. */
void values_find(const struct value_table *t, struct bucket_range range, struct values *out);

#endif
