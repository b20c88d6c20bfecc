// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Governs the bursts of the tracepoint layers. Tracepoints cost time of the targets and,
 * because all tasks of the host pass them, of all other processes: both budgets limit them.
 * Bursts of system calls end like those of functions: first no call begins any more, then open
 * calls may end. A context switch has no duration, so the scheduler's burst ends at once.
 */
#include "collect/units.h"
#include "analysis/base/array.h"
#include "collect/descend.h"
#include "collect/keep.h"
#include "collect/keep_open.h"
#include "collect/phases.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/waits.h"

#define MS 1000000ull
#define SECOND_NS (1000 * MS)

enum {
	CHECK_FAST_MS = 6,
	/* each turn costs about 0.1 ms, and 3 million system calls a second 30 ms until the next */
	CHECK_MS = 100,
	BURST_MIN_MS = 6,
	OFF_MIN_MS = 60,
	CREDIT_MAX_NS = 1000000000,
	HOST_START_NS = 8000000,
	HOST_MAX_NS = 20000000,
	DRAIN_MAX_MS = 1000,
	OVERDRAWN_NS = 100000000, /* open calls may overdraw the budget by that of this time */
	SWITCH_NS = 300000,	  /* host's cost of attaching and detaching tracepoints */
	LONG_PAUSE_S = 5,	  /* pauses as long as this are announced */
	/* a burst begins with what a unit earns in half of a slice, within these limits */
	SAVED_LEAST_NS = 250000000,
	SAVED_MOST_NS = 500000000,
};

struct governed_unit *unit_of(struct collector *c, enum layer layer)
{
	if (layer == LAYER_SYSCALL || layer == LAYER_URING)
		return &c->units[UNIT_SYSCALLS];
	return layer == LAYER_RUNQUEUE ? &c->units[UNIT_SCHED] : NULL;
}

/* Requests of io_uring are submitted by system calls, and share their bursts. */
static uint32_t unit_layers(enum unit u)
{
	return u == UNIT_SYSCALLS ? 1u << LAYER_SYSCALL | 1u << LAYER_URING : 1u << LAYER_RUNQUEUE;
}

void units_begin(struct collector *c)
{
	c->units_held = c->options->command != NULL;
	for (enum unit u = 0; u < UNITS; u++)
		c->units[u] =
		    (struct governed_unit){.state = c->units_held ? FUNCTION_OFF : FUNCTION_ON,
					   .credit_ns = budget_draw(c, BUDGET_UNIT_START_NS),
					   .host_ns = HOST_START_NS};
}

void units_go(struct collector *c)
{
	if (!c->units_held)
		return;
	c->units_held = false;
	for (enum unit u = 0; u < UNITS; u++) {
		c->units[u].state = FUNCTION_ON;
		c->units[u].state_since = now_ns();
	}
	units_layers(c);
}

uint32_t units_layers_of_slice(struct collector *c)
{
	uint32_t on = c->slice.layers | c->layers;

	c->slice.layers = 0;
	return on | 1u << LAYER_FUNCTION | 1u << LAYER_KERNEL;
}

/* Attach the tracepoints of layers that are requested and not paused. User-space lock waits
 * are futex calls, so they share the bursts of system calls. */
void units_layers(struct collector *c)
{
	uint32_t off = 0, available = kernel_side_available(c->kernel), run;

	for (enum unit u = 0; u < UNITS; u++) {
		if (c->units[u].state != FUNCTION_ON)
			off |= unit_layers(u);
	}
	c->layers &= available;
	run = c->layers & ~off;
	if (run & 1u << LAYER_LOCK && c->units[UNIT_SYSCALLS].state == FUNCTION_ON)
		run |= KERNEL_SIDE_USER_LOCKS;
	/* the system call of a phase or of a descent needs this, whatever layers are requested */
	if ((phases_need_syscalls(c) || descend_needs_syscalls(c)) &&
	    c->units[UNIT_SYSCALLS].state == FUNCTION_ON)
		run |= KERNEL_SIDE_PHASES;
	run |= c->descent || c->keeping ? KERNEL_SIDE_DESCENT : 0u;
	if (waits_want_tries(c) || (run & 1u << LAYER_RUNQUEUE && descend_wants_tries(c)))
		run |= KERNEL_SIDE_TRIES;
	/* layers that could not be attached are not available */
	c->layers &= kernel_side_layers(c->kernel, run) | off;
}

