// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/asleep.h"
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/guard.h"
#include "collect/kernel_functions.h"
#include "collect/modules.h"
#include "collect/share.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/thread_snapshots.h"
#include "collect/units.h"
#include "collect/waits.h"

void fall_asleep(struct collector *c)
{
	c->loop.asleep = true;
	functions_sleep(c);
	units_sleep(c);
	kernel_functions_sleep(c);
	descend_sleep(c);
	snapshots_end(c);
	share_end(c);
	waits_pause(c);
}

void wake_up(struct collector *c)
{
	c->loop.asleep = false;
	guard_beat();
	for (unsigned int i = 0; i < c->targets.nr; i++)
		modules_scan(c, c->targets.list[i]);
	units_wake(c);
	functions_wake(c);
	kernel_functions_wake(c);
	descend_wake(c);
	/* slice.start is 0 before the first slice */
	send_note(c, NOTE_WARNING, "%s: nothing was measured from %.1f to %.1f s",
		  c->loop.held_up
		      ? "the collector hung for more than 3 s, so all probes were removed"
		      : "peaktop was stopped",
		  c->slice.start > c->start_ns ? (double)(c->slice.start - c->start_ns) / 1e9 : 0.,
		  (double)session_ns(c) / 1e9);
	c->loop.held_up = false;
	c->slice.start = now_ns();
	slice_next(c, c->slice.start);
}
