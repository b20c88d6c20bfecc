/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `peaktop watch` and `peaktop doctor` print, made from a model alone: the
 * JSON of docs/peaktop.schema.json, and text for people. The same model gives
 * the same bytes. All text from the host passes the sanitiser; the functions
 * write to `f`, flush it, and change nothing else.
 *
 * Each returns 0, -ENOMEM, or the negative errno of a failed write (-EPIPE, -ENOSPC, ...).
 */
#ifndef PEAKTOP_OUTPUT_H
#define PEAKTOP_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/latency/model.h"

struct json_t;

struct output_options {
	unsigned int resolution; /* buckets per doubling shown: 1, 2, 4, 8; 0 = 4 */
	uint64_t elapsed_ns;	 /* of the measurement; 0 = as the model says */

	/*
	 * JSON of --json-lines: one compact line about what is new since the
	 * last one. Of the slices it has only those that end after `since_ns`; all
	 * other figures are of the whole run, of every operation. The caller
	 * passes the end of the last REC_TICK that it has printed.
	 */
	bool json_lines;
	uint64_t since_ns;

	/* text */
	unsigned int columns; /* 0 = 80; at least 60 are used */
	bool ascii;	      /* nothing but ASCII in bars and brackets */
	unsigned int details; /* operations shown in full when the user named none; 0 = 3 */
};

int output_watch_json(struct model *m, const struct output_options *o, FILE *f);
int output_watch_text(struct model *m, const struct output_options *o, FILE *f);
int output_doctor_json(struct model *m, const struct output_options *o, FILE *f);
int output_doctor_text(struct model *m, const struct output_options *o, FILE *f);

/*
 * The fields that every document has (peaktop, version, kind, target,
 * elapsed_ns, cost, lost, notes) as a new jansson object, NULL without memory.
 */
struct json_t *output_json_head(struct model *m, const char *kind, const struct output_options *o);

/* One operation, one peak of the same documents, for others to hold: a new object, NULL without
 * memory. */
struct json_t *output_json_operation(struct model *m, const struct op *op, unsigned int resolution);
struct json_t *output_json_peak(struct model *m, const struct peak *p);

/* The line before a state that was asked for in the middle of things: when it is from. `now_ns`:
 * CLOCK_MONOTONIC. */
void output_state_head(const struct model *m, uint64_t now_ns, FILE *f);

struct buf;
/* Targets, cost, losses and notes as text. */
void output_text_state(struct buf *out, const struct model *m, const struct output_options *o);
/* Write `out` to `f` and release it: 0 or a negative errno. */
int output_text_write(struct buf *out, FILE *f);

/*
 * The operations worth printing (that did anything, or that the user named),
 * largest total latency first. Returns how many; *ops is to be freed. -ENOMEM.
 */
long output_sorted_ops(struct model *m, const struct op ***ops);

/* Shares of the cost, in percent; negative when unknown. */
uint64_t output_cost_target_ns(const struct rec_cost *c);     /* what the targets lost, estimated */
double output_cost_target_percent(const struct rec_cost *c);  /* probes on the targets' CPU time */
double output_cost_one_cpu_percent(const struct rec_cost *c); /* the same on the time of one CPU */
double output_cost_host_percent(const struct rec_cost *c);    /* CPU time of probes and of peaktop
								 itself, in percent of all CPUs */

#endif
