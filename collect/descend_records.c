// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends the records of a descent to the front: its calls, sleeps and stack samples. */

#include "analysis/base/syscall_names.h"
#include "collect/budget.h"
#include "collect/descend.h"
#include "collect/descend_state.h"
#include "collect/host_waits.h"
#include "collect/kernel_names.h"
#include "collect/kernel_symbols.h"
#include "collect/kernel_work.h"
#include "collect/learn.h"
#include "collect/replaced.h"
#include "collect/sleeps.h"
#include "collect/state.h"
#include "collect/stream.h"

enum {
	STACK_LATE_NS = 1000000, /* more than from a context switch to the copy of the stack */
	KERNEL_LINE = 4096,
};

/* The sum of one fnode in this call; all zero if it was not called. */
static const struct pt_fnode_sum *sum_of(const struct pt_record_call *r, uint32_t i)
{
	static const struct pt_fnode_sum none;

	return r->sums[i].call == r->call ? &r->sums[i] : &none;
}

/* The part of the probes of an fnode that is in its time. */
static uint64_t inside_ns(const struct collector *c, const struct req_fnode *n)
{
	if (n->start.module != REC_KERNEL_MODULE)
		return c->cost.inside[n->start.class];
	return n->start.offset & REC_KERNEL_CALL ? c->cost.syscall_inside : c->cost.kernel_inside;
}

static uint32_t nodes_fill(const struct collector *c, const struct descent_arming *d,
			   const struct pt_record_call *r, struct rec_call_node *out)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct pt_fnode_sum *s = sum_of(r, i);
		uint64_t inside = inside_ns(c, &d->nodes[i]);

		if (!s->count)
			continue;
		out[nr++] = (struct rec_call_node){
		    .node = d->nodes[i].node,
		    .count = s->count,
		    .max_ns = less(s->max, inside),
		    .sum_ns = less(s->sum, s->count * inside),
		    .blocked_ns = s->blocked,
		    .runqueue_ns = s->runq,
		    .interrupt_ns = s->irq,
		    .fault_ns = s->faults * c->cost.minor_fault,
		};
	}
	return nr;
}

void call_fill(struct collector *c, const struct pt_record_call *r, struct rec_call *call,
	       struct call_strings *text)
{
	*call = (struct rec_call){
	    .epoch = r->epoch,
	    .pid = r->head.tgid,
	    .tid = r->head.tid,
	    .start_ns = less(r->head.at, c->start_ns),
	    .raw_ns = r->raw,
	    .latency_ns = r->latency,
	    .outcome = r->blurred ? CALL_BLURRED : CALL_RETURNED,
	    .known = CALL_KNOWN_FAULTS | CALL_KNOWN_NODE_FAULT | CALL_KNOWN_INTERRUPT |
		     CALL_KNOWN_NODE_INTERRUPT,
	    .interrupt_ns = r->irq_ns,
	    .interrupt = irq_number(r->irq_number),
	    .interrupt_name =
		r->irq_ns ? irq_name(r->irq_number, text->irq, sizeof(text->irq)) : "",
	    .minor_faults = r->delta.min_flt,
	    .major_faults = r->delta.maj_flt,
	    .preemptions = r->delta.nivcsw,
	    .preempted_by = "",
	    .handlers = r->handlers,
	    .handler_signal = r->handler_signal,
	};
	if (r->handlers)
		call->handler = code_at(c, call->pid, r->handler);
	if (r->known & SAMPLE_ONCPU) {
		call->known |= CALL_KNOWN_ONCPU | CALL_KNOWN_BLOCKED | CALL_KNOWN_RUNQUEUE |
			       CALL_KNOWN_NODE_RUNQUEUE;
		call->runqueue_ns = r->delta.runq_ns;
		call->blocked_ns = less(r->delta.off_ns, r->delta.runq_ns);
		call->oncpu_ns = less(call->latency_ns, r->delta.off_ns + r->irq_ns);
		call->preempted_ns = r->preempt_ns;
		host_waits_fill(&text->waits, &r->waits, r->delta.steal_ns);
		call->waits = text->waits.wait;
		call->nr_waits = text->waits.nr;
		call->preempted_by_pid = text->waits.preempted_by_pid;
		call->preempted_by = text->waits.preempted_by;
	}
}

void armed_call(struct collector *c, const struct pt_record_call *r, size_t size)
{
	struct descent_arming *d = c->descent;
	struct rec_call_node nodes[PT_FNODES];
	struct record rec = {.type = REC_CALL};
	struct rec_call *call = &rec.call;
	struct call_strings text;

	if (!d || r->epoch != d->epoch || r->head.slot != d->slot ||
	    size < offsetof(struct pt_record_call, sums) + d->nr_nodes * sizeof(r->sums[0]))
		return;
	call_fill(c, r, call, &text);
	call->op = d->op;
	call->nodes = nodes;
	call->nr_nodes = nodes_fill(c, d, r, nodes);
	if (r->blurred || (call->latency_ns >= d->low_ns && call->latency_ns < d->high_ns))
		send_record(c, &rec);
}

