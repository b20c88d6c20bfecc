// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of functions: symbols folded by address, gaps filled from .eh_frame. */

#include "analysis/base/array.h"
#include "analysis/base/hash.h"
#include "analysis/module/module_internal.h"
#include "analysis/module/module_names.h"

enum {
	NAME_CHUNK = 1 << 16,
	MAX_COMPARED = 16,
	/* each is made of a symbol or of an FDE */
	MAX_FUNCTIONS = MODULE_MAX_SYMBOLS + MODULE_MAX_FDES,
};

struct name_chunk {
	struct name_chunk *next;
	size_t used, size;
	char text[];
};

const char *module_keep_name(struct module *m, const char *text, size_t len)
{
	struct name_chunk *c = m->chunks;
	char *copy;

	if (!c || c->size - c->used < len + 1) {
		size_t size = len + 1 > NAME_CHUNK ? len + 1 : NAME_CHUNK;

		if (m->names_used + size > MODULE_MAX_DEMANGLED) {
			m->truncated = true;
			return NULL;
		}
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct name_chunk){m->chunks, 0, size};
		m->chunks = c;
		m->names_used += size;
	}
	copy = c->text + c->used;
	memcpy(copy, text, len);
	copy[len] = 0;
	c->used += len + 1;
	return copy;
}

void module_unload_functions(struct module *m)
{
	struct name_chunk *next;

	for (size_t i = 0; i < TABLE_EXTRA; i++)
		free(m->strings[i].text);
	memset(m->strings, 0, sizeof(m->strings));
	m->go = (struct go_table){0};
	buf_release(&m->extra);
	buf_init(&m->extra, MAX_EXTRA_NAMES);
	free(m->symbols);
	free(m->version_names);
	free(m->slots);
	free(m->functions);
	free(m->parts);
	free(m->parts_by_owner);
	free(m->hash_head);
	free(m->hash_next);
	free(m->names);
	for (; m->chunks; m->chunks = next) {
		next = m->chunks->next;
		free(m->chunks);
	}
	m->symbols = NULL;
	m->version_names = NULL;
	m->slots = NULL;
	m->functions = NULL;
	m->parts = NULL;
	m->parts_by_owner = NULL;
	m->hash_head = m->hash_next = NULL;
	m->names = NULL;
	m->nr_symbols = m->cap_symbols = m->nr_slots = 0;
	m->nr_functions = m->nr_parts = m->hash_size = m->names_used = 0;
	m->functions_loaded = false;
	m->load_error = 0;
}

static int symbol_order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return ascending(x->vaddr, y->vaddr) ?: ascending(x->rank, y->rank)
	       ?: ascending(x->table, y->table) ?: ascending(x->name, y->name);
}

size_t module_symbols_at(const struct module *m, uint64_t vaddr, size_t *first)
{
	size_t low = lower_bound(i, m->nr_symbols, m->symbols[i].vaddr < vaddr), end;

	for (end = low; end < m->nr_symbols && m->symbols[end].vaddr == vaddr; end++)
		;
	*first = low;
	return end - low;
}

const struct module_function *module_function_starting(const struct module *m, uint64_t vaddr)
{
	size_t low = lower_bound(i, m->nr_functions, m->functions[i].vaddr < vaddr);

	if (low == m->nr_functions || m->functions[low].vaddr != vaddr)
		return NULL;
	return &m->functions[low];
}

/* Both lists are walked in order of address. */
struct functions_builder {
	struct module *m;
	size_t cap_functions, cap_parts;
	uint64_t covered; /* end of the code that known functions and parts take */
	int err;
};

static struct module_function *new_function(struct functions_builder *b, uint64_t vaddr)
{
	struct module *m = b->m;
	struct module_function *f;

	if (array_grow(m->functions, m->nr_functions, b->cap_functions, MAX_FUNCTIONS)) {
		b->err = -ENOMEM;
		return NULL;
	}
	f = &m->functions[m->nr_functions++];
	*f = (struct module_function){.vaddr = vaddr};
	module_offset_of(m, vaddr, &f->offset);
	return f;
}

static void new_part(struct functions_builder *b, size_t symbol)
{
	struct module *m = b->m;
	const struct symbol *s = &m->symbols[symbol];

	/* compilers give each part its size; one of no bytes is a lie */
	if (s->size &&
	    array_append(m->parts, m->nr_parts, b->cap_parts, MODULE_MAX_SYMBOLS,
			 (struct function_part){s->vaddr, s->size, (uint32_t)symbol, NO_OWNER}))
		b->err = -ENOMEM;
}

