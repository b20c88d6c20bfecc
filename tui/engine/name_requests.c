// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/name_requests.h"

#include "analysis/base/array.h"

enum { BATCH = 256, MAX_REQUESTS = 256, MAX_PLACES = 1 << 17 };

struct name_requests {
	struct driver_host host;
	struct rec_code *noted; /* all places that were noted, ascending */
	size_t nr_noted, cap_noted;
	struct rec_code *waiting; /* places that were not sent yet */
	size_t nr_waiting, cap_waiting;
	unsigned int nr_requests; /* sent to the parser and not answered yet */
};

struct name_requests *name_requests_new(const struct driver_host *host)
{
	struct name_requests *n = calloc(1, sizeof(*n));

	if (n)
		n->host = *host;
	return n;
}

void name_requests_free(struct name_requests *n)
{
	if (!n)
		return;
	free(n->noted);
	free(n->waiting);
	free(n);
}

void name_requests_want(struct name_requests *n, struct rec_code c)
{
	size_t i = lower_bound(k, n->nr_noted, code_is_before(n->noted[k], c));

	if (!c.module || c.module == REC_KERNEL_MODULE ||
	    (i < n->nr_noted && n->noted[i].module == c.module && n->noted[i].offset == c.offset))
		return;
	if (!array_grow(n->waiting, n->nr_waiting, n->cap_waiting, MAX_PLACES) &&
	    !array_insert(n->noted, i, n->nr_noted, n->cap_noted, MAX_PLACES, c))
		n->waiting[n->nr_waiting++] = c;
}

void name_requests_want_frame(struct name_requests *n, const struct rec_frame *f, bool innermost)
{
	name_requests_want(n, (struct rec_code){f->module, f->function});
	name_requests_want(n, driver_frame_place(f, innermost));
}

static void answer_names(void *ctx, uint64_t tag, const struct parsed *a)
{
	struct name_requests *n = ctx;

	n->nr_requests--;
	for (uint32_t i = 0; i < a->symbols.nr; i++) {
		struct record rec = {.type = REC_SYMBOL, .symbol = a->symbols.symbols[i]};

		if (rec.symbol.function && (rec.symbol.function[0] || rec.symbol.line))
			n->host.feed(n->host.ctx, &rec);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct rec_code *x = a, *y = b;

	return code_is_before(*x, *y) ? -1 : code_is_before(*y, *x);
}

bool name_requests_idle(const struct name_requests *n)
{
	return !n->nr_requests;
}

bool name_requests_send(struct name_requests *n)
{
	uint64_t offsets[BATCH];
	size_t sent = 0;

	/* One request has places of one module only. */
	if (n->nr_waiting)
		qsort(n->waiting, n->nr_waiting, sizeof(*n->waiting), by_place);
	while (sent < n->nr_waiting && n->nr_requests < MAX_REQUESTS) {
		const struct parser_reply reply = {answer_names, n, 0};
		struct parse_request req = {
		    .module = n->waiting[sent].module, .text = "", .offsets = offsets};

		while (sent < n->nr_waiting && req.nr_offsets < BATCH &&
		       n->waiting[sent].module == req.module)
			offsets[req.nr_offsets++] = n->waiting[sent++].offset;
		if (n->host.ask(n->host.ctx, PARSE_SYMBOLS, &req, &reply))
			n->nr_requests++;
	}
	if (sent)
		memmove(n->waiting, n->waiting + sent,
			(n->nr_waiting - sent) * sizeof(*n->waiting));
	n->nr_waiting -= sent;
	return !n->nr_requests && !n->nr_waiting;
}
