/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records the pace of a thread's calls of a function: what the thread did since its previous
 * call, in the same burst or over a gap without probes. analysis/latency/scale.h estimates from
 * it how the program would run without probes.
 */
#pragma once

#include "bpf/measure.h"

/* The thread slept since its last call. The calls between two sleeps are one cycle of its
 * work. */
INLINE void pace_sleep(struct pt_hist *h, struct pt_pace *p, u64 sleeps)
{
	if (p->slept) {
		__sync_fetch_and_add(&h->cycle_calls, p->calls);
		__sync_fetch_and_add(&h->cycles, sleeps);
	}
	p->slept = 1;
	p->calls = 0;
}

INLINE void pace_gap(struct pt_hist *h, struct pt_pace *p, u64 ran, u64 sleeps)
{
	__sync_fetch_and_add(&h->gaps, 1);
	__sync_fetch_and_add(&h->gap_cpu_ns, ran);
	if (p->slept) {
		__sync_fetch_and_add(&h->gap_sleeper_cpu_ns, ran);
		__sync_fetch_and_add(&h->gap_sleeps, sleeps);
	}
	p->slept = 0;
	p->calls = 0;
}

INLINE void pace_count(struct pt_hist *h, struct pt_pace *p, struct task_struct *task, u64 at,
		       u32 burst)
{
	u64 cpu = task->se.sum_exec_runtime, nvcsw = task->nvcsw, nivcsw = task->nivcsw;
	u64 ran = cpu - p->cpu, sleeps = nvcsw - p->nvcsw;

	/* the counters went back: the thread id was reused */
	if (cpu < p->cpu || nvcsw < p->nvcsw) {
		p->at = p->ahead = p->calls = 0;
		p->slept = 0;
	}
	if (p->at && p->burst == burst && !sleeps && nivcsw == p->nivcsw) {
		__sync_fetch_and_add(&h->run_calls, 1);
		__sync_fetch_and_add(&h->run_ns, at - p->at);
		p->ahead += at - p->at;
		p->ahead = p->ahead > ran ? p->ahead - ran : 0;
	} else if (p->at) {
		ran = ran > p->ahead ? ran - p->ahead : 0;
		p->ahead = 0;
		if (p->burst == burst) {
			__sync_fetch_and_add(&h->switch_calls, 1);
			__sync_fetch_and_add(&h->switch_cpu_ns, ran);
			if (sleeps)
				pace_sleep(h, p, sleeps);
		} else {
			pace_gap(h, p, ran, sleeps);
		}
	}
	p->calls++;
	p->at = at;
	p->cpu = cpu;
	p->nvcsw = nvcsw;
	p->nivcsw = nivcsw;
	p->burst = burst;
}

enum { LONG_PROGRAM_NS = 20000 };

/* Count a hit whose BPF program took `ns`. */
INLINE void pace_hit(struct pt_hist *h, struct pt_site *s, u64 ns)
{
	/* the program was interrupted, or the thread lost its CPU */
	if (ns > LONG_PROGRAM_NS)
		return;
	__sync_fetch_and_add(&h->pace_hits[s->class ? 1 : 0], 1);
	__sync_fetch_and_add(&h->program_ns, ns);
}

/* Count the time that the program spent on an end since `began`. Returns the present time, or
 * `began` if the pace is not recorded. */
INLINE u64 pace_end(struct pt_control *c, struct pt_site *s, u64 began)
{
	struct pt_hist *h = s->pace ? hist_of(c, s->end_slot) : 0;
	u64 now;

	if (!h)
		return began;
	now = bpf_ktime_get_ns();
	pace_hit(h, s, now - began);
	return now;
}

INLINE void pace_take(struct pt_site *s, struct pt_hist *h, u32 tid, u64 at)
{
	u64 key = (u64)s->start_slot << 32 | tid;
	struct pt_pace *p = bpf_map_lookup_elem(&paces, &key), fresh = {};

	if (!p) {
		if (!bpf_map_update_elem(&paces, &key, &fresh, BPF_NOEXIST))
			__sync_fetch_and_add(&h->callers, 1);
		p = bpf_map_lookup_elem(&paces, &key);
	}
	if (p)
		pace_count(h, p, bpf_get_current_task_btf(), at, s->burst);
}
