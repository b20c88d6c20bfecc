// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames and the record codec: round trips, damage, hostile counts. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/session/frame.h"
#include "analysis/session/raw_frame.h"
#include "analysis/session/record_copy.h"
#include "bpf/buckets.h"
#include "tests/unit/random_records.h"

enum { MAX_OBJECT = 4096, ROUNDS = 40 };

static void test_crc_known_values(void **state)
{
	uint8_t zeros[32] = {0}, counting[4096];
	uint32_t whole;
	size_t i;

	/* RFC 3720 appendix B.4 and the usual check value. */
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(crc32c(0, "", 0), 0);
	for (i = 0; i < sizeof(counting); i++)
		counting[i] = (uint8_t)(i * 7);
	whole = crc32c(0, counting, sizeof(counting));
	for (i = 0; i < 100; i++)
		assert_int_equal(
		    crc32c((uint32_t)i, counting + i, sizeof(counting) - 3 * i),
		    crc32c_portable((uint32_t)i, counting + i, sizeof(counting) - 3 * i));
	for (i = 0; i <= sizeof(counting); i += 61)
		assert_int_equal(
		    whole, crc32c(crc32c(0, counting, i), counting + i, sizeof(counting) - i));
}

static void test_every_type_has_a_layout(void **state)
{
	unsigned int type, known = 0;

	for (type = 0; type < 0x400; type++)
		known += record_layout(type) != NULL;
	assert_int_equal(known, NR_TYPES);
	assert_null(record_layout(0));
	assert_null(record_layout(REC_SAVED_MAX));
	assert_null(record_layout(UINT32_MAX));
}

static void test_round_trip(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct buf out;
	struct record rec;
	struct frame frame;
	unsigned int t, round;

	buf_init(&out, 1 << 21);
	for (t = 0; t < NR_TYPES; t++) {
		for (round = 0; round < ROUNDS; round++) {
			uint32_t sequence = (uint32_t)random64();

			record_fill(&rec, all_types[t]);
			buf_reset(&out);
			assert_int_equal(frame_encode(&out, &rec, sequence), 0);
			assert_int_equal(frame_decode(d, out.data, out.len, &frame), 1);
			assert_int_equal(frame.type, all_types[t]);
			assert_int_equal(frame.known, 1);
			assert_int_equal(frame.sequence, sequence);
			assert_int_equal(frame.size, out.len);
			assert_int_equal(frame.rec.type, all_types[t]);
			assert_same(record_layout(all_types[t]), &rec.meta, &frame.rec.meta);
			object_free(record_layout(all_types[t]), &rec.meta);
		}
	}
	buf_release(&out);
	frame_decoder_free(d);
}

/* A copy is the same, and needs nothing of the original: sanitizers see the use of freed memory. */
static void test_copies(void **state)
{
	for (unsigned int t = 0; t < NR_TYPES; t++) {
		for (unsigned int round = 0; round < ROUNDS; round++) {
			const struct struct_layout *layout = record_layout(all_types[t]);
			struct record rec, *copy, *again;

			record_fill(&rec, all_types[t]);
			copy = record_copy(&rec);
			assert_non_null(copy);
			assert_int_equal(copy->type, rec.type);
			assert_same(layout, &rec.meta, &copy->meta);
			object_free(layout, &rec.meta);
			again = record_copy(copy);
			assert_non_null(again);
			assert_same(layout, &copy->meta, &again->meta);
			free(copy);
			free(again);
		}
	}
}

static void test_flags(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct buf out;
	struct frame frame;
	unsigned int t;

	buf_init(&out, 1 << 20);
	for (t = 0; t < NR_TYPES; t++) {
		struct record rec = {.type = (enum record_type)all_types[t]};

		buf_reset(&out);
		assert_int_equal(frame_encode(&out, &rec, 0), 0);
		assert_int_equal(frame_decode(d, out.data, out.len, &frame), 1);
		assert_int_equal(!!(frame.flags & FRAME_NOT_RECORDED),
				 all_types[t] >= REC_SAVED_MAX);
		assert_int_equal(!!(frame.flags & FRAME_HAS_FD), all_types[t] == REC_FILE);
	}
	struct record refused = {.type = REC_FILE, .file = {.error = -ENOENT}};

	buf_reset(&out);
	assert_int_equal(frame_encode(&out, &refused, 0), 0);
	assert_int_equal(frame_decode(d, out.data, out.len, &frame), 1);
	assert_int_equal(frame.flags, FRAME_NOT_RECORDED);
	assert_int_equal(frame.rec.file.error, -ENOENT);
	buf_release(&out);
	frame_decoder_free(d);
}

