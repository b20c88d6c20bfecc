// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/base/array.h"
#include "tui/session/session_file.h"

enum {
	CHUNK = 128 << 10,
	MAX_INDEX_MEMORY = 2 << 20,
	SEGMENT_HEAD = 64, /* bytes: the first frame of a segment is shorter */
};

/* A segment of a ring. */
struct segment {
	uint64_t offset; /* of its first frame */
	uint64_t number;
	uint64_t at_ns;
};

struct session_reader {
	int fd;
	uint64_t size;	 /* when the file was opened; a live recording may grow */
	uint64_t offset; /* of the next frame */
	uint32_t sequence;
	uint64_t records;
	uint64_t elapsed_ns;
	bool ended, closed; /* `closed`: the file has an end frame */
	struct buf bytes;   /* read ahead from the file; frames before `taken` were returned */
	size_t taken;
	struct frame_decoder *decoder;
	struct frame frame;
	struct arena arena;
	struct container_index index;
	bool has_index;
	uint32_t segment_bytes;	  /* 0: the file is no ring */
	struct segment *segments; /* in the order in which they were written */
	size_t nr_segments, cap_segments;
	size_t segment; /* the present one */
	uint32_t state; /* frames to skip, because an earlier segment had what they repeat */
	char damage[256];
};

/* Like pread(), but repeat until n bytes or the end of the file. */
static ssize_t read_at(int fd, void *data, size_t n, uint64_t offset)
{
	size_t done = 0;
	ssize_t ret;

	while (done < n) {
		ret = pread(fd, (char *)data + done, n - done, (off_t)(offset + done));
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return -errno;
		if (!ret)
			break;
		done += (size_t)ret;
	}
	return (ssize_t)done;
}

/* Load the index. If it is damaged, ignore it: the index only saves time. */
static void load_index(struct session_reader *r)
{
	uint8_t end[CONTAINER_END_SIZE];
	struct raw_frame frame;
	uint64_t offset;
	size_t n;
	char *bytes;

	if (r->size < CONTAINER_HEADER_SIZE + FRAME_HEADER_SIZE + sizeof(end) ||
	    read_at(r->fd, end, sizeof(end), r->size - sizeof(end)) != (ssize_t)sizeof(end) ||
	    container_end_decode(end, sizeof(end), &offset))
		return;
	if (offset < CONTAINER_HEADER_SIZE || offset > r->size - sizeof(end) ||
	    r->size - sizeof(end) - offset > FRAME_HEADER_SIZE + FRAME_MAX_PAYLOAD)
		return;
	n = (size_t)(r->size - sizeof(end) - offset);
	bytes = malloc(n + 1);
	if (bytes && read_at(r->fd, bytes, n, offset) == (ssize_t)n &&
	    raw_frame_parse(bytes, n, &frame) == 1 && frame.size == n)
		r->has_index = !container_index_decode(&r->arena, &frame, offset, &r->index);
	free(bytes);
}

static int check_header(struct session_reader *r, const char *path, char *why, size_t why_size)
{
	uint8_t bytes[CONTAINER_HEADER_SIZE];
	struct container_header header = {0};
	ssize_t n = read_at(r->fd, bytes, sizeof(bytes), 0);
	int err = n < 0 ? (int)n : container_header_decode(bytes, (size_t)n, &header);

	r->segment_bytes = err ? 0 : header.segment_bytes;
	switch (err) {
	case 0:
		break;
	case -ENODATA:
		snprintf(why, why_size, "%s is empty", path);
		break;
	case -ENOEXEC:
		snprintf(why, why_size, "%s is not a session of peaktop", path);
		break;
	case -EBADMSG:
		snprintf(why, why_size, "%s is damaged at its start", path);
		break;
	case -ENOTSUP:
		snprintf(why, why_size,
			 "%s was written by a newer peaktop: reading it needs format %u.%u, this "
			 "peaktop knows %u.%u",
			 path, header.least_major, header.least_minor, CONTAINER_MAJOR,
			 CONTAINER_MINOR);
		break;
	default:
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		break;
	}
	return err;
}

