/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of one operation as the model had it at one moment, all that the
 * operation's view shows. It outlives later records (a paused view) and costs
 * one allocation of some hundred KB at most times, 48 MB at the very most.
 */
#ifndef PEAKTOP_FROZEN_H
#define PEAKTOP_FROZEN_H

#include <stdint.h>

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
	struct op op; /* values and related of its peaks are not kept: see `peak` */
	const char *name, *label, *placement, *remarks; /* sanitised; remarks: lines */
	struct frozen_peak *peak;			/* as op.peaks */
	uint64_t elapsed_ns;				/* of the session */
	uint64_t interval_ns;				/* length of a slice */
};

/*
 * Copy the operation of this number, its peaks answered in full. NULL when the
 * model has none or without memory. When its slices do not fit, the oldest are left out.
 */
struct frozen_op *frozen_op_new(struct model *m, uint32_t op);
void frozen_op_free(struct frozen_op *f);

#endif
