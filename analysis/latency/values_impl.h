/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What values.c and values_call.c share: sampled calls and what is known of their values. */
#pragma once

#include "analysis/latency/values.h"
#include "analysis/latency/values_rule.h"

/* The values of a call that may distinguish a peak from the other calls. If several of them
 * distinguish it equally well, the first one in this list is preferred, because it explains
 * more. */
enum feature_id {
	F_RET,
	F_ARG0,
	F_MEMBER0 = F_ARG0 + SAMPLE_ARGS,
	F_TEXT = F_MEMBER0 + SAMPLE_MEMBERS,
	F_MAJOR_FAULTS,
	F_MINOR_FAULTS,
	F_MIGRATIONS,
	F_PREEMPTED,
	F_RUNQUEUE,
	F_SLEEPS,
	F_ONCPU,
	F_THREAD,
	F_COUNT
};

struct feature {
	char name[VALUES_NAME];
	bool in_program; /* `name` is a parameter's */
	bool of_kernel;	 /* of an object of the kernel that the call worked on */
	struct value_traits traits;
	uint32_t size;	 /* only so many low bytes hold the value; 0: all */
	unsigned int nr; /* number of calls for which the value is known */
	uint16_t *order; /* these calls, sorted by value */
};

struct value_table {
	const struct call_sample *const *call;
	const double *weight;
	unsigned int n;
	struct feature feature[F_COUNT];
	uint16_t *orders;	   /* memory of the `order` arrays of all features */
	struct value_group *group; /* room for n */
	bool *in;		   /* room for n */
	bool unverified;	   /* the function may have no return value */
	struct value_strings strings;
};

/* The bit of enum sample_known that says whether a call has this value; 0: each has it. */
unsigned int value_known_bit(unsigned int f);
/* The value of a call, as rules compare it. */
int64_t value_key(const struct value_table *t, unsigned int f, const struct call_sample *c);
