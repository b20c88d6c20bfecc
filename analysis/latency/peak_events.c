// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/peak_events.h"

#include "analysis/base/array.h"

static const struct peak_span *span_of(const struct peak_slice *s, int id)
{
	return find_first(i, s->span, s->nr, s->id[i] == id);
}

/* Adds the listed peaks that are not known yet. */
static void add_new(struct peak_history *h, const struct peak_slice *s)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		unsigned int k = 0;

		while (k < h->nr && h->past[k].id != s->id[i])
			k++;
		if (k < h->nr || !s->id[i] || h->nr == PEAKS_TRACKED)
			continue;
		h->past[h->nr++] =
		    (struct peak_past){.id = s->id[i],
				       .range = s->span[i].range,
				       .mode = s->span[i].mode,
				       .calls = profile_range_calls(s->seen, s->span[i].range),
				       .first_ns = s->end_ns,
				       .last_ns = s->end_ns};
	}
}

/* Counts the calls of this slice, and how long the peak has been silent. Returns true if calls
 * came after it was reported as vanished; then *silence_ns is how long it was silent. */
static bool count_calls(struct peak_past *p, const struct peak_slice *s, uint64_t *silence_ns)
{
	uint64_t calls = profile_range_calls(s->seen, p->range);
	bool back = false;

	p->watched_ns += s->watched_ns;
	if (calls > p->calls) {
		back = p->silent;
		*silence_ns = s->end_ns - p->last_ns;
		if (p->silent_ns > p->longest_silence_ns)
			p->longest_silence_ns = p->silent_ns;
		p->silent = false;
		p->silent_ns = p->silent_slices = 0;
		p->last_ns = s->end_ns;
		p->gained += calls - p->calls;
	} else if (s->watched_ns) {
		p->silent_ns += s->watched_ns;
		p->silent_slices++;
	}
	p->calls = calls;
	return back;
}

/* Returns the bucket of the median. The mode of a broad peak moves by chance, the median does not.
 */
static unsigned int middle_of(const struct profile *seen, struct bucket_range range)
{
	uint64_t half = (profile_range_calls(seen, range) + 1) / 2, sum = 0;
	unsigned int i = range.low;

	for (; i + 1 < range.high; i++) {
		sum += seen->count[i];
		if (sum >= half)
			break;
	}
	return i;
}

/* Follows the place of the peak. Returns true if it has moved for good. */
static bool follow(struct peak_past *p, const struct peak_span *span, const struct profile *seen)
{
	int by;

	p->absent = 0;
	p->listed++;
	p->mode = span->mode;
	p->middle = middle_of(seen, span->range);
	by = (int)p->middle - (int)p->told_middle;
	if (memcmp(&p->range, &span->range, sizeof(p->range)) != 0) {
		p->range = span->range;
		p->calls = profile_range_calls(seen, p->range);
	}
	p->off_place = p->announced && abs(by) >= PEAK_MOVE_BUCKETS ? p->off_place + 1 : 0;
	return p->off_place >= PEAK_EVENT_SLICES;
}

/* Has it been silent for too long to be chance? Its calls come at a rate that would have given
 * PEAK_MIN_CALLS, and even its longest silence so far was much shorter. */
static bool has_vanished(const struct peak_past *p)
{
	uint64_t active = p->watched_ns > p->silent_ns ? p->watched_ns - p->silent_ns : 1;

	return p->announced && !p->silent && p->silent_slices >= PEAK_SILENT_SLICES &&
	       p->silent_ns >= PEAK_SILENCE_FACTOR * p->longest_silence_ns &&
	       (double)p->gained / (double)active * (double)p->silent_ns >= PEAK_MIN_CALLS;
}

/* Returns the peak that began when `p` ended: then the calls have moved there. NULL: none. */
static const struct peak_past *successor(const struct peak_history *h, const struct peak_past *p,
					 const struct peak_slice *s)
{
	uint64_t near = PEAK_SILENT_SLICES * (s->end_ns - s->start_ns);
	const struct peak_past *best = NULL;

	for (unsigned int i = 0; i < h->nr; i++) {
		const struct peak_past *o = &h->past[i];

		if (o == p || !o->announced || o->silent || o->silent_slices ||
		    o->first_ns + near < p->last_ns || p->last_ns + near < o->first_ns ||
		    o->first_ns < p->first_ns + near)
			continue;
		if (!best || abs((int)o->mode - (int)p->mode) < abs((int)best->mode - (int)p->mode))
			best = o;
	}
	return best;
}

/* Takes the slice for one peak. Returns true if there is an event. */
static bool take(struct peak_history *h, struct peak_past *p, const struct peak_slice *s,
		 struct peak_event *out)
{
	const struct peak_span *span = span_of(s, p->id);
	const struct peak_past *next;
	uint64_t silence = 0;
	bool back = count_calls(p, s, &silence), moved = span && follow(p, span, s->seen);

	*out = (struct peak_event){.id = p->id, .mode = p->mode, .from = p->told_middle};
	if (!span) {
		p->listed = 0;
		p->absent++;
		out->change = PEAK_CHANGE_MERGED;
		return p->absent == PEAK_SILENT_SLICES && p->announced && !p->silent;
	}
	if (!p->announced) {
		p->announced = p->listed >= PEAK_EVENT_SLICES && span->calls >= PEAK_MIN_CALLS;
		p->told_middle = p->middle;
		out->change = PEAK_CHANGE_APPEARED;
		return p->announced;
	}
	if (back) {
		out->change = PEAK_CHANGE_RETURNED;
		out->silent_ns = silence;
		return true;
	}
	if (moved) {
		out->mode = p->middle;
		p->told_middle = p->middle;
		out->change = PEAK_CHANGE_MOVED;
		return true;
	}
	if (!has_vanished(p))
		return false;
	p->silent = true;
	next = successor(h, p, s);
	out->change = next ? PEAK_CHANGE_MOVED : PEAK_CHANGE_VANISHED;
	out->from = p->mode;
	out->silent_ns = s->end_ns - p->last_ns;
	if (next) {
		out->id = next->id;
		out->mode = next->mode;
	}
	return true;
}

unsigned int peak_events_slice(struct peak_history *h, const struct peak_slice *slice,
			       struct peak_event *out)
{
	unsigned int n = 0, kept = 0;

	add_new(h, slice);
	for (unsigned int i = 0; i < h->nr; i++)
		n += take(h, &h->past[i], slice, &out[n]) ? 1 : 0;
	for (unsigned int i = 0; i < h->nr; i++) /* forget the peaks that are gone */
		if (h->past[i].absent < PEAK_SILENT_SLICES)
			h->past[kept++] = h->past[i];
	h->nr = kept;
	return n;
}
