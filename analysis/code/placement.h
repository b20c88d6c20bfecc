/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The placement planner; docs/placement.md has its rules and reasons.
 *
 * Code bytes, call frame information and a policy in; addresses for probes and
 * the reason in words out. An activation is timed from one ENTRY (or CALL) to one
 * end: a RETURN in the caller, or an EXIT in the function itself. At every place
 *
 *	stack pointer + cfa == CFA of the activation,
 *
 * where the CFA is the stack pointer before the call pushed the return address;
 * the return address is at CFA - 8. A place that the planner gives lies on an
 * instruction boundary found by decoding from a known start, is executed at most
 * once per activation (unless PLACE_REPEATS says otherwise), and holds an
 * instruction that the kernel can emulate or step without harm.
 *
 * Nothing here allocates per call except plan_function(); a planner is not to be
 * shared between threads. Errors are negative errno; the `why` that goes with a
 * -ENOTSUP says what stood in the way.
 */
#pragma once

#include "analysis/code/source.h"
#include "analysis/session/record.h" /* enum site_role, enum site_class */

enum place_kind { PLACE_ENTRY = 0, PLACE_EXIT, PLACE_RETURN, PLACE_CALL };

/* Why there is no place, or no plan. docs/placement.md explains each. */
enum place_why {
	PLACE_OK = 0,
	PLACE_NO_CODE,	    /* no bytes of code at this address */
	PLACE_NO_START,	    /* not the start of a known function */
	PLACE_NOT_BOUNDARY, /* in the middle of an instruction */
	PLACE_UNDECODABLE,  /* the bytes are no instructions */
	PLACE_REFUSED_INSN, /* only instructions that the kernel refuses or cannot step safely */
	PLACE_RSEQ,	    /* inside a restartable sequence */
	PLACE_SHADOW_STACK, /* a call, and the target runs with a shadow stack */
	PLACE_PART,	    /* a split-off part of another function, not a function */
	PLACE_PLT,	    /* a linkage stub */
	PLACE_LOOP,	    /* inside a loop that reaches back to the start of the function */
	PLACE_NO_FRAME,	    /* where the return address is on the stack is not known */
	PLACE_NO_RETURN,    /* the call does not come back: none of the caller's code follows */
	PLACE_NOT_CALL,	    /* there is no call there */
	PLACE_STEPPED_ONLY, /* only a single-stepped place, and the policy forbids those */
	PLACE_TOO_LARGE,    /* more instructions or branches than the planner takes */
	PLACE_WHY_MAX
};

/* A short phrase for a person: "only instructions that cannot be probed". */
const char *place_why_text(enum place_why why);

enum place_flags {
	/* may be reached again in the same activation, with the same CFA */
	PLACE_REPEATS = 1 << 0,
	/* RETURN: passed also after an exception or longjmp that the caller has caught */
	PLACE_FALSE_RETURN = 1 << 1,
	/* RETURN: the caller also comes by on paths that did not call the function */
	PLACE_JOINED = 1 << 2,
};

/* Registers of the first six integer arguments, as bits 0 to 5 (rdi rsi rdx rcx r8 r9). */
enum { PLACE_ARGS = 6 };

struct place {
	uint64_t vaddr;
	uint64_t offset; /* in the file; that is what a uprobe is attached to */
	enum place_kind kind;
	enum site_role role;
	enum site_class cls;
	int64_t cfa;	  /* stack pointer here + cfa == CFA */
	uint64_t ideal;	  /* entry, return address, ret or call that it stands for (vaddr) */
	unsigned skipped; /* instructions between `ideal` and `vaddr` */
	uint32_t flags;	  /* enum place_flags */
	bool ret_valid;	  /* EXIT, RETURN: the return register holds the return value here */
	uint8_t ret_reg;  /* DWARF number of that register: 0 = rax */
	uint8_t args;	  /* ENTRY, CALL: argument registers that still hold arguments (bits) */
	uint8_t length;	  /* of the instruction */
	char text[48];	  /* the instruction, disassembled */
};

/* What the planner may do, and what this kernel and this target are like. */
struct place_policy {
	unsigned max_skip;	/* instructions looked at after the ideal address; 0 = 8 */
	unsigned max_sites;	/* static callers, or exits, per function; 0 = 64 */
	bool no_stepped;	/* never a single-stepped place */
	bool shadow_stack;	/* the target runs with one: no probe on a call */
	bool long_nops_stepped; /* kernel before 6.18: only the one-byte nop is emulated */
	/* Take instructions that some kernels since 6.18 replace by a call (nops of
	 * 5 and 10 bytes): it writes below the stack pointer, where a leaf function
	 * may keep variables. Seen to corrupt programs on 6.18.44: leave it off. */
	bool allow_nop5;
};

/* A planner for one module. `src` must outlive it. NULL: out of memory. */
struct placer *placer_new(const struct code_source *src, const struct place_policy *policy);
void placer_free(struct placer *p);
const struct place_policy *placer_policy(const struct placer *p);
const struct code_source *placer_source(const struct placer *p);

/* Where to see each activation of the function at `function` once, as close to
 * its start as is cheap: the first emulated instruction in a straight line from
 * the start, else a stepped one. */
int place_entry(struct placer *p, uint64_t function, struct place *out, enum place_why *why);

