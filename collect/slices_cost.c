// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of what measuring cost and of what was lost. */
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"

#include <unistd.h>

void cost_send(struct collector *c, uint64_t now)
{
	struct record rec = {.type = REC_COST};
	struct rec_cost *cost = &rec.cost;
	uint64_t n[PT_COUNTERS], own;

	kernel_side_counters(c->kernel, n);
	for (unsigned int i = 0; i < PT_COUNTERS; i++)
		n[i] -= c->account.hits_before[i];
	cost->at_ns = now - c->start_ns;
	for (unsigned int i = 0; i < PT_COUNTERS; i++)
		cost->hits += i == PT_HIT_COLD || i == PT_WAITS_NS || i == PT_READS ? 0 : n[i];
	cost->ns = budget_cost(c, n, &cost->other_ns) + cost->other_ns;
	cost->hits += kernel_side_control(c->kernel)->snapshots_done;
	cost->attach_ns = c->budget.attach_ns;
	cost->ns += budget_timed(c) + cost->attach_ns;
	cost->allowed_ns = budget_is_unlimited(c) ? 0 : c->budget.account.allowed_ns;
	cost->wall_ns = now - c->budget.began_ns;
	cost->target_cpu_ns = budget_ran(c);
	cost->host_cpu_ns = cost->wall_ns * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	cost->step_ns = c->cost.measured ? c->cost.hit[SITE_STEPPED] : 0;
	cost->kernel_ns = c->cost.kernel;
	own = budget_own_cpu(c);
	cost->own_cpu_ns = own > c->account.own_before ? own - c->account.own_before : 0;
	cost->start_cpu_ns = c->account.own_before;
	send_record(c, &rec);
	c->account.reported_target_ns = cost->ns - cost->other_ns;
	c->account.reported_cpu_ns = cost->target_cpu_ns;
	c->account.reported_wall_ns = cost->wall_ns;
}

void cost_note(struct collector *c)
{
	budget_note(c, c->account.reported_target_ns, c->account.reported_cpu_ns,
		    c->account.reported_wall_ns);
}

void loss_send(struct collector *c)
{
	const struct pt_control *control = kernel_side_control(c->kernel);
	struct record rec = {.type = REC_LOSS};

	rec.loss = (struct rec_loss){.records = control->lost_ring + c->lost.front,
				     .samples = control->lost_samples + c->lost.samples,
				     .activations = control->lost_acts + control->lost_threads};
	send_record(c, &rec);
}
