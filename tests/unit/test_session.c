// SPDX-License-Identifier: GPL-2.0-or-later
/* Session files: what is written is read again, and every kind of damage. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tui/session/session_file.h"

static char folder[64], path[128], other[128], why[512];

static int setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/peaktop-session-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/session", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

/* No temporary file may be left over. */
static int teardown(void **state)
{
	unlink(path);
	unlink(other);
	assert_int_equal(rmdir(folder), 0);
	return 0;
}

/* Record number i of a small session: META, an operation, then slices with profiles. */
static struct record record_number(unsigned int i)
{
	static const uint32_t bucket[] = {10, 20, 351};
	static const uint64_t count[] = {5, 1000000, 1};
	struct record rec = {.type = REC_TICK};

	if (i == 0) {
		rec.type = REC_META;
		rec.meta.version = "0.1.0";
		rec.meta.command = "peaktop record";
		rec.meta.cpus = 2;
	} else if (i == 1) {
		rec.type = REC_OP;
		rec.op.op = 1;
		rec.op.name = "syscall:read";
	} else if (i % 5 == 2) {
		rec.type = REC_MARK;
		rec.snapshot.at_ns = i * 1000;
		rec.mark.label = "mark";
	} else if (i % 2) {
		rec.type = REC_PROFILE;
		rec.profile.op = 1;
		rec.profile.calls = i;
		rec.profile.nr_buckets = 3;
		rec.profile.bucket = bucket;
		rec.profile.count = count;
	} else {
		rec.tick.slice = i / 2;
		rec.tick.end_ns = i * 1000;
	}
	return rec;
}

static void assert_record(const struct record *rec, unsigned int i)
{
	struct record expected = record_number(i);

	assert_int_equal(rec->type, expected.type);
	if (rec->type == REC_META)
		assert_string_equal(rec->meta.command, expected.meta.command);
	if (rec->type == REC_OP)
		assert_string_equal(rec->op.name, expected.op.name);
	if (rec->type == REC_PROFILE) {
		assert_int_equal(rec->profile.calls, i);
		assert_int_equal(rec->profile.bucket[2], 351);
		assert_int_equal(rec->profile.count[1], 1000000);
	}
	if (rec->type == REC_TICK)
		assert_int_equal(rec->tick.end_ns, expected.tick.end_ns);
}

static void append(struct session_writer *w, unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) {
		struct record rec = record_number(i);

		assert_int_equal(session_writer_append(w, &rec), 0);
	}
}

static void write_session(unsigned int records, int closed)
{
	struct session_writer *w;

	assert_int_equal(session_writer_create(&w, path), 0);
	append(w, 0, records);
	assert_int_equal(session_writer_records(w), records);
	if (closed)
		assert_int_equal(session_writer_close(w), 0);
	else
		session_writer_abandon(w);
}

static size_t load(uint8_t **bytes)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	*bytes = malloc(1 << 20);
	n = fread(*bytes, 1, 1 << 20, f);
	fclose(f);
	return n;
}

