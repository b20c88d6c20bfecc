/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides when a peak of an operation has appeared, moved or vanished, from the peaks after each
 * slice. The peaks are those of the whole run, so that a peak that gets no more calls stays in the
 * set: it has vanished when it has been silent for much longer than ever before.
 *
 * Pure: the same slices give the same events.
 */
#pragma once

#include "analysis/latency/peaks.h"

enum {
	PEAK_EVENT_SLICES = 3,	 /* a change must last for so many slices */
	PEAK_SILENT_SLICES = 5,	 /* a peak without calls is not called vanished earlier */
	PEAK_MIN_CALLS = 20,	 /* calls of a peak, and calls expected in its silence */
	PEAK_SILENCE_FACTOR = 4, /* how much longer than its longest silence so far */
	PEAK_MOVE_BUCKETS = 4,	 /* half a doubling */
};

/* What is known of one peak. Buckets are at resolution 8. */
struct peak_past {
	int id;
	bool announced, silent; /* it was reported as appeared; as vanished, and may return */
	unsigned int listed, absent, off_place; /* slices in a row */
	struct bucket_range range;
	unsigned int mode;
	unsigned int middle, told_middle; /* bucket of its median: now, and as reported */
	uint64_t calls;			  /* in `range`, at the last slice */
	uint64_t gained;		  /* calls since it was first listed */
	uint64_t first_ns, last_ns; /* first slice in which it was listed; last one with calls */
	uint64_t watched_ns, silent_ns, longest_silence_ns;
	unsigned int silent_slices;
};

struct peak_history {
	unsigned int nr;
	struct peak_past past[PEAKS_TRACKED];
};

enum peak_change {
	PEAK_CHANGE_APPEARED,
	PEAK_CHANGE_MOVED,    /* its median, from `from` to `mode` */
	PEAK_CHANGE_VANISHED, /* no calls any more, for silent_ns */
	PEAK_CHANGE_MERGED,   /* no longer distinct from its neighbours, or too small to list */
	PEAK_CHANGE_RETURNED, /* calls again after silent_ns */
};

struct peak_event {
	enum peak_change change;
	int id;
	unsigned int mode, from; /* buckets */
	uint64_t silent_ns;
};

/* The peaks of an operation at the end of a slice. */
struct peak_slice {
	uint64_t start_ns, end_ns;
	uint64_t watched_ns;	    /* time since the last slice in which calls were seen */
	const struct profile *seen; /* all calls so far, not scaled up */
	unsigned int nr;	    /* listed peaks */
	struct peak_span span[PEAKS_TRACKED];
	int id[PEAKS_TRACKED];
};

/* Takes one slice. Returns the number of events in `out`, at most PEAKS_TRACKED. */
unsigned int peak_events_slice(struct peak_history *h, const struct peak_slice *slice,
			       struct peak_event *out);
