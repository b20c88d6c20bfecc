// SPDX-License-Identifier: GPL-2.0-or-later
/* The chain of inlined calls at an address. The tree of DIEs is walked here and
 * not by dwarf_getscopes(), which recurses over it. */
#include <dwarf.h>

#include "analysis/module/module_dwarf.h"
#include "analysis/module/module_names.h"

enum { MAX_KEPT = 1 << 20 };

bool die_next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);
	Dwarf_Die sibling;

	if (dwarf_siblingof(die, &sibling) != 0 || dwarf_dieoffset(&sibling) <= before)
		return false;
	*die = sibling;
	return true;
}

bool die_may_hold_subprograms(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

bool dies_begin(struct die_walk *w, Dwarf_Die *unit, size_t max)
{
	*w = (struct die_walk){.left = max};
	return dwarf_child(unit, &w->stack[0]) == 0;
}

bool dies_next(struct die_walk *w, bool enter)
{
	if (!w->left)
		return false;
	w->left--;
	if (enter && w->depth + 1 < MAX_DIE_DEPTH &&
	    dwarf_child(&w->stack[w->depth], &w->stack[w->depth + 1]) == 0) {
		w->depth++;
		return true;
	}
	while (!die_next_sibling(&w->stack[w->depth])) {
		if (!w->depth--)
			return false;
	}
	return true;
}

static void index_subprograms(struct module *m, struct ranges *to, Dwarf_Die *unit)
{
	struct die_walk w;
	bool more = dies_begin(&w, unit, MAX_DIES);

	while (more) {
		Dwarf_Die *die = dies_at(&w);
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_subprogram && !ranges_add_die(m, to, die)) {
			w.left = 0;
			break;
		}
		more = dies_next(&w, die_may_hold_subprograms(tag));
	}
	m->truncated |= !w.left;
	ranges_sort(to);
}

static const struct ranges *subprograms(struct module *m, struct lines *l, Dwarf_Die *unit)
{
	uint64_t at = dwarf_dieoffset(unit);
	struct unit_index *x;

	for (size_t i = 0; i < UNITS_INDEXED; i++)
		if (l->indexed[i].unit == at)
			return &l->indexed[i].subprograms;
	x = &l->indexed[l->next_index++ % UNITS_INDEXED];
	free(x->subprograms.r);
	*x = (struct unit_index){.unit = at};
	index_subprograms(m, &x->subprograms, unit);
	return &x->subprograms;
}

bool lines_subprogram(struct module *m, struct lines *l, Dwarf_Die *unit, uint64_t vaddr,
		      Dwarf_Die *subprogram)
{
	const struct unit_range *r = ranges_find(subprograms(m, l, unit), vaddr);

	return r && dwarf_offdie(l->dwarf, r->die, subprogram);
}

static struct kept_name *kept_at(struct kept_name *table, size_t size, const char *linkage)
{
	size_t i = ((uintptr_t)linkage * 0x9e3779b97f4a7c15ULL >> 20) & (size - 1);

	while (table[i].linkage && table[i].linkage != linkage)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static bool grow_kept(struct lines *l)
{
	size_t size = l->size_kept ? l->size_kept * 2 : 256, i;
	struct kept_name *table;

	if (size > MAX_KEPT)
		return false;
	table = calloc(size, sizeof(*table));
	if (!table)
		return false;
	for (i = 0; i < l->size_kept; i++)
		if (l->kept[i].linkage)
			*kept_at(table, size, l->kept[i].linkage) = l->kept[i];
	free(l->kept);
	l->kept = table;
	l->size_kept = size;
	return true;
}

/* libdw gives the same pointer for the same string each time. */
struct kept_name *lines_keep(struct lines *l, const char *linkage)
{
	struct kept_name *k;

