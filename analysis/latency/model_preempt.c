// SPDX-License-Identifier: GPL-2.0-or-later
/* Preemption and run-queue delay of the peaks (OSprof, OSDI 2006, section 3.3). */
#include "analysis/latency/model_impl.h"

#include <math.h>

/* Returns true if `name` without its explanation in brackets is `stem`. */
static bool is_called(const char *name, const char *stem)
{
	size_t n = strlen(stem);

	return !strncmp(name, stem, n) && (!name[n] || !strncmp(name + n, " (", 2));
}

static uint64_t constant_ns(const struct model *m, const char *stem)
{
	for (size_t i = 0; i < m->nr_constants; i++) {
		const struct rec_constant *c = &m->constant[i]->constant;

		if (is_called(c->name, stem) && c->measured)
			return c->low_ns / 2 + c->high_ns / 2;
	}
	return 0;
}

/* Returns the quantum Q: the measured one, if the host has one. Else the base slice that Linux
 * computes: 0.75 ms times 1 + log2(CPUs, at most 8), rounded up to whole ticks, because the kernel
 * checks a running task once per tick. */
static double quantum_ns(const struct model *m)
{
	static const char *const names[] = {"quantum", "scheduler slice", "time slice"};
	uint32_t cpus = m->meta && m->meta->meta.cpus ? m->meta->meta.cpus : 8;
	double slice = 750e3, tick = (double)constant_ns(m, "timer tick");

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (constant_ns(m, names[i]))
			return (double)constant_ns(m, names[i]);
	for (uint32_t n = cpus > 8 ? 8 : cpus; n > 1; n /= 2)
		slice += 750e3;
	return tick > 0 ? ceil(slice / tick) * tick : slice;
}

/* Weighted sums over the sampled calls of one peak. */
struct preempt_sums {
	double switches_known, preempted; /* weighted numbers of calls */
	double oncpu_known, oncpu_ns;
	double runqueue_latency_ns, runqueue_ns;
};

static bool has(const struct call_sample *c, unsigned int what)
{
	return (c->known & what) != 0;
}

static void add(struct preempt_sums *s, const struct call_sample *c, double weight)
{
	if (has(c, SAMPLE_SWITCHES)) {
		s->switches_known += weight;
		s->preempted += call_preemptions(c) ? weight : 0;
	}
	if (has(c, SAMPLE_ONCPU)) {
		s->oncpu_known += weight;
		s->oncpu_ns += weight * (double)c->oncpu_ns;
	}
	if (has(c, SAMPLE_RUNQUEUE)) {
		s->runqueue_latency_ns += weight * (double)c->latency_ns;
		s->runqueue_ns += weight * (double)c->runqueue_ns;
	}
}

/* Returns the probability that a request is preempted (OSprof, equation 3). At the end of a quantum
 * one request is preempted if none of the Q / t_period requests in the quantum yields. The
 * probability per request is t_cpu / Q * (1 - Y)^(Q / t_period), where t_cpu is the on-CPU time of
 * a request, Y the share of requests that yield, and t_period the on-CPU time from the start of one
 * request to the next. */
static double chance_of_preemption(double t_cpu, double t_period, double yields, double quantum)
{
	double requests, whole;

	if (t_cpu <= 0 || quantum <= 0)
		return 0;
	if (t_period < t_cpu)
		t_period = t_cpu;
	/* A request longer than the quantum is preempted at least once. */
	whole = t_cpu / quantum < 1 ? t_cpu / quantum : 1;
	requests = quantum / t_period;
	if (yields >= 1)
		return 0;
	return whole * pow(1 - yields, requests);
}

void model_preemption(const struct model *m, struct op_state *op, const struct weighted_calls *list)
{
	struct preempt_sums peak[MODEL_MAX_PEAKS] = {0};
	double yields = 0, known = 0, period, quantum = quantum_ns(m);
	unsigned int nr_peaks = op->pub.nr_peaks + op->pub.nr_folded;

	for (unsigned int i = 0; i < list->nr; i++) {
		const struct call_sample *c = list->call[i];
		unsigned int b = pt_bucket(c->latency_ns);

		if (has(c, SAMPLE_SWITCHES)) {
			known += list->weight[i];
			yields += c->sleeps ? list->weight[i] : 0;
		}
		for (unsigned int p = 0; p < nr_peaks; p++)
			if (b >= op->peak[p].range.low && b < op->peak[p].range.high)
				add(&peak[p], c, list->weight[i]);
	}
	/* The CPU time of the targets divided by the number of requests is the CPU time from one
	 * request to the next. */
	period =
	    op->pub.total.calls ? (double)m->cost.target_cpu_ns / (double)op->pub.total.calls : 0;
	for (unsigned int p = 0; p < nr_peaks; p++) {
		const struct preempt_sums *s = &peak[p];
		struct peak *out = &op->peak[p];
		double calls = (double)out->calls;

		if (s->runqueue_latency_ns > 0) {
			out->run_queue_share = s->runqueue_ns / s->runqueue_latency_ns;
			if (out->run_queue_share > 1)
				out->run_queue_share = 1;
		}
		if (s->switches_known > 0)
			out->seen_preempted = calls * s->preempted / s->switches_known;
		if (s->oncpu_known > 0 && known > 0)
			out->expected_preempted =
			    calls * chance_of_preemption(s->oncpu_ns / s->oncpu_known, period,
							 yields / known, quantum);
	}
}
