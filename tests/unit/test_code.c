// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of this very program as the parser worker shows it: instructions, inlined calls, loops. */
#include "tests/unit/self_parser.h"

#define INLINED                                                                                    \
	static inline                                                                              \
	    __attribute__((always_inline, optimize("O2"), no_sanitize("address", "undefined")))

uint64_t code_leaf(uint64_t n);
uint64_t code_caller(uint64_t n);
uint64_t code_nested(uint64_t n);
uint64_t code_straight(uint64_t n);

SHAPE uint64_t code_leaf(uint64_t n)
{
	return n ^ sink;
}

enum { INNER_FIRST = __LINE__ + 5 };
INLINED uint64_t code_inner(uint64_t n)
{
	uint64_t x = n;

	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 7;
		x ^= sink;
		x *= 0x9e3779b97f4a7c15u;
	}
	return x;
}
enum { INNER_LAST = __LINE__ - 3 };

enum { OUTER_FIRST = __LINE__ + 5 };
SHAPE uint64_t code_caller(uint64_t n)
{
	uint64_t sum = code_leaf(n);

	for (uint64_t i = 0; i < n; i++)
		sum += code_inner(sum + i);
	return sum + code_leaf(sum) + 1;
}
enum { OUTER_LAST = __LINE__ - 3 };

SHAPE uint64_t code_straight(uint64_t n)
{
	sink = n + 1;
	return (uint64_t)getppid() + n;
}

/* Valid until the next question. */
static const struct parsed_code *code_at(uint64_t offset, uint32_t max)
{
	struct parse_request req = {.module = SELF, .text = "", .offset = offset, .max = max};

	wait_for(parser_ask(parser, PARSE_CODE, &req, NULL));
	assert_int_equal(answer.type, PARSED_CODE);
	assert_int_equal(answer.code.offset, offset);
	return &answer.code;
}

static uint32_t with_text(const struct parsed_code *c, const char *text)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->nr; i++)
		n += strstr(c->insns[i].text, text) != NULL;
	return n;
}

static void names_and_lines(void **state)
{
	uint64_t start = offset_of("code_caller");
	const struct parsed_code *c = code_at(start, 0);
	uint32_t line = 0;
	bool ours = false;

	assert_int_equal(c->error, 0);
	assert_string_equal(c->function, "code_caller");
	assert_int_equal(c->start, start);
	assert_int_equal(c->nr, c->total);
	assert_int_equal(c->site, 0);
	assert_int_equal(c->insns[0].offset, start);
	/* called by name, twice */
	assert_int_equal(with_text(c, "call"), 2);
	assert_int_equal(with_text(c, " code_leaf"), 2);
	for (uint32_t i = 0; i < c->nr; i++) {
		assert_true(!i || c->insns[i].offset > c->insns[i - 1].offset);
		assert_true(c->insns[i].text[0]);
		ours |= strstr(c->insns[i].file, "test_code.c") != NULL;
		line = c->insns[i].line > line ? c->insns[i].line : line;
	}
	assert_true(ours && line >= OUTER_LAST);
}

static void import(void **state)
{
	const struct parsed_code *c = code_at(offset_of("code_straight"), 0);

	assert_int_equal(with_text(c, "getppid"), 1);
	for (uint32_t i = 0; i < c->nr; i++)
		assert_false(c->insns[i].flags & INSN_OF_LOOP);
}

static void loops_and_jumps(void **state)
{
	const struct parsed_code *c = code_at(offset_of("code_caller"), 0);
	uint32_t in = 0, jumped = 0;

	for (uint32_t i = 0; i < c->nr; i++) {
		in += c->insns[i].flags & INSN_OF_LOOP ? 1 : 0;
		jumped += c->insns[i].flags & INSN_JUMPED_TO ? 1 : 0;
	}
	assert_true(in && in < c->nr);
	assert_true(jumped && jumped < c->nr);
	/* jumps inside of the function are told from its start */
	assert_true(with_text(c, " +0x") >= 2);
}

