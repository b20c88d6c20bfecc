/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the answer of `peaktop descend` from the records of the descent and the model, as JSON
 * (docs/peaktop.schema.json) or text. The same records give the same bytes. Names of the target and
 * the host are sanitised here.
 *
 * Each returns 0, -ENOMEM, or the negative errno of a failed write.
 */
#pragma once

#include "tui/engine/descent_driver.h"
#include "tui/engine/wait_driver.h"
#include "tui/report/output.h"
#include "tui/report/short_name.h"
#include "tui/report/words.h"

/* The descent to print. */
struct descend_report {
	struct model *model;
	const struct descent_driver *driver;
	uint32_t op;	   /* f0, also if no descent began */
	bool no_such_peak; /* no descent began for this reason */
	int wanted_peak;   /* the rank that was asked for; 0: none */
	uint64_t wanted_low_ns,
	    wanted_high_ns; /* the range that was asked for (both equal: one latency); 0: none */
	double slowest;	    /* --slowest, in percent; 0: a peak was asked for */
	const char *asked;  /* the OP on the command line; NULL: not known */
	enum peak_names names;
	/* The waits of these calls (wait_driver_of_descent()); NULL: none were traced. */
	struct waits *waits;
	/* Where the waits of each part of the operation are; NULL: `waits` are those of all. */
	const struct wait_driver *part_waits;
	bool tracing;	 /* they are being traced */
	bool more_parts; /* the descents into further parts are still to come */
	bool ended;	 /* a saved session: nothing will be added to a descent that is not over */
	const char
	    *told; /* what a screen says in place of the first sentence; NULL: nothing else */
	/* rows of the table of parts that were printed already (output_descend_begin()) */
	unsigned int rows_printed;
};

int output_descend_json(const struct descend_report *r, const struct output_options *o, FILE *f);
int output_descend_text(const struct descend_report *r, const struct output_options *o, FILE *f);
/* Append the sentence that comes first, without newline, sanitised. */
void output_descend_sentence(const struct descend_report *r, struct buf *out);

/* ---- for answers about single calls (output_why.h) ---- */

/* Append the causes in words: what follows the calls and a colon in the sentence. */
void report_causes(struct buf *out, const struct descend_report *r,
		   const struct descent_result *result);
/* The paths as a new jansson array. */
struct json_t *report_paths_json(const struct descend_report *r,
				 const struct descent_result *result);

/* ---- shared by text and JSON (output_descend.c) ---- */

/* `part` of `whole`, 0..1; 0 of nothing. */
static inline double report_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Shown for code that belongs to no file: generated at run time. */
#define NO_FILE "(code of no file)"

/* The number of frames to name in a sentence: up to the last function that is called from the
 * module of f0. The user cannot change the inside of libraries; the list of paths shows it. If the
 * cause is a function's own code, that function must be named, wherever it is. */
unsigned int report_frames_named(const struct descent_result *result, const struct descent_path *p);

/* Returns the latency below which calls of the operation cannot be told from 0, if the mean of the
 * calls of the answer is below it; else 0. */
uint64_t report_below_measurable(const struct descend_report *r, uint64_t mean_ns);
/* The present result; without paths and all zero before the descent has begun. 0 or -ENOMEM. Free
 * it with descent_result_release(). */
int report_result(const struct descend_report *r, struct descent_result *out);
const char *report_status(const struct descend_report *r, const struct descent_result *result);
/* The peak that the descent is about, with the range that was asked for and its present calls.
 * False: there is none (a descent into the slowest calls, or the peak has disappeared). Pointers in
 * *out belong to `op`. */
bool report_peak(const struct descend_report *r, const struct op *op, struct peak *out);
/* Append the calls that the answer is about, to begin a sentence: "peak 3, 2.5-3.8 ms, 2.6 ms on
 * average, 2% of calls and 25% of time". `mean_ns` 0: not known yet. False: no descent has begun;
 * nothing was appended. */
bool report_peak_begin(const struct descend_report *r, uint64_t mean_ns, struct buf *out);
/* If the peak was not asked for, and another one has nearly as much of the time: appends a sentence
 * that says so, since the next run may choose that one. */
void report_other_peak(const struct descend_report *r, struct buf *out);
/* If the descent turned from calls that waited for a CPU to a peak: appends `begin` and what they
 * did. False: nothing was appended. */
bool report_waited(const struct descend_report *r, const char *begin, struct buf *out);
/* Write the part of the time that is not explained into the empty `out`: "30% in callees that were
 * not measured"; nothing if all is explained. */
void report_missing(const struct descend_report *r, const struct descent_result *result,
		    struct buf *out);
/* If the largest path ends in a system call whose time is that of the kernel or a device, and no
 * call in the kernel could be timed: appends what that needs. False: nothing was appended. */
bool report_lacks_kernel(struct buf *out, const struct descend_report *r,
			 const struct descent_result *result);
enum evidence report_evidence(const struct descent_fnode *n);
/* `evidence` in words for the text output; evidence_text() is the value in JSON. */
const char *report_evidence_words(enum evidence evidence);
/* Append a cause in words, sanitised: "timed sleep (nanosleep)". */
void report_cause(struct buf *out, const struct cause *c);
/* Append how much of a loop's time its calls spend in the kernel, and where: "87% in the kernel:
 * vfs_read", after `before`. Returns false if that is next to nothing. */
bool report_loop_kernel(struct buf *out, const char *before, const struct descent_driver *d,
			const struct descent_path *p);
/* Append the cause of a path; for a loop also its callee: "in 7 calls of dlopen, 107 us each
 * (88%)". */
void report_path_cause(struct buf *out, const struct descent_driver *d,
		       const struct descent_path *p);
/* Append what stands before frame `i` of the `nr` frames that a sentence names: nothing, " > ", or,
 * in the middle of a long path, " > ... > " in place of several frames. Returns the number of the
 * frame to name next. */
unsigned int report_frame_between(struct buf *out, unsigned int i, unsigned int nr);
/* Append a mean number of calls: "7" or "6.5". */
void report_mean_count(struct buf *out, double mean);
/* Append a sentence (without full stop) about calls that ended without returning (exception,
 * longjmp, thread exit), if they are at least one percent of all calls: no peak contains them.
 * False: nothing was appended. */
bool report_left(struct buf *out, const struct op *op);
/* Append the short name of a function, sanitised; "module+0x..." if it has no name. */
void report_function(struct buf *out, const struct descent_driver *d, struct rec_code function);
/* Append `before` and "store.c:88", sanitised. False: the source is not known; nothing was
 * appended. */
bool report_place(struct buf *out, const char *before, const struct descent_driver *d,
		  struct rec_code place);
/* The same for a line that is known already; 0: it is not. */
bool report_line(struct buf *out, const char *before, const char *file, uint32_t line);
/* Append where the last function of a path spent its time: "in the loop at hash.c:40-44 of mix
 * (inlined)". False: not known; nothing was appended. */
bool report_where(struct buf *out, const struct descent_driver *d, const struct descent_path *p);
/* Append `before` and the inlined functions that contain a call site, innermost first: "mix < fold
 * (inlined)". False: there is none; nothing was appended. */
bool report_inlined_at(struct buf *out, const char *before, const struct descent_driver *d,
		       struct rec_code site);
/* Append the short name of a node's function, sanitised. */
void report_name(struct buf *out, const struct descend_report *r, const struct descent_fnode *n);

/* The name of the function or operation whose calls are explained: its label if it has no symbol.
 */
void report_subject(const struct descend_report *r, const struct op *op,
		    const struct descent_result *result, char *out, size_t size);
