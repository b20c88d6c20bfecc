/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends the results of each slice. */
#ifndef PEAKTOP_COLLECT_SLICES_H
#define PEAKTOP_COLLECT_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;
struct function;

/* The operation that a slot counts. */
struct slot_info {
	uint32_t op; /* 0: not announced yet */
	enum layer layer;
	struct function *function;
	struct pt_hist *last; /* as reported */
	struct pt_hist *cut;  /* as it was when the period that is over ended; used when its
				 armed_time has a cut */
	uint64_t cut_spent, last_spent; /* what its unit had cost: at the cut; as reported */
	uint32_t share;			/* of `shares` of the control block: index + 1; 0: none */
	uint64_t last_ticks, last_in;	/* of it, as reported */
	uint64_t extra_abnormal;	/* found by the collector itself, not yet reported */
	uint64_t abnormal_total;
	uint64_t open, oldest_ns;
	bool reported;
};

/* The slice now open. */
struct slice_state {
	uint64_t interval_ns, number, start, end;
	struct rec_sample *samples;
	uint32_t *sample_slot;
	unsigned int nr_samples, cap_samples;
};

void slots_announce(struct collector *c);
/* "syscall:read"; of one without a name its number. */
void syscall_op_name(uint32_t nr, char *out, size_t n);
/*
 * A burst of a layer or of one function is over: remember the counts of its slots, so that
 * each burst has a record of its own. The target may do something else in the next burst.
 */
void slots_cut(struct collector *c, enum layer layer, const struct function *f,
	       struct armed_time *t);
/* Count from now on. */
void slots_begin(struct collector *c);
void slice_end(struct collector *c, bool last);
/* Send a note if the budget was exceeded. */
void cost_note(struct collector *c);
void tokens_refill(struct collector *c);
void sample_take(struct collector *c, const struct pt_record_sample *s);

#endif