static int count_open(void *ctx, uint32_t tid, const struct pt_thread *t)
{
	struct collector *c = ctx;

	if (t->sys_open == PT_SYS_COUNTS &&
	    t->sys_burst == kernel_side_control(c->kernel)->sys_burst)
		c->units[UNIT_SYSCALLS].open_calls++;
	return 0;
}

static bool calls_open(struct collector *c)
{
	c->units[UNIT_SYSCALLS].open_calls = 0;
	kernel_side_threads(c->kernel, count_open, c);
	return c->units[UNIT_SYSCALLS].open_calls > 0 ||
	       (c->layers & 1u << LAYER_URING &&
		(int32_t)kernel_side_control(c->kernel)->uring_open > 0);
}

/* Cost of a unit since the last check, ns: to the targets, and to other processes. */
static void unit_spending(struct collector *c, enum unit u, const uint64_t n[PT_COUNTERS],
			  uint64_t *target, uint64_t *other)
{
	struct governed_unit *g = &c->units[u];
	uint64_t hits = u == UNIT_SYSCALLS ? n[PT_HIT_SYSCALL] : n[PT_HIT_SCHED];
	uint64_t others = u == UNIT_SYSCALLS ? n[PT_HIT_SYSCALL_OTHER] : n[PT_HIT_SCHED_OTHER];

	*target = (hits - g->hits_target) * (u == UNIT_SYSCALLS ? c->cost.syscall : c->cost.sched);
	*other = (others - g->hits_other) *
		 (u == UNIT_SYSCALLS ? c->cost.syscall_other : c->cost.sched / 2);
	g->hits_target = hits;
	g->hits_other = others;
	g->spent_ns += *target;
}

/* What all units together earn of the host's budget in `wall` ns. */
static uint64_t host_budget(const struct collector *c, uint64_t wall)
{
	return wall * (uint64_t)kernel_side_control(c->kernel)->nr_cpus * c->options->budget_ppm /
	       1000000;
}

static bool unit_is_used(const struct collector *c, enum unit u)
{
	return c->layers & unit_layers(u) ||
	       (u == UNIT_SYSCALLS && (phases_need_syscalls(c) || descend_needs_syscalls(c)));
}

static unsigned int units_used(const struct collector *c)
{
	unsigned int used = 0;

	for (enum unit u = 0; u < UNITS; u++)
		used += unit_is_used(c, u);
	return used;
}

static const char *unit_name(enum unit u)
{
	return u == UNIT_SYSCALLS ? "system calls" : "scheduler events";
}

/*
 * A collector that did not get a CPU for seconds could not end the burst, in which all processes
 * of the host paid: then the pause is long, and somebody who sees no figures has to know why.
 */
static void pause_announce(struct collector *c, enum unit u)
{
	struct governed_unit *g = &c->units[u];
	uint64_t earned = host_budget(c, SECOND_NS) / (units_used(c) ? units_used(c) : 1), pause_s;

	if (g->pause_is_told || g->host_ns >= 0 || !earned)
		return;
	pause_s = (uint64_t)-g->host_ns / earned;
	if (pause_s < LONG_PAUSE_S)
		return;
	g->pause_is_told = true;
	send_note(c, NOTE_WARNING,
		  "%s are not measured for the next %llu s: those of all processes of this busy "
		  "host have used up what --max-overhead %g allows",
		  unit_name(u), (unsigned long long)pause_s, c->options->budget_ppm / 1e4);
}

static void unit_off(struct collector *c, enum unit u)
{
	struct governed_unit *g = &c->units[u];

	unit_gate_close(c, u);
	if (!g->time.bursting)
		send_note(c, NOTE_INFO, "%s are sampled in bursts to stay within --max-overhead %g",
			  unit_name(u), c->options->budget_ppm / 1e4);
	g->time.bursting = true;
	g->state_since = now_ns();
	/* a descent's calls have ended with those of its function */
	if (u == UNIT_SYSCALLS && g->state == FUNCTION_ON && unit_is_used(c, u)) {
		g->state = FUNCTION_DRAINING;
		kernel_side_syscalls_drain(c->kernel);
		phases_look(c);
		return;
	}
	g->state = FUNCTION_OFF;
	g->host_ns -= SWITCH_NS;
	pause_announce(c, u);
	descend_clocks(c);
	units_layers(c);
	slots_cut(c, unit_gate(u), NULL, &g->time);
}

static void unit_on(struct collector *c, enum unit u)
{
	struct governed_unit *g = &c->units[u];

	unit_burst_count(c, u);
	g->state = FUNCTION_ON;
	g->lasts_ns = 0;
	units_layers(c);
	unit_gate_open(c, u);
	if (u == UNIT_SCHED)
		keep_burst_begins(c);
	g->state_since = g->time.since.ns;
	descend_clocks(c);
	phases_look(c);
}

