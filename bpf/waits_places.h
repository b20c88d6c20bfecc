/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing of waits: kernel stacks that are recognised without unwinding them. */
#ifndef PEAKTOP_BPF_WAITS_PLACES_H
#define PEAKTOP_BPF_WAITS_PLACES_H

#include "bpf/waits.h"

/* Do the return addresses of this place lie on the stack? */
INLINE bool place_is_here(struct place_room *room, struct pt_place *p)
{
	if (p->nr < PT_PLACE_LEAST)
		return false;
	for (u32 i = 0; i < PT_PLACE_ADDRESSES; i++) {
		u64 at = p->at[i];

		if (i >= p->nr)
			break;
		HIDE(at);
		if (at >= PT_WAITS_WORDS || room->word[at] != p->address[i])
			return false;
	}
	return true;
}

/* Frames of a stack below the context: four of these programs and their caller. If a kernel has
 * others, no place is learnt. */
enum { FRAMES_BELOW = 5 };

/* Find out where the return addresses of the stack lie that was just taken. */
SEPARATE int place_learn(struct place_room *room, struct pt_waits_stack *stack)
{
	volatile u32 *count;

	if (!room || !stack)
		return 0;
	/* in memory, so that the verifier does not follow each of its values */
	count = &room->place.nr;
	*count = 0;
	for (u64 k = 0; k < PT_WAITS_WORDS; k++) {
		u64 nr = *count;

		if (nr >= PT_PLACE_ADDRESSES)
			break;
		if (room->word[k] != stack->frames[FRAMES_BELOW + nr])
			continue;
		room->place.address[nr] = room->word[k];
		room->place.at[nr] = k;
		*count = nr + 1;
	}
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
	struct pt_waits_stack *stack;
	struct place_room *room;
	struct pt_place *known;
	u32 zero = 0, trace;
	u64 key;

	room = bpf_map_lookup_elem(&place_room, &zero);
	stack = bpf_map_lookup_elem(&waits_stack, &zero);
	if (!room || !stack || f->flags & (IS_KERNEL | IS_URING) || (s64)regs->orig_ax < 0)
		return kernel_trace(ctx, 0, now);
	/* the context lies on the kernel stack */
	*(volatile u64 *)&f->stack_at = (u64)ctx;
	if (bpf_probe_read_kernel(room->word, sizeof(room->word),
				  (void *)*(volatile u64 *)&f->stack_at))
		return kernel_trace(ctx, 0, now);
	key = (regs->orig_ax << 52 ^ regs->di << 32 ^ regs->sp) * 1099511628211ull;
	key ^= regs->ip ^ (u64)wakes << 63;
	known = bpf_map_lookup_elem(&places, &key);
	if (known && place_is_here(room, known)) {
		known->hits++;
		return known->trace;
	}
	trace = kernel_trace(ctx, 0, now);
	/* tasks sleep in many places here: learning them would cost more than it saves */
	if (known && ++known->misses > 8 && known->misses > known->hits / 4)
		return trace;
	place_learn(room, stack);
	room->place.trace = trace;
	room->place.hits = known ? known->hits : 0;
	room->place.misses = known ? known->misses : 0;
	if (trace)
		bpf_map_update_elem(&places, &key, &room->place, BPF_ANY);
	return trace;
}

#endif
