// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that were cut by a large frame: which piece is asked for, and what becomes of the answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tui/engine/cut_stacks.h"

struct front;
int front_request(struct front *f, const struct record *rec);

#define SP 0x7ffe0000ull
#define WANTED (SP + 0x20000)
enum { NR_REGS = 21 };

static struct req_stack_piece asked;
static unsigned int nr_asked;

/* Stands in for the socket to the collector. */
int front_request(struct front *f, const struct record *rec)
{
	(void)f;
	assert_int_equal(rec->type, REQ_STACK_PIECE);
	asked = rec->req_stack_piece;
	nr_asked++;
	return 0;
}

static const uint64_t regs[NR_REGS] = {[16] = 0x401000, [19] = SP};
static const uint64_t words[] = {1, 2, 3};

static struct record snapshot(uint32_t tid, uint64_t switches)
{
	struct record rec = {.type = REC_RAW_SNAPSHOT};

	rec.raw_snapshot =
	    (struct rec_raw_snapshot){.snapshot = {.pid = 9,
						   .tid = tid,
						   .comm = "",
						   .sleep = {.call = "", .name = "", .waker = ""},
						   .kernel = "",
						   .stop_text = ""},
				      .nr_regs = NR_REGS,
				      .regs = regs,
				      .nr_words = 3,
				      .words = words,
				      .switches = switches};
	return rec;
}

static bool ask(struct cut_stacks *c, const struct record *rec, uint64_t missing)
{
	return cut_stacks_ask(c, NULL, rec, &(struct parsed_frames){.missing = missing});
}

static struct record *piece(struct cut_stacks *c, uint32_t tid, uint64_t wanted, uint64_t address,
			    uint32_t nr)
{
	uint64_t bytes[STACK_PIECE_WORDS];

	for (uint32_t i = 0; i < STACK_PIECE_WORDS; i++)
		bytes[i] = 100 + i;
	return cut_stacks_take(
	    c,
	    &(struct rec_stack_piece){
		.tid = tid, .wanted = wanted, .address = address, .nr_words = nr, .words = bytes});
}

/* Only of a thread that sleeps on, and only if a word is missing. */
static void test_asked(void **state)
{
	struct record awake = snapshot(10, 0), asleep = snapshot(10, 7);
	struct cut_stacks c = {0};

	(void)state;
	nr_asked = 0;
	assert_false(ask(&c, &awake, WANTED));
	assert_false(ask(&c, &asleep, 0));
	asleep.raw_snapshot.nr_regs = 0;
	assert_false(ask(&c, &asleep, WANTED));
	assert_int_equal(nr_asked, 0);
	asleep.raw_snapshot.nr_regs = NR_REGS;
	assert_true(ask(&c, &asleep, WANTED));
	assert_int_equal(nr_asked, 1);
	assert_int_equal(asked.pid, 9);
	assert_int_equal(asked.tid, 10);
	assert_int_equal(asked.switches, 7);
	assert_int_equal(asked.sp, SP);
	assert_int_equal(asked.address, WANTED);
	while (c.nr < CUT_STACKS)
		assert_true(ask(&c, &asleep, WANTED));
	assert_false(ask(&c, &asleep, WANTED));
	cut_stacks_release(&c);
	assert_int_equal(c.nr, 0);
}

static void test_taken(void **state)
{
	struct record rec = snapshot(10, 7), *more, *again;
	struct cut_stacks c = {0};

	(void)state;
	assert_true(ask(&c, &rec, WANTED));
	/* of another thread, of another word */
	assert_null(piece(&c, 11, WANTED, WANTED, 4));
	assert_null(piece(&c, 10, WANTED + 8, WANTED, 4));
	more = piece(&c, 10, WANTED, WANTED - 8, 4);
	assert_non_null(more);
	assert_int_equal(c.nr, 0);
	assert_int_equal(more->raw_snapshot.nr_words, 3);
	assert_int_equal(more->raw_snapshot.nr_pieces, 6);
	assert_int_equal(more->raw_snapshot.pieces[0], WANTED - 8);
	assert_int_equal(more->raw_snapshot.pieces[1], 4);
	assert_int_equal(more->raw_snapshot.pieces[5], 103);
	/* a second frame of that kind */
	assert_true(ask(&c, more, WANTED + 0x10000));
	free(more);
	more = piece(&c, 10, WANTED + 0x10000, WANTED + 0x10000, 1);
	assert_int_equal(more->raw_snapshot.nr_pieces, 9);
	assert_int_equal(more->raw_snapshot.pieces[0], WANTED - 8);
	assert_int_equal(more->raw_snapshot.pieces[6], WANTED + 0x10000);
	assert_int_equal(more->raw_snapshot.pieces[8], 100);
	/* not without end */
	for (unsigned int i = 2; ask(&c, more, WANTED + i * 0x10000); i++) {
		assert_true(i < STACK_PIECES);
		again =
		    piece(&c, 10, WANTED + i * 0x10000, WANTED + i * 0x10000, STACK_PIECE_WORDS);
		free(more);
		more = again;
		assert_true(more->raw_snapshot.nr_pieces <= STACK_PIECES_WORDS);
	}
	free(more);
	cut_stacks_release(&c);
}

/* The thread went on, or what was sent does not have the word: it is not asked for again. */
static void test_in_vain(void **state)
{
	struct record rec = snapshot(10, 7), *same;
	struct cut_stacks c = {0};
	const struct {
		uint64_t address;
		uint32_t nr;
	} useless[] = {
	    {WANTED, 0}, {WANTED + 8, 4}, {WANTED - 32, 4}, {WANTED, STACK_PIECE_WORDS + 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(useless) / sizeof(*useless); i++) {
		assert_true(ask(&c, &rec, WANTED));
		same = piece(&c, 10, WANTED, useless[i].address, useless[i].nr);
		assert_non_null(same);
		assert_int_equal(same->raw_snapshot.nr_pieces, 0);
		assert_int_equal(same->raw_snapshot.nr_words, 3);
		assert_false(ask(&c, same, WANTED));
		free(same);
	}
	assert_int_equal(c.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_asked),
					   cmocka_unit_test(test_taken),
					   cmocka_unit_test(test_in_vain)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
