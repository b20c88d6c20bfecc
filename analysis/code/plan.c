// SPDX-License-Identifier: GPL-2.0-or-later

#include "analysis/base/array.h"
#include "analysis/base/format.h"
#include "analysis/code/callers.h"
#include "analysis/code/placement.h"

enum {
	/* with any of these, the exits that were found are not all */
	EXITS_NOT_ALL = EXITS_TAIL_CALLS | EXITS_NO_RETURN | EXITS_UNDECODABLE | EXITS_INCOMPLETE,
};

const char *plan_price_text(enum plan_price price)
{
	static const char *const text[PLAN_PRICES] = {
	    [PLAN_EMULATED] = "all emulated",
	    [PLAN_ENDS_STEPPED] = "end single-stepped",
	    [PLAN_ENTRY_STEPPED] = "entry single-stepped",
	    [PLAN_BOTH_STEPPED] = "entry and end single-stepped",
	};

	return (unsigned)price < PLAN_PRICES ? text[price] : "unknown";
}

void plan_release(struct plan *plan)
{
	free(plan->exits);
	free(plan->returns);
	free(plan->calls);
	plan->exits = plan->returns = plan->calls = NULL;
	plan->nr_exits = plan->nr_returns = plan->nr_calls = 0;
}

static bool any_stepped(const struct place *places, size_t nr)
{
	return any_of(i, nr, places[i].cls == SITE_STEPPED);
}

/* The ends of direct calls; `all` if each of them that comes back has one. */
static int plan_returns(struct placer *p, uint64_t function, struct plan *plan, bool *all)
{
	size_t max = placer_policy(p)->max_sites, nr;
	struct caller *callers = calloc(max, sizeof(*callers));
	int found, err = 0;

	*all = true;
	plan->returns = calloc(max, sizeof(*plan->returns));
	if (!callers || !plan->returns) {
		free(callers);
		return -ENOMEM;
	}
	found = callers_find(p, function, callers, max, &plan->caller_flags);
	if (found < 0) {
		free(callers);
		return found;
	}
	plan->nr_callers = (size_t)found;
	nr = plan->nr_callers < max ? plan->nr_callers : max;
	if (nr < plan->nr_callers)
		*all = false;
	for (size_t i = 0; i < nr; i++) {
		enum place_why why;

		err = place_return(p, callers[i].ret, &plan->returns[plan->nr_returns], &why);
		if (!err && plan->returns[plan->nr_returns].flags & PLACE_FALSE_RETURN)
			*all = false;
		if (!err)
			plan->nr_returns++;
		else if (err != -ENOTSUP)
			break;
		else if (why != PLACE_NO_RETURN)
			*all = false;
	}
	free(callers);
	return err == -ENOTSUP ? 0 : err;
}

static int plan_exits(struct placer *p, uint64_t function, struct plan *plan)
{
	size_t max = placer_policy(p)->max_sites;
	enum place_why why;
	int found;

	plan->exits = calloc(max, sizeof(*plan->exits));
	if (!plan->exits)
		return -ENOMEM;
	found = place_exits(p, function, plan->exits, max, &plan->exit_flags, &why);
	if (found < 0)
		return found;
	plan->nr_exits = (size_t)found;
	return 0;
}

/* If exceptions may pass through the function, end its calls at its exits instead of at its
 * return addresses. */
static void returns_drop_false(struct plan *plan)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->nr_returns; i++) {
		if (!(plan->returns[i].flags & PLACE_FALSE_RETURN))
			plan->returns[kept++] = plan->returns[i];
	}
	plan->nr_returns = kept;
}

/* Can the return value be read where the callers are seen to go on? */
static bool returns_tell(const struct plan *plan)
{
	return !any_of(i, plan->nr_returns, !plan->returns[i].ret_valid);
}

static void choose(struct plan *plan, bool all_returns)
{
	bool entry = plan->entry.cls == SITE_STEPPED, ends;
	bool exits = plan->nr_exits && !(plan->exit_flags & EXITS_NOT_ALL);

	if (exits && !(plan->exit_flags & EXITS_STEPPED)) {
		plan->strategy = PLAN_EXITS;
	} else if (!plan->caller_flags && plan->nr_returns && all_returns &&
		   (!exits || returns_tell(plan))) {
		plan->strategy = PLAN_CALLERS;
	} else {
		plan->strategy = exits ? PLAN_EXITS : PLAN_DISCOVERED;
		plan->needs_learning = true;
	}
	if (plan->strategy == PLAN_EXITS)
		ends = any_stepped(plan->exits, plan->nr_exits);
	else
		ends = any_stepped(plan->returns, plan->nr_returns);
	/* what is not to be armed is not in the plan */
	if (plan->strategy != PLAN_EXITS)
		plan->nr_exits = 0;
	else if (!plan->needs_learning)
		plan->nr_returns = 0;
	else
		returns_drop_false(plan);
	plan->price = entry ? (ends ? PLAN_BOTH_STEPPED : PLAN_ENTRY_STEPPED)
			    : (ends ? PLAN_ENDS_STEPPED : PLAN_EMULATED);
}

static const char *class_text(bool stepped)
{
	return stepped ? "single-stepped" : "emulated";
}

__attribute__((format(printf, 2, 3))) static void say(struct plan *plan, const char *format, ...)
{
	size_t len = strlen(plan->text);

	format_arguments(plan->text + len, sizeof(plan->text) - len, format);
}