/* Among the first aliases of equal rank: the shortest, then the first by alphabet. */
static size_t best_alias(const struct module *m, size_t first, size_t nr)
{
	const char *best = symbol_name(m, &m->symbols[first]);
	size_t len = strlen(best), at = first, i;

	for (i = first + 1; i < first + nr && i < first + MAX_COMPARED; i++) {
		const char *name;
		size_t n;

		if (m->symbols[i].rank != m->symbols[first].rank)
			break;
		name = symbol_name(m, &m->symbols[i]);
		n = strlen(name);
		if (n < len || (n == len && strcmp(name, best) < 0)) {
			best = name;
			len = n;
			at = i;
		}
	}
	return at;
}

static void set_symbol(struct module *m, struct module_function *f, const struct symbol *s)
{
	f->symbol = symbol_name(m, s);
	f->weak = s->flags & SYM_WEAK;
	f->old_version = s->flags & SYM_OLD_VERSION;
	f->source = s->table == TABLE_EXTRA ? (uint8_t)(s->version - 1) : s->table;
}

/* The symbols [first, first + nr) share an address. A NOTYPE symbol is a label,
 * not a function, unless call frame information starts there; a part is a
 * function only if it has another name too. */
static void add_symbols(struct functions_builder *b, size_t first, size_t nr, const struct fde *fde)
{
	struct module *m = b->m;
	struct module_function *f;
	size_t part = SIZE_MAX, named = SIZE_MAX;
	uint64_t size = 0;

	for (size_t i = first; i < first + nr; i++) {
		const struct symbol *s = &m->symbols[i];

		if (s->flags & SYM_PART)
			part = part == SIZE_MAX ? i : part;
		else if (named == SIZE_MAX && (!(s->flags & SYM_NOTYPE) || fde))
			named = i;
		if (s->size > size && !(s->flags & SYM_NOTYPE))
			size = s->size;
	}
	if (named == SIZE_MAX && part == SIZE_MAX)
		return;
	if (!size && fde)
		size = fde->size;
	if (m->symbols[first].vaddr + size > b->covered)
		b->covered = m->symbols[first].vaddr + (fde && fde->size < size ? fde->size : size);
	if (named == SIZE_MAX) {
		m->symbols[part].size = (uint32_t)size;
		new_part(b, part);
		return;
	}
	f = new_function(b, m->symbols[first].vaddr);
	if (!f)
		return;
	f->size = size;
	f->sized = size != 0;
	set_symbol(m, f, &m->symbols[best_alias(m, named, first + nr - named)]);
	for (size_t i = named; i < first + nr; i++) {
		f->global |= (m->symbols[i].flags & (SYM_GLOBAL | SYM_WEAK)) != 0;
		f->exported |= (m->symbols[i].flags & SYM_DYNAMIC) != 0;
		f->ifunc |= (m->symbols[i].flags & SYM_IFUNC) != 0;
	}
}

/* The cold part of a function begins with its frame set up. The row of its
 * first byte may say otherwise where that byte is a nop put before a landing
 * pad: no instruction of one byte makes a frame larger than a push does. */
static bool begins_with_frame(struct module *m, uint64_t vaddr)
{
	struct cfa cfa;

	if (module_cfa(m, vaddr, &cfa) || cfa.reg != CFA_RSP || cfa.offset != 8)
		return true;
	return module_cfa(m, vaddr + 1, &cfa) == 0 &&
	       (cfa.reg != CFA_RSP || (cfa.offset != 8 && cfa.offset != 16));
}

/* Add a function without a symbol for the bounds in call frame information, unless these bounds
 * lie in a known function, or are an entry of the PLT, a signal trampoline, or the cold part of a
 * function. */
static void add_bounds(struct functions_builder *b, const struct fde *fde)
{
	struct module *m = b->m;
	struct module_fde facts;
	struct module_function *f;

	if (fde->start < b->covered)
		return;
	b->covered = fde->start + fde->size;
	if (module_fde(m, (size_t)(fde - m->fdes), &facts) || facts.signal_frame ||
	    begins_with_frame(m, fde->start) || module_is_import(m, fde->start))
		return;
	f = new_function(b, fde->start);
	if (!f)
		return;
	f->size = fde->size;
	f->sized = true;
	f->source = FUNCTION_EH_FRAME;
}

