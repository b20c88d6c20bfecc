/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing of waits: kernel stacks that are recognised without unwinding them. */
#pragma once

#include "bpf/places.h"
#include "bpf/waits.h"

/* Frames of a stack below the context: four of these programs and their caller. If a kernel has
 * others, no place is learnt. */
enum { FRAMES_BELOW = 5 };

/* The stack `stack` was just taken: learn its place. */
SEPARATE int place_learn(struct pt_place_room *room, struct pt_waits_stack *stack)
{
	if (room && stack)
		place_fill(room, stack->frames + FRAMES_BELOW);
	return 0;
}

/*
 * The number of the kernel stack of a followed task, the current one. Unwinding costs more than all
 * the rest, and most tasks sleep in the same places again and again.
 */
NOINLINE u32 followed_trace(void *ctx, struct pt_control *c, struct pt_follow *f, u32 wakes,
			    u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct pt_place *known;
	u32 zero = 0, trace;
	u64 key, at;
	struct pt_place_room *room = bpf_map_lookup_elem(&place_room, &zero);
	struct pt_waits_stack *stack = bpf_map_lookup_elem(&waits_stack, &zero);

	if (!room || !stack || f->flags & (IS_KERNEL | IS_URING) || (s64)regs->orig_ax < 0)
		return kernel_trace(ctx, 0, now);
	/* the context lies on the kernel stack */
	*(volatile u64 *)&f->stack_at = (u64)ctx;
	at = *(volatile u64 *)&f->stack_at;
	key = (regs->orig_ax << 52 ^ regs->di << 32 ^ regs->sp) * 1099511628211ull;
	key ^= regs->ip ^ (u64)wakes << 63;
	known = bpf_map_lookup_elem(&places, &key);
	if (known && place_is_here(at, known)) {
		known->hits++;
		return known->trace;
	}
	trace = kernel_trace(ctx, 0, now);
	/* tasks sleep in many places here: learning them would cost more than it saves */
	if (known && ++known->misses > 8 && known->misses > known->hits / 4)
		return trace;
	if (!trace || bpf_probe_read_kernel(room->word, sizeof(room->word), (void *)at))
		return trace;
	place_begin(&room->place, known, trace);
	place_learn(room, stack);
	bpf_map_update_elem(&places, &key, &room->place, BPF_ANY);
	return trace;
}
