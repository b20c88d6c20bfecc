/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the results of `peaktop watch` and `peaktop doctor` from a model: as JSON
 * (docs/peaktop.schema.json) or as text. The same model gives the same bytes. All text from the
 * target and the host is sanitised. The functions write to `f`, flush it, and change nothing else.
 *
 * Each returns 0, -ENOMEM, or the negative errno of a failed write (-EPIPE, -ENOSPC, ...).
 */
#pragma once

#include "analysis/latency/model.h"

struct buf;
struct json_t;

struct output_options {
	unsigned int resolution; /* buckets per doubling shown: 1, 2, 4, 8; 0 = 4 */
	uint64_t elapsed_ns;	 /* length of the measurement; 0 = the model's */
	unsigned int top;	 /* print only so many operations; 0 = all */

	/* --json-lines: print one compact line. It contains only the slices that end after
	 * `since_ns`; all other figures cover the whole run and every operation. The caller passes
	 * the end of the last REC_TICK that it has printed. */
	bool json_lines;
	uint64_t since_ns;

	/* text */
	unsigned int columns; /* 0 = 80; at least 60 are used */
	bool ascii;	      /* nothing but ASCII in bars and brackets */
	bool said_errors; /* errors are on standard error already: leave them out of the notes */
	unsigned int details; /* operations shown in full when the user named none; 0 = 3 */
};

int output_watch_json(struct model *m, const struct output_options *o, FILE *f);
int output_watch_text(struct model *m, const struct output_options *o, FILE *f);
int output_doctor_json(struct model *m, const struct output_options *o, FILE *f);
int output_doctor_text(struct model *m, const struct output_options *o, FILE *f);
/* The checks of doctor, as an array. */
struct json_t *output_checks_json(const struct model *m);

/* A new jansson object with the fields of every document (peaktop, version, kind, target,
 * elapsed_ns, cost, lost, notes). If memory runs out, the next json_write() reports it. */
struct json_t *output_json_head(struct model *m, const char *kind, const struct output_options *o);

/* An operation or a peak as in these documents, as a new jansson object. */
struct json_t *output_json_operation(struct model *m, const struct op *op, unsigned int resolution);
struct json_t *output_json_peak(struct model *m, const struct op *op, const struct peak *p);

/* Print the heading line with the time of an intermediate state (SIGUSR1). `now_ns`:
 * CLOCK_MONOTONIC. */
void output_state_head(const struct model *m, uint64_t now_ns, FILE *f);

/* Append targets, cost, losses and notes as text. */
void output_text_state(struct buf *out, const struct model *m, const struct output_options *o);
/* Write `out` to `f` and release `out`. Returns 0 or a negative errno. */
int output_text_write(struct buf *out, FILE *f);

/* The percentiles that are printed of operations and peaks. */
struct output_quantile {
	const char *name, *text; /* in the names of fields and columns; in sentences */
	double q;
};
enum { OUTPUT_QUANTILES = 4 };
extern const struct output_quantile output_quantiles[OUTPUT_QUANTILES];

/* The width of the text output. */
unsigned int output_columns(const struct output_options *o);
/* Append `line`, wrapped to this width as by words_wrap(). */
void output_wrap(struct buf *out, const struct buf *line, const struct output_options *o,
		 const char *first, unsigned int rest);

/* The operations to print: those with calls and those that the user named, largest total latency
 * first; with `top` only so many. */
enum output_order { OPS_BY_TIME, OPS_IDLE_LAST };
struct output_ops {
	const struct op **list; /* the caller frees it */
	size_t nr, left_out;
};
/* Returns 0 or -ENOMEM. */
int output_ops(struct model *m, const struct output_options *o, enum output_order order,
	       struct output_ops *ops);
/* True for idle waits and timed sleeps that nobody asked for. */
bool output_is_idle(const struct op *op);

/* "syscall", "function", ... */
const char *output_layer(enum layer layer);

/* The cost of measuring; percentages are negative if unknown. */
uint64_t
output_cost_target_ns(const struct rec_cost *c); /* time that the targets lost, estimated */
double output_cost_target_percent(
    const struct rec_cost *c); /* time lost, in percent of the targets' CPU time */
double output_cost_one_cpu_percent(const struct rec_cost *c); /* time lost, in percent of one CPU */
double output_cost_host_percent(
    const struct rec_cost *c); /* CPU time of probes and of peaktop, in percent of all CPUs */
/* Append what the targets lost in percent of their CPU time or of one CPU, whichever is larger (the
 * rule of --max-overhead), with the other one in parentheses. Nothing if neither is known. */
void output_cost_words(struct buf *out, const struct rec_cost *c);
