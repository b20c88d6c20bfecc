// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings: which records are overwritten, what each segment repeats, and files that were cut. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/small_session.h"

#include "analysis/session/ring_state.h"

enum { RING = 1 << 20, SLICES = 3000, BUCKETS = 350 };

static struct record tick(uint64_t i)
{
	struct record rec = {.type = REC_TICK};

	rec.tick.slice = i;
	rec.tick.start_ns = i * 1000;
	rec.tick.end_ns = (i + 1) * 1000;
	return rec;
}

static struct record operation(uint32_t op)
{
	struct record rec = {.type = REC_OP};

	rec.op.op = op;
	rec.op.name = "syscall:read";
	return rec;
}

static struct record meta(void)
{
	struct record rec = {.type = REC_META};

	rec.meta.version = "0.1.0";
	rec.meta.host = "here";
	return rec;
}

/* About a kilobyte. */
static struct record profile(void)
{
	static uint32_t bucket[BUCKETS];
	static uint64_t count[BUCKETS];
	struct record rec = {.type = REC_PROFILE};

	for (uint32_t i = 0; i < BUCKETS; i++) {
		bucket[i] = i;
		count[i] = 1000;
	}
	rec.profile.op = 1;
	rec.profile.nr_buckets = BUCKETS;
	rec.profile.bucket = bucket;
	rec.profile.count = count;
	return rec;
}

/* Part of a descent: what has one is not merged. */
static struct record parts(void)
{
	return (struct record){.type = REC_PARTS};
}

static void put(struct session_writer *w, struct record rec)
{
	assert_int_equal(session_writer_append(w, &rec), 0);
}

static struct session_writer *begin(const struct session_ring *ring)
{
	struct session_writer *w = NULL;

	assert_int_equal(session_writer_create_ring(&w, path, ring), 0);
	put(w, meta());
	put(w, operation(1));
	return w;
}

/* Write a ring of SLICES slices, which are several times what it holds. */
static struct session_writer *fill(void)
{
	struct session_writer *w = begin(&(struct session_ring){.bytes = RING});

	for (uint32_t i = 0; i < SLICES; i++) {
		if (i == SLICES / 2)
			put(w, operation(2));
		put(w, profile());
		put(w, parts());
		put(w, tick(i));
	}
	return w;
}

/* What was read of a ring. */
struct seen {
	unsigned int metas, ops, ticks;
	uint64_t first, last; /* slices */
	enum record_type begin;
	bool gap;
};

static struct seen look(const char *file, bool damaged)
{
	struct seen s = {0};
	const struct record *rec;
	struct session_reader *r;
	unsigned int n = 0;
	uint64_t elapsed;
	int ret;

