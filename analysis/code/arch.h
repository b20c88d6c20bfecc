/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between processors, for the code planner: encoding, calling
 * convention, and what the kernel's uprobes do with an instruction
 * (x86-64: arch_x86.c; the rules are those of arch/x86/kernel/uprobes.c). */
#pragma once

#include "analysis/code/decode.h"
#include "analysis/code/placement.h"

/* Stack pointer to CFA at the first instruction of a function and at its return. */
enum { ARCH_ENTRY_CFA = 8, ARCH_WORD = 8, ARCH_RETURN_REGISTER = 0 };
/* Bytes that a short jump can span. */
enum { ARCH_SHORT_REACH = 132 };

/* Length of an instruction that capstone does not know, of the families that have
 * one scheme for all (VEX and EVEX); 0 if it is none of these or longer than `len`. */
unsigned arch_unknown_length(const uint8_t *bytes, size_t len);
/* Fill `flow`, `target` and `enc` of an instruction whose bytes and length are known. */
void arch_analyse(struct insn *insn);

enum arch_probe {
	ARCH_PROBE_EMULATED = 0,
	ARCH_PROBE_STEPPED,
	ARCH_PROBE_REFUSED, /* by the kernel: attaching fails */
	ARCH_PROBE_UNSAFE,  /* accepted, but the program or the count may suffer */
	ARCH_PROBE_SHADOW,  /* would break a shadow stack */
};

/* What a probe on this instruction would be. */
enum arch_probe arch_probe_class(const struct insn *insn, const struct place_policy *policy);

/* Processors of different makers disagree about its length. */
bool arch_is_ambiguous(const struct insn *insn);
/* Takes long, or enters the kernel: a place must not lie on its far side. */
bool arch_is_work(const struct insn *insn);
/* Compares the stack pointer with the end of a Go stack. */
bool arch_is_stack_check(const struct insn *insn);
/* Padding between functions and blocks. */
bool arch_is_padding(const struct insn *insn);
/* The change of the stack pointer in the forms that have a constant one. */
bool arch_sp_delta(const struct insn *insn, int64_t *delta);
/* What it reads counts as written too: capstone does not list all that it writes. */
bool arch_swaps(const struct insn *insn);
/* Writes the register of the return value without capstone saying so. */
bool arch_writes_return(const struct insn *insn);
/* Bit of an argument register for a capstone register, its parts included; 0 if none. */
uint8_t arch_argument_bit(unsigned capstone_register);
bool arch_is_return_register(unsigned capstone_register);
bool arch_is_stack_pointer(unsigned capstone_register);

/* Operand of an indirect call or jump. */
void arch_indirect_operand(const struct insn *insn, struct call_operand *out);
/* The same for a probe on the instruction: registers as the kernel hands them out.
 * OPERAND_NONE where a probe cannot compute it (segments, 32-bit addresses). */
void arch_probe_operand(const struct insn *insn, struct rec_operand *out);
/* Address of a memory operand relative to the instruction pointer. */
bool arch_pc_relative(const struct insn *insn, uint64_t *vaddr);
/* `lea ADDRESS, register`: takes an address. */
bool arch_takes_address(const struct insn *insn, uint64_t *vaddr);
/* Loads a 32-bit displacement from a table, as the code for `switch` does. */
bool arch_loads_table_entry(const struct insn *insn);
/* An absolute jump table: jmp *table(, index, 8). */
bool arch_absolute_table(const struct insn *insn, uint64_t *table);

/* A branch of which the first byte is at `bytes`, found without decoding:
 * 1 call, 2 jump, 3 address taken, 0 none. `len` >= ARCH_SCAN_BYTES. */
enum { ARCH_SCAN_BYTES = 7, ARCH_SCAN_NONE = 0, ARCH_SCAN_CALL, ARCH_SCAN_JUMP, ARCH_SCAN_LEA };
int arch_scan(const uint8_t *bytes, uint64_t vaddr, uint64_t *target);