static void test_truncation(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct buf out;
	struct record rec;
	struct frame frame;
	unsigned int t;
	size_t n;

	buf_init(&out, 1 << 20);
	for (t = 0; t < NR_TYPES; t++) {
		record_fill(&rec, all_types[t]);
		buf_reset(&out);
		assert_int_equal(frame_encode(&out, &rec, 7), 0);
		for (n = 0; n < out.len; n++) {
			/* A copy of exactly n bytes, so that a sanitizer sees any read beyond. */
			char *copy = malloc(n ? n : 1);

			memcpy(copy, out.data, n);
			assert_int_equal(frame_decode(d, copy, n, &frame), 0);
			free(copy);
		}
		object_free(record_layout(all_types[t]), &rec.meta);
	}
	buf_release(&out);
	frame_decoder_free(d);
}

static void test_flip_of_every_bit(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct buf out;
	struct record rec;
	struct frame frame;
	unsigned int t;
	size_t bit;
	int ret;

	buf_init(&out, 1 << 20);
	for (t = 0; t < NR_TYPES; t++) {
		do {
			record_fill(&rec, all_types[t]);
			buf_reset(&out);
			assert_int_equal(frame_encode(&out, &rec, 7), 0);
			object_free(record_layout(all_types[t]), &rec.meta);
		} while (out.len > 2000);
		for (bit = 0; bit < out.len * 8; bit++) {
			out.data[bit / 8] = (char)(out.data[bit / 8] ^ (1 << bit % 8));
			ret = frame_decode(d, out.data, out.len, &frame);
			/* Never accepted; a longer length can only ask for more bytes. */
			assert_true(ret == -EBADMSG || (ret == 0 && bit / 8 >= 4 && bit / 8 < 8));
			out.data[bit / 8] = (char)(out.data[bit / 8] ^ (1 << bit % 8));
		}
	}
	buf_release(&out);
	frame_decoder_free(d);
}

/* A well-formed envelope around any payload, to reach the codec behind the CRC. */
static void envelope(struct buf *out, uint16_t type, uint16_t flags, const void *payload, size_t n)
{
	uint8_t h[FRAME_HEADER_SIZE] = {
	    (uint8_t)type, (uint8_t)(type >> 8), (uint8_t)flags,     (uint8_t)(flags >> 8),
	    (uint8_t)n,	   (uint8_t)(n >> 8),	 (uint8_t)(n >> 16), (uint8_t)(n >> 24),
	};
	uint32_t crc = crc32c(crc32c(0, h, 12), payload, n);

	memcpy(h + 12, &crc, 4);
	buf_reset(out);
	assert_int_equal(buf_append(out, h, sizeof(h)), 0);
	assert_int_equal(buf_append(out, payload, n), 0);
}

static int decode_payload(struct frame_decoder *d, uint16_t type, const void *payload, size_t n,
			  struct frame *frame)
{
	struct buf out;
	int ret;

	buf_init(&out, 1 << 21);
	envelope(&out, type, 0, payload, n);
	ret = frame_decode(d, out.data, out.len, frame);
	buf_release(&out);
	return ret;
}

static void test_payload_mutations_are_survived(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct buf out, again;
	struct record rec;
	struct frame frame;
	unsigned int t, round, i;
	size_t n;
	int ret;

	buf_init(&out, 1 << 20);
	buf_init(&again, 1 << 22);
	for (t = 0; t < NR_TYPES; t++) {
		for (round = 0; round < 300; round++) {
			record_fill(&rec, all_types[t]);
			buf_reset(&out);
			assert_int_equal(frame_encode(&out, &rec, 7), 0);
			object_free(record_layout(all_types[t]), &rec.meta);
			n = out.len - FRAME_HEADER_SIZE;
			for (i = 0; n && i < 1 + round % 4; i++)
				out.data[FRAME_HEADER_SIZE + random64() % n] = (char)random64();
			if (n && round % 3 == 0)
				n -= random64() % n;
			ret = decode_payload(d, all_types[t], out.data + FRAME_HEADER_SIZE, n,
					     &frame);
			assert_true(ret == 1 || ret == -EBADMSG);
			/* What was accepted is fit to be written again. */
			buf_reset(&again);
			if (ret == 1)
				assert_int_equal(frame_encode(&again, &frame.rec, 0), 0);
		}
	}
	buf_release(&out);
	buf_release(&again);
	frame_decoder_free(d);
}

