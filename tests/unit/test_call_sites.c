// SPDX-License-Identifier: GPL-2.0-or-later
/* What functions of this very program call, as the parser worker tells it. */
#include "tests/unit/self_parser.h"

uint64_t shape_leaf(uint64_t n);
uint64_t shape_plain(uint64_t n);
uint64_t shape_loop(uint64_t n);
uint64_t shape_nested(uint64_t n);
uint64_t shape_forward(uint64_t n);
uint64_t shape_tail(uint64_t n);
uint64_t shape_import(uint64_t n);
uint64_t shape_pointer(uint64_t (*f)(uint64_t), uint64_t n);
uint64_t shape_noreturn(uint64_t n);
uint64_t shape_switch(uint64_t n);

SHAPE uint64_t shape_leaf(uint64_t n)
{
	return n ^ sink;
}

/* Two calls in one block. */
SHAPE uint64_t shape_plain(uint64_t n)
{
	uint64_t a = shape_leaf(n);

	return a + shape_leaf(a + 1) + 1;
}

/* One call before, one in, one after a loop. */
SHAPE uint64_t shape_loop(uint64_t n)
{
	uint64_t sum = shape_leaf(n);

	for (uint64_t i = 0; i < n; i++)
		sum += shape_plain(sum);
	return sum + shape_leaf(sum) + 1;
}

SHAPE uint64_t shape_nested(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		for (uint64_t k = 0; k < i; k++)
			sum += shape_leaf(k);
		sum += shape_plain(i);
	}
	return sum;
}

/* Branches without a loop: no call of it lies in one. */
SHAPE uint64_t shape_forward(uint64_t n)
{
	uint64_t sum = 1;

	if (n & 1)
		sum += shape_leaf(n);
	if (n & 2)
		sum += shape_plain(n);
	return sum + shape_leaf(sum) + 1;
}

SHAPE uint64_t shape_tail(uint64_t n)
{
	sink = n;
	return shape_leaf(n + 1);
}

SHAPE uint64_t shape_import(uint64_t n)
{
	return (uint64_t)getppid() + n;
}

SHAPE uint64_t shape_pointer(uint64_t (*f)(uint64_t), uint64_t n)
{
	return f(n) + 1;
}

SHAPE uint64_t shape_noreturn(uint64_t n)
{
	if (n == 77)
		abort();
	return shape_leaf(n) + 1;
}

/* A jump through a table, in a loop. */
SHAPE uint64_t shape_switch(uint64_t n)
{
	uint64_t sum = shape_leaf(n);

	while (n--) {
		switch (n % 8) {
		case 0:
			sum += shape_leaf(1);
			break;
		case 1:
			sum ^= shape_plain(2);
			break;
		case 2:
			sum *= shape_loop(3);
			break;
		case 3:
			sum -= shape_nested(4);
			break;
		case 4:
			sum |= shape_forward(5);
			break;
		case 5:
			sum &= shape_tail(6);
			break;
		default:
			sum += 9;
		}
	}
	return sum;
}

/* The call sites of a function; valid until the next question. */
static const struct parsed_call_sites *sites_of(const char *name)
{
	struct parse_request req = {.module = SELF, .text = "", .offset = offset_of(name)};

	wait_for(parser_ask(parser, PARSE_CALL_SITES, &req, NULL));
	assert_int_equal(answer.type, PARSED_CALL_SITES);
	assert_int_equal(answer.call_sites.error, 0);
	assert_int_equal(answer.call_sites.module, SELF);
	assert_int_equal(answer.call_sites.offset, req.offset);
	for (uint32_t i = 1; i < answer.call_sites.nr; i++)
		assert_true(answer.call_sites.sites[i - 1].offset <
			    answer.call_sites.sites[i].offset);
	return &answer.call_sites;
}

/* Of the calls of `callee`: how many, and how many in a loop. */
static void count(const struct parsed_call_sites *c, uint64_t callee, unsigned int *calls,
		  unsigned int *looped)
{
	*calls = *looped = 0;
	for (uint32_t i = 0; i < c->nr; i++) {
		if (!c->sites[i].known || c->sites[i].callee != callee)
			continue;
		++*calls;
		*looped += !!(c->sites[i].flags & CALL_SITE_LOOP);
	}
}

static void timed(const struct parsed_call_site *s)
{
	assert_true(s->flags & CALL_SITE_TIMED);
	assert_int_equal(s->why, 0);
	assert_int_equal(s->start.module, SELF);
	assert_int_equal(s->start.offset, s->offset);
	assert_int_equal(s->start.role, SITE_CALL);
	assert_int_equal(s->end.role, SITE_RETURN);
	assert_true(s->end.offset >= s->ret && s->end.offset < s->ret + 64);
	assert_int_equal(s->end.ret, s->ret);
}

static void plain(void **state)
{
	uint64_t leaf = offset_of("shape_leaf");
	const struct parsed_call_sites *c = sites_of("shape_plain");

	assert_int_equal(c->nr, 2);
	assert_int_equal(c->total, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(c->sites[i].kind, CALLEE_DIRECT);
		assert_true(c->sites[i].known);
		assert_int_equal(c->sites[i].callee, leaf);
		assert_int_equal(c->sites[i].ret, c->sites[i].offset + 5);
		assert_false(c->sites[i].flags & CALL_SITE_LOOP);
		timed(&c->sites[i]);
	}
	assert_true(c->sites[0].block && c->sites[0].block == c->sites[1].block);
}

