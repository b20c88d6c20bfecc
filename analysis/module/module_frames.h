/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading of .eh_frame (LSB Core 10.6, DWARF 5 section 6.4), internal to the
 * module files: a cursor that cannot leave its bytes, CIEs and FDEs. */
#pragma once

#include "analysis/module/module_internal.h"

/* Reads past the end give 0 and set `bad`. */
struct cursor {
	const uint8_t *base;
	size_t pos, end;
	bool bad;
};
uint64_t cursor_fixed(struct cursor *c, size_t bytes); /* little-endian, up to 8 bytes */
uint64_t cursor_uleb(struct cursor *c);
int64_t cursor_sleb(struct cursor *c);
void cursor_skip(struct cursor *c, uint64_t bytes);

struct cie {
	size_t at;
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointers, lsda; /* encodings (DW_EH_PE_*) */
	bool augmented;		/* FDEs have augmentation data */
	bool signal_frame;
	size_t program, end; /* initial instructions */
};

struct frame_entry {
	struct cie cie;
	uint64_t start, size;
	bool has_lsda;
	size_t program, end; /* instructions */
};

/* Parse the FDE at `at`, with its CIE; `cie` is the last one parsed, or NULL.
 * Without a CIE that could be parsed, e->cie.at is SIZE_MAX. */
bool frame_entry_parse(const struct module *m, size_t at, const struct cie *cie,
		       struct frame_entry *e);
