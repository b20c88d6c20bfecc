// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the places in a result: requested from the parser, stored in the stream as REC_SYMBOL.
 */

#include "analysis/base/array.h"
#include "analysis/base/path.h"
#include "analysis/session/record_codec.h"
#include "analysis/session/record_copy.h"
#include "tui/engine/descent_driver_private.h"

static size_t place_of(const struct descent_driver *d, uint32_t module, uint64_t offset)
{
	const struct rec_code place = {.module = module, .offset = offset};

	return lower_bound(i, d->nr_symbols,
			   code_is_before((struct rec_code){.module = d->symbols[i].module,
							    .offset = d->symbols[i].offset},
					  place));
}

static struct driver_symbol *lookup(const struct descent_driver *d, uint32_t module,
				    uint64_t offset)
{
	size_t i = place_of(d, module, offset);

	if (i < d->nr_symbols && d->symbols[i].module == module && d->symbols[i].offset == offset)
		return &d->symbols[i];
	return NULL;
}

const struct driver_symbol *driver_symbol(const struct descent_driver *d, uint32_t module,
					  uint64_t offset)
{
	const struct driver_symbol *s = lookup(d, module, offset);

	return s && s->function ? s : NULL;
}

int driver_symbols(const struct descent_driver *d, int (*emit)(void *ctx, const struct record *rec),
		   void *ctx)
{
	struct record rec = {.type = REC_SYMBOL};
	int err = 0;

	for (size_t i = 0; i < d->nr_symbols && !err; i++) {
		if (!d->symbols[i].copy)
			continue;
		rec.symbol = *d->symbols[i].copy;
		err = emit(ctx, &rec);
	}
	return err;
}

/* The table entry of a place; creates one if there is none. Its texts are NULL until REC_SYMBOL
 * arrives. */
static struct driver_symbol *entry_of(struct descent_driver *d, uint32_t module, uint64_t offset)
{
	struct driver_symbol *s = lookup(d, module, offset);
	size_t i = place_of(d, module, offset);

	if (s)
		return s;
	return array_insert(d->symbols, i, d->nr_symbols, d->cap_symbols, DRIVER_MAX_SYMBOLS,
			    (struct driver_symbol){.module = module, .offset = offset})
		   ? NULL
		   : &d->symbols[i];
}

void names_symbol(struct descent_driver *d, const struct rec_symbol *r)
{
	struct driver_symbol *s = entry_of(d, r->module, r->offset);

	if (!s)
		return;
	free(s->copy);
	s->copy = struct_copy(&rec_symbol_layout, r);
	s->symbol = s->copy ? s->copy->symbol : NULL;
	s->function = s->copy ? s->copy->function : NULL;
	s->file = s->copy ? s->copy->file : NULL;
	s->line = r->line;
}

static void module_release(struct driver_module *m)
{
	free(m->name);
	free(m->id.path);
	free(m->id.build_id);
}

char *driver_module_label(const struct rec_module *m)
{
	const char *name = m->name && m->name[0] ? m->name : path_file(m->path);

	return strndup(name, path_length(name));
}

void names_module(struct descent_driver *d, const struct rec_module *m)
{
	struct driver_module *mod;

	if (!m->module || m->module > DRIVER_MAX_MODULES)
		return;
	if (array_fit_zeroed(d->modules, m->module, d->cap_modules, DRIVER_MAX_MODULES))
		return;
	if (m->module > d->nr_modules)
		d->nr_modules = m->module;
	mod = &d->modules[m->module - 1];
	module_release(mod);
	*mod = (struct driver_module){.name = driver_module_label(m),
				      .id = {.path = strdup(m->path), .size = m->size}};
}

void names_build_id(struct descent_driver *d, const struct rec_build_id *b)
{
	struct driver_module *mod;

	if (!b->module || b->module > d->nr_modules)
		return;
	mod = &d->modules[b->module - 1];
	free(mod->id.build_id);
	mod->id.build_id = strdup(b->build_id);
}

void names_kernel(struct descent_driver *d, const struct rec_meta *m)
{
	free(d->kernel);
	d->kernel = m->kernel[0] ? strdup(m->kernel) : NULL;
}

const char *driver_kernel(const struct descent_driver *d)
{
	return d->kernel;
}

uint32_t driver_nr_modules(const struct descent_driver *d)
{
	return d->nr_modules;
}

const struct module_origin *driver_module_identity(const struct descent_driver *d, uint32_t module)
{
	return module && module <= d->nr_modules && d->modules[module - 1].id.path
		   ? &d->modules[module - 1].id
		   : NULL;
}

const char *driver_module(const struct descent_driver *d, uint32_t module)
{
	const char *name = module && module <= d->nr_modules ? d->modules[module - 1].name : NULL;

	if (module == REC_KERNEL_MODULE)
		return "[kernel]";
	return name ? name : "";
}

