/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests of the front to the parser worker, and its answers: frames with their own types on a
 * channel (collect/process/channel.h).
 *
 * The front chooses an id for each request. The worker sends exactly one answer with this id, in
 * the order of the requests. During a request for all modules, and while unwinding, it also sends
 * one PARSED_AT before it reads each module. Text is not sanitised. Offsets are positions in the
 * file of a module. Decoded structs belong to the decoder.
 */
#pragma once

#include "analysis/session/codec.h"
#include "analysis/session/record.h"

enum parse_type {
	/* Requests, all with a struct parse_request. Each names the type of its answer. */
	PARSE_ADD_MODULE =
	    0x200,	 /* with the file's descriptor; text: its base name. PARSED_MODULE */
	PARSE_ADD_DEBUG, /* with the debug file's descriptor. PARSED_MODULE */
	PARSE_FIND,	 /* functions called `text`; module 0: in all. PARSED_FUNCTIONS */
	PARSE_NEAREST,	 /* functions whose names are most like `text`, best first. PARSED_FUNCTIONS
			  */
	PARSE_LIST,  /* functions whose names contain `text`, from `cursor` on. PARSED_FUNCTIONS */
	PARSE_IFUNC, /* functions that the IFUNC at `offset` may become. PARSED_FUNCTIONS */
	PARSE_SYMBOLS, /* the symbols at `offsets`; with `max` 1 also their parameters.
			  PARSED_SYMBOLS */
	PARSE_PLAN,    /* how to time the function at `offset` for operation `op`. PARSED_PLAN */
	PARSE_PLAN_RETURN, /* where to probe a return to `offset`. PARSED_PLAN, one site */
	PARSE_COVERAGE,	   /* count placements in a part of the module. PARSED_COVERAGE */
	PARSE_CALL_SITES,  /* the call sites of the function at `offset`, with their probe places.
			      PARSED_CALL_SITES */
	PARSE_MAPPINGS,	   /* the mappings of `pid`; replace earlier ones. PARSED_MAPPINGS */
	PARSE_UNWIND,	   /* the frames of a thread of `pid`. PARSED_FRAMES */
	PARSE_INLINES,	   /* the inlined calls at `offsets`; with `max` 1 also their loops.
			      PARSED_INLINES */
	PARSE_CODE,	   /* the instructions around `offset` in its function. PARSED_CODE */
	PARSE_INLINED,	   /* functions into which the one called `text` was inlined; module 0: in
			      all. error -E2BIG: too much debug information. PARSED_FUNCTIONS */
	PARSE_SLOTS,  /* the import slots (GOT) of the symbol `text`: each as a call site at the
			 start of the code with an operand OPERAND_SLOT. PARSED_CALL_SITES */
	PARSE_FORGET, /* the module is not needed any more. PARSED_MODULE */
	PARSE_LAST,

	/* answers */
	PARSED_MODULE = 0x280,
	PARSED_FUNCTIONS,
	PARSED_SYMBOLS,
	PARSED_PLAN,
	PARSED_COVERAGE,
	PARSED_AT,  /* no answer: the worker begins to read this module */
	PARSED_NOT, /* the request is invalid, or its type is unknown */
	PARSED_CALL_SITES,
	PARSED_MAPPINGS,
	PARSED_FRAMES,
	PARSED_INLINES,
	PARSED_CODE,
	PARSED_LAST,
};

enum {
	PARSE_MAX_FUNCTIONS = 256, /* in one answer */
	PARSE_MAX_OFFSETS = 1024,  /* in one request */
	PARSE_MAX_MODULES = 4096,
	PARSE_COVERAGE_PARTS = 256, /* parts of code per request if `max` is 0 */
	PARSE_MAX_SHARES = 64,
	PARSE_MAX_MAPPINGS = 8192, /* of one process */
	PARSE_MAX_REGS = 21,	   /* struct pt_regs of x86-64: r15 ... ss */
	PARSE_MAX_WORDS = 4096,	   /* 8-byte words of a stack: 32 KiB */
	PARSE_MAX_FRAMES = 128,	   /* UNWIND_MAX_FRAMES */
	PARSE_MAX_INLINES = 64,	   /* MODULE_MAX_INLINES */
	PARSE_MAX_INSNS = 2048,	   /* in one answer */
};

/* Bits of parse_request.policy: struct place_policy of placement.h. */
enum parse_policy {
	POLICY_NO_STEPPED = 1 << 0,
	POLICY_SHADOW_STACK = 1 << 1,
	POLICY_LONG_NOPS_STEPPED = 1 << 2,
	POLICY_ALLOW_NOP5 = 1 << 3,
	POLICY_AT_CALLS = 1 << 4, /* plan_function_at_calls() */
};

