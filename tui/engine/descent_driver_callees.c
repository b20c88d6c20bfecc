// SPDX-License-Identifier: GPL-2.0-or-later
/* The call sites that the parser finds in functions; their imports are looked up in the other
 * modules. */

#include "analysis/base/array.h"
#include "analysis/base/syscall_names.h"
#include "analysis/descent/imports.h"
#include "tui/engine/descent_driver_private.h"

enum { FIND_MAX = 16 };

static struct callees *function_at(const struct descent_driver *d, struct rec_code function)
{
	return find_first(i, d->functions, d->nr_functions,
			  code_equal(d->functions[i].function, function));
}

const struct parsed_call_site *callees_site(const struct descent_driver *d, struct rec_code site)
{
	for (size_t i = 0; i < d->nr_functions; i++) {
		const struct callees *c = &d->functions[i];
		size_t low;

		if (c->function.module != site.module)
			continue;
		low = lower_bound(at, c->nr, c->sites[at].offset < site.offset);
		if (low < c->nr && c->sites[low].offset == site.offset)
			return &c->sites[low];
	}
	return NULL;
}

/* ---- reporting callees to the state machine ---- */

static struct rec_call_site reported_site(const struct descent_driver *d, const struct callees *c,
					  uint32_t i)
{
	const struct parsed_call_site *s = &c->sites[i];
	struct rec_call_site out = {.offset = s->offset,
				    .ret = s->ret,
				    .kind = s->kind,
				    .flags = s->flags,
				    .block = s->block};

	if (s->known)
		out.callee = (struct rec_code){c->function.module, s->callee};
	else if (c->import[i])
		out.callee = d->imports[c->import[i] - 1].code;
	return out;
}

static bool imports_known(const struct descent_driver *d, const struct callees *c)
{
	return !any_of(i, c->nr,
		       c->import[i] && d->imports[c->import[i] - 1].state == LOOKUP_ASKED);
}

/* Feed REC_CALLEES. feed() may reallocate d->functions: do not use `c` afterwards. */
static void feed_callees(struct descent_driver *d, struct callees *c)
{
	struct rec_call_site *sites = calloc(c->nr + 1, sizeof(*sites));
	struct record rec = {.type = REC_CALLEES};

	c->reported = true;
	rec.callees =
	    (struct rec_callees){.function = c->function, .error = c->error, .total = c->total};
	if (!sites)
		rec.callees.error = -ENOMEM;
	for (uint32_t i = 0; sites && i < c->nr; i++)
		sites[i] = reported_site(d, c, i);
	if (sites)
		rec.callees.nr_sites = c->nr;
	rec.callees.sites = sites;
	d->host.feed(d->host.ctx, &rec);
	free(sites);
}

static void report_failure(struct descent_driver *d, struct rec_code function, int error)
{
	struct record rec = {.type = REC_CALLEES};

	rec.callees = (struct rec_callees){.function = function, .error = error};
	d->host.feed(d->host.ctx, &rec);
}

/* Report every function whose call sites and imports are all known now. */
static void report_ready(struct descent_driver *d)
{
	for (size_t i = 0; i < d->nr_functions; i++) {
		struct callees *c = &d->functions[i];

		if (c->state == LOOKUP_KNOWN && !c->reported && imports_known(d, c))
			feed_callees(d, c);
	}
}

/* The parser cannot name a system call, so its name is fed here. */
static void feed_syscall_name(struct descent_driver *d, struct rec_code function)
{
	const char *known = syscall_name((unsigned int)(function.offset & ~REC_KERNEL_CALL));
	struct record symbol = {.type = REC_SYMBOL};
	char name[64];

	snprintf(name, sizeof(name), known ? "syscall:%s" : "syscall:%.0s%u", known ? known : "",
		 (unsigned int)(function.offset & ~REC_KERNEL_CALL));
	symbol.symbol = (struct rec_symbol){.module = function.module,
					    .offset = function.offset,
					    .symbol = "",
					    .function = name,
					    .file = ""};
	d->host.feed(d->host.ctx, &symbol);
}

/* Report a call of the kernel: it has no call sites. */
static void report_kernel(struct descent_driver *d, struct rec_code function)
{
	struct record rec = {.type = REC_CALLEES};

	if (function.offset & REC_KERNEL_CALL)
		feed_syscall_name(d, function);
	rec.callees.function = function;
	d->host.feed(d->host.ctx, &rec);
}

static void answer_sites(void *ctx, uint64_t index, const struct parsed *answer);

void callees_want(struct descent_driver *d, struct rec_code function)
{
	const struct parser_reply reply = {answer_sites, d, d->nr_functions};
	struct parse_request req = {.module = function.module, .offset = function.offset};
	bool asked = false;
	struct callees *c = function_at(d, function);
	int err;

	if (function.module == REC_KERNEL_MODULE) {
		report_kernel(d, function);
		return;
	}
	if (c) {
		if (c->state == LOOKUP_KNOWN && imports_known(d, c))
			feed_callees(d, c);
		return;
	}
	err = array_grow(d->functions, d->nr_functions, d->cap_functions, DRIVER_MAX_FUNCTIONS);
	req.text = "";
	if (!err) {
		d->functions[d->nr_functions] = (struct callees){.function = function};
		asked = d->host.ask(d->host.ctx, PARSE_CALL_SITES, &req, &reply);
	}
	if (!asked)
		report_failure(d, function, err ? -ENOMEM : -EPIPE);
	else
		d->nr_functions++;
}

