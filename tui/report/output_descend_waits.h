/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For whom the calls of a path of a descent wait. Text from the target is sanitised here. */
#pragma once

#include <jansson.h>

#include "tui/report/output_descend.h"
#include "tui/report/output_waits.h"

/* Add "wait", the largest chain, and "waits", all of them. If none were traced, "wait" has only
 * what ended the sleep. Add nothing if the path does not sleep. */
void report_put_waits(json_t *o, const struct descend_report *report,
		      const struct descent_result *result, const struct descent_path *p);
/* Name in the causes of waits for a lock who had it longest, if waits were traced and several
 * threads had it. 0 or -ENOMEM. */
int report_name_holders(const struct descend_report *r, struct descent_result *result);
/* Append the chains of a path as a tree; if none were traced, a line about the end of its waits. */
void report_put_wait_tree(struct buf *out, const struct descend_report *report,
			  const struct descent_result *result, const struct descent_path *p,
			  const struct output_options *o);
/* Append what the task did for which the calls of a path wait: "; meanwhile answerer was running
 * (start > answer > load)". Nothing if it did several things, none of them for most of the time. */
void report_put_meanwhile(struct buf *out, const struct descend_report *report,
			  const struct descent_result *result, const struct descent_path *p);
/* Call `fn` for each line of that tree; not once if no chains were traced. Store their time in
 * *total_ns. 0 or -ENOMEM. */
int report_wait_lines(const struct descend_report *report, const struct descent_result *result,
		      const struct descent_path *p, uint64_t *total_ns, wait_line_fn *fn,
		      void *ctx);
/* Append one line if a path waits for somebody and no waits were traced. False: nothing was
 * appended. */
bool report_lacks_waits(struct buf *out, const struct descend_report *r,
			const struct descent_result *result);

/* ---- shared by the files about waits */

struct wait_report wait_report_for(const struct descend_report *r);
/* The chains that begin on a path, as those of one thread; none if no waits were traced. 0 or
 * -ENOMEM. */
int report_path_waits(const struct descend_report *r, const struct descent_result *result,
		      const struct descent_path *p, struct waits_chains *out);

/* ---- output_descend_json.c */

/* Add file and line of a place, if known. */
json_t *report_put_line(json_t *o, const struct driver_symbol *s);
/* The name of a place in code; without a name, module and offset. */
void report_code_name(const struct descent_driver *d, struct rec_code code, char *out, size_t size);
