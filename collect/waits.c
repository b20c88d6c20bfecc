// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/waits.h"

#include "collect/kernel_symbols.h"
#include "collect/kernel_waits.h"
#include "collect/state.h"
#include "collect/steal.h"
#include "collect/stream.h"

#define MS 1000000ull
#define SECOND_NS 1000000000ull

enum {
	WINDOW_MAX_S = 60,
	TURN_MS = 50, /* longest time between two turns */
	HOPS_MAX = 16,
	HOPS = 8,
	STACKS = 8,   /* user stacks per refill */
	SAMPLES = 12, /* ... of running tasks */
	SAMPLE_HZ = 199,
	REFILL_MS = 50,
	CREDIT_START_NS = 500000000, /* the budget of this time is the credit at the beginning */
};

/* Cost of the tracing so far, ns. */
static uint64_t cost_by(const struct collector *c, const uint64_t *n)
{
	return n[PT_WAITS_NS] + n[PT_HIT_WAITS] * c->cost.sched / 2;
}

static uint64_t cost_of(struct collector *c)
{
	uint64_t n[PT_COUNTERS];

	kernel_side_counters(c->kernel, n);
	return cost_by(c, n);
}

static void window_send(struct collector *c, enum window_edge edge, uint32_t cpu, uint32_t sequence)
{
	struct record rec = {.type = REC_WINDOW};

	rec.window = (struct rec_window){
	    .at_ns = session_ns(c), .edge = edge, .cpu = cpu, .sequence = sequence};
	send_record(c, &rec);
}

static void allow_stacks(struct collector *c)
{
	struct pt_waits_control *control = &kernel_side_control(c->kernel)->waits;

	__atomic_store_n(&control->stacks_left, STACKS, __ATOMIC_RELAXED);
	__atomic_store_n(&control->samples_left, SAMPLES, __ATOMIC_RELAXED);
}

/* What the host took from each CPU in this window. These records have no sequence number, because
 * the BPF programs did not send them. */
static void send_steal(struct collector *c, uint32_t cpus)
{
	const uint64_t *before = c->waits->steal_ns;
	uint64_t ns[PT_CPUS];

	steal_of_cpus(ns, cpus);
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct record rec = {.type = REC_STEAL};

		if (ns[cpu] <= before[cpu])
			continue;
		rec.steal = (struct rec_steal){
		    .at_ns = session_ns(c), .ns = ns[cpu] - before[cpu], .cpu = cpu};
		send_record(c, &rec);
	}
}

static void window_open(struct collector *c, uint64_t now)
{
	struct waits_tracing *w = c->waits;
	struct pt_control *control = kernel_side_control(c->kernel);
	int err;

	memset(w->given, 0, sizeof(w->given));
	memset(w->lost, 0, sizeof(w->lost));
	w->cost_ns = cost_of(c);
	w->opened_ns = now;
	w->open = true;
	steal_of_cpus(w->steal_ns, PT_CPUS);
	kernel_waits_forget_tasks(c->kernel);
	control->waits.hops = w->request.hops ? w->request.hops : HOPS;
	control->waits.check = target_rights_matter();
	/* with the time of suspends, as task_struct.start_boottime */
	control->waits.opened = clock_ns(CLOCK_BOOTTIME);
	allow_stacks(c);
	window_send(c, WINDOW_BEGIN, WAITS_NO_CPU, 0);
	kernel_waits_window(c->kernel, ++w->window);
	err = kernel_waits_follow(c->kernel,
				  c->targets.nr == 1 ? (uint32_t)c->targets.list[0]->pid : 0);
	if (err)
		send_note(c, NOTE_WARNING,
			  "cannot list the threads of the targets: %s; waits are "
			  "seen only of threads that run",
			  strerror(-err));
	/* a CPU without a timer is not an error: the runs there have the stacks of the sleeps after
	 * them */
	clocks_attach(&w->clocks, kernel_side_program(c->kernel, PROGRAM_RUN_SAMPLE),
		      kernel_side_control(c->kernel)->nr_cpus, SAMPLE_HZ);
}

static void window_close(struct collector *c, uint64_t now)
{
	struct waits_tracing *w = c->waits;
	struct pt_control *control = kernel_side_control(c->kernel);
	uint32_t lost[PT_CPUS];
	uint64_t lasted = now - w->opened_ns, cost;

	clocks_release(&w->clocks);
	kernel_waits_window(c->kernel, 0);
	waits_drain(c);
	w->open = false;
	if (w->tries)
		units_layers(c);
	w->tries = false;
	kernel_waits_lost(c->kernel, w->window, lost);
	send_steal(c, control->nr_cpus < PT_CPUS ? control->nr_cpus : PT_CPUS);
	for (uint32_t cpu = 0; cpu < control->nr_cpus && cpu < PT_CPUS; cpu++)
		window_send(c, WINDOW_CPU, cpu, w->given[cpu] + lost[cpu]);
	window_send(c, WINDOW_END, WAITS_NO_CPU, 0);
	cost = cost_of(c) - w->cost_ns;
	if (lasted)
		w->estimate =
		    (int64_t)((double)cost * (double)w->request.window_ns / (double)lasted);
	if (control->waits.lost && !w->full) {
		w->full = true;
		send_note(c, NOTE_WARNING,
			  "waits: no room for some tasks or stacks; their names or stacks are "
			  "missing in chains");
	}
}

