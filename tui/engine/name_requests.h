/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests the names of places in code from the parser, each place once, and puts the answers into
 * the stream (REC_SYMBOL). */
#pragma once

#include "tui/engine/descent_driver.h"

struct name_requests;

/* `host` is copied. NULL: out of memory. */
struct name_requests *name_requests_new(const struct driver_host *host);
void name_requests_free(struct name_requests *n);
/* Note a place whose name is needed. Places without a module, and places that were noted before,
 * are ignored. */
void name_requests_want(struct name_requests *n, struct rec_code place);
/* Note the places of a frame: its function, and its call instruction or instruction pointer. */
void name_requests_want_frame(struct name_requests *n, const struct rec_frame *frame,
			      bool innermost);
/* Send what was noted. True: every place is answered. */
bool name_requests_send(struct name_requests *n);
/* True if no request is outstanding. */
bool name_requests_idle(const struct name_requests *n);
