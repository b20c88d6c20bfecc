/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that have not returned. */
#ifndef PEAKTOP_COLLECT_OPEN_CALLS_H
#define PEAKTOP_COLLECT_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct collector;

/* Threads that ended since the last sweep. */
struct exited_threads {
	uint32_t tid[256];
	unsigned int nr;
};

/* Look for calls that have not returned, count them in the slots, then send the
 * oldest (which frees them). */
struct open_calls;
struct open_calls *open_calls_snapshot(struct collector *c, uint64_t now, bool last);
void open_calls_send(struct collector *c, struct open_calls *open);

#endif
