/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes rules of value correlation in words, and finds round numbers for them. Internal to
 * values*.c. */
#pragma once

#include "analysis/latency/syscall_args.h"
#include "analysis/latency/values_rule.h"

/* Returns how arguments of a kind are compared and written. */
struct value_traits value_traits_of(enum arg_kind kind);

/* Returns a number t with low < t <= high, as round as possible, near their geometric mean. */
int64_t round_between(int64_t low, int64_t high, bool is_signed, enum value_format format);

/* The key that stands for a string; two strings have the same one with a chance of 1 in 2^64. */
int64_t string_key(const char *text);

/* Writes one value. */
void value_text(char *to, size_t size, int64_t key, const struct value_traits *traits);

/* Writes a rule as text: "-11 (EAGAIN) in 98% of these, 2% of the others". */
void rule_text(char *to, size_t size, const struct rule *r, const struct value_traits *traits,
	       double share_in, double share_out);
