/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small session file that is written, damaged and read. */
#ifndef TESTS_SMALL_SESSION_H
#define TESTS_SMALL_SESSION_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/session_create.h"

#define session_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static char folder[64], path[128], other[128], why[512];

static inline int setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/peaktop-session-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/session", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

/* No temporary file may be left over. */
static inline int teardown(void **state)
{
	unlink(path);
	unlink(other);
	assert_int_equal(rmdir(folder), 0);
	return 0;
}

/* Record number i of a small session: META, an operation, then slices with profiles. */
static inline struct record record_number(unsigned int i)
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

static inline void assert_record(const struct record *rec, unsigned int i)
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

static inline void append(struct session_writer *w, unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) {
		struct record rec = record_number(i);

		assert_int_equal(session_writer_append(w, &rec), 0);
	}
}

static inline void write_session(unsigned int records, int closed)
{
	struct session_writer *w;

	assert_int_equal(session_create(&w, path), 0);
	append(w, 0, records);
	assert_int_equal(session_writer_records(w), records);
	if (closed)
		assert_int_equal(session_writer_close(w), 0);
	else
		session_writer_abandon(w);
}

/* A ring has renamed the session that it replaced. */
static inline int ring_teardown(void **state)
{
	char older[160];

	snprintf(older, sizeof(older), "%s.1", path);
	unlink(older);
	return teardown(state);
}

#define ring_test(name) cmocka_unit_test_setup_teardown(name, setup, ring_teardown)

static inline size_t load(uint8_t **bytes)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	*bytes = malloc(1 << 20);
	n = fread(*bytes, 1, 1 << 20, f);
	fclose(f);
	return n;
}

static inline void store(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* How many records can be read, each checked; the reader is left open. */
static inline unsigned int read_all(struct session_reader *r)
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

#endif
