// SPDX-License-Identifier: GPL-2.0-or-later
/* What a sleeping thread of a walk waits for, as of now. */

#include "collect/state.h"
#include "collect/targets.h"
#include "collect/thread_snapshots_state.h"

bool thread_describe(struct collector *c, struct snapshot_thread *t)
{
	struct rec_thread_snapshot *snapshot;
	struct wait_text *text;
	uint32_t i = 0;

	if (!t->wait)
		t->wait = malloc(sizeof(*t->wait));
	if (!t->wait)
		return false;
	snapshot = &t->wait->snapshot;
	text = &t->wait->text;
	*snapshot = (struct rec_thread_snapshot){.reason = SNAPSHOTS_FOR_WALK,
						 .kind = WITNESS_SLEEP,
						 .state = snapshots_letter(t->now.state)};
	snapshot_wait(c->kernel, &t->now, snapshot, text);
	/* the time of children that are targets is in the walk already */
	while (i < text->nr_children && target_by_pid(c, text->children[i]))
		i++;
	if (i && i == text->nr_children)
		snapshot->awaits = AWAITS_UNKNOWN;
	snapshot_pipe(c->kernel, &t->now, snapshot, text);
	snapshot_work(&t->now, snapshot, text);
	return t->described = true;
}
