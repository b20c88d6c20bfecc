// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen/frozen.h"

#include "analysis/session/codec.h"
#include "tui/report/sanitise.h"
#include "tui/report/words.h"

enum { REMARKS_MAX = 16384 };

/* The frozen operation and the memory that contains it. */
struct holder {
	struct frozen_op pub;
	struct arena arena;
};

static void *copy(struct holder *h, const void *data, size_t n)
{
	void *p = n ? arena_alloc(&h->arena, n) : NULL;

	if (p)
		memcpy(p, data, n);
	return p;
}

static const char *copy_text(struct holder *h, const char *s)
{
	const char *p = sanitise_into(&h->arena, s);

	return p ? p : "";
}

/* Copy text that is already sanitised. */
static const char *copy_buf(struct holder *h, const struct buf *b)
{
	const char *p = b->len ? copy(h, b->data, b->len + 1) : NULL;

	return p ? p : "";
}

/* Copy the newest slices first: if memory runs out, the oldest are missing. */
static void copy_slices(struct holder *h, const struct op *op)
{
	struct slice *s;
	unsigned int i;

	h->pub.op.slices = NULL;
	h->pub.op.nr_slices = 0;
	s = op->nr_slices ? copy(h, op->slices, op->nr_slices * sizeof(*s)) : NULL;
	if (!s)
		return;
	for (i = op->nr_slices; i-- > 0;) {
		unsigned int n = s[i].nr_buckets;

		if (!n) {
			s[i].bucket = NULL;
			s[i].count = NULL;
			continue;
		}
		s[i].bucket = copy(h, op->slices[i].bucket, n * sizeof(*s->bucket));
		s[i].count = copy(h, op->slices[i].count, n * sizeof(*s->count));
		if (!s[i].bucket || !s[i].count) {
			i++;
			break;
		}
	}
	if (i == UINT32_MAX)
		i = 0;
	h->pub.op.slices = s + i;
	h->pub.op.nr_slices = op->nr_slices - i;
}

static void copy_open_calls(struct holder *h, const struct op *op)
{
	struct open_call *calls =
	    copy(h, op->open_calls, op->nr_open_calls * sizeof(*op->open_calls));

	h->pub.op.open_calls = calls;
	h->pub.op.nr_open_calls = calls ? op->nr_open_calls : 0;
	for (unsigned int i = 0; i < h->pub.op.nr_open_calls; i++)
		calls[i].comm = copy_text(h, op->open_calls[i].comm);
}

static void copy_peaks(struct holder *h, struct model *m, const struct op *op)
{
	struct peak *peaks = copy(h, op->peaks, op->nr_peaks * sizeof(*op->peaks));
	struct peak *folded = copy(h, op->folded, op->nr_folded * sizeof(*op->folded));
	struct frozen_peak *more = arena_alloc(&h->arena, (op->nr_peaks + 1) * sizeof(*more));
	SCOPED_BUF(text, REMARKS_MAX);

	h->pub.op.peaks = peaks;
	h->pub.peak = more;
	h->pub.op.nr_peaks = peaks && more ? op->nr_peaks : 0;
	h->pub.op.folded = folded;
	h->pub.op.nr_folded = folded ? op->nr_folded : 0;
	for (unsigned int i = 0; i < h->pub.op.nr_folded; i++) {
		folded[i].near = folded[i].period_near = "";
		folded[i].values = NULL;
		folded[i].related = NULL;
	}
	for (unsigned int i = 0; i < h->pub.op.nr_peaks; i++) {
		const struct peak *p = &op->peaks[i];
		unsigned int related = words_related_shown(p);

		buf_reset(&text);
		words_peak_shadows(&text, op, p, PEAKS_BY_NUMBER);
		words_peak_remarks(&text, m, p, PEAKS_BY_NUMBER);
		memset(&more[i], 0, sizeof(more[i]));
		more[i].remarks = copy_buf(h, &text);
		for (unsigned int k = 0; k < related && more[i].nr_related < FROZEN_MAX_RELATED;
		     k++) {
			if (!model_op_by_number(m, p->related[k].op))
				continue;
			more[i].related[more[i].nr_related].op = p->related[k].op;
			more[i].related[more[i].nr_related++].peak_id = p->related[k].peak_id;
		}
		peaks[i].near = copy_text(h, p->near);
		peaks[i].period_near = copy_text(h, p->period_near);
		peaks[i].nr_values = peaks[i].nr_related = 0;
		peaks[i].values = NULL;
		peaks[i].related = NULL;
	}
	buf_reset(&text);
	words_op_remarks(&text, op);
	h->pub.remarks = copy_buf(h, &text);
}

struct frozen_op *frozen_op_new(struct model *run, struct model *m, uint32_t number)
{
	const struct op *op = model_op_peaks(m, number),
			*all = m == run ? op : model_op_by_number(run, number);
	struct holder *h;
	SCOPED_BUF(name, REMARKS_MAX);

	if (!op || !all)
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	arena_init(&h->arena, FROZEN_MAX_BYTES);
	h->pub.op = *op;
	h->pub.run = all->total;
	h->pub.elapsed_ns = model_elapsed_ns(run);
	h->pub.past = m != run;
	h->pub.start_ns = model_since_ns(m);
	h->pub.end_ns = model_elapsed_ns(m);
	h->pub.interval_ns = model_interval_ns(run);
	h->pub.off = *model_layer_off(run, op->layer);
	words_op_name(&name, m, op);
	h->pub.name = copy_buf(h, &name);
	h->pub.label = op->label[0] ? copy_text(h, op->label) : h->pub.name;
	h->pub.placement = copy_text(h, op->placement);
	h->pub.op.name = h->pub.name;
	h->pub.op.label = h->pub.label;
	h->pub.op.shown = copy_text(h, op->shown);
	h->pub.op.placement = h->pub.placement;
	h->pub.op.requested = copy_text(h, op->requested);
	h->pub.op.module = copy_text(h, op->module);
	copy_peaks(h, m, op);
	copy_open_calls(h, op);
	copy_slices(h, all);
	return &h->pub;
}

void frozen_op_free(struct frozen_op *f)
{
	struct holder *h = (struct holder *)f; /* `pub` is its first member */

	if (!h)
		return;
	arena_release(&h->arena);
	free(h);
}
