// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/waits/traces.h"

#include "analysis/waits/keyed.h"
#include "analysis/waits/kinds.h"

struct trace_entry {
	struct trace trace;
	uint32_t next; /* index + 1, of those with the same hash */
	void *memory;
};

/* The number under which a sampled stack is kept: found by its own number, and by its content. */
struct kept_stack {
	struct keyed_head head;
	uint32_t number, spare;
};
enum { BY_NUMBER = 0, BY_CONTENT, KEPT_BY, KEPT_BITS = 15 };

struct traces {
	struct trace_entry *entries; /* a ring */
	struct keyed *kept;	     /* KEPT_BY of them */
	uint64_t nr_equal;
	uint32_t *bucket; /* index + 1 */
	uint32_t max, at, mask;
};

struct traces *traces_new(uint32_t max)
{
	struct traces *t = calloc(1, sizeof(*t));
	uint32_t buckets = 16;

	if (!t)
		return NULL;
	while (buckets < max)
		buckets *= 2;
	t->max = max;
	t->mask = buckets - 1;
	t->entries = calloc(max, sizeof(*t->entries));
	t->bucket = calloc(buckets, sizeof(*t->bucket));
	t->kept = calloc(KEPT_BY, sizeof(*t->kept));
	if (!t->entries || !t->bucket || !t->kept ||
	    keyed_init(&t->kept[BY_NUMBER], KEPT_BITS, sizeof(struct kept_stack)) ||
	    keyed_init(&t->kept[BY_CONTENT], KEPT_BITS, sizeof(struct kept_stack))) {
		traces_free(t);
		return NULL;
	}
	return t;
}

void traces_free(struct traces *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; t->entries && i < t->max; i++)
		free(t->entries[i].memory);
	for (unsigned int i = 0; t->kept && i < KEPT_BY; i++)
		keyed_release(&t->kept[i]);
	free(t->kept);
	free(t->entries);
	free(t->bucket);
	free(t);
}

static uint32_t *bucket_of(const struct traces *t, uint32_t number)
{
	return &t->bucket[(number * 0x9e3779b1u >> 8) & t->mask];
}

uint32_t traces_kept(const struct traces *t, uint32_t number)
{
	const struct kept_stack *k =
	    number & TRACE_SAMPLED ? keyed_find(&t->kept[BY_NUMBER], number) : NULL;

	return number & TRACE_SAMPLED ? (k ? k->number : 0) : number;
}

uint64_t traces_nr_equal(const struct traces *t)
{
	return t->nr_equal;
}

static const struct trace *find(const struct traces *t, uint32_t number)
{
	for (uint32_t i = number ? *bucket_of(t, number) : 0; i; i = t->entries[i - 1].next) {
		if (t->entries[i - 1].trace.number == number)
			return &t->entries[i - 1].trace;
	}
	return NULL;
}

const struct trace *traces_find(const struct traces *t, uint32_t number)
{
	return find(t, traces_kept(t, number));
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 33;
}

static uint64_t path_of(const struct rec_trace *rec)
{
	uint64_t hash = 1;
	bool known = false;

	for (uint32_t i = 0; i < rec->nr_frames; i++) {
		const struct rec_frame *f = &rec->frames[i];

		hash = mix(mix(hash, f->module), f->function ?: f->offset);
		known |= f->module != 0;
	}
	return known ? hash | 1 : 0;
}

static uint64_t content_of(const struct rec_trace *rec)
{
	uint64_t hash = rec->flags + 1;

	for (uint32_t i = 0; i < rec->nr_frames; i++)
		hash = mix(mix(hash, rec->frames[i].module),
			   rec->trace & TRACE_SAMPLED && rec->frames[i].function
			       ? rec->frames[i].function
			       : rec->frames[i].offset);
	for (const char *c = rec->kernel; *c; c++)
		hash = mix(hash, (unsigned char)*c);
	return hash ? hash : 1;
}

static void drop(struct traces *t, struct trace_entry *e)
{
	uint32_t *link = bucket_of(t, e->trace.number);

	while (*link && &t->entries[*link - 1] != e)
		link = &t->entries[*link - 1].next;
	if (*link)
		*link = e->next;
	free(e->memory);
	*e = (struct trace_entry){0};
}

/* Note under which number a sampled stack is kept. True: an equal one is there. */
static bool is_kept(struct traces *t, uint32_t number, uint64_t content)
{
	struct kept_stack *by_content = keyed_make(&t->kept[BY_CONTENT], content),
			  *by_number = keyed_make(&t->kept[BY_NUMBER], number);
	const struct trace *same = by_content->number ? find(t, by_content->number) : NULL;

	t->nr_equal++;
	if (!same || same->content != content)
		by_content->number = number;
	by_number->number = by_content->number;
	return by_content->number != number;
}

int traces_add(struct traces *t, const struct rec_trace *rec)
{
	size_t frames = rec->nr_frames * sizeof(*rec->frames), text = strlen(rec->kernel) + 1;
	const struct trace *old = find(t, rec->trace);
	uint64_t content = content_of(rec);
	struct trace_entry *e;
	char *memory;

	if (!rec->trace || (rec->trace & TRACE_SAMPLED && is_kept(t, rec->trace, content)))
		return 0;
	memory = malloc(frames + text);
	if (!memory)
		return -ENOMEM;
	if (old) {
		e = &t->entries[(const struct trace_entry *)(const void *)old - t->entries];
	} else {
		e = &t->entries[t->at];
		t->at = (t->at + 1) % t->max;
	}
	if (e->memory)
		drop(t, e);
	if (frames)
		memcpy(memory, rec->frames, frames);
	memcpy(memory + frames, rec->kernel, text);
	e->memory = memory;
	e->trace = (struct trace){.number = rec->trace,
				  .flags = rec->flags,
				  .hints = wait_hints(rec->kernel),
				  .content = content,
				  .path = path_of(rec),
				  .kernel = memory + frames,
				  .nr_frames = rec->nr_frames,
				  .frames = (const struct rec_frame *)(const void *)memory};
	e->next = *bucket_of(t, rec->trace);
	*bucket_of(t, rec->trace) = (uint32_t)(e - t->entries) + 1;
	return 0;
}

uint64_t traces_content(const struct traces *t, uint32_t number)
{
	const struct trace *trace = traces_find(t, number);

	return trace ? trace->content : number & TRACE_SAMPLED ? 0 : number;
}
