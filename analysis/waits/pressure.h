/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues (pipes, sockets) that make their users wait: a full one its producer until the consumer
 * reads (back-pressure), an empty one its consumer until the producer writes. Of the newest
 * window. */
#pragma once

#include "analysis/waits/waits.h"

struct waits_pressure {
	const char *queue; /* "pipe:[17]", "" not known; texts are as the host gave them */
	const char *waiter, *other;
	uint32_t waiter_tid, other_tid;
	bool full;
	uint64_t ns, count;
};

/* Those of the targets and of the tasks that ended their sleeps and so on, most time first. Returns
 * how many there are, at most `max`; *span_ns: the time that was looked at. */
uint32_t waits_pressure(const struct waits *w, struct waits_pressure *out, uint32_t max,
			uint64_t *span_ns);
