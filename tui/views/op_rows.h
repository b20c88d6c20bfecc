/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the operations view: copied from the model, filtered, sorted.
 * A paused view keeps the rows it has. Text is sanitised.
 */
#ifndef PEAKTOP_OP_ROWS_H
#define PEAKTOP_OP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/latency/model.h"

enum {
	ROW_HALVES = PT_DOUBLINGS * 2, /* steps of the small histograms: half doublings */
	ROW_FILTER_MAX = 512,
};

enum row_order { BY_NAME, BY_RATE, BY_TIME, BY_P50, BY_P99, BY_PEAKS, BY_OPEN, NR_ORDERS };

struct op_row {
	uint32_t op;
	enum layer layer;
	char name[96], module[48];
	uint64_t calls, time_ns, p50_ns, p99_ns, max_ns;
	double rate,
	    wall; /* calls a second; latency / time, 1 = one thread all the time; < 0 unknown */
	unsigned int peaks;
	uint64_t open, oldest_ns;
	bool idle;   /* nothing but calls that were open when we came: threads that wait for work */
	double seen; /* share of its calls */
	bool adds_up;
	uint8_t
	    log[ROW_HALVES]; /* logarithm of the count, in eighths of a doubling, + 1; 0 = none */
	uint8_t log_max;
};

struct op_rows {
	struct op_row *row; /* operations that did anything or were asked for */
	size_t nr, cap;
	size_t *shown; /* indices of those that pass the filter, in order */
	size_t nr_shown;
	size_t nr_ops; /* of the model, those without calls included */
	enum row_order order;
	bool reverse;
	bool last_slice; /* figures of the last slice, not of the whole run */
	char filter[ROW_FILTER_MAX];
	int low, high; /* steps that the small histograms span: [low, high) */
};

void op_rows_release(struct op_rows *r);
/* Copy anew and arrange. Without memory the rows stay as they were. */
void op_rows_update(struct op_rows *r, struct model *m);
/* Filter and sort what is there. */
void op_rows_arrange(struct op_rows *r);
/* The i-th row shown, or NULL. */
const struct op_row *op_rows_at(const struct op_rows *r, size_t i);
/* Its time, a call that has not ended counted with its age: a stuck one must not hide at the end.
 */
uint64_t op_row_time(const struct op_row *row);

#endif
