/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's way to memory of another process: only pages that are there already. */
#pragma once

#include "collect/reader.h"

enum { PAGES_MAX_BYTES = 32768 }; /* of one piece */

/*
 * Read a piece into `to`, which has room for all of it. `thread` is a live thread of the process.
 * `pagemap` is that of the process, or -1 if it cannot be read: then all pages count as there.
 * Returns the number of bytes.
 */
uint32_t pages_read(pid_t thread, int pagemap, const struct reader_piece *w, char *to);
