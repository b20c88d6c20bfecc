// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/budget.h"

#include <sys/resource.h>
#include <unistd.h>

#include "collect/detach.h"
#include "collect/opener.h"
#include "collect/process/small_file.h"
#include "collect/reader.h"
#include "collect/state.h"
#include "collect/stream.h"

#define SECOND_NS 1000000000ull

enum {
	/*
	 * A hit costs more in a real program than in the loop of the calibration, whose code
	 * and data stay in the caches. Measured with tests/bench/budget.py: 1.07 to 1.39 times
	 * as much.
	 */
	COLD_PERCENT = 125,
	ATTACH_NS = 60000,	/* per link: the lock of the target's memory is held, so its other
				   threads wait at page faults */
	ATTACH_SITE_NS = 12000, /* per site: its page is replaced twice, each time with a page fault
				   and cold caches */
	OWN_ATTACH_PERCENT = 3, /* of one CPU, which attaching and removing may take of the host */
	OWN_ATTACH_NS = 300000000, /* may be saved up: at the start, so that figures come soon */
	OWN_DEBT_NS = 300000000,   /* may be owed at most, so that bursts come again within 10 s */
	BURST_NS = 3000000,
	BURST_PART = 4, /* fraction of one second's budget */
};

bool budget_is_unlimited(const struct collector *c)
{
	return c->options->budget_ppm >= 1000000;
}

int64_t budget_of(const struct collector *c, uint64_t ns)
{
	const struct account before = {.ppm = c->options->budget_ppm};

	return account_given(c->budget.began ? &c->budget.account : &before, ns);
}

int64_t budget_draw(struct collector *c, uint64_t ns)
{
	int64_t credit = budget_of(c, ns);

	account_draw(&c->budget.account, credit);
	return credit;
}

int64_t budget_left(const struct collector *c)
{
	return budget_is_unlimited(c) ? INT64_MAX / 2 : c->budget.account.left;
}

int64_t budget_burst(const struct collector *c)
{
	int64_t part = budget_of(c, SECOND_NS) / BURST_PART;

	return part < BURST_NS ? part : BURST_NS;
}

void budget_slept(struct collector *c, uint64_t ns)
{
	c->budget.slept_ns += ns;
	account_slept(&c->budget.account, ns);
}

uint64_t budget_attach_cost(uint64_t sites)
{
	return ATTACH_NS + sites * ATTACH_SITE_NS;
}

bool budget_allows_attaching(struct collector *c)
{
	if (budget_is_unlimited(c) || c->budget.own_attach > 0)
		return true;
	if (!c->budget.own_attach_told)
		send_note(
		    c, NOTE_INFO,
		    "bursts of the probes are rarer than --max-overhead allows, because "
		    "attaching them to %u processes takes more than %d%% of one CPU of this host",
		    c->targets.nr, OWN_ATTACH_PERCENT);
	c->budget.own_attach_told = true;
	return false;
}

/* What a descent, which is short, attaches does not count. */
static void own_attach_turn(struct collector *c, uint64_t ns)
{
	struct budget *b = &c->budget;
	uint64_t cpu = attach_cpu_ns(), spent = c->descent ? 0 : cpu - b->own_attach_cpu;

	b->own_attach_cpu = cpu;
	b->own_attach += (int64_t)(ns / 100 * OWN_ATTACH_PERCENT) - (int64_t)spent;
	if (b->own_attach > OWN_ATTACH_NS)
		b->own_attach = OWN_ATTACH_NS;
	if (b->own_attach < -OWN_DEBT_NS)
		b->own_attach = -OWN_DEBT_NS;
}

void budget_attached(struct collector *c, uint64_t sites)
{
	c->budget.attach_ns += budget_attach_cost(sites);
}

uint64_t budget_hit_ns(const struct collector *c, uint32_t class)
{
	return (uint64_t)c->cost.hit[class] * COLD_PERCENT / 100;
}

uint64_t budget_kernel_ns(const struct collector *c)
{
	return c->cost.kernel ? c->cost.kernel : c->cost.hit[SITE_EMULATED];
}

uint64_t budget_cost(const struct collector *c, const uint64_t *n, uint64_t *others)
{
	*others = n[PT_HIT_SYSCALL_OTHER] * c->cost.syscall_other +
		  (n[PT_HIT_SCHED_OTHER] + n[PT_HIT_LOCK_OTHER]) * c->cost.sched / 2 +
		  n[PT_HIT_WAITS_OTHER] * c->cost.sched / 2 +
		  (n[PT_HIT_KERNEL_OTHER] + n[PT_HIT_KERNEL_SITE_OTHER]) * budget_kernel_ns(c);
	return n[PT_HIT_EMULATED] * budget_hit_ns(c, SITE_EMULATED) +
	       n[PT_HIT_KERNEL] * budget_kernel_ns(c) +
	       n[PT_HIT_STEPPED] * budget_hit_ns(c, SITE_STEPPED) + n[PT_HIT_COLD] * c->cost.cold +
	       n[PT_HIT_SYSCALL] * c->cost.syscall +
	       (n[PT_HIT_SCHED] + n[PT_HIT_BLOCK] + n[PT_HIT_LOCK]) * c->cost.sched +
	       n[PT_WAITS_NS] + n[PT_HIT_WAITS] * c->cost.sched / 2 + n[PT_READS] * MEMBER_READ_NS;
}

