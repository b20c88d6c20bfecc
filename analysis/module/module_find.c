// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions by name and by address. */
#include <ctype.h>

#include "analysis/base/array.h"
#include "analysis/module/module_internal.h"
#include "analysis/module/module_names.h"

enum {
	MAX_MATCHES = 1 << 16,
	FIND_DEMANGLES = 1 << 20, /* at most in one module_find() */
	SEARCH_DEMANGLES = 20000, /* at most in one module_search(): some 50 ms */
	SEARCH_TEXT = 128 << 20,  /* bytes looked at in one module_search() */
};

size_t module_nr_functions(struct module *m)
{
	return module_load_functions(m) ? 0 : m->nr_functions;
}

const struct module_function *module_function(struct module *m, size_t i)
{
	if (module_load_functions(m) || i >= m->nr_functions)
		return NULL;
	return &m->functions[i];
}

const char *function_source_name(enum function_source s)
{
	static const char *const names[FUNCTION_SOURCES] = {"symtab",	 "dynsym",    "debug",
							    "debugdata", "gopclntab", "eh_frame"};

	return s < FUNCTION_SOURCES ? names[s] : "unknown";
}

/* ---- names of a function ---- */

static void bounds_name(const struct module *m, const struct module_function *f, char *out,
			size_t size)
{
	snprintf(out, size, "%s+0x%llx", m->name ? m->name : "", (unsigned long long)f->vaddr);
}

/* Version of the symbol that `f` is called by. */
static const char *primary_version(const struct module *m, const struct module_function *f)
{
	size_t first, nr = module_symbols_at(m, f->vaddr, &first), i;

	for (i = first; i < first + nr; i++)
		if (symbol_name(m, &m->symbols[i]) == f->symbol)
			return symbol_version(m, &m->symbols[i]);
	return "";
}

/* The name of a part of a coroutine as it can be given: "ns::handle.actor". False: it is none. */
static bool coroutine_name(const char *symbol, char text[NAME_MAX_TEXT])
{
	const char *part = name_coroutine_part(symbol);
	char base[NAME_MAX_TEXT];
	size_t n;

	if (!part || !name_is_mangled(symbol) || part - symbol >= NAME_MAX_TEXT)
		return false;
	snprintf(base, sizeof(base), "%.*s", (int)(part - symbol), symbol);
	if (!name_demangle(base, NAME_SHORT, text))
		return false;
	n = strlen(text);
	snprintf(text + n, NAME_MAX_TEXT - n, "%s", part);
	return true;
}

const char *module_function_name(struct module *m, const struct module_function *f)
{
	const char **name = &m->names[f - m->functions];
	char text[NAME_MAX_TEXT];

	if (*name)
		return *name;
	if (!f->symbol)
		bounds_name(m, f, text, sizeof(text));
	else if (coroutine_name(f->symbol, text))
		;
	else if (!name_demangle(f->symbol, NAME_FULL, text) && !f->old_version)
		return f->symbol;
	if (f->old_version)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s@%s",
			 text[0] ? "" : f->symbol, primary_version(m, f));
	*name = module_keep_name(m, text, strlen(text));
	if (*name)
		return *name;
	return f->symbol ? f->symbol : "?";
}

const char *module_alias(struct module *m, const struct module_function *f, size_t i)
{
	size_t first, nr = module_symbols_at(m, f->vaddr, &first), at, before, seen = 0;

	for (at = first; at < first + nr; at++) {
		const struct symbol *s = &m->symbols[at];
		const char *name = symbol_name(m, s);
		bool again = false;

		if (s->flags & SYM_PART)
			continue;
		/* .symtab and .dynsym have the same names; few functions have more than some. */
		for (before = at; before-- > first && at - before < 64 && !again;)
			again = strcmp(symbol_name(m, &m->symbols[before]), name) == 0;
		if (!again && seen++ == i)
			return name;
	}
	return NULL;
}

/* Better ones hide the worse. */
enum match { LINKAGE, LINKAGE_OLD, DEMANGLED, DEMANGLED_OLD, DELETING, CLONE, NO_MATCH };

struct finder {
	struct module *m;
	char linkage[NAME_MAX_TEXT]; /* the name without version */
	char part[16];		     /* find_demangled(): of coroutines of this name; "": any */
	const char *version;	     /* NULL: any */
	bool default_only;	     /* "@@" */
	enum match best;
	uint32_t *found; /* indexes of functions */
	size_t nr, cap;
	size_t budget;
	int err;
};

static void take_match(struct finder *s, const struct symbol *sym, enum match how)
{
	const struct module_function *f = module_function_starting(s->m, sym->vaddr);

	if (!f || how > s->best)
		return;
	if (how < s->best) {
		s->best = how;
		s->nr = 0;
	}
	if (s->nr < MAX_MATCHES &&
	    array_append(s->found, s->nr, s->cap, MAX_MATCHES, (uint32_t)(f - s->m->functions)))
		s->err = -ENOMEM;
}