static int by_number(const void *a, const void *b)
{
	return ascending(((const struct segment *)a)->number, ((const struct segment *)b)->number);
}

/* Find the segments of a ring. Only those are read that follow each other up to the newest one: a
 * gap is where a write was interrupted. */
static int find_segments(struct session_reader *r)
{
	uint8_t bytes[SEGMENT_HEAD];
	struct container_segment head;
	struct raw_frame frame;
	size_t first, n;

	for (uint64_t at = CONTAINER_HEADER_SIZE;
	     at < r->size && r->nr_segments < CONTAINER_MAX_SEGMENTS; at += r->segment_bytes) {
		ssize_t got = read_at(r->fd, bytes, sizeof(bytes), at);
		int err;

		if (got < 0)
			return (int)got;
		if (raw_frame_parse(bytes, (size_t)got, &frame) != 1 ||
		    container_segment_decode(&frame, &head))
			continue;
		err = array_append(
		    r->segments, r->nr_segments, r->cap_segments, CONTAINER_MAX_SEGMENTS,
		    (struct segment){.offset = at, .number = head.number, .at_ns = head.at_ns});
		if (err)
			return err;
	}
	n = r->nr_segments;
	if (!n)
		return -EBADMSG;
	qsort(r->segments, n, sizeof(*r->segments), by_number);
	for (first = n - 1; first > 0; first--) {
		if (r->segments[first - 1].number + 1 != r->segments[first].number)
			break;
	}
	r->nr_segments -= first;
	memmove(r->segments, r->segments + first, r->nr_segments * sizeof(*r->segments));
	return 0;
}

int session_reader_open(struct session_reader **out, const char *path, char *why, size_t why_size)
{
	struct session_reader *r = calloc(1, sizeof(*r));
	struct stat st;
	int err = 0;

	if (r)
		r->decoder = frame_decoder_new();
	if (!r || !r->decoder) {
		free(r);
		snprintf(why, why_size, "%s: out of memory", path);
		return -ENOMEM;
	}
	arena_init(&r->arena, MAX_INDEX_MEMORY);
	buf_init(&r->bytes, FRAME_HEADER_SIZE + FRAME_MAX_PAYLOAD + CHUNK);
	/* O_NONBLOCK: do not block on a pipe, which is refused below. */
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st))
		err = -errno;
	if (err)
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
	if (!err && !S_ISREG(st.st_mode)) {
		err = -ENOEXEC;
		snprintf(why, why_size, "%s is not a regular file", path);
	}
	if (!err)
		err = check_header(r, path, why, why_size);
	if (err) {
		session_reader_close(r);
		return err;
	}
	r->size = (uint64_t)st.st_size;
	if (r->segment_bytes)
		err = find_segments(r);
	else
		load_index(r);
	if (err) {
		snprintf(why, why_size, "%s: %s", path,
			 err == -EBADMSG ? "damaged: no segment of the ring can be read"
					 : strerror(-err));
		session_reader_close(r);
		return err;
	}
	session_reader_rewind(r);
	*out = r;
	return 0;
}

void session_reader_close(struct session_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	frame_decoder_free(r->decoder);
	arena_release(&r->arena);
	buf_release(&r->bytes);
	free(r->segments);
	free(r);
}

/* Go on at this offset of the file. */
static void go_to(struct session_reader *r, uint64_t offset)
{
	buf_reset(&r->bytes);
	r->taken = 0;
	r->offset = offset;
}

/* Begin with the first frame of this segment, if the file is a ring, with nothing known. */
static void begin_at(struct session_reader *r, size_t segment)
{
	go_to(r, r->nr_segments ? r->segments[segment].offset : CONTAINER_HEADER_SIZE);
	r->segment = segment;
	r->state = 0;
	r->sequence = 0;
	r->records = 0;
	r->elapsed_ns = 0;
	r->ended = r->closed = false;
	r->damage[0] = '\0';
}

