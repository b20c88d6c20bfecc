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
/* Values larger than INT64_MAX become INT64_MAX. */
json_t *json_u64(uint64_t v);
/* A share (0..1); what is out of range or not finite is cut off. */
json_t *json_share(double v);
/* The address of code, as text. */
json_t *json_address(uint64_t address);

/* A member whose value is JSON's null is left out of its object. The next functions return it for
 * what is not known: 0, a number that is not finite, NULL and "", false, an empty array. */
json_t *json_known(uint64_t v);
json_t *json_finite(double v);
json_t *json_given(const char *s); /* sanitised */
json_t *json_flag(bool is);
json_t *json_unless_empty(json_t *array); /* owns it */
/* `value` is only evaluated, and the member only there, if `is`. */
#define json_if(is, value) ((is) ? (value) : json_null())

/* An array of `value`, an expression of the index `i`, for each `i` below `nr`. */
#define json_list(i, nr, value)                                                                    \
	({                                                                                         \
		json_t *list_ = json_array();                                                      \
		for (size_t i = 0, nr_ = (nr); i < nr_; i++)                                       \
			json_append(list_, value);                                                 \
		list_;                                                                             \
	})
void json_append(json_t *array, json_t *value);

struct json_member {
	const char *key;
	json_t *value;
};

/* Add members, {KEY, VALUE} each, to an object, which is returned. */
#define json_add(o, ...) json_put_all(o, (const struct json_member[]){__VA_ARGS__, {NULL, NULL}})
/* An object of these members. */
#define json_new(...) json_add(json_object(), __VA_ARGS__)
json_t *json_put_all(json_t *o, const struct json_member *members);
void json_put(json_t *o, const char *key, json_t *value);

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
