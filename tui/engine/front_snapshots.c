// SPDX-License-Identifier: GPL-2.0-or-later
/* Thread snapshots: their raw stacks become frames before they enter the stream of records. */

#include "analysis/parser/frames.h"
#include "analysis/walk/known_stacks.h"
#include "tui/engine/cut_stacks.h"
#include "tui/engine/front_state.h"
#include "tui/engine/stack_queue.h"

struct front_snapshots {
	struct known_stacks *known;
	struct stack_queue queue;
	struct cut_stacks cut; /* that wait for a piece of the stack */
	uint32_t last_ack;
};

static void snapshot_feed(struct front *f, const struct rec_thread_snapshot *snapshot)
{
	front_feed(f, &(struct record){.type = REC_THREAD_SNAPSHOT, .snapshot = *snapshot});
}

/* Feed a snapshot without frames, with the reason `why`. */
static void feed_bare(struct front *f, const struct rec_raw_snapshot *raw, const char *why)
{
	struct rec_thread_snapshot bare = raw->snapshot;

	bare.nr_frames = 0;
	bare.stop = UINT32_MAX;
	bare.stop_text = why;
	snapshot_feed(f, &bare);
}

/* Called with the frames of a snapshot. */
static void unwound(struct front *f, const struct record *rec, const struct parsed_frames *p)
{
	const struct rec_raw_snapshot *raw = &rec->raw_snapshot;
	struct rec_thread_snapshot snapshot = raw->snapshot;
	struct stack_place at = stack_place_of(&raw->snapshot, raw->regs, raw->nr_regs);
	struct rec_frame frames[PARSE_MAX_FRAMES];

	if (p && !p->error && cut_stacks_ask(&f->snapshots->cut, f, rec, p))
		return;
	if (!p || p->error) {
		feed_bare(f, raw,
			  p ? "the stack could not be read"
			    : "its mappings are not known, or the parser is not running");
		return;
	}
	snapshot.stop = p->stop;
	snapshot.stop_text = p->stop && p->reason ? p->reason : "";
	snapshot.nr_frames = frames_outermost_first(p, frames, PARSE_MAX_FRAMES);
	snapshot.frames = frames;
	known_stacks_note(f->snapshots->known, at, &snapshot);
	if (p->missing)
		known_stacks_complete(f->snapshots->known, at, &snapshot);
	snapshot_feed(f, &snapshot);
}

static struct front_snapshots *snapshots_of(struct front *f)
{
	struct front_snapshots *s = f->snapshots;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->queue = (struct stack_queue){.front = f, .done = unwound};
	s->known = known_stacks_new();
	if (!s->known) {
		free(s);
		return NULL;
	}
	return f->snapshots = s;
}

void snapshots_take(struct front *f, const struct record *rec)
{
	const struct rec_raw_snapshot *raw = &rec->raw_snapshot;
	uint32_t nr_regs = raw->nr_regs <= PARSE_MAX_REGS ? raw->nr_regs : 0;
	struct rec_thread_snapshot known = raw->snapshot;
	struct front_snapshots *s = snapshots_of(f);

	if (!s)
		return;
	if (raw->nr_words && nr_regs && f->parser) {
		stack_queue_add(&s->queue, rec);
		return;
	}
	/* without a stack, take the frames of an earlier sleep at the same place */
	known.nr_frames = 0;
	known.stop_text = "";
	if (known_stacks_fill(s->known, stack_place_of(&known, raw->regs, nr_regs), &known))
		snapshot_feed(f, &known);
	else
		feed_bare(f, raw, "the thread continued while its stack was read");
}

void snapshots_piece(struct front *f, const struct rec_stack_piece *piece)
{
	struct record *rec = f->snapshots ? cut_stacks_take(&f->snapshots->cut, piece) : NULL;

	if (rec)
		stack_queue_add(&f->snapshots->queue, rec);
	free(rec);
}

void snapshots_move(struct front *f)
{
	if (f->snapshots)
		stack_queue_move(&f->snapshots->queue);
}

void snapshots_acknowledged(struct front *f, uint32_t round)
{
	if (f->snapshots)
		f->snapshots->last_ack = round;
}

bool front_snapshots_complete(const struct front *f, uint32_t round)
{
	const struct front_snapshots *s = f->snapshots;

	return s && s->last_ack >= round && !front_snapshots_pending(f);
}

bool front_snapshots_pending(const struct front *f)
{
	return f->snapshots && (!stack_queue_is_empty(&f->snapshots->queue) ||
				(f->snapshots->cut.nr && !f->collector.closed));
}

void snapshots_release(struct front *f)
{
	if (!f->snapshots)
		return;
	stack_queue_release(&f->snapshots->queue);
	cut_stacks_release(&f->snapshots->cut);
	known_stacks_free(f->snapshots->known);
	free(f->snapshots);
	f->snapshots = NULL;
}

static void request_snapshots(struct front *f, const struct req_thread_snapshots *req)
{
	struct record rec = {.type = REQ_THREAD_SNAPSHOTS, .req_thread_snapshots = *req};

	modules_want(f);
	front_request(f, &rec);
}

void front_walk(struct front *f, bool stop)
{
	request_snapshots(
	    f, &(struct req_thread_snapshots){.reason = SNAPSHOTS_FOR_WALK, .stop = stop});
}

uint32_t front_take_snapshots(struct front *f, uint32_t op)
{
	uint32_t round = SNAPSHOT_ROUNDS + ++f->next_round;

	snapshots_of(f);
	request_snapshots(f, &(struct req_thread_snapshots){
				 .reason = SNAPSHOTS_FOR_OPEN, .op = op, .round = round});
	return round;
}

void front_ask_open(struct front *f, const struct rec_open_ask *ask)
{
	front_feed(f, &(struct record){.type = REC_OPEN_ASK, .open_ask = *ask});
}

const struct open_calls *front_open_calls(const struct front *f)
{
	return f->stream.open_calls;
}

bool front_found(const struct front *f, struct rec_code *function)
{
	for (size_t i = 0; i < f->watches.nr; i++) {
		const struct watch *w = f->watches.list[i];

		*function = (struct rec_code){w->module, w->offset};
		return w->stage == WATCH_ARMED;
	}
	return true;
}

struct walker *front_walker(struct front *f)
{
	return f->stream.walker;
}
