// SPDX-License-Identifier: GPL-2.0-or-later
/* Find the function of the target that has the name in an OP. */
#include <fnmatch.h>

#include "analysis/base/array.h"
#include "analysis/base/path.h"
#include "analysis/parser/functions.h"
#include "tui/engine/front_state.h"

enum {
	LIST_MAX = WATCH_CANDIDATES, /* functions listed in the message about an ambiguous name */
	NEAREST_MAX = 5,
	IFUNC_MAX = 16,
};

static uint32_t module_by_file(const struct front *f, const char *name)
{
	for (uint32_t m = f->files.nr_modules; m > 0; m--) {
		const struct front_module *mod = &f->files.modules[m - 1];

		if (mod->stage == MODULE_READY && mod->name &&
		    (!strcmp(mod->name, name) || !strcmp(path_file(mod->path), name)))
			return m;
	}
	return 0;
}

/* Find a module by its file name. Else by the command name of a target, for the file that it
 * executes: redis-server may be a symbolic link. */
static uint32_t module_by_name(const struct front *f, const char *name)
{
	uint32_t found = module_by_file(f, name);

	for (size_t i = 0; !found && i < model_nr_targets(f->stream.model); i++) {
		const struct rec_target *t = model_target(f->stream.model, i);
		const char *file = strrchr(t->exe, '/');

		if (file && !strcmp(t->comm, name))
			found = module_by_file(f, file + 1);
	}
	return found;
}

void watch_ask(struct front *f, struct watch *w, enum parse_type type, struct parse_request *req,
	       void (*done)(void *ctx, uint64_t op, const struct parsed *answer))
{
	const struct parser_reply reply = {done, f, w->op};

	if (!front_ask(f, type, req, &reply))
		watch_refuse(f, w, "%s: cannot be looked up: the parser is not running", w->text);
}

/* The text of a message that ends with a list of functions; NULL: no memory. Free it with free().
 */
static char *text_with_list(struct front *f, const struct watch *w,
			    const struct parsed_functions *list, const char *what)
{
	struct buf b = {.max = 600};

	buf_printf(&b, "%s: %s%s", w->text, what, list->nr ? ": " : "");
	for (uint32_t i = 0; i < list->nr && i < LIST_MAX; i++)
		buf_printf(&b, "%s%s@%s", i ? ", " : "",
			   list->functions[i].function[0] ? list->functions[i].function
							  : list->functions[i].symbol,
			   module_name(f, list->functions[i].module));
	if (list->total > list->nr)
		buf_printf(&b, ", ...");
	return b.data;
}

static void refuse_with_list(struct front *f, struct watch *w, const struct parsed_functions *list,
			     const char *what)
{
	char *text = text_with_list(f, w, list, what);

	watch_refuse_name(f, w, EXIT_USAGE, "%s", text ? text : w->text);
	free(text);
}

/* As names of analysis/module/module_names.h: the body of a coroutine. */
static bool is_body(const char *function)
{
	const char *part = strrchr(function, '.');

	return part && (!strcmp(part, ".actor") || !strcmp(part, ".resume"));
}

static void refuse_ambiguous(struct front *f, struct watch *w, const struct parsed_functions *list)
{
	char *text = text_with_list(
	    f, w, list,
	    any_of(i, list->nr, is_body(list->functions[i].function))
		? "this is a coroutine; give NAME.actor or NAME.resume for its body, or the "
		  "name with its parameters for the function that only makes it"
		: "several functions have this name; give FUNC@MODULE or the full demangled "
		  "name");

	watch_bound_find(f, w, list, text ? text : w->text);
	free(text);
}

static void ifunc_found(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_functions *a = &answer->functions;
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);

	if (!w || w->stage != WATCH_IFUNC)
		return;
	if (!a->nr) {
		watch_refuse(f, w,
			     "%s: selected at load time (IFUNC), and the selected function is not "
			     "known; name that function instead",
			     w->text);
		return;
	}
	w->plans_left = a->nr;
	for (uint32_t i = 0; i < a->nr; i++)
		watch_plan(f, w, a->functions[i].module, a->functions[i].offset);
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
	if (!w->symbol || !w->function) {
		watch_refuse(f, w, "%s: out of memory", w->text);
		return;
	}
	/* main is called once, from an address that only its return shows: arm its exits at
	 * once, because they cost nothing. */
	w->keep_exits |= !strcmp(fn->symbol, "main");
	w->found = true;
	w->nr_sites = 0;
	w->plans_left = 1;
	if (phases_same(f, w, fn->module, fn->offset))
		return;
	/* --open needs only the place of the function, no probe */
	if (f->options->open) {
		w->stage = WATCH_ARMED;
		return;
	}
	if (watch_is_copied(f, w))
		return;
	if (!fn->ifunc) {
		watch_plan(f, w, fn->module, fn->offset);
		return;
	}
	w->stage = WATCH_IFUNC;
	watch_ask(f, w, PARSE_IFUNC, &req, ifunc_found);
}

