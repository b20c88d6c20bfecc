// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The governor: keeps the cost of function probes within the budget (budget.h).
 *
 * Each watched function earns credit, its share of the budget, and spends it with every hit. A
 * function that earns as fast as it spends stays armed; others are armed in bursts. At the end
 * of a burst the starts are detached first. The ends stay until the open activations have
 * ended, so that slow calls are seen with the same probability as fast calls.
 */
#include "collect/descend.h"
#include "collect/functions.h"
#include "collect/kernel_functions.h"
#include "collect/learn.h"
#include "collect/phases.h"
#include "collect/slices.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/targets.h"
#include "collect/units.h"

#define MS 1000000ull
#define SECOND_NS (1000 * MS)

enum {
	CHECK_FAST_MS = 4,
	DRAIN_CHECK_MS = 1, /* often, because ends cost the target until they are removed */
	CHECK_MS = 50,
	BURST_MIN_MS = 4,
	OFF_MIN_MS = 45,
	BURST_NS = 200000, /* a burst may always cost this much */
	HITS_MIN = 64,	   /* limits of the hits of one site in a burst */
	HITS_MAX = 40000,
	CALLERS_QUIET_MS = 30,
	DRAIN_MAX_MS = 1500,
	DRAIN_ENDS_MS = 4,	/* then breakpoints replace the ends */
	DRAIN_STARTS_MS = 1000, /* after this the starts count as detached */
	EXITS_LOOK_MS = 15,
	DETACH_MS = 80,	     /* roughly the time that the kernel needs to detach */
	DETACH_NS = 2000000, /* limit of the cost of stepped exits in that time */
	RETURNS_DEAR = 2,    /* limit, as a multiple of the cost of exits */
	RETURNS_LOOK_NS = 1000000,
	MOMENT_NS = 250000000,
	MOMENT_SPENT_NS = 50000000, /* limit per running thread; the hits while probes are being
				       removed cost about as much */
	MOMENT_BUDGET_PPM = 300000, /* no short-term limit if the user allows more than this */
};

uint64_t targets_cpu_ns(const struct collector *c)
{
	uint64_t sum = c->targets.gone_cpu_ns;

	for (unsigned int i = 0; i < c->targets.nr; i++)
		sum += target_cpu_ns(c->targets.list[i]);
	return sum;
}

struct armed_clock clock_now(const struct collector *c)
{
	struct armed_clock now = {.cpu_ns = targets_cpu_ns(c)};

	now.ns = now_ns();
	return now;
}

/*
 * The number of hits until a site's fuse blows and ends the burst. It follows from the
 * remaining credit, so that no delay of the collector makes a burst more expensive, but is
 * never less than HITS_MIN.
 */
uint64_t function_allowance(const struct collector *c, const struct function *f, uint32_t class)
{
	/* each call that begins will also cost a hit at its end */
	uint64_t ns = f->credit_ns > BURST_NS ? (uint64_t)f->credit_ns : BURST_NS,
		 price = budget_hit_ns(c, class) + budget_hit_ns(c, SITE_EMULATED) +
			 f->reads * MEMBER_READ_NS;
	uint64_t hits = ns / (price ? price : 1);

	if (budget_is_unlimited(c))
		return UINT64_MAX / 2;
	return hits < HITS_MIN ? HITS_MIN : hits > HITS_MAX ? HITS_MAX : hits;
}

/* Say once that another tool's return probe is on the function. */
static void replaced_tell(struct collector *c, struct function *f, const struct pt_site *s)
{
	if (!s->replaced || f->replaced_told)
		return;
	f->replaced_told = true;
	send_note(
	    c, NOTE_INFO,
	    "%s: another tool's return probe (uretprobe) is on this function; the true return "
	    "addresses are taken from the kernel, but calls are longer by the time of its "
	    "probes",
	    f->meta->label);
}

/* Cost of the hits since the last check, ns. Sets the fuses anew. */
static uint64_t function_spending(struct collector *c, struct function *f)
{
	struct pt_site *table = kernel_side_sites(c->kernel);
	uint64_t cost = 0, hits = 0;

	for (unsigned int i = 0; i < f->nr_sites; i++) {
		struct pt_site *s = &table[f->sites[i].index];
		uint64_t now = __atomic_load_n(&s->hits, __ATOMIC_RELAXED);
		uint64_t more = (uint32_t)((uint32_t)now - s->seen);

		s->seen = (uint32_t)now;
		replaced_tell(c, f, s);
		hits += more;
		cost += more * (budget_hit_ns(c, f->sites[i].site.class) + site_reads_ns(f, s));
		s->fuse = now + function_allowance(c, f, f->sites[i].site.class);
	}
	f->hits_seen += hits;
	return cost + descend_spending(c, f);
}