void session_reader_rewind(struct session_reader *r)
{
	begin_at(r, 0);
}

void session_reader_seek(struct session_reader *r, uint64_t at_ns)
{
	size_t i = r->nr_segments ? r->nr_segments - 1 : 0;

	/* an older writer did not say when a segment begins */
	while (i && (!r->segments[i].at_ns || r->segments[i].at_ns > at_ns))
		i--;
	begin_at(r, i);
}

/* Read more bytes of the file. 1, 0 at its end, or a negative errno. */
static int read_more(struct session_reader *r)
{
	ssize_t n;
	int err;

	buf_consume(&r->bytes, r->taken);
	r->taken = 0;
	err = buf_reserve(&r->bytes, CHUNK);
	if (err)
		return err;
	n = read_at(r->fd, r->bytes.data + r->bytes.len, CHUNK, r->offset + r->bytes.len);
	if (n <= 0)
		return (int)n;
	r->bytes.len += (size_t)n;
	r->bytes.data[r->bytes.len] = '\0';
	return 1;
}

static int stop(struct session_reader *r, const char *what)
{
	r->ended = true;
	if (what)
		snprintf(r->damage, sizeof(r->damage),
			 "the file %s at byte %llu: %llu records, up to %.1f s, were recovered",
			 what, (unsigned long long)r->offset, (unsigned long long)r->records,
			 (double)r->elapsed_ns / 1e9);
	return 0;
}

/* The file contains records that this version does not use any more: what is made of them is
 * missing. Reading goes on. */
static void older(struct session_reader *r)
{
	snprintf(r->damage, sizeof(r->damage),
		 "the file is from an earlier peaktop, whose stacks are not read any more: causes "
		 "of descents and walks are missing; open it with the version that wrote it");
}

/* Read the next whole frame. 1; 0 at the end of the file; -EBADMSG: damaged; or an error of
 * reading. */
static int next_raw(struct session_reader *r, struct raw_frame *raw)
{
	int ret;

	for (;;) {
		ret = r->taken == r->bytes.len
			  ? 0
			  : raw_frame_parse(r->bytes.data + r->taken, r->bytes.len - r->taken, raw);
		if (ret)
			return ret;
		ret = read_more(r);
		if (ret <= 0)
			return ret;
	}
}

/* True if the frame is the first one of the present segment, or belongs to what it repeats. */
static bool opens_segment(struct session_reader *r, const struct raw_frame *raw)
{
	struct container_segment head;

	if (!r->nr_segments)
		return false;
	if (r->offset == r->segments[r->segment].offset && !container_segment_decode(raw, &head) &&
	    head.number == r->segments[r->segment].number) {
		r->sequence = raw->sequence;
		r->state = r->records ? head.state : 0;
		return true;
	}
	if (!r->state)
		return false;
	r->state--;
	return raw->sequence == r->sequence;
}

static void step(struct session_reader *r, const struct raw_frame *raw)
{
	r->offset += raw->size;
	r->sequence++;
	r->taken += raw->size;
}

/* The present segment of a ring has no more frames. Go on with the next one, or end after the
 * newest one. That one may end anywhere, because its writer may still be writing, or was killed.
 * The others end with a frame for that, or are damaged, or were overwritten just now. */
static void next_segment(struct session_reader *r, const struct raw_frame *raw, int ret)
{
	bool whole = ret == 1 && raw->sequence == r->sequence && raw->type == CONTAINER_SEGMENT_END;

	r->ended = r->segment + 1 == r->nr_segments;
	if (r->ended)
		return;
	if (!whole && r->records && !r->damage[0])
		snprintf(r->damage, sizeof(r->damage),
			 "the file is damaged at byte %llu; the next segment of the ring follows",
			 (unsigned long long)r->offset);
	r->segment++;
	go_to(r, r->segments[r->segment].offset);
}

