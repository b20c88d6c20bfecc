/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the parser client share.
 *
 * parser.c          start and end of the client, sending requests
 * parser_queue.c    the queue of requests
 * parser_answer.c   exchange with the worker, its replacement
 * parser_worker.c   the worker's side of the fork
 */
#pragma once

#include "collect/process/channel.h"
#include "tui/engine/parser.h"

struct pending_request {
	struct pending_request *next;
	enum parse_type type;
	struct parse_request request, *copy; /* `request` points into the copy */
	struct parser_reply reply;
	bool silent; /* made by hand_over_all(): its answer is dropped */
};

struct handed {
	int fd, debug_fd; /* -1: none */
	char *name;
	char *refused; /* NULL, or why workers do not get this module any more */
};

struct parser {
	pid_t pid;
	struct channel *channel; /* NULL: no worker */
	uint64_t limit_ns;
	unsigned int restarts, deaths;
	bool broken; /* workers keep dying: do not start another */
	uint32_t last_id;
	uint32_t rest_id; /* last_id when parser_rest() saw something else to do, and when */
	uint64_t busy_ns;
	struct pending_request *first, **last; /* the queue */
	unsigned int nr_pending;
	struct pending_request *asked; /* sent, not yet answered */
	uint64_t asked_until_ns;
	struct parser_reply reply; /* of the last answer */
	uint32_t at;		   /* the module that the worker reads; 0: none */
	struct handed modules[PARSE_MAX_MODULES];
	struct arena arena; /* of the last answer */
	char *reason;	    /* of the last answer, if the client made it */
	char *lost_on;
};

static inline bool module_valid(uint32_t module)
{
	return module && module < PARSE_MAX_MODULES;
}

/* ---- parser_queue.c ---- */
/* Copy a request with its id. NULL: out of memory. */
struct pending_request *pending_new(enum parse_type type, const struct parse_request *request);
void pending_free(struct pending_request *r);
void parser_push_front(struct parser *p, struct pending_request *r);
struct pending_request *parser_pop_front(struct parser *p);
/* Append a copy of a request with a new id. Returns the id or a negative errno. */
int64_t parser_enqueue(struct parser *p, enum parse_type type, const struct parse_request *request,
		       const struct parser_reply *reply);
/* Drop all requests without a reply callback. */
void parser_drop_silent(struct parser *p);
bool parser_is_waiting(const struct parser *p, enum parse_type type, uint32_t module);

/* ---- parser_answer.c ---- */
int parser_worker_start(struct parser *p);
/* Kill the worker if it still runs. Returns the signal that ended it, or 0. */
int parser_worker_end(struct parser *p);
