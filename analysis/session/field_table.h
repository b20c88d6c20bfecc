/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Macros to write tables of fields, for the .c files that contain the tables.
 *
 *	static const struct field rec_note_fields[] = {
 *		U32(rec_note, level),
 *		TEXT(rec_note, text),
 *	};
 *	static STRUCT_TABLE(rec_note);		(rec_note_layout)
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
// clang-format on
#define STRUCT_TABLE(s) const struct struct_layout s##_layout = STRUCT_LAYOUT(struct s, s##_fields)

#endif