void waits_end(struct collector *c)
{
	if (!c->waits)
		return;
	if (c->waits->open)
		window_close(c, now_ns());
	free(c->waits);
	c->waits = NULL;
}

void waits_pause(struct collector *c)
{
	if (c->waits && c->waits->open)
		window_close(c, now_ns());
}

static bool request_is_valid(const struct req_waits *req)
{
	return req->stop <= 1 && req->hops <= HOPS_MAX &&
	       (!req->window_ns ||
		(req->window_ns >= SECOND_NS && req->window_ns <= WINDOW_MAX_S * SECOND_NS));
}

void waits_request(struct collector *c, const struct req_waits *req)
{
	uint32_t window = c->waits ? c->waits->window : 0;

	if (!request_is_valid(req)) {
		send_refused(c, req->epoch, 0, -EINVAL,
			     "waits cannot be traced in windows of %.3f s through %u tasks; a "
			     "window has 1 to %d s, and a chain at most %d tasks",
			     (double)req->window_ns / 1e9, req->hops, WINDOW_MAX_S, HOPS_MAX);
		return;
	}
	if (!req->stop && !kernel_waits_available(c->kernel)) {
		send_refused(c, req->epoch, 0, -EOPNOTSUPP,
			     "this kernel refuses the BPF programs that trace waits; peaktop "
			     "doctor with PEAKTOP_LIBBPF_DEBUG=1 shows why");
		return;
	}
	waits_end(c);
	if (!req->stop) {
		c->waits = calloc(1, sizeof(*c->waits));
		if (!c->waits || kernel_waits_open(c->kernel)) {
			free(c->waits);
			c->waits = NULL;
			send_refused(c, req->epoch, 0, -ENOMEM, "%s", strerror(ENOMEM));
			return;
		}
		c->waits->request = *req;
		if (!req->window_ns)
			c->waits->request.window_ns = SECOND_NS;
		c->waits->window = window;
		/* else the first stack waits for it, and a short command is over meanwhile */
		kernel_names_look(c);
		kernel_side_control(c->kernel)->waits.lost = 0;
		memset(kernel_side_control(c->kernel)->waits.submitter, 0,
		       sizeof(kernel_side_control(c->kernel)->waits.submitter));
		kernel_waits_forget_sent(c->kernel);
	}
	send_ack(c, req->epoch);
	if (c->waits)
		waits_names(c);
}

/* True if layers or functions use the budget as well. A descent from the command line is over when
 * waits are traced. */
static bool shares_budget(const struct collector *c)
{
	return !c->options->descends && budget_parts(c) > 1;
}

bool waits_have_part(const struct collector *c)
{
	return c->waits || c->budget.waits_ns < 0;
}

void waits_credit(struct collector *c, const uint64_t *n, int64_t earned)
{
	int64_t most = budget_of(c, CREDIT_START_NS);
	struct budget *b = &c->budget;
	uint64_t cost = cost_by(c, n);

	b->waits_ns += (waits_have_part(c) ? earned : 0) - (int64_t)(cost - b->waits_spent_ns);
	b->waits_spent_ns = cost;
	if (b->waits_ns > most)
		b->waits_ns = most;
}

/* What may be spent on windows now, ns. */
static int64_t credit_left(const struct collector *c)
{
	return shares_budget(c) ? c->budget.waits_ns : budget_left(c);
}

/* Is there budget for a window? More than a second's budget is never saved up, so a window that
 * costs more begins as soon as that is there; the pause after it is then longer. */
static bool window_is_paid(struct collector *c)
{
	int64_t most = budget_of(c, SECOND_NS) / 2;
	int64_t price = c->waits->estimate < most ? c->waits->estimate : most;

	return budget_is_unlimited(c) || credit_left(c) >= price;
}

/*
 * True if the open window has to end. A window that is too expensive for the budget still lasts as
 * long as requested, and a longer pause makes up for it. A descent ends too soon for that: its
 * window ends before it costs more than is left, as far as the cost until the next turn is known
 * from the cost so far.
 */
static bool window_is_over(struct collector *c, uint64_t now)
{
	const struct waits_tracing *w = c->waits;
	uint64_t lasted = now - w->opened_ns;
	double next_turn = 0;

	if (budget_is_unlimited(c))
		return false;
	if (!c->options->descends)
		return lasted >= w->request.window_ns && credit_left(c) < 0;
	if (lasted)
		next_turn = (double)(cost_of(c) - w->cost_ns) / (double)lasted * TURN_MS * MS;
	return (double)credit_left(c) < next_turn;
}

bool waits_want_tries(const struct collector *c)
{
	return c->waits && c->waits->open &&
	       kernel_side_control(c->kernel)->waits.tries == c->waits->window &&
	       c->units[UNIT_SYSCALLS].host_ns >= 0;
}

void waits_turn(struct collector *c, uint64_t now)
{
	struct waits_tracing *w = c->waits;

	/* before the first slice, the command has not started yet */
	if (!w || c->loop.asleep || !c->slice.start)
		return;
	if (w->open && now - w->refill_ns >= REFILL_MS * MS) {
		w->refill_ns = now;
		allow_stacks(c);
	}
	if (!w->tries && waits_want_tries(c)) {
		w->tries = true;
		units_layers(c);
	}
	if (!w->open && window_is_paid(c))
		window_open(c, now);
	else if (w->open && window_is_over(c, now))
		window_close(c, now);
}

void waits_drain(struct collector *c)
{
	if (c->waits)
		kernel_waits_drain(c->kernel, waits_record, c);
}