enum exit_flags {
	/* may leave by a jump: the activation goes on in another function */
	EXITS_TAIL_CALLS = 1 << 0,
	/* there is no ret and no tail call */
	EXITS_NO_RETURN = 1 << 1,
	/* indirect jumps to tables that were found and read */
	EXITS_JUMP_TABLES = 1 << 2,
	/* indirect jumps inside the function whose targets are not known */
	EXITS_UNRESOLVED = 1 << 3,
	/* some bytes inside its bounds were not decoded: exits may be missing */
	EXITS_UNDECODABLE = 1 << 4,
	/* catches exceptions or cleans up after them */
	EXITS_LSDA = 1 << 5,
	/* calls setjmp, vfork or another function that returns twice */
	EXITS_SETJMP = 1 << 6,
	/* at least one exit place is single-stepped */
	EXITS_STEPPED = 1 << 7,
	/* an exit has no usable place, or there are more than `max` */
	EXITS_INCOMPLETE = 1 << 8,
};

/* All ways out by `ret`; returns how many were written, `flags` as above. */
int place_exits(struct placer *p, uint64_t function, struct place *out, size_t max, uint32_t *flags,
		enum place_why *why);

/* Where to see a call come back that pushed the return address `ret`. */
int place_return(struct placer *p, uint64_t ret, struct place *out, enum place_why *why);
/* The same, at most `max_skip` instructions behind `ret`. */
int place_return_within(struct placer *p, uint64_t ret, unsigned max_skip, struct place *out,
			enum place_why *why);

/* The pair for one direct or indirect call instruction at `call`. */
int place_call_site(struct placer *p, uint64_t call, struct place *start, struct place *end,
		    enum place_why *why);

enum call_kind {
	CALL_DIRECT = 0, /* `target` is the callee */
	CALL_PLT,	 /* `target` is a linkage stub, `name` its import where known */
	CALL_INDIRECT,	 /* through a register or memory: base, index, scale, disp */
	CALL_TAIL,	 /* a jmp to another function */
	CALL_TAIL_INDIRECT,
};

/* An indirect operand: *(base + index * scale + disp), or the register `base` itself. */
struct call_operand {
	bool memory;
	uint8_t base; /* DWARF number; CALL_NO_REG: none; CALL_RIP: the next instruction */
	uint8_t index;
	uint8_t scale;
	int64_t disp;
};
enum { CALL_NO_REG = 0xff, CALL_RIP = 16 };

struct call_site {
	uint64_t vaddr;	  /* of the call or jmp */
	uint64_t ret;	  /* return address; 0 for a tail call */
	uint64_t target;  /* CALL_DIRECT, CALL_PLT, CALL_TAIL */
	const char *name; /* of a linkage stub's import, or NULL; belongs to the source */
	enum call_kind kind;
	struct rec_operand operand; /* of an indirect one; CALL_PLT: of the stub's jump */
};

/* The call sites of a function in address order, with its split-off part.
 * Writes at most `max`, returns how many there are. */
int function_call_sites(struct placer *p, uint64_t function, struct call_site *out, size_t max,
			enum place_why *why);

enum plan_strategy {
	PLAN_CALLERS = 0, /* entry, and the return addresses of all callers, which are known */
	PLAN_EXITS,	  /* entry and exits; return addresses may replace exits when learnt */
	PLAN_DISCOVERED,  /* entry, and return addresses that are learnt at it */
	PLAN_STRATEGIES
};

enum plan_price {
	PLAN_EMULATED = 0, /* entry and every end are emulated */
	PLAN_ENDS_STEPPED, /* entry emulated, some end stepped */
	PLAN_ENTRY_STEPPED,
	PLAN_BOTH_STEPPED,
	PLAN_PRICES
};

/* How to time one function. PLAN_CALLERS and PLAN_DISCOVERED have no exits. With
 * `needs_learning` an entry may meet a return address that is not among
 * `returns`: place_return() gives its place. A PLAN_EXITS that needs learning has
 * both: arm the exits, which are complete but single-stepped, or the returns
 * known so far and learn the rest, which is cheaper; not both at a time. */
struct plan {
	enum plan_strategy strategy;
	enum plan_price price;
	struct place entry;
	struct place *exits, *returns;
	struct place *calls; /* if there are any, activations begin at these call instructions, not
				at `entry` */
	size_t nr_exits, nr_returns, nr_calls;
	uint32_t exit_flags;   /* enum exit_flags */
	uint32_t caller_flags; /* enum caller_flags of callers.h */
	size_t nr_callers;     /* direct calls found, also those without a place */
	bool needs_learning;
	enum place_why why; /* PLACE_OK, or the reason for declining */
	char text[240];	    /* in words, also when declined */
};

/* 0 and a plan, or -ENOTSUP with `why` and `text` filled in. Release in both cases. */
int plan_function(struct placer *p, uint64_t function, struct plan *out);
/* The same, but where only a single-stepped instruction could serve as the entry, and all
 * calls of the function are direct ones that are known: activations begin at those calls and
 * end behind them. A step takes ten times as long as an emulation, and by how
 * much it makes a call longer is known less well. */
int plan_function_at_calls(struct placer *p, uint64_t function, struct plan *out);
void plan_release(struct plan *plan);

const char *plan_price_text(enum plan_price price);