uint64_t function_starts(const struct collector *c, const struct function *f, uint64_t *last)
{
	const struct pt_site *table = kernel_side_sites(c->kernel);
	uint64_t hits = f->hits_gone;

	if (last)
		*last = 0;
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		const struct pt_site *s = &table[f->sites[i].index];

		if (!(s->flags & PT_SITE_START))
			continue;
		hits += __atomic_load_n(&s->hits, __ATOMIC_RELAXED);
		if (last && __atomic_load_n(&s->last, __ATOMIC_RELAXED) > *last)
			*last = __atomic_load_n(&s->last, __ATOMIC_RELAXED);
	}
	return hits;
}

/* The starts are detached, because none was hit since the last check. Take the end of the
 * burst as one mean gap after the last call began. */
static void starts_gone(struct collector *c, struct function *f, uint64_t now)
{
	struct armed_clock clock;
	uint64_t last, starts = function_starts(c, f, &last), end = f->state_since;
	uint64_t hits = starts > f->burst_hits ? starts - f->burst_hits : 0;

	function_gate(c, f, false);
	if (last > end)
		end = last + (last - f->time.since.ns) / (hits ? hits : 1);
	clock = clock_now(c);
	armed_off(&f->time, end < clock.ns ? end : clock.ns, clock);
	f->starts_going = false;
	f->state_since = now;
}

/* True while starts are still hit, so the kernel is still detaching them. */
static bool starts_pass(const struct collector *c, struct function *f, uint64_t age)
{
	uint64_t hits = function_starts(c, f, NULL);
	bool more = hits != f->starts_hits && age < DRAIN_STARTS_MS * MS;

	f->starts_hits = hits;
	return more;
}

/*
 * End a burst. The kernel takes tens of milliseconds to remove the starts, and until then they
 * cost the target time, so calls that begin meanwhile still count.
 */
static void burst_stop(struct collector *c, struct function *f, uint64_t now)
{
	if (f->exits_wait)
		function_exits_drop(c, f);
	f->starts_going = true;
	f->starts_hits = function_starts(c, f, NULL);
	function_links_stop(f, false);
	f->state = FUNCTION_DRAINING;
	f->state_since = now;
	f->time.bursting = true;
	phases_look(c);
}

static void burst_drained(struct collector *c, struct function *f, uint64_t now, uint64_t open)
{
	uint64_t before = f->censored;

	function_links_stop(f, true);
	descend_detach(c, f);
	f->state = FUNCTION_OFF;
	f->state_since = now;
	descend_clocks(c);
	f->credit_ns -= (int64_t)budget_attach_cost(f->nr_sites);
	/* give up open calls: their frames would later be taken for abnormal ends */
	function_drop_open(c, f);
	slots_cut(c, LAYER_FUNCTION, f, &f->time);
	if (open && f->censored > before)
		send_note(c, NOTE_WARNING,
			  "%s: calls longer than %d ms may be missing, because it is sampled in "
			  "bursts to stay within --max-overhead",
			  f->meta->label, DRAIN_MAX_MS);
}

void function_rest(struct collector *c, struct function *f, uint64_t since)
{
	struct armed_clock now = clock_now(c);

	if (f->state == FUNCTION_OFF)
		return;
	function_gate(c, f, false);
	armed_off(&f->time, since && since < now.ns ? since : now.ns, now);
	f->starts_going = false;
	f->time.bursting = true;
	burst_drained(c, f, now.ns, 0);
}

static uint64_t govern_drain(struct collector *c, struct function *f, uint64_t now)
{
	uint64_t open, age = now > f->state_since ? now - f->state_since : 0;

	if (f->starts_going) {
		if (age < DRAIN_CHECK_MS * MS || starts_pass(c, f, age))
			return now + DRAIN_CHECK_MS * MS;
		starts_gone(c, f, now);
		age = 0;
	}
	open = function_open(c, f);
	if (!open || age > DRAIN_MAX_MS * MS)
		burst_drained(c, f, now, open);
	else if (!f->ends_gone && age > DRAIN_ENDS_MS * MS)
		function_breaks_arm(c, f);
	return now + (age > DRAIN_ENDS_MS * MS ? CHECK_FAST_MS : DRAIN_CHECK_MS) * MS;
}

/*
 * True if the exits should be dropped: the callers are known, and a single-stepped ret costs
 * several times as much as an end in the caller.
 */
static bool exits_too_dear(const struct function *f, uint64_t now)
{
	bool stepped = false, returns = false;

	if (f->exits_dropped || f->keep_exits || now - f->changed_ns < CALLERS_QUIET_MS * MS)
		return false;
	for (unsigned int i = 0; i < f->nr_sites; i++) {
		const struct function_site *s = &f->sites[i];

		stepped |= s->site.role == SITE_EXIT && s->site.class == SITE_STEPPED && !s->dead;
		returns |= s->site.role == SITE_RETURN && !s->dead;
	}
	return stepped && returns;
}