static void test_older_writer(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	const uint8_t op[] = {5, 1, 3, 'a', 'b', 'c'};
	struct frame frame;

	assert_int_equal(decode_payload(d, REC_OP, op, sizeof(op), &frame), 1);
	assert_int_equal(frame.rec.op.op, 5);
	assert_int_equal(frame.rec.op.layer, 1);
	assert_string_equal(frame.rec.op.name, "abc");
	assert_string_equal(frame.rec.op.label, "");
	assert_string_equal(frame.rec.op.placement, "");
	assert_int_equal(frame.rec.op.offset, 0);
	assert_int_equal(decode_payload(d, REC_META, "", 0, &frame), 1);
	assert_string_equal(frame.rec.meta.version, "");
	assert_string_equal(frame.rec.meta.command, "");
	/* An ARM without its operation still has texts that can be read. */
	assert_int_equal(decode_payload(d, REQ_ARM, "\1", 1, &frame), 1);
	assert_string_equal(frame.rec.arm.op.name, "");
	assert_int_equal(frame.rec.arm.nr_sites, 0);
	frame_decoder_free(d);
}

static void test_newer_writer(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	const uint8_t ack[] = {9, 42, 1, 2, 3, 255, 255, 255};
	/* epoch, an op of 1 byte, 1 site of 14 bytes: eleven known fields and three more */
	const uint8_t arm[] = {7, 1, 33, 1, 14, 33, 2, 16, 1, 0, 1, 3, 1, 5, 1, 9, 99, 99, 99, 77};
	struct frame frame;

	assert_int_equal(decode_payload(d, REC_ACK, ack, sizeof(ack), &frame), 1);
	assert_int_equal(frame.rec.ack.epoch, 9);
	assert_int_equal(frame.rec.ack.at_ns, 42);
	assert_int_equal(decode_payload(d, REQ_ARM, arm, sizeof(arm), &frame), 1);
	assert_int_equal(frame.rec.arm.op.op, 33);
	assert_int_equal(frame.rec.arm.nr_sites, 1);
	assert_int_equal(frame.rec.arm.sites[0].offset, 16);
	assert_int_equal(frame.rec.arm.sites[0].cfa, -1);
	assert_int_equal(frame.rec.arm.sites[0].ret_valid, 1);
	assert_int_equal(frame.rec.arm.sites[0].args, 9);
	frame_decoder_free(d);
}

static void test_more_arguments_than_known(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	const uint8_t open[] = {1, 2, 3, 0, 4, 5, 6, 8, 11, 12, 13, 14, 15, 16, 17, 18};
	struct frame frame;

	assert_int_equal(decode_payload(d, REC_OPEN, open, sizeof(open), &frame), 1);
	assert_int_equal(frame.rec.open.args[0], 11);
	assert_int_equal(frame.rec.open.args[5], 16);
	frame_decoder_free(d);
}

static void test_unknown_types(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	const uint16_t unknown[] = {0, REC_SAVED_MAX, 0x7f, 0x90, 0x150, 0x8000, 0xffff};
	struct frame frame;
	struct buf out;
	unsigned int i;

	buf_init(&out, 4096);
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		envelope(&out, unknown[i], 0, "abc", 3);
		assert_int_equal(frame_decode(d, out.data, out.len, &frame), 1);
		assert_int_equal(frame.known, 0);
		assert_int_equal(frame.type, unknown[i]);
		assert_int_equal(frame.size, out.len);
		envelope(&out, unknown[i], FRAME_CRITICAL, "abc", 3);
		assert_int_equal(frame_decode(d, out.data, out.len, &frame), -ENOTSUP);
	}
	buf_release(&out);
	frame_decoder_free(d);
}

