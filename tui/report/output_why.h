/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the answer of `peaktop why` about slow calls of a saved session, as JSON
 * (docs/peaktop.schema.json) or text.
 *
 * Each returns 0, -ENOMEM, or the negative errno of a failed write.
 */
#pragma once

#include "analysis/latency/slow_list.h"
#include "tui/engine/told_call.h"
#include "tui/report/output_descend.h"

struct why_report {
	struct model *model;
	const struct told_names *names;
	const struct slow_list_call *const *calls;
	size_t nr;
	const struct slow_list_call *left_out; /* as in struct slow_beside; NULL: none */
};

int output_why_json(const struct why_report *r, const struct output_options *o, FILE *f);
int output_why_text(const struct why_report *r, const struct output_options *o, FILE *f);

/* The answer about one call. */
struct why_told {
	const struct told_names *names;
	struct descend_report report;
	struct descent_driver *driver;
	struct descent_result result;
};

/* 0 or -ENOMEM; then there is nothing to release. */
int why_told_init(struct why_told *t, struct model *m, const struct told_names *names,
		  const struct slow_list_call *c);
void why_told_release(struct why_told *t);
/* Append the whole story in a sentence: the call, its causes, and what was not seen of it. */
void why_sentence(struct buf *line, const struct why_told *t, const struct slow_list_call *c);

/* Write a time of day in ISO form, local time, into `out`. */
void why_time(uint64_t realtime_ns, char *out, size_t n);
