/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded set of sampled calls with their values.
 *
 * Each doubling of the latency has its own reservoir (Vitter, 1985, algorithm R), so that rare slow
 * calls keep their samples, however many fast ones there are. Deterministic: the numbers of the
 * doubling and of the sample decide which call is replaced. Half of the calls are marked as held
 * out, to judge rules that were chosen on the other half.
 */
#pragma once

#include "analysis/latency/model.h"

enum {
	SAMPLES_PER_DOUBLING = 128,
	SAMPLE_TEXT_BYTES = 41, /* with the NUL */
};

/* One call; fields as in struct rec_sample. */
struct call_sample {
	uint64_t start_ns, latency_ns;
	int64_t ret;
	uint64_t args[SAMPLE_ARGS];
	uint64_t oncpu_ns, runqueue_ns;
	uint32_t tid;
	uint32_t minor_faults, major_faults;
	uint32_t migrations, sleeps, preempted; /* larger counts saturate */
	uint64_t interrupt_ns, steal_ns;
	/* probability that the call was sampled, in millionths: 1..1000000 */
	uint32_t chance_ppm;
	uint32_t known; /* enum sample_known */
	bool held_out;
	char text[SAMPLE_TEXT_BYTES];
	uint64_t members[SAMPLE_MEMBERS];
};

struct samples {
	struct {
		uint64_t received;
		unsigned int nr, cap;
		struct call_sample *call;
	} stratum[PT_DOUBLINGS];
	unsigned int nr; /* calls of all strata, at most MODEL_MAX_SAMPLES */
};

/* Returns how often the call lost its CPU without giving it up: to other tasks, and once if the
 * hypervisor took more than a fiftieth of its latency. */
static inline uint32_t call_preemptions(const struct call_sample *c)
{
	return c->preempted + (c->preempted < UINT32_MAX && c->steal_ns > c->latency_ns / 50);
}

void samples_init(struct samples *s);
void samples_release(struct samples *s);

/* Offers one call to the reservoirs, which together hold at most `max` calls (and at most
 * MODEL_MAX_SAMPLES). Returns 0, or -ENOMEM if the call was not stored. */
int samples_add(struct samples *s, const struct rec_sample *rec, unsigned int max);

/* Samples, and the number of calls that each represents. */
struct weighted_calls {
	const struct call_sample **call;
	double *weight;
	unsigned int nr;
};

/* Lists all samples, by doubling. The calls of a doubling in `total` are shared among its samples
 * in proportion to the inverse of their chance. Returns 0 or -ENOMEM; release the list in any
 * case. */
int samples_list(const struct samples *s, const struct profile *total, struct weighted_calls *out);
void weighted_calls_release(struct weighted_calls *w);
/* Returns true if a thread was in two of the calls at once: the function calls itself, or a thread
 * runs several coroutines. Also true if that cannot be found out (out of memory). */
bool samples_overlap(const struct samples *s);
