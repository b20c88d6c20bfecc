/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each task did over time, for the chronological view: lanes of cells. Pure; times
 * are those of the records, in ns. */
#pragma once

#include "analysis/waits/waits.h"

enum lane_state { LANE_RUN = 0, LANE_READY, LANE_SLEEP, LANE_IO, LANE_LOST, LANE_STATES };

/* One task. */
struct waits_lane {
	uint32_t pid, tid;
	uint64_t start_ns; /* of the task: tells apart tasks of one tid */
	const char *comm;  /* as the host gave it; valid until the next record */
	bool target;
	uint64_t ns[LANE_STATES]; /* in the span */
};

/* A part of a lane's span. */
struct lane_cell {
	uint64_t ns[LANE_STATES];
	uint32_t wakings;   /* sleeps that ended here because of a task */
	uint32_t waker_tid; /* of the only such task; 0: there are several, or none */
};

/* A span of at most `span_ns` in the newest window. It ends `back_ns` before the window's end, or
 * later if it would begin before the window. False: nothing was observed. */
bool waits_span(const struct waits *w, uint64_t span_ns, uint64_t back_ns, uint64_t *from,
		uint64_t *to);
/* The followed tasks that did something from `from` to `to`: targets first, then those that ran
 * most. Returns how many there are, at most `max`; *left_out: how many did not fit. */
uint32_t waits_lanes(const struct waits *w, uint64_t from, uint64_t to, struct waits_lane *out,
		     uint32_t max, uint32_t *left_out);
/* Who ended sleeps of a lane, and how many. */
struct lane_waker {
	uint32_t tid, wakings;
};
/* The tasks that ended most sleeps from `from` to `to`, most first. Returns how many, at most
 * `max`. */
uint32_t waits_lane_wakers(const struct waits *w, const struct waits_lane *lane, uint64_t from,
			   uint64_t to, struct lane_waker *out, uint32_t max);
/* Fill `nr` cells of equal length. */
void waits_lane_cells(const struct waits *w, const struct waits_lane *lane, uint64_t from,
		      uint64_t to, struct lane_cell *cell, uint32_t nr);

/* The chains of any task in the newest window, with this task as the outermost layer, and their
 * account. 0, -ENOMEM, or -ENOENT: the task is not known. Release *out with
 * waits_chains_release(). */
int waits_chains_of(struct waits *w, uint32_t tid, uint64_t start_ns, struct waits_chains *out,
		    struct waits_account *account);
/* Show chains by thread or by process from now on, also those that were counted before. */
void waits_group_by(struct waits *w, enum waits_group group);
