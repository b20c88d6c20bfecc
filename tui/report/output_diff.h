/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what changed between two sessions: the answer of `peaktop diff`. */
#pragma once

#include "analysis/latency/diff.h"
#include "tui/report/output.h"

struct diff_report {
	const struct diff *diff;
	struct model *model[2]; /* of the first and of the second session */
	const char *file[2];	/* their names, as the user gave them */
};

/* Both return 0, -ENOMEM, or the negative errno of a failed write. */
int output_diff_text(const struct diff_report *r, const struct output_options *o, FILE *f);
int output_diff_json(const struct diff_report *r, const struct output_options *o, FILE *f);
