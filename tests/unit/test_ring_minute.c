// SPDX-License-Identifier: GPL-2.0-or-later
/* What a ring keeps of the minutes that are over. */
#include <sys/syscall.h>

#include "tests/unit/small_session.h"

#include "analysis/session/ring_minute.h"

#define MS 1000000ull
#define S (1000 * MS)
enum { RING = 4 << 20, MINUTE = 60, LIMIT_NS = 1000 };

/* The next long write fails half-way. */
static enum { WHOLE, HALF, FAIL } next_write;
enum { LONG = 1000 };

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
	if (next_write == FAIL) {
		next_write = WHOLE;
		errno = EIO;
		return -1;
	}
	if (next_write == HALF && n > LONG) {
		next_write = FAIL;
		n /= 2;
	}
	return syscall(SYS_pwrite64, fd, data, n, offset);
}

static void put(struct session_writer *w, struct record rec)
{
	assert_int_equal(session_writer_append(w, &rec), 0);
}

static struct session_writer *begin(void)
{
	struct session_writer *w = NULL;

	assert_int_equal(
	    session_writer_create_ring(&w, path, &(struct session_ring){.bytes = RING}), 0);
	put(w, (struct record){.type = REC_META, .meta = {.interval_ns = S}});
	return w;
}

/* `calls` calls, of which the bucket says as many. */
static void put_profile(struct session_writer *w, uint32_t op, uint64_t slice, uint64_t calls)
{
	uint32_t bucket = 100 + op;
	struct rec_profile p = {.op = op,
				.start_ns = slice * S,
				.end_ns = slice * S + S,
				.calls = calls,
				.sum_ns = 10 * calls,
				.min_ns = 10 + slice,
				.max_ns = 20 + slice,
				.armed_ns = S / 2,
				.correction_ns = slice % 2 ? 3 : 1,
				.open = slice,
				.nr_buckets = 1,
				.bucket = &bucket,
				.count = &calls};

	put(w, (struct record){.type = REC_PROFILE, .profile = p});
}

static void put_tick(struct session_writer *w, uint64_t slice)
{
	put(w, (struct record){
		   .type = REC_TICK,
		   .tick = {.slice = slice, .start_ns = slice * S, .end_ns = slice * S + S}});
}

/* What was read of a ring. */
struct seen {
	unsigned int ticks, profiles, samples, opens, notes, slow, stacks;
	uint64_t calls, armed_ns, first_ns, end_ns, longest_ns, slowest_ns;
	uint64_t merged_ns;	  /* end of the last slice that is longer than it was */
	struct rec_profile first; /* without buckets */
	bool gap;
};

static void see(struct seen *s, const struct record *rec)
{
	switch (rec->type) {
	case REC_PROFILE:
		if (!s->profiles++)
			s->first = rec->profile;
		s->calls += rec->profile.calls;
		s->armed_ns += rec->profile.armed_ns;
		assert_int_equal(rec->profile.nr_buckets, 1);
		assert_int_equal(rec->profile.count[0], rec->profile.calls);
		break;
	case REC_TICK:
		if (!s->ticks++)
			s->first_ns = rec->tick.start_ns;
		else
			s->gap |= rec->tick.start_ns != s->end_ns;
		s->end_ns = rec->tick.end_ns;
		if (rec->tick.end_ns - rec->tick.start_ns > S)
			s->merged_ns = rec->tick.end_ns;
		if (rec->tick.end_ns - rec->tick.start_ns > s->longest_ns)
			s->longest_ns = rec->tick.end_ns - rec->tick.start_ns;
		break;
	case REC_SLOW_CALL:
		s->slow++;
		if (rec->slow_call.call.latency_ns > s->slowest_ns)
			s->slowest_ns = rec->slow_call.call.latency_ns;
		break;
	default:
		s->samples += rec->type == REC_SAMPLE;
		s->opens += rec->type == REC_OPEN;
		s->notes += rec->type == REC_NOTE;
		s->stacks += rec->type == REC_WITNESS;
	}
}

static struct seen look_at(bool damaged)
{
	struct seen s = {0};
	const struct record *rec;
	struct session_reader *r;

	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	while (session_reader_next(r, &rec) == 1)
		see(&s, rec);
	assert_int_equal(session_reader_damage(r)[0] != '\0', damaged);
	session_reader_close(r);
	return s;
}

static struct seen look(void)
{
	return look_at(false);
}

