// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times kernel functions with kprobes. All processes that call such a function hit its probes:
 * hits of the targets are charged to the budget of the targets, all hits to that of the host
 * (--max-overhead of all CPUs). A function that costs more than it earns is armed in bursts. A
 * burst ends by closing the gate. Then the entry probe is detached, and the return probe when
 * no call is open. If the fuse blows, both are detached at once.
 */
#include "collect/kernel_functions.h"
#include "analysis/base/array.h"
#include "collect/attach_batch.h"
#include "collect/descend.h"
#include "collect/kernel_never.h"
#include "collect/kernel_symbols.h"
#include "collect/sites.h"
#include "collect/state.h"
#include "collect/stream.h"
#include "collect/units.h"

#define MS 1000000ull

enum {
	CHECK_FAST_MS = 20, /* interval of checks while calls are open after a burst */
	CHECK_MS = 50,	    /* the collector reads the ring buffer in the same turn */
	BURST_MIN_MS = 5,
	OFF_MIN_MS = 60,
	DRAIN_MAX_MS = 1000,
	CREDIT_NS = 4000000, /* initial credit */
	CREDIT_MAX_NS = 20000000,
	HITS_MIN = 64, /* fewest hits until the fuse of a burst blows */
	SHARE = 2,     /* all kernel functions together get 1/2 of the budget */
};

static void links_release(struct kernel_function *f)
{
	attachment_release(&f->entry, false);
	attachment_release(&f->exit, false);
}

static struct pt_site *site_of(struct collector *c, const struct kernel_function *f)
{
	return &kernel_side_sites(c->kernel)[f->site];
}

static uint64_t price(const struct collector *c)
{
	return budget_kernel_ns(c) ? budget_kernel_ns(c) : 1;
}

enum { AT_EXIT, AT_ENTRY, PLACES };

/* Where the probes go: the return first, so that no call begins that is not seen to end. */
static void places_of(struct collector *c, const struct kernel_function *f,
		      struct attach_place place[PLACES])
{
	for (int i = 0; i < PLACES; i++)
		place[i] = (struct attach_place){
		    .prog = kernel_side_program(c->kernel, i == AT_EXIT ? PROGRAM_KERNEL_EXIT
									: PROGRAM_KERNEL_ENTRY),
		    .function = f->name,
		    .at_return = i == AT_EXIT,
		    .cookie = f->site};
}

/* Take over the probes of these places. Returns 0 or the error of the first one that failed. */
static int links_take(struct kernel_function *f, struct attach_place place[PLACES])
{
	const int err = place[AT_EXIT].err ? place[AT_EXIT].err : place[AT_ENTRY].err;

	f->exit = place[AT_EXIT].link;
	f->entry = place[AT_ENTRY].link;
	place[AT_EXIT].link = place[AT_ENTRY].link = (struct attachment){0};
	if (err)
		links_release(f);
	return err;
}

/* Set the fuse: after this many hits by any process no call begins any more, and the collector
 * is woken up. */
static void fuse_set(struct collector *c, struct kernel_function *f)
{
	uint64_t hits = f->host_ns > 0 ? (uint64_t)f->host_ns / price(c) : 0;
	struct pt_site *s = site_of(c, f);

	if (c->options->budget_ppm >= 1000000)
		hits = UINT64_MAX / 2;
	s->fuse = __atomic_load_n(&s->hits, __ATOMIC_RELAXED) + (hits < HITS_MIN ? HITS_MIN : hits);
}

/* The probes are attached next; no call begins until burst_open(). */
static void burst_prepare(struct collector *c, struct kernel_function *f)
{
	struct pt_site *s = site_of(c, f);

	s->closed = 1;
	s->blown = 0;
	fuse_set(c, f);
}

static void burst_open(struct collector *c, struct kernel_function *f)
{
	/* calls that the last burst left open are not followed any more */
	if (descend_is_of_kernel(c, f->op))
		kernel_side_control(c->kernel)->descend_burst++;
	f->state = FUNCTION_ON;
	f->state_since = now_ns();
	__atomic_store_n(&site_of(c, f)->closed, 0, __ATOMIC_SEQ_CST);
	descend_clocks(c);
}

