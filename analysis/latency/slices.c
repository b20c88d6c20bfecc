// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/slices.h"

#include "analysis/base/array.h"

void slices_init(struct slices *s)
{
	memset(s, 0, sizeof(*s));
}

/* Returns the size of the block that holds both arrays; the counts come first. */
static size_t block_size(unsigned int nr_buckets)
{
	return nr_buckets * (sizeof(uint64_t) + sizeof(uint16_t));
}

static void slice_drop(struct slices *s, struct slice *slice)
{
	s->bytes -= block_size(slice->nr_buckets);
	free((void *)slice->count);
	slice->count = NULL;
	slice->bucket = NULL;
}

void slices_release(struct slices *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		slice_drop(s, &s->slice[i]);
	free(s->slice);
	slices_init(s);
}

/* Gives `slice` a block of its own with the union of the buckets of a and b (b may be NULL). */
static int slice_fill(struct slices *s, struct slice *slice, const struct slice *a,
		      const struct slice *b)
{
	unsigned int max = a->nr_buckets + (b ? b->nr_buckets : 0), i = 0, k = 0, n = 0;
	uint64_t count[2 * PT_BUCKETS];
	uint16_t bucket[2 * PT_BUCKETS];
	char *block;

	if (max > 2 * PT_BUCKETS)
		return -EINVAL;
	while (i < a->nr_buckets || (b && k < b->nr_buckets)) {
		bool from_a =
		    i < a->nr_buckets && (!b || k == b->nr_buckets || a->bucket[i] <= b->bucket[k]);
		bool from_b =
		    b && k < b->nr_buckets && (i == a->nr_buckets || b->bucket[k] <= a->bucket[i]);

		bucket[n] = from_a ? a->bucket[i] : b->bucket[k];
		count[n++] = add_saturating(from_a ? a->count[i] : 0, from_b ? b->count[k] : 0);
		i += from_a;
		k += from_b;
	}
	slice->nr_buckets = n;
	slice->bucket = NULL;
	slice->count = NULL;
	if (!n)
		return 0;
	block = malloc(block_size(n));
	if (!block)
		return -ENOMEM;
	memcpy(block, count, n * sizeof(*count));
	memcpy(block + n * sizeof(*count), bucket, n * sizeof(*bucket));
	slice->count = (uint64_t *)block;
	slice->bucket = (uint16_t *)(block + n * sizeof(*count));
	s->bytes += block_size(n);
	return 0;
}

/* Adds slice b to slice a, in the place of a. */
static int slice_join(struct slices *s, struct slice *a, struct slice *b)
{
	struct slice sum = *a;
	int err = slice_fill(s, &sum, a, b);

	if (err)
		return err;
	if (b->end_ns > sum.end_ns)
		sum.end_ns = b->end_ns;
	sum.calls = add_saturating(a->calls, b->calls);
	sum.sum_ns = add_saturating(a->sum_ns, b->sum_ns);
	sum.seen = add_saturating(a->seen, b->seen);
	sum.armed_ns = add_saturating(a->armed_ns, b->armed_ns);
	sum.open = b->open;
	slice_drop(s, a);
	*a = sum;
	return 0;
}

int slices_coarsen(struct slices *s)
{
	unsigned int half = s->nr / 4 * 2, kept = 0, i;
	int err = 0;

	for (i = 0; i + 1 < half && !err; i += 2) {
		err = slice_join(s, &s->slice[i], &s->slice[i + 1]);
		if (err)
			break;
		slice_drop(s, &s->slice[i + 1]);
		s->slice[kept++] = s->slice[i];
	}
	/* After a failure the list is still valid: slices that were merged stay merged. */
	memmove(&s->slice[kept], &s->slice[i], (s->nr - i) * sizeof(*s->slice));
	s->nr -= i - kept;
	return err;
}

static int make_room(struct slices *s)
{
	const unsigned int before = s->cap;
	int err;

	if (s->nr == MODEL_MAX_SLICES)
		return slices_coarsen(s);
	err = array_grow(s->slice, s->nr, s->cap, MODEL_MAX_SLICES);
	s->bytes += (s->cap - before) * sizeof(*s->slice);
	return err;
}

static bool covers_burst(const struct slice *slice)
{
	return slice->armed_ns < slice->end_ns - slice->start_ns;
}

int slices_add(struct slices *s, const struct slice *slice, uint64_t interval_ns)
{
	struct slice *last = s->nr ? &s->slice[s->nr - 1] : NULL, copy = *slice;
	int err;

	if (last && slice->start_ns == last->start_ns) {
		err = slice_join(s, last, (struct slice *)slice);
		/* Both slices cover the same time. */
		if (!err && last->armed_ns > last->end_ns - last->start_ns)
			last->armed_ns = last->end_ns - last->start_ns;
		return err;
	}
	if (last && slice->start_ns < last->end_ns)
		return -EINVAL;
	if (last && slice->end_ns - last->start_ns <= interval_ns && covers_burst(last) &&
	    covers_burst(slice))
		return slice_join(s, last, (struct slice *)slice);
	err = make_room(s);
	if (!err)
		err = slice_fill(s, &copy, slice, NULL);
	if (!err)
		s->slice[s->nr++] = copy;
	return err;
}