uint64_t budget_timed(const struct collector *c)
{
	return kernel_side_control(c->kernel)->snapshot_ns + c->budget.slept_ns;
}

/* Total cost of hits, which is estimated, and of stack samples, which is timed. */
static uint64_t hits_cost(const struct collector *c)
{
	uint64_t n[PT_COUNTERS], others;

	kernel_side_counters(c->kernel, n);
	return budget_cost(c, n, &others) + kernel_side_control(c->kernel)->snapshot_ns;
}

/* Open the account at the first turn. The cost of the calibration is not charged to the
 * targets. */
static void open_account(struct collector *c, uint64_t now)
{
	struct budget *b = &c->budget;

	kernel_side_counters(c->kernel, c->account.hits_before);
	b->began = true;
	b->began_ns = b->at = now;
	account_open(&b->account, c->options->budget_ppm, c->options->descends);
	b->hits_ns = hits_cost(c);
	b->own_attach = OWN_ATTACH_NS;
	b->own_attach_cpu = attach_cpu_ns();
}

/* CPU time of all targets since the last turn. A new target counts from now on; a target that
 * has ended is left out, because its CPU time is not known any more. */
static uint64_t targets_ran(struct collector *c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < c->targets.nr; i++) {
		struct target *t = c->targets.list[i];
		uint64_t cpu = target_cpu_ns(t);

		if (t->cpu_seen_ns && cpu > t->cpu_seen_ns)
			sum += cpu - t->cpu_seen_ns;
		if (cpu)
			t->cpu_seen_ns = cpu;
	}
	return sum;
}

void budget_turn(struct collector *c, uint64_t now)
{
	struct budget *b = &c->budget;
	uint64_t hits;

	if (!b->began)
		open_account(c, now);
	b->ran = targets_ran(c);
	b->ran_ever += b->ran;
	hits = hits_cost(c);
	account_turn(&b->account,
		     &(struct account_turn){.ns = now - b->at,
					    .ran_ns = b->ran,
					    .hits_ns = hits > b->hits_ns ? hits - b->hits_ns : 0,
					    .attach_ns = b->attach_ns - b->attach_reported});
	own_attach_turn(c, now - b->at);
	b->attach_reported = b->attach_ns;
	b->hits_ns = hits;
	b->at = now;
}

uint64_t budget_ran(const struct collector *c)
{
	return c->budget.ran_ever;
}

void budget_borrow(struct collector *c, bool borrows)
{
	if (c->budget.began && !c->options->descends)
		account_borrow(&c->budget.account, borrows);
}

/* ---- peaktop's own processes ---- */

/* Must be called before the command is started, because the command is also a child of the
 * collector. */
void budget_calibrated(struct collector *c)
{
	struct rusage u;

	if (!getrusage(RUSAGE_CHILDREN, &u))
		c->budget.helpers_ns =
		    (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SECOND_NS +
		    (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* CPU time of the children of `parent`, except `self`. */
static uint64_t children_cpu(pid_t parent, pid_t self)
{
	FILE *f = small_file_open("/proc/%d/task/%d/children", parent, parent);
	uint64_t ns = 0;
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1) {
		if (pid != self)
			ns += process_cpu_ns(pid);
	}
	if (f)
		fclose(f);
	return ns;
}

uint64_t budget_collector_cpu(void)
{
	return process_cpu_ns(getpid()) + reader_cpu_ns();
}

uint64_t budget_own_cpu(const struct collector *c)
{
	pid_t front = getppid(), self = getpid(), opener = opener_pid(c->files.opener);
	uint64_t ns = budget_collector_cpu() + c->budget.helpers_ns;

	if (opener > 0)
		ns += process_cpu_ns(opener) + children_cpu(opener, self);
	/* if the front has ended, the parent is init */
	return front > 1 ? ns + process_cpu_ns(front) + children_cpu(front, self) : ns;
}

/* ---- notes to the user ---- */

void budget_note(struct collector *c, uint64_t ns, uint64_t cpu, uint64_t wall)
{
	const struct account *a = &c->budget.account;
	uint64_t advance = account_advance(a);

	if (budget_is_unlimited(c) || ns <= a->allowed_ns)
		return;
	if (ns <= advance && wall < ACCOUNT_ADVANCE_NS)
		send_note(c, NOTE_INFO,
			  "probes took %.1f ms, more than the %.1f ms that --max-overhead %g "
			  "allows for %.1f s; a short run may use two seconds' budget at once",
			  (double)ns / 1e6, (double)a->allowed_ns / 1e6,
			  c->options->budget_ppm / 1e4, (double)wall / 1e9);
	else
		send_note(c, NOTE_WARNING,
			  "probes took %.1f ms (%.1f%% of the target's CPU time, %.1f%% of one "
			  "CPU), more than the %.1f ms that --max-overhead %g allows%s",
			  (double)ns / 1e6, cpu ? 100. * (double)ns / (double)cpu : 0.,
			  wall ? 100. * (double)ns / (double)wall : 0., (double)a->allowed_ns / 1e6,
			  c->options->budget_ppm / 1e4, a->borrows ? " a descent" : "");
}