static void test_hostile_counts(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct frame frame;
	/* A profile up to its buckets. */
	uint8_t profile[64] = {0};
	/* A note: the text says 100 bytes and has 3; 5000 bytes; 2^63 bytes. */
	const uint8_t cut[] = {0, 100, 'a', 'b', 'c'};
	const uint8_t huge[] = {0, 255, 255, 255, 255, 255, 255, 255, 255, 127, 'a'};
	uint8_t *text = calloc(1, 6000);
	/* ARM with 2^31 sites in two bytes. */
	const uint8_t sites[] = {1, 0, 128, 128, 128, 128, 8, 0, 0};
	const uint8_t nested[] = {1, 50, 0, 0};

	assert_int_equal(decode_payload(d, REC_NOTE, cut, sizeof(cut), &frame), -EBADMSG);
	assert_int_equal(decode_payload(d, REC_NOTE, huge, sizeof(huge), &frame), -EBADMSG);
	memset(text, 'x', 6000);
	text[0] = 0;
	text[1] = 0x80 | (FRAME_MAX_TEXT & 0x7f);
	text[2] = FRAME_MAX_TEXT >> 7;
	assert_int_equal(decode_payload(d, REC_NOTE, text, 6000, &frame), 1);
	assert_int_equal(strlen(frame.rec.note.text), FRAME_MAX_TEXT);
	text[1]++;
	assert_int_equal(decode_payload(d, REC_NOTE, text, 6000, &frame), -EBADMSG);
	free(text);
	assert_int_equal(decode_payload(d, REQ_ARM, sites, sizeof(sites), &frame), -EBADMSG);
	assert_int_equal(decode_payload(d, REQ_ARM, nested, sizeof(nested), &frame), -EBADMSG);
	profile[13] = 30; /* 30 buckets need 60 bytes */
	assert_int_equal(decode_payload(d, REC_PROFILE, profile, 64, &frame), -EBADMSG);
	memset(profile + 14, 1, 50);
	profile[13] = 25;
	assert_int_equal(decode_payload(d, REC_PROFILE, profile, 64, &frame), 1);
	assert_int_equal(frame.rec.profile.nr_buckets, 25);
	assert_int_equal(frame.rec.profile.bucket[24], 25);
	profile[15] = 0; /* a count of zero */
	assert_int_equal(decode_payload(d, REC_PROFILE, profile, 64, &frame), -EBADMSG);
	profile[15] = 1;
	profile[16] = 0; /* the same bucket twice */
	assert_int_equal(decode_payload(d, REC_PROFILE, profile, 64, &frame), -EBADMSG);
	frame_decoder_free(d);
}

static void test_bucket_range(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	uint8_t profile[18] = {[13] = 1, [14] = 0x80 | (351 & 0x7f), [15] = 351 >> 7, [16] = 1};
	struct frame frame;

	assert_int_equal(PT_BUCKETS, 352);
	assert_int_equal(decode_payload(d, REC_PROFILE, profile, 17, &frame), 1);
	assert_int_equal(frame.rec.profile.bucket[0], 351);
	profile[14]++;
	assert_int_equal(decode_payload(d, REC_PROFILE, profile, 17, &frame), -EBADMSG);
	frame_decoder_free(d);
}

