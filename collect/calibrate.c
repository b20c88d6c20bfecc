// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures what a probe costs on this host. A helper process calls an empty function in a loop,
 * with and without a pair of probes on it that run the same BPF programs as in a target. The
 * cost inside the measured interval is the latency that the probes report. The whole cost of a
 * hit is the increase of the loop's time.
 */
#include "collect/calibrate.h"
#include "analysis/base/array.h"
#include "collect/calibrate_helper.h"
#include "collect/state.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CALLS = 25,
	STEPPED_CALLS = 8,
	SYSCALLS = 100,
	SWITCHES = 200, /* fewer of them, and the fork before them makes them slower */
	PAGES = 25,
	TRAP_ROUNDS = 60,
	TRAP_CALLS = 50,
	STEPPED_TRAP_CALLS = 10,
	KERNEL_ENTRY = 9, /* bytes: endbr64 and the call of ftrace */
	KERNEL_LOOK = 24,
	KERNEL_PROBES = 3,
};

struct find_self {
	uint64_t address, offset, start, end;
};

static int find_mapping(void *ctx, const struct mapping *m)
{
	struct find_self *f = ctx;

	if (f->address < m->start || f->address >= m->end)
		return 0;
	f->offset = f->address - m->start + m->offset;
	f->start = m->start;
	f->end = m->end;
	return 1;
}

static uint64_t mean_ns(const struct pt_hist *h)
{
	return h->calls ? h->sum / h->calls : 0;
}

/* A typical latency: the bucket of the lower quartile, which interrupts do not affect. */
static uint64_t typical_ns(const struct pt_hist *h)
{
	uint64_t seen = 0;

	for (unsigned int i = 0; i < PT_BUCKETS; i++) {
		seen += h->count[i];
		if (seen * 4 >= h->calls && seen) {
			uint64_t mean = mean_ns(h), low = 1ull << (i / PT_RESOLUTION);

			low += low * (i % PT_RESOLUTION) / PT_RESOLUTION;
			return low < mean ? low : mean;
		}
	}
	return 0;
}

/* Half of the distance between the first and the last eighth of the latencies: how much they
 * vary from call to call. */
static uint32_t spread_ns(const struct pt_hist *h)
{
	uint64_t seen = 0, low = 0, high = 0;

	for (unsigned int i = 0; i < PT_BUCKETS && !high; i++) {
		uint64_t ns = (1ull << (i / PT_RESOLUTION)) * (PT_RESOLUTION + i % PT_RESOLUTION) /
			      PT_RESOLUTION;

		seen += h->count[i];
		if (!low && seen * 8 >= h->calls && seen)
			low = ns;
		if (seen * 8 >= h->calls * 7)
			high = ns;
	}
	/* if all are in one bucket, only its width is known */
	return high > low ? (uint32_t)((high - low) / 2) : (uint32_t)(low / PT_RESOLUTION / 2);
}

/*
 * The middle of the third of the values that lie closest together. On a busy host most rounds
 * may be disturbed, but each by a different amount. Sorts the values.
 */
static uint64_t densest(uint64_t *value, size_t n)
{
	size_t third = n / 3, best = 0;

	qsort(value, n, sizeof(*value), compare_u64);
	for (size_t i = 1; i + third < n; i++) {
		if (value[i + third] - value[i] < value[best + third] - value[best])
			best = i;
	}
	return value[best + third / 2];
}

/*
 * The time that a pair of hits takes outside of its BPF programs, as a multiple of the time in
 * them (*program, ns). The load of other tenants makes the host faster or slower, but affects
 * both parts alike. Returns the ratio that most rounds agree on; 0: not known.
 */
static double pair_ratio(struct collector *c, const struct helper_process *h, int class,
			 uint32_t slot, double *program)
{
	const struct calibration_order o = {
	    .what = class, .calls = class ? STEPPED_TRAP_CALLS : TRAP_CALLS, .once = 1};
	uint64_t ppm[TRAP_ROUNDS], ns[TRAP_ROUNDS], calls;
	struct pt_hist before, after;
	double took, programs;

	for (unsigned int i = 0; i < TRAP_ROUNDS; i++) {
		kernel_side_hist(c->kernel, slot, false, &before);
		took = (double)calibrate_helper_order(h, &o) / o.calls;
		kernel_side_hist(c->kernel, slot, false, &after);
		calls = after.calls - before.calls;
		programs = (double)(after.program_ns - before.program_ns) / (calls ? calls : 1);
		ns[i] = (uint64_t)programs;
		ppm[i] =
		    programs > 0 && took > programs ? (uint64_t)((took / programs - 1) * 1e6) : 0;
	}
	*program = (double)densest(ns, TRAP_ROUNDS);
	return (double)densest(ppm, TRAP_ROUNDS) / 1e6;
}

/* Compute the cost of one hit from that of a pair, whose end is always emulated. */
static void one_of_pair(uint32_t cost[SITE_CLASSES], int class)
{
	if (class == SITE_EMULATED)
		cost[class] /= 2;
	else if (cost[class] > cost[SITE_EMULATED])
		cost[class] -= cost[SITE_EMULATED];
}