/* Cost of ending a call at the function's own exits; 0: it has none. */
static uint64_t exit_price(const struct collector *c, const struct function *f)
{
	uint64_t price = 0;

	for (unsigned int i = 0; i < f->nr_sites; i++) {
		const struct function_site *s = &f->sites[i];

		if (s->site.role == SITE_EXIT && !s->dead && c->cost.hit[s->site.class] > price)
			price = c->cost.hit[s->site.class];
	}
	return price;
}

/*
 * Give up return sites that are too expensive. If one call instruction calls many functions, as
 * in an interpreter's dispatch, all of their calls hit a probe behind it; then the exits of
 * this function are cheaper.
 */
static bool returns_too_dear(struct collector *c, struct function *f)
{
	const struct pt_site *table = kernel_side_sites(c->kernel);
	uint64_t starts = function_starts(c, f, NULL), price = exit_price(c, f);
	bool found = false;

	for (unsigned int i = 0; price && i < f->nr_sites; i++) {
		struct function_site *s = &f->sites[i];
		uint64_t hits = __atomic_load_n(&table[s->index].hits, __ATOMIC_RELAXED);

		if (s->site.role != SITE_RETURN || s->dead ||
		    hits * c->cost.hit[s->site.class] <
			RETURNS_DEAR * (starts - s->starts_before) * price + RETURNS_LOOK_NS)
			continue;
		function_return_give_up(c, f, s);
		found = true;
	}
	return found;
}

/* Arm the exits that wait if their hits are affordable while they are being removed; else drop
 * them. */
static void exits_look(struct collector *c, struct function *f, uint64_t now)
{
	uint64_t age = now - f->state_since, hits = function_starts(c, f, NULL) - f->burst_hits;

	if (!f->exits_wait || age < EXITS_LOOK_MS * MS)
		return;
	if (hits * c->cost.hit[SITE_STEPPED] / (age / MS) * DETACH_MS <= DETACH_NS)
		function_exits_arm(c, f);
	else
		function_exits_drop(c, f);
}

/*
 * True if the cost of probes in the current quarter of a second is over the limit. Whatever
 * credit there is, a target must keep about half of its speed in that time.
 */
static bool short_window_exceeded(const struct collector *c, struct function *f, uint64_t now,
				  uint64_t spent, uint64_t ran)
{
	struct short_window *m = &f->short_window;
	uint64_t threads;

	if (now - m->since >= MOMENT_NS)
		*m = (struct short_window){.since = now};
	m->spent_ns += spent;
	m->ran_ns += ran;
	threads = now > m->since ? (m->ran_ns + (now - m->since) / 2) / (now - m->since) : 0;
	return c->options->budget_ppm < MOMENT_BUDGET_PPM &&
	       m->spent_ns > (threads ? threads : 1) * MOMENT_SPENT_NS;
}

/* A function of a descent may use the whole account: a descent arms one after the other. */
static bool has_account(const struct collector *c, const struct function *f)
{
	return c->options->descends || descend_is_of(c, f);
}

/* Update a function's credit after a turn in which it earned and spent this much. */
static void credit_turn(struct collector *c, struct function *f, int64_t earned, int64_t spent)
{
	int64_t most = budget_of(c, SECOND_NS);

	if (most < f->credit_ns)
		most = f->credit_ns;
	f->credit_ns += earned - spent;
	if (has_account(c, f))
		f->credit_ns = budget_left(c);
	else if (f->credit_ns > most)
		f->credit_ns = most;
}

/*
 * True if the burst has used its share. Several short bursts see more of the program than one
 * burst that takes the whole budget, and leave something for later rounds of a descent.
 */
static bool burst_over(const struct collector *c, const struct function *f)
{
	/* a descent's call is useless if its thread's waits are not recorded */
	if (descend_only_samples(c, f) || (descend_is_of(c, f) && !units_are_on(c)))
		return true;
	return f->credit_ns < 0 || budget_left(c) < 0 ||
	       (has_account(c, f) && f->burst_spent_ns > f->burst_max_ns);
}

static void burst_start(struct collector *c, struct function *f)
{
	if (descend_only_samples(c, f) || (descend_is_of(c, f) && !units_start(c, now_ns())))
		return;
	function_links_start(c, f);
	f->burst_hits = function_starts(c, f, NULL);
}

/* True if the credit suffices for a burst that is worth the cost of attaching. A descent is short:
 * what its bursts cost peaktop does not count. */
