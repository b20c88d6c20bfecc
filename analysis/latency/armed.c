// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency/armed.h"

static uint64_t difference(uint64_t later, uint64_t earlier)
{
	return later > earlier ? later - earlier : 0;
}

void armed_begin(struct armed_time *a, struct armed_clock now)
{
	a->start = a->since = now;
	a->on_ns = a->on_cpu_ns = 0;
}

void armed_on(struct armed_time *a, struct armed_clock now)
{
	if (a->on)
		return;
	if (!a->start.ns)
		a->start = now;
	a->on = true;
	a->since = now;
}

void armed_off(struct armed_time *a, uint64_t end, struct armed_clock now)
{
	uint64_t ns = difference(end, a->since.ns), all = difference(now.ns, a->since.ns);
	uint64_t cpu = difference(now.cpu_ns, a->since.cpu_ns);

	if (!a->on)
		return;
	a->on = false;
	a->on_ns += ns;
	/* The CPU time was read later than the gate was closed: take the part of it that belongs to
	 * the burst. */
	if (ns < all)
		cpu = (uint64_t)((double)cpu * (double)ns / (double)all);
	a->on_cpu_ns += cpu;
	a->off = (struct armed_clock){a->since.ns + ns, a->since.cpu_ns + cpu};
}

struct armed_period armed_period(const struct armed_time *a, struct armed_clock now)
{
	struct armed_period p = {
	    .start_ns = a->start.ns, .armed_ns = a->on_ns, .armed_cpu_ns = a->on_cpu_ns};

	if (a->on) {
		p.armed_ns += difference(now.ns, a->since.ns);
		p.armed_cpu_ns += difference(now.cpu_ns, a->since.cpu_ns);
	}
	p.end_ns = now.ns > a->start.ns ? now.ns : a->start.ns;
	p.cpu_ns = difference(now.cpu_ns, a->start.cpu_ns);
	/* Without bursts, calls are not counted only because the measurement ended or is paused.
	 * Do not count the time since then. */
	if (!a->on && !a->bursting) {
		p.end_ns = p.start_ns + p.armed_ns;
		p.cpu_ns = p.armed_cpu_ns;
	}
	/* correct for rounding, and for clocks that were read one after the other */
	if (p.armed_ns > p.end_ns - p.start_ns)
		p.armed_ns = p.end_ns - p.start_ns;
	if (p.armed_cpu_ns > p.cpu_ns)
		p.armed_cpu_ns = p.cpu_ns;
	return p;
}

bool armed_cut(struct armed_time *a, struct armed_clock now)
{
	struct armed_clock end = a->on || !a->off.ns ? now : a->off;
	struct armed_period p = armed_period(a, end);

	if (!a->bursting || p.armed_ns < ARMED_MIN_NS)
		return false;
	if (a->has_cut) {
		p.start_ns = a->cut.start_ns;
		p.armed_ns += a->cut.armed_ns;
		p.cpu_ns += a->cut.cpu_ns;
		p.armed_cpu_ns += a->cut.armed_cpu_ns;
	}
	a->cut = p;
	a->has_cut = true;
	armed_begin(a, end);
	return true;
}
