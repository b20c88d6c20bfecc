// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/keep.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "analysis/base/array.h"
#include "collect/attach.h"
#include "collect/descend_state.h"
#include "collect/functions.h"
#include "collect/keep_open.h"
#include "collect/kernel_symbols.h"
#include "collect/kernel_work.h"
#include "collect/snapshot_ports.h"
#include "collect/stream.h"
#include "collect/units.h"

enum {
	PENDING = 64,	     /* sleeps whose calls have not been read yet */
	PENDING_STACKS = 64, /* the same of stacks */
	KEEP_HZ = 99,	     /* of the samples of running threads */
};

struct keeping {
	uint64_t least_ns; /* of operations whose limit is not known */
	struct pt_record_sleep pending[PENDING];
	struct known_ports ports;
	uint32_t next;
	struct pt_record_stack *stacks[PENDING_STACKS]; /* each is allocated at its size */
	uint32_t next_stack;
	const struct pt_record_stack *found; /* one of them, of the call that is being told */
	struct clocks clocks;
};

/* The slot of an operation that can be kept; 0: none. */
static uint32_t slot_of(struct collector *c, uint32_t op)
{
	const struct function *f = function_by_op(c, op);

	if (f)
		return f->slot;
	return op < PT_SLOTS && c->slots[op].op == op && c->slots[op].layer == LAYER_SYSCALL ? op
											     : 0;
}

void keep_request(struct collector *c, const struct req_keep *req)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	uint32_t slot = req->op ? slot_of(c, req->op) : 0;

	if (slot)
		__atomic_store_n(&control->keep_ns[slot], req->least_ns, __ATOMIC_SEQ_CST);
	if (req->op || c->keeping || c->keeping_paused)
		return;
	c->keeping_paused = calloc(1, sizeof(*c->keeping_paused));
	if (!c->keeping_paused)
		return;
	c->keeping_paused->least_ns = req->least_ns;
	if (req->only_calls)
		control->slot_runqueue = 0;
	if (!c->descent)
		keep_resume(c);
}

static void stacks_forget(struct keeping *k)
{
	for (uint32_t i = 0; i < PENDING_STACKS; i++) {
		free(k->stacks[i]);
		k->stacks[i] = NULL;
	}
}

void keep_clocks(struct collector *c, bool run)
{
	if (!c->keeping)
		return;
	clocks_release(&c->keeping->clocks);
	if (run)
		clocks_attach(&c->keeping->clocks, kernel_side_program(c->kernel, PROGRAM_SAMPLE),
			      kernel_side_control(c->kernel)->nr_cpus, KEEP_HZ);
	else
		keep_open_release(c);
}

void keep_pause(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	if (!c->keeping)
		return;
	keep_clocks(c, false);
	stacks_forget(c->keeping);
	__atomic_store_n(&control->descend_slot, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->keep, 0, __ATOMIC_SEQ_CST);
	/* calls that are open now are none of the descent that follows */
	control->descend_burst++;
	c->keeping_paused = c->keeping;
	c->keeping = NULL;
}

void keep_resume(struct collector *c)
{
	struct pt_control *control = kernel_side_control(c->kernel);

	if (!c->keeping_paused)
		return;
	c->keeping = c->keeping_paused;
	c->keeping_paused = NULL;
	memset(c->keeping->pending, 0, sizeof(c->keeping->pending));
	control->descend_burst++;
	control->descend_epoch = SLOW_CALL_EPOCH;
	control->descend_fnodes = 0;
	/* they take long, and a stack of the kernel without names says nothing */
	kernel_symbols_load(c);
	__atomic_store_n(&control->keep, c->keeping->least_ns, __ATOMIC_SEQ_CST);
	/* the programs of the scheduler look whether there is a descent */
	__atomic_store_n(&control->descend_slot, UINT32_MAX, __ATOMIC_SEQ_CST);
	units_layers(c);
	keep_clocks(c, true);
}

void keep_burst_begins(struct collector *c)
{
	if (!c->keeping)
		return;
	kernel_side_control(c->kernel)->descend_burst++;
	keep_open_again(c);
}

void keep_sleep(struct collector *c, const struct pt_record_sleep *r)
{
	c->keeping->pending[c->keeping->next++ % PENDING] = *r;
}

bool keep_has_sleep(const struct collector *c, uint32_t tid, uint64_t since, uint64_t *until)
{
	const struct keeping *k = c->keeping;
	const struct pt_record_sleep *found = find_first(
	    i, k->pending, PENDING, k->pending[i].head.tid == tid && k->pending[i].since == since);

	if (found)
		*until = found->head.at;
	return found;
}