static bool burst_affordable(struct collector *c, const struct function *f)
{
	return (has_account(c, f) || budget_allows_attaching(c)) &&
	       f->credit_ns > budget_burst(c) && budget_left(c) > budget_burst(c);
}

void functions_wake(struct collector *c)
{
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];

		if (f->hopeless || !function_has_starts(f))
			continue;
		/* without credit, the governor starts a burst later */
		if (budget_is_unlimited(c) || burst_affordable(c, f))
			burst_start(c, f);
		else
			f->time.bursting = true;
	}
}

void function_revive(struct collector *c, struct function *f)
{
	/* else the governor starts a burst */
	if (budget_is_unlimited(c) && f->state == FUNCTION_OFF)
		burst_start(c, f);
}

/* Govern one function; returns the time of the next check. `most`: CPU time of the targets
 * since the last check: probes cannot have taken more. */
static uint64_t govern_one(struct collector *c, struct function *f, uint64_t now, int64_t earned,
			   uint64_t most)
{
	uint64_t spent = account_charge(&f->owed_ns, function_spending(c, f), most);
	bool pause = short_window_exceeded(c, f, now, spent, most);

	f->spent_ns += spent;
	f->burst_spent_ns += spent;
	credit_turn(c, f, earned, (int64_t)spent);
	switch (f->state) {
	case FUNCTION_ON:
		exits_look(c, f, now);
		if (spent > (uint64_t)earned && exits_too_dear(f, now))
			function_exits_drop(c, f);
		if (returns_too_dear(c, f) ||
		    ((burst_over(c, f) || pause) && now - f->state_since >= BURST_MIN_MS * MS)) {
			burst_stop(c, f, now_ns());
			return now + DRAIN_CHECK_MS * MS;
		}
		/* check less often if the function spends no more than it earns */
		return now + (spent > (uint64_t)earned || now - f->state_since < 100 * MS
				  ? CHECK_FAST_MS
				  : CHECK_MS) *
				 MS;
	case FUNCTION_DRAINING:
		return govern_drain(c, f, now);
	case FUNCTION_OFF:
		if (!f->hopeless && !pause && function_has_starts(f) && burst_affordable(c, f) &&
		    now - f->state_since > OFF_MIN_MS * MS)
			burst_start(c, f);
		return now + CHECK_MS * MS;
	}
	return now + CHECK_MS * MS;
}

/* Govern the functions that begin or end phases (`edges`), or the others. Returns how much of
 * `earned` they spent. */
static int64_t govern_some(struct collector *c, uint64_t now, int64_t earned, uint64_t most,
			   bool edges, uint64_t *next)
{
	unsigned int nr = 0;
	int64_t spent = 0;

	for (unsigned int i = 0; i < c->functions.nr; i++)
		nr += phases_edge(c, c->functions.list[i]) == edges;
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];
		uint64_t before = f->spent_ns, when;

		if (phases_edge(c, f) != edges)
			continue;
		if (budget_is_unlimited(c)) {
			f->spent_ns += function_spending(c, f);
			continue;
		}
		when = govern_one(c, f, now, earned / (int64_t)nr, most);
		if (when < *next)
			*next = when;
		spent += (int64_t)(f->spent_ns - before);
	}
	return spent < earned ? spent : earned;
}

uint64_t functions_govern(struct collector *c, uint64_t now)
{
	uint64_t next = c->functions.nr ? now + CHECK_MS * MS : UINT64_MAX, when,
		 wall = c->budget.at && now > c->budget.at ? now - c->budget.at : 0;
	int64_t earned;

	budget_turn(c, now);
	when = units_govern(c, now, wall);
	if (when < next)
		next = when;
	earned = c->budget.part * FUNCTION_PARTS + c->budget.spilt;
	c->budget.spilt = 0;
	/* functions that begin or end phases come first: without them the others count nothing */
	earned -= govern_some(c, now, earned * 3 / 4, c->budget.ran, true, &next);
	govern_some(c, now, earned, c->budget.ran, false, &next);
	return next;
}

void function_blown(struct collector *c, uint32_t site_index, uint64_t at)
{
	if (kernel_function_blown(c, site_index, at) || learn_blown(c, site_index) ||
	    descend_blown(c, site_index))
		return;
	for (unsigned int i = 0; i < c->functions.nr; i++) {
		struct function *f = c->functions.list[i];

		for (unsigned int j = 0; j < f->nr_sites; j++) {
			if (f->sites[j].index != site_index)
				continue;
			if (f->state != FUNCTION_ON)
				return;
			send_blown(c, f->op);
			/* the next burst would end here just as soon */
			returns_too_dear(c, f);
			burst_stop(c, f, at > f->time.since.ns ? at : now_ns());
			return;
		}
	}
}