static void test_numbers_out_of_range(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	const uint8_t u32_max[] = {255, 255, 255, 255, 15};
	const uint8_t u32_over[] = {128, 128, 128, 128, 16};
	const uint8_t u64_max[] = {0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
	const uint8_t u64_over[] = {0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2};
	const uint8_t eleven[] = {0, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0};
	const uint8_t i32_over[] = {1, 128, 128, 128, 128, 16};
	struct frame frame;

	assert_int_equal(decode_payload(d, REC_ACK, u32_max, sizeof(u32_max), &frame), 1);
	assert_int_equal(frame.rec.ack.epoch, UINT32_MAX);
	assert_int_equal(decode_payload(d, REC_ACK, u32_over, sizeof(u32_over), &frame), -EBADMSG);
	assert_int_equal(decode_payload(d, REC_ACK, u64_max, sizeof(u64_max), &frame), 1);
	assert_true(frame.rec.ack.at_ns == UINT64_MAX);
	assert_int_equal(decode_payload(d, REC_ACK, u64_over, sizeof(u64_over), &frame), -EBADMSG);
	assert_int_equal(decode_payload(d, REC_ACK, eleven, sizeof(eleven), &frame), -EBADMSG);
	assert_int_equal(decode_payload(d, REC_FILE, i32_over, sizeof(i32_over), &frame), -EBADMSG);
	frame_decoder_free(d);
}

static void test_text(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	const uint8_t with_nul[] = {0, 3, 'a', 0, 'b'};
	char *text = malloc(FRAME_MAX_TEXT + 100);
	struct record rec = {.type = REC_NOTE};
	struct frame frame;
	struct buf out;

	assert_int_equal(decode_payload(d, REC_NOTE, with_nul, sizeof(with_nul), &frame), -EBADMSG);
	memset(text, 'y', FRAME_MAX_TEXT + 99);
	text[FRAME_MAX_TEXT + 99] = '\0';
	buf_init(&out, 1 << 16);
	rec.note.text = text;
	assert_int_equal(frame_encode(&out, &rec, 1), 0);
	assert_int_equal(frame_decode(d, out.data, out.len, &frame), 1);
	assert_int_equal(strlen(frame.rec.note.text), FRAME_MAX_TEXT);
	rec.note.text = NULL;
	buf_reset(&out);
	assert_int_equal(frame_encode(&out, &rec, 1), 0);
	assert_int_equal(frame_decode(d, out.data, out.len, &frame), 1);
	assert_string_equal(frame.rec.note.text, "");
	buf_release(&out);
	free(text);
	frame_decoder_free(d);
}

static void test_encode_refuses(void **state)
{
	static const uint32_t falling[] = {5, 4}, beyond[] = {PT_BUCKETS}, good[] = {1, 2};
	static const uint64_t ones[] = {1, 1}, zero[] = {1, 0};
	struct record rec = {.type = REC_PROFILE};
	struct rec_site *sites;
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(buf_puts(&out, "before"), 0);
	rec.profile.nr_buckets = 2;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	rec.profile.bucket = falling;
	rec.profile.count = ones;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	rec.profile.bucket = good;
	rec.profile.count = zero;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	rec.profile.bucket = beyond;
	rec.profile.nr_buckets = 1;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	rec.type = 0;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	rec.type = REC_SAVED_MAX;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	sites = calloc(FRAME_MAX_SITES + 1, sizeof(*sites));
	rec = (struct record){.type = REQ_ARM};
	rec.arm.sites = sites;
	rec.arm.nr_sites = FRAME_MAX_SITES + 1;
	assert_int_equal(frame_encode(&out, &rec, 0), -EINVAL);
	assert_string_equal(out.data, "before");
	assert_int_equal(out.len, 6);
	assert_int_equal(out.err, 0);
	rec.arm.nr_sites = FRAME_MAX_SITES;
	assert_int_equal(frame_encode(&out, &rec, 0), 0);
	free(sites);
	buf_release(&out);
}

static void test_full_buffer_is_as_before(void **state)
{
	struct record rec = {.type = REC_NOTE, .note.text = "a text that does not fit"};
	struct buf out;

	buf_init(&out, 30);
	assert_int_equal(buf_puts(&out, "ab"), 0);
	assert_int_equal(frame_encode(&out, &rec, 0), -E2BIG);
	assert_int_equal(out.len, 2);
	assert_string_equal(out.data, "ab");
	assert_int_equal(buf_puts(&out, "c"), 0);
	buf_release(&out);
}

static void test_length_beyond_the_limit(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	uint8_t header[FRAME_HEADER_SIZE] = {REC_NOTE, 0, 0, 0, 1, 0, 0x10, 0};
	struct frame frame;

	assert_int_equal(frame_decode(d, header, sizeof(header), &frame), -EBADMSG);
	header[4] = 0; /* exactly the limit: more bytes are needed */
	assert_int_equal(frame_decode(d, header, sizeof(header), &frame), 0);
	frame_decoder_free(d);
}

static void test_arena_maximum(void **state)
{
	struct arena arena;
	unsigned int i;

	arena_init(&arena, 100000);
	assert_null(arena_alloc(&arena, 100001));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	for (i = 0; arena_alloc(&arena, 1000); i++)
		;
	assert_in_range(i, 95, 100);
	arena_reset(&arena);
	assert_non_null(arena_alloc(&arena, 90000));
	arena_release(&arena);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_crc_known_values),
	    cmocka_unit_test(test_every_type_has_a_layout),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_copies),
	    cmocka_unit_test(test_flags),
	    cmocka_unit_test(test_truncation),
	    cmocka_unit_test(test_flip_of_every_bit),
	    cmocka_unit_test(test_payload_mutations_are_survived),
	    cmocka_unit_test(test_older_writer),
	    cmocka_unit_test(test_newer_writer),
	    cmocka_unit_test(test_more_arguments_than_known),
	    cmocka_unit_test(test_unknown_types),
	    cmocka_unit_test(test_hostile_counts),
	    cmocka_unit_test(test_bucket_range),
	    cmocka_unit_test(test_numbers_out_of_range),
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_encode_refuses),
	    cmocka_unit_test(test_full_buffer_is_as_before),
	    cmocka_unit_test(test_length_beyond_the_limit),
	    cmocka_unit_test(test_arena_maximum),
	};
	const char *given = getenv("PEAKTOP_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	print_message("seed %llu (PEAKTOP_SEED repeats it)\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
