/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread did in the time in which another thread waited for it, from its last off-CPU
 * intervals. The scheduler is watched in bursts, and not between two measured calls, so an
 * interval that is missing does not mean that the thread ran. The kernel counts how often a thread
 * leaves its CPU: if that number grew by one from one noted interval to the next, none is missing
 * between them. BPF programs include this file, and a unit test.
 */
#pragma once

#include "bpf/records.h"

enum { PAST_MIN_NS = 20000 };

/*
 * A thread that left its CPU at `since` gets one at `now`, after it had left one `switches` times.
 * `since` 0: it left before the scheduler was watched in this burst, that is before every sleep
 * that is asked about. Returns the interval to fill in; NULL: too short.
 */
static inline __attribute__((always_inline)) struct pt_past *
past_add(struct pt_asleep *a, pt_u64 since, pt_u64 now, pt_u32 switches)
{
	struct pt_past *p;

	if (!since || a->switches != switches)
		a->known_since = since;
	/* 0 means that nothing is known */
	a->switches = switches + 1;
	if (now - since < PAST_MIN_NS)
		return 0;
	p = &a->past[a->nr_past++ % PT_PASTS];
	p->since = since;
	p->until = now;
	return p;
}

/* A thread runs for the first time. */
static inline __attribute__((always_inline)) void past_begin(struct pt_asleep *a, pt_u64 now,
							     pt_u32 switches)
{
	a->known_since = now;
	a->switches = switches + 1;
}

/*
 * Fill in what the thread did between `since` and `until`. At `until` it ran and had left its CPU
 * `switches` times; PAST_NOT_COUNTED: neither is known. The time in which it was not off its CPU
 * counts as running only if no interval is missing.
 */
#define PAST_NOT_COUNTED (~0u)
static inline __attribute__((always_inline)) void past_fill(struct pt_record_sleep *r,
							    const struct pt_asleep *a, pt_u64 since,
							    pt_u64 until, pt_u32 switches)
{
	pt_u64 all = 0, oldest = until, newest = 0, queued = 0, preemption = 0;
	int complete;

	if (until <= since)
		return;
	for (int i = 0; i < PT_PASTS; i++) {
		const struct pt_past *p = &a->past[i];
		pt_u64 from = p->since > since ? p->since : since,
		       to = p->until < until ? p->until : until;

		if (p->since < oldest)
			oldest = p->since;
		if (p->until > newest)
			newest = p->until;
		if (to <= from)
			continue;
		all += to - from;
		if (p->preempt_pid) {
			queued += to - from;
			if (to - from <= preemption)
				continue;
			preemption = to - from;
			r->did_pid = p->preempt_pid;
			__builtin_memcpy(r->did_comm, p->preempt_comm, PT_COMM);
		} else if (to - from > r->did_ns) {
			r->did_ns = to - from;
			r->did_syscall = p->syscall;
		}
	}
	complete =
	    a->switches && a->known_since <= since && (a->nr_past <= PT_PASTS || oldest <= since) &&
	    (switches == PAST_NOT_COUNTED ? newest >= until : (pt_s32)(a->switches - switches) > 0);
	/* the longest of: one sleep, all waits after preemptions, and the rest, in which it ran */
	r->did = r->did_ns ? PT_DID_SLEEP : PT_DID_UNKNOWN;
	if (queued > r->did_ns) {
		r->did = PT_DID_WAIT_FOR_CPU;
		r->did_ns = queued;
	}
	if (complete && until - since > all && until - since - all > r->did_ns) {
		r->did = PT_DID_RUN;
		r->did_ns = until - since - all;
	}
	/* of what is not known nothing is said: only what takes half of the sleep is the longest */
	if (!complete && r->did_ns * 2 < until - since)
		r->did = PT_DID_UNKNOWN;
}