/* The slices of a minute are one; those of the last whole minute and since then stay. */
static void test_minutes(void **state)
{
	struct session_writer *w = begin();
	struct seen s;

	for (uint64_t i = 0; i < 3 * MINUTE + 5; i++) {
		put_profile(w, 1, i, 100);
		if (i % 10 == 0)
			put_profile(w, 2, i, 7);
		put(w, (struct record){.type = REC_OPEN, .open = {.op = 1, .tid = 9}});
		put(w, (struct record){.type = REC_COST, .cost = {.at_ns = i * S}});
		if (i == 30)
			put(w, (struct record){.type = REC_NOTE, .note = {.text = "half"}});
		put_tick(w, i);
	}
	assert_int_equal(session_writer_close(w), 0);
	s = look();
	assert_false(s.gap);
	assert_int_equal(s.first_ns, 0);
	assert_int_equal(s.end_ns, (3 * MINUTE + 5) * S);
	assert_int_equal(s.longest_ns, MINUTE * S);
	assert_int_equal(s.ticks, 2 + MINUTE + 5);
	assert_int_equal(s.profiles, 2 * 2 + MINUTE + 6 + 5 + 1);
	assert_int_equal(s.calls, (3 * MINUTE + 5) * 100 + 19 * 7);
	assert_int_equal(s.opens, 2 + MINUTE + 5);
	assert_int_equal(s.notes, 1);
	assert_int_equal(s.armed_ns, (3 * MINUTE + 5 + 19) * S / 2);
	assert_int_equal(s.first.start_ns, 0);
	assert_int_equal(s.first.end_ns, MINUTE * S);
	assert_int_equal(s.first.min_ns, 10);
	assert_int_equal(s.first.max_ns, 20 + MINUTE - 1);
	assert_int_equal(s.first.open, MINUTE - 1);
	assert_int_equal(s.first.correction_ns, 2);
}

static void put_layers(struct session_writer *w, uint64_t slice, uint32_t layers)
{
	put(w, (struct record){.type = REC_TICK,
			       .tick = {.slice = slice,
					.start_ns = slice * S,
					.end_ns = slice * S + S,
					.layers = layers}});
}

/* A layer that was paused in some slices was measured in their minute. */
static void test_layers(void **state)
{
	struct session_writer *w = begin();
	uint32_t seen[2] = {0};
	const struct record *rec;
	struct session_reader *r;
	unsigned int n = 0;

	for (uint64_t i = 0; i < MINUTE; i++)
		put_layers(w, i, i == 5 ? 6 : i + 1 == MINUTE ? 1 : 3);
	for (uint64_t i = MINUTE; i < 3 * MINUTE; i++)
		put_layers(w, i, 0);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(session_reader_open(&r, path, why, sizeof(why)), 0);
	while (n < 2 && session_reader_next(r, &rec) == 1) {
		if (rec->type == REC_TICK)
			seen[n++] = rec->tick.layers;
	}
	assert_int_equal(rec->tick.end_ns, 2 * MINUTE * S);
	assert_int_equal(seen[0], 7);
	assert_int_equal(seen[1], 0);
	session_reader_close(r);
}

/* Behind the merged records are those that were there before, of the same size: who reads the ring
 * of a recorder that was killed takes none of them for a newer one. */
static void test_killed(void **state)
{
	struct session_writer *w = begin();
	struct seen s;

	for (uint64_t i = 0; i < 3 * MINUTE; i++) {
		put_profile(w, 1, 0, 1);
		put_tick(w, i);
		s = look();
		assert_int_equal(s.calls, i + 1);
		assert_int_equal(s.end_ns, (i + 1) * S);
	}
	session_writer_abandon(w);
	s = look();
	assert_int_equal(s.calls, 3 * MINUTE);
	assert_int_equal(s.ticks, 2 + MINUTE);
}

/* The merged tick is as long as those that it stands for, so that all frames lie where older ones
 * with the same sequence numbers were: no older one is read for a newer one. */
static void test_equal_sizes(void **state)
{
	const uint64_t first = 1100; /* from here on all times have as many bytes */
	struct session_writer *w = begin();
	struct seen s;

	for (uint64_t i = first; i < first + 3 * MINUTE + 10; i++) {
		put_tick(w, i);
		s = look();
		assert_int_equal(s.end_ns, (i + 1) * S);
		assert_false(s.gap);
	}
	session_writer_abandon(w);
	s = look();
	assert_int_equal(s.ticks, 2 + MINUTE + 10);
}

/* A merged minute is written in part only: what comes later can be read, and it is said that
 * something is missing. */
