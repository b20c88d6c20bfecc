/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer about an operation as a whole: a table of the parts of its time, and a report on each
 * part into which there was a descent. Without parts, and with only one, the answer is that of one
 * descent. */
#pragma once

#include <jansson.h>

#include "tui/report/output_descend.h"

/* True if the answer is about more than one part. */
bool report_has_parts(const struct descend_report *r);
/* Fills *out with the report on part `number`, from 1. False: there was no descent into it. */
bool report_part(const struct descend_report *r, uint32_t number, struct descend_report *out);
/* The report on the first part into which there was a descent; without parts, a copy of `r`. */
struct descend_report report_first_part(const struct descend_report *r);

/* Append the operation with its rate and time: "serve, 1.5k calls/s, 98% of a thread". */
void report_parts_heading(struct buf *out, const struct descend_report *r);
/* Append the calls of a part: "7.6% of calls, 1.5-4.2 ms". */
void report_part_calls(struct buf *out, const struct rec_parts *parts, const struct rec_part *p);
/* Append what takes the time of part `number`, from 1, or why that is not known. */
void report_part_answer(struct buf *out, const struct descend_report *r, uint32_t number);
/* Append the rows of the table from r->rows_printed up to `end`: 0 is the heading, n is part n, and
 * the last one is the rest. */
void report_put_parts(struct buf *out, const struct descend_report *r,
		      const struct output_options *o, unsigned int end);
/* Prints the beginning of the text while the descents go on: the rows of the parts before the
 * present one. Updates r->rows_printed, so that output_descend_text() goes on after them. */
int output_descend_begin(struct descend_report *r, const struct output_options *o, FILE *f);
/* Append a note if there was no descent into a part. False: nothing was appended. */
bool report_lacks_parts(struct buf *out, const struct descend_report *r);
/* Add "parts" and "rest", if the answer is about an operation as a whole. */
void report_put_parts_json(json_t *o, const struct descend_report *r);

/* ---- output_descend.c */

/* If the answer is no root cause, begin a sentence with the reason. */
void report_doubt(struct buf *out, const struct descend_report *r,
		  const struct descent_result *result);
