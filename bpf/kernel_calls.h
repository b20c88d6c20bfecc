/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What identifies a call of a kernel function, and its frame. */
#pragma once

#include "bpf/measure.h"

/*
 * The key of a kernel function's activation: thread and operation. In a recursion only the
 * outermost call counts.
 */
INLINE void kernel_key(struct pt_act_key *key, u64 id, u32 slot)
{
	key->cfa = 1ull << 63 | (u32)id;
	key->tgid = id >> 32;
	key->slot = slot;
}

/*
 * The address of a frame of the kernel: its distance from the lower end of the task's stack. So it
 * is less than that of each frame of the program, whose calls come before.
 */
INLINE u64 kernel_frame(struct pt_regs *ctx)
{
	return ctx->sp - (u64)bpf_get_current_task_btf()->stack;
}
