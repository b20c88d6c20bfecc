/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the placement planner knows of one module: bytes of code and data, where
 * functions start and end, and what the call frame information says. Plain
 * arrays, so that a test can write one by hand; source_module.c fills one from a
 * struct module.
 *
 * Addresses are virtual addresses of the ELF file (before relocation). All
 * arrays are sorted by address. Memory belongs to whoever filled the structure
 * and must stay as it is while a planner uses it.
 */
#pragma once

/* A contiguous range of the file that is mapped executable, with its bytes. */
struct code_bytes {
	uint64_t vaddr;
	uint64_t offset; /* in the file, of bytes[0] */
	const uint8_t *bytes;
	size_t size;
};

enum code_part_flags {
	CODE_PART_FDE = 1 << 0,	     /* bounds come from an FDE */
	CODE_PART_SYMBOL = 1 << 1,   /* a function symbol starts here */
	CODE_PART_EXPORTED = 1 << 2, /* ... that the dynamic linker can bind others to */
	CODE_PART_PLT = 1 << 3,	     /* of a procedure linkage table: no function of the program */
	CODE_PART_COLD = 1 << 4,     /* split off from the function at `parent` (NAME.cold) */
	CODE_PART_IFUNC = 1 << 5,    /* a resolver */
	CODE_PART_LSDA = 1 << 6,     /* has landing pads for exceptions: handlers or cleanups */
};

/* One contiguous run of instructions that starts at a known boundary. */
struct code_part {
	uint64_t start, end; /* half-open; parts may not overlap */
	uint64_t parent;     /* CODE_PART_COLD: start of its function, 0 if unknown */
	uint32_t flags;
};

/* CFA at an address: register + offset. */
enum code_cfa_kind {
	CODE_CFA_UNKNOWN = 0, /* no call frame information, or an expression */
	CODE_CFA_SP,	      /* stack pointer + offset */
	CODE_CFA_OTHER,	      /* another register + offset */
};

struct code_cfa {
	enum code_cfa_kind kind;
	int64_t offset;
};

struct code_range {
	uint64_t start, end; /* half-open */
};

struct code_source {
	const struct code_bytes *bytes;
	size_t nr_bytes;
	const struct code_part *parts;
	size_t nr_parts;
	/* Restartable sequences: the kernel aborts them at any trap. */
	const struct code_range *rseq;
	size_t nr_rseq;
	bool shared; /* other modules call its exported functions: a library, not a program */
	bool fixed;  /* code is at the addresses that the file says: not position independent */

	void *ctx; /* for the functions, each of which may be NULL */
	struct code_cfa (*cfa)(void *ctx, uint64_t vaddr);
	/* `size` bytes of data (jump tables, pointers) at `vaddr`: 0 or a negative errno. */
	int (*read)(void *ctx, uint64_t vaddr, void *out, size_t size);
	/* Name of the import behind a linkage stub, or of a function; NULL if unknown. */
	const char *(*name)(void *ctx, uint64_t vaddr);
	/* Name of the function that the loader puts into the pointer at `vaddr`, or NULL. */
	const char *(*slot)(void *ctx, uint64_t vaddr);
	/* Does a relocation or a pointer in the data of the module hold `vaddr`? */
	bool (*in_data)(void *ctx, uint64_t vaddr);
};

/* The bytes at `vaddr` and how many follow it in one piece; NULL if none. */
const struct code_bytes *code_bytes_at(const struct code_source *src, uint64_t vaddr,
				       const uint8_t **bytes, size_t *len);
/* The part that contains `vaddr`, or NULL. */
const struct code_part *code_part_at(const struct code_source *src, uint64_t vaddr);
/* File offset of `vaddr`; -1 (all bits) if it has none. */
uint64_t code_offset(const struct code_source *src, uint64_t vaddr);
