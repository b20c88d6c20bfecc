/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peaks and operations in words, for text output and the screen's panes. The
 * text is sanitised. Each appends to `out` and returns 0, -ENOMEM or -E2BIG.
 */
#ifndef PEAKTOP_WORDS_H
#define PEAKTOP_WORDS_H

#include "analysis/base/buf.h"
#include "analysis/latency/model.h"

/* One phrase, no newline: "1.3-2.1 us, most at 1.5 us: 12.3k calls, 98% of calls, 12% of
 * time, 2.4k/s". */
int words_peak(struct buf *out, const struct peak *p);
/*
 * What else is known of it, one remark a line, each ended by a newline: period,
 * characteristic time, run-queue delay, preemption, values, related peaks.
 * Nothing when nothing is.
 */
int words_peak_remarks(struct buf *out, struct model *m, const struct peak *p);
/* Of a listed peak its shadows, of a peak that is listed because all are, why it would be folded: a
 * line each. */
int words_peak_shadows(struct buf *out, const struct op *op, const struct peak *p);
/* "tail", "preemption", "run queue", "page fault"; "" for a listed peak. */
const char *words_fold(enum peak_fold fold);
/* What an operation's counts leave out, one remark a line: open and abnormal calls, calls not seen.
 */
int words_op_remarks(struct buf *out, const struct op *op);
/* What was lost, as one phrase: "nothing", "12 records, 3 samples", ... */
int words_loss(struct buf *out, const struct rec_loss *l);

/* Only phases were measured: which, and how many were seen. One sentence without its stop. */
int words_phases(struct buf *out, const struct rec_phases *p);

/*
 * Append sanitised `text` broken at spaces into lines of at most `columns`: the
 * first begins with `first`, the others with `rest` spaces; a word that is too
 * long is broken too. A newline in the text starts a line with `first` again.
 */
int words_wrap(struct buf *out, const char *text, unsigned int columns, const char *first,
	       unsigned int rest);

#endif
