// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/model.h"

#include "analysis/latency/model_impl.h"

struct model *model_new(void)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	constants_init(&m->constants);
	model_limit(m, MODEL_SLICE_BYTES, MODEL_ALL_SAMPLES);
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr_ops; i++)
		model_op_free(m->op[i]);
	free(m->op);
	model_host_release(m);
	model_events_release(m);
	threads_release(&m->threads);
	thread_choice_release(&m->choice);
	free(m);
}

void model_limit(struct model *m, size_t slice_bytes, size_t samples)
{
	m->max_slice_bytes = slice_bytes;
	m->max_samples = samples;
}

void model_list_all_peaks(struct model *m, bool all)
{
	m->all_peaks = all;
	m->revision++;
}

bool model_lists_all_peaks(const struct model *m)
{
	return m->all_peaks;
}

/* Ends the slice: the pending data of every operation is complete. */
static void add_gap(struct layer_off *off, uint64_t start_ns, uint64_t end_ns)
{
	if (off->nr && off->gap[off->nr - 1].end_ns >= start_ns) {
		off->gap[off->nr - 1].end_ns = end_ns;
		return;
	}
	if (off->nr == LAYER_GAPS)
		memmove(off->gap, off->gap + 1, --off->nr * sizeof(off->gap[0]));
	off->gap[off->nr++] = (struct layer_gap){start_ns, end_ns};
}

const struct layer_off *model_layer_off(const struct model *m, uint32_t layer)
{
	return &m->off[layer < LAYER_MAX ? layer : LAYER_FUNCTION];
}

/* Looks for events once per interval. A live screen begins with shorter slices, in which peaks
 * come, go and move by chance. */
static void look_for_events(struct model *m, const struct rec_tick *rec)
{
	const struct rec_meta *meta = model_meta(m);
	uint64_t interval = meta ? meta->interval_ns : 0;
	struct rec_tick whole = *rec;

	if (m->events_ns && rec->end_ns - m->events_ns < interval - interval / 8)
		return;
	whole.start_ns = m->events_ns ? m->events_ns : rec->start_ns;
	m->events_ns = rec->end_ns;
	model_events_tick(m, &whole);
}

static int feed_tick(struct model *m, const struct rec_tick *rec)
{
	if (rec->end_ns < rec->start_ns)
		return -EINVAL;
	if (m->ticked && (rec->slice <= m->last_tick.slice || rec->end_ns < m->last_tick.end_ns))
		return -EINVAL;
	for (size_t i = 0; i < m->nr_ops; i++) {
		model_op_tick(m->op[i], rec);
		model_peaks_tick(m, m->op[i]);
	}
	for (uint32_t l = 0; rec->layers && l < LAYER_MAX; l++)
		if (!(rec->layers & 1u << l))
			add_gap(&m->off[l], rec->start_ns, rec->end_ns);
	m->last_tick = *rec;
	m->ticked = true;
	m->tick_end[m->nr_slices++ % MODEL_TICK_ENDS] = rec->end_ns;
	if (rec->end_ns > m->elapsed_ns)
		m->elapsed_ns = rec->end_ns;
	look_for_events(m, rec);
	m->revision++;
	return 0;
}

static int feed_cost(struct model *m, const struct rec_cost *rec)
{
	m->cost = *rec;
	m->revision++;
	return 0;
}

/* The profiles begin anew, with the calls of other threads. */
static int feed_choice(struct model *m, const struct rec_choice *rec)
{
	int err;

	if (m->ticked && rec->at_ns < m->last_tick.end_ns)
		return -EINVAL;
	err = thread_choice_set(&m->choice, rec);
	m->since_ns = rec->at_ns;
	m->since_cpu_ns = m->cost.target_cpu_ns;
	m->revision++;
	if (!err)
		err = model_ops_restart(m);
	model_events_choice(m);
	return err;
}

/* Notes a refused request, because its data is missing from the display. */
static int feed_refused(struct model *m, const struct rec_refused *rec)
{
	const struct op_state *op = model_find_op(m, rec->op);
	const char *reason = rec->reason && *rec->reason ? rec->reason : "refused";
	const char *label;
	char text[512];

	model_events_warning(m, NOTE_ERROR, rec->op, reason);
	label = op && op->pub.label[0] ? op->pub.label : op ? op->pub.name : "";
	if (!op || strstr(reason, label) || strstr(reason, op->pub.name))
		return model_feed_note(m, NOTE_ERROR, reason);
	snprintf(text, sizeof(text), "%s: %s", label, reason);
	return model_feed_note(m, NOTE_ERROR, text);
}

