// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/session/container.h"

#include "analysis/session/field_table.h"

/* A byte that is not ASCII, CR LF, an end-of-text mark, LF: a transfer that
 * changes line ends or strips bits is seen at once (as PNG does). */
static const uint8_t magic[8] = {0x89, 'P', 'T', 'K', '\r', '\n', 0x1a, '\n'};

enum {
	MAJOR_AT = 8,
	MINOR_AT = 10,
	LEAST_MAJOR_AT = 12,
	LEAST_MINOR_AT = 14,
	SEGMENT_AT = 16, /* 0: no ring */
	CRC_AT = 20,
};

/* Half of the marks may be snapshots, so that slices always find room. */
enum { MAX_SNAPSHOTS = CONTAINER_MAX_MARKS / 2, MAX_SLICES = CONTAINER_MAX_MARKS / 2 };

struct container_indexer {
	struct container_index index;
	struct container_mark slices[MAX_SLICES], snapshots[MAX_SNAPSHOTS];
	struct container_mark marks[CONTAINER_MAX_MARKS];
	uint32_t nr_slices, nr_snapshots;
	uint64_t every; /* n-th slice has a mark */
};

// clang-format off
static STRUCT_TABLE(container_mark,
	FIELDS(container_mark, kind, at_ns, offset, label));

static STRUCT_TABLE(container_index,
	FIELDS(container_index, records, slices, elapsed_ns),
	ARRAY(container_index, marks, nr_marks, FIELD_STRUCTS, CONTAINER_MAX_MARKS,
	      &container_mark_layout));

static STRUCT_TABLE(container_segment,
	FIELDS(container_segment, number, state, at_ns));
// clang-format on

static void put_le(uint8_t *p, uint64_t v, size_t n)
{
	for (; n--; v >>= 8)
		*p++ = (uint8_t)v;
}