static void test_a_torn_minute(void **state)
{
	const struct record last = {.type = REC_TICK,
				    .tick = {.slice = 2 * MINUTE - 1,
					     .start_ns = (2 * MINUTE - 1) * S,
					     .end_ns = 2 * MINUTE * S}};
	struct session_writer *w = begin();
	struct seen s;

	for (uint64_t i = 0; i < 2 * MINUTE - 1; i++) {
		put_profile(w, 1, i, 1);
		put_tick(w, i);
	}
	next_write = HALF;
	assert_int_equal(session_writer_append(w, &last), -EIO);
	assert_int_equal(next_write, WHOLE);
	for (uint64_t i = 2 * MINUTE; i < 5 * MINUTE; i++) {
		put_profile(w, 2, i, 1);
		put_tick(w, i);
		s = look_at(true);
		assert_int_equal(s.end_ns, (i + 1) * S);
	}
	assert_int_equal(session_writer_close(w), 0);
	s = look_at(true);
	assert_true(s.gap);
	assert_int_equal(s.first_ns, 0);
	assert_int_equal(s.end_ns, 5 * MINUTE * S);
	assert_in_range(s.calls, MINUTE + 3 * MINUTE, 2 * MINUTE + 3 * MINUTE - 1);
}

/* At the end of a segment, too, the minute before each slice is there as it was recorded. */
static void test_the_minute_before(void **state)
{
	enum { MINUTES = 60, OPS = 10, NOTE_BYTES = 12000 };
	char *text = malloc(NOTE_BYTES + 1);
	struct session_writer *w = begin();

	/* two minutes are a third of a segment, and a merged one a twentieth */
	assert_non_null(text);
	memset(text, 'a', NOTE_BYTES);
	text[NOTE_BYTES] = '\0';
	for (uint64_t i = 0; i < MINUTES * MINUTE; i++) {
		if (i % MINUTE == 0)
			put(w, (struct record){.type = REC_NOTE, .note = {.text = text}});
		for (uint32_t op = 1; op <= OPS; op++)
			put_profile(w, op, i, 1);
		put_tick(w, i);
		if (i % 7 == 0)
			assert_true(look().merged_ns <= (i + 1 > MINUTE ? i + 1 - MINUTE : 0) * S);
	}
	free(text);
	assert_int_equal(look().notes, MINUTES);
	assert_int_equal(session_writer_close(w), 0);
}

/* A descent is told by its slices. */
static void test_descents_stay(void **state)
{
	struct session_writer *w = begin();
	struct seen s;

	for (uint64_t i = 0; i < 3 * MINUTE; i++) {
		put_profile(w, 1, i, 1);
		if (i == 30)
			put(w, (struct record){.type = REC_PARTS});
		put_tick(w, i);
	}
	assert_int_equal(session_writer_close(w), 0);
	s = look();
	assert_int_equal(s.ticks, MINUTE + 1 + MINUTE);
	assert_int_equal(s.profiles, MINUTE + 1 + MINUTE);
}

static void test_samples(void **state)
{
	struct session_writer *w = begin();
	struct seen s;

	for (uint64_t i = 0; i < 100 * MINUTE; i++) {
		for (uint64_t k = 0; k < 10; k++)
			put(w, (struct record){.type = REC_SAMPLE,
					       .sample = {.op = 1, .start_ns = i * S + k}});
		put_tick(w, i);
	}
	/* those that are not written are not counted, nor are merged ones subtracted */
	assert_int_equal(session_writer_records(w),
			 1 + 100 * MINUTE + RING_MINUTE_SAMPLES_SAVED + 99 * RING_MINUTE_SAMPLES);
	assert_int_equal(session_writer_close(w), 0);
	s = look();
	assert_int_equal(s.samples, RING_MINUTE_SAMPLES_SAVED + 99 * RING_MINUTE_SAMPLES);
}

static void put_sample(struct session_writer *w, uint64_t start_ns)
{
	put(w, (struct record){.type = REC_SAMPLE, .sample = {.op = 1, .start_ns = start_ns}});
}

/* A time that cannot be costs no more than another. */
static void test_a_wrong_time(void **state)
{
	struct session_writer *w = begin();

	put_sample(w, UINT64_MAX);
	put_sample(w, 0);
	put_tick(w, 0);
	assert_int_equal(session_writer_close(w), 0);
	assert_int_equal(look().samples, 2);
}

static void put_window(struct session_writer *w, uint64_t at_ns, enum window_edge edge)
{
	put(w, (struct record){.type = REC_WINDOW, .window = {.at_ns = at_ns, .edge = edge}});
}