static bool version_fits(const struct finder *s, const struct symbol *sym)
{
	if (!s->version)
		return true;
	if (s->default_only && (sym->flags & SYM_OLD_VERSION))
		return false;
	return strcmp(symbol_version(s->m, sym), s->version) == 0;
}

static void find_linkage(struct finder *s)
{
	const struct module *m = s->m;
	size_t len = strlen(s->linkage), base = name_base_length(s->linkage);
	uint32_t i = m->hash_head[name_hash(s->linkage, base) & (m->hash_size - 1)];

	for (; i; i = m->hash_next[i - 1]) {
		const struct symbol *sym = &m->symbols[i - 1];
		const char *name = symbol_name(m, sym);
		bool old = !s->version && (sym->flags & SYM_OLD_VERSION);

		if ((sym->flags & SYM_PART) || !version_fits(s, sym))
			continue;
		if (strcmp(name, s->linkage) == 0)
			take_match(s, sym, old ? LINKAGE_OLD : LINKAGE);
		else if ((sym->flags & SYM_CLONE) && strncmp(name, s->linkage, len) == 0 &&
			 name_base_length(name) == len)
			take_match(s, sym, CLONE);
	}
}

bool name_is_called(const char *symbol, const char *text)
{
	char name[NAME_MAX_TEXT];

	if (!name_demangle(symbol, NAME_SHORT, name))
		return false;
	if (name_same(name, text))
		return true;
	if (!strchr(text, '('))
		return false;
	if (name_demangle(symbol, NAME_FULL, name) && name_same(name, text))
		return true;
	return strchr(text, ' ') && name_demangle(symbol, NAME_RETURNING, name) &&
	       name_same(name, text);
}

/* Whether the demangled name of a symbol, without clone suffixes, is the one looked for. */
static bool is_called(struct finder *s, const char *symbol, size_t base)
{
	char copy[NAME_MAX_TEXT];

	memcpy(copy, symbol, base);
	copy[base] = 0;
	if (!s->budget) {
		s->err = -E2BIG;
		return false;
	}
	s->budget--;
	return name_is_called(copy, s->linkage);
}

/* A name alone means a coroutine and its parts; with parameters, it means the former. */
static bool is_wanted_part(const struct finder *s, const char *symbol)
{
	const char *part = name_coroutine_part(symbol);

	if (!s->part[0])
		return !part || !strchr(s->linkage, '(');
	return part && name_same_coroutine_part(part, s->part);
}

/* Length of a symbol without what was added to the name of the source. */
static size_t length_of(const struct symbol *sym, const char *symbol)
{
	const char *part = name_coroutine_part(symbol);

	if (part)
		return (size_t)(part - symbol);
	return sym->flags & SYM_CLONE ? name_base_length(symbol) : strlen(symbol);
}

/* A coroutine's part is looked for by the name of the coroutine and its own. */
static void split_part(struct finder *s)
{
	const char *part = name_coroutine_part(s->linkage);

	if (!part)
		return;
	snprintf(s->part, sizeof(s->part), "%s", part);
	s->linkage[part - s->linkage] = 0;
}

static void find_demangled(struct finder *s)
{
	const struct module *m = s->m;
	char witness[NAME_MAX_TEXT];
	size_t len;
	const char *w = name_witness(s->linkage, true, &len);

	if (w)
		memcpy(witness, w, len);
	witness[w ? len : 0] = 0;
	for (size_t i = 0; i < m->nr_symbols && !s->err; i++) {
		const struct symbol *sym = &m->symbols[i];
		const char *name = symbol_name(m, sym);
		enum match how = DEMANGLED;

		if ((sym->flags & SYM_PART) || !name_is_mangled(name) || !strstr(name, witness))
			continue;
		if (!is_wanted_part(s, name) || !is_called(s, name, length_of(sym, name)) ||
		    !version_fits(s, sym))
			continue;
		if (sym->flags & SYM_CLONE)
			how = CLONE;
		else if (name_is_deleting_destructor(name))
			how = DELETING;
		else if (!s->version && (sym->flags & SYM_OLD_VERSION))
			how = DEMANGLED_OLD;
		take_match(s, sym, how);
	}
}

/* "libc.so.6+0x1234" or "+0x1234": the function that starts there. */
static const struct module_function *find_bounds(const struct module *m, const char *name)
{
	const char *plus = strrchr(name, '+');
	unsigned long long vaddr;
	char *end;

	if (!plus || strncmp(plus, "+0x", 3) != 0 || !isxdigit((unsigned char)plus[3]))
		return NULL;
	if (plus != name && (!m->name || strlen(m->name) != (size_t)(plus - name) ||
			     strncmp(m->name, name, (size_t)(plus - name)) != 0))
		return NULL;
	errno = 0;
	vaddr = strtoull(plus + 3, &end, 16);
	return *end || errno ? NULL : module_function_starting(m, vaddr);
}

