/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made-up session for tests of the screen: records as a collector would send
 * them, the same in every run. Times are as given; nothing reads a clock.
 */
#ifndef PEAKTOP_TESTS_SYNTHETIC_H
#define PEAKTOP_TESTS_SYNTHETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/latency/model.h"

#define SYNTH_SECOND 1000000000ULL

/* One mode of a distribution: lognormal calls around a latency. */
struct synth_mode {
	double mode_ns;
	double width;	    /* standard deviation in doublings */
	double calls;	    /* a slice */
	unsigned int every; /* only in each n-th slice; 0 and 1: always */
};

struct synth_op {
	uint32_t op;
	enum layer layer;
	const char *name, *label, *module, *placement, *requested;
	struct synth_mode mode[4];
	unsigned int open; /* calls that never end, from the first slice on */
	double armed;	   /* share of a slice that is armed; 0 = all */
};

static const struct synth_op synth_ops[] = {
    {1,
     LAYER_SYSCALL,
     "syscall:epoll_wait",
     "epoll_wait",
     "",
     "system-call tracepoints",
     "",
     {{900e3, 0.9, 400, 1}, {100e6, 0.15, 9, 1}},
     1,
     0},
    {2,
     LAYER_SYSCALL,
     "syscall:read",
     "read",
     "",
     "system-call tracepoints",
     "",
     {{1.1e3, 0.35, 52000, 1}, {9e3, 0.5, 2100, 1}, {1.6e6, 0.6, 70, 1}, {24e6, 0.3, 30, 5}},
     0,
     0},
    {3,
     LAYER_SYSCALL,
     "syscall:write",
     "write",
     "",
     "system-call tracepoints",
     "",
     {{7e3, 0.5, 51000, 1}, {85e3, 0.6, 90, 1}},
     0,
     0},
    {4,
     LAYER_SYSCALL,
     "syscall:fdatasync",
     "fdatasync",
     "",
     "system-call tracepoints",
     "",
     {{4.5e6, 0.4, 1.2, 1}, {31e6, 0.3, 4, 5}},
     0,
     0},
    {5,
     LAYER_SYSCALL,
     "syscall:futex",
     "futex",
     "",
     "system-call tracepoints",
     "",
     {{2.5e3, 0.5, 120, 1}, {450e3, 1.2, 40, 1}},
     3,
     0},
    {6,
     LAYER_SYSCALL,
     "syscall:openat",
     "openat",
     "",
     "system-call tracepoints",
     "",
     {{14e3, 0.4, 3, 1}},
     0,
     0},
    {7,
     LAYER_FUNCTION,
     "processCommand@redis-server",
     "processCommand",
     "redis-server",
     "from its 41 call sites to the instruction after each (emulated)",
     "processCommand",
     {{1.7e3, 0.5, 51000, 1}, {38e3, 0.4, 800, 1}, {2.1e6, 0.3, 12, 5}},
     0,
     0.04},
    {8,
     LAYER_RUNQUEUE,
     "runqueue",
     "run queue",
     "",
     "scheduler tracepoints",
     "",
     {{4e3, 0.8, 600, 1}, {3.9e6, 0.15, 11, 1}},
     0,
     0},
    {9,
     LAYER_BLOCK,
     "block",
     "block requests",
     "",
     "block tracepoints",
     "",
     {{110e3, 0.5, 160, 1}, {5.5e6, 0.5, 25, 1}},
     0,
     0},
};
enum { SYNTH_OPS = sizeof(synth_ops) / sizeof(synth_ops[0]) };

