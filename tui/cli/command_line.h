/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the whole command line (docs/man/) before anything is started. */
#pragma once

#include "tui/engine/options.h"

/* Parse the command line into `o`, whose strings point into argv; what is not given is as in
 * `defaults`. Returns 0, or -EINVAL with one
 * line in `error` that says what is wrong and what to do. If o->help or
 * o->version is set, that is all that was asked for: the other options were not checked. */
int options_parse_from(struct options *o, const struct options *defaults, int argc, char **argv,
		       char *error, size_t error_size);
/* Set the built-in defaults. */
void options_defaults(struct options *o);
/* options_parse_from() with the built-in defaults. */
static inline int options_parse(struct options *o, int argc, char **argv, char *error,
				size_t error_size)
{
	struct options built_in;

	options_defaults(&built_in);
	return options_parse_from(o, &built_in, argc, argv, error, error_size);
}
struct option_row;
/* Parse the value of a number or a text into its member of `o`. Returns as options_parse(). */
int option_value_parse(struct options *o, const struct option_row *row, const char *value,
		       char *error, size_t error_size);
/* Parse one OP (-f; op_spec.c). Returns as options_parse(). */
int op_spec_parse(struct op_spec *op, const char *text, char *error, size_t error_size);
/* Parse --peak: a number from 1, a latency, or a range of latencies. In a range, the first latency
 * may lack its unit. Returns as options_parse(). */
int peak_spec_parse(struct descent_question *q, const char *text, char *error, size_t n);
/* Parse --value: a parameter, or a member behind one (op_spec.c). Returns as options_parse(). */
int value_spec_parse(struct options *o, const char *text, char *error, size_t n);
int values_check(const struct options *o, char *error, size_t n);
/* Parse --ring: a size with the unit K, M or G, or a time with the unit m, h or d (ring_spec.c).
 * Returns as options_parse(). */
int ring_spec_parse(struct options *o, const char *text, char *error, size_t n);
/* Parse --when and --every (when_spec.c). Return as options_parse(). */
int when_spec_parse(struct options *o, const char *text, char *error, size_t n);
int every_spec_parse(struct options *o, const char *text, char *error, size_t n);
/* Check what belongs to --when, and add its operation to those that are measured. Returns as
 * options_parse(). */
int when_check(struct options *o, char *error, size_t n);
/* A time of day, wall clock: from <= t < to. */
struct time_span {
	uint64_t from_ns, to_ns;
};
/* Parse --at (time_spec.c): a minute or a second, as HH:MM, HH:MM:SS, or with a date before it and
 * a T or a space between. Without a date it is the last such time before `end_ns`. Local time.
 * Returns as options_parse(). */
int time_span_parse(struct time_span *out, const char *text, uint64_t end_ns, char *error,
		    size_t n);
/* Check the arguments of `why`. Returns as options_parse(). */
int why_check(const struct options *o, char *error, size_t n);
/* Write a line about what is wrong. Returns -EINVAL. */
int options_fail(char *error, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
