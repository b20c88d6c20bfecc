// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/session/record_copy.h"
#include "tui/engine/parser_private.h"

void pending_free(struct pending_request *r)
{
	if (!r)
		return;
	free(r->copy);
	free(r);
}

struct pending_request *pending_new(enum parse_type type, const struct parse_request *request)
{
	struct pending_request *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->type = type;
	p->copy = struct_copy(parse_layout(type), request);
	if (!p->copy) {
		free(p);
		return NULL;
	}
	p->request = *p->copy;
	return p;
}

static void parser_push_back(struct parser *p, struct pending_request *r)
{
	r->next = NULL;
	*p->last = r;
	p->last = &r->next;
	p->nr_pending++;
}

void parser_push_front(struct parser *p, struct pending_request *r)
{
	r->next = p->first;
	if (!p->first)
		p->last = &r->next;
	p->first = r;
	p->nr_pending++;
}

struct pending_request *parser_pop_front(struct parser *p)
{
	struct pending_request *r = p->first;

	p->first = r->next;
	if (!p->first)
		p->last = &p->first;
	p->nr_pending--;
	return r;
}

int64_t parser_enqueue(struct parser *p, enum parse_type type, const struct parse_request *request,
		       const struct parser_reply *reply)
{
	struct pending_request *r;

	if (p->nr_pending >= PARSER_MAX_PENDING ||
	    (request->nr_words && p->nr_pending >= PARSER_MAX_PENDING_STACKS))
		return -EAGAIN;
	r = pending_new(type, request);
	if (!r)
		return -ENOMEM;
	if (!++p->last_id)
		p->last_id = 1;
	r->request.id = p->last_id;
	if (reply)
		r->reply = *reply;
	parser_push_back(p, r);
	return p->last_id;
}

bool parser_is_waiting(const struct parser *p, enum parse_type type, uint32_t module)
{
	for (const struct pending_request *r = p->first; r; r = r->next)
		if (r->type == type && r->request.module == module)
			return true;
	return false;
}

/* Drop the queued requests that hand over files: hand_over_all() makes new ones. */
void parser_drop_silent(struct parser *p)
{
	struct pending_request **at = &p->first, *r;

	while ((r = *at)) {
		if (!r->silent) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		p->nr_pending--;
		pending_free(r);
	}
	p->last = at;
}