static uint64_t get_le(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static void header_encode(uint8_t bytes[CONTAINER_HEADER_SIZE], uint32_t segment_bytes)
{
	memset(bytes, 0, CONTAINER_HEADER_SIZE);
	memcpy(bytes, magic, sizeof(magic));
	put_le(bytes + MAJOR_AT, CONTAINER_MAJOR, 2);
	put_le(bytes + MINOR_AT, CONTAINER_MINOR, 2);
	put_le(bytes + LEAST_MAJOR_AT, CONTAINER_MAJOR, 2);
	put_le(bytes + LEAST_MINOR_AT, segment_bytes ? CONTAINER_RING_MINOR : 0, 2);
	put_le(bytes + SEGMENT_AT, segment_bytes, 4);
	put_le(bytes + CRC_AT, crc32c(0, bytes, CRC_AT), 4);
}

void container_header_encode(uint8_t bytes[CONTAINER_HEADER_SIZE])
{
	header_encode(bytes, 0);
}

void container_ring_header_encode(uint8_t bytes[CONTAINER_HEADER_SIZE], uint32_t segment_bytes)
{
	header_encode(bytes, segment_bytes);
}

int container_header_decode(const void *data, size_t n, struct container_header *header)
{
	const uint8_t *bytes = data;

	if (!n)
		return -ENODATA;
	if (memcmp(bytes, magic, n < sizeof(magic) ? n : sizeof(magic)))
		return -ENOEXEC;
	if (n < CONTAINER_HEADER_SIZE || get_le(bytes + CRC_AT, 4) != crc32c(0, bytes, CRC_AT))
		return -EBADMSG;
	*header = (struct container_header){
	    .major = (uint16_t)get_le(bytes + MAJOR_AT, 2),
	    .minor = (uint16_t)get_le(bytes + MINOR_AT, 2),
	    .least_major = (uint16_t)get_le(bytes + LEAST_MAJOR_AT, 2),
	    .least_minor = (uint16_t)get_le(bytes + LEAST_MINOR_AT, 2),
	    .segment_bytes = (uint32_t)get_le(bytes + SEGMENT_AT, 4),
	};
	if (header->least_major > CONTAINER_MAJOR ||
	    (header->least_major == CONTAINER_MAJOR && header->least_minor > CONTAINER_MINOR))
		return -ENOTSUP;
	if (header->segment_bytes && (header->segment_bytes < CONTAINER_SEGMENT_LEAST ||
				      header->segment_bytes > CONTAINER_SEGMENT_MOST))
		return -EBADMSG;
	return 0;
}

struct container_indexer *container_indexer_new(void)
{
	struct container_indexer *ix = calloc(1, sizeof(*ix));

	if (ix)
		ix->every = 1;
	return ix;
}

void container_indexer_free(struct container_indexer *ix)
{
	if (!ix)
		return;
	for (uint32_t i = 0; i < ix->nr_snapshots; i++)
		free((char *)(uintptr_t)ix->snapshots[i].label);
	free(ix);
}

/* The marks of slices are full: keep every second mark, and from now on mark half as many slices.
 */
static void thin_out(struct container_indexer *ix)
{
	for (uint32_t i = 0; i < MAX_SLICES / 2; i++)
		ix->slices[i] = ix->slices[2 * i];
	ix->nr_slices = MAX_SLICES / 2;
	ix->every *= 2;
}

int container_indexer_add(struct container_indexer *ix, const struct record *rec, uint64_t offset)
{
	struct container_mark mark = {.offset = offset, .label = ""};

	ix->index.records++;
	if (rec->type == REC_TICK) {
		if (rec->tick.end_ns > ix->index.elapsed_ns)
			ix->index.elapsed_ns = rec->tick.end_ns;
		mark.at_ns = ix->index.elapsed_ns;
		if (ix->index.slices++ % ix->every)
			return 0;
		if (ix->nr_slices == MAX_SLICES)
			thin_out(ix);
		ix->slices[ix->nr_slices++] = mark;
	} else if (rec->type == REC_MARK && ix->nr_snapshots < MAX_SNAPSHOTS) {
		mark.kind = MARK_SESSION;
		mark.at_ns = rec->mark.at_ns;
		mark.label = strndup(rec->mark.label ? rec->mark.label : "", 256);
		if (!mark.label)
			return -ENOMEM;
		ix->snapshots[ix->nr_snapshots++] = mark;
	}
	return 0;
}

const struct container_index *container_indexer_index(struct container_indexer *ix)
{
	uint32_t a = 0, b = 0, n = 0;

	/* Merge the two lists, which are both in file order. */
	while (a < ix->nr_slices || b < ix->nr_snapshots) {
		if (b == ix->nr_snapshots ||
		    (a < ix->nr_slices && ix->slices[a].offset < ix->snapshots[b].offset))
			ix->marks[n++] = ix->slices[a++];
		else
			ix->marks[n++] = ix->snapshots[b++];
	}
	ix->index.nr_marks = n;
	ix->index.marks = ix->marks;
	return &ix->index;
}

int container_close_encode(struct buf *out, const struct container_index *index, uint64_t offset,
			   uint32_t sequence)
{
	uint8_t place[8];
	int err =
	    raw_frame_encode(out, CONTAINER_INDEX, 0, sequence, &container_index_layout, index);

	if (err)
		return err;
	put_le(place, offset, sizeof(place));
	return raw_frame_append(out, CONTAINER_END, 0, sequence + 1, place, sizeof(place));
}

int container_end_decode(const void *data, size_t n, uint64_t *index_offset)
{
	struct raw_frame frame;

	if (n != CONTAINER_END_SIZE || raw_frame_parse(data, n, &frame) != 1 ||
	    frame.type != CONTAINER_END || frame.size != n)
		return -EBADMSG;
	*index_offset = get_le(frame.payload, 8);
	return 0;
}

int container_index_decode(struct arena *arena, const struct raw_frame *frame, uint64_t offset,
			   struct container_index *index)
{
	uint64_t last = CONTAINER_HEADER_SIZE;
	int err;

	if (frame->type != CONTAINER_INDEX)
		return -EBADMSG;
	err = struct_decode(arena, &container_index_layout, frame->payload, frame->length, index);
	if (err)
		return err;
	for (uint32_t i = 0; i < index->nr_marks; i++) {
		const struct container_mark *mark = &index->marks[i];

		if (mark->offset < last || mark->offset > offset - FRAME_HEADER_SIZE)
			return -EBADMSG;
		last = mark->offset + FRAME_HEADER_SIZE;
	}
	return 0;
}

int container_segment_encode(struct buf *out, const struct container_segment *s, uint32_t sequence)
{
	return raw_frame_encode(out, CONTAINER_SEGMENT, 0, sequence, &container_segment_layout, s);
}

int container_segment_end_encode(struct buf *out, uint32_t sequence)
{
	return raw_frame_append(out, CONTAINER_SEGMENT_END, 0, sequence, "", 0);
}

/* It has numbers only: nothing is allocated in an arena. */
int container_segment_decode(const struct raw_frame *frame, struct container_segment *s)
{
	return frame->type == CONTAINER_SEGMENT ? struct_decode(NULL, &container_segment_layout,
								frame->payload, frame->length, s)
						: -EBADMSG;
}
