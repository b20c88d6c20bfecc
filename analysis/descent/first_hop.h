/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The waits inside the in-peak calls of a descent: for each, the stack of the thread and
 * what ended the wait. This is the first hop of a wait chain, without recursion. It takes
 * the same records as the descent; a wait counts when its call is known to be in the peak.
 * Pure; memory is bounded.
 */
#ifndef PEAKTOP_FIRST_HOP_H
#define PEAKTOP_FIRST_HOP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/descent/descent.h"

enum {
	HOPS_MAX = 256,	    /* different ones; then the lightest makes room and leaves its weight */
	HOPS_PENDING = 256, /* waits whose call is still open */
	HOPS_RECENT = 256,  /* calls that late waits may belong to */
	HOP_TEXT = 128,
};

/* Waits of one kind: at the same stack, for the same thing, ended by the same. */
struct hop {
	uint64_t ns, count;
	uint32_t pid, tid;	/* of one thread that waited */
	struct rec_sleep sleep; /* its texts are those below */
	char call[32], name[HOP_TEXT], waker[32], holder[32], doing[64], about[96];
	uint32_t nr_frames; /* from f0's down; may be none */
	struct rec_frame frame[DESCENT_MAX_WITNESS_FRAMES];
};

struct hops;
/* NULL: out of memory. */
struct hops *hops_new(void);
void hops_free(struct hops *h);
/* Another peak is asked for. */
void hops_forget(struct hops *h);
/* One record of the stream; others than REC_WITNESS and REC_CALL of this operation are ignored. */
void hops_feed(struct hops *h, uint32_t op, const struct record *rec);

/*
 * The heaviest wait on a path: of the kind of its cause, through the functions of its
 * frames in their order. NULL: none, or the cause is no wait. Valid until the next record.
 */
const struct hop *hops_find(const struct hops *h, const struct descent_result *r,
			    const struct descent_path *p);

#endif