/* Deterministic noise, 0 <= x < 1. */
static inline double synth_noise(uint64_t seed)
{
	seed = (seed + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
	seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebULL;
	return (double)((seed ^ (seed >> 31)) >> 11) / 9007199254740992.0;
}

static inline void synth_feed(struct model *m, struct record rec)
{
	model_feed(m, &rec);
}

static inline void synth_begin(struct model *m)
{
	unsigned int i;

	synth_feed(m, (struct record){.type = REC_META,
				      .meta = {.version = "0.1.0",
					       .host = "db1",
					       .kernel = "6.1.0-18-amd64",
					       .boot_id = "0",
					       .realtime_ns = 1700000000 * SYNTH_SECOND,
					       .cpus = 8,
					       .interval_ns = SYNTH_SECOND,
					       .command = "peaktop -n redis-server",
					       .resolution = 4,
					       .budget_ppm = 10000}});
	synth_feed(m, (struct record){.type = REC_TARGET,
				      .target = {.pid = 1234,
						 .ns_pid = 1234,
						 .started_ns = 77,
						 .uid = 110,
						 .comm = "redis-server",
						 .exe = "/usr/bin/redis-server",
						 .threads = 5,
						 .requested = 1}});
	for (i = 0; i < SYNTH_OPS; i++)
		synth_feed(m, (struct record){.type = REC_OP,
					      .op = {.op = synth_ops[i].op,
						     .layer = synth_ops[i].layer,
						     .name = synth_ops[i].name,
						     .label = synth_ops[i].label,
						     .requested = synth_ops[i].requested,
						     .module = synth_ops[i].module,
						     .placement = synth_ops[i].placement}});
}

static inline void synth_profile(struct model *m, const struct synth_op *op, uint64_t slice)
{
	uint64_t count[PT_BUCKETS] = {0}, kept[PT_BUCKETS];
	uint32_t bucket[PT_BUCKETS];
	struct rec_profile p = {.op = op->op, .bucket = bucket, .count = kept};
	double share = op->armed > 0 ? op->armed : 1;
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		const struct synth_mode *mode = &op->mode[i];
		double mid = log2(mode->mode_ns > 0 ? mode->mode_ns : 1) * PT_RESOLUTION;
		double sd = mode->width * PT_RESOLUTION;

		if (!mode->calls || (mode->every > 1 && slice % mode->every != mode->every - 1))
			continue;
		for (k = 0; k < PT_BUCKETS; k++) {
			double z = (k + 0.5 - mid) / sd;
			double n = mode->calls * share / (sd * 2.50662827463) * exp(-z * z / 2);

			/* the fraction that is left decides by chance whether there is one more */
			n *= 0.9 + 0.2 * synth_noise(slice * 1000003 + op->op * 4099 + k);
			count[k] += (uint64_t)n;
			if (n - floor(n) > synth_noise(slice * 7919 + op->op * 613 + k * 31 + i))
				count[k]++;
		}
	}
	for (k = 0; k < PT_BUCKETS; k++) {
		uint64_t low = (uint64_t)exp2(k / 8.0), mid = (uint64_t)exp2((k + 0.5) / 8.0);

		if (!count[k])
			continue;
		if (!p.calls)
			p.min_ns = low + 1;
		p.max_ns = mid;
		p.calls += count[k];
		p.sum_ns += count[k] * mid;
		bucket[p.nr_buckets] = k;
		kept[p.nr_buckets++] = count[k];
	}
	p.start_ns = slice * SYNTH_SECOND;
	p.end_ns = p.start_ns + SYNTH_SECOND;
	p.armed_ns = (uint64_t)((double)SYNTH_SECOND * share);
	p.open = op->open;
	p.oldest_open_ns = op->open ? p.end_ns : 0;
	synth_feed(m, (struct record){.type = REC_PROFILE, .profile = p});
}

static inline void synth_slice(struct model *m, uint64_t slice)
{
	uint64_t end = (slice + 1) * SYNTH_SECOND;
	unsigned int i, k;

	for (i = 0; i < SYNTH_OPS; i++) {
		synth_profile(m, &synth_ops[i], slice);
		for (k = 0; k < synth_ops[i].open; k++)
			synth_feed(m, (struct record){
					  .type = REC_OPEN,
					  .open = {.op = synth_ops[i].op,
						   .pid = 1234,
						   .tid = 1234 + k,
						   .comm = k ? "bio_lazy_free" : "redis-server",
						   .age_ns = end - k * 1000000,
						   .known = SAMPLE_ARG0 | SAMPLE_ARG0 << 1 |
							    SAMPLE_ARG0 << 2,
						   /* for a futex: waits for a mutex */
						   .args = {0x7f0012340000ULL + k, 128, 2}}});
	}
	synth_feed(m, (struct record){.type = REC_COST,
				      .cost = {.at_ns = end,
					       .hits = 21000 * (slice + 1),
					       .ns = 4100000 * (slice + 1),
					       .target_cpu_ns = 620000000 * (slice + 1),
					       .host_cpu_ns = 8 * end,
					       .other_ns = 200000 * (slice + 1),
					       .own_cpu_ns = 9000000 * (slice + 1)}});
	synth_feed(m, (struct record){.type = REC_LOSS, .loss = {.samples = 0}});
	synth_feed(m,
		   (struct record){
		       .type = REC_TICK,
		       .tick = {.slice = slice, .start_ns = slice * SYNTH_SECOND, .end_ns = end}});
}

static inline struct model *synth_model(unsigned int slices)
{
	struct model *m = model_new();
	unsigned int i;

	if (!m)
		return NULL;
	synth_begin(m);
	for (i = 0; i < slices; i++)
		synth_slice(m, i);
	return m;
}

#endif
