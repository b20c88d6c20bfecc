// SPDX-License-Identifier: GPL-2.0-or-later
/* --begin and --end: the front watches the two operations like others and sends their numbers to
 * the collector. */

#include "analysis/base/syscall_names.h"
#include "tui/engine/front_state.h"

/* The watch of --begin, or of --end if `end`; NULL if that operation is a system call. */
static struct watch *edge_of(const struct front *f, bool end)
{
	struct watch *w = end ? f->phases.end : f->phases.begin;

	return w && w->stage == WATCH_SAME ? w->same : w;
}

static struct watch *kernel_twin(const struct front *f, const struct watch *w)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *other = f->watches.list[i];

		if (other != w && other->spec.kind == OP_KERNEL &&
		    !strcmp(other->spec.name, w->spec.name))
			return other;
	}
	return NULL;
}

static struct watch *edge_add(struct front *f, const struct op_spec *spec)
{
	struct watch *w = watches_add(f, spec, true);

	if (!w)
		return NULL;
	w->edge = true;
	w->same = w->spec.kind == OP_KERNEL ? kernel_twin(f, w) : NULL;
	if (w->same)
		w->stage = WATCH_SAME;
	return w;
}

void phases_add(struct front *f)
{
	const struct options *o = f->options;

	if (!o->has_begin)
		return;
	snprintf(f->phases.line, sizeof(f->phases.line),
		 "--begin %.200s: it was not called while peaktop watched, so no phase began and "
		 "no call was counted; try a longer --for",
		 o->begin_op.text);
	f->phases.begin = edge_add(f, &o->begin_op);
	f->phases.end =
	    strcmp(o->begin_op.text, o->end_op.text) ? edge_add(f, &o->end_op) : f->phases.begin;
}

bool phases_same(struct front *f, struct watch *w, uint32_t module, uint64_t offset)
{
	if (!w->edge)
		return false;
	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *other = f->watches.list[i];

		if (other == w || other->module != module || other->offset != offset || !module ||
		    (other->edge && other != f->phases.begin) || other->stage < WATCH_PLANNING ||
		    other->stage >= WATCH_DORMANT)
			continue;
		w->same = other;
		w->stage = WATCH_SAME;
		return true;
	}
	return false;
}

bool phases_wait(const struct front *f, const struct watch *w)
{
	for (size_t i = 0; w->edge && i < f->watches.nr; i++) {
		const struct watch *other = f->watches.list[i];

		if (other->stage < WATCH_PLANNING &&
		    (!other->edge ||
		     (w == f->phases.end && other == f->phases.begin && w != f->phases.begin)))
			return true;
	}
	return false;
}

bool phases_only(const struct front *f, uint32_t op)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		if (f->watches.list[i]->op == op)
			return f->watches.list[i]->edge;
	}
	return false;
}

const char *phases_option(const struct front *f, const struct watch *w)
{
	if (w == edge_of(f, false))
		return "--begin ";
	return w == edge_of(f, true) ? "--end " : NULL;
}

bool phases_refused(const struct front *f)
{
	const struct watch *begin = edge_of(f, false), *end = edge_of(f, true);

	return (begin && begin->stage == WATCH_REFUSED) || (end && end->stage == WATCH_REFUSED);
}

const char *phases_missing(const struct front *f)
{
	const struct rec_phases *p = model_phases(f->stream.model);

	return f->options->has_begin && !(p && p->seen) ? f->phases.line : NULL;
}

/* The number of a system call + 1; 0 for another kind of operation. */
static uint32_t call_of(const struct op_spec *spec)
{
	int nr;

	if (spec->kind != OP_SYSCALL)
		return 0;
	nr = syscall_number(spec->name);
	return (uint32_t)(nr >= 0 ? (unsigned long)nr : strtoul(spec->name, NULL, 10)) + 1;
}

static bool settled(const struct watch *w)
{
	return !w || w->stage >= WATCH_ARMED;
}

void phases_send(struct front *f)
{
	const struct watch *begin = edge_of(f, false), *end = edge_of(f, true);
	const struct options *o = f->options;
	struct record rec = {.type = REQ_PHASES};
	struct req_phases *p = &rec.phases_wanted;

	if (!o->has_begin || !settled(begin) || !settled(end) || !model_nr_targets(f->stream.model))
		return;
	*p = (struct req_phases){.begin_op = begin && begin->stage == WATCH_ARMED ? begin->op : 0,
				 .end_op = end && end->stage == WATCH_ARMED ? end->op : 0,
				 .begin_call = call_of(&o->begin_op),
				 .end_call = call_of(&o->end_op),
				 .begin = o->begin_op.text,
				 .end = o->end_op.text};
	if (f->phases.sent.begin && f->phases.sent.begin_op == p->begin_op &&
	    f->phases.sent.end_op == p->end_op)
		return;
	f->phases.sent = *p;
	front_request(f, &rec);
}