static void store(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* How many records can be read, each checked; the reader is left open. */
static unsigned int read_all(struct session_reader *r)
{
	const struct record *rec;
	unsigned int n = 0;
	int ret;

	while ((ret = session_reader_next(r, &rec)) == 1)
		assert_record(rec, n++);
	assert_int_equal(ret, 0);
	assert_int_equal(session_reader_next(r, &rec), 0);
	return n;
}

static void test_round_trip(void **state)
{
	const struct container_index *index;
	struct session_reader *r;
	struct stat st;
	uint64_t elapsed;
	uint32_t i;

	write_session(501, 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 501);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_rewind(r);
	assert_int_equal(read_all(r), 501);
	index = session_reader_index(r);
	assert_non_null(index);
	assert_int_equal(index->records, 501);
	assert_int_equal(index->elapsed_ns, 500000);
	assert_int_equal(session_reader_elapsed_ns(r, &elapsed), 0);
	assert_int_equal(elapsed, 500000);
	assert_true(index->nr_marks > 100);
	for (i = 1; i < index->nr_marks; i++)
		assert_true(index->marks[i].offset > index->marks[i - 1].offset);
	session_reader_close(r);
}

/* Every mark of the index points at the frame that it speaks of. */
static void test_index_offsets(void **state)
{
	const struct container_index *index;
	const struct record *rec;
	struct session_reader *r;
	uint64_t before;
	uint32_t mark = 0;

	write_session(101, 1);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	index = session_reader_index(r);
	for (;;) {
		before = session_reader_offset(r);
		if (session_reader_next(r, &rec) != 1)
			break;
		if (rec->type != REC_TICK && rec->type != REC_MARK)
			continue;
		assert_true(mark < index->nr_marks);
		assert_int_equal(index->marks[mark].offset, before);
		assert_int_equal(index->marks[mark].kind,
				 rec->type == REC_TICK ? MARK_SLICE : MARK_SESSION);
		if (rec->type == REC_MARK)
			assert_string_equal(index->marks[mark].label, "mark");
		mark++;
	}
	assert_int_equal(mark, index->nr_marks);
	session_reader_close(r);
}

static void test_index_of_a_long_session_is_bounded(void **state)
{
	struct container_indexer *ix = container_indexer_new();
	const struct container_index *index;
	struct record tick = {.type = REC_TICK}, mark = {.type = REC_MARK};
	uint32_t i;

	mark.mark.label = "m";
	for (i = 0; i < 300000; i++) {
		tick.tick.end_ns = i * 10;
		assert_int_equal(container_indexer_add(ix, &tick, 24 + i * 100), 0);
		if (i % 100 == 0)
			assert_int_equal(container_indexer_add(ix, &mark, 24 + i * 100 + 50), 0);
	}
	index = container_indexer_index(ix);
	assert_int_equal(index->slices, 300000);
	assert_in_range(index->nr_marks, 1024 + 512, CONTAINER_MAX_MARKS);
	for (i = 1; i < index->nr_marks; i++)
		assert_true(index->marks[i].offset > index->marks[i - 1].offset);
	container_indexer_free(ix);
}

static void test_live_only_records_stay_out(void **state)
{
	struct record learned = {.type = REC_NEW_RETURN}, request = {.type = REQ_ARM};
	struct session_writer *w;
	struct session_reader *r;

	assert_int_equal(session_writer_create(&w, path), 0);
	append(w, 0, 3);
	assert_int_equal(session_writer_append(w, &learned), 0);
	assert_int_equal(session_writer_append(w, &request), 0);
	append(w, 3, 5);
	assert_int_equal(session_writer_records(w), 5);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 5);
	session_reader_close(r);
}

static void test_not_closed(void **state)
{
	struct session_reader *r;
	uint64_t elapsed;

	write_session(21, 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_null(session_reader_index(r));
	assert_int_equal(session_reader_elapsed_ns(r, &elapsed), 0);
	assert_int_equal(elapsed, 20000);
	assert_int_equal(read_all(r), 21);
	assert_non_null(strstr(session_reader_damage(r), "not closed"));
	assert_non_null(strstr(session_reader_damage(r), "21 records"));
	session_reader_close(r);
}

static void test_truncation_at_every_byte(void **state)
{
	struct session_reader *r;
	unsigned int got, last = 0;
	uint8_t *bytes;
	size_t n, size;
	int err;

	write_session(30, 1);
	size = load(&bytes);
	for (n = 0; n < size; n++) {
		store(bytes, n);
		err = session_reader_open(&r, path, why, sizeof(why));
		if (n < CONTAINER_HEADER_SIZE) {
			assert_int_equal(err, n ? -EBADMSG : -ENODATA);
			assert_non_null(strstr(why, path));
			continue;
		}
		assert_int_equal(err, 0);
		assert_null(session_reader_index(r));
		got = read_all(r);
		/* Never fewer with more of the file, and all whole records. */
		assert_true(got == last || got == last + 1);
		last = got;
		assert_true(strlen(session_reader_damage(r)) > 0);
		session_reader_close(r);
	}
	assert_int_equal(last, 30);
	free(bytes);
}

static void test_flip_of_every_bit(void **state)
{
	struct session_reader *r;
	unsigned int got;
	uint8_t *bytes;
	size_t bit, size;
	int err;

	write_session(12, 1);
	size = load(&bytes);
	for (bit = 0; bit < size * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		store(bytes, size);
		err = session_reader_open(&r, path, why, sizeof(why));
		if (bit / 8 < CONTAINER_HEADER_SIZE) {
			assert_true(err == -EBADMSG || err == -ENOEXEC);
		} else {
			assert_int_equal(err, 0);
			got = read_all(r);
			/* It is seen, and all before it is there. */
			assert_true(got <= 12);
			assert_true(strlen(session_reader_damage(r)) > 0);
			if (bit / 8 > size / 2)
				assert_true(got > 3);
			session_reader_close(r);
		}
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(bytes);
}

static void expect_refusal(const void *bytes, size_t n, int error, const char *word)
{
	struct session_reader *r;

	store(bytes, n);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), error);
	assert_non_null(strstr(why, word));
	assert_null(strchr(why, '\n'));
}

