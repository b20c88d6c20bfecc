/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds fields to JSON objects. Each function owns the value that it is given. If it fails, it sets
 * *failed and the object lacks the field. jansson rejects NULL values, so a value that could not be
 * created counts as a failure, too.
 */
#ifndef PEAKTOP_JSON_PUT_H
#define PEAKTOP_JSON_PUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string of at most `most` bytes of `s`, sanitised. NULL: out of memory. */
json_t *json_text(const char *s, size_t most);

/* An integer; larger values than INT64_MAX become INT64_MAX. */
json_t *json_u64(uint64_t v);

void json_put(json_t *o, const char *key, json_t *value, bool *failed);
void json_put_u64(json_t *o, const char *key, uint64_t v, bool *failed);
/* Add a sanitised name; add nothing if it is NULL or "". */
void json_put_text(json_t *o, const char *key, const char *s, bool *failed);

#endif
