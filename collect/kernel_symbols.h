/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel stacks of stack samples, and names of kernel functions, sent when they first occur. */
#pragma once

#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;

/* Read the kernel's symbols, once. Without CAP_SYSLOG, send a note; kernel stacks then stay
 * empty. */
void kernel_symbols_load(struct collector *c);
/* Read the names of the kernel's functions now, which takes long, and note if they are hidden. */
void kernel_names_look(struct collector *c);
/* The offset of the function with this name, whose name is sent; 0: its address is not known. */
uint64_t kernel_symbol_named(struct collector *c, const char *name);
void kernel_symbols_free(struct collector *c);
/* How many of these addresses, innermost first, are those of BPF programs that trace, and what
 * called them; at most PT_KERNEL_FRAMES. */
uint32_t kernel_stack_programs(const uint64_t *innermost_first, uint32_t nr);
/* Write the frames of the kernel's part of a stack to `out`, the system call first, without the
 * innermost ones, which are `programs`; at most PT_KERNEL_FRAMES + 1. Returns their number. */
uint32_t kernel_frames(struct collector *c, const struct pt_record_stack *r, uint32_t programs,
		       struct rec_frame *out);
