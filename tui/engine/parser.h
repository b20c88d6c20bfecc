/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client of the parser worker. The client starts the worker, sends requests to it, and replaces
 * it if it dies or takes too long. The client never blocks and reads no clock: the caller passes
 * `now_ns`, always from the same clock.
 *
 * The worker carries out requests (analysis/parser/protocol.h) one after the other. Each request
 * gets exactly one answer, even if the worker dies of it; parser_run() passes the answer to the
 * reply of the request. If a module kills the worker, or holds it up past the deadline, the client
 * refuses this module from then on, with the reason. The next worker gets the other modules, and a
 * request for all modules is sent again without the refused one.
 */
#pragma once

#include "analysis/parser/protocol.h"

struct parser;

enum {
	PARSER_MAX_PENDING = 65536,	  /* requests waiting */
	PARSER_MAX_PENDING_STACKS = 1024, /* above this no more stacks are accepted */
};

/* Fork the first worker. Inside SANDBOX_PARSER it has no open file but its socket. `limit_ns`
 * limits the time of one request, or, in a request for all modules, the time per module; 0: 20 s.
 * Returns 0 or a negative errno. */
int parser_start(struct parser **out, uint64_t limit_ns);
/* End the worker and free the client. */
void parser_free(struct parser *p);

/* The socket to poll for reading and, if parser_wants_write(), for writing. Each new worker has
 * another socket. */
int parser_fd(const struct parser *p);
bool parser_wants_write(const struct parser *p);
/* The time at which parser_run() must be called at the latest; UINT64_MAX: no deadline. */
uint64_t parser_deadline_ns(const struct parser *p);
/* The process of the worker; -1: there is none now. */
pid_t parser_pid(const struct parser *p);
/* End the worker if nothing was asked of it for `idle_ns`: it holds what it has read of each
 * module, many megabytes. The next request starts another one, which gets the modules again, but
 * not the mappings. True: it was ended now. Call it every turn. */
bool parser_rest(struct parser *p, uint64_t now_ns, uint64_t idle_ns);
/* How often a worker had to be replaced. */
unsigned int parser_restarts(const struct parser *p);
/* Base name of the module that the last worker was reading when it died; "" if none. */
const char *parser_lost_on(const struct parser *p);

/* The callback that receives the answer to one request. The answer has the type that protocol.h
 * names for the request, also if it failed: then `error` and `reason` are set. The answer is valid
 * only during the call. */
struct parser_reply {
	void (*take)(void *ctx, uint64_t tag, const struct parsed *answer);
	void *ctx;    /* must outlive the parser */
	uint64_t tag; /* passed to take(): identifies the request to the caller */
};

/* Hand over the file of a module, or its separate debug file. `fd` is duplicated; the caller keeps
 * its own. `name` is the base name for messages. The answer is a PARSED_MODULE. The functions below
 * copy `reply` (NULL: drop the answer) and return the id of the request (> 0) or a negative errno:
 * -EINVAL, -ENOENT (no such module), -EAGAIN (too many requests wait), -ENOMEM, or the error of
 * dup. */
int64_t parser_add_module(struct parser *p, uint32_t module, int fd, const char *name,
			  const struct parser_reply *reply);
int64_t parser_add_debug(struct parser *p, uint32_t module, int fd,
			 const struct parser_reply *reply);
/* Forget a module: its file is not in use any more. */
int64_t parser_forget(struct parser *p, uint32_t module);
/* Send any other request. `request` is copied and gets an id. A new worker does not know the
 * mappings of PARSE_MAPPINGS: if PARSE_UNWIND fails with -ESTALE, send the mappings again. */
int64_t parser_ask(struct parser *p, enum parse_type type, const struct parse_request *request,
		   const struct parser_reply *reply);

/* Send requests, read answers, enforce the deadline, and call the reply of each answer that
 * has arrived. */
void parser_run(struct parser *p, uint64_t now_ns);
/* Like parser_run(), but handle at most one answer and return it in `answer` without calling its
 * reply. 1: `answer` is set, valid until the next call; call again for more. 0: no answer now. */
int parser_next(struct parser *p, uint64_t now_ns, struct parsed *answer);
