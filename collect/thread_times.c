// SPDX-License-Identifier: GPL-2.0-or-later
/* How the threads of a walk spent their time, by the kernel's own counters at each scan. */

#include "collect/host_waits.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/thread_snapshots_state.h"

/* A page that must be copied, or that the hypervisor maps, takes about twice as long as another. */
enum { DEAR_FAULT = 2 };

/* Returns by how much a sum exceeds what records contain, and notes that they contain it now. */
static uint64_t take_unreported(uint64_t sum, uint64_t *reported)
{
	uint64_t more = sum > *reported ? sum - *reported : 0;

	*reported += more;
	return more;
}

void thread_times(struct collector *c, struct snapshot_thread *t, bool ended)
{
	char comm[PT_COMM + 1], group[GROUP_PATH] = "", quota[QUOTA_TEXT] = "";

	if (!t->wall && !ended)
		return;
	if (t->throttled) {
		quota_owner(&t->quota, group, sizeof(group));
		quota_text(&t->quota, quota, sizeof(quota));
	}
	snprintf(comm, sizeof(comm), "%.*s", PT_COMM, t->now.comm);
	send_record(
	    c, &(struct record){
		   .type = REC_THREAD,
		   .thread = {
		       .pid = t->now.tgid,
		       .tid = t->now.tid,
		       .comm = comm,
		       .at_ns = snapshots_since_start(c, t->at),
		       .wall_ns = t->wall,
		       .cpu_ns = t->cpu,
		       .runqueue_ns = t->runq,
		       .ended = ended,
		       .quota_ns = t->throttled,
		       .quota_of = group,
		       .quota_detail = quota,
		       .faults = t->faults,
		       .joined_ns = t->joined_ns,
		       .unseen_cpu_ns = take_unreported(t->now.ended_cpu_ns, &t->reported_cpu_ns),
		       .unseen_faults = take_unreported(t->now.ended_faults, &t->reported_faults),
		       .fault_low_ns = c->cost.read_fault,
		       .fault_high_ns = DEAR_FAULT * c->cost.minor_fault}});
	t->wall = t->cpu = t->runq = t->throttled = t->faults = t->joined_ns = 0;
}

void threads_left_out(struct collector *c, uint32_t nr, uint64_t ns, uint64_t now)
{
	send_record(c, &(struct record){.type = REC_THREAD,
					.thread = {.pid = (uint32_t)c->targets.list[0]->pid,
						   .comm = "",
						   .at_ns = snapshots_since_start(c, now),
						   .wall_ns = nr * ns,
						   .quota_of = "",
						   .quota_detail = "",
						   .left_out = nr}});
}

void thread_begin(struct snapshot_thread *t, uint64_t scanned, uint64_t now)
{
	t->at = t->reported = now;
	/* make the thread look as if it had run: its state is new */
	t->now.switches--;
	t->reported_cpu_ns = t->now.ended_cpu_ns;
	t->reported_faults = t->now.ended_faults;
	t->newborn = scanned && t->now.started_ns > scanned && t->now.started_ns < now;
	if (!t->newborn)
		return;
	t->at = t->now.state ? scanned - t->now.cpu_ns - t->now.runq_ns : t->now.started_ns;
	t->now.cpu_ns = t->now.runq_ns = t->now.faults = 0;
}

void thread_end(const struct snapshot_thread *t, struct snapshot_thread *first)
{
	if (!first || first == t)
		return;
	/* what is known of this thread is in its own records */
	first->reported_cpu_ns += t->now.cpu_ns;
	first->reported_faults += t->now.faults;
}

uint64_t thread_divide(struct snapshot_thread *t, const struct pt_task_now *now, uint64_t slept,
		       uint64_t unseen_ns)
{
	uint64_t present = 0, before, switches = now->switches - t->now.switches;

	if (!now->ran_ns)
		return slept;
	if (now->state && now->clock_ns > now->ran_ns)
		present = now->clock_ns - now->ran_ns;
	if (present > slept)
		present = slept;
	before = slept - present;
	/* it has left its CPU only for the present sleep, so it slept nowhere else */
	if (t->held && switches <= (now->state != 0)) {
		t->pending += before;
		return present;
	}
	return present + (before / unseen_ns < switches ? before : switches * unseen_ns);
}

uint64_t thread_account(struct snapshot_thread *t, const struct pt_task_now *now, uint64_t at)
{
	uint64_t wall = at - t->at, cpu = now->cpu_ns - t->now.cpu_ns,
		 runq = now->runq_ns - t->now.runq_ns;

	if (now->cpu_ns < t->now.cpu_ns || cpu > wall)
		cpu = now->cpu_ns < t->now.cpu_ns ? 0 : wall;
	if (now->runq_ns < t->now.runq_ns || runq > wall - cpu)
		runq = now->runq_ns < t->now.runq_ns ? 0 : wall - cpu;
	t->wall += wall;
	t->cpu += cpu;
	t->faults += now->faults - t->now.faults;
	t->at = at;
	if (now->throttled)
		t->quota = now->quota;
	if (now->throttled || (t->now.throttled && !now->state)) {
		t->throttled += wall - cpu;
		return 0;
	}
	t->runq += runq;
	return wall - cpu - runq;
}

void thread_usage(struct pt_task_now *t, const struct pt_task_now *now)
{
	t->clock_ns = now->clock_ns;
	t->cpu_ns = now->cpu_ns;
	t->runq_ns = now->runq_ns;
	t->faults = now->faults;
}
