/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of the operations view: copied from the model, filtered, sorted.
 * A paused view keeps the rows it has. Text is sanitised. */
#pragma once

#include "analysis/latency/model.h"

enum {
	ROW_HALVES = PT_DOUBLINGS * 2, /* steps of the small histograms: half doublings */
	ROW_FILTER_MAX = 512,
};

enum row_order {
	BY_NAME,
	BY_RATE,
	BY_TIME,
	BY_P50,
	BY_P99,
	BY_PEAKS,
	BY_OPEN,
	BY_LAYER,
	BY_CALLS,
	BY_TOTAL,
	BY_MAX,
	NR_ORDERS
};

/* As in the configuration: "wall", "p99". */
extern const char *const row_order_names[NR_ORDERS];

/* The columns beside the name, in their usual order. */
enum op_column {
	COLUMN_LAYER,
	COLUMN_CALLS,
	COLUMN_TOTAL,
	COLUMN_RATE,
	COLUMN_WALL,
	COLUMN_P50,
	COLUMN_P99,
	COLUMN_MAX,
	COLUMN_HISTOGRAM,
	COLUMN_PEAKS,
	COLUMN_OPEN,
	NR_COLUMNS
};
extern const char *const op_column_names[NR_COLUMNS];

/* The order by this column; NR_ORDERS: the list cannot be sorted by it. */
enum row_order op_column_sort(enum op_column column);
/* The first `n` columns of an order as a number: four bits each, 1 + enum op_column, the leftmost
 * in the lowest bits. 0: none. */
uint64_t op_columns_pack(const enum op_column *order, int n);
/* All columns from left to right: those in `packed`, then the others in their usual order. */
void op_columns_unpack(uint64_t packed, enum op_column order[NR_COLUMNS]);

/* The groups of the list, from the top. */
enum op_group {
	GROUP_ASKED, /* functions, and other layers that the user named */
	GROUP_CALLS, /* system calls */
	GROUP_HOST,  /* waiting for a CPU or a lock, block requests: no calls to descend into */
	GROUP_IDLE,  /* idle waits and timed sleeps */
	NR_GROUPS
};

struct op_row {
	uint32_t op;
	enum layer layer;
	char name[96], module[48];
	uint64_t calls, time_ns, p50_ns, p99_ns, max_ns;
	double rate, wall; /* calls per second; total latency / time (1: one thread all the time; <
			      0: unknown) */
	unsigned int peaks;
	uint64_t open, oldest_ns;
	bool began_before; /* only calls that were open before peaktop attached */
	bool asked;	   /* a function that the user asked for */
	enum op_group group;
	bool stuck;    /* a call is open for longer than is normal */
	double seen;   /* share of its calls that were seen */
	bool at_least; /* `rate` is a lower bound */
	bool adds_up;
	uint8_t
	    log[ROW_HALVES]; /* logarithm of the count, in eighths of a doubling, + 1; 0 = none */
	uint8_t log_max;
};

struct op_rows {
	struct op_row *row; /* operations that had calls or that the user named */
	size_t nr, cap;
	size_t *shown; /* indices of the rows that pass the filter, sorted */
	size_t nr_shown;
	size_t first[NR_GROUPS + 1]; /* rows shown before each group, and all */
	size_t nr_ops;		     /* number of operations of the model, with or without calls */
	enum row_order order;
	bool reverse;
	char filter[ROW_FILTER_MAX];
	int low, high; /* steps that the small histograms span: [low, high) */
};

void op_rows_release(struct op_rows *r);
/* Copy the rows from the model, with the figures of its last slice or of all, filter and sort them.
 * If memory runs out, the rows stay unchanged. */
void op_rows_update(struct op_rows *r, struct model *m, bool last_slice);
/* Filter and sort the present rows, within their groups. */
void op_rows_arrange(struct op_rows *r);
/* The i-th row shown, or NULL. */
const struct op_row *op_rows_at(const struct op_rows *r, size_t i);
/* The total time of an operation for sorting. Open calls count with their age, so that an operation
 * with a stuck call is not sorted last. */
uint64_t op_row_time(const struct op_row *row);
