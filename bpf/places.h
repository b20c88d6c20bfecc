/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognises a kernel stack by where its return addresses lie. BPF programs include this file, and
 * a unit test, which gives it words of its own as a stack.
 */
#pragma once

#include "bpf/waits_records.h"

#ifdef __bpf__
#include "bpf/measure.h"
#define PLACE_WORD(address) kernel_word(address)
#else
#define PLACE_WORD(address) (*(const pt_u64 *)(address))
#endif

/* Do the return addresses of this place lie on the stack above `base`? Reading them one by one
 * costs a fifth of copying the whole stack. */
static inline __attribute__((always_inline)) int place_is_here(pt_u64 base, struct pt_place *p)
{
	if (p->nr < PT_PLACE_LEAST)
		return 0;
	for (pt_u32 i = 0; i < PT_PLACE_ADDRESSES; i++) {
		if (i >= p->nr)
			break;
		if (PLACE_WORD(base + 8ull * p->at[i]) != p->address[i])
			return 0;
	}
	return 1;
}

/* Begin to learn the place of the stack `trace` with the words of `known`, if it has the same
 * frames, else with none. */
static inline __attribute__((always_inline)) void place_begin(struct pt_place *p,
							      struct pt_place *known, pt_u32 trace)
{
	if (known && known->trace == trace)
		*p = *known;
	else
		__builtin_memset(p->at, 0, sizeof(p->at));
	p->trace = trace;
	p->hits = known ? known->hits : 0;
	p->misses = known ? known->misses : 0;
}

/*
 * Find out where the return addresses `frames` lie in the words of the stack in `room`. Old copies
 * of them may lie there, too, where the stack was once deeper, and such a copy may come first. It
 * disappears sooner or later, but the true word always holds the address. So begin where the
 * address was found in an earlier stack with the same frames (place_begin()): that word holds it
 * again, or was an old copy. After some stacks only the true words are left.
 */
static inline __attribute__((always_inline)) void place_fill(struct pt_place_room *room,
							     const pt_u64 *frames)
{
	/* in memory, so that the verifier does not follow each of its values */
	volatile pt_u32 *count = &room->place.nr;

	*count = 0;
	for (pt_u64 k = 0; k < PT_WAITS_WORDS; k++) {
		pt_u64 nr = *count;

		if (nr >= PT_PLACE_ADDRESSES)
			break;
		if (room->word[k] != frames[nr] || k < room->place.at[nr])
			continue;
		room->place.address[nr] = room->word[k];
		room->place.at[nr] = k;
		*count = nr + 1;
	}
}