static void header_of(uint16_t major, uint16_t least_major, uint16_t least_minor,
		      uint8_t header[CONTAINER_HEADER_SIZE])
{
	uint32_t crc;

	container_header_encode(header);
	header[8] = (uint8_t)major;
	header[12] = (uint8_t)least_major;
	header[14] = (uint8_t)least_minor;
	crc = crc32c(0, header, 20);
	memcpy(header + 20, &crc, 4);
}

static void test_foreign_files(void **state)
{
	uint8_t header[CONTAINER_HEADER_SIZE], text_mode[CONTAINER_HEADER_SIZE];

	expect_refusal("", 0, -ENODATA, "empty");
	expect_refusal("\177ELF\2\1\1\0", 8, -ENOEXEC, "not a session");
	expect_refusal("root:x:0:0:root:/root:/bin/bash\n", 32, -ENOEXEC, "not a session");
	expect_refusal("r", 1, -ENOEXEC, "not a session");
	header_of(1, 1, 0, header);
	assert_int_equal(header[4], '\r');
	/* CR LF became LF on the way. */
	memcpy(text_mode, header, 4);
	memcpy(text_mode + 4, header + 5, CONTAINER_HEADER_SIZE - 5);
	expect_refusal(text_mode, CONTAINER_HEADER_SIZE - 1, -ENOEXEC, "not a session");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	struct session_reader *r;
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), -ENOEXEC);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), -ENOENT);
	assert_int_equal(session_reader_open(&r, "/dev/null", why, sizeof(why)), -ENOEXEC);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), -ENOEXEC);
}

static void test_versions(void **state)
{
	uint8_t header[CONTAINER_HEADER_SIZE];
	struct session_reader *r;

	header_of(7, 1, 0, header); /* newer, but made for us too */
	store(header, sizeof(header));
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 0);
	session_reader_close(r);
	header_of(7, 2, 3, header);
	expect_refusal(header, sizeof(header), -ENOTSUP, "2.3");
	header_of(1, 1, 1, header);
	expect_refusal(header, sizeof(header), -ENOTSUP, "newer");
}

/* A frame of a type that is not known is skipped, a critical one stops. */
static void test_unknown_frames(void **state)
{
	struct record rec = record_number(0);
	struct session_reader *r;
	struct buf out;
	uint8_t header[CONTAINER_HEADER_SIZE];

	buf_init(&out, 1 << 16);
	container_header_encode(header);
	buf_append(&out, header, sizeof(header));
	frame_encode(&out, &rec, 0);
	raw_frame_append(&out, 0x60, 0, 1, "abc", 3);
	rec = record_number(1);
	frame_encode(&out, &rec, 2);
	store(out.data, out.len);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 2);
	session_reader_close(r);
	raw_frame_append(&out, 0x61, FRAME_CRITICAL, 3, "abc", 3);
	rec = record_number(2);
	frame_encode(&out, &rec, 4);
	store(out.data, out.len);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 2);
	assert_non_null(strstr(session_reader_damage(r), "newer"));
	session_reader_close(r);
	buf_release(&out);
}

static void test_missing_frame(void **state)
{
	struct record rec = record_number(0);
	struct session_reader *r;
	struct buf out;
	uint8_t header[CONTAINER_HEADER_SIZE];

	buf_init(&out, 1 << 16);
	container_header_encode(header);
	buf_append(&out, header, sizeof(header));
	frame_encode(&out, &rec, 0);
	rec = record_number(1);
	frame_encode(&out, &rec, 2);
	store(out.data, out.len);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 1);
	assert_non_null(strstr(session_reader_damage(r), "missing"));
	session_reader_close(r);
	buf_release(&out);
}

