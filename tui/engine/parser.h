/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front's side of the parser worker: starts it, asks it, and starts it
 * again when it dies or takes too long. Never blocks, knows no clock: every
 * `now_ns` is the caller's, on one clock.
 *
 * Requests (analysis/parser/protocol.h) are carried out one after the other.
 * Each one gets exactly one answer, which parser_run() gives to the reply that
 * was passed with the request, also when the worker dies of it. A module that killed the worker, or
 * held it up past the deadline, is refused from then on with the reason; the other modules are
 * handed to the next worker, and requests for all modules are asked again without it.
 */
#ifndef PEAKTOP_PARSER_H
#define PEAKTOP_PARSER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/parser/protocol.h"

struct parser;

enum {
	PARSER_MAX_PENDING = 65536,	  /* requests waiting */
	PARSER_MAX_PENDING_STACKS = 1024, /* so many waiting, and no stack is taken any more */
};

/*
 * Fork the first worker (with everything of this process but the socket
 * closed, inside SANDBOX_PARSER). `limit_ns`: how long one request may take, 0
 * for 20 s; in a request for all modules, each of them.
 * 0, or a negative errno.
 */
int parser_start(struct parser **out, uint64_t limit_ns);
/* Ends the worker. */
void parser_free(struct parser *p);

/* Poll this for reading, and for writing too when asked. Changes when a worker is started. */
int parser_fd(const struct parser *p);
bool parser_wants_write(const struct parser *p);
/* Call parser_next() at this instant at the latest; UINT64_MAX: no need. */
uint64_t parser_deadline_ns(const struct parser *p);
/* The present worker; -1 when there is none at the moment. */
pid_t parser_pid(const struct parser *p);
/* How often a worker had to be replaced. */
unsigned int parser_restarts(const struct parser *p);
/* Base name of the module that the last worker was reading when it died; "" if none. */
const char *parser_lost_on(const struct parser *p);

/*
 * Who takes the answer to one request. The type of the answer is the one that
 * protocol.h names for the request, also for a failure: then `error` and
 * `reason` are set. The answer is valid only during the call.
 */
struct parser_reply {
	void (*take)(void *ctx, uint64_t tag, const struct parsed *answer);
	void *ctx;    /* must outlive the parser */
	uint64_t tag; /* the asker's own number for what it asked about */
};

/*
 * Hand over the file of a module, or its separate debug file. `fd` is
 * duplicated: the caller keeps its own. `name`: base name for people. The
 * answer is a PARSED_MODULE. All of these copy `reply` (NULL: nobody waits for
 * the answer) and return the id of the request (> 0) or a negative errno:
 * -EINVAL, -ENOENT (no such module), -EAGAIN (too many waiting), -ENOMEM, or
 * the error of dup.
 */
int64_t parser_add_module(struct parser *p, uint32_t module, int fd, const char *name,
			  const struct parser_reply *reply);
int64_t parser_add_debug(struct parser *p, uint32_t module, int fd,
			 const struct parser_reply *reply);
int64_t parser_remove_module(struct parser *p, uint32_t module);
/*
 * Any other request; `request` is copied, its id is set. What PARSE_MAPPINGS has
 * said ends with the worker: when PARSE_UNWIND is answered with -ESTALE, say it
 * again.
 */
int64_t parser_ask(struct parser *p, enum parse_type type, const struct parse_request *request,
		   const struct parser_reply *reply);

/*
 * Send requests, read answers, enforce the deadline, and call the reply of each answer that
 * has arrived.
 */
void parser_run(struct parser *p, uint64_t now_ns);
/*
 * The same for at most one answer, which is returned and given to nobody. 1: there was one (call
 * again for more), 0: none at the moment. Valid until the next call.
 */
int parser_next(struct parser *p, uint64_t now_ns, struct parsed *answer);

#endif
