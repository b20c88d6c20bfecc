// SPDX-License-Identifier: GPL-2.0-or-later
/* A sleep that is kept after its record is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/session/frame.h"
#include "analysis/session/sleep_texts.h"

/* Another record takes the memory of the first one. All texts of the kept sleep are still there. */
static void test_kept(void **state)
{
	struct frame_decoder *d = frame_decoder_new();
	struct record rec = {.type = REC_WITNESS}, other = {.type = REC_WITNESS};
	struct buf before, again, overwriting;
	struct sleep_texts texts;
	struct rec_sleep kept;
	struct frame frame;

	(void)state;
	buf_init(&before, 1 << 16);
	buf_init(&again, 1 << 16);
	buf_init(&overwriting, 1 << 16);
	rec.witness.sleep = (struct rec_sleep){.call = "pwrite64",
					       .name = "the name",
					       .waker = "the waker",
					       .holder = "the holder",
					       .doing = "what it did",
					       .about = "too many dirty pages"};
	other.witness.sleep = (struct rec_sleep){.call = "XXXXXXXX",
						 .name = "XXXXXXXX",
						 .waker = "XXXXXXXXX",
						 .holder = "XXXXXXXXXX",
						 .doing = "XXXXXXXXXXX",
						 .about = "XXXXXXXXXXXXXXXXXXXX"};
	assert_int_equal(frame_encode(&before, &rec, 0), 0);
	assert_int_equal(frame_encode(&overwriting, &other, 0), 0);
	assert_int_equal(frame_decode(d, before.data, before.len, &frame), 1);
	kept = frame.rec.witness.sleep;
	sleep_texts_keep(&texts, &kept);
	assert_int_equal(frame_decode(d, overwriting.data, overwriting.len, &frame), 1);
	frame_decoder_free(d);
	rec.witness.sleep = kept;
	assert_int_equal(frame_encode(&again, &rec, 0), 0);
	assert_int_equal(again.len, before.len);
	assert_memory_equal(again.data, before.data, before.len);
	buf_release(&before);
	buf_release(&again);
	buf_release(&overwriting);
}

static void test_absent_and_long(void **state)
{
	char text[400];
	struct rec_sleep s = {.name = text};
	struct sleep_texts texts;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sleep_texts_keep(&texts, &s);
	assert_string_equal(s.call, "");
	assert_int_equal(strlen(s.name), sizeof(texts.name) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kept),
	    cmocka_unit_test(test_absent_and_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