static void calibrate_class(struct collector *c, const struct helper_process *h, int class,
			    uint32_t slot)
{
	struct find_self start = {.address =
				      class ? (uint64_t)(uintptr_t)peaktop_calibrate_stepped
					    : (uint64_t)(uintptr_t)peaktop_calibrate_emulated};
	struct find_self end = {.address =
				    class ? (uint64_t)(uintptr_t)peaktop_calibrate_stepped_end
					  : (uint64_t)(uintptr_t)peaktop_calibrate_emulated_end};
	struct pt_site *sites = kernel_side_sites(c->kernel);
	int calls = class ? STEPPED_CALLS : CALLS, fd;
	struct attach_point points[2];
	struct attach_points set = {.list = points, .nr = 2};
	struct attachment a;
	uint64_t bare, probed, cold = 0, bare_cold = 0;
	double ratio, program;
	struct pt_hist hist;

	if (target_mappings(getpid(), find_mapping, &start) != 1 ||
	    target_mappings(getpid(), find_mapping, &end) != 1)
		return;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* entries 1 and 2 are free, because nothing is armed yet */
	sites[1] = (struct pt_site){.flags = PT_SITE_START | PT_SITE_READ_RET,
				    .start_slot = slot,
				    .start_cfa = 8,
				    .class = (uint32_t) class,
				    .fuse = UINT64_MAX,
				    .pace = c->options->budget_ppm < 1000000};
	sites[2] = (struct pt_site){.flags = PT_SITE_END,
				    .end_slot = slot,
				    .end_cfa = 8,
				    .fuse = UINT64_MAX,
				    .pace = sites[1].pace};
	points[0] = (struct attach_point){.offset = start.offset, .cookie = 1};
	points[1] = (struct attach_point){.offset = end.offset, .cookie = 2};
	bare = calibrate_helper_ask(h, class, calls);
	if (class == SITE_EMULATED)
		bare_cold = calibrate_helper_ask(h, 5, COLD_CALLS);
	if (!attach_points(&a, kernel_side_program(c->kernel, PROGRAM_SITE),
			   kernel_side_uprobes(c->kernel) == UPROBE_MULTI, fd, h->pid, &set)) {
		probed = calibrate_helper_ask(h, class, calls);
		ratio = pair_ratio(c, h, class, slot, &program);
		c->cost.trap[class] = (uint32_t)(ratio * program);
		c->cost.program[class] = (uint32_t)(program / 2);
		if (class == SITE_EMULATED)
			cold = calibrate_helper_ask(h, 5, COLD_CALLS);
		attachment_release(&a, false);
		kernel_side_hist(c->kernel, slot, true, &hist);
		c->cost.inside[class] = (uint32_t)typical_ns(&hist);
		c->cost.inside_error[class] = spread_ns(&hist);
		if (probed > bare)
			c->cost.hit[class] = (uint32_t)((probed - bare) / (uint64_t)calls);
		/* only the start has cold caches: the end of the pair follows too soon */
		if (class == SITE_EMULATED && cold > bare_cold + c->cost.hit[class])
			c->cost.cold = (uint32_t)(cold - bare_cold) - c->cost.hit[class];
		one_of_pair(c->cost.hit, class);
		one_of_pair(c->cost.trap, class);
	}
	close(fd);
}

static void calibrate_syscalls(struct collector *c, const struct helper_process *h)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	uint64_t bare, probed, other, gate;
	uint32_t layers = c->layers;
	struct pt_hist hist;

	kernel_side_layers(c->kernel, 0);
	bare = calibrate_helper_ask(h, 2, SYSCALLS);
	kernel_side_layers(c->kernel, 1u << LAYER_SYSCALL);
	gate = control->gate_ns[LAYER_SYSCALL];
	control->gate_ns[LAYER_SYSCALL] = 1;
	probed = calibrate_helper_ask(h, 2, SYSCALLS);
	control->nr_targets = 0;
	other = calibrate_helper_ask(h, 2, SYSCALLS);
	control->nr_targets = 1;
	control->gate_ns[LAYER_SYSCALL] = gate;
	if (control->sys_slot[SYS_getppid]) {
		kernel_side_hist(c->kernel, control->sys_slot[SYS_getppid], true, &hist);
		c->cost.syscall_inside = (uint32_t)typical_ns(&hist);
	}
	c->cost.system_call = (uint32_t)(bare / SYSCALLS);
	c->cost.syscall = probed > bare ? (uint32_t)((probed - bare) / SYSCALLS) : 0;
	c->cost.syscall_other = other > bare ? (uint32_t)((other - bare) / SYSCALLS) : 0;
	kernel_side_layers(c->kernel, layers);
}

/*
 * A probe in the kernel's code: behind the entry of getppid(), where the kernel has cheaper means.
 * Of three instructions, because it steps some of them, as push, and emulates others, as the calls
 * at which the sites of a descent are; it makes some probes cheaper later. The program measures its
 * own time.
 */
