/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information as rows: how the registers of the caller are found at
 * one address (DWARF 5, 6.4.1). One of the files of a module (see module.h for
 * what may be assumed of the input); who walks stacks with it is unwind.h. */
#pragma once

#include "analysis/module/module.h"

/* DWARF numbers of x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, 16 the
 * return address. Rules for other registers (vectors) are left out. */
enum {
	ROW_RAX = 0,
	ROW_RDX,
	ROW_RCX,
	ROW_RBX,
	ROW_RSI,
	ROW_RDI,
	ROW_RBP,
	ROW_RSP,
	ROW_R8,
	ROW_R12 = 12,
	ROW_R15 = 15,
	ROW_RIP = 16,
	ROW_REGISTERS,
	ROW_MAX_EXPRESSION = 4096, /* bytes */
};

enum rule_kind {
	RULE_NONE = 0,	       /* nothing is said: the calling convention holds */
	RULE_SAME,	       /* still in the register */
	RULE_UNDEFINED,	       /* lost; of the return address: there is no caller */
	RULE_SAVED,	       /* at CFA + value */
	RULE_VALUE,	       /* is CFA + value */
	RULE_REGISTER,	       /* in `reg`; as the rule of the CFA: is reg + value */
	RULE_SAVED_EXPRESSION, /* at what the expression gives */
	RULE_EXPRESSION,       /* is what the expression gives */
	RULE_SAVED_SP,	       /* at rsp + value: no rule of DWARF, see unwind_x86.c */
};

struct row_rule {
	uint8_t kind; /* enum rule_kind */
	uint8_t reg;
	uint32_t len;  /* of an expression, for module_row_expression() */
	int64_t value; /* or where the expression is */
};

struct row {
	struct row_rule cfa;
	struct row_rule regs[ROW_REGISTERS];
	uint8_t return_register; /* below ROW_REGISTERS */
	bool signal_frame;	 /* what it calls its caller was interrupted, not a caller */
};

/* The row that holds before the instruction at `pc` runs: from its FDE, in Go code from the table
 * of the Go runtime. 0, -ENOENT (neither) or -EBADMSG (the FDE is damaged). */
int module_row(struct module *m, uint64_t pc, struct row *row);

/* The bytes of an expression, rule->len of them, until module_free(); NULL if
 * they are not in the call frame information of this module. */
const uint8_t *module_row_expression(struct module *m, const struct row_rule *rule);
