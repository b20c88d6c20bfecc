/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of value correlation in words, and the round numbers that they use.
 * Inside of values.c.
 */
#ifndef PEAKTOP_VALUES_TEXT_H
#define PEAKTOP_VALUES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/latency/values_rule.h"

/* A number t with low < t <= high, as round as there is one, near their geometric mean. */
int64_t round_between(int64_t low, int64_t high, bool is_signed, enum value_format format);

/* "-11 (EAGAIN) in 98% of these, 2% of the others" */
void rule_text(char *to, size_t size, const struct rule *r, enum value_format format,
	       double share_in, double share_out);

#endif
