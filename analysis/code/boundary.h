/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is an address the start of an instruction? The collector asks before it puts a
 * breakpoint there, because what names the address (the front) may be taken
 * over. Runs in a process without rights that holds one module's file and
 * nothing else: a hostile file can only mislead the answers about itself.
 *
 * An answer of yes means: decoding from a known start (call frame information
 * or a symbol), along the control flow where it can be followed and linearly
 * from there on, one instruction begins at the address, and no instruction that
 * control flow reaches covers it.
 */
#pragma once

#include "analysis/code/decode.h"

enum boundary {
	BOUNDARY_YES = 1,
	BOUNDARY_INSIDE,    /* in the middle of an instruction */
	BOUNDARY_NO_CODE,   /* outside the code of the file, or not a valid instruction */
	BOUNDARY_NO_ANSWER, /* the file cannot be read, or is no ELF file of this machine */
};

/* The instructions of a range of code. */
struct boundaries {
	uint64_t start;
	size_t size;
	uint8_t *marks; /* of each byte: BOUNDARY_MARK_... */
};

enum { BOUNDARY_MAX_RANGE = 8 << 20 };

/* Follow the control flow in `code` (b->size bytes at address b->start, at most BOUNDARY_MAX_RANGE)
 * from its beginning and from the `nr` addresses in `roots`; those outside are passed over. 0 or
 * -ENOMEM, -E2BIG. */
int boundaries_init(struct boundaries *b, struct decoder *d, const uint8_t *code,
		    const uint64_t *roots, size_t nr);
enum boundary boundaries_check(struct boundaries *b, struct decoder *d, const uint8_t *code,
			       uint64_t vaddr);
void boundaries_release(struct boundaries *b);