/* True if the running descent needs the events of this unit. */
static bool serves_descent(const struct collector *c, enum unit u)
{
	return c->descent &&
	       (u == UNIT_SYSCALLS ? descend_needs_syscalls(c) : c->layers & unit_layers(u));
}

/* True if not even a call whose end is awaited may cost more. */
static bool is_overdrawn(const struct collector *c, enum unit u)
{
	return c->units[u].host_ns < -HOST_MAX_NS || budget_left(c) < -budget_of(c, OVERDRAWN_NS);
}

/*
 * True if a unit that is on has to be switched off. What a descent pays for events outside the
 * bursts of its function f0, f0 lacks: with enough context switches it would never have a burst.
 */
static bool unit_is_over(const struct collector *c, enum unit u)
{
	enum function_state f0;

	if (u == UNIT_SCHED && keep_open_waits(c))
		return is_overdrawn(c, u);
	if (!serves_descent(c, u))
		return c->units[u].credit_ns < 0 || c->units[u].host_ns < 0 || budget_left(c) < 0;
	if (!descend_has_bursts(c, &f0))
		return budget_left(c) < 0;
	return f0 == FUNCTION_OFF ||
	       (f0 == FUNCTION_DRAINING && budget_left(c) < -budget_of(c, OVERDRAWN_NS));
}

/*
 * True if the credit suffices for a burst that is worth its attaching. That changes the kernel's
 * code, for which every CPU is interrupted: bursts as short as the credit of one turn would cost
 * more than what they measure. Each slice should have a burst.
 */
static bool burst_is_saved(const struct collector *c, enum unit u)
{
	const struct governed_unit *g = &c->units[u];
	uint64_t half = (c->slice.end - c->slice.start) / 2;
	int64_t target, host;

	half = half < SAVED_LEAST_NS ? SAVED_LEAST_NS : half > SAVED_MOST_NS ? SAVED_MOST_NS : half;
	target = budget_of(c, half) / (int64_t)budget_parts(c);
	host = (int64_t)host_budget(c, half) / (int64_t)UNITS;
	if (host > HOST_MAX_NS / 2)
		host = HOST_MAX_NS / 2;
	return g->credit_ns >= target && g->host_ns >= host && budget_left(c) > target;
}

/* True if a unit that is off can be switched on. Bursts of f0 do that with units_start(). */
static bool unit_is_affordable(const struct collector *c, enum unit u)
{
	return serves_descent(c, u)
		   ? !descend_has_bursts(c, NULL) && budget_left(c) > budget_burst(c)
		   : burst_is_saved(c, u);
}

static bool was_off_long(const struct governed_unit *g, uint64_t now)
{
	return g->state == FUNCTION_OFF && now > g->state_since + OFF_MIN_MS * MS;
}

/* Time until the next check: in a burst half of what the credit lasts, since the rate may rise. */
static uint64_t unit_check_ns(const struct governed_unit *g)
{
	uint64_t ns = g->lasts_ns / 2;

	if (!g->time.bursting || g->state == FUNCTION_OFF || ns > CHECK_MS * MS)
		return CHECK_MS * MS;
	return g->state == FUNCTION_DRAINING || ns < CHECK_FAST_MS * MS ? CHECK_FAST_MS * MS : ns;
}

static uint64_t unit_govern(struct collector *c, enum unit u, uint64_t now)
{
	struct governed_unit *g = &c->units[u];
	uint64_t age = now > g->state_since ? now - g->state_since : 0;

	switch (g->state) {
	case FUNCTION_ON:
		if (age >= BURST_MIN_MS * MS && unit_is_over(c, u))
			unit_off(c, u);
		break;
	case FUNCTION_DRAINING:
		if (age > DRAIN_MAX_MS * MS || !calls_open(c))
			unit_off(c, u);
		break;
	case FUNCTION_OFF:
		if (was_off_long(g, now) && unit_is_affordable(c, u))
			unit_on(c, u);
		break;
	}
	return now + unit_check_ns(g);
}

void units_watch_scheduler(struct collector *c)
{
	if (c->layers & 1u << LAYER_RUNQUEUE && was_off_long(&c->units[UNIT_SCHED], now_ns()) &&
	    !is_overdrawn(c, UNIT_SCHED))
		unit_on(c, UNIT_SCHED);
}