	if (2 * (l->nr_kept + 1) > l->size_kept && !grow_kept(l))
		return NULL;
	k = kept_at(l->kept, l->size_kept, linkage);
	if (!k->linkage) {
		k->linkage = linkage;
		l->nr_kept++;
	}
	return k;
}

/* Demangled once. */
static const char *keep_demangled(struct module *m, struct lines *l, const char *linkage)
{
	char text[NAME_MAX_TEXT];
	struct kept_name *k;

	if (!name_is_mangled(linkage))
		return linkage;
	k = lines_keep(l, linkage);
	if (!k)
		return linkage;
	if (!k->name && name_demangle(linkage, NAME_FULL, text))
		k->name = module_keep_name(m, text, strlen(text));
	return k->name ? k->name : linkage;
}

const char *die_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name || !*name)
		name = dwarf_diename(die);
	if (!name || !*name || strnlen(name, MODULE_MAX_NAME) == MODULE_MAX_NAME)
		return NULL;
	return name;
}

static const char *die_name(struct module *m, struct lines *l, Dwarf_Die *die)
{
	const char *name = die_linkage_name(die);

	return name ? keep_demangled(m, l, name) : "?";
}

/* The call that put an inlined body where it is. */
static void call_position(struct module *m, struct lines *l, Dwarf_Die *unit, Dwarf_Die *die,
			  struct module_inline *caller)
{
	Dwarf_Word file = 0, line = 0;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	size_t nr;

	caller->file = NULL;
	caller->line = 0;
	if (!dwarf_attr(die, DW_AT_call_file, &attr) || dwarf_formudata(&attr, &file) ||
	    !dwarf_attr(die, DW_AT_call_line, &attr) || dwarf_formudata(&attr, &line) ||
	    line > UINT32_MAX || dwarf_getsrcfiles(unit, &files, &nr) || file >= nr)
		return;
	caller->file = lines_path(m, l, unit, dwarf_filesrc(files, file, NULL, NULL));
	caller->line = (uint32_t)line;
}

/* Inlined bodies that contain vaddr, outermost first. */
static size_t inlined_bodies(Dwarf_Die *subprogram, uint64_t vaddr, Dwarf_Die *out, size_t max)
{
	Dwarf_Die die;
	size_t nr = 0, left = MAX_DIES;
	bool more = dwarf_child(subprogram, &die) == 0;

	while (more && left--) {
		int tag = dwarf_tag(&die);
		bool body = tag == DW_TAG_inlined_subroutine;

		if ((body || tag == DW_TAG_lexical_block) && dwarf_haspc(&die, vaddr) == 1) {
			Dwarf_Die child;

			if (body && nr == max)
				break;
			if (body)
				out[nr++] = die;
			more = dwarf_child(&die, &child) == 0;
			die = child;
			continue;
		}
		more = die_next_sibling(&die);
	}
	return nr;
}

int module_inlines(struct module *m, uint64_t vaddr, struct module_inline *out, size_t max)
{
	Dwarf_Die unit, subprogram, bodies[MODULE_MAX_INLINES];
	struct lines *l = module_lines(m);
	const struct module_function *f;
	size_t nr;

	if (max > MODULE_MAX_INLINES)
		max = MODULE_MAX_INLINES;
	if (!max || !l || !lines_unit(m, l, vaddr, &unit) ||
	    !lines_subprogram(m, l, &unit, vaddr, &subprogram))
		return module_go_inlines(m, vaddr, out, max);
	nr = inlined_bodies(&subprogram, vaddr, bodies, max - 1);
	if (module_line(m, vaddr, &out[0].file, &out[0].line)) {
		out[0].file = NULL;
		out[0].line = 0;
	}
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Die *body = &bodies[nr - 1 - i];

		out[i].name = die_name(m, l, body);
		out[i].inlined = true;
		call_position(m, l, &unit, body, &out[i + 1]);
	}
	out[nr].name = die_name(m, l, &subprogram);
	out[nr].inlined = false;
	/* The name may be in an alternate file, but this one has a symbol too. */
	f = strcmp(out[nr].name, "?") == 0 ? module_function_at(m, vaddr) : NULL;
	if (f)
		out[nr].name = module_function_name(m, f);
	return (int)nr + 1;
}