static void describe_ends(struct plan *plan)
{
	bool stepped = any_stepped(plan->returns, plan->nr_returns);
	switch (plan->strategy) {
	case PLAN_CALLERS:
		say(plan,
		    plan->nr_returns == 1 ? "; ends at the return address of %zu caller (%s)"
					  : "; ends at the return addresses of %zu callers (%s)",
		    plan->nr_returns, class_text(stepped));
		break;
	case PLAN_EXITS:
		say(plan, "; ends at %zu exit%s (%s)", plan->nr_exits,
		    plan->nr_exits == 1 ? "" : "s",
		    class_text(any_stepped(plan->exits, plan->nr_exits)));
		if (plan->needs_learning)
			say(plan, " until its callers are discovered");
		break;
	default:
		say(plan, "; %s, so its callers are discovered while it runs (%zu known)",
		    plan->exit_flags & EXITS_NO_RETURN	  ? "it has no exit of its own"
		    : plan->exit_flags & EXITS_TAIL_CALLS ? "it leaves by tail calls"
							  : "not all of its exits are known",
		    plan->nr_returns);
		break;
	}
}

static void describe(struct plan *plan)
{
	const struct place *e = &plan->entry;

	say(plan, "entry at +%llu (%s, %s)", (unsigned long long)(e->vaddr - e->ideal), e->text,
	    class_text(e->cls == SITE_STEPPED));
	if (e->flags & PLACE_REPEATS)
		say(plan, ", executed again when the function jumps back to its start");
	describe_ends(plan);
}

static int decline(struct plan *plan, enum place_why why)
{
	plan->why = why;
	say(plan, "%s", place_why_text(why));
	return -ENOTSUP;
}

int plan_function(struct placer *p, uint64_t function, struct plan *out)
{
	bool all_returns;
	int err;

	*out = (struct plan){0};
	err = place_entry(p, function, &out->entry, &out->why);
	if (!err)
		err = plan_exits(p, function, out);
	if (!err)
		err = plan_returns(p, function, out, &all_returns);
	if (err == -ENOTSUP)
		return decline(out, out->why);
	if (err)
		return err;
	choose(out, all_returns);
	describe(out);
	return 0;
}

/* Find a pair of places, a start and an end, for each call instruction that calls the function.
 * -ENOTSUP if a call has no start that the kernel emulates. The end may be single-stepped, because
 * the clock is read before the step. */
static int call_pairs(struct placer *p, uint64_t function, const struct caller *callers, size_t nr,
		      struct place *calls, struct place *returns)
{
	const struct code_part *own = code_part_at(placer_source(p), function);
	enum place_why why;
	int err;

	for (size_t i = 0; i < nr; i++) {
		/* of a call of itself the begin and the end of two activations would fall together
		 */
		if (own && callers[i].call >= own->start && callers[i].call < own->end)
			return -ENOTSUP;
		err = place_call_site(p, callers[i].call, &calls[i], &returns[i], &why);
		if (err)
			return err;
		if (calls[i].cls == SITE_STEPPED || returns[i].flags & PLACE_FALSE_RETURN)
			return -ENOTSUP;
	}
	return 0;
}

/* The end of one call may be the next call of the same function: two probes there would begin
 * the next activation before they end this one. Such an end moves nearer to its return address. */
static int ends_part_from_calls(struct placer *p, const struct place *calls, struct place *returns,
				size_t nr)
{
	enum place_why why;
	int err;

	for (size_t i = 0; i < nr; i++) {
		for (size_t k = 0; k < nr; k++) {
			if (returns[i].vaddr != calls[k].vaddr)
				continue;
			if (!returns[i].skipped)
				return -ENOTSUP;
			err = place_return_within(p, returns[i].ideal, returns[i].skipped - 1,
						  &returns[i], &why);
			if (err)
				return err;
		}
	}
	return 0;
}

int plan_function_at_calls(struct placer *p, uint64_t function, struct plan *out)
{
	size_t max = placer_policy(p)->max_sites;
	struct place *calls, *returns;
	struct caller *callers;
	uint32_t flags;
	int err = plan_function(p, function, out), found;

	if (err || out->entry.cls != SITE_STEPPED || out->caller_flags || !out->nr_callers ||
	    out->nr_callers > max)
		return err;
	callers = calloc(max, sizeof(*callers));
	calls = calloc(max, sizeof(*calls));
	returns = calloc(max, sizeof(*returns));
	found =
	    callers && calls && returns ? callers_find(p, function, callers, max, &flags) : -ENOMEM;
	err = found <= 0 ? found : call_pairs(p, function, callers, (size_t)found, calls, returns);
	if (!err && found > 0)
		err = ends_part_from_calls(p, calls, returns, (size_t)found);
	free(callers);
	if (err || found <= 0) {
		free(calls);
		free(returns);
		return err == -ENOTSUP ? 0 : err;
	}
	free(out->returns);
	out->calls = calls;
	out->returns = returns;
	out->nr_calls = out->nr_returns = (size_t)found;
	out->nr_exits = 0;
	out->strategy = PLAN_CALLERS;
	out->price = any_stepped(returns, out->nr_returns) ? PLAN_ENDS_STEPPED : PLAN_EMULATED;
	out->needs_learning = false;
	snprintf(out->text, sizeof(out->text),
		 "begins at its %zu direct call%s (emulated; its entry, %s, would be "
		 "single-stepped); ends behind %s (%s)",
		 out->nr_calls, out->nr_calls == 1 ? "" : "s", out->entry.text,
		 out->nr_calls == 1 ? "it" : "them", class_text(out->price != PLAN_EMULATED));
	return 0;
}
