// SPDX-License-Identifier: GPL-2.0-or-later
/* The recording of --ring, which runs for weeks and keeps slow calls: a write that fails is tried
 * again with the next record, and the wall clock is compared with the monotonic one, because it may
 * be set meanwhile. */

#include "analysis/base/array.h"
#include "analysis/base/format.h"
#include "analysis/session/record_copy.h"
#include "collect/process/clock.h"
#include "tui/engine/front_state.h"
#include "tui/engine/name_requests.h"

#define STEP_NS 1000000000ll

static void say(struct front *f, const char *text)
{
	front_note(f, NOTE_WARNING, text);
	front_message(f, "%s", text);
}

/* Put into the stream what the wall clock shows now, at first and whenever it was set. */
static void clock_look(struct front *f, const struct rec_tick *tick)
{
	struct front_ring *ring = &f->ring;
	int64_t ahead = (int64_t)(clock_ns(CLOCK_REALTIME) - now_ns());
	int64_t step = ring->clock_known ? ahead - ring->clock_ahead_ns : 0;
	struct record rec = {.type = REC_CLOCK};
	char text[160];

	if (ring->clock_known && step > -STEP_NS && step < STEP_NS)
		return;
	rec.clock.at_ns = tick->end_ns;
	rec.clock.realtime_ns = clock_ns(CLOCK_REALTIME);
	front_feed(f, &rec);
	ring->clock_ahead_ns = ahead;
	if (ring->clock_known) {
		snprintf(text, sizeof(text),
			 "the wall clock was set %s by %s, or the host slept; times of day after "
			 "that are by the new clock",
			 step < 0 ? "back" : "forward",
			 format_time((uint64_t)(step < 0 ? -step : step)).s);
		say(f, text);
	}
	ring->clock_known = true;
}

/* The operations that the stream has told of before. */
static void know_ops(struct front *f)
{
	for (size_t i = 0; f->ring.slow && i < model_nr_ops(f->stream.model); i++) {
		const struct op *op = model_op(f->stream.model, i);
		struct record rec = {.type = REC_OP, .op = {.op = op->op, .layer = op->layer}};

		slow_calls_take(f->ring.slow, &rec);
	}
}

bool front_keep_slow(struct front *f)
{
	const bool begins = !f->ring.keeps && !options_have_ring(f->options);

	f->ring.keeps = true;
	return begins;
}

const struct told_calls *front_told(const struct front *f)
{
	return &f->stream.told;
}

/* True if the user asked for the run queue, or for no operation, which means all. */
static bool wants_runqueue(const struct front *f)
{
	const struct options *o = f->options;

	return !o->nr_ops || f->all_layers || any_of(i, o->nr_ops, o->ops[i].kind == OP_RUNQUEUE);
}

void ring_observe(struct front *f, const struct record *rec)
{
	struct record req = {.type = REQ_KEEP};

	if (!options_have_ring(f->options) && !f->ring.keeps)
		return;
	if (!f->ring.slow) {
		f->ring.slow = slow_calls_new();
		know_ops(f);
		req.req_keep.least_ns = SLOW_CALLS_UNKNOWN_NS;
		req.req_keep.only_calls = !wants_runqueue(f);
		front_request(f, &req);
		req.req_keep.only_calls = 0;
	}
	if (!f->ring.slow)
		return;
	slow_calls_take(f->ring.slow, rec);
	if (rec->type == REC_TICK && f->ring.names)
		name_requests_send(f->ring.names);
	while (rec->type == REC_TICK && slow_calls_changed(f->ring.slow, &req.req_keep))
		front_request(f, &req);
}

/* Hold a call until the stack with which it was found, which follows, is unwound. */
static void unchecked_hold(struct front *f, const struct rec_slow_call *call)
{
	struct record **to =
	    &f->ring.unchecked[f->ring.next_unchecked++ % ARRAY_SIZE(f->ring.unchecked)];

	free(*to);
	*to = record_copy(&(struct record){.type = REC_SLOW_CALL, .slow_call = *call});
	f->ring.kept = call->call;
}

static bool is_in_call(const struct rec_call *call, const struct rec_stack *s)
{
	return call->op && call->op == s->op && call->tid == s->tid && s->at_ns >= call->start_ns &&
	       s->at_ns <= call->start_ns + call->raw_ns;
}

/* The stack with which a call that is held was found was unwound: keep the call if it was open. In
 * the outermost of these frames its thread was then. */
