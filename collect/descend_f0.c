// SPDX-License-Identifier: GPL-2.0-or-later
/* What f0 of a descent is: a function of the program, a system call, or a function of the kernel.
 */
#include "collect/descend.h"
#include "collect/descend_state.h"
#include "collect/kernel_functions.h"
#include "collect/units.h"

struct function *descend_f0(const struct collector *c)
{
	return c->descent ? c->descent->function : NULL;
}

bool descend_wants_tries(const struct collector *c)
{
	/* the program runs in the system calls of all processes */
	return c->descent && c->descent->slot == kernel_side_control(c->kernel)->tries &&
	       c->units[UNIT_SYSCALLS].host_ns >= 0;
}

uint32_t descend_epoch(const struct collector *c)
{
	return c->descent ? c->descent->epoch : 0;
}

uint32_t descend_call_of(const struct collector *c, uint32_t op)
{
	const struct pt_control *control = kernel_side_control(c->kernel);

	if (op >= PT_SLOTS || !op || c->slots[op].op != op || c->slots[op].layer != LAYER_SYSCALL)
		return 0;
	for (uint32_t nr = 0; nr < PT_SYSCALLS; nr++) {
		if (control->sys_slot[nr] == op)
			return nr + 1;
	}
	return 0;
}

bool descend_needs_syscalls(const struct collector *c)
{
	return c->descent && (c->descent->is_syscall || c->descent->has_calls);
}

bool descend_goes_into_kernel(const struct collector *c)
{
	return c->descent && c->cost.kernel;
}

bool descend_is_of_kernel(const struct collector *c, uint32_t op)
{
	return c->descent && !c->descent->function && c->descent->op == op;
}

bool descend_has_bursts(const struct collector *c, enum function_state *state)
{
	const struct descent_arming *d = c->descent;
	const struct kernel_function *k = d ? kernel_function_by_op(c, d->op) : NULL;

	if (!d || d->is_syscall)
		return false;
	if (state)
		*state = d->function ? d->function->state : k ? k->state : FUNCTION_OFF;
	return true;
}

uint32_t descend_slot_in_kernel(const struct collector *c, uint32_t op)
{
	const struct kernel_function *k = kernel_function_by_op(c, op);

	return k ? k->slot : descend_call_of(c, op) ? op : 0;
}
