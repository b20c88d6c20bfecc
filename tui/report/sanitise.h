/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes text from the target and the host fit to be shown.
 *
 * Names of processes, symbols and files are under the control of whoever runs
 * the target, and must neither drive the terminal nor lie about their order.
 * Every byte of C0 and DEL, of C1 (also as UTF-8), and of invalid UTF-8 (overlong forms,
 * surrogates, beyond U+10FFFF) becomes `\xNN`; bidirectional controls, line and
 * paragraph separators, invisible and tag characters, and noncharacters become
 * `\uNNNN` (`\UNNNNNNNN` beyond U+FFFF). All else, a backslash included, stays.
 * The result is valid UTF-8 on one line, and sanitising it again changes nothing.
 * Every output goes through here: screen, text, JSON.
 */
#pragma once

#include "analysis/base/buf.h"
#include "analysis/session/codec.h"

enum { SANITISE_MAX_GROWTH = 4 }; /* bytes out for a byte in, at most */

/* The code point at the start of s[0..n), n > 0: stores it and returns its
 * length in bytes (1..4), or returns 0 when the bytes there are not UTF-8. */
unsigned int utf8_decode(const char *s, size_t n, uint32_t *cp);

/* Append s[0..n), sanitised. Returns 0, or -ENOMEM or -E2BIG, with `out` unchanged. */
int sanitise_append(struct buf *out, const char *s, size_t n);
/* The same for all of `s`. */
int sanitise_puts(struct buf *out, const char *s);
/* Write `s`, sanitised and NUL-terminated, to out[0..size). A longer text is cut between
 * characters, never inside an escape. Returns `out`. */
char *sanitise(char *out, size_t size, const char *s);

/* Write a text, sanitised, into memory of the arena. NULL: there is none. */
const char *sanitise_into(struct arena *a, const char *s);

/* The columns of sanitised text on a terminal, by wcwidth() of the locale (unknown characters: 1).
 */
unsigned int text_columns(const char *s);
/* The number of bytes of sanitised text that fit into `columns`, cut between characters. */
size_t text_fit(const char *s, unsigned int columns);
