/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and sends calls that have not returned. */
#pragma once

struct collector;

/* Threads that have ended since the last snapshot. */
struct exited_threads {
	uint32_t tid[256];
	unsigned int nr;
};

/* Find calls that have not returned and count them in the slots. open_calls_send() sends the
 * oldest ones and frees the snapshot. */
struct open_scan;
struct open_scan *open_calls_snapshot(struct collector *c, uint64_t now, bool last);
void open_calls_send(struct collector *c, struct open_scan *open);
