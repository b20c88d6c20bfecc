// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules for the CFA and the registers at an address: call frame instructions, DWARF 5, 6.4.2.
 */
#include <dwarf.h>

#include "analysis/module/module_frames.h"
#include "analysis/module/module_row.h"

enum { MAX_REMEMBERED = 32 };

struct cfa_machine {
	struct cursor c;
	const struct frame_entry *e;
	uint64_t location; /* of the row being made */
	struct row row;
	struct row initial; /* after the instructions of the CIE */
	size_t nr_remembered;
	struct row remembered[MAX_REMEMBERED];
};

static void define(struct cfa_machine *x, uint64_t reg, int64_t offset)
{
	x->row.cfa = (struct row_rule){.value = offset};
	if (reg < ROW_REGISTERS) {
		x->row.cfa.kind = RULE_REGISTER;
		x->row.cfa.reg = (uint8_t)reg;
	}
}

static int64_t factored(const struct cfa_machine *x, int64_t n)
{
	return (int64_t)((uint64_t)n * (uint64_t)x->e->cie.data_align);
}

static void set(struct cfa_machine *x, uint64_t reg, enum rule_kind kind, int64_t value)
{
	if (reg < ROW_REGISTERS)
		x->row.regs[reg] = (struct row_rule){.kind = (uint8_t)kind, .value = value};
}

static void restore(struct cfa_machine *x, uint64_t reg)
{
	if (reg < ROW_REGISTERS)
		x->row.regs[reg] = x->initial.regs[reg];
}

/* The block of an expression at the cursor, which goes past it. */
static struct row_rule expression(struct cfa_machine *x, enum rule_kind kind)
{
	uint64_t len = cursor_uleb(&x->c);
	struct row_rule rule = {.kind = (uint8_t)kind, .value = (int64_t)x->c.pos};

	if (len > ROW_MAX_EXPRESSION)
		x->c.bad = true;
	rule.len = (uint32_t)len;
	cursor_skip(&x->c, len);
	return rule;
}

static void set_expression(struct cfa_machine *x, enum rule_kind kind)
{
	uint64_t reg = cursor_uleb(&x->c);
	struct row_rule rule = expression(x, kind);

	if (reg < ROW_REGISTERS)
		x->row.regs[reg] = rule;
}

static void set_register(struct cfa_machine *x)
{
	uint64_t reg = cursor_uleb(&x->c), in = cursor_uleb(&x->c);

	set(x, reg, in < ROW_REGISTERS ? RULE_REGISTER : RULE_UNDEFINED, 0);
	if (reg < ROW_REGISTERS)
		x->row.regs[reg].reg = (uint8_t)in;
}