const char *driver_function(const struct descent_driver *d, const struct descent_fnode *n,
			    char *out, size_t size)
{
	const struct rec_code *f = &n->function, *at = &n->site;
	const struct driver_symbol *s = f->module ? driver_symbol(d, f->module, f->offset) : NULL;

	/* A function without a symbol takes the name of the import that was called, e.g. the choice
	 * of an IFUNC in a stripped library. */
	if (!s || !s->symbol[0]) {
		const struct driver_symbol *import =
		    driver_symbol(d, at->module, at->offset | DRIVER_CALLEE_OF);

		s = import ? import : s;
	}
	if (s && s->function[0])
		snprintf(out, size, "%s", s->function);
	else if (f->module)
		snprintf(out, size, "%s+0x%" PRIx64, driver_module(d, f->module), f->offset);
	else
		snprintf(out, size, "(unknown function)");
	return out;
}

/* Note a place whose name is needed, unless the stream had it already. */
static void want(struct descent_driver *d, struct rec_code code)
{
	if (!lookup(d, code.module, code.offset))
		name_requests_want(d->names, code);
}

struct rec_code driver_frame_place(const struct rec_frame *f, bool innermost)
{
	/* of the kernel only the names of functions are known */
	if (f->module == REC_KERNEL_MODULE)
		return (struct rec_code){f->module, f->function};
	/* A return address may already belong to the next source line or function. */
	return (struct rec_code){f->module, f->offset && !innermost ? f->offset - 1 : f->offset};
}

static void want_wait(struct descent_driver *d, const struct hop *h)
{
	for (uint32_t i = 0; h && i < h->nr_frames; i++)
		want(d, driver_frame_place(&h->frame[i], i + 1 == h->nr_frames));
}

/* If a fnode's call site calls an import, store the import's name for the site's callee. */
static void name_import(struct descent_driver *d, const struct descent_fnode *n)
{
	const struct parsed_call_site *s = callees_site(d, n->site);
	struct record rec = {.type = REC_SYMBOL};

	if (!s || !s->import[0] || lookup(d, n->site.module, n->site.offset | DRIVER_CALLEE_OF))
		return;
	rec.symbol = (struct rec_symbol){.module = n->site.module,
					 .offset = n->site.offset | DRIVER_CALLEE_OF,
					 .symbol = s->import,
					 .function = s->import,
					 .file = ""};
	d->host.feed(d->host.ctx, &rec);
}

/* Note the places whose names an answer needs. True: no request for inlined calls is outstanding.
 */
static bool names_want(struct descent_driver *d, const struct descent_result *r,
		       const struct hops *hops)
{
	for (uint32_t i = 0; i < r->nr_nodes; i++) {
		name_import(d, &r->nodes[i]);
		want(d, r->nodes[i].function);
		want(d, r->nodes[i].site);
	}
	for (uint32_t i = 0; i < r->nr_paths; i++) {
		const struct descent_path *p = &r->paths[i];

		for (uint32_t j = 0; j < p->nr_pcs; j++)
			want(d, p->pcs[j].place);
		for (uint32_t j = 0; j < p->nr_below; j++)
			want(d, p->below[j].function);
		want_wait(d, hops_find(hops, r, p));
	}
	for (uint32_t i = 0; i < r->sampled.nr; i++)
		want(d, r->sampled.function[i].function);
	for (uint32_t i = 0; i < r->nr_callers; i++) {
		for (uint32_t j = 0; j < r->callers[i].nr_frames; j++) {
			const struct rec_frame *f = &r->callers[i].frame[j];

			want(d, (struct rec_code){f->module, f->function});
			/* the call instruction, not the return address */
			want(d, (struct rec_code){f->module, f->offset - 1});
		}
	}
	return inlines_ask(d, r);
}

static int want_saved(void *ctx, const struct record *rec)
{
	if (rec->type == REC_FNODE)
		want(ctx, rec->fnode.callee);
	return 0;
}

bool driver_names(struct descent_driver *d)
{
	struct descent_result r;
	bool settled;

	if (!d->live || !d->asked || descent_result(d->descent, &r))
		return true;
	/* a resume in another build needs the names of all functions, also of those that no answer
	 * shows */
	descent_save(d->descent, want_saved, d);
	settled = names_want(d, &r, d->hops);
	descent_result_release(&r);
	for (uint32_t i = 0; d->parts && i < d->parts->all.nr_parts; i++) {
		const struct driver_part *p = &d->parts->over[i];

		if (p->hops)
			settled = names_want(d, &p->result, p->hops) && settled;
	}
	return name_requests_send(d->names) && settled;
}

void names_release(struct descent_driver *d)
{
	free(d->kernel);
	name_requests_free(d->names);
	for (size_t i = 0; i < d->nr_symbols; i++)
		free(d->symbols[i].copy);
	for (uint32_t i = 0; i < d->nr_modules; i++)
		module_release(&d->modules[i]);
	free(d->symbols);
	free(d->modules);
}
