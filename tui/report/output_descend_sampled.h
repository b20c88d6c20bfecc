/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints an answer by samples alone (descent_result.sampled), and what stacks tell below a path.
 * Shared by text and JSON. */
#pragma once

#include <jansson.h>

#include "tui/report/output_descend.h"

/* Append what the answer is about, to begin a sentence: "all calls of f, 1.1 us on average". */
void report_sampled_begin(const struct descend_report *r, const struct descent_result *result,
			  struct buf *out);
/* Append how the answer was found, to end the sentence. */
void report_sampled_end(const struct descent_result *result, struct buf *out);
/* Append the function and those with most of its time, each without and with its callees, and the
 * sum of the rest. Nothing if calls were measured. */
void report_sampled_table(const struct descend_report *r, const struct descent_result *result,
			  struct buf *out);
/* The same as a JSON object. */
json_t *report_sampled_json(const struct descend_report *r, const struct descent_result *result);
/* Append the kernel functions below the last frame of a path: one line. A function with less of the
 * time than those before it is shown with its share of the time of these calls. */
void report_put_kernel(struct buf *out, const struct descend_report *r,
		       const struct descent_path *p, const struct output_options *o);
/* Append the functions in which CPU samples of the last frame ended: its callees were not timed. */
void report_put_below(struct buf *out, const struct descend_report *r, const struct descent_path *p,
		      const struct output_options *o);
/* The same functions as a JSON array. */
json_t *report_below_json(const struct descent_driver *d, const struct descent_path *p);