static void answer_import(void *ctx, uint64_t index, const struct parsed *answer);

/* The number of an import (from 1), which is requested if it is new. 0: no import, or no room. */
static uint32_t import_want(struct descent_driver *d, const char *name)
{
	const struct parser_reply reply = {answer_import, d, d->nr_imports};
	struct parse_request req = {.text = name, .max = FIND_MAX};
	struct import *m;

	if (!name[0])
		return 0;
	for (size_t i = 0; i < d->nr_imports; i++) {
		if (!strcmp(d->imports[i].name, name))
			return (uint32_t)i + 1;
	}
	if (array_grow(d->imports, d->nr_imports, d->cap_imports, DRIVER_MAX_IMPORTS))
		return 0;
	m = &d->imports[d->nr_imports];
	*m = (struct import){.name = strdup(name)};
	if (!m->name)
		return 0;
	if (!d->host.ask(d->host.ctx, PARSE_FIND, &req, &reply))
		m->state = LOOKUP_KNOWN;
	return (uint32_t)++d->nr_imports;
}

static int sites_copy(struct descent_driver *d, struct callees *c,
		      const struct parsed_call_sites *a)
{
	c->sites = calloc(a->nr + 1, sizeof(*c->sites));
	c->import = calloc(a->nr + 1, sizeof(*c->import));
	if (!c->sites || !c->import)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->nr; i++) {
		c->sites[i] = a->sites[i];
		c->import[i] = import_want(d, a->sites[i].import);
		c->sites[i].import = c->import[i] ? d->imports[c->import[i] - 1].name : "";
	}
	c->nr = a->nr;
	return 0;
}

static void answer_sites(void *ctx, uint64_t index, const struct parsed *answer)
{
	const struct parsed_call_sites *a = &answer->call_sites;
	struct descent_driver *d = ctx;
	struct callees *c = &d->functions[index];

	c->state = LOOKUP_KNOWN;
	c->error = a->error;
	c->total = a->total;
	if (!c->error)
		c->error = sites_copy(d, c, a);
	report_ready(d);
}

static void answer_import(void *ctx, uint64_t index, const struct parsed *answer)
{
	const struct parsed_functions *a = &answer->functions;
	struct import_definition list[FIND_MAX];
	struct descent_driver *d = ctx;
	struct import *m = &d->imports[index];
	uint32_t nr = a->nr < FIND_MAX ? a->nr : FIND_MAX;

	for (uint32_t i = 0; i < nr; i++) {
		const struct parsed_function *f = &a->functions[i];

		list[i] = (struct import_definition){.code = {f->module, f->offset},
						     .module = driver_module(d, f->module),
						     .exported = f->exported,
						     .ifunc = f->ifunc};
	}
	m->state = LOOKUP_KNOWN;
	m->code = import_resolve(list, nr);
	report_ready(d);
}

static void answer_entry(void *ctx, uint64_t index, const struct parsed *answer);

const struct rec_site *entry_want(struct descent_driver *d, struct rec_code function, bool *wait)
{
	const struct parser_reply reply = {answer_entry, d, d->nr_entries};
	struct parse_request req = {
	    .module = function.module, .offset = function.offset, .op = d->ask.op, .text = ""};

	for (size_t i = 0; i < d->nr_entries; i++) {
		const struct entry *e = &d->entries[i];

		if (!code_equal(e->function, function))
			continue;
		*wait = e->state == LOOKUP_ASKED;
		return e->valid ? &e->site : NULL;
	}
	if (array_grow(d->entries, d->nr_entries, d->cap_entries, DRIVER_MAX_ENTRIES))
		return NULL;
	d->entries[d->nr_entries] = (struct entry){.function = function};
	if (!d->host.ask(d->host.ctx, PARSE_PLAN, &req, &reply))
		return NULL;
	d->nr_entries++;
	*wait = true;
	return NULL;
}

static void answer_entry(void *ctx, uint64_t index, const struct parsed *answer)
{
	const struct parsed_plan *a = &answer->plan;
	struct descent_driver *d = ctx;
	struct entry *e = &d->entries[index];

	e->state = LOOKUP_KNOWN;
	for (uint32_t i = 0; !a->error && i < a->nr_sites; i++) {
		if (a->sites[i].role == SITE_ENTRY) {
			e->site = a->sites[i];
			e->valid = true;
		}
	}
	driver_arm(d);
}

void callees_release(struct descent_driver *d)
{
	for (size_t i = 0; i < d->nr_functions; i++) {
		free(d->functions[i].sites);
		free(d->functions[i].import);
	}
	for (size_t i = 0; i < d->nr_imports; i++)
		free(d->imports[i].name);
	free(d->functions);
	free(d->imports);
	free(d->entries);
}