/* An executable mapping, from REC_MAPPING. */
struct parse_mapping {
	uint32_t module; /* 0: code of no file */
	uint64_t start, end, offset;
};

struct parse_request {
	uint32_t id;
	uint32_t module; /* REC_MODULE's number; 0: all (FIND, NEAREST, LIST), or UNWIND */
	uint64_t offset;
	const char *text;
	uint32_t max;	 /* functions wanted; 0: as many as fit */
	uint64_t cursor; /* 0 to begin, then the cursor of the last answer */
	uint32_t op;
	uint32_t policy; /* enum parse_policy */
	uint32_t max_skip;
	uint32_t max_sites;
	uint32_t nr_offsets;
	const uint64_t *offsets;
	uint32_t pid;	      /* MAPPINGS, UNWIND */
	uint32_t nr_mappings; /* MAPPINGS; 0: the process has ended */
	const struct parse_mapping *mappings;
	uint32_t nr_regs; /* UNWIND: as in REC_STACK, in the order of struct pt_regs */
	const uint64_t *regs;
	uint32_t nr_words;
	const uint64_t *words; /* stack memory from the stack pointer upwards */
	uint32_t nr_pieces;    /* UNWIND: further stack memory, as in REC_RAW_SNAPSHOT */
	const uint64_t *pieces;
};

/* What the answer to a request begins with: what it repeats of the request, and its error. */
#define PARSED_HEAD                                                                                \
	uint32_t id, module;                                                                       \
	uint64_t offset;                                                                           \
	uint32_t op, pid;                                                                          \
	int32_t error;	   /* 0 or a negative errno */                                             \
	const char *reason /* of the error: "a 32-bit program", ... */
struct parsed_head {
	PARSED_HEAD;
};

struct parsed_module {
	PARSED_HEAD;
	const char *build_id;  /* hex, "" if none */
	const char *debuglink; /* base name, "" if none */
	uint32_t wants_debug;  /* 1: a separate debug file would add names or lines */
	uint32_t position_independent;
	uint32_t has_symtab, has_dwarf, has_eh_frame;
	uint64_t size;
	uint32_t truncated; /* 1: data was left out, because it is too large or inconsistent */
	const char
	    *unread; /* why its lines cannot be read, as module_lines_unread(); "": they can */
};

struct parsed_function {
	uint32_t module;
	uint64_t offset;
	uint64_t size;
	const char *symbol;   /* "" without one */
	const char *function; /* for display: demangled, or MODULE+0x1234 */
	uint32_t ifunc;	      /* see PARSE_IFUNC */
	uint32_t source;      /* enum function_source of module.h */
	const char *source_name;
	uint32_t exported;
};

struct parsed_functions {
	PARSED_HEAD;	 /* the error is of the module that the request names */
	uint64_t total;	 /* matches found; more than `nr` when cut */
	uint64_t cursor; /* LIST: the cursor of the next request; 0: complete */
	uint32_t nr;
	const struct parsed_function *functions;
};

struct parsed_symbols {
	PARSED_HEAD;
	uint32_t nr; /* one for each offset of the request, in order; function "": unknown */
	const struct rec_symbol *symbols;
};

struct parsed_plan {
	PARSED_HEAD;	  /* error -ENOTSUP: cannot be timed */
	uint32_t why;	  /* enum place_why */
	const char *text; /* the placement, or the reason, in words */
	const char *price;
	uint32_t needs_learning; /* 1: return addresses of unknown callers must be observed at the
				    entry */
	uint32_t callers;	 /* number of direct calls found */
	uint32_t abnormal; /* 1: exceptions or longjmp may reach an end (PLACE_FALSE_RETURN) */
	uint32_t nr_sites;
	const struct rec_site *sites; /* state SITE_PLANNED */
	uint64_t size;		      /* of the function, bytes; 0: not known */
};

struct parsed_share {
	const char *reason;
	uint64_t functions;
};

/* How many functions of a module can be watched, and how: struct module_coverage of coverage.h. */
struct parsed_coverage {
	PARSED_HEAD;
	uint64_t cursor; /* the cursor of the next request; 0: the figures are complete */
	uint64_t functions;
	uint64_t pairs;		 /* entry and all ends emulated */
	uint64_t entry_emulated; /* entry emulated, some end stepped or still to be learnt */
	uint64_t entry_stepped;
	uint64_t only_direct, only_direct_pairs;
	uint64_t calls, calls_indirect;
	uint64_t ends_emulated, ends_straight, ends_stepped, ends_none;
	const char *text; /* the figures in a few lines of text, once they are complete */
	uint32_t nr;
	const struct parsed_share *shares; /* functions declined, by reason */
};

