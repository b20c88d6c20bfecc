/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot of one operation in the model, with everything that the operation's view shows. Later
 * records do not change the copy, so a view can be paused. It usually takes a few hundred KB, at
 * most 48 MB. */
#pragma once

#include "analysis/latency/model.h"

enum { FROZEN_MAX_BYTES = 48 << 20, FROZEN_MAX_RELATED = 8 };

struct frozen_peak {
	const char *remarks; /* lines of words_peak_remarks(), sanitised; the last nr_related are
				about related peaks */
	unsigned int nr_related;
	struct {
		uint32_t op;
		int peak_id;
	} related[FROZEN_MAX_RELATED];
};

struct frozen_op {
	struct op op; /* its peaks have neither values nor related peaks: see `peak`; its slices are
			 those of the whole run */
	struct profile run; /* calls of the whole run: op.total may be of a part of it */
	const char *name, *label, *placement, *remarks; /* sanitised; remarks: lines */
	struct frozen_peak *peak;			/* one for each of op.peaks */
	uint64_t elapsed_ns;				/* of the session */
	bool past;					/* op is what was measured in this time: */
	uint64_t start_ns, end_ns;
	uint64_t interval_ns; /* length of a slice */
	struct layer_off off; /* of its layer */
};

/* Copy the operation with this number and its peaks, and the slices of the whole run. `part`, if it
 * is not `run`, is a model of a part of the run (model_span()), of which the figures and peaks
 * are. NULL: there is none, or out of memory. If not all slices fit, the oldest are left out. */
struct frozen_op *frozen_op_new(struct model *run, struct model *part, uint32_t op);
void frozen_op_free(struct frozen_op *f);