/* What is kept of frames that must not be saved, were they in a file. */
static void test_never_recorded_frame_in_a_file(void **state)
{
	struct record rec = {.type = REQ_ARM};
	struct session_reader *r;
	struct buf out;
	uint8_t header[CONTAINER_HEADER_SIZE];

	buf_init(&out, 1 << 16);
	container_header_encode(header);
	buf_append(&out, header, sizeof(header));
	frame_encode(&out, &rec, 0);
	store(out.data, out.len);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 0);
	assert_true(strlen(session_reader_damage(r)) > 0);
	session_reader_close(r);
	buf_release(&out);
}

/* An index that lies is not used; the records are read all the same. */
static void test_lying_index(void **state)
{
	struct container_mark marks[2] = {{.at_ns = 1, .offset = 24, .label = ""},
					  {.at_ns = 2, .offset = 1 << 30, .label = ""}};
	struct container_index index = {.records = 1, .nr_marks = 2, .marks = marks};
	struct record rec = record_number(0);
	struct session_reader *r;
	struct buf out;
	uint8_t header[CONTAINER_HEADER_SIZE];
	unsigned int round;

	buf_init(&out, 1 << 16);
	for (round = 0; round < 4; round++) {
		buf_reset(&out);
		container_header_encode(header);
		buf_append(&out, header, sizeof(header));
		frame_encode(&out, &rec, 0);
		if (round == 1)
			marks[1].offset = 24; /* twice the same */
		if (round == 2)
			index.nr_marks = 1;
		/* In the last round the end points somewhere else. */
		assert_int_equal(
		    container_close_encode(&out, &index, round == 3 ? UINT64_MAX : out.len, 1), 0);
		store(out.data, out.len);
		assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
		if (round == 2)
			assert_non_null(session_reader_index(r));
		else
			assert_null(session_reader_index(r));
		assert_int_equal(read_all(r), 1);
		assert_string_equal(session_reader_damage(r), "");
		session_reader_close(r);
	}
	buf_release(&out);
}

static void test_bytes_after_the_end(void **state)
{
	struct session_reader *r;
	struct record rec = record_number(3);
	struct buf out;
	uint8_t *bytes;
	size_t n;

	write_session(3, 1);
	n = load(&bytes);
	buf_init(&out, 1 << 20);
	buf_append(&out, bytes, n);
	frame_encode(&out, &rec, 5);
	store(out.data, out.len);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 3);
	assert_non_null(strstr(session_reader_damage(r), "after its end"));
	session_reader_close(r);
	buf_release(&out);
	free(bytes);
}

static void test_size_limit(void **state)
{
	struct session_writer *w;
	struct session_reader *r;
	struct record rec;
	unsigned int n = 0;
	int err;

	assert_int_equal(session_writer_create(&w, path), 0);
	session_writer_set_maximum(w, 2000);
	do {
		rec = record_number(n);
		err = session_writer_append(w, &rec);
		n += !err;
	} while (!err && n < 1000);
	assert_int_equal(err, -EFBIG);
	assert_true(session_writer_bytes(w) <= 2000);
	assert_int_equal(session_writer_append(w, &rec), -EFBIG);
	assert_int_equal(session_writer_close(w), -EFBIG);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), n);
	assert_string_equal(session_reader_damage(r), ""); /* closed all the same */
	session_reader_close(r);
}

/* The disk fills up in the middle of a frame: all before it stays readable. */
static void test_disk_full(void **state)
{
	struct rlimit was, limit;
	struct session_writer *w;
	struct session_reader *r;
	struct record rec;
	unsigned int n = 0;
	rlim_t size;
	int err;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	for (size = 1000; size < 1060; size++) {
		assert_int_equal(session_writer_create(&w, path), 0);
		limit = (struct rlimit){size, was.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		n = 0;
		do {
			rec = record_number(n);
			err = session_writer_append(w, &rec);
			n += !err;
		} while (!err && n < 1000);
		assert_true(err == -EFBIG || err == -ENOSPC);
		assert_int_equal(session_writer_close(w), err);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
		assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
		assert_int_equal(read_all(r), n);
		session_reader_close(r);
	}
}

static void test_what_is_replaced(void **state)
{
	struct session_writer *w, *second;
	struct session_reader *r;

	/* An older session and an empty file may be replaced ... */
	write_session(50, 1);
	write_session(5, 1);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 5);
	session_reader_close(r);
	store("", 0);
	write_session(5, 1);
	/* ... not one that is being written, nor anything else. */
	assert_int_equal(session_writer_create(&w, path), 0);
	assert_int_equal(session_writer_create(&second, path), -EBUSY);
	assert_int_equal(session_writer_save_as(w, path), -EBUSY);
	assert_int_equal(session_writer_close(w), 0);
	store("a letter\n", 9);
	assert_int_equal(session_writer_create(&w, path), -EEXIST);
	assert_int_equal(session_writer_create(&w, "/dev/null"), -EINVAL);
	assert_int_equal(session_writer_create(&w, folder), -EISDIR);
	assert_int_equal(session_writer_create(&w, "/nonexistent/x"), -ENOENT);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(session_writer_create(&w, path), -EINVAL);
}

