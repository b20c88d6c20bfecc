// SPDX-License-Identifier: GPL-2.0-or-later
/* For a name that several files of the target export: which of these functions dynamic linking
 * chose. The parser finds the import slots (GOT) of the name in each file, and the collector reads
 * what a slot points to. */

#include "tui/engine/front_state.h"

enum { NODE = 1u << 31 }; /* REQ_LEARN of a watch: no node of a descent has this number */

static void refuse(struct front *f, struct watch *w, const char *importer,
		   const struct rec_code *bound)
{
	if (bound)
		watch_refuse_name(f, w, EXIT_USAGE, "%s; calls from %s go to that of %s",
				  w->bound.refusal, importer, module_name(f, bound->module));
	else
		watch_refuse_name(f, w, EXIT_USAGE, "%s", w->bound.refusal);
	free(w->bound.refusal);
	w->bound.refusal = NULL;
}

static void next_module(struct front *f, struct watch *w);

static void slots_found(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_call_sites *a = &answer->call_sites;
	struct record rec = {.type = REQ_LEARN};
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);

	if (!w || w->stage != WATCH_BOUND)
		return;
	if (a->error || !a->nr) {
		next_module(f, w);
		return;
	}
	rec.learn =
	    (struct req_learn){.node = NODE | w->op,
			       .site = {.module = w->bound.importer, .offset = a->sites[0].offset},
			       .operand = a->sites[0].operand};
	if (f->over || front_request(f, &rec))
		refuse(f, w, NULL, NULL);
}

static void next_module(struct front *f, struct watch *w)
{
	const struct parser_reply reply = {slots_found, f, w->op};
	struct parse_request req = {.text = w->bound.symbol};

	do {
		w->bound.importer++;
	} while (w->bound.importer <= f->files.nr_modules &&
		 f->files.modules[w->bound.importer - 1].stage != MODULE_READY);
	req.module = w->bound.importer;
	if (req.module > f->files.nr_modules || !front_ask(f, PARSE_SLOTS, &req, &reply))
		refuse(f, w, NULL, NULL);
}

bool watch_bound_take(struct front *f, const struct rec_indirect_callees *a)
{
	struct watch *w = a->node & NODE ? watch_by_op(f, a->node & ~NODE) : NULL;

	if (w && w->stage == WATCH_BOUND) {
		for (uint32_t i = 0; a->nr_callees && i < w->bound.nr; i++) {
			if (w->bound.candidates[i].module == a->callees[0].module &&
			    w->bound.candidates[i].offset == a->callees[0].offset) {
				refuse(f, w, module_name(f, w->bound.importer), a->callees);
				return true;
			}
		}
		/* not bound yet: the slot of a lazily bound call points back to its own file */
		next_module(f, w);
	}
	return a->node & NODE;
}

void watch_bound_find(struct front *f, struct watch *w, const struct parsed_functions *list,
		      const char *refusal)
{
	const char *symbol = NULL;

	w->bound.nr = w->bound.importer = 0;
	for (uint32_t i = 0; i < list->nr && w->bound.nr < WATCH_CANDIDATES; i++) {
		const struct parsed_function *fn = &list->functions[i];

		if (!fn->exported || !fn->symbol[0] || (symbol && strcmp(symbol, fn->symbol) != 0))
			continue;
		symbol = fn->symbol;
		w->bound.candidates[w->bound.nr++] = (struct rec_code){fn->module, fn->offset};
	}
	free(w->bound.symbol);
	w->bound.refusal = strdup(refusal);
	w->bound.symbol = w->bound.nr > 1 ? strdup(symbol) : NULL;
	if (!w->bound.symbol || !w->bound.refusal) {
		free(w->bound.refusal);
		w->bound.refusal = NULL;
		watch_refuse_name(f, w, EXIT_USAGE, "%s", refusal);
		return;
	}
	w->stage = WATCH_BOUND;
	next_module(f, w);
}
