/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of record.h: places in code, call sites and what they call. */
#pragma once

/* A place in the file of a module; module 0: not known. */
struct rec_code {
	uint32_t module;
	uint64_t offset;
};

static inline bool code_equal(struct rec_code a, struct rec_code b)
{
	return a.module == b.module && a.offset == b.offset;
}

/* True if place `a` comes before `b` in sorted tables. */
static inline bool code_is_before(struct rec_code a, struct rec_code b)
{
	return a.module < b.module || (a.module == b.module && a.offset < b.offset);
}

/* How a site calls; the numbers are those of enum call_kind (analysis/code/placement.h). */
enum callee_kind {
	CALLEE_DIRECT = 0,
	CALLEE_PLT,
	CALLEE_INDIRECT,
	CALLEE_TAIL, /* a jmp to another function: ends with the caller */
	CALLEE_TAIL_INDIRECT,
	CALLEE_KINDS
};
enum call_site_flags {
	CALL_SITE_TIMED = 1 << 0,    /* it can be timed: it has two probe places */
	CALL_SITE_LOOP = 1 << 1,     /* lies in a loop of the function */
	CALL_SITE_NORETURN = 1 << 2, /* never returns: takes no time of a call that returned */
};

struct rec_call_site {
	uint64_t offset; /* file offset of the call or jmp, in the caller's module */
	uint64_t ret;	 /* file offset of the return address; 0: tail call */
	uint32_t kind;	 /* enum callee_kind */
	uint32_t flags;	 /* enum call_site_flags */
	/* Sites with the same number, not 0, are executed one after the other, all
	 * or none (one basic block): the pair (start of the first, end of the last) times them
	 * all. */
	uint32_t block;
	struct rec_code callee; /* module 0: known only after a call was observed */
	/* Calibrated cost of the probes of one timed call, to be subtracted; 0: was done already.
	 */
	uint64_t inside_ns; /* of it inside the measured interval */
	uint64_t total_ns;
};

struct rec_callees {
	struct rec_code function;
	int32_t error;	/* 0, or negative errno: the code cannot be read */
	uint32_t total; /* number of all call sites; `sites` may contain fewer */
	uint32_t nr_sites;
	const struct rec_call_site *sites; /* ascending offsets */
};

/* Where an indirect call or jump takes its target from, to be read by a probe on it. */
enum operand_kind {
	OPERAND_NONE = 0, /* none, or one that a probe cannot compute */
	OPERAND_REGISTER, /* `base` */
	OPERAND_MEMORY,	  /* *(base + index * scale + disp) */
	OPERAND_SLOT,	  /* the same, and only the loader ever writes it: it may be read without a
			     probe */
};
/* Registers in the order of struct pt_regs of x86-64, as in REC_STACK. */
enum { OPERAND_IP = 16, OPERAND_NO_REG = 21 };
struct rec_operand {
	uint32_t kind; /* enum operand_kind */
	uint32_t base; /* OPERAND_IP: the address of the instruction itself */
	uint32_t index;
	uint32_t scale;
	int64_t disp;
};

struct rec_indirect_callees {
	uint32_t node; /* of an indirect site whose callee is not known */
	int32_t error; /* 0, or negative errno: cannot be learnt */
	uint32_t nr_callees;
	const struct rec_code *callees; /* functions */
};

struct rec_inline {
	const char *function, *file; /* demangled; "" if unknown */
	uint32_t line;
	uint32_t inlined; /* 0: the function that was really called, the last one */
};

struct rec_inlines {
	struct rec_code place;
	uint32_t nr_calls;
	const struct rec_inline *calls; /* innermost first */
	uint32_t loop_call, loop_first,
	    loop_last; /* lines of calls[loop_call]; loop_first 0: none */
};
