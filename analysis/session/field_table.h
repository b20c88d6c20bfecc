/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Macros to write tables of fields, for the .c files that contain the tables.
 *
 *	static STRUCT_TABLE(rec_note,		(defines rec_note_layout)
 *		U32(rec_note, level),
 *		TEXT(rec_note, text));
 */
#ifndef PEAKTOP_FIELD_TABLE_H
#define PEAKTOP_FIELD_TABLE_H

#include "analysis/session/codec.h"

// clang-format off
#define FIELD(kind_, s, f) {.kind = kind_, .offset = offsetof(struct s, f)}
#define U32(s, f) FIELD(FIELD_U32, s, f)
#define U64(s, f) FIELD(FIELD_U64, s, f)
#define I32(s, f) FIELD(FIELD_I32, s, f)
#define I64(s, f) FIELD(FIELD_I64, s, f)
#define TEXT(s, f) FIELD(FIELD_TEXT, s, f)
/* An array `f` of `nr` items, at most `max`; `layout_` is the layout of an item, NULL for numbers. */
#define ARRAY(s, f, nr, kind_, max, layout_) \
	{.kind = kind_, .offset = offsetof(struct s, f), .offset_count = offsetof(struct s, nr), \
	 .maximum = max, .nested = layout_}
#define STRUCT(s, f, layout_) \
	{.kind = FIELD_STRUCT, .offset = offsetof(struct s, f), .nested = layout_}
/* An array inside the struct, of `n` numbers. */
#define NUMBERS(s, f, n) {.kind = FIELD_NUMBERS, .offset = offsetof(struct s, f), .maximum = n}
/* The layout of struct `s`; the other arguments are its fields, in the order on the wire. */
#define STRUCT_TABLE(s, ...) \
	const struct struct_layout s##_layout = { \
		.size = sizeof(struct s), \
		.fields = (const struct field[]){__VA_ARGS__}, \
		.nr_fields = sizeof((const struct field[]){__VA_ARGS__}) / sizeof(struct field), \
	}
// clang-format on

#endif