/* A part of it: the instruction asked for is among them, and is the one that is marked. */
static void window(void **state)
{
	uint64_t start = offset_of("code_caller"), at[64];
	const struct parsed_code *c = code_at(start, 0);
	uint32_t total = c->total;

	assert_true(total > 8 && total <= 64);
	for (uint32_t i = 0; i < total; i++)
		at[i] = c->insns[i].offset;
	for (uint32_t i = 0; i < total; i++) {
		c = code_at(at[i], 5);
		assert_int_equal(c->nr, 5);
		assert_int_equal(c->total, total);
		assert_true(c->site < 5);
		assert_int_equal(c->insns[c->site].offset, at[i]);
	}
	/* in the middle of an instruction: that one */
	for (uint32_t i = 0; i + 1 < total; i++) {
		if (at[i + 1] == at[i] + 1)
			continue;
		c = code_at(at[i] + 1, 0);
		assert_int_equal(c->insns[c->site].offset, at[i]);
	}
}

static void errors(void **state)
{
	const struct parsed_code *c = code_at(1, 0);

	assert_true(c->error < 0 && c->reason[0] && !c->nr);
	c = code_at(UINT64_MAX, 0);
	assert_true(c->error < 0 && c->reason[0] && !c->nr);
	wait_for(parser_ask(parser, PARSE_CODE, &(struct parse_request){.module = 99, .text = ""},
			    NULL));
	assert_int_equal(answer.type, PARSED_CODE);
	assert_int_equal(answer.code.error, -ENOENT);
}

/* Chains of all instructions of a function, with or without their loops. */
static const struct parsed_inlines *chains_of(const char *name, uint32_t max, uint64_t *offsets)
{
	const struct parsed_code *c = code_at(offset_of(name), 0);
	struct parse_request req = {.module = SELF, .text = "", .max = max, .offsets = offsets};

	assert_true(c->nr <= 64);
	for (uint32_t i = 0; i < c->nr; i++)
		offsets[req.nr_offsets++] = c->insns[i].offset;
	wait_for(parser_ask(parser, PARSE_INLINES, &req, NULL));
	assert_int_equal(answer.inlines.error, 0);
	assert_int_equal(answer.inlines.nr, req.nr_offsets);
	return &answer.inlines;
}

static void loop_lines(void **state)
{
	uint64_t offsets[64];
	const struct parsed_inlines *a = chains_of("code_caller", 1, offsets);
	uint32_t inner = 0, outer = 0, none = 0;

	for (uint32_t i = 0; i < a->nr; i++) {
		const struct parsed_chain *c = &a->chains[i];

		assert_true(c->nr >= 1);
		assert_string_equal(c->calls[c->nr - 1].function, "code_caller");
		if (!c->loop_first) {
			none++;
			continue;
		}
		assert_true(c->loop_call < c->nr);
		if (!strcmp(c->calls[c->loop_call].function, "code_inner")) {
			/* the loop of the inlined function, told in its lines */
			assert_int_equal(c->calls[c->loop_call].inlined, 1);
			assert_in_range(c->loop_first, INNER_FIRST, INNER_LAST);
			assert_in_range(c->loop_last, c->loop_first, INNER_LAST);
			assert_true(c->loop_last > c->loop_first);
			inner++;
		} else {
			assert_string_equal(c->calls[c->loop_call].function, "code_caller");
			assert_in_range(c->loop_first, OUTER_FIRST, OUTER_LAST);
			assert_in_range(c->loop_last, c->loop_first, OUTER_LAST);
			outer++;
		}
	}
	assert_true(inner && outer && none);
}

static void loops_only_when_asked(void **state)
{
	uint64_t offsets[64];
	const struct parsed_inlines *a = chains_of("code_caller", 0, offsets);

	for (uint32_t i = 0; i < a->nr; i++)
		assert_int_equal(a->chains[i].loop_first, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_and_lines),
	    cmocka_unit_test(import),
	    cmocka_unit_test(loops_and_jumps),
	    cmocka_unit_test(window),
	    cmocka_unit_test(errors),
	    cmocka_unit_test(loop_lines),
	    cmocka_unit_test(loops_only_when_asked),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
