/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of every type with random contents, and their comparison. */
#ifndef TESTS_RANDOM_RECORDS_H
#define TESTS_RANDOM_RECORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/session/codec.h"
#include "analysis/session/record_codec.h"

static uint64_t seed;

static inline uint64_t random64(void)
{
	seed += 0x9e3779b97f4a7c15u;
	uint64_t z = seed;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Numbers of every length: the edges of varints matter more than the middle. */
static inline uint64_t random_number(void)
{
	switch (random64() % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	default:
		return random64() >> random64() % 64;
	}
}

static const uint16_t all_types[] = {
    REC_META,	       REC_TARGET,	 REC_TARGET_END,
    REC_MODULE,	       REC_MAPPING,	 REC_OP,
    REC_PROFILE,       REC_SAMPLE,	 REC_OPEN,
    REC_TICK,	       REC_COST,	 REC_LOSS,
    REC_NOTE,	       REC_SITE,	 REC_ACK,
    REC_REFUSED,       REC_CHECK,	 REC_CONSTANT,
    REC_MARK,	       REC_SYMBOL,	 REC_NEW_RETURN,
    REC_FILE,	       REC_BYE,		 REC_STACK,
    REC_ALIVE,	       REQ_HEARTBEAT,	 REQ_LAYERS,
    REQ_ARM,	       REQ_DISARM,	 REQ_FILE,
    REQ_DEBUG_FILE,    REQ_STOP,	 REQ_GO,
    REQ_DESCEND,       REQ_TARGET,	 REQ_LEARN,
    REC_DESCENT,       REC_CALLEES,	 REC_INDIRECT_CALLEES,
    REC_CALL,	       REC_WITNESS,	 REC_FNODE,
    REC_FNODE_LOST,    REC_PHASES,	 REQ_PHASES,
    REC_INLINES,       REC_WALK,	 REC_THREAD_SNAPSHOT,
    REC_THREAD,	       REC_RAW_SNAPSHOT, REQ_THREAD_SNAPSHOTS,
    REC_WINDOW,	       REC_TASK,	 REC_SWITCH,
    REC_ASLEEP,	       REC_WAKING,	 REC_LIFE,
    REC_BLOCK,	       REC_WORK,	 REC_RUN_SAMPLE,
    REC_TRACE,	       REC_NAME,	 REC_OBJECT,
    REC_STEAL,	       REC_RAW_TRACE,	 REQ_WAITS,
    REC_CHOICE,	       REQ_CHOICE,	 REC_BUILD_ID,
    REC_SAVED_PROFILE, REC_STACK_PIECE,	 REQ_STACK_PIECE,
    REC_BOOKMARK,      REC_PARTS,	 REC_CLOCK,
    REC_SLOW_CALL,     REQ_MEMBERS,	 REQ_KEEP,
    REC_QUESTION,      REC_FOLLOWED,	 REC_OPEN_ASK,
};
enum { NR_TYPES = sizeof(all_types) / sizeof(all_types[0]) };

static inline char *random_text(size_t max)
{
	size_t n = random64() % (max + 1), i;
	char *text = test_malloc(n + 1);

	for (i = 0; i < n; i++)
		text[i] = (char)(1 + random64() % 255);
	text[n] = '\0';
	return text;
}

static inline void object_fill(const struct struct_layout *layout, void *object);

static inline void field_fill(const struct field *f, void *object)
{
	char *value = (char *)object + f->offset;
	uint32_t *count = (uint32_t *)(void *)((char *)object + f->offset_count);
	uint32_t i, n, *bucket;
	uint64_t *numbers;
	char *items;

	switch ((enum field_kind)f->kind) {
	case FIELD_U32:
	case FIELD_I32:
		*(uint32_t *)(void *)value = (uint32_t)random_number();
		break;
	case FIELD_U64:
	case FIELD_I64:
		*(uint64_t *)(void *)value = random_number();
		break;
	case FIELD_TEXT:
		*(char **)(void *)value = random_text(random64() % 16 ? 20 : CODEC_MAX_TEXT);
		break;
	case FIELD_NUMBERS:
		for (i = 0; i < f->maximum; i++)
			((uint64_t *)(void *)value)[i] = random_number();
		break;
	case FIELD_STRUCT:
		object_fill(f->nested, value);
		break;
	case FIELD_U64S:
		*count = random64() % 5;
		numbers = test_malloc((*count + 1) * sizeof(*numbers));
		for (i = 0; i < *count; i++)
			numbers[i] = random_number();
		*(void **)(void *)value = numbers;
		break;
	case FIELD_STRUCTS:
		*count = random64() % 5;
		items = test_malloc((*count + 1) * f->nested->size);
		for (i = 0; i < *count; i++)
			object_fill(f->nested, items + i * f->nested->size);
		*(void **)(void *)value = items;
		break;
	case FIELD_BUCKETS:
		bucket = test_malloc(f->maximum * sizeof(*bucket));
		numbers = test_malloc(f->maximum * sizeof(*numbers));
		for (n = 0, i = random64() % 8; i < f->maximum; i += 1 + random64() % 40) {
			bucket[n] = i;
			numbers[n++] = random_number() | 1;
		}
		*count = n;
		*(void **)(void *)value = bucket;
		*(void **)(void *)((char *)object + f->offset_second) = numbers;
		break;
	}
}

static inline void object_fill(const struct struct_layout *layout, void *object)
{
	unsigned int i;

	memset(object, 0, layout->size);
	for (i = 0; i < layout->nr_fields; i++)
		field_fill(&layout->fields[i], object);
}

static inline void object_free(const struct struct_layout *layout, void *object)
{
	unsigned int i;
	uint32_t k;

	for (i = 0; i < layout->nr_fields; i++) {
		const struct field *f = &layout->fields[i];
		void **value = (void **)(void *)((char *)object + f->offset);
		uint32_t *count = (uint32_t *)(void *)((char *)object + f->offset_count);

		if (f->kind == FIELD_STRUCT)
			object_free(f->nested, value);
		if (f->kind == FIELD_STRUCTS)
			for (k = 0; k < *count; k++)
				object_free(f->nested, (char *)*value + k * f->nested->size);
		if (f->kind == FIELD_TEXT || f->kind == FIELD_STRUCTS || f->kind == FIELD_U64S ||
		    f->kind == FIELD_BUCKETS)
			test_free(*value);
		if (f->kind == FIELD_BUCKETS)
			test_free(*(void **)(void *)((char *)object + f->offset_second));
	}
}

static inline void assert_same(const struct struct_layout *layout, const void *a, const void *b)
{
	unsigned int i;
	uint32_t k, n;

	for (i = 0; i < layout->nr_fields; i++) {
		const struct field *f = &layout->fields[i];
		const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
		const char *p = NULL, *q = NULL;

		if (f->kind >= FIELD_TEXT && f->kind != FIELD_NUMBERS && f->kind != FIELD_STRUCT) {
			memcpy(&p, x, sizeof(p));
			memcpy(&q, y, sizeof(q));
		}
		n = *(const uint32_t *)(const void *)((const char *)a + f->offset_count);
		switch ((enum field_kind)f->kind) {
		case FIELD_U32:
		case FIELD_I32:
			assert_memory_equal(x, y, 4);
			continue;
		case FIELD_U64:
		case FIELD_I64:
			assert_memory_equal(x, y, 8);
			continue;
		case FIELD_TEXT:
			assert_string_equal(p, q);
			continue;
		case FIELD_NUMBERS:
			assert_memory_equal(x, y, f->maximum * 8);
			continue;
		case FIELD_STRUCT:
			assert_same(f->nested, x, y);
			continue;
		default:
			break;
		}
		assert_int_equal(
		    n, *(const uint32_t *)(const void *)((const char *)b + f->offset_count));
		if (f->kind == FIELD_STRUCTS)
			for (k = 0; k < n; k++)
				assert_same(f->nested, p + k * f->nested->size,
					    q + k * f->nested->size);
		if (f->kind == FIELD_U64S)
			assert_memory_equal(p, q, n * 8);
		if (f->kind == FIELD_BUCKETS && n) {
			assert_memory_equal(p, q, n * 4);
			assert_memory_equal(*(const void *const *)(const void *)((const char *)a +
										 f->offset_second),
					    *(const void *const *)(const void *)((const char *)b +
										 f->offset_second),
					    n * 8);
		}
	}
}

static inline void record_fill(struct record *rec, uint16_t type)
{
	memset(rec, 0, sizeof(*rec));
	rec->type = (enum record_type)type;
	object_fill(record_layout(type), &rec->meta);
}

#endif
