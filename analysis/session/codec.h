/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes structs as bytes and decodes them, driven by tables.
 *
 * A struct_layout lists the fields of one struct in their order on the wire.
 * Unsigned numbers are LEB128 varints, signed ones zigzag varints, text is a
 * varint length and bytes, a struct within a struct (alone or in an array)
 * is preceded by its length in bytes, an array by the number of its items.
 *
 * Fields are only ever appended to a layout. If an older writer lacks a field (the bytes end before
 * it), the decoder sets it to 0 or "". If a newer writer has more fields (bytes are left after the
 * last field), the decoder skips them.
 */
#pragma once

#include "analysis/base/buf.h"

enum field_kind {
	FIELD_U32,
	FIELD_U64,
	FIELD_I32,
	FIELD_I64,
	FIELD_TEXT,    /* const char *, NUL-terminated; NULL is written as "" */
	FIELD_NUMBERS, /* uint64_t [maximum] inside the struct; trailing zeros are not written */
	FIELD_U64S,    /* uint32_t count and const uint64_t * */
	FIELD_STRUCT,  /* a struct inside the struct */
	FIELD_STRUCTS, /* uint32_t count and const struct * */
	FIELD_BUCKETS, /* uint32_t count, const uint32_t * ascending, const uint64_t * not 0 */
};

struct struct_layout;

struct field {
	uint8_t kind;
	uint16_t offset;	/* of the value, or of the pointer to an array */
	uint16_t offset_count;	/* of the number of items of an array */
	uint16_t offset_second; /* FIELD_BUCKETS: of the pointer to the counts */
	uint32_t maximum;	/* items of an array; FIELD_BUCKETS: bucket numbers too */
	const struct struct_layout *nested;
};

struct struct_layout {
	size_t size; /* sizeof the struct */
	const struct field *fields;
	unsigned int nr_fields;
};

enum { CODEC_MAX_TEXT = 4096 }; /* bytes; the encoder cuts longer text, the decoder rejects it */

/* Memory for the data that a decoded struct points to. It grows in chunks up to `max` bytes and is
 * freed as a whole. Initialise it with arena_init(). */
struct arena_chunk;
struct arena {
	struct arena_chunk *chunks;
	size_t used; /* bytes handed out */
	size_t max;
};

void arena_init(struct arena *a, size_t max);
/* Allocate n bytes, aligned for any object. NULL: out of memory, or beyond the maximum. */
void *arena_alloc(struct arena *a, size_t n);
/* Free all allocations, but keep one chunk for later ones. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

/* Append the fields of `object`. Returns 0, -EINVAL (an array of the object is invalid), or -E2BIG
 * or -ENOMEM of `out`. After an error `out` may contain a part. */
int struct_encode(struct buf *out, const struct struct_layout *layout, const void *object);

/* Fill `object` from exactly n bytes; its pointers refer to `arena`. Returns 0, -ENOMEM, or
 * -EBADMSG: a field is cut off, out of the range of its type or too long, or text contains a NUL.
 * After an error the contents of the object are undefined. */
int struct_decode(struct arena *arena, const struct struct_layout *layout, const void *data,
		  size_t n, void *object);
