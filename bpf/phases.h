/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases (DARC, SIGMETRICS 2008, section 4.2): a phase of a process lasts from the begin of one
 * operation's call to the end of another's. Only calls that begin within a phase count, in all
 * threads.
 */
#pragma once

#include "bpf/measure.h"

/* True if a call that this process begins now counts. */
INLINE bool in_phase(struct pt_control *c, u32 tgid)
{
	struct pt_phase *p;

	if (!c->phase_mode)
		return true;
	p = bpf_map_lookup_elem(&phases, &tgid);
	return p && p->depth && p->epoch == *(volatile u32 *)&c->phase_epoch && !c->phase_blind;
}

/* True if a call that this thread begins now counts. */
INLINE bool counts_now(struct pt_control *c, u32 tgid, u32 tid)
{
	return in_phase(c, tgid) && is_chosen(c, tgid, tid);
}

/* True if the same operation begins and ends phases: then its open calls are counted. */
INLINE bool phase_nests(struct pt_control *c)
{
	return c->phase_begin_slot == c->phase_end_slot && c->phase_begin_call == c->phase_end_call;
}

/* A call of the operation that begins phases has begun. */
INLINE void phase_begin(struct pt_control *c, u32 tgid)
{
	struct pt_phase *p = bpf_map_lookup_elem(&phases, &tgid), fresh = {};
	u32 was;

	if (c->phase_blind)
		return;
	if (!p) {
		bpf_map_update_elem(&phases, &tgid, &fresh, BPF_NOEXIST);
		p = bpf_map_lookup_elem(&phases, &tgid);
		if (!p)
			return;
	}
	if (p->epoch != c->phase_epoch) {
		p->depth = 0;
		p->epoch = c->phase_epoch;
	}
	was = phase_nests(c) ? __sync_fetch_and_add(&p->depth, 1)
			     : __sync_lock_test_and_set(&p->depth, 1);
	if (!was) {
		p->since = bpf_ktime_get_ns();
		__sync_fetch_and_add(&c->phases, 1);
	}
}

/* A call of the operation that ends phases has ended. */
INLINE void phase_end(struct pt_control *c, u32 tgid)
{
	struct pt_phase *p = bpf_map_lookup_elem(&phases, &tgid);
	u32 was;

	if (!p || !p->depth || p->epoch != c->phase_epoch)
		return;
	was = phase_nests(c) ? __sync_fetch_and_add(&p->depth, -1)
			     : __sync_lock_test_and_set(&p->depth, 0);
	if (was == 1)
		__sync_fetch_and_add(&c->phase_ns, bpf_ktime_get_ns() - p->since);
}