/* Refuse a function that may be in a file that could not be opened. False: all were opened. */
static bool refuse_for_locked(struct front *f, struct watch *w)
{
	const char *first = NULL;
	uint32_t nr = 0;

	for (uint32_t m = 1; m <= f->files.nr_modules; m++) {
		if (!f->files.modules[m - 1].locked)
			continue;
		first = first ? first : module_name(f, m);
		nr++;
	}
	if (!nr)
		return false;
	watch_refuse_name(f, w, EXIT_NO_ANSWER,
			  "%s: not found, but %u of the target's files could not be read (%s%s): "
			  "its memory is locked or a file system does not respond; try again",
			  w->text, nr, first, nr > 1 ? ", ..." : "");
	return true;
}

/* Code that the target makes at run time, which it has listed in this file; NULL: none is known. */
static const char *generated_code(const struct front *f)
{
	for (uint32_t m = 1; m <= f->files.nr_modules; m++) {
		if (!fnmatch("perf-*.map", module_name(f, m), 0))
			return module_name(f, m);
	}
	return NULL;
}

static void nearest_found(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_functions *a = &answer->functions;
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);
	const char *generated = generated_code(f);
	char what[256];

	if (!w || w->stage != WATCH_NEAREST || refuse_for_locked(f, w))
		return;
	if (generated && !f->over) {
		snprintf(what, sizeof(what),
			 "no such function in a file of the target (code that it makes at run "
			 "time, %s, cannot be probed; peaktop descend -p PID samples it)%s",
			 generated, a->nr ? "; similar names" : "");
		refuse_with_list(f, w, a, what);
		return;
	}
	refuse_with_list(f, w, a,
			 f->over && a->nr ? "not found before the target ended; similar names"
			 : f->over	  ? "not found before the target ended"
			 : a->nr	  ? "no such function; similar names"
					  : "no such function in the target or its libraries");
}

/* Ask for other functions that a name may mean, which no function has. False: no answer will come.
 */
static bool ask_instead(struct front *f, struct watch *w, enum parse_type type, uint32_t max,
			void (*done)(void *ctx, uint64_t op, const struct parsed *answer))
{
	const struct parser_reply reply = {done, f, w->op};
	struct parse_request req = {.text = w->spec.name, .max = max};

	w->stage = type == PARSE_INLINED ? WATCH_INLINED : WATCH_NEAREST;
	if (w->spec.module[0])
		req.module = module_by_name(f, w->spec.module);
	return front_ask(f, type, &req, &reply);
}

static void nearest_ask(struct front *f, struct watch *w)
{
	if (!ask_instead(f, w, PARSE_NEAREST, NEAREST_MAX, nearest_found))
		watch_refuse_name(f, w, EXIT_USAGE,
				  "%s: no such function in the target or its libraries", w->text);
}

static void inlined_found(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_functions *a = &answer->functions;
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);

	if (!w || w->stage != WATCH_INLINED)
		return;
	if (a->nr) {
		refuse_with_list(f, w, a,
				 "exists only inlined; watch the functions into which the compiler "
				 "inlined it");
		return;
	}
	if (a->error == -E2BIG)
		front_message(f,
			      "%s: not all debug information was searched for inlined functions, "
			      "because there is too much",
			      w->text);
	nearest_ask(f, w);
}

static void inlined_ask(struct front *f, struct watch *w)
{
	if (!ask_instead(f, w, PARSE_INLINED, LIST_MAX + 1, inlined_found))
		nearest_ask(f, w);
}

static void found(void *ctx, uint64_t op, const struct parsed *answer)
{
	const struct parsed_functions *a = &answer->functions;
	struct rec_code place;
	struct front *f = ctx;
	struct watch *w = watch_by_op(f, (uint32_t)op);

	if (!w || w->stage != WATCH_FINDING)
		return;
	if (functions_only(a))
		function_found(f, w, functions_only(a));
	else if (!a->nr && saved_descent_place(f, w, &place))
		function_found(f, w,
			       &(struct parsed_function){.module = place.module,
							 .offset = place.offset,
							 .symbol = "",
							 .function = w->spec.name});
	else if (a->nr)
		refuse_ambiguous(f, w, a);
	else if (w->found || (!w->spec.module[0] && f->options->command && !f->going))
		/* a command loads its libraries only after it has started; a file that was replaced
		 * may be loaded again */
		w->stage = WATCH_DORMANT;
	else
		inlined_ask(f, w);
}

void watch_find(struct front *f, struct watch *w)
{
	struct parse_request req = {.text = w->spec.name, .max = LIST_MAX + 1};

	if (w->spec.module[0]) {
		req.module = module_by_name(f, w->spec.module);
		if (!req.module) {
			if (!w->said_waiting)
				front_message(f,
					      "%s: the target has not mapped a file called %s yet; "
					      "waiting for it",
					      w->text, w->spec.module);
			w->said_waiting = true;
			w->stage = WATCH_DORMANT;
			return;
		}
	}
	if (w->spec.kind == OP_OFFSET) {
		w->module = req.module;
		w->offset = w->spec.offset;
		w->function = strdup(w->spec.name);
		w->symbol = strdup("");
		if (!w->symbol || !w->function) {
			watch_refuse(f, w, "%s: out of memory", w->text);
			return;
		}
		if (phases_same(f, w, w->module, w->offset) || watch_is_copied(f, w))
			return;
		watch_plan(f, w, req.module, w->spec.offset);
		return;
	}
	w->stage = WATCH_FINDING;
	watch_ask(f, w, PARSE_FIND, &req, found);
}
