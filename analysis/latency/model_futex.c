// SPDX-License-Identifier: GPL-2.0-or-later
/* What the system call futex waits for: its number alone does not tell a lock from an idle wait. */

#include "analysis/base/futex.h"
#include "analysis/latency/model_impl.h"

enum { OPERATION = 1, VALUE = 2 }; /* arguments of futex */

static bool waits_for_lock(uint32_t known, const uint64_t *args)
{
	uint32_t value = known & (uint32_t)SAMPLE_ARG0 << VALUE ? (uint32_t)args[VALUE] : 0;

	return (known & (uint32_t)SAMPLE_ARG0 << OPERATION) &&
	       futex_is_lock(args[OPERATION], value);
}

double model_lock_share(const struct op_state *op)
{
	struct weighted_calls calls;
	double all = 0, lock = 0;

	if (op->pub.layer != LAYER_SYSCALL || strcmp(op->pub.name, "syscall:futex"))
		return -1;
	samples_list(&op->samples, &op->pub.total, &calls);
	for (unsigned int i = 0; i < calls.nr; i++) {
		double ns = calls.weight[i] * (double)calls.call[i]->latency_ns;

		all += ns;
		lock += waits_for_lock(calls.call[i]->known, calls.call[i]->args) ? ns : 0;
	}
	weighted_calls_release(&calls);
	for (unsigned int i = 0; op->open && i < op->open->nr; i++) {
		const struct open_call *c = &op->open->call[i];

		all += (double)c->age_ns;
		lock += waits_for_lock(c->known, c->args) ? (double)c->age_ns : 0;
	}
	return all > 0 ? lock / all : -1;
}
