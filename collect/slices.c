// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends the records of a slice: profiles as differences, samples, open calls, cost, loss. */
#include "collect/slices.h"
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/kernel_functions.h"
#include "collect/open_calls.h"
#include "collect/phases.h"
#include "collect/share.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/units.h"

#include "analysis/base/syscall_names.h"
#include "analysis/base/uring_names.h"
#include "analysis/latency/profile.h"

static void op_send(struct collector *c, uint32_t slot, enum layer layer, const char *name,
		    const char *label, uint32_t nr)
{
	const char *placement = layer == LAYER_SYSCALL ? "system call tracepoints"
				: layer == LAYER_URING
				    ? "io_uring tracepoints"
				    : "scheduler, block, lock and socket tracepoints";

	c->slots[slot].op = slot;
	c->slots[slot].layer = layer;
	send_record(c, &(struct record){.type = REC_OP,
					.op = {.op = slot,
					       .layer = layer,
					       .name = name,
					       .label = label,
					       .requested = "",
					       .module = "",
					       .placement = placement,
					       .syscall_nr = nr}});
}

/* "PREFIX:NAME", or "PREFIX:NUMBER" if the name is not known. */
static void numbered_op_name(const char *prefix, const char *name, uint32_t nr, char *out, size_t n)
{
	if (name)
		snprintf(out, n, "%s:%s", prefix, name);
	else
		snprintf(out, n, "%s:%u", prefix, nr);
}

void syscall_op_name(uint32_t nr, char *out, size_t n)
{
	numbered_op_name("syscall", syscall_name(nr), nr, out, n);
}

/* True for the slot of an operation that the front does not know yet. */
static bool is_unannounced(const struct collector *c, uint32_t slot)
{
	return slot && slot < PT_SLOTS && !c->slots[slot].op;
}

void slots_announce(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	static const struct {
		size_t at;
		enum layer layer;
		const char *name;
	} fixed[] = {
	    {offsetof(struct pt_control, slot_block), LAYER_BLOCK, "block"},
	    {offsetof(struct pt_control, slot_block_queue), LAYER_BLOCK, "block:queue"},
	    {offsetof(struct pt_control, slot_block_device), LAYER_BLOCK, "block:device"},
	    {offsetof(struct pt_control, slot_connect), LAYER_NET, "net:connect"},
	    {offsetof(struct pt_control, slot_lock), LAYER_LOCK, "lock"},
	    {offsetof(struct pt_control, slot_runqueue), LAYER_RUNQUEUE, "runqueue"},
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		uint32_t slot = *(uint32_t *)((char *)control + fixed[i].at);

		if (is_unannounced(c, slot))
			op_send(c, slot, fixed[i].layer, fixed[i].name, fixed[i].name, 0);
	}
	for (uint32_t nr = 0; nr < PT_SYSCALLS; nr++) {
		uint32_t slot = control->sys_slot[nr];
		const char *known = syscall_name(nr);
		char name[64];

		if (!is_unannounced(c, slot))
			continue;
		syscall_op_name(nr, name, sizeof(name));
		op_send(c, slot, LAYER_SYSCALL, name, known ? known : name, nr);
	}
	for (uint32_t nr = 0; nr < PT_URING_OPS; nr++) {
		uint32_t slot = control->uring_slot[nr];
		char name[64];

		if (!is_unannounced(c, slot))
			continue;
		numbered_op_name("io_uring", uring_name(nr), nr, name, sizeof(name));
		op_send(c, slot, LAYER_URING, name, name, 0);
	}
}

/* ---- profiles --------------------------------------------------------- */

static struct armed_time *slot_time(struct collector *c, uint32_t slot)
{
	struct governed_unit *unit = unit_of(c, c->slots[slot].layer);

	if (c->slots[slot].function)
		return &c->slots[slot].function->time;
	return unit ? &unit->time : NULL;
}

/* Total cost of the tracepoints of a slot's unit to the targets, ns. */
static uint64_t slot_spent(struct collector *c, uint32_t slot)
{
	const struct governed_unit *unit = unit_of(c, c->slots[slot].layer);

	return unit ? unit->spent_ns : 0;
}

static bool hist_ready(struct pt_hist **h)
{
	if (!*h)
		*h = calloc(1, sizeof(**h));
	return *h != NULL;
}

/* Before an operation's first record, send the time measured without a call: its rate needs
 * it. */
