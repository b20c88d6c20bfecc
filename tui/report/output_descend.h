/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `peaktop descend` prints: the answer of a descent, from its records and the
 * model alone, as JSON (docs/peaktop.schema.json) or text. The same records give
 * the same bytes. Names of the host pass the sanitiser here.
 *
 * Each returns 0, -ENOMEM, or the negative errno of a failed write.
 */
#ifndef PEAKTOP_OUTPUT_DESCEND_H
#define PEAKTOP_OUTPUT_DESCEND_H

#include <stdio.h>

#include "tui/engine/descent_driver.h"
#include "tui/report/output.h"

/* What is to be printed. */
struct descend_report {
	struct model *model;
	const struct descent_driver *driver;
	uint32_t op;	   /* f0, also where nothing could be asked */
	bool no_such_peak; /* that is why nothing was asked */
	int wanted_peak;   /* the rank that was asked for; 0: none */
	uint64_t wanted_low_ns,
	    wanted_high_ns; /* the latency (equal) or range that was asked for; 0: none */
	double slowest;	    /* percent; 0: a peak */
	const char *asked;  /* the OP as it was given; NULL: not known */
};

int output_descend_json(const struct descend_report *r, const struct output_options *o, FILE *f);
int output_descend_text(const struct descend_report *r, const struct output_options *o, FILE *f);
/* The one sentence that comes first, without newline, sanitised. */
void output_descend_sentence(const struct descend_report *r, struct buf *out);

/* ---- for both (output_descend.c) ---- */

/* Code that a program made itself, or that of the vdso. */
#define NO_FILE "(code of no file)"

/* The result as far as there is one: all zero with no paths before anything was asked. 0 or
 * -ENOMEM. */
int report_result(const struct descend_report *r, struct descent_result *out);
/* The functions of the kernel that causes in it are named by. */
void report_name_kernel(const struct descent_driver *d, struct descent_result *r);
const char *report_status(const struct descend_report *r, const struct descent_result *result);
/*
 * The peak that the descent asked about: its range as it was asked, its calls as they are now.
 * False: none (the slowest calls, or it has gone). What *out points to is of `op`.
 */
bool report_peak(const struct descend_report *r, const struct op *op, struct peak *out);
/*
 * The calls that the answer is about, as a sentence begins with them: "peak 3, 2.5-3.8 ms, 2.6 ms
 * on average, 2% of calls and 25% of time". `mean_ns` 0: not known yet. False: nothing was asked,
 * nothing was put.
 */
bool report_peak_begin(const struct descend_report *r, uint64_t mean_ns, struct buf *out);
/* What of the time is not explained, in words: "30% in callees that were not measured"; nothing
 * where nothing is. */
void report_missing(const struct descend_report *r, const struct descent_result *result,
		    struct buf *out);
enum evidence report_evidence(const struct descent_fnode *n);
/* `evidence` in words for a person; evidence_text() is the value in JSON. */
const char *report_evidence_words(enum evidence evidence);
/* A cause in words, sanitised: "timed sleep (nanosleep)". */
void report_cause(struct buf *out, const struct cause *c);
/* The cause of a path; of a loop with what it calls: "in 7 calls of dlopen, 107 us each (88%)". */
void report_path_cause(struct buf *out, const struct descent_driver *d,
		       const struct descent_path *p);
/* "7" or "6.5" */
void report_mean_count(struct buf *out, double mean);
/* What ended a wait, sanitised: "ended by a timer", "woken by redis 812". */
void report_wait_end(struct buf *out, const struct hop *h);
/* A name without parameters, sanitised. */
void report_short_name(struct buf *out, const char *name);
/*
 * What no peak shows: calls that did not return, if they are a hundredth of all. One sentence
 * without its stop, for JSON notes and text alike; nothing where there are none.
 */
bool report_left(struct buf *out, const struct op *op);
/* The short name of a function, sanitised; "module+0x..." where it has none. */
void report_function(struct buf *out, const struct descent_driver *d, struct rec_code function);
/* "store.c:88", sanitised; nothing where the source is not known. */
bool report_place(struct buf *out, const struct descent_driver *d, struct rec_code place);
/* "store.c:88", sanitised; nothing without a line. */
bool report_line(struct buf *out, const char *file, uint32_t line);
/* Where the time of a path's last function went: "in the loop at hash.c:40-44 of mix (inlined)";
 * nothing if unknown. */
bool report_where(struct buf *out, const struct descent_driver *d, const struct descent_path *p);
/* The functions inlined at a call site, innermost first, of which the site is in the first: none,
 * or "mix < fold". */
bool report_inlined_at(struct buf *out, const struct descent_driver *d, struct rec_code site);

#endif
