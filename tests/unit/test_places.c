// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel stacks that are recognised by where their return addresses lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/places.h"

enum { FRAMES = 20, SOONER = 64, TRACE = 7, OTHER_TRACE = 8 };

static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % n;
}

static uint64_t frame(unsigned int i)
{
	return 0xffffffff81000000ull + i * 0x111;
}

/* A stack with return addresses at true words, and old copies of them in `copies` of the others. */
static void stack_make(struct pt_place_room *room, const unsigned int *at, unsigned int frames,
		       unsigned int copies)
{
	for (unsigned int k = 0; k < PT_WAITS_WORDS; k++)
		room->word[k] = k;
	for (unsigned int i = 0; i < copies; i++)
		room->word[random_below(PT_WAITS_WORDS)] = frame(random_below(frames));
	for (unsigned int i = 0; i < frames; i++)
		room->word[at[i]] = frame(i);
}

static void frames_make(uint64_t *frames, unsigned int n)
{
	memset(frames, 0, PT_WAITS_FRAMES * sizeof(*frames));
	for (unsigned int i = 0; i < n; i++)
		frames[i] = frame(i);
}

static int is_here(struct pt_place_room *room, struct pt_place *p)
{
	return place_is_here((uint64_t)(uintptr_t)room->word, p);
}

/* Learn from the stack as the BPF program does. */
static void learn(struct pt_place_room *room, struct pt_place *known, uint32_t trace,
		  const uint64_t *frames)
{
	place_begin(&room->place, known, trace);
	place_fill(room, frames);
	*known = room->place;
}

static void test_recognised_at_once_without_copies(void **state)
{
	static const unsigned int at[] = {9, 25, 27, 45, 64, 71};
	uint64_t frames[PT_WAITS_FRAMES];
	struct pt_place known = {0};
	struct pt_place_room room;

	(void)state;
	frames_make(frames, 6);
	stack_make(&room, at, 6, 0);
	assert_false(is_here(&room, &known));
	learn(&room, &known, TRACE, frames);
	assert_int_equal(known.nr, 6);
	assert_true(is_here(&room, &known));
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(known.at[i], at[i]);
	/* one other caller in the middle */
	room.word[27] = frame(19);
	assert_false(is_here(&room, &known));
}

/* An old copy may be taken for the true word, but not for long. */
static void test_old_copies_are_dropped(void **state)
{
	uint64_t frames[PT_WAITS_FRAMES];

	(void)state;
	for (seed = 1; seed <= 2000; seed++) {
		unsigned int at[FRAMES], n = PT_PLACE_LEAST + random_below(8), word = 0;
		struct pt_place known = {0};
		struct pt_place_room room;

		for (unsigned int i = 0; i < n; i++) {
			word += 1 + random_below(8);
			at[i] = word;
		}
		frames_make(frames, n);
		for (unsigned int i = 0; i < SOONER * n; i++) {
			stack_make(&room, at, n, 20);
			if (!is_here(&room, &known))
				learn(&room, &known, TRACE, frames);
			assert_true(is_here(&room, &known));
			assert_int_equal(known.nr, n);
		}
		for (unsigned int i = 0; i < n; i++)
			assert_int_equal(known.at[i], at[i]);
	}
}

static void test_other_frames_begin_anew(void **state)
{
	static const unsigned int high[] = {60, 70, 80, 90}, low[] = {5, 6, 7, 8};
	uint64_t frames[PT_WAITS_FRAMES];
	struct pt_place known = {0};
	struct pt_place_room room;

	(void)state;
	frames_make(frames, 4);
	stack_make(&room, high, 4, 0);
	learn(&room, &known, TRACE, frames);
	known.hits = 5;
	stack_make(&room, low, 4, 0);
	learn(&room, &known, OTHER_TRACE, frames);
	assert_int_equal(known.at[0], 5);
	assert_int_equal(known.hits, 5);
	assert_true(is_here(&room, &known));
}

/* Too few addresses tell too little; more than there is room for are left out. */
static void test_number_of_addresses(void **state)
{
	unsigned int at[FRAMES];
	uint64_t frames[PT_WAITS_FRAMES];
	struct pt_place known = {0};
	struct pt_place_room room;

	(void)state;
	for (unsigned int i = 0; i < FRAMES; i++)
		at[i] = 3 * i;
	frames_make(frames, PT_PLACE_LEAST - 1);
	stack_make(&room, at, PT_PLACE_LEAST - 1, 0);
	learn(&room, &known, TRACE, frames);
	assert_false(is_here(&room, &known));
	frames_make(frames, FRAMES);
	stack_make(&room, at, FRAMES, 0);
	learn(&room, &known, TRACE, frames);
	assert_int_equal(known.nr, PT_PLACE_ADDRESSES);
	assert_true(is_here(&room, &known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_recognised_at_once_without_copies),
	    cmocka_unit_test(test_old_copies_are_dropped),
	    cmocka_unit_test(test_other_frames_begin_anew),
	    cmocka_unit_test(test_number_of_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