static void leaf(void **state)
{
	assert_int_equal(sites_of("shape_leaf")->nr, 0);
}

static void loops(void **state)
{
	uint64_t leaf_at = offset_of("shape_leaf"), plain_at = offset_of("shape_plain");
	const struct parsed_call_sites *c = sites_of("shape_loop");
	unsigned int calls, looped;

	count(c, leaf_at, &calls, &looped);
	assert_true(calls >= 2 && looped == 0);
	count(c, plain_at, &calls, &looped);
	assert_true(calls >= 1 && looped == calls);
	c = sites_of("shape_nested");
	count(c, leaf_at, &calls, &looped);
	assert_true(calls >= 1 && looped == calls);
	count(c, plain_at, &calls, &looped);
	assert_true(calls >= 1 && looped == calls);
}

static void forward_branches_are_no_loop(void **state)
{
	const struct parsed_call_sites *c = sites_of("shape_forward");

	assert_true(c->nr >= 3);
	for (uint32_t i = 0; i < c->nr; i++)
		assert_false(c->sites[i].flags & CALL_SITE_LOOP);
	/* calls that may be passed over are no block with those that are not */
	for (uint32_t i = 1; i < c->nr; i++)
		assert_true(!c->sites[i].block || c->sites[i].block != c->sites[i - 1].block);
}

static void tail_call(void **state)
{
	uint64_t leaf_at = offset_of("shape_leaf");
	const struct parsed_call_sites *c = sites_of("shape_tail");

	assert_int_equal(c->nr, 1);
#ifdef __OPTIMIZE__
	assert_int_equal(c->sites[0].kind, CALLEE_TAIL);
	assert_int_equal(c->sites[0].ret, 0);
	assert_int_equal(c->sites[0].end.module, 0);
	assert_int_equal(c->sites[0].start.cfa, 8);
#endif
	assert_int_equal(c->sites[0].callee, leaf_at);
	assert_true(c->sites[0].flags & CALL_SITE_TIMED);
	assert_int_equal(c->sites[0].start.offset, c->sites[0].offset);
}

static void import(void **state)
{
	const struct parsed_call_sites *c = sites_of("shape_import");
	uint32_t i;

	for (i = 0; i < c->nr && strcmp(c->sites[i].import, "getppid"); i++)
		;
	assert_true(i < c->nr);
	assert_int_equal(c->sites[i].kind, CALLEE_PLT);
	assert_false(c->sites[i].known);
	timed(&c->sites[i]);
	/* what the loader wrote */
	assert_int_equal(c->sites[i].operand.kind, OPERAND_SLOT);
	assert_int_equal(c->sites[i].operand.base, OPERAND_IP);
}

static void pointer(void **state)
{
	const struct parsed_call_sites *c = sites_of("shape_pointer");
	uint32_t i;

	for (i = 0; i < c->nr && c->sites[i].kind != CALLEE_INDIRECT; i++)
		;
	assert_true(i < c->nr);
	assert_false(c->sites[i].known);
	assert_string_equal(c->sites[i].import, "");
	assert_true(c->sites[i].operand.kind == OPERAND_REGISTER ||
		    c->sites[i].operand.kind == OPERAND_MEMORY);
	assert_true(c->sites[i].operand.base < OPERAND_NO_REG);
}

static void noreturn(void **state)
{
	const struct parsed_call_sites *c = sites_of("shape_noreturn");
	bool seen = false;

	for (uint32_t i = 0; i < c->nr; i++) {
		if (strcmp(c->sites[i].import, "abort"))
			continue;
		seen = true;
		assert_false(c->sites[i].flags & CALL_SITE_TIMED);
		assert_true(c->sites[i].flags & CALL_SITE_NORETURN);
	}
	assert_true(seen);
}

static void table(void **state)
{
	uint64_t leaf_at = offset_of("shape_leaf"), nested_at = offset_of("shape_nested");
	const struct parsed_call_sites *c = sites_of("shape_switch");
	unsigned int calls, looped;

	/* the jump through the table stays in the function: it calls nothing */
	for (uint32_t i = 0; i < c->nr; i++)
		assert_true(c->sites[i].kind != CALLEE_TAIL_INDIRECT &&
			    c->sites[i].kind != CALLEE_INDIRECT);
	count(c, nested_at, &calls, &looped);
	assert_true(calls >= 1 && looped == calls);
	/* the one before the loop is not in it */
	count(c, leaf_at, &calls, &looped);
	assert_true(looped >= 1 && looped < calls);
}

static void errors(void **state)
{
	struct parse_request req = {.module = SELF, .text = "", .offset = 1};

	wait_for(parser_ask(parser, PARSE_CALL_SITES, &req, NULL));
	assert_int_equal(answer.type, PARSED_CALL_SITES);
	assert_true(answer.call_sites.error < 0);
	assert_true(answer.call_sites.reason[0]);
	req.module = 99;
	wait_for(parser_ask(parser, PARSE_CALL_SITES, &req, NULL));
	assert_int_equal(answer.type, PARSED_CALL_SITES);
	assert_int_equal(answer.call_sites.error, -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain),	 cmocka_unit_test(leaf),
	    cmocka_unit_test(loops),	 cmocka_unit_test(forward_branches_are_no_loop),
	    cmocka_unit_test(tail_call), cmocka_unit_test(import),
	    cmocka_unit_test(pointer),	 cmocka_unit_test(noreturn),
	    cmocka_unit_test(table),	 cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
