// SPDX-License-Identifier: GPL-2.0-or-later
/* The stream of records. Each record that the user's operations need goes to the model, the
 * recording, the descent, the walk and the list of open calls, in this order. Records about waits
 * are many: they go to the recording and the analysis of waits only. */

#include "tui/engine/front_state.h"
#include "tui/engine/wait_driver.h"
#include "tui/engine/walker.h"

static bool is_meant(const struct op_spec *s, const struct rec_op *op)
{
	switch (s->kind) {
	case OP_ALL_SYSCALLS:
		return op->layer == LAYER_SYSCALL;
	case OP_SYSCALL:
		return op->layer == LAYER_SYSCALL && !strcmp(s->name, op->label);
	case OP_BLOCK:
		return !strcmp(s->text, op->label);
	case OP_URING:
		return op->layer == LAYER_URING && (!s->name[0] || !strcmp(s->text, op->label));
	case OP_NET:
		return op->layer == LAYER_NET;
	case OP_LOCK:
		return op->layer == LAYER_LOCK;
	case OP_RUNQUEUE:
		return op->layer == LAYER_RUNQUEUE;
	default:
		return false;
	}
}

/* The OP of the command line that asks for this operation; NULL: it was not asked for, so its
 * records are dropped. */
static const char *requested_by(const struct front *f, const struct rec_op *op)
{
	const struct options *o = f->options;

	if (phases_only(f, op->op))
		return NULL;
	for (size_t i = 0; i < o->nr_ops; i++) {
		if (is_meant(&o->ops[i], op))
			return o->ops[i].text;
	}
	return op->layer == LAYER_FUNCTION || op->layer == LAYER_KERNEL || f->all_layers ||
		       !o->nr_ops
		   ? op->requested
		   : NULL;
}

static bool op_wanted(const struct front *f, uint32_t op)
{
	return op >= FRONT_MAX_OP || !(f->stream.unwanted[op / 32] & 1u << op % 32);
}

/* False for records of operations that were measured but not asked for: neither the screen nor a
 * recording gets them. */
static bool record_wanted(struct front *f, struct record *rec)
{
	const char *by;

	switch (rec->type) {
	case REC_OP:
		by = requested_by(f, &rec->op);
		if (!by && rec->op.op < FRONT_MAX_OP)
			f->stream.unwanted[rec->op.op / 32] |= 1u << rec->op.op % 32;
		if (by)
			rec->op.requested = by;
		return by != NULL;
	case REC_PROFILE:
		return op_wanted(f, rec->profile.op);
	case REC_SAMPLE:
		return op_wanted(f, rec->sample.op);
	case REC_OPEN:
		return op_wanted(f, rec->open.op);
	case REC_SLOW_CALL:
		return op_wanted(f, rec->slow_call.call.op) && ring_keeps(f, &rec->slow_call);
	default:
		return true;
	}
}

/* Nothing is recorded from now on, because of an error. */
static void recording_stop(struct front *f, int err)
{
	f->stream.recording_error = err;
	front_message(f, "%s%srecording stopped: %s; the %s",
		      f->options->output ? f->options->output : "", f->options->output ? ": " : "",
		      strerror(-err),
		      session_writer_older_stays(f->stream.recording)
			  ? "older session stays as it is"
			  : "session can be opened up to this point");
}

static void record_append(struct front *f, const struct record *rec)
{
	int err;

	aside_append(f, rec);
	if (!f->stream.recording || f->stream.recording_error)
		return;
	if (options_have_ring(f->options)) {
		ring_append(f, rec);
		return;
	}
	err = session_writer_append(f->stream.recording, rec);
	if (err)
		recording_stop(f, err);
}

static void feed(struct front *f, const struct record *from)
{
	struct record rec = *from;
	int err;

	if (!record_wanted(f, &rec))
		return;
	if (is_wait_record(rec.type)) {
		record_append(f, &rec);
		wait_driver_take(f->stream.waits, &rec);
		return;
	}
	err = model_feed(f->stream.model, &rec);
	if (err == -ENOMEM)
		front_message(f, "out of memory: later records are ignored");
	record_append(f, &rec);
	driver_take(f->stream.driver, &rec);
	wait_driver_take(f->stream.waits, &rec);
	walker_take(f->stream.walker, &rec);
	open_calls_feed(f->stream.open_calls, &rec);
	ring_observe(f, &rec);
	if (f->stream.told.list)
		told_calls_take(&f->stream.told, &rec);
}

void front_feed(struct front *f, const struct record *rec)
{
	if (f->stream.feeding) {
		if (record_queue_push(&f->stream.made, rec))
			front_message(f, "out of memory: later records are ignored");
		return;
	}
	f->stream.feeding = true;
	do
		feed(f, rec);
	while ((rec = record_queue_pop(&f->stream.made)));
	f->stream.feeding = false;
}

void front_note(struct front *f, enum note_level level, const char *text)
{
	front_feed(f, &(struct record){.type = REC_NOTE, .note = {.level = level, .text = text}});
}