static void calibrate_kernel(struct collector *c, const struct helper_process *h)
{
	struct pt_site *site = &kernel_side_sites(c->kernel)[1];
	struct attachment probes[KERNEL_PROBES];
	uint64_t took[KERNEL_PROBES], last = c->cost.system_call, program;
	size_t nr = 0;

	/* before 6.7 a probe on a call by a register returned to a wrong address (f5d03da48d06) */
	if (!kernel_side_has_kprobes(c->kernel) || !kernel_at_least(6, 7) ||
	    c->options->budget_ppm < BUDGET_INTO_KERNEL_PPM)
		return;
	*site = (struct pt_site){.fuse = UINT64_MAX};
	for (uint64_t at = KERNEL_ENTRY; at < KERNEL_ENTRY + KERNEL_LOOK && nr < KERNEL_PROBES;
	     at++) {
		uint64_t all;

		if (attach_kernel_place(&probes[nr],
					kernel_side_program(c->kernel, PROGRAM_KERNEL_SITE),
					"__x64_sys_getppid", at, 1))
			continue;
		all = calibrate_helper_ask(h, 2, SYSCALLS) / SYSCALLS;
		took[nr++] = all > last ? all - last : 0;
		last = all;
	}
	for (size_t i = 0; i < nr; i++)
		attachment_release(&probes[i], false);
	if (!site->hits)
		return;
	program = site->program_ns / site->hits;
	qsort(took, nr, sizeof(*took), compare_u64);
	if (took[nr / 2] <= program)
		return;
	c->cost.kernel = (uint32_t)took[nr / 2];
	/* from the clock of a start to the end of its hit, and from the hit of an end to its clock
	 */
	c->cost.kernel_inside = c->cost.kernel - (uint32_t)program;
	kernel_side_control(c->kernel)->kernel_ns = c->cost.kernel_inside;
	kernel_side_control(c->kernel)->call_ns = c->cost.syscall;
}

static void calibrate_switches(struct collector *c, const struct helper_process *h)
{
	uint64_t ns = calibrate_helper_ask(h, 3, SWITCHES);

	/* there and back, each with a read and a write */
	c->cost.context_switch = (uint32_t)(ns / SWITCHES / 2);
}

static void calibrate_faults(struct collector *c, const struct helper_process *h)
{
	c->cost.minor_fault = (uint32_t)(calibrate_helper_ask(h, 4, PAGES) / PAGES);
	c->cost.read_fault = (uint32_t)(calibrate_helper_ask(h, 6, PAGES) / PAGES);
}

/* Read the times that the kernel tells: nothing has to be measured. */
static void read_kernel_times(struct probe_cost *cost)
{
	struct sched_attr {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr)};
	struct timespec t;

	if (!clock_getres(CLOCK_MONOTONIC_COARSE, &t) && !t.tv_sec)
		cost->tick = (uint32_t)t.tv_nsec;
	/* of a task of the fair class, from Linux 6.12 on; before it is 0 */
	if (!syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) && attr.policy == SCHED_OTHER &&
	    attr.runtime < UINT32_MAX)
		cost->slice = (uint32_t)attr.runtime;
}

/* Delete the helper's operations, so that they do not appear among the target's. */
static void forget(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	for (uint32_t nr = 0; nr < PT_SYSCALLS; nr++) {
		uint32_t slot = control->sys_slot[nr];

		if (slot && slot < PT_SLOTS && !c->slots[slot].op) {
			control->sys_slot[nr] = 0;
			kernel_side_hist_clear(c->kernel, slot);
		}
	}
	control->next_slot = 1;
	for (uint32_t s = 1; s < PT_SLOTS; s++) {
		if (c->slots[s].op)
			control->next_slot = s + 1;
	}
}

int calibrate(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	uint32_t only = control->only_tgid, nr = control->nr_targets, layers = c->layers;
	struct helper_process h = {0};
	int err = calibrate_helper_start(&h);

	c->cost.measured = true;
	read_kernel_times(&c->cost);
	if (err)
		return err;
	/* the helper is the only target now and has its own slots, so nothing is counted for
	 * the real targets */
	control->only_tgid = (uint32_t)h.pid;
	control->nr_targets = 1;
	kernel_side_layers(c->kernel, 0);
	if (kernel_side_has_uprobes(c->kernel)) {
		calibrate_class(c, &h, SITE_EMULATED, PT_SLOTS - 1);
		calibrate_class(c, &h, SITE_STEPPED, PT_SLOTS - 2);
	}
	for (unsigned int i = 0; i < SITE_CLASSES; i++)
		control->hit_ns[i] = c->cost.hit[i];
	calibrate_switches(c, &h);
	calibrate_faults(c, &h);
	c->layers = layers;
	calibrate_syscalls(c, &h);
	calibrate_kernel(c, &h);
	c->cost.sched = c->cost.syscall_other + 100;
	calibrate_helper_stop(&h);
	control->only_tgid = only;
	control->nr_targets = nr;
	forget(c);
	return 0;
}
