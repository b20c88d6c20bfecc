/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares an instruction in a process's memory with the same instruction in its file. The kernel
 * executes the file's instruction when a uprobe is hit, so a uprobe must not be placed where the
 * process has written another one.
 */
#pragma once

enum { CODE_MAX_BYTES = 15 /* the longest instruction */ };

enum code_state {
	CODE_AS_IN_FILE = 0,
	CODE_BREAKPOINT, /* the first byte is an int3, the other bytes are those of the file */
	/*
	 * A 5-byte nop became a call. The kernel does that to uprobes (x86, from Linux 6.18), and
	 * programs do it to their own code: code_call_target() tells them apart.
	 */
	CODE_CALL_AT_NOP,
	CODE_CHANGED,
	CODE_UNREADABLE, /* code_memory_compare() could not read it */
};

enum code_state code_compare(const uint8_t *file, const uint8_t *memory, size_t length);
/* The number of bytes that differ, without single breakpoints. *first: index of the first. */
size_t code_differences(const uint8_t *file, const uint8_t *memory, size_t length, size_t *first);
/*
 * True if these bytes are one call instruction: to an address, by a register, or by memory. None
 * has more than CODE_CALL_BYTES here: no prefixes are known but those that compilers write.
 */
enum { CODE_CALL_BYTES = 8 };
bool code_is_call(const uint8_t *code, size_t length);
/* The address that the call instruction `memory`, at `address`, calls. */
uint64_t code_call_target(const uint8_t *memory, uint64_t address);
