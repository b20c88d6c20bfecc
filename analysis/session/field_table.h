/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Macros to write tables of fields, for the .c files that contain the tables.
 *
 *	static STRUCT_TABLE(rec_note,		(defines rec_note_layout)
 *		FIELDS(rec_note, level, text));
 */
#pragma once

#include "analysis/session/codec.h"

// clang-format off
/* A number or a text. Its kind follows from its type in the struct. */
#define FIELD(s, f) \
	{.kind = _Generic(((struct s *)0)->f, \
		uint32_t: FIELD_U32, uint64_t: FIELD_U64, int32_t: FIELD_I32, int64_t: FIELD_I64, \
		const char *: FIELD_TEXT), \
	 .offset = offsetof(struct s, f)}
#define FIELDS_1(s, f) FIELD(s, f)
#define FIELDS_2(s, f, ...) FIELD(s, f), FIELDS_1(s, __VA_ARGS__)
#define FIELDS_3(s, f, ...) FIELD(s, f), FIELDS_2(s, __VA_ARGS__)
#define FIELDS_4(s, f, ...) FIELD(s, f), FIELDS_3(s, __VA_ARGS__)
#define FIELDS_5(s, f, ...) FIELD(s, f), FIELDS_4(s, __VA_ARGS__)
#define FIELDS_6(s, f, ...) FIELD(s, f), FIELDS_5(s, __VA_ARGS__)
#define FIELDS_7(s, f, ...) FIELD(s, f), FIELDS_6(s, __VA_ARGS__)
#define FIELDS_8(s, f, ...) FIELD(s, f), FIELDS_7(s, __VA_ARGS__)
#define FIELDS_PICK(f1, f2, f3, f4, f5, f6, f7, f8, fields, ...) fields
/* One to eight numbers and texts of struct `s`. */
#define FIELDS(s, ...) \
	FIELDS_PICK(__VA_ARGS__, FIELDS_8, FIELDS_7, FIELDS_6, FIELDS_5, FIELDS_4, FIELDS_3, \
		    FIELDS_2, FIELDS_1, )(s, __VA_ARGS__)
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
