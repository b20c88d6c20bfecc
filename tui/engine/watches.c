// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that the user wants watched. watch_find.c finds each of them in the target,
 * watch_arm.c has it planned and armed. */

#include "analysis/base/array.h"
#include "analysis/base/format.h"
#include "tui/engine/front_state.h"

enum { MAX_LEFT_OUT = 400 };

/* Give up a watch. `status`: if it is not 0 and the operation stands on the command line, this ends
 * the run with that exit status. */
static void refuse(struct front *f, struct watch *w, int status, const char *text)
{
	w->stage = WATCH_REFUSED;
	if (phases_option(f, w))
		front_fail(f, status ? status : EXIT_NO_ANSWER, "%s%s", phases_option(f, w), text);
	else if (status && w->from_command_line && !f->said.failure)
		front_fail(f, status, "%s", text);
	else
		front_message(f, "%s", text);
	front_note(f, NOTE_ERROR, text);
}

void watch_refuse(struct front *f, struct watch *w, const char *fmt, ...)
{
	char text[640];

	format_arguments(text, sizeof(text), fmt);
	refuse(f, w, 0, text);
}

void watch_refuse_name(struct front *f, struct watch *w, int status, const char *fmt, ...)
{
	char text[640];

	format_arguments(text, sizeof(text), fmt);
	refuse(f, w, status, text);
}

struct watch *watch_by_op(struct front *f, uint32_t op)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		if (f->watches.list[i]->op == op)
			return f->watches.list[i];
	}
	return NULL;
}

struct watch *watches_add(struct front *f, const struct op_spec *spec, bool from_command_line)
{
	struct watch *w;

	if (spec->kind != OP_FUNCTION && spec->kind != OP_OFFSET && spec->kind != OP_KERNEL)
		return NULL;
	if (f->watches.nr == FRONT_MAX_WATCHES) {
		front_message(f, "%s: cannot watch more than %d functions; remove one first",
			      spec->text, FRONT_MAX_WATCHES);
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (w)
		w->text = strdup(spec->text);
	if (!w || !w->text) {
		free(w);
		front_message(f, "%s: out of memory", spec->text);
		return NULL;
	}
	w->spec = *spec;
	w->spec.text = w->text;
	w->from_command_line = from_command_line;
	if (!f->watches.next_op)
		f->watches.next_op = WATCH_FIRST_OP;
	w->op = f->watches.next_op++;
	f->watches.list[f->watches.nr++] = w;
	if (spec->kind != OP_KERNEL)
		modules_want(f);
	return w;
}

void front_watch(struct front *f, const struct op_spec *op)
{
	watches_add(f, op, false);
}

static void watch_free(struct watch *w)
{
	free(w->text);
	free(w->symbol);
	free(w->function);
	free(w->placement);
	free(w->sites);
	free(w->bound.symbol);
	free(w->bound.refusal);
	free(w);
}

void front_unwatch(struct front *f, uint32_t op)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		if (f->watches.list[i]->op != op)
			continue;
		if (phases_option(f, f->watches.list[i])) {
			front_message(f,
				      "%s: cannot be removed: --begin or --end names this function",
				      f->watches.list[i]->text);
			return;
		}
		front_request(
		    f, &(struct record){.type = REQ_DISARM,
					.disarm = {.epoch = ++f->watches.next_epoch, .op = op}});
		watch_free(f->watches.list[i]);
		f->watches.list[i] = f->watches.list[--f->watches.nr];
		return;
	}
}

/* ---- records of the collector ------------------------------------------ */

static bool is_undecided(const struct watch *w)
{
	return w->spec.of_set && w->stage < WATCH_ARMED;
}

/* Say which functions of a set of kernel functions are left out, once all are decided. */
static void sets_settle(struct front *f)
{
	struct front_watches *all = &f->watches;
	char text[640];

	if (!all->nr_left_out || any_of(i, all->nr, is_undecided(all->list[i])))
		return;
	snprintf(text, sizeof(text),
		 "%u of the kernel functions may not be probed and %s left out: %s%s",
		 all->nr_left_out, all->nr_left_out == 1 ? "is" : "are", all->left_out.data,
		 all->left_out.err ? ", ..." : "");
	front_note(f, NOTE_INFO, text);
	all->nr_left_out = 0;
	buf_release(&all->left_out);
}

/* Leave out a function of a set of kernel functions. Returns false if it is the last one. */
static bool set_leave_out(struct front *f, struct watch *w)
{
	struct front_watches *all = &f->watches;

	if (!any_of(i, all->nr, all->list[i] != w && all->list[i]->spec.of_set))
		return false;
	all->left_out.max = MAX_LEFT_OUT;
	buf_printf(&all->left_out, "%s%s", all->nr_left_out++ ? ", " : "", w->spec.name);
	for (size_t i = 0; i < all->nr; i++) {
		if (all->list[i] == w)
			all->list[i] = all->list[--all->nr];
	}
	watch_free(w);
	sets_settle(f);
	return true;
}