/* Returns the copy; NULL: there is none. */
static const struct pt_record_stack *stack_keep(struct keeping *k, const struct pt_record_stack *r)
{
	struct pt_record_stack **to = &k->stacks[k->next_stack++ % PENDING_STACKS];
	size_t size = offsetof(struct pt_record_stack, stack) + r->bytes;

	if (r->epoch != SLOW_CALL_EPOCH || r->bytes > PT_STACK)
		return NULL;
	free(*to);
	*to = malloc(size);
	if (*to)
		memcpy(*to, r, size);
	return *to;
}

void keep_stack(struct collector *c, const struct pt_record_stack *r)
{
	stack_keep(c->keeping, r);
}

void keep_found_stack(struct collector *c, const struct pt_record_stack *r)
{
	c->keeping->found = stack_keep(c->keeping, r);
}

/* The stack with which the thread fell asleep; NULL: it was not copied. */
static const struct pt_record_stack *stack_of(const struct keeping *k,
					      const struct pt_record_sleep *r)
{
	struct pt_record_stack *const *found = find_first(
	    i, k->stacks, PENDING_STACKS,
	    k->stacks[i] && k->stacks[i]->sleeps && k->stacks[i]->head.tid == r->head.tid &&
		k->stacks[i]->head.at == r->head.at);

	return found ? *found : NULL;
}

/* Memory for what a REC_SLOW_CALL points to until it is sent. */
struct kept {
	struct rec_witness sleeps[PT_KEPT_SLEEPS];
	struct sleep_strings text[PT_KEPT_SLEEPS];
	struct kernel_work work[PT_KEPT_SLEEPS];
};

static int by_end(const void *a, const void *b)
{
	return ascending(((const struct rec_witness *)a)->at_ns,
			 ((const struct rec_witness *)b)->at_ns);
}

/*
 * True if the thread polls nothing but one connection, and is its client: it waits for an answer. A
 * server listens on the port of its end; a UDP socket that is connected is one of a client.
 */
static bool polls_as_client(struct collector *c, const struct pt_record_sleep *r)
{
	const struct pt_object *o = &r->object;
	struct pt_polled ports;

	if ((r->syscall != SYS_poll && r->syscall != SYS_ppoll) || r->args[1] != 1)
		return false;
	if (o->family == AF_UNIX)
		return o->end == PT_END_CLIENT;
	if ((o->family != AF_INET && o->family != AF_INET6) || !o->port)
		return false;
	if (o->protocol == IPPROTO_UDP)
		return true;
	return o->protocol == IPPROTO_TCP &&
	       ports_find(&c->keeping->ports, r->head.tgid, now_ns(), &ports) &&
	       ports.nr_ports < PT_PORTS &&
	       !any_of(i, ports.nr_ports, ports.port[i] == o->own_port);
}

/* Take the sleeps of a call out of those that were read; returns their number. */
static uint32_t sleeps_take(struct collector *c, const struct pt_record_call *call, uint32_t op,
			    struct kept *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PENDING && n < PT_KEPT_SLEEPS; i++) {
		struct pt_record_sleep *r = &c->keeping->pending[i];
		struct rec_witness *w = &k->sleeps[n];

		if (r->head.tid != call->head.tid || r->since < call->head.at ||
		    r->head.at > call->head.at + call->raw)
			continue;
		*w = (struct rec_witness){.op = op,
					  .tid = r->head.tid,
					  .at_ns = less(r->head.at, c->start_ns),
					  .weight_ns = r->slept,
					  .kind = WITNESS_SLEEP,
					  .functions = ""};
		sleep_fill(c->kernel, r, &w->sleep, &k->text[n]);
		if (polls_as_client(c, r))
			w->sleep.flags |= SLEEP_AS_CLIENT;
		kernel_work_of_sleep(c, r, stack_of(c->keeping, r), &k->work[n]);
		kernel_work_send(&k->work[n], &w->sleep);
		r->head.tid = 0;
		n++;
	}
	qsort(k->sleeps, n, sizeof(k->sleeps[0]), by_end);
	return n;
}

/* Say what the thread did when the stack was taken. `sleeps` of the call describe a sleep. False:
 * not known, or not time of the call. */
