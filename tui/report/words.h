/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describes peaks and operations in words, for the text output and the panes of the screen. The
 * text is sanitised. Each function appends to `out` and returns 0, -ENOMEM or -E2BIG. */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"

/* The name of an operation as it is shown: of a function its demangled name without parameters and
 * long template arguments ("Dispatcher::dispatch"). If this name means two operations, it is the
 * whole demangled name, and if this one does, too, the linkage name. words_op_name() adds the
 * module ("Dispatcher::dispatch@app"); other operations than functions keep their OP. */
int words_op_function(struct buf *out, struct model *m, const struct op *op);
int words_op_name(struct buf *out, struct model *m, const struct op *op);

/* Text output and --peak name peaks by their rank: 1 has the lowest latency. The live screen names
 * them by their number, which does not change when a peak appears or disappears. */
enum peak_names { PEAKS_BY_RANK = 0, PEAKS_BY_NUMBER };
int peak_name(const struct peak *p, enum peak_names names);

/* The part of the estimated calls of an operation that is certain, if that is less than a quarter
 * of what it may be: then figures say "at least". Otherwise 1. */
double words_sure_part(const struct op *op);
/* One phrase, no newline: "1.3-2.1 us, most at 1.5 us: 12.3k calls, 98% of calls, 12% of
 * time, 2.4k/s". */
int words_peak(struct buf *out, const struct peak *p);
enum { REMARKS_SHOWN = 3 };
/* Remarks about a peak, one per line, each with a newline, at most REMARKS_SHOWN: values, period,
 * run-queue delay, preemption, characteristic time, those that explain most of it first; then, if
 * there is room left, related peaks. */
int words_peak_remarks(struct buf *out, struct model *m, const struct peak *p,
		       enum peak_names names);
/* A value and what is said of it, without a line end. */
void words_value(struct buf *out, const struct peak_value *v);
/* For how many related peaks there is room. */
unsigned int words_related_shown(const struct peak *p);
/* One line for each shadow of a listed peak; with --all-peaks also the reason why this peak would
 * be folded. */
int words_peak_shadows(struct buf *out, const struct op *op, const struct peak *p,
		       enum peak_names names);
/* "tail", "preemption", "run queue", "page fault"; "" for a listed peak. */
const char *words_fold(enum peak_fold fold);
/* Remarks about calls that an operation's counts lack, one per line: open, abnormal and unseen
 * calls. */
int words_op_remarks(struct buf *out, const struct op *op);
/* The lost records as one phrase: "nothing", "12 records, 3 samples", ... */
int words_loss(struct buf *out, const struct rec_loss *l);

/* A sentence (without full stop) about --begin and --end: which phases were measured, and how many.
 */
int words_phases(struct buf *out, const struct rec_phases *p);

/* Append sanitised `text`, broken at spaces into lines of at most `columns`. The first line begins
 * with `first`, the others with `rest` spaces. A word longer than a line is broken, too. After a
 * newline in the text the next line begins with `first` again. */
int words_wrap(struct buf *out, const char *text, unsigned int columns, const char *first,
	       unsigned int rest);