void watches_acknowledged(struct front *f, const struct rec_ack *ack)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];

		if (w->epoch == ack->epoch && w->stage == WATCH_ARMING)
			w->stage = WATCH_ARMED;
	}
	sets_settle(f);
}

/* Look for the function again, now or when another file is mapped. */
static void watch_restart(struct watch *w, enum watch_stage stage)
{
	w->stage = stage;
	w->nr_sites = w->nr_returns = 0;
	w->exits_dropped = false;
	w->values = VALUES_UNKNOWN;
}

void watches_refused(struct front *f, const struct rec_refused *r)
{
	struct watch *w = watch_by_op(f, r->op);
	bool arming = w && w->stage == WATCH_ARMING && w->epoch == r->epoch;

	if (w && w->found && (r->error == -ESTALE || !module_is_mapped(f, w->module))) {
		/* its file was replaced meanwhile; a descent says why it ends */
		if (arming)
			watch_restart(w, f->files.modules[w->module - 1].stage == MODULE_GONE
					     ? WATCH_WAITING
					     : WATCH_DORMANT);
		else if (w->epoch != r->epoch)
			front_message(f, "%s", r->reason);
		return;
	}
	if (arming && w->spec.of_set && set_leave_out(f, w))
		return;
	if (arming && w->spec.kind == OP_KERNEL && r->error == -ENOENT)
		watch_refuse_name(f, w, EXIT_USAGE, "%s", r->reason);
	else if (arming)
		watch_refuse(f, w, "%s", r->reason);
	else
		front_message(f, "%s", r->reason);
}

void watches_profile(struct front *f, const struct rec_profile *p)
{
	struct watch *w = watch_by_op(f, p->op);
	uint64_t length = p->end_ns - p->start_ns;

	if (w && length)
		w->calls_now = (uint64_t)((double)p->calls * 1e9 /
					  (double)(p->armed_ns ? p->armed_ns : length));
}

/* After an exec or a new library, search again for the functions that were not found. */
void watches_wake(struct front *f)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		if (f->watches.list[i]->stage == WATCH_DORMANT)
			f->watches.list[i]->stage = WATCH_WAITING;
	}
}

void watches_moved(struct front *f, uint32_t module)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];

		if (w->module == module && w->found && w->stage >= WATCH_PLANNING &&
		    w->stage <= WATCH_DORMANT)
			watch_restart(w, WATCH_WAITING);
	}
}

void watches_move(struct front *f)
{
	bool settled = modules_settled(f), all = true, arming;

	if (settled && !saved_descent_allows(f))
		return;
	arming = any_of(i, f->watches.nr,
			f->watches.list[i]->spec.kind == OP_KERNEL &&
			    f->watches.list[i]->stage == WATCH_ARMING);
	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];

		if (w->spec.kind == OP_KERNEL && w->stage == WATCH_WAITING && !arming &&
		    model_nr_targets(f->stream.model)) {
			/* one after the other: attaching takes the collector some time */
			watch_arm_kernel(f, w);
			arming = true;
		} else if (settled && w->stage == WATCH_WAITING && !phases_wait(f, w))
			watch_find(f, w);
		all &= w->stage >= WATCH_ARMED;
	}
	phases_send(f);
	if (all)
		watch_values_move(f);
	/* Do not start a command before its waits are traced, nor one in which nothing can be
	 * watched. */
	if (f->said.failure || front_nothing_to_do(f))
		return;
	if (!waits_are_due(f) && (all || f->go_at_once) && !f->going) {
		struct record rec = {.type = REQ_GO};
		bool targets = model_nr_targets(f->stream.model) > 0;

		if (!targets)
			return;
		f->going = true;
		recording_begin(f);
		front_request(f, &rec);
	}
}

uint32_t front_armed_op(const struct front *f)
{
	return f->watches.nr && f->watches.list[0]->stage == WATCH_ARMED ? f->watches.list[0]->op
									 : 0;
}

bool front_nothing_to_do(const struct front *f)
{
	const struct options *o = f->options;

	if (phases_refused(f) || f->resume_refused)
		return true;
	for (size_t i = 0; i < o->nr_ops; i++) {
		if (o->ops[i].kind != OP_FUNCTION && o->ops[i].kind != OP_OFFSET &&
		    o->ops[i].kind != OP_KERNEL)
			return false;
	}
	for (size_t i = 0; i < f->watches.nr; i++) {
		if (f->watches.list[i]->stage != WATCH_REFUSED && !f->watches.list[i]->edge)
			return false;
	}
	return o->nr_ops > 0 && !f->all_layers;
}

bool front_ready(const struct front *f)
{
	return f->going;
}

void watches_release(struct front *f)
{
	for (size_t i = 0; i < f->watches.nr; i++)
		watch_free(f->watches.list[i]);
}
