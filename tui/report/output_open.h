/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is open now (analysis/walk/open.h), as `peaktop descend --open` prints it and
 * the screen shows it: each thread in such a call, for how long, what it waits for, its
 * stack. Names of the host pass the sanitiser here.
 */
#ifndef PEAKTOP_OUTPUT_OPEN_H
#define PEAKTOP_OUTPUT_OPEN_H

#include <stdio.h>

#include "analysis/base/buf.h"
#include "analysis/walk/open.h"
#include "tui/engine/descent_driver.h"
#include "tui/report/output.h"

struct open_report {
	struct model *model;
	const struct descent_driver *names;
	const struct open_calls *calls;
	struct open_ask ask;
	const char *what; /* as the user named it; NULL: whatever is open */
};

/* Threads in such a call. */
size_t open_report_nr(const struct open_report *r);
/* All of it as lines. */
void open_report_lines(const struct open_report *r, struct buf *out);

int output_open_json(const struct open_report *r, const struct output_options *o, FILE *f);
int output_open_text(const struct open_report *r, const struct output_options *o, FILE *f);

#endif
