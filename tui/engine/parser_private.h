/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the parser client share.
 *
 * parser.c          life of the client, asking
 * parser_queue.c    requests that wait
 * parser_answer.c   talking to the worker, replacing it
 * parser_worker.c   the worker's side of the fork
 */
#ifndef PEAKTOP_PARSER_PRIVATE_H
#define PEAKTOP_PARSER_PRIVATE_H

#include "collect/process/channel.h"
#include "tui/engine/parser.h"

struct pending {
	struct pending *next;
	enum parse_type type;
	struct parse_request request; /* its text and offsets are owned */
	struct parser_reply reply;
	bool silent; /* made by this client itself: parser_next() does not return its answer */
};

struct handed {
	int fd, debug_fd; /* -1: none */
	char *name;
	char *refused; /* why it is not handed to a worker any more */
};

struct parser {
	pid_t pid;
	struct channel *channel; /* NULL: no worker */
	uint64_t limit_ns;
	unsigned int restarts, deaths;
	bool broken; /* workers keep dying: do not start another */
	uint32_t last_id;
	struct pending *first, **last; /* waiting */
	unsigned int nr_pending;
	struct pending *asked; /* sent, not yet answered */
	uint64_t asked_until_ns;
	struct parser_reply reply; /* of the last answer */
	uint32_t at;		   /* module in work */
	struct handed modules[PARSE_MAX_MODULES];
	struct arena arena; /* of the last answer */
	char *reason;	    /* of the last answer, when we made it */
	char *lost_on;
};

static inline bool module_valid(uint32_t module)
{
	return module && module < PARSE_MAX_MODULES;
}

/* ---- parser_queue.c ---- */
/* A copy; the id is the request's. NULL: no memory. */
struct pending *pending_new(enum parse_type type, const struct parse_request *request);
void pending_free(struct pending *r);
void parser_push_front(struct parser *p, struct pending *r);
struct pending *parser_pop_front(struct parser *p);
/* At the end, with a new id, which is returned; or a negative errno. */
int64_t parser_enqueue(struct parser *p, enum parse_type type, const struct parse_request *request,
		       const struct parser_reply *reply);
/* Drop all requests without a reply callback. */
void parser_drop_silent(struct parser *p);
bool parser_is_waiting(const struct parser *p, enum parse_type type, uint32_t module);

/* ---- parser_answer.c ---- */
int parser_worker_start(struct parser *p);
/* Kill the worker if it still runs. Returns the signal that ended it, or 0. */
int parser_worker_end(struct parser *p);

#endif