	assert_int_equal(session_reader_open(&r, file, why, sizeof(why)), 0);
	while ((ret = session_reader_next(r, &rec)) == 1) {
		if (!n++)
			s.begin = rec->type;
		s.metas += rec->type == REC_META;
		s.ops += rec->type == REC_OP;
		if (rec->type != REC_TICK)
			continue;
		if (!s.ticks++)
			s.first = rec->tick.slice;
		else
			s.gap |= rec->tick.slice != s.last + 1;
		s.last = rec->tick.slice;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(session_reader_damage(r)[0] != '\0', damaged);
	if (s.ticks) {
		assert_int_equal(session_reader_elapsed_ns(r, &elapsed), 0);
		assert_int_equal(elapsed, (s.last + 1) * 1000);
	}
	session_reader_rewind(r);
	if (n)
		assert_int_equal(session_reader_next(r, &rec), 1);
	session_reader_close(r);
	return s;
}

static off_t size_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void test_the_oldest_is_overwritten(void **state)
{
	struct session_writer *w = fill();
	struct seen s;

	assert_int_equal(session_writer_close(w), 0);
	assert_true(size_of(path) <= RING);
	s = look(path, false);
	assert_int_equal(s.begin, REC_META);
	assert_int_equal(s.metas, 1);
	assert_int_equal(s.ops, 2);
	assert_false(s.gap);
	assert_true(s.first > 0);
	assert_int_equal(s.last, SLICES - 1);
	/* all but one segment of a ring is full */
	assert_true(s.ticks > 500);
}

/* The records from the begin are in the file as long as it is not full. */
static void test_a_ring_that_is_not_full(void **state)
{
	struct session_writer *w = begin(&(struct session_ring){.bytes = RING});
	struct seen s;

	for (unsigned int i = 0; i < 100; i++)
		put(w, tick(i));
	assert_int_equal(session_writer_close(w), 0);
	s = look(path, false);
	assert_int_equal(s.ticks, 100);
	assert_int_equal(s.first, 0);
	assert_int_equal(s.ops, 1);
}

/* The recorder is killed: everything that was written is read, also by who reads meanwhile. */
static void test_not_closed(void **state)
{
	struct session_writer *w = fill();
	struct seen s = look(path, false);

	assert_int_equal(s.last, SLICES - 1);
	session_writer_abandon(w);
	s = look(path, false);
	assert_int_equal(s.last, SLICES - 1);
	assert_false(s.gap);
}

/* A file cut at any byte opens; what follows the cut is missing. */
static void test_cut(void **state)
{
	uint8_t *bytes = malloc(2 << 20);
	struct session_writer *w = fill();
	FILE *f;
	size_t n;

	session_writer_abandon(w);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(bytes, 1, 2 << 20, f);
	fclose(f);
	for (size_t cut = n; cut > CONTAINER_HEADER_SIZE + 100; cut -= cut / 37 + 1) {
		struct session_reader *r;
		const struct record *rec;
		int ret;

		store(bytes, cut);
		ret = session_reader_open(&r, path, why, sizeof(why));
		assert_int_equal(ret, 0);
		while ((ret = session_reader_next(r, &rec)) == 1)
			;
		assert_int_equal(ret, 0);
		session_reader_close(r);
	}
	free(bytes);
}

/* A damaged segment costs the records in it, and no others. */
static void test_a_damaged_segment(void **state)
{
	const off_t at = CONTAINER_HEADER_SIZE + 5 * (RING / 16) + 40000;
	struct session_writer *w = fill();
	struct seen whole = look(path, false), s;
	uint8_t byte;
	int fd;

	assert_int_equal(session_writer_close(w), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	s = look(path, true);
	assert_int_equal(s.metas, 1);
	assert_int_equal(s.ops, 2);
	assert_int_equal(s.last, whole.last);
	assert_true(s.ticks < whole.ticks && s.ticks > whole.ticks - 2 * whole.ticks / 15);
}

/* With a time, segments are added until the oldest one is old enough. */
static void test_a_time(void **state)
{
	struct session_writer *w = begin(&(struct session_ring){.keep_ns = 2000000});
	struct seen s;
	off_t size = 0;

	for (unsigned int i = 0; i < 4 * SLICES; i++) {
		put(w, profile());
		put(w, parts());
		put(w, tick(i));
		if (i == 2 * SLICES)
			size = size_of(path);
	}
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(size_of(path), size); /* it does not grow any more */
	s = look(path, false);
	assert_false(s.gap);
	assert_true(s.ticks >= 2000);
	assert_true(s.ticks < 4 * SLICES);
}

/* A full disk: the ring goes on with the segments that it has. */
static void test_a_full_disk(void **state)
{
	struct rlimit limit = {RING / 2, RING / 2}, old;
	struct session_writer *w = begin(&(struct session_ring){.bytes = RING});
	struct seen s;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_false(session_writer_take_limited(w));
	for (unsigned int i = 0; i < SLICES; i++) {
		put(w, profile());
		put(w, parts());
		put(w, tick(i));
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(session_writer_take_limited(w));
	assert_false(session_writer_take_limited(w));
	assert_int_equal(session_writer_close(w), 0);
	assert_true(size_of(path) <= RING / 2);
	s = look(path, false);
	assert_int_equal(s.metas, 1);
	assert_int_equal(s.last, SLICES - 1);
	assert_false(s.gap);
}

/* An older session keeps its records under another name; a file that is none is refused. */
static void test_what_is_replaced(void **state)
{
	const struct session_ring ring = {.bytes = RING};
	struct session_writer *w = begin(&ring), *second;
	char older[160];

	put(w, tick(7));
	assert_int_equal(session_writer_create_ring(&second, path, &ring), -EBUSY);
	session_writer_abandon(w);
	w = begin(&ring);
	session_writer_abandon(w);
	snprintf(older, sizeof(older), "%s.1", path);
	assert_int_equal(look(older, false).ticks, 1);
	assert_int_equal(look(path, false).ticks, 0);
	/* nothing was measured: the older one has its name again */
	put(w = begin(&ring), tick(7));
	session_writer_abandon(w);
	w = begin(&ring);
	session_writer_ring_provisional(w);
	session_writer_abandon(w);
	assert_int_equal(look(path, false).ticks, 1);
	assert_int_equal(access(older, F_OK), -1);
	w = begin(&ring);
	session_writer_ring_provisional(w);
	session_writer_keep(w);
	session_writer_abandon(w);
	assert_int_equal(look(older, false).ticks, 1);
	store("no session at all, but longer than a header", 43);
	assert_int_equal(session_writer_create_ring(&w, path, &ring), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(older, path), 0);
	assert_int_equal(session_writer_create_ring(&w, path, &ring), -EINVAL);
}

/* ---- what is repeated */

static struct record mapping(uint32_t pid, uint64_t start, uint32_t gone)
{
	return (struct record){.type = REC_MAPPING,
			       .mapping = {.pid = pid, .module = 1, .start = start, .gone = gone}};
}

static unsigned int count_of(const struct ring_state *s, enum record_type type)
{
	struct buf out = {.max = 1 << 20};
	struct frame_decoder *d = frame_decoder_new();
	struct frame frame;
	unsigned int n = 0;
	size_t at = 0;
	uint32_t sequence = 100;

	assert_int_equal(ring_state_encode(s, &out, sequence), 0);
	while (at < out.len) {
		assert_int_equal(frame_decode(d, out.data + at, out.len - at, &frame), 1);
		assert_int_equal(frame.sequence, sequence++);
		n += frame.type == type;
		at += frame.size;
	}
	assert_int_equal(sequence - 100, ring_state_nr(s));
	frame_decoder_free(d);
	buf_release(&out);
	return n;
}

static void take(struct ring_state *s, struct record rec, int err)
{
	assert_int_equal(ring_state_take(s, &rec), err);
}

static void test_the_last_of_each_is_repeated(void **state)
{
	struct ring_state *s = ring_state_new(1 << 16);

	take(s, meta(), 0);
	take(s, operation(1), 0);
	take(s, operation(1), 0);
	take(s, operation(2), 0);
	take(s, tick(1), 0);
	take(s, mapping(1, 4096, 0), 0);
	take(s, mapping(1, 8192, 0), 0);
	take(s, mapping(2, 4096, 0), 0);
	assert_int_equal(count_of(s, REC_OP), 2);
	assert_int_equal(count_of(s, REC_TICK), 0);
	assert_int_equal(count_of(s, REC_MAPPING), 3);
	take(s, mapping(1, 4096, 1), 0);
	assert_int_equal(count_of(s, REC_MAPPING), 2);
	ring_state_free(s);
}

/* A service that starts a process for each request does not fill the memory. */
static void test_ended_processes_are_forgotten(void **state)
{
	struct ring_state *s = ring_state_new(1 << 16);

	for (uint32_t pid = 1; pid <= 1000; pid++) {
		take(s, (struct record){.type = REC_TARGET, .target = {.pid = pid}}, 0);
		take(s, mapping(pid, 4096, 0), 0);
		take(s, (struct record){.type = REC_TARGET_END, .target_end = {.pid = pid}}, 0);
	}
	assert_int_equal(count_of(s, REC_MAPPING), 0);
	assert_int_equal(count_of(s, REC_TARGET), 16);
	assert_int_equal(count_of(s, REC_TARGET_END), 16);
	ring_state_free(s);
}

/* Names give way to what the records cannot be read without. */
static void test_room(void **state)
{
	struct ring_state *s = ring_state_new(2000);
	struct record name = {
	    .type = REC_SYMBOL,
	    .symbol = {.module = 1, .symbol = "a_function", .function = "", .file = ""}};

	take(s, meta(), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		name.symbol.offset = i;
		take(s, name, 0);
	}
	assert_in_range(count_of(s, REC_SYMBOL), 10, 100);
	for (uint32_t op = 1; op <= 40; op++)
		take(s, operation(op), 0);
	assert_int_equal(count_of(s, REC_OP), 40);
	assert_int_equal(count_of(s, REC_META), 1);
	for (uint32_t op = 41; op <= 60; op++)
		ring_state_take(s, &(struct record){.type = REC_OP, .op = {.op = op}});
	take(s, operation(99), -E2BIG);
	assert_int_equal(count_of(s, REC_META), 1);
	ring_state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    ring_test(test_the_oldest_is_overwritten),
	    ring_test(test_a_ring_that_is_not_full),
	    ring_test(test_not_closed),
	    ring_test(test_cut),
	    ring_test(test_a_damaged_segment),
	    ring_test(test_a_time),
	    ring_test(test_a_full_disk),
	    ring_test(test_what_is_replaced),
	    cmocka_unit_test(test_the_last_of_each_is_repeated),
	    cmocka_unit_test(test_ended_processes_are_forgotten),
	    cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
