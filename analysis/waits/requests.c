// SPDX-License-Identifier: GPL-2.0-or-later
/* Block requests: from their submission to their completion, and those that a sleep waited for. */
#include "analysis/base/array.h"
#include "analysis/waits/critical_feed.h"
#include "analysis/waits/tree.h"

enum {
	REQUEST_BITS = 14,
	DONE = 1 << 14, /* a power of two */
	BACK = 64,	/* segments that are searched for the sleep before */
};

int requests_init(struct waits *w)
{
	w->done = malloc(DONE * sizeof(*w->done));
	return w->done ? keyed_init(&w->requests, REQUEST_BITS, sizeof(struct block_request))
		       : -ENOMEM;
}

/* A request of which no begin was seen is not kept: its times are not known. */
static void request_done(struct waits *w, const struct block_request *q, uint64_t now)
{
	if (!q->submit_ns || !q->issue_ns)
		return;
	w->done[w->nr_done++ % DONE] = (struct done_request){.submit_ns = q->submit_ns,
							     .issue_ns = q->issue_ns,
							     .complete_ns = now,
							     .task = q->task,
							     .object = q->object,
							     .bytes = q->bytes,
							     .kind = q->kind};
}

void request_event(struct waits *w, const struct wait_event *e, uint32_t task)
{
	const struct rec_block *r = &e->block;
	struct block_request *q;

	if (r->event == BLOCK_SUBMIT)
		keyed_drop(&w->requests, r->request);
	q = keyed_make(&w->requests, r->request);
	if (r->event == BLOCK_SUBMIT) {
		q->submit_ns = e->at_ns;
		q->task = task;
	}
	if (r->event == BLOCK_ISSUE && !q->issue_ns)
		q->issue_ns = e->at_ns;
	/* others may have become a part of it until it was issued */
	if (r->event != BLOCK_COMPLETE)
		q->bytes = r->bytes;
	q->kind = r->kind;
	if (r->object)
		q->object = r->object;
	if (r->event == BLOCK_COMPLETE)
		request_done(w, q, e->at_ns);
	else
		critical_request(w, r->request, q, e->at_ns);
}

/* ---- what a sleep waited for */

/* The node of a request below `parent`; where there is no room, `parent` itself. */
static uint32_t request_node(struct chain_walker *k, uint32_t parent, uint32_t object,
			     uint32_t kind, unsigned int notes, uint64_t at)
{
	struct layer_key key = {.what = object_name(k->w, object),
				.notes = (uint16_t)notes,
				.syscall = -1,
				.state = CHAIN_IO,
				.kind = BLOCK_OPERATION(kind),
				.disk = (uint16_t)BLOCK_DISK(kind)};

	return chains_child(k->w->chains, parent, &key, at);
}

/* When the sleep of this task ended that came before `s`; if that is not known, an upper bound. */
static uint64_t slept_before(const struct waits *w, const struct segment *s)
{
	uint64_t from = s->from;

	for (unsigned int i = 0; i < BACK && s->prev; i++) {
		s = segment_get(w, s->prev - 1);
		if (!s)
			return from;
		from = s->from;
		if (s->state == SEGMENT_SLEEP)
			return s->to;
	}
	return s->prev ? from : 0;
}

static void request_count(struct chain_walker *k, uint32_t parent, const struct segment *s,
			  const struct done_request *r)
{
	struct request_sums one = {.count = 1,
				   .bytes = r->bytes,
				   .queue_ns = r->issue_ns - r->submit_ns,
				   .device_ns = r->complete_ns - r->issue_ns};
	uint32_t node =
	    request_node(k, parent, r->object ? r->object : s->object, r->kind, 0, r->complete_ns);

	if (node != parent)
		request_sums_add(&k->w->chains->nodes[node].requests, &one);
}

/* Count the request that ended the sleep `s`, and the others that its task had submitted itself and
 * that completed since it slept last: it may have waited for all of them. Only those that completed
 * in (lo, hi], or before the sleep, because a sleep may be told in parts. Returns the kind of the
 * request that ended it; 0: not known. */
static uint32_t requests_count(struct chain_walker *k, uint32_t parent, const struct segment *s,
			       const struct wait_cause *c, uint64_t lo, uint64_t hi)
{
	const struct waits *w = k->w;
	uint64_t first = w->nr_done > DONE ? w->nr_done - DONE : 0,
		 from = lo > s->from ? lo : slept_before(w, s), n;
	uint32_t kind = 0;

	if (from < k->since_ns)
		from = k->since_ns;
	n = first +
	    lower_bound(i, w->nr_done - first, w->done[(first + i) % DONE].complete_ns <= s->to);
	while (n-- > first && k->steps++ <= k->most) {
		const struct done_request *r = &w->done[n % DONE];
		bool is_ender = r->task == c->task && r->submit_ns == c->start_ns;

		if (is_ender)
			kind = r->kind;
		if (r->complete_ns <= from)
			break;
		if (r->complete_ns <= hi &&
		    (is_ender || (r->task == s->task && r->task == c->task)))
			request_count(k, parent, s, r);
	}
	return kind;
}

void walk_request(struct chain_walker *k, uint32_t node, const struct segment *s,
		  const struct wait_cause *c, uint64_t lo, uint64_t hi)
{
	uint32_t object = c->object ? c->object : s->object,
		 kind = requests_count(k, node, s, c, lo, hi);
	enum wait_account device =
	    s->kind == WAIT_PAGE || s->kind == WAIT_SWAP ? ACCOUNT_PAGE_FAULT : ACCOUNT_DEVICE;
	uint64_t submit = c->start_ns < lo ? lo : c->start_ns, issue = c->at_ns;

	if (submit > hi)
		submit = hi;
	/* somebody else submitted it while this one was waiting */
	if (submit > lo && c->task != s->task)
		walk_next(k, node, c->task, lo, submit, 0);
	else
		submit = lo;
	issue = !issue || issue < submit ? submit : issue < hi ? issue : hi;
	if (issue > submit)
		chains_emit(k->w->chains, request_node(k, node, object, kind, NOTE_QUEUED, submit),
			    submit, issue, ACCOUNT_IO_QUEUE);
	if (hi > issue)
		chains_emit(k->w->chains, request_node(k, node, object, kind, 0, issue), issue, hi,
			    device);
}

/* ---- for those that show them */

static int by_time(const void *a, const void *b)
{
	const struct request_sums *x = &((const struct waits_requests *)a)->sums,
				  *y = &((const struct waits_requests *)b)->sums;
	uint64_t of_x = x->queue_ns + x->device_ns, of_y = y->queue_ns + y->device_ns;

	return (of_x < of_y) - (of_x > of_y);
}

uint32_t waits_chains_requests(const struct waits_chains *c, struct waits_requests *out,
			       uint32_t max)
{
	uint32_t nr = 0, at;

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct waits_node *n = &c->nodes[i];

		if (!n->requests.count)
			continue;
		for (at = 0; at < nr; at++)
			if (out[at].operation == n->layer.operation &&
			    !strcmp(out[at].device, n->layer.device))
				break;
		if (at == max)
			continue;
		if (at == nr)
			out[nr++] = (struct waits_requests){.device = n->layer.device,
							    .operation = n->layer.operation};
		request_sums_add(&out[at].sums, &n->requests);
	}
	qsort(out, nr, sizeof(*out), by_time);
	return nr;
}
