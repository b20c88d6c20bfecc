/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls a flight recorder keeps: those that are slower than the usual calls of their
 * operation, above its p99.9, and of these at most 20 a minute, the slowest ones. Pure. */
#pragma once

#include "analysis/session/record.h"

enum {
	SLOW_CALLS_PER_MINUTE = 20,
	SLOW_CALLS_LEAST = 20,		  /* calls that tell what is usual for an operation */
	SLOW_CALLS_UNKNOWN_NS = 10000000, /* until then longer ones are slow */
};

struct slow_calls;

/* NULL: out of memory. */
struct slow_calls *slow_calls_new(void);
void slow_calls_free(struct slow_calls *s);
/* Take a REC_OP or REC_PROFILE; others have no effect. Calls of more than an hour ago count half,
 * of two hours a quarter, and so on. */
void slow_calls_take(struct slow_calls *s, const struct record *rec);
/* Fill in one operation whose limit has changed since it was returned last. False: there is none.
 */
bool slow_calls_changed(struct slow_calls *s, struct req_keep *out);
/* True if this call is among the slowest of its minute. The minute is not over, so that slower ones
 * may follow: somewhat more than SLOW_CALLS_PER_MINUTE are kept if calls grow slower and slower. */
bool slow_calls_keeps(struct slow_calls *s, const struct rec_call *call);
/* The median of the operation, ns; 0: not known. */
uint64_t slow_calls_usual(const struct slow_calls *s, uint32_t op);
