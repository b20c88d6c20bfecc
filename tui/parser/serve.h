/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser worker answers the requests of analysis/parser/protocol.h about the files that it was
 * handed. It runs inside SANDBOX_PARSER and uses nothing but its channel and those files. An
 * invalid request does not end it. A malicious file can at worst kill it or make it hang; then the
 * client (tui/engine/parser.h) starts another worker. */
#pragma once

#include "analysis/session/raw_frame.h"
#include "collect/process/channel.h"

/* Answer requests on a socket. Returns 0 when the client closes it, or a negative errno if the
 * client breaks the protocol or memory runs out. Owns `fd`. */
int parser_serve(int fd);

/* The same, one request per call. */
struct server;
struct server *server_new(void);
void server_free(struct server *s);
/* Carry out one request and queue its answer on `c`. Owns `fd`, the file that came with the request
 * (-1: none). Returns 0 or the error of the channel. */
int server_handle(struct server *s, struct channel *c, const struct raw_frame *frame, int fd);
