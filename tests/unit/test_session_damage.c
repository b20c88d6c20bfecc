// SPDX-License-Identifier: GPL-2.0-or-later
/* Session files with every kind of damage, of other versions, and foreign files. */
#include "tests/unit/small_session.h"

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
	header_of(1, 1, CONTAINER_MINOR + 1, header);
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    session_test(test_truncation_at_every_byte),
	    session_test(test_flip_of_every_bit),
	    session_test(test_foreign_files),
	    session_test(test_versions),
	    session_test(test_unknown_frames),
	    session_test(test_missing_frame),
	    session_test(test_never_recorded_frame_in_a_file),
	    session_test(test_lying_index),
	    session_test(test_bytes_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
