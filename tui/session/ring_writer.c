// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/session/ring_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include "analysis/session/raw_frame.h"
#include "analysis/session/ring_minute.h"
#include "analysis/session/ring_state.h"

enum {
	SEGMENTS = 16, /* of a ring of limited size, unless they would be too small or large */
	LEAST = 2,     /* segments that are allocated at the begin */
	TIME_SEGMENT = 1 << 20,
	STATE_PART = 4, /* what is repeated takes at most this part of a segment */
	END_ROOM = 64,	/* for the last frame of a segment */
	FULL_PART =
	    8, /* with this part of it left, its slices are merged before a minute is over */
};

struct ring_slot {
	uint64_t number; /* of the segment in it; 0: none yet */
	uint64_t end_ns; /* of the last slice that it holds */
};

/* The records at the end of the present segment that are not merged yet: a minute that is over, and
 * the one that follows it. So the last minute is always there as it was recorded. */
enum { OVER, PRESENT, NR_PARTS };
struct ring_part {
	struct ring_minute *minute;
	uint64_t at; /* offset in the segment */
	uint32_t sequence;
};

struct ring_writer {
	int fd;
	uint32_t segment_bytes;
	uint32_t max_slots, nr_slots, slot; /* the present segment is in `slot` */
	uint64_t keep_ns;		    /* 0: the size alone limits the ring */
	uint64_t number;
	uint64_t used; /* bytes of the present segment */
	uint64_t at_ns;
	uint32_t sequence;
	struct ring_slot *slots;
	struct ring_state *state;
	struct ring_budget *budget;
	struct ring_part part[NR_PARTS];
	struct buf frame, head;
	bool limited;
	bool torn; /* no frames behind a place in the present segment can be read */
};

/* Readers stop at zeros. Each write ends with them, and the next one overwrites them: the bytes
 * behind may be valid frames of an older segment, or of a minute before it was merged. */
static const char end_mark[FRAME_HEADER_SIZE];

static uint64_t offset_of(const struct ring_writer *r, uint32_t slot)
{
	return CONTAINER_HEADER_SIZE + (uint64_t)slot * r->segment_bytes;
}

/* Size and number of segments for what was asked. */
static void divide(struct ring_writer *r, const struct session_ring *ring)
{
	uint64_t size = ring->bytes / SEGMENTS, most = ring->bytes;

	if (ring->keep_ns) {
		size = TIME_SEGMENT;
		most = SESSION_MAX_BYTES;
	}
	if (size < CONTAINER_SEGMENT_LEAST)
		size = CONTAINER_SEGMENT_LEAST;
	if (size > CONTAINER_SEGMENT_MOST)
		size = CONTAINER_SEGMENT_MOST;
	r->segment_bytes = (uint32_t)size;
	r->keep_ns = ring->keep_ns;
	most = (most - CONTAINER_HEADER_SIZE) / size;
	r->max_slots = most < LEAST		       ? LEAST
		       : most > CONTAINER_MAX_SEGMENTS ? CONTAINER_MAX_SEGMENTS
						       : (uint32_t)most;
}

/* Allocate one more segment at the end of the file. */
static int extend(struct ring_writer *r)
{
	int err = posix_fallocate(r->fd, (off_t)offset_of(r, r->nr_slots), r->segment_bytes);

	if (err == EINTR)
		return -EAGAIN;
	if (err)
		return -err;
	r->slots[r->nr_slots++] = (struct ring_slot){0};
	return 0;
}

static uint32_t oldest(const struct ring_writer *r)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < r->nr_slots; i++) {
		if (r->slots[i].number < r->slots[found].number)
			found = i;
	}
	return found;
}

/* The slot for the next segment: an unused one, a new one, or that of the oldest segment. */
static uint32_t next_slot(struct ring_writer *r)
{
	uint32_t old = oldest(r);
	bool expired = r->keep_ns && r->slots[old].end_ns + r->keep_ns < r->at_ns;

	if (!r->slots[old].number || expired || r->nr_slots == r->max_slots)
		return old;
	if (!extend(r))
		return r->nr_slots - 1;
	/* the disk is full: what there is must do */
	r->max_slots = r->nr_slots;
	r->limited = true;
	return old;
}