/* Instructions that say where a register of the caller is. */
static bool register_rule(struct cfa_machine *x, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_GNU_args_size:
		cursor_uleb(&x->c);
		return true;
	case DW_CFA_restore_extended:
		restore(x, cursor_uleb(&x->c));
		return true;
	case DW_CFA_undefined:
		set(x, cursor_uleb(&x->c), RULE_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set(x, cursor_uleb(&x->c), RULE_SAME, 0);
		return true;
	case DW_CFA_offset_extended:
	case DW_CFA_val_offset:
		reg = cursor_uleb(&x->c);
		set(x, reg, op == DW_CFA_val_offset ? RULE_VALUE : RULE_SAVED,
		    factored(x, (int64_t)cursor_uleb(&x->c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cursor_uleb(&x->c);
		set(x, reg, RULE_SAVED, factored(x, (int64_t)(0 - cursor_uleb(&x->c))));
		return true;
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
		reg = cursor_uleb(&x->c);
		set(x, reg, op == DW_CFA_val_offset_sf ? RULE_VALUE : RULE_SAVED,
		    factored(x, cursor_sleb(&x->c)));
		return true;
	case DW_CFA_register:
		set_register(x);
		return true;
	case DW_CFA_expression:
		set_expression(x, RULE_SAVED_EXPRESSION);
		return true;
	case DW_CFA_val_expression:
		set_expression(x, RULE_EXPRESSION);
		return true;
	default:
		return false;
	}
}

static bool define_cfa(struct cfa_machine *x, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cursor_uleb(&x->c);
		define(x, reg, (int64_t)cursor_uleb(&x->c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(&x->c);
		define(x, reg, factored(x, cursor_sleb(&x->c)));
		return true;
	case DW_CFA_def_cfa_register:
		reg = cursor_uleb(&x->c);
		if (x->row.cfa.kind == RULE_REGISTER)
			define(x, reg, x->row.cfa.value);
		return true;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		x->row.cfa.value = op == DW_CFA_def_cfa_offset ? (int64_t)cursor_uleb(&x->c)
							       : factored(x, cursor_sleb(&x->c));
		if (x->row.cfa.kind != RULE_REGISTER) /* there is nothing to add it to */
			x->row.cfa.kind = RULE_NONE;
		return true;
	case DW_CFA_def_cfa_expression:
		x->row.cfa = expression(x, RULE_EXPRESSION);
		return true;
	case DW_CFA_remember_state:
		if (x->nr_remembered == MAX_REMEMBERED)
			x->c.bad = true;
		else
			x->remembered[x->nr_remembered++] = x->row;
		return true;
	case DW_CFA_restore_state:
		if (!x->nr_remembered)
			x->c.bad = true;
		else
			x->row = x->remembered[--x->nr_remembered];
		return true;
	default:
		return false;
	}
}

/* Compute the address after an advance operation. False if `op` is not one. */
static bool advance(struct cfa_machine *x, uint8_t op, uint64_t *to)
{
	uint64_t delta;

	switch (op) {
	case DW_CFA_set_loc:
		/* Encoded as the FDE's own start; compilers never write it. */
		x->c.bad = true;
		return true;
	case DW_CFA_advance_loc1:
		delta = cursor_fixed(&x->c, 1);
		break;
	case DW_CFA_advance_loc2:
		delta = cursor_fixed(&x->c, 2);
		break;
	case DW_CFA_advance_loc4:
		delta = cursor_fixed(&x->c, 4);
		break;
	default:
		return false;
	}
	*to = x->location + delta * x->e->cie.code_align;
	return true;
}

/* Run the instructions up to the row that holds for `pc`. */
static bool run(struct cfa_machine *x, size_t from, size_t end, uint64_t pc)
{
	x->c.pos = from;
	x->c.end = end;
	while (!x->c.bad && x->c.pos < x->c.end) {
		uint8_t op = (uint8_t)cursor_fixed(&x->c, 1), high = op & 0xc0, low = op & 0x3f;
		uint64_t to = 0;

		if (high == DW_CFA_advance_loc)
			to = x->location + low * x->e->cie.code_align;
		else if (high == DW_CFA_offset)
			set(x, low, RULE_SAVED, factored(x, (int64_t)cursor_uleb(&x->c)));
		else if (high == DW_CFA_restore)
			restore(x, low);
		else if (!advance(x, op, &to) && !define_cfa(x, op) && !register_rule(x, op))
			x->c.bad = true;
		if (to > pc)
			break;
		if (to)
			x->location = to;
	}
	return !x->c.bad;
}

static int make_row(struct module *m, uint64_t pc, struct cfa_machine *x)
{
	struct frame_entry e;
	long i;

	module_load_frames(m);
	i = module_fde_index(m, pc);
	if (i < 0)
		return -ENOENT;
	if (!frame_entry_parse(m, m->fdes[i].at, NULL, &e))
		return -EBADMSG;
	x->c = (struct cursor){.base = m->frames};
	x->e = &e;
	x->location = e.start;
	x->nr_remembered = 0;
	memset(&x->row, 0, sizeof(x->row));
	memset(&x->initial, 0, sizeof(x->initial));
	x->row.signal_frame = e.cie.signal_frame;
	/* A number that no rule can be for: the row says nothing of a caller. */
	x->row.return_register =
	    e.cie.return_register < ROW_REGISTERS ? (uint8_t)e.cie.return_register : ROW_REGISTERS;
	/* The initial instructions make no rows of their own. */
	if (!run(x, e.cie.program, e.cie.end, UINT64_MAX) || x->location != e.start)
		return -EBADMSG;
	x->initial = x->row;
	x->nr_remembered = 0;
	return run(x, e.program, e.end, pc) ? 0 : -EBADMSG;
}

int module_row(struct module *m, uint64_t pc, struct row *row)
{
	struct cfa_machine x;
	int err = make_row(m, pc, &x);

	if (err == -ENOENT && m->identity.is_go)
		return module_go_row(m, pc, row);
	if (!err && x.row.return_register == ROW_REGISTERS)
		err = -EBADMSG;
	if (!err)
		*row = x.row;
	return err;
}

int module_cfa(struct module *m, uint64_t pc, struct cfa *cfa)
{
	struct cfa_machine x;
	int err = make_row(m, pc, &x);

	if (err)
		return err;
	*cfa = (struct cfa){CFA_OTHER, 0};
	if (x.row.cfa.kind == RULE_REGISTER)
		*cfa = (struct cfa){x.row.cfa.reg, x.row.cfa.value};
	return 0;
}

const uint8_t *module_row_expression(struct module *m, const struct row_rule *rule)
{
	uint64_t at = (uint64_t)rule->value;

	module_load_frames(m);
	if (at > m->frames_len || rule->len > m->frames_len - at)
		return NULL;
	return m->frames + at;
}