/* Write a minute with `each` samples in each of its slices, from slice `*at` on. */
static void put_samples(struct session_writer *w, uint64_t *at, unsigned int each)
{
	for (uint64_t end = *at + MINUTE; *at < end; ++*at) {
		for (unsigned int k = 0; k < each; k++)
			put_sample(w, *at * S + k);
		put_tick(w, *at);
	}
}

/* The calls whose waits are told are known by their samples: none is missing in a window, nor while
 * a descent has records. */
static void test_samples_of_descents(void **state)
{
	enum { EACH = 50, USED_UP = RING_MINUTE_SAMPLES_SAVED };
	struct session_writer *w = begin();
	unsigned int before;
	uint64_t at = 0;

	put_samples(w, &at, EACH);
	assert_int_equal(look().samples, USED_UP);
	put_window(w, at * S, WINDOW_BEGIN);
	put_samples(w, &at, EACH);
	put_window(w, at * S, WINDOW_CPU);
	put_samples(w, &at, EACH);
	assert_int_equal(look().samples, USED_UP + 2 * MINUTE * EACH);
	/* those of calls that have returned in the window may come later */
	put_window(w, at * S, WINDOW_END);
	put_sample(w, at * S);
	before = look().samples;
	assert_int_equal(before, USED_UP + 2 * MINUTE * EACH + 1);
	put_samples(w, &at, EACH);
	assert_in_range(look().samples, before, before + MINUTE * EACH / 2);
	put_samples(w, &at, EACH);
	before = look().samples;
	put_samples(w, &at, EACH);
	assert_int_equal(look().samples, before + RING_MINUTE_SAMPLES);
	/* a descent */
	before = look().samples;
	put(w, (struct record){.type = REC_DESCENT, .descent = {.op = 1}});
	for (unsigned int i = 0; i < MINUTE; i++, at++) {
		put(w, (struct record){.type = REC_CALL});
		put_sample(w, at * S);
		put_tick(w, at);
	}
	assert_int_equal(look().samples, before + MINUTE);
	assert_int_equal(session_writer_close(w), 0);
}

static void put_slow(struct session_writer *w, uint64_t start_ns, uint64_t latency_ns)
{
	static const struct rec_frame frames[40];

	put(w, (struct record){.type = REC_SLOW_CALL,
			       .slow_call = {.call = {.op = 1,
						      .tid = 5,
						      .start_ns = start_ns,
						      .latency_ns = latency_ns,
						      .raw_ns = latency_ns},
					     .limit_ns = LIMIT_NS}});
	put(w, (struct record){.type = REC_WITNESS,
			       .witness = {.op = 1,
					   .tid = 5,
					   .epoch = SLOW_CALL_EPOCH,
					   .at_ns = start_ns + latency_ns / 2,
					   .nr_frames = 40,
					   .frames = frames}});
}

/* Four slow calls a second would be 90 MB a day: those that are far slower than usual stay,
 * with their stacks. */
static void test_slow_calls(void **state)
{
	const uint64_t minutes = 2 * RING_MINUTE_SAVED;
	struct session_writer *w = begin();
	unsigned int before;
	struct seen s;

	for (uint64_t i = 0; i < minutes * MINUTE; i++) {
		for (uint64_t k = 0; k < 4; k++)
			put_slow(w, i * S + k * MS, LIMIT_NS + 1 + k);
		if (i == minutes * MINUTE / 2)
			put_slow(w, i * S + 100 * MS, 80 * MS);
		put_tick(w, i);
		if (i == MINUTE - 1)
			before = look().slow;
	}
	assert_int_equal(session_writer_close(w), 0);
	s = look();
	assert_false(s.gap);
	assert_int_equal(s.end_ns, minutes * MINUTE * S);
	/* the first minute is kept as a whole */
	assert_int_equal(before, 4 * MINUTE);
	assert_int_equal(s.slowest_ns, 80 * MS);
	assert_int_equal(s.stacks, s.slow);
	assert_in_range(s.slow, minutes * 10, minutes * 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    ring_test(test_minutes),	       ring_test(test_killed),
	    ring_test(test_equal_sizes),       ring_test(test_descents_stay),
	    ring_test(test_samples),	       ring_test(test_layers),
	    ring_test(test_the_minute_before), ring_test(test_a_torn_minute),
	    ring_test(test_a_wrong_time),      ring_test(test_samples_of_descents),
	    ring_test(test_slow_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
