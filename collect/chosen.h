/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads that the user chose: only their calls are counted, in all layers. */
#pragma once

#include "analysis/session/record.h"

struct collector;

/* The last choice. All zero: all threads. */
struct chosen {
	uint64_t since; /* CLOCK_MONOTONIC */
	uint32_t nr;
	struct rec_chosen *list;
};

/*
 * Carry out REQ_CHOICE: end the slice, empty all profiles and count from then on only calls that
 * begin in these threads. Sends REC_CHOICE. Sends REC_REFUSED if it cannot, and then counts all
 * threads.
 */
void chosen_request(struct collector *c, const struct rec_choice *req);
/* True if an open call of this thread is to be shown that began at `start`. */
bool chosen_shows(const struct collector *c, uint32_t tgid, uint32_t tid, uint64_t start);
void chosen_release(struct collector *c);