/* Begin the first burst, and learn whether the function can be probed. */
static int burst_first(struct collector *c, struct kernel_function *f)
{
	struct attach_place place[PLACES];
	int err;

	if (!kernel_side_has_kprobes(c->kernel))
		return -EOPNOTSUPP;
	burst_prepare(c, f);
	places_of(c, f, place);
	for (int i = 0; i < PLACES; i++)
		attach_place(&place[i]);
	err = links_take(f, place);
	if (!err)
		burst_open(c, f);
	return err;
}

/* Begin a burst once a thread has attached the probes. */
static void burst_begin(struct collector *c, struct kernel_function *f)
{
	struct attach_place place[PLACES];

	burst_prepare(c, f);
	places_of(c, f, place);
	f->attaching = attach_batch_new(place, PLACES);
}

static void attaching_end(struct kernel_function *f)
{
	attach_batch_free(f->attaching);
	f->attaching = NULL;
}

/* Open the burst if its probes are attached. */
static void attaching_turn(struct collector *c, struct kernel_function *f)
{
	struct attach_place *place = attach_batch_done(f->attaching);
	int err;

	if (!place)
		return;
	err = links_take(f, place);
	attaching_end(f);
	f->state_since = now_ns();
	if (!err)
		burst_open(c, f);
}

static void burst_end(struct collector *c, struct kernel_function *f, uint64_t at)
{
	if (f->state != FUNCTION_ON)
		return;
	__atomic_store_n(&site_of(c, f)->closed, 1, __ATOMIC_SEQ_CST);
	attachment_release(&f->entry, false);
	f->armed_ns += at > f->state_since ? at - f->state_since : 0;
	f->state = FUNCTION_DRAINING;
	f->state_since = now_ns();
}

/* The governor or a blown fuse ends a burst. */
static void burst_stop(struct collector *c, struct kernel_function *f, uint64_t at)
{
	burst_end(c, f, at);
	if (!f->bursts)
		send_note(c, NOTE_INFO,
			  "kernel:%s is sampled in bursts to stay within --max-overhead %g; calls "
			  "longer than a burst may be missing",
			  f->name, c->options->budget_ppm / 1e4);
	f->bursts = true;
}

struct open_walk {
	struct collector *c;
	uint32_t slot;
	unsigned int open;
	bool drop;
};

static void open_one(void *ctx, uint32_t index, const struct pt_act *a)
{
	struct open_walk *w = ctx;

	if (a->key.slot != w->slot)
		return;
	w->open++;
	if (w->drop)
		kernel_side_activation_drop(w->c->kernel, index, a);
}

/* Number of open calls. With `drop`, forget them, because the thread's next call would be
 * taken for a recursion. */
static unsigned int calls_open(struct collector *c, const struct kernel_function *f, bool drop)
{
	struct open_walk w = {.c = c, .slot = f->slot, .drop = drop};

	kernel_side_activations(c->kernel, open_one, &w);
	return w.open;
}

static void detach(struct collector *c, struct kernel_function *f)
{
	burst_end(c, f, now_ns());
	attaching_end(f);
	links_release(f);
	calls_open(c, f, true);
	f->state = FUNCTION_OFF;
	f->state_since = now_ns();
	descend_clocks(c);
}

static void credit_add(int64_t *credit, int64_t ns)
{
	*credit += ns;
	if (*credit > CREDIT_MAX_NS)
		*credit = CREDIT_MAX_NS;
}

/* Update a function's credits with what it earned and what its hits cost since the last check. */
static void credits_turn(struct collector *c, struct kernel_function *f, uint64_t now)
{
	uint64_t hits = __atomic_load_n(&site_of(c, f)->hits, __ATOMIC_RELAXED),
		 wall = now - f->looked_ns;
	int64_t earned =
	    (int64_t)(wall * c->options->budget_ppm / 1000000 / SHARE / c->kernel_functions.nr);
	int64_t cost = (int64_t)((hits - f->hits) * price(c));

	f->hits = hits;
	f->looked_ns = now;
	credit_add(&f->host_ns, earned * (int64_t)kernel_side_control(c->kernel)->nr_cpus - cost);
	/*
	 * Hits of targets and of other processes are not counted separately per function; allow
	 * a target no more than the share of one CPU.
	 */
	credit_add(&f->target_ns, earned - cost / (int64_t)kernel_side_control(c->kernel)->nr_cpus);
}

/* True if the burst must end. A call of a descent costs more than others, and is useless while the
 * waits of its thread are not recorded. */
