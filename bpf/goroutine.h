/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a goroutine does, from its struct g (runtime2.go) in the memory of the current thread. */
#pragma once

#include "bpf/measure.h"

enum {
	GO_WAITING = 4,
	GO_SCAN = 0x1000,
	GO_MACHINE = 48,
	GO_SCHED = 56,
	GO_STATUS = 144,
	GO_STATUS_1_23 = 152,
};

/*
 * Returns the wait reason + 1 of a parked goroutine, else 0. The fields are part of its struct
 * g (runtime2.go): status, a lock, its number, the next goroutine, the start of the wait, and
 * the reason. The offset of the status depends on Go's version.
 */
INLINE u32 parked_at(u64 at)
{
	struct {
		u32 status, lock;
		u64 number, next, since;
		unsigned char reason;
	} g;

	if (bpf_probe_read_user(&g, sizeof(g), (void *)at) || (g.status & ~GO_SCAN) != GO_WAITING ||
	    g.lock > 1)
		return 0;
	return g.number && g.number < 1ull << 40 && g.reason < 64 ? g.reason + 1 : 0;
}

/* The thread (struct m) that a goroutine runs on; 0: none, it is parked or waits to run. */
INLINE u64 machine_of(u64 goroutine)
{
	u64 machine = 0;

	if (goroutine)
		bpf_probe_read_user(&machine, sizeof(machine), (void *)(goroutine + GO_MACHINE));
	return machine;
}

/*
 * Does the current thread work for this goroutine on the stack of the system (systemstack, mcall),
 * which has a struct g of its own (`system`)? A goroutine that stops the world is "waiting" then,
 * so that its stack can be scanned, but it is not parked.
 */
INLINE bool is_on_system_stack(u64 goroutine, u64 system)
{
	u64 machine = machine_of(goroutine);

	return machine && system != goroutine && machine_of(system) == machine;
}

INLINE u32 parked(u64 goroutine)
{
	u32 reason;

	if (!goroutine || machine_of(goroutine))
		return 0;
	reason = parked_at(goroutine + GO_STATUS);
	return reason ? reason : parked_at(goroutine + GO_STATUS_1_23);
}