/* The records from here on belong to this part. */
static void part_begin(const struct ring_writer *r, struct ring_part *p)
{
	ring_minute_begin(p->minute);
	p->at = r->used;
	p->sequence = r->sequence;
}

/* Begin a segment with its first frame and what it repeats, in one write: it overwrites the begin
 * of an older one, which is gone from then on. */
static int segment_begin(struct ring_writer *r, uint32_t slot)
{
	struct container_segment s = {
	    .number = r->number + 1, .state = ring_state_nr(r->state), .at_ns = r->at_ns};
	/* the number before it is that of the last frame of the segment before */
	uint32_t sequence = r->sequence + 1;
	size_t done;
	int err;

	buf_reset(&r->head);
	err = container_segment_encode(&r->head, &s, sequence++);
	if (!err)
		err = ring_state_encode(r->state, &r->head, sequence);
	if (!err)
		err = buf_append(&r->head, end_mark, sizeof(end_mark));
	if (!err)
		err = write_at(r->fd, r->head.data, r->head.len, offset_of(r, slot), &done);
	if (err)
		return err;
	r->slot = slot;
	r->torn = false;
	r->number = s.number;
	r->slots[slot] = (struct ring_slot){.number = s.number, .end_ns = r->at_ns};
	r->sequence = sequence + s.state;
	r->used = r->head.len - sizeof(end_mark);
	for (size_t i = 0; i < NR_PARTS; i++)
		part_begin(r, &r->part[i]);
	return 0;
}

/* True if a minute is over, or the segment is nearly full, most of it of what can be merged: two
 * minutes do not fit into it. */
static bool is_part_over(const struct ring_writer *r)
{
	const uint64_t part = r->segment_bytes / FULL_PART;

	return ring_minute_is_over(r->part[PRESENT].minute) ||
	       (r->used + part > r->segment_bytes &&
		r->used - r->part[OVER].at > r->segment_bytes / 2);
}

/* Append the frames of this part of the segment, with other sequence numbers. */
static int copy_frames(struct ring_writer *r, uint64_t from, uint64_t to, uint32_t *sequence)
{
	const size_t bytes = to - from;
	uint8_t *data = malloc(bytes + 1);
	struct raw_frame frame;
	int err =
	    !data ? -ENOMEM
	    : pread(r->fd, data, bytes, (off_t)(offset_of(r, r->slot) + from)) == (ssize_t)bytes
		? 0
		: -EIO;

	for (size_t at = 0; at < bytes && !err; at += frame.size) {
		if (raw_frame_parse(data + at, bytes - at, &frame) != 1)
			err = -EBADMSG;
		else
			err = raw_frame_append(&r->head, frame.type, frame.flags, (*sequence)++,
					       frame.payload, frame.length);
	}
	free(data);
	return err;
}

/* Replace the records of the minute that is over by what is kept of them, with those of the present
 * one behind it, with one write. If they cannot be merged, or that saves nothing, all stay as they
 * are. 0, or the error of a write that was done in part. */
static int merge(struct ring_writer *r)
{
	const struct ring_part *over = &r->part[OVER];
	struct ring_part *present = &r->part[PRESENT];
	uint32_t sequence = over->sequence, merged;
	uint64_t bytes, present_at;
	size_t done;
	int err;

	buf_reset(&r->head);
	if (ring_minute_encode(over->minute, r->budget, &r->head, &sequence))
		return 0;
	present_at = over->at + r->head.len;
	merged = sequence;
	if (copy_frames(r, present->at, r->used, &sequence))
		return 0;
	bytes = r->head.len;
	if (buf_append(&r->head, end_mark, sizeof(end_mark)) || over->at + r->head.len > r->used)
		return 0;
	err = write_at(r->fd, r->head.data, r->head.len, offset_of(r, r->slot) + over->at, &done);
	r->torn = err && done;
	if (err)
		return done ? err : 0;
	r->used = over->at + bytes;
	r->sequence = sequence;
	present->at = present_at;
	present->sequence = merged;
	return 0;
}

/* The present minute is over: merge the one before it. As merge(). */
static int next_part(struct ring_writer *r)
{
	const struct ring_part before = r->part[OVER];
	int err = before.at < r->part[PRESENT].at ? merge(r) : 0;

	r->part[OVER] = r->part[PRESENT];
	r->part[PRESENT] = before;
	part_begin(r, &r->part[PRESENT]);
	return err;
}

