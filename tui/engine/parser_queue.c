// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tui/engine/parser_private.h"

void pending_free(struct pending *r)
{
	if (!r)
		return;
	free((char *)(uintptr_t)r->request.text);
	free((uint64_t *)(uintptr_t)r->request.offsets);
	free((struct parse_mapping *)(uintptr_t)r->request.mappings);
	free((uint64_t *)(uintptr_t)r->request.regs);
	free((uint64_t *)(uintptr_t)r->request.words);
	free(r);
}

static void *copy_of(const void *items, size_t nr, size_t size)
{
	void *copy = malloc(nr * size + 1);

	if (copy && nr)
		memcpy(copy, items, nr * size);
	return copy;
}

struct pending *pending_new(enum parse_type type, const struct parse_request *request)
{
	struct pending *p = calloc(1, sizeof(*p));
	struct parse_request *r;

	if (!p)
		return NULL;
	p->type = type;
	p->request = *request;
	r = &p->request;
	r->text = strdup(request->text ? request->text : "");
	r->offsets = copy_of(request->offsets, r->nr_offsets, sizeof(r->offsets[0]));
	r->mappings = copy_of(request->mappings, r->nr_mappings, sizeof(r->mappings[0]));
	r->regs = copy_of(request->regs, r->nr_regs, sizeof(r->regs[0]));
	r->words = copy_of(request->words, r->nr_words, sizeof(r->words[0]));
	if (!r->text || !r->offsets || !r->mappings || !r->regs || !r->words) {
		pending_free(p);
		return NULL;
	}
	return p;
}

static void parser_push_back(struct parser *p, struct pending *r)
{
	r->next = NULL;
	*p->last = r;
	p->last = &r->next;
	p->nr_pending++;
}

void parser_push_front(struct parser *p, struct pending *r)
{
	r->next = p->first;
	if (!p->first)
		p->last = &r->next;
	p->first = r;
	p->nr_pending++;
}

struct pending *parser_pop_front(struct parser *p)
{
	struct pending *r = p->first;

	p->first = r->next;
	if (!p->first)
		p->last = &p->first;
	p->nr_pending--;
	return r;
}

int64_t parser_enqueue(struct parser *p, enum parse_type type, const struct parse_request *request,
		       const struct parser_reply *reply)
{
	struct pending *r;

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
	const struct pending *r;

	for (r = p->first; r; r = r->next)
		if (r->type == type && r->request.module == module)
			return true;
	return false;
}

/* Drop the queued requests that hand over files: hand_over_all() makes new ones. */
void parser_drop_silent(struct parser *p)
{
	struct pending **at = &p->first, *r;

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