static bool is_over(struct collector *c, const struct kernel_function *f)
{
	if (descend_is_of_kernel(c, f->op) && (!units_are_on(c) || budget_left(c) < 0))
		return true;
	return f->host_ns < 0 || f->target_ns < 0;
}

static bool is_affordable(struct collector *c, const struct kernel_function *f, uint64_t now)
{
	if (f->host_ns <= 0 || f->target_ns <= 0)
		return false;
	if (!descend_is_of_kernel(c, f->op))
		return true;
	/* while probes of its callees are removed the kernel would hold up who attaches */
	return attach_is_settled() && budget_left(c) > budget_burst(c) && units_start(c, now);
}

static void govern_one(struct collector *c, struct kernel_function *f, uint64_t now)
{
	uint64_t age;

	credits_turn(c, f, now);
	age = now > f->state_since ? now - f->state_since : 0;
	switch (f->state) {
	case FUNCTION_ON:
		fuse_set(c, f);
		if (age >= BURST_MIN_MS * MS && is_over(c, f))
			burst_stop(c, f, now);
		break;
	case FUNCTION_DRAINING:
		if (age > DRAIN_MAX_MS * MS || !calls_open(c, f, false)) {
			detach(c, f);
			f->host_ns -= BUDGET_KERNEL_SWITCH_NS;
		}
		break;
	case FUNCTION_OFF:
		if (f->attaching)
			attaching_turn(c, f);
		else if (age > OFF_MIN_MS * MS && is_affordable(c, f, now))
			burst_begin(c, f);
		break;
	}
}

uint64_t kernel_functions_govern(struct collector *c, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < c->kernel_functions.nr; i++) {
		struct kernel_function *f = &c->kernel_functions.list[i];
		uint64_t when;

		/* without a budget there are no bursts, but the front may have slept */
		if (c->options->budget_ppm >= 1000000 && !f->attaching)
			continue;
		govern_one(c, f, now);
		when =
		    now +
		    (f->state == FUNCTION_DRAINING || f->attaching ? CHECK_FAST_MS : CHECK_MS) * MS;
		if (when < next)
			next = when;
	}
	return next;
}

bool kernel_function_blown(struct collector *c, uint32_t site, uint64_t at)
{
	for (unsigned int i = 0; i < c->kernel_functions.nr; i++) {
		struct kernel_function *f = &c->kernel_functions.list[i];

		if (f->site != site)
			continue;
		send_blown(c, f->op);
		/* every process that returns hits the return probe, so do not wait for open
		 * calls */
		burst_stop(c, f, at);
		detach(c, f);
		f->host_ns -= BUDGET_KERNEL_SWITCH_NS;
		return true;
	}
	return false;
}

bool kernel_function_period(struct collector *c, uint32_t slot, uint64_t now, bool last,
			    uint64_t *start, uint64_t *armed)
{
	for (unsigned int i = 0; i < c->kernel_functions.nr; i++) {
		struct kernel_function *f = &c->kernel_functions.list[i];

		if (f->slot != slot)
			continue;
		*armed =
		    f->armed_ns +
		    (f->state == FUNCTION_ON && now > f->state_since ? now - f->state_since : 0);
		*armed -= *armed > f->reported_armed_ns ? f->reported_armed_ns : *armed;
		*start = f->reported_ns > c->start_ns ? f->reported_ns : c->start_ns;
		/*
		 * The time measured is too short to represent the time since the last record:
		 * wait for the next slice.
		 */
		if (f->bursts && *armed < BURST_MIN_MS * MS && !last)
			return false;
		f->reported_armed_ns += *armed;
		f->reported_ns = now;
		return *armed > 0;
	}
	return true;
}

void kernel_functions_begin(struct collector *c, uint64_t now)
{
	for (unsigned int i = 0; i < c->kernel_functions.nr; i++) {
		struct kernel_function *f = &c->kernel_functions.list[i];

		f->reported_ns = now;
		f->armed_ns = f->reported_armed_ns = 0;
		if (f->state == FUNCTION_ON)
			f->state_since = now;
	}
}

void kernel_functions_sleep(struct collector *c)
{
	for (unsigned int i = 0; i < c->kernel_functions.nr; i++)
		detach(c, &c->kernel_functions.list[i]);
}

