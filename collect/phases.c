// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Phases: only calls count that begin between the begin of one operation and the end of
 * another. The BPF programs keep each process's state; this file decides when that state is
 * valid.
 *
 * The operations that begin and end phases are armed under the same budget as all others. While
 * one of them is not watched (between bursts, after a blown fuse) it is not known whether a
 * phase is open: nothing counts until the next begin is seen.
 */
#include "collect/phases.h"
#include "analysis/base/array.h"
#include "analysis/session/record_codec.h"
#include "analysis/session/record_copy.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/units.h"

static uint32_t slot_of(const struct collector *c, uint32_t op)
{
	for (uint32_t s = 1; op && s < PT_SLOTS; s++) {
		if (c->slots[s].op == op &&
		    (c->slots[s].function || c->slots[s].layer == LAYER_KERNEL))
			return s;
	}
	return 0;
}

bool phases_need_syscalls(const struct collector *c)
{
	const struct req_phases *asked = c->phases.asked;

	return asked && (asked->begin_call || asked->end_call);
}

bool phases_edge(const struct collector *c, const struct function *f)
{
	const struct req_phases *asked = c->phases.asked;

	return c->options->phases && asked && (f->op == asked->begin_op || f->op == asked->end_op);
}

static bool edges_watched(const struct collector *c)
{
	if (c->loop.asleep ||
	    (phases_need_syscalls(c) && c->units[UNIT_SYSCALLS].state != FUNCTION_ON))
		return false;
	return !any_of(i, c->functions.nr,
		       phases_edge(c, c->functions.list[i]) &&
			   c->functions.list[i]->state != FUNCTION_ON);
}

/* Discard the state of all processes: open phases are not known any more. */
static void forget(struct collector *c)
{
	__atomic_fetch_add(&kernel_side_control(c->kernel)->phase_epoch, 1, __ATOMIC_SEQ_CST);
}

void phases_look(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	bool watched;

	if (!c->options->phases)
		return;
	watched = edges_watched(c);
	if (watched && control->phase_blind) {
		forget(c);
		__atomic_store_n(&control->phase_blind, 0, __ATOMIC_SEQ_CST);
	} else if (!watched && !control->phase_blind) {
		__atomic_store_n(&control->phase_blind, 1, __ATOMIC_SEQ_CST);
		c->phases.blind_times++;
	}
}

void phases_left(struct collector *c, uint32_t slot)
{
	const struct pt_control *control = kernel_side_control(c->kernel);

	if (control->phase_end_slot && slot == control->phase_end_slot)
		forget(c);
}

void phases_request(struct collector *c, const struct req_phases *req)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	free(c->phases.asked);
	c->phases.asked = struct_copy(request_layout(REQ_PHASES), req);
	control->phase_begin_slot = slot_of(c, req->begin_op);
	control->phase_end_slot = slot_of(c, req->end_op);
	control->phase_begin_call = req->begin_call;
	control->phase_end_call = req->end_call;
	forget(c);
	units_layers(c);
	phases_look(c);
}

void phases_begin(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	forget(c);
	control->phases = control->phase_ns = 0;
	c->phases.blind_times = 0;
}

void phases_report(struct collector *c)
{
	const struct pt_control *control = kernel_side_control(c->kernel);
	const struct req_phases *asked = c->phases.asked;
	struct record rec = {.type = REC_PHASES};

	if (!c->options->phases)
		return;
	rec.phases = (struct rec_phases){.begin = asked ? asked->begin : "",
					 .end = asked ? asked->end : "",
					 .seen = control->phases,
					 .ns = control->phase_ns,
					 .blind = (uint32_t)c->phases.blind_times};
	send_record(c, &rec);
}
