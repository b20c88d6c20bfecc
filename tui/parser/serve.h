/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser worker: answers the requests of protocol.h about the files that
 * it is handed. Runs inside SANDBOX_PARSER; touches nothing but its channel
 * and those files. No request, however broken, ends it; what the files can
 * make of it at worst is that it dies or takes too long, and then the client
 * (tui/engine/parser.h) starts another.
 */
#ifndef PEAKTOP_CODE_SERVE_H
#define PEAKTOP_CODE_SERVE_H

#include "analysis/session/raw_frame.h"
#include "collect/process/channel.h"

/*
 * Serve on a socket until the client closes it (0) or breaks the protocol or
 * memory runs out (negative errno). Takes over `fd`.
 */
int parser_serve(int fd);

/* The same one request at a time. */
struct server;
struct server *server_new(void);
void server_free(struct server *s);
/*
 * Carry out one request and queue its answer on `c`. Takes over `fd` (-1: none
 * came). 0, or the error of the channel.
 */
int server_handle(struct server *s, struct channel *c, const struct raw_frame *frame, int fd);

#endif
