/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding instructions, one at a time, from an address that is known to be the
 * start of one. Lengths and register effects come from capstone; control flow,
 * stack pointer changes and what the kernel does with a probe come from arch.h. */
#pragma once

/* What comes after an instruction. */
enum insn_flow {
	INSN_NEXT = 0,	    /* the next one */
	INSN_JCC,	    /* `target` or the next one */
	INSN_JMP,	    /* `target` */
	INSN_JMP_INDIRECT,  /* anything */
	INSN_CALL,	    /* `target`, then the next one */
	INSN_CALL_INDIRECT, /* anything, then the next one */
	INSN_RET,
	INSN_STOP, /* a trap, or a transfer that no compiler makes: the path ends */
};

enum { INSN_MAX_LENGTH = 15, INSN_TEXT = 48 };

/* How the bytes are made up; arch_*.c only. */
struct insn_encoding {
	uint16_t prefixes;
	uint8_t rex;
	uint8_t kind; /* legacy, VEX, EVEX, XOP */
	uint8_t map;
	uint8_t opcode;
	uint8_t modrm_at; /* index of the byte after the opcode, where a ModRM would be; 0: none */
};

struct insn {
	uint64_t vaddr;
	uint64_t target; /* of JCC, JMP, CALL */
	uint8_t length;
	uint8_t flow; /* enum insn_flow */
	uint8_t bytes[INSN_MAX_LENGTH];
	struct insn_encoding enc;
};

/* What an instruction does to registers that matter for a place. */
struct insn_effects {
	bool sp_written;      /* the stack pointer changes ... */
	bool sp_known;	      /* ... by `sp_delta` */
	int64_t sp_delta;     /* a call counts as 0: the value after it has returned */
	uint8_t args;	      /* integer argument registers that are written, as bits */
	uint8_t args_read;    /* those that are read; not by setting one to 0, as xor does */
	bool ret;	      /* the register of the return value is written */
	char text[INSN_TEXT]; /* disassembled */
};

/* NULL: out of memory. */
struct decoder *decoder_new(void);
void decoder_free(struct decoder *d);

/* The instruction in the first bytes of `bytes`, at most `len`. 0, or -EILSEQ:
 * these bytes are no instruction that is known, or it goes on past `len`. */
int decode_insn(struct decoder *d, const uint8_t *bytes, size_t len, uint64_t vaddr,
		struct insn *out);
/* AT&T syntax, cut to fit; ".byte ..." for what is not known. Some ten times slower, as the next.
 */
void decode_text(struct decoder *d, const struct insn *insn, char *out, size_t size);
/* 0 or -EILSEQ; then `out` says that everything changed. */
int decode_effects(struct decoder *d, const struct insn *insn, struct insn_effects *out);
