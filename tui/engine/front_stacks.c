// SPDX-License-Identifier: GPL-2.0-or-later
/* Send raw stack samples to the parser and pass the frames of its answers to the descent. The raw
 * bytes are never stored: they may hold secrets. */

#include "analysis/parser/frames.h"
#include "analysis/session/sleep_texts.h"
#include "tui/engine/front_state.h"

enum { STACK_KERNEL = 40, FUNCTIONS_LINE = 2048 };

/* A stack sample that the parser is unwinding. */
struct pending_stack {
	bool used;
	struct rec_stack stack; /* its registers and words are not kept */
	struct sleep_texts texts;
	char functions[FUNCTIONS_LINE];
	struct rec_frame kernel[STACK_KERNEL];
};

struct front_stacks {
	struct pending_stack pending[FRONT_MAX_STACKS];
	uint32_t pid; /* the process whose mappings the parser has */
	uint64_t mappings_version;
};

bool stacks_mappings(struct front *f, uint32_t pid)
{
	struct front_stacks *s;
	struct parse_mapping *list;
	struct parse_request req = {.pid = pid, .text = ""};
	bool sent;

	if (!f->stacks)
		f->stacks = calloc(1, sizeof(*f->stacks));
	s = f->stacks;
	if (!s)
		return false;
	if (s->pid == pid && s->mappings_version == f->files.mappings_version)
		return true;
	list = calloc(f->files.nr_mappings ? f->files.nr_mappings : 1, sizeof(*list));
	if (!list)
		return false;
	for (size_t i = 0; i < f->files.nr_mappings && req.nr_mappings < PARSE_MAX_MAPPINGS; i++) {
		const struct front_mapping *m = &f->files.mappings[i];

		if (m->pid == pid)
			list[req.nr_mappings++] = (struct parse_mapping){.module = m->module,
									 .start = m->start,
									 .end = m->end,
									 .offset = m->offset};
	}
	req.mappings = list;
	sent = front_ask(f, PARSE_MAPPINGS, &req, NULL);
	free(list);
	s->pid = pid;
	s->mappings_version = f->files.mappings_version;
	return sent;
}

void stacks_mappings_forget(struct front *f)
{
	if (f->stacks)
		f->stacks->mappings_version = 0;
}

static bool is_of_slow_call(const struct rec_stack *stack)
{
	return stack->epoch == SLOW_CALL_EPOCH;
}

/* Pass on a stack of which `nr` frames are known. */
static void pass_on(struct front *f, const struct rec_stack *stack, const struct rec_frame *frames,
		    uint32_t nr)
{
	if (is_of_slow_call(stack))
		ring_stack(f, stack, frames, nr);
	else
		driver_stack(f->stream.driver, stack, frames, nr);
}

/* Called when the parser has unwound the stack in slot `slot`. */
static void unwound(void *ctx, uint64_t slot, const struct parsed *a)
{
	struct rec_frame frames[DESCENT_MAX_WITNESS_FRAMES];
	struct front *f = ctx;
	struct pending_stack *p = &f->stacks->pending[slot];
	uint32_t n = 0;

	if (a->frames.error)
		stacks_mappings_forget(f);
	else if (is_of_slow_call(&p->stack) ? ring_is_syscall(f, p->stack.op)
					    : driver_is_in_kernel(f->stream.driver))
		/* f0 is in the kernel: all frames of the program are its callers */
		n = frames_callers(&a->frames, frames, DESCENT_MAX_WITNESS_FRAMES);
	else if (!p->stack.cfa)
		/* a sample of a thread that may be in f0 or not */
		n = frames_from_function(&a->frames, driver_asked(f->stream.driver)->function,
					 frames, DESCENT_MAX_WITNESS_FRAMES);
	else
		n = frames_from_cfa(&a->frames, p->stack.cfa, frames, DESCENT_MAX_WITNESS_FRAMES);
	pass_on(f, &p->stack, frames, n);
	p->used = false;
}

void stacks_take(struct front *f, const struct rec_stack *stack)
{
	struct parse_request req = {.pid = stack->pid,
				    .text = "",
				    .nr_regs = stack->nr_regs,
				    .regs = stack->regs,
				    .nr_words = stack->nr_words,
				    .words = stack->words};
	struct parser_reply reply = {unwound, f, 0};
	struct front_stacks *s = f->stacks;
	struct pending_stack *p;

	if (is_of_slow_call(stack) && !ring_wants_stack(f, stack))
		return;
	modules_want(f);
	if (!s)
		s = f->stacks = calloc(1, sizeof(*f->stacks));
	while (s && reply.tag < FRONT_MAX_STACKS && s->pending[reply.tag].used)
		reply.tag++;
	if (!s || reply.tag == FRONT_MAX_STACKS || !stacks_mappings(f, stack->pid) ||
	    !front_ask(f, PARSE_UNWIND, &req, &reply)) {
		pass_on(f, stack, NULL, 0);
		return;
	}
	p = &s->pending[reply.tag];
	*p = (struct pending_stack){.used = true, .stack = *stack};
	p->stack.nr_regs = p->stack.nr_words = 0;
	if (p->stack.nr_kernel > STACK_KERNEL)
		p->stack.nr_kernel = STACK_KERNEL;
	if (p->stack.nr_kernel)
		memcpy(p->kernel, stack->kernel, p->stack.nr_kernel * sizeof(p->kernel[0]));
	p->stack.kernel = p->kernel;
	sleep_texts_keep(&p->texts, &p->stack.sleep);
	snprintf(p->functions, sizeof(p->functions), "%s",
		 stack->functions ? stack->functions : "");
	p->stack.functions = p->functions;
}
