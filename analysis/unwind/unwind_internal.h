/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the unwinder share.
 *
 * unwind.c             frame to frame
 * unwind_map.c         mappings
 * unwind_known.c       the rules of an address, kept
 * unwind_x86.c         code without call frame information
 * unwind_expression.c  DWARF expressions
 */
#pragma once

#include "analysis/unwind/unwind.h"

enum { WORD = 8 };

/* ---- registers and memory of one frame ---- */

struct frame_state {
	uint64_t reg[ROW_REGISTERS]; /* ROW_RIP: where it is */
	uint32_t known;		     /* bit per register */
	const struct unwind_memory *memory;
	size_t nr_memory;
	uint64_t missing; /* last address that was asked for in vain */
};

static inline bool state_knows(const struct frame_state *s, unsigned int reg)
{
	return reg < ROW_REGISTERS && s->known >> reg & 1;
}

/* Reads up to 8 bytes of memory. If they were not given, sets `missing` and returns false. */
static inline bool state_read(struct frame_state *s, uint64_t address, size_t bytes,
			      uint64_t *value)
{
	for (size_t i = 0; i < s->nr_memory; i++) {
		const struct unwind_memory *m = &s->memory[i];
		uint64_t at = address - m->address;

		if (address < m->address || at > m->size || bytes > m->size - at)
			continue;
		*value = 0;
		memcpy(value, (const char *)m->bytes + at, bytes);
		return true;
	}
	s->missing = address;
	return false;
}

/* ---- unwind_known.c ---- */

enum known_flags {
	KNOWN_NO_CFI = 1 << 0,	/* the row was guessed from code or frame pointers */
	KNOWN_POINTER = 1 << 1, /* with KNOWN_NO_CFI: guessed from the frame pointer */
	KNOWN_DAMAGED = 1 << 2, /* with KNOWN_NO_CFI: there is CFI, but it is damaged */
	KNOWN_AFTER_CALL =
	    1 << 3,	       /* the instruction before is a call, or its bytes are not known */
	KNOWN_BOTTOM = 1 << 4, /* it was never called, though something returns to it */
	KNOWN_MADE = 1 << 5,   /* code of no file: a compiler made it at run time */
};

struct known {
	uint32_t module; /* 0: free */
	uint32_t used;
	uint64_t offset;
	uint64_t function;
	bool exact; /* the offset is that of the next instruction, not a return address */
	uint8_t flags;
	struct row row;
};

struct unwinder {
	struct module *(*module)(void *context, uint32_t number);
	void *context;
	uint32_t clock;
	struct known no_module; /* of addresses outside of all files */
	struct known known[UNWIND_KNOWN];
	struct unwind_stack trial; /* of unwind(): frames that may turn out wrong */
};

/* Never NULL. Valid until the next call. */
const struct known *unwinder_known(struct unwinder *u, uint32_t module, uint64_t offset,
				   bool exact);

/* ---- unwind_expression.c ---- */

/* Run an expression that begins with `cfa` on its stack, if given. False: it cannot be run. */
bool expression_run(const uint8_t *bytes, size_t n, struct frame_state *s, const uint64_t *cfa,
		    uint64_t *result);

/* ---- unwind_x86.c: what the code says where there is no call frame information ---- */

/* The caller's frame by the frame pointer. */
void arch_row_of_frame_pointer(struct row *row);
/* The code is where the kernel returns to from a signal handler: the row of its frame. */
bool arch_row_of_sigreturn(struct module *m, uint64_t vaddr, struct row *row);
/* The row at an instruction in a prologue or epilogue, derived from the bytes of code
 * around it. False if they do not show it. */
bool arch_row_of_edge(struct module *m, uint64_t vaddr, struct row *row);
/* The instruction that ends at vaddr is a call; true too where the bytes are not known. */
bool arch_after_call(struct module *m, uint64_t vaddr);
