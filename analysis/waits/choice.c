// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads of the targets that chains, accounting and the critical path are limited to. */

#include "analysis/waits/waits_impl.h"

int waits_choose(struct waits *w, const struct rec_chosen *chosen, uint32_t nr)
{
	struct rec_chosen *copy = nr ? malloc(nr * sizeof(*copy)) : NULL;

	if (nr && !copy)
		return -ENOMEM;
	if (nr)
		memcpy(copy, chosen, nr * sizeof(*copy));
	free(w->chosen);
	w->chosen = copy;
	w->nr_chosen = nr;
	return 0;
}

bool is_chosen_target(const struct waits *w, const struct wait_task *t)
{
	if (!(t->flags & TASK_TARGET))
		return false;
	for (uint32_t i = 0; i < w->nr_chosen; i++) {
		if (w->chosen[i].id == (w->chosen[i].is_process ? t->pid : t->tid))
			return true;
	}
	return !w->nr_chosen;
}