bool units_are_on(const struct collector *c)
{
	return !any_of(u, UNITS,
		       serves_descent(c, (enum unit)u) && c->units[u].state != FUNCTION_ON);
}

bool units_start(struct collector *c, uint64_t now)
{
	for (enum unit u = 0; u < UNITS; u++) {
		if (serves_descent(c, u) && was_off_long(&c->units[u], now))
			unit_on(c, u);
	}
	return units_are_on(c);
}

unsigned int budget_parts(const struct collector *c)
{
	unsigned int parts =
	    units_used(c) + FUNCTION_PARTS * (c->functions.nr > 0) + waits_have_part(c);

	return parts ? parts : 1;
}

/* Update the credits of a unit after `wall` ns: of the targets' time and of the host's time. */
static void unit_credit(struct collector *c, enum unit u, const uint64_t n[PT_COUNTERS],
			int64_t host, uint64_t wall)
{
	const int64_t earned = c->budget.part;
	struct governed_unit *g = &c->units[u];
	int64_t most = budget_of(c, CREDIT_MAX_NS), own;
	uint64_t target, other;

	unit_spending(c, u, n, &target, &other);
	own = earned - (int64_t)target;
	g->credit_ns += own;
	if (g->credit_ns > most) {
		c->budget.spilt += g->credit_ns - most < own ? g->credit_ns - most
				   : own > 0		     ? own
							     : 0;
		g->credit_ns = most;
	}
	g->host_ns += host - (int64_t)(target + other);
	if (g->host_ns > HOST_MAX_NS)
		g->host_ns = HOST_MAX_NS;
	g->lasts_ns = account_lasts(g->credit_ns, target, wall);
	if (account_lasts(g->host_ns, target + other, wall) < g->lasts_ns)
		g->lasts_ns = account_lasts(g->host_ns, target + other, wall);
	/* a descent pays from the account, and lasts only seconds */
	if (serves_descent(c, u)) {
		g->credit_ns = g->credit_ns < 0 ? 0 : g->credit_ns;
		g->host_ns = g->host_ns < 0 ? 0 : g->host_ns;
	}
}

/*
 * Divide what the targets have earned in this turn: each used unit gets a part, the tracing of
 * waits another, all functions together FUNCTION_PARTS. Layers that are never paused come first.
 */
static void divide_budget(struct collector *c, const uint64_t n[PT_COUNTERS])
{
	struct budget *b = &c->budget;
	uint64_t hits = n[PT_HIT_BLOCK] + n[PT_HIT_LOCK];

	b->part =
	    account_part(&b->account, (hits - b->others_hits) * c->cost.sched, budget_parts(c));
	b->others_hits = hits;
	if (b->excess_is_told || b->account.missing > -budget_of(c, LONG_PAUSE_S * SECOND_NS))
		return;
	b->excess_is_told = true;
	send_note(c, NOTE_WARNING,
		  "block requests and locks cost more than --max-overhead %g allows; they are "
		  "never paused, so nothing else is measured until that is made up for",
		  c->options->budget_ppm / 1e4);
}

uint64_t units_govern(struct collector *c, uint64_t now, uint64_t wall)
{
	uint64_t n[PT_COUNTERS], next = now + CHECK_MS * MS, when;
	unsigned int used = units_used(c);
	int64_t host;

	if (budget_is_unlimited(c))
		return next;
	kernel_side_counters(c->kernel, n);
	divide_budget(c, n);
	if (c->units_held)
		return next;
	waits_credit(c, n, c->budget.part);
	/* the units share the host's budget */
	host = (int64_t)(host_budget(c, wall) / (used ? used : 1));
	for (enum unit u = 0; u < UNITS; u++) {
		unit_credit(c, u, n, host, wall);
		if (!unit_is_used(c, u))
			continue;
		when = unit_govern(c, u, now);
		if (when < next)
			next = when;
	}
	return next;
}

void units_sleep(struct collector *c)
{
	gates_close(c);
	for (enum unit u = 0; u < UNITS; u++)
		c->units[u].state = FUNCTION_OFF;
	kernel_side_layers(c->kernel, 0);
	phases_look(c);
}

void units_wake(struct collector *c)
{
	/* without credit, the governor starts a burst later */
	for (enum unit u = 0; u < UNITS && !c->units_held; u++) {
		if (budget_is_unlimited(c) ||
		    (c->units[u].credit_ns >= 0 && c->units[u].host_ns >= 0))
			unit_on(c, u);
		else
			c->units[u].time.bursting = true;
	}
	gates_open(c);
}
