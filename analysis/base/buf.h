/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A byte buffer that grows up to a mandatory maximum.
 *
 * A failed append (-ENOMEM, or -E2BIG beyond the maximum) leaves the contents unchanged and stores
 * the error in `err`. All later appends fail with it, so that a writer can check once at its end.
 * After the first append `data` is always NUL-terminated; `len` does not count the NUL.
 */
#pragma once

#include <stdarg.h>

/* {.max = N} is an empty buffer of at most N bytes. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max; /* bytes; appends beyond it fail */
	int err;    /* 0 or the first error, negative errno */
};

/* The same for one that exists: make `b` empty without allocating. */
void buf_init(struct buf *b, size_t max);
/* Free the contents; `b` is empty and usable again with the same maximum. */
void buf_release(struct buf *b);
/* Declare an empty buffer of at most `most` bytes that is released at the end of its block. */
#define SCOPED_BUF(name, most)                                                                     \
	struct buf name __attribute__((cleanup(buf_release))) = {.max = (most)}
/* Drop the contents and the error, keep the memory. */
void buf_reset(struct buf *b);
/* Make room for `n` more bytes. */
int buf_reserve(struct buf *b, size_t n);
int buf_append(struct buf *b, const void *data, size_t n);
int buf_putc(struct buf *b, char c);
int buf_puts(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Drop the first `n` bytes (all of them if there are fewer). */
void buf_consume(struct buf *b, size_t n);
