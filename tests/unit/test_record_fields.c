// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every member of a record is in the table of its fields. The round trips of test_frame.c are
 * driven by the same tables, so that they cannot see that one is missing.
 */
#include <stdbool.h>

#include "tests/unit/random_records.h"

enum {
	MAX_OBJECT = 4096,
	ALIGNMENT = sizeof(uint64_t),
	/*
	 * Bytes of all records that no field covers: the compiler's padding, before members of 64
	 * bits and at the ends. A member of 32 bits that is missing in its table looks like padding
	 * if it is the second of two, but adds to this sum. A record that got or lost a member of
	 * 32 bits may change it, too: compare the struct with its table before you adapt it.
	 */
	PADDING = 620,
};

static uint16_t type; /* of the record that is looked at */

static void cover(uint8_t *covered, size_t from, size_t size)
{
	for (size_t i = from; i < from + size; i++) {
		if (covered[i])
			fail_msg("record %#x: offset %zu is in two fields", type, i);
		covered[i] = 1;
	}
}

static size_t size_of(const struct field *f)
{
	switch ((enum field_kind)f->kind) {
	case FIELD_U32:
	case FIELD_I32:
		return sizeof(uint32_t);
	case FIELD_NUMBERS:
		return f->maximum * sizeof(uint64_t);
	case FIELD_STRUCT:
		return f->nested->size;
	default:
		return sizeof(uint64_t); /* a number or a pointer */
	}
}

/* Returns how many bytes of the struct, and of those inside of it, no field covers. */
static size_t uncovered(const struct struct_layout *layout)
{
	uint8_t covered[MAX_OBJECT] = {0};
	size_t sum = 0;

	assert_true(layout->size <= sizeof(covered));
	for (unsigned int i = 0; i < layout->nr_fields; i++) {
		const struct field *f = &layout->fields[i];
		enum field_kind kind = (enum field_kind)f->kind;

		cover(covered, f->offset, size_of(f));
		if (kind == FIELD_U64S || kind == FIELD_STRUCTS || kind == FIELD_BUCKETS)
			cover(covered, f->offset_count, sizeof(uint32_t));
		if (kind == FIELD_BUCKETS)
			cover(covered, f->offset_second, sizeof(void *));
		if (f->nested)
			sum += uncovered(f->nested);
	}
	for (size_t i = 0; i < layout->size; i++) {
		if (covered[i])
			continue;
		/* padding is shorter than a member that needs it, and ends where that begins */
		if (i % ALIGNMENT < sizeof(uint32_t))
			fail_msg("record %#x: offset %zu is in no field, in a struct of %zu bytes",
				 type, i, layout->size);
		sum++;
	}
	return sum;
}

static void test_every_member_is_a_field(void **state)
{
	size_t sum = 0;

	for (unsigned int t = 0; t < NR_TYPES; t++) {
		type = all_types[t];
		sum += uncovered(record_layout(type));
	}
	assert_int_equal(sum, PADDING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_member_is_a_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