static bool stack_describe(struct collector *c, const struct pt_record_stack *r,
			   const struct rec_slow_call *slow, struct rec_stack *out,
			   struct kernel_work *work)
{
	if (r->sleeps) {
		const struct rec_witness *w = find_first(i, slow->sleeps, slow->nr_sleeps,
							 slow->sleeps[i].at_ns == out->at_ns);

		if (!w)
			return false;
		out->kind = WITNESS_SLEEP;
		out->weight_ns = w->weight_ns;
		out->sleep = w->sleep;
		return true;
	}
	if (kernel_in_probe(r) || kernel_in_interrupt(r))
		return false;
	out->weight_ns = 1000000000 / KEEP_HZ;
	kernel_work_of_sample(c, r, work);
	kernel_work_send(work, &out->sleep);
	return true;
}

/* Send one stack of a call. */
static void stack_tell(struct collector *c, const struct pt_record_stack *r,
		       const struct rec_slow_call *slow)
{
	struct rec_stack out = {.op = slow->call.op,
				.epoch = SLOW_CALL_EPOCH,
				.at_ns = less(r->head.at, c->start_ns),
				.kind = WITNESS_RUN,
				.found_start_ns = r == c->keeping->found ? slow->call.start_ns : 0,
				.sleep = SLEEP_NONE};
	struct kernel_work work;

	if (stack_describe(c, r, slow, &out, &work) || out.found_start_ns)
		stack_send(c, r, &out);
}

static bool is_of(const struct pt_record_stack *s, const struct pt_record_call *call)
{
	return s && s->head.tid == call->head.tid && s->head.at >= call->head.at &&
	       s->head.at <= call->head.at + call->raw;
}

/* Say in `slow` whether there are stacks of its sleeps and samples. */
static void stacks_look(const struct keeping *k, const struct pt_record_call *call,
			struct rec_slow_call *slow)
{
	slow->missing = SLOW_NO_SAMPLES | SLOW_NO_STACKS;
	for (uint32_t i = 0; i < PENDING_STACKS; i++) {
		if (is_of(k->stacks[i], call))
			slow->missing &= ~(k->stacks[i]->sleeps ? SLOW_NO_STACKS : SLOW_NO_SAMPLES);
	}
	if (slow->nr_sleeps < slow->blocked)
		slow->missing |= SLOW_SLEEPS;
}

/* Send the stacks of a call that was sent, and forget them. The front keeps the others only if that
 * with which the call was found has told that it was open. */
static void stacks_tell(struct collector *c, const struct pt_record_call *call,
			const struct rec_slow_call *slow)
{
	if (c->keeping->found)
		stack_tell(c, c->keeping->found, slow);
	for (uint32_t i = 0; i < PENDING_STACKS; i++) {
		struct pt_record_stack **s = &c->keeping->stacks[i];

		if (!is_of(*s, call))
			continue;
		if (*s != c->keeping->found)
			stack_tell(c, *s, slow);
		free(*s);
		*s = NULL;
	}
}

void keep_call(struct collector *c, const struct pt_record_call *r)
{
	const struct pt_control *control = kernel_side_control(c->kernel);
	struct record rec = {.type = REC_SLOW_CALL};
	struct rec_slow_call *slow = &rec.slow_call;
	struct call_strings text;
	struct kept kept;

	if (r->head.slot >= PT_SLOTS || r->epoch != SLOW_CALL_EPOCH)
		return;
	c->keeping->found = NULL;
	keep_open_tell(c, r);
	/* the first call of a system call may be a slow one */
	slots_announce(c);
	if (!c->slots[r->head.slot].op)
		return;
	call_fill(c, r, &slow->call, &text);
	slow->call.op = c->slots[r->head.slot].op;
	slow->limit_ns = control->keep_ns[r->head.slot] ?: control->keep;
	if (!c->options->no_values) {
		slow->known = r->arg_mask * SAMPLE_ARG0;
		memcpy(slow->args, r->args, sizeof(slow->args));
	}
	slow->blocked = r->blocked;
	slow->nr_sleeps = sleeps_take(c, r, slow->call.op, &kept);
	slow->sleeps = kept.sleeps;
	stacks_look(c->keeping, r, slow);
	slow->missing |= keep_open_looks(c, r->head.slot) ? SLOW_LOOKED : 0;
	slow->missing |= r->late ? SLOW_BEGIN | SLOW_UNCHECKED : 0;
	send_record(c, &rec);
	stacks_tell(c, r, slow);
}

void keep_release(struct collector *c)
{
	if (c->keeping) {
		clocks_release(&c->keeping->clocks);
		stacks_forget(c->keeping);
	}
	free(c->keeping);
	free(c->keeping_paused);
	c->keeping = c->keeping_paused = NULL;
}