int model_feed(struct model *m, const struct record *rec)
{
	switch (rec->type) {
	case REC_META:
		return model_feed_meta(m, rec);
	case REC_TARGET:
		return model_feed_target(m, rec);
	case REC_TARGET_END:
		return model_feed_target_end(m, &rec->target_end);
	case REC_OP:
		return model_feed_op(m, &rec->op);
	case REC_PROFILE:
		return model_feed_profile(m, &rec->profile);
	case REC_CHOICE:
		return feed_choice(m, &rec->choice);
	case REC_THREAD_SNAPSHOT:
	case REC_THREAD:
		threads_feed(&m->threads, rec);
		return 0;
	case REC_SAMPLE:
		threads_feed(&m->threads, rec);
		return model_feed_sample(m, &rec->sample);
	case REC_OPEN:
		return model_feed_open(m, &rec->open);
	case REC_TICK:
		return feed_tick(m, &rec->tick);
	case REC_COST:
		return feed_cost(m, &rec->cost);
	case REC_SYMBOL:
		return model_feed_parameters(m, &rec->symbol);
	case REC_LOSS:
		m->loss = rec->loss;
		return 0;
	case REC_NOTE:
		model_events_warning(m, rec->note.level, 0, rec->note.text);
		return model_feed_note(m, rec->note.level, rec->note.text);
	case REC_REFUSED:
		return feed_refused(m, &rec->refused);
	case REC_PHASES:
		return model_feed_phases(m, rec);
	case REC_CHECK:
		return model_feed_check(m, rec);
	case REC_CONSTANT:
		return model_feed_constant(m, rec);
	case REC_SITE:
	case REC_MARK:
	case REC_BOOKMARK:
	case REC_DESCENT:
	case REC_FNODE_LOST:
		model_events_record(m, rec);
		return 0;
	/* The model does not use these records. */
	case REC_MODULE:
	case REC_MAPPING:
	case REC_ACK:
	case REC_CALLEES:
	case REC_INDIRECT_CALLEES:
	case REC_CALL:
	case REC_WITNESS:
	case REC_FNODE:
	case REC_BUILD_ID:
	case REC_CLOCK:
	case REC_SLOW_CALL:
	case REC_SAVED_PROFILE:
	case REC_PARTS:
	case REC_FOLLOWED:
	case REC_OPEN_ASK:
	case REC_INLINES:
	case REC_WALK:
	case REC_NEW_RETURN:
	case REC_FILE:
	case REC_BYE:
		return 0;
	default:
		return -EINVAL;
	}
}

size_t model_nr_ops(const struct model *m)
{
	return m->nr_ops;
}

const struct op *model_op(struct model *m, size_t i)
{
	if (i >= m->nr_ops)
		return NULL;
	model_refresh(m, m->op[i]);
	return &m->op[i]->pub;
}

const struct op *model_op_by_number(struct model *m, uint32_t number)
{
	struct op_state *op = model_find_op(m, number);

	if (!op)
		return NULL;
	model_refresh(m, op);
	return &op->pub;
}

const struct op *model_op_peaks(struct model *m, uint32_t number)
{
	struct op_state *op = model_find_op(m, number);

	if (!op)
		return NULL;
	model_fix_numbers(op);
	/* If memory is short, fewer properties of the peaks are shown. */
	model_answer(m, op);
	for (unsigned int i = 0; i < op->pub.nr_peaks; i++) {
		for (unsigned int k = 0; k < op->pub.peaks[i].nr_related; k++) {
			struct op_state *other = model_find_op(m, op->pub.peaks[i].related[k].op);

			if (other)
				model_fix_numbers(other);
		}
	}
	return &op->pub;
}

const struct rec_meta *model_meta(const struct model *m)
{
	return m->meta ? &m->meta->meta : NULL;
}

size_t model_nr_targets(const struct model *m)
{
	return m->nr_targets;
}

const struct rec_target *model_target(const struct model *m, size_t i)
{
	return i < m->nr_targets ? &m->target[i].rec->target : NULL;
}

bool model_target_ended(const struct model *m, size_t i)
{
	return i < m->nr_targets && m->target[i].ended;
}

const struct rec_target_end *model_target_end(const struct model *m, size_t i)
{
	return model_target_ended(m, i) && m->target[i].end.pid ? &m->target[i].end : NULL;
}

const struct rec_cost *model_cost(const struct model *m)
{
	return &m->cost;
}

uint32_t model_layers(const struct model *m)
{
	return m->last_tick.layers;
}

const struct rec_phases *model_phases(const struct model *m)
{
	return m->phases ? &m->phases->phases : NULL;
}

const struct rec_loss *model_loss(const struct model *m)
{
	return &m->loss;
}

uint64_t model_elapsed_ns(const struct model *m)
{
	return m->elapsed_ns;
}

uint64_t model_interval_ns(const struct model *m)
{
	const struct rec_meta *meta = model_meta(m);

	return meta && meta->interval_ns ? meta->interval_ns : 1000000000;
}

uint64_t model_since_ns(const struct model *m)
{
	return m->since_ns;
}

uint64_t model_nr_slices(const struct model *m)
{
	return m->nr_slices;
}

size_t model_nr_notes(const struct model *m)
{
	return m->nr_notes;
}

const struct rec_note *model_note(const struct model *m, size_t i)
{
	return i < m->nr_notes ? &m->note[i]->note : NULL;
}

size_t model_nr_checks(const struct model *m)
{
	return m->nr_checks;
}

const struct rec_check *model_check(const struct model *m, size_t i)
{
	return i < m->nr_checks ? &m->check[i]->check : NULL;
}

size_t model_nr_constants(const struct model *m)
{
	return m->nr_constants;
}

const struct rec_constant *model_constant(const struct model *m, size_t i)
{
	return i < m->nr_constants ? &m->constant[i]->constant : NULL;
}

uint64_t model_constant_ns(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->nr_constants; i++) {
		if (!strcmp(m->constant[i]->constant.name, name))
			return m->constant[i]->constant.high_ns;
	}
	return 0;
}

const struct thread_choice *model_choice(const struct model *m)
{
	return &m->choice;
}

const struct threads *model_threads(const struct model *m)
{
	return &m->threads;
}