static void unchecked_take(struct front *f, const struct rec_stack *s,
			   const struct rec_frame *frames, uint32_t nr)
{
	const struct op *op = model_op_by_number(f->stream.model, s->op);
	struct record **held =
	    find_first(i, f->ring.unchecked, ARRAY_SIZE(f->ring.unchecked),
		       f->ring.unchecked[i] &&
			   f->ring.unchecked[i]->slow_call.call.start_ns == s->found_start_ns &&
			   is_in_call(&f->ring.unchecked[i]->slow_call.call, s));
	struct rec_slow_call *call;

	if (!s->found_start_ns || !held)
		return;
	call = &(*held)->slow_call;
	call->missing &= ~(uint32_t)SLOW_UNCHECKED;
	call->usual_ns = slow_calls_usual(f->ring.slow, call->call.op);
	if (op && nr && frames[0].module == op->module_id && frames[0].function == op->offset &&
	    slow_calls_keeps(f->ring.slow, &call->call))
		front_feed(f, *held);
	else if (is_in_call(&f->ring.kept, s))
		f->ring.kept.op = 0; /* nor are its other stacks needed */
	free(*held);
	*held = NULL;
}

bool ring_keeps(struct front *f, struct rec_slow_call *call)
{
	if (!f->ring.slow)
		return false;
	if (call->missing & SLOW_UNCHECKED) {
		unchecked_hold(f, call);
		return false;
	}
	if (!slow_calls_keeps(f->ring.slow, &call->call))
		return false;
	call->usual_ns = slow_calls_usual(f->ring.slow, call->call.op);
	f->ring.kept = call->call;
	return true;
}

bool ring_wants_stack(const struct front *f, const struct rec_stack *stack)
{
	return is_in_call(&f->ring.kept, stack);
}

bool ring_is_syscall(const struct front *f, uint32_t op)
{
	const struct op *o = model_op_by_number(f->stream.model, op);

	return o && o->layer == LAYER_SYSCALL;
}

void ring_stack(struct front *f, const struct rec_stack *s, const struct rec_frame *frames,
		uint32_t nr)
{
	const bool calls = ring_is_syscall(f, s->op);
	struct record rec = {.type = REC_WITNESS};
	struct driver_host host;

	unchecked_take(f, s, frames, nr);
	if (!nr || !s->weight_ns)
		return;
	rec.witness = (struct rec_witness){.op = s->op,
					   .tid = s->tid,
					   .at_ns = s->at_ns,
					   .weight_ns = s->weight_ns,
					   .kind = s->kind,
					   .sleep = s->sleep,
					   .epoch = SLOW_CALL_EPOCH,
					   .nr_frames = calls ? 0 : nr,
					   .frames = frames,
					   .nr_kernel = s->nr_kernel,
					   .kernel = s->kernel,
					   .nr_callers = calls ? nr : 0,
					   .callers = frames,
					   .functions = s->functions};
	front_feed(f, &rec);
	if (!f->ring.names) {
		host = front_driver_host(f);
		f->ring.names = name_requests_new(&host);
	}
	for (uint32_t i = 0; f->ring.names && i < nr; i++)
		name_requests_want_frame(f->ring.names, &frames[i], !calls && i + 1 == nr);
}

void ring_release(struct front *f)
{
	name_requests_free(f->ring.names);
	for (size_t i = 0; i < ARRAY_SIZE(f->ring.unchecked); i++)
		free(f->ring.unchecked[i]);
	slow_calls_free(f->ring.slow);
}

void ring_append(struct front *f, const struct record *rec)
{
	int err = session_writer_append(f->stream.recording, rec);

	if (err && !f->ring.lost++)
		front_message(
		    f,
		    "cannot write to the ring: %s; its older records stay, and newer ones "
		    "are tried again",
		    strerror(-err));
	if (!err && f->ring.lost) {
		front_message(f, "the ring is written again; %llu records are missing",
			      (unsigned long long)f->ring.lost);
		f->ring.lost = 0;
	}
	if (session_writer_take_limited(f->stream.recording))
		front_message(
		    f,
		    "the disk is full: the ring stays at %llu KB and overwrites its oldest "
		    "records sooner",
		    (unsigned long long)session_writer_bytes(f->stream.recording) / 1024);
	if (rec->type == REC_TICK)
		clock_look(f, &rec->tick);
}