static void past_send(struct collector *c, uint32_t slot, uint64_t until)
{
	const struct armed_time *t = slot_time(c, slot);

	if (!t || !t->past_on_ns || t->begin >= until || t->past_on_ns >= until - t->begin)
		return;
	send_record(c, &(struct record){
			   .type = REC_PROFILE,
			   .profile = {
			       .op = c->slots[slot].op,
			       .start_ns = t->begin > c->start_ns ? t->begin - c->start_ns : 0,
			       .end_ns = until - c->start_ns,
			       .armed_ns = t->past_on_ns,
			       .correction_ns = kernel_side_control(c->kernel)->correction[slot],
			   }});
}

/*
 * Time that the hits of a function took since the last record: in their BPF programs, and in
 * the kernel on the way to them. The latter is estimated in proportion to the programs' time.
 */
static uint64_t hits_took(const struct collector *c, const struct pt_hist *h,
			  const struct pt_hist *old)
{
	uint64_t programs = h->program_ns - old->program_ns;
	double expected = 0, traps = 0;

	for (unsigned int i = 0; i < SITE_CLASSES; i++) {
		uint64_t hits = h->pace_hits[i] - old->pace_hits[i];

		expected += (double)hits * c->cost.program[SITE_EMULATED];
		traps += (double)hits * c->cost.trap[i];
	}
	return programs + (uint64_t)(expected > 0 ? traps * (double)programs / expected : traps);
}

/* Time that probes took since the last record. For tracepoints this is the cost of their unit. */
static uint64_t probes_took(const struct collector *c, const struct slot_info *info, uint64_t spent,
			    const struct pt_hist *h)
{
	if (info->function)
		return hits_took(c, h, info->last);
	return spent > info->last_spent ? spent - info->last_spent : 0;
}

/* Add the counts of the buckets since the last record, and to `doublings` those of each doubling of
 * the latency. */
static void buckets_fill(struct rec_profile *p, uint32_t *bucket, uint64_t *count,
			 const struct pt_hist *h, const struct pt_hist *old, uint64_t *doublings)
{
	uint64_t before = 0, now = 0; /* sums of all buckets */

	p->bucket = bucket;
	p->count = count;
	for (uint32_t i = 0; i < PT_BUCKETS; i++) {
		before += old->count[i];
		now += h->count[i];
		if (h->count[i] == old->count[i])
			continue;
		bucket[p->nr_buckets] = i;
		count[p->nr_buckets++] = h->count[i] - old->count[i];
		doublings[i / PT_RESOLUTION] += h->count[i] - old->count[i];
	}
	p->calls = profile_calls_gained(h->calls, before, now);
	if (p->nr_buckets && h->min) {
		p->min_ns = h->min - 1;
		p->max_ns = h->max;
	}
}

/* Add the samples of the CPU since the last record. */
static void ticks_fill(struct rec_profile *p, const struct pt_share *s, struct slot_info *info)
{
	p->ticks = s->ticks - info->last_ticks;
	p->ticks_in = s->in - info->last_in;
	info->last_ticks += p->ticks;
	info->last_in += p->ticks_in;
}

/* Send what a slot has counted from its last record up to `h`. `spent`: total cost of its
 * probes at that time. */
