// SPDX-License-Identifier: GPL-2.0-or-later
/* Arm a function that was found: plan its sites, arm them, and add probes at the return addresses
 * of its callers. */

#include "analysis/base/array.h"
#include "tui/engine/front_state.h"

enum { MAX_SITES = 48, DROP_EXITS_RATE = 2000, DISCOVERY_QUIET_MS = 100 };

/* Replace a text with a copy; NULL if out of memory. */
static void text_set(char **text, const char *with)
{
	free(*text);
	*text = strdup(with);
}

static int sites_append(struct watch *w, const struct rec_site *sites, uint32_t nr)
{
	if (!nr)
		return 0;
	if (array_fit(w->sites, w->nr_sites + nr, w->cap_sites, UINT32_MAX))
		return -ENOMEM;
	memcpy(w->sites + w->nr_sites, sites, nr * sizeof(*sites));
	w->nr_sites += nr;
	return 0;
}

static void watch_arm(struct front *f, struct watch *w, const struct rec_site *sites, uint32_t nr,
		      bool drop_exits)
{
	struct record rec = {.type = REQ_ARM};
	char name[2 * OPTIONS_NAME];

	if (w->symbol && w->symbol[0])
		snprintf(name, sizeof(name), "%s@%s", w->symbol, module_name(f, w->module));
	else
		snprintf(name, sizeof(name), "0x%" PRIx64 "@%s", w->offset,
			 module_name(f, w->module));
	w->epoch = ++f->watches.next_epoch;
	rec.arm = (struct req_arm){.epoch = w->epoch,
				   .nr_sites = nr,
				   .sites = sites,
				   .drop_exits = drop_exits,
				   .keep_exits = w->keep_exits};
	rec.arm.op = (struct rec_op){.op = w->op,
				     .layer = LAYER_FUNCTION,
				     .name = name,
				     .label = w->function ? w->function : name,
				     .requested = w->text,
				     .module = module_name(f, w->module),
				     .module_id = w->module,
				     .offset = w->offset,
				     .size = w->size,
				     .placement = w->placement ? w->placement : ""};
	front_request(f, &rec);
}

/* Note how calls end according to the plan: at exits of the function, and at return addresses that
 * the plan knows already. */
static void note_ends(struct watch *w)
{
	w->has_exits = w->exits_stepped = false;
	w->nr_returns = 0;
	w->discovered_ns = now_ns();
	for (uint32_t i = 0; i < w->nr_sites; i++) {
		w->nr_returns += w->sites[i].role == SITE_RETURN;
		if (w->sites[i].role != SITE_EXIT)
			continue;
		w->has_exits = true;
		w->exits_stepped |= w->sites[i].class == SITE_STEPPED;
	}
}

static void planned(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_plan *a = &answer->plan;
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);

	if (!w || w->stage != WATCH_PLANNING)
		return;
	if (w->plans_left)
		w->plans_left--;
	if (a->error && !w->plans_left && !w->nr_sites) {
		watch_refuse(f, w, "cannot time %s: %s", w->text,
			     a->text[0] ? a->text : "no reason was given");
		return;
	}
	if (!a->error) {
		if (sites_append(w, a->sites, a->nr_sites)) {
			watch_refuse(f, w, "%s: out of memory", w->text);
			return;
		}
		text_set(&w->placement, a->text);
		/* The size is known only if the plan is for the function itself, not for a
		 * candidate of an IFUNC. */
		w->size = a->offset == w->offset ? a->size : 0;
	}
	if (w->plans_left)
		return;
	note_ends(w);
	w->stage = WATCH_ARMING;
	watch_arm(f, w, w->sites, w->nr_sites, false);
}

void watch_plan(struct front *f, struct watch *w, uint32_t module, uint64_t offset)
{
	struct parse_request req = {.module = module,
				    .offset = offset,
				    .op = w->op,
				    .max_sites = MAX_SITES,
				    .policy = POLICY_AT_CALLS};

	w->stage = WATCH_PLANNING;
	watch_ask(f, w, PARSE_PLAN, &req, planned);
}

/* No probe can be placed at a return address: keep the probes at the function's own exits. False:
 * it has none. */
static bool keep_exits(struct front *f, struct watch *w)
{
	if (!w->has_exits || w->exits_dropped)
		return false;
	w->keep_exits = true;
	watch_arm(f, w, NULL, 0, false);
	return true;
}

static void return_planned(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_plan *a = &answer->plan;
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);

	/* the watch was removed meanwhile */
	if (!w)
		return;
	w->returns_asked--;
	if (w->stage == WATCH_REFUSED)
		return;
	/* an exception would pass it, too */
	if ((a->error || a->abnormal) && keep_exits(f, w))
		return;
	if (a->error || a->nr_sites != 1 || sites_append(w, a->sites, 1))
		return;
	w->nr_returns++;
	watch_arm(f, w, a->sites, 1, w->exits_dropped);
}

void watches_new_return(struct front *f, const struct rec_new_return *l)
{
	const struct parser_reply reply = {return_planned, f, l->op};
	struct watch *w = watch_by_op(f, l->op);
	struct parse_request req = {.op = l->op};

	if (!w || w->nr_returns + w->returns_asked >= WATCH_MAX_RETURNS)
		return;
	w->discovered_ns = now_ns();
	for (size_t i = 0; i < f->files.nr_mappings; i++) {
		const struct front_mapping *m = &f->files.mappings[i];

		if (m->pid != l->pid || m->copied || l->address < m->start || l->address >= m->end)
			continue;
		req.module = m->module;
		req.offset = l->address - m->start + m->offset;
		w->returns_asked += front_ask(f, PARSE_PLAN_RETURN, &req, &reply);
		return;
	}
	/* the caller is in code of no file, or in a copy of a file */
	if (!w->keep_exits && w->stage == WATCH_ARMED)
		keep_exits(f, w);
}

/* A probe at a return address is cheaper than a single-stepped ret. Change over once no new callers
 * appear and the call rate is high. */
void watches_tick(struct front *f)
{
	uint64_t now = now_ns();

	for (size_t i = 0; i < f->watches.nr; i++) {
		struct watch *w = f->watches.list[i];
		bool settled = w->stage == WATCH_ARMED && w->nr_returns &&
			       now - w->discovered_ns > DISCOVERY_QUIET_MS * 1000000ull;

		if (settled && w->exits_stepped && !w->exits_dropped && !w->keep_exits &&
		    w->calls_now > DROP_EXITS_RATE) {
			w->exits_dropped = true;
			watch_arm(f, w, NULL, 0, true);
		}
		w->calls_now = 0;
	}
}

/* A kernel function needs no plan: the collector finds it by its name. */
void watch_arm_kernel(struct front *f, struct watch *w)
{
	struct record rec = {.type = REQ_ARM};

	w->epoch = ++f->watches.next_epoch;
	w->stage = WATCH_ARMING;
	rec.arm = (struct req_arm){.epoch = w->epoch};
	rec.arm.op = (struct rec_op){.op = w->op,
				     .layer = LAYER_KERNEL,
				     .name = w->text,
				     .label = w->spec.name,
				     .requested = w->text,
				     .module = "",
				     .placement = ""};
	front_request(f, &rec);
}
