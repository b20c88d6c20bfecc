/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints an answer by samples alone (descent_result.sampled). Shared by text and JSON. */
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