void stack_send(struct collector *c, const struct pt_record_stack *r, struct rec_stack *out)
{
	struct record rec = {.type = REC_STACK};
	struct rec_frame kernel[PT_KERNEL_FRAMES + 1];
	uint64_t words[PT_STACK / 8];
	char functions[KERNEL_LINE];
	bool whole = r->nr_kernel < PT_KERNEL_FRAMES;
	uint32_t nr = whole ? r->nr_kernel : PT_KERNEL_FRAMES,
		 programs = kernel_stack_programs(r->kernel, nr);

	memcpy(words, r->stack, r->bytes / 8 * 8);
	replaced_restore(&r->replaced, r->regs[PT_REG_SP], words, r->bytes / 8);
	out->pid = r->head.tgid;
	out->tid = r->head.tid;
	out->cfa = r->cfa;
	out->nr_regs = PT_REGS;
	out->regs = (const uint64_t *)r->regs;
	out->nr_words = r->bytes / 8;
	out->words = words;
	out->kernel = kernel;
	kernel_names_line(r->kernel + programs, whole ? nr - programs : 0, functions,
			  sizeof(functions));
	out->functions = functions;
	out->nr_kernel =
	    out->sleep.work == SLEEP_PARKED ? 0 : kernel_frames(c, r, programs, kernel);
	rec.stack = *out;
	send_record(c, &rec);
}

static void armed_stack_send(struct collector *c, const struct pt_record_stack *r,
			     struct rec_stack *out)
{
	const struct descent_arming *d = c->descent;

	out->op = d->op;
	out->epoch = d->epoch;
	out->node = r->fnode && r->fnode <= d->nr_nodes ? d->nodes[r->fnode - 1].node : 0;
	stack_send(c, r, out);
}

void armed_stack(struct collector *c, const struct pt_record_stack *r)
{
	struct descent_arming *d = c->descent;
	struct rec_stack out = {.kind = WITNESS_RUN, .sleep = SLEEP_NONE};
	struct pt_record_stack **keep;
	struct kernel_work work;

	if (!d || r->head.slot != d->slot || r->epoch != d->epoch || r->bytes > PT_STACK)
		return;
	if (!r->sleeps) {
		out.at_ns = less(r->head.at, c->start_ns);
		out.weight_ns = 1000000000 / SAMPLE_HZ;
		if (kernel_in_probe(r) || kernel_in_interrupt(r))
			return;
		kernel_work_of_sample(c, r, &work);
		kernel_work_send(&work, &out.sleep);
		armed_stack_send(c, r, &out);
		return;
	}
	/* keep the stack: the length of the sleep is known when the thread wakes up */
	keep = &d->asleep[r->head.tid % MAX_ASLEEP];
	if (!*keep)
		*keep = malloc(sizeof(**keep));
	if (*keep)
		memcpy(*keep, r, offsetof(struct pt_record_stack, stack) + r->bytes);
}

/* The stack with which this thread fell asleep; NULL if it was not copied. */
static const struct pt_record_stack *stack_of(const struct descent_arming *d,
					      const struct pt_record_sleep *r)
{
	const struct pt_record_stack *s = d->asleep[r->head.tid % MAX_ASLEEP];

	return s && s->head.tid == r->head.tid && s->head.at >= r->since &&
		       s->head.at <= r->since + STACK_LATE_NS
		   ? s
		   : NULL;
}

void sleep_fill(struct kernel_side *k, const struct pt_record_sleep *r, struct rec_sleep *s,
		struct sleep_strings *text)
{
	const char *call = r->syscall >= 0 && r->syscall < PT_SYSCALLS
			       ? syscall_name((unsigned int)r->syscall)
			       : NULL;

	memset(text, 0, sizeof(*text));
	if (sleep_of_goroutine(r, s))
		return;
	*s = (struct rec_sleep){.syscall = call ? (int32_t)r->syscall : -1,
				.call = call ? call : "",
				.holder = text->owner,
				.doing = "",
				.slept_ns = r->slept,
				.asked_ns = r->asked,
				.slack_ns = r->slack,
				.retransmits = r->retransmits};
	sleep_tried(r, s, text->about, sizeof(text->about), text->owner, sizeof(text->owner));
	sleep_object(k, r, s, text->name, sizeof(text->name));
	sleep_queue(k, r, s, text->owner, sizeof(text->owner));
	sleep_waking(r, s, text->waker, sizeof(text->waker));
	s->interrupt = text->irq;
	if (r->waker_irq)
		s->interrupt = irq_name(r->waker_irq - 1, text->irq, sizeof(text->irq));
	if (r->owner)
		target_thread_comm((pid_t)r->head.tgid, (pid_t)r->owner, text->owner,
				   sizeof(text->owner));
	sleep_doing(r, s, text->doing, sizeof(text->doing));
}

void armed_sleep(struct collector *c, const struct pt_record_sleep *r)
{
	struct descent_arming *d = c->descent;
	struct record rec = {.type = REC_WITNESS};
	struct rec_witness *w = &rec.witness;
	const struct pt_record_stack *stack;
	struct sleep_strings text;
	struct rec_stack out;
	struct kernel_work work;

	if (!d || r->head.slot != d->slot || r->fnode > d->nr_nodes)
		return;
	*w = (struct rec_witness){
	    .op = d->op,
	    .tid = r->head.tid,
	    .at_ns = less(r->head.at, c->start_ns),
	    .weight_ns = r->slept,
	    .kind = WITNESS_SLEEP,
	    .epoch = d->epoch,
	    .node = r->fnode ? d->nodes[r->fnode - 1].node : 0,
	};
	stack = stack_of(d, r);
	sleep_fill(c->kernel, r, &w->sleep, &text);
	kernel_work_of_sleep(c, r, stack, &work);
	kernel_work_send(&work, &w->sleep);
	/* the wait is caused by peaktop's probe, so it is no cause of the program's latency */
	if (stack && kernel_in_probe(stack)) {
		w->sleep.work = SLEEP_IN_PROBE;
		budget_slept(c, r->slept);
	}
	if (!stack) {
		send_record(c, &rec);
		return;
	}
	out = (struct rec_stack){
	    .at_ns = w->at_ns, .weight_ns = w->weight_ns, .kind = w->kind, .sleep = w->sleep};
	armed_stack_send(c, stack, &out);
}
