/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of open activations: a call that has begun, by its frame, process and slot. */
#pragma once

#include "bpf/measure.h"

INLINE u32 act_hash(struct pt_act_key *key)
{
	u64 h = (key->cfa ^ (u64)key->tgid << 40 ^ (u64)key->slot << 32) * 0x9e3779b97f4a7c15ull;

	return h >> 40;
}

INLINE struct pt_act *act_at(u32 hash, u32 i)
{
	u32 index = (hash + i) & (PT_ACTIVATIONS - 1);

	return bpf_map_lookup_elem(&activations, &index);
}

/* The open activation with this key; NULL: none. No two CPUs search the same key at once,
 * because one frame is entered and left by one thread at a time. */
INLINE struct pt_act *act_find(struct pt_act_key *key, u32 hash)
{
	for (u32 i = 0; i < PT_ACT_PROBES; i++) {
		struct pt_act *a = act_at(hash, i);

		if (a && (a->state & PT_ACT_STATE) == PT_ACT_OPEN && a->key.cfa == key->cfa &&
		    a->key.tgid == key->tgid && a->key.slot == key->slot)
			return a;
	}
	return 0;
}

INLINE struct pt_act *act_take(struct pt_act_key *key, u32 hash)
{
	for (u32 i = 0; i < PT_ACT_PROBES; i++) {
		struct pt_act *a = act_at(hash, i);

		if (a && !a->state && !__sync_val_compare_and_swap(&a->state, 0, PT_ACT_TAKEN)) {
			a->key = *key;
			a->exit = 0;
			return a;
		}
	}
	return 0;
}

INLINE void act_args(struct pt_act *a, struct pt_regs *ctx)
{
	a->args[0] = ctx->di;
	a->args[1] = ctx->si;
	a->args[2] = ctx->dx;
	a->args[3] = ctx->cx;
	a->args[4] = ctx->r8;
	a->args[5] = ctx->r9;
}

INLINE void act_state(struct pt_act *a, u64 state)
{
	*(volatile u64 *)&a->state = state;
}

/* The address of memory behind an argument; 0: the argument is not known. */
INLINE u64 block_address(struct pt_act *a, struct pt_block *b)
{
	u32 argument = b->argument;

	HIDE(argument);
	if (argument >= PT_ARGS || !(a->arg_mask >> argument & 1))
		return 0;
	return a->args[argument] + b->offset;
}

/*
 * Read what is behind the arguments of a call that begins, without page faults: what is not in
 * memory is not known.
 */
INLINE void act_behind(struct pt_act *a, u32 slot)
{
	struct pt_behind *list = bpf_map_lookup_elem(&behind, &slot);
	u64 at;
	u32 size;

	if (!list)
		return;
	for (int i = 0; i < PT_BLOCKS; i++) {
		size = list->block[i].size;
		at = size ? block_address(a, &list->block[i]) : 0;
		/* older verifiers need the comparison of the very number that is used */
		HIDE(size);
		if (at)
			count_hit(PT_READS);
		if (!at || size > PT_BLOCK || bpf_probe_read_user(a->blocks[i], size, (void *)at))
			continue;
		a->arg_mask |= PT_ACT_BLOCK0 << i;
	}
	size = list->text.size;
	at = size ? block_address(a, &list->text) : 0;
	if (at)
		count_hit(PT_READS);
	if (at && list->text.is_pointer && bpf_probe_read_user(&at, sizeof(at), (void *)at))
		return;
	size++;
	HIDE(size);
	if (at && size <= PT_TEXT + 1 && bpf_probe_read_user_str(a->text, size, (void *)at) > 0)
		a->arg_mask |= PT_ACT_TEXT;
}
