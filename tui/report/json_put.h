/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds JSON documents and writes them.
 *
 * Each function that adds a value owns this value. jansson rejects NULL, both as the value and as
 * the object: whatever could not be created counts as a failure, too. A failure is remembered, and
 * the next json_write() reports it. So a document can be built without a check for each step.
 */
#pragma once

#include <jansson.h>

#include "tui/report/sanitise.h"

enum {
	JSON_MAX_TEXT =
	    (64 << 10) / SANITISE_MAX_GROWTH /* bytes of a text before it is sanitised */
};

/* A string of at most `most` bytes of `s`, sanitised. NULL: out of memory. */
json_t *json_text(const char *s, size_t most);

void json_put(json_t *o, const char *key, json_t *value);
/* Add an integer; larger values than INT64_MAX become INT64_MAX. */
void json_put_u64(json_t *o, const char *key, uint64_t v);
/* Add a share (0..1); what is out of range or not finite is cut off. */
void json_put_share(json_t *o, const char *key, double v);
/* Add the address of code, as text. */
void json_put_address(json_t *o, uint64_t address);
/* Add a sanitised text; add nothing if it is NULL or "". */
void json_put_text(json_t *o, const char *key, const char *s);
void json_append(json_t *array, json_t *value);

/* Remember that memory ran out: what stands in the document is not all of it. */
void json_fail(void);

enum json_end {
	JSON_NESTED, /* nothing follows */
	JSON_OPEN,   /* without the last brace, so that more fields can follow */
	JSON_LINE,   /* with a newline; the file is flushed */
};

/* Write `json` in compact form and free it. Returns 0, -ENOMEM if something could not be added
 * since the last json_write(), or the negative errno of a failed write. */
int json_write(json_t *json, enum json_end end, FILE *f);
/* Write what stands between two parts of a document. Returns 0 or a negative errno. */
int json_write_text(FILE *f, const char *s);
/* Write a newline and flush. Returns 0 or a negative errno. */
int json_write_end(FILE *f);
