// SPDX-License-Identifier: GPL-2.0-or-later
/* DWARF expressions as call frame information may hold them (DWARF 5, 2.5 and
 * 6.4.2): no calls, no other frames, no objects. Bounded in steps and depth. */
#include <dwarf.h>

#include "analysis/module/module_frames.h"
#include "analysis/unwind/unwind_internal.h"

enum { MAX_STEPS = 1000, MAX_DEPTH = 64 };

struct evaluation {
	struct cursor c;
	size_t start, end;
	struct frame_state *s;
	uint64_t stack[MAX_DEPTH];
	size_t depth;
	bool bad;
};

static uint64_t pop(struct evaluation *x)
{
	if (!x->depth) {
		x->bad = true;
		return 0;
	}
	return x->stack[--x->depth];
}

static void push(struct evaluation *x, uint64_t value)
{
	if (x->depth == MAX_DEPTH)
		x->bad = true;
	else
		x->stack[x->depth++] = value;
}

static void pick(struct evaluation *x, uint64_t index)
{
	if (index >= x->depth)
		x->bad = true;
	else
		push(x, x->stack[x->depth - 1 - index]);
}

static void push_register(struct evaluation *x, uint64_t reg)
{
	int64_t offset = cursor_sleb(&x->c);

	if (reg >= ROW_REGISTERS || !state_knows(x->s, (unsigned int)reg))
		x->bad = true;
	else
		push(x, x->s->reg[reg] + (uint64_t)offset);
}

static void dereference(struct evaluation *x, uint64_t bytes)
{
	uint64_t address = pop(x), value = 0;

	if (bytes < 1 || bytes > WORD || !state_read(x->s, address, bytes, &value))
		x->bad = true;
	push(x, value);
}

static void move_by(struct evaluation *x, int64_t delta)
{
	int64_t to = (int64_t)x->c.pos + delta;

	if (to < (int64_t)x->start || to > (int64_t)x->end)
		x->bad = true;
	else
		x->c.pos = (size_t)to;
}

static int64_t read_signed(struct evaluation *x, unsigned int bytes)
{
	unsigned int unused = 64 - 8 * bytes;

	return (int64_t)(cursor_fixed(&x->c, bytes) << unused) >> unused;
}

static bool constant(struct evaluation *x, uint8_t op)
{
	/* How many bytes follow. The signed forms have odd numbers; with 8 bytes both are the same.
	 */
	static const uint8_t bytes[] = {
	    [DW_OP_addr] = 8,	 [DW_OP_const1u] = 1, [DW_OP_const1s] = 1,
	    [DW_OP_const2u] = 2, [DW_OP_const2s] = 2, [DW_OP_const4u] = 4,
	    [DW_OP_const4s] = 4, [DW_OP_const8u] = 8, [DW_OP_const8s] = 8,
	};

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		push(x, op - DW_OP_lit0);
	else if (op == DW_OP_constu)
		push(x, cursor_uleb(&x->c));
	else if (op == DW_OP_consts)
		push(x, (uint64_t)cursor_sleb(&x->c));
	else if (op >= sizeof(bytes) || !bytes[op])
		return false;
	else if (op & 1)
		push(x, (uint64_t)read_signed(x, bytes[op]));
	else
		push(x, cursor_fixed(&x->c, bytes[op]));
	return true;
}

static uint64_t combine(struct evaluation *x, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_ge:
		return (int64_t)a >= (int64_t)b;
	case DW_OP_gt:
		return (int64_t)a > (int64_t)b;
	case DW_OP_le:
		return (int64_t)a <= (int64_t)b;
	case DW_OP_lt:
		return (int64_t)a < (int64_t)b;
	default: /* DW_OP_div, DW_OP_mod */
		break;
	}
	if (!b) {
		x->bad = true;
		return 0;
	}
	if (op == DW_OP_mod)
		return a % b;
	/* Signed. INT64_MIN / -1 does not fit and is itself again. */
	return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

static bool two_operands(struct evaluation *x, uint8_t op)
{
	uint64_t a, b;

	if (!(op >= DW_OP_and && op <= DW_OP_ne) || op == DW_OP_neg || op == DW_OP_not ||
	    op == DW_OP_plus_uconst || op == DW_OP_bra)
		return false;
	b = pop(x);
	a = pop(x);
	push(x, combine(x, op, a, b));
	return true;
}

static bool one_operand(struct evaluation *x, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case DW_OP_deref:
		dereference(x, WORD);
		return true;
	case DW_OP_deref_size:
		dereference(x, cursor_fixed(&x->c, 1));
		return true;
	case DW_OP_neg:
		push(x, 0 - pop(x));
		return true;
	case DW_OP_not:
		push(x, ~pop(x));
		return true;
	case DW_OP_abs:
		a = pop(x);
		push(x, a >> 63 ? 0 - a : a);
		return true;
	case DW_OP_plus_uconst:
		a = pop(x);
		push(x, a + cursor_uleb(&x->c));
		return true;
	default:
		return false;
	}
}

static bool of_stack(struct evaluation *x, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case DW_OP_dup:
		pick(x, 0);
		return true;
	case DW_OP_over:
		pick(x, 1);
		return true;
	case DW_OP_pick:
		pick(x, cursor_fixed(&x->c, 1));
		return true;
	case DW_OP_drop:
		pop(x);
		return true;
	case DW_OP_swap:
		b = pop(x);
		a = pop(x);
		push(x, b);
		push(x, a);
		return true;
	case DW_OP_rot:
		c = pop(x);
		b = pop(x);
		a = pop(x);
		push(x, c);
		push(x, a);
		push(x, b);
		return true;
	default:
		return false;
	}
}

static bool control(struct evaluation *x, uint8_t op)
{
	int64_t delta;

	switch (op) {
	case DW_OP_nop:
		return true;
	case DW_OP_skip:
		delta = read_signed(x, 2);
		move_by(x, delta);
		return true;
	case DW_OP_bra:
		delta = read_signed(x, 2);
		if (pop(x))
			move_by(x, delta);
		return true;
	default:
		return false;
	}
}

static bool step(struct evaluation *x)
{
	uint8_t op = (uint8_t)cursor_fixed(&x->c, 1);

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		push_register(x, op - DW_OP_breg0);
	else if (op == DW_OP_bregx)
		push_register(x, cursor_uleb(&x->c));
	else if (!constant(x, op) && !two_operands(x, op) && !one_operand(x, op) &&
		 !of_stack(x, op) && !control(x, op))
		return false;
	return !x->bad && !x->c.bad;
}

bool expression_run(const uint8_t *bytes, size_t n, struct frame_state *s, const uint64_t *cfa,
		    uint64_t *result)
{
	struct evaluation x;
	unsigned int steps = 0;

	x.c = (struct cursor){bytes, 0, n, false};
	x.start = 0;
	x.end = n;
	x.s = s;
	x.depth = 0;
	x.bad = false;
	if (cfa)
		push(&x, *cfa);
	while (x.c.pos < x.c.end)
		if (++steps > MAX_STEPS || !step(&x))
			return false;
	*result = pop(&x);
	return !x.bad;
}
