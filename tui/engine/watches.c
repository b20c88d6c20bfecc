// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the name of a function to armed sites: each watch waits for the modules,
 * finds the function, has it planned, arms it, and learns callers as they come.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tui/engine/front_state.h"
#include "tui/engine/walker.h"

enum {
	LIST_MAX = 12,
	IFUNC_MAX = 16,
	DROP_EXITS_RATE = 2000,
	LEARNT_QUIET_MS = 100,
	SEARCH_MAX = 48
};

static void watch_refuse(struct front *f, struct watch *w, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void watch_refuse(struct front *f, struct watch *w, const char *fmt, ...)
{
	struct record rec = {.type = REC_NOTE};
	char text[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->stage = WATCH_REFUSED;
	if (phases_option(f, w))
		front_fail(f, EXIT_NO_ANSWER, "%s%s", phases_option(f, w), text);
	else
		front_message(f, "%s", text);
	rec.note = (struct rec_note){.level = NOTE_ERROR, .text = text};
	front_feed(f, &rec);
}

static uint32_t ask(struct front *f, enum parse_type type, struct parse_request *req)
{
	int64_t id;

	if (!req->text)
		req->text = "";
	id = f->parser ? parser_ask(f->parser, type, req) : 0;
	return id > 0 ? (uint32_t)id : 0;
}

static struct watch *watch_by_request(struct front *f, uint32_t request)
{
	for (size_t i = 0; i < f->nr_watches; i++) {
		if (f->watches[i]->request == request)
			return f->watches[i];
	}
	return NULL;
}

static struct watch *watch_by_op(struct front *f, uint32_t op)
{
	for (size_t i = 0; i < f->nr_watches; i++) {
		if (f->watches[i]->op == op)
			return f->watches[i];
	}
	return NULL;
}

static uint32_t module_by_file(const struct front *f, const char *name)
{
	for (uint32_t m = f->nr_modules; m > 0; m--) {
		const struct front_module *mod = &f->modules[m - 1];

		if (mod->stage == MODULE_READY && mod->name && !strcmp(mod->name, name))
			return m;
	}
	return 0;
}

/* By the name of its file, or by that of a target, for the file it was started from: redis-server
 * may be a link. */
static uint32_t module_by_name(const struct front *f, const char *name)
{
	uint32_t found = module_by_file(f, name);

	for (size_t i = 0; !found && i < model_nr_targets(f->model); i++) {
		const struct rec_target *t = model_target(f->model, i);
		const char *file = strrchr(t->exe, '/');

		if (file && !strcmp(t->comm, name))
			found = module_by_file(f, file + 1);
	}
	return found;
}

static const char *module_name(const struct front *f, uint32_t module)
{
	return module && module <= f->nr_modules && f->modules[module - 1].name
		   ? f->modules[module - 1].name
		   : "";
}

struct watch *watches_add(struct front *f, const struct op_spec *spec, bool from_command_line)
{
	struct watch *w;

	if (spec->kind != OP_FUNCTION && spec->kind != OP_OFFSET && spec->kind != OP_KERNEL)
		return NULL;
	if (f->nr_watches == FRONT_MAX_WATCHES) {
		front_message(f, "%s: cannot watch more than %d functions; remove one first",
			      spec->text, FRONT_MAX_WATCHES);
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->spec = *spec;
	w->text = strdup(spec->text);
	w->spec.text = w->text;
	w->from_command_line = from_command_line;
	if (!f->next_op)
		f->next_op = WATCH_FIRST_OP;
	w->op = f->next_op++;
	f->watches[f->nr_watches++] = w;
	if (spec->kind != OP_KERNEL)
		modules_want(f);
	return w;
}

void front_watch(struct front *f, const struct op_spec *op)
{
	watches_add(f, op, false);
}

static void watch_free(struct watch *w)
{
	free(w->text);
	free(w->symbol);
	free(w->function);
	free(w->placement);
	free(w->sites);
	free(w);
}

void front_unwatch(struct front *f, uint32_t op)
{
	struct record rec = {.type = REQ_DISARM};

	for (size_t i = 0; i < f->nr_watches; i++) {
		if (f->watches[i]->op != op)
			continue;
		if (phases_option(f, f->watches[i])) {
			front_message(f,
				      "%s: cannot be removed: --begin or --end names this function",
				      f->watches[i]->text);
			return;
		}
		rec.disarm = (struct req_disarm){.epoch = ++f->next_epoch, .op = op};
		front_request(f, &rec);
		watch_free(f->watches[i]);
		f->watches[i] = f->watches[--f->nr_watches];
		return;
	}
}

/* ---- finding ---------------------------------------------------------- */

static void plan_ask(struct front *f, struct watch *w, uint32_t module, uint64_t offset)
{
	struct parse_request req = {.module = module,
				    .offset = offset,
				    .op = w->op,
				    .max_sites = 48,
				    .policy = POLICY_AT_CALLS};

	w->stage = WATCH_PLANNING;
	w->request = ask(f, PARSE_PLAN, &req);
	if (!w->request)
		watch_refuse(f, w, "%s: cannot be looked up: the parser is not running", w->text);
}

static void watch_find(struct front *f, struct watch *w)
{
	struct parse_request req = {.text = w->spec.name, .max = LIST_MAX + 1};

	if (w->spec.module[0]) {
		req.module = module_by_name(f, w->spec.module);
		if (!req.module) {
			if (w->stage != WATCH_DORMANT)
				front_message(f,
					      "%s: the target has not mapped a file called %s yet; "
					      "waiting for it",
					      w->text, w->spec.module);
			w->stage = WATCH_DORMANT;
			return;
		}
	}
	if (w->spec.kind == OP_OFFSET) {
		w->module = req.module;
		w->offset = w->spec.offset;
		w->function = strdup(w->spec.name);
		w->symbol = strdup("");
		if (phases_same(f, w, w->module, w->offset))
			return;
		plan_ask(f, w, req.module, w->spec.offset);
		return;
	}
	w->stage = WATCH_FINDING;
	w->request = ask(f, PARSE_FIND, &req);
	if (!w->request)
		watch_refuse(f, w, "%s: cannot be looked up: the parser is not running", w->text);
}

static void refuse_with_list(struct front *f, struct watch *w, const struct parsed_functions *list,
			     const char *what)
{
	struct buf b;

	buf_init(&b, 600);
	for (uint32_t i = 0; i < list->nr && i < LIST_MAX; i++)
		buf_printf(&b, "%s%s@%s", i ? ", " : "",
			   list->functions[i].function[0] ? list->functions[i].function
							  : list->functions[i].symbol,
			   module_name(f, list->functions[i].module));
	watch_refuse(f, w, "%s: %s%s%s%s", w->text, what, list->nr ? ": " : "",
		     b.data ? b.data : "", list->total > list->nr ? ", ..." : "");
	buf_release(&b);
}

static void function_found(struct front *f, struct watch *w, const struct parsed_function *fn)
{
	struct parse_request req = {.module = fn->module, .offset = fn->offset, .max = IFUNC_MAX};

	free(w->symbol);
	free(w->function);
	w->module = fn->module;
	w->offset = fn->offset;
	w->symbol = strdup(fn->symbol);
	w->function = strdup(fn->function[0] ? fn->function : fn->symbol);
	/* called once, from a place that only its return tells: its exits cannot wait and cost
	 * nothing */
	w->keep_exits |= !strcmp(fn->symbol, "main");
	w->nr_sites = 0;
	w->plans_left = 1;
	if (phases_same(f, w, fn->module, fn->offset))
		return;
	/* where it is, is all that is asked */
	if (f->options->open) {
		w->stage = WATCH_ARMED;
		return;
	}
	if (!fn->ifunc) {
		plan_ask(f, w, fn->module, fn->offset);
		return;
	}
	w->stage = WATCH_IFUNC;
	w->request = ask(f, PARSE_IFUNC, &req);
}

/* Old versions of a symbol (one @) are meant only when there is nothing else. */
static const struct parsed_function *only_current(const struct parsed_functions *a)
{
	const struct parsed_function *one = NULL;

	for (uint32_t i = 0; i < a->nr; i++) {
		const char *at = strchr(a->functions[i].symbol, '@');

		if (at && at[1] != '@')
			continue;
		if (one)
			return NULL;
		one = &a->functions[i];
	}
	return a->total <= a->nr ? one : NULL;
}

static void answer_functions(struct front *f, struct watch *w, const struct parsed_functions *a)
{
	struct parse_request req = {.text = w->spec.name, .max = 5};

	w->request = 0;
	switch (w->stage) {
	case WATCH_FINDING:
		if (a->nr == 1 && a->total <= 1) {
			function_found(f, w, &a->functions[0]);
		} else if (only_current(a)) {
			function_found(f, w, only_current(a));
		} else if (a->nr) {
			refuse_with_list(f, w, a,
					 "several functions have this name; give FUNC@MODULE or "
					 "the full demangled name");
		} else if (!w->spec.module[0] && f->options->command && !f->going) {
			/* the libraries of a command come only once it runs */
			w->stage = WATCH_DORMANT;
		} else {
			w->stage = WATCH_NEAREST;
			if (w->spec.module[0])
				req.module = module_by_name(f, w->spec.module);
			w->request = ask(f, PARSE_NEAREST, &req);
		}
		break;
	case WATCH_NEAREST:
		if (f->over)
			refuse_with_list(f, w, a,
					 a->nr ? "not found before the target ended; similar names"
					       : "not found before the target ended");
		else
			refuse_with_list(f, w, a,
					 a->nr ? "no such function; similar names"
					       : "no such function in the target or its libraries");
		break;
	case WATCH_IFUNC:
		if (!a->nr) {
			watch_refuse(f, w,
				     "%s: selected at load time (IFUNC), and the selected function "
				     "is not known; name that function instead",
				     w->text);
			break;
		}
		w->plans_left = a->nr;
		for (uint32_t i = 0; i < a->nr; i++)
			plan_ask(f, w, a->functions[i].module, a->functions[i].offset);
		break;
	default:
		break;
	}
}

/* ---- planning and arming ---------------------------------------------- */

static int sites_append(struct watch *w, const struct rec_site *sites, uint32_t nr)
{
	struct rec_site *grown;

	if (!nr)
		return 0;
	grown = realloc(w->sites, (w->nr_sites + nr) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	w->sites = grown;
	memcpy(grown + w->nr_sites, sites, nr * sizeof(*sites));
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
	w->epoch = ++f->next_epoch;
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

static void note_exits(struct watch *w)
{
	w->has_exits = w->exits_stepped = false;
	for (uint32_t i = 0; i < w->nr_sites; i++) {
		if (w->sites[i].role != SITE_EXIT)
			continue;
		w->has_exits = true;
		w->exits_stepped |= w->sites[i].class == SITE_STEPPED;
	}
}

static void answer_plan(struct front *f, struct watch *w, const struct parsed_plan *a)
{
	if (w->plans_left)
		w->plans_left--;
	if (a->error && !w->plans_left && !w->nr_sites) {
		watch_refuse(f, w, "cannot time %s: %s", w->text,
			     a->text[0] ? a->text : "no reason was given");
		return;
	}
	if (!a->error) {
		sites_append(w, a->sites, a->nr_sites);
		free(w->placement);
		w->placement = strdup(a->text);
		/* of several that an IFUNC may become none is the function */
		w->size = a->offset == w->offset ? a->size : 0;
	}
	if (w->plans_left)
		return;
	w->request = 0;
	note_exits(w);
	w->stage = WATCH_ARMING;
	watch_arm(f, w, w->sites, w->nr_sites, false);
}

static void answer_return(struct front *f, size_t index, const struct parsed_plan *a)
{
	struct watch *w = f->returns_asked[index].watch < f->nr_watches
			      ? f->watches[f->returns_asked[index].watch]
			      : NULL;

	f->returns_asked[index] = f->returns_asked[--f->nr_returns_asked];
	if (!w || w->op != a->op || w->stage == WATCH_REFUSED)
		return;
	/* no end there, or one that an exception would pass too: these calls end at the function's
	 * own exits */
	if (w->has_exits && !w->exits_dropped && (a->error || a->abnormal)) {
		w->keep_exits = true;
		watch_arm(f, w, NULL, 0, false);
		return;
	}
	if (a->error || a->nr_sites != 1)
		return;
	w->nr_returns++;
	sites_append(w, a->sites, 1);
	watch_arm(f, w, a->sites, 1, w->exits_dropped);
}

void watches_learned(struct front *f, const struct rec_learned *l)
{
	struct watch *w = watch_by_op(f, l->op);
	struct parse_request req = {.op = l->op};
	uint32_t id;

	if (!w || w->nr_returns + f->nr_returns_asked >= WATCH_MAX_RETURNS ||
	    f->nr_returns_asked == sizeof(f->returns_asked) / sizeof(f->returns_asked[0]))
		return;
	w->learned_ns = front_now_ns();
	for (size_t i = 0; i < f->nr_mappings; i++) {
		const struct front_mapping *m = &f->mappings[i];

		if (m->pid != l->pid || l->address < m->start || l->address >= m->end)
			continue;
		req.module = m->module;
		req.offset = l->address - m->start + m->offset;
		id = ask(f, PARSE_PLAN_RETURN, &req);
		if (!id)
			return;
		for (size_t j = 0; j < f->nr_watches; j++) {
			if (f->watches[j] == w)
				f->returns_asked[f->nr_returns_asked].watch = j;
		}
		f->returns_asked[f->nr_returns_asked++].request = id;
		return;
	}
}

void watches_acknowledged(struct front *f, const struct rec_ack *ack)
{
	for (size_t i = 0; i < f->nr_watches; i++) {
		struct watch *w = f->watches[i];

		if (w->epoch == ack->epoch && w->stage == WATCH_ARMING)
			w->stage = WATCH_ARMED;
	}
}

void watches_refused(struct front *f, const struct rec_refused *r)
{
	struct watch *w = watch_by_op(f, r->op);

	if (w && w->stage == WATCH_ARMING)
		watch_refuse(f, w, "%s", r->reason);
	else
		front_message(f, "%s", r->reason);
}

/* Ends on the callers' side are cheaper than a stepped ret: change over once the callers are known
 * and it pays. */
void watches_tick(struct front *f)
{
	uint64_t now = front_now_ns();

	for (size_t i = 0; i < f->nr_watches; i++) {
		struct watch *w = f->watches[i];
		bool settled = w->stage == WATCH_ARMED && w->nr_returns &&
			       now - w->learned_ns > LEARNT_QUIET_MS * 1000000ull;

		if (settled && w->exits_stepped && !w->exits_dropped && !w->keep_exits &&
		    w->calls_now > DROP_EXITS_RATE) {
			w->exits_dropped = true;
			free(w->placement);
			w->placement =
			    strdup("entry in the function; ends at its callers' return addresses");
			watch_arm(f, w, NULL, 0, true);
		}
		w->calls_now = 0;
	}
}

void watches_profile(struct front *f, const struct rec_profile *p)
{
	struct watch *w = watch_by_op(f, p->op);
	uint64_t length = p->end_ns - p->start_ns;

	if (w && length)
		w->calls_now = (uint64_t)((double)p->calls * 1e9 /
					  (double)(p->armed_ns ? p->armed_ns : length));
}

/* A kernel function needs no plan: the collector finds it by its name. */
static void kernel_arm(struct front *f, struct watch *w)
{
	struct record rec = {.type = REQ_ARM};

	w->epoch = ++f->next_epoch;
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

/* ---- moving on -------------------------------------------------------- */

static void watches_move(struct front *f)
{
	bool settled = modules_settled(f), all = true;

	for (size_t i = 0; i < f->nr_watches; i++) {
		struct watch *w = f->watches[i];

		if (w->spec.kind == OP_KERNEL && w->stage == WATCH_WAITING &&
		    model_nr_targets(f->model))
			kernel_arm(f, w);
		else if (settled && w->stage == WATCH_WAITING && !phases_wait(f, w))
			watch_find(f, w);
		all &= w->stage >= WATCH_ARMED;
	}
	phases_send(f);
	/* a command must not run when there is nothing to watch in it */
	if ((all || f->go_at_once) && !f->going && !front_nothing_to_do(f)) {
		struct record rec = {.type = REQ_GO};
		bool targets = model_nr_targets(f->model) > 0;

		if (!targets)
			return;
		f->going = true;
		front_request(f, &rec);
	}
}

/* A new process image or a new library: what was not there may be there now. */
static void dormant_wake(struct front *f)
{
	for (size_t i = 0; i < f->nr_watches; i++) {
		if (f->watches[i]->stage == WATCH_DORMANT)
			f->watches[i]->stage = WATCH_WAITING;
	}
}

void watches_target(struct front *f, const struct rec_target *t)
{
	dormant_wake(f);
}

uint32_t front_armed_op(const struct front *f)
{
	return f->nr_watches && f->watches[0]->stage == WATCH_ARMED ? f->watches[0]->op : 0;
}

bool front_nothing_to_do(const struct front *f)
{
	const struct options *o = f->options;

	if (phases_refused(f))
		return true;
	for (size_t i = 0; i < o->nr_ops; i++) {
		if (o->ops[i].kind != OP_FUNCTION && o->ops[i].kind != OP_OFFSET &&
		    o->ops[i].kind != OP_KERNEL)
			return false;
	}
	for (size_t i = 0; i < f->nr_watches; i++) {
		if (f->watches[i]->stage != WATCH_REFUSED && !f->watches[i]->edge)
			return false;
	}
	return o->nr_ops > 0 && !f->all_layers;
}

bool front_ready(const struct front *f)
{
	return f->going;
}

static void search_answer(struct front *f, const struct parsed_functions *a)
{
	struct screen_candidate *list = calloc(a->nr ? a->nr : 1, sizeof(*list));
	char text[2 * OPTIONS_NAME];

	f->search_request = 0;
	if (!list)
		return;
	for (size_t i = 0; i < f->nr_candidates; i++) {
		free((char *)f->candidates[i].name);
		free((char *)f->candidates[i].module);
		free((char *)f->candidates[i].text);
	}
	free(f->candidates);
	f->candidates = list;
	f->nr_candidates = a->nr;
	for (uint32_t i = 0; i < a->nr; i++) {
		const struct parsed_function *fn = &a->functions[i];

		if (fn->symbol[0])
			snprintf(text, sizeof(text), "%s@%s", fn->symbol,
				 module_name(f, fn->module));
		else
			snprintf(text, sizeof(text), "0x%" PRIx64 "@%s", fn->offset,
				 module_name(f, fn->module));
		list[i].name = strdup(fn->function[0] ? fn->function : fn->symbol);
		list[i].module = strdup(module_name(f, fn->module));
		list[i].text = strdup(text);
	}
	free(f->searched_out);
	f->searched_out = f->searched;
	f->searched = NULL;
}

void front_search(struct front *f, const char *text)
{
	struct parse_request req = {.text = text, .max = SEARCH_MAX};

	modules_want(f);
	free(f->searched);
	f->searched = strdup(text);
	/* NEAREST ranks by likeness, LIST goes by address: a person who types wants the former */
	f->search_request = modules_settled(f) && text[0] ? ask(f, PARSE_NEAREST, &req) : 0;
}

size_t front_take_candidates(struct front *f, const char **searched,
			     const struct screen_candidate **list)
{
	/* asked before the modules were read: ask now */
	if (f->searched && !f->search_request && modules_settled(f) && f->searched[0]) {
		struct parse_request req = {.text = f->searched, .max = SEARCH_MAX};

		f->search_request = ask(f, PARSE_NEAREST, &req);
	}
	if (!f->searched_out)
		return 0;
	*searched = f->searched_out;
	*list = f->candidates;
	return f->nr_candidates ? f->nr_candidates : SIZE_MAX;
}

static void answer(struct front *f, const struct parsed *a)
{
	struct watch *w;

	if (a->type == PARSED_MODULE) {
		modules_answer(f, &a->module);
		dormant_wake(f);
		return;
	}
	if (a->type == PARSED_FUNCTIONS && a->id == f->search_request && a->id) {
		search_answer(f, &a->functions);
		return;
	}
	if (looks_answer(f, a) || stacks_answer(f, a) || code_answer(f, a) ||
	    walker_answer(f->walker, a))
		return;
	if (a->type == PARSED_COVERAGE) {
		coverage_take(f, &a->coverage);
		return;
	}
	if (descend_answer(f->descend, a))
		return;
	for (size_t i = 0; i < f->nr_returns_asked; i++) {
		if (f->returns_asked[i].request == a->id && a->type == PARSED_PLAN) {
			answer_return(f, i, &a->plan);
			return;
		}
	}
	if (a->type == PARSED_PLAN) {
		w = watch_by_op(f, a->plan.op);
		if (w && w->stage == WATCH_PLANNING)
			answer_plan(f, w, &a->plan);
		return;
	}
	w = watch_by_request(f, a->id);
	if (!w)
		return;
	if (a->type == PARSED_FUNCTIONS)
		answer_functions(f, w, &a->functions);
	else if (a->type == PARSED_NOT)
		watch_refuse(f, w, "%s: %s", w->text, a->not .reason);
}

void watches_parser(struct front *f, uint64_t now_ns)
{
	struct parsed a;

	while (parser_next(f->parser, now_ns, &a) == 1)
		answer(f, &a);
	parser_watch(f);
	watches_move(f);
	looks_move(f);
}

void watches_release(struct front *f)
{
	for (size_t i = 0; i < f->nr_watches; i++)
		watch_free(f->watches[i]);
	for (uint32_t i = 0; i < f->nr_modules; i++) {
		free(f->modules[i].path);
		free(f->modules[i].name);
	}
	for (size_t i = 0; i < f->nr_candidates; i++) {
		free((char *)f->candidates[i].name);
		free((char *)f->candidates[i].module);
		free((char *)f->candidates[i].text);
	}
	free(f->candidates);
	free(f->searched);
	free(f->searched_out);
	free(f->mappings);
}
