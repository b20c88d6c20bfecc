// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of the operations: their identity and their texts. */
#include "analysis/base/array.h"
#include "analysis/latency/model_impl.h"

/* Returns the position of the first operation whose number is not below `number`. */
static size_t position(const struct model *m, uint32_t number)
{
	return lower_bound(i, m->nr_ops, m->op[i]->pub.op < number);
}

struct op_state *model_find_op(const struct model *m, uint32_t number)
{
	size_t i = position(m, number);

	return i < m->nr_ops && m->op[i]->pub.op == number ? m->op[i] : NULL;
}

void model_op_free(struct op_state *op)
{
	if (!op)
		return;
	free((void *)op->pub.name);
	free((void *)op->pub.label);
	free((void *)op->pub.shown);
	free((void *)op->pub.requested);
	free((void *)op->pub.module);
	free((void *)op->pub.placement);
	free((void *)op->pub.parameters);
	slices_release(&op->slices);
	samples_release(&op->samples);
	free(op->carry);
	free(op->opening);
	free(op->open);
	free(op->answer);
	free(op->history);
	free(op->series);
	free(op);
}

static int set_texts(struct op *pub, const struct rec_op *rec)
{
	int err = model_set_text(&pub->name, rec->name);

	if (!err)
		err = model_set_text(&pub->label, rec->label);
	if (!err)
		err = model_set_shown(&pub->shown, rec);
	if (!err)
		err = model_set_text(&pub->module, rec->module);
	if (!err)
		err = model_set_text(&pub->placement, rec->placement);
	/* Keep the name that the user typed if the collector repeats the record without it. */
	if (!err && (!pub->requested || (rec->requested && *rec->requested)))
		err = model_set_text(&pub->requested, rec->requested);
	return err;
}

static struct op_state *op_new(const struct rec_op *rec)
{
	struct op_state *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->pub.op = rec->op;
	op->pub.layer = (enum layer)rec->layer;
	op->pub.adds_up = true;
	op->weight = weight_make(1, 1);
	op->version = 1;
	profile_init(&op->pub.total);
	profile_init(&op->pub.recent);
	profile_init(&op->seen);
	slices_init(&op->slices);
	samples_init(&op->samples);
	peaks_tracker_init(&op->tracker);
	return op;
}

/* Returns an operation without data, with the identity and the texts of `old`. */
static struct op_state *op_without_data(struct op_state *old)
{
	struct op_state *op = op_new(&(struct rec_op){.op = old->pub.op, .layer = old->pub.layer});

	if (!op)
		return NULL;
	op->pub.name = old->pub.name;
	op->pub.label = old->pub.label;
	op->pub.shown = old->pub.shown;
	op->pub.requested = old->pub.requested;
	op->pub.module = old->pub.module;
	op->pub.placement = old->pub.placement;
	op->pub.parameters = old->pub.parameters;
	op->pub.offset = old->pub.offset;
	op->pub.module_id = old->pub.module_id;
	op->pub.syscall_nr = old->pub.syscall_nr;
	op->version = old->version + 1;
	op->bursts = old->bursts;
	return op;
}

int model_ops_restart(struct model *m)
{
	for (size_t i = 0; i < m->nr_ops; i++) {
		struct op_state *old = m->op[i], *op = op_without_data(old);

		if (!op)
			return -ENOMEM;
		op->born = m->nr_slices;
		op->pub.since_ns = m->since_ns;
		m->slice_bytes -= old->slices.bytes;
		m->nr_samples -= old->samples.nr;
		m->op[i] = op;
		old->pub = (struct op){0}; /* its texts belong to the new one */
		model_op_free(old);
	}
	return 0;
}

int model_feed_parameters(struct model *m, const struct rec_symbol *rec)
{
	for (size_t i = 0; rec->parameters && *rec->parameters && i < m->nr_ops; i++) {
		struct op_state *op = m->op[i];

		if (op->pub.layer != LAYER_FUNCTION || op->pub.module_id != rec->module ||
		    op->pub.offset != rec->offset)
			continue;
		if (model_set_text(&op->pub.parameters, rec->parameters))
			return -ENOMEM;
		op->version++;
	}
	return 0;
}

static int insert(struct model *m, struct op_state *op)
{
	size_t at = position(m, op->pub.op);

	return array_insert(m->op, at, m->nr_ops, m->cap_ops, MODEL_MAX_OPS, op) ? -ENOMEM : 0;
}

int model_feed_op(struct model *m, const struct rec_op *rec)
{
	struct op_state *known, *op;
	int err;

	if (!rec->op || rec->layer >= LAYER_MAX)
		return -EINVAL;
	known = model_find_op(m, rec->op);
	if (known && (known->pub.layer != (enum layer)rec->layer ||
		      strncmp(known->pub.name, rec->name ? rec->name : "", MODEL_TEXT)))
		return -EINVAL;
	if (!known && m->nr_ops == MODEL_MAX_OPS) {
		model_feed_note(m, NOTE_WARNING,
				"there are too many operations; the later ones are missing");
		return -ENOMEM;
	}
	op = known ? known : op_new(rec);
	if (!op)
		return -ENOMEM;
	err = set_texts(&op->pub, rec);
	if (!err && !known)
		err = insert(m, op);
	if (err) {
		if (!known)
			model_op_free(op);
		return err;
	}
	/* what another file said does not hold for this one */
	if (known && (op->pub.module_id != rec->module_id || op->pub.offset != rec->offset) &&
	    model_set_text(&op->pub.parameters, ""))
		return -ENOMEM;
	op->pub.module_id = rec->module_id;
	op->pub.offset = rec->offset;
	op->pub.syscall_nr = rec->syscall_nr;
	if (!known) {
		op->born = m->nr_slices;
		op->pub.since_ns = m->since_ns;
	}
	op->version++;
	return 0;
}

struct op_state *model_op_like(struct model *m, const struct op_state *like)
{
	const struct op *pub = &like->pub;
	const struct rec_op rec = {.op = pub->op,
				   .layer = pub->layer,
				   .name = pub->name,
				   .label = pub->label,
				   .requested = pub->requested,
				   .module = pub->module,
				   .module_id = pub->module_id,
				   .offset = pub->offset,
				   .placement = pub->placement,
				   .syscall_nr = pub->syscall_nr};
	struct op_state *op;

	if (model_feed_op(m, &rec))
		return NULL;
	op = model_find_op(m, pub->op);
	op->born = 0;
	return pub->parameters && model_set_text(&op->pub.parameters, pub->parameters) ? NULL : op;
}
