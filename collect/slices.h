/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends the results of each slice. */
#pragma once

#include "analysis/latency/armed.h"
#include "analysis/session/record.h"
#include "bpf/records.h"

struct collector;
struct function;

/* The operation that a slot counts. */
struct slot_info {
	uint32_t op; /* front's number of the operation; 0: not announced yet */
	enum layer layer;
	struct function *function;
	struct pt_hist *last; /* histogram as of the last record */
	struct pt_hist *cut;  /* histogram at the end of the last finished period; valid if its
				 armed_time has a cut */
	uint64_t cut_spent,
	    last_spent; /* total cost of its unit: at the cut; as of the last record */
	uint32_t share; /* index + 1 in `shares` of the control block; 0: none */
	uint64_t last_ticks, last_in; /* its counters as of the last record */
	uint64_t extra_abnormal;      /* abnormal ends that the collector found, not reported yet */
	uint64_t extra_unseen;	      /* missed returns of a kernel function that it found */
	uint64_t abnormal_total;
	uint64_t open, oldest_ns;
	bool reported;
};

/* A sample of the current slice, and the slot of its operation; 0 once it was sent. */
struct slot_sample {
	struct rec_sample sample; /* its text is the one below */
	uint32_t slot;
	char text[PT_TEXT + 1];
};

/* The current slice. */
struct slice_state {
	uint64_t interval_ns, number, start, end;
	struct slot_sample *samples;
	unsigned int nr_samples, cap_samples;
	uint32_t layers; /* those that were on earlier in this slice and are off now */
};

/* Send REC_OP for operations that have a slot and were not announced yet. */
void slots_announce(struct collector *c);
/* Write the name of an operation: "syscall:read"; if the call has no name, its number. */
void syscall_op_name(uint32_t nr, char *out, size_t n);
/*
 * A burst of a layer or of one function is over: keep the counts of its slots, so that each
 * burst has its own record. The target may behave differently in the next burst.
 */
void slots_cut(struct collector *c, enum layer layer, const struct function *f,
	       struct armed_time *t);
/* Begin all profiles anew, within the measurement: other threads were chosen. Call it at the begin
 * of a slice. */
void slots_restart(struct collector *c);
/* The measurement begins: count from now on. */
void slots_begin(struct collector *c);
/*
 * Set the end of the slice that begins at `start`. With collector_options.fine_begin, slices last a
 * quarter of the interval in the first 30 s, then half of it for 30 s, but at least 250 ms: the
 * columns of a heat map begin so short, and are joined when its width is full.
 */
void slice_next(struct collector *c, uint64_t start);
/* Send all records of the slice that ends now, and begin the next one. `last`: the session
 * ends. */
void slice_end(struct collector *c, bool last);
/* Send a note if the budget was exceeded. */
void cost_note(struct collector *c);
/* Send REC_COST at the end of a slice; send REC_LOSS. */
void cost_send(struct collector *c, uint64_t now);
void loss_send(struct collector *c);
/* Refill the sampling tokens of all operations. Returns the time until the next refill, ms. */
uint32_t tokens_refill(struct collector *c);
/* Keep a sample until the end of the slice. */
void sample_take(struct collector *c, const struct pt_record_sample *s);
/* Send the samples of a slot. Their chance to be sampled is known only now: samples divided by
 * calls, for each doubling of the latency. */
void samples_send(struct collector *c, uint32_t slot, const uint64_t calls[PT_TOKENS]);
/* Keep samples of slots whose period continues: they are sent with the record of that period. */
void samples_keep(struct collector *c);
