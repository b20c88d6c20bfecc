/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of JSON objects. Each takes its value over; what fails sets *failed and
 * leaves the object without it. jansson refuses NULL everywhere, so an object that
 * could not be made ends as a failure, too.
 */
#ifndef PEAKTOP_JSON_PUT_H
#define PEAKTOP_JSON_PUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most `most` bytes of a text from outside, sanitised; NULL: no memory. */
json_t *json_text(const char *s, size_t most);

/* Up to INT64_MAX; more is that. */
json_t *json_u64(uint64_t v);

void json_put(json_t *o, const char *key, json_t *value, bool *failed);
void json_put_u64(json_t *o, const char *key, uint64_t v, bool *failed);
/* A name; left out when it is NULL or "". */
void json_put_text(json_t *o, const char *key, const char *s, bool *failed);

#endif