static void test_save_as(void **state)
{
	struct session_writer *w;
	struct session_reader *r;
	struct stat st;

	assert_int_equal(session_writer_spool(&w, folder), 0);
	append(w, 0, 10);
	assert_int_equal(session_writer_save_as(w, path), 0);
	/* What was saved is whole; the writer goes on. */
	append(w, 10, 20);
	assert_int_equal(session_writer_save_as(w, other), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
	assert_int_equal(session_reader_open(&r, other, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 20);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
	/* Over an older one; not over anything else. */
	assert_int_equal(session_writer_save_as(w, path), 0);
	store("a letter\n", 9);
	assert_int_equal(session_writer_save_as(w, path), -EEXIST);
	assert_int_equal(session_writer_save_as(w, "/nonexistent/x"), -ENOENT);
	assert_int_equal(session_writer_close(w), 0);
}

static void test_relative_path(void **state)
{
	char was[4096];
	struct session_writer *w;
	struct session_reader *r;

	assert_non_null(getcwd(was, sizeof(was)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(session_writer_spool(&w, "."), 0);
	append(w, 0, 10);
	assert_int_equal(session_writer_save_as(w, "session"), 0);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, "session", why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	session_reader_close(r);
	assert_int_equal(chdir(was), 0);
}

/* A recording that still grows can be read; what comes later is found by reading on. */
static void test_growing_file(void **state)
{
	struct session_writer *w;
	struct session_reader *r;

	assert_int_equal(session_writer_create(&w, path), 0);
	append(w, 0, 10);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	assert_int_equal(read_all(r), 10);
	append(w, 10, 15);
	session_reader_rewind(r);
	assert_int_equal(read_all(r), 15);
	session_reader_close(r);
	assert_int_equal(session_writer_close(w), 0);
}

static void test_large_frames(void **state)
{
	char *text = malloc(FRAME_MAX_TEXT + 1);
	struct record note = {.type = REC_NOTE, .note.text = text};
	struct session_writer *w;
	struct session_reader *r;
	const struct record *rec;
	unsigned int i;

	memset(text, 'x', FRAME_MAX_TEXT);
	text[FRAME_MAX_TEXT] = '\0';
	assert_int_equal(session_writer_create(&w, path), 0);
	for (i = 0; i < 500; i++) {
		note.note.level = i;
		assert_int_equal(session_writer_append(w, &note), 0);
	}
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	for (i = 0; i < 500; i++) {
		assert_int_equal(session_reader_next(r, &rec), 1);
		assert_int_equal(rec->note.level, i);
		assert_string_equal(rec->note.text, text);
	}
	assert_int_equal(session_reader_next(r, &rec), 0);
	assert_string_equal(session_reader_damage(r), "");
	session_reader_close(r);
	free(text);
}

#define session_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    session_test(test_round_trip),
	    session_test(test_index_offsets),
	    session_test(test_index_of_a_long_session_is_bounded),
	    session_test(test_live_only_records_stay_out),
	    session_test(test_not_closed),
	    session_test(test_truncation_at_every_byte),
	    session_test(test_flip_of_every_bit),
	    session_test(test_foreign_files),
	    session_test(test_versions),
	    session_test(test_unknown_frames),
	    session_test(test_missing_frame),
	    session_test(test_never_recorded_frame_in_a_file),
	    session_test(test_lying_index),
	    session_test(test_bytes_after_the_end),
	    session_test(test_size_limit),
	    session_test(test_disk_full),
	    session_test(test_what_is_replaced),
	    session_test(test_save_as),
	    session_test(test_relative_path),
	    session_test(test_growing_file),
	    session_test(test_large_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
