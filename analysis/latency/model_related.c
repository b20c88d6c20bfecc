// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the peaks of all operations that are related to the peaks of one. */
#include "analysis/latency/model_impl.h"

static unsigned int series_window(const struct model *m)
{
	return m->nr_slices < MODEL_TICKS ? (unsigned int)m->nr_slices : MODEL_TICKS;
}

static uint64_t tick_end(const struct model *m, unsigned int window, unsigned int i)
{
	return m->tick_end[(m->nr_slices - window + i) % MODEL_TICK_ENDS];
}

static void add_slice(const struct op_state *op, const struct slice *s, unsigned int at)
{
	const uint16_t *bucket = s->bucket;
	unsigned int k = 0, n = s->nr_buckets;

	for (unsigned int i = 0; i < n; i++)
		op->series->all[at] += (double)s->count[i];
	for (unsigned int p = 0; p < op->pub.nr_peaks && k < n; p++) {
		struct bucket_range range = op->peak[p].range;
		uint64_t calls = 0;

		while (k < n && bucket[k] < range.low)
			k++;
		for (; k < n && bucket[k] < range.high; k++)
			calls += s->count[k];
		op->series->calls[p][at] += (double)calls;
	}
}

/* Fills the series from the last slice backwards, as long as slices were not merged. */
static void fill_series(const struct model *m, const struct op_state *op)
{
	struct op_series *out = op->series;
	unsigned int window = series_window(m), at = window;
	uint64_t first = m->nr_slices - window;

	out->known_from = op->born > first ? (unsigned int)(op->born - first) : 0;
	for (unsigned int i = op->slices.nr; i-- > 0;) {
		const struct slice *s = &op->slices.slice[i];

		while (at > 0 && tick_end(m, window, at - 1) >= s->end_ns)
			at--;
		/* `at` is now the first tick that ends with this slice or later. */
		if (at == window)
			continue;
		if (at == 0)
			break;
		if (s->start_ns + (s->end_ns - s->start_ns) / 4 < tick_end(m, window, at - 1)) {
			/* A merged slice: nothing is known of this and earlier ticks. */
			if (out->known_from < at + 1)
				out->known_from = at + 1;
			break;
		}
		add_slice(op, s, at);
	}
}

static int make_series(const struct model *m, struct op_state *op)
{
	struct op_series *s = op->series;
	unsigned int n = op->pub.nr_peaks;

	if (s && s->version == op->version && s->revision == m->revision)
		return 0;
	if (!s || s->room < n) {
		s = realloc(s, sizeof(*s) + n * sizeof(s->calls[0]));
		if (!s)
			return -ENOMEM;
		s->room = n;
		op->series = s;
	}
	memset(s->all, 0, sizeof(s->all));
	memset(s->calls, 0, n * sizeof(s->calls[0]));
	fill_series(m, op);
	for (unsigned int i = 0; i < n; i++)
		related_prepare(s->calls[i], series_window(m));
	s->version = op->version;
	s->revision = m->revision;
	return 0;
}

static struct related_side side(const struct op_state *op, unsigned int peak)
{
	struct related_side s = {
	    .op = op->pub.op,
	    .peak_id = op->peak[peak].id,
	    .range = op->peak[peak].range,
	    .profile = &op->pub.total,
	    .series = op->series->calls[peak],
	    .all = op->series->all,
	    .known_from = op->series->known_from,
	    .scaled = op->pub.share_seen < ALL_SEEN,
	};

	return s;
}

int model_related(struct model *m, struct op_state *op, unsigned int *nr)
{
	unsigned int window = series_window(m);
	int err = make_series(m, op);

	for (size_t i = 0; i < m->nr_ops && !err; i++) {
		struct op_state *other = m->op[i];

		if (!other->pub.total.calls)
			continue;
		model_refresh(m, other);
		err = make_series(m, other);
		for (unsigned int k = 0; k < other->pub.nr_peaks && !err; k++) {
			struct related_side theirs = side(other, k);

			for (unsigned int p = 0; p < op->pub.nr_peaks; p++) {
				struct related_side ours = side(op, p);
				struct peak_related one;

				if (related_score(&ours, &theirs, window, &one))
					related_insert(op->answer->related[p], &nr[p], &one);
			}
		}
	}
	return err;
}