static int build(struct module *m)
{
	struct functions_builder b = {.m = m};
	size_t s = 0, d = 0;

	while (!b.err && (s < m->nr_symbols || d < m->nr_fdes)) {
		const struct fde *fde = d < m->nr_fdes ? &m->fdes[d] : NULL;
		size_t n;

		if (s == m->nr_symbols || (fde && fde->start < m->symbols[s].vaddr)) {
			add_bounds(&b, fde);
			d++;
			continue;
		}
		for (n = 1; s + n < m->nr_symbols; n++)
			if (m->symbols[s + n].vaddr != m->symbols[s].vaddr)
				break;
		if (fde && fde->start == m->symbols[s].vaddr)
			d++;
		else
			fde = NULL;
		add_symbols(&b, s, n, fde);
		s += n;
	}
	return b.err;
}

/* ---- sizes of functions whose symbols have none ---- */

static uint64_t section_end(const struct image *img, uint64_t vaddr, uint64_t end)
{
	for (size_t i = 1; i < img->nr_sh; i++) {
		const Elf64_Shdr *sh = &img->sh[i];

		if ((sh->sh_flags & SHF_ALLOC) && vaddr >= sh->sh_addr &&
		    vaddr - sh->sh_addr < sh->sh_size && sh->sh_size < end - sh->sh_addr)
			return sh->sh_addr + sh->sh_size;
	}
	return end;
}

static void guess_sizes(struct module *m)
{
	uint64_t end = 0;
	size_t part = m->nr_parts, looked = 0;

	for (size_t i = m->nr_functions; i-- > 0;) {
		struct module_function *f = &m->functions[i];
		const struct module_segment *seg = module_segment_at(m, f->vaddr);
		long fde;

		while (part && m->parts[part - 1].vaddr > f->vaddr)
			part--;
		if (f->size)
			continue;
		fde = module_fde_index(m, f->vaddr);
		if (fde >= 0) {
			f->size = m->fdes[fde].start + m->fdes[fde].size - f->vaddr;
			f->sized = true;
			continue;
		}
		end = seg->vaddr + seg->size;
		if (i + 1 < m->nr_functions && m->functions[i + 1].vaddr < end)
			end = m->functions[i + 1].vaddr;
		if (part < m->nr_parts && m->parts[part].vaddr < end)
			end = m->parts[part].vaddr;
		/* Many sections times many such symbols: only in a file made to be slow. */
		if (looked < 64 << 20)
			end = section_end(&m->image, f->vaddr, end);
		looked += m->image.nr_sh;
		f->size = end - f->vaddr;
	}
}

uint32_t name_hash(const char *s, size_t n)
{
	uint64_t hash = hash_bytes(s, n);

	return (uint32_t)(hash ^ hash >> 32);
}

static int build_hash(struct module *m)
{
	size_t size = 1024;

	while (size < m->nr_symbols)
		size *= 2;
	m->hash_head = calloc(size, sizeof(*m->hash_head));
	m->hash_next = calloc(m->nr_symbols + 1, sizeof(*m->hash_next));
	if (!m->hash_head || !m->hash_next)
		return -ENOMEM;
	m->hash_size = size;
	for (size_t i = m->nr_symbols; i-- > 0;) {
		const struct symbol *s = &m->symbols[i];
		const char *name = symbol_name(m, s);
		size_t len = s->flags & SYM_CLONE ? name_base_length(name) : strlen(name);
		uint32_t *head = &m->hash_head[name_hash(name, len) & (size - 1)];

		m->hash_next[i] = *head;
		*head = (uint32_t)i + 1;
	}
	return 0;
}

int module_load_functions(struct module *m)
{
	int err;

	if (m->functions_loaded || m->load_error)
		return m->load_error;
	err = m->is_perf_map ? module_perf_map_functions(m) : module_load_symbols(m);
	if (!err && !m->is_perf_map) {
		module_load_frames(m);
		module_load_slots(m);
		if (m->nr_symbols)
			qsort(m->symbols, m->nr_symbols, sizeof(*m->symbols), symbol_order);
		err = build(m);
		if (!err)
			guess_sizes(m);
	}
	if (!err)
		err = build_hash(m);
	if (!err)
		err = module_assign_parts(m);
	if (!err) {
		m->names = calloc(m->nr_functions + 1, sizeof(*m->names));
		err = m->names ? 0 : -ENOMEM;
	}
	if (err) {
		m->truncated = true;
		module_unload_functions(m);
	}
	m->functions_loaded = !err;
	m->load_error = err; /* trying again with every call would be slow */
	return err;
}
