/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `peaktop descend` without -f prints: the answer of a walk, from its records
 * alone, in the shape of a descent (docs/peaktop.schema.json) or as text. Names of the
 * host pass the sanitiser here. Each returns 0, -ENOMEM, or the negative errno of a failed write.
 */
#ifndef PEAKTOP_OUTPUT_WALK_H
#define PEAKTOP_OUTPUT_WALK_H

#include <stdio.h>

#include "tui/engine/walker.h"
#include "tui/report/output.h"

struct walk_report {
	struct model *model;
	const struct descent_driver *names;
	const struct walker *walker;
};

int output_walk_json(const struct walk_report *r, const struct output_options *o, FILE *f);
int output_walk_text(const struct walk_report *r, const struct output_options *o, FILE *f);

/* ---- for both (output_walk.c) ---- */

/* The kind of its cause, as JSON has it: those of a descent, "flat" or "idle". */
const char *walk_cause_text(const struct walk_path *p);
/* Does this path end in code without a name (made at run time)? */
bool walk_in_unnamed(const struct walk_result *result, const struct walk_path *p);
/*
 * The second path, if its share is within a tenth of the first one's, so that neither is
 * the single cause; else NULL.
 */
const struct walk_path *walk_beside(const struct walk_result *result);
/* Is the wait for a CPU so large a part of the work that the first sentence names it? */
bool walk_queue_reported(const struct walk_result *result);
const char *walk_status(const struct walk_result *result);
/* A node by name: a function, "syscall:read", a function of the kernel. Not sanitised. */
const char *walk_name(const struct walk_report *r, const struct walk_node *n, char *out,
		      size_t size);
const char *walk_class_text(enum walk_class class);
/* The remarks about how the figures were obtained, one per call; NULL after the last. */
const char *walk_remark(const struct walk_report *r, const struct walk_result *result,
			unsigned int i, char *out, size_t size);

#endif
