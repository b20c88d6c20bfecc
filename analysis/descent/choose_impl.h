/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files share that choose the calls to explain: parts of peaks. */
#pragma once

#include "analysis/latency/model.h"

/* Returns the bucket where the tail of a peak begins, far above its mode; at most the end of the
 * peak. */
unsigned int peak_tail_begin(const struct peak *p);
/* True if the peak includes another one: its mean is far from its mode. A mean over both would
 * describe neither: its tail and the calls near its mode are two answers. */
bool peak_is_mixed(const struct op *op, const struct peak *p);
/* Returns the range of the longest calls that have most of the time. Shorter calls are many and
 * would outvote the long ones, although they take little of the time. */
struct bucket_range calls_heaviest(const struct op *op, struct bucket_range range);
/* Returns the calls of a range that are longer than its mean, if they are another kind of calls;
 * else the range. The shorter calls would outvote them. If the range begins in the flank of a peak,
 * armed probes move further calls of that peak into the range, and the long ones become rarer
 * still. */
struct bucket_range calls_another_kind(const struct op *op, struct bucket_range range);
/* Returns the mean latency of the calls of a range; 0: it has none. */
uint64_t calls_mean_ns(const struct op *op, uint64_t low_ns, uint64_t high_ns);
/* Extends a peak into the buckets beside it that are empty. The few calls that a descent begins
 * with may all lie in one bucket, of 9% of their latency. What probes and tracepoints add to a
 * call, and how exactly their cost is known, would then decide whether any later call is
 * counted. */
void calls_add_room(const struct op *op, uint64_t *low_ns, uint64_t *high_ns);
