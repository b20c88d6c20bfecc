// SPDX-License-Identifier: GPL-2.0-or-later
/* What the system call futex waits for: its number alone does not tell a lock from an idle wait. */
#include <stdlib.h>
#include <string.h>

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
	unsigned int n = op->samples.nr;
	const struct call_sample **call;
	double *weight, all = 0, lock = 0;

	if (op->pub.layer != LAYER_SYSCALL || strcmp(op->pub.name, "syscall:futex"))
		return -1;
	call = malloc((n + 1) * sizeof(struct call_sample *));
	weight = malloc((n + 1) * sizeof(*weight));
	if (call && weight) {
		samples_list(&op->samples, &op->pub.total, call, weight);
		for (unsigned int i = 0; i < n; i++) {
			double ns = weight[i] * (double)call[i]->latency_ns;

			all += ns;
			lock += waits_for_lock(call[i]->known, call[i]->args) ? ns : 0;
		}
	}
	free(weight);
	free(call);
	for (unsigned int i = 0; op->open && i < op->open->nr; i++) {
		const struct open_call *c = &op->open->call[i];

		all += (double)c->age_ns;
		lock += waits_for_lock(c->known, c->args) ? (double)c->age_ns : 0;
	}
	return all > 0 ? lock / all : -1;
}
