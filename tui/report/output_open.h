/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the calls that are open now (analysis/walk/open.h), for `peaktop descend --open` and the
 * screen: each thread in such a call, the age of the call, what the thread waits for, and its
 * stack. Names of the target and the host are sanitised here. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/walk/open.h"
#include "tui/engine/descent_driver.h"
#include "tui/report/output.h"

struct open_report {
	struct model *model;
	const struct descent_driver *names;
	const struct open_calls *calls;
	struct open_ask ask;
	const char *what; /* the OP on the command line; NULL: all open calls */
};

/* The question about the open calls of this operation. */
static inline struct open_ask open_ask_of(const struct op *op)
{
	if (op->layer == LAYER_SYSCALL)
		return (struct open_ask){.syscall = op->label};
	return (struct open_ask){.function = {op->module_id, op->offset}};
}

/* The number of threads in such a call. */
size_t open_report_nr(const struct open_report *r);
/* The number of threads of which that is not known, because their stacks are incomplete. */
size_t open_report_unknown(const struct open_report *r);
/* Append the report as lines of text. */
void open_report_lines(const struct open_report *r, struct buf *out);

int output_open_json(const struct open_report *r, const struct output_options *o, FILE *f);
int output_open_text(const struct open_report *r, const struct output_options *o, FILE *f);
