// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel functions as operations, by kprobes. They are few and asked for by name: no governor, but a limit. */
#include "collect/state.h"

#include <errno.h>
#include <string.h>

static void links_release(struct kernel_function *f)
{
	attachment_release(&f->entry, false);
	attachment_release(&f->exit, false);
}

/* Returns first, so that nothing begins that is not seen to end. */
static int links_attach(struct collector *c, struct kernel_function *f, const char *name, uint32_t slot)
{
	int err;

	if (!kernel_side_has_kprobes(c->kernel))
		return -EOPNOTSUPP;
	err = attach_kernel(&f->exit, kernel_side_kernel_program(c->kernel, true), name, true, slot);
	if (err)
		return err;
	err = attach_kernel(&f->entry, kernel_side_kernel_program(c->kernel, false), name, false, slot);
	if (err)
		links_release(f);
	return err;
}

void kernel_function_arm(struct collector *c, const struct req_arm *arm)
{
	struct pt_control *control = kernel_side_control(c->kernel);
	const char *colon = strchr(arm->op.name, ':'), *name = colon ? colon + 1 : arm->op.name;
	struct record op = {.type = REC_OP}, ack = {.type = REC_ACK};
	struct kernel_function *f;
	uint32_t slot;
	int err;

	if (c->nr_kernel_functions == MAX_KERNEL_FUNCTIONS) {
		send_refused(c, arm->epoch, arm->op.op, -ENOSPC, "%s: more than %d kernel functions are watched", arm->op.name,
			     MAX_KERNEL_FUNCTIONS);
		return;
	}
	slot = __atomic_fetch_add(&control->next_slot, 1, __ATOMIC_SEQ_CST);
	f = &c->kernel_functions[c->nr_kernel_functions];
	*f = (struct kernel_function){.op = arm->op.op};
	err = slot < PT_SLOTS ? links_attach(c, f, name, slot) : -ENOSPC;
	if (err) {
		send_refused(c, arm->epoch, arm->op.op, err, "%s: %s", arm->op.name,
			     err == -EOPNOTSUPP ? "this kernel has no kprobes; watch system calls and block requests instead" :
			     err == -ENOENT	? "no such kernel function, or one that may not be probed (see /proc/kallsyms)" :
						  strerror(-err));
		return;
	}
	c->nr_kernel_functions++;
	c->slots[slot] = (struct slot_info){.op = arm->op.op, .layer = LAYER_KERNEL};
	op.op = arm->op;
	op.op.placement = "kprobe and kretprobe";
	send_record(c, &op);
	ack.ack = (struct rec_ack){.epoch = arm->epoch, .at_ns = session_ns(c)};
	send_record(c, &ack);
}

bool kernel_function_disarm(struct collector *c, uint32_t op)
{
	for (unsigned int i = 0; i < c->nr_kernel_functions; i++) {
		if (c->kernel_functions[i].op != op)
			continue;
		links_release(&c->kernel_functions[i]);
		c->kernel_functions[i] = c->kernel_functions[--c->nr_kernel_functions];
		return true;
	}
	return false;
}

void kernel_functions_release(struct collector *c)
{
	while (c->nr_kernel_functions)
		links_release(&c->kernel_functions[--c->nr_kernel_functions]);
}
