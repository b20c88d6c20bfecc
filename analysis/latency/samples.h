/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded memory of sampled calls with their values.
 *
 * One reservoir (Vitter, 1985, algorithm R) per doubling of the latency, so
 * that rare slow calls keep their samples however many fast ones there are.
 * Deterministic: which call is replaced follows from the numbers of the
 * operation and of the sample. Half of the calls are marked as held out, for
 * judging rules that were chosen on the other half.
 */
#ifndef PEAKTOP_SAMPLES_H
#define PEAKTOP_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/latency/model.h"

enum { SAMPLES_PER_DOUBLING = 128 };

/* One call; fields as in struct rec_sample. */
struct call_sample {
	uint64_t start_ns, latency_ns;
	int64_t ret;
	uint64_t args[SAMPLE_ARGS];
	uint64_t oncpu_ns, runqueue_ns;
	uint32_t tid;
	uint32_t minor_faults, major_faults;
	uint32_t migrations, sleeps, preempted; /* counts beyond 32 bits saturate */
	uint64_t interrupt_ns;
	uint32_t chance_ppm; /* 1..1000000 */
	uint16_t known;	     /* enum sample_known */
	bool held_out;
};

struct samples {
	struct {
		uint64_t received;
		unsigned int nr, cap;
		struct call_sample *call;
	} stratum[PT_DOUBLINGS];
	unsigned int nr; /* of all strata, at most MODEL_MAX_SAMPLES */
};

void samples_init(struct samples *s);
void samples_release(struct samples *s);

/*
 * Offer one call to the reservoirs, which together do not grow beyond `max`
 * (nor beyond MODEL_MAX_SAMPLES). Returns 0 or -ENOMEM (not taken).
 */
int samples_add(struct samples *s, const struct rec_sample *rec, unsigned int max);

/*
 * Write pointers to all calls to call[0..s->nr), by doubling, and the number of
 * calls that each stands for to weight[]: the calls of its doubling in `total`,
 * divided among its samples by one over their chance.
 */
void samples_list(const struct samples *s, const struct profile *total,
		  const struct call_sample **call, double *weight);

#endif