/* True if the present segment of a ring has no more frames: its last one, older bytes, or none. */
static bool at_segment_end(const struct session_reader *r, const struct raw_frame *raw, int ret)
{
	return r->nr_segments &&
	       (!ret || ret == -EBADMSG || raw->type == CONTAINER_SEGMENT_END ||
		raw->sequence != r->sequence ||
		r->offset + raw->size > r->segments[r->segment].offset + r->segment_bytes);
}

/* True if what next_raw() has read is of the segments of a ring, and was taken: there may be more
 * to read. */
static bool take_segment(struct session_reader *r, const struct raw_frame *raw, int ret)
{
	if (ret == 1 && opens_segment(r, raw)) {
		step(r, raw);
		return true;
	}
	if ((ret < 0 && ret != -EBADMSG) || !at_segment_end(r, raw, ret))
		return false;
	next_segment(r, raw, ret);
	return true;
}

/* Decode a frame that is in sequence. 1; 0 if the file ends here; or -ENOMEM. */
static int decode(struct session_reader *r, const struct raw_frame *raw)
{
	int ret = frame_decode_raw(r->decoder, raw, &r->frame);

	if (ret == -ENOTSUP)
		return stop(r, "contains records of a newer peaktop");
	if (ret == -EBADMSG || (raw->flags & FRAME_NOT_RECORDED))
		return stop(r, "is damaged");
	if (ret < 0)
		return ret;
	r->closed = raw->type == CONTAINER_END;
	step(r, raw);
	return 1;
}

int session_reader_next(struct session_reader *r, const struct record **rec)
{
	struct raw_frame raw;
	int ret;

	while (!r->ended) {
		ret = next_raw(r, &raw);
		if (take_segment(r, &raw, ret))
			continue;
		if (!ret)
			return stop(r, r->bytes.len > r->taken ? "is cut off"
				       : r->closed	       ? NULL
						   : "was not closed properly and ends");
		if (ret == -EBADMSG)
			return stop(r, "is damaged");
		if (ret < 0)
			return ret;
		if (raw.sequence != r->sequence || r->closed)
			return stop(r, r->closed ? "continues after its end mark"
						 : "has a frame missing");
		ret = decode(r, &raw);
		if (ret != 1)
			return ret;
		if (raw.type == REC_RETIRED_WITNESS || raw.type == REC_RETIRED_SNAPSHOT)
			older(r);
		if (!r->frame.known)
			continue;
		r->records++;
		if (r->frame.rec.type == REC_TICK && r->frame.rec.tick.end_ns > r->elapsed_ns)
			r->elapsed_ns = r->frame.rec.tick.end_ns;
		*rec = &r->frame.rec;
		return 1;
	}
	return 0;
}

const char *session_reader_damage(const struct session_reader *r)
{
	return r->damage;
}

uint64_t session_reader_offset(const struct session_reader *r)
{
	return r->offset;
}

const struct container_index *session_reader_index(const struct session_reader *r)
{
	return r->has_index ? &r->index : NULL;
}

int session_reader_elapsed_ns(struct session_reader *r, uint64_t *elapsed_ns)
{
	struct session_reader through = {.fd = r->fd};
	const struct record *rec;
	int ret;

	if (r->has_index) {
		*elapsed_ns = r->index.elapsed_ns;
		return 0;
	}
	/* Use a second reader on the same file: the position of this one must not change. */
	through.decoder = frame_decoder_new();
	if (!through.decoder)
		return -ENOMEM;
	buf_init(&through.bytes, r->bytes.max);
	through.segments = r->segments;
	through.nr_segments = r->nr_segments;
	through.segment_bytes = r->segment_bytes;
	session_reader_rewind(&through);
	while ((ret = session_reader_next(&through, &rec)) == 1)
		;
	*elapsed_ns = through.elapsed_ns;
	frame_decoder_free(through.decoder);
	buf_release(&through.bytes);
	return ret;
}
