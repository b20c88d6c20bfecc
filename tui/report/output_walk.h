/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the answer of `peaktop descend` without -f (a walk) from its records, as JSON with the
 * fields of a descent (docs/peaktop.schema.json) or as text. Names of the target and the host are
 * sanitised here. Each returns 0, -ENOMEM, or the negative errno of a failed write. */
#pragma once

#include "tui/engine/walker.h"
#include "tui/report/output.h"

struct walk_report {
	struct model *model;
	const struct descent_driver *names;
	const struct walker *walker;
};

int output_walk_json(const struct walk_report *r, const struct output_options *o, FILE *f);
int output_walk_text(const struct walk_report *r, const struct output_options *o, FILE *f);

/* ---- shared by text and JSON (output_walk.c) ---- */

/* The kind of a path's cause in JSON: a kind of a descent, "flat" or "idle". */
const char *walk_cause_text(const struct walk_path *p);
/* True if this path ends in code without a name (generated at run time). */
bool walk_in_unnamed(const struct walk_result *result, const struct walk_path *p);
/* True for code of a file that has no symbol for it, which no compiler made at run time. */
bool walk_is_code_of_file(const struct walk_report *r, const struct walk_node *n);
/* The second path, if its share is within a tenth of the first one's, so that neither is
 * the single cause; else NULL. */
const struct walk_path *walk_beside(const struct walk_result *result);
/* True if waiting for a CPU is so large a part of the work that the first sentence names it. */
bool walk_queue_reported(const struct walk_result *result);
const char *walk_status(const struct walk_result *result);
/* Write the name of a node: a function, "syscall:read", or a kernel function. Not sanitised. */
const char *walk_name(const struct walk_report *r, const struct walk_node *n, char *out,
		      size_t size);
const char *walk_class_text(enum walk_class class);
/* Remarks about how the figures were obtained, not sanitised. */
struct walk_remarks {
	char line[10][1024];
	unsigned int nr;
	unsigned int whole; /* lines from here on are commands, which are not wrapped */
};
void walk_remarks_fill(struct walk_remarks *out, const struct walk_report *r,
		       const struct walk_result *result);