static void profile_send(struct collector *c, uint32_t slot, const struct pt_hist *h,
			 const struct armed_period *period, uint64_t spent)
{
	const struct pt_control *control = kernel_side_control(c->kernel);
	struct slot_info *info = &c->slots[slot];
	uint32_t buckets[PT_BUCKETS];
	uint64_t counts[PT_BUCKETS], doublings[PT_TOKENS] = {0};
	struct record rec = {.type = REC_PROFILE};
	struct rec_profile *p = &rec.profile;
	struct pt_hist *old = info->last;

	*p = (struct rec_profile){
	    .op = info->op,
	    .start_ns = period->start_ns > c->start_ns ? period->start_ns - c->start_ns : 0,
	    .end_ns = period->end_ns > c->start_ns ? period->end_ns - c->start_ns : 0,
	    .sum_ns = h->sum - old->sum,
	    .abnormal = h->abnormal - old->abnormal + info->extra_abnormal,
	    .open = info->open,
	    .oldest_open_ns = info->oldest_ns,
	    .unseen = h->unseen - old->unseen + info->extra_unseen,
	    .armed_ns = period->armed_ns,
	    .cpu_ns = period->cpu_ns,
	    .armed_cpu_ns = period->armed_cpu_ns,
	    .probe_ns = probes_took(c, info, spent, h),
	    .program_ns = h->program_ns - old->program_ns,
	    .run_calls = h->run_calls - old->run_calls,
	    .run_ns = h->run_ns - old->run_ns,
	    .switch_calls = h->switch_calls - old->switch_calls,
	    .switch_cpu_ns = h->switch_cpu_ns - old->switch_cpu_ns,
	    .cycle_calls = h->cycle_calls - old->cycle_calls,
	    .cycles = h->cycles - old->cycles,
	    .gaps = h->gaps - old->gaps,
	    .gap_cpu_ns = h->gap_cpu_ns - old->gap_cpu_ns,
	    .gap_sleeper_cpu_ns = h->gap_sleeper_cpu_ns - old->gap_sleeper_cpu_ns,
	    .gap_sleeps = h->gap_sleeps - old->gap_sleeps,
	    .callers = h->callers - old->callers,
	    .correction_ns = control->correction[slot],
	    .error_ns = info->function ? info->function->error_ns : 0,
	};
	buckets_fill(p, buckets, counts, h, old, doublings);
	if (info->share)
		ticks_fill(p, &control->shares[info->share - 1], info);
	p->correction_ns += descend_cost_of_call(c, slot, p->calls);
	/*
	 * Also send bursts without calls, and the gap between bursts: the model fills the gap.
	 */
	if (p->nr_buckets || p->abnormal || p->open || p->unseen || info->function ||
	    old->entries || (h->calls && period->armed_ns < period->end_ns - period->start_ns)) {
		if (!info->reported)
			past_send(c, slot, period->start_ns);
		info->reported = true;
		send_record(c, &rec);
	}
	samples_send(c, slot, doublings);
	share_look(c, slot, h);
	*old = *h;
	info->last_spent = spent;
	/* keep it, so that one more record reports that nothing is open any more */
	old->entries = info->open;
	info->extra_abnormal = info->extra_unseen = 0;
}

/* Slots of system calls that are not announced yet have no layer. */
static bool is_measured_with(const struct slot_info *info, enum layer layer)
{
	return info->layer == layer || (layer == LAYER_SYSCALL && info->layer == LAYER_URING);
}

/* Send the period that is over, for all slots that share it. */
static void cut_send(struct collector *c, enum layer layer, const struct function *f,
		     struct armed_time *t)
{
	uint32_t slots = kernel_side_control(c->kernel)->next_slot;

	slots_announce(c);
	for (uint32_t s = 1; s < slots && s < PT_SLOTS; s++) {
		struct slot_info *info = &c->slots[s];

		if (info->op && is_measured_with(info, layer) && info->function == f && info->cut &&
		    hist_ready(&info->last))
			profile_send(c, s, info->cut, &t->cut, info->cut_spent);
	}
	t->past_on_ns += t->cut.armed_ns;
	t->has_cut = false;
}

void slots_cut(struct collector *c, enum layer layer, const struct function *f,
	       struct armed_time *t)
{
	uint32_t slots;

	if (t->has_cut)
		cut_send(c, layer, f, t);
	if (!armed_cut(t, clock_now(c)))
		return;
	slots = kernel_side_control(c->kernel)->next_slot;
	for (uint32_t s = 1; s < slots && s < PT_SLOTS; s++) {
		struct slot_info *info = &c->slots[s];

		if (!is_measured_with(info, layer) || info->function != f ||
		    !hist_ready(&info->cut))
			continue;
		if (info->op || layer == LAYER_SYSCALL)
			kernel_side_hist(c->kernel, s, true, info->cut);
		info->cut_spent = slot_spent(c, s);
	}
}

/*
 * Send the records of one slot at the end of a slice. While it is sampled in bursts, send
 * only finished periods.
 */
static void slot_send(struct collector *c, uint32_t slot, struct armed_clock now)
{
	struct armed_time *t = slot_time(c, slot);
	struct slot_info *info = &c->slots[slot];
	struct armed_period p = {
	    .start_ns = c->slice.start, .end_ns = now.ns, .armed_ns = now.ns - c->slice.start};
	struct pt_hist h;

	if (!hist_ready(&info->last))
		return;
	if (t && t->has_cut && info->cut)
		profile_send(c, slot, info->cut, &t->cut, info->cut_spent);
	if (t && !t->report_due)
		return;
	if (t)
		p = armed_period(t, now);
	if (info->layer == LAYER_KERNEL &&
	    !kernel_function_period(c, slot, now.ns, c->loop.stopping, &p.start_ns, &p.armed_ns))
		return;
	kernel_side_hist(c->kernel, slot, true, &h);
	profile_send(c, slot, &h, &p, slot_spent(c, slot));
}

