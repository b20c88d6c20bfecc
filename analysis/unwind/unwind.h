/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From registers and a copy of the top of a stack to the frames of a thread.
 *
 * Code without frame pointers is walked by the call frame information of its
 * module (.eh_frame, which is right at every instruction on x86-64), signal
 * frames back into the code that was interrupted, also across stacks. Where
 * there is none, frame pointers are believed as far as they hold together; such
 * frames are marked. Everything given is hostile: registers, stack, mappings
 * and modules may contradict each other, and nothing outside of the memory
 * that was given is read.
 *
 * What was found out about an address is kept, up to a fixed number of them
 * (UNWIND_KNOWN); a stack of 12 frames then takes about a microsecond. The
 * guide is docs/unwind.md.
 */
#pragma once

#include "analysis/module/module_row.h"

enum {
	UNWIND_MAX_FRAMES = 128,
	UNWIND_MAX_MAPPINGS = 1 << 16,
	UNWIND_KNOWN = 2048, /* addresses of which the rules are kept */
};

/* ---- where the modules are in one process ---- */

struct unwind_mapping {
	uint64_t start, end; /* addresses, half-open */
	uint64_t offset;     /* in the file */
	uint32_t module;     /* number; 0: code of no file (JIT) */
};

struct unwind_map;
/* Copies the list, in any order; mappings that are empty are left out, where
 * two overlap, the one that starts last counts. NULL: no memory or more than
 * UNWIND_MAX_MAPPINGS. */
struct unwind_map *unwind_map_new(const struct unwind_mapping *list, size_t n);
void unwind_map_free(struct unwind_map *map);
size_t unwind_map_size(const struct unwind_map *map);
/* The mapping of an address; NULL if there is none. */
const struct unwind_mapping *unwind_map_at(const struct unwind_map *map, uint64_t address);

/* ---- one stack ---- */

/* A copy of memory of the thread. */
struct unwind_memory {
	uint64_t address;
	const void *bytes;
	size_t size;
};

struct unwind_input {
	const uint64_t *registers; /* ROW_REGISTERS of them, by ROW_RAX ... ROW_RIP */
	/* The stack from rsp up, then other stacks (of signals). With the 128 bytes below
	 * rsp as well, functions that keep registers there without moving it are right too. */
	const struct unwind_memory *memory;
	size_t nr_memory;
	const struct unwind_map *map;
};

/* Put registers in the order of the kernel's struct pt_regs (r15 ... ss, 21) into ours. */
enum { UNWIND_PT_REGS = 21 };
void unwind_registers(const uint64_t *pt_regs, uint64_t *registers);

enum unwind_flags {
	UNWIND_CALLER = 1 << 0,	 /* `offset` is a return address, else the next instruction */
	UNWIND_SIGNAL = 1 << 1,	 /* calls a handler: the frame after it was interrupted */
	UNWIND_GUESSED = 1 << 2, /* found by a frame pointer, not by call frame information */
};

struct unwind_frame {
	uint32_t module; /* 0: code of no known file */
	uint32_t flags;
	uint64_t offset;   /* in the file; module 0: the address */
	uint64_t function; /* offset of the first byte of its function; 0: unknown */
	uint64_t cfa;	   /* canonical frame address; 0: unknown (last frame only) */
};

enum unwind_stop {
	UNWIND_BOTTOM = 0,  /* the thread began here: the stack is complete */
	UNWIND_END_OF_COPY, /* `missing` is needed to go on */
	UNWIND_NO_CFI,	    /* no call frame information, and no frame pointer that leads on */
	UNWIND_LIMIT,	    /* UNWIND_MAX_FRAMES */
	UNWIND_BAD_CFA,	    /* would not go up the stack, or is no address of a stack */
	UNWIND_BAD_CFI,	    /* damaged, or it needs what is not known (a lost register) */
	UNWIND_BAD_RETURN,  /* the return address is no address of code */
	UNWIND_STOPS
};
const char *unwind_stop_text(enum unwind_stop stop);

struct unwind_stack {
	enum unwind_stop stop;
	uint64_t missing; /* address of the 8 bytes that were not given; 0: none */
	unsigned int nr;  /* at least 1 */
	struct unwind_frame frames[UNWIND_MAX_FRAMES]; /* innermost first */
};

struct unwinder;
/* `module` gives the file of a number, NULL where it cannot; it is asked only
 * about what is not kept, and the answer must stay valid until unwind()
 * returns. About 0.8 MB. NULL: no memory. */
struct unwinder *unwinder_new(struct module *(*module)(void *context, uint32_t number),
			      void *context);
void unwinder_free(struct unwinder *u);
/* The module with this number is another file now, or its names have changed. */
void unwinder_forget(struct unwinder *u, uint32_t module);

void unwind(struct unwinder *u, const struct unwind_input *in, struct unwind_stack *out);