/* One call site of a function, for REC_CALLEES, with its two probe places. A tail call has only a
 * start: it ends with its caller. */
struct parsed_call_site {
	uint64_t offset; /* of the call or jmp */
	uint64_t ret;	 /* offset of the return address; 0: tail call */
	uint32_t kind;	 /* enum callee_kind */
	uint32_t flags;	 /* enum call_site_flags */
	uint32_t block;	 /* as in struct rec_call_site */
	uint32_t known;	 /* 1: `callee` is a function of the same module, and no IFUNC */
	uint64_t callee;
	const char *import; /* name of the imported callee without its version, "" if none */
	uint32_t why;	    /* enum place_why: the reason why it cannot be timed */
	struct rec_site start, end; /* with CALL_SITE_TIMED */
	struct rec_operand operand; /* where an indirect call reads its target */
};

struct parsed_call_sites {
	PARSED_HEAD;
	uint32_t total; /* number of all call sites */
	uint32_t nr;
	const struct parsed_call_site *sites; /* ascending offsets */
};

struct parsed_mappings {
	PARSED_HEAD;
	uint32_t nr; /* number of mappings that are known now */
};

struct parsed_frame {
	uint32_t module;   /* 0: code of no known file */
	uint64_t offset;   /* in the file; module 0: the address */
	uint64_t function; /* start of the function that contains it; 0: unknown */
	uint64_t cfa;	   /* 0: unknown */
	uint32_t flags;	   /* enum unwind_flags of unwind.h */
};

struct parsed_frames {
	PARSED_HEAD;	  /* error -ESTALE: send the mappings of the process (again);
			     reason: also why unwinding stopped */
	uint32_t stop;	  /* enum unwind_stop of unwind.h; 0: the stack is complete */
	uint64_t missing; /* address of stack memory that the request lacked; 0: none */
	uint32_t nr;
	const struct parsed_frame *frames; /* innermost first */
};

struct parsed_inline {
	const char *function;
	const char *file; /* "" if unknown */
	uint32_t line;
	uint32_t inlined; /* 0: the called function itself, which is last in its chain */
};

struct parsed_chain {
	uint64_t offset;
	uint32_t nr; /* 0: not known, or the answer was full: request fewer offsets */
	const struct parsed_inline *calls; /* innermost first */
	/* The loop that contains the place: lines [first, last] of calls[loop_call], the innermost
	 * call that contains the whole loop. 0: no loop, or its lines are not known. */
	uint32_t loop_call, loop_first, loop_last;
};

struct parsed_inlines {
	PARSED_HEAD;
	uint32_t nr; /* as many as asked, in that order */
	const struct parsed_chain *chains;
};

enum insn_flags {
	INSN_OF_LOOP = 1 << 0,
	INSN_JUMPED_TO = 1 << 1, /* target of a jump in the same function */
};

struct parsed_insn {
	uint64_t offset;
	const char *text; /* AT&T syntax; "callq fetch", "jne +0x1c" (from `start`) where known */
	const char *file; /* if it differs from the previous instruction, else "" */
	uint32_t line;	  /* 0: as for the previous instruction, or unknown */
	uint32_t flags;	  /* enum insn_flags */
};

struct parsed_code {
	PARSED_HEAD;
	const char *function; /* for a person */
	uint64_t start, size; /* of the function's code part that contains `offset` */
	uint32_t total;	      /* number of instructions of this part */
	uint32_t site;	      /* index of the instruction that contains `offset` */
	uint32_t nr;
	const struct parsed_insn *insns;
};

struct parsed_at {
	uint32_t id;
	uint32_t module;
};

struct parsed_not {
	uint32_t id; /* 0 if it could not be read */
	uint32_t type;
	const char *reason;
};

/* The layout of a request or answer; NULL for an unknown type. */
const struct struct_layout *parse_layout(unsigned int type);

/* An answer of any type. */
struct parsed {
	enum parse_type type;
	union {
		uint32_t id;		 /* the first field of every answer, also of AT and NOT */
		struct parsed_head head; /* of all others */
		struct parsed_module module;
		struct parsed_functions functions;
		struct parsed_symbols symbols;
		struct parsed_plan plan;
		struct parsed_coverage coverage;
		struct parsed_at at;
		struct parsed_not not ;
		struct parsed_call_sites call_sites;
		struct parsed_mappings mappings;
		struct parsed_frames frames;
		struct parsed_inlines inlines;
		struct parsed_code code;
	};
};
