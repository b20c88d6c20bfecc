/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The difference between two names, to suggest a name after a typing error. */
#pragma once

enum { EDIT_MAX_TEXT = 160 }; /* only the first so many bytes of a text are compared */

/* The number of edits that turn `a` into `b`: insert, delete or replace one character, or swap
 * two neighbours (optimal string alignment). Ignores case, and the text after the first
 * EDIT_MAX_TEXT bytes. Returns limit + 1 as soon as more than `limit` edits are needed. */
unsigned int edit_distance(const char *a, size_t na, const char *b, size_t nb, unsigned int limit);

/* The maximum number of edits between a name of `len` characters and a similar name: a third of
 * them. */
static inline unsigned int edit_limit(size_t len)
{
	len = len < EDIT_MAX_TEXT ? len : EDIT_MAX_TEXT;
	return len < 3 ? 1 : (unsigned int)len / 3;
}
