// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/cli/restarts.h"

#include "analysis/base/array.h"
#include "tui/cli/target.h"
#include "tui/cli/verbs.h"

#define LOOK_NS 1000000000ull

bool restarts_follow(const struct options *asked)
{
	return asked->name || asked->unit || asked->cgroup || asked->container || asked->bare;
}

static bool is_measured(const struct model *m, pid_t pid)
{
	return any_of(i, model_nr_targets(m),
		      model_target(m, i)->pid == (uint32_t)pid && !model_target_ended(m, i));
}

/* Measure the processes that the target means now. */
static void look(const struct restarts *r, struct front *f)
{
	struct options *o = malloc(sizeof(*o));
	char error[512];

	if (!o)
		return;
	*o = *r->asked;
	if (!target_resolve(o, false, error, sizeof(error))) {
		for (size_t i = 0; i < o->nr_pids; i++) {
			if (!is_measured(front_model(f), o->pids[i]))
				front_pick(f, (uint32_t)o->pids[i]);
		}
	}
	free(o);
}

static void tell_deaths(struct restarts *r, const struct model *m)
{
	SCOPED_BUF(line, 4096);

	while (verb_death(m, &r->told, &line))
		verb_complain(line.data);
}

void restarts_turn(struct restarts *r, struct front *f, uint64_t now_ns)
{
	const struct model *m = front_model(f);
	bool gone =
	    model_nr_targets(m) && !any_of(i, model_nr_targets(m), !model_target_ended(m, i));

	if (gone != r->waiting && restarts_follow(r->asked))
		verb_complain(gone
				  ? "record: no process of the target runs any more; waiting until "
				    "it is started again"
				  : "record: the target runs again and is measured");
	if (gone != r->waiting)
		tell_deaths(r, m);
	r->waiting = gone;
	if (!gone || now_ns < r->next_ns || !restarts_follow(r->asked))
		return;
	r->next_ns = now_ns + LOOK_NS;
	look(r, f);
}