void kernel_functions_wake(struct collector *c)
{
	uint64_t now = now_ns();

	for (unsigned int i = 0; i < c->kernel_functions.nr; i++) {
		/* no credit is earned while the collector sleeps */
		c->kernel_functions.list[i].looked_ns = c->kernel_functions.list[i].reported_ns =
		    now;
		burst_begin(c, &c->kernel_functions.list[i]);
	}
}

static const char *function_of(const struct req_arm *arm)
{
	const char *colon = strchr(arm->op.name, ':');

	return colon ? colon + 1 : arm->op.name;
}

static int kernel_function_new(struct collector *c, const struct req_arm *arm,
			       struct kernel_function *f)
{
	const char *name = function_of(arm);
	uint32_t slot =
	    __atomic_fetch_add(&kernel_side_control(c->kernel)->next_slot, 1, __ATOMIC_SEQ_CST);
	int site = slot < PT_SLOTS ? site_index_take(c) : -ENOSPC, err;

	if (site < 0)
		return site;
	*f = (struct kernel_function){.op = arm->op.op,
				      .slot = slot,
				      .site = (uint32_t)site,
				      .name = strdup(name),
				      .host_ns = CREDIT_NS,
				      .target_ns = CREDIT_NS,
				      .looked_ns = now_ns(),
				      .reported_ns = now_ns()};
	site_of(c, f)->start_slot = slot;
	site_of(c, f)->class = SITE_EMULATED;
	err = f->name ? burst_first(c, f) : -ENOMEM;
	if (err) {
		site_index_drop(c, f->site);
		free(f->name);
	}
	return err;
}

void kernel_function_arm(struct collector *c, const struct req_arm *arm)
{
	struct record op = {.type = REC_OP};
	struct kernel_function *f;
	const char *reason;
	int err;

	reason = kernel_never_probed(function_of(arm));
	if (reason) {
		send_refused(c, arm->epoch, arm->op.op, -EPERM, "%s: it is never probed: %s",
			     arm->op.name, reason);
		return;
	}
	if (c->kernel_functions.nr == MAX_KERNEL_FUNCTIONS) {
		send_refused(c, arm->epoch, arm->op.op, -ENOSPC,
			     "%s: cannot watch more than %d kernel functions; remove one first",
			     arm->op.name, MAX_KERNEL_FUNCTIONS);
		return;
	}
	f = &c->kernel_functions.list[c->kernel_functions.nr];
	err = kernel_function_new(c, arm, f);
	if (err) {
		send_refused(c, arm->epoch, arm->op.op, err, "%s: %s", arm->op.name,
			     err == -EOPNOTSUPP ? "this kernel has no kprobes; watch system calls "
						  "and block requests instead"
			     : err == -ENOENT ? "no kernel function has this name, or it must not "
						"be probed; see /proc/kallsyms"
					      : strerror(-err));
		return;
	}
	c->kernel_functions.nr++;
	c->slots[f->slot] = (struct slot_info){.op = arm->op.op, .layer = LAYER_KERNEL};
	op.op = arm->op;
	op.op.placement = "kprobe and kretprobe";
	op.op.module_id = REC_KERNEL_MODULE;
	op.op.offset = c->options->waits ? kernel_symbol_named(c, f->name) : 0;
	send_record(c, &op);
	send_ack(c, arm->epoch);
}

const struct kernel_function *kernel_function_by_op(const struct collector *c, uint32_t op)
{
	const struct kernel_function_table *t = &c->kernel_functions;

	return find_first(i, t->list, t->nr, t->list[i].op == op);
}

static void kernel_function_release(struct collector *c, struct kernel_function *f)
{
	if (descend_is_of_kernel(c, f->op))
		descend_end(c);
	detach(c, f);
	site_index_drop(c, f->site);
	free(f->name);
}

bool kernel_function_disarm(struct collector *c, uint32_t op)
{
	for (unsigned int i = 0; i < c->kernel_functions.nr; i++) {
		if (c->kernel_functions.list[i].op != op)
			continue;
		kernel_function_release(c, &c->kernel_functions.list[i]);
		c->kernel_functions.list[i] = c->kernel_functions.list[--c->kernel_functions.nr];
		return true;
	}
	return false;
}

void kernel_functions_release(struct collector *c)
{
	while (c->kernel_functions.nr)
		kernel_function_release(c, &c->kernel_functions.list[--c->kernel_functions.nr]);
}
