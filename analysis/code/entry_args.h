/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which integer parameters a function has, by its code alone: those registers of the ABI that it
 * reads before it writes them. */
#pragma once

struct placer;

enum { ENTRY_ARGS_UNKNOWN = 0xff };

/* The argument registers that the function at `vaddr` may read, as bits in the order of the ABI, or
 * that it leaves as they are for a function to which it jumps at its end. ENTRY_ARGS_UNKNOWN if the
 * code cannot be followed, or if it reads none itself and calls others with what it got. */
uint8_t code_entry_args(struct placer *p, uint64_t vaddr);