static int by_index(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int finish(struct finder *s, const struct module_function **out, size_t max)
{
	size_t nr = 0;
	int err = s->nr ? 0 : s->err;

	if (s->nr)
		qsort(s->found, s->nr, sizeof(*s->found), by_index);
	for (size_t i = 0; i < s->nr; i++) {
		if (i && s->found[i] == s->found[i - 1])
			continue;
		if (nr < max)
			out[nr] = &s->m->functions[s->found[i]];
		nr++;
	}
	free(s->found);
	return err ? err : (int)nr;
}

int module_find(struct module *m, const char *name, const struct module_function **out, size_t max)
{
	struct finder s = {.m = m, .best = NO_MATCH, .budget = FIND_DEMANGLES};
	const struct module_function *f;
	size_t len = strnlen(name, NAME_MAX_TEXT);
	const char *at;
	int err = module_load_functions(m);

	if (err)
		return err;
	if (!len || len == NAME_MAX_TEXT)
		return 0;
	f = find_bounds(m, name);
	if (f) {
		if (max)
			out[0] = f;
		return 1;
	}
	at = strchr(name, '@');
	if (at) {
		len = (size_t)(at - name);
		s.default_only = at[1] == '@';
		s.version = at + 1 + s.default_only;
	}
	memcpy(s.linkage, name, len);
	s.linkage[len] = 0;
	find_linkage(&s);
	if (s.best > LINKAGE_OLD) {
		split_part(&s);
		find_demangled(&s);
	}
	if (at && s.best == NO_MATCH && !s.err) {
		/* An @ that begins no version, in a symbol that was made strangely. */
		s.version = NULL;
		snprintf(s.linkage, sizeof(s.linkage), "%s", name);
		find_linkage(&s);
	}
	return finish(&s, out, max);
}

/* ---- part of a name ---- */

/* A lower-case letter of `text` matches both cases. */
static bool fits(char c, char text)
{
	return c == text || (islower((unsigned char)text) && tolower((unsigned char)c) == text);
}

static bool contains(const char *s, const char *text)
{
	char first = text[0], other = islower((unsigned char)first) ? (char)(first - 32) : first;

	if (!first)
		return true;
	for (; *s; s++) {
		size_t i = 1;

		if (*s != first && *s != other)
			continue;
		while (text[i] && s[i] && fits(s[i], text[i]))
			i++;
		if (!text[i])
			return true;
	}
	return false;
}

struct name_search {
	struct module *m;
	const char *text;
	char witness[NAME_MAX_TEXT];
	size_t demangles, bytes; /* left */
};

/* `symbol` is the first one at the function's address or after it. */
static bool search_matches(struct name_search *s, const struct module_function *f, size_t symbol)
{
	const struct module *m = s->m;
	char text[NAME_MAX_TEXT];
	size_t len;

	if (!f->symbol) {
		bounds_name(m, f, text, sizeof(text));
		return contains(text, s->text);
	}
	for (size_t i = symbol; i < m->nr_symbols && m->symbols[i].vaddr == f->vaddr; i++) {
		const char *name = symbol_name(m, &m->symbols[i]);

		len = strlen(name);
		s->bytes -= len < s->bytes ? len : s->bytes;
		if (contains(name, s->text))
			return true;
	}
	if (!name_is_mangled(f->symbol) || !contains(f->symbol, s->witness))
		return false;
	s->demangles -= s->demangles > 0;
	return name_demangle(f->symbol, NAME_FULL, text) && contains(text, s->text);
}

int module_search(struct module *m, const char *text, size_t *cursor,
		  const struct module_function **out, size_t max)
{
	struct name_search s = {m, text, "", SEARCH_DEMANGLES, SEARCH_TEXT};
	size_t nr = 0, symbol = 0, len, i;
	const char *w;
	int err = module_load_functions(m);

	if (err)
		return err;
	if (*cursor >= m->nr_functions || strnlen(text, NAME_MAX_TEXT) == NAME_MAX_TEXT) {
		*cursor = m->nr_functions;
		return 0;
	}
	w = name_witness(text, false, &len);
	if (w)
		memcpy(s.witness, w, len);
	s.witness[w ? len : 0] = 0;
	module_symbols_at(m, m->functions[*cursor].vaddr, &symbol);
	for (i = *cursor; i < m->nr_functions && nr < max && s.demangles && s.bytes; i++) {
		while (symbol < m->nr_symbols && m->symbols[symbol].vaddr < m->functions[i].vaddr)
			symbol++;
		if (search_matches(&s, &m->functions[i], symbol))
			out[nr++] = &m->functions[i];
	}
	*cursor = i;
	return (int)nr;
}

const struct module_function *module_function_at(struct module *m, uint64_t vaddr)
{
	size_t low;

	if (module_load_functions(m))
		return NULL;
	low = lower_bound(i, m->nr_functions, m->functions[i].vaddr <= vaddr);
	/* Further entries may lie inside a function: look back past some that end before. */
	for (size_t back = 0; back < low && back < 64; back++) {
		const struct module_function *f = &m->functions[low - 1 - back];

		if (vaddr - f->vaddr < f->size)
			return f;
	}
	return module_part_owner(m, vaddr);
}

const struct module_function *module_function_at_offset(struct module *m, uint64_t offset)
{
	uint64_t vaddr;

	return module_vaddr_of(m, offset, &vaddr) ? NULL : module_function_at(m, vaddr);
}
