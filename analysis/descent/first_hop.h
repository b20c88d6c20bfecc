/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects the waits inside the in-peak calls of a descent: for each wait the stack of the thread
 * and what ended the wait. This is the first hop of a wait chain. It is fed with the same records
 * as the descent; a wait counts once its call is known to be in the peak. Pure; memory is
 * bounded. */
#pragma once

#include "analysis/descent/descent.h"
#include "analysis/session/sleep_texts.h"
#include "analysis/waits/ender.h"

enum {
	/* different waits; a further one replaces the lightest and inherits its weight */
	HOPS_MAX = 256,
	HOPS_PENDING = 256, /* waits whose call is still open */
	/* recent in-peak calls, for waits whose record comes after the call */
	HOPS_RECENT = 256,
};

/* Waits with the same stack and the same cause, ended by the same task. */
struct hop {
	uint64_t ns, count;
	uint32_t pid, tid; /* one of the threads that waited */
	enum cause_kind cause;
	enum wait_ender ender;
	struct rec_sleep sleep; /* its texts are in `texts` */
	struct sleep_texts texts;
	uint32_t nr_frames; /* frames from f0 down; 0 if the stack is not known */
	struct rec_frame frame[DESCENT_MAX_WITNESS_FRAMES];
};

struct hops;
/* NULL: out of memory. */
struct hops *hops_new(void);
void hops_free(struct hops *h);
/* Drops all waits, because the descent turns to another peak. */
void hops_forget(struct hops *h);
/* Takes sleeps (REC_WITNESS) and calls (REC_CALL) of operation `op`; ignores all other records. */
void hops_feed(struct hops *h, uint32_t op, const struct record *rec);

/* Returns the heaviest wait whose cause has the same kind as the cause of path `p` and whose stack
 * goes through the functions of `p` in their order. Returns NULL if there is none. The result is
 * valid until the next record. */
const struct hop *hops_find(const struct hops *h, const struct descent_result *r,
			    const struct descent_path *p);