static int segment_end(struct ring_writer *r)
{
	size_t done;
	int err;

	buf_reset(&r->head);
	err = container_segment_end_encode(&r->head, r->sequence);
	return err ? err
		   : write_at(r->fd, r->head.data, r->head.len, offset_of(r, r->slot) + r->used,
			      &done);
}

int ring_writer_new(struct ring_writer **out, int fd, const struct session_ring *ring)
{
	struct ring_writer *r = calloc(1, sizeof(*r));
	uint8_t header[CONTAINER_HEADER_SIZE];
	size_t done;
	int err = -ENOMEM;

	if (!r)
		return err;
	r->fd = fd;
	divide(r, ring);
	r->slots = calloc(r->max_slots, sizeof(*r->slots));
	r->state = ring_state_new(r->segment_bytes / STATE_PART);
	buf_init(&r->frame, FRAME_HEADER_SIZE + FRAME_MAX_PAYLOAD + sizeof(end_mark));
	buf_init(&r->head, r->segment_bytes);
	r->budget = ring_budget_new();
	for (size_t i = 0; i < NR_PARTS; i++)
		r->part[i].minute = ring_minute_new();
	if (r->slots && r->state && r->budget && r->part[OVER].minute && r->part[PRESENT].minute) {
		container_ring_header_encode(header, r->segment_bytes);
		err = write_at(fd, header, sizeof(header), 0, &done);
	}
	for (uint32_t i = 0; !err && i < LEAST; i++)
		err = extend(r);
	if (!err)
		err = segment_begin(r, 0);
	if (err)
		ring_writer_free(r);
	else
		*out = r;
	return err;
}

void ring_writer_free(struct ring_writer *r)
{
	if (!r)
		return;
	ring_state_free(r->state);
	ring_budget_free(r->budget);
	for (size_t i = 0; i < NR_PARTS; i++)
		ring_minute_free(r->part[i].minute);
	buf_release(&r->frame);
	buf_release(&r->head);
	free(r->slots);
	free(r);
}

static bool has_room(const struct ring_writer *r, size_t bytes)
{
	return !r->torn && r->used + bytes + END_ROOM <= r->segment_bytes;
}

static int encode(struct ring_writer *r, const struct record *rec)
{
	int err;

	buf_reset(&r->frame);
	err = frame_encode(&r->frame, rec, r->sequence);
	return err ?: buf_append(&r->frame, end_mark, sizeof(end_mark));
}

int ring_writer_append(struct ring_writer *r, const struct record *rec)
{
	int err, merged = 0;
	size_t done;

	if (!ring_budget_wants(r->budget, rec))
		return 0;
	err = encode(r, rec);
	if (!err && !has_room(r, r->frame.len)) {
		err = segment_end(r);
		if (!err)
			err = segment_begin(r, next_slot(r));
		if (!err)
			err = encode(r, rec);
		if (!err && !has_room(r, r->frame.len))
			err = -EMSGSIZE;
	}
	if (!err)
		err = write_at(r->fd, r->frame.data, r->frame.len, offset_of(r, r->slot) + r->used,
			       &done);
	if (err)
		return err;
	r->used += r->frame.len - sizeof(end_mark);
	r->sequence++;
	ring_minute_take(r->part[PRESENT].minute, rec);
	if (rec->type == REC_TICK) {
		r->at_ns = rec->tick.end_ns;
		r->slots[r->slot].end_ns = r->at_ns;
		if (is_part_over(r))
			merged = next_part(r);
	}
	/* what does not fit is missing once the first record of it is overwritten */
	err = ring_state_take(r->state, rec);
	err = err == -E2BIG ? 0 : err;
	return err ?: merged ?: 1;
}

int ring_writer_close(struct ring_writer *r)
{
	int err = segment_end(r);

	if (!err && fsync(r->fd) && errno != EINVAL)
		err = -errno;
	return err;
}

uint64_t ring_writer_bytes(const struct ring_writer *r)
{
	return offset_of(r, r->nr_slots);
}

bool ring_writer_take_limited(struct ring_writer *r)
{
	bool limited = r->limited;

	r->limited = false;
	return limited;
}