/* Move the reported time to the past, once the records of all slots were sent. */
static void time_set_reported(struct armed_time *t, struct armed_clock now)
{
	if (t->has_cut)
		t->past_on_ns += t->cut.armed_ns;
	t->has_cut = false;
	if (!t->report_due)
		return;
	t->past_on_ns += armed_period(t, now).armed_ns;
	armed_begin(t, now);
}

/* What was armed for a whole slice is not in bursts. `report_due`: send a record for this slice. */
static void burst_over(struct collector *c, struct armed_time *t, uint64_t now, bool last)
{
	if (t->bursting && t->on && now > t->since.ns + c->slice.interval_ns)
		t->bursting = false;
	t->report_due = !t->bursting || last;
}

static void times_look(struct collector *c, uint64_t now, bool last)
{
	for (enum unit u = 0; u < UNITS; u++)
		burst_over(c, &c->units[u].time, now, last);
	for (unsigned int i = 0; i < c->functions.nr; i++)
		burst_over(c, &c->functions.list[i]->time, now, last);
}

static void times_set_reported(struct collector *c, struct armed_clock now)
{
	for (enum unit u = 0; u < UNITS; u++)
		time_set_reported(&c->units[u].time, now);
	for (unsigned int i = 0; i < c->functions.nr; i++)
		time_set_reported(&c->functions.list[i]->time, now);
}

static void time_begin(struct armed_time *t, struct armed_clock now)
{
	armed_begin(t, now);
	t->begin = now.ns;
}

/* Discard the time before armed_begin(). */
static void time_forget(struct armed_time *t)
{
	t->has_cut = false;
	t->past_on_ns = 0;
}

/* Count from now on. */
static void counts_begin(struct collector *c)
{
	struct armed_clock now = clock_now(c);
	uint32_t slots = kernel_side_control(c->kernel)->next_slot;

	for (uint32_t s = 1; s < slots && s < PT_SLOTS; s++) {
		struct slot_info *info = &c->slots[s];

		if (hist_ready(&info->last)) {
			kernel_side_hist(c->kernel, s, true, info->last);
			info->last->entries = 0;
		}
		info->last_spent = slot_spent(c, s);
		if (info->function)
			time_begin(&info->function->time, now);
	}
	for (enum unit u = 0; u < UNITS; u++)
		time_begin(&c->units[u].time, now);
	gates_open(c);
	c->slice.nr_samples = 0;
	kernel_functions_begin(c, now.ns);
}

void slots_restart(struct collector *c)
{
	counts_begin(c);
	for (uint32_t s = 1; s < PT_SLOTS; s++) {
		c->slots[s].reported = false;
		c->slots[s].extra_abnormal = c->slots[s].extra_unseen = 0;
	}
	for (enum unit u = 0; u < UNITS; u++)
		time_forget(&c->units[u].time);
	for (unsigned int i = 0; i < c->functions.nr; i++)
		time_forget(&c->functions.list[i]->time);
	c->slice.start = now_ns();
	slice_next(c, c->slice.start);
}

void slots_begin(struct collector *c)
{
	counts_begin(c);
	phases_begin(c);
	c->account.own_before = budget_own_cpu(c);
}

void slice_end(struct collector *c, bool last)
{
	struct armed_clock clock = clock_now(c);
	const uint64_t now = clock.ns;
	uint32_t slots = kernel_side_control(c->kernel)->next_slot;
	struct open_scan *open;

	slots_announce(c);
	times_look(c, now, last);
	for (uint32_t s = 0; s < PT_SLOTS; s++)
		c->slots[s].open = c->slots[s].oldest_ns = 0;
	open = open_calls_snapshot(c, now, last);
	for (uint32_t s = 1; s < slots && s < PT_SLOTS; s++) {
		if (c->slots[s].op)
			slot_send(c, s, clock);
	}
	times_set_reported(c, clock);
	samples_keep(c);
	open_calls_send(c, open);
	phases_report(c);
	cost_send(c, now);
	loss_send(c);
	send_record(c, &(struct record){.type = REC_TICK,
					.tick = {.slice = c->slice.number++,
						 .start_ns = c->slice.start - c->start_ns,
						 .end_ns = now - c->start_ns,
						 .layers = units_layers_of_slice(c)}});
	c->slice.start = now;
}
