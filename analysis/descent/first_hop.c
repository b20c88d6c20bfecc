// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/descent/first_hop.h"

#include "analysis/base/array.h"
#include "analysis/descent/path_waits.h"

struct pending {
	uint64_t at_ns;
	struct hop hop; /* count 0: the entry is free */
};

struct recent_wait {
	uint32_t pid, tid;
	uint64_t start_ns, end_ns; /* end 0: the entry is free */
};

struct hops {
	unsigned int nr, next_pending, next_recent;
	struct hop *hop[HOPS_MAX];
	struct pending *pending[HOPS_PENDING]; /* allocated when first needed */
	struct recent_wait recent[HOPS_RECENT];
};

struct hops *hops_new(void)
{
	return calloc(1, sizeof(struct hops));
}

void hops_forget(struct hops *h)
{
	for (unsigned int i = 0; i < h->nr; i++)
		free(h->hop[i]);
	for (unsigned int i = 0; i < HOPS_PENDING; i++)
		free(h->pending[i]);
	memset(h, 0, sizeof(*h));
}

void hops_free(struct hops *h)
{
	if (!h)
		return;
	hops_forget(h);
	free(h);
}

static void hop_fill(struct hop *h, const struct rec_witness *w)
{
	struct cause cause;

	cause_of_sleep(&w->sleep, w->functions, &cause);
	*h = (struct hop){.ns = w->weight_ns,
			  .count = 1,
			  .tid = w->tid,
			  .cause = cause.kind,
			  .ender = cause.ender,
			  .sleep = w->sleep};
	if (cause.ender != ENDER_TASK) {
		/* an interrupt lay on top of an innocent task */
		h->sleep.waker = "";
		h->sleep.waker_pid = h->sleep.waker_tid = 0;
	}
	sleep_texts_keep(&h->texts, &h->sleep);
	h->nr_frames =
	    w->nr_frames < DESCENT_MAX_WITNESS_FRAMES ? w->nr_frames : DESCENT_MAX_WITNESS_FRAMES;
	if (h->nr_frames)
		memcpy(h->frame, w->frames, h->nr_frames * sizeof(*h->frame));
}

static bool same(const struct hop *a, const struct hop *b)
{
	if (a->cause != b->cause || a->ender != b->ender ||
	    a->sleep.waker_tid != b->sleep.waker_tid || a->nr_frames != b->nr_frames ||
	    strcmp(a->texts.call, b->texts.call) != 0 ||
	    strcmp(a->texts.name, b->texts.name) != 0 ||
	    strcmp(a->texts.waker, b->texts.waker) != 0 ||
	    strcmp(a->texts.holder, b->texts.holder) != 0)
		return false;
	return !any_of(i, a->nr_frames,
		       a->frame[i].module != b->frame[i].module ||
			   a->frame[i].offset != b->frame[i].offset);
}

/* Counts a wait of an in-peak call. */
static void hop_add(struct hops *h, const struct hop *from, uint32_t pid)
{
	unsigned int lightest = 0;
	uint64_t left = 0;
	struct hop *to;

	for (unsigned int i = 0; i < h->nr; i++) {
		if (same(h->hop[i], from)) {
			h->hop[i]->ns += from->ns;
			h->hop[i]->count++;
			return;
		}
		if (h->hop[i]->ns < h->hop[lightest]->ns)
			lightest = i;
	}
	if (h->nr < HOPS_MAX) {
		to = malloc(sizeof(*to));
		if (!to)
			return;
		h->hop[h->nr++] = to;
	} else {
		to = h->hop[lightest];
		left = to->ns;
	}
	*to = *from;
	sleep_texts_point(&to->texts, &to->sleep);
	to->pid = pid;
	to->ns += left;
}

static void take_wait(struct hops *h, const struct rec_witness *w)
{
	struct pending **slot;
	struct hop hop;

	hop_fill(&hop, w);
	for (unsigned int i = 0; i < HOPS_RECENT; i++) {
		const struct recent_wait *c = &h->recent[i];

		if (c->end_ns && c->tid == w->tid && w->at_ns >= c->start_ns &&
		    w->at_ns <= c->end_ns) {
			hop_add(h, &hop, c->pid);
			return;
		}
	}
	slot = &h->pending[h->next_pending];
	h->next_pending = (h->next_pending + 1) % HOPS_PENDING;
	if (!*slot)
		*slot = malloc(sizeof(**slot));
	if (!*slot)
		return;
	(*slot)->at_ns = w->at_ns;
	(*slot)->hop = hop;
	sleep_texts_point(&(*slot)->hop.texts, &(*slot)->hop.sleep);
}

static void take_call(struct hops *h, const struct rec_call *c)
{
	uint64_t end = c->start_ns + (c->raw_ns > c->latency_ns ? c->raw_ns : c->latency_ns);

	h->recent[h->next_recent] = (struct recent_wait){c->pid, c->tid, c->start_ns, end};
	h->next_recent = (h->next_recent + 1) % HOPS_RECENT;
	for (unsigned int i = 0; i < HOPS_PENDING; i++) {
		struct pending *p = h->pending[i];

		if (!p || !p->hop.count || p->hop.tid != c->tid || p->at_ns > end)
			continue;
		if (p->at_ns >= c->start_ns)
			hop_add(h, &p->hop, c->pid);
		p->hop.count = 0;
	}
}

void hops_feed(struct hops *h, uint32_t op, const struct record *rec)
{
	if (rec->type == REC_WITNESS && rec->witness.op == op && rec->witness.kind == WITNESS_SLEEP)
		take_wait(h, &rec->witness);
	else if (rec->type == REC_CALL && rec->call.op == op)
		take_call(h, &rec->call);
}

const struct hop *hops_find(const struct hops *h, const struct descent_result *r,
			    const struct descent_path *p)
{
	const struct hop *best = NULL;

	for (unsigned int i = 0; !p->cause.took_cpu && i < h->nr; i++) {
		if (h->hop[i]->cause == p->cause.kind && (!best || h->hop[i]->ns > best->ns) &&
		    path_goes_through(h->hop[i]->frame, h->hop[i]->nr_frames, r, p))
			best = h->hop[i];
	}
	return best;
}
