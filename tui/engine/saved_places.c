// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/engine/saved_places.h"

#include "analysis/base/array.h"
#include "analysis/base/path.h"
#include "analysis/parser/functions.h"

enum { MAX_FUNCTIONS = DESCENT_MAX_NODES, MAX_SAME_NAME = 16 };

struct module_here {
	uint32_t number; /* in this run; 0: none */
	bool rebuilt;
};

/* A function of a module that was built anew. */
struct function_here {
	struct rec_code was, is; /* is.module 0: gone, or not answered yet */
	bool asked, exists;	 /* its name; one or more functions have it */
};

struct saved_places {
	const struct descent_driver *saved;
	struct module_here *module; /* by number there - 1 */
	bool kernel_is_same;
	struct function_here *function;
	size_t nr, cap;
	size_t asked; /* without an answer */
};

bool module_name_is_same(const char *path, const char *other)
{
	const char *a = path_file(path), *b = path_file(other);
	size_t n = path_length(a);

	return n == path_length(b) && !memcmp(a, b, n);
}

bool module_is_same(const struct module_origin *a, const struct module_origin *b)
{
	if (a->build_id && b->build_id)
		return !strcmp(a->build_id, b->build_id);
	return a->size == b->size && module_name_is_same(a->path, b->path);
}

struct saved_places *saved_places_new(const struct descent_driver *saved)
{
	struct saved_places *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->saved = saved;
	p->module = calloc((size_t)driver_nr_modules(saved) + 1, sizeof(*p->module));
	if (!p->module) {
		free(p);
		return NULL;
	}
	return p;
}

void saved_places_free(struct saved_places *p)
{
	if (!p)
		return;
	free(p->module);
	free(p->function);
	free(p);
}

static struct module_here find_module(const struct descent_driver *live,
				      const struct module_origin *wanted)
{
	struct module_here found = {0, true};

	for (uint32_t m = 1; wanted && m <= driver_nr_modules(live); m++) {
		const struct module_origin *id = driver_module_identity(live, m);

		if (id && module_is_same(id, wanted))
			return (struct module_here){m, false};
		/* of several, the last one: those before may have been replaced while it ran */
		if (id && module_name_is_same(id->path, wanted->path))
			found.number = m;
	}
	found.rebuilt = found.number;
	return found;
}

void saved_places_modules(struct saved_places *p, const struct descent_driver *live)
{
	const char *was = driver_kernel(p->saved), *is = driver_kernel(live);

	p->kernel_is_same = was && is && !strcmp(was, is);
	for (uint32_t m = 1; m <= driver_nr_modules(p->saved); m++)
		p->module[m - 1] = find_module(live, driver_module_identity(p->saved, m));
}

/* NULL: a number of no module, or of the kernel. */
static const struct module_here *module_of(const struct saved_places *p, uint32_t saved)
{
	return saved && saved <= driver_nr_modules(p->saved) ? &p->module[saved - 1] : NULL;
}

/* The module of this run; 0: none. Another kernel has its functions elsewhere. */
static uint32_t number_here(const struct saved_places *p, uint32_t saved)
{
	if (saved == REC_KERNEL_MODULE)
		return p->kernel_is_same ? saved : 0;
	return module_of(p, saved) ? module_of(p, saved)->number : 0;
}

bool saved_places_is_rebuilt(const struct saved_places *p, uint32_t saved)
{
	return module_of(p, saved) && module_of(p, saved)->rebuilt;
}

static struct function_here *lookup(const struct saved_places *p, struct rec_code was)
{
	for (size_t i = 0; i < p->nr; i++) {
		if (code_equal(p->function[i].was, was))
			return &p->function[i];
	}
	return NULL;
}

static void found(void *ctx, uint64_t index, const struct parsed *answer)
{
	struct saved_places *p = ctx;
	const struct parsed_function *only = functions_only(&answer->functions);

	p->asked--;
	p->function[index].exists = answer->functions.nr > 0;
	if (only)
		p->function[index].is = (struct rec_code){only->module, only->offset};
}

void saved_places_want(struct saved_places *p, struct rec_code was, const struct driver_host *host)
{
	const struct driver_symbol *name = driver_symbol(p->saved, was.module, was.offset);
	const struct parser_reply reply = {found, p, p->nr};
	struct parse_request req = {.module = number_here(p, was.module), .max = MAX_SAME_NAME};

	if (!saved_places_is_rebuilt(p, was.module) || lookup(p, was) ||
	    array_grow(p->function, p->nr, p->cap, MAX_FUNCTIONS))
		return;
	p->function[p->nr++] = (struct function_here){.was = was};
	if (!name || !name->symbol[0])
		return;
	req.text = name->symbol;
	if (!host->ask(host->ctx, PARSE_FIND, &req, &reply))
		return;
	p->function[p->nr - 1].asked = true;
	p->asked++;
}

bool saved_places_ready(const struct saved_places *p)
{
	return !p->asked;
}

unsigned int saved_places_found(const struct saved_places *p, struct rec_code but, unsigned int *of)
{
	unsigned int here = 0;

	*of = 0;
	for (size_t i = 0; i < p->nr; i++) {
		const struct function_here *f = &p->function[i];

		if (!f->asked || f->was.module != but.module || code_equal(f->was, but))
			continue;
		++*of;
		here += f->exists;
	}
	return here;
}

bool saved_places_function(const struct saved_places *p, struct rec_code *c)
{
	uint32_t module = number_here(p, c->module);
	const struct function_here *here;

	if (code_is_syscall(*c))
		return true;
	if (c->module && !module)
		return false;
	if (!saved_places_is_rebuilt(p, c->module)) {
		c->module = module;
		return true;
	}
	here = lookup(p, *c);
	if (!here || !here->is.module)
		return false;
	*c = here->is;
	return true;
}

bool saved_places_site(const struct saved_places *p, struct rec_code caller, struct rec_code *site)
{
	struct rec_code now = caller;

	if (!saved_places_function(p, &now))
		return false;
	if (site->module != caller.module) /* f0 is a system call, or damaged */
		return saved_places_function(p, site);
	*site = (struct rec_code){now.module, site->offset - caller.offset + now.offset};
	return true;
}
